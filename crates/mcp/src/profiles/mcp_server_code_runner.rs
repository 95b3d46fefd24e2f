//! `mcp-server-code-runner` 0.1.8: one tool, 37 languages.

use axum::response::Response;
use http::StatusCode;
use rmcp::ErrorData;
use rmcp::model::{CallToolResult, ServerCapabilities, ServerConfig, Tool};
use runtime::RunError;
use sandbox::{BoxFuture, EngineChoice, Language, Request};
use serde_json::{Value, json};

use super::transcript::Transcript;
use super::zod::{self, Field, Kind, Need, Zod};
use super::{Call, Contract, Verdict, WORKSPACE, forbid_tasks, identity, said, tool, why};
use crate::http::{Asked, refuse};
use crate::room;

const RUN_CODE: &str = "run-code";

/// How the original names a language, the command that it runs, and our language.
const LANGUAGES: &[(&str, &str, Option<&str>)] = &[
    ("javascript", "node", Some("javascript")),
    ("php", "php", Some("php")),
    ("python", "python -u", Some("python")),
    ("perl", "perl", Some("perl")),
    ("perl6", "perl6", Some("raku")),
    ("ruby", "ruby", Some("ruby")),
    ("go", "go run", Some("go")),
    ("lua", "lua", Some("lua")),
    ("groovy", "groovy", Some("groovy")),
    ("powershell", "powershell -ExecutionPolicy ByPass -File", Some("powershell")),
    ("bat", "cmd /c", None),
    ("shellscript", "bash", Some("bash")),
    ("fsharp", "fsi", Some("fsharp")),
    ("csharp", "scriptcs", Some("csharp")),
    ("vbscript", "cscript //Nologo", None),
    ("typescript", "ts-node", Some("typescript")),
    ("coffeescript", "coffee", Some("coffeescript")),
    ("scala", "scala", Some("scala")),
    ("swift", "swift", Some("swift")),
    ("julia", "julia", Some("julia")),
    ("crystal", "crystal", Some("crystal")),
    ("ocaml", "ocaml", Some("ocaml")),
    ("r", "Rscript", Some("r")),
    ("applescript", "osascript", None),
    ("clojure", "lein exec", Some("clojure")),
    ("racket", "racket", Some("racket")),
    ("scheme", "csi -script", Some("scheme")),
    ("ahk", "autohotkey", None),
    ("autoit", "autoit3", None),
    ("dart", "dart", Some("dart")),
    ("haskell", "runhaskell", Some("haskell")),
    ("nim", "nim compile --verbosity:0 --hints:off --run", Some("nim")),
    ("lisp", "sbcl --script", Some("lisp")),
    ("kit", "kitc --run", Some("kit")),
    ("v", "v run", Some("v")),
    ("sass", "sass --style expanded", Some("sass")),
    ("scss", "scss --style expanded", Some("scss")),
];

fn ids() -> Vec<&'static str> {
    LANGUAGES.iter().map(|(id, _, _)| *id).collect()
}

#[derive(Debug)]
pub(super) struct CodeRunner;

impl Contract for CodeRunner {
    fn identity(&self) -> ServerConfig {
        let capabilities = ServerCapabilities::builder().enable_tools().enable_tool_list_changed().build();
        identity("Code Runner", "0.1.0", capabilities)
    }

    fn tools(&self) -> Vec<Tool> {
        let schema = json!({
            "type": "object",
            "properties": {
                "code": {"type": "string", "description": "The program"},
                "languageId": {"type": "string", "enum": ids(), "description": "Its language"},
            },
            "required": ["code", "languageId"],
            "additionalProperties": false,
            "$schema": "http://json-schema.org/draft-07/schema#",
        });
        let text = "Run a program and get what it prints. It runs in a sandbox of its own: what it finds out about the machine is about the \
                    sandbox, and nothing that it leaves behind stays.";
        vec![tool(RUN_CODE, text.to_owned(), &schema)]
    }

    fn call<'a>(&'a self, call: Call<'a>) -> BoxFuture<'a, Result<CallToolResult, ErrorData>> {
        Box::pin(async move { Ok(run_code(&call).await) })
    }

    fn reworded(&self, _: &Asked, answer: &Response) -> Option<Response> {
        let status = answer.status();
        (status == StatusCode::METHOD_NOT_ALLOWED).then(|| refuse(status, "Method not allowed."))
    }

    fn retouch(&self, reply: &mut Value) {
        forbid_tasks(reply);
    }
}

async fn run_code(call: &Call<'_>) -> CallToolResult {
    if call.tool != RUN_CODE {
        return said([zod::no_tool(call.tool)], Verdict::Error);
    }
    let fields = [
        Field { name: "code", kind: Kind::Text, need: Need::Required },
        Field { name: "languageId", kind: Kind::OneOf(&ids()), need: Need::Required },
    ];
    let issues = Zod::V3.check(&call.arguments, &fields);
    if !issues.is_empty() {
        return said([zod::sentence(RUN_CODE, &issues)], Verdict::Error);
    }
    let (code, id) = (call.text("code"), call.text("languageId"));
    if code.is_empty() {
        return said(["Code is required.".to_owned()], Verdict::Error);
    }
    // The arguments were checked.
    let Some((_, command, ours)) = LANGUAGES.iter().find(|(known, _, _)| *known == id) else {
        return said([zod::no_tool(id)], Verdict::Error);
    };
    let Some(language) = ours.and_then(Language::find) else {
        let program = command.split(' ').next().unwrap_or_default();
        let text =
            format!("Error: `{id}` needs `{program}`, which is for another operating system; {}", runnable(call));
        return said([text], Verdict::Error);
    };
    let failed =
        format!("Error: Command failed: {command} \"{WORKSPACE}/{}\"", language.names_for(code.as_bytes()).source);
    if let Err(refusal) = call.runtime().engines_for(language) {
        return said([format!("{failed}\n{}; {}", refusal.message(), runnable(call))], Verdict::Error);
    }
    let request = Request {
        code: code.as_bytes().to_vec(),
        language: Some(language.id.to_owned()),
        engine: EngineChoice::Auto,
        ..Request::default()
    };
    let outcome = match call.run(request, &Transcript::default()).await {
        Ok(outcome) => outcome,
        Err(error @ (RunError::Refused(_) | RunError::Failed(_))) => {
            return said([format!("{failed}\n{}", why(&error))], Verdict::Error);
        }
    };
    let [stdout, stderr] = call.fit_both(room::cost, [&outcome.stdout.text, &outcome.stderr.text]);
    if outcome.status.is_success() {
        let complaints = (!stderr.is_empty()).then(|| format!("Stderr: {stderr}"));
        return said([stdout].into_iter().chain(complaints), Verdict::Fine);
    }
    let end = if stderr.is_empty() || stderr.ends_with('\n') { "" } else { "\n" };
    let first = format!("{failed}\n{stderr}{end}{}", call.ending(&outcome));
    said([first].into_iter().chain((!stdout.is_empty()).then_some(stdout)), Verdict::Error)
}

/// Which languages can be run here, by the original's names.
fn runnable(call: &Call<'_>) -> String {
    let is_here = |language| call.runtime().engines_for(language).is_ok();
    let ids: Vec<&str> = LANGUAGES
        .iter()
        .filter(|(_, _, ours)| ours.and_then(Language::find).is_some_and(is_here))
        .map(|(id, _, _)| *id)
        .collect();
    format!("these can be run here: {}", ids.join(", "))
}
