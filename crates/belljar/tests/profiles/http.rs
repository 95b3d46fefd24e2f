//! What `mcp-run-python` answers over HTTP where no tool is called, on the wire.

use std::io::{Read as _, Write as _};
use std::net::TcpStream;

use serde_json::{Value, json};
use testkit::server::Served;

use crate::client::initialize;
use crate::flags::port;
use crate::world::World;

struct Answer {
    status: u16,
    session: Option<String>,
    body: String,
}

/// A server in a mode of the original's.
struct Server(Served);

impl Server {
    fn start(world: &World, mode: &str) -> Self {
        let flags = ["--profile", "mcp-run-python", mode, "--port", &port()];
        Self(Served::start(world.command(&flags)).expect("it serves"))
    }

    fn ask(&self, method: &str, session: Option<&str>, message: &Value) -> Answer {
        let (host, body) = (self.0.address(), message.to_string());
        let session = session.map(|session| format!("Mcp-Session-Id: {session}\r\n")).unwrap_or_default();
        let request = format!(
            "{method} /mcp HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\nContent-Type: application/json\r\n\
             Accept: application/json, text/event-stream\r\n{session}Content-Length: {}\r\n\r\n{body}",
            body.len()
        );
        let mut stream = TcpStream::connect(host).expect("it listens");
        stream.write_all(request.as_bytes()).expect("it reads");
        let mut answer = String::new();
        stream.read_to_string(&mut answer).expect("it answers");
        let (head, body) = answer.split_once("\r\n\r\n").expect("a head and a body");
        let session = head.lines().find_map(|line| line.strip_prefix("mcp-session-id: "));
        Answer {
            status: head[9..12].parse().expect("a status"),
            session: session.map(str::to_owned),
            body: body.to_owned(),
        }
    }

    /// What it says without a result.
    fn refuses(&self, method: &str, session: Option<&str>) -> (u16, String) {
        let answer = self.ask(method, session, &json!({"jsonrpc": "2.0", "id": 1, "method": "tools/list"}));
        (answer.status, answer.body)
    }

    fn greet(&self) -> Answer {
        let params = initialize("2025-06-18");
        self.ask("POST", None, &json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": params}))
    }
}

fn error(status: u16, message: &str) -> (u16, Value) {
    (status, json!({"jsonrpc": "2.0", "id": null, "error": {"code": -32000, "message": message}}))
}

fn parsed((status, body): (u16, String)) -> (u16, Value) {
    (status, serde_json::from_str(&body).unwrap_or_else(|error| panic!("{error} in {body}")))
}

#[test]
fn with_sessions() {
    let server = Server::start(&World::new(), "streamable-http");
    let greeting = server.greet();
    let session = greeting.session.expect("a session");
    assert_eq!(greeting.status, 200, "{}", greeting.body);
    assert_eq!(server.refuses("POST", Some(&session)).0, 200);
    assert_eq!(server.refuses("DELETE", Some(&session)), (200, String::new()));
    // None, one that nobody had, and one that is over.
    for session in [None, Some("nobody.had"), Some(session.as_str())] {
        let expected = error(400, "Bad Request: No valid session ID provided");
        assert_eq!(parsed(server.refuses("POST", session)), expected, "{session:?}");
        assert_eq!(server.refuses("GET", session), (400, "Invalid or missing session ID".to_owned()), "{session:?}");
    }
    assert_eq!(server.refuses("DELETE", None), (400, "Invalid or missing session ID".to_owned()));
    assert_eq!(server.refuses("PUT", None), (405, "Method not allowed".to_owned()));
}

#[test]
fn without_sessions() {
    let server = Server::start(&World::new(), "streamable-http-stateless");
    let greeting = server.greet();
    assert_eq!((greeting.status, greeting.session), (200, None), "{}", greeting.body);
    assert_eq!(server.refuses("POST", None).0, 200);
    assert_eq!(server.refuses("DELETE", None), (200, String::new()));
    for method in ["GET", "PUT"] {
        assert_eq!(parsed(server.refuses(method, None)), error(405, "Method not allowed."), "{method}");
    }
}
