//! Packages as callers meet them: which ones work where, what is said of those that do not, and what none of them can do to the host, to
//! the layer they are in, or to another run.
//!
//! The table asks this machine's registries. Everything else has an index of its own, in a folder.

#![expect(clippy::expect_used, clippy::indexing_slicing, clippy::panic, reason = "a failed check is a failed test")]

#[path = "packages/bad_input.rs"]
mod bad_input;
#[path = "mcp/client.rs"]
#[expect(dead_code, reason = "the tests of MCP itself need more of it")]
mod client;
#[path = "packages/crash.rs"]
mod crash;
#[path = "packages/isolation.rs"]
mod isolation;
#[path = "packages/own.rs"]
mod own;
#[path = "packages/parked.rs"]
mod parked;
#[path = "packages/site.rs"]
mod site;
#[path = "packages/table.rs"]
mod table;
#[path = "packages/trouble.rs"]
mod trouble;

use serde_json::Value;

/// What a run printed, which must have ended well.
#[track_caller]
fn printed(result: &Value) -> &str {
    assert_eq!(result["structuredContent"]["exit_code"], 0, "{result:#}");
    result["structuredContent"]["stdout"].as_str().expect("text")
}

/// Why something was refused.
#[track_caller]
fn refusal(result: &Value) -> &str {
    assert_eq!(result["isError"], true, "{result:#}");
    assert_eq!(result.get("structuredContent"), None, "{result:#}");
    result["content"][0]["text"].as_str().expect("text")
}
