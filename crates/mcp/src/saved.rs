//! Saved sessions: files in a folder of the server's, a caller's own apart from another's.

use std::ffi::OsStr;
use std::fs::{self, DirBuilder, File};
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use runtime::RunError;
use rustix::fs::{FlockOperation, flock};
use sandbox::{Bytes, EngineError, Principal, Refusal, SessionName};
use sha2::{Digest as _, Sha256};

use crate::hex::hex;
use crate::runs;

/// The most that one caller has.
const MOST: usize = 32;
/// What they may take of the operator's disk, all of a caller's together.
const MOST_BYTES: u64 = 8 << 30;

/// Those that one caller saves at one time: how large they are is known at their end.
const MOST_DRAFTS: usize = 4;

/// How names of what is being saved begin. No session's does.
const DRAFT: &str = ".";

const ENDING: &str = ".session";

/// Where they are.
#[derive(Debug)]
pub(crate) struct Saved {
    folder: PathBuf,
    /// Held while saved sessions are counted and one more is added.
    counting: Mutex<()>,
}

/// A session that is being saved. Leaves nothing behind unless it is kept; what a killed server leaves, the next one
/// removes.
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
        entries(&folder).for_each(|folder| sweep(&folder));
        Self { folder, counting: Mutex::default() }
    }

    /// Names of callers are not names of files.
    fn folder_of(&self, owner: &Principal) -> PathBuf {
        self.folder.join(hex(&Sha256::digest(owner.to_string().as_bytes())))
    }

    pub(crate) fn begin(&self, owner: &Principal, name: &SessionName) -> Result<Place, RunError> {
        let folder = self.folder_of(owner);
        DirBuilder::new().recursive(true).mode(0o700).create(&folder).map_err(failed)?;
        let target = folder.join(file_name(name));
        let _counting = self.counting.lock().unwrap_or_else(PoisonError::into_inner);
        check_room(&folder, &target, 0)?;
        sweep(&folder);
        if drafts_in(&folder).count() >= MOST_DRAFTS {
            let message = format!("{MOST_DRAFTS} sessions are being saved at this moment");
            return Err(Refusal::new("as", message, "save this one when one of those is done").into());
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

    /// It is complete; how large it is.
    pub(crate) fn keep(&self, place: &Place) -> Result<u64, RunError> {
        let size = place.file.metadata().map_err(failed)?.len();
        let _counting = self.counting.lock().unwrap_or_else(PoisonError::into_inner);
        check_room(place.target.parent().unwrap_or(&self.folder), &place.target, size)?;
        fs::rename(&place.draft, &place.target).map_err(failed)?;
        Ok(size)
    }

    pub(crate) fn open(&self, owner: &Principal, name: &SessionName) -> Result<OwnedFd, RunError> {
        match File::open(self.folder_of(owner).join(file_name(name))) {
            Ok(file) => Ok(file.into()),
            Err(error) => Err(not_had(error, name)),
        }
    }

    /// Names of what a caller has saved.
    pub(crate) fn names(&self, owner: &Principal) -> Vec<String> {
        names_in(&self.folder_of(owner))
    }

    pub(crate) fn remove(&self, owner: &Principal, name: &SessionName) -> Result<(), RunError> {
        fs::remove_file(self.folder_of(owner).join(file_name(name))).map_err(|error| not_had(error, name))
    }
}

fn not_had(error: io::Error, name: &SessionName) -> RunError {
    if error.kind() != io::ErrorKind::NotFound {
        return failed(error);
    }
    let message = format!("there is no saved session `{name}`");
    Refusal::new("session", message, "`list_sessions` names those that there are; `save_session` makes one").into()
}

fn file_name(name: &SessionName) -> String {
    format!("{name}{ENDING}")
}

fn entries(folder: &Path) -> impl Iterator<Item = PathBuf> + use<> {
    fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path())
}

/// What is being saved there.
fn drafts_in(folder: &Path) -> impl Iterator<Item = PathBuf> + use<> {
    let is_draft = |name: &OsStr| name.as_encoded_bytes().starts_with(DRAFT.as_bytes());
    entries(folder).filter(move |path| path.file_name().is_some_and(is_draft))
}

/// Removes what was being saved there by servers that are gone.
fn sweep(folder: &Path) {
    for path in drafts_in(folder) {
        let Ok(file) = File::open(&path) else { continue };
        // It stays locked until it is gone: otherwise, whoever has just made it would take it for their own in between.
        if flock(&file, FlockOperation::NonBlockingLockExclusive).is_ok() {
            fs::remove_file(&path).ok();
        }
    }
}

fn names_in(folder: &Path) -> Vec<String> {
    let names = fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.file_name());
    let mut names: Vec<String> =
        names.filter_map(|name| Some(name.to_str()?.strip_suffix(ENDING)?.to_owned())).collect();
    names.sort_unstable();
    names
}

/// Whether so much more may be saved there.
fn check_room(folder: &Path, target: &Path, size: u64) -> Result<(), Refusal> {
    let others: Vec<PathBuf> = names_in(folder)
        .iter()
        .map(|name| folder.join(format!("{name}{ENDING}")))
        .filter(|path| path != target)
        .collect();
    let hint = "remove one with `close_session` and `saved`, or save over one; `list_sessions` names them";
    if others.len() >= MOST {
        return Err(Refusal::new("as", format!("there are {MOST} saved sessions already"), hint));
    }
    let taken: u64 = others.iter().filter_map(|path| fs::metadata(path).ok()).map(|file| file.len()).sum();
    if taken.saturating_add(size) > MOST_BYTES {
        let message = format!("saved sessions would take more than {}", Bytes::new(MOST_BYTES));
        return Err(Refusal::new("as", message, hint));
    }
    Ok(())
}

impl Place {
    /// Where to write.
    pub(crate) fn file(&self) -> Result<OwnedFd, RunError> {
        Ok(self.file.try_clone().map_err(failed)?.into())
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
    use std::mem::MaybeUninit;

    use rustix::fs::inotify;

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
        assert_eq!(saved.keep(&place).ok(), Some(0));
    }

    #[test]
    fn what_is_left_is_gone_before_it_can_be_locked_again() {
        let folder = tempfile::tempdir().expect("a folder");
        fs::write(folder.path().join(format!("{DRAFT}left")), "half").expect("write");
        let watch = inotify::init(inotify::CreateFlags::CLOEXEC).expect("a watch");
        let what = inotify::WatchFlags::CLOSE_NOWRITE | inotify::WatchFlags::DELETE;
        inotify::add_watch(&watch, folder.path(), what).expect("watched");
        sweep(folder.path());
        let mut buffer = [MaybeUninit::uninit(); 4096];
        let mut events = inotify::Reader::new(&watch, &mut buffer);
        let first = loop {
            let event = events.next().expect("an event");
            // Beside those of the folder itself, which is read.
            if event.file_name().is_some() {
                break event.events();
            }
        };
        assert_eq!(first, inotify::ReadFlags::DELETE);
    }

    #[test]
    fn so_many_are_saved_and_no_more() {
        let folder = tempfile::tempdir().expect("a folder");
        let saved = Saved::new(folder.path().to_owned());
        let ada = Principal::new("ada");
        let name = |number: usize| SessionName::new(&format!("s{number}")).expect("a name");
        let begin = |number| saved.begin(&ada, &name(number)).expect("a place");
        let refused = |number| saved.begin(&ada, &name(number)).err().map(|error| error.to_string());
        for number in 1..MOST {
            saved.keep(&begin(number)).expect("kept");
        }
        // Several at one time: each is let begin, and one is too many when it is done.
        let places: Vec<Place> = (MOST..MOST + MOST_DRAFTS).map(begin).collect();
        assert!(refused(0).is_some_and(|text| text.contains("4 sessions are being saved")));
        let kept = places.into_iter().filter_map(|place| saved.keep(&place).ok()).count();
        assert_eq!((kept, saved.names(&ada).len()), (1, MOST));
        // What a server leaves that was killed meanwhile stands in nobody's way.
        for number in 0..MOST_DRAFTS {
            fs::write(saved.folder_of(&ada).join(format!("{DRAFT}left{number}")), "half").expect("write");
        }
        assert!(refused(99).is_some_and(|text| text.contains("32 saved sessions")));
        assert_eq!(refused(1), None, "over one that is there");
        saved.remove(&ada, &name(2)).expect("there is one");
        assert!(saved.remove(&ada, &name(2)).is_err(), "not twice");
        assert_eq!(refused(99), None, "there is room again");
        let large = saved.begin(&ada, &name(1)).expect("a place");
        large.file.set_len(MOST_BYTES + 1).expect("holes take no room");
        assert!(saved.keep(&large).is_err());
        assert_eq!(fs::metadata(saved.folder_of(&ada).join("s1.session")).expect("what was there").len(), 0);
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
        assert_eq!(saved.keep(&place).ok(), Some(5));
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
