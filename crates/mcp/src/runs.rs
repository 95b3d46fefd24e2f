//! What recent runs left behind that did not fit into their results: all of their output, and their files. For whoever made the run, for a
//! while.

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use sandbox::{Display, OutputFile, Principal};

use crate::hex::hex;
use crate::recording::Recording;

/// How long a run is kept.
const KEEP: Duration = Duration::from_mins(15);
/// How many, of all callers together.
const MOST: usize = 512;
/// How much, of all callers together.
const MOST_BYTES: usize = 128 << 20;

/// A run that is kept.
#[derive(Debug)]
pub(crate) struct Kept {
    pub(crate) stdout: Recording,
    pub(crate) stderr: Recording,
    /// Those whose contents came back.
    pub(crate) files: Vec<OutputFile>,
    pub(crate) displays: Vec<Display>,
}

#[derive(Debug)]
struct Entry {
    name: String,
    owner: Principal,
    since: Instant,
    size: usize,
    kept: Arc<Kept>,
}

/// The runs that are kept, the oldest first.
#[derive(Debug, Default)]
pub(crate) struct Runs(Mutex<VecDeque<Entry>>);

impl Runs {
    /// Keeps a run. When there are too many, or they take too much, the oldest go of the caller who has most: whoever
    /// makes much pushes out their own.
    pub(crate) fn keep(&self, name: String, owner: Principal, kept: Kept) {
        let files: usize = kept.files.iter().filter_map(|file| file.contents.as_ref()).map(Vec::len).sum();
        let displays: usize = kept.displays.iter().map(|display| display.data().len()).sum();
        let size = kept.stdout.len() + kept.stderr.len() + files + displays;
        let entry = Entry { name, owner, since: Instant::now(), size, kept: kept.into() };
        let mut runs = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        runs.push_back(entry);
        while runs.pop_front_if(|entry| entry.since.elapsed() > KEEP).is_some() {}
        drop_oldest(&mut runs, MOST, |_| 1);
        drop_oldest(&mut runs, MOST_BYTES, |entry| entry.size);
    }

    /// A run, if it is this caller's. To others it is not there.
    pub(crate) fn find(&self, name: &str, owner: &Principal) -> Option<Arc<Kept>> {
        let runs = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let is_meant = |entry: &&Entry| entry.name == name && entry.owner == *owner && entry.since.elapsed() <= KEEP;
        runs.iter().find(is_meant).map(|entry| Arc::clone(&entry.kept))
    }

    /// This caller's runs, the latest first.
    pub(crate) fn names(&self, owner: &Principal) -> Vec<String> {
        let runs = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let theirs = runs.iter().rev().filter(|entry| entry.owner == *owner && entry.since.elapsed() <= KEEP);
        theirs.map(|entry| entry.name.clone()).collect()
    }
}

/// Drops the oldest of whoever has most, by what each counts for, until all together count for no more than `most`.
fn drop_oldest(runs: &mut VecDeque<Entry>, most: usize, weight: impl Fn(&Entry) -> usize) {
    while runs.iter().map(&weight).sum::<usize>() > most {
        let mut shares: HashMap<&Principal, usize> = HashMap::new();
        for entry in &*runs {
            *shares.entry(&entry.owner).or_default() += weight(entry);
        }
        let largest = shares.values().max().copied();
        let oldest = runs.iter().position(|entry| shares.get(&entry.owner).copied() == largest);
        let Some(oldest) = oldest else { return };
        runs.remove(oldest);
    }
}

/// A name that nobody guesses.
pub(crate) fn new_name() -> String {
    hex(&random::<12>())
}

/// Bytes that nobody guesses.
pub(crate) fn random<const LENGTH: usize>() -> [u8; LENGTH] {
    let mut bytes = [0; LENGTH];
    let mut filled = 0;
    while filled < bytes.len() {
        let rest = bytes.get_mut(filled..).unwrap_or_default();
        // The kernel's generator does not fail once it is seeded; an interrupted call is made again.
        filled += rustix::rand::getrandom(rest, rustix::rand::GetRandomFlags::empty()).unwrap_or(0);
    }
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kept(size: usize) -> Kept {
        let mut stdout = Recording::default();
        stdout.push(&vec![b'x'; size]);
        Kept { stdout, stderr: Recording::default(), files: Vec::new(), displays: Vec::new() }
    }

    #[test]
    fn a_run_is_its_owners() {
        let runs = Runs::default();
        let (ada, grace) = (Principal::new("ada"), Principal::new("grace"));
        let name = new_name();
        runs.keep(name.clone(), ada.clone(), kept(3));
        assert_eq!(runs.find(&name, &ada).map(|kept| kept.stdout.len()), Some(3));
        assert!(runs.find(&name, &grace).is_none());
        assert_eq!(runs.names(&ada), [name]);
        assert!(runs.names(&grace).is_empty());
    }

    #[test]
    fn the_oldest_go_first() {
        let (runs, owner) = (Runs::default(), Principal::default());
        for number in 0..5 {
            runs.keep(number.to_string(), owner.clone(), kept(MOST_BYTES / 3));
        }
        assert_eq!(runs.names(&owner), ["4", "3", "2"]);
        for number in 0..MOST + 10 {
            runs.keep(format!("n{number}"), owner.clone(), kept(1));
        }
        assert_eq!(runs.names(&owner).len(), MOST);
    }

    #[test]
    fn whoever_has_most_makes_room() {
        let runs = Runs::default();
        let (ada, grace) = (Principal::new("ada"), Principal::new("grace"));
        runs.keep("hers".to_owned(), grace.clone(), kept(MOST_BYTES / 4));
        for number in 0..5 {
            runs.keep(number.to_string(), ada.clone(), kept(MOST_BYTES / 3));
        }
        assert_eq!(runs.names(&ada), ["4", "3"]);
        for number in 0..MOST + 10 {
            runs.keep(format!("n{number}"), ada.clone(), kept(1));
        }
        assert_eq!(runs.names(&ada).len(), MOST - 1);
        assert_eq!(runs.names(&grace), ["hers"]);
    }

    #[test]
    fn names_differ() {
        assert_ne!(new_name(), new_name());
        assert_eq!(new_name().len(), 24);
    }
}
