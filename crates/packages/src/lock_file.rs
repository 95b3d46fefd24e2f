//! One process at a time, for what takes a while.

use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;
use std::time::Duration;

use rustix::fs::{FlockOperation, flock};
use rustix::io::Errno;

/// How soon a lock that came free is noticed.
const POLL: Duration = Duration::from_millis(20);

/// Held until it is dropped, however that comes.
#[derive(Debug)]
pub(crate) struct LockFile {
    _file: File,
}

impl LockFile {
    /// Waits until it is ours.
    pub(crate) async fn take(path: &Path) -> io::Result<Self> {
        let file = open(path)?;
        loop {
            match flock(&file, FlockOperation::NonBlockingLockExclusive) {
                Ok(()) => return Ok(Self { _file: file }),
                Err(Errno::WOULDBLOCK | Errno::INTR) => tokio::time::sleep(POLL).await,
                Err(error) => return Err(error.into()),
            }
        }
    }
}

/// A file that is there to be locked.
pub(crate) fn open(path: &Path) -> io::Result<File> {
    OpenOptions::new().read(true).write(true).create(true).truncate(false).mode(0o600).open(path)
}
