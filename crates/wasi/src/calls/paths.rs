//! Functions that take a path, relative to an open directory.

use super::Call;
use super::descriptor::times;
use super::io::stream;
use crate::abi::{fdflags, lookupflags, oflags, rights};
use crate::descriptors::{Descriptor, OpenDirectory, OpenFile, Origin, What};
use crate::fs::{Access, Existing, FileKind, LastLink, Missing, Node, OpenOptions, Wanted};
use crate::{Errno, Host};

#[expect(clippy::too_many_arguments, reason = "the signatures are WASI's")]
impl<H: Host> Call<'_, H> {
    pub(super) fn path_create_directory(&mut self, fd: u32, path: u32, path_len: u32) -> Result<(), Errno> {
        let start = self.context.descriptors.directory(fd)?;
        let path = self.memory.path(path, path_len)?;
        let now = self.context.host.realtime();
        self.context.file_system.make_directory(start, path, now)
    }

    pub(super) fn path_filestat_get(
        &mut self,
        fd: u32,
        flags: u32,
        path: u32,
        path_len: u32,
        filestat: u32,
    ) -> Result<(), Errno> {
        let start = self.context.descriptors.directory(fd)?;
        let path = self.memory.path(path, path_len)?;
        let node = self.context.file_system.lookup(start, path, last_link(flags)?)?;
        let encoded = self.context.file_system.stat(node)?.file_stat().encode();
        self.memory.write(filestat, encoded)
    }

    pub(super) fn path_filestat_set_times(
        &mut self,
        fd: u32,
        flags: u32,
        path: u32,
        path_len: u32,
        atim: u64,
        mtim: u64,
        fst_flags: u32,
    ) -> Result<(), Errno> {
        let start = self.context.descriptors.directory(fd)?;
        let path = self.memory.path(path, path_len)?;
        let now = self.context.host.realtime();
        let (accessed, modified) = times(atim, mtim, fst_flags, now)?;
        let node = self.context.file_system.lookup(start, path, last_link(flags)?)?;
        self.context.file_system.set_times(node, accessed, modified, now)
    }

    pub(super) fn path_link(
        &mut self,
        old_fd: u32,
        old_flags: u32,
        old_path: u32,
        old_path_len: u32,
        new_fd: u32,
        new_path: u32,
        new_path_len: u32,
    ) -> Result<(), Errno> {
        let old_start = self.context.descriptors.directory(old_fd)?;
        let new_start = self.context.descriptors.directory(new_fd)?;
        let old_path = self.memory.path(old_path, old_path_len)?;
        let new_path = self.memory.path(new_path, new_path_len)?;
        let now = self.context.host.realtime();
        self.context.file_system.link((old_start, old_path, last_link(old_flags)?), (new_start, new_path), now)
    }

    pub(super) fn path_open(
        &mut self,
        fd: u32,
        dirflags: u32,
        path: u32,
        path_len: u32,
        oflags: u32,
        rights_base: u64,
        _rights_inheriting: u64,
        fdflags: u32,
        opened: u32,
    ) -> Result<(), Errno> {
        self.memory.expect_room(opened, 4)?;
        let context = &mut *self.context;
        let start = context.descriptors.directory(fd)?;
        let path = self.memory.path(path, path_len)?;
        let options = open_options(dirflags, oflags, rights_base)?;
        if fdflags & !fdflags::ALL != 0 {
            return Err(Errno::Inval);
        }
        let vacancy = context.descriptors.vacancy()?;
        let node = context.file_system.open(start, path, options, context.host.realtime())?;
        let what = match node {
            Node::Device(device) => stream(device).unwrap_or(What::Device(device, options.access)),
            Node::Image(_) | Node::Memory(_) if context.file_system.kind(node)? == FileKind::Directory => {
                let origin = Origin::Opened;
                What::Directory(OpenDirectory { node, listing_end: u64::MAX, origin })
            }
            Node::Image(_) | Node::Memory(_) => What::File(OpenFile { node, access: options.access, position: 0 }),
        };
        context.file_system.acquire(node);
        let number = context.descriptors.insert(vacancy, Descriptor { what, flags: fdflags });
        self.memory.write_u32(opened, number)
    }

    /// As much of a link's target as the buffer holds.
    pub(super) fn path_readlink(
        &mut self,
        fd: u32,
        path: u32,
        path_len: u32,
        buf: u32,
        buf_len: u32,
        bufused: u32,
    ) -> Result<(), Errno> {
        self.memory.expect_room(bufused, 4)?;
        let start = self.context.descriptors.directory(fd)?;
        let path = self.memory.path(path, path_len)?;
        let target = self.context.file_system.read_link(start, path)?.as_bytes();
        let buffer = self.memory.bytes_mut(buf, buf_len)?;
        let count = target.len().min(buffer.len());
        buffer.iter_mut().zip(target).for_each(|(place, byte)| *place = *byte);
        self.memory.write_u32(bufused, u32::try_from(count).map_err(|_| Errno::Overflow)?)
    }

    pub(super) fn path_remove_directory(&mut self, fd: u32, path: u32, path_len: u32) -> Result<(), Errno> {
        let start = self.context.descriptors.directory(fd)?;
        let path = self.memory.path(path, path_len)?;
        let now = self.context.host.realtime();
        self.context.file_system.remove_directory(start, path, now)
    }

    pub(super) fn path_rename(
        &mut self,
        fd: u32,
        old_path: u32,
        old_path_len: u32,
        new_fd: u32,
        new_path: u32,
        new_path_len: u32,
    ) -> Result<(), Errno> {
        let old_start = self.context.descriptors.directory(fd)?;
        let new_start = self.context.descriptors.directory(new_fd)?;
        let old_path = self.memory.path(old_path, old_path_len)?;
        let new_path = self.memory.path(new_path, new_path_len)?;
        let now = self.context.host.realtime();
        self.context.file_system.rename((old_start, old_path), (new_start, new_path), now)
    }

    pub(super) fn path_symlink(
        &mut self,
        old_path: u32,
        old_path_len: u32,
        fd: u32,
        new_path: u32,
        new_path_len: u32,
    ) -> Result<(), Errno> {
        let start = self.context.descriptors.directory(fd)?;
        let target = self.memory.path(old_path, old_path_len)?;
        let path = self.memory.path(new_path, new_path_len)?;
        let now = self.context.host.realtime();
        self.context.file_system.symlink(target, start, path, now)
    }

    pub(super) fn path_unlink_file(&mut self, fd: u32, path: u32, path_len: u32) -> Result<(), Errno> {
        let start = self.context.descriptors.directory(fd)?;
        let path = self.memory.path(path, path_len)?;
        let now = self.context.host.realtime();
        self.context.file_system.unlink(start, path, now)
    }
}

fn last_link(flags: u32) -> Result<LastLink, Errno> {
    match flags {
        0 => Ok(LastLink::Keep),
        lookupflags::SYMLINK_FOLLOW => Ok(LastLink::Follow),
        _ => Err(Errno::Inval),
    }
}

fn open_options(dirflags: u32, oflags: u32, rights: u64) -> Result<OpenOptions, Errno> {
    if oflags & !oflags::ALL != 0 {
        return Err(Errno::Inval);
    }
    let has = |flag| oflags & flag != 0;
    Ok(OpenOptions {
        last: last_link(dirflags)?,
        access: match (rights & rights::FD_READ != 0, rights & rights::FD_WRITE != 0) {
            (false, false) => Access::Path,
            (true, false) => Access::Read,
            (false, true) => Access::Write,
            (true, true) => Access::ReadWrite,
        },
        existing: match (has(oflags::CREAT) && has(oflags::EXCL), has(oflags::TRUNC)) {
            (true, _) => Existing::Refuse,
            (false, true) => Existing::Truncate,
            (false, false) => Existing::Open,
        },
        missing: if has(oflags::CREAT) { Missing::Create } else { Missing::Refuse },
        wanted: if has(oflags::DIRECTORY) { Wanted::Directory } else { Wanted::Anything },
    })
}
