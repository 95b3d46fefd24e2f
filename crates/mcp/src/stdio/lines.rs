//! A client's lines, on their way to rmcp.
//!
//! rmcp skips what it cannot read, or refuses it without saying which request it was, and the sender waits for ever. So
//! if such a line has a request's id, a placeholder is passed on instead: a request with the same id, which
//! [`unreadable`] recognizes and which is answered with what was wrong.

use std::fmt;
use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use rmcp::model::{ClientRequest, ErrorCode, JsonRpcMessage, JsonRpcRequest, RequestId};
use rmcp::service::RxJsonRpcMessage;
use rmcp::{ErrorData, RoleServer};
use serde::de::{Deserializer, IgnoredAny, MapAccess, Visitor};
use serde_json::{Value, json};
use tokio::io::{AsyncRead, ReadBuf};

use super::shape::{Fault, Shape};

/// The longest line. A program's files are in it.
pub(crate) const LONGEST: usize = 64 << 20;

/// The method of such a placeholder.
const UNREADABLE: &str = "belljar/unreadable";

/// If a line is too long, so much of either end is kept, to see which request it is.
const END: usize = 4 << 10;

const CHUNK: usize = 64 << 10;

/// The id of a request that could not be read, and the answer to it, if this message is its placeholder.
pub(super) fn unreadable(message: &RxJsonRpcMessage<RoleServer>) -> Option<(RequestId, ErrorData)> {
    let JsonRpcMessage::Request(JsonRpcRequest { id, request: ClientRequest::CustomRequest(request), .. }) = message
    else {
        return None;
    };
    let why = || request.params.as_ref()?.get("why")?.as_str();
    let code = || request.params.as_ref()?.get("code")?.as_i64()?.try_into().ok().map(ErrorCode);
    let code = code().unwrap_or(ErrorCode::PARSE_ERROR);
    (request.method == UNREADABLE)
        .then(|| (id.clone(), ErrorData::new(code, why().unwrap_or("the request cannot be read").to_owned(), None)))
}

/// Passes on lines unchanged, if they can be read.
pub(super) struct Lines<R> {
    reader: R,
    chunk: Box<[u8]>,
    /// Of a line that has not come to its end.
    line: Line,
    /// Goes on next, from `given`.
    whole: Vec<u8>,
    given: usize,
}

/// What is kept of a line.
#[derive(Debug)]
enum Line {
    All(Vec<u8>),
    /// It is too long.
    Ends(Vec<u8>, Vec<u8>),
}

impl<R> Lines<R> {
    pub(super) fn new(reader: R) -> Self {
        let line = Line::All(Vec::new());
        Self { reader, chunk: vec![0; CHUNK].into(), line, whole: Vec::new(), given: 0 }
    }

    fn take(&mut self, count: usize) {
        let Self { chunk, line, whole, .. } = self;
        for part in chunk.get(..count).unwrap_or_default().split_inclusive(|byte| *byte == b'\n') {
            line.push(part);
            if part.ends_with(b"\n") {
                match std::mem::replace(line, Line::All(Vec::new())).readable() {
                    Some(readable) if whole.is_empty() => *whole = readable,
                    Some(readable) => whole.extend_from_slice(&readable),
                    None => {}
                }
            }
        }
    }
}

impl Line {
    fn push(&mut self, part: &[u8]) {
        match self {
            Self::All(line) if line.len() + part.len() <= LONGEST => line.extend_from_slice(part),
            Self::All(line) => {
                let mut rest = line.split_off(END.min(line.len()));
                rest.extend_from_slice(part);
                line.shrink_to_fit();
                *self = Self::Ends(std::mem::take(line), last(&rest).to_vec());
            }
            Self::Ends(_, end) => {
                end.extend_from_slice(part);
                *end = last(end).to_vec();
            }
        }
    }

    /// The line, or its placeholder; `None` if nobody knows which request it is.
    fn readable(self) -> Option<Vec<u8>> {
        let (number, why) = match self {
            Self::All(line) => match serde_json::from_slice::<Shape>(text(&line)) {
                Err(error) if !text(&line).is_empty() => {
                    (number_at_start(&line), format!("the request is no JSON that can be read: {error}"))
                }
                Ok(shape) => {
                    let instead = |(number, Fault { why, code })| instead(&number, why, code);
                    let refused: Vec<u8> = shape.refused().into_iter().flat_map(instead).collect();
                    return Some(if refused.is_empty() { line } else { refused });
                }
                Err(_) => return Some(line),
            },
            Self::Ends(start, end) => {
                let number = number_at_start(&start).or_else(|| number_at_end(&end));
                (number, format!("the request is longer than {} MiB; send less, or in parts", LONGEST >> 20))
            }
        };
        let Some(number) = number else {
            tracing::warn!("the client sent what cannot be read, and not which request it is: {why}");
            return None;
        };
        Some(instead(&number, &why, ErrorCode::PARSE_ERROR))
    }
}

/// The placeholder of a request that is refused.
fn instead(number: &Value, why: &str, code: ErrorCode) -> Vec<u8> {
    let params = json!({"code": code.0, "why": why});
    let instead = json!({"jsonrpc": "2.0", "id": number, "method": UNREADABLE, "params": params});
    format!("{instead}\n").into_bytes()
}

/// The text without anything that may stand around a message.
fn text(line: &[u8]) -> &[u8] {
    line.strip_prefix(b"\xef\xbb\xbf").unwrap_or(line).trim_ascii()
}

fn last(bytes: &[u8]) -> &[u8] {
    bytes.get(bytes.len().saturating_sub(END)..).unwrap_or_default()
}

impl<R: AsyncRead + Unpin> AsyncRead for Lines<R> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let this = &mut *self;
        loop {
            let rest = this.whole.get(this.given..).unwrap_or_default();
            if !rest.is_empty() {
                let count = rest.len().min(buffer.remaining());
                buffer.put_slice(rest.get(..count).unwrap_or_default());
                this.given += count;
                return Poll::Ready(Ok(()));
            }
            this.given = 0;
            this.whole.clear();
            // What one long line took is not kept for the next, which mostly are short and may come much later.
            this.whole.shrink_to(CHUNK);
            let mut read = ReadBuf::new(&mut this.chunk);
            ready!(Pin::new(&mut this.reader).poll_read(context, &mut read))?;
            match read.filled().len() {
                // What has no end is no line.
                0 => return Poll::Ready(Ok(())),
                count => this.take(count),
            }
        }
    }
}

/// The number of a request, in as much of its line as there is.
fn number_at_start(line: &[u8]) -> Option<Value> {
    struct Search<'a>(&'a mut Option<Value>);

    impl<'de> Visitor<'de> for Search<'_> {
        type Value = ();

        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("a message")
        }

        fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
            while let Some(name) = map.next_key::<String>()? {
                if name == "id" {
                    *self.0 = Some(map.next_value()?);
                    break;
                }
                // Takes all that looks like a value.
                map.next_value::<IgnoredAny>()?;
            }
            Ok(())
        }
    }

    let mut found = None;
    // An error after it was found changes nothing.
    serde_json::Deserializer::from_slice(text(line)).deserialize_map(Search(&mut found)).ok();
    found.filter(is_number)
}

/// The same in the end of a line: some clients say it last.
fn number_at_end(end: &[u8]) -> Option<Value> {
    const NAME: &[u8] = b"\"id\"";
    let at = end.windows(NAME.len()).rposition(|window| window == NAME)?;
    let rest = [b"{", end.get(at..)?].concat();
    serde_json::from_slice::<Value>(&rest).ok()?.get_mut("id").map(Value::take).filter(is_number)
}

pub(super) fn is_number(id: &Value) -> bool {
    id.is_i64() || id.is_string()
}

#[cfg(test)]
mod tests {
    use tokio::io::AsyncReadExt as _;

    use super::*;

    async fn given_on(sent: &[u8]) -> String {
        let mut heard = String::new();
        Lines::new(sent).read_to_string(&mut heard).await.expect("text");
        heard
    }

    #[tokio::test]
    async fn what_can_be_read_goes_on_as_it_is() {
        let lines =
            "{\"jsonrpc\": \"2.0\", \"id\": 1, \"method\": \"ping\"}\n\n[]\r\n\u{feff}{\"a\": \"\\ud83d\\ude00 é\"}\n";
        assert_eq!(given_on(lines.as_bytes()).await, lines);
        let long = format!("{{\"a\": \"{}\"}}\n{{}}\n", "x".repeat(3 * CHUNK));
        assert_eq!(given_on(long.as_bytes()).await, long);
        assert_eq!(given_on(b"{}\n{\"without\": \"an end\"}").await, "{}\n");
    }

    #[tokio::test]
    async fn what_cannot_be_read_is_refused_by_its_number() {
        let deep = format!("{{\"id\": 3, \"a\": {}{}}}", "[".repeat(200), "]".repeat(200));
        for (line, number, why) in [
            (r#"{"id": 7, "params": {"code": "\ud800"}}"#, json!(7), "hex escape"),
            (r#"{"params": {"code": "\ud800"}, "id": "x"}"#, json!("x"), "hex escape"),
            (r#"{"a": 1e999, "id": -1}"#, json!(-1), "number out of range"),
            (&deep, json!(3), "recursion limit"),
            (r#"{"id": 4, "params": {"#, json!(4), "EOF"),
        ] {
            let heard = given_on(format!("{line}\n{{}}\n").as_bytes()).await;
            let (instead, rest) = heard.split_once('\n').expect("a line");
            let instead: Value = serde_json::from_str(instead).expect("JSON");
            assert_eq!((&instead["id"], &instead["method"], rest), (&number, &UNREADABLE.into(), "{}\n"), "{line}");
            assert!(instead["params"]["why"].as_str().is_some_and(|text| text.contains(why)), "{instead}");
        }
        for line in ["nothing", r#"{"id": {}, "a": 1e999}"#, r#"{"a": "\ud800"}"#] {
            assert_eq!(given_on(format!("{line}\n{{}}\n").as_bytes()).await, "{}\n", "{line}");
        }
        assert_eq!(given_on(b"{\"id\": 1, \"a\": \"\xff\"}\n").await.matches("\"id\":1").count(), 1);
    }

    /// It can be read, and rmcp would not say which request it refuses.
    #[tokio::test]
    async fn what_is_no_request_is_refused_by_its_number() {
        for (line, numbers) in [
            (r#"{"id": "a5", "method": "ping"}"#, json!(["a5"])),
            (r#"{"jsonrpc": "1.0", "id": 5, "method": "ping"}"#, json!([5])),
            (r#"{"jsonrpc": "2.0", "id": 5, "method": 1}"#, json!([5])),
            (r#"{"jsonrpc": "2.0", "id": 5}"#, json!([5])),
            (r#"{"jsonrpc": "2.0", "id": 5, "method": "x", "params": "y"}"#, json!([5])),
            (r#"{"jsonrpc": "2.0", "id": 5, "method": "x", "params": [{}]}"#, json!([5])),
            (r#"{"jsonrpc": "2.0", "id": 5, "method": "x", "params": {"_meta": 1}}"#, json!([5])),
            (
                r#"[{"jsonrpc": "2.0", "id": 1, "method": "ping"}, 7, {"method": "x"}, {"id": 3, "result": 1}, [], {"id": 2}]"#,
                json!([1, 2]),
            ),
        ] {
            let heard = given_on(format!("{line}\n").as_bytes()).await;
            let heard: Vec<Value> = heard.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();
            let seen: Vec<&Value> = heard.iter().map(|instead| &instead["id"]).collect();
            assert_eq!(json!(seen), numbers, "{line}");
            for instead in &heard {
                let code = if line.contains("params") { -32602 } else { -32600 };
                assert_eq!((&instead["method"], &instead["params"]["code"]), (&json!(UNREADABLE), &json!(code)));
            }
        }
        let many = format!("[{}]\n", vec![r#"{"id": 1}"#; 1_000].join(","));
        assert_eq!(given_on(many.as_bytes()).await.lines().count(), 256);
        // Answers, and what has no number, are nobody's requests.
        for line in
            [r#"{"id": 5, "result": {}}"#, r#"{"id": 5, "error": {}}"#, r#"{"method": "x"}"#, "[]", "[1, {}]", "5"]
        {
            assert_eq!(given_on(format!("{line}\n").as_bytes()).await, format!("{line}\n"));
        }
    }

    #[tokio::test]
    async fn what_is_too_long_is_refused_too() {
        let text = "x".repeat(LONGEST);
        for line in [
            format!("{{\"id\": 5, \"a\": \"{text}\"}}\n"),
            format!("{{\"a\": \"{text}\", \"jsonrpc\": \"2.0\", \"id\": 5}}\n"),
        ] {
            let heard = given_on(format!("{line}{{}}\n").as_bytes()).await;
            assert!(
                heard.contains("\"id\":5,") && heard.ends_with("longer than 64 MiB; send less, or in parts\"}}\n{}\n"),
                "{heard}"
            );
        }
        assert_eq!(given_on(format!("{text}{text}\n{{}}\n").as_bytes()).await, "{}\n");
    }
}
