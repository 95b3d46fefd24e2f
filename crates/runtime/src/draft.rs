//! Files of a session before its engine is chosen.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use sandbox::{Bytes, EntryKind, FileError, FilePart, FileRead, FolderEntry, WorkspacePath, WriteMode};

/// Files of a session that has no engine yet.
#[derive(Debug)]
pub(crate) struct Draft {
    files: BTreeMap<WorkspacePath, Vec<u8>>,
    drafted: Arc<Drafted>,
}

/// Bytes in all drafts of one caller. They are in the server's own memory, where no run's limit applies.
#[derive(Debug, Default)]
pub(crate) struct Drafted(AtomicUsize);

impl Drafted {
    /// Counts a file that grows or shrinks. If all of them together would exceed `most`, returns `None` and counts
    /// nothing.
    fn change(&self, (before, after): (usize, usize), most: Bytes) -> Option<()> {
        let changed = |all: usize| all.checked_add(after)?.checked_sub(before);
        let counted = self.0.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |all| {
            changed(all).filter(|all| after <= before || *all <= most.as_usize())
        });
        counted.ok().map(drop)
    }
}

impl Drop for Draft {
    fn drop(&mut self) {
        let size: usize = self.files.values().map(Vec::len).sum();
        self.drafted.0.fetch_sub(size, Ordering::Relaxed);
    }
}

impl Draft {
    pub(crate) fn new(drafted: &Arc<Drafted>) -> Self {
        Self { files: BTreeMap::new(), drafted: Arc::clone(drafted) }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.files.is_empty()
    }

    pub(crate) fn files(&self) -> impl Iterator<Item = (&WorkspacePath, &Vec<u8>)> {
        self.files.iter()
    }

    /// Writes a file. `most_bytes` is for all drafts of its caller together.
    pub(crate) fn write(
        &mut self,
        path: &WorkspacePath,
        contents: &[u8],
        mode: WriteMode,
        (most_bytes, most_files): (Bytes, u32),
    ) -> Result<u64, FileError> {
        let below = format!("{path}/");
        if self.files.keys().any(|other| other.as_str().starts_with(&below)) {
            return Err(FileError::IsFolder);
        }
        let above = path.as_str().match_indices('/').filter_map(|(slash, _)| path.as_str().get(..slash));
        if above.into_iter().any(|folder| self.files.keys().any(|other| other.as_str() == folder)) {
            return Err(FileError::NotFolder);
        }
        let before = self.files.get(path).map_or(0, Vec::len);
        let kept = if mode == WriteMode::Append { before } else { 0 };
        let is_new = !self.files.contains_key(path);
        if is_new && self.files.len() >= most_files as usize {
            return Err(FileError::Full);
        }
        let after = kept.saturating_add(contents.len());
        self.drafted.change((before, after), most_bytes).ok_or(FileError::Full)?;
        let file = self.files.entry(path.clone()).or_default();
        file.truncate(kept);
        file.extend_from_slice(contents);
        Ok(file.len() as u64)
    }

    pub(crate) fn read(&self, path: &WorkspacePath, part: FilePart) -> Result<FileRead, FileError> {
        let Some(file) = self.files.get(path) else {
            let below = format!("{path}/");
            let is_folder = self.files.keys().any(|other| other.as_str().starts_with(&below));
            return Err(if is_folder { FileError::IsFolder } else { FileError::NotFound });
        };
        let start = usize::try_from(part.offset).unwrap_or(usize::MAX).min(file.len());
        let end = start.saturating_add(usize::try_from(part.limit).unwrap_or(usize::MAX)).min(file.len());
        Ok(FileRead { bytes: file.get(start..end).unwrap_or_default().to_vec(), size: file.len() as u64 })
    }

    pub(crate) fn list(&self, folder: Option<&WorkspacePath>) -> Result<Vec<FolderEntry>, FileError> {
        let prefix = folder.map(|folder| format!("{folder}/")).unwrap_or_default();
        let mut entries: BTreeMap<&str, (EntryKind, u64)> = BTreeMap::new();
        for (path, contents) in &self.files {
            let path = path.as_str();
            if !path.starts_with(&prefix) {
                continue;
            }
            for (slash, _) in path.match_indices('/').filter(|(slash, _)| *slash >= prefix.len()) {
                entries.insert(path.get(..slash).unwrap_or_default(), (EntryKind::Folder, 0));
            }
            entries.insert(path, (EntryKind::File, contents.len() as u64));
        }
        if entries.is_empty() && folder.is_some() {
            let is_file = folder.is_some_and(|folder| self.files.contains_key(folder));
            return Err(if is_file { FileError::NotFolder } else { FileError::NotFound });
        }
        let entry = |(path, (kind, size)): (&str, (EntryKind, u64))| FolderEntry { path: path.to_owned(), kind, size };
        Ok(entries.into_iter().take(FolderEntry::MAX_COUNT + 1).map(entry).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn path(text: &str) -> WorkspacePath {
        WorkspacePath::new(text).expect("a path")
    }

    #[test]
    fn a_draft_is_a_workspace() {
        let drafted = Arc::default();
        let mut draft = Draft::new(&drafted);
        let room = (Bytes::new(10), 2);
        assert_eq!(draft.write(&path("a/b.txt"), b"12345", WriteMode::Append, room).ok(), Some(5));
        assert_eq!(draft.write(&path("a/b.txt"), b"678", WriteMode::Append, room).ok(), Some(8));
        assert!(matches!(draft.write(&path("c"), b"901", WriteMode::Replace, room), Err(FileError::Full)));
        assert!(matches!(draft.write(&path("a"), b"", WriteMode::Replace, room), Err(FileError::IsFolder)));
        assert!(matches!(draft.write(&path("a/b.txt/c"), b"", WriteMode::Replace, room), Err(FileError::NotFolder)));
        let part = FilePart { offset: 3, limit: 4 };
        assert_eq!(draft.read(&path("a/b.txt"), part).ok(), Some(FileRead { bytes: b"4567".to_vec(), size: 8 }));
        assert!(matches!(draft.read(&path("a"), part), Err(FileError::IsFolder)));
        assert!(matches!(draft.read(&path("x"), part), Err(FileError::NotFound)));
        let names = |folder: Option<&str>| {
            let folder = folder.map(path);
            let listed = draft.list(folder.as_ref()).expect("a folder");
            listed.into_iter().map(|entry| entry.path).collect::<Vec<_>>()
        };
        assert_eq!(names(None), ["a", "a/b.txt"]);
        assert_eq!(names(Some("a")), ["a/b.txt"]);
        assert!(draft.list(Some(&path("a/b.txt"))).is_err());
    }

    #[test]
    fn drafts_of_one_caller_share_their_room() {
        let drafted = Arc::default();
        let (mut one, mut other) = (Draft::new(&drafted), Draft::new(&drafted));
        let room = (Bytes::new(10), 9);
        let write = |draft: &mut Draft, text: &[u8]| draft.write(&path("a"), text, WriteMode::Replace, room).is_ok();
        assert!(write(&mut one, b"123456") && write(&mut other, b"7890"));
        assert!(!write(&mut other, b"78901"), "it would be eleven");
        assert!(write(&mut one, b"12345") && write(&mut other, b"78901"), "what is gone makes room");
        drop(one);
        assert!(write(&mut other, b"1234567890"));
        drop(other);
        assert_eq!(drafted.0.load(Ordering::Relaxed), 0);
    }
}
