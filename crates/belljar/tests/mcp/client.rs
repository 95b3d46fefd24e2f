//! A client that sends exactly what it is told to.

use std::collections::VecDeque;
use std::io::{BufRead as _, BufReader, Write as _};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use testkit::arena;
use testkit::runtimes::CACHE;
use testkit::server::Served;

pub(crate) const BELLJAR: &str = env!("CARGO_BIN_EXE_belljar");

/// Much longer than anything takes, on a machine that has other things to do.
const PATIENCE: Duration = Duration::from_mins(3);

/// A server and its standard streams.
pub(crate) struct Client {
    child: Child,
    stdin: Option<ChildStdin>,
    lines: Receiver<String>,
    /// Came while something else was waited for.
    early: VecDeque<Value>,
    last: u64,
}

impl Client {
    /// A server that has not heard anything yet.
    pub(crate) fn start(arguments: &[&str]) -> Self {
        let mut command = arena::host_command(BELLJAR);
        command.arg("serve").args(arguments);
        if let Some(cache) = testkit::runtimes::provisioned(BELLJAR) {
            command.env(CACHE, cache);
        }
        Self::of(command)
    }

    /// A server that was put together elsewhere.
    pub(crate) fn of(mut command: Command) -> Self {
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().expect("belljar starts");
        let stdin = child.stdin.take();
        let stdout = BufReader::new(child.stdout.take().expect("piped"));
        let (sender, lines) = channel();
        thread::spawn(move || stdout.lines().map_while(Result::ok).try_for_each(|line| sender.send(line)));
        Self { child, stdin, lines, early: VecDeque::new(), last: 0 }
    }

    /// A server that knows an older client.
    pub(crate) fn initialized() -> Self {
        Self::start(&[]).greeted()
    }

    /// The same server, after it was told of an older client.
    pub(crate) fn greeted(mut self) -> Self {
        let answer = self.request("initialize", &initialize("2025-11-25"));
        assert_eq!(answer["result"]["protocolVersion"], "2025-11-25", "{answer}");
        self.notify("notifications/initialized", &json!({}));
        self
    }

    pub(crate) fn pid(&self) -> i32 {
        i32::try_from(self.child.id()).expect("pids are below 2^22")
    }

    pub(crate) fn write(&mut self, bytes: &[u8]) {
        self.stdin.as_mut().expect("open").write_all(bytes).expect("the server reads");
    }

    pub(crate) fn send(&mut self, method: &str, params: &Value) -> u64 {
        self.last += 1;
        let line = json!({"jsonrpc": "2.0", "id": self.last, "method": method, "params": params});
        self.write(format!("{line}\n").as_bytes());
        self.last
    }

    pub(crate) fn notify(&mut self, method: &str, params: &Value) {
        let line = json!({"jsonrpc": "2.0", "method": method, "params": params});
        self.write(format!("{line}\n").as_bytes());
    }

    /// The next message, whatever it is.
    pub(crate) fn next(&mut self) -> Value {
        self.early.pop_front().unwrap_or_else(|| self.read())
    }

    /// What came while something else was waited for.
    pub(crate) fn take_early(&mut self) -> Option<Value> {
        self.early.pop_front()
    }

    fn read(&mut self) -> Value {
        self.read_within(PATIENCE).unwrap_or_else(|| panic!("the server does not answer"))
    }

    fn read_within(&mut self, patience: Duration) -> Option<Value> {
        match self.lines.recv_timeout(patience) {
            Ok(line) => Some(serde_json::from_str(&line).unwrap_or_else(|error| panic!("{error} in {line:?}"))),
            Err(RecvTimeoutError::Timeout) => None,
            Err(RecvTimeoutError::Disconnected) => panic!("the server is gone"),
        }
    }

    /// The answer to a request; what else comes is kept for [`Client::next`].
    pub(crate) fn answer(&mut self, id: u64) -> Value {
        self.answer_within(id, PATIENCE).unwrap_or_else(|| panic!("the server does not answer"))
    }

    /// The same, unless it takes longer than that.
    pub(crate) fn answer_within(&mut self, id: u64, patience: Duration) -> Option<Value> {
        if let Some(place) = self.early.iter().position(|message| message["id"] == id) {
            return self.early.remove(place);
        }
        let end = Instant::now() + patience;
        loop {
            let message = self.read_within(end.saturating_duration_since(Instant::now()))?;
            if message["id"] == id {
                return Some(message);
            }
            self.early.push_back(message);
        }
    }

    pub(crate) fn request(&mut self, method: &str, params: &Value) -> Value {
        let id = self.send(method, params);
        self.answer(id)
    }

    /// Calls `run_code`.
    pub(crate) fn run(&mut self, arguments: &Value) -> Value {
        self.request("tools/call", &json!({"name": "run_code", "arguments": arguments}))["result"].take()
    }

    /// Closes our end, and waits for the server's. How long that took.
    pub(crate) fn close(mut self) -> Duration {
        let started = Instant::now();
        drop(self.stdin.take());
        let status = self.child.wait().expect("our own child");
        assert!(status.success(), "{status}");
        started.elapsed()
    }
}

impl Drop for Client {
    fn drop(&mut self) {
        self.child.kill().ok();
        self.child.wait().ok();
    }
}

/// A server over HTTP, on a port of its own.
pub(crate) fn serve_http(arguments: &[&str]) -> Served {
    let mut command = arena::host_command(BELLJAR);
    command.args(["serve", "--http", "127.0.0.1:0"]).args(arguments);
    if let Some(cache) = testkit::runtimes::provisioned(BELLJAR) {
        command.env(CACHE, cache);
    }
    Served::start(command).expect("belljar serves")
}

pub(crate) fn initialize(version: &str) -> Value {
    json!({"protocolVersion": version, "capabilities": {}, "clientInfo": {"name": "test", "version": "1"}})
}

/// Parameters of a request of the newer era.
pub(crate) fn modern(mut params: Value) -> Value {
    params["_meta"] = json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": {},
        "io.modelcontextprotocol/clientInfo": {"name": "test", "version": "1"},
    });
    params
}
