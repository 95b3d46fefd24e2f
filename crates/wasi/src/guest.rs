//! The guest's linear memory. Pointers and lengths come from the guest, so every access is checked here and nowhere else.

use std::ops::Range;

use crate::calls::Stop;
use crate::{Errno, MAX_PATH};

/// The most buffers in one call (`IOV_MAX`), as in Linux and wasi-libc.
const MAX_BUFFERS: u32 = 1_024;
/// Bytes of an `iovec`: pointer and length.
const IOVEC: u32 = 8;

/// A view of the guest's memory for the length of one call.
///
/// Alignment is not asked for: WASI lets a host trap on a misaligned pointer, but nothing here depends on it.
#[derive(Debug)]
pub(crate) struct Memory<'a> {
    bytes: &'a mut [u8],
    /// Nothing below this is touched.
    lowest: u32,
}

impl<'a> Memory<'a> {
    pub(crate) fn new(bytes: &'a mut [u8], lowest: u32) -> Self {
        Self { bytes, lowest }
    }

    /// Nothing is in bounds everywhere: C programs pass any pointer with a length of zero.
    fn range(&self, pointer: u32, length: u32) -> Result<Range<usize>, Errno> {
        if length == 0 {
            return Ok(0..0);
        }
        let start = pointer as usize;
        let end = start.checked_add(length as usize).ok_or(Errno::Fault)?;
        if pointer >= self.lowest && end <= self.bytes.len() { Ok(start..end) } else { Err(Errno::Fault) }
    }

    pub(crate) fn bytes(&self, pointer: u32, length: u32) -> Result<&[u8], Errno> {
        self.bytes.get(self.range(pointer, length)?).ok_or(Errno::Fault)
    }

    pub(crate) fn bytes_mut(&mut self, pointer: u32, length: u32) -> Result<&mut [u8], Errno> {
        let range = self.range(pointer, length)?;
        self.bytes.get_mut(range).ok_or(Errno::Fault)
    }

    fn array<const N: usize>(&self, pointer: u32) -> Result<[u8; N], Errno> {
        let bytes = self.bytes(pointer, const { size_of_array::<N>() })?;
        bytes.first_chunk().copied().ok_or(Errno::Fault)
    }

    pub(crate) fn read_u8(&self, pointer: u32) -> Result<u8, Errno> {
        self.array(pointer).map(u8::from_le_bytes)
    }

    pub(crate) fn read_u16(&self, pointer: u32) -> Result<u16, Errno> {
        self.array(pointer).map(u16::from_le_bytes)
    }

    pub(crate) fn read_u32(&self, pointer: u32) -> Result<u32, Errno> {
        self.array(pointer).map(u32::from_le_bytes)
    }

    pub(crate) fn read_u64(&self, pointer: u32) -> Result<u64, Errno> {
        self.array(pointer).map(u64::from_le_bytes)
    }

    /// Writes a value of WASI's, already in its bytes.
    pub(crate) fn write<const N: usize>(&mut self, pointer: u32, bytes: [u8; N]) -> Result<(), Errno> {
        let place = self.bytes_mut(pointer, const { size_of_array::<N>() })?;
        *place.first_chunk_mut().ok_or(Errno::Fault)? = bytes;
        Ok(())
    }

    pub(crate) fn write_u32(&mut self, pointer: u32, value: u32) -> Result<(), Errno> {
        self.write(pointer, value.to_le_bytes())
    }

    pub(crate) fn write_u64(&mut self, pointer: u32, value: u64) -> Result<(), Errno> {
        self.write(pointer, value.to_le_bytes())
    }

    /// Whether a result of so many bytes can be written there. Asked before a call does anything, so that a bad pointer for the count
    /// does not lose what was read or written.
    pub(crate) fn expect_room(&self, pointer: u32, length: u32) -> Result<(), Errno> {
        self.range(pointer, length).map(|_| ())
    }

    /// A path, as WASI passes them: UTF-8 and not terminated. The length is looked at first, so that nobody pays for checking more.
    pub(crate) fn path(&self, pointer: u32, length: u32) -> Result<&str, Errno> {
        if length as usize > MAX_PATH {
            return Err(Errno::Nametoolong);
        }
        let text = std::str::from_utf8(self.bytes(pointer, length)?).map_err(|_| Errno::Ilseq)?;
        if text.contains('\0') { Err(Errno::Inval) } else { Ok(text) }
    }

    /// An array of `iovec` or `ciovec`, each of which is in bounds.
    pub(crate) fn buffers(&self, array: u32, count: u32) -> Result<Buffers, Errno> {
        if count > MAX_BUFFERS {
            return Err(Errno::Inval);
        }
        let buffers = Buffers { array, count };
        for index in 0..count {
            let (pointer, length) = buffers.get(self, index)?;
            self.range(pointer, length)?;
        }
        Ok(buffers)
    }
}

#[expect(clippy::cast_possible_truncation, reason = "of WASI's types, none of which has more than a few dozen bytes")]
const fn size_of_array<const N: usize>() -> u32 {
    N as u32
}

/// Where the guest's buffers are described. They may overlap each other and even this description, which a read can therefore change
/// under way: each is checked again when it is used.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Buffers {
    array: u32,
    count: u32,
}

impl Buffers {
    fn get(self, memory: &Memory<'_>, index: u32) -> Result<(u32, u32), Errno> {
        let at = index.checked_mul(IOVEC).and_then(|offset| self.array.checked_add(offset)).ok_or(Errno::Fault)?;
        let length_at = at.checked_add(4).ok_or(Errno::Fault)?;
        Ok((memory.read_u32(at)?, memory.read_u32(length_at)?))
    }

    /// Hands each buffer to `read` together with the count so far, until one is not filled or `limit` bytes are in. An error after some
    /// bytes is left for the next call to find, as POSIX has it; the end of the run is not.
    pub(crate) fn fill(
        self,
        memory: &mut Memory<'_>,
        limit: u32,
        mut read: impl FnMut(&mut [u8], u64) -> Result<usize, Stop>,
    ) -> Result<u32, Stop> {
        let mut total = 0;
        for index in 0..self.count {
            let (pointer, length) = self.get(memory, index)?;
            let length = length.min(limit - total);
            let result =
                memory.bytes_mut(pointer, length).map_err(Stop::from).and_then(|target| read(target, u64::from(total)));
            match settle_part(result, length, &mut total)? {
                Part::Whole => {}
                Part::Short => break,
            }
        }
        Ok(total)
    }

    /// Hands each buffer to `write`, as [`fill`](Self::fill) does.
    pub(crate) fn drain(
        self,
        memory: &Memory<'_>,
        limit: u32,
        mut write: impl FnMut(&[u8], u64) -> Result<usize, Stop>,
    ) -> Result<u32, Stop> {
        let mut total = 0;
        for index in 0..self.count {
            let (pointer, length) = self.get(memory, index)?;
            let length = length.min(limit - total);
            let result =
                memory.bytes(pointer, length).map_err(Stop::from).and_then(|source| write(source, u64::from(total)));
            match settle_part(result, length, &mut total)? {
                Part::Whole => {}
                Part::Short => break,
            }
        }
        Ok(total)
    }
}

enum Part {
    Whole,
    Short,
}

fn settle_part(result: Result<usize, Stop>, length: u32, total: &mut u32) -> Result<Part, Stop> {
    match result {
        Ok(count) => {
            // A count is never above the buffer's length, which is a u32.
            let count = u32::try_from(count).unwrap_or(length).min(length);
            *total += count;
            Ok(if count == length { Part::Whole } else { Part::Short })
        }
        Err(Stop::Errno(_)) if *total > 0 => Ok(Part::Short),
        Err(stop) => Err(stop),
    }
}
