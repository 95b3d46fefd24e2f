//! `mcp-run-python` 0.0.22: Python, and the value of its last line.

mod aloud;
mod http;

use axum::response::Response;
use rmcp::ErrorData;
use rmcp::model::{CallToolResult, ServerCapabilities, ServerConfig, Tool};
use runtime::RunError;
use sandbox::{BoxFuture, Collect, Outcome, Request, Variable};
use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Value, json};

use super::transcript::Transcript;
use super::zod::{self, Field, Kind, Need, Zod};
use super::{Call, Contract, Verdict, identity, said, tool, why};
use crate::http::Asked;
use crate::room::{both_shortened, cost, cost_twice};

const RUN_PYTHON_CODE: &str = "run_python_code";

/// Runs the caller's program and says what came of it.
const HARNESS: &str = include_str!("mcp_run_python/harness.py");
/// Where it does.
const REPORT: &str = ".mcp-run-python.json";

/// What comes without being named: programs there could count on it.
const GIVEN: &str = "pydantic";

const FIELDS: &[Field<'static>] = &[
    Field { name: "python_code", kind: Kind::Text, need: Need::Required },
    Field { name: "global_variables", kind: Kind::Record, need: Need::Optional },
];

/// The form of results.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ReturnMode {
    /// Parts in tags, for models.
    Xml,
    /// One object, for programs.
    Json,
}

#[derive(Debug)]
pub(super) struct RunPython {
    returns: ReturnMode,
    dependencies: Vec<String>,
}

/// What the harness says. The guest's word.
#[derive(Debug, Default, Deserialize)]
struct Report {
    /// The value for people, if there is one.
    text: Option<String>,
    /// The value as JSON.
    json: Option<String>,
    /// The traceback.
    error: Option<String>,
}

/// What is returned, before it has a form.
struct Returned {
    status: &'static str,
    output: Vec<String>,
    report: Report,
}

impl RunPython {
    pub(super) fn new(returns: ReturnMode, dependencies: Vec<String>) -> Self {
        Self { returns, dependencies }
    }

    fn request(&self, call: &Call<'_>, given: Option<&str>) -> Request {
        let code = call.text("python_code");
        let variables = call.arguments.get("global_variables").cloned().unwrap_or_else(|| json!({}));
        let variable = |name: &str, value: &Value| Variable { name: name.to_owned(), json: value.to_string() };
        Request {
            code: HARNESS.as_bytes().to_vec(),
            language: Some("python".to_owned()),
            variables: vec![variable("python_code", &json!(code)), variable("global_variables", &variables)],
            packages: self.dependencies.iter().cloned().chain(given.map(str::to_owned)).collect(),
            collect: Collect::Contents,
            ..Request::default()
        }
    }

    async fn run(&self, call: &Call<'_>) -> CallToolResult {
        let heard = Transcript::default();
        let given = imports(call.text("python_code"), GIVEN).then_some(GIVEN);
        let mut ended = call.run_aloud(self.request(call, given), &heard).await;
        // Nobody named it, and the program may do without. If only an engine that is not here can have it, that one is what is missing.
        let is_without = |error: &RunError| refuses(error, "packages") || refuses(error, "engine");
        if given.is_some() && ended.as_ref().is_err_and(is_without) {
            ended = call.run_aloud(self.request(call, None), &heard).await;
        }
        let output = heard.lines().into_iter().map(|(_, line)| without_end(line)).collect();
        let returned = match &ended {
            Ok(outcome) => Returned::of(outcome, output, call),
            Err(error) => {
                let status = if refuses(error, "packages") { "install-error" } else { "run-error" };
                Returned { status, output, report: Report { error: Some(why(error)), ..Report::default() } }
            }
        };
        let text = match self.returns {
            ReturnMode::Xml => returned.xml(call.room().streams),
            ReturnMode::Json => returned.json(call.room().streams),
        };
        said([text], Verdict::Fine)
    }
}

impl Contract for RunPython {
    #[expect(deprecated, reason = "the original has logs")]
    fn identity(&self) -> ServerConfig {
        let capabilities =
            ServerCapabilities::builder().enable_logging().enable_tools().enable_tool_list_changed().build();
        identity("MCP Run Python", "0.0.13", capabilities)
            .with_instructions("Call run_python_code with Python code to have it run.")
    }

    fn tools(&self) -> Vec<Tool> {
        let schema = json!({
            "type": "object",
            "properties": {
                "python_code": {"type": "string", "description": "The program"},
                "global_variables": {
                    "type": "object", "additionalProperties": {}, "default": {},
                    "description": "Variables that it finds set, by name",
                },
            },
            "required": ["python_code"],
            "additionalProperties": false,
            "$schema": "http://json-schema.org/draft-07/schema#",
        });
        let text = "Run a Python 3.13 program and get its standard output, its standard error and the value of its last line. It may use \
                    `await` at its top level. Each program starts from nothing.";
        vec![tool(RUN_PYTHON_CODE, text.to_owned(), &schema).with_title("Run Python code")]
    }

    fn reworded(&self, asked: &Asked, answer: &Response) -> Option<Response> {
        http::reworded(asked, answer)
    }

    fn call<'a>(&'a self, call: Call<'a>) -> BoxFuture<'a, Result<CallToolResult, ErrorData>> {
        Box::pin(async move {
            if call.tool != RUN_PYTHON_CODE {
                return Err(ErrorData::invalid_params(zod::no_tool(call.tool), None));
            }
            let issues = Zod::V3.check(&call.arguments, FIELDS);
            if !issues.is_empty() {
                return Err(ErrorData::invalid_params(zod::list(RUN_PYTHON_CODE, &issues), None));
            }
            Ok(self.run(&call).await)
        })
    }
}

/// Whether it is this argument that a run is refused for.
fn refuses(error: &RunError, argument: &str) -> bool {
    matches!(error, RunError::Refused(refusal) if refusal.argument() == argument)
}

/// Whether a program imports a module, as far as its lines tell. An import inside a string counts too, which costs a
/// package, if that can be had.
fn imports(code: &str, module: &str) -> bool {
    let is_it = |name: &str| {
        let mut words = name.trim_start().split(|letter: char| letter != '_' && !letter.is_alphanumeric());
        words.next() == Some(module)
    };
    code.lines().flat_map(|line| line.split([';', ':'])).any(|statement| {
        match statement.trim_start().split_once(char::is_whitespace) {
            Some(("import", names)) => names.split(',').any(is_it),
            Some(("from", name)) => is_it(name),
            Some(_) | None => false,
        }
    })
}

impl Returned {
    fn of(outcome: &Outcome, output: Vec<String>, call: &Call<'_>) -> Self {
        let file = outcome.files.iter().find(|file| file.path.as_str() == REPORT);
        let report = file.and_then(|file| serde_json::from_slice::<Report>(file.contents.as_ref()?).ok());
        match report {
            Some(report) if report.error.is_none() => Self { status: "success", output, report },
            Some(report) => Self { status: "run-error", output, report },
            // It was stopped, or took the harness apart.
            None => {
                let error = Some(format!("{}\n", call.ending(outcome)));
                Self { status: "run-error", output, report: Report { error, ..Report::default() } }
            }
        }
    }

    fn xml(&self, room: usize) -> String {
        let last = match (&self.report.error, &self.report.text) {
            (Some(error), _) => Some(("error", error.as_str())),
            (None, Some(value)) => Some(("return_value", value.as_str())),
            (None, None) => None,
        };
        let (name, text) = last.unwrap_or_default();
        // Before it is cut: it is longer then.
        let texts = [escaped("output", &self.output.join("\n")), escaped(name, text)];
        let [output, text] = both_shortened(cost, texts.each_ref().map(String::as_str), room);
        let part = |name: &str, text: &str| format!("<{name}>\n{text}\n</{name}>");
        let status = format!("<status>{}</status>", self.status);
        let output = (!self.output.is_empty()).then(|| part("output", &output));
        let last = last.map(|(name, _)| part(name, &text));
        [Some(status), output, last].into_iter().flatten().collect::<Vec<_>>().join("\n")
    }

    fn json(&self, room: usize) -> String {
        let (name, text) = match (&self.report.error, &self.report.json) {
            (Some(error), _) => ("error", error.as_str()),
            (None, json) => ("return_value", json.as_deref().unwrap_or("null")),
        };
        let [output, last] = both_shortened(cost_in_lines, [&self.output.join("\n"), text], room);
        let lines: Vec<&str> = if self.output.is_empty() { Vec::new() } else { output.split('\n').collect() };
        // The guest says that it is JSON. What is not, such as `NaN` or a part of a value, is a text.
        let is_value = name == "return_value" && last == text && serde_json::from_str::<&RawValue>(text).is_ok();
        let last = if is_value { last } else { Value::String(last).to_string() };
        format!("{{\"status\":\"{}\",\"output\":{},\"{name}\":{last}}}", self.status, json!(lines))
    }
}

/// What a character takes in JSON in which each line is a text of its own.
fn cost_in_lines(character: char) -> usize {
    if character == '\n' { r#"\",\""#.len() } else { cost_twice(character) }
}

fn without_end(mut line: String) -> String {
    if line.ends_with('\n') {
        line.pop();
    }
    line
}

/// A part's text, in which nothing looks like the part's own tags.
fn escaped(name: &str, text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, after)) = rest.split_once('<') {
        escaped.push_str(before);
        let inner = after.strip_prefix('/').unwrap_or(after).trim_start();
        let is_tag = inner.get(..name.len()).is_some_and(|start| start.eq_ignore_ascii_case(name));
        rest = after;
        if !is_tag {
            escaped.push('<');
            continue;
        }
        escaped.push_str("&lt;");
        // No further than to what may be the next, or the end of the text would be looked for once for each.
        let end = after.find(['<', '>', '\n']).unwrap_or(after.len());
        if let Some((tag, after)) = after.split_at_checked(end)
            && let Some(after) = after.strip_prefix('>')
        {
            escaped.push_str(tag);
            escaped.push_str("&gt;");
            rest = after;
        }
    }
    escaped.push_str(rest);
    escaped
}

#[cfg(test)]
mod tests;
