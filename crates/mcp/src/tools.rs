//! The tools, one module each.

mod environment;
mod list_runtimes;
mod packages;
mod run_code;

use std::sync::Arc;

use rmcp::model::{CallToolResult, ContentBlock, Icon, Tool, ToolAnnotations};
use runtime::RunError;
use sandbox::{Limits, Refusal};
use serde_json::{Map, Value};

use crate::room;

pub(crate) use environment::{configure_environment, get_environment};
pub(crate) use list_runtimes::{list_runtimes, runtime_document};
pub(crate) use packages::{install_packages, list_packages};
pub(crate) use run_code::{Run, prepare};

/// A tool as clients see it.
struct Description {
    name: &'static str,
    title: &'static str,
    text: String,
    input: Map<String, Value>,
    output: Map<String, Value>,
    annotations: ToolAnnotations,
    icon: &'static str,
}

impl Description {
    fn into_tool(self) -> Tool {
        Tool::new(self.name, self.text, Arc::new(self.input))
            .with_title(self.title)
            .with_raw_output_schema(Arc::new(self.output))
            .with_annotations(self.annotations)
            .with_icons(vec![Icon::new(self.icon).with_mime_type("image/svg+xml")])
    }
}

/// All of them, always in this order. `defaults` are what a run gets without asking.
pub(crate) fn all(languages: &[String], defaults: &Limits) -> Vec<Tool> {
    let tools = [
        run_code::describe(languages, defaults),
        packages::describe_install(),
        packages::describe_list(),
        list_runtimes::describe(),
        environment::describe_configure(),
        environment::describe_get(),
    ];
    tools.into_iter().map(Description::into_tool).collect()
}

/// The most that is repeated of a name that a caller sent.
const MOST_ECHO: usize = 300;

pub(crate) const RUN_CODE: &str = "run_code";
pub(crate) const LIST_RUNTIMES: &str = "list_runtimes";
pub(crate) const INSTALL_PACKAGES: &str = "install_packages";
pub(crate) const LIST_PACKAGES: &str = "list_packages";
pub(crate) const CONFIGURE_ENVIRONMENT: &str = "configure_environment";
pub(crate) const GET_ENVIRONMENT: &str = "get_environment";
const NAMES: &[&str] =
    &[RUN_CODE, INSTALL_PACKAGES, LIST_PACKAGES, LIST_RUNTIMES, CONFIGURE_ENVIRONMENT, GET_ENVIRONMENT];

/// What to say to a name that is none of a tool's.
pub(crate) fn unknown(name: &str) -> String {
    let name = &*room::shortened(name, MOST_ECHO);
    match sandbox::nearest(name, NAMES.iter().copied()) {
        Some(near) => format!("there is no tool `{name}`; did you mean `{near}`?"),
        None => format!("there is no tool `{name}`; there are `{}`", NAMES.join("`, `")),
    }
}

/// A tool's result, for those who read text and for those who read structures.
fn answer(text: String, structured: &impl serde::Serialize) -> CallToolResult {
    let mut result = CallToolResult::success(vec![ContentBlock::text(text)]);
    // Made of strings and numbers, which always have a JSON form.
    result.structured_content = serde_json::to_value(structured).ok();
    result
}

/// A refusal as a tool's result: models read results, while clients tend to hide protocol errors.
pub(crate) fn refused(refusal: &Refusal) -> CallToolResult {
    let end = if refusal.hint().ends_with(['.', '?']) { "" } else { "." };
    let text = format!("Refused: {}. Hint: {}{end}", refusal.message(), refusal.hint());
    CallToolResult::error(vec![ContentBlock::text(text)])
}

/// What stands in the way of an outcome, as a tool's result.
pub(crate) fn failed(error: &RunError) -> CallToolResult {
    match error {
        RunError::Refused(refusal) => refused(refusal),
        // Why is the operator's to know, and in the log.
        RunError::Failed(error) => {
            CallToolResult::error(vec![ContentBlock::text(format!("Failed, and not because of the code: {error}"))])
        }
    }
}
