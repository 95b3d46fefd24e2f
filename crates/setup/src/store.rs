//! What is installed.

use std::collections::HashSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use sandbox::Bytes;

use crate::Setup;
use crate::catalogue::{CATALOGUE, Runtime};
use crate::digest::Digest;
use crate::error::{FileError, at};
use crate::layout::Layout;
use crate::lock::Lock;
use crate::manifest::{FileFacts, MOST_MANIFEST, Manifest, Record};
use crate::private::{self, Untrusted};

/// Versions of a runtime that are kept, and compiled modules of it, the current ones among them. Two, so that two versions of belljar, or
/// two kinds of machine with one home folder, do not take turns in rebuilding.
const KEPT: usize = 2;

/// A runtime that the engine can load.
#[derive(Debug, Clone)]
pub struct Installed {
    /// Which one.
    pub runtime: &'static Runtime,
    /// The compiled module, for `Module::deserialize_file`. Without links in its path.
    pub module: PathBuf,
    /// The snapshot that it was compiled from.
    pub snapshot: PathBuf,
    /// The files that the runtime sees, for those that have some.
    pub pack: Option<PathBuf>,
    /// What it is and what it was made of.
    pub manifest: Manifest,
    /// What it occupies.
    pub size: Bytes,
    /// Of the module.
    module_facts: FileFacts,
}

impl Installed {
    /// The version of what it runs: `3.13.15`.
    pub fn version(&self) -> &str {
        &self.manifest.version
    }
}

/// Why a runtime cannot be loaded.
#[derive(Debug, thiserror::Error)]
pub enum NotUsable {
    /// It has never been provisioned here.
    #[error("it is not provisioned")]
    NotProvisioned,
    /// It has been, by or for something else than what runs now.
    #[error("it was provisioned for another version of belljar or another CPU")]
    Outdated(Needs),
    /// Files are missing, cut short or unreadable. Provisioning makes them again.
    #[error("`{}` is damaged", .0.display())]
    Damaged(PathBuf),
    /// Somebody else may have changed it.
    #[error("{0}")]
    Refused(Untrusted),
    /// It could not be looked at.
    #[error(transparent)]
    Unreadable(FileError),
}

/// What an outdated runtime needs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Needs {
    /// Only to be compiled for this machine: seconds.
    Compile,
    /// To be built or snapshotted again.
    Build,
}

/// A row of `belljar setup --list`.
#[derive(Debug)]
pub struct Listed {
    /// Which runtime.
    pub runtime: &'static Runtime,
    /// Whether it can be loaded, with version, size and age if so.
    pub state: Result<Installed, NotUsable>,
}

impl Setup {
    /// What to load for a runtime. Looks at owner, permissions, sizes and keys of its files: some 20 system calls.
    pub fn installed(&self, runtime: &'static Runtime) -> Result<Installed, NotUsable> {
        let layout = Layout::find(&self.root)?.ok_or(NotUsable::NotProvisioned)?;
        self.find(&layout, runtime)
    }

    /// All runtimes and their states.
    pub fn list(&self) -> Vec<Listed> {
        CATALOGUE.iter().map(|runtime| Listed { runtime, state: self.installed(runtime) }).collect()
    }

    pub(crate) fn find(&self, layout: &Layout, runtime: &'static Runtime) -> Result<Installed, NotUsable> {
        let (manifest, snapshot, pack) = self.find_portable(layout, runtime)?;
        let (module, module_facts) = self.find_module(layout, runtime, &manifest)?;
        let size = manifest.snapshot.bytes + manifest.pack.map_or(0, |pack| pack.bytes) + module_facts.bytes;
        Ok(Installed { runtime, module, snapshot, pack, manifest, size: Bytes::new(size), module_facts })
    }

    /// The part that depends on the machine.
    fn find_module(
        &self,
        layout: &Layout,
        runtime: &Runtime,
        manifest: &Manifest,
    ) -> Result<(PathBuf, FileFacts), NotUsable> {
        if private::check_folder(&layout.modules())?.is_none() {
            return Err(NotUsable::Outdated(Needs::Compile));
        }
        let module = layout.module(runtime, manifest.snapshot.sha256, self.machine());
        let Some(record) = private::read_small(&record_of(&module), MOST_MANIFEST)? else {
            return Err(NotUsable::Outdated(Needs::Compile));
        };
        let record = Record::parse(&record).ok_or_else(|| NotUsable::Damaged(record_of(&module)))?;
        // The file's name holds only halves of hashes of these.
        if record.snapshot != manifest.snapshot.sha256 || record.machine != self.finish.machine_key() {
            return Err(NotUsable::Outdated(Needs::Compile));
        }
        check_size(&module, record.module)?;
        Ok((module, record.module))
    }

    /// Whether there is a whole module of this snapshot for this machine.
    pub(crate) fn is_compiled(&self, layout: &Layout, runtime: &Runtime, manifest: &Manifest) -> bool {
        self.find_module(layout, runtime, manifest).and_then(|(module, facts)| verify(&module, facts)).is_ok()
    }

    /// The part that does not depend on the machine: manifest, snapshot, pack.
    pub(crate) fn find_portable(
        &self,
        layout: &Layout,
        runtime: &Runtime,
    ) -> Result<(Manifest, PathBuf, Option<PathBuf>), NotUsable> {
        let key = self.key(runtime);
        for folder in [layout.runtimes(), layout.runtime(runtime)] {
            if private::check_folder(&folder)?.is_none() {
                return Err(NotUsable::NotProvisioned);
            }
        }
        let path = layout.manifest(runtime, key);
        let Some(bytes) = private::read_small(&path, MOST_MANIFEST)? else {
            let has_others = !manifests(&layout.runtime(runtime)).is_empty();
            return Err(if has_others { NotUsable::Outdated(Needs::Build) } else { NotUsable::NotProvisioned });
        };
        let manifest = Manifest::parse(&bytes)
            .filter(|manifest| manifest.name == runtime.name && manifest.key == key)
            .ok_or(NotUsable::Damaged(path))?;
        let snapshot = layout.snapshot(runtime, manifest.snapshot.sha256);
        check_size(&snapshot, manifest.snapshot)?;
        let pack = match manifest.pack {
            Some(facts) => {
                let pack = layout.pack(runtime, facts.sha256);
                check_size(&pack, facts)?;
                Some(pack)
            }
            None => None,
        };
        Ok((manifest, snapshot, pack))
    }

    /// Names an installed runtime's portable part: recipe and snapshotter.
    pub(crate) fn key(&self, runtime: &Runtime) -> Digest {
        let recipe = self.recipes.key(runtime).to_string();
        Digest::of_parts([recipe.as_bytes(), self.finish.snapshot_key().as_bytes()])
    }

    /// Names what modules are compiled for.
    pub(crate) fn machine(&self) -> Digest {
        Digest::of_parts([self.finish.machine_key().as_bytes()])
    }

    /// Removes what is no longer of use to a runtime. `_lock` is the runtime's: nobody is about to refer to a file that
    /// nobody refers to yet.
    pub(crate) fn sweep(&self, layout: &Layout, current: &Installed, _lock: &Lock) -> Result<(), FileError> {
        let runtime = current.runtime;
        let folder = layout.runtime(runtime);
        let mut needed: HashSet<PathBuf> = HashSet::new();
        let current_manifest = layout.manifest(runtime, current.manifest.key);
        let others = newest(manifests(&folder).into_iter().filter(|path| *path != current_manifest));
        let mut snapshots = HashSet::new();
        for path in others.into_iter().take(KEPT - 1).chain([current_manifest]) {
            let Some(manifest) = private::read_small(&path, MOST_MANIFEST)?.and_then(|bytes| Manifest::parse(&bytes))
            else {
                continue;
            };
            needed.insert(layout.snapshot(runtime, manifest.snapshot.sha256));
            needed.extend(manifest.pack.map(|pack| layout.pack(runtime, pack.sha256)));
            snapshots.insert(manifest.snapshot.sha256);
            needed.insert(path);
        }
        remove_others(&folder, |path| needed.contains(path))?;

        let prefix = format!("{}-", runtime.name);
        let is_ours = |path: &Path| name(path).is_some_and(|name| name.starts_with(&prefix));
        let is_of_kept = |path: &Path| {
            let kept = |snapshot: &Digest| name(path).is_some_and(|name| name.contains(&snapshot.name()));
            snapshots.iter().any(kept)
        };
        let modules = entries(&layout.modules()).into_iter().filter(|path| is_ours(path) && is_cwasm(path));
        let modules = newest(modules.filter(|path| is_of_kept(path) && *path != current.module));
        let kept: HashSet<PathBuf> = modules.into_iter().take(KEPT - 1).chain([current.module.clone()]).collect();
        remove_others(&layout.modules(), |path| !is_ours(path) || kept.contains(&path.with_extension("cwasm")))?;

        let built = layout.built(runtime).join(self.recipes.key(runtime).name());
        remove_others(&layout.built(runtime), |path| path == built)
    }
}

impl Installed {
    /// Compares all files with their hashes. Half a second for the largest.
    pub(crate) fn verify(&self) -> Result<(), NotUsable> {
        let pack = self.pack.as_ref().zip(self.manifest.pack);
        let files = [(&self.module, self.module_facts), (&self.snapshot, self.manifest.snapshot)];
        files.into_iter().chain(pack).try_for_each(|(path, expected)| verify(path, expected))
    }

    /// When it was built.
    pub fn built(&self) -> SystemTime {
        self.manifest.built()
    }
}

/// Compares a file with its hash.
pub(crate) fn verify(path: &Path, expected: FileFacts) -> Result<(), NotUsable> {
    let found = private::open(path).and_then(|file| private::facts(&file)).map_err(at("read", path))?;
    if found == expected { Ok(()) } else { Err(NotUsable::Damaged(path.to_owned())) }
}

/// The record of a compiled module.
pub(crate) fn record_of(module: &Path) -> PathBuf {
    module.with_extension("json")
}

fn check_size(path: &Path, expected: FileFacts) -> Result<(), NotUsable> {
    if private::check_file(path)? == Some(expected.bytes) { Ok(()) } else { Err(NotUsable::Damaged(path.to_owned())) }
}

fn manifests(folder: &Path) -> Vec<PathBuf> {
    entries(folder).into_iter().filter(|path| path.extension().is_some_and(|ending| ending == "json")).collect()
}

fn is_cwasm(path: &Path) -> bool {
    path.extension().is_some_and(|ending| ending == "cwasm")
}

fn name(path: &Path) -> Option<&str> {
    path.file_name()?.to_str()
}

fn newest(paths: impl Iterator<Item = PathBuf>) -> Vec<PathBuf> {
    let changed = |path: &PathBuf| fs::symlink_metadata(path).and_then(|metadata| metadata.modified()).ok();
    let mut paths: Vec<(Option<SystemTime>, PathBuf)> = paths.map(|path| (changed(&path), path)).collect();
    paths.sort_by(|one, other| other.cmp(one));
    paths.into_iter().map(|(_, path)| path).collect()
}

fn entries(folder: &Path) -> Vec<PathBuf> {
    fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path()).collect()
}

/// Removes all entries of a folder but the chosen ones.
pub(crate) fn remove_others(folder: &Path, keep: impl Fn(&Path) -> bool) -> Result<(), FileError> {
    for path in entries(folder).into_iter().filter(|path| !keep(path)) {
        let is_folder = fs::symlink_metadata(&path).is_ok_and(|metadata| metadata.is_dir());
        let removed = if is_folder { fs::remove_dir_all(&path) } else { fs::remove_file(&path) };
        removed.map_err(at("remove", &path))?;
    }
    Ok(())
}

impl From<FileError> for NotUsable {
    fn from(error: FileError) -> Self {
        match error {
            FileError::Untrusted(untrusted) => Self::Refused(untrusted),
            error @ FileError::Io { .. } => Self::Unreadable(error),
        }
    }
}
