//! CPython's `Lib/test`, out of the sources that the Python runtime was built from, and running a module of it.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};

use serde::Deserialize;
use tempfile::TempDir;
use testkit::arena;
use testkit::conformance::command::{Belljar, answer};
use testkit::runtimes::{self, CACHE};

use crate::list::Terms;

const BELLJAR: &str = env!("CARGO_BIN_EXE_belljar");
const RUN_MODULE: &str = include_str!("run_module.py");

/// Far more than a module takes, on a machine that has other things to do.
const TIMEOUT: &str = "110s";
/// For tests that try large objects.
const MEMORY: &str = "1GiB";

/// The tests' sources, unpacked.
#[derive(Debug)]
pub(crate) struct Suite {
    cache: &'static Path,
    directory: TempDir,
    /// The files and directories in [`Suite::tests`], by the word that a test uses for them: the name up to its first dot.
    entries: BTreeMap<String, Vec<String>>,
}

/// `result` of `run_module.py`.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Report {
    ran: usize,
    skipped: usize,
    /// Tests, each with the end of its traceback.
    failures: Vec<(String, String)>,
    /// Tests to leave out that are not there.
    unused: Vec<String>,
    /// Why the module as a whole cannot be run.
    unavailable: Option<String>,
}

impl Report {
    fn is_pass(&self) -> bool {
        let failed = !self.failures.is_empty() || self.unavailable.is_some();
        // Classes and modules are skipped as one, so that more may be skipped than would run.
        self.ran > self.skipped && !failed && self.unused.is_empty()
    }
}

impl Suite {
    /// `None` after saying that the test is skipped.
    pub(crate) fn open() -> Option<Self> {
        let cache = runtimes::provisioned(BELLJAR)?;
        let archive = cache.join("work/downloads/python3.13.orig");
        if let Err(error) = fs::metadata(&archive) {
            runtimes::skip(&format!("CPython's sources are not in `{}`: {error}", archive.display()));
            return None;
        }
        let directory = tempfile::tempdir().expect("a temporary directory");
        let mut tar = arena::host_command("tar");
        tar.arg("-xJf").arg(&archive).arg("-C").arg(directory.path());
        tar.args(["--strip-components=1", "--wildcards", "*/Lib/test/*"]);
        let unpacked = tar.status().expect("`tar` starts");
        assert!(unpacked.success(), "{tar:?}: {unpacked}");
        let mut suite = Self { cache, directory, entries: BTreeMap::new() };
        for name in names(&suite.tests()) {
            suite.entries.entry(word_for(&name).to_owned()).or_default().push(name);
        }
        Some(suite)
    }

    /// Names of all test modules. A package counts as its files if one of those is among the `named`.
    pub(crate) fn modules(&self, named: &BTreeSet<&str>) -> BTreeSet<String> {
        let mut all = BTreeSet::new();
        for word in self.entries.keys().filter(|word| self.is_module(word)) {
            if named.iter().any(|name| name.split_once('.').is_some_and(|(package, _)| package == word)) {
                let files = names(&self.tests().join(word)).into_iter().filter(|name| name.starts_with("test_"));
                all.extend(files.map(|name| format!("{word}.{}", word_for(&name))));
            } else {
                all.insert(word.clone());
            }
        }
        all
    }

    /// Runs a module. An error says what did not pass.
    pub(crate) fn run(&self, module: &str, terms: &Terms) -> Result<(), String> {
        let belljar = Belljar::new(BELLJAR);
        // The suite tests what is there, and imports much that is not.
        belljar.write(".config/belljar/belljar.toml", "[packages]\nenabled = false\n");
        let mut command = belljar.command(["run", "--engine", "wasm", "-l", "python", "-c", RUN_MODULE, "--json"]);
        command.args(["--timeout", TIMEOUT, "--cpu", TIMEOUT, "--memory", MEMORY]).env(CACHE, self.cache);
        for file in self.files_for(word_for(module)) {
            let name = file.strip_prefix(self.tests()).expect("a file of the tests");
            command.arg("--file").arg(format!("test/{}={}", name.display(), file.display()));
        }
        command.arg("--").arg(format!("test.{module}")).arg(terms.despite.join(",")).args(&terms.without);
        let answer = answer(command, b"");
        let outcome: serde_json::Value = serde_json::from_slice(&answer.stdout).map_err(|_| format!("{answer:?}"))?;
        let Some(Ok(report)) = outcome.get("result").map(Report::deserialize) else {
            return Err(format!("{outcome:#}"));
        };
        if report.is_pass() { Ok(()) } else { Err(format!("{report:#?}")) }
    }

    /// The module, and the helpers and data that it mentions: the whole tree has more files than a run may have.
    fn files_for(&self, module: &str) -> Vec<PathBuf> {
        let mut wanted = vec!["__init__".to_owned(), "support".to_owned(), module.to_owned()];
        let (mut seen, mut all) = (BTreeSet::new(), Vec::new());
        while let Some(word) = wanted.pop() {
            let Some(entries) = self.entries.get(&word) else { continue };
            if !seen.insert(word.clone()) {
                continue;
            }
            for file in entries.iter().flat_map(|entry| files(&self.tests().join(entry))) {
                if file.extension() == Some(OsStr::new("py")) {
                    wanted.extend(self.mentions(&fs::read(&file).expect("our own file")));
                }
                all.push(file);
            }
        }
        all
    }

    /// Words in a program that stand for something in the tests' directory. Other test modules are meant only where they are
    /// imported: methods have such names too.
    fn mentions(&self, program: &[u8]) -> BTreeSet<String> {
        let program = String::from_utf8_lossy(program);
        let words = program.split(|character: char| !character.is_alphanumeric() && character != '_');
        let words: Vec<&str> = words.filter(|word| !word.is_empty()).collect();
        let before = std::iter::once("").chain(words.iter().copied());
        let is_meant = |word: &str, before: &str| !self.is_module(word) || ["test", "import"].contains(&before);
        words
            .iter()
            .zip(before)
            .filter(|(word, before)| is_meant(word, before))
            .map(|(word, _)| (*word).to_owned())
            .collect()
    }

    /// Data files of tests have such names as well.
    fn is_module(&self, word: &str) -> bool {
        let is_code = |entry: &String| entry == word || entry.strip_suffix(".py") == Some(word);
        word.starts_with("test_") && self.entries.get(word).is_some_and(|entries| entries.iter().any(is_code))
    }

    fn tests(&self) -> PathBuf {
        self.directory.path().join("Lib/test")
    }
}

fn word_for(name: &str) -> &str {
    name.split_once('.').map_or(name, |(word, _)| word)
}

/// The path itself, or all files below it if it is a directory.
fn files(path: &Path) -> Vec<PathBuf> {
    if !path.is_dir() {
        return vec![path.to_owned()];
    }
    names(path).iter().flat_map(|name| files(&path.join(name))).collect()
}

fn names(directory: &Path) -> BTreeSet<String> {
    let entries = fs::read_dir(directory).unwrap_or_else(|error| panic!("`{}`: {error}", directory.display()));
    let names = entries.map(|entry| entry.expect("our own directory").file_name().into_string());
    names.map(|name| name.expect("CPython's names are text")).collect()
}
