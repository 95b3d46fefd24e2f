//! The writable part of a file system by itself, for an embedder that keeps it while guests come and go.

use super::file::File;
use super::inode::{InodeId, Inodes, Kind, New};
use super::{Contents, FileKind, Quota, Usage};
use crate::path::is_name;
use crate::{Errno, MAX_PATH};

/// `/box` and `/tmp` with everything in them. A [`Context`](crate::Context) takes one over and gives it back with
/// [`swap_disk`](crate::Context::swap_disk). A clone has the same files, and everything that was open in it still is.
///
/// Paths here are plain and relative to the workspace. Links are not followed, neither at the end of a path ([`Errno::Loop`]) nor on the way.
#[derive(Debug, Clone)]
pub struct Disk {
    inodes: Inodes,
}

/// Something in the workspace.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DiskEntry {
    /// Relative to the workspace; otherwise what the guest chose.
    pub path: String,
    /// What it is.
    pub kind: FileKind,
    /// In bytes, of files.
    pub size: u64,
    /// Which file it is, and after which change.
    pub version: FileVersion,
}

/// Two versions of one path are equal if it is the same file, and nothing was written to it in between.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FileVersion {
    number: u64,
    version: u64,
}

impl Disk {
    /// An empty one. `now` is in nanoseconds since 1970.
    pub fn new(quota: Quota, now: u64) -> Self {
        Self { inodes: Inodes::new(quota, now) }
    }

    /// How much of the quota is in use.
    pub fn usage(&self) -> Usage {
        self.inodes.usage()
    }

    /// Counts the changes to names and to what is in files. If the number is the same, nothing happened in between.
    pub fn changes(&self) -> u64 {
        self.inodes.changes()
    }

    pub(crate) fn of(inodes: Inodes) -> Self {
        Self { inodes }
    }

    pub(crate) fn inodes(&self) -> &Inodes {
        &self.inodes
    }

    pub(crate) fn inodes_mut(&mut self) -> &mut Inodes {
        &mut self.inodes
    }

    /// Makes a file with these contents, and the folders on the way, or replaces what the file held. Returns its
    /// version.
    pub fn put(&mut self, path: &str, contents: impl Into<Contents>, now: u64) -> Result<FileVersion, Errno> {
        let file = File::written(contents.into());
        let (parent, name) = self.make_way(path, now)?;
        let id = match self.inodes.directory(parent)?.get(name) {
            None => self.inodes.create(parent, name, New::File(file), now)?,
            Some(id) => {
                self.inodes.file(id)?;
                self.inodes.replace(id, file, now)?;
                id
            }
        };
        self.version_of(id)
    }

    /// Adds to the end of a file, which is made if it is not there. All or nothing. Returns its new size.
    pub fn append(&mut self, path: &str, bytes: &[u8], now: u64) -> Result<u64, Errno> {
        let (parent, name) = self.make_way(path, now)?;
        let Some(id) = self.inodes.directory(parent)?.get(name) else {
            self.inodes.create(parent, name, New::File(File::written(bytes.into())), now)?;
            return Ok(bytes.len() as u64);
        };
        let size = self.inodes.file(id)?.size();
        let written = self.inodes.write(id, size, bytes, now)?;
        if written < bytes.len() {
            self.inodes.set_size(id, size, now)?;
            return Err(Errno::Nospc);
        }
        Ok(size + bytes.len() as u64)
    }

    /// The size of a file.
    pub fn size(&self, path: &str) -> Result<u64, Errno> {
        Ok(self.inodes.file(self.find(path)?)?.size())
    }

    /// The version of a file.
    pub fn version(&self, path: &str) -> Result<FileVersion, Errno> {
        let id = self.find(path)?;
        self.inodes.file(id)?;
        self.version_of(id)
    }

    /// Copies a part of a file; less than the target's length only at its end.
    pub fn read(&self, path: &str, offset: u64, target: &mut [u8]) -> Result<usize, Errno> {
        Ok(self.inodes.file(self.find(path)?)?.read(offset, target))
    }

    /// Removes the name of a file, or of an empty folder.
    pub fn remove(&mut self, path: &str, now: u64) -> Result<(), Errno> {
        match &self.inodes.get(self.find(path)?)?.kind {
            Kind::Link(_) => return Err(Errno::Loop),
            Kind::Directory(directory) if !directory.is_empty() => return Err(Errno::Notempty),
            Kind::Directory(_) | Kind::File(_) => {}
        }
        let (parent, name) = self.make_way(path, now)?;
        self.inodes.unlink(parent, name, now)
    }

    /// What is in a folder of the workspace, or in the workspace itself, and in those below, in the order of paths.
    pub fn list(&self, folder: Option<&str>) -> Result<Vec<DiskEntry>, Errno> {
        let start = folder.map_or(Ok(InodeId::WORKSPACE), |folder| self.find(folder))?;
        if let Kind::Link(_) = self.inodes.get(start)?.kind {
            return Err(Errno::Loop);
        }
        self.inodes.directory(start)?;
        let mut entries = Vec::new();
        let mut pending = vec![(start, folder.unwrap_or_default().to_owned())];
        while let Some((directory, above)) = pending.pop() {
            for (name, id) in self.inodes.directory(directory)?.iter() {
                let path = if above.is_empty() { name.to_owned() } else { [&above, "/", name].concat() };
                let inode = self.inodes.get(id)?;
                let (kind, size) = match &inode.kind {
                    Kind::File(file) => (FileKind::File, file.size()),
                    Kind::Directory(_) => (FileKind::Directory, 0),
                    Kind::Link(_) => (FileKind::Symlink, 0),
                };
                if kind == FileKind::Directory {
                    pending.push((id, path.clone()));
                }
                entries.push(DiskEntry { path, kind, size, version: self.version_of(id)? });
            }
        }
        entries.sort_unstable_by(|one, other| one.path.cmp(&other.path));
        Ok(entries)
    }

    fn version_of(&self, id: InodeId) -> Result<FileVersion, Errno> {
        let inode = self.inodes.get(id)?;
        Ok(FileVersion { number: inode.number, version: inode.version })
    }

    fn find(&self, path: &str) -> Result<InodeId, Errno> {
        let mut here = InodeId::WORKSPACE;
        for name in names(path)? {
            here = self.folder(here)?.get(name).ok_or(Errno::Noent)?;
        }
        Ok(here)
    }

    /// The folder of a path's last name, made if it is not there, and that name.
    fn make_way<'p>(&mut self, path: &'p str, now: u64) -> Result<(InodeId, &'p str), Errno> {
        let mut names = names(path)?.peekable();
        let mut here = InodeId::WORKSPACE;
        while let Some(name) = names.next() {
            let there = self.folder(here)?.get(name);
            if names.peek().is_none() {
                return Ok((here, name));
            }
            here = match there {
                Some(id) => id,
                None => self.inodes.create(here, name, New::Directory, now)?,
            };
        }
        Err(Errno::Noent)
    }

    fn folder(&self, id: InodeId) -> Result<&super::directory::Directory, Errno> {
        match &self.inodes.get(id)?.kind {
            Kind::Directory(directory) => Ok(directory),
            Kind::File(_) => Err(Errno::Notdir),
            Kind::Link(_) => Err(Errno::Loop),
        }
    }
}

fn names(path: &str) -> Result<impl Iterator<Item = &str>, Errno> {
    if path.len() > MAX_PATH {
        return Err(Errno::Nametoolong);
    }
    if !path.split('/').all(is_name) {
        return Err(Errno::Inval);
    }
    Ok(path.split('/'))
}
