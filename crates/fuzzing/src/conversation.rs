//! A client that says what it wants, and hears what the server answers.

use std::io;
use std::pin::Pin;
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll};

use mcp::profiles::Profile;
use mcp::{Server, Watch};
use runtime::Runtime;
use sandbox::{Engine, EngineId, NetworkPolicy, Policy, Principal};
use serde_json::{Value, json};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio_util::sync::CancellationToken;

use crate::echo::{Act, Echo, Role};

/// Longer than any answer on a line may be: clients of today drop what has 10 MiB.
const LONGEST_ANSWER: usize = 10 << 20;

/// A server, for one client after the other.
pub(crate) struct Conversation {
    executor: tokio::runtime::Runtime,
    runtime: Arc<Runtime>,
    server: Arc<Server>,
    role: Role,
}

impl Conversation {
    /// Over an engine that gives back what it gets.
    pub(crate) fn new() -> Self {
        Self::over(&[EngineId::Native], |runtime| Server::new(runtime, Watch::default()))
    }

    /// In the manner of another server.
    pub(crate) fn passing_for(profile: Profile) -> Self {
        let engines = [EngineId::Wasm, EngineId::Native];
        Self::over(&engines, |runtime| Server::passing_for(profile, runtime, Watch::default()))
    }

    fn over(engines: &[EngineId], server: impl FnOnce(Arc<Runtime>) -> Arc<Server>) -> Self {
        let mut executor = tokio::runtime::Builder::new_current_thread();
        executor.enable_time();
        // Whoever sleeps while nobody else has anything to do is woken at once.
        #[cfg(fuzzing)]
        executor.start_paused(true);
        let role = Role::default();
        let engine = |engine: &EngineId| Arc::new(Echo { engine: *engine, role: Arc::clone(&role) }) as Arc<dyn Engine>;
        let allowed = ["*.example.org", "example.org:8443"].map(|host| host.parse().unwrap()).to_vec();
        let policy = Policy { network: NetworkPolicy { allowed, ..NetworkPolicy::default() }, ..Policy::default() };
        let runtime = Arc::new(Runtime::new(policy, engines.iter().map(engine).collect()));
        Self { executor: executor.build().unwrap(), server: server(Arc::clone(&runtime)), runtime, role }
    }

    /// What guests do from now on.
    pub(crate) fn direct(&self, act: Act) {
        *self.role.lock().unwrap() = Some(act);
    }

    /// What a client says before it may ask for anything.
    pub(crate) fn opening() -> Vec<u8> {
        let client = json!({"name": "fuzz", "version": "1"});
        let parameters = json!({"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": client});
        let initialize = json!({"jsonrpc": "2.0", "id": "opening", "method": "initialize", "params": parameters});
        let initialized = json!({"jsonrpc": "2.0", "method": "notifications/initialized"});
        format!("{initialize}\n{initialized}\n").into_bytes()
    }

    /// Everything that the server says to a client that says this and goes. Each is a message of the protocol, on a line of its own.
    pub(crate) fn hear(&self, said: Vec<u8>) -> Vec<Value> {
        let heard = Heard::default();
        let saying = Saying { rest: io::Cursor::new(said), heard: heard.clone(), known: 0, waits: 0 };
        let streams = (saying, heard.clone());
        self.executor.block_on(async {
            // A client that does not speak the protocol is told so by the end of the connection.
            mcp::serve_streams(&self.server, streams, CancellationToken::new()).await.ok();
        });
        // What one client left is not there for the next, or a finding could not be repeated.
        let caller = Principal::default();
        for session in self.runtime.sessions(&caller) {
            self.runtime.close_session(&caller, &session.name).ok();
        }
        let bytes = std::mem::take(&mut *heard.0.lock().unwrap());
        let lines: Vec<&[u8]> = bytes.split(|byte| *byte == b'\n').collect();
        let (rest, lines) = lines.split_last().unwrap();
        assert!(rest.is_empty(), "a line that does not end");
        lines.iter().map(|line| message(line)).collect()
    }
}

fn message(line: &[u8]) -> Value {
    assert!(line.len() < LONGEST_ANSWER, "an answer of {} bytes", line.len());
    let message: Value = serde_json::from_slice(line).expect("JSON");
    assert_eq!(message["jsonrpc"], "2.0", "{message}");
    let kinds = ["method", "result", "error"].iter().filter(|kind| message.get(kind).is_some()).count();
    assert_eq!(kinds, 1, "{message}");
    message
}

/// Says it, and goes when there is nothing more to hear: a server waits for what is under way only for a moment, which is over at once where others
/// have the machine.
struct Saying {
    rest: io::Cursor<Vec<u8>>,
    heard: Heard,
    known: usize,
    waits: u32,
}

/// How often everybody else has had their turn since something was heard. Nobody waits for anything but turns.
const SILENCE: u32 = 100;

impl AsyncRead for Saying {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        if self.rest.position() < self.rest.get_ref().len() as u64 {
            return Pin::new(&mut self.rest).poll_read(context, buffer);
        }
        let known = self.heard.0.lock().unwrap().len();
        self.waits = if known == self.known { self.waits + 1 } else { 0 };
        self.known = known;
        if self.waits > SILENCE {
            return Poll::Ready(Ok(()));
        }
        context.waker().wake_by_ref();
        Poll::Pending
    }
}

/// Keeps what is written.
#[derive(Clone, Default)]
struct Heard(Arc<Mutex<Vec<u8>>>);

impl AsyncWrite for Heard {
    fn poll_write(self: Pin<&mut Self>, _: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        self.0.lock().unwrap().extend_from_slice(bytes);
        Poll::Ready(Ok(bytes.len()))
    }

    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }
}
