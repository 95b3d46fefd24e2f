//! Waiting.

use std::time::Duration;

use super::{Call, Stop};
use crate::abi::{clock, encode};
use crate::descriptors::What;
use crate::{Errno, Host};

/// The most subscriptions in one call: one to read and one to write for every descriptor, and some clocks.
pub const MAX_SUBSCRIPTIONS: u32 = 4_096;

/// Bytes of a `subscription` and of an `event`.
const SUBSCRIPTION: u32 = 48;
const EVENT: u32 = 32;
/// `subclockflags`: the timeout is a time on the clock instead of a duration.
const ABSOLUTE: u16 = 1;
/// `eventrwflags`: there will be no more.
const HANGUP: u64 = 1;

/// What the guest waits for.
struct Subscription {
    userdata: u64,
    tag: Tag,
    wait: Wait,
}

/// `eventtype`.
#[derive(Debug, Clone, Copy)]
#[repr(u8)]
enum Tag {
    Clock = 0,
    FdRead = 1,
    FdWrite = 2,
}

/// When it happens.
enum Wait {
    /// Now: this error, or so many bytes and these flags.
    Now(Result<(u64, u64), Errno>),
    /// In so many nanoseconds.
    After(u64),
}

/// The clocks, read once: so that two subscriptions for one time agree on whether it has come.
struct Now {
    realtime: u64,
    monotonic: u64,
}

impl<H: Host> Call<'_, H> {
    /// Waits until something happens, and reports everything that has. Streams and files never block, so only clocks
    /// are ever waited for: the earliest, unless something else is ready already.
    pub(super) fn poll_oneoff(
        &mut self,
        subscriptions: u32,
        events: u32,
        nsubscriptions: u32,
        nevents: u32,
    ) -> Result<(), Stop> {
        // With nothing to wait for, this would never return.
        if nsubscriptions == 0 || nsubscriptions > MAX_SUBSCRIPTIONS {
            return Err(Errno::Inval.into());
        }
        self.memory.expect_room(nevents, 4)?;
        self.memory.expect_room(subscriptions, nsubscriptions * SUBSCRIPTION)?;
        self.memory.expect_room(events, nsubscriptions * EVENT)?;

        let now = Now { realtime: self.context.host.realtime(), monotonic: self.context.host.monotonic() };
        let mut earliest = u64::MAX;
        for index in 0..nsubscriptions {
            earliest = match self.subscription(subscriptions, index, &now)?.wait {
                Wait::Now(_) => 0,
                Wait::After(duration) => earliest.min(duration),
            };
        }
        // Asked even when there is nothing to wait for: a guest that only polls still ends in time.
        self.context.host.sleep(Duration::from_nanos(earliest))?;

        // The guest may have laid the events over the subscriptions; then it gets nonsense, but nothing worse.
        let mut count = 0;
        for index in 0..nsubscriptions {
            let Subscription { userdata, tag, wait } = self.subscription(subscriptions, index, &now)?;
            let (errno, (bytes, flags)) = match wait {
                Wait::Now(Ok(ready)) => (Errno::Success, ready),
                Wait::Now(Err(errno)) => (errno, (0, 0)),
                Wait::After(duration) if duration <= earliest => (Errno::Success, (0, 0)),
                Wait::After(_) => continue,
            };
            let kind = u64::from(u16::from(errno)) | u64::from(tag as u8) << 16;
            let event: [u8; EVENT as usize] = encode([userdata, kind, bytes, flags]);
            self.memory.write(at(events, count, EVENT)?, event)?;
            count += 1;
        }
        Ok(self.memory.write_u32(nevents, count)?)
    }

    fn subscription(&self, array: u32, index: u32, now: &Now) -> Result<Subscription, Errno> {
        let start = at(array, index, SUBSCRIPTION)?;
        let field = |offset: u32| start.checked_add(offset).ok_or(Errno::Fault);
        let tag = match self.memory.read_u8(field(8)?)? {
            0 => Tag::Clock,
            1 => Tag::FdRead,
            2 => Tag::FdWrite,
            _ => return Err(Errno::Inval),
        };
        let wait = match tag {
            Tag::Clock => {
                let id = self.memory.read_u32(field(16)?)?;
                let timeout = self.memory.read_u64(field(24)?)?;
                let flags = self.memory.read_u16(field(40)?)?;
                clock_wait(id, timeout, flags, now)
            }
            Tag::FdRead => Wait::Now(self.readable(self.memory.read_u32(field(16)?)?)),
            Tag::FdWrite => Wait::Now(self.writable(self.memory.read_u32(field(16)?)?)),
        };
        Ok(Subscription { userdata: self.memory.read_u64(start)?, tag, wait })
    }

    /// How much there is to read, and whether that is all.
    fn readable(&self, fd: u32) -> Result<(u64, u64), Errno> {
        match &self.context.descriptors.get(fd)?.what {
            What::Stdin => match self.context.stdin.left() {
                0 => Ok((0, HANGUP)),
                left => Ok((left as u64, 0)),
            },
            What::File(file) => Ok((self.context.file_system.size(file.node)?.saturating_sub(file.position), 0)),
            What::Device(..) => Ok((1, 0)),
            What::Output(_) | What::Directory(_) => Err(Errno::Badf),
        }
    }

    fn writable(&self, fd: u32) -> Result<(u64, u64), Errno> {
        match &self.context.descriptors.get(fd)?.what {
            What::Output(_) | What::File(_) | What::Device(..) => Ok((1, 0)),
            What::Stdin | What::Directory(_) => Err(Errno::Badf),
        }
    }
}

/// Where the n-th element of an array is.
fn at(array: u32, index: u32, size: u32) -> Result<u32, Errno> {
    index.checked_mul(size).and_then(|offset| array.checked_add(offset)).ok_or(Errno::Fault)
}

fn clock_wait(id: u32, timeout: u64, flags: u16, now: &Now) -> Wait {
    let time = match id {
        clock::REALTIME => now.realtime,
        clock::MONOTONIC => now.monotonic,
        clock::PROCESS_CPU | clock::THREAD_CPU => return Wait::Now(Err(Errno::Notsup)),
        _ => return Wait::Now(Err(Errno::Inval)),
    };
    match flags {
        0 => Wait::After(timeout),
        ABSOLUTE => Wait::After(timeout.saturating_sub(time)),
        _ => Wait::Now(Err(Errno::Inval)),
    }
}
