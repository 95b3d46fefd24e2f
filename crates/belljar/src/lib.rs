//! belljar as a library: everything behind the command line, put together from [`Settings`].

mod embed;
pub mod engine;
pub mod grants;
pub mod provision;

use std::ffi::OsString;
use std::path::PathBuf;

pub use embed::{Belljar, Builder, helper};
pub use engine_native::{Ahead, ToolSearch};
pub use packages::{Installs, PackagePolicy};
pub use runtime::{RunError, Runtime, SessionInfo, SessionLimits};
pub use sandbox::{
    Bytes, Captured, Collect, CpuSource, Display, Enforcement, EngineChoice, EngineError, EngineId, Folder,
    FolderAccess, Folders, GuestError, HostPattern, InputFile, Isolation, Language, LastValue, Level, LimitKind,
    Limits, LimitsRequest, LiveOutput, MemorySource, NetworkPolicy, Outcome, OutputFile, PackageVersion, Policy,
    Principal, Promotion, Provided, Refusal, Request, Requirement, RuntimeInfo, SessionName, SessionState, SkipReason,
    SkippedFile, Status, Stream, Usage, Variable, WorkspacePath, signal_name,
};
pub use setup::Scratch;

/// What the operator decided, resolved once. Nothing below this reads the environment.
#[derive(Debug, Clone)]
pub struct Settings {
    /// Limits, and what runs are granted.
    pub policy: Policy,
    /// The weakest isolation to accept.
    pub require: Requirement,
    /// Where tools are looked for.
    pub tools: ToolSearch,
    /// Holds runs' scratch directories on hosts without namespaces.
    pub scratch: PathBuf,
    /// Holds provisioned runtimes.
    pub cache: PathBuf,
    /// What becomes of the recipes' scratch space.
    pub recipes: Scratch,
    /// Whether interpreters are started ahead of programs: for servers.
    pub ahead: Ahead,
    /// The environment that Python programs run in natively, if not the host's own Python.
    pub python: Option<PathBuf>,
    /// Where callers may choose environments.
    pub pythons: Vec<PathBuf>,
    /// What may be installed for programs.
    pub packages: PackagePolicy,
    /// What no run may be let write to.
    pub off_limits: Vec<PathBuf>,
    /// The environment, of which recipes and installations get what package clients need.
    pub environment: Vec<(OsString, OsString)>,
}
