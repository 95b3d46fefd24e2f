//! A guest's file system: the image that all runs share, and the run's own files in memory.

mod directory;
mod disk;
mod file;
mod inode;
mod listing;
mod operations;
mod resolve;

pub(crate) use directory::{Directory, Parent};
pub use disk::{Disk, DiskEntry, FileVersion};
pub use file::Contents;
pub(crate) use file::{File, State};
pub(crate) use inode::{InodeId, Inodes, Kind, New, Times};
pub(crate) use operations::{Access, Existing, Missing, OpenOptions, SetTime, Wanted};
pub(crate) use resolve::LastLink;

use crate::abi::{FileStat, FileType};
use crate::image::Entry;
use crate::{Errno, Image};

/// How much a run may keep in `/box` and `/tmp` together.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Quota {
    /// Bytes of all files by their size, holes included, and of the targets of symbolic links. The host's memory for them is at most an
    /// eighth more, and 4 KiB for each entry. Contents that the embedder shares with a run are not in that.
    pub bytes: u64,
    /// Names of files, directories and links. A file with two names counts twice.
    pub entries: u32,
}

impl Quota {
    /// 256 MiB and 16,384 entries.
    pub const DEFAULT: Self = Self { bytes: 256 << 20, entries: 16_384 };
}

/// How much of a [`Quota`] is in use.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Usage {
    /// See [`Quota::bytes`]. A file that was removed but is still open counts.
    pub bytes: u64,
    /// See [`Quota::entries`].
    pub entries: u32,
}

/// What a name stands for, or a descriptor holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Node {
    Image(Entry),
    Memory(InodeId),
    Device(Device),
}

impl Node {
    /// `/`.
    pub(crate) const ROOT: Self = Self::Image(Image::ROOT);
}

/// What is in `/dev`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Device {
    Null,
    Zero,
    /// Both `/dev/random` and `/dev/urandom`.
    Random,
    Stdin,
    Stdout,
    Stderr,
}

/// What [`Files::stat`](crate::Files::stat) says of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Stat {
    /// What it is.
    pub kind: FileKind,
    /// The inode's number: the same for two names of one file, and never that of another.
    pub number: u64,
    /// How many names it has; always 1 for a directory.
    pub links: u64,
    /// In bytes.
    pub size: u64,
    /// Nanoseconds since 1970.
    pub accessed: u64,
    /// Nanoseconds since 1970.
    pub modified: u64,
    /// Nanoseconds since 1970.
    pub changed: u64,
}

/// What kind of thing a name stands for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FileKind {
    /// A regular file.
    File,
    /// A directory.
    Directory,
    /// A symbolic link.
    Symlink,
    /// One of `/dev`.
    Device,
}

/// The read-only part has no history; this is 2000-01-01, which every archive format can write down (ZIP knows nothing before 1980).
const IMAGE_TIME: u64 = 946_684_800_000_000_000;

/// Inode numbers: devices and merged directories below 2³², entries of the n-th tree from (n + 1) · 2³², the run's own from 2⁵⁰. All are
/// below 2⁵³, so that JavaScript's numbers hold them.
const MERGED_NUMBERS: u64 = 16;
const MEMORY_NUMBERS: u64 = 1 << 50;

#[derive(Debug)]
pub(crate) struct FileSystem {
    image: Image,
    inodes: Inodes,
}

impl FileSystem {
    pub(crate) fn new(image: &Image, quota: Quota, now: u64) -> Self {
        Self { image: image.clone(), inodes: Inodes::new(quota, now) }
    }

    pub(crate) fn usage(&self) -> Usage {
        self.inodes.usage()
    }

    /// Swaps the writable part with another.
    pub(crate) fn swap_disk(&mut self, disk: &mut Disk) {
        std::mem::swap(&mut self.inodes, disk.inodes_mut());
    }

    /// The image that was there before.
    pub(crate) fn set_image(&mut self, image: &Image) -> Image {
        std::mem::replace(&mut self.image, image.clone())
    }

    /// Bytes of memory that files' contents take.
    #[cfg(test)]
    pub(crate) fn memory(&self) -> u64 {
        self.inodes.memory()
    }

    pub(crate) fn kind(&self, node: Node) -> Result<FileKind, Errno> {
        Ok(match node {
            Node::Image(Entry::Gone) => return Err(Errno::Io),
            Node::Image(entry) if self.image.is_directory(entry) => FileKind::Directory,
            Node::Image(_) => FileKind::File,
            Node::Memory(id) => match self.inodes.get(id)?.kind {
                Kind::File(_) => FileKind::File,
                Kind::Directory(_) => FileKind::Directory,
                Kind::Link(_) => FileKind::Symlink,
            },
            Node::Device(_) => FileKind::Device,
        })
    }

    pub(crate) fn number(&self, node: Node) -> u64 {
        match node {
            Node::Image(Entry::Gone) => 0,
            Node::Image(Entry::Merged(number)) => MERGED_NUMBERS + u64::from(number),
            Node::Image(Entry::Tree { tree, index }) => (u64::from(tree) + 1) << 32 | u64::from(index),
            Node::Memory(id) => MEMORY_NUMBERS + self.inodes.get(id).map_or(0, |inode| inode.number),
            Node::Device(device) => device.number(),
        }
    }

    pub(crate) fn stat(&self, node: Node) -> Result<Stat, Errno> {
        let kind = self.kind(node)?;
        let number = self.number(node);
        let (links, size, times) = match node {
            Node::Image(entry) => (1, self.image.contents(entry).map_or(0, |contents| contents.len() as u64), None),
            Node::Device(_) => (1, 0, None),
            Node::Memory(id) => {
                let inode = self.inodes.get(id)?;
                let size = match &inode.kind {
                    Kind::File(file) => file.size(),
                    Kind::Directory(_) => 0,
                    Kind::Link(target) => target.len() as u64,
                };
                (u64::from(inode.links), size, Some(inode.times))
            }
        };
        Ok(Stat {
            kind,
            number,
            links,
            size,
            accessed: times.map_or(IMAGE_TIME, |times| times.accessed),
            modified: times.map_or(IMAGE_TIME, |times| times.modified),
            changed: times.map_or(IMAGE_TIME, |times| times.changed),
        })
    }

    /// The size of something that can be read at a position.
    pub(crate) fn size(&self, node: Node) -> Result<u64, Errno> {
        match node {
            Node::Image(Entry::Gone) => Err(Errno::Io),
            Node::Image(entry) => self.image.contents(entry).map(|contents| contents.len() as u64).ok_or(Errno::Isdir),
            Node::Memory(id) => self.inodes.file(id).map(File::size),
            Node::Device(_) => Ok(0),
        }
    }

    /// Copies a part of a file; less than asked only at its end.
    pub(crate) fn read(&self, node: Node, offset: u64, target: &mut [u8]) -> Result<usize, Errno> {
        match node {
            Node::Image(Entry::Gone) | Node::Device(_) => Err(Errno::Io),
            Node::Image(entry) => {
                let contents = self.image.contents(entry).ok_or(Errno::Isdir)?;
                let rest = usize::try_from(offset).ok().and_then(|offset| contents.get(offset..)).unwrap_or_default();
                let count = rest.len().min(target.len());
                let (target, _) = target.split_at_mut(count);
                let (rest, _) = rest.split_at(count);
                target.copy_from_slice(rest);
                Ok(count)
            }
            Node::Memory(id) => self.inodes.file(id).map(|file| file.read(offset, target)),
        }
    }

    /// Writes a part of a file, as much as there is room for.
    pub(crate) fn write(&mut self, node: Node, offset: u64, bytes: &[u8], now: u64) -> Result<usize, Errno> {
        self.inodes.write(writable(node)?, offset, bytes, now)
    }

    pub(crate) fn set_size(&mut self, node: Node, size: u64, now: u64) -> Result<(), Errno> {
        self.inodes.set_size(writable(node)?, size, now)
    }

    /// A file's contents, when nobody will ask for it again.
    pub(crate) fn take_file(&mut self, node: Node) -> File {
        writable(node).and_then(|id| self.inodes.take_file(id)).unwrap_or_default()
    }

    /// A descriptor holds the node until it is released.
    pub(crate) fn acquire(&mut self, node: Node) {
        if let Node::Memory(id) = node {
            self.inodes.acquire(id);
        }
    }

    pub(crate) fn release(&mut self, node: Node) {
        if let Node::Memory(id) = node {
            self.inodes.release(id);
        }
    }
}

/// Only what is in memory can be changed.
fn writable(node: Node) -> Result<InodeId, Errno> {
    match node {
        Node::Memory(id) => Ok(id),
        Node::Image(_) | Node::Device(_) => Err(Errno::Rofs),
    }
}

impl Device {
    pub(crate) const fn number(self) -> u64 {
        match self {
            Self::Stdin => 1,
            Self::Stdout => 2,
            Self::Stderr => 3,
            Self::Null => 4,
            Self::Zero => 5,
            Self::Random => 6,
        }
    }
}

impl FileKind {
    pub(crate) fn file_type(self) -> FileType {
        match self {
            Self::File => FileType::RegularFile,
            Self::Directory => FileType::Directory,
            Self::Symlink => FileType::SymbolicLink,
            Self::Device => FileType::CharacterDevice,
        }
    }
}

impl Stat {
    pub(crate) fn file_stat(&self) -> FileStat {
        FileStat {
            number: self.number,
            file_type: self.kind.file_type(),
            links: self.links,
            size: self.size,
            accessed: self.accessed,
            modified: self.modified,
            changed: self.changed,
        }
    }
}
