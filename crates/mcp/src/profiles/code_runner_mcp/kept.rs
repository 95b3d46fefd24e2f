//! What is kept for a client's next call: files that JavaScript left in its working folder, and packages that Python was given.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::Path;
use std::sync::{Mutex, PoisonError};

use sandbox::{InputFile, Outcome, OutputFile, Policy};

/// A package and its module, which a caller could make as long as they like.
const MOST_PACKAGE: usize = 1_000;

#[derive(Debug, Default)]
pub(in crate::profiles) struct Kept {
    files: Mutex<BTreeMap<OsString, Vec<u8>>>,
    packages: Mutex<Vec<String>>,
}

impl Kept {
    /// These packages and those of earlier calls: they are still there, with the modules that they are for.
    pub(super) fn packages(&self, mut named: Vec<String>) -> Vec<String> {
        let kept = self.packages.lock().unwrap_or_else(PoisonError::into_inner);
        let room = Policy::MAX_PACKAGES.saturating_sub(named.len());
        let earlier: Vec<String> = kept.iter().filter(|package| !named.contains(package)).take(room).cloned().collect();
        named.extend(earlier);
        named
    }

    /// What a call had.
    pub(super) fn keep_packages(&self, mut had: Vec<String>) {
        had.retain(|package| package.len() <= MOST_PACKAGE);
        let all = self.packages(had);
        *self.packages.lock().unwrap_or_else(PoisonError::into_inner) = all;
    }

    /// For a program that is in a file of this name.
    pub(super) fn files(&self, program: &str) -> Vec<InputFile> {
        let kept = self.files.lock().unwrap_or_else(PoisonError::into_inner);
        let others = kept.iter().filter(|(path, _)| !excludes(Path::new(path), Path::new(program)));
        others.map(|(path, contents)| InputFile { path: path.clone(), contents: contents.clone() }).collect()
    }

    /// What a program that is in a file of this name has made.
    pub(super) fn keep(&self, outcome: &Outcome, program: &str) {
        let mut kept = self.files.lock().unwrap_or_else(PoisonError::into_inner);
        for file in outcome.files.iter().filter(|file| file.path.as_str() != program) {
            let Some(contents) = &file.contents else { continue };
            let path = Path::new(file.path.as_str());
            // Nobody tells what was removed. A folder where there was a file says it.
            kept.retain(|known, _| !excludes(Path::new(known), path));
            kept.insert(path.into(), contents.clone());
        }
        // As much as a run can bring back, so that what is kept can be brought in.
        let mut size: u64 = kept.values().map(|contents| contents.len() as u64).sum();
        while (size > OutputFile::MAX_CONTENTS || kept.len() > OutputFile::MAX_COUNT)
            && let Some((_, contents)) = kept.pop_first()
        {
            size -= contents.len() as u64;
        }
    }
}

/// Whether there can be but one of both files: they are the same, or one is a folder to the other.
fn excludes(one: &Path, other: &Path) -> bool {
    one.starts_with(other) || other.starts_with(one)
}
