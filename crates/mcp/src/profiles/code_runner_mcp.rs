//! `@mcpc-tech/code-runner-mcp` 0.1.21: Python that remembers, and JavaScript.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::path::Path;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use rmcp::ErrorData;
use rmcp::model::{CallToolResult, ServerCapabilities, ServerConfig, Tool};
use runtime::RunError;
use sandbox::{BoxFuture, Collect, InputFile, Outcome, OutputFile, Request, SessionState, Status, Stream};
use serde_json::{Value, json};

use super::transcript::{Line, Transcript};
use super::zod::{self, Field, Kind, Need, Zod};
use super::{Call, Contract, Verdict, forbid_tasks, identity, said, tool, why};

const PYTHON: &str = "python-code-runner";
const JAVASCRIPT: &str = "javascript-code-runner";

const PYTHON_TIME: Duration = Duration::from_mins(3);
const JAVASCRIPT_TIME: Duration = Duration::from_mins(1);

const PYTHON_FIELDS: &[Field<'static>] = &[
    Field { name: "code", kind: Kind::Text, need: Need::Required },
    Field { name: "packages", kind: Kind::Record, need: Need::Optional },
];
const JAVASCRIPT_FIELDS: &[Field<'static>] = &[Field { name: "code", kind: Kind::Text, need: Need::Required }];

const TIP: &str = "(no output)\n\n**Tip:** what is not printed, with `console.log()` for instance, is not seen.";
const BROKEN: &str = "\n\n**Syntax Error Detected!** Send the program's text as it is, with real newlines and quotes.";
const ABSENT: &str = "\n\n**Missing dependency detected!** Map the import's name to its package in `packages`, such as {\"cv2\": \"opencv-python\"}.";

/// Which tools there are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Tools {
    /// Both.
    All,
    /// Python's.
    Python,
    /// JavaScript's.
    JavaScript,
    /// Neither.
    None,
}

/// What the operator lets programs have beside their sandbox.
#[derive(Debug, Clone, Default)]
pub struct Granted {
    /// Environment variables of JavaScript.
    pub env: Vec<(String, String)>,
    /// The folder that Python may read and write.
    pub folder: Option<String>,
    /// Hosts that programs can reach.
    pub network: Vec<String>,
}

#[derive(Debug)]
pub(super) struct CodeRunner {
    tools: Tools,
    granted: Granted,
}

/// Files that JavaScript left in its working folder, for the client's next call.
#[derive(Debug, Default)]
pub(super) struct Kept(Mutex<BTreeMap<OsString, Vec<u8>>>);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Tongue {
    Python,
    JavaScript,
}

impl CodeRunner {
    pub(super) fn new(tools: Tools, granted: Granted) -> Self {
        Self { tools, granted }
    }

    fn describe_python(&self) -> String {
        let folder = match &self.granted.folder {
            Some(folder) => format!("Files in {folder} are the host's own, to read and write."),
            None => "No folder of the host is mounted: files are the sandbox's own.".to_owned(),
        };
        format!(
            "Run Python in a sandbox, for data, mathematics, text, or to check code. Only what is printed comes back: use print(). \
             Variables, imports and files stay for the next call. Imports that need a package are installed; `packages` maps an \
             import's name to its package where they differ, and names packages that nothing imports directly. {folder} {}",
            self.describe_network()
        )
    }

    fn describe_javascript(&self) -> String {
        let names: Vec<&str> = self.granted.env.iter().map(|(name, _)| name.as_str()).collect();
        let env = if names.is_empty() { "none".to_owned() } else { names.join(", ") };
        format!(
            "Run JavaScript or TypeScript in a sandbox, as an ES module with top-level await. Only what is printed comes back: use \
             console.log(). Packages are imported as npm:NAME, built-in modules as node:NAME. Types are not checked. Files in the \
             working folder stay for the next call. Environment variables: {env}. {}",
            self.describe_network()
        )
    }

    fn describe_network(&self) -> String {
        match self.granted.network.as_slice() {
            [] => "There is no network.".to_owned(),
            hosts => format!("Hosts that can be reached: {}.", hosts.join(", ")),
        }
    }

    fn request(&self, call: &Call<'_>, tongue: Tongue) -> Request {
        let base = Request { code: call.text("code").as_bytes().to_vec(), ..Request::default() };
        let network = self.granted.network.clone();
        match tongue {
            Tongue::Python => Request {
                language: Some("python".to_owned()),
                session: Some(call.connection.name.clone()),
                packages: packages(call),
                limits: call.within(PYTHON_TIME),
                network,
                ..base
            },
            Tongue::JavaScript => Request {
                language: Some("typescript".to_owned()),
                files: call.connection.kept.files(),
                env: self.granted.env.clone(),
                limits: call.within(JAVASCRIPT_TIME),
                collect: Collect::Contents,
                network,
                ..base
            },
        }
    }

    async fn run(&self, call: &Call<'_>, tongue: Tongue) -> CallToolResult {
        let heard = Transcript::default();
        let request = self.request(call, tongue);
        let mut remarks = Vec::new();
        let mut ended = call.run(request.clone(), &heard).await;
        // What cannot be installed is no reason not to run: the program may do without.
        if let Err(RunError::Refused(refusal)) = &ended
            && refusal.argument() == "packages"
            && !request.packages.is_empty()
        {
            remarks.push(refusal.message().to_owned());
            ended = call.run(Request { packages: Vec::new(), ..request }, &heard).await;
        }
        match ended {
            Ok(outcome) => {
                remarks.extend(missing(&outcome, call.text("code")));
                if tongue == Tongue::JavaScript {
                    call.connection.kept.keep(&outcome);
                }
                let (text, verdict) = call.shown(&heard, &outcome, tongue, &remarks);
                said([call.fit(&text)], verdict)
            }
            Err(error) => said([why(&error)], Verdict::Error),
        }
    }
}

impl Contract for CodeRunner {
    fn identity(&self) -> ServerConfig {
        let capabilities = ServerCapabilities::builder().enable_tools().enable_tool_list_changed().build();
        identity("code-runner-mcp", "0.1.0", capabilities)
    }

    fn tools(&self) -> Vec<Tool> {
        let schema = |properties: Value| {
            json!({
                "$schema": "http://json-schema.org/draft-07/schema#",
                "type": "object",
                "properties": properties,
                "required": ["code"],
            })
        };
        let code = json!({"type": "string", "description": "The program"});
        let packages = json!({
            "type": "object", "propertyNames": {"type": "string"}, "additionalProperties": {"type": "string"},
            "description": "Packages by the names that the program imports them with",
        });
        let python = || tool(PYTHON, self.describe_python(), &schema(json!({"code": code, "packages": packages})));
        let javascript = || tool(JAVASCRIPT, self.describe_javascript(), &schema(json!({"code": code})));
        match self.tools {
            Tools::All => vec![python(), javascript()],
            Tools::Python => vec![python()],
            Tools::JavaScript => vec![javascript()],
            Tools::None => Vec::new(),
        }
    }

    fn call<'a>(&'a self, call: Call<'a>) -> BoxFuture<'a, Result<CallToolResult, ErrorData>> {
        Box::pin(async move {
            let (tongue, fields) = match (call.tool, self.tools) {
                (PYTHON, Tools::All | Tools::Python) => (Tongue::Python, PYTHON_FIELDS),
                (JAVASCRIPT, Tools::All | Tools::JavaScript) => (Tongue::JavaScript, JAVASCRIPT_FIELDS),
                (other, _) => return Ok(said([zod::no_tool(other)], Verdict::Error)),
            };
            let issues = Zod::V4.check(&call.arguments, fields);
            if !issues.is_empty() {
                return Ok(said([zod::sentence(call.tool, &issues)], Verdict::Error));
            }
            Ok(self.run(&call, tongue).await)
        })
    }

    fn retouch(&self, reply: &mut Value) {
        forbid_tasks(reply);
    }
}

impl Call<'_> {
    /// What a call says.
    fn shown(&self, heard: &Transcript, outcome: &Outcome, tongue: Tongue, remarks: &[String]) -> (String, Verdict) {
        let lost = match &outcome.state {
            Some(SessionState::Lost(reason)) => Some(format!("variables of earlier calls are gone: {reason}")),
            Some(SessionState::Gone) => Some("variables and files of earlier calls are gone".to_owned()),
            Some(SessionState::Kept) | None => None,
        };
        let remarks = remarks.iter().chain(&lost).flat_map(|remark| ["[stderr] ", remark, "\n"]);
        let text = remarks.collect::<String>() + &output(heard, outcome, tongue);
        let mark = match tongue {
            Tongue::Python => "[err][py]",
            Tongue::JavaScript => "[err][js]",
        };
        match outcome.status {
            Status::Completed { exit_code: 0 } if text.is_empty() => match tongue {
                Tongue::Python => ("(no output)".to_owned(), Verdict::Fine),
                Tongue::JavaScript => (TIP.to_owned(), Verdict::Fine),
            },
            Status::Completed { exit_code: 0 } => (text, Verdict::Fine),
            Status::TimedOut => (text + mark + " timeout", Verdict::Fine),
            Status::Completed { .. } if outcome.error.is_some() => (text + advice(outcome, tongue), Verdict::Error),
            Status::Completed { .. } | Status::Crashed { .. } | Status::LimitExceeded(_) | Status::Cancelled => {
                (format!("{text}{mark} {}", self.ending(outcome)), Verdict::Error)
            }
        }
    }
}

impl Kept {
    fn files(&self) -> Vec<InputFile> {
        let kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        kept.iter().map(|(path, contents)| InputFile { path: path.clone(), contents: contents.clone() }).collect()
    }

    fn keep(&self, outcome: &Outcome) {
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        for file in &outcome.files {
            // The next program is another.
            let is_program = Path::new(file.path.as_str()).file_stem() == Some(OsStr::new("main"));
            if let Some(contents) = file.contents.as_ref().filter(|_| !is_program) {
                kept.insert(file.path.as_str().into(), contents.clone());
            }
        }
        // As much as a run can bring back, so that what is kept can be brought in.
        let mut size: u64 = kept.values().map(|contents| contents.len() as u64).sum();
        while (size > OutputFile::MAX_CONTENTS || kept.len() > OutputFile::MAX_COUNT)
            && let Some((_, contents)) = kept.pop_first()
        {
            size -= contents.len() as u64;
        }
    }
}

/// What `packages` names, whatever it is imported as.
fn packages(call: &Call<'_>) -> Vec<String> {
    let named = call.arguments.get("packages").and_then(Value::as_object);
    named.into_iter().flat_map(|named| named.values()).filter_map(|name| name.as_str().map(str::to_owned)).collect()
}

/// Packages of a program that could not be installed. A session's are those of earlier programs, too.
fn missing(outcome: &Outcome, code: &str) -> Vec<String> {
    let Some(provided) = &outcome.packages else { return Vec::new() };
    let unknown = provided
        .unknown
        .iter()
        .filter(|module| code.contains(module.as_str()))
        .map(|module| format!("there is no package for `{module}`"));
    unknown.chain(provided.problem.clone()).collect()
}

fn advice(outcome: &Outcome, tongue: Tongue) -> &'static str {
    match (tongue, outcome.error.as_ref().map(|error| error.kind.as_str())) {
        (Tongue::Python, Some("SyntaxError" | "IndentationError" | "TabError")) => BROKEN,
        (Tongue::Python, Some("ModuleNotFoundError")) => ABSENT,
        _ => "",
    }
}

fn output(heard: &Transcript, outcome: &Outcome, tongue: Tongue) -> String {
    let marked = |(stream, text): &Line| match stream {
        Stream::Stdout => text.clone(),
        Stream::Stderr => format!("[stderr] {text}"),
    };
    match tongue {
        Tongue::JavaScript => heard.chunks().iter().map(marked).collect(),
        Tongue::Python => {
            let lines = heard.lines();
            let (printed, report) =
                lines.split_at(if outcome.error.is_some() { report_at(&lines) } else { lines.len() });
            let report: String = report.iter().map(|(_, line)| as_there(line)).collect();
            printed.iter().map(marked).collect::<String>() + &report
        }
    }
}

/// A line of a traceback, in which the program is called what the original calls it.
fn as_there(line: &str) -> String {
    let named = line.strip_prefix("  File \"<cell ").and_then(|rest| rest.split_once(">\""));
    named.map_or_else(|| line.to_owned(), |(_, rest)| format!("  File \"<exec>\"{rest}"))
}

/// Where the report of an exception begins that nobody caught: it is the last that was printed.
fn report_at(lines: &[Line]) -> usize {
    let begins =
        |(stream, line): &Line| *stream == Stream::Stderr && line.starts_with("Traceback (most recent call last):");
    let names = |(stream, line): &Line| *stream == Stream::Stderr && line.starts_with("  File \"");
    let last = |is: &dyn Fn(&Line) -> bool| lines.iter().rposition(is);
    last(&begins).or_else(|| last(&names)).unwrap_or(lines.len())
}
