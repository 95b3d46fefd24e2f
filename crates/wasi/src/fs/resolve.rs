//! From a path to a node.
//!
//! A path is relative to a directory and cannot leave it, as WASI has it: where `..` or the target of a symbolic link leads above the
//! directory, the answer is `EPERM`. The root is the exception that POSIX makes, `..` in it being the root again; and since everything
//! is below the root, links with absolute targets work from there. wasi-libc resolves every path from the root.
//!
//! There is nothing outside to protect: the whole name space is the guest's. What this must not do is take long or go wrong.

use std::borrow::Cow;

use super::directory::Parent;
use super::{FileSystem, InodeId, Kind, Node};
use crate::image::Entry;
use crate::path::is_name;
use crate::{Errno, MAX_NAME, MAX_PATH};

/// The most symbolic links on one way, as in Linux.
const MAX_LINKS: usize = 40;

/// What to do when a path's last name is a symbolic link. Those before are followed always, and so is one with a slash after it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum LastLink {
    Follow,
    Keep,
}

/// Where a path leads.
#[derive(Debug)]
pub(crate) struct Found<'p> {
    /// The directory of the last name.
    pub(crate) parent: Node,
    /// The last name; none for a path that ends in `.` or `..`, where `node` is the directory itself.
    pub(crate) name: Option<Cow<'p, str>>,
    /// What is there.
    pub(crate) node: Option<Node>,
    /// Whether the path ends in a slash, and so can only mean a directory.
    pub(crate) slash: Slash,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Slash {
    Trailing,
    Absent,
}

impl FileSystem {
    /// Resolves a path that may lead to nothing, as long as its directory is there.
    pub(crate) fn resolve<'p>(&self, start: Node, path: &'p str, last: LastLink) -> Result<Found<'p>, Errno> {
        if path.is_empty() {
            return Err(Errno::Noent);
        }
        if path.starts_with('/') {
            return Err(Errno::Perm);
        }
        let mut walk = Walk { file_system: self, start, here: start, depth: 0 };
        let mut text = Cow::Borrowed(path);
        for _ in 0..=MAX_LINKS {
            match walk.along(&text, last)? {
                Step::Link(target, rest) => text = Cow::Owned(walk.follow(target, &rest)?),
                Step::End(name, node, slash) => {
                    let name = name.map(|range| match &text {
                        Cow::Borrowed(text) => text.get(range).map(Cow::Borrowed),
                        Cow::Owned(text) => text.get(range).map(|name| Cow::Owned(name.to_owned())),
                    });
                    return Ok(Found { parent: walk.here, name: name.flatten(), node, slash });
                }
            }
        }
        Err(Errno::Loop)
    }

    /// Resolves a path that must lead to something.
    pub(crate) fn lookup(&self, start: Node, path: &str, last: LastLink) -> Result<Node, Errno> {
        self.resolve(start, path, last)?.existing(self)
    }

    /// The entry of that name in a directory.
    pub(crate) fn child(&self, directory: Node, name: &str) -> Result<Option<Node>, Errno> {
        match directory {
            Node::Image(Entry::Gone) => Err(Errno::Io),
            Node::Image(entry) if self.image.is_directory(entry) => Ok(self.image.child(entry, name)),
            Node::Memory(id) => Ok(self.inodes.directory(id)?.get(name).map(Node::Memory)),
            Node::Image(_) | Node::Device(_) => Err(Errno::Notdir),
        }
    }

    /// The directory that a directory is in.
    pub(crate) fn parent(&self, directory: Node) -> Result<Node, Errno> {
        match directory {
            Node::Image(entry) => Ok(Node::Image(self.image.parent(entry))),
            Node::Memory(id) => match self.inodes.directory(id)?.parent {
                Parent::Root => Ok(Node::ROOT),
                Parent::Inode(parent) => Ok(Node::Memory(parent)),
                Parent::Removed => Err(Errno::Noent),
            },
            Node::Device(_) => Err(Errno::Notdir),
        }
    }

    fn link_target(&self, node: Node) -> Option<&str> {
        let Node::Memory(id) = node else { return None };
        match &self.inodes.get(id).ok()?.kind {
            Kind::Link(target) => Some(target),
            Kind::File(_) | Kind::Directory(_) => None,
        }
    }

    fn is_directory(&self, node: Node) -> bool {
        match node {
            Node::Image(entry) => self.image.is_directory(entry),
            Node::Memory(id) => self.inodes.directory(id).is_ok(),
            Node::Device(_) => false,
        }
    }
}

impl Found<'_> {
    /// What is there, or `ENOENT`; `ENOTDIR` if the path says that it is a directory and it is none.
    pub(crate) fn existing(&self, file_system: &FileSystem) -> Result<Node, Errno> {
        let node = self.node.ok_or(Errno::Noent)?;
        if self.slash == Slash::Trailing && !file_system.is_directory(node) {
            return Err(Errno::Notdir);
        }
        Ok(node)
    }

    /// The directory and name, if an entry can be made, moved or removed there. A path without a last name is a directory that somebody
    /// stands in, for which POSIX has several errors; the caller says which.
    pub(crate) fn entry(&self, without_name: Errno) -> Result<(InodeId, &str), Errno> {
        let name = self.name.as_deref().ok_or(without_name)?;
        match self.parent {
            Node::Memory(parent) => Ok((parent, name)),
            Node::Image(_) | Node::Device(_) => Err(Errno::Rofs),
        }
    }
}

struct Walk<'f> {
    file_system: &'f FileSystem,
    start: Node,
    here: Node,
    /// How far below the start we are.
    depth: usize,
}

enum Step<'f> {
    /// A symbolic link is in the way: its target, and the text that is left after it.
    Link(&'f str, String),
    /// The last name, as a range of the text, and what is there.
    End(Option<std::ops::Range<usize>>, Option<Node>, Slash),
}

impl<'f> Walk<'f> {
    /// Goes along the text until its last name or the next link.
    fn along(&mut self, text: &str, last: LastLink) -> Result<Step<'f>, Errno> {
        let mut position = 0;
        loop {
            let (name, rest_at) = next_name(text, position);
            let rest = text.get(rest_at..).unwrap_or_default();
            let ends = rest.bytes().all(|byte| byte == b'/');
            let slash = if rest.is_empty() { Slash::Absent } else { Slash::Trailing };
            match name {
                "" | "." | ".." => {
                    if !self.file_system.is_directory(self.here) {
                        return Err(Errno::Notdir);
                    }
                    if name == ".." {
                        self.up()?;
                    }
                    if ends {
                        return Ok(Step::End(None, Some(self.here), slash));
                    }
                }
                name => {
                    let child = self.look(name)?;
                    let target = child.and_then(|child| self.file_system.link_target(child));
                    if let Some(target) = target
                        && (!ends || slash == Slash::Trailing || last == LastLink::Follow)
                    {
                        return Ok(Step::Link(target, rest.to_owned()));
                    }
                    if ends {
                        return Ok(Step::End(Some(rest_at - name.len()..rest_at), child, slash));
                    }
                    self.here = child.ok_or(Errno::Noent)?;
                    self.depth += 1;
                }
            }
            position = rest_at;
        }
    }

    fn look(&self, name: &str) -> Result<Option<Node>, Errno> {
        let child = self.file_system.child(self.here, name)?;
        // Only after the directory is known to be one. A name that is in a directory is a name, so this costs nothing on the way down.
        match child {
            None if name.len() > MAX_NAME => Err(Errno::Nametoolong),
            None if !is_name(name) => Err(Errno::Inval),
            child => Ok(child),
        }
    }

    fn up(&mut self) -> Result<(), Errno> {
        match self.depth {
            0 if self.here == Node::ROOT => Ok(()),
            0 => Err(Errno::Perm),
            _ => {
                self.here = self.file_system.parent(self.here)?;
                self.depth -= 1;
                Ok(())
            }
        }
    }

    /// The text to go on with: the link's target in the place of its name.
    fn follow(&mut self, target: &str, rest: &str) -> Result<String, Errno> {
        if target.starts_with('/') {
            if self.start != Node::ROOT {
                return Err(Errno::Perm);
            }
            self.here = Node::ROOT;
            self.depth = 0;
        }
        if target.len() + rest.len() > 2 * MAX_PATH {
            return Err(Errno::Nametoolong);
        }
        Ok([target, rest].concat())
    }
}

/// The name at or after a position, slashes skipped, and the position after it.
fn next_name(text: &str, position: usize) -> (&str, usize) {
    let rest = text.get(position..).unwrap_or_default();
    let start = position + rest.bytes().take_while(|byte| *byte == b'/').count();
    let rest = text.get(start..).unwrap_or_default();
    let name = rest.split('/').next().unwrap_or_default();
    (name, start + name.len())
}
