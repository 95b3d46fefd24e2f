use std::collections::HashSet;

/// Names in the order in which they were found, each once.
#[derive(Debug, Default)]
pub(crate) struct Found {
    names: Vec<String>,
    seen: HashSet<String>,
}

impl Found {
    pub(crate) fn add(&mut self, name: &str) {
        if !self.seen.contains(name) {
            self.seen.insert(name.to_owned());
            self.names.push(name.to_owned());
        }
    }

    pub(crate) fn into_names(self) -> Vec<String> {
        self.names
    }
}
