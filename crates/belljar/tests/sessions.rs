//! Sessions as callers meet them: what stays between calls, what a caller hears when it does not, their files and pictures, and that
//! nobody sees another's.

#![expect(clippy::expect_used, clippy::indexing_slicing, clippy::panic, reason = "a failed check is a failed test")]

#[path = "sessions/alike.rs"]
mod alike;
#[path = "sessions/bad_input.rs"]
mod bad_input;
#[path = "mcp/client.rs"]
#[expect(dead_code, reason = "the tests of MCP itself need more of it")]
mod client;
#[path = "sessions/day.rs"]
mod day;
#[path = "sessions/files.rs"]
mod files;
#[path = "sessions/interrupts.rs"]
mod interrupts;
#[path = "sessions/life.rs"]
mod life;
#[path = "sessions/losses.rs"]
mod losses;
#[path = "sessions/rich.rs"]
mod rich;
#[path = "sessions/setups.rs"]
mod setups;
#[path = "packages/site.rs"]
#[expect(dead_code, reason = "the tests of packages need more of it")]
mod site;
#[path = "wasm_sessions/told.rs"]
mod told;

use serde_json::{Value, json};

use client::Client;

/// Calls a tool.
fn call(client: &mut Client, tool: &str, arguments: &Value) -> Value {
    client.request("tools/call", &json!({"name": tool, "arguments": arguments}))["result"].take()
}

/// Runs a cell of Python.
fn python(client: &mut Client, session: &str, code: &str) -> Value {
    client.run(&json!({"session": session, "language": "python", "code": code}))
}

/// Whether programs in it can be natively run here. Where there is no tool for it, says that this is skipped.
fn is_here(client: &mut Client, language: &str) -> bool {
    let listed = call(client, "list_runtimes", &json!({}));
    let languages = structured(&listed)["languages"].as_array().expect("languages");
    let engines = languages.iter().find(|entry| entry["language"] == language).map(|entry| &entry["engines"]);
    let is_here = engines.is_some_and(|engines| engines.as_array().is_some_and(|all| all.contains(&json!("native"))));
    if !is_here {
        testkit::runtimes::skip(&format!("there is no tool for `{language}`"));
    }
    is_here
}

/// The structured result of a call that went well.
#[track_caller]
fn structured(result: &Value) -> &Value {
    assert_ne!(result["isError"], true, "{result:#}");
    &result["structuredContent"]
}

/// Why something was refused.
#[track_caller]
fn refusal(result: &Value) -> &str {
    assert_eq!(result["isError"], true, "{result:#}");
    assert_eq!(result.get("structuredContent"), None, "{result:#}");
    result["content"][0]["text"].as_str().expect("text")
}
