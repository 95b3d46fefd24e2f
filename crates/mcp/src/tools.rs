//! The tools, one module each.

mod list_runtimes;
mod run_code;

use std::sync::Arc;

use rmcp::model::{CallToolResult, ContentBlock, Icon, Tool, ToolAnnotations};
use runtime::RunError;
use sandbox::{Limits, Refusal};
use serde_json::{Map, Value};

use crate::room;

pub(crate) use list_runtimes::{list_runtimes, runtime_document};
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
    vec![run_code::describe(languages, defaults).into_tool(), list_runtimes::describe().into_tool()]
}

/// The most that is repeated of a name that a caller sent.
const MOST_ECHO: usize = 300;

pub(crate) const RUN_CODE: &str = "run_code";
pub(crate) const LIST_RUNTIMES: &str = "list_runtimes";
const NAMES: &[&str] = &[RUN_CODE, LIST_RUNTIMES];

/// What to say to a name that is none of a tool's.
pub(crate) fn unknown(name: &str) -> String {
    let name = &*room::shortened(name, MOST_ECHO);
    match sandbox::nearest(name, NAMES.iter().copied()) {
        Some(near) => format!("there is no tool `{name}`; did you mean `{near}`?"),
        None => format!("there is no tool `{name}`; there are `{}`", NAMES.join("`, `")),
    }
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
