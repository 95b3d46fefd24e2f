//! Programs that were compiled, by everything that went into them.

use std::collections::HashMap;
use std::sync::Arc;

use sandbox::{Plan, Principal};

use super::Program;

/// What all of them may take, machine code and sources.
const MOST_BYTES: u64 = 64 << 20;

/// Everything that a compiled program depends on. Its caller is part of that: otherwise the time that a run takes would
/// tell whether somebody else has compiled the same program.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) struct Key {
    principal: Principal,
    language: &'static str,
    arguments: Vec<String>,
    code: Vec<u8>,
    /// All files, since any of them can be included.
    files: Vec<(String, Vec<u8>)>,
}

impl Key {
    pub(super) fn of(plan: &Plan) -> Self {
        Self {
            principal: plan.principal().clone(),
            language: plan.language().id,
            arguments: plan.compiler_args().to_vec(),
            code: plan.code().to_vec(),
            files: plan.files().iter().map(|file| (file.path.as_str().to_owned(), file.contents.clone())).collect(),
        }
    }

    fn size(&self) -> u64 {
        let files: usize = self.files.iter().map(|(path, contents)| path.len() + contents.len()).sum();
        (self.code.len() + files) as u64
    }
}

/// The programs that were used last.
#[derive(Debug, Default)]
pub(super) struct Cache {
    programs: HashMap<Key, Entry>,
    bytes: u64,
    uses: u64,
}

#[derive(Debug)]
struct Entry {
    program: Arc<Program>,
    size: u64,
    last_use: u64,
}

impl Cache {
    pub(super) fn get(&mut self, key: &Key) -> Option<Arc<Program>> {
        self.uses += 1;
        let entry = self.programs.get_mut(key)?;
        entry.last_use = self.uses;
        Some(Arc::clone(&entry.program))
    }

    /// Keeps a program, and of the others those that were used last.
    pub(super) fn put(&mut self, key: Key, program: Arc<Program>) {
        let size = key.size() + program.size + program.diagnostics.len() as u64;
        self.uses += 1;
        let entry = Entry { program, size, last_use: self.uses };
        self.bytes += size;
        if let Some(replaced) = self.programs.insert(key, entry) {
            self.bytes -= replaced.size;
        }
        while self.bytes > MOST_BYTES {
            let oldest = self.programs.iter().min_by_key(|(_, entry)| entry.last_use).map(|(key, _)| key.clone());
            let Some(removed) = oldest.and_then(|key| self.programs.remove(&key)) else { break };
            self.bytes -= removed.size;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(code: &str) -> Key {
        Key {
            principal: Principal::default(),
            language: "c",
            arguments: Vec::new(),
            code: code.as_bytes().to_vec(),
            files: Vec::new(),
        }
    }

    fn program(size: u64) -> Arc<Program> {
        let module = tempfile::tempfile().expect("a temporary file").into();
        Arc::new(Program { module, size, diagnostics: String::new() })
    }

    #[test]
    fn what_was_used_last_stays() {
        let mut cache = Cache::default();
        for name in ["a", "b", "c"] {
            cache.put(key(name), program(MOST_BYTES / 4));
        }
        assert!(cache.get(&key("a")).is_some());
        cache.put(key("d"), program(MOST_BYTES / 4));
        assert!(cache.get(&key("b")).is_none(), "the one that nobody used");
        for name in ["a", "c", "d"] {
            assert!(cache.get(&key(name)).is_some(), "{name}");
        }
        cache.put(key("huge"), program(2 * MOST_BYTES));
        assert!(cache.programs.is_empty());
        assert_eq!(cache.bytes, 0);
    }

    #[test]
    fn nobody_gets_what_is_anothers() {
        let mut cache = Cache::default();
        cache.put(key("a"), program(1));
        for other in [
            Key { principal: Principal::new("other"), ..key("a") },
            Key { language: "cpp", ..key("a") },
            Key { arguments: vec!["-O0".to_owned()], ..key("a") },
            Key { files: vec![("a.h".to_owned(), Vec::new())], ..key("a") },
        ] {
            assert!(cache.get(&other).is_none());
        }
    }
}
