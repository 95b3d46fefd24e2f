//! MCP over HTTP as clients speak it, in both eras of the protocol.
//!
//! Failures are returned, because the benchmark is a caller too.

use std::io::{self, BufRead as _, BufReader, Read as _};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use serde_json::{Value, json};
use ureq::http::{HeaderMap, Response};
use ureq::typestate::WithBody;
use ureq::{Agent, Body, BodyReader, RequestBuilder};

/// The newest version with sessions.
pub const LEGACY: &str = "2025-11-25";
/// The first version without.
pub const MODERN: &str = "2026-07-28";

/// How long a server may be silent: longer than any run of a test takes on a machine that has other things to do. Servers
/// give signs of life every 15 seconds.
const PATIENCE: Duration = Duration::from_mins(1);

/// A server, and what is sent with every request to it.
#[derive(Debug, Clone)]
pub struct Endpoint {
    agent: Agent,
    address: String,
    headers: Vec<(&'static str, String)>,
}

impl Endpoint {
    /// At a host and port. Connections are kept and used again, by clients of the same endpoint too.
    pub fn new(address: &str) -> Self {
        // A limit for the whole of a request would cost a thread for each, which looks the address up.
        let config = Agent::config_builder()
            .http_status_as_error(false)
            .proxy(None)
            .timeout_per_read(Some(PATIENCE))
            .timeout_per_write(Some(PATIENCE));
        Self { agent: config.build().into(), address: address.to_owned(), headers: Vec::new() }
    }

    /// Host and port.
    pub fn address(&self) -> &str {
        &self.address
    }

    /// With one more header.
    #[must_use]
    pub fn with_header(mut self, name: &'static str, value: &str) -> Self {
        self.headers.push((name, value.to_owned()));
        self
    }

    /// As the owner of a token.
    #[must_use]
    pub fn with_token(self, token: &str) -> Self {
        self.with_header("Authorization", &format!("Bearer {token}"))
    }

    /// A client of the newer era. Nothing is sent.
    pub fn modern(&self) -> Client {
        Client { endpoint: self.clone(), era: Era::Modern, last: AtomicU64::new(0) }
    }

    /// A client of the older era, and its session.
    pub fn legacy(&self) -> io::Result<Client> {
        let client = json!({"name": "test", "version": "1"});
        let params = json!({"protocolVersion": LEGACY, "capabilities": {}, "clientInfo": client});
        let message = json!({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": params});
        let mut opened = Exchange::new(0, self.post().send(message.to_string()).map_err(ureq::Error::into_io)?);
        let session = opened.header("Mcp-Session-Id").map(str::to_owned);
        let answer = opened.answer()?;
        let session = session.ok_or_else(|| io::Error::other(format!("there is no session: {answer:?}")))?;
        let client = Client { endpoint: self.clone(), era: Era::Legacy { session }, last: AtomicU64::new(0) };
        client.notify("notifications/initialized", &json!({}))?;
        Ok(client)
    }

    /// The body that is served at a path, and its status.
    pub fn get(&self, path: &str) -> io::Result<(u16, String)> {
        let request = self.dressed(self.agent.get(format!("http://{}{path}", self.address)));
        let mut response = request.call().map_err(ureq::Error::into_io)?;
        let body = response.body_mut().read_to_string().map_err(ureq::Error::into_io)?;
        Ok((response.status().as_u16(), body))
    }

    fn post(&self) -> RequestBuilder<WithBody> {
        let request = self.agent.post(format!("http://{}/mcp", self.address));
        let request =
            request.header("Content-Type", "application/json").header("Accept", "application/json, text/event-stream");
        self.dressed(request)
    }

    /// With the headers of every request.
    fn dressed<Kind>(&self, request: RequestBuilder<Kind>) -> RequestBuilder<Kind> {
        self.headers.iter().fold(request, |request, (name, value)| request.header(*name, value))
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Era {
    Legacy { session: String },
    Modern,
}

/// A client. Requests can be made by several threads at once.
#[derive(Debug)]
pub struct Client {
    endpoint: Endpoint,
    era: Era,
    last: AtomicU64,
}

impl Client {
    /// Sends a request. Returns when the server begins to answer: at once in the older era, with the first message in the newer.
    pub fn send(&self, method: &str, params: Value) -> io::Result<Exchange> {
        self.exchange(method, params, |request| request)
    }

    /// The same by a client that is gone after so long, whatever has come by then. Closes the connection.
    pub fn send_and_vanish(&self, method: &str, params: Value, after: Duration) -> io::Result<Option<Value>> {
        self.exchange(method, params, |request| request.config().timeout_global(Some(after)).build())?.answer()
    }

    /// The answer to a request.
    pub fn request(&self, method: &str, params: Value) -> io::Result<Value> {
        let mut exchange = self.send(method, params)?;
        let answer = exchange.answer()?;
        answer.ok_or_else(|| io::Error::other(format!("no answer to `{method}`, status {}", exchange.status())))
    }

    /// The answer to the call of a tool.
    pub fn call(&self, tool: &str, arguments: &Value) -> io::Result<Value> {
        self.request("tools/call", json!({"name": tool, "arguments": arguments}))
    }

    /// Gives a request up as its era does: by a notification, on which the server ends the stream, or by closing the connection.
    /// An answer that was faster is returned.
    pub fn cancel(&self, mut exchange: Exchange) -> io::Result<Option<Value>> {
        match self.era {
            Era::Legacy { .. } => {
                self.notify("notifications/cancelled", &json!({"requestId": exchange.id, "reason": "test"}))?;
                exchange.answer()
            }
            Era::Modern => {
                drop(exchange);
                Ok(None)
            }
        }
    }

    /// Opens the stream of a session for what belongs to no request, such as logs.
    pub fn listen(&self) -> io::Result<Exchange> {
        let request = self.endpoint.agent.get(format!("http://{}/mcp", self.endpoint.address));
        let request = request.header("Accept", "text/event-stream");
        Ok(Exchange::new(0, self.in_session(self.endpoint.dressed(request)).call().map_err(ureq::Error::into_io)?))
    }

    /// Somebody else who has come to know this client's session.
    #[must_use]
    pub fn taken_over_by(&self, other: &Endpoint) -> Self {
        Self { endpoint: other.clone(), era: self.era.clone(), last: AtomicU64::new(0) }
    }

    /// Ends the session, where there is one.
    pub fn end(self) -> io::Result<()> {
        if self.era == Era::Modern {
            return Ok(());
        }
        let request = self.endpoint.agent.delete(format!("http://{}/mcp", self.endpoint.address));
        accepted(&self.in_session(self.endpoint.dressed(request)).call().map_err(ureq::Error::into_io)?)
    }

    /// Sends what has no answer.
    pub fn notify(&self, method: &str, params: &Value) -> io::Result<()> {
        let message = json!({"jsonrpc": "2.0", "method": method, "params": params});
        let request = self.in_session(self.endpoint.post());
        accepted(&request.send(message.to_string()).map_err(ureq::Error::into_io)?)
    }

    fn exchange(
        &self,
        method: &str,
        mut params: Value,
        configure: impl FnOnce(RequestBuilder<WithBody>) -> RequestBuilder<WithBody>,
    ) -> io::Result<Exchange> {
        let id = self.last.fetch_add(1, Ordering::Relaxed) + 1;
        let mut request = self.in_session(self.endpoint.post());
        if self.era == Era::Modern {
            request = request.header("Mcp-Method", method);
            if let Some(name) = params.get("name").or_else(|| params.get("uri")).and_then(Value::as_str) {
                request = request.header("Mcp-Name", name);
            }
            introduce(&mut params);
        }
        let message = json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params});
        let response = configure(request).send(message.to_string()).map_err(ureq::Error::into_io)?;
        Ok(Exchange::new(id, response))
    }

    fn in_session<Kind>(&self, request: RequestBuilder<Kind>) -> RequestBuilder<Kind> {
        match &self.era {
            Era::Legacy { session } => request.header("Mcp-Session-Id", session).header("MCP-Protocol-Version", LEGACY),
            Era::Modern => request.header("MCP-Protocol-Version", MODERN),
        }
    }
}

/// What every request of the newer era says of its client.
fn introduce(params: &mut Value) {
    let meta = &mut params["_meta"];
    meta["io.modelcontextprotocol/protocolVersion"] = MODERN.into();
    meta["io.modelcontextprotocol/clientCapabilities"] = json!({});
    meta["io.modelcontextprotocol/clientInfo"] = json!({"name": "test", "version": "1"});
}

fn accepted(response: &Response<Body>) -> io::Result<()> {
    let status = response.status();
    if status.is_success() { Ok(()) } else { Err(io::Error::other(format!("status {status}"))) }
}

/// A request that is being answered. Dropped before its end, it closes its connection.
pub struct Exchange {
    id: u64,
    status: u16,
    headers: HeaderMap,
    form: Form,
    body: BufReader<BodyReader<'static>>,
}

#[derive(Debug, Clone, Copy)]
enum Form {
    Events,
    Message,
}

impl Exchange {
    fn new(id: u64, response: Response<Body>) -> Self {
        let (head, body) = response.into_parts();
        let form = if body.mime_type() == Some("text/event-stream") { Form::Events } else { Form::Message };
        let body = BufReader::new(body.into_reader());
        Self { id, status: head.status.as_u16(), headers: head.headers, form, body }
    }

    /// The HTTP status.
    pub fn status(&self) -> u16 {
        self.status
    }

    /// A header of the response.
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name)?.to_str().ok()
    }

    /// The next message, or `None` at the end of the response.
    pub fn next_message(&mut self) -> io::Result<Option<Value>> {
        match self.form {
            Form::Events => self.next_event(),
            Form::Message => {
                let mut text = String::new();
                self.body.read_to_string(&mut text)?;
                // A refusal of the HTTP layer is a sentence.
                if text.starts_with('{') { Ok(Some(serde_json::from_str(&text)?)) } else { Ok(None) }
            }
        }
    }

    /// Reads to the end, so that the connection can be used again. The answer, if one came.
    pub fn answer(&mut self) -> io::Result<Option<Value>> {
        let mut answer = None;
        while let Some(message) = self.next_message()? {
            if message.get("method").is_none() {
                if message["id"] != self.id {
                    return Err(io::Error::other(format!("an answer to another request than {}: {message}", self.id)));
                }
                answer = Some(message);
            }
        }
        Ok(answer)
    }

    fn next_event(&mut self) -> io::Result<Option<Value>> {
        let (mut line, mut data) = (String::new(), String::new());
        loop {
            line.clear();
            if self.body.read_line(&mut line)? == 0 {
                return Ok(None);
            }
            let text = line.trim_end_matches(['\r', '\n']);
            if let Some(more) = text.strip_prefix("data:") {
                data.push_str(more.trim_start());
            } else if text.is_empty() && !data.is_empty() {
                return Ok(Some(serde_json::from_str(&data)?));
            }
        }
    }
}

impl std::fmt::Debug for Exchange {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Exchange").field("id", &self.id).field("status", &self.status).finish_non_exhaustive()
    }
}
