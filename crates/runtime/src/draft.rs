//! Files of a session before its engine is chosen.

use std::collections::BTreeMap;

use sandbox::{Bytes, EntryKind, FileError, FilePart, FileRead, FolderEntry, WorkspacePath, WriteMode};

/// Files of a session that has no engine yet.
#[derive(Debug, Default)]
pub(crate) struct Draft(BTreeMap<WorkspacePath, Vec<u8>>);

impl Draft {
    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(crate) fn files(&self) -> impl Iterator<Item = (&WorkspacePath, &Vec<u8>)> {
        self.0.iter()
    }

    pub(crate) fn write(
        &mut self,
        path: &WorkspacePath,
        contents: &[u8],
        mode: WriteMode,
        (most_bytes, most_files): (Bytes, u32),
    ) -> Result<u64, FileError> {
        let below = format!("{path}/");
        if self.0.keys().any(|other| other.as_str().starts_with(&below)) {
            return Err(FileError::IsFolder);
        }
        let above = path.as_str().match_indices('/').filter_map(|(slash, _)| path.as_str().get(..slash));
        if above.into_iter().any(|folder| self.0.keys().any(|other| other.as_str() == folder)) {
            return Err(FileError::NotFolder);
        }
        let before = self.0.get(path).map_or(0, Vec::len);
        let kept = if mode == WriteMode::Append { before } else { 0 };
        let total: usize = self.0.values().map(Vec::len).sum();
        let is_new = !self.0.contains_key(path);
        if total - before + kept + contents.len() > most_bytes.as_usize()
            || (is_new && self.0.len() >= most_files as usize)
        {
            return Err(FileError::Full);
        }
        let file = self.0.entry(path.clone()).or_default();
        file.truncate(kept);
        file.extend_from_slice(contents);
        Ok(file.len() as u64)
    }

    pub(crate) fn read(&self, path: &WorkspacePath, part: FilePart) -> Result<FileRead, FileError> {
        let Some(file) = self.0.get(path) else {
            let below = format!("{path}/");
            let is_folder = self.0.keys().any(|other| other.as_str().starts_with(&below));
            return Err(if is_folder { FileError::IsFolder } else { FileError::NotFound });
        };
        let start = usize::try_from(part.offset).unwrap_or(usize::MAX).min(file.len());
        let end = start.saturating_add(usize::try_from(part.limit).unwrap_or(usize::MAX)).min(file.len());
        Ok(FileRead { bytes: file.get(start..end).unwrap_or_default().to_vec(), size: file.len() as u64 })
    }

    pub(crate) fn list(&self, folder: Option<&WorkspacePath>) -> Result<Vec<FolderEntry>, FileError> {
        let prefix = folder.map(|folder| format!("{folder}/")).unwrap_or_default();
        let mut entries: BTreeMap<&str, (EntryKind, u64)> = BTreeMap::new();
        for (path, contents) in &self.0 {
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
            let is_file = folder.is_some_and(|folder| self.0.contains_key(folder));
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
        let mut draft = Draft::default();
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
}
