//! How long programs have. The log of a server tells what it decided.

use std::fs;

use serde_json::{Value, json};

use crate::client::Client;
use crate::world::{World, call};

/// The time that a program was given, in seconds.
fn given(profile: &str, tool: &str, arguments: &Value) -> u64 {
    let world = World::new();
    let log = world.path("audit.jsonl");
    let mut command = world.command(&["--audit"]);
    command.arg(&log).args(["--profile", profile]);
    let mut client = Client::of(command).greeted();
    let result = call(&mut client, tool, arguments);
    client.close();
    let log = fs::read_to_string(log).expect("a log");
    let entry: Value = serde_json::from_str(log.lines().last().expect("an entry")).expect("JSON");
    let timeout = entry["timeout_ms"].as_u64().unwrap_or_else(|| panic!("{entry} of {result}"));
    assert_eq!(entry["cpu_ms"], entry["timeout_ms"], "{profile}");
    timeout / 1_000
}

#[test]
fn programs_have_the_time_that_they_had() {
    for (profile, tool, arguments, seconds) in [
        ("runno", "run_code", json!({"runtime": "python", "code": "print(1)"}), 10),
        ("code-runner-mcp", "python-code-runner", json!({"code": "print(1)"}), 180),
        ("code-runner-mcp", "javascript-code-runner", json!({"code": "console.log(1)"}), 60),
        ("mcp-run-python", "run_python_code", json!({"python_code": "1"}), 30),
        ("mcp-server-code-runner", "run-code", json!({"languageId": "python", "code": "print(1)"}), 30),
        ("mcp-code-executor", "execute_code", json!({"code": "print(1)"}), 30),
    ] {
        assert_eq!(given(profile, tool, &arguments), seconds, "{profile} {tool}");
    }
}
