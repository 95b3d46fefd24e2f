//! What operators rely on over HTTP: OAuth, shares and fairness, metrics, logs, traces, slow clients, and an orderly end.

#![expect(clippy::expect_used, clippy::panic, reason = "a failed check is a failed test")]

#[path = "mcp_operators/endings.rs"]
mod endings;
#[path = "mcp_operators/neighbour.rs"]
mod neighbour;
#[path = "mcp_operators/oauth.rs"]
mod oauth;
#[path = "mcp_operators/shares.rs"]
mod shares;
#[path = "mcp_operators/watching.rs"]
mod watching;

use std::fs;
use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use testkit::arena;
use testkit::mcp_http::{Endpoint, Exchange};
use testkit::processes::{self, Process};
use testkit::server::Served;

const BELLJAR: &str = env!("CARGO_BIN_EXE_belljar");

/// A server with the host's own languages only.
fn serve(folder: &Path, arguments: &[&str]) -> Served {
    let mut command = arena::host_command(BELLJAR);
    command.args(["serve", "--http", "127.0.0.1:0"]).args(arguments).env("BELLJAR_CACHE", folder.join("cache"));
    Served::start(command).expect("belljar serves")
}

fn folder() -> tempfile::TempDir {
    tempfile::tempdir().expect("a temporary directory")
}

const ADA: &str = "0123456789abcdef-ada";
const GRACE: &str = "0123456789abcdef-grace";

/// A file with the tokens of both.
fn tokens(folder: &Path) -> String {
    let file = folder.join("tokens");
    fs::write(&file, format!("ada {ADA}\ngrace {GRACE}\n")).expect("write");
    file.to_str().expect("text").to_owned()
}

/// A call that has begun to be answered.
fn call(endpoint: &Endpoint, code: &str) -> Exchange {
    let arguments = json!({"language": "bash", "code": code});
    endpoint.modern().send("tools/call", json!({"name": "run_code", "arguments": arguments})).expect("it answers")
}

/// Waits until so many processes of runs carry a marker as their name.
fn wait_for(marker: &str, count: usize) {
    let end = Instant::now() + Duration::from_mins(1);
    let is_marked = |process: &&Process| process.arguments.starts_with(marker);
    while processes::all().iter().filter(is_marked).count() < count {
        assert!(Instant::now() < end, "`{marker}` never begins");
        thread::sleep(Duration::from_millis(20));
    }
}

/// What a run printed.
fn stdout(endpoint: &Endpoint, code: &str) -> String {
    let mut exchange = call(endpoint, code);
    let answer = exchange.answer().expect("an answer");
    let answer: Value = answer.unwrap_or_else(|| panic!("no answer: {exchange:?}"));
    let stdout = answer.pointer("/result/structuredContent/stdout").and_then(Value::as_str);
    stdout.unwrap_or_else(|| panic!("{answer}")).to_owned()
}
