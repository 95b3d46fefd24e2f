//! The operator's Python environments: native runs of Python can use one instead of the host's own Python.

use std::fmt;
use std::path::PathBuf;

use crate::{BoxFuture, EngineError, PackageVersion, Principal, Refusal};

/// Whatever provides environments.
pub trait Environments: Send + Sync + fmt::Debug {
    /// From now on this caller's Python runs natively in that environment.
    fn configure<'a>(
        &'a self,
        caller: &'a Principal,
        wanted: EnvironmentRequest,
    ) -> BoxFuture<'a, Result<EnvironmentInfo, Refusal>>;

    /// The environment of this caller.
    fn environment<'a>(&'a self, caller: &'a Principal) -> BoxFuture<'a, Result<EnvironmentInfo, EngineError>>;

    /// What is installed in it, by name. Read from its metadata; nothing of it is imported.
    fn installed<'a>(&'a self, caller: &'a Principal) -> BoxFuture<'a, Result<Vec<PackageVersion>, EngineError>>;
}

/// An environment that a caller asks for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EnvironmentRequest {
    /// What it should be.
    pub kind: EnvironmentKind,
    /// Where it is: the environment itself, or a project with a `.venv`.
    pub path: Option<PathBuf>,
    /// Its name, for conda environments.
    pub name: Option<String>,
}

/// The kinds of environments.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EnvironmentKind {
    /// The host's own Python.
    Host,
    /// Made with `venv` or virtualenv.
    Venv,
    /// Made with uv.
    Uv,
    /// Made with conda, mamba or one of their relatives.
    Conda,
}

impl fmt::Display for EnvironmentKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Host => "host",
            Self::Venv => "venv",
            Self::Uv => "uv",
            Self::Conda => "conda",
        })
    }
}

/// An environment that is in use.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EnvironmentInfo {
    /// What it is.
    pub kind: EnvironmentKind,
    /// Where it is; `None` for the host's own.
    pub path: Option<PathBuf>,
    /// The interpreter.
    pub python: PathBuf,
    /// Such as `3.11.2`.
    pub version: String,
}
