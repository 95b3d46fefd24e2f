//! A session's files, for those who are not in it.

use std::collections::HashMap;

use belljar_wasi::{DiskEntry, Errno, FileKind, FileVersion};
use sandbox::FolderEntry;

use super::{Live, now};
use crate::guest::{Budget, MOST_FILES, MOST_LINKS};
use crate::protocol::{Answer, Collecting, Fault, JobFile, ListedEntry, ListedKind, MOST_ENTRIES, MadeFile, Writing};

/// What is in a workspace and has been told: a cell's own files are what has come or changed since.
#[derive(Default, Clone)]
pub(super) struct Known {
    changes: u64,
    files: HashMap<String, FileVersion>,
}

/// The most bytes of one answer. Whoever wants more asks again.
const MOST_READ: u64 = 16 << 20;

impl Known {
    /// This file need not be told as it is now.
    pub(super) fn know(&mut self, path: &str, version: FileVersion) {
        self.files.insert(path.to_owned(), version);
    }
}

impl Live {
    pub(super) fn write(&mut self, path: &str, contents: Vec<u8>, mode: Writing) -> Result<Answer, Fault> {
        let length = contents.len() as u64;
        let size = match mode {
            Writing::Replace => self.disk.put(path, contents, now()).map(|_| length),
            Writing::Append => self.disk.append(path, &contents, now()),
        };
        size.map(Answer::Size).map_err(fault)
    }

    pub(super) fn read(&self, path: &str, offset: u64, limit: u64) -> Result<Answer, Fault> {
        let read = || {
            let size = self.disk.size(path)?;
            let length = size.saturating_sub(offset).min(limit).min(MOST_READ);
            let mut bytes = vec![0; usize::try_from(length).map_err(|_| Errno::Overflow)?];
            let count = self.disk.read(path, offset, &mut bytes)?;
            bytes.truncate(count);
            Ok(Answer::Part { bytes, size })
        };
        read().map_err(fault)
    }

    pub(super) fn list(&self, folder: Option<&str>) -> Result<Answer, Fault> {
        let mut entries = self.disk.list(folder).map_err(fault)?;
        // One more, which says that there are more.
        entries.truncate(FolderEntry::MAX_COUNT + 1);
        Ok(Answer::Entries(entries.into_iter().map(listed).collect()))
    }

    pub(super) fn files(&self, after: Option<&str>) -> Result<Answer, Fault> {
        let mut budget = MOST_READ;
        let mut fits = |entry: &DiskEntry| {
            let left = budget.checked_sub(entry.path.len() as u64);
            budget = left.unwrap_or(0);
            left.is_some()
        };
        let entries = self.disk.list(None).map_err(fault)?.into_iter();
        let files = entries.filter(|entry| entry.kind == FileKind::File && Some(entry.path.as_str()) > after);
        Ok(Answer::Entries(files.take_while(|entry| fits(entry)).take(MOST_ENTRIES).map(listed).collect()))
    }

    pub(super) fn merge(&mut self, gone: &[String], files: Vec<JobFile>) -> Result<Answer, Fault> {
        // What was moved is gone from one place before it is in another.
        let mut merged = self.disk.clone();
        for path in gone {
            // A folder may have something else in it, which was not sent there.
            merged.remove(path, now()).ok();
        }
        for file in files {
            merged.put(&file.path, file.contents, now()).map_err(fault)?;
        }
        self.disk = merged;
        Ok(Answer::Done)
    }

    /// Takes what is there now as told.
    pub(super) fn take_note(&mut self) {
        self.changed();
    }

    /// What has come or changed since it was last asked, and links that have come: as many as are told.
    pub(super) fn changed(&mut self) -> (Vec<MadeFile>, Vec<String>) {
        let (mut files, mut links) = (Vec::new(), Vec::new());
        if self.disk.changes() == self.known.changes {
            return (files, links);
        }
        let mut known = HashMap::new();
        for entry in self.disk.list(None).unwrap_or_default() {
            if entry.kind == FileKind::Directory {
                continue;
            }
            let is_new = self.known.files.get(&entry.path) != Some(&entry.version);
            known.insert(entry.path.clone(), entry.version);
            if is_new && entry.kind == FileKind::File {
                files.push(MadeFile { path: entry.path, size: entry.size, contents: None });
            } else if is_new {
                links.push(entry.path);
            }
        }
        self.known = Known { changes: self.disk.changes(), files: known };
        files.truncate(MOST_FILES);
        links.truncate(MOST_LINKS);
        (files, links)
    }

    /// Adds what is in files, as far as it is wanted and there is not too much of it.
    pub(super) fn fill(&self, files: &mut [MadeFile], collect: Collecting) {
        let mut budget = Budget::new(collect);
        for file in files {
            if budget.take(file.size) {
                let mut contents = vec![0; usize::try_from(file.size).unwrap_or(0)];
                let is_whole = self.disk.read(&file.path, 0, &mut contents) == Ok(contents.len());
                file.contents = is_whole.then_some(contents);
            }
        }
    }
}

fn listed(entry: DiskEntry) -> ListedEntry {
    let kind = match entry.kind {
        FileKind::File => ListedKind::File,
        FileKind::Directory => ListedKind::Folder,
        FileKind::Symlink | FileKind::Device => ListedKind::Other,
    };
    ListedEntry { kind, path: entry.path, size: entry.size }
}

#[expect(clippy::wildcard_enum_match_arm, reason = "of the others none is the caller's")]
pub(super) fn fault(errno: Errno) -> Fault {
    match errno {
        Errno::Noent => Fault::NotFound,
        Errno::Isdir => Fault::IsFolder,
        Errno::Notdir => Fault::NotFolder,
        Errno::Loop => Fault::Special,
        Errno::Nospc => Fault::Full,
        errno => Fault::Failed(errno.to_string()),
    }
}
