//! Arguments and environment.

use super::Call;
use crate::context::Strings;
use crate::guest::Memory;
use crate::{Errno, Host};

/// Bytes of a pointer.
const POINTER: u32 = 4;

impl<H: Host> Call<'_, H> {
    pub(super) fn args_get(&mut self, argv: u32, argv_buf: u32) -> Result<(), Errno> {
        write_strings(&mut self.memory, &self.context.arguments, argv, argv_buf)
    }

    pub(super) fn args_sizes_get(&mut self, argc: u32, argv_buf_size: u32) -> Result<(), Errno> {
        write_sizes(&mut self.memory, &self.context.arguments, argc, argv_buf_size)
    }

    pub(super) fn environ_get(&mut self, environ: u32, environ_buf: u32) -> Result<(), Errno> {
        write_strings(&mut self.memory, &self.context.environment, environ, environ_buf)
    }

    pub(super) fn environ_sizes_get(&mut self, count: u32, buf_size: u32) -> Result<(), Errno> {
        write_sizes(&mut self.memory, &self.context.environment, count, buf_size)
    }
}

fn write_sizes(memory: &mut Memory<'_>, strings: &Strings, count: u32, size: u32) -> Result<(), Errno> {
    memory.write_u32(count, strings.count())?;
    memory.write_u32(size, length(strings)?)
}

fn write_strings(memory: &mut Memory<'_>, strings: &Strings, pointers: u32, buffer: u32) -> Result<(), Errno> {
    memory.bytes_mut(buffer, length(strings)?)?.copy_from_slice(strings.bytes());
    let mut place = pointers;
    for start in strings.starts() {
        let start = u32::try_from(start).map_err(|_| Errno::Overflow)?;
        memory.write_u32(place, buffer.checked_add(start).ok_or(Errno::Fault)?)?;
        place = place.checked_add(POINTER).ok_or(Errno::Fault)?;
    }
    Ok(())
}

fn length(strings: &Strings) -> Result<u32, Errno> {
    u32::try_from(strings.bytes().len()).map_err(|_| Errno::Overflow)
}
