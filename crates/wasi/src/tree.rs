//! A read-only tree of files in one packed piece of bytes, which every run shares.
//!
//! The bytes are meant to be a mapped file: opening reads the index once to check it and copies nothing; a lookup is a binary search
//! in the mapped index, and a file's contents are a slice of it.
//!
//! ```text
//! header    magic (16) · number of entries (u32) · 0 (u32) · length of the names (u64)
//! entries   32 bytes each, see `Entry`; entry 0 is the root, the children of a directory are consecutive and sorted by name, and
//!           directories' children come in the order of the directories
//! names     one after the other
//! contents  one after the other
//! ```

mod pack;

use std::cmp::Ordering;
use std::fmt;
use std::ops::Range;
use std::sync::Arc;

pub use pack::PackError;

use crate::path::is_name;

/// Bytes that several runs share: a mapped file, or something in memory.
pub type SharedBytes = Arc<dyn AsRef<[u8]> + Send + Sync>;

const MAGIC: &[u8; 16] = b"belljar tree 01\n";
const HEADER: usize = 32;
const ENTRY: usize = 32;
/// The number of the root.
pub(crate) const ROOT: u32 = 0;

/// A read-only tree. A clone is the same tree.
#[derive(Clone)]
pub struct Tree {
    bytes: SharedBytes,
    entries: u32,
    names: usize,
    contents: usize,
}

/// Bytes that are no tree.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum TreeError {
    /// Something else, or another version.
    #[error("these bytes do not start as a packed tree")]
    Magic,
    /// The end is missing.
    #[error("the packed tree is cut short")]
    Truncated,
    /// An entry's numbers point outside the tree, or contradict another's.
    #[error("entry {0} of the packed tree is malformed")]
    Entry(u32),
    /// An entry's name cannot be a name, or is out of order.
    #[error("entry {0} of the packed tree has an impossible name")]
    Name(u32),
}

/// An entry of the index.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Entry {
    name_start: u32,
    name_length: u32,
    parent: u32,
    kind: Kind,
    /// A file: where its contents start. A directory: its first child.
    start: u64,
    /// A file: how long it is. A directory: how many children it has.
    length: u64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u32)]
enum Kind {
    Directory = 0,
    File = 1,
}

impl Entry {
    fn decode(bytes: &[u8; ENTRY]) -> Option<Self> {
        let (name_start, rest) = bytes.split_first_chunk()?;
        let (name_length, rest) = rest.split_first_chunk()?;
        let (parent, rest) = rest.split_first_chunk()?;
        let (kind, rest) = rest.split_first_chunk()?;
        let (start, rest) = rest.split_first_chunk()?;
        let length = rest.first_chunk()?;
        Some(Self {
            name_start: u32::from_le_bytes(*name_start),
            name_length: u32::from_le_bytes(*name_length),
            parent: u32::from_le_bytes(*parent),
            kind: match u32::from_le_bytes(*kind) {
                0 => Kind::Directory,
                1 => Kind::File,
                _ => return None,
            },
            start: u64::from_le_bytes(*start),
            length: u64::from_le_bytes(*length),
        })
    }

    fn encode(&self, into: &mut Vec<u8>) {
        into.extend_from_slice(&self.name_start.to_le_bytes());
        into.extend_from_slice(&self.name_length.to_le_bytes());
        into.extend_from_slice(&self.parent.to_le_bytes());
        into.extend_from_slice(&(self.kind as u32).to_le_bytes());
        into.extend_from_slice(&self.start.to_le_bytes());
        into.extend_from_slice(&self.length.to_le_bytes());
    }
}

impl Tree {
    /// Packs files into the bytes that [`Tree::open`] takes. Paths are relative with single slashes and no `.` or `..`; one that ends in
    /// a slash is a directory, needed only where it is to be empty. The result depends on nothing but the set of files.
    pub fn pack<'a>(files: impl IntoIterator<Item = (&'a str, &'a [u8])>) -> Result<Vec<u8>, PackError> {
        pack::pack(files)
    }

    /// Opens packed bytes. The whole index is checked (about 0.1 ms for 1,000 files), so that whatever is reached later is sound;
    /// contents are not looked at. Should the bytes change later on, lookups give wrong answers but nothing worse.
    pub fn open(bytes: SharedBytes) -> Result<Self, TreeError> {
        let whole = (*bytes).as_ref();
        let header: &[u8; HEADER] = whole.first_chunk().ok_or(TreeError::Truncated)?;
        let (magic, rest) = header.split_first_chunk::<16>().ok_or(TreeError::Truncated)?;
        if magic != MAGIC {
            return Err(TreeError::Magic);
        }
        let (entries, rest) = rest.split_first_chunk().ok_or(TreeError::Truncated)?;
        let names_length = rest.last_chunk().ok_or(TreeError::Truncated)?;
        let entries = u32::from_le_bytes(*entries);
        let names_length = usize::try_from(u64::from_le_bytes(*names_length)).map_err(|_| TreeError::Truncated)?;

        let names = (entries as usize).checked_mul(ENTRY).and_then(|size| size.checked_add(HEADER));
        let contents = names.and_then(|names| names.checked_add(names_length)).ok_or(TreeError::Truncated)?;
        if contents > whole.len() || entries == 0 {
            return Err(TreeError::Truncated);
        }
        let tree = Self { entries, names: contents - names_length, contents, bytes };
        tree.check()?;
        Ok(tree)
    }

    /// Checks that the entries are a tree: every directory's children start where those of the directory before it end,
    /// so that each entry but the root is the child of exactly one directory, whose number is smaller than its own.
    fn check(&self) -> Result<(), TreeError> {
        let mut next_child = 1;
        for index in 0..self.entries {
            let entry = self.entry(index).ok_or(TreeError::Entry(index))?;
            match entry.kind {
                Kind::File => {
                    self.contents_range(&entry).ok_or(TreeError::Entry(index))?;
                }
                Kind::Directory => {
                    let children = children_of(&entry).ok_or(TreeError::Entry(index))?;
                    if children.start != next_child || children.start <= index || children.end > self.entries {
                        return Err(TreeError::Entry(index));
                    }
                    next_child = children.end;
                    self.check_children(index, children)?;
                }
            }
        }
        let root_is_sound = self.entry(ROOT).is_some_and(|root| root.kind == Kind::Directory && root.parent == ROOT);
        if next_child == self.entries && root_is_sound { Ok(()) } else { Err(TreeError::Entry(ROOT)) }
    }

    fn check_children(&self, parent: u32, children: Range<u32>) -> Result<(), TreeError> {
        let mut previous = "";
        for child in children {
            let entry = self.entry(child).ok_or(TreeError::Entry(child))?;
            if entry.parent != parent {
                return Err(TreeError::Entry(child));
            }
            let name = self.name_bytes(&entry).and_then(|name| std::str::from_utf8(name).ok());
            let name = name.filter(|name| is_name(name) && *name > previous).ok_or(TreeError::Name(child))?;
            previous = name;
        }
        Ok(())
    }

    /// How many files and directories there are, without the root.
    pub fn len(&self) -> u32 {
        self.entries - 1
    }

    /// Whether there is nothing but the root.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// What it was opened from.
    pub fn bytes(&self) -> &[u8] {
        self.whole()
    }

    /// Whether they were opened as one.
    pub(crate) fn is(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.bytes, &other.bytes)
    }

    pub(crate) fn is_directory(&self, index: u32) -> bool {
        self.entry(index).is_some_and(|entry| entry.kind == Kind::Directory)
    }

    pub(crate) fn parent(&self, index: u32) -> u32 {
        self.entry(index).map_or(ROOT, |entry| entry.parent)
    }

    pub(crate) fn name(&self, index: u32) -> &str {
        let name = self.entry(index).and_then(|entry| self.name_bytes(&entry));
        name.and_then(|name| std::str::from_utf8(name).ok()).unwrap_or_default()
    }

    /// A file's contents; nothing for a directory.
    pub(crate) fn contents(&self, index: u32) -> Option<&[u8]> {
        let entry = self.entry(index).filter(|entry| entry.kind == Kind::File)?;
        self.whole().get(self.contents_range(&entry)?)
    }

    /// The numbers of a directory's children, in the order of their names; none for a file.
    pub(crate) fn children(&self, index: u32) -> Range<u32> {
        let entry = self.entry(index).filter(|entry| entry.kind == Kind::Directory);
        entry.and_then(|entry| children_of(&entry)).unwrap_or_default()
    }

    /// The child of a directory.
    pub(crate) fn child(&self, directory: u32, name: &str) -> Option<u32> {
        let mut range = self.children(directory);
        while !range.is_empty() {
            let middle = range.start + (range.end - range.start) / 2;
            let entry = self.entry(middle)?;
            match self.name_bytes(&entry)?.cmp(name.as_bytes()) {
                Ordering::Equal => return Some(middle),
                Ordering::Less => range.start = middle + 1,
                Ordering::Greater => range.end = middle,
            }
        }
        None
    }

    fn whole(&self) -> &[u8] {
        (*self.bytes).as_ref()
    }

    fn entry(&self, index: u32) -> Option<Entry> {
        if index >= self.entries {
            return None;
        }
        let start = HEADER + index as usize * ENTRY;
        Entry::decode(self.whole().get(start..)?.first_chunk()?)
    }

    fn name_bytes(&self, entry: &Entry) -> Option<&[u8]> {
        let names = self.whole().get(self.names..self.contents)?;
        names.get(entry.name_start as usize..)?.get(..entry.name_length as usize)
    }

    fn contents_range(&self, entry: &Entry) -> Option<Range<usize>> {
        let start = self.contents.checked_add(usize::try_from(entry.start).ok()?)?;
        let end = start.checked_add(usize::try_from(entry.length).ok()?)?;
        (end <= self.whole().len()).then_some(start..end)
    }
}

fn children_of(directory: &Entry) -> Option<Range<u32>> {
    let start = u32::try_from(directory.start).ok()?;
    let end = start.checked_add(u32::try_from(directory.length).ok()?)?;
    Some(start..end)
}

impl fmt::Debug for Tree {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Tree")
            .field("entries", &self.entries)
            .field("bytes", &self.whole().len())
            .finish_non_exhaustive()
    }
}
