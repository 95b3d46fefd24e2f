//! Files of a session's workspace, as the server reads them. The guest made all of it, and may be changing it.

use std::ffi::OsStr;
use std::fs::File;
use std::io::{Read as _, Seek as _, SeekFrom};
use std::os::fd::{AsFd as _, OwnedFd};
use std::os::unix::ffi::OsStrExt as _;

use rustix::fs::OFlags;
use sandbox::{EntryKind, FileError, FilePart, FileRead, FolderEntry, WorkspacePath};

use super::room::file_error;
use crate::collect::{Found, files_at_top, open_beneath, walk};
use crate::recipe;

/// Reads a part of a file.
pub(super) fn read(workspace: &OwnedFd, path: &WorkspacePath, part: FilePart) -> Result<FileRead, FileError> {
    // NONBLOCK: opening a FIFO does not wait for a writer.
    let flags = OFlags::NONBLOCK | OFlags::NOCTTY;
    let file = open_beneath(workspace.as_fd(), path.as_str().as_bytes(), flags)
        .map_err(|error| file_error(error.raw_os_error()))?;
    let failed = |error: std::io::Error| file_error(error.raw_os_error().unwrap_or(0));
    let mut file = File::from(file);
    let metadata = file.metadata().map_err(failed)?;
    if metadata.is_dir() {
        return Err(FileError::IsFolder);
    }
    if !metadata.is_file() {
        return Err(FileError::Special);
    }
    file.seek(SeekFrom::Start(part.offset)).map_err(failed)?;
    let mut bytes = Vec::new();
    file.take(part.limit).read_to_end(&mut bytes).map_err(failed)?;
    Ok(FileRead { bytes, size: metadata.len() })
}

/// The one file at the top level that is an `SQLite` database.
pub(super) fn database(workspace: &OwnedFd) -> Option<String> {
    let head = FilePart { offset: 0, limit: recipe::DATABASE.len() as u64 };
    let names = files_at_top(workspace);
    let paths = names.iter().filter_map(|name| WorkspacePath::new(OsStr::from_bytes(name.to_bytes())).ok());
    let is_database =
        |path: &WorkspacePath| read(workspace, path, head).is_ok_and(|read| read.bytes == recipe::DATABASE);
    recipe::only(paths.filter(is_database)).map(|path| path.to_string())
}

/// What is in a folder and below it.
pub(super) fn list(workspace: &OwnedFd, folder: Option<&WorkspacePath>) -> Result<Vec<FolderEntry>, FileError> {
    let top = folder.map_or(&[][..], |folder| folder.as_str().as_bytes());
    // Checks that the folder exists; what is below it is listed as it is found.
    open_beneath(workspace.as_fd(), top, OFlags::DIRECTORY).map_err(|error| file_error(error.raw_os_error()))?;
    let mut entries = Vec::new();
    walk(workspace, top, |entry| {
        let path = entry.path;
        let (kind, size) = match entry.found {
            Found::File(stat) => (EntryKind::File, u64::try_from(stat.st_size).unwrap_or(0)),
            Found::Folder => (EntryKind::Folder, 0),
            Found::Other(_) => (EntryKind::Other, 0),
        };
        let path = match std::str::from_utf8(path) {
            Ok(text) if !text.chars().any(char::is_control) => text.to_owned(),
            _ => path.escape_ascii().to_string(),
        };
        entries.push(FolderEntry { path, kind, size });
        entries.len() <= FolderEntry::MAX_COUNT
    });
    entries.sort_by(|one, other| one.path.cmp(&other.path));
    Ok(entries)
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::symlink;
    use std::sync::atomic::{AtomicBool, Ordering};

    use rustix::fs::Mode;

    use super::*;

    const ALL: FilePart = FilePart { offset: 0, limit: 100 };

    /// A guest that swaps a folder for a link leading out, as fast as it can, while its files are read.
    #[test]
    fn a_race_is_lost_by_whoever_races() {
        const TRIES: usize = 20_000;
        let folder = tempfile::tempdir().expect("a folder");
        let (workspace, outside) = (folder.path().join("workspace"), folder.path().join("outside"));
        fs::create_dir_all(workspace.join("a")).expect("made");
        fs::create_dir(&outside).expect("made");
        fs::write(workspace.join("a/file"), "inside").expect("written");
        fs::write(outside.join("file"), "outside").expect("written");
        fs::write(outside.join("secret"), "outside").expect("written");
        symlink(&outside, workspace.join("link")).expect("linked");
        let descriptor = rustix::fs::open(&workspace, OFlags::PATH | OFlags::DIRECTORY, Mode::empty()).expect("there");
        let (path, is_over) = (WorkspacePath::new("a/file").expect("a path"), AtomicBool::new(false));
        let (mut inside, mut refused) = (0, 0);
        std::thread::scope(|scope| {
            scope.spawn(|| {
                while !is_over.load(Ordering::Relaxed) {
                    for (from, to) in [("a", "b"), ("link", "a"), ("a", "link"), ("b", "a")] {
                        fs::rename(workspace.join(from), workspace.join(to)).expect("nobody else renames");
                    }
                }
            });
            for try_number in 0..TRIES {
                match read(&descriptor, &path, ALL) {
                    Ok(read) => {
                        assert_eq!(read.bytes, b"inside");
                        inside += 1;
                    }
                    Err(_) => refused += 1,
                }
                if try_number % 20 == 0 {
                    let names = list(&descriptor, None).expect("the workspace is there");
                    assert!(names.iter().all(|entry| !entry.path.contains("secret")), "{names:?}");
                }
            }
            is_over.store(true, Ordering::Relaxed);
        });
        assert!(inside > 0 && refused > 0, "there was a race: {inside} inside, {refused} refused");
    }
}
