//! For tests, with `belljar serve --conformance-fixtures`: what the protocol's conformance suites expect of a server
//! besides its own tools. Fixtures go through the same handler, transport and authentication as everything else, so
//! those are what is tested.

mod content;
mod documents;
mod questions;
mod rounds;
mod tasks;

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CallToolResult, ContentBlock, ElicitRequest, ElicitRequestParams,
    GetPromptRequestParams, GetPromptResponse, InputRequest, InputRequiredResult, InputResponses, Prompt,
    ReadResourceResult, RequestStateCodec, Resource, ResourceTemplate, ServerCapabilities, Tool,
};
use rmcp::service::{RequestContext, SubscriptionContext, SubscriptionSink};
use rmcp::task_manager::TaskManager;
use rmcp::{ErrorData, RoleServer};
use serde_json::{Value, json};

/// The suites only check that a changed state is noticed, so the key is no secret.
const STATE_KEY: &[u8] = b"the key of the conformance fixtures";
const _: () = assert!(STATE_KEY.len() >= RequestStateCodec::MIN_KEY_LENGTH, "the key is too short");

/// A picture of one pixel, as base64.
const PNG: &str = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8/5+hHgAHggJ/PchI7wAAAABJRU5ErkJggg==";
/// A sound without samples, as base64.
const WAV: &str = "UklGRiQAAABXQVZFZm10IBAAAAABAAEARKwAAIhYAQACABAAZGF0YQAAAAA=";

/// All fixtures, and what they remember.
#[derive(Debug)]
pub(crate) struct Fixtures {
    states: RequestStateCodec,
    listeners: Mutex<BTreeMap<u64, SubscriptionSink>>,
}

impl Fixtures {
    pub(crate) fn new() -> Self {
        Self { states: RequestStateCodec::new_unchecked(STATE_KEY), listeners: Mutex::default() }
    }

    /// Adds what only the fixtures can do.
    pub(crate) fn declare(capabilities: &mut ServerCapabilities) {
        if let Some(tools) = &mut capabilities.tools {
            tools.list_changed = Some(true);
        }
        if let Some(prompts) = &mut capabilities.prompts {
            prompts.list_changed = Some(true);
        }
        if let Some(resources) = &mut capabilities.resources {
            resources.list_changed = Some(true);
            resources.subscribe = Some(true);
        }
    }

    pub(crate) fn tools() -> Vec<Tool> {
        let names = [content::TOOLS, questions::TOOLS, rounds::TOOLS, tasks::TOOLS].concat();
        names.into_iter().map(tool).collect()
    }

    pub(crate) fn has_tool(name: &str) -> bool {
        [content::TOOLS, questions::TOOLS, rounds::TOOLS, tasks::TOOLS].iter().any(|names| names.contains(&name))
    }

    pub(crate) async fn call_tool(
        &self,
        request: &CallToolRequestParams,
        context: &RequestContext<RoleServer>,
        tasks: &TaskManager,
    ) -> Result<CallToolResponse, ErrorData> {
        match &*request.name {
            name if tasks::TOOLS.contains(&name) => tasks::call(request, context, tasks).await,
            name if rounds::TOOLS.contains(&name) => rounds::call(request, context, &self.states),
            name if questions::TOOLS.contains(&name) => questions::call(request, context).await,
            _ => content::call(request, context, self).await,
        }
    }

    pub(crate) fn resources() -> Vec<Resource> {
        documents::resources()
    }

    pub(crate) fn resource_templates() -> Vec<ResourceTemplate> {
        documents::templates()
    }

    /// `None` where it is not one of them.
    pub(crate) fn read_resource(uri: &str) -> Option<ReadResourceResult> {
        documents::read(uri)
    }

    /// Nothing ever changes, so nobody has to be remembered.
    pub(crate) fn subscribe(uri: &str) -> Result<(), ErrorData> {
        let is_there = uri == documents::WATCHED || documents::read(uri).is_some();
        let not_found = || ErrorData::resource_not_found("there is no such resource", Some(json!({ "uri": uri })));
        is_there.then_some(()).ok_or_else(not_found)
    }

    pub(crate) fn prompts() -> Vec<Prompt> {
        documents::prompts()
    }

    /// `None` where it is not one of them.
    pub(crate) fn prompt(request: &GetPromptRequestParams) -> Option<Result<GetPromptResponse, ErrorData>> {
        documents::prompt(request)
    }

    /// Tells a client of changes until it has heard enough.
    pub(crate) async fn listen(&self, context: SubscriptionContext) {
        let key = {
            let mut listeners = self.lock_listeners();
            let key = listeners.last_key_value().map_or(0, |(last, _)| last + 1);
            listeners.insert(key, context.sink().clone());
            key
        };
        context.cancelled().await;
        self.lock_listeners().remove(&key);
    }

    fn listeners(&self) -> Vec<SubscriptionSink> {
        self.lock_listeners().values().cloned().collect()
    }

    fn lock_listeners(&self) -> MutexGuard<'_, BTreeMap<u64, SubscriptionSink>> {
        self.listeners.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn tool(name: &'static str) -> Tool {
    let schema = match content::input(name).or_else(|| questions::input(name)).or_else(|| tasks::input(name)) {
        Some(Value::Object(schema)) => schema,
        _ => [("type".to_owned(), json!("object")), ("properties".to_owned(), json!({}))].into_iter().collect(),
    };
    Tool::new(name, "For the protocol's conformance suites", Arc::new(schema))
}

/// An argument that is text.
fn text_argument<'a>(request: &'a CallToolRequestParams, name: &str) -> Option<&'a str> {
    request.arguments.as_ref()?.get(name)?.as_str()
}

fn done(text: impl Into<String>) -> CallToolResult {
    CallToolResult::success(vec![ContentBlock::text(text)])
}

/// A question to the user with these fields.
fn form(message: &str, schema: Value) -> Result<ElicitRequestParams, ErrorData> {
    let requested_schema =
        serde_json::from_value(schema).map_err(|error| ErrorData::internal_error(error.to_string(), None))?;
    Ok(ElicitRequestParams::FormElicitationParams { meta: None, message: message.to_owned(), requested_schema })
}

/// A question to the user with one field, which has to be filled in.
fn field(message: &str, name: &str, kind: &str) -> Result<InputRequest, ErrorData> {
    let schema = json!({ "type": "object", "properties": { name: { "type": kind } }, "required": [name] });
    Ok(InputRequest::Elicitation(ElicitRequest::new(form(message, schema)?)))
}

fn ask<const N: usize>(questions: [(&str, InputRequest); N]) -> InputRequiredResult {
    let questions = questions.map(|(key, question)| (key.to_owned(), question));
    InputRequiredResult::from_input_requests(questions.into_iter().collect())
}

/// What the user wrote into a field.
fn filled_in<'a>(answers: Option<&'a InputResponses>, key: &str, name: &str) -> Option<&'a Value> {
    answers?.get(key)?.get("content")?.get(name)
}
