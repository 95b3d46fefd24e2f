//! Other servers' contracts, spoken over our runtime: their names, schemas and results, without their faults.
//!
//! A profile is a table and a renderer. What an original kept between calls is kept per connection here: no two clients
//! share it.

mod code_runner_mcp;
mod mask;
mod mcp_code_executor;
mod mcp_run_python;
mod mcp_server_code_runner;
mod runno;
mod transcript;
mod zod;

use std::fmt;
use std::io;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use axum::response::Response;
use rmcp::model::{CallToolResult, ContentBlock, Implementation, ServerCapabilities, ServerConfig, Tool};
use rmcp::service::RequestContext;
use rmcp::{ErrorData, RoleServer};
use runtime::{RunError, Runtime};
use sandbox::{BoxFuture, LimitsRequest, Outcome, Principal, Refusal, Request, Status, signal_name};
use serde_json::{Map, Value};

use self::transcript::Transcript;
use crate::http::Asked;
use crate::room::{self, Cost, Room};
use crate::server::{self, Server};
use crate::witness::Witness;

pub(crate) use self::mask::{Guise, Mask};

pub use self::code_runner_mcp::{Granted, Tools};
pub use self::mcp_code_executor::{Environment, EnvironmentType};
pub use self::mcp_run_python::ReturnMode;

/// A server that ours can pass for.
#[derive(Debug, Clone)]
pub struct Profile(Arc<dyn Contract>);

impl Profile {
    /// `@mcpc-tech/code-runner-mcp`: Python that remembers, and JavaScript.
    pub fn code_runner_mcp(tools: Tools, granted: Granted) -> Self {
        Self(Arc::new(code_runner_mcp::CodeRunner::new(tools, granted)))
    }

    /// `@runno/mcp`: six languages in WebAssembly.
    pub fn runno() -> Self {
        Self(Arc::new(runno::Runno))
    }

    /// `mcp-run-python`: Python and the value of its last line, with these packages.
    pub fn mcp_run_python(returns: ReturnMode, dependencies: Vec<String>) -> Self {
        Self(Arc::new(mcp_run_python::RunPython::new(returns, dependencies)))
    }

    /// `mcp_code_executor`: Python in an environment, with code files in a folder of the host that is made if there is none.
    pub fn mcp_code_executor(store: &Path, environment: Environment) -> io::Result<Self> {
        Ok(Self(Arc::new(mcp_code_executor::CodeExecutor::open(store, environment)?)))
    }

    /// `mcp-server-code-runner`: 37 languages.
    pub fn mcp_server_code_runner() -> Self {
        Self(Arc::new(mcp_server_code_runner::CodeRunner))
    }
}

/// What is particular to an original and reproduced exactly.
trait Contract: Send + Sync + fmt::Debug {
    fn identity(&self) -> ServerConfig;

    fn tools(&self) -> Vec<Tool>;

    fn call<'a>(&'a self, call: Call<'a>) -> BoxFuture<'a, Result<CallToolResult, ErrorData>>;

    /// Its own answer over HTTP in place of this one, where that is reproduced too.
    fn reworded(&self, _: &Asked, _: &Response) -> Option<Response> {
        None
    }

    /// Puts in what the types of today's protocol have no place for.
    fn retouch(&self, _reply: &mut Value) {}
}

impl Profile {
    pub(crate) fn reword(&self, asked: &Asked, answer: Response) -> Response {
        self.0.reworded(asked, &answer).unwrap_or(answer)
    }
}

/// A call of a tool, with what it takes to answer it.
struct Call<'a> {
    server: &'a Server,
    context: &'a RequestContext<RoleServer>,
    connection: &'a Connection,
    log_level: u8,
    tool: &'a str,
    arguments: Map<String, Value>,
}

/// What is kept for one client.
#[derive(Debug)]
struct Connection {
    /// Names its session.
    name: String,
    kept: code_runner_mcp::Kept,
}

impl Call<'_> {
    fn runtime(&self) -> &Runtime {
        &self.server.runtime
    }

    fn caller(&self) -> Principal {
        server::principal(self.context)
    }

    /// This much time, or as much as the operator lets anybody have.
    fn within(&self, wall: Duration) -> LimitsRequest {
        let most = &self.runtime().policy().ceilings;
        LimitsRequest { wall: Some(wall.min(most.wall)), cpu: Some(wall.min(most.cpu)), ..LimitsRequest::default() }
    }

    /// Runs a program for this call; its output goes to `heard`. Written down as any run of ours.
    async fn run(&self, mut request: Request, heard: &Transcript) -> Result<Outcome, RunError> {
        request.principal = self.caller();
        let mut witness = Witness::new(&self.server.observers, self.caller(), self.context);
        let plan = match self.server.admit(request, &mut witness) {
            Ok(plan) => plan,
            Err(refusal) => {
                witness.refuses(&refusal);
                return Err(refusal.into());
            }
        };
        let mut ears = heard.clone();
        let ended = Box::pin(self.runtime().carry_out(plan, &mut ears)).await;
        witness.saw(&ended);
        ended
    }

    /// How a run ended that did not end well, for its last line.
    fn ending(&self, outcome: &Outcome) -> String {
        match outcome.status {
            Status::Completed { exit_code } => format!("exit code {exit_code}"),
            Status::Crashed { signal } => format!("ended by {}", signal_name(signal)),
            Status::TimedOut => {
                let policy = self.runtime().policy();
                let wall = policy.defaults.wall.min(policy.ceilings.wall);
                format!("stopped at the time limit of {} s", wall.as_secs_f64())
            }
            Status::LimitExceeded(limit) => format!("ended for passing the {limit} limit"),
            Status::Cancelled => "cancelled".to_owned(),
        }
    }

    /// As much of a text as an answer has room for.
    fn fit(&self, text: &str) -> String {
        room::shortened(text, self.room().streams)
    }

    /// As much of two texts as an answer has room for, by what their characters take there.
    fn fit_both(&self, cost: Cost, texts: [&str; 2]) -> [String; 2] {
        room::both_shortened(cost, texts, self.room().streams)
    }

    fn room(&self) -> Room {
        server::room(self.context)
    }

    /// A text among the arguments, which were checked.
    fn text(&self, argument: &str) -> &str {
        self.arguments.get(argument).and_then(Value::as_str).unwrap_or_default()
    }
}

/// Why there is no outcome, in a sentence.
fn why(error: &RunError) -> String {
    match error {
        RunError::Refused(refusal) => sentence(refusal),
        RunError::Failed(error) => format!("failed, and not because of the code: {}", crate::tools::told(error)),
    }
}

/// A refusal. It names what the caller sent, of any size.
fn sentence(refusal: &Refusal) -> String {
    room::shortened(&format!("{}; {}", refusal.message(), refusal.hint()), MOST_REFUSAL)
}

const MOST_REFUSAL: usize = 4_000;

/// Where programs and their files are, in either engine.
const WORKSPACE: &str = "/box";

/// A result that says no more than `isError`.
fn said(texts: impl IntoIterator<Item = String>, verdict: Verdict) -> CallToolResult {
    let content = texts.into_iter().map(ContentBlock::text).collect();
    match verdict {
        Verdict::Fine => {
            let mut result = CallToolResult::success(content);
            // Originals leave it out.
            result.is_error = None;
            result
        }
        Verdict::Error => CallToolResult::error(content),
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Verdict {
    Fine,
    Error,
}

fn identity(name: &str, version: &str, capabilities: ServerCapabilities) -> ServerConfig {
    ServerConfig::new(capabilities).with_server_info(Implementation::new(name, version))
}

fn tool(name: &'static str, description: String, schema: &Value) -> Tool {
    Tool::new(name, description, Arc::new(schema.as_object().cloned().unwrap_or_default()))
}

/// Says of each tool that calls of it are no tasks, as servers of the SDK for TypeScript do.
fn forbid_tasks(reply: &mut Value) {
    for tool in reply.get_mut("tools").and_then(Value::as_array_mut).into_iter().flatten() {
        if let Value::Object(tool) = tool {
            tool.insert("execution".to_owned(), serde_json::json!({"taskSupport": "forbidden"}));
        }
    }
}
