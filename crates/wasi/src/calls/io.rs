//! Reading, writing, and where.

use std::time::Duration;

use super::{Call, Stop};
use crate::abi::whence;
use crate::descriptors::What;
use crate::fs::Device;
use crate::{Errno, Host, OutputStream};

/// The most that one call reads or writes, in bytes. An engine cannot interrupt a call, so this is what it can take: some 10 ms of
/// copying. A longer one is cut short, as POSIX allows; C libraries go on by themselves.
pub const MAX_TRANSFER: u32 = 64 << 20;
/// The most random bytes that the host is asked for at a time.
pub const MAX_RANDOM: u32 = 1 << 20;

#[expect(clippy::too_many_arguments, reason = "the signatures are WASI's")]
impl<H: Host> Call<'_, H> {
    pub(super) fn fd_read(&mut self, fd: u32, iovs: u32, iovs_len: u32, nread: u32) -> Result<(), Stop> {
        let buffers = self.memory.buffers(iovs, iovs_len)?;
        self.memory.expect_room(nread, 4)?;
        let context = &mut *self.context;
        let count = match &mut context.descriptors.get_mut(fd)?.what {
            What::Stdin => buffers.fill(&mut self.memory, MAX_TRANSFER, |target, _| Ok(context.stdin.read(target)))?,
            What::File(file) if file.access.reads() => {
                let count = buffers.fill(&mut self.memory, MAX_TRANSFER, |target, done| {
                    Ok(context.file_system.read(file.node, file.position.saturating_add(done), target)?)
                })?;
                file.position = file.position.saturating_add(u64::from(count));
                count
            }
            What::Device(device, access) if access.reads() => match device {
                Device::Zero => buffers.fill(&mut self.memory, MAX_TRANSFER, |target, _| {
                    target.fill(0);
                    Ok(target.len())
                })?,
                // As much as the host gives at a time; a program that wants more asks again.
                Device::Random => buffers.fill(&mut self.memory, MAX_RANDOM, |target, _| {
                    context.host.random(target);
                    Ok(target.len())
                })?,
                Device::Null | Device::Stdin | Device::Stdout | Device::Stderr => 0,
            },
            What::Directory(_) => return Err(Errno::Isdir.into()),
            What::File(_) | What::Device(..) | What::Output(_) => return Err(Errno::Badf.into()),
        };
        Ok(self.memory.write_u32(nread, count)?)
    }

    pub(super) fn fd_pread(&mut self, fd: u32, iovs: u32, iovs_len: u32, offset: u64, nread: u32) -> Result<(), Stop> {
        let buffers = self.memory.buffers(iovs, iovs_len)?;
        self.memory.expect_room(nread, 4)?;
        let offset = position(offset)?;
        let descriptor = self.context.descriptors.get(fd)?;
        if matches!(descriptor.what, What::Directory(_)) {
            return Err(Errno::Isdir.into());
        }
        let file = descriptor.file()?;
        if !file.access.reads() {
            return Err(Errno::Badf.into());
        }
        let file_system = &self.context.file_system;
        let count = buffers.fill(&mut self.memory, MAX_TRANSFER, |target, done| {
            Ok(file_system.read(file.node, offset + done, target)?)
        })?;
        Ok(self.memory.write_u32(nread, count)?)
    }

    pub(super) fn fd_write(&mut self, fd: u32, iovs: u32, iovs_len: u32, nwritten: u32) -> Result<(), Stop> {
        let buffers = self.memory.buffers(iovs, iovs_len)?;
        self.memory.expect_room(nwritten, 4)?;
        let context = &mut *self.context;
        let descriptor = context.descriptors.get_mut(fd)?;
        let appends = descriptor.appends();
        let count = match &mut descriptor.what {
            What::Output(stream) => buffers.drain(&self.memory, MAX_TRANSFER, |source, _| {
                context.host.output(*stream, source);
                Ok(source.len())
            })?,
            What::File(file) if file.access.writes() => {
                if appends {
                    file.position = context.file_system.size(file.node)?;
                }
                let now = context.host.realtime();
                let count = buffers.drain(&self.memory, MAX_TRANSFER, |source, done| {
                    Ok(context.file_system.write(file.node, file.position.saturating_add(done), source, now)?)
                })?;
                file.position = file.position.saturating_add(u64::from(count));
                count
            }
            What::Device(_, access) if access.writes() => {
                buffers.drain(&self.memory, MAX_TRANSFER, |source, _| Ok(source.len()))?
            }
            What::File(_) | What::Device(..) | What::Stdin | What::Directory(_) => return Err(Errno::Badf.into()),
        };
        Ok(self.memory.write_u32(nwritten, count)?)
    }

    /// Writes at the given position even on a descriptor that appends, as POSIX demands and Linux does not.
    pub(super) fn fd_pwrite(
        &mut self,
        fd: u32,
        iovs: u32,
        iovs_len: u32,
        offset: u64,
        nwritten: u32,
    ) -> Result<(), Stop> {
        let buffers = self.memory.buffers(iovs, iovs_len)?;
        self.memory.expect_room(nwritten, 4)?;
        let offset = position(offset)?;
        let node = self.context.descriptors.get(fd)?.writable_file()?.node;
        let now = self.context.host.realtime();
        let file_system = &mut self.context.file_system;
        let count = buffers.drain(&self.memory, MAX_TRANSFER, |source, done| {
            Ok(file_system.write(node, offset + done, source, now)?)
        })?;
        Ok(self.memory.write_u32(nwritten, count)?)
    }

    pub(super) fn fd_seek(&mut self, fd: u32, offset: i64, whence: u32, newoffset: u32) -> Result<(), Errno> {
        self.memory.expect_room(newoffset, 8)?;
        let descriptor = self.context.descriptors.get_mut(fd)?;
        let position = match &mut descriptor.what {
            What::File(file) => {
                let base = match whence {
                    whence::SET => 0,
                    whence::CUR => file.position,
                    whence::END => self.context.file_system.size(file.node)?,
                    _ => return Err(Errno::Inval),
                };
                file.position = position(base.checked_add_signed(offset).ok_or(Errno::Inval)?)?;
                file.position
            }
            What::Device(..) => 0,
            What::Stdin | What::Output(_) => return Err(Errno::Spipe),
            What::Directory(_) => return Err(Errno::Badf),
        };
        self.memory.write_u64(newoffset, position)
    }

    pub(super) fn fd_tell(&mut self, fd: u32, offset: u32) -> Result<(), Errno> {
        self.fd_seek(fd, 0, whence::CUR, offset)
    }

    pub(super) fn random_get(&mut self, buf: u32, buf_len: u32) -> Result<(), Stop> {
        let mut parts = self.memory.bytes_mut(buf, buf_len)?.chunks_mut(MAX_RANDOM as usize);
        if let Some(first) = parts.next() {
            self.context.host.random(first);
        }
        for part in parts {
            // The buffer can be all of the guest's memory, and it has to be filled.
            self.context.host.sleep(Duration::ZERO)?;
            self.context.host.random(part);
        }
        Ok(())
    }
}

/// A position in a file. WASI's is unsigned, but every C library's `off_t` is not, and sums with lengths must not wrap.
fn position(offset: u64) -> Result<u64, Errno> {
    if i64::try_from(offset).is_ok() { Ok(offset) } else { Err(Errno::Inval) }
}

/// The stream behind a device, if it is one.
pub(super) fn stream(device: Device) -> Option<What> {
    match device {
        Device::Stdin => Some(What::Stdin),
        Device::Stdout => Some(What::Output(OutputStream::Stdout)),
        Device::Stderr => Some(What::Output(OutputStream::Stderr)),
        Device::Null | Device::Zero | Device::Random => None,
    }
}
