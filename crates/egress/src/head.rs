//! What stands before a tunnel: the head of a request, or of an upstream proxy's answer.

use std::time::Duration;

use httparse::{EMPTY_HEADER, Error, Request, Response, Status};
use tokio::io::{AsyncRead, AsyncReadExt};

use crate::host::Authority;

/// The longest head that is read. Each connection may hold this much of the server.
const MAX_BYTES: usize = 8 << 10;
const MAX_HEADERS: usize = 64;
const END: &[u8] = b"\r\n\r\n";

/// A head, and what came with it: the first bytes of the tunnel.
#[derive(Debug)]
pub(crate) struct Head {
    pub(crate) bytes: Vec<u8>,
    pub(crate) rest: Vec<u8>,
}

/// Why a request was not understood.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum HeadError {
    #[error("this is not `CONNECT host:port HTTP/1.1`")]
    Malformed,
    #[error("only CONNECT is served here")]
    NotConnect,
    #[error("the head of the request did not come within {} s", .0.as_secs())]
    Slow(Duration),
    #[error("the head of the request is longer than {} KiB or {MAX_HEADERS} headers", MAX_BYTES >> 10)]
    Long,
}

impl Head {
    /// Reads up to the empty line, and whatever comes along with it. The caller decides for how long.
    pub(crate) async fn read(from: impl AsyncRead + Unpin) -> Result<Self, HeadError> {
        let mut bytes = Vec::with_capacity(MAX_BYTES);
        let mut from = from.take(MAX_BYTES as u64);
        loop {
            match from.read_buf(&mut bytes).await {
                Ok(0) if bytes.len() == MAX_BYTES => return Err(HeadError::Long),
                Ok(0) | Err(_) => return Err(HeadError::Malformed),
                Ok(_) => {}
            }
            if let Some(start) = bytes.windows(END.len()).position(|window| window == END) {
                let rest = bytes.split_off(start + END.len());
                return Ok(Self { bytes, rest });
            }
        }
    }
}

/// Whom a request wants to reach.
pub(crate) fn target(head: &[u8]) -> Result<Authority, HeadError> {
    let mut headers = [EMPTY_HEADER; MAX_HEADERS];
    let mut request = Request::new(&mut headers);
    match request.parse(head) {
        // Some would see an earlier end, at an empty line of another kind: nobody must read this differently than we
        // do.
        Ok(Status::Complete(length)) if length == head.len() => {}
        Err(Error::TooManyHeaders) => return Err(HeadError::Long),
        Ok(_) | Err(_) => return Err(HeadError::Malformed),
    }
    match (request.method, request.path) {
        (Some("CONNECT"), Some(target)) => Authority::parse(target, None).map_err(|_| HeadError::Malformed),
        _ => Err(HeadError::NotConnect),
    }
}

/// A request in plain HTTP: whom it wants to reach, and its head as that host is to get it.
///
/// One for each connection: whatever follows on it goes to the same host, whatever it says.
pub(crate) fn plain(head: &[u8]) -> Result<(Authority, Vec<u8>), HeadError> {
    let mut headers = [EMPTY_HEADER; MAX_HEADERS];
    let mut request = Request::new(&mut headers);
    request.parse(head).map_err(|_| HeadError::Malformed)?;
    let (Some(method), Some(address), Some(version)) = (request.method, request.path, request.version) else {
        return Err(HeadError::Malformed);
    };
    let address = address.strip_prefix("http://").ok_or(HeadError::NotConnect)?;
    let (host, path) = address.split_at(address.find(['/', '?', '#']).unwrap_or(address.len()));
    let target = Authority::parse(host, Some(HTTP)).map_err(|_| HeadError::Malformed)?;
    let slash = if path.starts_with('/') { "" } else { "/" };
    let mut rewritten = format!("{method} {slash}{path} HTTP/1.{version}\r\nHost: {host}\r\n").into_bytes();
    let is_ours = |name: &str| OURS.iter().any(|own| name.eq_ignore_ascii_case(own));
    for header in request.headers.iter().filter(|header| !is_ours(header.name)) {
        rewritten.extend([header.name.as_bytes(), b": ", header.value, b"\r\n"].concat());
    }
    rewritten.extend(b"Connection: close\r\n\r\n");
    Ok((target, rewritten))
}

const HTTP: u16 = 80;
/// Headers between a client and its proxy, and the host's, which is what was checked.
const OURS: &[&str] = &["host", "connection", "keep-alive", "proxy-connection", "proxy-authorization", "te", "upgrade"];

/// The status that an upstream proxy answers with.
pub(crate) fn status(head: &[u8]) -> Option<u16> {
    let mut headers = [EMPTY_HEADER; MAX_HEADERS];
    let mut response = Response::new(&mut headers);
    match response.parse(head) {
        Ok(Status::Complete(length)) if length == head.len() => response.code,
        Ok(_) | Err(_) => None,
    }
}
