//! The writable directory of a run that has no mount namespace: made, measured and removed on the host.
//!
//! The guest shapes what is below it (deep, wide, links, odd names) and may still be writing while it is measured, so nothing here
//! follows a link or recurses on the stack.

use std::collections::HashSet;
use std::ffi::{CStr, CString};
use std::fs;
use std::io;
use std::os::fd::{AsRawFd as _, OwnedFd};
use std::os::unix::fs::{DirBuilderExt as _, chown};
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::sync::atomic::{AtomicU64, Ordering};

use rustix::fs::{
    AtFlags, CWD, Dir, FileType, FlockOperation, Mode, OFlags, ResolveFlags, Stat, chmod, fchmod, flock, fstat, openat,
    openat2, renameat, statat, unlinkat,
};
use rustix::io::Errno;

pub(crate) const SCRATCH_WORKSPACE: &str = "box";
pub(crate) const SCRATCH_TEMPORARY: &str = "tmp";
pub(crate) const SCRATCH_BUILD: &str = "tmp/build";

/// A run's scratch directory, with the workspace and a temporary directory in it. Removed when dropped.
#[derive(Debug)]
pub(crate) struct Scratch {
    root: PathBuf,
    /// A lock that keeps sweepers away. `None` if the file system has no locks: then they cannot lock it either, and
    /// leave it alone.
    _in_use: Option<OwnedFd>,
}

impl Scratch {
    /// Makes `root`, which must not exist. `owner` is the guest's user id if it is not our own.
    pub(crate) fn make(root: &Path, owner: Option<u32>) -> io::Result<Self> {
        fs::DirBuilder::new().mode(0o711).create(root)?;
        let scratch = Self { root: root.to_owned(), _in_use: lock(root) };
        for directory in [scratch.workspace(), scratch.temporary(), scratch.build()] {
            fs::DirBuilder::new().mode(0o700).create(&directory)?;
            chown(&directory, owner, owner)?;
        }
        Ok(scratch)
    }

    pub(crate) fn root(&self) -> &Path {
        &self.root
    }

    pub(crate) fn workspace(&self) -> PathBuf {
        self.root.join(SCRATCH_WORKSPACE)
    }

    pub(crate) fn temporary(&self) -> PathBuf {
        self.root.join(SCRATCH_TEMPORARY)
    }

    /// Makes files executable that a command names and a compiler has just written: under these walls its linker may
    /// not change modes itself.
    ///
    /// The guest may swap what is below the directory at any time. So the kernel checks the path, and only a file made
    /// by the directory's own user, with a single name, is touched.
    pub(crate) fn make_executable(&self, arguments: &[String]) {
        let Ok(root) = openat(CWD, &self.root, DIRECTORY, Mode::empty()) else { return };
        let Ok(owner) = statat(&root, SCRATCH_TEMPORARY, AtFlags::SYMLINK_NOFOLLOW) else { return };
        let build = self.build();
        let resolve = ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS;
        for path in arguments.iter().map(Path::new).filter(|path| path.starts_with(&build)) {
            let Ok(inside) = path.strip_prefix(&self.root) else { continue };
            let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::CLOEXEC;
            let Ok(file) = openat2(&root, inside, flags, Mode::empty(), resolve) else { continue };
            let Ok(found) = fstat(&file) else { continue };
            let is_file = FileType::from_raw_mode(found.st_mode) == FileType::RegularFile;
            if is_file && found.st_uid == owner.st_uid && found.st_nlink == 1 {
                fchmod(&file, Mode::RWXU).ok();
            }
        }
    }

    fn build(&self) -> PathBuf {
        self.root.join(SCRATCH_BUILD)
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        // The launcher tries again with what could not be removed.
        remove_tree(&self.root).ok();
    }
}

/// A name for a run's directory that no other run has, of this process or of an earlier one.
pub fn scratch_name() -> String {
    static SERIAL: AtomicU64 = AtomicU64::new(0);
    let pid = rustix::process::getpid().as_raw_nonzero().get();
    format!("{}{}", prefix_of(pid).unwrap_or_else(|| format!("run-{pid}-")), SERIAL.fetch_add(1, Ordering::Relaxed))
}

/// Removes what dead servers left in `parent`: directories with a [`scratch_name`].
///
/// Servers in different containers may share `parent` without seeing each other's processes, but they do see each
/// other's locks.
pub fn sweep_scratch(parent: &Path) {
    let Ok(entries) = fs::read_dir(parent) else { return };
    for entry in entries.flatten() {
        let name = entry.file_name();
        let Some(name) = name.to_str() else { continue };
        let Some(pid) = name.strip_prefix("run-").and_then(|rest| rest.split('-').next()?.parse().ok()) else {
            continue;
        };
        let is_there = prefix_of(pid).is_some_and(|prefix| name.starts_with(&prefix));
        if !is_there && let Some(_unused) = lock(&entry.path()) {
            remove_tree(&entry.path()).ok();
        }
    }
}

/// A lock on a directory, held until dropped; `None` if someone else has it.
fn lock(directory: &Path) -> Option<OwnedFd> {
    let directory = openat(CWD, directory, DIRECTORY, Mode::empty()).ok()?;
    flock(&directory, FlockOperation::NonBlockingLockExclusive).ok()?;
    Some(directory)
}

/// The prefix of the names of a live process's directories. Its pid is not enough: in containers, every server may have
/// the same one.
fn prefix_of(pid: i32) -> Option<String> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    // The start time is field 22, in ticks since boot; the first field after the name in parentheses is field 3.
    let started = stat.rsplit_once(')')?.1.split_whitespace().nth(19)?;
    let boot = fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap_or_default();
    Some(format!("run-{pid}-{}-{started}-", boot.split('-').next().unwrap_or_default()))
}

/// Whether the tree holds more than this many bytes or files, or anything that cannot be looked at: a guest ended
/// without need can be run again, but what goes uncounted fills the host. Looks at no more entries than the file limit
/// allows.
pub(crate) fn exceeds(root: &Path, bytes: u64, files: u32) -> bool {
    is_over(root, bytes, files).unwrap_or(true)
}

fn is_over(root: &Path, bytes: u64, files: u32) -> rustix::io::Result<bool> {
    let top = Rc::new(openat(CWD, root, HANDLE, Mode::empty())?);
    // Each is opened from the one it was found in: a path that a guest made may be longer than the kernel accepts, or
    // lead elsewhere by now.
    let mut pending = vec![(top, c".".to_owned())];
    let (mut used, mut count) = (0u64, 0u32);
    let mut linked = HashSet::new();
    while let Some((parent, name)) = pending.pop() {
        let Some(directory) = if_still(open_to_look(&parent, &name))?.map(Rc::new) else { continue };
        for entry in Dir::read_from(&directory)? {
            let entry = entry?;
            let name = entry.file_name();
            if name == c"." || name == c".." {
                continue;
            }
            let Some(found) = if_still(look_at(&directory, name))? else { continue };
            let is_directory = FileType::from_raw_mode(found.st_mode) == FileType::Directory;
            count += 1;
            // A file with several names is on disk only once.
            if found.st_nlink == 1 || is_directory || linked.insert(found.st_ino) {
                used = used.saturating_add(u64::try_from(found.st_blocks).unwrap_or(0).saturating_mul(512));
            }
            if count > files.saturating_add(8) || used > bytes {
                return Ok(true);
            }
            if is_directory {
                pending.push((Rc::clone(&directory), name.to_owned()));
            }
        }
    }
    Ok(false)
}

/// Opens a directory even if the guest has taken away its own permissions: as owner or root we put them back.
fn open_to_look(parent: &OwnedFd, name: &CStr) -> rustix::io::Result<OwnedFd> {
    match openat(parent, name, DIRECTORY, Mode::empty()) {
        Err(Errno::ACCESS) => {
            let closed = openat(parent, name, HANDLE, Mode::empty())?;
            open_up(&closed)?;
            openat(&closed, c".", DIRECTORY, Mode::empty())
        }
        opened => opened,
    }
}

fn look_at(directory: &OwnedFd, name: &CStr) -> rustix::io::Result<Stat> {
    let look = || statat(directory, name, AtFlags::SYMLINK_NOFOLLOW);
    match look() {
        // It can be listed but not searched.
        Err(Errno::ACCESS) => {
            fchmod(directory, Mode::RWXU)?;
            look()
        }
        found => found,
    }
}

/// `None` for what has been removed or replaced since it was found: whatever is there now is left to the next look.
fn if_still<T>(result: rustix::io::Result<T>) -> rustix::io::Result<Option<T>> {
    match result {
        Err(Errno::NOTDIR) => Ok(None),
        other => if_there(other),
    }
}

/// Removes a tree of any depth with two descriptors: directories found on the way are moved up next to those still
/// waiting. What has already gone is not an error.
pub(crate) fn remove_tree(root: &Path) -> io::Result<()> {
    let Some(top) = if_there(openat(CWD, root, DIRECTORY, Mode::empty()))? else { return Ok(()) };
    let mut serial = 0u64;
    // Each round empties one directory of files and lifts its directories into `top`, so depth turns into rounds.
    let mut pending: Vec<CString> = lift_and_empty(&top, &top, &mut serial)?;
    while let Some(name) = pending.pop() {
        let Some(directory) = if_there(openat(&top, &name, DIRECTORY, Mode::empty()))? else { continue };
        pending.extend(lift_and_empty(&top, &directory, &mut serial)?);
        if_there(unlinkat(&top, &name, AtFlags::REMOVEDIR))?;
    }
    if_there(unlinkat(CWD, root, AtFlags::REMOVEDIR))?;
    Ok(())
}

const DIRECTORY: OFlags = OFlags::RDONLY.union(OFlags::DIRECTORY).union(OFlags::NOFOLLOW).union(OFlags::CLOEXEC);
/// For a directory that may not allow itself to be read.
const HANDLE: OFlags = OFlags::PATH.union(OFlags::DIRECTORY).union(OFlags::NOFOLLOW).union(OFlags::CLOEXEC);

fn lift_and_empty(top: &OwnedFd, directory: &OwnedFd, serial: &mut u64) -> io::Result<Vec<CString>> {
    let mut names = Vec::new();
    for entry in Dir::read_from(directory)? {
        let entry = entry?;
        if entry.file_name() != c"." && entry.file_name() != c".." {
            names.push(entry.file_name().to_owned());
        }
    }
    let mut lifted = Vec::new();
    for name in names {
        match openat(directory, &name, HANDLE, Mode::empty()) {
            Ok(found) => {
                *serial += 1;
                // A name that no guest chose: with this prefix a collision by accident is next to impossible, and one
                // would only fail the rename.
                let place = CString::new(format!("belljar-removing-{serial}-{}", std::process::id()))?;
                // Renaming a directory writes to it (its `..`), and it is read next: its own permissions may forbid
                // both.
                open_up(&found).ok();
                if if_there(renameat(directory, &name, top, &place))?.is_some() {
                    lifted.push(place);
                }
            }
            Err(Errno::NOTDIR) => {
                if_there(unlinkat(directory, &name, AtFlags::empty()))?;
            }
            Err(Errno::NOENT) => {}
            Err(error) => return Err(error.into()),
        }
    }
    Ok(lifted)
}

/// Gives the owner all permissions on a directory. Acts on the open one, never on what its name leads to by now: that
/// could be a link.
fn open_up(handle: &OwnedFd) -> rustix::io::Result<()> {
    // `fchmod` does not accept this kind of handle.
    chmod(format!("/proc/self/fd/{}", handle.as_raw_fd()), Mode::RWXU)
}

fn if_there<T>(result: rustix::io::Result<T>) -> rustix::io::Result<Option<T>> {
    match result {
        Err(Errno::NOENT) => Ok(None),
        other => other.map(Some),
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;
    use std::os::unix::fs::MetadataExt as _;
    use std::sync::atomic::AtomicBool;

    use rustix::fs::RenameFlags;

    use super::*;

    #[test]
    fn removes_deep_trees_links_and_locked_directories() {
        let parent = tempfile::tempdir().expect("a temporary directory");
        let outside = parent.path().join("outside");
        fs::create_dir(&outside).expect("mkdir");
        fs::write(outside.join("keep"), "kept").expect("write");

        let scratch = Scratch::make(&parent.path().join("run-1-1"), None).expect("scratch");
        let mut directory = openat(CWD, scratch.workspace(), DIRECTORY, Mode::empty()).expect("open");
        for _ in 0..5_000 {
            rustix::fs::mkdirat(&directory, "d", Mode::RWXU).expect("mkdirat");
            directory = openat(&directory, "d", DIRECTORY, Mode::empty()).expect("openat");
        }
        std::os::unix::fs::symlink(&outside, scratch.workspace().join("link")).expect("symlink");
        fs::DirBuilder::new().mode(0o000).create(scratch.temporary().join("locked")).expect("mkdir");
        let root = scratch.root().to_owned();
        drop(scratch);

        assert!(fs::symlink_metadata(root).is_err());
        assert_eq!(fs::read_to_string(outside.join("keep")).expect("read"), "kept");
    }

    #[test]
    fn sweeps_what_earlier_servers_left() {
        let parent = tempfile::tempdir().expect("a temporary directory");
        let own = scratch_name();
        // Directories of an earlier server with our pid, as in a restarted container; of a dead server; and of nobody.
        let pid = std::process::id();
        let (same_pid, gone) = (format!("run-{pid}-0-0-0"), format!("run-{}-0-0-0", i32::MAX));
        for name in [&own, &same_pid, &gone, "kept"] {
            fs::create_dir_all(parent.path().join(name).join("box")).expect("mkdir");
        }
        sweep_scratch(parent.path());
        let left = fs::read_dir(parent.path()).expect("it is there").flatten().map(|entry| entry.file_name());
        assert_eq!(left.collect::<HashSet<_>>(), HashSet::from([own.clone().into(), "kept".into()]));
        assert_ne!(scratch_name(), own);
    }

    #[test]
    fn leaves_what_another_containers_server_uses() {
        let parent = tempfile::tempdir().expect("a temporary directory");
        // Of a process that cannot be seen from here.
        let root = parent.path().join(format!("run-{}-0-0-0", i32::MAX));
        let scratch = Scratch::make(&root, None).expect("scratch");
        sweep_scratch(parent.path());
        assert!(fs::symlink_metadata(scratch.workspace()).is_ok());
    }

    /// A guest that swaps a folder for a link leading out, as fast as it can, while the tree is removed.
    #[test]
    fn changes_nothing_outside() {
        const TRIES: usize = 2_000;
        let parent = tempfile::tempdir().expect("a temporary directory");
        let (root, outside) = (parent.path().join("run"), parent.path().join("outside"));
        fs::DirBuilder::new().mode(0o755).create(&outside).expect("mkdir");
        let mode = || fs::metadata(&outside).expect("it is there").mode();
        let (before, is_over) = (mode(), AtomicBool::new(false));
        std::thread::scope(|scope| {
            scope.spawn(|| {
                let (folder, link) = (root.join("folder"), root.join("link"));
                while !is_over.load(Ordering::Relaxed) {
                    // Most of the time there is nothing to swap.
                    rustix::fs::renameat_with(CWD, &folder, CWD, &link, RenameFlags::EXCHANGE).ok();
                }
            });
            for _ in 0..TRIES {
                fs::create_dir_all(root.join("folder")).expect("mkdir");
                // Left over from a removal that was raced against.
                std::os::unix::fs::symlink(&outside, root.join("link")).ok();
                remove_tree(&root).ok();
            }
            is_over.store(true, Ordering::Relaxed);
        });
        assert_eq!(mode(), before);
    }

    #[test]
    fn sees_what_is_too_much() {
        let parent = tempfile::tempdir().expect("a temporary directory");
        let scratch = Scratch::make(&parent.path().join("run-1-1"), None).expect("scratch");
        assert!(!exceeds(scratch.root(), 1 << 20, 16));
        fs::write(scratch.workspace().join("big"), vec![1; 2 << 20]).expect("write");
        assert!(exceeds(scratch.root(), 1 << 20, 16));
    }

    #[test]
    fn sees_what_is_hidden() {
        let write = |directory: &OwnedFd| {
            let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::CLOEXEC;
            let file = openat(directory, "big", flags, Mode::RUSR | Mode::WUSR).expect("open");
            fs::File::from(file).write_all(&vec![1; 2 << 20]).expect("write");
        };
        let make = |directory: &OwnedFd, name: &str| {
            rustix::fs::mkdirat(directory, name, Mode::RWXU).expect("mkdirat");
            openat(directory, name, DIRECTORY, Mode::empty()).expect("openat")
        };
        let closed = |mode: Mode| {
            move |top: OwnedFd| {
                let directory = make(&top, "closed");
                write(&make(&directory, "inner"));
                fchmod(&directory, mode).expect("chmod");
            }
        };
        let deep = |top: OwnedFd| write(&(0..30).fold(top, |directory, _| make(&directory, &"d".repeat(250))));
        let ways: [&dyn Fn(OwnedFd); 4] =
            [&closed(Mode::empty()), &closed(Mode::WUSR | Mode::XUSR), &closed(Mode::RUSR), &deep];
        for (number, hide) in ways.into_iter().enumerate() {
            let parent = tempfile::tempdir().expect("a temporary directory");
            let scratch = Scratch::make(&parent.path().join("run-1-1"), None).expect("scratch");
            hide(openat(CWD, scratch.workspace(), DIRECTORY, Mode::empty()).expect("open"));
            assert!(exceeds(scratch.root(), 1 << 20, 64), "way {number}");
            assert!(!exceeds(scratch.root(), 4 << 20, 64), "way {number}");
        }
    }
}
