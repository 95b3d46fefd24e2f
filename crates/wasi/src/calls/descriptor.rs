//! Descriptors and what is known of them.

use super::{Call, Stop};
use crate::abi::{self, Dirent, FileStat, FileType, fdflags, fstflags};
use crate::descriptors::{Origin, What};
use crate::fs::{Device, SetTime};
use crate::{Errno, Host, OutputStream};

/// The name of the one preopened directory.
const ROOT: &str = "/";
/// The highest value of `advice`.
const MAX_ADVICE: u32 = 5;

#[expect(clippy::too_many_arguments, reason = "the signatures are WASI's")]
impl<H: Host> Call<'_, H> {
    pub(super) fn fd_advise(&mut self, fd: u32, _offset: u64, _len: u64, advice: u32) -> Result<(), Errno> {
        self.context.descriptors.get(fd)?.file()?;
        if advice > MAX_ADVICE { Err(Errno::Inval) } else { Ok(()) }
    }

    /// Grows a file if necessary, as `posix_fallocate` does, and charges the quota, which is all the space there is.
    pub(super) fn fd_allocate(&mut self, fd: u32, offset: u64, len: u64) -> Result<(), Errno> {
        let node = self.context.descriptors.get(fd)?.writable_file()?.node;
        let end = offset.checked_add(len).ok_or(Errno::Nospc)?;
        if len == 0 {
            return Err(Errno::Inval);
        }
        if end > self.context.file_system.size(node)? {
            let now = self.context.host.realtime();
            self.context.file_system.set_size(node, end, now)?;
        }
        Ok(())
    }

    pub(super) fn fd_close(&mut self, fd: u32) -> Result<(), Errno> {
        let closed = self.context.descriptors.remove(fd)?;
        if let Some(node) = closed.node() {
            self.context.file_system.release(node);
        }
        Ok(())
    }

    pub(super) fn fd_datasync(&mut self, fd: u32) -> Result<(), Errno> {
        self.fd_sync(fd)
    }

    /// Nothing to do: what is in memory is as safe as it gets. A directory can be synced too, as `SQLite` does after its journal.
    pub(super) fn fd_sync(&mut self, fd: u32) -> Result<(), Errno> {
        match self.context.descriptors.get(fd)?.what {
            What::File(_) | What::Directory(_) => Ok(()),
            What::Stdin | What::Output(_) | What::Device(..) => Err(Errno::Inval),
        }
    }

    pub(super) fn fd_fdstat_get(&mut self, fd: u32, fdstat: u32) -> Result<(), Errno> {
        let encoded = self.context.descriptors.get(fd)?.stat().encode();
        self.memory.write(fdstat, encoded)
    }

    pub(super) fn fd_fdstat_set_flags(&mut self, fd: u32, flags: u32) -> Result<(), Errno> {
        let descriptor = self.context.descriptors.get_mut(fd)?;
        if flags & !fdflags::ALL != 0 {
            return Err(Errno::Inval);
        }
        descriptor.flags = flags;
        Ok(())
    }

    /// Only reading and writing are enforced, so a guest that gives up a right is told that it did not.
    pub(super) fn fd_fdstat_set_rights(&mut self, fd: u32, _base: u64, _inheriting: u64) -> Result<(), Errno> {
        self.context.descriptors.get(fd)?;
        Err(Errno::Notsup)
    }

    pub(super) fn fd_filestat_get(&mut self, fd: u32, filestat: u32) -> Result<(), Errno> {
        let stream = |device: Device, file_type| FileStat {
            number: device.number(),
            file_type,
            links: 1,
            size: 0,
            accessed: 0,
            modified: 0,
            changed: 0,
        };
        let encoded = match &self.context.descriptors.get(fd)?.what {
            What::Stdin => stream(Device::Stdin, FileType::Unknown),
            What::Output(OutputStream::Stdout) => stream(Device::Stdout, FileType::Unknown),
            What::Output(OutputStream::Stderr) => stream(Device::Stderr, FileType::Unknown),
            What::Device(device, _) => stream(*device, FileType::CharacterDevice),
            What::File(file) => self.context.file_system.stat(file.node)?.file_stat(),
            What::Directory(directory) => self.context.file_system.stat(directory.node)?.file_stat(),
        }
        .encode();
        self.memory.write(filestat, encoded)
    }

    pub(super) fn fd_filestat_set_size(&mut self, fd: u32, size: u64) -> Result<(), Errno> {
        let file = self.context.descriptors.get(fd)?.file()?;
        // As Linux has it for `ftruncate`, alone of all that writes.
        if !file.access.writes() {
            return Err(Errno::Inval);
        }
        let (node, now) = (file.node, self.context.host.realtime());
        self.context.file_system.set_size(node, size, now)
    }

    pub(super) fn fd_filestat_set_times(&mut self, fd: u32, atim: u64, mtim: u64, fst_flags: u32) -> Result<(), Errno> {
        let now = self.context.host.realtime();
        let (accessed, modified) = times(atim, mtim, fst_flags, now)?;
        let node = self.context.descriptors.get(fd)?.node().ok_or(Errno::Badf)?;
        self.context.file_system.set_times(node, accessed, modified, now)
    }

    pub(super) fn fd_prestat_get(&mut self, fd: u32, prestat: u32) -> Result<(), Errno> {
        self.preopened(fd)?;
        let length = u32::try_from(ROOT.len()).map_err(|_| Errno::Overflow)?;
        self.memory.write(prestat, abi::encode_prestat(length))
    }

    pub(super) fn fd_prestat_dir_name(&mut self, fd: u32, path: u32, path_len: u32) -> Result<(), Errno> {
        self.preopened(fd)?;
        let buffer = self.memory.bytes_mut(path, path_len)?;
        buffer.get_mut(..ROOT.len()).ok_or(Errno::Nametoolong)?.copy_from_slice(ROOT.as_bytes());
        Ok(())
    }

    /// `EBADF` for whatever is not preopened is how a C library knows that it has seen them all.
    fn preopened(&self, fd: u32) -> Result<(), Errno> {
        match &self.context.descriptors.get(fd)?.what {
            What::Directory(directory) if directory.origin == Origin::Preopened => Ok(()),
            What::Directory(_) | What::Stdin | What::Output(_) | What::Device(..) | What::File(_) => Err(Errno::Badf),
        }
    }

    /// Entries one after the other, the last one cut off where the buffer ends: a full buffer says that there is more.
    pub(super) fn fd_readdir(
        &mut self,
        fd: u32,
        buf: u32,
        buf_len: u32,
        cookie: u64,
        bufused: u32,
    ) -> Result<(), Stop> {
        self.memory.expect_room(bufused, 4)?;
        let file_system = &self.context.file_system;
        let What::Directory(directory) = &mut self.context.descriptors.get_mut(fd)?.what else {
            return Err(Errno::Notdir.into());
        };
        if cookie == 0 {
            directory.listing_end = file_system.listing_end(directory.node);
        }
        let mut room = self.memory.bytes_mut(buf, buf_len)?;
        let mut position = cookie;
        while !room.is_empty()
            && let Some(entry) = file_system.entry_at(directory.node, position)?
            && entry.next <= directory.listing_end
        {
            let dirent = Dirent {
                next: entry.next,
                number: entry.number,
                name_length: u32::try_from(entry.name.len()).map_err(|_| Errno::Overflow)?,
                file_type: entry.kind.file_type(),
            };
            room = put(room, &dirent.encode());
            room = put(room, entry.name.as_bytes());
            position = entry.next;
        }
        let left = u32::try_from(room.len()).map_err(|_| Errno::Overflow)?;
        Ok(self.memory.write_u32(bufused, buf_len - left)?)
    }

    /// Both have to be open: WASI demands it, for the sake of programs with threads.
    pub(super) fn fd_renumber(&mut self, fd: u32, to: u32) -> Result<(), Errno> {
        let replaced = self.context.descriptors.renumber(fd, to)?;
        if let Some(node) = replaced.and_then(|descriptor| descriptor.node()) {
            self.context.file_system.release(node);
        }
        Ok(())
    }
}

/// Copies as much as there is room for, and gives the room that is left.
fn put<'a>(room: &'a mut [u8], bytes: &[u8]) -> &'a mut [u8] {
    let count = bytes.len().min(room.len());
    let (place, room) = room.split_at_mut(count);
    let (bytes, _) = bytes.split_at(count);
    place.copy_from_slice(bytes);
    room
}

/// Which times to set, from WASI's flags.
pub(super) fn times(atim: u64, mtim: u64, flags: u32, now: u64) -> Result<(SetTime, SetTime), Errno> {
    if flags & !fstflags::ALL != 0 {
        return Err(Errno::Inval);
    }
    let choose = |given, to_given, to_now| match (flags & to_given != 0, flags & to_now != 0) {
        (true, true) => Err(Errno::Inval),
        (true, false) => Ok(SetTime::To(given)),
        (false, true) => Ok(SetTime::To(now)),
        (false, false) => Ok(SetTime::Keep),
    };
    Ok((choose(atim, fstflags::ATIM, fstflags::ATIM_NOW)?, choose(mtim, fstflags::MTIM, fstflags::MTIM_NOW)?))
}
