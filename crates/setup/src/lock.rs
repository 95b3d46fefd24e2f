//! One process at a time.
//!
//! A lock is the kernel's (`flock`): it is free as soon as nobody holds its file open, however its holder ended. The
//! file stays: if it were removed while somebody is about to lock it, two could believe that they hold the lock.

use std::fs::{File, OpenOptions};
use std::io::{self, Read as _, Seek as _, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;
use std::thread;
use std::time::Duration;

use rustix::fs::{FlockOperation, flock};
use rustix::io::Errno;

use crate::error::{FileError, SetupError, at};
use crate::event::{Cancel, Reporter};

/// How soon a waiting process notices that a lock is free, or that it should stop.
const POLL: Duration = Duration::from_millis(50);

/// The most that is read of what a holder says about itself. The holder is one of us, but the file may be damaged.
const MOST_WORDS: u64 = 128;

/// A lock that is held until it is dropped, and by every process that holds a duplicate.
#[derive(Debug)]
pub(crate) struct Lock(File);

impl Lock {
    /// Waits until the lock is ours. `purpose` is shown to others who wait for it meanwhile.
    pub(crate) fn take(
        path: &Path,
        purpose: &str,
        cancel: &Cancel,
        reporter: &mut Reporter<'_>,
    ) -> Result<Self, SetupError> {
        let file = open(path)?;
        let mut said = None;
        while !try_lock(&file, path)? {
            cancel.check()?;
            let other = holder(path);
            if said.as_ref() != Some(&other) {
                reporter.waiting(other.clone());
                said = Some(other);
            }
            thread::sleep(POLL);
        }
        announce(&file, purpose).map_err(at("write", path))?;
        Ok(Self(file))
    }

    /// Waits for a lock that nobody holds for long.
    pub(crate) fn wait(path: &Path) -> Result<Self, FileError> {
        let file = open(path)?;
        loop {
            match flock(&file, FlockOperation::LockExclusive) {
                Ok(()) => return Ok(Self(file)),
                Err(Errno::INTR) => {}
                Err(error) => return Err(at("lock", path)(error.into())),
            }
        }
    }

    /// The lock, if it is free.
    pub(crate) fn try_take(path: &Path) -> Result<Option<Self>, FileError> {
        let file = open(path)?;
        Ok(try_lock(&file, path)?.then_some(Self(file)))
    }

    /// For a child process: as long as it, or a child of it, lives, the lock is held.
    pub(crate) fn duplicate(&self) -> io::Result<File> {
        self.0.try_clone()
    }
}

fn open(path: &Path) -> Result<File, FileError> {
    let mut options = OpenOptions::new();
    options.read(true).write(true).create(true).truncate(false).mode(0o600);
    options.open(path).map_err(at("open the lock", path))
}

fn try_lock(file: &File, path: &Path) -> Result<bool, FileError> {
    match flock(file, FlockOperation::NonBlockingLockExclusive) {
        Ok(()) => Ok(true),
        Err(Errno::WOULDBLOCK | Errno::INTR) => Ok(false),
        Err(error) => Err(at("lock", path)(error.into())),
    }
}

fn announce(mut file: &File, purpose: &str) -> io::Result<()> {
    file.set_len(0)?;
    file.rewind()?;
    file.write_all(purpose.as_bytes())
}

/// What the holder does, in its own words.
fn holder(path: &Path) -> String {
    let mut words = Vec::new();
    if let Ok(file) = File::open(path) {
        file.take(MOST_WORDS).read_to_end(&mut words).ok();
    }
    let words = String::from_utf8_lossy(&words);
    words.chars().filter(|c| !c.is_control()).collect()
}
