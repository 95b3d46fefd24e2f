//! NumPy's own tests, in the WebAssembly Python: `numpy/files.txt` says which of them pass, and why the others are not run. And the numbers
//! that its generators draw, and its integers, beside those of NumPy's own wheel.
//!
//! `BELLJAR_TEST_ALL` runs the slow files too.

#![expect(clippy::expect_used, clippy::panic, reason = "a failed check is a failed test")]

#[path = "cpython/list.rs"]
mod list;

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::thread;

use list::{Module, Verdict};
use serde::Deserialize;
use tempfile::TempDir;
use testkit::arena;
use testkit::conformance::command::{Belljar, answer};
use testkit::runtimes::{self, CACHE};

const BELLJAR: &str = env!("CARGO_BIN_EXE_belljar");
const FILES: &str = include_str!("numpy/files.txt");
const RUN_FILES: &str = include_str!("numpy/run_files.py");
const DISTRIBUTIONS: &str = include_str!("numpy/distributions.py");
/// What `numpy/distributions.py` gives with the wheel of NumPy 2.3.5 for `x86_64`.
const DRAWN_NATIVELY: &str = include_str!("numpy/distributions.txt");
const INTEGERS: &str = include_str!("numpy/integers.py");
/// What `numpy/integers.py` gives with the same.
const INTEGERS_NATIVELY: &str = include_str!("numpy/integers.txt");

/// pytest and what it needs: pure Python, read from the wheels as they are.
const PYTEST: &[&str] = &["pytest==9.2.0", "pluggy==1.7.0", "iniconfig==2.3.1", "packaging==26.3", "pygments==2.21.0"];
/// Packages whose tests are about other things than NumPy at work: compilers, type checkers.
const ASIDE: &[&str] = &["_pyinstaller", "distutils", "f2py", "typing"];

/// pytest takes two seconds to start: so several files a run, but not so many that one run is all that is left at the end.
const FILES_A_RUN: usize = 9;
const AT_A_TIME: usize = 2;

/// `result` of `run_files.py`.
#[derive(Debug, Default, Deserialize)]
struct Report {
    /// Tests that passed, by file.
    passed: BTreeMap<String, usize>,
    skipped: usize,
    /// Tests, each with the end of its traceback.
    failures: Vec<(String, String)>,
    /// Tests to leave out that are not there.
    unused: Vec<String>,
}

/// The tests' sources and pytest.
#[derive(Debug)]
struct Suite {
    cache: &'static Path,
    directory: TempDir,
}

#[test]
fn files_pass() {
    let Some(suite) = Suite::open() else { return };
    let modules = list::read(FILES);
    let chosen: Vec<&Module> = modules.iter().filter(|module| module.terms_now().is_some()).collect();
    let runs = Mutex::new(chosen.chunks(FILES_A_RUN));
    let reports = Mutex::new(Vec::new());
    let next = || runs.lock().expect("no thread panics").next();
    thread::scope(|scope| {
        for _ in 0..AT_A_TIME {
            scope.spawn(|| {
                while let Some(files) = next() {
                    let report = suite.run(files);
                    reports.lock().expect("no thread panics").push(report);
                }
            });
        }
    });
    let (mut passed, mut complaints) = (0, Vec::new());
    for report in reports.into_inner().expect("no thread panics") {
        match report {
            Ok(report) => passed += report.passed.values().sum::<usize>(),
            Err(complaint) => complaints.push(complaint),
        }
    }
    assert!(complaints.is_empty(), "{}", complaints.join("\n"));
    assert!(passed > 10_000, "only {passed} tests were run");
}

#[test]
fn every_file_is_named() {
    let Some(suite) = Suite::open() else { return };
    let modules = list::read(FILES);
    let named: BTreeSet<&str> = modules.iter().map(|module| module.name.as_str()).collect();
    assert_eq!(named.len(), modules.len(), "a file is named twice");
    let there: BTreeSet<String> = suite.files().into_iter().filter(|name| is_test(name)).collect();
    let there: BTreeSet<&str> = there.iter().map(String::as_str).collect();
    let unnamed: Vec<_> = there.difference(&named).collect();
    let gone: Vec<_> = named.difference(&there).collect();
    assert!(unnamed.is_empty() && gone.is_empty(), "not in files.txt: {unnamed:?}; not in NumPy: {gone:?}");
}

/// W10: two generators of NumPy's have functions of the same name. Whoever calls the wrong one draws other numbers, or traps.
#[test]
fn generators_draw_what_they_draw_natively() {
    gives(DISTRIBUTIONS, DRAWN_NATIVELY);
}

/// Pointers have 32 bits in WebAssembly; integers, sums and indices have 64 all the same.
#[test]
fn integers_are_those_of_64_bits() {
    gives(INTEGERS, INTEGERS_NATIVELY);
}

/// Memory still ends where 32 bits do, and says so.
#[test]
fn arrays_beyond_the_memory_of_32_bits_are_refused() {
    let code = r#"
import numpy as np

def refused(make):
    try:
        make()
    except (MemoryError, OverflowError, TypeError, ValueError):
        return True
    return False

makers = [
    lambda: np.zeros(2**29), lambda: np.zeros((2**16, 2**16)), lambda: np.empty(2**32 + 1, np.int8), lambda: np.arange(2**33),
    lambda: np.ones(2**61), lambda: np.broadcast_to(1, (2**32 + 1,)), lambda: np.repeat(1, 2**32 + 8), lambda: np.bincount([2**32]),
    lambda: np.resize(np.arange(2), 2**32 + 2), lambda: np.random.rand(2**32 + 1), lambda: np.zeros(3).resize(2**32 + 3),
    lambda: np.ndarray(2**32 + 1, np.int8, b"ab"), lambda: np.fromiter([1, 2], int, 2**33), lambda: np.zeros(2**30).repeat(8),
    lambda: np.lib.stride_tricks.as_strided(np.arange(3), (2**32 + 1,), (0,)).copy(), lambda: np.tile([1], 2**32 + 1),
]
str([number for number, make in enumerate(makers) if not refused(make)])
"#;
    gives(code, "[]");
}

/// The value of the program's last expression, a text.
#[track_caller]
fn gives(code: &str, expected: &str) {
    let Some(cache) = runtimes::provisioned(BELLJAR) else { return };
    let belljar = Belljar::new(BELLJAR);
    // The suite tests what is there, and imports much that is not.
    belljar.write(".config/belljar/belljar.toml", "[packages]\nenabled = false\n");
    let mut command = belljar.command(["run", "--engine", "wasm", "-l", "python", "-c", code, "--json"]);
    command.env(CACHE, cache);
    let answer = answer(command, b"");
    let outcome: serde_json::Value = serde_json::from_slice(&answer.stdout).expect("a result");
    let value = outcome.get("result").and_then(serde_json::Value::as_str).unwrap_or_else(|| panic!("{outcome:#}"));
    assert_eq!(value, expected.trim_end());
}

impl Suite {
    /// `None` after saying that the test is skipped.
    fn open() -> Option<Self> {
        let cache = runtimes::provisioned(BELLJAR)?;
        let downloads = cache.join("work/downloads");
        let Some(archive) = names(&downloads).into_iter().find(|name| name.starts_with("numpy-")) else {
            runtimes::skip(&format!("NumPy's sources are not in `{}`", downloads.display()));
            return None;
        };
        let directory = tempfile::tempdir().expect("a temporary directory");
        let mut tar = arena::host_command("tar");
        tar.arg("-xzf").arg(downloads.join(archive)).arg("-C").arg(directory.path());
        tar.args(["--strip-components=1", "--wildcards", "*/numpy/*/tests/*", "*/numpy/tests/*"]);
        let unpacked = tar.status().expect("`tar` starts");
        assert!(unpacked.success(), "{tar:?}: {unpacked}");
        let mut pip = arena::host_command("python3");
        pip.args(["-m", "pip", "download", "--quiet", "--no-deps", "--only-binary=:all:", "--dest"]);
        pip.arg(directory.path().join("wheels")).args(PYTEST);
        let downloaded = pip.output().expect("`python3` starts");
        if !downloaded.status.success() {
            runtimes::skip(&format!("pytest cannot be had: {}", String::from_utf8_lossy(&downloaded.stderr)));
            return None;
        }
        Some(Self { cache, directory })
    }

    /// What a run is given, by name.
    fn files(&self) -> Vec<String> {
        let mut all = Vec::new();
        let mut folders = vec![PathBuf::from("numpy")];
        while let Some(folder) = folders.pop() {
            for name in names(&self.directory.path().join(&folder)) {
                let path = folder.join(&name);
                if self.directory.path().join(&path).is_dir() {
                    let is_aside = ASIDE.contains(&name.as_str()) || name == "src" || name == "examples";
                    folders.extend((!is_aside).then_some(path));
                } else {
                    all.push(path.into_os_string().into_string().expect("NumPy's names are text"));
                }
            }
        }
        all.sort();
        all
    }

    /// Runs some files. An error says what did not pass.
    fn run(&self, files: &[&Module]) -> Result<Report, String> {
        let belljar = Belljar::new(BELLJAR);
        // The suite tests what is there, and imports much that is not.
        belljar.write(".config/belljar/belljar.toml", "[packages]\nenabled = false\n");
        let mut command = belljar.command(["run", "--engine", "wasm", "-l", "python", "-c", RUN_FILES, "--json"]);
        command.args(["--timeout", "4m", "--cpu", "4m", "--memory", "1GiB"]).env(CACHE, self.cache);
        let wheels = names(&self.directory.path().join("wheels")).into_iter().map(|name| format!("wheels/{name}"));
        for name in self.files().into_iter().chain(wheels) {
            command.arg("--file").arg(format!("{name}={}", self.directory.path().join(&name).display()));
        }
        command.arg("--").args(files.iter().map(|file| &file.name));
        for file in files {
            if let Verdict::Passes(terms) = &file.verdict {
                command.args(terms.without.iter().map(|test| format!("-{}::{test}", file.name)));
            }
        }
        let answer = answer(command, b"");
        let outcome: serde_json::Value = serde_json::from_slice(&answer.stdout).map_err(|_| format!("{answer:?}"))?;
        let Some(Ok(report)) = outcome.get("result").map(Report::deserialize) else {
            return Err(format!("{outcome:#}"));
        };
        let idle: Vec<&str> =
            files.iter().map(|file| file.name.as_str()).filter(|name| !report.passed.contains_key(*name)).collect();
        if report.failures.is_empty() && report.unused.is_empty() && idle.is_empty() {
            Ok(report)
        } else {
            Err(format!("{report:#?}\nnothing passed in {idle:?}; {} were skipped", report.skipped))
        }
    }
}

fn is_test(name: &str) -> bool {
    let file = name.rsplit('/').next().unwrap_or_default();
    file.starts_with("test_") && Path::new(file).extension().is_some_and(|extension| extension == "py")
}

fn names(directory: &Path) -> Vec<String> {
    let entries = fs::read_dir(directory).into_iter().flatten();
    entries.filter_map(|entry| entry.ok()?.file_name().into_string().ok()).collect()
}
