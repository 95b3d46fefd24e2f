//! Listing a directory.

use std::borrow::Cow;

use super::directory::{Directory, FIRST_POSITION};
use super::{FileKind, FileSystem, LastLink, Node};
use crate::Errno;
use crate::image::Entry;

/// An entry of a listing.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Listed<'a> {
    /// Where the listing goes on after it.
    pub(crate) next: u64,
    pub(crate) name: &'a str,
    pub(crate) node: Node,
    pub(crate) number: u64,
    pub(crate) kind: FileKind,
}

impl FileSystem {
    /// The first entry at or after a position, `.` and `..` included.
    pub(crate) fn entry_at(&self, directory: Node, position: u64) -> Result<Option<Listed<'_>>, Errno> {
        let special = |name, next, node| {
            Ok(Some(Listed { next, name, node, number: self.number(node), kind: FileKind::Directory }))
        };
        match position {
            0 => special(".", 1, directory),
            // A directory that was removed has no parent any more; its own number is as good as any.
            1 => special("..", 2, self.parent(directory).unwrap_or(directory)),
            _ => self.real_entry_at(directory, position),
        }
    }

    fn real_entry_at(&self, directory: Node, position: u64) -> Result<Option<Listed<'_>>, Errno> {
        let found = match directory {
            Node::Image(Entry::Gone) => return Err(Errno::Io),
            Node::Image(entry) => {
                let index = usize::try_from(position - FIRST_POSITION).map_err(|_| Errno::Inval)?;
                self.image.nth_child(entry, index).map(|(name, node)| (position, name, node))
            }
            Node::Memory(id) => {
                let found = self.inodes.directory(id)?.at(position);
                found.map(|(position, name, id)| (position, name, Node::Memory(id)))
            }
            Node::Device(_) => return Err(Errno::Notdir),
        };
        found
            .map(|(position, name, node)| {
                Ok(Listed { next: position + 1, name, node, number: self.number(node), kind: self.kind(node)? })
            })
            .transpose()
    }

    /// All of a directory's own entries, in the order of listing; none if it is no directory.
    pub(crate) fn entries(&self, directory: Node) -> Vec<(String, Node, FileKind)> {
        let mut entries = Vec::new();
        let mut position = FIRST_POSITION;
        while let Ok(Some(listed)) = self.real_entry_at(directory, position) {
            position = listed.next;
            entries.push((listed.name.to_owned(), listed.node, listed.kind));
        }
        entries
    }

    /// The path of what a path leads to, from the root and without links.
    pub(crate) fn real_path(&self, start: Node, path: &str) -> Result<String, Errno> {
        let found = self.resolve(start, path, LastLink::Follow)?;
        found.existing(self)?;
        let mut names: Vec<String> = found.name.map(Cow::into_owned).into_iter().collect();
        let mut here = found.parent;
        while here != Node::ROOT {
            let parent = self.parent(here)?;
            let entries = self.entries(parent);
            let (name, _, _) = entries.into_iter().find(|(_, node, _)| *node == here).ok_or(Errno::Noent)?;
            names.push(name);
            here = parent;
        }
        names.reverse();
        Ok(["/", &names.join("/")].concat())
    }

    /// The position after the last entry that there is now. A listing that starts now ends there: a program that makes a file for each
    /// one it is shown would otherwise be shown those too, without end.
    pub(crate) fn listing_end(&self, directory: Node) -> u64 {
        match directory {
            Node::Memory(id) => self.inodes.directory(id).map_or(0, Directory::end),
            Node::Image(_) | Node::Device(_) => u64::MAX,
        }
    }
}
