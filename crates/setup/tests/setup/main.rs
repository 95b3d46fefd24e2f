//! Provisioning with small shell scripts for recipes and a finisher that only writes down what it was given.

#![expect(clippy::expect_used, clippy::panic, clippy::indexing_slicing, reason = "a failed check is a failed test")]

// The name that other crates give it.
extern crate belljar_setup as setup;

mod archives;
mod crashes;
mod once;
mod rebuilds;
mod recipes;
mod stories;
mod trust;
mod world;
