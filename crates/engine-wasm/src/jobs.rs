//! The worker's end of the jobs socket: which of its idle threads takes the next job.

use std::fs::File;
use std::io::{self, Read as _};
use std::os::fd::OwnedFd;
use std::sync::{Arc, Condvar, Mutex, PoisonError};

use crate::protocol::{self, Envelope, Job};

/// Threads that wait at the socket. One is not enough: the next job comes while the first still puts its instance's memory back.
const READY: usize = 2;

/// Where threads wait for jobs.
///
/// They could all wait at the socket, but of those the kernel wakes the one that has waited longest: run after run on another thread, with
/// another stack and another heap, none of it in the cache. So most of them rest until those that are ready are all busy.
#[derive(Debug)]
pub(crate) struct Jobs {
    socket: Arc<OwnedFd>,
    threads: Mutex<Threads>,
    wanted: Condvar,
}

#[derive(Debug, Default)]
struct Threads {
    ready: usize,
    resting: usize,
}

impl Jobs {
    pub(crate) fn new(socket: OwnedFd) -> Self {
        Self { socket: Arc::new(socket), threads: Mutex::default(), wanted: Condvar::new() }
    }

    /// Where the answers go.
    pub(crate) fn socket(&self) -> &Arc<OwnedFd> {
        &self.socket
    }

    /// Waits for a job. `None`: the server is gone.
    pub(crate) fn next(&self, buffer: &mut [u8]) -> io::Result<Option<Job>> {
        self.get_ready();
        let received = protocol::receive_bytes(&*self.socket, buffer);
        self.leave();
        let Some((length, descriptors)) = received? else { return Ok(None) };
        match protocol::decode::<Envelope>(buffer.get(..length).unwrap_or_default())? {
            Envelope::Inline(job) => Ok(Some(*job)),
            Envelope::Beside(length) => {
                let [memfd] = <[OwnedFd; 1]>::try_from(descriptors).map_err(|_| io::ErrorKind::InvalidData)?;
                let mut packed = Vec::with_capacity(usize::try_from(length).map_err(|_| io::ErrorKind::InvalidData)?);
                File::from(memfd).take(length).read_to_end(&mut packed)?;
                Ok(Some(protocol::decode(&packed)?))
            }
        }
    }

    fn get_ready(&self) {
        let mut threads = self.threads.lock().unwrap_or_else(PoisonError::into_inner);
        while threads.ready >= READY {
            threads.resting += 1;
            threads = self.wanted.wait(threads).unwrap_or_else(PoisonError::into_inner);
            threads.resting -= 1;
        }
        threads.ready += 1;
    }

    /// The last one to leave the socket calls another to it.
    fn leave(&self) {
        let mut threads = self.threads.lock().unwrap_or_else(PoisonError::into_inner);
        threads.ready -= 1;
        if threads.ready == 0 && threads.resting > 0 {
            self.wanted.notify_one();
        }
    }
}
