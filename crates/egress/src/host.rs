//! Hosts, in the one spelling in which they are compared.

use std::fmt;
use std::net::{IpAddr, Ipv6Addr};

use crate::address::Reach;

/// The port of an entry that names none.
pub(crate) const HTTPS: u16 = 443;

/// A host that a gate lets through, on one port.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Host {
    authority: Authority,
    reach: Reach,
}

impl Host {
    /// `pypi.example`, which means port 443, or `pypi.example:8443`. In ASCII: an international name is written as `xn--…`.
    ///
    /// `10.0.0.3:8443` and `[fd00::3]` are read too, but a gate lets an address through only if it is [`private`](Self::private).
    pub fn parse(text: &str) -> Result<Self, HostError> {
        let authority = Authority::parse(text, Some(HTTPS))?;
        Ok(Self { authority, reach: Reach::Public })
    }

    /// The operator named this very host, so it may be on a private network, or on this machine. Link-local addresses stay out of reach: that is
    /// where clouds keep their machines' secrets.
    #[must_use]
    pub fn private(self) -> Self {
        Self { reach: Reach::Private, ..self }
    }

    /// The name in lower case without a dot at its end, or the address.
    pub fn name(&self) -> String {
        self.authority.name.to_string()
    }

    /// The port.
    pub fn port(&self) -> u16 {
        self.authority.port
    }

    pub(crate) fn authority(&self) -> &Authority {
        &self.authority
    }

    pub(crate) fn reach(&self) -> Reach {
        self.reach
    }
}

/// Why a text names no host.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum HostError {
    /// The name.
    #[error(
        "a host is a name of ASCII letters, digits, `-` and `_` in parts between dots, an IPv4 address, or an IPv6 address in brackets"
    )]
    Name,
    /// The port.
    #[error("a port is a number from 1 to 65535")]
    Port,
}

/// A checked `host:port`, and nothing else that could stand in a request line: whoever prints one prints harmless bytes, at most 260 of them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Authority {
    pub(crate) name: Name,
    pub(crate) port: u16,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Name {
    Domain(String),
    Address(IpAddr),
}

impl Authority {
    /// `port` stands in for one that is not written. Where there is none to stand in, it must be written.
    pub(crate) fn parse(text: &str, port: Option<u16>) -> Result<Self, HostError> {
        let (name, written) = if let Some(bracketed) = text.strip_prefix('[') {
            let (address, rest) = bracketed.split_once(']').ok_or(HostError::Name)?;
            let address: Ipv6Addr = address.parse().map_err(|_| HostError::Name)?;
            let written = match rest {
                "" => None,
                _ => Some(rest.strip_prefix(':').ok_or(HostError::Name)?),
            };
            (Name::Address(address.into()), written)
        } else {
            match text.split_once(':') {
                Some((name, written)) => (Name::parse(name)?, Some(written)),
                None => (Name::parse(text)?, None),
            }
        };
        let port = written.map_or(port, parse_port).ok_or(HostError::Port)?;
        Ok(Self { name, port })
    }
}

impl Name {
    pub(crate) fn parse(text: &str) -> Result<Self, HostError> {
        let text = text.strip_suffix('.').unwrap_or(text);
        if let Ok(address) = text.parse() {
            return Ok(Self::Address(IpAddr::V4(address)));
        }
        let plain = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'_';
        let label = |label: &str| (1..=63).contains(&label.len()) && label.bytes().all(plain);
        // `127.1`, `0x7f.1` and `2130706433` are addresses to the C library, and no names to anybody.
        let number = |label: &str| match label.strip_prefix("0x").or(label.strip_prefix("0X")) {
            Some(digits) => digits.bytes().all(|byte| byte.is_ascii_hexdigit()),
            None => label.bytes().all(|byte| byte.is_ascii_digit()),
        };
        let well_formed =
            text.len() <= 253 && text.split('.').all(label) && !text.rsplit('.').next().is_some_and(number);
        if well_formed { Ok(Self::Domain(text.to_ascii_lowercase())) } else { Err(HostError::Name) }
    }
}

pub(crate) fn parse_port(text: &str) -> Option<u16> {
    // Rust would read `+443` as well.
    let digits = text.bytes().all(|byte| byte.is_ascii_digit());
    text.parse().ok().filter(|port| digits && *port != 0)
}

impl fmt::Display for Authority {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.name {
            Name::Address(IpAddr::V6(address)) => write!(f, "[{address}]:{}", self.port),
            name @ (Name::Domain(_) | Name::Address(_)) => write!(f, "{name}:{}", self.port),
        }
    }
}

impl fmt::Display for Name {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Domain(name) => f.write_str(name),
            Self::Address(address) => address.fmt(f),
        }
    }
}
