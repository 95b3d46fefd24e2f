//! The guest's files for functions of the embedder's own, such as JavaScript's `fs`.

use std::borrow::Cow;
use std::fmt;

use crate::fs::{Access, Contents, Device, Existing, File, FileKind, FileSystem, LastLink, Missing, Node};
use crate::fs::{OpenOptions, Stat, Wanted};
use crate::{Errno, Host, MAX_PATH, MAX_RANDOM};

/// The guest's files by path: absolute, or relative to the workspace. The rules and errors are those that the guest itself would meet:
/// read-only outside `/box` and `/tmp`, quota, lengths, symbolic links followed.
pub struct Files<'a> {
    file_system: &'a mut FileSystem,
    host: &'a mut dyn Host,
    now: u64,
}

impl fmt::Debug for Files<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Files")
    }
}

impl<'a> Files<'a> {
    pub(crate) fn new(file_system: &'a mut FileSystem, host: &'a mut dyn Host) -> Self {
        let now = host.realtime();
        Self { file_system, host, now }
    }

    /// The whole of a file. A device that never ends is too large.
    pub fn read(&self, path: &str) -> Result<Vec<u8>, Errno> {
        let node = self.find(path, LastLink::Follow)?;
        if let Node::Device(Device::Zero | Device::Random) = node {
            return Err(Errno::Overflow);
        }
        let size = usize::try_from(self.file_system.size(node)?).map_err(|_| Errno::Overflow)?;
        let mut bytes = vec![0; size];
        let count = if size == 0 { 0 } else { self.file_system.read(node, 0, &mut bytes)? };
        bytes.truncate(count);
        Ok(bytes)
    }

    /// A part of a file: less than asked only at its end, or beyond [`MAX_RANDOM`] bytes of a device.
    pub fn read_at(&mut self, path: &str, offset: u64, length: usize) -> Result<Vec<u8>, Errno> {
        let node = self.find(path, LastLink::Follow)?;
        if let Node::Device(device @ (Device::Zero | Device::Random)) = node {
            let mut bytes = vec![0; length.min(MAX_RANDOM as usize)];
            if device == Device::Random {
                self.host.random(&mut bytes);
            }
            return Ok(bytes);
        }
        let left = self.file_system.size(node)?.saturating_sub(offset);
        let mut bytes = vec![0; usize::try_from(left).unwrap_or(usize::MAX).min(length)];
        let count = if bytes.is_empty() { 0 } else { self.file_system.read(node, offset, &mut bytes)? };
        bytes.truncate(count);
        Ok(bytes)
    }

    /// Writes a part of a file that is there. All or nothing.
    pub fn write_at(&mut self, path: &str, offset: u64, bytes: &[u8]) -> Result<(), Errno> {
        let node = self.find(path, LastLink::Follow)?;
        if loses_writes(node) {
            return Ok(());
        }
        let end = offset.saturating_add(bytes.len() as u64);
        // A file that could not be so long is refused before it is made.
        if end > self.file_system.size(node)? {
            self.file_system.set_size(node, end, self.now)?;
        }
        let written = self.file_system.write(node, offset, bytes, self.now)?;
        if written < bytes.len() { Err(Errno::Nospc) } else { Ok(()) }
    }

    /// Makes a file of these contents, in the place of what it held.
    pub fn write(&mut self, path: &str, contents: impl Into<Contents>) -> Result<(), Errno> {
        if self.find(path, LastLink::Follow).is_ok_and(loses_writes) {
            return Ok(());
        }
        let path = locate(path)?;
        self.file_system.put(Node::ROOT, &path, File::written(contents.into()), self.now).map(|_| ())
    }

    /// Adds to the end of a file, which is made if it is not there. All or nothing.
    pub fn append(&mut self, path: &str, bytes: &[u8]) -> Result<(), Errno> {
        let path = locate(path)?;
        let options = OpenOptions {
            last: LastLink::Follow,
            access: Access::Write,
            existing: Existing::Open,
            missing: Missing::Create,
            wanted: Wanted::Anything,
        };
        let node = self.file_system.open(Node::ROOT, &path, options, self.now)?;
        if loses_writes(node) {
            return Ok(());
        }
        let size = self.file_system.size(node)?;
        let written = self.file_system.write(node, size, bytes, self.now)?;
        if written < bytes.len() {
            self.file_system.set_size(node, size, self.now)?;
            return Err(Errno::Nospc);
        }
        Ok(())
    }

    /// Cuts a file, or lets it grow with zeros. A device has no size to change.
    pub fn truncate(&mut self, path: &str, size: u64) -> Result<(), Errno> {
        let node = self.find(path, LastLink::Follow)?;
        if loses_writes(node) {
            return Ok(());
        }
        self.file_system.set_size(node, size, self.now)
    }

    /// The names in a directory and what they are, in the order of names.
    pub fn list(&self, path: &str) -> Result<Vec<(String, FileKind)>, Errno> {
        let node = self.find(path, LastLink::Follow)?;
        if self.file_system.kind(node)? != FileKind::Directory {
            return Err(Errno::Notdir);
        }
        let entries = self.file_system.entries(node).into_iter();
        let mut names: Vec<_> = entries.map(|(name, _, kind)| (name, kind)).collect();
        names.sort_unstable_by(|a, b| a.0.cmp(&b.0));
        Ok(names)
    }

    /// Whether a path leads to something.
    pub fn exists(&self, path: &str) -> bool {
        self.find(path, LastLink::Follow).is_ok()
    }

    /// What a path leads to.
    pub fn stat(&self, path: &str) -> Result<Stat, Errno> {
        self.file_system.stat(self.find(path, LastLink::Follow)?)
    }

    /// What a path leads to, or the symbolic link that it is.
    pub fn link_stat(&self, path: &str) -> Result<Stat, Errno> {
        self.file_system.stat(self.find(path, LastLink::Keep)?)
    }

    /// Makes a directory.
    pub fn make_directory(&mut self, path: &str) -> Result<(), Errno> {
        let path = locate(path)?;
        self.file_system.make_directory(Node::ROOT, &path, self.now)
    }

    /// Makes a directory and those above it, as far as they are not there.
    pub fn make_directories(&mut self, path: &str) -> Result<(), Errno> {
        let path = locate(path)?;
        self.file_system.make_directories(Node::ROOT, &path, self.now)
    }

    /// Removes a file or symbolic link.
    pub fn remove_file(&mut self, path: &str) -> Result<(), Errno> {
        let path = locate(path)?;
        self.file_system.unlink(Node::ROOT, &path, self.now)
    }

    /// Removes an empty directory.
    pub fn remove_directory(&mut self, path: &str) -> Result<(), Errno> {
        let path = locate(path)?;
        self.file_system.remove_directory(Node::ROOT, &path, self.now)
    }

    /// Removes whatever is at a path, with everything below it. A symbolic link goes; what it leads to stays.
    pub fn remove_all(&mut self, path: &str) -> Result<(), Errno> {
        let path = locate(path)?;
        self.file_system.remove_all(Node::ROOT, &path, self.now)
    }

    /// Moves a file or directory; a file, or an empty directory, that is in the place is replaced.
    pub fn rename(&mut self, from: &str, to: &str) -> Result<(), Errno> {
        let (from, to) = (locate(from)?, locate(to)?);
        self.file_system.rename((Node::ROOT, &from), (Node::ROOT, &to), self.now)
    }

    /// Makes a symbolic link at `path`.
    pub fn symlink(&mut self, target: &str, path: &str) -> Result<(), Errno> {
        let path = locate(path)?;
        self.file_system.symlink(target, Node::ROOT, &path, self.now)
    }

    /// The target of a symbolic link.
    pub fn read_link(&self, path: &str) -> Result<&str, Errno> {
        let path = locate(path)?;
        self.file_system.read_link(Node::ROOT, &path)
    }

    /// The path of what a path leads to, with no link, `.` or `..` in it.
    pub fn real_path(&self, path: &str) -> Result<String, Errno> {
        self.file_system.real_path(Node::ROOT, &locate(path)?)
    }

    fn find(&self, path: &str, last: LastLink) -> Result<Node, Errno> {
        let path = locate(path)?;
        self.file_system.lookup(Node::ROOT, &path, last)
    }
}

/// Whether it is a device that takes whatever is written to it, and keeps nothing.
fn loses_writes(node: Node) -> bool {
    matches!(node, Node::Device(Device::Null | Device::Zero | Device::Random))
}

/// The path from the root.
fn locate(path: &str) -> Result<Cow<'_, str>, Errno> {
    if path.is_empty() {
        return Err(Errno::Noent);
    }
    if path.len() > MAX_PATH {
        return Err(Errno::Nametoolong);
    }
    if path.contains('\0') {
        return Err(Errno::Inval);
    }
    if !path.starts_with('/') {
        return Ok(Cow::Owned(["box/", path].concat()));
    }
    match path.trim_start_matches('/') {
        "" => Ok(Cow::Borrowed(".")),
        path => Ok(Cow::Borrowed(path)),
    }
}
