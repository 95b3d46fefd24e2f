//! CPython's own tests, in the WebAssembly Python: `cpython/modules.txt` says which of them pass, and why the others are not run.
//!
//! Each module is one run. `BELLJAR_TEST_ALL` runs the slow ones too.

#![expect(clippy::expect_used, clippy::panic, reason = "a failed check is a failed test")]

#[path = "cpython/list.rs"]
mod list;
#[path = "cpython/suite.rs"]
mod suite;

use std::collections::{BTreeSet, VecDeque};
use std::sync::Mutex;
use std::thread;

use list::{Module, Pace, Verdict};
use suite::Suite;

/// Runs at a time: a run starts and ends on the server's side, and computes in its worker.
const AT_A_TIME: usize = 4;

/// What the project promises.
const FEWEST: usize = 60;

#[test]
fn modules_pass() {
    let Some(suite) = Suite::open() else { return };
    let modules = list::read();
    let chosen = modules.iter().filter_map(|module| Some((module.name.as_str(), tests_left_out(module)?)));
    let queue = Mutex::new(chosen.collect::<VecDeque<_>>());
    let complaints = Mutex::new(Vec::new());
    thread::scope(|scope| {
        for _ in 0..AT_A_TIME {
            scope.spawn(|| {
                while let Some((module, without)) = next(&queue) {
                    if let Err(complaint) = suite.run(module, without) {
                        complaints.lock().expect("no thread panics").push(format!("{module}: {complaint}"));
                    }
                }
            });
        }
    });
    let complaints = complaints.into_inner().expect("no thread panics");
    assert!(complaints.is_empty(), "{}", complaints.join("\n"));
}

fn next<Item>(queue: &Mutex<VecDeque<Item>>) -> Option<Item> {
    queue.lock().expect("no thread panics").pop_front()
}

/// For a module that is to be run now, its tests that are not.
#[expect(clippy::disallowed_methods, reason = "tests have no settings module")]
fn tests_left_out(module: &Module) -> Option<&[String]> {
    match &module.verdict {
        Verdict::Passes { pace: Pace::Slow, .. } if std::env::var_os("BELLJAR_TEST_ALL").is_none() => None,
        Verdict::Passes { without, .. } => Some(without),
        Verdict::Skipped => None,
    }
}

#[test]
fn every_module_is_named() {
    let Some(suite) = Suite::open() else { return };
    let modules = list::read();
    let named: BTreeSet<&str> = modules.iter().map(|module| module.name.as_str()).collect();
    assert_eq!(named.len(), modules.len(), "a module is named twice");
    let there = suite.modules();
    let unnamed: Vec<_> = there.difference(&named).collect();
    let gone: Vec<_> = named.difference(&there).collect();
    assert!(unnamed.is_empty() && gone.is_empty(), "not in modules.txt: {unnamed:?}; not in CPython: {gone:?}");
}

#[test]
fn enough_modules_pass_whole() {
    let modules = list::read();
    let whole = modules.iter().filter(|module| tests_left_out(module).is_some_and(<[String]>::is_empty)).count();
    assert!(whole >= FEWEST, "{whole} modules pass without exceptions");
}
