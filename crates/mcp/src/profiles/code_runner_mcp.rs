//! `@mcpc-tech/code-runner-mcp` 0.1.21: Python that remembers, and JavaScript.

mod answer;
mod kept;
mod packages;

use std::time::Duration;

use rmcp::ErrorData;
use rmcp::model::{CallToolResult, ServerCapabilities, ServerConfig, Tool};
use sandbox::{BoxFuture, Collect, Folder, FolderAccess, Language, Outcome, Refusal, Request, Status};
use serde_json::{Value, json};

use super::transcript::Transcript;
use super::zod::{self, Field, Kind, Need, Zod};
use super::{Call, Contract, Verdict, forbid_tasks, identity, said, tool, why};
use crate::room;
use crate::tools::MOST_ECHO;

pub(super) use self::kept::Kept;

const PYTHON: &str = "python-code-runner";
const JAVASCRIPT: &str = "javascript-code-runner";

const PYTHON_TIME: Duration = Duration::from_mins(3);
const JAVASCRIPT_TIME: Duration = Duration::from_mins(1);

const PYTHON_FIELDS: &[Field<'static>] = &[
    Field { name: "code", kind: Kind::Text, need: Need::Required },
    Field { name: "packages", kind: Kind::Record, need: Need::Optional },
];
const JAVASCRIPT_FIELDS: &[Field<'static>] = &[Field { name: "code", kind: Kind::Text, need: Need::Required }];

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
    /// Folders of the host.
    pub folders: Vec<Folder>,
    /// Hosts that programs can reach.
    pub network: Vec<String>,
}

#[derive(Debug)]
pub(super) struct CodeRunner {
    tools: Tools,
    granted: Granted,
}

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
        format!(
            "Run Python in a sandbox, for data, mathematics, text, or to check code. Only what is printed comes back: use print(). \
             Variables, imports and files stay for the next call. Imports that need a package are installed; `packages` maps an \
             import's name to its package where they differ, and names packages that nothing imports directly. {} {}",
            self.describe_folders(),
            self.describe_network()
        )
    }

    fn describe_javascript(&self) -> String {
        let names: Vec<&str> = self.granted.env.iter().map(|(name, _)| name.as_str()).collect();
        let env = if names.is_empty() { "none".to_owned() } else { names.join(", ") };
        format!(
            "Run JavaScript or TypeScript in a sandbox, as an ES module with top-level await. Only what is printed comes back: use \
             console.log(). Packages are imported as npm:NAME, built-in modules as node:NAME; jsr:NAME and URLs cannot be. Types are \
             not checked. Files in the working folder stay for the next call. Environment variables: {env}. {} {}",
            self.describe_folders(),
            self.describe_network()
        )
    }

    fn describe_folders(&self) -> String {
        let shown = |folder: &Folder| match folder.access() {
            FolderAccess::Read => format!("{} (to read)", folder.target().display()),
            FolderAccess::Write => format!("{} (to read and write)", folder.target().display()),
        };
        match self.granted.folders.as_slice() {
            [] => "No folder of the host is mounted: files are the sandbox's own.".to_owned(),
            folders => {
                format!("Folders of the host: {}.", folders.iter().map(shown).collect::<Vec<_>>().join(", "))
            }
        }
    }

    fn describe_network(&self) -> String {
        match self.granted.network.as_slice() {
            [] => "There is no network.".to_owned(),
            hosts => format!("Hosts that can be reached: {}.", hosts.join(", ")),
        }
    }

    fn request(&self, call: &Call<'_>, tongue: Tongue) -> Request {
        let base = Request {
            code: call.text("code").as_bytes().to_vec(),
            network: self.granted.network.clone(),
            ..Request::default()
        };
        match tongue {
            Tongue::Python => Request {
                language: Some("python".to_owned()),
                session: Some(call.connection.name.clone()),
                packages: call.connection.kept.packages(packages::named(call)),
                limits: call.within(PYTHON_TIME),
                ..base
            },
            Tongue::JavaScript => {
                let id = if no_typescript(call).is_some() { "javascript" } else { "typescript" };
                Request {
                    language: Some(id.to_owned()),
                    files: call.connection.kept.files(&program(id, &base.code)),
                    env: self.granted.env.clone(),
                    limits: call.within(JAVASCRIPT_TIME),
                    collect: Collect::Contents,
                    ..base
                }
            }
        }
    }

    async fn run(&self, call: &Call<'_>, tongue: Tongue) -> CallToolResult {
        let (heard, mut remarks) = (Transcript::default(), Vec::new());
        let mut request = self.request(call, tongue);
        let program = program(request.language.as_deref().unwrap_or_default(), &request.code);
        match packages::run_with_some(call, &mut request, &heard, &mut remarks).await {
            Ok(outcome) => {
                let kept = &call.connection.kept;
                remarks.extend(packages::missing(&outcome, call.text("code"), &request.packages));
                match tongue {
                    Tongue::Python => kept.keep_packages(request.packages),
                    Tongue::JavaScript => {
                        kept.keep(&outcome, &program);
                        remarks.extend(not_read(call, &outcome));
                        remarks.extend(not_fetched(call.text("code"), &outcome));
                    }
                }
                let (text, verdict) = call.shown(&heard, &outcome, tongue, &remarks);
                said([call.fit(&text)], verdict)
            }
            Err(error) => said([why(&error)], Verdict::Error),
        }
    }
}

/// Why there is only JavaScript, which is a part of TypeScript. Only the host's own tools can have what is granted, and
/// many hosts have nothing but Node.js.
fn no_typescript(call: &Call<'_>) -> Option<Refusal> {
    let served = |id| Language::find(id).map(|language| call.runtime().engines_for(language));
    served("typescript")?.err().filter(|_| served("javascript").is_some_and(|served| served.is_ok()))
}

/// What to say of a program that may have been TypeScript.
fn not_read(call: &Call<'_>, outcome: &Outcome) -> Option<String> {
    let is_unread = outcome.error.as_ref().is_some_and(|error| error.kind == "SyntaxError");
    let refusal = no_typescript(call).filter(|_| is_unread)?;
    Some(format!("types cannot be used here: {}; {}", refusal.message(), refusal.hint()))
}

/// What to say of a program that failed, perhaps because of its imports. Even with a network, Deno has only modules
/// that come from packages.
fn not_fetched(code: &str, outcome: &Outcome) -> Option<String> {
    if outcome.status == (Status::Completed { exit_code: 0 }) {
        return None;
    }
    let module = room::shortened(elsewhere(code)?, MOST_ECHO);
    Some(format!("`{module}` cannot be imported here: modules come from npm alone, such as \"npm:zod@4\""))
}

/// The first module of JSR or at a URL that a program imports, as far as its text tells.
fn elsewhere(code: &str) -> Option<&str> {
    let is_import = |before: &str| {
        let called = before.strip_suffix('(').is_some_and(|before| before.trim_end().ends_with("import"));
        called || before.ends_with("import") || before.ends_with("from")
    };
    let is_elsewhere = |module: &str| ["jsr:", "https://", "http://"].iter().any(|start| module.starts_with(start));
    let mut before = "";
    code.split(['"', '\'']).find(|piece| {
        let before = std::mem::replace(&mut before, *piece);
        is_elsewhere(piece) && is_import(before.trim_end())
    })
}

/// What a program's file is called.
fn program(language: &str, code: &[u8]) -> String {
    Language::find(language).map(|language| language.names_for(code).source).unwrap_or_default()
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn modules_that_do_not_come_from_npm() {
        for (code, expected) in [
            ("import { join } from \"jsr:@std/path\";", Some("jsr:@std/path")),
            ("import 'https://esm.sh/zod'", Some("https://esm.sh/zod")),
            ("const m = await import( 'http://a.example/m.js');", Some("http://a.example/m.js")),
            ("export * from\n'jsr:@a/b'", Some("jsr:@a/b")),
            ("import z from 'npm:zod'; fetch('https://a.example')", None),
            ("const from = 'jsr:@a/b'; Array.from('https://a.example')", None),
        ] {
            assert_eq!(elsewhere(code), expected, "{code}");
        }
    }
}
