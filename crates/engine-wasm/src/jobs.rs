//! The worker's end of the jobs socket: which of its idle threads takes the next job.

use std::fs::File;
use std::io::{self, Read as _};
use std::num::NonZero;
use std::os::fd::OwnedFd;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use crate::protocol::{self, Envelope, Task};

/// Threads that wait at the socket. One is not enough: the next job comes while the first still puts its instance's memory back.
const READY: usize = 2;

/// How long an idle thread looks for a job before it sleeps, if no other thread is busy. Waking it takes 25 to 35 µs,
/// half as long as a short run; a caller that comes back at once, as an agent's loop does, need not pay that. With
/// other runs going on, there is better use for a processor.
const LOOKS_FOR: Duration = Duration::from_micros(80);

/// Where threads wait for jobs.
///
/// All of them could wait at the socket, but the kernel would wake the one that has waited longest: each run would be
/// on another thread, with another stack and another heap, none of it in the cache. So most of them rest until those at
/// the socket are all busy.
#[derive(Debug)]
pub(crate) struct Jobs {
    socket: Arc<OwnedFd>,
    processors: usize,
    threads: Mutex<Threads>,
    wanted: Condvar,
}

#[derive(Debug)]
struct Threads {
    /// With a job, or not here yet.
    busy: u32,
    ready: usize,
    resting: usize,
}

impl Jobs {
    /// For so many threads, each of which comes here when it has started.
    pub(crate) fn new(socket: OwnedFd, threads: u32) -> Self {
        let processors = std::thread::available_parallelism().map_or(1, NonZero::get);
        let threads = Threads { busy: threads, ready: 0, resting: 0 };
        Self { socket: Arc::new(socket), processors, threads: Mutex::new(threads), wanted: Condvar::new() }
    }

    /// Where the answers go.
    pub(crate) fn socket(&self) -> &Arc<OwnedFd> {
        &self.socket
    }

    /// Waits for a job, with the files that come beside it. `None`: the server is gone.
    pub(crate) fn next(&self, buffer: &mut [u8]) -> io::Result<Option<(Task, Vec<OwnedFd>)>> {
        self.get_ready();
        let received = self.receive(buffer);
        self.leave();
        let Some((length, descriptors)) = received? else { return Ok(None) };
        let mut descriptors = descriptors.into_iter();
        match protocol::decode::<Envelope>(buffer.get(..length).unwrap_or_default())? {
            Envelope::Inline(task) => Ok(Some((*task, descriptors.collect()))),
            Envelope::Beside(length) => {
                let memfd = descriptors.next().ok_or(io::ErrorKind::InvalidData)?;
                let mut packed = Vec::with_capacity(usize::try_from(length).map_err(|_| io::ErrorKind::InvalidData)?);
                File::from(memfd).take(length).read_to_end(&mut packed)?;
                Ok(Some((protocol::decode(&packed)?, descriptors.collect())))
            }
        }
    }

    fn receive(&self, buffer: &mut [u8]) -> io::Result<Option<(usize, Vec<OwnedFd>)>> {
        // With a single processor, a thread that looks keeps the sender from sending.
        let looks = self.processors > 1 && self.lock().busy == 0;
        let end = looks.then(|| Instant::now() + LOOKS_FOR);
        while end.is_some_and(|end| Instant::now() < end) {
            match protocol::receive_waiting_bytes(&*self.socket, buffer) {
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => std::thread::yield_now(),
                received => return received,
            }
        }
        protocol::receive_bytes(&*self.socket, buffer)
    }

    fn get_ready(&self) {
        let mut threads = self.lock();
        threads.busy -= 1;
        while threads.ready >= READY {
            threads.resting += 1;
            threads = self.wanted.wait(threads).unwrap_or_else(PoisonError::into_inner);
            threads.resting -= 1;
        }
        threads.ready += 1;
    }

    /// The last one to leave the socket calls another to it.
    fn leave(&self) {
        let mut threads = self.lock();
        threads.ready -= 1;
        threads.busy += 1;
        if threads.ready == 0 && threads.resting > 0 {
            self.wanted.notify_one();
        }
    }

    fn lock(&self) -> MutexGuard<'_, Threads> {
        self.threads.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
