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
    /// Held by who looks.
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

/// When a layer was used last is written down at most this often.
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

    /// A client's own folder. Behind walls a client of a root server is another user each time, so inside it is open to all; nobody but us
    /// can come to it.
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

    /// The number of those that whoever comes takes.
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

    /// Gives what was made its name. Somebody else may have been as fast; then theirs is as good.
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
            // Two at once would each remove enough. Whoever is at it looks again when it is done.
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
        // Those that a client is at go at its end. Until then layers keep the half that is theirs.
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

    /// Clients that come have new caches. Waiting until nobody is at the old ones would be for ever where installations overlap.
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
mod tests {
    use std::collections::HashSet;
    use std::io::Write as _;

    use proptest::prelude::*;

    use super::*;

    fn store() -> (tempfile::TempDir, Store) {
        let folder = tempfile::tempdir().expect("a temporary directory");
        let store = Store::prepare(&folder.path().join("packages")).expect("prepared");
        (folder, store)
    }

    fn publish(store: &Store, id: &str, bytes: u64) {
        let stage = store.stage().expect("a stage");
        fs::create_dir(stage.path("site")).expect("made");
        let described = LayerFile { kind: Kind::Python, packages: Vec::new(), bytes, pack: false };
        store.publish(&stage, id, &described).expect("published");
    }

    #[test]
    fn what_was_not_published_is_gone() {
        let (_folder, store) = store();
        let stage = store.stage().expect("a stage");
        let path = stage.path("");
        drop(stage);
        assert!(fs::symlink_metadata(path).is_err());
    }

    #[test]
    fn the_oldest_goes_first_and_never_what_is_held() {
        let (_folder, store) = store();
        for (index, id) in ["a", "b", "c"].iter().enumerate() {
            publish(&store, id, 100);
            let file = File::open(store.path("layers", id).join(LAYER_FILE)).expect("there");
            let then = SystemTime::UNIX_EPOCH + Duration::from_secs(1 + index as u64);
            file.set_times(FileTimes::new().set_modified(then)).expect("set");
        }
        let held = store.layer("a").expect("there");
        // Using it made it the newest; by age alone it would be the last to go, and it is not to go at all.
        store.evict(Bytes::new(0));
        assert!(store.layer("a").is_some() && store.layer("b").is_none() && store.layer("c").is_none());
        drop(held);
        store.evict(Bytes::new(0));
        assert!(store.layer("a").is_none());
    }

    #[test]
    fn caches_count_like_layers() {
        let (_folder, store) = store();
        fs::write(store.client("uv").expect("made").path().join("wheel"), [0; 50]).expect("ours");
        for (id, used) in [("a", 1), ("b", 2)] {
            publish(&store, id, 60);
            let file = File::open(store.path("layers", id).join(LAYER_FILE)).expect("there");
            let then = SystemTime::UNIX_EPOCH + Duration::from_secs(used);
            file.set_times(FileTimes::new().set_modified(then)).expect("set");
        }
        store.evict(Bytes::new(120));
        assert_eq!(size_of(&store.root.join("clients")), 50);
        assert!(store.layer("a").is_none() && store.layer("b").is_some());
    }

    #[test]
    fn caches_in_use_take_no_more_than_their_half() {
        let (_folder, store) = store();
        let client = store.client("uv").expect("made");
        fs::write(client.path().join("wheel"), [0; 200]).expect("ours");
        publish(&store, "a", 50);
        store.evict(Bytes::new(120));
        assert!(store.layer("a").is_some());
        publish(&store, "b", 50);
        store.evict(Bytes::new(120));
        assert_eq!(store.layers().len(), 1);
        drop(client);
        store.evict(Bytes::new(120));
        assert_eq!((store.layers().len(), size_of(&store.root.join("clients"))), (1, 0));
    }

    #[test]
    fn caches_are_held_to_the_limit_while_installations_overlap() {
        let (_folder, store) = store();
        let mut client = store.client("uv").expect("made");
        let mut most = 0;
        for number in 0..100 {
            fs::write(client.path().join(number.to_string()), [0; 20]).expect("ours");
            let next = store.client("uv").expect("made");
            assert!(client.path().is_dir(), "it stays while somebody has it");
            client = next;
            store.evict(Bytes::new(100));
            most = most.max(size_of(&store.root.join("clients")));
        }
        assert!(most <= 200, "{most}");
        drop(client);
        store.evict(Bytes::new(0));
        assert_eq!(size_of(&store.root.join("clients")), 0);
    }

    #[test]
    fn who_looks_at_the_same_time_removes_no_more() {
        let (_folder, store) = store();
        (0..64).for_each(|id| publish(&store, &id.to_string(), 10));
        std::thread::scope(|scope| {
            (0..8).for_each(|_| drop(scope.spawn(|| store.evict(Bytes::new(320)))));
        });
        assert_eq!(store.layers().len(), 32);
    }

    #[test]
    fn wishes_share_a_number_of_locks() {
        let (_folder, store) = store();
        let key = |number: u32| setup::Digest::of_parts([number.to_le_bytes().as_slice()]).to_string();
        let locks: HashSet<PathBuf> = (0..5000).map(|number| store.lock(&key(number))).collect();
        assert_eq!(locks.len(), 256);
    }

    #[test]
    fn answers_that_are_too_old_are_removed() {
        let (_folder, store) = store();
        let now = SystemTime::now();
        let times = [("old", now - GOOD_FOR), ("new", now), ("tomorrow", now + Duration::from_hours(24))];
        for (name, written) in times {
            store.write("answers", name, b"{}").expect("written");
            let file = File::options().write(true).open(store.path("answers", name)).expect("there");
            file.set_times(FileTimes::new().set_modified(written)).expect("set");
        }
        store.evict(Bytes::gib(1));
        let left: Vec<bool> = times.map(|(name, _)| store.path("answers", name).is_file()).into();
        assert_eq!(left, [false, true, false]);
    }

    #[test]
    fn a_clients_folder_stays_while_somebody_has_it() {
        let (_folder, store) = store();
        let (first, second) = (store.client("uv").expect("made"), store.client("uv").expect("there"));
        let kept = first.path().join("wheel");
        fs::write(&kept, "1").expect("ours");
        drop(second);
        store.evict(Bytes::new(0));
        assert!(fs::symlink_metadata(&kept).is_ok());
        drop(first);
        store.evict(Bytes::new(0));
        assert!(fs::symlink_metadata(&kept).is_err());
    }

    #[test]
    fn what_is_being_made_is_not_swept() {
        let (_folder, store) = store();
        let done = AtomicBool::new(false);
        std::thread::scope(|scope| {
            scope.spawn(|| {
                while !done.load(Ordering::Relaxed) {
                    store.sweep();
                }
            });
            let make = || {
                for _ in 0..2000 {
                    let stage = store.stage().expect("a stage");
                    fs::write(stage.path("file"), "1").expect("the folder is there");
                }
            };
            // Whatever becomes of it, the other one ends.
            let ended = std::panic::catch_unwind(make);
            done.store(true, Ordering::Relaxed);
            ended.expect("nothing was swept");
        });
    }

    #[test]
    fn two_makers_of_one_layer_agree() {
        let (_folder, store) = store();
        publish(&store, "a", 1);
        publish(&store, "a", 1);
        assert!(store.layer("a").is_some());
    }

    #[test]
    fn links_do_not_come_along() {
        let folder = tempfile::tempdir().expect("a temporary directory");
        fs::write(folder.path().join("plain.py"), "1").expect("written");
        std::os::unix::fs::symlink("/etc/passwd", folder.path().join("link")).expect("linked");
        let looked = take_over(folder.path()).expect("looked over");
        assert_eq!((looked.bytes, looked.has_machine_code), (1, false));
        assert!(fs::symlink_metadata(folder.path().join("link")).is_err());
    }

    #[test]
    fn what_a_link_leads_to_is_not_taken_over() {
        let (folder, theirs) = (tempfile::tempdir().expect("a folder"), tempfile::tempdir().expect("another"));
        let secret = theirs.path().join("secret");
        fs::write(&secret, "1").expect("written");
        fs::set_permissions(&secret, Permissions::from_mode(0o600)).expect("private");
        let link = folder.path().join("site");
        std::os::unix::fs::symlink(theirs.path(), &link).expect("linked");
        assert_eq!(take_over(&link).expect_err("a link").kind(), io::ErrorKind::NotADirectory);
        assert_eq!(fs::metadata(&secret).expect("there").mode() & 0o777, 0o600);
    }

    /// What somebody may leave in a folder.
    #[derive(Debug, Clone)]
    enum Left {
        File { mode: u32, size: usize },
        Folder { mode: u32 },
        LinkOut,
        LinkUp,
        Fifo,
    }

    fn left() -> impl Strategy<Value = (Vec<usize>, Left)> {
        let what = prop_oneof![
            4 => (0u32..0o10000, 0usize..50).prop_map(|(mode, size)| Left::File { mode, size }),
            3 => (0u32..0o10000).prop_map(|mode| Left::Folder { mode }),
            1 => Just(Left::LinkOut),
            1 => Just(Left::LinkUp),
            1 => Just(Left::Fifo),
        ];
        (proptest::collection::vec(0usize..5, 1..4), what)
    }

    fn leave(path: &Path, what: &Left, outside: &Path) -> io::Result<()> {
        match what {
            Left::File { mode, size } => {
                File::create_new(path)?.write_all(&vec![b'x'; *size])?;
                fs::set_permissions(path, Permissions::from_mode(*mode))
            }
            Left::Folder { mode } => DirBuilder::new().mode(0o700 | *mode).create(path),
            Left::LinkOut => std::os::unix::fs::symlink(outside, path),
            Left::LinkUp => std::os::unix::fs::symlink("..", path),
            Left::Fifo => {
                let (kind, mode) = (rustix::fs::FileType::Fifo, rustix::fs::Mode::from_raw_mode(0o666));
                Ok(rustix::fs::mknodat(rustix::fs::CWD, path, kind, mode, 0)?)
            }
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 100, ..ProptestConfig::default() })]

        #[test]
        fn whatever_is_left_becomes_plain_and_ours(all in proptest::collection::vec(left(), 0..20)) {
            let (folder, outside) = (tempfile::tempdir().expect("a folder"), tempfile::tempdir().expect("another"));
            let secret = outside.path().join("secret");
            fs::write(&secret, "secret").expect("written");
            fs::set_permissions(&secret, Permissions::from_mode(0o600)).expect("private");
            for (names, what) in &all {
                let names = names.iter().map(|name| ["a", "b.so", "c.node", ".lock", "ü"][*name]);
                // What is there already, or has no folder to be in, is not left twice.
                leave(&folder.path().join(names.collect::<PathBuf>()), what, outside.path()).ok();
            }
            let looked = take_over(folder.path()).expect("taken over");
            let (mut bytes, mut pending) = (0, vec![folder.path().to_owned()]);
            while let Some(path) = pending.pop() {
                let metadata = fs::symlink_metadata(&path).expect("there");
                prop_assert_eq!(metadata.uid(), rustix::process::geteuid().as_raw());
                let mode = metadata.mode() & 0o7777;
                if metadata.is_dir() {
                    prop_assert_eq!(mode, 0o755);
                    pending.extend(fs::read_dir(&path).expect("a folder").map(|entry| entry.expect("an entry").path()));
                } else {
                    prop_assert!(metadata.is_file() && (mode == 0o644 || mode == 0o755), "{:?} {:o}", path, mode);
                    bytes += metadata.len();
                }
            }
            prop_assert_eq!(bytes, looked.bytes);
            let theirs: Vec<_> = fs::read_dir(outside.path()).expect("there").collect();
            // A name may have led through a link before it was taken over; what was there is as it was.
            prop_assert!(!theirs.is_empty());
            prop_assert_eq!(fs::read_to_string(&secret).expect("there"), "secret");
            prop_assert_eq!(fs::metadata(&secret).expect("there").mode() & 0o777, 0o600);
        }
    }
}
