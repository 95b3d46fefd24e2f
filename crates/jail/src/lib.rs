//! Locks Linux processes down.
//!
//! Three kinds of process take part. The *server* describes a jail in a [`Spec`] and sends it to the *launcher*, a
//! single-threaded child that does nothing but clone ([`launcher::run`]). Each clone is a run's *first process*: it
//! builds the walls, becomes the run's supervisor, and starts the guest's commands behind them. The server learns all
//! of this from [`Report`]s.
//!
//! Nothing here knows about languages, default limits or results.
#![cfg(target_os = "linux")]

mod cgroup;
mod client;
mod contents;
mod failure;
mod first;
mod folder;
#[doc(hidden)]
pub mod fuzzing;
mod guest;
mod identity;
mod landlock;
pub mod launcher;
mod probe;
mod root;
mod scratch;
mod seccomp;
mod session;
mod show;
mod spec;
mod supervisor;
mod sys;
mod view;
mod watchdog;
mod wire;

pub use cgroup::CgroupKind;
pub use client::{Answer, Launcher, Monitor, Stdio as RunStdio};
pub use failure::{Failure, Step};
pub use probe::{Seen, SeenLayer};
pub use scratch::{scratch_name, sweep_scratch};
pub use seccomp::seal_worker;
pub use spec::{
    AddressSpace, Batch, Command, EGRESS, Egress, File, Layer, Limits, Place, Places, Proc, Purpose, SESSION_PLACES,
    Spec, Stdio, Waiting, Walls, node_place, python_place,
};
pub use sys::give_large_blocks_back;
pub use view::{Access, View};
pub use wire::{Ended, Exit, GroupUsage, Holders, Limit, Report, SeenUsage, Swap, Writing};

/// The host name that a guest sees.
pub(crate) const HOSTNAME: &str = "belljar";

/// The version of Landlock that guests are confined with on this kernel, 0 for none.
pub fn landlock_version() -> u32 {
    landlock::version()
}
