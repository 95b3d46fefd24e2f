//! Where layers are kept.

use std::fs::{self, DirBuilder, File, FileTimes, Permissions};
use std::io;
use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _, PermissionsExt as _, lchown};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, SystemTime};

use rustix::fs::{FlockOperation, flock};
use rustix::io::retry_on_intr;
use sandbox::{Bytes, Held, Layer, LayerKind, PackageVersion};
use serde::{Deserialize, Serialize};

use crate::answers::GOOD_FOR;
use crate::lock_file;

/// The folder described in the crate's documentation. Cheap to clone.
#[derive(Debug, Clone)]
pub(crate) struct Store {
    root: PathBuf,
    /// Something was made or given up since anybody looked whether all is within its limit.
    has_grown: Arc<AtomicBool>,
    /// Held by whoever is looking.
    evicting: Arc<Mutex<()>>,
}

/// What is written down about a layer.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct LayerFile {
    pub(crate) kind: Kind,
    /// Names and versions.
    pub(crate) packages: Vec<(String, String)>,
    pub(crate) bytes: u64,
    pub(crate) pack: bool,
}

/// [`LayerKind`], written down.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Kind {
    Python,
    Node,
}

impl Kind {
    /// What the folder with the packages is called.
    pub(crate) fn folder(self) -> &'static str {
        match self {
            Self::Python => "site",
            Self::Node => "node_modules",
        }
    }
}

/// The time of a layer's last use is written down at most this often.
const USED_EVERY: Duration = Duration::from_mins(1);

const LAYER_FILE: &str = "layer.json";
pub(crate) const PACK: &str = "pack";
const FOLDERS: [&str; 6] = ["layers", "answers", "registries", "clients", "tmp", "locks"];

impl Store {
    /// Makes the folder where it is missing, and removes what dead processes left in it.
    pub(crate) fn prepare(root: &Path) -> io::Result<Self> {
        for folder in std::iter::once(root.to_owned()).chain(FOLDERS.map(|name| root.join(name))) {
            DirBuilder::new().recursive(true).mode(0o700).create(&folder)?;
        }
        let metadata = fs::symlink_metadata(root)?;
        let ours = metadata.is_dir() && metadata.uid() == rustix::process::geteuid().as_raw();
        if !ours || metadata.mode() & 0o077 != 0 {
            let message = format!("`{}` is not ours alone; remove it, or set its mode to 0700", root.display());
            return Err(io::Error::new(io::ErrorKind::PermissionDenied, message));
        }
        let store = Self { root: root.canonicalize()?, has_grown: Arc::default(), evicting: Arc::default() };
        store.sweep();
        Ok(store)
    }

    pub(crate) fn path(&self, folder: &str, name: &str) -> PathBuf {
        self.root.join(folder).join(name)
    }

    /// The lock for getting what has this key. There are 256 of them, so that they need not be removed; two wishes that share one wait for
    /// each other.
    pub(crate) fn lock(&self, key: &str) -> PathBuf {
        self.path("locks", key.get(..2).unwrap_or(key))
    }

    /// A client's own folder. In its jail, a client of a root server is another user each time, so the folder's inside
    /// is open to all; but nobody except us can get to it.
    pub(crate) fn client(&self, name: &str) -> io::Result<ClientFolder> {
        loop {
            let caches = self.path("clients", &self.newest_caches().to_string());
            DirBuilder::new().recursive(true).mode(0o700).create(&caches)?;
            let held = match File::open(&caches) {
                Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
                held => held?,
            };
            // Otherwise they were not the newest any more, and somebody is removing them.
            if flock(&held, FlockOperation::NonBlockingLockShared).is_ok() && fs::symlink_metadata(&caches).is_ok() {
                let path = caches.join(name);
                DirBuilder::new().recursive(true).create(&path)?;
                fs::set_permissions(&path, Permissions::from_mode(0o777))?;
                return Ok(ClientFolder { path, _held: held });
            }
        }
    }

    /// The clients' caches by their numbers. What has none is nobody's, and comes first.
    fn caches(&self) -> Vec<(Option<u64>, PathBuf)> {
        let entries = fs::read_dir(self.root.join("clients")).into_iter().flatten().flatten();
        let mut caches: Vec<_> =
            entries.map(|entry| (entry.file_name().to_string_lossy().parse().ok(), entry.path())).collect();
        caches.sort_unstable();
        caches
    }

    /// The number of the caches that new clients get.
    fn newest_caches(&self) -> u64 {
        self.caches().last().and_then(|(number, _)| *number).unwrap_or_default()
    }

    /// A folder in which something is made.
    pub(crate) fn stage(&self) -> io::Result<Stage> {
        static SERIAL: AtomicU64 = AtomicU64::new(0);
        loop {
            let serial = SERIAL.fetch_add(1, Ordering::Relaxed);
            let folder = self.path("tmp", &format!("{}-{serial}", std::process::id()));
            match DirBuilder::new().mode(0o700).create(&folder) {
                Ok(()) => {}
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => continue,
                Err(error) => return Err(error),
            }
            // Until it is locked somebody may sweep it, and has the lock as long as that takes.
            let held = match File::open(&folder) {
                Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
                held => held?,
            };
            let is_ours = flock(&held, FlockOperation::NonBlockingLockExclusive).is_ok();
            if is_ours && fs::symlink_metadata(&folder).is_ok() {
                return Ok(Stage { folder, _held: held });
            }
        }
    }

    /// A layer, held against removal, if it is here.
    pub(crate) fn layer(&self, id: &str) -> Option<Layer> {
        let folder = self.path("layers", id);
        let file = File::open(folder.join(LAYER_FILE)).ok()?;
        flock(&file, FlockOperation::NonBlockingLockShared).ok()?;
        let described: LayerFile = serde_json::from_reader(&file).ok()?;
        // It may have been removed between opening and locking.
        fs::symlink_metadata(folder.join(LAYER_FILE)).ok()?;
        let now = SystemTime::now();
        let used = file.metadata().and_then(|metadata| metadata.modified()).ok()?;
        if now.duration_since(used).is_ok_and(|age| age > USED_EVERY) {
            // Not writable for somebody else's cache; then it counts as old.
            file.set_times(FileTimes::new().set_modified(now)).ok();
        }
        let kind = match described.kind {
            Kind::Python => LayerKind::Python,
            Kind::Node => LayerKind::Node,
        };
        let packages = described.packages.into_iter().map(|(name, version)| PackageVersion { name, version });
        Some(Layer {
            kind,
            id: id.to_owned(),
            pack: described.pack.then(|| folder.join(PACK)),
            folder: folder.join(described.kind.folder()),
            packages: packages.collect(),
            held: Held::by(file),
        })
    }

    /// Gives what was made its name. Somebody else may have been faster; then theirs is as good.
    pub(crate) fn publish(&self, stage: &Stage, id: &str, described: &LayerFile) -> io::Result<()> {
        fs::write(stage.folder.join(LAYER_FILE), serde_json::to_vec_pretty(described)?)?;
        // One call for thousands of files. Without it a power failure could leave the name and not what is in it.
        rustix::fs::syncfs(File::open(&stage.folder)?)?;
        match fs::rename(&stage.folder, self.path("layers", id)) {
            Err(error) if self.layer(id).is_none() => Err(error),
            _ => Ok(()),
        }
    }

    /// Writes a small file whole or not at all.
    pub(crate) fn write(&self, folder: &str, name: &str, contents: &[u8]) -> io::Result<()> {
        let stage = self.stage()?;
        let draft = stage.folder.join("file");
        fs::write(&draft, contents)?;
        fs::rename(&draft, self.path(folder, name))
    }

    /// Removes what is over `most`, and never what is in use: clients' caches first, from which nothing is lost but time, then layers, the
    /// least recently used first.
    pub(crate) fn evict(&self, most: Bytes) {
        self.has_grown.store(true, Ordering::SeqCst);
        while self.has_grown.load(Ordering::SeqCst) {
            // Two at once would each remove enough. Whoever is doing it looks again at the end.
            let Ok(_alone) = self.evicting.try_lock() else { return };
            self.has_grown.store(false, Ordering::SeqCst);
            let Ok(process) = lock_file::open(&self.path("locks", "evict")) else { return };
            if retry_on_intr(|| flock(&process, FlockOperation::LockExclusive)).is_ok() {
                self.evict_alone(most);
            }
        }
    }

    fn evict_alone(&self, most: Bytes) {
        // What was given up while its client was still writing may not have gone at once.
        self.sweep();
        self.forget_answers();
        let mut layers = self.layers();
        let mut total = layers.iter().map(|(_, _, bytes)| bytes).sum::<u64>();
        let most_caches = most.get() / 2;
        let all_caches = || size_of(&self.root.join("clients"));
        let are_all_new = self.drop_old_caches();
        let mut caches = all_caches();
        if are_all_new && total + caches > most.get() && caches > most_caches && self.renew_caches().is_ok() {
            caches = all_caches();
        }
        // Caches in use go when their client ends. Until then, layers keep the half that is theirs.
        total += caches.min(most_caches);
        layers.sort_by_key(|(_, used, _)| *used);
        for (folder, _, bytes) in layers {
            if total <= most.get() {
                return;
            }
            if self.remove(&folder).is_ok() {
                total -= bytes;
            }
        }
    }

    /// Gives new clients new caches. Waiting until nobody uses the old ones could take for ever where installations
    /// overlap.
    fn renew_caches(&self) -> io::Result<()> {
        let next = self.newest_caches() + 1;
        DirBuilder::new().mode(0o700).create(self.path("clients", &next.to_string()))?;
        self.drop_old_caches();
        Ok(())
    }

    /// Removes caches that nobody comes to any more, unless a client is still at them. False if there are such: then those that are new stay,
    /// and so there are never more than two.
    fn drop_old_caches(&self) -> bool {
        let mut caches = self.caches();
        caches.pop();
        let remove = |folder: &Path| -> io::Result<()> {
            let held = File::open(folder)?;
            flock(&held, FlockOperation::NonBlockingLockExclusive)?;
            fs::rename(folder, self.stage()?.folder.join("old"))
        };
        caches.iter().filter(|(_, folder)| remove(folder).is_err()).count() == 0
    }

    /// Removes answers that nobody believes any more. Those of the future are among them.
    fn forget_answers(&self) {
        for entry in fs::read_dir(self.root.join("answers")).into_iter().flatten().flatten() {
            let written = entry.metadata().and_then(|metadata| metadata.modified());
            let age = written.ok().and_then(|written| SystemTime::now().duration_since(written).ok());
            if age.is_none_or(|age| age >= GOOD_FOR) {
                fs::remove_file(entry.path()).ok();
            }
        }
    }

    /// Every layer with the time of its last use, and its size.
    fn layers(&self) -> Vec<(PathBuf, SystemTime, u64)> {
        let entries = fs::read_dir(self.root.join("layers")).into_iter().flatten().flatten();
        let facts = |folder: PathBuf| -> Option<(PathBuf, SystemTime, u64)> {
            let file = File::open(folder.join(LAYER_FILE)).ok()?;
            let used = file.metadata().and_then(|metadata| metadata.modified()).ok()?;
            let described: LayerFile = serde_json::from_reader(&file).ok()?;
            Some((folder, used, described.bytes))
        };
        entries.filter_map(|entry| facts(entry.path())).collect()
    }

    fn remove(&self, folder: &Path) -> io::Result<()> {
        let file = File::open(folder.join(LAYER_FILE))?;
        flock(&file, FlockOperation::NonBlockingLockExclusive)?;
        let stage = self.stage()?;
        // First it has no name any more, then it is taken apart.
        fs::rename(folder, stage.folder.join("old"))
    }

    fn sweep(&self) {
        let entries = fs::read_dir(self.root.join("tmp")).into_iter().flatten().flatten();
        for entry in entries {
            let Ok(folder) = File::open(entry.path()) else { continue };
            // Locked until it is gone, so that nobody can make something in it meanwhile.
            if flock(&folder, FlockOperation::NonBlockingLockExclusive).is_ok() {
                fs::remove_dir_all(entry.path()).ok();
            }
        }
    }
}

/// A client's own folder, which stays where it is as long as somebody has this.
#[derive(Debug)]
pub(crate) struct ClientFolder {
    path: PathBuf,
    _held: File,
}

impl ClientFolder {
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }
}

/// A folder in which something is made. Removed with this, unless it was published.
#[derive(Debug)]
pub(crate) struct Stage {
    folder: PathBuf,
    /// Locked as long as its maker lives.
    _held: File,
}

impl Stage {
    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.folder.join(name)
    }

    /// A folder in it that a client can write to.
    pub(crate) fn open_folder(&self, name: &str) -> io::Result<PathBuf> {
        let folder = self.path(name);
        DirBuilder::new().create(&folder)?;
        fs::set_permissions(&folder, Permissions::from_mode(0o777))?;
        Ok(folder)
    }
}

impl Drop for Stage {
    fn drop(&mut self) {
        fs::remove_dir_all(&self.folder).ok();
    }
}

/// What all files below a folder take.
fn size_of(folder: &Path) -> u64 {
    let mut total = 0;
    let mut pending = vec![folder.to_owned()];
    while let Some(directory) = pending.pop() {
        for entry in fs::read_dir(&directory).into_iter().flatten().flatten() {
            match entry.metadata() {
                Ok(metadata) if metadata.is_dir() => pending.push(entry.path()),
                Ok(metadata) => total += metadata.len(),
                Err(_) => {}
            }
        }
    }
    total
}

/// What a look over a client's work found.
#[derive(Debug, Default)]
pub(crate) struct Looked {
    pub(crate) bytes: u64,
    /// Whether there is machine code in it.
    pub(crate) has_machine_code: bool,
}

/// Makes what a client left ours: owner and modes are set, and what is neither a plain file nor a folder is removed.
pub(crate) fn take_over(folder: &Path) -> io::Result<Looked> {
    // A link in its place would have us do all of this to what it leads to.
    if !fs::symlink_metadata(folder)?.is_dir() {
        return Err(io::Error::new(io::ErrorKind::NotADirectory, "what a client left is no folder"));
    }
    let us = rustix::process::geteuid().as_raw();
    let mut looked = Looked::default();
    let mut pending = vec![folder.to_owned()];
    while let Some(directory) = pending.pop() {
        own(&directory, us, 0o755)?;
        for entry in fs::read_dir(&directory)? {
            let path = entry?.path();
            let metadata = fs::symlink_metadata(&path)?;
            if metadata.is_dir() {
                pending.push(path);
            } else if metadata.is_file() && path.file_name().is_some_and(|name| name == ".lock") {
                // The client's own.
                fs::remove_file(&path)?;
            } else if metadata.is_file() {
                let mode = if metadata.mode() & 0o111 == 0 { 0o644 } else { 0o755 };
                own(&path, us, mode)?;
                looked.bytes += metadata.len();
                looked.has_machine_code |= is_machine_code(&path);
            } else {
                fs::remove_file(&path)?;
            }
        }
    }
    Ok(looked)
}

fn own(path: &Path, us: u32, mode: u32) -> io::Result<()> {
    if fs::symlink_metadata(path)?.uid() != us {
        lchown(path, Some(us), Some(rustix::process::getegid().as_raw()))?;
    }
    fs::set_permissions(path, Permissions::from_mode(mode))
}

fn is_machine_code(path: &Path) -> bool {
    let name = path.file_name().map(|name| name.to_string_lossy()).unwrap_or_default();
    name.ends_with(".so") || name.ends_with(".node") || name.contains(".so.")
}

#[cfg(test)]
mod tests;
