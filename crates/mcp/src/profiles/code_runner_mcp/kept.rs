//! Files that JavaScript left in its working folder, for its client's next call.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::Path;
use std::sync::{Mutex, PoisonError};

use sandbox::{InputFile, Outcome, OutputFile};

#[derive(Debug, Default)]
pub(in crate::profiles) struct Kept(Mutex<BTreeMap<OsString, Vec<u8>>>);

impl Kept {
    /// For a program that is in a file of this name.
    pub(super) fn files(&self, program: &str) -> Vec<InputFile> {
        let kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let others = kept.iter().filter(|(path, _)| !excludes(Path::new(path), Path::new(program)));
        others.map(|(path, contents)| InputFile { path: path.clone(), contents: contents.clone() }).collect()
    }

    /// What a program that is in a file of this name has made.
    pub(super) fn keep(&self, outcome: &Outcome, program: &str) {
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
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
