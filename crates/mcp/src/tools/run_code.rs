//! `run_code`.

use std::collections::BTreeMap;
use std::num::NonZeroU64;
use std::time::Duration;

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use rmcp::model::{CallToolResult, ToolAnnotations};
use runtime::RunError;
use sandbox::{
    Bytes, Collect, EngineChoice, EngineId, FolderAccess, InputFile, LimitsRequest, Outcome, Policy, Principal,
    Refusal, Request, SessionName, Variable,
};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Map, Value};

use super::{Description, RUN_CODE, failed};
use crate::live::Live;
use crate::result::{Addresses, RunResult};
use crate::room::{self, Room};
use crate::runs::{Kept, Runs};
use crate::{arguments, icons, mirror};

/// What a caller sends.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Arguments {
    /// The whole program. Print what you want to see; the value of the last expression comes back too
    code: String,
    /// Language id or alias, such as python, javascript, bash. Detected from the code when left out
    #[serde(default)]
    language: Option<String>,
    /// What the program reads from standard input
    #[serde(default)]
    stdin: Option<String>,
    /// Session to run in, by a name you choose: variables, imports and files stay for the next call in it. Without one, nothing is kept
    #[serde(default)]
    session: Option<String>,
    /// Command line arguments of the program
    #[serde(default)]
    args: Vec<String>,
    /// C and C++: -std=…, -O2, -Wall, -DNAME=VALUE …
    #[serde(default)]
    compiler_args: Vec<String>,
    /// Environment variables
    #[serde(default)]
    env: BTreeMap<String, String>,
    /// Files put into the working directory first
    #[serde(default)]
    files: Vec<File>,
    /// Variables set before the program starts, by name (Python, JavaScript, TypeScript)
    #[serde(default)]
    variables: Map<String, Value>,
    /// Packages the program imports, from PyPI or npm, such as pandas>=2 or zod@^3. Imports that need one are mostly found without this
    #[serde(default)]
    packages: Vec<String>,
    /// auto (default) starts in WebAssembly and moves to native when it has to; wasm and native stay where they are
    #[serde(default)]
    engine: Engine,
    /// Time limit in milliseconds
    #[serde(default)]
    timeout_ms: Option<NonZeroU64>,
    /// Memory limit in MiB
    #[serde(default)]
    memory_mb: Option<NonZeroU64>,
    /// Hosts the program connects to over HTTP, such as api.example.org; only those that this server allows
    #[serde(default)]
    network: Vec<String>,
}

/// A file for the workspace: `text`, or `base64` for bytes.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct File {
    /// Relative path
    path: String,
    #[serde(default)]
    text: Option<String>,
    #[serde(default)]
    base64: Option<String>,
}

#[derive(Debug, Clone, Copy, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
enum Engine {
    #[default]
    Auto,
    Wasm,
    Native,
}

pub(super) fn describe(languages: &[String], policy: &Policy) -> Description {
    let defaults = policy.usual_limits();
    let text = format!(
        "Run a program in a fresh sandbox and get its output, exit code, last value and files. Use it to compute instead of guessing: \
         arithmetic, data, dates, text processing, checking code before showing it.\n\
         Languages here: {}.\n\
         Each run starts empty in its own directory{}; with `session`, variables and files of earlier calls are there. \
         Files it writes, figures it plots and tables come back. Defaults: {} s, {}.\n\
         Examples: {{\"language\":\"python\",\"code\":\"import statistics\\nstatistics.stdev([3, 5, 9])\"}}; \
         {{\"session\":\"s1\",\"language\":\"bash\",\"code\":\"wc -l < data.csv\",\"files\":[{{\"path\":\"data.csv\",\"text\":\"a,b\\n1,2\\n\"}}]}}",
        if languages.is_empty() { "none is set up (see list_runtimes)".to_owned() } else { languages.join(", ") },
        grants(policy),
        defaults.wall.as_secs_f64(),
        defaults.memory,
    );
    Description {
        name: RUN_CODE,
        title: "Run code",
        text,
        input: arguments::schema_of::<Arguments>(),
        output: arguments::schema_of_result::<RunResult<'static>>(),
        // It changes nothing outside its sandbox, and reaches nothing either, but for what the operator grants.
        annotations: ToolAnnotations::with_title("Run code")
            .read_only(false)
            .destructive(policy.folders.iter().any(|folder| folder.access() == FolderAccess::Write))
            .idempotent(false)
            .open_world(policy.network.all().next().is_some()),
        icon: icons::RUN,
    }
}

/// What runs have beside that.
fn grants(policy: &Policy) -> String {
    let folders: Vec<String> = policy.folders.iter().map(ToString::to_string).collect();
    let folders = if folders.is_empty() { String::new() } else { format!(", with {}", folders.join(", ")) };
    let always: Vec<String> = policy.network.always.iter().map(ToString::to_string).collect();
    let allowed: Vec<String> = policy.network.allowed.iter().map(ToString::to_string).collect();
    let network = match (always.is_empty(), allowed.is_empty()) {
        (true, true) => ", without network".to_owned(),
        (false, true) => format!(", with HTTP to {} only", always.join(", ")),
        (true, false) => format!(", without network unless `network` asks for hosts among {}", allowed.join(", ")),
        (false, false) => {
            format!(", with HTTP to {}, and to those of {} that `network` names", always.join(", "), allowed.join(", "))
        }
    };
    folders + &network
}

/// A request, from what the caller sent.
pub(crate) fn prepare(given: Option<Map<String, Value>>, principal: Principal) -> Result<Request, Refusal> {
    let given: Arguments = arguments::read(given)?;
    let files = given.files.into_iter().map(input_file).collect::<Result<_, _>>()?;
    let variables = given.variables.into_iter().map(|(name, value)| Variable { name, json: value.to_string() });
    Ok(Request {
        code: given.code.into_bytes(),
        language: given.language,
        file_name: None,
        stdin: given.stdin.unwrap_or_default().into_bytes(),
        args: given.args,
        compiler_args: given.compiler_args,
        env: given.env.into_iter().collect(),
        files,
        variables: variables.collect(),
        packages: given.packages,
        session: given.session,
        principal,
        engine: match given.engine {
            Engine::Auto => EngineChoice::Auto,
            Engine::Wasm => EngineChoice::Only(EngineId::Wasm),
            Engine::Native => EngineChoice::Only(EngineId::Native),
        },
        limits: LimitsRequest {
            wall: given.timeout_ms.map(|millis| Duration::from_millis(millis.get())),
            memory: given.memory_mb.map(|size| Bytes::mib(size.get())),
            ..LimitsRequest::default()
        },
        network: given.network,
        collect: Collect::Contents,
    })
}

/// A refusal in the names of this tool's arguments, which are not those of limits everywhere.
pub(crate) fn in_arguments(refusal: Refusal) -> Refusal {
    let argument = match refusal.argument() {
        "timeout" => "timeout_ms",
        "memory" => "memory_mb",
        _ => return refusal,
    };
    let (limit, own) = (format!("`{}`", refusal.argument()), format!("`{argument}`"));
    Refusal::new(argument, refusal.message().replace(&limit, &own), refusal.hint().replace(&limit, &own))
}

fn input_file(file: File) -> Result<InputFile, Refusal> {
    let contents = match (file.text, file.base64) {
        (Some(text), None) => text.into_bytes(),
        (None, Some(encoded)) => BASE64_STANDARD.decode(encoded).map_err(|error| {
            let message = format!("`base64` of the file `{}` cannot be decoded: {error}", file.path);
            Refusal::new("files", message, "use standard base64 with padding, or send `text`")
        })?,
        (None, None) => Vec::new(),
        (Some(_), Some(_)) => {
            let message = format!("the file `{}` has both `text` and `base64`", file.path);
            return Err(Refusal::new("files", message, "send one of them"));
        }
    };
    Ok(InputFile { path: file.path.into(), contents })
}

/// A run that goes on, as its caller knows it.
#[derive(Debug)]
pub(crate) struct Run {
    pub(crate) name: String,
    pub(crate) owner: Principal,
    /// The session that it is a cell of.
    pub(crate) session: Option<SessionName>,
    pub(crate) live: Live,
    pub(crate) room: Room,
}

impl Run {
    /// The tool's result. What does not fit into it is kept among the `runs`.
    pub(crate) fn finish(self, ended: Result<Outcome, RunError>, runs: &Runs) -> CallToolResult {
        let mut outcome = match ended {
            Ok(outcome) => outcome,
            Err(error) => return failed(&error),
        };
        room::fit(&mut outcome, self.room);
        let has_more = room::is_more_than_text(&outcome);
        // Files of a session are where they are.
        let has_files = !outcome.files.is_empty() && self.session.is_none();
        let name = (has_more || has_files || !outcome.displays.is_empty()).then_some(self.name);
        let at = Addresses { run: name.as_deref(), session: self.session.as_ref().map(SessionName::as_str) };
        // Made of strings and numbers, which always have a JSON form.
        let structured = serde_json::to_value(RunResult::new(&outcome, at)).ok();
        // Only files are shown by how much room there is.
        let is_plain = outcome.files.is_empty() && outcome.displays.is_empty();
        let size = if is_plain { 0 } else { structured.as_ref().map_or(0, |it| it.to_string().len()) };
        let room = self.room.answer.saturating_sub(size);
        let mut result = CallToolResult::success(mirror::content(&outcome, at, room));
        result.is_error = Some(!outcome.status.is_success());
        result.structured_content = structured;
        if let Some(name) = name {
            let (stdout, stderr) = self.live.take_recording();
            let files = if self.session.is_none() { std::mem::take(&mut outcome.files) } else { Vec::new() };
            runs.keep(
                name,
                self.owner,
                Kept { stdout, stderr, files, displays: std::mem::take(&mut outcome.displays) },
            );
        }
        result
    }
}
