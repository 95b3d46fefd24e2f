//! What an operator grants to runs outside of their walls: folders of the host, and hosts of the network. That it works, that it is told,
//! and that it is all that a run gets.

#![expect(clippy::expect_used, clippy::indexing_slicing, clippy::panic, reason = "a failed check is a failed test")]

#[path = "mcp/client.rs"]
#[expect(dead_code, reason = "the tests of MCP itself need more of it")]
mod client;
#[path = "grants/folders.rs"]
mod folders;
#[path = "grants/network.rs"]
mod network;
#[path = "grants/sessions.rs"]
mod sessions;
#[path = "grants/world.rs"]
mod world;

use serde_json::Value;

/// Why something was refused.
#[track_caller]
fn refusal(result: &Value) -> &str {
    assert_eq!(result["isError"], true, "{result:#}");
    assert_eq!(result.get("structuredContent"), None, "{result:#}");
    result["content"][0]["text"].as_str().expect("text")
}

/// What a run printed, which must have ended well, natively.
#[track_caller]
fn printed(result: &Value) -> &str {
    let result = &result["structuredContent"];
    assert_eq!((&result["exit_code"], &result["engine"]), (&0.into(), &"native".into()), "{result:#}");
    result["stdout"].as_str().expect("text")
}
