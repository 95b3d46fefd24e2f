//! What a run left in its workspace. The guest made all of it: names, links, depth, sizes. Nothing here follows a link,
//! blocks on a FIFO or reads more than its caps.

use std::collections::HashMap;
use std::ffi::{CStr, CString, OsStr};
use std::fs::File;
use std::hash::{BuildHasher as _, Hash, RandomState};
use std::io::Read as _;
use std::mem::{Discriminant, discriminant};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStrExt as _;
use std::rc::Rc;

use rustix::fs::{AtFlags, Dir, FileType, Mode, OFlags, ResolveFlags, Stat, openat2, statat};
use sandbox::{Collect, OutputFile, SkipReason, SkippedFile, WorkspacePath};

/// The most entries that are looked at. The guest pays out of its own file limit; we pay in time.
const MAX_ENTRIES: usize = 100_000;
/// How many levels of folders are looked into. All folders on the way down are kept open.
const MAX_DEPTH: usize = 64;

/// What was found.
#[derive(Debug, Default)]
pub(crate) struct Collected {
    pub(crate) found: Vec<OutputFile>,
    pub(crate) skipped: Vec<SkippedFile>,
}

/// A file as it was given to the run: its path and contents.
pub(crate) type Given<'a> = (&'a str, &'a [u8]);

/// Everything below `workspace`, except files of `given` that are unchanged.
pub(crate) fn collect(workspace: &OwnedFd, given: &[Given<'_>], wanted: Collect) -> Collected {
    let mut collection = Collection::new(given, wanted);
    let missed = walk(workspace, &[], |entry| {
        match entry.found {
            Found::File(_) => collection.file(entry),
            Found::Folder => {}
            Found::Other(_) => collection.skip(entry.path, SkipReason::NotRegular),
        }
        true
    });
    for (path, reason) in missed {
        collection.skip(&path, reason);
    }
    collection.finish()
}

/// What a workspace held when it was last looked at, as a hash of each path and of what was there: a guest chooses how
/// many paths it has and how long they are, and sessions stay. The hashes' keys are secret, so no guest can produce a
/// collision.
#[derive(Debug, Default)]
pub(crate) struct Survey {
    keys: [RandomState; 2],
    seen: HashMap<[u64; 2], u64>,
}

/// What a name stood for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum Seen {
    File(Stamp),
    Folder,
    Other(Stamp),
    /// It could not be looked at.
    Missed(Discriminant<SkipReason>),
}

/// A guest can set anything about a file except its change time.
type Stamp = (u64, i64, i64, i64);

fn stamp(stat: &Stat) -> Stamp {
    (stat.st_ino, stat.st_size, stat.st_ctime, i64::try_from(stat.st_ctime_nsec).unwrap_or(0))
}

impl Seen {
    fn of(found: &Found<'_>) -> Self {
        match found {
            Found::File(stat) => Self::File(stamp(stat)),
            Found::Folder => Self::Folder,
            Found::Other(stat) => Self::Other(stamp(stat)),
        }
    }
}

impl Survey {
    pub(crate) fn of(workspace: &OwnedFd) -> Self {
        Self::default().changes(workspace, Collect::Names, Told::Nothing).1
    }

    /// Files that were made or changed since, those that are not brought back, and a survey of the present state.
    pub(crate) fn changes(&self, workspace: &OwnedFd, wanted: Collect, told: Told) -> (Collected, Self) {
        let mut collection = Collection::new(&[], wanted);
        let mut now = Self { keys: self.keys.clone(), seen: HashMap::new() };
        let missed = walk(workspace, &[], |entry| {
            let (path, seen) = (self.hash_of(entry.path), self.hash_of_seen(Seen::of(&entry.found)));
            match entry.found {
                _ if told == Told::Nothing || self.seen.get(&path) == Some(&seen) => {}
                Found::File(_) => collection.file(entry),
                Found::Folder => {}
                Found::Other(_) => collection.skip(entry.path, SkipReason::NotRegular),
            }
            now.seen.insert(path, seen);
            true
        });
        for (path, reason) in missed {
            let (hash, seen) = (self.hash_of(&path), self.hash_of_seen(Seen::Missed(discriminant(&reason))));
            if told == Told::Changes && self.seen.get(&hash) != Some(&seen) {
                collection.skip(&path, reason);
            }
            now.seen.insert(hash, seen);
        }
        (collection.finish(), now)
    }

    /// Whether something has that name.
    pub(crate) fn has(&self, path: &str) -> bool {
        self.seen.contains_key(&self.hash_of(path.as_bytes()))
    }

    fn hash_of(&self, path: &[u8]) -> [u64; 2] {
        self.keys.each_ref().map(|key| key.hash_one(path))
    }

    fn hash_of_seen(&self, seen: Seen) -> u64 {
        let [key, _] = &self.keys;
        key.hash_one(seen)
    }
}

/// What a look at a workspace is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Told {
    /// To compare with the next time.
    Nothing,
    Changes,
}

/// The names of the files at the top level.
pub(crate) fn files_at_top(workspace: &OwnedFd) -> Vec<CString> {
    let mut names = Vec::new();
    // Those come first.
    walk(workspace, &[], |entry| {
        let is_at_top = !entry.path.contains(&b'/');
        if is_at_top && matches!(entry.found, Found::File(_)) {
            names.push(entry.name.to_owned());
        }
        is_at_top
    });
    names
}

/// Something that a walk comes across.
pub(crate) struct Entry<'a> {
    /// Relative to the workspace.
    pub(crate) path: &'a [u8],
    /// The folder it is in, and its name there.
    folder: BorrowedFd<'a>,
    name: &'a CStr,
    pub(crate) found: Found<'a>,
}

/// The kinds of things that a walk finds.
pub(crate) enum Found<'a> {
    File(&'a Stat),
    Folder,
    /// A link, a FIFO, a socket.
    Other(&'a Stat),
}

/// Reports everything below a folder of the workspace, until `found` says that it is enough. Returns what could not be
/// looked at, and why.
///
/// Each entry is opened from the folder it was found in: if it were opened from the workspace, the kernel would have to
/// walk the whole path every time.
pub(crate) fn walk(
    workspace: &OwnedFd,
    top: &[u8],
    mut found: impl FnMut(&Entry<'_>) -> bool,
) -> Vec<(Vec<u8>, SkipReason)> {
    let first = Pending { parent: None, name_at: 0, path: top.to_vec(), depth: 0 };
    let (mut pending, mut seen, mut missed) = (vec![first], 0, Vec::new());
    while let Some(Pending { parent, name_at, path: folder, depth }) = pending.pop() {
        let parent = parent.as_ref().map_or(workspace.as_fd(), |parent| parent.as_fd());
        let opened = open_beneath(parent, folder.get(name_at..).unwrap_or_default(), OFlags::DIRECTORY)
            .and_then(|opened| Ok((Dir::read_from(&opened)?, Rc::new(opened))));
        let Ok((entries, opened)) = opened else {
            miss(&mut missed, folder, SkipReason::Unreadable);
            continue;
        };
        for entry in entries.flatten() {
            let name = entry.file_name().to_bytes();
            if name == b"." || name == b".." {
                continue;
            }
            seen += 1;
            let path = if folder.is_empty() { name.to_vec() } else { [&folder, name].join(&b'/') };
            if seen > MAX_ENTRIES {
                miss(&mut missed, path, SkipReason::TooMany);
                break;
            }
            if path.len() > WorkspacePath::MAX_LENGTH {
                miss(&mut missed, path, SkipReason::TooMany);
                continue;
            }
            let Ok(stat) = statat(&opened, entry.file_name(), AtFlags::SYMLINK_NOFOLLOW) else {
                miss(&mut missed, path, SkipReason::Unreadable);
                continue;
            };
            let what = match FileType::from_raw_mode(stat.st_mode) {
                FileType::Directory => Found::Folder,
                FileType::RegularFile => Found::File(&stat),
                FileType::Symlink
                | FileType::Fifo
                | FileType::Socket
                | FileType::CharacterDevice
                | FileType::BlockDevice
                | FileType::Unknown => Found::Other(&stat),
            };
            let is_folder = matches!(what, Found::Folder);
            if !found(&Entry { path: &path, folder: opened.as_fd(), name: entry.file_name(), found: what }) {
                return missed;
            }
            if is_folder && depth == MAX_DEPTH {
                miss(&mut missed, path, SkipReason::TooMany);
            } else if is_folder {
                let name_at = path.len() - name.len();
                pending.push(Pending { parent: Some(Rc::clone(&opened)), name_at, path, depth: depth + 1 });
            }
        }
    }
    missed
}

/// A folder still to be looked into.
struct Pending {
    /// The folder it was found in; `None` for the workspace.
    parent: Option<Rc<OwnedFd>>,
    /// Where its own name begins in its path.
    name_at: usize,
    path: Vec<u8>,
    depth: usize,
}

/// Does work that may take long, since a guest decides how much there is, while the server's other tasks go on.
pub(crate) fn beside_others<T>(work: impl FnOnce() -> T) -> T {
    use tokio::runtime::{Handle, RuntimeFlavor};

    match Handle::try_current().map(|handle| handle.runtime_flavor()) {
        Ok(RuntimeFlavor::MultiThread) => tokio::task::block_in_place(work),
        // With one thread there is nobody to hand them to.
        Ok(_) | Err(_) => work(),
    }
}

/// Notes what could not be looked at, but no more than will be reported: the guest chooses how much there is.
fn miss(missed: &mut Vec<(Vec<u8>, SkipReason)>, path: Vec<u8>, reason: SkipReason) {
    if missed.len() < SkippedFile::MAX_COUNT {
        missed.push((path, reason));
    }
}

struct Collection<'a> {
    inputs: HashMap<&'a str, &'a [u8]>,
    wanted: Collect,
    budget: u64,
    collected: Collected,
}

impl<'a> Collection<'a> {
    fn new(given: &'a [Given<'a>], wanted: Collect) -> Self {
        let inputs = given.iter().copied().collect();
        Self { inputs, wanted, budget: OutputFile::MAX_CONTENTS, collected: Collected::default() }
    }

    fn finish(mut self) -> Collected {
        self.collected.found.sort_by(|a, b| a.path.cmp(&b.path));
        self.collected.skipped.sort_by(|a, b| a.path.cmp(&b.path));
        self.collected
    }

    fn file(&mut self, entry: &Entry<'_>) {
        let path = entry.path;
        let Ok(checked) = WorkspacePath::new(OsStr::from_bytes(path)) else {
            return self.skip(path, SkipReason::Name);
        };
        // NONBLOCK: if it has become a FIFO since, the open does not wait for a writer.
        let Ok(file) = open_beneath(entry.folder, entry.name.to_bytes(), OFlags::NONBLOCK | OFlags::NOCTTY) else {
            return self.skip(path, SkipReason::Unreadable);
        };
        let file = File::from(file);
        let Ok(metadata) = file.metadata() else {
            return self.skip(path, SkipReason::Unreadable);
        };
        if !metadata.is_file() {
            return self.skip(path, SkipReason::NotRegular);
        }
        let size = metadata.len();
        if self.inputs.get(checked.as_str()).is_some_and(|given| given.len() as u64 == size && holds(&file, given)) {
            return;
        }
        if self.collected.found.len() >= OutputFile::MAX_COUNT {
            return self.skip(path, SkipReason::TooMany);
        }
        let contents = match self.wanted {
            Collect::Names => None,
            Collect::Contents if size > self.budget => return self.skip(path, SkipReason::TooLarge),
            Collect::Contents => match read(&file, size) {
                Some(contents) => {
                    self.budget -= contents.len() as u64;
                    Some(contents)
                }
                None => return self.skip(path, SkipReason::Unreadable),
            },
        };
        self.collected.found.push(OutputFile { path: checked, size, contents });
    }

    fn skip(&mut self, path: &[u8], reason: SkipReason) {
        if self.collected.skipped.len() < SkippedFile::MAX_COUNT {
            let shown = path.escape_ascii().take(256).map(char::from).collect();
            self.collected.skipped.push(SkippedFile { path: shown, reason });
        }
    }
}

/// Opens a path below the workspace and nowhere else: no link, no `..`, no other file system, checked by the kernel as
/// it walks.
pub(crate) fn open_beneath(workspace: BorrowedFd<'_>, path: &[u8], flags: OFlags) -> rustix::io::Result<OwnedFd> {
    let resolve =
        ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS | ResolveFlags::NO_MAGICLINKS | ResolveFlags::NO_XDEV;
    let path = if path.is_empty() { b".".as_slice() } else { path };
    openat2(workspace, OsStr::from_bytes(path), flags | OFlags::RDONLY | OFlags::CLOEXEC, Mode::empty(), resolve)
}

fn read(file: &File, size: u64) -> Option<Vec<u8>> {
    let mut contents = Vec::new();
    // Never more than the size that was checked against the budget, even if the file is growing.
    file.take(size).read_to_end(&mut contents).ok()?;
    Some(contents)
}

fn holds(file: &File, expected: &[u8]) -> bool {
    let mut offset = 0;
    let mut buffer = vec![0; 64 << 10];
    while let Some(rest) = expected.get(offset..).filter(|rest| !rest.is_empty()) {
        match std::os::unix::fs::FileExt::read_at(file, &mut buffer, offset as u64) {
            Ok(count) if count > 0 && rest.get(..count) == buffer.get(..count) => offset += count,
            _ => return false,
        }
    }
    true
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::symlink;

    use rustix::fs::mkdirat;

    use super::*;

    #[test]
    fn what_a_session_leaves_where_it_is_is_told_once() {
        let folder = tempfile::tempdir().expect("a folder");
        let workspace = openat2(
            rustix::fs::CWD,
            folder.path(),
            OFlags::PATH | OFlags::DIRECTORY,
            Mode::empty(),
            ResolveFlags::empty(),
        )
        .expect("it is there");
        let changes = |since: &Survey| {
            let (collected, now) = since.changes(&workspace, Collect::Names, Told::Changes);
            let skipped = collected.skipped.into_iter().map(|file| (file.path, file.reason));
            let found = collected.found.into_iter().map(|file| file.path.to_string());
            ((found.collect::<Vec<_>>(), skipped.collect::<Vec<_>>()), now)
        };
        let before = Survey::of(&workspace);
        symlink("nowhere", folder.path().join("link")).expect("linked");
        let (told, now) = changes(&before);
        assert_eq!(told, (vec![], vec![("link".to_owned(), SkipReason::NotRegular)]));
        assert!(now.has("link"));
        fs::write(folder.path().join("file"), "new").expect("written");
        assert_eq!(changes(&now).0, (vec!["file".to_owned()], vec![]));
    }

    #[test]
    fn a_path_that_is_too_long_hides_nothing_beside_it() {
        let folder = tempfile::tempdir().expect("a folder");
        let open = |at: &OwnedFd, name: &str| open_beneath(at.as_fd(), name.as_bytes(), OFlags::DIRECTORY);
        let workspace = OwnedFd::from(File::open(folder.path()).expect("it is there"));
        let deepest = (0..12).fold(workspace.try_clone().expect("a copy"), |at, _| {
            mkdirat(&at, "d".repeat(250), Mode::RWXU).expect("made");
            open(&at, &"d".repeat(250)).expect("made")
        });
        for number in 0..20 {
            for name in [format!("{number}"), format!("{number}-{}", "x".repeat(100))] {
                let flags = OFlags::CREATE | OFlags::WRONLY;
                rustix::fs::openat(&deepest, name, flags, Mode::RUSR).expect("made");
            }
        }
        let collected = collect(&workspace, &[], Collect::Names);
        assert_eq!((collected.found.len(), collected.skipped.len()), (20, 20));
    }

    #[test]
    fn what_is_too_deep_is_told_and_costs_nobody_anything() {
        let folder = tempfile::tempdir().expect("a folder");
        let workspace = OwnedFd::from(File::open(folder.path()).expect("it is there"));
        let mut deepest = workspace.try_clone().expect("a copy");
        for depth in 0..1_500 {
            let flags = OFlags::CREATE | OFlags::WRONLY;
            rustix::fs::openat(&deepest, "file", flags, Mode::RUSR).expect("made");
            mkdirat(&deepest, "d", Mode::RWXU).expect("made");
            deepest = open_beneath(deepest.as_fd(), b"d", OFlags::DIRECTORY).unwrap_or_else(|_| panic!("{depth}"));
        }
        let collected = collect(&workspace, &[], Collect::Names);
        assert_eq!(collected.found.len(), MAX_DEPTH + 1);
        let skipped: Vec<_> = collected.skipped.iter().map(|file| (file.path.as_str(), file.reason)).collect();
        assert_eq!(skipped, [(vec!["d"; MAX_DEPTH + 1].join("/").as_str(), SkipReason::TooMany)]);
        assert_eq!(files_at_top(&workspace), [c"file".to_owned()]);
    }

    #[test]
    fn a_survey_keeps_no_paths() {
        let folder = tempfile::tempdir().expect("a folder");
        let workspace = OwnedFd::from(File::open(folder.path()).expect("it is there"));
        for number in 0..100 {
            fs::write(folder.path().join(format!("{number}-{}", "x".repeat(200))), "").expect("written");
        }
        let survey = Survey::of(&workspace);
        assert_eq!(survey.seen.len(), 100);
        assert!(survey.has(&format!("7-{}", "x".repeat(200))) && !survey.has("7"));
        let (changes, _) = survey.changes(&workspace, Collect::Names, Told::Changes);
        assert_eq!((changes.found.len(), changes.skipped.len()), (0, 0));
    }
}
