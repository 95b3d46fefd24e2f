//! Resources: what can be run here, and what runs left.

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use rmcp::ErrorData;
use rmcp::model::{
    CompleteRequestParams, CompleteResult, CompletionInfo, ReadResourceResult, Resource, ResourceContents,
    ResourceTemplate,
};
use runtime::{RunError, Runtime};
use sandbox::{Language, Principal, SessionName, WorkspacePath};
use serde_json::json;

use crate::result::mime_of;
use crate::room::{self, Room};
use crate::runs::Runs;
use crate::{app, tools, uri};

/// Those that are always there.
pub(crate) fn list(runtime: &Runtime) -> Vec<Resource> {
    let served = Language::all().iter().filter(|language| runtime.engines_for(language).is_ok());
    let resource = |language: &Language| {
        Resource::new(uri::runtime(language.id), language.id)
            .with_title(language.name)
            .with_description(format!("How {} is run here", language.name))
            .with_mime_type("application/json")
    };
    served.map(resource).chain([app::resource()]).collect()
}

/// The most that is repeated of a name that a caller sent. Names of ours are no longer.
const MOST_NAME: usize = 16_000;

const RUNTIME: &str = "runtime://{language}";
const RUN_STDOUT: &str = "run://{run}/stdout{?offset,limit}";
const RUN_STDERR: &str = "run://{run}/stderr{?offset,limit}";
const RUN_DISPLAY: &str = "run://{run}/displays/{number}";
const SESSION_FILE: &str = "session://{session}/files/{+path}{?offset,limit}";
const RUN_FILE: &str = "run://{run}/files/{+path}{?offset,limit}";

pub(crate) fn templates() -> Vec<ResourceTemplate> {
    vec![
        ResourceTemplate::new(RUNTIME, "runtime")
            .with_title("How a language is run here")
            .with_mime_type("application/json"),
        ResourceTemplate::new(RUN_STDOUT, "stdout")
            .with_title("All standard output of a run")
            .with_description("For 15 minutes, where the run's result had no room for it. offset and limit in bytes")
            .with_mime_type("text/plain"),
        ResourceTemplate::new(RUN_STDERR, "stderr")
            .with_title("All standard error of a run")
            .with_mime_type("text/plain"),
        ResourceTemplate::new(SESSION_FILE, "session file")
            .with_title("A file of a session's workspace")
            .with_description("offset and limit in bytes"),
        ResourceTemplate::new(RUN_DISPLAY, "display").with_title("A picture, table or specification that a run showed"),
        ResourceTemplate::new(RUN_FILE, "file").with_title("A file that a run made").with_description("For 15 minutes"),
    ]
}

pub(crate) async fn read(
    name: &str,
    runtime: &Runtime,
    runs: &Runs,
    owner: &Principal,
    most: Room,
) -> Result<ReadResourceResult, ErrorData> {
    let not_found = || {
        let name = room::shortened(name, MOST_NAME);
        ErrorData::resource_not_found(format!("there is no resource `{name}`"), Some(json!({ "uri": name })))
    };
    let (resource, part) = uri::parse(name).ok_or_else(not_found)?;
    let contents = match resource {
        uri::Resource::Runtime(language) => {
            let language = Language::find(language).ok_or_else(not_found)?;
            let document = tools::runtime_document(runtime, language).await.ok_or_else(not_found)?;
            ResourceContents::text(document, name).with_mime_type("application/json")
        }
        uri::Resource::Stdout(run) => {
            let kept = runs.find(run, owner).ok_or_else(not_found)?;
            ResourceContents::text(String::from_utf8_lossy(part.of(&kept.stdout.bytes())), name)
        }
        uri::Resource::Stderr(run) => {
            let kept = runs.find(run, owner).ok_or_else(not_found)?;
            ResourceContents::text(String::from_utf8_lossy(part.of(&kept.stderr.bytes())), name)
        }
        uri::Resource::File(run, path) => {
            let kept = runs.find(run, owner).ok_or_else(not_found)?;
            let file = kept.files.iter().find(|file| file.path.as_str() == path).ok_or_else(not_found)?;
            let bytes = file.contents.as_deref().ok_or_else(not_found)?;
            file_contents(part.of(bytes), name, mime_of(&path))
        }
        uri::Resource::Display(run, number) => {
            let kept = runs.find(run, owner).ok_or_else(not_found)?;
            let display = number.checked_sub(1).and_then(|index| kept.displays.get(index)).ok_or_else(not_found)?;
            file_contents(part.of(display.data()), name, display.mime())
        }
        uri::Resource::SessionFile(session, path) => {
            let session = SessionName::new(session).map_err(|_| not_found())?;
            let path = WorkspacePath::new(&*path).map_err(|_| not_found())?;
            // One more than there is room for shows that there is more.
            let (wanted, part) = part.around(most.answer + 1);
            let file = runtime.read_file((owner, &session), &path, wanted).await.map_err(|error| match error {
                RunError::Refused(refusal) => ErrorData::resource_not_found(
                    format!("`{}`: {refusal}", room::shortened(name, MOST_NAME)),
                    Some(json!({ "uri": room::shortened(name, MOST_NAME) })),
                ),
                RunError::Failed(error) => ErrorData::internal_error(error.to_string(), None),
            })?;
            file_contents(part.of(&file.bytes), name, mime_of(path.as_str()))
        }
        uri::Resource::View => app::contents(),
    };
    if size(&contents) > most.answer {
        let message = format!(
            "`{name}` is larger than clients take in one message; read parts of it, such as `{}?offset=0&limit=500000`",
            name.split('?').next().unwrap_or_default()
        );
        return Err(ErrorData::invalid_params(message, Some(json!({ "uri": name }))));
    }
    Ok(ReadResourceResult::new(vec![contents]))
}

/// What it takes as JSON.
fn size(contents: &ResourceContents) -> usize {
    match contents {
        ResourceContents::TextResourceContents { text, .. } => room::encoded(text),
        ResourceContents::BlobResourceContents { blob, .. } => blob.len(),
        _ => 0,
    }
}

fn file_contents(bytes: &[u8], name: &str, mime: &str) -> ResourceContents {
    let is_picture = mime.starts_with("image/") && mime != "image/svg+xml";
    match std::str::from_utf8(bytes) {
        Ok(text) if !is_picture && !text.contains('\0') => {
            let mime = if mime == "application/octet-stream" { "text/plain" } else { mime };
            ResourceContents::text(text, name).with_mime_type(mime)
        }
        _ => ResourceContents::blob(BASE64_STANDARD.encode(bytes), name).with_mime_type(mime),
    }
}

/// What an argument of a template or prompt may be, given its start.
pub(crate) fn complete(
    request: &CompleteRequestParams,
    runtime: &Runtime,
    runs: &Runs,
    owner: &Principal,
) -> Result<CompleteResult, ErrorData> {
    let start = &request.argument.value;
    let all: Vec<String> = match request.argument.name.as_str() {
        "language" => {
            let served = Language::all().iter().filter(|language| runtime.engines_for(language).is_ok());
            served.map(|language| language.id.to_owned()).collect()
        }
        "run" => runs.names(owner),
        "session" => runtime.sessions(owner).into_iter().map(|session| session.name.to_string()).collect(),
        "path" => {
            let run = request.context.as_ref().and_then(|context| context.get_argument("run"));
            let kept = run.and_then(|run| runs.find(run, owner));
            kept.iter().flat_map(|kept| &kept.files).map(|file| file.path.as_str().to_owned()).collect()
        }
        _ => Vec::new(),
    };
    let matching: Vec<String> = all.into_iter().filter(|value| value.starts_with(start.as_str())).collect();
    let total = u32::try_from(matching.len()).ok();
    let has_more = matching.len() > CompletionInfo::MAX_VALUES;
    let values = matching.into_iter().take(CompletionInfo::MAX_VALUES).collect();
    let completion = CompletionInfo::with_pagination(values, total, has_more)
        .map_err(|reason| ErrorData::internal_error(reason, None))?;
    Ok(CompleteResult::new(completion))
}
