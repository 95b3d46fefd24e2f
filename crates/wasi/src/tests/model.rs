//! Random sequences of operations, against a model that is too simple to be wrong: a map from paths. To be saved and restored, or to rest
//! while its disk is elsewhere, changes nothing.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use proptest::prelude::*;

use super::guest::{A_DIRECTORY, A_FILE, A_LINK, CREATE, DIRECTORY, EXCLUSIVE, Guest, READ, TRUNCATE, WRITE};
use crate::{Disk, Errno, Quota, RestoredDisk, SaveReader, SaveWriter, Usage};

const QUOTA: Quota = Quota { bytes: 60, entries: 8 };

#[derive(Debug, Clone)]
enum Operation {
    Open { path: String, oflags: u32 },
    Close { which: usize },
    WriteAt { which: usize, offset: u64, length: usize },
    SetSize { which: usize, size: u64 },
    MakeDirectory { path: String },
    RemoveDirectory { path: String },
    Unlink { path: String },
    Rename { from: String, to: String },
    Link { from: String, to: String },
    Symlink { target: String, path: String },
    Restore,
    Rest,
}

fn path() -> impl Strategy<Value = String> {
    proptest::collection::vec(proptest::sample::select(vec!["a", "b", "c"]), 1..4)
        .prop_map(|names| format!("box/{}", names.join("/")))
}

/// What links lead to: beside them, up, nowhere, in circles.
fn target() -> impl Strategy<Value = String> {
    let targets = vec!["a", "b", "c", "a/b", "../a", "../../box/c", "..", ".", "/box/a", "/box/b/c", "/a"];
    proptest::sample::select(targets).prop_map(str::to_owned)
}

fn operation() -> impl Strategy<Value = Operation> {
    let oflags = proptest::sample::select(vec![0, CREATE, CREATE | EXCLUSIVE, CREATE | TRUNCATE, TRUNCATE]);
    prop_oneof![
        3 => (path(), oflags).prop_map(|(path, oflags)| Operation::Open { path, oflags }),
        1 => (0usize..4).prop_map(|which| Operation::Close { which }),
        3 => (0usize..4, 0u64..70, 0usize..30)
            .prop_map(|(which, offset, length)| Operation::WriteAt { which, offset, length }),
        1 => (0usize..4, 0u64..70).prop_map(|(which, size)| Operation::SetSize { which, size }),
        3 => path().prop_map(|path| Operation::MakeDirectory { path }),
        1 => path().prop_map(|path| Operation::RemoveDirectory { path }),
        1 => path().prop_map(|path| Operation::Unlink { path }),
        3 => (path(), path()).prop_map(|(from, to)| Operation::Rename { from, to }),
        1 => (path(), path()).prop_map(|(from, to)| Operation::Link { from, to }),
        2 => (target(), path()).prop_map(|(target, path)| Operation::Symlink { target, path }),
        1 => Just(Operation::Restore),
        1 => Just(Operation::Rest),
    ]
}

/// What becomes of a link at the end of a path.
#[derive(Clone, Copy, PartialEq)]
enum Last {
    Followed,
    Kept,
}

#[derive(Default)]
struct Model {
    directories: BTreeSet<String>,
    /// Symbolic links too.
    files: BTreeMap<String, usize>,
    /// By the numbers in `files` and `open`; those of neither are gone. A link's is its target.
    contents: Vec<Vec<u8>>,
    /// Which of them are links.
    links: BTreeSet<usize>,
    /// Open descriptors: the real number, and the file's.
    open: Vec<(u32, usize)>,
}

impl Model {
    fn new() -> Self {
        Self { directories: BTreeSet::from(["box".to_owned()]), ..Self::default() }
    }

    fn usage(&self) -> Usage {
        let live: BTreeSet<_> = self.files.values().chain(self.open.iter().map(|(_, file)| file)).collect();
        Usage {
            bytes: live.into_iter().map(|file| self.contents[*file].len() as u64).sum(),
            entries: u32::try_from(self.directories.len() - 1 + self.files.len()).unwrap(),
        }
    }

    fn room(&self) -> u64 {
        QUOTA.bytes - self.usage().bytes
    }

    /// The path without links on the way, all above it being directories. The root's is empty.
    fn walk(&self, path: &str, last: Last) -> Result<String, Errno> {
        let mut here: Vec<String> = Vec::new();
        let mut rest: VecDeque<String> = path.split('/').map(str::to_owned).collect();
        let mut followed = 0;
        while let Some(name) = rest.pop_front() {
            match name.as_str() {
                "." => continue,
                ".." => {
                    here.pop();
                    continue;
                }
                _ => here.push(name),
            }
            let path = here.join("/");
            match self.target(&path) {
                Some(target) if last == Last::Followed || !rest.is_empty() => {
                    followed += 1;
                    if followed > 40 {
                        return Err(Errno::Loop);
                    }
                    here.pop();
                    if target.starts_with('/') {
                        here.clear();
                    }
                    for name in target.rsplit('/').filter(|name| !name.is_empty()) {
                        rest.push_front(name.to_owned());
                    }
                }
                _ if rest.is_empty() => {}
                _ if self.files.contains_key(&path) => return Err(Errno::Notdir),
                _ if !self.directories.contains(&path) => return Err(Errno::Noent),
                _ => {}
            }
        }
        Ok(here.join("/"))
    }

    fn target(&self, path: &str) -> Option<&str> {
        let file = self.files.get(path).filter(|file| self.links.contains(file))?;
        Some(std::str::from_utf8(&self.contents[*file]).unwrap())
    }

    fn is_directory(&self, path: &str) -> bool {
        path.is_empty() || self.directories.contains(path)
    }

    /// What a path leads to.
    fn file_type(&self, path: &str) -> Result<u8, Errno> {
        let path = self.walk(path, Last::Followed)?;
        if self.is_directory(&path) {
            return Ok(A_DIRECTORY);
        }
        self.files.get(&path).map(|_| A_FILE).ok_or(Errno::Noent)
    }

    fn exists(&self, path: &str) -> bool {
        self.files.contains_key(path) || self.is_directory(path)
    }

    fn below<'a>(&'a self, path: &'a str) -> impl Iterator<Item = &'a String> {
        let is_below = move |other: &&String| other.strip_prefix(path).is_some_and(|rest| rest.starts_with('/'));
        self.directories.iter().chain(self.files.keys()).filter(is_below)
    }

    /// Whether there may be something new of so many bytes.
    fn may_add(&self, path: &str, bytes: usize) -> Result<(), Errno> {
        may_change(path)?;
        let fits = self.usage().entries < QUOTA.entries && bytes as u64 <= self.room();
        if fits { Ok(()) } else { Err(Errno::Nospc) }
    }

    fn add(&mut self, path: String, contents: &[u8]) -> Result<usize, Errno> {
        self.may_add(&path, contents.len())?;
        self.contents.push(contents.to_vec());
        self.files.insert(path, self.contents.len() - 1);
        Ok(self.contents.len() - 1)
    }

    fn open(&mut self, path: &str, oflags: u32) -> Result<usize, Errno> {
        // What it would make could be anywhere.
        let last = if oflags & EXCLUSIVE == 0 { Last::Followed } else { Last::Kept };
        let path = self.walk(path, last)?;
        if self.exists(&path) && oflags & EXCLUSIVE != 0 {
            return Err(Errno::Exist);
        }
        if self.is_directory(&path) {
            return Err(Errno::Isdir);
        }
        if let Some(file) = self.files.get(&path) {
            if oflags & TRUNCATE != 0 {
                self.contents[*file].clear();
            }
            return Ok(*file);
        }
        if oflags & CREATE == 0 {
            return Err(Errno::Noent);
        }
        self.add(path, b"")
    }

    fn symlink(&mut self, target: &str, path: &str) -> Result<(), Errno> {
        let path = self.walk(path, Last::Kept)?;
        if self.exists(&path) {
            return Err(Errno::Exist);
        }
        let file = self.add(path, target.as_bytes())?;
        self.links.insert(file);
        Ok(())
    }

    fn write_at(&mut self, file: usize, offset: u64, bytes: &[u8]) -> Result<u32, Errno> {
        let room = self.room();
        let contents = &mut self.contents[file];
        let reach = contents.len() as u64 + room;
        let count = bytes.len().min(usize::try_from(reach.saturating_sub(offset)).unwrap());
        if bytes.is_empty() {
            return Ok(0);
        }
        if count == 0 {
            return Err(Errno::Nospc);
        }
        let start = usize::try_from(offset).unwrap();
        contents.resize(contents.len().max(start + count), 0);
        contents[start..start + count].copy_from_slice(&bytes[..count]);
        Ok(u32::try_from(count).unwrap())
    }

    fn set_size(&mut self, file: usize, size: u64) -> Result<(), Errno> {
        if size > self.contents[file].len() as u64 + self.room() {
            return Err(Errno::Nospc);
        }
        self.contents[file].resize(usize::try_from(size).unwrap(), 0);
        Ok(())
    }

    fn make_directory(&mut self, path: &str) -> Result<(), Errno> {
        let path = self.walk(path, Last::Kept)?;
        if self.exists(&path) {
            return Err(Errno::Exist);
        }
        self.may_add(&path, 0)?;
        self.directories.insert(path);
        Ok(())
    }

    fn remove_directory(&mut self, path: &str) -> Result<(), Errno> {
        let path = self.walk(path, Last::Kept)?;
        if self.files.contains_key(&path) {
            return Err(Errno::Notdir);
        }
        if !self.directories.contains(&path) {
            return Err(Errno::Noent);
        }
        if self.below(&path).next().is_some() {
            return Err(Errno::Notempty);
        }
        self.directories.remove(&path);
        Ok(())
    }

    fn unlink(&mut self, path: &str) -> Result<(), Errno> {
        let path = self.walk(path, Last::Kept)?;
        if self.directories.contains(&path) {
            return Err(Errno::Isdir);
        }
        self.files.remove(&path).map(|_| ()).ok_or(Errno::Noent)
    }

    fn rename(&mut self, from: &str, to: &str) -> Result<(), Errno> {
        let (from, to) = (&*self.walk(from, Last::Kept)?, &*self.walk(to, Last::Kept)?);
        if !self.exists(from) {
            return Err(Errno::Noent);
        }
        may_change(to)?;
        if let Some(file) = self.files.get(from).copied() {
            if self.files.get(to) == Some(&file) {
                return Ok(());
            }
            if self.directories.contains(to) {
                return Err(Errno::Isdir);
            }
            self.files.remove(from);
            self.files.insert(to.to_owned(), file);
            return Ok(());
        }
        if to.starts_with(&format!("{from}/")) {
            return Err(Errno::Inval);
        }
        if from == to {
            return Ok(());
        }
        if self.files.contains_key(to) {
            return Err(Errno::Notdir);
        }
        if self.below(to).next().is_some() {
            return Err(Errno::Notempty);
        }
        let moved = |path: &String| match path.strip_prefix(from) {
            Some(rest) if rest.is_empty() || rest.starts_with('/') => format!("{to}{rest}"),
            _ => path.clone(),
        };
        self.directories = self.directories.iter().map(moved).collect();
        self.files = self.files.iter().map(|(path, file)| (moved(path), *file)).collect();
        Ok(())
    }

    fn link(&mut self, from: &str, to: &str) -> Result<(), Errno> {
        let from = self.walk(from, Last::Kept)?;
        if !self.exists(&from) {
            return Err(Errno::Noent);
        }
        let to = self.walk(to, Last::Kept)?;
        if self.exists(&to) {
            return Err(Errno::Exist);
        }
        may_change(&to)?;
        let file = *self.files.get(&from).ok_or(Errno::Perm)?;
        self.may_add(&to, 0)?;
        self.files.insert(to, file);
        Ok(())
    }
}

/// Whether there may be something new at a path. In the root, there may not.
fn may_change(path: &str) -> Result<(), Errno> {
    if path.contains('/') { Ok(()) } else { Err(Errno::Rofs) }
}

/// Does one operation on both; the results must be the same.
fn step(guest: &mut Guest, model: &mut Model, operation: &Operation, fill: u8) {
    match operation {
        Operation::Open { path, oflags } => {
            let expected = model.open(path, *oflags);
            let got = guest.open(path, *oflags, READ | WRITE);
            assert_eq!(got.map(|_| ()), expected.map(|_| ()));
            if let (Ok(fd), Ok(file)) = (got, expected) {
                model.open.push((fd, file));
            }
        }
        Operation::Close { which } => {
            if *which < model.open.len() {
                let (fd, _) = model.open.remove(*which);
                guest.close(fd).unwrap();
            }
        }
        Operation::WriteAt { which, offset, length } => {
            if let Some((fd, file)) = model.open.get(*which).copied() {
                let bytes = vec![fill; *length];
                assert_eq!(guest.write_at(fd, &bytes, *offset), model.write_at(file, *offset, &bytes));
            }
        }
        Operation::SetSize { which, size } => {
            if let Some((fd, file)) = model.open.get(*which).copied() {
                assert_eq!(guest.set_size(fd, *size), model.set_size(file, *size));
            }
        }
        Operation::MakeDirectory { path } => assert_eq!(guest.make_directory(path), model.make_directory(path)),
        Operation::RemoveDirectory { path } => assert_eq!(guest.remove_directory(path), model.remove_directory(path)),
        Operation::Unlink { path } => assert_eq!(guest.unlink(path), model.unlink(path)),
        Operation::Rename { from, to } => assert_eq!(guest.rename(from, to), model.rename(from, to)),
        Operation::Link { from, to } => assert_eq!(guest.link(from, to), model.link(from, to)),
        Operation::Symlink { target, path } => assert_eq!(guest.symlink(target, path), model.symlink(target, path)),
        Operation::Restore => restore(guest),
        Operation::Rest => {
            let mut disk = Disk::new(QUOTA, 0);
            guest.context.swap_disk(&mut disk);
            guest.context.swap_disk(&mut disk.clone());
        }
    }
}

/// Puts a guest in the place of this one that was made from what was saved of it.
fn restore(guest: &mut Guest) {
    let mut disk = Disk::new(QUOTA, 0);
    guest.context.swap_disk(&mut disk);
    let mut saved = Vec::new();
    disk.save(&mut SaveWriter(&mut saved)).unwrap();
    guest.context.save_descriptors(&mut SaveWriter(&mut saved)).unwrap();
    let mut rest = saved.as_slice();
    let mut from = SaveReader(&mut rest);
    let mut disk = RestoredDisk::read(&mut from, QUOTA, 0).unwrap();
    *guest = Guest::with(QUOTA);
    guest.context.restore_descriptors(&mut from, &mut disk).unwrap();
    guest.context.swap_disk(&mut disk.into_disk());
    assert_eq!(rest, b"");
}

/// That both hold the same.
fn compare(guest: &mut Guest, model: &Model) {
    assert_eq!(guest.context.usage(), model.usage());
    for (fd, file) in &model.open {
        assert_eq!(guest.read_at(*fd, 1_000, 0).unwrap(), model.contents[*file]);
        let names = model.files.values().filter(|other| *other == file).count();
        assert_eq!(guest.stat_fd(*fd).unwrap().links, names as u64);
    }
    for (path, file) in &model.files {
        let leads_to = guest.stat(path).map(|stat| stat.file_type);
        assert_eq!(leads_to, model.file_type(path), "{path}");
        if let Some(target) = model.target(path) {
            assert_eq!(guest.read_link(path, 100).unwrap(), target.as_bytes(), "{path}");
            assert_eq!(guest.link_stat(path).unwrap().file_type, A_LINK, "{path}");
            continue;
        }
        assert_eq!(guest.load(path).unwrap(), model.contents[*file], "{path}");
    }
    for directory in &model.directories {
        let below = model.below(directory).filter(|path| !path[directory.len() + 1..].contains('/'));
        let expected: BTreeSet<_> = below.map(|path| path[directory.len() + 1..].to_owned()).collect();
        assert_eq!(guest.names(directory).unwrap().into_iter().collect::<BTreeSet<_>>(), expected, "{directory}");
        let up = guest.open(directory, DIRECTORY, READ).unwrap();
        let number = guest.read_directory(up, 1_000, 0).unwrap().entries[1].number;
        guest.close(up).unwrap();
        assert_eq!(number, guest.stat(&format!("{directory}/..")).unwrap().number);
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 256, ..ProptestConfig::default() })]

    #[test]
    fn the_file_system_is_as_the_model(operations in proptest::collection::vec(operation(), 1..60)) {
        let mut guest = Guest::with(QUOTA);
        let mut model = Model::new();
        for (fill, operation) in (1u8..).zip(&operations) {
            step(&mut guest, &mut model, operation, fill);
            compare(&mut guest, &model);
        }
        let inside = |path: &String| path["box/".len()..].to_owned();
        let (links, files): (Vec<_>, Vec<_>) = model.files.iter().partition(|(_, file)| model.links.contains(file));
        let expected: Vec<_> =
            files.into_iter().map(|(path, file)| (inside(path), model.contents[*file].clone())).collect();
        let (_, workspace) = guest.context.into_workspace();
        let collected: Vec<_> = workspace.files.into_iter()
            .map(|file| (file.path.clone(), file.into_contents().into_vec()))
            .collect();
        prop_assert_eq!(collected, expected);
        prop_assert_eq!(workspace.links, links.into_iter().map(|(path, _)| inside(path)).collect::<Vec<_>>());
    }
}
