//! Sessions: a workspace with one live interpreter per language, both of which stay between runs.

use std::fmt;
use std::os::fd::OwnedFd;

use crate::{BoxFuture, Bytes, EngineError, LiveOutput, Outcome, Plan, Refusal, WorkspacePath};

/// A caller's name for a session. Every caller has its own names.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SessionName(String);

impl SessionName {
    /// The longest name, in bytes.
    pub const MAX_LENGTH: usize = 64;

    /// Checks a caller's name: it becomes part of addresses, so only characters that need no escaping there are
    /// allowed.
    pub fn new(name: &str) -> Result<Self, Refusal> {
        let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.');
        let wrong = if name.is_empty() {
            "is empty".to_owned()
        } else if name.len() > Self::MAX_LENGTH {
            format!("has {} bytes", name.len())
        } else if name.starts_with('.') {
            "starts with a dot".to_owned()
        } else if let Some(bad) = name.chars().find(|c| !u8::try_from(*c).is_ok_and(is_plain)) {
            format!("contains `{}`", bad.escape_debug())
        } else {
            return Ok(Self(name.to_owned()));
        };
        let hint = format!("use up to {} letters, digits, `-`, `_` and `.`, such as `analysis`", Self::MAX_LENGTH);
        Err(Refusal::new("session", format!("the name of the session {wrong}"), hint))
    }

    /// The name.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for SessionName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// A session in an engine. Calls come one at a time. Dropping it ends everything in it.
pub trait Session: Send + fmt::Debug {
    /// Runs a cell: the plan's program in its language's live interpreter, which is started if there is none. Languages
    /// without one run it as a program of its own, in the same workspace.
    ///
    /// The plan's time and CPU limits hold for this cell; its other limits are fixed when the session is opened. A cell
    /// that runs out of time is interrupted, and what is left of its interpreter is in [`Outcome::state`]. If the
    /// future was dropped, [`Session::settle`] must be called next.
    fn run<'a>(&'a mut self, plan: Plan, live: &'a mut dyn LiveOutput) -> BoxFuture<'a, Result<Outcome, SessionError>>;

    /// Ends a cell whose future was dropped, as if its time were up.
    fn settle(&mut self) -> BoxFuture<'_, ()>;

    /// Whether its workspace still exists. If not, all that can be done is drop it.
    fn is_alive(&self) -> bool;

    /// Languages that have a live interpreter.
    fn languages(&self) -> Vec<&'static str>;

    /// How much memory everything in it may use together.
    fn memory(&self) -> Bytes;

    /// Writes a file of the workspace, making the folders on its path, and returns its size afterwards. The old
    /// contents are either replaced or left as they were.
    fn write<'a>(
        &'a mut self,
        path: &'a WorkspacePath,
        contents: &'a [u8],
        mode: WriteMode,
    ) -> BoxFuture<'a, Result<u64, FileError>>;

    /// Reads a part of a file of the workspace.
    fn read<'a>(&'a mut self, path: &'a WorkspacePath, part: FilePart) -> BoxFuture<'a, Result<FileRead, FileError>>;

    /// What is in a folder of the workspace and below it, by path: up to [`FolderEntry::MAX_COUNT`] entries, and one
    /// more if there are more.
    fn list<'a>(&'a mut self, folder: Option<&'a WorkspacePath>) -> BoxFuture<'a, Result<Vec<FolderEntry>, FileError>>;

    /// A new session with the same memory and files. Refused where an interpreter is a process.
    fn fork(&mut self) -> BoxFuture<'_, Result<Box<dyn Session>, SessionError>> {
        Box::pin(std::future::ready(Err(SessionError::Refused(cannot_be_copied()))))
    }

    /// Writes memory and files into a file, from which [`Engine::restore_session`](crate::Engine::restore_session) makes a session again.
    fn save(&mut self, _: OwnedFd) -> BoxFuture<'_, Result<(), SessionError>> {
        Box::pin(std::future::ready(Err(SessionError::Refused(cannot_be_copied()))))
    }
}

fn cannot_be_copied() -> Refusal {
    Refusal::new(
        "session",
        "only sessions in WebAssembly can be copied, and this one runs the host's interpreters",
        "open a session with engine `wasm`, and run the code there again",
    )
}

/// Why a session does not do what it was asked.
#[derive(Debug, thiserror::Error)]
pub enum SessionError {
    /// The caller has to change something.
    #[error(transparent)]
    Refused(Refusal),
    /// The operator or we have to fix it.
    #[error(transparent)]
    Failed(#[from] EngineError),
}

/// What became of a session's interpreter.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SessionState {
    /// Variables, imports and files are what the cell left.
    Kept,
    /// The interpreter is gone, and all variables with it; files are there. Why, in one phrase.
    Lost(String),
    /// The process that held the session ended, and files are gone too: the cell was the first of a new session.
    Gone,
}

impl SessionState {
    /// For the first cell of a language whose interpreter ended without anyone being told: during a cell that was given
    /// up, or one in another language.
    pub fn lost_before() -> Self {
        Self::Lost("its interpreter had ended before this cell, which began a new one".to_owned())
    }
}

/// What happens to a file's existing contents.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WriteMode {
    /// They go.
    Replace,
    /// The new contents come after them.
    Append,
}

/// Which bytes of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FilePart {
    /// The first.
    pub offset: u64,
    /// How many at most.
    pub limit: u64,
}

/// Bytes of a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileRead {
    /// Those that were asked for, as far as they exist.
    pub bytes: Vec<u8>,
    /// The size of the whole file.
    pub size: u64,
}

/// An entry of a workspace.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FolderEntry {
    /// Its path in the workspace, with everything unprintable escaped.
    pub path: String,
    /// What it is.
    pub kind: EntryKind,
    /// Its size in bytes, for files.
    pub size: u64,
}

impl FolderEntry {
    /// The most that are listed.
    pub const MAX_COUNT: usize = 2_000;
}

/// What a name stands for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EntryKind {
    /// A regular file.
    File,
    /// A folder.
    Folder,
    /// A link, FIFO or socket: never read or written here.
    Other,
}

/// Why a file is not available.
#[derive(Debug, thiserror::Error)]
pub enum FileError {
    /// Nothing has that name.
    #[error("there is no such file")]
    NotFound,
    /// It is a folder.
    #[error("it is a folder")]
    IsFolder,
    /// A name in its path is a file's.
    #[error("it is no folder, or is below a file")]
    NotFolder,
    /// A link, a FIFO, a socket or a device, or there is one in its path.
    #[error("it is a link or a special file, which is not followed")]
    Special,
    /// The workspace has no room.
    #[error("the workspace is full")]
    Full,
    /// The guest took away our permission.
    #[error("its permissions do not allow it")]
    Denied,
    /// The operator or we have to fix it.
    #[error(transparent)]
    Failed(#[from] EngineError),
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names() {
        for good in ["a", "analysis", "Report-2026_11.v2", &"x".repeat(64)] {
            assert_eq!(SessionName::new(good).map(|name| name.to_string()).as_deref(), Ok(good));
        }
        for bad in ["", ".", "..", "a/b", "a b", "ä", "a\n", "a%2fb", &"x".repeat(65)] {
            let refusal = SessionName::new(bad).expect_err(bad);
            assert_eq!(refusal.argument(), "session");
            assert!(refusal.hint().contains("analysis"));
        }
    }
}
