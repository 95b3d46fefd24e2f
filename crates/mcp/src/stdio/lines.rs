//! A client's lines, on their way to rmcp.
//!
//! rmcp passes over what it cannot read, and whoever sent that waits for ever. Where such a line says which request it is, another goes on in
//! its place: one for nothing, which [`unreadable`] knows, and that is answered by that number.

use std::fmt;
use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use rmcp::model::{ClientRequest, JsonRpcMessage, JsonRpcRequest, RequestId};
use rmcp::service::RxJsonRpcMessage;
use rmcp::{ErrorData, RoleServer};
use serde::de::{Deserialize, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde_json::{Value, json};
use tokio::io::{AsyncRead, ReadBuf};

/// The longest line. A program's files are in it.
pub(crate) const LONGEST: usize = 64 << 20;

/// What is asked for in place of what cannot be read.
const UNREADABLE: &str = "belljar/unreadable";

/// So much of either end of a line that is too long is kept, to see which request it is.
const END: usize = 4 << 10;

const CHUNK: usize = 64 << 10;

/// The number of a request that could not be read, and what is answered, if this is what stands for one.
pub(super) fn unreadable(message: &RxJsonRpcMessage<RoleServer>) -> Option<(RequestId, ErrorData)> {
    let JsonRpcMessage::Request(JsonRpcRequest { id, request: ClientRequest::CustomRequest(request), .. }) = message
    else {
        return None;
    };
    let why = || request.params.as_ref()?.get("why")?.as_str();
    (request.method == UNREADABLE)
        .then(|| (id.clone(), ErrorData::parse_error(why().unwrap_or("the request cannot be read").to_owned(), None)))
}

/// Gives lines on as they are, if they can be read.
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

    /// The line, or what stands for it; `None` for one of which nobody knows what it is.
    fn readable(self) -> Option<Vec<u8>> {
        let (number, why) = match self {
            Self::All(line) => match serde_json::from_slice::<Anything>(text(&line)) {
                Err(error) if !text(&line).is_empty() => {
                    (number_at_start(&line), format!("the request is no JSON that can be read: {error}"))
                }
                Ok(_) | Err(_) => return Some(line),
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
        let instead = json!({"jsonrpc": "2.0", "id": number, "method": UNREADABLE, "params": {"why": why}});
        Some(format!("{instead}\n").into_bytes())
    }
}

/// Without what may stand around a message.
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

fn is_number(id: &Value) -> bool {
    id.is_i64() || id.is_string()
}

/// Any JSON, every part of it looked at and nothing kept.
struct Anything;

impl<'de> Deserialize<'de> for Anything {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(Self)
    }
}

impl<'de> Visitor<'de> for Anything {
    type Value = Self;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a value")
    }

    fn visit_unit<E>(self) -> Result<Self, E> {
        Ok(self)
    }

    fn visit_bool<E>(self, _: bool) -> Result<Self, E> {
        Ok(self)
    }

    fn visit_i64<E>(self, _: i64) -> Result<Self, E> {
        Ok(self)
    }

    fn visit_u64<E>(self, _: u64) -> Result<Self, E> {
        Ok(self)
    }

    fn visit_f64<E>(self, _: f64) -> Result<Self, E> {
        Ok(self)
    }

    fn visit_str<E>(self, _: &str) -> Result<Self, E> {
        Ok(self)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Self, A::Error> {
        while items.next_element::<Self>()?.is_some() {}
        Ok(self)
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self, A::Error> {
        while map.next_entry::<Self, Self>()?.is_some() {}
        Ok(self)
    }
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
        let lines = "{\"id\": 1, \"method\": \"ping\"}\n\n[]\r\n\u{feff}{\"a\": \"\\ud83d\\ude00 é\"}\n";
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
