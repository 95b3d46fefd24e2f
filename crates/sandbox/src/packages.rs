//! Packages: what a program imports beyond its language, made ready before it runs.

use std::any::Any;
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use crate::{BoxFuture, EngineError, EngineId, Language, LiveOutput, Plan, Principal, Refusal};

/// Makes packages ready. Installing is not part of a run: it has a sandbox of its own, with a way out to the registries
/// and without the program.
pub trait Packages: Send + Sync + fmt::Debug {
    /// What the program wants beyond its language, going by its caller or by its own text; `None` for most.
    fn wants(&self, plan: &Plan) -> Result<Option<Wanted>, Refusal>;

    /// What someone wants without a program: every package they name, checked.
    fn check(&self, kind: LayerKind, caller: &Principal, packages: &[String]) -> Result<Wanted, Refusal>;

    /// Provides everything that is wanted, for runs on this engine. If that takes a while, `live` is told what is being
    /// done. Dropping the future ends it and leaves nothing behind.
    fn provide<'a>(
        &'a self,
        wanted: &'a Wanted,
        engine: EngineId,
        live: &'a mut dyn LiveOutput,
    ) -> BoxFuture<'a, Result<Provided, ProvideError>>;

    /// Changes the environment that the caller's Python programs run in: from now on it has what is wanted, for
    /// everyone who uses it. Only for operators who have given that environment over to this; nothing else in belljar
    /// writes to it.
    fn change_environment<'a>(
        &'a self,
        wanted: &'a Wanted,
        environment: &'a Path,
        live: &'a mut dyn LiveOutput,
    ) -> BoxFuture<'a, Result<Changed, ProvideError>>;
}

/// What the package client printed while changing an environment.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Changed {
    /// On its standard output.
    pub stdout: String,
    /// On its standard error.
    pub stderr: String,
}

/// What a program wants beyond its language. Every entry has been checked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Wanted {
    /// Whose packages.
    pub kind: LayerKind,
    /// On whose behalf.
    pub caller: Principal,
    /// The Python versions that the program says it runs with, such as `>=3.11`.
    pub requires_python: Option<String>,
    /// What its caller named, or the program's own metadata: without these there is no run.
    pub named: Vec<String>,
    /// What it imports without anyone having named it: attempted, and if there is no such package, left to the
    /// program's own error.
    pub imported: Vec<Imported>,
}

/// A package that provides something that a program imports.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Imported {
    /// What the program calls it.
    pub module: String,
    /// What its registry calls it.
    pub package: String,
}

impl LayerKind {
    /// The kind of packages that a language has, if it has any.
    pub fn of(language: &Language) -> Option<Self> {
        match language.id {
            "python" => Some(Self::Python),
            "javascript" | "typescript" => Some(Self::Node),
            _ => None,
        }
    }
}

/// Which language's packages.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum LayerKind {
    /// Wheels.
    Python,
    /// Packages of npm.
    Node,
}

/// What was provided for a program.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Provided {
    /// Where it is; `None` when the engine has everything already.
    pub layer: Option<Layer>,
    /// How long it took.
    pub took: Duration,
    /// Whether it was there already.
    pub cached: bool,
    /// Imports that nothing provides.
    pub unknown: Vec<String>,
    /// Why imports are missing although there may be packages for them.
    pub problem: Option<String>,
}

/// Packages in a folder that is never changed again.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Layer {
    /// Whose packages.
    pub kind: LayerKind,
    /// A name that no other layer has.
    pub id: String,
    /// What would be `site-packages` or `node_modules`.
    pub folder: PathBuf,
    /// The same in one file, for engines that open no folder.
    pub pack: Option<PathBuf>,
    /// What is in it, by name.
    pub packages: Vec<PackageVersion>,
    /// The layer is not removed as long as someone has this.
    pub held: Held,
}

/// Something that keeps a layer from being removed while it is in use.
#[derive(Clone)]
pub struct Held(#[expect(dead_code, reason = "to be dropped")] Arc<dyn Any + Send + Sync>);

impl Held {
    /// By this.
    pub fn by(holder: impl Any + Send + Sync) -> Self {
        Self(Arc::new(holder))
    }
}

impl fmt::Debug for Held {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Held")
    }
}

/// Who holds a layer is not part of its identity.
impl PartialEq for Held {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

impl Eq for Held {}

/// A package that is installed.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct PackageVersion {
    /// As its registry calls it.
    pub name: String,
    /// Its version.
    pub version: String,
}

impl fmt::Display for PackageVersion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.name, self.version)
    }
}

/// Why there are no packages.
#[derive(Debug, thiserror::Error)]
pub enum ProvideError {
    /// The caller has to change something.
    #[error(transparent)]
    Refused(#[from] Refusal),
    /// Not on this engine; the phrase says why.
    #[error("{0}")]
    Unsuited(String),
    /// The engine's Python is not one that the program says it runs with; the phrase says which.
    #[error("{0}")]
    WrongPython(String),
    /// The operator has to, or we do.
    #[error(transparent)]
    Failed(#[from] EngineError),
}
