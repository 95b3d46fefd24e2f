//! Packages for programs, in two steps that never meet: a client (uv, Deno) installs behind walls, with a way out to the registries and
//! without the program; the program runs without any way out, and sees what was installed as a folder that it cannot change.
//!
//! ```text
//! <root>/                      0700, ours
//!   layers/<id>/               what was installed, under a hash of everything that is in it
//!     layer.json               what it is; whoever uses the layer holds a lock on this file
//!     site/ or node_modules/   the packages
//!     pack                     the same as one file, for WebAssembly
//!   answers/<key>.json         which layer a wish was answered with
//!   registries/<key>.json      the hosts that a client asks for by itself
//!   clients/<number>/<name>/   the clients' own caches; whoever uses them holds a lock on the numbered folder
//!   tmp/                       what is being made; swept when its maker is gone
//!   locks/                     one for whoever removes something, and 256 for what is being got
//! ```
//!
//! A layer is complete before it has its name, so whoever dies leaves the old state or the new. What is over the limit is removed, least
//! recently used first, and never while somebody uses it.
#![cfg(target_os = "linux")]

mod answers;
mod clients;
mod getting;
mod lock_file;
mod manager;
mod node;
mod policy;
mod python;
mod registries;
mod store;
mod trouble;
mod turns;
mod wish;
mod words;

pub use manager::{Config, PackageManager};
pub use policy::{Installs, PackagePolicy};
