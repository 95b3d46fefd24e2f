//! Where everything is. See the crate's documentation.

use std::fs::{self, Permissions};
use std::io;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use crate::catalogue::Runtime;
use crate::digest::Digest;
use crate::error::{FileError, at};
use crate::private;
use crate::temporary;

/// The cache folder, found to be ours.
#[derive(Debug)]
pub(crate) struct Layout {
    /// Without links in it.
    root: PathBuf,
}

const FOLDERS: [&str; 7] = ["runtimes", "modules", "built", "recipes", "work", "locks", "tmp"];

impl Layout {
    /// The folder as it is, for reading. `None` when it is not there.
    pub(crate) fn find(root: &Path) -> Result<Option<Self>, FileError> {
        // Links on the way (a `~/.cache` on another disk) are followed once, here; what counts is where they lead.
        let root = match fs::canonicalize(root) {
            Ok(root) => root,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(at("find", root)(error)),
        };
        private::check_way_to(&root)?;
        Ok(private::check_folder(&root)?.map(|()| Self { root }))
    }

    /// The folder, made where it is missing, with what dead processes left in it removed.
    pub(crate) fn prepare(root: &Path) -> Result<Self, FileError> {
        private::make_folders(root)?;
        let Some(layout) = Self::find(root)? else {
            return Err(at("find", root)(io::ErrorKind::NotFound.into()));
        };
        let ours_alone = |path: &Path| {
            fs::set_permissions(path, Permissions::from_mode(0o700)).map_err(at("set the permissions of", path))
        };
        ours_alone(&layout.root)?;
        for name in FOLDERS {
            layout.make_folder(&layout.root.join(name))?;
        }
        temporary::sweep(&layout);
        Ok(layout)
    }

    /// Makes one folder of ours below a checked one, unless it is there, and checks it.
    pub(crate) fn make_folder(&self, path: &Path) -> Result<(), FileError> {
        debug_assert!(path.starts_with(&self.root));
        private::make_folders(path)?;
        private::check_folder(path)?;
        Ok(())
    }

    pub(crate) fn runtimes(&self) -> PathBuf {
        self.root.join("runtimes")
    }

    pub(crate) fn runtime(&self, runtime: &Runtime) -> PathBuf {
        self.runtimes().join(runtime.name)
    }

    pub(crate) fn manifest(&self, runtime: &Runtime, key: Digest) -> PathBuf {
        self.runtime(runtime).join(format!("{}.json", key.name()))
    }

    pub(crate) fn snapshot(&self, runtime: &Runtime, sha256: Digest) -> PathBuf {
        self.runtime(runtime).join(format!("{}.wasm", sha256.name()))
    }

    pub(crate) fn pack(&self, runtime: &Runtime, sha256: Digest) -> PathBuf {
        self.runtime(runtime).join(format!("{}.pack", sha256.name()))
    }

    pub(crate) fn modules(&self) -> PathBuf {
        self.root.join("modules")
    }

    /// A compiled module; its record has the ending `.json`.
    pub(crate) fn module(&self, runtime: &Runtime, snapshot: Digest, machine: Digest) -> PathBuf {
        self.modules().join(format!("{}-{}-{}.cwasm", runtime.name, snapshot.name(), machine.name()))
    }

    pub(crate) fn built(&self, runtime: &Runtime) -> PathBuf {
        self.root.join("built").join(runtime.name)
    }

    pub(crate) fn recipes(&self, sha256: Digest) -> PathBuf {
        self.root.join("recipes").join(sha256.name())
    }

    pub(crate) fn work(&self) -> PathBuf {
        self.root.join("work")
    }

    /// A recipe's log. Recipes write it themselves.
    pub(crate) fn log(&self, runtime: &Runtime) -> PathBuf {
        self.work().join("log").join(format!("{}.log", runtime.name))
    }

    pub(crate) fn lock(&self, name: &str) -> PathBuf {
        self.root.join("locks").join(name)
    }

    pub(crate) fn tmp(&self) -> PathBuf {
        self.root.join("tmp")
    }
}
