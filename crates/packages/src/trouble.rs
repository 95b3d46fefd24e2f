//! Why packages could not be had, and whose it is to mend.

use std::io;

use engine_native::{ClientEnd, NativeError};
use sandbox::{EngineError, ProvideError, Refusal, Status};

use crate::words;

/// Why packages could not be had.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Trouble {
    #[error("`{name}`, which installs packages, cannot be had: {why}")]
    Tool { name: &'static str, why: String },
    #[error("no package registry can be reached: {0}")]
    NoRegistry(String),
    #[error("{0}")]
    Client(String),
    #[error("the package folder cannot be used: {0}")]
    Files(io::Error),
    #[error(transparent)]
    Engine(NativeError),
    #[error(transparent)]
    Wasm(EngineError),
    #[error(transparent)]
    Refused(#[from] Refusal),
    /// Another engine may have more luck.
    #[error("{0}")]
    Unsuited(String),
}

impl Trouble {
    /// The same, for somebody else.
    pub(crate) fn again(&self) -> Self {
        if let Self::Unsuited(reason) = self { Self::Unsuited(reason.clone()) } else { Self::Client(self.to_string()) }
    }

    /// What a client that did not succeed says.
    pub(crate) fn of(end: &ClientEnd) -> Self {
        Self::Client(match end.status {
            Status::TimedOut => "the registry did not answer in time".to_owned(),
            Status::Completed { .. } => words::reason(&end.stderr),
            status @ (Status::Crashed { .. } | Status::LimitExceeded(_) | Status::Cancelled) => {
                format!("the client ended early ({}): {}", status.name(), words::reason(&end.stderr))
            }
        })
    }
}

/// Said with its reason, which is not said again as its source.
impl From<io::Error> for Trouble {
    fn from(error: io::Error) -> Self {
        Self::Files(error)
    }
}

/// What a registry or a client says is the caller's to read, the rest the operator's.
impl From<Trouble> for ProvideError {
    fn from(trouble: Trouble) -> Self {
        match trouble {
            Trouble::Refused(refusal) => refusal.into(),
            Trouble::Unsuited(reason) => Self::Unsuited(reason),
            Trouble::Client(_) | Trouble::NoRegistry(_) | Trouble::Tool { .. } => {
                let hint =
                    "check names and versions; only wheels and npm packages without install scripts are installed";
                Refusal::new("packages", format!("`packages` cannot be installed: {trouble}"), hint).into()
            }
            Trouble::Files(_) | Trouble::Engine(_) | Trouble::Wasm(_) => EngineError::new(trouble).into(),
        }
    }
}
