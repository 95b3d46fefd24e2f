//! Random sequences of operations, against a model that is too simple to be wrong: a map from paths. To be saved and restored, or to rest
//! while its disk is elsewhere, changes nothing.

use std::collections::{BTreeMap, BTreeSet};

use proptest::prelude::*;

use super::guest::{CREATE, DIRECTORY, EXCLUSIVE, Guest, READ, TRUNCATE, WRITE};
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
    Restore,
    Rest,
}

fn path() -> impl Strategy<Value = String> {
    proptest::collection::vec(proptest::sample::select(vec!["a", "b", "c"]), 1..4)
        .prop_map(|names| format!("box/{}", names.join("/")))
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
        1 => Just(Operation::Restore),
        1 => Just(Operation::Rest),
    ]
}

#[derive(Default)]
struct Model {
    directories: BTreeSet<String>,
    files: BTreeMap<String, usize>,
    /// By the numbers in `files` and `open`; those of neither are gone.
    contents: Vec<Vec<u8>>,
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

    /// That everything above a path is a directory.
    fn walk(&self, path: &str) -> Result<(), Errno> {
        for (at, _) in path.match_indices('/') {
            let above = &path[..at];
            if self.files.contains_key(above) {
                return Err(Errno::Notdir);
            }
            if !self.directories.contains(above) {
                return Err(Errno::Noent);
            }
        }
        Ok(())
    }

    fn exists(&self, path: &str) -> bool {
        self.files.contains_key(path) || self.directories.contains(path)
    }

    fn below<'a>(&'a self, path: &'a str) -> impl Iterator<Item = &'a String> {
        let is_below = move |other: &&String| other.strip_prefix(path).is_some_and(|rest| rest.starts_with('/'));
        self.directories.iter().chain(self.files.keys()).filter(is_below)
    }

    fn may_add(&self) -> Result<(), Errno> {
        if self.usage().entries < QUOTA.entries { Ok(()) } else { Err(Errno::Nospc) }
    }

    fn open(&mut self, path: &str, oflags: u32) -> Result<usize, Errno> {
        self.walk(path)?;
        if self.exists(path) && oflags & EXCLUSIVE != 0 {
            return Err(Errno::Exist);
        }
        if self.directories.contains(path) {
            return Err(Errno::Isdir);
        }
        if let Some(file) = self.files.get(path) {
            if oflags & TRUNCATE != 0 {
                self.contents[*file].clear();
            }
            return Ok(*file);
        }
        if oflags & CREATE == 0 {
            return Err(Errno::Noent);
        }
        self.may_add()?;
        self.contents.push(Vec::new());
        self.files.insert(path.to_owned(), self.contents.len() - 1);
        Ok(self.contents.len() - 1)
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
        self.walk(path)?;
        if self.exists(path) {
            return Err(Errno::Exist);
        }
        self.may_add()?;
        self.directories.insert(path.to_owned());
        Ok(())
    }

    fn remove_directory(&mut self, path: &str) -> Result<(), Errno> {
        self.walk(path)?;
        if self.files.contains_key(path) {
            return Err(Errno::Notdir);
        }
        if !self.directories.contains(path) {
            return Err(Errno::Noent);
        }
        if self.below(path).next().is_some() {
            return Err(Errno::Notempty);
        }
        self.directories.remove(path);
        Ok(())
    }

    fn unlink(&mut self, path: &str) -> Result<(), Errno> {
        self.walk(path)?;
        if self.directories.contains(path) {
            return Err(Errno::Isdir);
        }
        self.files.remove(path).map(|_| ()).ok_or(Errno::Noent)
    }

    fn rename(&mut self, from: &str, to: &str) -> Result<(), Errno> {
        self.walk(from)?;
        self.walk(to)?;
        if !self.exists(from) {
            return Err(Errno::Noent);
        }
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
        self.walk(from)?;
        if !self.exists(from) {
            return Err(Errno::Noent);
        }
        self.walk(to)?;
        if self.exists(to) {
            return Err(Errno::Exist);
        }
        let file = *self.files.get(from).ok_or(Errno::Perm)?;
        self.may_add()?;
        self.files.insert(to.to_owned(), file);
        Ok(())
    }
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
        let expected: Vec<_> = model.files.iter()
            .map(|(path, file)| (path["box/".len()..].to_owned(), model.contents[*file].clone()))
            .collect();
        let (_, workspace) = guest.context.into_workspace();
        let collected: Vec<_> = workspace.files.into_iter()
            .map(|file| (file.path.clone(), file.into_contents().into_vec()))
            .collect();
        prop_assert_eq!(collected, expected);
    }
}
