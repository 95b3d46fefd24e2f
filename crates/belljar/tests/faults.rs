//! Things that break while a server serves: its processes, its disk, its descriptors, its memory, its clock, its registry. A caller gets the
//! right answer or a sentence that says what happened, never another's answer and never none; the next calls are served; what was saved is
//! there; nothing is left.
//!
//! Moments are random, from a seed that is printed; `BELLJAR_TEST_SEED` repeats it. Seconds of random faults, ten minutes with
//! `BELLJAR_TEST_ALL`.

#![expect(clippy::expect_used, clippy::indexing_slicing, clippy::panic, reason = "a failed check is a failed test")]

#[path = "faults/caller.rs"]
mod caller;
#[path = "mcp/client.rs"]
#[expect(dead_code, reason = "the tests of MCP itself need more of it")]
mod client;
#[path = "faults/clocks.rs"]
mod clocks;
#[path = "faults/descriptors.rs"]
mod descriptors;
#[path = "faults/disks.rs"]
mod disks;
#[path = "faults/kills.rs"]
mod kills;
#[path = "faults/memory.rs"]
mod memory;
#[path = "faults/programs.rs"]
mod programs;
#[path = "faults/random_kills.rs"]
mod random_kills;
#[path = "faults/registries.rs"]
mod registries;
#[path = "faults/saving.rs"]
mod saving;
#[path = "faults/setups.rs"]
mod setups;
#[path = "faults/silence.rs"]
mod silence;
#[path = "faults/site.rs"]
mod site;
#[path = "faults/tree.rs"]
mod tree;
#[path = "faults/world.rs"]
mod world;

use std::time::Duration;

use serde_json::Value;

/// What a machine with other things to do may take for what should take a second.
const SOON: Duration = Duration::from_secs(5);

/// What a run printed, which must have ended well.
#[track_caller]
fn printed(result: &Value) -> &str {
    assert_eq!(result["structuredContent"]["exit_code"], 0, "{result:#}");
    result["structuredContent"]["stdout"].as_str().expect("text")
}

/// What is said in place of an outcome.
#[track_caller]
fn told(result: &Value) -> &str {
    assert_eq!((&result["isError"], result.get("structuredContent")), (&true.into(), None), "{result:#}");
    result["content"][0]["text"].as_str().expect("text")
}

/// Where the random moments of this run of the tests begin.
#[expect(
    clippy::disallowed_methods,
    clippy::print_stderr,
    reason = "tests have no settings module, and name their seed"
)]
fn seed() -> u64 {
    let given =
        std::env::var("BELLJAR_TEST_SEED").ok().map(|text| text.parse().expect("`BELLJAR_TEST_SEED` is a number"));
    let seed = given.unwrap_or_else(|| u64::from(std::process::id()));
    eprintln!("BELLJAR_TEST_SEED={seed}");
    seed
}
