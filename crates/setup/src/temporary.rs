//! What is being written. It has no name that anybody looks at until it is complete.

use std::fs::{self, DirBuilder, File};
use std::os::unix::fs::DirBuilderExt as _;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

use rustix::fs::{FlockOperation, flock};

use crate::error::{FileError, at};
use crate::layout::Layout;
use crate::lock::Lock;

/// A folder in `tmp/`, on the same file system as everything else. Removed when dropped, or swept by the next process.
#[derive(Debug)]
pub(crate) struct Temporary {
    folder: PathBuf,
    /// Locked as long as the process lives. Nothing else tells a folder in use from a left one as surely: process ids come back.
    _held: File,
}

impl Temporary {
    pub(crate) fn make(layout: &Layout) -> Result<Self, FileError> {
        static SERIAL: AtomicU64 = AtomicU64::new(0);
        // A sweeper must not come between the making and the locking.
        let _gate = gate(layout)?;
        loop {
            let serial = SERIAL.fetch_add(1, Ordering::Relaxed);
            let folder = layout.tmp().join(format!("{}-{serial}", std::process::id()));
            match DirBuilder::new().mode(0o700).create(&folder) {
                Ok(()) => {}
                // Left by a process that had our id; or it is of another pid namespace and alive.
                Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => continue,
                Err(error) => return Err(at("make the folder", &folder)(error)),
            }
            let held = File::open(&folder).map_err(at("open", &folder))?;
            flock(&held, FlockOperation::NonBlockingLockExclusive)
                .map_err(|error| at("lock", &folder)(error.into()))?;
            return Ok(Self { folder, _held: held });
        }
    }

    pub(crate) fn path(&self, name: impl AsRef<Path>) -> PathBuf {
        self.folder.join(name)
    }
}

impl Drop for Temporary {
    fn drop(&mut self) {
        // What could not be removed is swept at the next start.
        fs::remove_dir_all(&self.folder).ok();
    }
}

/// Removes what processes that are no more have left. Not being able to is no reason to fail.
pub(crate) fn sweep(layout: &Layout) {
    let Ok(_gate) = gate(layout) else { return };
    let Ok(entries) = fs::read_dir(layout.tmp()) else { return };
    for entry in entries.flatten() {
        if is_left(&entry.path()) {
            fs::remove_dir_all(entry.path()).ok();
        }
    }
}

fn is_left(folder: &Path) -> bool {
    File::open(folder).is_ok_and(|folder| flock(&folder, FlockOperation::NonBlockingLockExclusive).is_ok())
}

/// Held for moments only, so waiting for it needs no words and no way out.
fn gate(layout: &Layout) -> Result<Lock, FileError> {
    Lock::wait(&layout.lock("tmp"))
}
