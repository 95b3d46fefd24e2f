//! A directory of the writable part.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::InodeId;

/// Where a directory is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Parent {
    /// In the image's root.
    Root,
    Inode(InodeId),
    /// It was removed while somebody had it open; it stays empty.
    Removed,
}

/// Names and what they stand for. A listing follows the order in which names were added: an entry keeps its position
/// until it is removed. So a listing that goes on while entries come and go misses none that stays, and shows none
/// twice.
#[derive(Debug, Clone)]
pub(crate) struct Directory {
    pub(crate) parent: Parent,
    /// Bytes of the path from the root to here.
    pub(crate) path_length: usize,
    positions: BTreeMap<Arc<str>, u64>,
    entries: BTreeMap<u64, (Arc<str>, InodeId)>,
    next_position: u64,
}

/// The first position of an entry. WASI's listing starts at 0, and `.` and `..` are in every directory.
pub(crate) const FIRST_POSITION: u64 = 2;

impl Directory {
    pub(crate) fn new(parent: Parent, path_length: usize) -> Self {
        Self {
            parent,
            path_length,
            positions: BTreeMap::new(),
            entries: BTreeMap::new(),
            next_position: FIRST_POSITION,
        }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    pub(crate) fn get(&self, name: &str) -> Option<InodeId> {
        let position = self.positions.get(name)?;
        self.entries.get(position).map(|(_, id)| *id)
    }

    /// In the order of listing.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (&str, InodeId)> {
        self.entries.values().map(|(name, id)| (&**name, *id))
    }

    /// The first entry at or after a position.
    pub(crate) fn at(&self, position: u64) -> Option<(u64, &str, InodeId)> {
        self.entries.range(position..).next().map(|(position, (name, id))| (*position, &**name, *id))
    }

    /// The position that the next new entry gets.
    pub(crate) fn end(&self) -> u64 {
        self.next_position
    }

    /// Adds a name that is not there.
    pub(crate) fn insert(&mut self, name: &str, id: InodeId) {
        let position = self.next_position;
        self.next_position += 1;
        self.insert_at(position, name, id);
    }

    pub(crate) fn remove(&mut self, name: &str) -> Option<InodeId> {
        let position = self.positions.remove(name)?;
        self.entries.remove(&position).map(|(_, id)| id)
    }

    /// Gives an entry a new name, which is not there. It keeps its position: a program that renames while it lists would otherwise meet
    /// each file again under its new name.
    pub(crate) fn rename(&mut self, old: &str, new: &str) {
        if let Some(position) = self.positions.remove(old)
            && let Some((_, id)) = self.entries.remove(&position)
        {
            self.insert_at(position, new, id);
        }
    }

    fn insert_at(&mut self, position: u64, name: &str, id: InodeId) {
        let name: Arc<str> = name.into();
        self.positions.insert(Arc::clone(&name), position);
        self.entries.insert(position, (name, id));
    }
}
