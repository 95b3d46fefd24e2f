//! What a run left in its workspace. The guest made all of it: names, links, depth, sizes. Nothing here follows a link, blocks on a FIFO
//! or reads more than its caps.

use std::collections::HashMap;
use std::ffi::OsStr;
use std::fs::File;
use std::io::Read as _;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStrExt as _;

use rustix::fs::{AtFlags, Dir, FileType, Mode, OFlags, ResolveFlags, openat2, statat};
use sandbox::{Collect, OutputFile, SkipReason, SkippedFile, WorkspacePath};

/// The most entries that are looked at. The guest pays in its own file limit; we pay in time.
const MAX_ENTRIES: usize = 100_000;

/// What was found.
#[derive(Debug, Default)]
pub(crate) struct Collected {
    pub(crate) found: Vec<OutputFile>,
    pub(crate) skipped: Vec<SkippedFile>,
}

/// A file as it was given to the run: its path and contents.
pub(crate) type Given<'a> = (&'a str, &'a [u8]);

/// Everything below `workspace` that is not one of `given` as it was given.
pub(crate) fn collect(workspace: &OwnedFd, given: &[Given<'_>], wanted: Collect) -> Collected {
    let inputs = given.iter().copied().collect();
    let mut walk =
        Walk { workspace, inputs, wanted, budget: OutputFile::MAX_CONTENTS, seen: 0, collected: Collected::default() };
    let mut pending = vec![Vec::new()];
    while let Some(directory) = pending.pop() {
        walk.directory(&directory, &mut pending);
    }
    walk.collected.found.sort_by(|a, b| a.path.cmp(&b.path));
    walk.collected.skipped.sort_by(|a, b| a.path.cmp(&b.path));
    walk.collected
}

struct Walk<'a> {
    workspace: &'a OwnedFd,
    inputs: HashMap<&'a str, &'a [u8]>,
    wanted: Collect,
    budget: u64,
    seen: usize,
    collected: Collected,
}

impl Walk<'_> {
    /// One directory; those in it go to `pending`. Every path is opened from the workspace anew, so one descriptor is open at a time.
    fn directory(&mut self, path: &[u8], pending: &mut Vec<Vec<u8>>) {
        let entries = open_beneath(self.workspace.as_fd(), path, OFlags::DIRECTORY).and_then(Dir::read_from);
        let Ok(entries) = entries else {
            return self.skip(path, SkipReason::Unreadable);
        };
        for entry in entries.flatten() {
            let name = entry.file_name().to_bytes();
            if name == b"." || name == b".." {
                continue;
            }
            self.seen += 1;
            let path = if path.is_empty() { name.to_vec() } else { [path, name].join(&b'/') };
            if self.seen > MAX_ENTRIES || path.len() > WorkspacePath::MAX_LENGTH {
                return self.skip(&path, SkipReason::TooMany);
            }
            match statat(self.workspace, OsStr::from_bytes(&path), AtFlags::SYMLINK_NOFOLLOW) {
                Ok(stat) if FileType::from_raw_mode(stat.st_mode) == FileType::Directory => pending.push(path),
                Ok(stat) if FileType::from_raw_mode(stat.st_mode) == FileType::RegularFile => self.file(&path),
                Ok(_) => self.skip(&path, SkipReason::NotRegular),
                Err(_) => self.skip(&path, SkipReason::Unreadable),
            }
        }
    }

    fn file(&mut self, path: &[u8]) {
        let Ok(checked) = WorkspacePath::new(OsStr::from_bytes(path)) else {
            return self.skip(path, SkipReason::Name);
        };
        // NONBLOCK: should it have become a FIFO since, the open does not wait for a writer.
        let Ok(file) = open_beneath(self.workspace.as_fd(), path, OFlags::NONBLOCK | OFlags::NOCTTY) else {
            return self.skip(path, SkipReason::Unreadable);
        };
        let file = File::from(file);
        let Ok(metadata) = file.metadata() else {
            return self.skip(path, SkipReason::Unreadable);
        };
        if !metadata.is_file() {
            return self.skip(path, SkipReason::NotRegular);
        }
        let size = metadata.len();
        if self.inputs.get(checked.as_str()).is_some_and(|given| given.len() as u64 == size && holds(&file, given)) {
            return;
        }
        if self.collected.found.len() >= OutputFile::MAX_COUNT {
            return self.skip(path, SkipReason::TooMany);
        }
        let contents = match self.wanted {
            Collect::Names => None,
            Collect::Contents if size > self.budget => return self.skip(path, SkipReason::TooLarge),
            Collect::Contents => match read(&file, size) {
                Some(contents) => {
                    self.budget -= contents.len() as u64;
                    Some(contents)
                }
                None => return self.skip(path, SkipReason::Unreadable),
            },
        };
        self.collected.found.push(OutputFile { path: checked, size, contents });
    }

    fn skip(&mut self, path: &[u8], reason: SkipReason) {
        if self.collected.skipped.len() < SkippedFile::MAX_COUNT {
            let shown = path.escape_ascii().take(256).map(char::from).collect();
            self.collected.skipped.push(SkippedFile { path: shown, reason });
        }
    }
}

/// Opens below the workspace and nowhere else: no link, no `..`, no other file system, checked by the kernel as it walks.
fn open_beneath(workspace: BorrowedFd<'_>, path: &[u8], flags: OFlags) -> rustix::io::Result<OwnedFd> {
    let resolve =
        ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS | ResolveFlags::NO_MAGICLINKS | ResolveFlags::NO_XDEV;
    let path = if path.is_empty() { b".".as_slice() } else { path };
    openat2(workspace, OsStr::from_bytes(path), flags | OFlags::RDONLY | OFlags::CLOEXEC, Mode::empty(), resolve)
}

fn read(file: &File, size: u64) -> Option<Vec<u8>> {
    let mut contents = Vec::new();
    // Never more than the size that the budget was checked with, should it grow meanwhile.
    file.take(size).read_to_end(&mut contents).ok()?;
    Some(contents)
}

fn holds(file: &File, expected: &[u8]) -> bool {
    let mut offset = 0;
    let mut buffer = vec![0; 64 << 10];
    while let Some(rest) = expected.get(offset..).filter(|rest| !rest.is_empty()) {
        match std::os::unix::fs::FileExt::read_at(file, &mut buffer, offset as u64) {
            Ok(count) if count > 0 && rest.get(..count) == buffer.get(..count) => offset += count,
            _ => return false,
        }
    }
    true
}
