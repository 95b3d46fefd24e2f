//! What can be done with paths. Errors are those of Linux, unless a comment says otherwise.

use super::inode::New;
use super::resolve::{LastLink, Slash};
use super::{File, FileKind, FileSystem, InodeId, Kind, Node, writable};
use crate::{Errno, MAX_PATH};

/// What a descriptor of a file may be used for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Access {
    /// Neither reading nor writing: its metadata, or, for a directory, as a place to start from.
    Path,
    Read,
    Write,
    ReadWrite,
}

impl Access {
    pub(crate) fn reads(self) -> bool {
        matches!(self, Self::Read | Self::ReadWrite)
    }

    pub(crate) fn writes(self) -> bool {
        matches!(self, Self::Write | Self::ReadWrite)
    }
}

/// How to open a path.
#[derive(Debug, Clone, Copy)]
pub(crate) struct OpenOptions {
    pub(crate) last: LastLink,
    pub(crate) access: Access,
    pub(crate) existing: Existing,
    pub(crate) missing: Missing,
    pub(crate) wanted: Wanted,
}

/// What to do with what is there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Existing {
    Open,
    Truncate,
    Refuse,
}

/// What to do where nothing is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Missing {
    Create,
    Refuse,
}

/// What is to be opened.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Wanted {
    Anything,
    Directory,
}

/// What to set a time to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum SetTime {
    Keep,
    To(u64),
}

impl FileSystem {
    /// Opens a path. The caller acquires the node; until then nothing may remove it.
    pub(crate) fn open(&mut self, start: Node, path: &str, options: OpenOptions, now: u64) -> Result<Node, Errno> {
        if options.missing == Missing::Create && options.wanted == Wanted::Directory {
            return Err(Errno::Inval);
        }
        // An exclusive open never goes through a link: what it would make could be anywhere.
        let last = if options.existing == Existing::Refuse { LastLink::Keep } else { options.last };
        let found = self.resolve(start, path, last)?;
        let Some(node) = found.node else {
            if options.missing == Missing::Refuse {
                return Err(Errno::Noent);
            }
            let (parent, name) = found.entry(Errno::Isdir)?;
            if found.slash == Slash::Trailing {
                return Err(Errno::Isdir);
            }
            return self.inodes.create(parent, name, New::File(File::default()), now).map(Node::Memory);
        };
        if options.existing == Existing::Refuse {
            return Err(Errno::Exist);
        }
        found.existing(self)?;
        self.open_existing(node, options, now)?;
        Ok(node)
    }

    fn open_existing(&mut self, node: Node, options: OpenOptions, now: u64) -> Result<(), Errno> {
        let (truncates, creates) = (options.existing == Existing::Truncate, options.missing == Missing::Create);
        match self.kind(node)? {
            FileKind::Directory if options.access.writes() || truncates || creates => Err(Errno::Isdir),
            FileKind::File | FileKind::Device | FileKind::Symlink if options.wanted == Wanted::Directory => {
                Err(Errno::Notdir)
            }
            FileKind::Symlink => Err(Errno::Loop),
            FileKind::Directory | FileKind::Device => Ok(()),
            FileKind::File => {
                if options.access.writes() || truncates {
                    let id = writable(node)?;
                    if truncates {
                        self.inodes.set_size(id, 0, now)?;
                    }
                }
                Ok(())
            }
        }
    }

    pub(crate) fn make_directory(&mut self, start: Node, path: &str, now: u64) -> Result<(), Errno> {
        let found = self.resolve(start, path, LastLink::Keep)?;
        if found.node.is_some() {
            return Err(Errno::Exist);
        }
        let (parent, name) = found.entry(Errno::Exist)?;
        self.inodes.create(parent, name, New::Directory, now).map(|_| ())
    }

    pub(crate) fn remove_directory(&mut self, start: Node, path: &str, now: u64) -> Result<(), Errno> {
        self.refuse_link(start, path)?;
        let found = self.resolve(start, path, LastLink::Keep)?;
        let node = found.existing(self)?;
        let (parent, name) = found.entry(Errno::Inval)?;
        let id = writable(node)?;
        if !self.inodes.directory(id)?.is_empty() {
            return Err(Errno::Notempty);
        }
        self.inodes.unlink(parent, name, now)
    }

    pub(crate) fn unlink(&mut self, start: Node, path: &str, now: u64) -> Result<(), Errno> {
        self.refuse_link(start, path)?;
        let found = self.resolve(start, path, LastLink::Keep)?;
        let node = found.existing(self)?;
        let (parent, name) = found.entry(Errno::Isdir)?;
        if self.kind(node)? == FileKind::Directory {
            return Err(Errno::Isdir);
        }
        self.inodes.unlink(parent, name, now)
    }

    /// A slash after a link means what the link leads to; but what is removed is a name, and that one would be in
    /// another directory.
    fn refuse_link(&self, start: Node, path: &str) -> Result<(), Errno> {
        let name = path.trim_end_matches('/');
        if name.len() < path.len()
            && let Ok(node) = self.lookup(start, name, LastLink::Keep)
            && self.kind(node)? == FileKind::Symlink
        {
            return Err(Errno::Notdir);
        }
        Ok(())
    }

    /// Removes whatever is there and everything below it. The directories below are found first and then removed from the last to the
    /// first, so that each is empty when its turn comes.
    pub(crate) fn remove_all(&mut self, start: Node, path: &str, now: u64) -> Result<(), Errno> {
        let found = self.resolve(start, path, LastLink::Keep)?;
        let node = found.existing(self)?;
        let (parent, name) = found.entry(Errno::Busy)?;
        writable(node)?;
        let mut removals = vec![(parent, name.to_owned(), node)];
        let mut seen = 0;
        while let Some((_, _, directory)) = removals.get(seen) {
            if let Node::Memory(id) = *directory {
                removals.extend(self.entries(*directory).into_iter().map(|(name, node, _)| (id, name, node)));
            }
            seen += 1;
        }
        removals.iter().rev().try_for_each(|(parent, name, _)| self.inodes.unlink(*parent, name, now))
    }

    /// Moves an entry. What is at the new path goes, if it is of the same sort: a file for a file, an empty directory for a directory.
    pub(crate) fn rename(&mut self, from: (Node, &str), to: (Node, &str), now: u64) -> Result<(), Errno> {
        let old = self.resolve(from.0, from.1, LastLink::Keep)?;
        let new = self.resolve(to.0, to.1, LastLink::Keep)?;
        let moved = old.existing(self)?;
        let old_entry = old.entry(Errno::Busy)?;
        let new_entry = new.entry(Errno::Busy)?;
        let moved_id = writable(moved)?;
        let kind = self.kind(moved)?;
        if new.slash == Slash::Trailing && kind != FileKind::Directory {
            return Err(Errno::Notdir);
        }
        if kind == FileKind::Directory && self.inodes.is_above(moved_id, new_entry.0)? {
            return Err(Errno::Inval);
        }
        // Two names of one file, or the same name twice: POSIX says that nothing happens.
        if new.node == Some(moved) {
            return Ok(());
        }
        self.inodes.fits(moved_id, new_entry)?;
        if let Some(replaced) = new.node {
            self.may_replace(replaced, kind)?;
            self.inodes.unlink(new_entry.0, new_entry.1, now)?;
        }
        self.inodes.rename(old_entry, new_entry, now)
    }

    fn may_replace(&self, replaced: Node, by: FileKind) -> Result<(), Errno> {
        let by_directory = by == FileKind::Directory;
        match &self.inodes.get(writable(replaced)?)?.kind {
            Kind::Directory(_) if !by_directory => Err(Errno::Isdir),
            Kind::Directory(directory) if !directory.is_empty() => Err(Errno::Notempty),
            Kind::File(_) | Kind::Link(_) if by_directory => Err(Errno::Notdir),
            Kind::Directory(_) | Kind::File(_) | Kind::Link(_) => Ok(()),
        }
    }

    /// Gives a file a second name.
    pub(crate) fn link(&mut self, from: (Node, &str, LastLink), to: (Node, &str), now: u64) -> Result<(), Errno> {
        let node = self.lookup(from.0, from.1, from.2)?;
        let new = self.resolve(to.0, to.1, LastLink::Keep)?;
        if new.node.is_some() {
            return Err(Errno::Exist);
        }
        let (parent, name) = new.entry(Errno::Exist)?;
        let id = match node {
            Node::Memory(id) => id,
            Node::Image(_) | Node::Device(_) => return Err(Errno::Xdev),
        };
        if self.kind(node)? == FileKind::Directory {
            return Err(Errno::Perm);
        }
        if new.slash == Slash::Trailing {
            return Err(Errno::Noent);
        }
        self.inodes.link(parent, name, id, now)
    }

    /// Makes a symbolic link. Its target is text; what it leads to is decided when it is followed.
    pub(crate) fn symlink(&mut self, target: &str, start: Node, path: &str, now: u64) -> Result<(), Errno> {
        if target.is_empty() {
            return Err(Errno::Noent);
        }
        if target.len() > MAX_PATH {
            return Err(Errno::Nametoolong);
        }
        let found = self.resolve(start, path, LastLink::Keep)?;
        if found.node.is_some() {
            return Err(Errno::Exist);
        }
        let (parent, name) = found.entry(Errno::Exist)?;
        if found.slash == Slash::Trailing {
            return Err(Errno::Noent);
        }
        self.inodes.create(parent, name, New::Link(target), now).map(|_| ())
    }

    /// The target of a symbolic link.
    pub(crate) fn read_link(&self, start: Node, path: &str) -> Result<&str, Errno> {
        let node = self.lookup(start, path, LastLink::Keep)?;
        match node {
            Node::Memory(id) => match &self.inodes.get(id)?.kind {
                Kind::Link(target) => Ok(target),
                Kind::File(_) | Kind::Directory(_) => Err(Errno::Inval),
            },
            Node::Image(_) | Node::Device(_) => Err(Errno::Inval),
        }
    }

    pub(crate) fn set_times(
        &mut self,
        node: Node,
        accessed: SetTime,
        modified: SetTime,
        now: u64,
    ) -> Result<(), Errno> {
        self.inodes.set_times(
            writable(node)?,
            |times| {
                if let SetTime::To(time) = accessed {
                    times.accessed = time;
                }
                if let SetTime::To(time) = modified {
                    times.modified = time;
                }
            },
            now,
        )
    }

    /// Puts a file of the embedder's at a path, with the directories on the way. What is there is replaced if it is a file.
    pub(crate) fn put(&mut self, start: Node, path: &str, file: File, now: u64) -> Result<InodeId, Errno> {
        let found = self.resolve(start, path, LastLink::Follow)?;
        if found.slash == Slash::Trailing {
            return Err(Errno::Isdir);
        }
        if let Some(node) = found.node {
            let id = writable(node)?;
            self.inodes.replace(id, file, now)?;
            Ok(id)
        } else {
            let (parent, name) = found.entry(Errno::Isdir)?;
            self.inodes.create(parent, name, New::File(file), now)
        }
    }

    /// Makes every directory on the way to the last name that is not there.
    pub(crate) fn make_directories(&mut self, start: Node, path: &str, now: u64) -> Result<(), Errno> {
        for (at, _) in path.match_indices('/').chain([(path.len(), "")]) {
            let above = path.get(..at).unwrap_or_default();
            if above.is_empty() {
                continue;
            }
            match self.make_directory(start, above, now) {
                Ok(()) => {}
                Err(Errno::Exist | Errno::Rofs) => {
                    let node = self.lookup(start, above, LastLink::Follow)?;
                    if self.kind(node)? != FileKind::Directory {
                        return Err(Errno::Notdir);
                    }
                }
                Err(errno) => return Err(errno),
            }
        }
        Ok(())
    }
}
