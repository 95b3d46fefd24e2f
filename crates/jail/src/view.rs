//! What of the host a guest can read. Mounts and Landlock rules are both made from this one list.

use std::fs;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

/// Host paths that a guest sees, at the same place, read-only.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct View {
    pub(crate) paths: Vec<PathBuf>,
    pub(crate) links: Vec<Link>,
    pub(crate) mounts: Vec<Mount>,
}

/// A host folder that a guest sees at another place. Needs a root of its own: [`Walls::Namespaces`](crate::Walls::Namespaces).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Mount {
    pub(crate) source: PathBuf,
    pub(crate) target: PathBuf,
    pub(crate) access: Access,
    pub(crate) origin: Origin,
}

/// Whose a mounted folder is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Origin {
    /// Ours.
    Own,
    /// The operator's, who grants it to guests: see [`folder`](crate::folder).
    Operator,
}

/// What a guest can do with what is in a mounted folder.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Access {
    /// Read and execute.
    Read,
    /// Everything. Folders of ours only for programs of ours, never with a guest's code; guests get this only in
    /// folders that the operator grants.
    Write,
}

/// A symbolic link in the root.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Link {
    pub(crate) at: PathBuf,
    pub(crate) to: PathBuf,
}

/// Programs, libraries, and what the dynamic linker and TLS libraries look up. `/nix/store` is world-readable by design.
const TREES: &[&str] = &["/usr", "/nix/store"];
const ROOT_NAMES: &[&str] = &["bin", "sbin", "lib", "lib32", "lib64", "libx32"];
const CONFIGURATION: &[&str] = &[
    "/etc/ld.so.cache",
    "/etc/ld.so.conf",
    "/etc/ld.so.conf.d",
    "/etc/alternatives",
    "/etc/ssl/certs",
    "/etc/ssl/openssl.cnf",
    "/etc/localtime",
    "/etc/mime.types",
    "/etc/fonts",
];

impl View {
    /// What every guest sees of this host. Looks at the file system once; make it at start-up.
    pub fn of_host() -> Self {
        let mut view = Self { paths: Vec::new(), links: Vec::new(), mounts: Vec::new() };
        for path in TREES.iter().chain(CONFIGURATION) {
            view.add(Path::new(path));
        }
        for name in ROOT_NAMES {
            let path = Path::new("/").join(name);
            // On merged-/usr hosts these are links into /usr; elsewhere they are directories.
            match fs::read_link(&path) {
                Ok(to) => view.links.push(Link { at: path, to }),
                Err(_) => view.add(&path),
            }
        }
        view
    }

    /// Adds a path, if it is there and not already covered. A path that is not there is nothing to show.
    pub fn add(&mut self, path: &Path) {
        let covered = self.paths.iter().any(|present| path.starts_with(present));
        if !covered && fs::symlink_metadata(path).is_ok() {
            self.paths.push(path.to_owned());
        }
    }

    /// Shows a folder at another place. It must exist when the jail is built: without it, the run would not be the one
    /// that was asked for.
    pub fn mount(&mut self, source: &Path, target: &Path, access: Access) {
        let (source, target) = (source.to_owned(), target.to_owned());
        self.mounts.push(Mount { source, target, access, origin: Origin::Own });
    }

    /// Shows a folder that the operator grants to guests. No component of its path may be a link.
    pub fn grant(&mut self, source: &Path, target: &Path, access: Access) {
        let (source, target) = (source.to_owned(), target.to_owned());
        self.mounts.push(Mount { source, target, access, origin: Origin::Operator });
    }

    pub(crate) fn has_writable_grants(&self) -> bool {
        self.mounts.iter().any(|mount| mount.origin == Origin::Operator && mount.access == Access::Write)
    }

    pub(crate) fn has_grants(&self) -> bool {
        self.mounts.iter().any(|mount| mount.origin == Origin::Operator)
    }

    /// Whether a guest can read this path.
    pub fn covers(&self, path: &Path) -> bool {
        self.paths.iter().any(|present| path.starts_with(present))
            || self.links.iter().any(|link| path.starts_with(&link.at))
    }
}
