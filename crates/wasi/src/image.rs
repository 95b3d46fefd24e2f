//! The read-only part of a guest's file system: trees, mounted, in one name space with the places for the writable part and devices.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::Tree;
use crate::fs::{Device, InodeId, Node};
use crate::path::is_name;
use crate::tree;

/// What every run on it sees of files before it makes its own: mounted trees, `/box` and `/tmp` (empty and writable in each run), `/dev`.
///
/// Made once for a set of trees and shared; a clone is the same image. Where trees overlap, directories of one path are one directory
/// with the entries of all, and for anything else the tree that was mounted first wins. Only directories that are in more than one tree
/// cost something here; the rest is looked up in the trees themselves.
#[derive(Debug, Clone)]
pub struct Image {
    shared: Arc<Shared>,
}

#[derive(Debug)]
struct Shared {
    trees: Vec<Tree>,
    merged: Vec<Merged>,
    /// Which merged directory stands for a tree's directory: always one for a tree's root, and one where directories met.
    covers: BTreeMap<(u16, u32), u32>,
}

/// A directory that is in no tree, or in several.
#[derive(Debug)]
struct Merged {
    parent: u32,
    /// Sorted by name.
    children: Vec<(Box<str>, Node)>,
}

/// An entry of the image.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Entry {
    Tree {
        tree: u16,
        index: u32,
    },
    Merged(u32),
    /// It was in another image, which this one took the place of.
    Gone,
}

/// A tree that cannot be mounted there.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum MountError {
    /// Not absolute, or not plain.
    #[error("`{0}` is not an absolute path with plain names")]
    Path(String),
    /// In `/box`, `/tmp` or `/dev`, or where another tree has a file.
    #[error("nothing can be mounted at `{0}`")]
    Taken(String),
    /// More than 65,536.
    #[error("too many trees")]
    TooMany,
}

/// The number of the root among the merged directories.
const ROOT: u32 = 0;

impl Image {
    /// The root directory.
    pub(crate) const ROOT: Entry = Entry::Merged(ROOT);

    /// Mounts each tree at an absolute path. `/` is one, and the directories on the way to others are made.
    pub fn new<'a>(mounts: impl IntoIterator<Item = (&'a str, Tree)>) -> Result<Self, MountError> {
        let mut draft = Draft::new();
        for (path, tree) in mounts {
            draft.mount(path, tree)?;
        }
        Ok(Self { shared: Arc::new(draft.finish()) })
    }

    /// What an entry of another image is in this one. Files and directories of a tree are there if the tree is; of merged directories, only
    /// the root is sure to be the same one.
    pub(crate) fn find_again(&self, entry: Entry, other: &Self) -> Entry {
        match entry {
            Entry::Tree { tree, index } => {
                let place = other.tree(tree).and_then(|tree| self.shared.trees.iter().position(|mine| mine.is(tree)));
                let place = place.and_then(|place| u16::try_from(place).ok());
                place.map_or(Entry::Gone, |tree| Entry::Tree { tree, index })
            }
            Self::ROOT => Self::ROOT,
            Entry::Merged(_) | Entry::Gone => Entry::Gone,
        }
    }

    /// The entry of that name in a directory; nothing if there is none, or this is a file.
    pub(crate) fn child(&self, entry: Entry, name: &str) -> Option<Node> {
        match entry {
            Entry::Tree { tree, index } => {
                let child = self.tree(tree)?.child(index, name)?;
                Some(Node::Image(Entry::Tree { tree, index: child }))
            }
            Entry::Merged(number) => {
                let children = &self.merged(number)?.children;
                let at = children.binary_search_by(|(child, _)| (**child).cmp(name)).ok()?;
                children.get(at).map(|(_, node)| *node)
            }
            Entry::Gone => None,
        }
    }

    /// The child at a position in the order of names.
    pub(crate) fn nth_child(&self, entry: Entry, position: usize) -> Option<(&str, Node)> {
        match entry {
            Entry::Tree { tree, index } => {
                let trees = self.tree(tree)?;
                let child = trees.children(index).nth(position)?;
                Some((trees.name(child), Node::Image(Entry::Tree { tree, index: child })))
            }
            Entry::Merged(number) => {
                let (name, node) = self.merged(number)?.children.get(position)?;
                Some((name, *node))
            }
            Entry::Gone => None,
        }
    }

    pub(crate) fn parent(&self, entry: Entry) -> Entry {
        match entry {
            Entry::Merged(number) => Entry::Merged(self.merged(number).map_or(ROOT, |merged| merged.parent)),
            Entry::Gone => Entry::Gone,
            Entry::Tree { tree, index } => {
                let parent = self.tree(tree).map_or(tree::ROOT, |tree| tree.parent(index));
                match self.shared.covers.get(&(tree, parent)) {
                    Some(number) => Entry::Merged(*number),
                    None => Entry::Tree { tree, index: parent },
                }
            }
        }
    }

    pub(crate) fn is_directory(&self, entry: Entry) -> bool {
        match entry {
            Entry::Tree { tree, index } => self.tree(tree).is_some_and(|tree| tree.is_directory(index)),
            Entry::Merged(_) => true,
            Entry::Gone => false,
        }
    }

    /// A file's contents; nothing for a directory.
    pub(crate) fn contents(&self, entry: Entry) -> Option<&[u8]> {
        match entry {
            Entry::Tree { tree, index } => self.tree(tree)?.contents(index),
            Entry::Merged(_) | Entry::Gone => None,
        }
    }

    fn tree(&self, number: u16) -> Option<&Tree> {
        self.shared.trees.get(usize::from(number))
    }

    fn merged(&self, number: u32) -> Option<&Merged> {
        self.shared.merged.get(number as usize)
    }
}

/// An image in the making.
struct Draft {
    trees: Vec<Tree>,
    merged: Vec<(u32, BTreeMap<Box<str>, Node>)>,
    covers: BTreeMap<(u16, u32), u32>,
}

impl Draft {
    /// The root with what every image has. It is put in first, so no tree can hide it.
    fn new() -> Self {
        let mut draft = Self { trees: Vec::new(), merged: Vec::new(), covers: BTreeMap::new() };
        let root = draft.directory(ROOT);
        let devices = draft.directory(root);
        draft.put(devices, "null", Node::Device(Device::Null));
        draft.put(devices, "zero", Node::Device(Device::Zero));
        draft.put(devices, "random", Node::Device(Device::Random));
        draft.put(devices, "urandom", Node::Device(Device::Random));
        draft.put(devices, "stdin", Node::Device(Device::Stdin));
        draft.put(devices, "stdout", Node::Device(Device::Stdout));
        draft.put(devices, "stderr", Node::Device(Device::Stderr));
        draft.put(root, "dev", Node::Image(Entry::Merged(devices)));
        draft.put(root, "box", Node::Memory(InodeId::WORKSPACE));
        draft.put(root, "tmp", Node::Memory(InodeId::TEMPORARY));
        draft
    }

    fn mount(&mut self, path: &str, tree: Tree) -> Result<(), MountError> {
        let number = u16::try_from(self.trees.len()).map_err(|_| MountError::TooMany)?;
        let names = path.strip_prefix('/').ok_or_else(|| MountError::Path(path.to_owned()))?;
        if matches!(names.split('/').next(), Some("box" | "tmp" | "dev")) {
            return Err(MountError::Taken(path.to_owned()));
        }
        let mut here = ROOT;
        for name in names.split('/').filter(|_| !names.is_empty()) {
            if !is_name(name) {
                return Err(MountError::Path(path.to_owned()));
            }
            here = self.enter(here, name).ok_or_else(|| MountError::Taken(path.to_owned()))?;
        }
        self.trees.push(tree);
        self.merge(here, number);
        Ok(())
    }

    /// The merged directory of that name in another, made if there is none; nothing if something else has the name.
    fn enter(&mut self, parent: u32, name: &str) -> Option<u32> {
        match self.get(parent, name) {
            None => {
                let made = self.directory(parent);
                self.put(parent, name, Node::Image(Entry::Merged(made)));
                Some(made)
            }
            Some(Node::Image(Entry::Merged(number))) => Some(number),
            Some(Node::Image(Entry::Tree { tree, index })) => self.cover(parent, name, tree, index),
            Some(Node::Image(Entry::Gone) | Node::Memory(_) | Node::Device(_)) => None,
        }
    }

    /// Puts a merged directory with the same children in the place of a tree's. Nothing if that is a file.
    fn cover(&mut self, parent: u32, name: &str, tree: u16, index: u32) -> Option<u32> {
        let source = self.trees.get(usize::from(tree)).filter(|source| source.is_directory(index))?.clone();
        let made = self.directory(parent);
        for child in source.children(index) {
            self.put(made, source.name(child), Node::Image(Entry::Tree { tree, index: child }));
        }
        self.put(parent, name, Node::Image(Entry::Merged(made)));
        self.covers.insert((tree, index), made);
        Some(made)
    }

    /// Adds a tree's entries to a merged directory, and so on below wherever both have a directory. A list of what is still to do instead
    /// of recursion: how deep a tree is, is up to whoever packed it.
    fn merge(&mut self, into: u32, number: u16) {
        let Some(tree) = self.trees.get(usize::from(number)).cloned() else { return };
        let mut pending = vec![(into, tree::ROOT)];
        while let Some((into, directory)) = pending.pop() {
            self.covers.insert((number, directory), into);
            for child in tree.children(directory) {
                let name = tree.name(child);
                let node = Node::Image(Entry::Tree { tree: number, index: child });
                if self.get(into, name).is_none() {
                    self.put(into, name, node);
                } else if tree.is_directory(child)
                    && let Some(both) = self.enter(into, name)
                {
                    pending.push((both, child));
                }
            }
        }
    }

    fn directory(&mut self, parent: u32) -> u32 {
        // The trees' entries, which these come from, are counted by u32s already; saturating is for form.
        let number = u32::try_from(self.merged.len()).unwrap_or(u32::MAX);
        self.merged.push((parent, BTreeMap::new()));
        number
    }

    fn get(&self, directory: u32, name: &str) -> Option<Node> {
        self.merged.get(directory as usize).and_then(|(_, children)| children.get(name).copied())
    }

    fn put(&mut self, directory: u32, name: &str, node: Node) {
        if let Some((_, children)) = self.merged.get_mut(directory as usize) {
            children.insert(name.into(), node);
        }
    }

    fn finish(self) -> Shared {
        let merged = self.merged.into_iter();
        let merged = merged.map(|(parent, children)| Merged { parent, children: children.into_iter().collect() });
        Shared { trees: self.trees, merged: merged.collect(), covers: self.covers }
    }
}
