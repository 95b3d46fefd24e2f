//! The contract that every part of belljar speaks: a [`Request`] becomes a [`Plan`] or a [`Refusal`] in [`Policy::admit`], an
//! [`Engine`] turns the plan into an [`Outcome`] or an [`EngineError`].
//!
//! Three kinds of failure, three owners:
//!
//! | | who fixes it |
//! |---|---|
//! | [`Refusal`] | the caller: it says what was wrong and what would work; nothing was started |
//! | [`Outcome`] | nobody: the code ran, and this is what came of it |
//! | [`EngineError`] | the operator, or us |
//!
//! This crate is pure: it opens no file, reads no clock and no environment.

mod bytes;
mod capture;
mod compiling;
mod diagnose;
mod display;
mod engine;
mod environment;
mod folder;
mod isolation;
mod language;
mod limits;
mod nearest;
mod network;
mod outcome;
mod packages;
mod path;
mod plan;
mod policy;
mod refusal;
mod request;
mod session;

pub use bytes::{Bytes, ParseBytesError};
pub use capture::{Capture, Captured};
pub use diagnose::{Evidence, Step, diagnose};
pub use display::Display;
pub use engine::{BoxFuture, Engine, EngineError, LiveOutput, RuntimeInfo, Sandbox, Stream};
pub use environment::{EnvironmentInfo, EnvironmentKind, EnvironmentRequest, Environments};
pub use folder::{Folder, FolderAccess, Folders};
pub use isolation::{Enforcement, Isolation, Level, Requirement};
pub use language::{
    AddressSpace, DetectError, Detected, Hook, Language, NODE_PACKAGES, Naming, PYTHON_PACKAGES, Package, PackageUse,
    Preset, ProgramNames, Sample, Toolchain, detect, strip_fence,
};
pub use limits::{LimitKind, Limits, LimitsRequest};
pub use nearest::nearest;
pub use network::{HostPattern, NetworkPolicy};
pub use outcome::{
    CpuSource, GuestError, LastValue, MemorySource, Outcome, OutputFile, Promotion, SkipReason, SkippedFile, Status,
    Usage, signal_name,
};
pub use packages::{
    Changed, Held, Imported, Layer, LayerKind, PackageVersion, Packages, ProvideError, Provided, Wanted,
};
pub use path::{PathError, WorkspacePath};
pub use plan::{Plan, PlannedFile};
pub use policy::Policy;
pub use refusal::Refusal;
pub use request::{Collect, EngineChoice, EngineId, InputFile, Principal, Request, Variable};
pub use session::{
    EntryKind, FileError, FilePart, FileRead, FolderEntry, Session, SessionError, SessionName, SessionState, WriteMode,
};
