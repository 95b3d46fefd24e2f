//! Provisions the language runtimes of the WebAssembly engine: builds them once a machine, keeps them, moves them, lists them.
//!
//! A runtime goes through three stages, each with a key of its own, so that a change redoes no more than it must:
//!
//! | stage | by | result | redone when |
//! |---|---|---|---|
//! | build | `runtimes/<name>/build.sh` | `reactor.wasm`, `tree/`, `facts` | the recipe, or one it builds upon, changed |
//! | snapshot | [`Finish::snapshot`] | `snapshot.wasm`, `tree.pack`; these travel in an export | …or the snapshotter did |
//! | compile | [`Finish::compile`] | `module.cwasm`, machine code | …or the compiler or the CPU did |
//!
//! # The folder
//!
//! ```text
//! <root>/
//!   runtimes/<name>/<key>.json      what is installed: the manifest. Renamed into place last, so it stands for the whole
//!   runtimes/<name>/<sha256>.wasm   a snapshot
//!   runtimes/<name>/<sha256>.pack   the files that it sees
//!   modules/<name>-<sha256>-<machine>.cwasm, .json     what the engine maps and runs, and its record
//!   built/<name>/<recipe key>/      a recipe's own result, from which a snapshot can be made again
//!   recipes/<sha256>/               the recipes, out of the binary
//!   work/                           the recipes' scratch space: `downloads/`, `log/<name>.log`, build trees
//!   locks/                          one lock a runtime, one for `work/`
//!   tmp/                            what is being written; swept when its writer is gone
//! ```
//!
//! A `.cwasm` file is native code that the engine maps and runs without a look inside. So everything here is ours alone (folders 0700), and a
//! folder or file that somebody else owns, could write to, or could exchange by way of a parent folder is refused, never repaired.
//!
//! Loading ([`Setup::installed`]) looks at owner, mode, size and keys and does not hash: whoever could change a file could change
//! the hash beside it, a file is complete before it gets its name, and 50 MB would cost every start 50 ms. Hashes are checked where a
//! file may have been damaged or comes from elsewhere: in [`Setup::provision`], [`Setup::export`] and [`Setup::import`].
//!
//! Everything blocks. Callers run it on a thread of its own.

mod archive;
mod builder;
mod catalogue;
mod digest;
mod error;
mod event;
mod layout;
mod lock;
mod manifest;
mod private;
mod progress;
mod provision;
mod recipes;
mod steps;
mod store;
mod temporary;
mod tools;
mod walk;

use std::error::Error;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

pub use archive::{ArchiveError, Exported};
pub use catalogue::{CATALOGUE, Runtime, UnknownRuntime, runtime, select};
pub use digest::Digest;
pub use error::{Failure, FileError, SetupError};
pub use event::{Cancel, Event, How};
pub use manifest::{FileFacts, Manifest, Source};
pub use private::Untrusted;
pub use progress::{Progress, Style};
pub use provision::{Provisioned, Summary};
pub use recipes::Recipes;
pub use store::{Installed, Listed, Needs, NotUsable};
pub use tools::{TOOLS, Tool, tool};

/// A recipe's result in its folder: the module to start and snapshot.
pub const REACTOR: &str = "reactor.wasm";
/// A recipe's result in its folder: the files that it sees, a folder. Not every runtime has one.
pub const TREE: &str = "tree";
/// The snapshotter's result in its folder.
pub const SNAPSHOT: &str = "snapshot.wasm";
/// The snapshotter's result in its folder: [`TREE`] as one file. There when the tree was.
pub const PACK: &str = "tree.pack";

/// What turns a recipe's result into what the engine loads. The engine's side of provisioning.
pub trait Finish: Send + Sync {
    /// Names everything about making snapshots that is not in the recipe: the pack's format, the host functions, the snapshotter's
    /// version. Another key makes every runtime's snapshot anew, from the recipe's kept result.
    fn snapshot_key(&self) -> String;

    /// Names everything that a compiled module depends on: compiler version and settings, CPU features.
    fn machine_key(&self) -> String;

    /// Makes [`SNAPSHOT`] and, where there is a tree, [`PACK`] in the fresh folder `into`, from [`REACTOR`] and [`TREE`] in `built`.
    /// Both are portable. `progress` is told what is being done, in a few words.
    fn snapshot(
        &self,
        runtime: &Runtime,
        built: &Path,
        into: &Path,
        progress: &mut dyn FnMut(&str),
    ) -> Result<(), FinishError>;

    /// Compiles the file `snapshot` for this machine into the new file `module`.
    fn compile(
        &self,
        runtime: &Runtime,
        snapshot: &Path,
        module: &Path,
        progress: &mut dyn FnMut(&str),
    ) -> Result<(), FinishError>;
}

/// Why a [`Finish`] could not.
pub type FinishError = Box<dyn Error + Send + Sync>;

/// Where and from what to provision.
#[derive(Debug, Clone)]
pub struct Config {
    /// The folder described above, such as `~/.cache/belljar`. Made when it is missing.
    pub root: PathBuf,
    /// What to build from.
    pub recipes: Recipes,
    /// The environment of the caller. Recipes get what package clients need of it and nothing else.
    pub environment: Vec<(OsString, OsString)>,
    /// What becomes of the recipes' scratch space.
    pub scratch: Scratch,
}

/// What becomes of the recipes' scratch space, some GB, when all that was asked for is there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scratch {
    /// It stays: a changed recipe is built again from where the change matters. For those who work on recipes, and for CI.
    Keep,
    /// Downloads and logs stay.
    Clear,
}

/// Provisioning below one folder. Holds nothing open; any number of these, in any number of processes, get along.
pub struct Setup {
    root: PathBuf,
    recipes: Recipes,
    environment: Vec<(OsString, OsString)>,
    scratch: Scratch,
    finish: Box<dyn Finish>,
}

impl Setup {
    /// Does nothing yet.
    pub fn new(config: Config, finish: Box<dyn Finish>) -> Self {
        let Config { root, recipes, environment, scratch } = config;
        Self { root, recipes, environment, scratch, finish }
    }
}

impl std::fmt::Debug for Setup {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Setup").field("root", &self.root).field("scratch", &self.scratch).finish_non_exhaustive()
    }
}
