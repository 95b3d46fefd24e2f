//! What the tests of the isolation share: four set-ups to run the built binary in ([`arena`]), victims on the host and
//! the check that they are unharmed ([`stage`]), running `belljar` with a deadline ([`run`]), the attack corpus
//! ([`attacks`]), and the proof that each layer is guarded by a probe ([`layers`]). Tests of the protocol start a
//! [`server`], and clients: our own ([`mcp_http`]), and those of npm and PyPI ([`packages`]).
//!
//! A check that fails panics: these functions are the bodies of tests.

#![expect(
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::missing_panics_doc,
    clippy::panic,
    reason = "a failed check is a failed test"
)]

pub mod arena;
pub mod attacks;
pub mod conformance;
pub mod layers;
pub mod mcp_http;
pub mod packages;
pub mod processes;
pub mod random;
pub mod run;
pub mod runtimes;
pub mod server;
pub mod stage;
