//! What an engine is.

use std::error::Error;
use std::fmt;
use std::os::fd::OwnedFd;
use std::pin::Pin;

use crate::{EngineId, Language, Limits, Outcome, Plan, Principal, Refusal, Session, SessionError};

/// A future that can be stored and sent between threads.
pub type BoxFuture<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

/// Something that turns a [`Plan`] into a running guest.
pub trait Engine: Send + Sync + fmt::Debug {
    /// Which one it is.
    fn id(&self) -> EngineId;

    /// Whether it can serve this language on this host; the refusal says what is missing and where to get it.
    fn serves(&self, language: &'static Language) -> Result<(), Refusal>;

    /// What runs this language, with its version. The first call for a language may start the tool (in a sandbox) to ask it.
    fn describe(&self, language: &'static Language) -> BoxFuture<'_, Result<RuntimeInfo, EngineError>>;

    /// The version of what runs this language, if it is known without asking.
    fn known_version(&self, _: &'static Language) -> Option<&str> {
        None
    }

    /// Why another engine should run this instead, if one serves the language.
    fn prefers_another(&self, _: &Plan) -> Option<&'static str> {
        None
    }

    /// Why this engine should run this, although another comes first.
    fn claims(&self, _: &Plan) -> Option<&'static str> {
        None
    }

    /// Starts ahead of time what the first run would otherwise have to wait for.
    fn get_ready(&self) -> BoxFuture<'_, Result<(), EngineError>> {
        Box::pin(std::future::ready(Ok(())))
    }

    /// Opens a session for cells like this one: it gets the plan's caller, and its limits on memory, files and
    /// processes.
    fn open_session<'a>(&'a self, _: &'a Plan) -> BoxFuture<'a, Result<Box<dyn Session>, SessionError>> {
        Box::pin(std::future::ready(Err(EngineError::new(NoSessions(self.id())).into())))
    }

    /// Restores a session from what [`Session::save`] wrote, on behalf of this caller. It keeps the limits it had, as
    /// far as these allow.
    fn restore_session<'a>(
        &'a self,
        _: OwnedFd,
        _: &'a Principal,
        _: &'a Limits,
    ) -> BoxFuture<'a, Result<Box<dyn Session>, SessionError>> {
        Box::pin(std::future::ready(Err(EngineError::new(NoSessions(self.id())).into())))
    }

    /// A fresh sandbox for one run of `plan`.
    fn open(&self, plan: Plan) -> BoxFuture<'_, Result<Box<dyn Sandbox>, EngineError>>;
}

/// A sandbox that is ready for its run.
pub trait Sandbox: Send {
    /// Runs the plan to its end. Dropping the future ends the run and everything that it started.
    fn run<'a>(self: Box<Self>, live: &'a mut dyn LiveOutput) -> BoxFuture<'a, Result<Outcome, EngineError>>
    where
        Self: 'a;
}

/// Sees all of a run's output as it comes, including what a result leaves out.
pub trait LiveOutput: Send {
    /// The next bytes of a stream. Not necessarily whole lines or characters.
    fn output(&mut self, stream: Stream, bytes: &[u8]);

    /// Something done for the run before it starts, in a few words.
    fn news(&mut self, _: &str) {}

    /// The sandbox is built, and what runs the program is starting on it. Only the native engine says so.
    fn started(&mut self) {}
}

/// For callers that only want the result.
impl LiveOutput for () {
    fn output(&mut self, _: Stream, _: &[u8]) {}
}

/// A guest's output stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stream {
    /// Standard output.
    Stdout,
    /// Standard error.
    Stderr,
}

/// What runs a language on an engine.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RuntimeInfo {
    /// The language's id.
    pub language: &'static str,
    /// The tool's own version (`3.11.2`), empty if it does not say.
    pub version: String,
    /// The tool: a program's name, or a module's.
    pub tool: String,
}

/// An engine that runs programs but has no sessions.
#[derive(Debug, thiserror::Error)]
#[error("the {0} engine has no sessions")]
struct NoSessions(EngineId);

/// A failure that is neither the caller's nor the guest's: the operator or we have to fix it. The chain of sources is
/// for the log; the message alone is for the caller.
#[derive(Debug)]
pub struct EngineError(Box<dyn Error + Send + Sync>);

impl EngineError {
    /// Wraps an engine's own error.
    pub fn new(source: impl Error + Send + Sync + 'static) -> Self {
        Self(Box::new(source))
    }
}

impl fmt::Display for EngineError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl Error for EngineError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        self.0.source()
    }
}
