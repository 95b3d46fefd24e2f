//! CPython's own tests, in the WebAssembly Python: `cpython/modules.txt` says which of them pass, and why the others are not run.
//!
//! Each module is one run. `BELLJAR_TEST_ALL` runs the slow ones too. What fails is run once more, alone, as CPython's own CI does
//! (`regrtest --rerun`): some of its tests compare two readings of the clock, and fail when a second begins between them.

#![expect(clippy::expect_used, clippy::panic, reason = "a failed check is a failed test")]

#[path = "cpython/list.rs"]
mod list;
#[path = "cpython/suite.rs"]
mod suite;

use std::collections::{BTreeSet, VecDeque};
use std::sync::Mutex;
use std::thread;

use list::{Module, Terms};
use suite::Suite;

const MODULES: &str = include_str!("cpython/modules.txt");

/// Runs at a time. Two cores are busy, also while a run starts or ends.
const AT_A_TIME: usize = 4;

/// What the project promises, in every test run and without exceptions.
const FEWEST: usize = 60;

#[test]
fn modules_pass() {
    let Some(suite) = Suite::open() else { return };
    let modules = list::read(MODULES);
    let chosen = modules.iter().filter_map(|module| Some((module.name.as_str(), module.terms_now()?)));
    let queue = Mutex::new(chosen.collect::<VecDeque<_>>());
    let failed = Mutex::new(Vec::new());
    let next = || queue.lock().expect("no thread panics").pop_front();
    thread::scope(|scope| {
        for _ in 0..AT_A_TIME {
            scope.spawn(|| {
                while let Some((module, terms)) = next() {
                    if suite.run(module, terms).is_err() {
                        failed.lock().expect("no thread panics").push((module, terms));
                    }
                }
            });
        }
    });
    let failed = failed.into_inner().expect("no thread panics");
    let again = failed.into_iter().filter_map(|(module, terms)| Some((module, suite.run(module, terms).err()?)));
    let complaints: Vec<_> = again.map(|(module, complaint)| format!("{module}: {complaint}")).collect();
    assert!(complaints.is_empty(), "{}", complaints.join("\n"));
}

#[test]
fn every_module_is_named() {
    let Some(suite) = Suite::open() else { return };
    let modules = list::read(MODULES);
    let named: BTreeSet<&str> = modules.iter().map(|module| module.name.as_str()).collect();
    assert_eq!(named.len(), modules.len(), "a module is named twice");
    let there = suite.modules(&named);
    let there: BTreeSet<&str> = there.iter().map(String::as_str).collect();
    let unnamed: Vec<_> = there.difference(&named).collect();
    let gone: Vec<_> = named.difference(&there).collect();
    assert!(unnamed.is_empty() && gone.is_empty(), "not in modules.txt: {unnamed:?}; not in CPython: {gone:?}");
}

#[test]
fn enough_modules_pass_whole() {
    let modules = list::read(MODULES);
    let is_whole = |terms: &Terms| terms.without.is_empty() && terms.despite.is_empty();
    let whole = modules.iter().filter_map(Module::terms_now).filter(|terms| is_whole(terms)).count();
    assert!(whole >= FEWEST, "{whole} modules pass without exceptions");
}
