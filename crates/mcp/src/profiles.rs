//! Other servers' contracts, spoken over our runtime: their names, schemas and results, without their faults.
//!
//! A profile is a table and a renderer. What an original kept between calls, a connection keeps here: never two clients the same.

mod code_runner_mcp;
mod mcp_run_python;
mod mcp_server_code_runner;
mod runno;
mod transcript;
mod zod;

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};
use std::time::Duration;

use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CallToolResult, ClientRequest, ContentBlock, CustomResult, Implementation,
    ListPromptsRequestMethod, ListPromptsResult, ListResourceTemplatesRequestMethod, ListResourceTemplatesResult,
    ListResourcesRequestMethod, ListResourcesResult, ListToolsResult, PaginatedRequestParams, ServerCapabilities,
    ServerConfig, ServerResult, Tool,
};
use rmcp::service::{NotificationContext, RequestContext, Service, ServiceRole};
use rmcp::{ErrorData, RoleServer, ServerHandler};
use runtime::{RunError, Runtime};
use sandbox::{BoxFuture, LimitsRequest, Outcome, Principal, Request, Status, signal_name};
use serde_json::{Map, Value};

use self::transcript::Transcript;
use crate::room::{self, Room};
use crate::runs::new_name;
use crate::server::{self, Server};
use crate::teller::{NO_LOGS, level_number};
use crate::witness::Witness;

pub use self::code_runner_mcp::{Granted, Tools};
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

    /// `mcp-server-code-runner`: 37 languages.
    pub fn mcp_server_code_runner() -> Self {
        Self(Arc::new(mcp_server_code_runner::CodeRunner))
    }
}

/// What is exact about an original.
trait Contract: Send + Sync + fmt::Debug {
    fn identity(&self) -> ServerConfig;

    fn tools(&self) -> Vec<Tool>;

    fn call<'a>(&'a self, call: Call<'a>) -> BoxFuture<'a, Result<CallToolResult, ErrorData>>;

    /// Puts in what the types of today's protocol have no place for.
    fn retouch(&self, _reply: &mut Value) {}
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
        let ended = self.runtime().carry_out(plan, &mut heard.clone()).await;
        witness.saw(&ended);
        ended
    }

    /// As much of a text as an answer has room for.
    fn fit(&self, text: &str) -> String {
        room::shortened(text, self.room().streams)
    }

    fn room(&self) -> Room {
        server::room(self.context)
    }

    /// A text among the arguments, which were checked.
    fn text(&self, argument: &str) -> &str {
        self.arguments.get(argument).and_then(Value::as_str).unwrap_or_default()
    }
}

/// How a run ended that did not end well, for its last line.
fn ending(outcome: &Outcome) -> String {
    match outcome.status {
        Status::Completed { exit_code } => format!("exit code {exit_code}"),
        Status::Crashed { signal } => format!("ended by {}", signal_name(signal)),
        Status::TimedOut => format!("stopped at the time limit, after {:.1} s", outcome.usage.wall.as_secs_f64()),
        Status::LimitExceeded(limit) => format!("ended for passing the {limit} limit"),
        Status::Cancelled => "cancelled".to_owned(),
    }
}

/// Why there is no outcome, in a sentence.
fn why(error: &RunError) -> String {
    match error {
        RunError::Refused(refusal) => format!("{}; {}", refusal.message(), refusal.hint()),
        RunError::Failed(error) => format!("failed, and not because of the code: {error}"),
    }
}

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

/// Serves one client in the manner of a profile.
#[derive(Debug, Clone)]
pub(crate) struct Mask {
    server: Arc<Server>,
    contract: Arc<dyn Contract>,
    connection: Arc<Connection>,
    log_level: Arc<AtomicU8>,
}

impl Mask {
    pub(crate) fn new(server: &Arc<Server>, profile: &Profile) -> Self {
        Self {
            server: Arc::clone(server),
            contract: Arc::clone(&profile.0),
            connection: Arc::new(Connection { name: new_name(), kept: code_runner_mcp::Kept::default() }),
            log_level: Arc::new(AtomicU8::new(NO_LOGS)),
        }
    }
}

impl ServerHandler for Mask {
    fn get_info(&self) -> ServerConfig {
        self.contract.identity()
    }

    async fn list_tools(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        Ok(ListToolsResult::with_all_items(self.contract.tools()))
    }

    fn get_tool(&self, name: &str) -> Option<Tool> {
        self.contract.tools().into_iter().find(|tool| tool.name == name)
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let call = Call {
            server: &self.server,
            context: &context,
            connection: &self.connection,
            log_level: self.log_level.load(Ordering::Relaxed),
            tool: &request.name,
            arguments: request.arguments.unwrap_or_default(),
        };
        tokio::select! {
            biased;
            result = self.contract.call(call) => Ok(result?.into()),
            // Dropping the call ends what it started.
            () = context.ct.cancelled() => Err(ErrorData::internal_error("cancelled", None)),
        }
    }

    #[expect(deprecated, reason = "clients of the older era ask for it")]
    async fn set_level(
        &self,
        request: rmcp::model::SetLevelRequestParams,
        _: RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        if self.contract.identity().capabilities.logging.is_none() {
            return Err(ErrorData::method_not_found::<rmcp::model::SetLevelRequestMethod>());
        }
        self.log_level.store(level_number(request.level), Ordering::Relaxed);
        Ok(())
    }

    async fn list_resources(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListResourcesResult, ErrorData> {
        Err(ErrorData::method_not_found::<ListResourcesRequestMethod>())
    }

    async fn list_resource_templates(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListResourceTemplatesResult, ErrorData> {
        Err(ErrorData::method_not_found::<ListResourceTemplatesRequestMethod>())
    }

    async fn list_prompts(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListPromptsResult, ErrorData> {
        Err(ErrorData::method_not_found::<ListPromptsRequestMethod>())
    }
}

/// The same over standard streams, where replies can be retouched.
#[derive(Debug)]
pub(crate) struct Guise(pub(crate) Mask);

impl Service<RoleServer> for Guise {
    async fn handle_request(
        &self,
        request: ClientRequest,
        context: RequestContext<RoleServer>,
    ) -> Result<ServerResult, ErrorData> {
        let is_retouched = matches!(request, ClientRequest::ListToolsRequest(_) | ClientRequest::CallToolRequest(_));
        let result = self.0.handle_request(request, context).await?;
        if !is_retouched {
            return Ok(result);
        }
        // Made of strings and numbers, which always have a JSON form.
        let Ok(mut reply) = serde_json::to_value(&result) else { return Ok(result) };
        self.0.contract.retouch(&mut reply);
        Ok(ServerResult::CustomResult(CustomResult(reply)))
    }

    async fn handle_notification(
        &self,
        notification: <RoleServer as ServiceRole>::PeerNot,
        context: NotificationContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        self.0.handle_notification(notification, context).await
    }

    fn get_info(&self) -> ServerConfig {
        ServerHandler::get_info(&self.0)
    }
}
