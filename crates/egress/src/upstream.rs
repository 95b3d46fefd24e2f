//! The operator's own proxy.

use std::fmt;
use std::io;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use percent_encoding::percent_decode_str;
use tokio::io::AsyncWriteExt;

use crate::dial::{Line, first};
use crate::gate::Gate;
use crate::head::{Head, status};
use crate::host::{Authority, HostError};
use crate::traffic::Reason;

/// A proxy that is asked for every tunnel, as `HTTPS_PROXY` names one.
#[derive(Clone)]
pub struct Upstream {
    authority: Authority,
    /// `user:password`, ready to be sent.
    credentials: Option<String>,
}

/// Why a text names no proxy.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum UpstreamError {
    /// It is not spoken to in plain HTTP.
    #[error("only proxies whose address begins with `http://` can be used")]
    Scheme,
    /// Its host.
    #[error("the proxy's address is not `http://[user:password@]host:port`")]
    Host(#[from] HostError),
}

impl Upstream {
    /// `http://[user:password@]host[:port]`, where the port is 80 if there is none. User and password may have `%` escapes.
    pub fn parse(text: &str) -> Result<Self, UpstreamError> {
        let rest = text.strip_prefix("http://").ok_or(UpstreamError::Scheme)?;
        let rest = rest.strip_suffix('/').unwrap_or(rest);
        let (credentials, host) = match rest.rsplit_once('@') {
            Some((credentials, host)) => (Some(basic(credentials)), host),
            None => (None, rest),
        };
        Ok(Self { authority: Authority::parse(host, Some(80))?, credentials })
    }

    /// Asks for a tunnel. What the proxy says besides its status stays here: it is about the operator's network.
    pub(crate) async fn connect(&self, gate: &Gate, target: &Authority) -> Result<Line, Reason> {
        let unreachable = |error: io::Error| Reason::UpstreamUnreachable(error.kind());
        // The operator named it, so it may be anywhere.
        let addresses = gate.resolver().resolve(&self.authority).await.map_err(unreachable)?;
        let mut stream = first(&addresses).await.map_err(unreachable)?;
        stream.write_all(self.request(target).as_bytes()).await.map_err(unreachable)?;
        let head = Head::read(&mut stream).await.map_err(|_| Reason::UpstreamGarbled)?;
        match status(&head.bytes) {
            Some(200..=299) => Ok(Line { stream, early: head.rest }),
            Some(status) => Err(Reason::UpstreamRefused(status)),
            None => Err(Reason::UpstreamGarbled),
        }
    }

    fn request(&self, target: &Authority) -> String {
        let credentials = match &self.credentials {
            Some(credentials) => format!("Proxy-Authorization: Basic {credentials}\r\n"),
            None => String::new(),
        };
        format!("CONNECT {target} HTTP/1.1\r\nHost: {target}\r\n{credentials}\r\n")
    }
}

fn basic(credentials: &str) -> String {
    let (user, password) = credentials.split_once(':').unwrap_or((credentials, ""));
    let decoded = [user, password].map(|part| percent_decode_str(part).collect::<Vec<_>>());
    STANDARD.encode(decoded.join(&b':'))
}

/// Without the password: debug output ends up in logs.
impl fmt::Debug for Upstream {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Upstream").field("authority", &self.authority).finish_non_exhaustive()
    }
}
