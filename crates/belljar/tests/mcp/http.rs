//! Over HTTP: who is let in, and who is not.

use std::fs;
use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use testkit::conformance::command::Belljar;
use testkit::server::Server;
use testkit::{arena, processes, runtimes};

use crate::client::{BELLJAR, modern};

/// A server on a port of its own.
struct Served(Server);

/// Status, headers and body.
struct Response {
    status: u16,
    head: String,
    body: String,
}

impl Response {
    /// The message in it, bare or as an event.
    fn message(&self) -> Value {
        let data = self
            .body
            .lines()
            .filter_map(|line| line.strip_prefix("data:"))
            .map(str::trim)
            .find(|data| data.starts_with('{'));
        serde_json::from_str(data.unwrap_or(&self.body)).unwrap_or_else(|error| panic!("{error}: {}", self.body))
    }
}

impl Served {
    fn start(arguments: &[&str]) -> Self {
        let mut home = Belljar::new(BELLJAR);
        if let Some(cache) = runtimes::provisioned(BELLJAR) {
            home = home.with_runtimes(cache);
        }
        Self(Server::start(home, arguments))
    }

    fn address(&self) -> &str {
        self.0.address()
    }

    fn send(&self, request: &str) -> Response {
        let mut stream = TcpStream::connect(self.address()).expect("it listens");
        stream.set_read_timeout(Some(Duration::from_secs(30))).expect("a socket");
        stream.write_all(request.as_bytes()).expect("it reads");
        let mut text = String::new();
        stream.read_to_string(&mut text).expect("it answers, and closes");
        let (head, body) = text.split_once("\r\n\r\n").unwrap_or_else(|| panic!("no response: {text:?}"));
        let status = head.split(' ').nth(1).and_then(|status| status.parse().ok()).expect("a status");
        Response { status, head: head.to_ascii_lowercase(), body: body.to_owned() }
    }

    /// A call of the newer era, with these headers beside the usual ones.
    fn call(&self, code: &str, headers: &str) -> Response {
        let params = modern(json!({"name": "run_code", "arguments": {"language": "javascript", "code": code}}));
        let body = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}).to_string();
        let host = if headers.contains("Host:") { String::new() } else { format!("Host: {}\r\n", self.address()) };
        self.send(&format!(
            "POST /mcp HTTP/1.1\r\n{host}Connection: close\r\nContent-Type: application/json\r\n\
             Accept: application/json, text/event-stream\r\nMCP-Protocol-Version: 2026-07-28\r\nMcp-Method: tools/call\r\n\
             Mcp-Name: run_code\r\n{headers}Content-Length: {}\r\n\r\n{body}",
            body.len()
        ))
    }
}

#[test]
fn local_callers_are_served_and_foreign_pages_are_not() {
    let served = Served::start(&[]);
    let answer = served.call("console.log(6 * 7)", "").message();
    assert_eq!(answer["result"]["structuredContent"]["stdout"], "42\n", "{answer}");
    let own_page = format!("Origin: http://{}\r\n", served.address());
    assert_eq!(served.call("1", &own_page).status, 200);
    for headers in ["Origin: http://evil.example\r\n", "Host: evil.example\r\n", "Origin: null\r\n"] {
        assert_eq!(served.call("1", headers).status, 403, "{headers}");
    }
    let health =
        served.send(&format!("GET /healthz HTTP/1.1\r\nHost: {}\r\nConnection: close\r\n\r\n", served.address()));
    assert_eq!((health.status, &*health.body), (200, "ok"));
    assert_eq!(served.call("1", "").status, 200);
}

#[test]
fn tokens_open_the_door_for_their_owners() {
    let folder = tempfile::tempdir().expect("a temporary directory");
    let file = folder.path().join("tokens");
    fs::write(&file, "ada 0123456789abcdef-ada\ngrace 0123456789abcdef-grace\n").expect("write");
    let served = Served::start(&["--tokens", file.to_str().expect("text")]);
    for headers in ["", "Authorization: Bearer wrong\r\n", "Authorization: Basic 0123456789abcdef-ada\r\n"] {
        let refused = served.call("1", headers);
        assert_eq!(refused.status, 401, "{headers}");
        assert!(refused.head.contains("www-authenticate: bearer"), "{}", refused.head);
    }
    let ada = "Authorization: Bearer 0123456789abcdef-ada\r\n";
    let grace = "Authorization: Bearer 0123456789abcdef-grace\r\n";
    let answer = served.call("require('fs').writeFileSync('a.txt', 'hers')", ada).message();
    let uri = answer["result"]["structuredContent"]["files"][0]["uri"].as_str().expect("a file").to_owned();
    // What a run left is its owner's.
    for (token, is_there) in [(ada, true), (grace, false)] {
        let body =
            json!({"jsonrpc": "2.0", "id": 1, "method": "resources/read", "params": modern(json!({"uri": uri}))})
                .to_string();
        let answer = served.send(&format!(
            "POST /mcp HTTP/1.1\r\nHost: {}\r\nConnection: close\r\nContent-Type: application/json\r\n{token}\
             Accept: application/json, text/event-stream\r\nMCP-Protocol-Version: 2026-07-28\r\nMcp-Method: resources/read\r\n\
             Mcp-Name: {uri}\r\nContent-Length: {}\r\n\r\n{body}",
            served.address(),
            body.len()
        ));
        assert_eq!(answer.message()["result"]["contents"][0]["text"] == "hers", is_there, "{}", answer.body);
    }
}

#[test]
fn an_open_door_to_the_network_is_refused() {
    let output = arena::host_command(BELLJAR).args(["serve", "--http", "0.0.0.0:0"]).output().expect("belljar starts");
    let words = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(125), "{words}");
    assert!(words.contains("can be reached from other machines") && words.contains("--tokens"), "{words}");
}

#[test]
fn every_run_is_in_the_audit_log() {
    let folder = tempfile::tempdir().expect("a temporary directory");
    let log = folder.path().join("audit.jsonl");
    let served = Served::start(&["--audit", log.to_str().expect("text")]);
    served.call("console.log('secret-output')", "");
    served.call("process.exit(3)", "");
    drop(served);
    let text = fs::read_to_string(&log).expect("a log");
    let entries: Vec<Value> = text.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();
    let codes: Vec<&Value> = entries.iter().map(|entry| &entry["exit_code"]).collect();
    assert_eq!(codes, [&json!(0), &json!(3)], "{text}");
    assert_eq!((&entries[0]["principal"], &entries[0]["isolation"]), (&json!("local"), &json!("wasm+jail")));
    assert!(!text.contains("secret-output"));
    let verify = || arena::host_command(BELLJAR).args(["audit", "verify"]).arg(&log).output().expect("belljar starts");
    assert!(verify().status.success());
    fs::write(&log, text.replace("\"exit_code\":3", "\"exit_code\":0")).expect("write");
    let found = verify();
    assert_eq!(found.status.code(), Some(125));
    assert!(String::from_utf8_lossy(&found.stderr).contains("line 2 of the audit log: it was changed"), "{found:?}");
}

#[test]
fn a_signal_ends_the_server_within_a_second() {
    let mut served = Served::start(&[]);
    let started = Instant::now();
    processes::terminate(served.0.pid());
    let status = served.0.wait();
    assert!(status.success() && started.elapsed() < Duration::from_secs(3), "{status} after {:?}", started.elapsed());
}
