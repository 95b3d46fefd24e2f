use std::collections::HashSet;

/// The most names that are kept of one text. No program imports more, and if one did, whoever reads it would have to
/// keep and look up all of them.
const MOST: usize = 4_096;
/// The longest of them, in bytes. No registry has one that comes near it, and a longer one would have to be kept whole.
const LONGEST: usize = 1_024;

/// Names in the order in which they were found, each once.
#[derive(Debug, Default)]
pub(crate) struct Found {
    names: Vec<String>,
    seen: HashSet<String>,
}

impl Found {
    pub(crate) fn add(&mut self, name: &str) {
        let has_room = self.names.len() < MOST && name.len() <= LONGEST;
        if has_room && !self.seen.contains(name) {
            self.seen.insert(name.to_owned());
            self.names.push(name.to_owned());
        }
    }

    pub(crate) fn into_names(self) -> Vec<String> {
        self.names
    }
}
