//! `list_sessions`, `close_session`, `fork_session`, `save_session` and `restore_session`.

use rmcp::model::{CallToolResult, ToolAnnotations};
use runtime::{RunError, SessionInfo};
use sandbox::{Refusal, SessionName};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::files::reads;
use super::{CLOSE_SESSION, Call, Description, FORK_SESSION, LIST_SESSIONS, RESTORE_SESSION, SAVE_SESSION, answer};
use crate::saved::Saved;
use crate::{arguments, icons};

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Nothing {}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Closing {
    session: String,
    /// Remove the saved session of that name instead
    #[serde(default)]
    saved: bool,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Two {
    session: String,
    /// Name of the other
    r#as: String,
}

#[derive(Debug, Serialize, JsonSchema)]
struct Listed {
    sessions: Vec<Entry>,
    /// Names of saved sessions
    #[serde(skip_serializing_if = "Vec::is_empty")]
    saved: Vec<String>,
}

#[derive(Debug, Serialize, JsonSchema)]
struct Entry {
    session: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    engine: Option<String>,
    /// Languages with live variables
    languages: Vec<&'static str>,
    /// idle or busy
    state: &'static str,
    expires_in_s: u64,
}

#[derive(Debug, Serialize, JsonSchema)]
struct Done {
    session: String,
}

impl From<SessionInfo> for Entry {
    fn from(session: SessionInfo) -> Self {
        Self {
            session: session.name.to_string(),
            engine: session.engine.map(|engine| engine.to_string()),
            languages: session.languages,
            state: if session.idle.is_some() { "idle" } else { "busy" },
            expires_in_s: session.expires_in.as_secs(),
        }
    }
}

fn changes(title: &str) -> ToolAnnotations {
    ToolAnnotations::with_title(title).read_only(false).destructive(false).idempotent(false).open_world(false)
}

pub(super) fn describe_list() -> Description {
    Description {
        name: LIST_SESSIONS,
        title: "List sessions",
        text: "Your live sessions, which end with the server and when idle, and your saved ones.".to_owned(),
        input: arguments::schema_of::<Nothing>(),
        output: arguments::schema_of_result::<Listed>(),
        annotations: reads("List sessions"),
        icon: icons::LIST,
    }
}

pub(super) fn describe_close() -> Description {
    Description {
        name: CLOSE_SESSION,
        title: "Close a session",
        text: "End a session: its variables and files go.".to_owned(),
        input: arguments::schema_of::<Closing>(),
        output: arguments::schema_of_result::<Done>(),
        annotations: ToolAnnotations::with_title("Close a session")
            .read_only(false)
            .destructive(true)
            .idempotent(true)
            .open_world(false),
        icon: icons::LIST,
    }
}

pub(super) fn describe_fork() -> Description {
    Description {
        name: FORK_SESSION,
        title: "Fork a session",
        text: "Copy a session of engine wasm, variables and files, to try something and keep the original.".to_owned(),
        input: arguments::schema_of::<Two>(),
        output: arguments::schema_of_result::<Done>(),
        annotations: changes("Fork a session"),
        icon: icons::RUN,
    }
}

pub(super) fn describe_save() -> Description {
    Description {
        name: SAVE_SESSION,
        title: "Save a session",
        text: "Keep a session of engine wasm on the server's disk under a name, also past the server's end.".to_owned(),
        input: arguments::schema_of::<Two>(),
        output: arguments::schema_of_result::<Done>(),
        annotations: changes("Save a session"),
        icon: icons::RUN,
    }
}

pub(super) fn describe_restore() -> Description {
    Description {
        name: RESTORE_SESSION,
        title: "Restore a session",
        text: "Open a session from what save_session kept: `session` is the saved name, `as` the new session's."
            .to_owned(),
        input: arguments::schema_of::<Two>(),
        output: arguments::schema_of_result::<Done>(),
        annotations: changes("Restore a session"),
        icon: icons::RUN,
    }
}

fn name_of(argument: &'static str, given: &str) -> Result<SessionName, Refusal> {
    SessionName::new(given)
        .map_err(|refusal| Refusal::new(argument, refusal.message().to_owned(), refusal.hint().to_owned()))
}

fn nowhere() -> Refusal {
    Refusal::new("session", "this server keeps no saved sessions", "use `fork_session`, or run the code again")
}

impl Call<'_> {
    pub(super) fn list_sessions(
        self,
        given: Option<Map<String, Value>>,
        saved: Option<&Saved>,
    ) -> Result<CallToolResult, RunError> {
        let Nothing {} = arguments::read(given)?;
        let saved = saved.map(|saved| saved.names(self.caller)).unwrap_or_default();
        let sessions: Vec<Entry> = self.runtime.sessions(self.caller).into_iter().map(Entry::from).collect();
        let line = |entry: &Entry| {
            let engine = entry.engine.as_deref().unwrap_or("no engine yet");
            let languages =
                if entry.languages.is_empty() { "nothing live".to_owned() } else { entry.languages.join(", ") };
            format!("{}: {engine}, {languages}, {}, expires in {} s", entry.session, entry.state, entry.expires_in_s)
        };
        let mut lines: Vec<String> = sessions.iter().map(line).collect();
        if lines.is_empty() {
            lines.push("There are no sessions.".to_owned());
        }
        if !saved.is_empty() {
            lines.push(format!("Saved: {}", saved.join(", ")));
        }
        Ok(answer(lines.join("\n"), &Listed { sessions, saved }))
    }

    pub(super) fn close_session(
        self,
        given: Option<Map<String, Value>>,
        saved: Option<&Saved>,
    ) -> Result<CallToolResult, RunError> {
        let given: Closing = arguments::read(given)?;
        let session = SessionName::new(&given.session)?;
        if given.saved {
            saved.ok_or_else(nowhere)?.remove(self.caller, &session)?;
            let text = format!("What was saved as `{session}` is removed.");
            return Ok(answer(text, &Done { session: session.to_string() }));
        }
        self.runtime.close_session(self.caller, &session)?;
        Ok(answer(format!("Session `{session}` is closed."), &Done { session: session.to_string() }))
    }

    pub(super) async fn fork_session(self, given: Option<Map<String, Value>>) -> Result<CallToolResult, RunError> {
        let given: Two = arguments::read(given)?;
        let (session, new) = (SessionName::new(&given.session)?, name_of("as", &given.r#as)?);
        self.runtime.fork_session(self.caller, &session, &new).await?;
        Ok(answer(format!("Session `{new}` is a copy of `{session}`."), &Done { session: new.to_string() }))
    }

    pub(super) async fn save_session(
        self,
        given: Option<Map<String, Value>>,
        saved: Option<&Saved>,
    ) -> Result<CallToolResult, RunError> {
        let given: Two = arguments::read(given)?;
        let (session, name) = (SessionName::new(&given.session)?, name_of("as", &given.r#as)?);
        let saved = saved.ok_or_else(nowhere)?;
        let begin = || {
            let place = saved.begin(self.caller, &name)?;
            Ok((place.file()?, place))
        };
        let place = self.runtime.save_session(self.caller, &session, begin).await?;
        let bytes = saved.keep(&place)?;
        let text = format!("Session `{session}` is saved as `{name}` ({bytes} bytes).");
        Ok(answer(text, &Done { session: name.to_string() }))
    }

    pub(super) async fn restore_session(
        self,
        given: Option<Map<String, Value>>,
        saved: Option<&Saved>,
    ) -> Result<CallToolResult, RunError> {
        let given: Two = arguments::read(given)?;
        let (name, new) = (SessionName::new(&given.session)?, name_of("as", &given.r#as)?);
        let file = saved.ok_or_else(nowhere)?.open(self.caller, &name)?;
        self.runtime.restore_session(self.caller, &new, file).await?;
        Ok(answer(format!("Session `{new}` is what was saved as `{name}`."), &Done { session: new.to_string() }))
    }
}
