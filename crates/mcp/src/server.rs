//! The server: what MCP asks, answered by the runtime. One for both eras of the protocol and for every transport; rmcp tells them apart.

use std::path::PathBuf;
use std::pin::Pin;
use std::sync::atomic::{AtomicU8, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CancelTaskParams, CompleteRequestParams, CompleteResult, CreateTaskResult,
    CustomRequest, CustomResult, ErrorCode, GetPromptRequestParams, GetPromptResponse, GetTaskParams, GetTaskResult,
    Implementation, ListPromptsResult, ListResourceTemplatesResult, ListResourcesResult, ListToolsResult,
    PaginatedRequestParams, ReadResourceRequestParams, ReadResourceResponse, ServerCapabilities, ServerConfig,
    SubscribeRequestMethod, SubscribeRequestParams, SubscriptionFilter, Tool, UnsubscribeRequestMethod,
    UnsubscribeRequestParams, UpdateTaskParams,
};
use rmcp::service::{RequestContext, SubscriptionContext};
use rmcp::task_manager::{TaskExit, TaskManager};
use rmcp::{ErrorData, RoleServer, ServerHandler};
use runtime::{RunError, Runtime};
use sandbox::{Language, Outcome, Plan, Principal, Refusal, Request};
use serde_json::{Map, Value};

use crate::audit::Audit;
use crate::fixtures::Fixtures;
use crate::live::Live;
use crate::malformed::{self, Era};
use crate::metrics::Metrics;
use crate::profiles::{Mask, Profile};
use crate::room::Room;
use crate::runs::Runs;
use crate::saved::Saved;
use crate::tasks::Tasks;
use crate::teller::{NO_LOGS, Teller, level_number};
use crate::tools::{self, Run};
use crate::witness::{Observers, Tracer, Witness};
use crate::{icons, prompts, resources};

/// A run that takes longer becomes a task, for clients that know tasks.
const TASK_AFTER: Duration = Duration::from_secs(20);
/// Tasks of one caller, those included that have ended and are kept for a while. Beyond that, clients wait as others do.
const MOST_TASKS: usize = 256;

/// For how long clients may take lists for granted. What is set up changes while a server runs, but not often.
const LISTS_TTL_MS: u64 = 60_000;

const INSTRUCTIONS: &str = "Runs code in fresh sandboxes. Call run_code whenever an answer can be computed. Pass `session` to keep variables and files for the next call.";

/// What all connections of a server share.
#[derive(Debug)]
pub struct Server {
    pub(crate) runtime: Arc<Runtime>,
    pub(crate) observers: Arc<Observers>,
    runs: Arc<Runs>,
    tasks: Tasks,
    tools: OnceLock<Vec<Tool>>,
    /// Where sessions are saved, if they can be.
    saved: Option<Saved>,
    /// The server that it passes for, if any.
    profile: Option<Profile>,
    /// What tests of the protocol need besides.
    fixtures: Option<Fixtures>,
}

/// Who else gets to know what is run.
#[derive(Debug, Default)]
pub struct Watch {
    /// Gets a line for every run.
    pub audit: Option<Audit>,
    /// Whether callers' traces are continued, with the process's own tracer and propagator.
    pub traces: bool,
    /// The folder that callers' saved sessions are kept in; without one they cannot save any.
    pub saved: Option<PathBuf>,
}

/// One connection.
#[derive(Debug, Clone)]
pub struct Connection {
    server: Arc<Server>,
    /// The least level of log messages that its client asked for, by [`level_number`]; none before it does.
    log_level: Arc<AtomicU8>,
}

/// The run itself.
type Going = Pin<Box<dyn Future<Output = Result<Outcome, RunError>> + Send>>;

impl Server {
    /// Over these engines.
    pub fn new(runtime: Arc<Runtime>, watch: Watch) -> Arc<Self> {
        Arc::new(Self::over(runtime, watch, None))
    }

    /// The same in the manner of another server.
    pub fn passing_for(profile: Profile, runtime: Arc<Runtime>, watch: Watch) -> Arc<Self> {
        Arc::new(Self { profile: Some(profile), ..Self::over(runtime, watch, None) })
    }

    /// The same, with everything that the protocol's conformance suites expect. For tests only.
    pub fn with_conformance_fixtures(runtime: Arc<Runtime>) -> Arc<Self> {
        Arc::new(Self::over(runtime, Watch::default(), Some(Fixtures::new())))
    }

    fn over(runtime: Arc<Runtime>, watch: Watch, fixtures: Option<Fixtures>) -> Self {
        let tracer = watch.traces.then(Tracer::global);
        Self {
            tasks: Tasks::new(runtime.policy().ceilings.wall),
            runtime,
            observers: Arc::new(Observers { audit: watch.audit, metrics: Metrics::new(), tracer }),
            runs: Arc::default(),
            tools: OnceLock::new(),
            saved: watch.saved.map(Saved::new),
            profile: None,
            fixtures,
        }
    }

    /// What goes on, for Prometheus.
    pub(crate) fn metrics(&self) -> Result<String, std::fmt::Error> {
        self.observers.metrics.text(self.runtime.load(), self.runtime.session_count())
    }

    /// A request over HTTP was answered.
    pub(crate) fn answered(&self, status: http::StatusCode) {
        self.observers.metrics.answered(status);
    }

    /// For a client that just came.
    pub fn connect(self: &Arc<Self>) -> Connection {
        Connection { server: Arc::clone(self), log_level: Arc::new(AtomicU8::new(NO_LOGS)) }
    }

    /// The same where it passes for another server.
    pub(crate) fn connect_masked(self: &Arc<Self>) -> Option<Mask> {
        Some(Mask::new(self, self.profile.as_ref()?))
    }

    /// The longest that a run may take.
    pub(crate) fn longest_run(&self) -> Duration {
        self.runtime.policy().ceilings.wall
    }

    /// Puts an answer over HTTP into the words of the server that this one passes for.
    pub(crate) fn reword(
        &self,
        asked: &crate::http::Asked,
        answer: axum::response::Response,
    ) -> axum::response::Response {
        match &self.profile {
            Some(profile) => profile.reword(asked, answer),
            None => answer,
        }
    }

    /// A request, checked.
    pub(crate) fn admit(&self, request: Request, witness: &mut Witness) -> Result<Plan, Refusal> {
        witness.reads(&request)?;
        let plan = self.runtime.admit(request)?;
        witness.admits(&plan);
        Ok(plan)
    }

    fn tools(&self) -> &[Tool] {
        self.tools.get_or_init(|| {
            let is_served = |language: &&'static Language| self.runtime.engines_for(language).is_ok();
            let with_version = |language: &'static Language| match self.runtime.known_version(language) {
                Some(version) => format!("{} {version}", language.id),
                None => language.id.to_owned(),
            };
            let languages: Vec<String> = Language::all().iter().filter(is_served).map(with_version).collect();
            let mut tools = tools::all(&languages, self.runtime.policy());
            tools.extend(self.fixtures.iter().flat_map(|_| Fixtures::tools()));
            tools
        })
    }
}

impl Connection {
    async fn run_code(
        &self,
        request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let owner = principal(&context);
        let mut witness = Witness::new(&self.server.observers, owner.clone(), &context);
        let plan = match self.plan(request.arguments, owner.clone(), &mut witness) {
            Ok(plan) => plan,
            Err(refusal) => {
                witness.refuses(&refusal);
                return Ok(tools::refused(&refusal).into());
            }
        };
        let session = plan.session().cloned();
        let run = Run { name: witness.run().to_owned(), owner, session, live: Live::default(), room: room(&context) };
        let (runtime, mut ears) = (Arc::clone(&self.server.runtime), run.live.clone());
        let mut going: Going = Box::pin(async move {
            let ended = runtime.carry_out(plan, &mut ears).await;
            witness.saw(&ended);
            ended
        });
        let mut teller = Teller::new(&context, self.log_level.load(Ordering::Relaxed));
        let may_become_a_task = context.client_capabilities().is_some_and(|client| client.supports_tasks());

        let ended = tokio::select! {
            biased;
            ended = &mut going => ended,
            // Dropping the run ends it and all that it started.
            () = context.ct.cancelled() => return Err(ErrorData::internal_error("cancelled", None)),
            () = self.task_is_wanted(&run.owner), if may_become_a_task => return Ok(self.become_task(going, run).into()),
            // Beside the run, not in turns with it: a client that does not read delays nothing but its own news.
            never = teller.tell_on(run.live.clone()) => match never {},
        };
        teller.tell_rest(&run.live).await;
        Ok(run.finish(ended, &self.server.runs).into())
    }

    async fn install_packages(
        &self,
        request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let (caller, live) = (principal(&context), Live::default());
        let witness = Witness::of(tools::INSTALL_PACKAGES, &self.server.observers, caller.clone(), &context);
        let mut teller = Teller::new(&context, self.log_level.load(Ordering::Relaxed));
        tokio::select! {
            biased;
            result = tools::install_packages(&self.server.runtime, &caller, request.arguments, (live.clone(), witness)) => Ok(result.into()),
            () = context.ct.cancelled() => Err(ErrorData::internal_error("cancelled", None)),
            never = teller.tell_on(live.clone()) => match never {},
        }
    }

    /// The manager of a task that is this caller's. Fixtures' have no owner.
    fn task(&self, task: &str, context: &RequestContext<RoleServer>) -> Result<TaskManager, ErrorData> {
        let of_caller = self.server.tasks.of(task, &principal(context));
        if self.server.fixtures.is_some() {
            return of_caller.or_else(|_| Ok(self.server.tasks.manager.clone()));
        }
        of_caller
    }

    /// What a caller sent, checked.
    fn plan(
        &self,
        arguments: Option<Map<String, Value>>,
        owner: Principal,
        witness: &mut Witness,
    ) -> Result<Plan, Refusal> {
        self.server.admit(tools::prepare(arguments, owner)?, witness).map_err(tools::in_arguments)
    }

    /// Until a run has taken long, and its caller may have one more task.
    async fn task_is_wanted(&self, owner: &Principal) {
        loop {
            tokio::time::sleep(TASK_AFTER).await;
            if self.server.tasks.count(owner) < MOST_TASKS {
                return;
            }
        }
    }

    /// The run goes on by itself, and the client asks for it now and then.
    fn become_task(&self, mut going: Going, run: Run) -> CreateTaskResult {
        let runs = Arc::clone(&self.server.runs);
        let task = self.server.tasks.spawn(&run.owner.clone(), move |context| {
            Box::pin(async move {
                loop {
                    tokio::select! {
                        biased;
                        ended = &mut going => return Ok(run.finish(ended, &runs)),
                        () = context.cancelled() => return Err(TaskExit::Cancelled),
                        () = run.live.news() => {
                            let news = run.live.take_news();
                            if let Some(line) = news.lines().rev().find(|line| !line.trim().is_empty()) {
                                context.set_status_message(line);
                            }
                        }
                    }
                }
            })
        });
        CreateTaskResult::new(task)
    }
}

/// Whose request it is: what the HTTP layer found out, or whoever started this process.
pub(crate) fn principal(context: &RequestContext<RoleServer>) -> Principal {
    parts(context).and_then(|parts| parts.extensions.get::<Principal>()).cloned().unwrap_or_default()
}

/// How much the answer may take.
pub(crate) fn room(context: &RequestContext<RoleServer>) -> Room {
    if parts(context).is_some() { Room::EVENT } else { Room::LINE }
}

/// The request over HTTP that brought it, if one did.
fn parts(context: &RequestContext<RoleServer>) -> Option<&http::request::Parts> {
    context.extensions.get()
}

#[expect(deprecated, reason = "clients of the older era ask for logs")]
fn capabilities() -> ServerCapabilities {
    ServerCapabilities::builder()
        .enable_tools()
        .enable_resources()
        .enable_prompts()
        .enable_completions()
        .enable_logging()
        .enable_tasks()
        .build()
}

impl ServerHandler for Connection {
    fn get_info(&self) -> ServerConfig {
        let server = Implementation::new("belljar", env!("CARGO_PKG_VERSION"))
            .with_title("Belljar")
            .with_icons(vec![rmcp::model::Icon::new(icons::BELLJAR).with_mime_type("image/svg+xml")]);
        let mut capabilities = capabilities();
        if self.server.fixtures.is_some() {
            Fixtures::declare(&mut capabilities);
        }
        ServerConfig::new(capabilities).with_server_info(server).with_instructions(INSTRUCTIONS)
    }

    async fn list_tools(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        let tools = self.server.tools().to_vec();
        Ok(ListToolsResult::with_all_items(tools)
            .with_ttl_ms(LISTS_TTL_MS)
            .with_cache_scope(rmcp::model::CacheScope::Public))
    }

    fn get_tool(&self, name: &str) -> Option<Tool> {
        self.server.tools().iter().find(|tool| tool.name == name).cloned()
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        if let Some(fixtures) = &self.server.fixtures
            && Fixtures::has_tool(&request.name)
        {
            return fixtures.call_tool(&request, &context, &self.server.tasks.manager).await;
        }
        match &*request.name {
            tools::RUN_CODE => self.run_code(request, context).await,
            tools::LIST_RUNTIMES => Ok(tools::list_runtimes(&self.server.runtime, request.arguments).await.into()),
            tools::INSTALL_PACKAGES => self.install_packages(request, context).await,
            tools::LIST_PACKAGES => {
                let caller = principal(&context);
                Ok(tools::list_packages(&self.server.runtime, &caller, request.arguments).await.into())
            }
            tools::CONFIGURE_ENVIRONMENT => {
                let caller = principal(&context);
                let witness =
                    Witness::of(tools::CONFIGURE_ENVIRONMENT, &self.server.observers, caller.clone(), &context);
                Ok(tools::configure_environment(&self.server.runtime, &caller, request.arguments, witness).await.into())
            }
            tools::GET_ENVIRONMENT => {
                let caller = principal(&context);
                Ok(tools::get_environment(&self.server.runtime, &caller, request.arguments).await.into())
            }
            other => {
                let caller = principal(&context);
                let call = tools::Call { runtime: &self.server.runtime, caller: &caller, room: room(&context) };
                tokio::select! {
                    biased;
                    done = call.of_sessions(other, request.arguments, self.server.saved.as_ref()) => match done {
                        Some(result) => Ok(result.into()),
                        None => Err(ErrorData::invalid_params(tools::unknown(other), None)),
                    },
                    // It may be waiting behind a cell, and must not be done once nobody wants it any more.
                    () = context.ct.cancelled() => Err(ErrorData::internal_error("cancelled", None)),
                }
            }
        }
    }

    async fn list_resources(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListResourcesResult, ErrorData> {
        let mut resources = resources::list(&self.server.runtime);
        resources.extend(self.server.fixtures.iter().flat_map(|_| Fixtures::resources()));
        Ok(ListResourcesResult::with_all_items(resources)
            .with_ttl_ms(LISTS_TTL_MS)
            .with_cache_scope(rmcp::model::CacheScope::Public))
    }

    async fn list_resource_templates(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListResourceTemplatesResult, ErrorData> {
        let mut templates = resources::templates();
        templates.extend(self.server.fixtures.iter().flat_map(|_| Fixtures::resource_templates()));
        Ok(ListResourceTemplatesResult::with_all_items(templates)
            .with_ttl_ms(LISTS_TTL_MS)
            .with_cache_scope(rmcp::model::CacheScope::Public))
    }

    async fn read_resource(
        &self,
        request: ReadResourceRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<ReadResourceResponse, ErrorData> {
        if let Some(contents) = self.server.fixtures.as_ref().and_then(|_| Fixtures::read_resource(&request.uri)) {
            return Ok(contents.into());
        }
        let contents = resources::read(
            &request.uri,
            &self.server.runtime,
            &self.server.runs,
            &principal(&context),
            room(&context),
        )
        .await?;
        Ok(contents.into())
    }

    async fn list_prompts(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListPromptsResult, ErrorData> {
        let mut prompts = prompts::list();
        prompts.extend(self.server.fixtures.iter().flat_map(|_| Fixtures::prompts()));
        Ok(ListPromptsResult::with_all_items(prompts)
            .with_ttl_ms(LISTS_TTL_MS)
            .with_cache_scope(rmcp::model::CacheScope::Public))
    }

    async fn get_prompt(
        &self,
        request: GetPromptRequestParams,
        _: RequestContext<RoleServer>,
    ) -> Result<GetPromptResponse, ErrorData> {
        if let Some(answer) = self.server.fixtures.as_ref().and_then(|_| Fixtures::prompt(&request)) {
            return answer;
        }
        Ok(prompts::get(&request.name, &request.arguments.unwrap_or_default())?.into())
    }

    async fn complete(
        &self,
        request: CompleteRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CompleteResult, ErrorData> {
        resources::complete(&request, &self.server.runtime, &self.server.runs, &principal(&context))
    }

    #[expect(deprecated, reason = "clients of the older era ask for it")]
    async fn set_level(
        &self,
        request: rmcp::model::SetLevelRequestParams,
        _: RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        self.log_level.store(level_number(request.level), Ordering::Relaxed);
        Ok(())
    }

    fn accepted_subscription_filter(&self, requested: &SubscriptionFilter) -> Option<SubscriptionFilter> {
        // Nothing of ours changes while a client is connected.
        self.server.fixtures.as_ref().map(|_| requested.clone())
    }

    async fn listen(&self, context: SubscriptionContext) -> Result<(), ErrorData> {
        if let Some(fixtures) = &self.server.fixtures {
            fixtures.listen(context).await;
        }
        Ok(())
    }

    async fn subscribe(&self, request: SubscribeRequestParams, _: RequestContext<RoleServer>) -> Result<(), ErrorData> {
        match &self.server.fixtures {
            Some(_) => Fixtures::subscribe(&request.uri),
            None => Err(ErrorData::method_not_found::<SubscribeRequestMethod>()),
        }
    }

    async fn unsubscribe(
        &self,
        request: UnsubscribeRequestParams,
        _: RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        match &self.server.fixtures {
            Some(_) => Fixtures::subscribe(&request.uri),
            None => Err(ErrorData::method_not_found::<UnsubscribeRequestMethod>()),
        }
    }

    /// Requests whose parameters do not fit their method come here, too.
    async fn on_custom_request(
        &self,
        request: CustomRequest,
        context: RequestContext<RoleServer>,
    ) -> Result<CustomResult, ErrorData> {
        Err(malformed::explain(&request, Era::of(&context))
            .unwrap_or_else(|| ErrorData::new(ErrorCode::METHOD_NOT_FOUND, request.method, None)))
    }

    async fn get_task(
        &self,
        request: GetTaskParams,
        context: RequestContext<RoleServer>,
    ) -> Result<GetTaskResult, ErrorData> {
        Ok(GetTaskResult::new(self.task(&request.task_id, &context)?.get_task(&request.task_id)?))
    }

    async fn update_task(
        &self,
        request: UpdateTaskParams,
        context: RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        self.task(&request.task_id, &context)?.update_task(&request.task_id, request.input_responses)
    }

    async fn cancel_task(
        &self,
        request: CancelTaskParams,
        context: RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        self.task(&request.task_id, &context)?.cancel_task(&request.task_id)
    }
}
