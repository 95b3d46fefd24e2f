//! `@runno/mcp` 0.10.6: six languages, in WebAssembly only.

mod paths;

use std::collections::HashSet;
use std::time::Duration;

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use rmcp::ErrorData;
use rmcp::model::{
    CallToolResult, ContentBlock, ResourceContents, ServerCapabilities, ServerConfig, Tool, ToolAnnotations,
};
use sandbox::{BoxFuture, Collect, EngineChoice, EngineId, InputFile, Outcome, OutputFile, Refusal, Request, Status};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};

use super::transcript::Transcript;
use super::{Call, Contract, Verdict, identity, said, sentence, tool, why};
use crate::arguments;
use crate::result::mime_of;
use crate::room;
use crate::tools::MOST_ECHO;

const RUN_CODE: &str = "run_code";
const RUN_CODE_WITH_FILES: &str = "run_code_with_files";

/// How long a program may take, and its compiler.
const TIME: Duration = Duration::from_secs(10);

/// How the original names a language, and we.
const RUNTIMES: &[(&str, &str)] = &[
    ("python", "python"),
    ("quickjs", "javascript"),
    ("clang", "c"),
    ("clangpp", "cpp"),
    ("ruby", "ruby"),
    ("php-cgi", "php"),
];

#[derive(Debug)]
pub(super) struct Runno;

#[derive(Debug, Deserialize, JsonSchema)]
struct Arguments {
    /// one of python, quickjs, clang, clangpp, ruby, php-cgi
    runtime: String,
    /// the program
    code: String,
    /// files that the program finds, each with name, encoding (text or base64) and content
    input_files: Vec<File>,
    /// names of files that are returned
    output_file_names: Vec<String>,
}

#[derive(Debug, Deserialize, JsonSchema)]
struct File {
    name: String,
    encoding: Encoding,
    content: String,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
enum Encoding {
    Text,
    Base64,
}

impl Contract for Runno {
    fn identity(&self) -> ServerConfig {
        identity("Runno Code Sandbox Server", "0.10.6", ServerCapabilities::builder().enable_tools().build())
    }

    fn tools(&self) -> Vec<Tool> {
        let about = "Run a program in a WebAssembly sandbox, to compute, to check code, or to try an idea.\n\
                     | runtime | language |\n|---|---|\n| python | Python |\n| quickjs | JavaScript |\n| clang | C (-O2 -Werror) |\n\
                     | clangpp | C++ (-O2 -Werror) |\n| ruby | Ruby |\n| php-cgi | PHP |\n\
                     Print results: the output comes back as one terminal stream. There is no network, no file of the host, no package and \
                     no other program.";
        let files = format!(
            "{about}\nFiles: each of `input_files` is found under its name, such as /data.csv, and in the working folder; each of \
             `output_file_names` comes back."
        );
        let annotations =
            || ToolAnnotations::with_title("Run Code Using Runno Sandbox").read_only(true).idempotent(true);
        vec![
            tool(RUN_CODE, about.to_owned(), &schema()).with_annotations(annotations()),
            tool(RUN_CODE_WITH_FILES, files, &schema_with_files()).with_annotations(annotations()),
        ]
    }

    fn call<'a>(&'a self, call: Call<'a>) -> BoxFuture<'a, Result<CallToolResult, ErrorData>> {
        Box::pin(async move {
            if ![RUN_CODE, RUN_CODE_WITH_FILES].contains(&call.tool) {
                return Err(ErrorData::invalid_params("Tool not found", None));
            }
            Ok(run(&call).await.unwrap_or_else(|refusal| said([sentence(&refusal)], Verdict::Error)))
        })
    }
}

async fn run(call: &Call<'_>) -> Result<CallToolResult, Refusal> {
    let given = read(call)?;
    let Some((_, language)) = RUNTIMES.iter().find(|(runtime, _)| *runtime == given.runtime) else {
        let known: Vec<&str> = RUNTIMES.iter().map(|(runtime, _)| *runtime).collect();
        let message = format!("`runtime` cannot be `{}`", room::shortened(&given.runtime, 100));
        return Err(Refusal::new("runtime", message, format!("use one of {}", known.join(", "))));
    };
    let wanted = given.output_file_names.len();
    if wanted > OutputFile::MAX_COUNT {
        let message =
            format!("`output_file_names` has {wanted} names, and a run brings {} files back", OutputFile::MAX_COUNT);
        return Err(Refusal::new("output_file_names", message, "name fewer, or put several into one"));
    }
    let is_compiled = ["c", "cpp"].contains(language);
    let names = given.input_files.iter().map(|file| file.name.as_str());
    let names: HashSet<&str> = names.chain(given.output_file_names.iter().map(String::as_str)).collect();
    let code = print_for(language, &given.code).to_owned() + &paths::moved(&given.code, &names);
    let program = sandbox::Language::find(language).map(|language| language.names_for(code.as_bytes()).source);
    let request = Request {
        code: code.into_bytes(),
        language: Some((*language).to_owned()),
        compiler_args: if is_compiled { vec!["-O2".to_owned(), "-Werror".to_owned()] } else { Vec::new() },
        files: given.input_files.iter().map(input_file).collect::<Result<_, _>>()?,
        engine: EngineChoice::Only(EngineId::Wasm),
        limits: call.within(TIME),
        collect: Collect::Contents,
        ..Request::default()
    };
    let heard = Transcript::default();
    let outcome = match call.run(request, &heard).await {
        Ok(outcome) => outcome,
        Err(error) => return Ok(said([why(&error)], Verdict::Error)),
    };
    let terminal = call.fit(&paths::moved_back(&heard.text(), &program.unwrap_or_default(), &names));
    let mut room = call.room().answer.saturating_sub(room::encoded(&terminal));
    let mut result = said([first_block(&outcome), "Following is the TTY output.".to_owned(), terminal], Verdict::Fine);
    result.content.extend(given.output_file_names.iter().map(|name| output_file(&outcome.files, name, &mut room)));
    Ok(result)
}

/// What a tool is sent beside its own arguments means nothing to it, as in the original. Only one of the tools takes files.
fn read(call: &Call<'_>) -> Result<Arguments, Refusal> {
    let mut given = call.arguments.clone();
    given.retain(|name, _| ["runtime", "code"].contains(&name.as_str()) || FILES.contains(&name.as_str()));
    if call.tool == RUN_CODE {
        given.extend(FILES.map(|name| (name.to_owned(), json!([]))));
    }
    arguments::read(Some(given))
}

const FILES: [&str; 2] = ["input_files", "output_file_names"];

/// JavaScript there has `print` too. On the program's first line, so that lines keep their numbers.
fn print_for(language: &str, code: &str) -> &'static str {
    if language == "javascript" && code.contains("print(") {
        "globalThis.print ??= (...words) => console.log(words.join(' ')); "
    } else {
        ""
    }
}

fn first_block(outcome: &Outcome) -> String {
    match outcome.status {
        Status::Completed { exit_code } => format!("Execution completed with exit code {exit_code}."),
        // There, `abort` and every trap end like this.
        Status::Crashed { .. } => "Execution completed with exit code 134.".to_owned(),
        Status::TimedOut => "Execution timed out.".to_owned(),
        Status::LimitExceeded(_) | Status::Cancelled => "The program was terminated.".to_owned(),
    }
}

fn input_file(file: &File) -> Result<InputFile, Refusal> {
    let contents = match file.encoding {
        Encoding::Text => file.content.clone().into_bytes(),
        Encoding::Base64 => BASE64_STANDARD.decode(&file.content).map_err(|error| {
            let name = room::shortened(&file.name, MOST_ECHO);
            let message = format!("`content` of the file `{name}` is no base64: {error}");
            Refusal::new("input_files", message, "use standard base64 with padding, or encoding `text`")
        })?,
    };
    Ok(InputFile { path: file.name.trim_start_matches('/').into(), contents })
}

/// What a block takes beside its text and a file's name.
const BLOCK: usize = 200;

/// A file, as far as there is room for it: the program decides how large it is, and the caller how often it is asked for.
fn output_file(files: &[OutputFile], name: &str, room: &mut usize) -> ContentBlock {
    let wanted = name.trim_start_matches('/');
    let file = files.iter().find(|file| file.path.as_str() == wanted);
    let Some(contents) = file.and_then(|file| file.contents.as_ref()) else {
        let name = room::shortened(name, MOST_ECHO);
        return ContentBlock::text(format!("Output file {name} not found in the result."));
    };
    let text = std::str::from_utf8(contents);
    let size = BLOCK + 2 * room::encoded(wanted) + text.map_or(contents.len().div_ceil(3) * 4, room::encoded);
    if size > *room {
        let size = contents.len();
        return ContentBlock::text(format!("Output file {name} has {size} bytes, for which the result has no room."));
    }
    *room -= size;
    let uri = format!("file:///{wanted}");
    let resource = match text {
        Ok(text) => ResourceContents::text(text, uri),
        Err(_) => ResourceContents::blob(BASE64_STANDARD.encode(contents), uri),
    };
    ContentBlock::resource(resource.with_mime_type(mime_of(wanted)))
}

fn schema() -> Value {
    json!({
        "type": "object",
        "properties": {"runtime": runtimes(), "code": {"type": "string", "description": "The program"}},
        "required": ["runtime", "code"],
        "additionalProperties": false,
        "$schema": "http://json-schema.org/draft-07/schema#",
    })
}

fn runtimes() -> Value {
    let known: Vec<&str> = RUNTIMES.iter().map(|(runtime, _)| *runtime).collect();
    json!({"type": "string", "enum": known, "description": "Its language"})
}

fn schema_with_files() -> Value {
    let file = |encoding: &str, content: Value| {
        json!({
            "type": "object",
            "properties": {
                "name": {"type": "string"}, "encoding": {"type": "string", "const": encoding}, "content": content,
            },
            "required": ["name", "encoding", "content"],
            "additionalProperties": false,
        })
    };
    let kinds = [
        file("text", json!({"type": "string"})),
        file("base64", json!({"type": "string", "contentEncoding": "base64"})),
    ];
    json!({
        "type": "object",
        "properties": {
            "runtime": runtimes(),
            "code": {"type": "string", "description": "The program"},
            "input_files": {"type": "array", "items": {"anyOf": kinds}, "description": "Files that it finds"},
            "output_file_names": {
                "type": "array", "items": {"type": "string"}, "description": "Files of its making that come back",
            },
        },
        "required": ["runtime", "code", "input_files", "output_file_names"],
        "additionalProperties": false,
        "$schema": "http://json-schema.org/draft-07/schema#",
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_have_the_room_that_there_is() {
        let path = sandbox::WorkspacePath::new("a.bin").expect("a path");
        let files = [OutputFile { path, size: 3_000, contents: Some(vec![0xff; 3_000]) }];
        let mut room = 10_000;
        let blocks: Vec<ContentBlock> = (0..1_000).map(|_| output_file(&files, "/a.bin", &mut room)).collect();
        let written = serde_json::to_value(&blocks).expect("JSON");
        let of_kind =
            |kind: &str| written.as_array().map_or(0, |all| all.iter().filter(|it| it["type"] == kind).count());
        assert_eq!((of_kind("resource"), of_kind("text")), (2, 998));
        assert_eq!(written[2]["text"], "Output file /a.bin has 3000 bytes, for which the result has no room.");
    }
}
