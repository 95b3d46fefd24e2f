//! The tools, one module each.

mod environment;
mod files;
mod list_runtimes;
mod packages;
mod run_code;
mod sessions;

use std::error::Error;
use std::io;
use std::sync::Arc;

use rmcp::model::{CallToolResult, ContentBlock, Icon, Tool, ToolAnnotations};
use runtime::{RunError, Runtime};
use rustix::io::Errno;
use sandbox::{EngineError, Policy, Principal, Refusal};
use serde_json::{Map, Value};

use crate::app;
use crate::room::{self, Room};
use crate::saved::Saved;

pub(crate) use environment::{configure_environment, get_environment};
pub(crate) use list_runtimes::{list_runtimes, runtime_document};
pub(crate) use packages::{install_packages, list_packages};
pub(crate) use run_code::{Run, in_arguments, prepare};

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

/// All of them as clients are told of them, always in this order. `languages` are those that `run_code` says are here.
pub fn all(languages: &[String], policy: &Policy) -> Vec<Tool> {
    let others = [
        packages::describe_install(),
        packages::describe_list(),
        list_runtimes::describe(),
        environment::describe_configure(),
        environment::describe_get(),
        files::describe_write(),
        files::describe_read(),
        files::describe_list(),
        sessions::describe_list(),
        sessions::describe_close(),
        sessions::describe_fork(),
        sessions::describe_save(),
        sessions::describe_restore(),
    ];
    let run_code = run_code::describe(languages, policy).into_tool().with_meta(app::shown_by());
    std::iter::once(run_code).chain(others.into_iter().map(Description::into_tool)).collect()
}

/// The most that is repeated of a name that a caller sent.
pub(crate) const MOST_ECHO: usize = 300;
/// The most of each of the two sentences of a refusal.
const MOST_REFUSAL: usize = 2_000;

pub(crate) const RUN_CODE: &str = "run_code";
pub(crate) const LIST_RUNTIMES: &str = "list_runtimes";
pub(crate) const INSTALL_PACKAGES: &str = "install_packages";
pub(crate) const LIST_PACKAGES: &str = "list_packages";
pub(crate) const CONFIGURE_ENVIRONMENT: &str = "configure_environment";
pub(crate) const GET_ENVIRONMENT: &str = "get_environment";
pub(crate) const WRITE_FILE: &str = "write_file";
pub(crate) const READ_FILE: &str = "read_file";
pub(crate) const LIST_FILES: &str = "list_files";
pub(crate) const LIST_SESSIONS: &str = "list_sessions";
pub(crate) const CLOSE_SESSION: &str = "close_session";
pub(crate) const FORK_SESSION: &str = "fork_session";
pub(crate) const SAVE_SESSION: &str = "save_session";
pub(crate) const RESTORE_SESSION: &str = "restore_session";
const NAMES: &[&str] = &[
    RUN_CODE,
    INSTALL_PACKAGES,
    LIST_PACKAGES,
    LIST_RUNTIMES,
    CONFIGURE_ENVIRONMENT,
    GET_ENVIRONMENT,
    WRITE_FILE,
    READ_FILE,
    LIST_FILES,
    LIST_SESSIONS,
    CLOSE_SESSION,
    FORK_SESSION,
    SAVE_SESSION,
    RESTORE_SESSION,
];

/// A call of a tool, with what all of them need.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Call<'a> {
    pub(crate) runtime: &'a Runtime,
    pub(crate) caller: &'a Principal,
    pub(crate) room: Room,
}

impl Call<'_> {
    /// Answers a call of a tool that has to do with sessions; `None` if the tool is another.
    pub(crate) async fn of_sessions(
        self,
        tool: &str,
        given: Option<Map<String, Value>>,
        saved: Option<&Saved>,
    ) -> Option<CallToolResult> {
        let answered = match tool {
            WRITE_FILE => self.write_file(given).await,
            READ_FILE => self.read_file(given).await,
            LIST_FILES => self.list_files(given).await,
            LIST_SESSIONS => self.list_sessions(given, saved),
            CLOSE_SESSION => self.close_session(given, saved),
            FORK_SESSION => self.fork_session(given).await,
            SAVE_SESSION => self.save_session(given, saved).await,
            RESTORE_SESSION => self.restore_session(given, saved).await,
            _ => return None,
        };
        Some(answered.unwrap_or_else(|error| failed(&error)))
    }
}

/// What to say to a name that no tool has.
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
    // What a caller sent is repeated in some, and may be as long as a message.
    let [message, hint] = [refusal.message(), refusal.hint()].map(|text| room::shortened(text, MOST_REFUSAL));
    CallToolResult::error(vec![ContentBlock::text(format!("Refused: {message}. Hint: {hint}{end}"))])
}

/// What stands in the way of an outcome, as a tool's result.
pub(crate) fn failed(error: &RunError) -> CallToolResult {
    match error {
        RunError::Refused(refusal) => refused(refusal),
        RunError::Failed(error) => CallToolResult::error(vec![ContentBlock::text(format!(
            "Failed, and not because of the code: {}",
            told(error)
        ))]),
    }
}

/// What a caller hears of a failure. The cause is for the operator, and in the log, unless it passes by itself.
pub(crate) fn told(error: &EngineError) -> String {
    let mut causes = std::iter::successors(Some(error as &dyn Error), |cause| (**cause).source());
    let number = causes.find_map(|cause| cause.downcast_ref::<io::Error>()?.raw_os_error());
    match number.map(Errno::from_raw_os_error) {
        Some(Errno::MFILE | Errno::NFILE) => {
            format!("{error}: the server has as many files open as it may; call again when it has less to do")
        }
        Some(Errno::NOSPC | Errno::DQUOT) => format!("{error}: the server's disk is full"),
        Some(Errno::NOMEM) => format!("{error}: the server is out of memory; call again when it has less to do"),
        Some(_) | None => error.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_refusal_is_short_whatever_it_is_about() {
        let long = "a".repeat(1_000_000);
        let given = json!({"code": "1", "files": [{"path": long, "text": "", "base64": ""}]});
        let refusal = prepare(given.as_object().cloned(), Principal::default()).expect_err("both are given");
        let result = serde_json::to_string(&refused(&refusal)).expect("JSON");
        assert!(result.len() < 3_000 && result.contains("send one of them"), "{}", result.len());
    }
}
