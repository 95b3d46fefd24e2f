//! CPython's `Lib/test`, out of the sources that the Python runtime was built from, and running a module of it.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use serde::Deserialize;
use tempfile::TempDir;
use testkit::arena;
use testkit::conformance::{Belljar, answer};
use testkit::runtimes::{self, CACHE};

use crate::list::{Module, Verdict};

const BELLJAR: &str = env!("CARGO_BIN_EXE_belljar");
const RUN_MODULE: &str = include_str!("run_module.py");

/// As `belljar run` takes it: for a module that computes for 20 seconds on a machine that has other things to do.
const TIMEOUT: &str = "110s";
/// For tests that try large objects.
const MEMORY: &str = "1GiB";

/// The tests' sources, unpacked.
#[derive(Debug)]
pub(crate) struct Suite {
    cache: &'static Path,
    directory: TempDir,
    /// What every run gets, relative to [`Suite::tests`]: everything but packages of tests.
    shared: Vec<PathBuf>,
}

/// `result` of `run_module.py`.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, untagged)]
enum Report {
    Unavailable { unavailable: String },
    Ran { ran: u64, skipped: u64, failures: Vec<(String, String)>, unused: Vec<String> },
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
        let mut suite = Self { cache, directory, shared: Vec::new() };
        for name in suite.names() {
            match suite.tests().join(&name).is_dir() && is_module(&name) {
                true => {}
                false => suite.shared.extend(suite.files(Path::new(&name))),
            }
        }
        Some(suite)
    }

    /// Names of all test modules.
    pub(crate) fn modules(&self) -> BTreeSet<String> {
        let names = self.names().into_iter().filter(|name| is_module(name));
        names.map(|name| name.strip_suffix(".py").unwrap_or(&name).to_owned()).collect()
    }

    /// Runs a module. An error says what is not as the list says.
    pub(crate) fn run(&self, module: &Module) -> Result<(), String> {
        let Verdict::Passes { without, .. } = &module.verdict else { return Ok(()) };
        let belljar = Belljar::new(BELLJAR);
        let mut command = belljar.command(["run", "--engine", "wasm", "-l", "python", "-c", RUN_MODULE, "--json"]);
        command.args(["--timeout", TIMEOUT, "--cpu", TIMEOUT, "--memory", MEMORY]).env(CACHE, self.cache);
        let own = self.tests().join(&module.name).is_dir().then(|| self.files(Path::new(&module.name)));
        for file in self.shared.iter().chain(own.iter().flatten()) {
            command.arg("--file").arg(format!("test/{}={}", file.display(), self.tests().join(file).display()));
        }
        command.arg("--").arg(format!("test.{}", module.name)).args(without);
        let answer = answer(command, b"");
        let outcome: serde_json::Value = serde_json::from_slice(&answer.stdout).map_err(|_| format!("{answer:?}"))?;
        match Report::deserialize(&outcome["result"]) {
            Ok(Report::Ran { ran, skipped, failures, unused })
                if ran > skipped && failures.is_empty() && unused.is_empty() =>
            {
                Ok(())
            }
            Ok(report) => Err(format!("{report:#?}")),
            Err(_) => Err(format!("{outcome:#}")),
        }
    }

    fn tests(&self) -> PathBuf {
        self.directory.path().join("Lib/test")
    }

    /// What is in the tests' own directory, sorted.
    fn names(&self) -> BTreeSet<String> {
        list(&self.tests())
    }

    /// A file, or all files in a directory and below, relative to [`Suite::tests`].
    fn files(&self, path: &Path) -> Vec<PathBuf> {
        let full = self.tests().join(path);
        match full.is_dir() {
            true => list(&full).into_iter().flat_map(|name| self.files(&path.join(name))).collect(),
            false => vec![path.to_owned()],
        }
    }
}

fn is_module(name: &str) -> bool {
    name.starts_with("test_")
}

fn list(directory: &Path) -> BTreeSet<String> {
    let entries = fs::read_dir(directory).unwrap_or_else(|error| panic!("`{}`: {error}", directory.display()));
    let name = |entry: std::io::Result<fs::DirEntry>| entry.expect("our own directory").file_name().into_string();
    entries.map(|entry| name(entry).expect("CPython's names are text")).collect()
}
