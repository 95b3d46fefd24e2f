//! A connection in the manner of a profile.

use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};

use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CallToolResult, ClientRequest, CustomRequest, CustomResult, ErrorCode,
    ListPromptsResult, ListResourceTemplatesResult, ListResourcesResult, ListToolsResult, PaginatedRequestParams,
    ServerConfig, ServerResult, Tool,
};
use rmcp::service::{NotificationContext, RequestContext, Service, ServiceRole};
use rmcp::{ErrorData, RoleServer, ServerHandler};

use super::{Call, Connection, Contract, Profile, code_runner_mcp, zod};
use crate::malformed;
use crate::room::Room;
use crate::runs::new_name;
use crate::server::Server;
use crate::teller::{NO_LOGS, level_number};

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

    fn logs(&self) -> bool {
        self.contract.identity().capabilities.logging.is_some()
    }
}

/// What a client would drop with the connection is not sent.
fn within(room: Room, result: CallToolResult) -> Result<CallToolResult, ErrorData> {
    let size = serde_json::to_vec(&result).map_or(0, |written| written.len());
    if size <= room.answer {
        return Ok(result);
    }
    let message = format!("the answer has {size} bytes, more than {}: ask for less", room.answer);
    Err(ErrorData::internal_error(message, None))
}

/// In the words of the originals.
fn no_method() -> ErrorData {
    ErrorData::new(ErrorCode::METHOD_NOT_FOUND, "Method not found", None)
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
            // Clients of the newer era say it with each request.
            log_level: context.meta.log_level().map_or(self.log_level.load(Ordering::Relaxed), level_number),
            tool: &request.name,
            arguments: request.arguments.unwrap_or_default(),
        };
        let room = call.room();
        tokio::select! {
            biased;
            result = self.contract.call(call) => within(room, result?).map(CallToolResponse::from),
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
        if !self.logs() {
            return Err(no_method());
        }
        self.log_level.store(level_number(request.level), Ordering::Relaxed);
        Ok(())
    }

    async fn list_resources(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListResourcesResult, ErrorData> {
        Err(no_method())
    }

    async fn list_resource_templates(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListResourceTemplatesResult, ErrorData> {
        Err(no_method())
    }

    async fn list_prompts(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListPromptsResult, ErrorData> {
        Err(no_method())
    }

    /// Requests whose parameters do not fit their method come here, too.
    async fn on_custom_request(
        &self,
        request: CustomRequest,
        _: RequestContext<RoleServer>,
    ) -> Result<CustomResult, ErrorData> {
        if request.method == "logging/setLevel" && self.logs() {
            let level = request.params.as_ref().and_then(|params| params.get("level").cloned()).unwrap_or_default();
            return Err(ErrorData::internal_error(zod::bad_level(&level), None));
        }
        if let "tools/call" | "tools/list" = &*request.method
            && let Some(fault) = malformed::fault(&request)
        {
            return Err(ErrorData::invalid_params(fault, None));
        }
        Err(no_method())
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
