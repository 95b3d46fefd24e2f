//! The writable directory of a run that has no mount namespace: made, measured and removed on the host.
//!
//! The guest shapes what is below it (deep, wide, links, odd names) and may still be writing while it is measured, so nothing here
//! follows a link, recurses on the stack, or holds more than a few descriptors.

use std::collections::HashSet;
use std::ffi::CString;
use std::fs;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _, chown};
use std::path::{Path, PathBuf};

use rustix::fs::{AtFlags, Dir, FileType, Mode, OFlags, ResolveFlags, openat, openat2, renameat, statat, unlinkat};

pub(crate) const SCRATCH_WORKSPACE: &str = "box";
pub(crate) const SCRATCH_TEMPORARY: &str = "tmp";
pub(crate) const SCRATCH_BUILD: &str = "tmp/build";

/// A run's scratch directory, with the workspace and a temporary directory in it. Removed when dropped.
#[derive(Debug)]
pub(crate) struct Scratch {
    root: PathBuf,
}

impl Scratch {
    /// Makes `root`, which must not be there. `owner` is the guest's user id when it is not our own.
    pub(crate) fn make(root: &Path, owner: Option<u32>) -> io::Result<Self> {
        fs::DirBuilder::new().mode(0o711).create(root)?;
        let scratch = Self { root: root.to_owned() };
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

    /// Makes files executable that a command names and a compiler has just written: its linker may not change modes itself here.
    ///
    /// The guest may swap what is below the directory at any time, so the kernel checks the way there, and only a file that the
    /// directory's own user has made, under one name, is touched.
    pub(crate) fn make_executable(&self, arguments: &[String]) {
        let Ok(root) = openat(rustix::fs::CWD, &self.root, DIRECTORY, Mode::empty()) else { return };
        let Ok(owner) = statat(&root, SCRATCH_TEMPORARY, AtFlags::SYMLINK_NOFOLLOW) else { return };
        let build = self.build();
        let resolve = ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS;
        for path in arguments.iter().map(Path::new).filter(|path| path.starts_with(&build)) {
            let Ok(inside) = path.strip_prefix(&self.root) else { continue };
            let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::CLOEXEC;
            let Ok(file) = openat2(&root, inside, flags, Mode::empty(), resolve) else { continue };
            let Ok(found) = rustix::fs::fstat(&file) else { continue };
            let is_file = FileType::from_raw_mode(found.st_mode) == FileType::RegularFile;
            if is_file && found.st_uid == owner.st_uid && found.st_nlink == 1 {
                rustix::fs::fchmod(&file, Mode::RWXU).ok();
            }
        }
    }

    fn build(&self) -> PathBuf {
        self.root.join(SCRATCH_BUILD)
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        // What could not be removed is swept at the next start.
        remove_tree(&self.root).ok();
    }
}

/// Removes a run's directory that is still there after its end: its supervisor did not live to do it.
pub fn remove_scratch(root: &Path) {
    remove_tree(root).ok();
}

/// Removes what servers that are no more left in `parent`: directories named `run-PID-…`.
pub fn sweep_scratch(parent: &Path) {
    let Ok(entries) = fs::read_dir(parent) else { return };
    for entry in entries.flatten() {
        let name = entry.file_name();
        let pid = name.to_str().and_then(|name| name.strip_prefix("run-")?.split('-').next()?.parse::<i32>().ok());
        let gone = pid.is_some_and(|pid| fs::symlink_metadata(format!("/proc/{pid}")).is_err());
        if gone {
            remove_tree(&entry.path()).ok();
        }
    }
}

/// Whether the tree holds more than so many bytes or files. Looks at no more entries than the file limit allows.
pub(crate) fn exceeds(root: &Path, bytes: u64, files: u32) -> bool {
    let mut pending = vec![root.to_owned()];
    let (mut used, mut count) = (0u64, 0u32);
    let mut linked = HashSet::new();
    while let Some(directory) = pending.pop() {
        let Ok(entries) = fs::read_dir(&directory) else {
            continue;
        };
        for entry in entries.flatten() {
            let Ok(metadata) = entry.metadata() else { continue };
            count += 1;
            // A file with several names is on the disk once.
            if metadata.nlink() == 1 || metadata.is_dir() || linked.insert(metadata.ino()) {
                used += metadata.blocks() * 512;
            }
            if count > files.saturating_add(8) || used > bytes {
                return true;
            }
            if metadata.is_dir() {
                pending.push(entry.path());
            }
        }
    }
    false
}

/// Removes a tree of any depth with two descriptors: directories found on the way are moved up beside the ones waiting.
fn remove_tree(root: &Path) -> io::Result<()> {
    let top = openat(rustix::fs::CWD, root, DIRECTORY, Mode::empty())?;
    let mut serial = 0u64;
    // Each round empties one directory of files and lifts its directories into `top`, so depth turns into rounds.
    let mut pending: Vec<CString> = lift_and_empty(&top, &top, &mut serial)?;
    while let Some(name) = pending.pop() {
        let directory = openat(&top, &name, DIRECTORY, Mode::empty())?;
        // The guest may have taken its own permissions away; as owner or root we give them back.
        rustix::fs::fchmod(&directory, Mode::RWXU).ok();
        pending.extend(lift_and_empty(&top, &directory, &mut serial)?);
        unlinkat(&top, &name, AtFlags::REMOVEDIR)?;
    }
    fs::remove_dir(root)
}

const DIRECTORY: OFlags = OFlags::RDONLY.union(OFlags::DIRECTORY).union(OFlags::NOFOLLOW).union(OFlags::CLOEXEC);

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
        let metadata = statat(directory.as_fd(), &name, AtFlags::SYMLINK_NOFOLLOW)?;
        if FileType::from_raw_mode(metadata.st_mode) == FileType::Directory {
            *serial += 1;
            // A name that no guest chose: the prefix is longer than what this loop lifts could collide with by accident, and a
            // collision only fails the rename.
            let place = CString::new(format!("belljar-removing-{serial}-{}", std::process::id()))?;
            // Renaming a directory writes to it (its `..`), which its own permissions may forbid.
            rustix::fs::chmodat(directory.as_fd(), &name, Mode::RWXU, AtFlags::empty()).ok();
            renameat(directory, &name, top, &place)?;
            lifted.push(place);
        } else {
            unlinkat(directory, &name, AtFlags::empty())?;
        }
    }
    Ok(lifted)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn removes_deep_trees_links_and_locked_directories() {
        let parent = tempfile::tempdir().expect("a temporary directory");
        let outside = parent.path().join("outside");
        fs::create_dir(&outside).expect("mkdir");
        fs::write(outside.join("keep"), "kept").expect("write");

        let scratch = Scratch::make(&parent.path().join("run-1-1"), None).expect("scratch");
        let mut directory = openat(rustix::fs::CWD, scratch.workspace(), DIRECTORY, Mode::empty()).expect("open");
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
    fn sees_what_is_too_much() {
        let parent = tempfile::tempdir().expect("a temporary directory");
        let scratch = Scratch::make(&parent.path().join("run-1-1"), None).expect("scratch");
        assert!(!exceeds(scratch.root(), 1 << 20, 16));
        fs::write(scratch.workspace().join("big"), vec![1; 2 << 20]).expect("write");
        assert!(exceeds(scratch.root(), 1 << 20, 16));
    }
}
