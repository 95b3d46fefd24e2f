//! Saved sessions: files in a folder of the server's, a caller's own apart from another's.

use std::fs::{self, DirBuilder, File};
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};

use runtime::RunError;
use rustix::fs::{FlockOperation, flock};
use sandbox::{EngineError, Principal, Refusal, SessionName};
use sha2::{Digest as _, Sha256};

use crate::hex::hex;
use crate::runs;

/// The most that one caller has.
const MOST: usize = 32;

/// How names of what is being saved begin. No session's does.
const DRAFT: &str = ".";

/// Where they are.
#[derive(Debug)]
pub(crate) struct Saved {
    folder: PathBuf,
}

/// A session that is being saved. Leaves nothing unless it is kept; of a server that was killed, the next one removes it.
#[derive(Debug)]
pub(crate) struct Place {
    draft: PathBuf,
    target: PathBuf,
    /// Locked as long as somebody writes it.
    file: File,
}

#[derive(Debug, thiserror::Error)]
#[error("saved sessions cannot be read or written: {0}")]
struct Unusable(io::Error);

fn failed(error: io::Error) -> RunError {
    EngineError::new(Unusable(error)).into()
}

impl Saved {
    pub(crate) fn new(folder: PathBuf) -> Self {
        let saved = Self { folder };
        saved.sweep();
        saved
    }

    /// Removes what was being saved by servers that are gone.
    fn sweep(&self) {
        let entries = |folder: &Path| fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path());
        for path in entries(&self.folder).flat_map(|folder| entries(&folder)) {
            let is_draft = path.file_name().is_some_and(|name| name.as_encoded_bytes().starts_with(DRAFT.as_bytes()));
            let is_left = |file: File| flock(&file, FlockOperation::NonBlockingLockExclusive).is_ok();
            if is_draft && File::open(&path).is_ok_and(is_left) {
                fs::remove_file(&path).ok();
            }
        }
    }

    /// Names of callers are not names of files.
    fn folder_of(&self, owner: &Principal) -> PathBuf {
        self.folder.join(hex(&Sha256::digest(owner.to_string().as_bytes())))
    }

    pub(crate) fn begin(&self, owner: &Principal, name: &SessionName) -> Result<Place, RunError> {
        let folder = self.folder_of(owner);
        DirBuilder::new().recursive(true).mode(0o700).create(&folder).map_err(failed)?;
        let target = folder.join(format!("{name}.session"));
        let saved = saved_in(&folder);
        if saved.len() >= MOST && !saved.contains(&target) {
            let message = format!("there are {MOST} saved sessions already");
            return Err(Refusal::new("as", message, "save over one of them, by its name").into());
        }
        loop {
            let draft = folder.join(format!("{DRAFT}{}", runs::new_name()));
            let file = File::options().read(true).write(true).create_new(true).mode(0o600).open(&draft);
            let file = file.map_err(failed)?;
            // Unless another server has taken it for one that was left.
            let is_locked = flock(&file, FlockOperation::NonBlockingLockExclusive).is_ok();
            if is_locked && file.metadata().map_err(failed)?.nlink() > 0 {
                return Ok(Place { draft, target, file });
            }
        }
    }

    pub(crate) fn open(&self, owner: &Principal, name: &SessionName) -> Result<OwnedFd, RunError> {
        match File::open(self.folder_of(owner).join(format!("{name}.session"))) {
            Ok(file) => Ok(file.into()),
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                let message = format!("there is no saved session `{name}`");
                Err(Refusal::new("session", message, "save one with `save_session`").into())
            }
            Err(error) => Err(failed(error)),
        }
    }
}

fn saved_in(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path());
    entries.filter(|path| path.extension().is_some_and(|extension| extension == "session")).collect()
}

impl Place {
    /// Where to write.
    pub(crate) fn file(&self) -> Result<OwnedFd, RunError> {
        Ok(self.file.try_clone().map_err(failed)?.into())
    }

    /// It is complete; how large it is.
    pub(crate) fn keep(self) -> Result<u64, RunError> {
        let size = self.file.metadata().map_err(failed)?.len();
        fs::rename(&self.draft, &self.target).map_err(failed)?;
        Ok(size)
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        // Not there any more if it was kept.
        fs::remove_file(&self.draft).ok();
    }
}

#[cfg(test)]
mod tests {
    use std::io::{Read as _, Write as _};

    use super::*;

    #[test]
    fn what_a_dead_server_was_saving_goes_and_what_another_saves_stays() {
        let folder = tempfile::tempdir().expect("a folder");
        let saved = Saved::new(folder.path().to_owned());
        let (ada, name) = (Principal::new("ada"), SessionName::new("work").expect("a name"));
        let place = saved.begin(&ada, &name).expect("a place");
        let left = saved.folder_of(&ada).join(format!("{DRAFT}left"));
        fs::write(&left, "half").expect("write");
        Saved::new(folder.path().to_owned());
        assert!(fs::symlink_metadata(left).is_err());
        assert_eq!(place.keep().ok(), Some(0));
    }

    #[test]
    fn a_saved_session_is_its_owners() {
        let folder = tempfile::tempdir().expect("a folder");
        let saved = Saved::new(folder.path().join("sessions"));
        let (ada, grace) = (Principal::new("ada"), Principal::new("../grace"));
        let name = SessionName::new("work").expect("a name");
        let place = saved.begin(&ada, &name).expect("a place");
        File::from(place.file().expect("a file")).write_all(b"state").expect("write");
        assert!(saved.open(&ada, &name).is_err(), "not before it is complete");
        assert_eq!(place.keep().ok(), Some(5));
        let mut text = String::new();
        File::from(saved.open(&ada, &name).expect("saved")).read_to_string(&mut text).expect("read");
        assert_eq!(text, "state");
        assert!(saved.open(&grace, &name).is_err());
        drop(saved.begin(&grace, &name).expect("a place"));
        assert!(saved.open(&grace, &name).is_err(), "given up");
        let left = fs::read_dir(saved.folder_of(&grace)).expect("a folder").count();
        assert_eq!(left, 0);
    }
}
