//! What can go wrong that is neither the caller's fault nor the guest's.

use std::io;
use std::path::PathBuf;

use sandbox::{EngineError, Refusal, SessionError};

/// The wasm engine's own failures.
#[derive(Debug, thiserror::Error)]
pub enum WasmError {
    /// The process could not be started.
    #[error("cannot start a worker process: {0}")]
    Start(#[source] EngineError),
    /// It was started, and says why it cannot work.
    #[error("a worker process cannot work: {0}")]
    WorkerFailed(String),
    /// It ended while a run was in it. Other runs are served by another one.
    #[error("the worker process that hosted this run has ended; run it again")]
    WorkerLost,
    /// A run did not end when its time was over, and its worker was ended for it.
    #[error("the worker process that hosted this run did not answer, and was ended")]
    Unresponsive,
    /// The caller has to change something.
    #[error(transparent)]
    Refused(Refusal),
    /// What a session was asked for cannot be done.
    #[error("the session: {0}")]
    Session(String),
    /// A session could not be written down.
    #[error("the session cannot be saved: {0}")]
    Save(io::Error),
    /// Sockets to the worker.
    #[error("cannot speak to a worker process")]
    Sockets(#[source] io::Error),
    /// A runtime's file is not what setting it up left.
    #[error("`{}` cannot be used: {reason}; run `belljar setup`", path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        reason: String,
    },
    /// wasmtime, in making a snapshot or compiling.
    #[error("wasmtime: {0:#}")]
    Wasmtime(wasmtime::Error),
    /// Reading or writing what a runtime is made of.
    #[error("`{}`", path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// What happened.
        #[source]
        source: io::Error,
    },
    /// A folder that cannot be packed.
    #[error("its files cannot be packed: {0}")]
    Pack(String),
    /// A runtime that no driver is for.
    #[error("no driver for runtime `{0}`")]
    NoDriver(String),
}

impl WasmError {
    /// Whose it is to mend.
    pub(crate) fn in_session(self) -> SessionError {
        if let Self::Refused(refusal) = self {
            SessionError::Refused(refusal)
        } else {
            SessionError::Failed(EngineError::new(self))
        }
    }
}
