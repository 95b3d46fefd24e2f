//! The MCP server as programs that others wrote see it: the protocol's own clients for Python and JavaScript, FastMCP, and the inspector,
//! over standard streams and HTTP, in both eras. All of them hold results against the tools' schemas.

#![expect(clippy::expect_used, clippy::panic, reason = "a failed check is a failed test")]

#[path = "mcp_clients/day.rs"]
mod day;

use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::{Value, json};
use testkit::conformance::command::{self, Belljar};
use testkit::mcp_http::Endpoint;
use testkit::packages::{Npm, Pypi};
use testkit::server::Served;

const BELLJAR: &str = env!("CARGO_BIN_EXE_belljar");
const TOKEN: &str = "0123456789abcdef-ada";

/// What the inspector asks, and one part of the answer.
const QUESTIONS: &[(&[&str], &str, &str)] = &[
    // Fails when a client could stumble over a schema.
    (&["tools/list", "--strict"], "/result/tools/0/name", "run_code"),
    (
        &["tools/call", "--tool-name", "run_code", "--tool-args-json", PROGRAM],
        "/result/structuredContent/stdout",
        "42\n",
    ),
    (&["resources/list"], "/result/resources/0/uri", "runtime://python"),
    (&["prompts/list"], "/result/prompts/0/name", "compute"),
];
const PROGRAM: &str = r#"{"language": "python", "code": "print(6 * 7)"}"#;

#[test]
fn inspector_over_standard_streams() {
    inspect(&Belljar::new(BELLJAR), &[BELLJAR, "serve"]);
}

#[test]
fn inspector_over_http() {
    let home = Belljar::new(BELLJAR);
    let server = serve(&home, &[]);
    inspect(&home, &[&server.url()]);
}

#[test]
fn mcp_of_pypi() {
    python("mcp");
}

#[test]
fn fastmcp_of_pypi() {
    python("fastmcp");
}

#[test]
fn sdk_of_npm() {
    javascript("sdk");
}

#[test]
fn client_of_npm() {
    javascript("client");
}

/// What a model reads of the tools with every request, in tokens of a tokenizer of today.
#[test]
fn tools_take_few_tokens() {
    const MOST: &[(&str, u32)] = &[
        ("run_code", 750),
        ("install_packages", 145),
        ("list_packages", 125),
        ("list_runtimes", 60),
        ("configure_environment", 150),
        ("get_environment", 50),
        ("write_file", 130),
        ("read_file", 110),
        ("list_files", 80),
        ("list_sessions", 60),
        ("close_session", 70),
        ("fork_session", 100),
        ("save_session", 100),
        ("restore_session", 100),
    ];
    let Some(npm) = npm() else { return };
    let home = Belljar::new(BELLJAR);
    let server = serve(&home, &[]);
    let listed = Endpoint::new(server.address()).modern().request("tools/list", json!({})).expect("an answer");
    let mut counter = home.client(npm.node());
    counter.env("NODE_PATH", npm.modules());
    counter.arg(Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/mcp_clients/tokens.cjs"));
    let answer = command::answer(counter, listed["result"]["tools"].to_string().as_bytes());
    assert_eq!(answer.code, Some(0), "{}", answer.stderr);
    for (line, (name, most)) in answer.text().lines().zip(MOST) {
        let tokens = line.strip_prefix(name).and_then(|tokens| tokens.trim().parse::<u32>().ok());
        assert!(tokens.is_some_and(|tokens| tokens <= *most), "{line}");
    }
    assert_eq!(answer.text().lines().count(), MOST.len(), "{}", answer.text());
}

fn inspect(home: &Belljar, target: &[&str]) {
    let Some(npm) = npm() else { return };
    for era in ["legacy", "auto", "modern"] {
        for (question, place, expected) in QUESTIONS {
            let mut inspector = home.client(npm.node());
            inspector.arg(npm.modules().join(".bin/mcp-inspector")).arg("--cli").args(target);
            inspector.args(["--protocol-era", era, "--format", "json", "--method"]).args(*question);
            let answer = command::answer(inspector, b"");
            assert_eq!(answer.code, Some(0), "{era}: {question:?}: {answer:?}");
            let said: Value = serde_json::from_str(answer.text()).unwrap_or_else(|error| panic!("{error}: {answer:?}"));
            assert_eq!(said.pointer(place), Some(&(*expected).into()), "{era}: {question:?}: {answer:?}");
        }
    }
}

fn python(client: &str) {
    let Some(pypi) = pypi() else { return };
    passes("checks.py", client, |home| home.client(pypi.python()));
}

fn javascript(client: &str) {
    let Some(npm) = npm() else { return };
    passes("checks.cjs", client, |home| {
        let mut node = home.client(npm.node());
        node.env("NODE_PATH", npm.modules());
        node
    });
}

/// Runs a script of `mcp_clients` with one of the clients that it knows.
#[track_caller]
fn passes(script: &str, client: &str, interpreter: impl FnOnce(&Belljar) -> Command) {
    let home = Belljar::new(BELLJAR);
    home.write("tokens", format!("ada {TOKEN}\n"));
    let server = serve(&home, &["--tokens", "tokens"]);
    let mut checks = interpreter(&home);
    checks.arg(Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/mcp_clients").join(script));
    checks.args([client, BELLJAR, &server.url(), TOKEN]);
    let answer = command::answer(checks, b"");
    assert_eq!(answer.code, Some(0), "{}", answer.stderr);
}

fn serve(home: &Belljar, arguments: &[&str]) -> Served {
    let command = ["serve", "--http", "127.0.0.1:0"].iter().chain(arguments);
    Served::start(home.command(command)).expect("belljar serves")
}

fn pypi() -> Option<Pypi> {
    Pypi::install(&folder("pypi"), &["mcp==2.3.0", "fastmcp==4.1.2"])
}

fn npm() -> Option<Npm> {
    let packages = [
        "@modelcontextprotocol/inspector@2.12.0",
        "@modelcontextprotocol/sdk@1.32.2",
        "@modelcontextprotocol/client@2.4.0",
        "gpt-tokenizer@4.0.0",
    ];
    Npm::install(&folder("npm"), &packages)
}

fn folder(registry: &str) -> PathBuf {
    Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("mcp-clients-{registry}"))
}
