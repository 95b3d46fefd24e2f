//! Talking to a peer with a clock in hand: every wait ends, whatever the peer does.

use std::fs::{self, File};
use std::io::{BufRead, BufReader, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::time::{Duration, Instant};

use anyhow::Context as _;
use serde_json::{Value, json};
use testkit::processes;

use super::catalogue::{Tool, VARIABLE, VARIABLE_VALUE};
use super::install::telling_line;
use crate::sessions::descendants;

/// The longest that a peer may take to start.
const STARTING: Duration = Duration::from_mins(1);

/// What came back of a run.
#[derive(Debug, Clone)]
pub(crate) struct Answer {
    pub(crate) text: String,
    /// It says itself that the run failed, was stopped or was cut.
    pub(crate) flagged: bool,
    /// The engine that ran it, where the peer has several and tells.
    pub(crate) engine: Option<String>,
}

/// Something that programs can be given to, several at a time.
pub(crate) trait Runs {
    fn submit(&mut self, code: &str, limit: Option<Duration>) -> anyhow::Result<u64>;
    /// The next answer, and whose it is; `None` when none comes in time. It is an error that the peer is gone.
    fn receive(&mut self, within: Duration) -> anyhow::Result<Option<(u64, Answer)>>;
    fn cancel(&mut self, id: u64) -> anyhow::Result<()>;
    /// The processes that belong to it now.
    fn processes(&self) -> Vec<u32>;

    /// One program, alone.
    fn run(&mut self, code: &str, within: Duration) -> anyhow::Result<Answer> {
        let id = self.submit(code, None)?;
        let end = Instant::now() + within;
        loop {
            let left = end.saturating_duration_since(Instant::now());
            let (whose, answer) = self.receive(left)?.with_context(|| format!("no answer within {within:?}"))?;
            if whose == id {
                return Ok(answer);
            }
        }
    }
}

/// A process that speaks MCP over its standard streams.
pub(crate) struct Server {
    child: Child,
    stdin: ChildStdin,
    messages: Receiver<Value>,
    tool: Tool,
    last: u64,
    log: PathBuf,
}

impl Server {
    /// Ready when this returns.
    pub(crate) fn start(mut command: Command, tool: Tool, log: &Path) -> anyhow::Result<Self> {
        command.env(VARIABLE, VARIABLE_VALUE).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(File::create(log)?);
        let mut child = command.spawn().with_context(|| format!("{}", command.get_program().display()))?;
        let stdin = child.stdin.take().context("piped")?;
        let stdout = child.stdout.take().context("piped")?;
        let (sender, messages) = channel();
        std::thread::spawn(move || listen(BufReader::new(stdout), &sender));
        let mut server = Self { child, stdin, messages, tool, last: 0, log: log.to_owned() };
        server.initialize()?;
        Ok(server)
    }

    fn initialize(&mut self) -> anyhow::Result<()> {
        let client = json!({"name": "bench", "version": "1"});
        let params = json!({"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": client});
        self.send("initialize", &params)?;
        self.hear(STARTING)?.with_context(|| format!("not ready after {STARTING:?}"))?;
        self.notify("notifications/initialized", &json!({}))
    }

    /// Calls a tool by its name; the result, whatever it says.
    pub(crate) fn tool(&mut self, name: &str, arguments: &Value, within: Duration) -> anyhow::Result<Value> {
        let id = self.send("tools/call", &json!({"name": name, "arguments": arguments}))?;
        loop {
            let mut message = self.hear(within)?.with_context(|| format!("no answer within {within:?}"))?;
            if message.get("id").and_then(Value::as_u64) == Some(id) {
                return Ok(message.pointer_mut("/result").map(Value::take).unwrap_or(message));
            }
        }
    }

    fn send(&mut self, method: &str, params: &Value) -> anyhow::Result<u64> {
        self.last += 1;
        let request = json!({"jsonrpc": "2.0", "id": self.last, "method": method, "params": params});
        let written = self.stdin.write_all(format!("{request}\n").as_bytes());
        written.map_err(|_| self.gone())?;
        Ok(self.last)
    }

    fn notify(&mut self, method: &str, params: &Value) -> anyhow::Result<()> {
        let message = json!({"jsonrpc": "2.0", "method": method, "params": params});
        self.stdin.write_all(format!("{message}\n").as_bytes()).map_err(|_| self.gone())
    }

    /// The next message that answers something.
    fn hear(&self, within: Duration) -> anyhow::Result<Option<Value>> {
        match self.messages.recv_timeout(within) {
            Ok(message) => Ok(Some(message)),
            Err(RecvTimeoutError::Timeout) => Ok(None),
            Err(RecvTimeoutError::Disconnected) => Err(self.gone()),
        }
    }

    fn gone(&self) -> anyhow::Error {
        let said = fs::read(&self.log).unwrap_or_default();
        anyhow::anyhow!("its process ended: {}", telling_line(&String::from_utf8_lossy(&said)))
    }
}

impl Runs for Server {
    fn submit(&mut self, code: &str, limit: Option<Duration>) -> anyhow::Result<u64> {
        let arguments = (self.tool.arguments)(code, limit);
        self.send("tools/call", &json!({"name": self.tool.name, "arguments": arguments}))
    }

    fn receive(&mut self, within: Duration) -> anyhow::Result<Option<(u64, Answer)>> {
        Ok(self.hear(within)?.map(|message| {
            let id = message.get("id").and_then(Value::as_u64).unwrap_or_default();
            (id, answer(&message))
        }))
    }

    fn cancel(&mut self, id: u64) -> anyhow::Result<()> {
        self.notify("notifications/cancelled", &json!({"requestId": id, "reason": "cancelled"}))
    }

    fn processes(&self) -> Vec<u32> {
        let own = self.child.id();
        std::iter::once(own).chain(descendants(own).unwrap_or_default()).collect()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // Those that end by themselves when their server does are gone by the time that they would be killed.
        let tree = self.processes();
        drop(self.child.kill());
        drop(self.child.wait());
        end(tree.get(1..).unwrap_or_default());
    }
}

/// Ends what is left of processes that this benchmark started.
pub(crate) fn end(processes: &[u32]) {
    for pid in processes.iter().filter_map(|pid| i32::try_from(*pid).ok()) {
        processes::kill(pid);
    }
}

/// Passes on lines that answer something. Some peers print logs among them.
fn listen(mut lines: impl BufRead, messages: &Sender<Value>) {
    let mut line = Vec::new();
    while lines.read_until(b'\n', &mut line).is_ok_and(|read| read > 0) {
        let message = serde_json::from_slice::<Value>(&line).ok().filter(|message| message.get("method").is_none());
        line.clear();
        if let Some(message) = message.filter(|message| message.get("id").is_some_and(|id| !id.is_null()))
            && messages.send(message).is_err()
        {
            return;
        }
    }
}

fn answer(message: &Value) -> Answer {
    let whole = |place: &str| message.pointer(place).and_then(Value::as_str).map(str::to_owned);
    let blocks = || {
        let blocks = message.pointer("/result/content").and_then(Value::as_array)?;
        Some(blocks.iter().filter_map(|block| block.get("text")?.as_str()).collect::<String>())
    };
    let text = whole("/result/structuredContent/stdout").or_else(blocks).or_else(|| whole("/error/message"));
    // The one that answers in tags.
    let tagged = text.as_deref().filter(|text| text.starts_with("<status>")).map(|text| {
        let output = text.split_once("<output>\n").and_then(|(_, rest)| rest.split_once("</output>"));
        output.map_or_else(|| text.to_owned(), |(output, _)| output.to_owned())
    });
    let dropped = message.pointer("/result/structuredContent/dropped/stdout").and_then(Value::as_u64);
    let failed = message.pointer("/result/isError") == Some(&json!(true)) || message.get("error").is_some();
    Answer {
        text: tagged.or(text).unwrap_or_default(),
        flagged: failed || dropped.is_some_and(|bytes| bytes > 0),
        engine: whole("/result/structuredContent/engine"),
    }
}
