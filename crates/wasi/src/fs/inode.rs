//! The writable part: everything in `/box` and `/tmp`, in memory, within the run's quota.
//!
//! Inodes are slots of one vector and refer to each other by number. Nothing here, not even dropping it all, recurses along directories,
//! whose depth is the guest's choice.

use super::directory::{Directory, Parent};
use super::file::File;
use super::{Quota, Usage};
use crate::{Errno, MAX_PATH};

/// The number of a slot. Only valid while something holds the inode: a directory entry, a descriptor.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct InodeId(u32);

impl InodeId {
    /// `/box`.
    pub(crate) const WORKSPACE: Self = Self(0);
    /// `/tmp`.
    pub(crate) const TEMPORARY: Self = Self(1);

    pub(crate) fn number(self) -> u32 {
        self.0
    }
}

#[derive(Debug, Clone)]
pub(crate) struct Inode {
    /// Never used twice in a run, unlike the slot.
    pub(crate) number: u64,
    /// Directory entries that name it.
    pub(crate) links: u32,
    /// Descriptors that hold it.
    opens: u32,
    pub(crate) times: Times,
    /// Which of all changes was the last to what it holds; see [`Inodes::changes`].
    pub(crate) version: u64,
    pub(crate) kind: Kind,
}

#[derive(Debug, Clone)]
pub(crate) enum Kind {
    File(File),
    Directory(Directory),
    Link(Box<str>),
}

/// In nanoseconds since 1970. Reading does not change `accessed`, as on a file system mounted `noatime`.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Times {
    pub(crate) accessed: u64,
    pub(crate) modified: u64,
    pub(crate) changed: u64,
}

/// What is made under a new name.
pub(crate) enum New<'a> {
    File(File),
    Directory,
    Link(&'a str),
}

#[derive(Debug, Clone)]
pub(crate) struct Inodes {
    slots: Vec<Option<Inode>>,
    free: Vec<InodeId>,
    next_number: u64,
    changes: u64,
    quota: Quota,
    usage: Usage,
}

impl Inodes {
    pub(crate) fn new(quota: Quota, now: u64) -> Self {
        let mut inodes = Self {
            slots: Vec::with_capacity(8),
            free: Vec::new(),
            next_number: 1,
            changes: 0,
            quota,
            usage: Usage { bytes: 0, entries: 0 },
        };
        for path in ["/box", "/tmp"] {
            let id = inodes.add(Kind::Directory(Directory::new(Parent::Root, path.len())), now);
            // The image's root names them, and never lets go.
            if let Ok(inode) = inodes.get_mut(id) {
                inode.links = 1;
            }
        }
        inodes
    }

    pub(crate) fn usage(&self) -> Usage {
        self.usage
    }

    /// Counts the changes to names and to what is in files. If the number is the same, nothing happened in between.
    pub(crate) fn changes(&self) -> u64 {
        self.changes
    }

    fn next_change(&mut self) -> u64 {
        self.changes += 1;
        self.changes
    }

    #[cfg(test)]
    pub(crate) fn memory(&self) -> u64 {
        let files = self.slots.iter().flatten().filter_map(|inode| match &inode.kind {
            Kind::File(file) => Some(file.memory()),
            Kind::Directory(_) | Kind::Link(_) => None,
        });
        files.sum()
    }

    pub(crate) fn get(&self, id: InodeId) -> Result<&Inode, Errno> {
        self.slots.get(id.0 as usize).and_then(Option::as_ref).ok_or(Errno::Io)
    }

    fn get_mut(&mut self, id: InodeId) -> Result<&mut Inode, Errno> {
        self.slots.get_mut(id.0 as usize).and_then(Option::as_mut).ok_or(Errno::Io)
    }

    pub(crate) fn directory(&self, id: InodeId) -> Result<&Directory, Errno> {
        match &self.get(id)?.kind {
            Kind::Directory(directory) => Ok(directory),
            Kind::File(_) | Kind::Link(_) => Err(Errno::Notdir),
        }
    }

    fn directory_mut(&mut self, id: InodeId) -> Result<&mut Directory, Errno> {
        match &mut self.get_mut(id)?.kind {
            Kind::Directory(directory) => Ok(directory),
            Kind::File(_) | Kind::Link(_) => Err(Errno::Notdir),
        }
    }

    pub(crate) fn file(&self, id: InodeId) -> Result<&File, Errno> {
        match &self.get(id)?.kind {
            Kind::File(file) => Ok(file),
            Kind::Directory(_) => Err(Errno::Isdir),
            Kind::Link(_) => Err(Errno::Loop),
        }
    }

    /// A file, and how large it may become.
    fn file_and_reach(&mut self, id: InodeId) -> Result<(&mut Inode, u64), Errno> {
        let size = self.file(id)?.size();
        let reach = size.saturating_add(self.quota.bytes.saturating_sub(self.usage.bytes));
        Ok((self.get_mut(id)?, reach))
    }

    /// Writes as much as the quota has room for; it is an error only when that is nothing.
    pub(crate) fn write(&mut self, id: InodeId, offset: u64, bytes: &[u8], now: u64) -> Result<usize, Errno> {
        if bytes.is_empty() {
            return Ok(0);
        }
        let version = self.next_change();
        let (inode, reach) = self.file_and_reach(id)?;
        let room = usize::try_from(reach.saturating_sub(offset)).unwrap_or(usize::MAX);
        let (bytes, _) = bytes.split_at(bytes.len().min(room));
        if bytes.is_empty() {
            return Err(Errno::Nospc);
        }
        let Kind::File(file) = &mut inode.kind else { return Err(Errno::Io) };
        let before = file.size();
        file.write(offset, bytes, reach)?;
        let growth = file.size() - before;
        inode.touch(version, now);
        self.usage.bytes += growth;
        Ok(bytes.len())
    }

    pub(crate) fn set_size(&mut self, id: InodeId, size: u64, now: u64) -> Result<(), Errno> {
        let version = self.next_change();
        let (inode, reach) = self.file_and_reach(id)?;
        if size > reach {
            return Err(Errno::Nospc);
        }
        let Kind::File(file) = &mut inode.kind else { return Err(Errno::Io) };
        let before = file.size();
        file.set_size(size)?;
        inode.touch(version, now);
        self.usage.bytes = self.usage.bytes - before + size;
        Ok(())
    }

    /// Puts another file's contents in the place of this one's.
    pub(crate) fn replace(&mut self, id: InodeId, contents: File, now: u64) -> Result<(), Errno> {
        let version = self.next_change();
        let (inode, reach) = self.file_and_reach(id)?;
        if contents.size() > reach {
            return Err(Errno::Nospc);
        }
        let Kind::File(file) = &mut inode.kind else { return Err(Errno::Io) };
        let (before, after) = (file.size(), contents.size());
        *file = contents;
        inode.touch(version, now);
        self.usage.bytes = self.usage.bytes - before + after;
        Ok(())
    }

    pub(crate) fn set_times(&mut self, id: InodeId, set: impl FnOnce(&mut Times), now: u64) -> Result<(), Errno> {
        let times = &mut self.get_mut(id)?.times;
        set(times);
        times.changed = now;
        Ok(())
    }

    /// Whether a new name fits: the directory is still there, the path is not too long, and the quota has an entry and these bytes left.
    fn admit(&self, parent: InodeId, name: &str, bytes: u64) -> Result<usize, Errno> {
        let directory = self.directory(parent)?;
        if directory.parent == Parent::Removed {
            return Err(Errno::Noent);
        }
        let path_length = directory.path_length + 1 + name.len();
        if path_length > MAX_PATH {
            return Err(Errno::Nametoolong);
        }
        if self.usage.entries >= self.quota.entries || bytes > self.quota.bytes.saturating_sub(self.usage.bytes) {
            return Err(Errno::Nospc);
        }
        Ok(path_length)
    }

    /// Makes something under a name that is not there.
    pub(crate) fn create(&mut self, parent: InodeId, name: &str, new: New<'_>, now: u64) -> Result<InodeId, Errno> {
        let bytes = match &new {
            New::File(file) => file.size(),
            New::Directory => 0,
            New::Link(target) => target.len() as u64,
        };
        let path_length = self.admit(parent, name, bytes)?;
        let id = self.add(
            match new {
                New::File(file) => Kind::File(file),
                New::Directory => Kind::Directory(Directory::new(Parent::Inode(parent), path_length)),
                New::Link(target) => Kind::Link(target.into()),
            },
            now,
        );
        self.usage.bytes += bytes;
        self.attach(parent, name, id, now)?;
        Ok(id)
    }

    /// Gives a file another name.
    pub(crate) fn link(&mut self, parent: InodeId, name: &str, id: InodeId, now: u64) -> Result<(), Errno> {
        self.admit(parent, name, 0)?;
        self.attach(parent, name, id, now)
    }

    /// Takes a name away. What it stood for goes when nothing else names it and nobody has it open.
    pub(crate) fn unlink(&mut self, parent: InodeId, name: &str, now: u64) -> Result<(), Errno> {
        let id = self.directory_mut(parent)?.remove(name).ok_or(Errno::Noent)?;
        self.next_change();
        self.get_mut(parent)?.times.touch(now);
        self.usage.entries -= 1;
        let inode = self.get_mut(id)?;
        inode.links -= 1;
        inode.times.changed = now;
        if let Kind::Directory(directory) = &mut inode.kind {
            directory.parent = Parent::Removed;
        }
        self.reap(id);
        Ok(())
    }

    /// Moves an entry to a name that is not there.
    pub(crate) fn rename(&mut self, from: (InodeId, &str), to: (InodeId, &str), now: u64) -> Result<(), Errno> {
        let id = self.directory(from.0)?.get(from.1).ok_or(Errno::Noent)?;
        self.next_change();
        if from.0 == to.0 {
            self.directory_mut(from.0)?.rename(from.1, to.1);
        } else {
            self.directory_mut(from.0)?.remove(from.1);
            self.directory_mut(to.0)?.insert(to.1, id);
        }
        self.get_mut(from.0)?.times.touch(now);
        self.get_mut(to.0)?.times.touch(now);
        let inode = self.get_mut(id)?;
        inode.times.changed = now;
        if let Kind::Directory(directory) = &mut inode.kind {
            directory.parent = Parent::Inode(to.0);
            self.set_path_length(id, to)?;
        }
        Ok(())
    }

    /// Whether an entry could move there, as far as lengths of paths go: everything below a directory moves along.
    pub(crate) fn fits(&self, id: InodeId, to: (InodeId, &str)) -> Result<(), Errno> {
        let directory = self.directory(to.0)?;
        if directory.parent == Parent::Removed {
            return Err(Errno::Noent);
        }
        let path_length = directory.path_length + 1 + to.1.len();
        let below = match &self.get(id)?.kind {
            Kind::Directory(moved) if path_length > moved.path_length => self.longest_below(id)? - moved.path_length,
            Kind::Directory(_) | Kind::File(_) | Kind::Link(_) => 0,
        };
        if path_length + below > MAX_PATH { Err(Errno::Nametoolong) } else { Ok(()) }
    }

    /// The length of the longest path of anything in or below a directory, itself included.
    fn longest_below(&self, id: InodeId) -> Result<usize, Errno> {
        let mut longest = self.directory(id)?.path_length;
        let mut pending = vec![id];
        while let Some(id) = pending.pop() {
            let directory = self.directory(id)?;
            for (name, child) in directory.iter() {
                longest = longest.max(directory.path_length + 1 + name.len());
                if self.directory(child).is_ok() {
                    pending.push(child);
                }
            }
        }
        Ok(longest)
    }

    /// After a move: the directory's own length and those below it.
    fn set_path_length(&mut self, id: InodeId, to: (InodeId, &str)) -> Result<(), Errno> {
        let path_length = self.directory(to.0)?.path_length + 1 + to.1.len();
        if path_length == self.directory(id)?.path_length {
            return Ok(());
        }
        let mut pending = vec![(id, path_length)];
        while let Some((id, path_length)) = pending.pop() {
            self.directory_mut(id)?.path_length = path_length;
            for (name, child) in self.directory(id)?.iter() {
                if self.directory(child).is_ok() {
                    pending.push((child, path_length + 1 + name.len()));
                }
            }
        }
        Ok(())
    }

    /// Whether a directory is another or above it.
    pub(crate) fn is_above(&self, upper: InodeId, lower: InodeId) -> Result<bool, Errno> {
        let mut here = lower;
        loop {
            if here == upper {
                return Ok(true);
            }
            match self.directory(here)?.parent {
                Parent::Inode(parent) => here = parent,
                Parent::Root | Parent::Removed => return Ok(false),
            }
        }
    }

    /// A descriptor holds it from now on.
    pub(crate) fn acquire(&mut self, id: InodeId) {
        if let Ok(inode) = self.get_mut(id) {
            inode.opens += 1;
        }
    }

    /// A descriptor lets go of it.
    pub(crate) fn release(&mut self, id: InodeId) {
        if let Ok(inode) = self.get_mut(id) {
            inode.opens -= 1;
        }
        self.reap(id);
    }

    /// A file's contents for good.
    pub(crate) fn take_file(&mut self, id: InodeId) -> Result<File, Errno> {
        match &mut self.get_mut(id)?.kind {
            Kind::File(file) => Ok(std::mem::take(file)),
            Kind::Directory(_) | Kind::Link(_) => Err(Errno::Io),
        }
    }

    /// Everything that there is, also what is only open.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (InodeId, &Inode)> {
        let slots = (0..).map(InodeId).zip(&self.slots);
        slots.filter_map(|(id, slot)| slot.as_ref().map(|inode| (id, inode)))
    }

    /// Something that has no name any more, for a descriptor that holds it.
    pub(crate) fn add_nameless(&mut self, kind: Kind, times: Times) -> Result<InodeId, Errno> {
        let bytes = if let Kind::File(file) = &kind { file.size() } else { 0 };
        if bytes > self.quota.bytes.saturating_sub(self.usage.bytes) {
            return Err(Errno::Nospc);
        }
        self.usage.bytes += bytes;
        let id = self.add(kind, times.changed);
        self.get_mut(id)?.times = times;
        Ok(id)
    }

    fn attach(&mut self, parent: InodeId, name: &str, id: InodeId, now: u64) -> Result<(), Errno> {
        self.directory_mut(parent)?.insert(name, id);
        self.next_change();
        self.get_mut(parent)?.times.touch(now);
        let inode = self.get_mut(id)?;
        inode.links += 1;
        inode.times.changed = now;
        self.usage.entries += 1;
        Ok(())
    }

    fn add(&mut self, kind: Kind, now: u64) -> InodeId {
        let times = Times { accessed: now, modified: now, changed: now };
        let version = self.next_change();
        let inode = Inode { number: self.next_number, links: 0, opens: 0, times, version, kind };
        self.next_number += 1;
        if let Some(id) = self.free.pop()
            && let Some(slot) = self.slots.get_mut(id.0 as usize)
        {
            *slot = Some(inode);
            return id;
        }
        // Live inodes are at most the quota's entries, a u32, and one for each descriptor.
        let id = InodeId(u32::try_from(self.slots.len()).unwrap_or(u32::MAX));
        self.slots.push(Some(inode));
        id
    }

    /// Frees an inode that nothing holds.
    fn reap(&mut self, id: InodeId) {
        let Some(slot) = self.slots.get_mut(id.0 as usize) else { return };
        let Some(inode) = slot.take_if(|inode| inode.links == 0 && inode.opens == 0) else { return };
        self.usage.bytes -= match &inode.kind {
            Kind::File(file) => file.size(),
            Kind::Directory(_) => 0,
            Kind::Link(target) => target.len() as u64,
        };
        self.free.push(id);
    }
}

impl Inode {
    fn touch(&mut self, version: u64, now: u64) {
        self.version = version;
        self.times.touch(now);
    }
}

impl Times {
    fn touch(&mut self, now: u64) {
        self.modified = now;
        self.changed = now;
    }
}
