//! The operator's own proxy.

use std::fmt;
use std::io;
use std::net::IpAddr;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use percent_encoding::percent_decode_str;
use tokio::io::AsyncWriteExt;

use crate::dial::{Line, first};
use crate::gate::Gate;
use crate::head::{Head, status};
use crate::host::{Authority, HostError, Name, parse_port};
use crate::traffic::Reason;

/// A proxy that is asked for tunnels, as `HTTPS_PROXY` names one.
#[derive(Clone)]
pub struct Upstream {
    authority: Authority,
    /// `user:password`, ready to be sent.
    credentials: Option<String>,
    exceptions: Vec<Exception>,
}

/// Hosts that are connected to without it.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Exception {
    All,
    /// This one and all below it, on one port or on all.
    Domain {
        name: String,
        port: Option<u16>,
    },
    /// Addresses that begin with the same bits.
    Network {
        address: IpAddr,
        bits: u32,
    },
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
    /// `http://[user:password@]host[:port]`, where the port is 80 if there is none. User and password may have `%` escapes. What names no
    /// scheme is taken for `http`, as by other clients.
    pub fn parse(text: &str) -> Result<Self, UpstreamError> {
        let rest = match text.split_once("://") {
            Some((scheme, rest)) if scheme.eq_ignore_ascii_case("http") => rest,
            Some(_) => return Err(UpstreamError::Scheme),
            None => text,
        };
        let rest = rest.strip_suffix('/').unwrap_or(rest);
        let (credentials, host) = match rest.rsplit_once('@') {
            Some((credentials, host)) => (Some(basic(credentials)), host),
            None => (None, rest),
        };
        Ok(Self { authority: Authority::parse(host, Some(80))?, credentials, exceptions: Vec::new() })
    }

    /// Without it to the hosts that this lists, as `NO_PROXY` does: names, each with all below it, a port behind one or not, addresses,
    /// networks such as `10.0.0.0/8`, or `*` for all. What cannot be read excepts nobody.
    #[must_use]
    pub fn except(self, list: &str) -> Self {
        let entries = list.split(|separator: char| separator == ',' || separator.is_whitespace());
        Self { exceptions: entries.filter_map(Exception::parse).collect(), ..self }
    }

    /// Whether it is asked for this host.
    pub(crate) fn serves(&self, target: &Authority) -> bool {
        !self.exceptions.iter().any(|exception| exception.covers(target))
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

impl Exception {
    fn parse(entry: &str) -> Option<Self> {
        if entry == "*" {
            return Some(Self::All);
        }
        if let Some((address, bits)) = entry.split_once('/') {
            return Some(Self::Network { address: address.parse().ok()?, bits: bits.parse().ok()? });
        }
        if let Ok(address) = entry.parse() {
            return Some(Self::Network { address, bits: u32::MAX });
        }
        let (name, port) = match entry.split_once(':') {
            Some((name, port)) => (name, Some(parse_port(port)?)),
            None => (entry, None),
        };
        // `.example.org` and `*.example.org` are other ways to write `example.org`.
        let name = name.strip_prefix('*').unwrap_or(name);
        match Name::parse(name.strip_prefix('.').unwrap_or(name)).ok()? {
            Name::Domain(name) => Some(Self::Domain { name, port }),
            Name::Address(address) => Some(Self::Network { address, bits: u32::MAX }),
        }
    }

    fn covers(&self, target: &Authority) -> bool {
        match (self, &target.name) {
            (Self::All, _) => true,
            (Self::Domain { name, port }, Name::Domain(host)) => {
                let above = host.strip_suffix(name.as_str());
                port.is_none_or(|port| port == target.port)
                    && above.is_some_and(|above| above.is_empty() || above.ends_with('.'))
            }
            (Self::Network { address, bits }, Name::Address(host)) => begin_alike(*address, *host, *bits),
            (Self::Domain { .. }, Name::Address(_)) | (Self::Network { .. }, Name::Domain(_)) => false,
        }
    }
}

fn begin_alike(one: IpAddr, other: IpAddr, bits: u32) -> bool {
    let (differing, width) = match (one, other) {
        (IpAddr::V4(one), IpAddr::V4(other)) => (u128::from(one.to_bits() ^ other.to_bits()), u32::BITS),
        (IpAddr::V6(one), IpAddr::V6(other)) => (one.to_bits() ^ other.to_bits(), u128::BITS),
        (IpAddr::V4(_), IpAddr::V6(_)) | (IpAddr::V6(_), IpAddr::V4(_)) => return false,
    };
    // Of no bits, nothing is left to differ.
    differing.checked_shr(width.saturating_sub(bits)).unwrap_or(0) == 0
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
