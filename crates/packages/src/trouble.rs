//! Why packages could not be had, and who has to fix that.

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
    /// It was asked, and did not give what it has.
    #[error("{0}")]
    Registry(String),
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
        match self {
            Self::Unsuited(reason) => Self::Unsuited(reason.clone()),
            Self::Registry(_) | Self::NoRegistry(_) => Self::Registry(self.to_string()),
            Self::Tool { .. }
            | Self::Client(_)
            | Self::Files(_)
            | Self::Engine(_)
            | Self::Wasm(_)
            | Self::Refused(_) => Self::Client(self.to_string()),
        }
    }

    /// What a client that did not succeed says.
    pub(crate) fn of(end: &ClientEnd) -> Self {
        Self::Client(match end.status {
            Status::TimedOut => return Self::Registry(words::reason(&end.stderr)),
            Status::Completed { .. } if words::is_registrys(&end.stderr) => {
                return Self::Registry(words::reason(&end.stderr));
            }
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
            Trouble::Registry(_) | Trouble::NoRegistry(_) => {
                let hint = "try again later, or tell whoever runs the server; programs without `packages` run as ever";
                Refusal::new("packages", format!("`packages` cannot be installed: {trouble}"), hint).into()
            }
            Trouble::Client(_) | Trouble::Tool { .. } => {
                let hint =
                    "check names and versions; only wheels and npm packages without install scripts are installed";
                Refusal::new("packages", format!("`packages` cannot be installed: {trouble}"), hint).into()
            }
            Trouble::Files(_) | Trouble::Engine(_) | Trouble::Wasm(_) => EngineError::new(trouble).into(),
        }
    }
}
