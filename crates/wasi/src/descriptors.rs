//! The guest's table of descriptors.

use crate::abi::{FdStat, FileType, fdflags, rights};
use crate::fs::{Access, Device, Node};
use crate::{Errno, OutputStream};

/// The most descriptors at one time. Also bounds how many removed files can live on.
pub const MAX_DESCRIPTORS: usize = 1_024;

/// What a descriptor stands for.
#[derive(Debug, Clone)]
pub(crate) enum What {
    /// The run's standard input.
    Stdin,
    /// One of its outputs.
    Output(OutputStream),
    /// `/dev/null` and its like.
    Device(Device, Access),
    File(OpenFile),
    Directory(OpenDirectory),
}

#[derive(Debug, Clone)]
pub(crate) struct OpenFile {
    pub(crate) node: Node,
    pub(crate) access: Access,
    pub(crate) position: u64,
}

#[derive(Debug, Clone)]
pub(crate) struct OpenDirectory {
    pub(crate) node: Node,
    /// Where the most recent listing ends.
    pub(crate) listing_end: u64,
    pub(crate) origin: Origin,
}

/// How the guest came by a directory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Origin {
    Preopened,
    Opened,
}

#[derive(Debug, Clone)]
pub(crate) struct Descriptor {
    pub(crate) what: What,
    /// `fdflags`. Only appending means anything: nothing here blocks, and everything is as durable as it will ever be.
    pub(crate) flags: u32,
}

#[derive(Debug, Clone)]
pub(crate) struct Descriptors {
    slots: Vec<Option<Descriptor>>,
}

impl Descriptors {
    /// Standard input, output and error, and the root.
    pub(crate) fn new() -> Self {
        let root = OpenDirectory { node: Node::ROOT, listing_end: u64::MAX, origin: Origin::Preopened };
        let first = [
            What::Stdin,
            What::Output(OutputStream::Stdout),
            What::Output(OutputStream::Stderr),
            What::Directory(root),
        ];
        let mut slots = Vec::with_capacity(8);
        slots.extend(first.map(|what| Some(Descriptor { what, flags: 0 })));
        Self { slots }
    }

    /// Whether there are others than those.
    pub(crate) fn has_opened(&self) -> bool {
        self.slots.iter().skip(4).any(Option::is_some)
    }

    pub(crate) fn of(slots: Vec<Option<Descriptor>>) -> Self {
        Self { slots }
    }

    pub(crate) fn slots(&self) -> &[Option<Descriptor>] {
        &self.slots
    }

    /// What files and directories are open, to be replaced.
    pub(crate) fn nodes_mut(&mut self) -> impl Iterator<Item = &mut Node> {
        self.slots.iter_mut().flatten().filter_map(|descriptor| match &mut descriptor.what {
            What::File(file) => Some(&mut file.node),
            What::Directory(directory) => Some(&mut directory.node),
            What::Stdin | What::Output(_) | What::Device(..) => None,
        })
    }

    /// Empties the table; what was in it is to be released.
    pub(crate) fn take_all(&mut self) -> impl Iterator<Item = Descriptor> + use<> {
        std::mem::take(&mut self.slots).into_iter().flatten()
    }

    pub(crate) fn get(&self, fd: u32) -> Result<&Descriptor, Errno> {
        self.slots.get(fd as usize).and_then(Option::as_ref).ok_or(Errno::Badf)
    }

    pub(crate) fn get_mut(&mut self, fd: u32) -> Result<&mut Descriptor, Errno> {
        self.slots.get_mut(fd as usize).and_then(Option::as_mut).ok_or(Errno::Badf)
    }

    /// The directory that a path is relative to.
    pub(crate) fn directory(&self, fd: u32) -> Result<Node, Errno> {
        match &self.get(fd)?.what {
            What::Directory(directory) => Ok(directory.node),
            What::Stdin | What::Output(_) | What::Device(..) | What::File(_) => Err(Errno::Notdir),
        }
    }

    /// The lowest free number. Asked for before a file is made or truncated, so that a full table has no effects.
    pub(crate) fn vacancy(&self) -> Result<usize, Errno> {
        let number = self.slots.iter().position(Option::is_none).unwrap_or(self.slots.len());
        if number < MAX_DESCRIPTORS { Ok(number) } else { Err(Errno::Mfile) }
    }

    /// Fills a vacancy.
    pub(crate) fn insert(&mut self, number: usize, descriptor: Descriptor) -> u32 {
        match self.slots.get_mut(number) {
            Some(slot) => *slot = Some(descriptor),
            None => self.slots.push(Some(descriptor)),
        }
        // A vacancy is below MAX_DESCRIPTORS.
        u32::try_from(number).unwrap_or(u32::MAX)
    }

    pub(crate) fn remove(&mut self, fd: u32) -> Result<Descriptor, Errno> {
        self.slots.get_mut(fd as usize).and_then(Option::take).ok_or(Errno::Badf)
    }

    /// Moves one open descriptor over another. Returns what was there.
    pub(crate) fn renumber(&mut self, from: u32, to: u32) -> Result<Option<Descriptor>, Errno> {
        self.get(to)?;
        self.get(from)?;
        if from == to {
            return Ok(None);
        }
        let moved = self.remove(from)?;
        let place = self.slots.get_mut(to as usize).ok_or(Errno::Badf)?;
        Ok(place.replace(moved))
    }
}

impl Descriptor {
    /// The node that is released when the descriptor is closed.
    pub(crate) fn node(&self) -> Option<Node> {
        match &self.what {
            What::File(file) => Some(file.node),
            What::Directory(directory) => Some(directory.node),
            What::Stdin | What::Output(_) | What::Device(..) => None,
        }
    }

    pub(crate) fn appends(&self) -> bool {
        self.flags & fdflags::APPEND != 0
    }

    /// An open file.
    pub(crate) fn file(&self) -> Result<&OpenFile, Errno> {
        match &self.what {
            What::File(file) => Ok(file),
            What::Stdin | What::Output(_) => Err(Errno::Spipe),
            What::Device(..) => Err(Errno::Inval),
            What::Directory(_) => Err(Errno::Badf),
        }
    }

    /// An open file that can be written.
    pub(crate) fn writable_file(&self) -> Result<&OpenFile, Errno> {
        let file = self.file()?;
        if file.access.writes() { Ok(file) } else { Err(Errno::Badf) }
    }

    pub(crate) fn stat(&self) -> FdStat {
        let (file_type, base, inheriting) = match &self.what {
            // What wasmtime says of pipes. A character device would be a terminal to wasi-libc, which then buffers by line; a socket is
            // one to Go.
            What::Stdin => (FileType::Unknown, rights::STREAM | rights::FD_READ, 0),
            What::Output(_) => (FileType::Unknown, rights::STREAM | rights::FD_WRITE, 0),
            // With the right to seek, which is how wasi-libc knows that it is no terminal.
            What::Device(_, access) => (FileType::CharacterDevice, file_rights(*access), 0),
            What::File(file) => (FileType::RegularFile, file_rights(file.access), 0),
            What::Directory(_) => (FileType::Directory, rights::DIRECTORY, rights::INHERITING),
        };
        FdStat { file_type, flags: self.flags, base, inheriting }
    }
}

fn file_rights(access: Access) -> u64 {
    let read = if access.reads() { rights::FD_READ } else { 0 };
    let write = if access.writes() { rights::FILE_WRITE } else { 0 };
    rights::FILE | read | write
}
