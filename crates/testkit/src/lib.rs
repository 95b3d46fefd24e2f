//! What the tests of the isolation share: four set-ups to run the built binary in ([`arena`]), victims on the host and
//! the check that they are unharmed ([`stage`]), running `belljar` with a deadline ([`run`]), the attack corpus
//! ([`attacks`]), the proof that each layer is guarded by a probe ([`layers`]), and a client of the MCP server
//! ([`mcp_http`]).
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
pub mod processes;
pub mod run;
pub mod runtimes;
pub mod stage;
