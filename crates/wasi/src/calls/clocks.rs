//! Clocks.

use super::Call;
use crate::abi::clock;
use crate::{Errno, Host};

/// The resolution reported for every clock, in nanoseconds. Clocks are the host's, whose real resolution a guest has no
/// use for.
const RESOLUTION: u64 = 1;

impl<H: Host> Call<'_, H> {
    pub(super) fn clock_res_get(&mut self, id: u32, resolution: u32) -> Result<(), Errno> {
        match id {
            clock::REALTIME | clock::MONOTONIC | clock::PROCESS_CPU | clock::THREAD_CPU => {
                self.memory.write_u64(resolution, RESOLUTION)
            }
            _ => Err(Errno::Inval),
        }
    }

    pub(super) fn clock_time_get(&mut self, id: u32, _precision: u64, time: u32) -> Result<(), Errno> {
        let host = &self.context.host;
        let now = match id {
            clock::REALTIME => host.realtime(),
            clock::MONOTONIC => host.monotonic(),
            // A guest is one thread.
            clock::PROCESS_CPU | clock::THREAD_CPU => host.cpu_time(),
            _ => return Err(Errno::Inval),
        };
        self.memory.write_u64(time, now)
    }
}
