//! Packages: what a program imports beside its language, made ready before it runs.

use std::any::Any;
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use crate::{BoxFuture, EngineError, EngineId, Language, LiveOutput, Plan, Principal, Refusal};

/// Makes packages ready. Installing is no part of a run: it has another sandbox, with a way to the registries and without the program.
pub trait Packages: Send + Sync + fmt::Debug {
    /// What the program wants beside its language, by its caller's word or by its own; `None` for most.
    fn wants(&self, plan: &Plan) -> Result<Option<Wanted>, Refusal>;

    /// What somebody wants without a program: every package of theirs, checked.
    fn check(&self, kind: LayerKind, caller: &Principal, packages: &[String]) -> Result<Wanted, Refusal>;

    /// Everything that is wanted, for runs on this engine. `live` is told what is done when that takes a while. Dropping the future ends
    /// it and leaves nothing behind.
    fn provide<'a>(
        &'a self,
        wanted: &'a Wanted,
        engine: EngineId,
        live: &'a mut dyn LiveOutput,
    ) -> BoxFuture<'a, Result<Provided, ProvideError>>;

    /// Changes the environment that the caller's Python programs run in: it has what is wanted from now on, for everybody who uses it. For
    /// operators who gave that environment away; nothing else of belljar writes to it.
    fn change_environment<'a>(
        &'a self,
        wanted: &'a Wanted,
        environment: &'a Path,
        live: &'a mut dyn LiveOutput,
    ) -> BoxFuture<'a, Result<Changed, ProvideError>>;
}

/// What the client said that changed an environment.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Changed {
    /// On its standard output.
    pub stdout: String,
    /// On its standard error.
    pub stderr: String,
}

/// What a program wants beside its language. Every entry was checked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Wanted {
    /// Whose packages.
    pub kind: LayerKind,
    /// On whose behalf.
    pub caller: Principal,
    /// The versions of Python that the program says it runs with, such as `>=3.11`.
    pub requires_python: Option<String>,
    /// What its caller named, or the program in its own metadata: without it there is no run.
    pub named: Vec<String>,
    /// What it imports and nobody named: tried, and left to the program's own error where there is no such package.
    pub imported: Vec<Imported>,
}

/// A package that a program needs for something that it imports.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Imported {
    /// What the program calls it.
    pub module: String,
    /// What its registry calls it.
    pub package: String,
}

impl LayerKind {
    /// The packages of a language, for those that have some.
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

/// What became of a wish.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Provided {
    /// Where it is; `None` when the engine has everything already.
    pub layer: Option<Layer>,
    /// How long that took.
    pub took: Duration,
    /// Whether it was there already.
    pub cached: bool,
    /// Imports that nothing provides.
    pub unknown: Vec<String>,
    /// Why imports are not there although there may be packages for them.
    pub problem: Option<String>,
}

/// Packages in a folder that nobody changes any more.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Layer {
    /// Whose.
    pub kind: LayerKind,
    /// A name that no other layer has.
    pub id: String,
    /// What would be `site-packages` or `node_modules`.
    pub folder: PathBuf,
    /// The same in one file, for engines that open no folder.
    pub pack: Option<PathBuf>,
    /// What is in it, by name.
    pub packages: Vec<PackageVersion>,
    /// As long as somebody has this, it stays.
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

/// Who holds a layer is no part of what it is.
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
    /// The engine's Python is none that the program says it runs with; the phrase says which.
    #[error("{0}")]
    WrongPython(String),
    /// The operator has to, or we.
    #[error(transparent)]
    Failed(#[from] EngineError),
}
