//! Hosts that a program may reach, by patterns.

use crate::host::{Authority, HostError, Name, parse_port};

/// `example.org`, `*.example.org` for all below it, or `*` for everything public. On the ports of `http` and `https`, or on the one that is
/// written behind a colon. Whatever a pattern says, only public addresses are connected to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pattern {
    hosts: Hosts,
    port: Option<u16>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Hosts {
    Any,
    /// With a dot before it.
    Below(String),
    One(String),
}

/// The ports of a pattern that names none.
const WEB: &[u16] = &[80, 443];

/// Names that mean something only on the network of whoever looks them up. The address check sees through them, but an upstream proxy
/// looks names up itself, and would lead to its own network.
const NOT_PUBLIC: &[&str] = &["localhost", "local", "internal", "home.arpa"];

impl Pattern {
    /// Reads a pattern. An address is not one.
    pub fn parse(text: &str) -> Result<Self, HostError> {
        let (name, port) = match text.split_once(':') {
            Some((name, port)) => (name, Some(parse_port(port).ok_or(HostError::Port)?)),
            None => (text, None),
        };
        let domain = |text: &str| match Name::parse(text)? {
            Name::Domain(name) => Ok(name),
            Name::Address(_) => Err(HostError::Name),
        };
        let hosts = match (name, name.strip_prefix("*.")) {
            ("*", _) => Hosts::Any,
            (_, Some(zone)) => Hosts::Below(format!(".{}", domain(zone)?)),
            (name, None) => Hosts::One(domain(name)?),
        };
        Ok(Self { hosts, port })
    }

    pub(crate) fn admits(&self, target: &Authority) -> bool {
        let ports = self.port.as_ref().map_or(WEB, std::slice::from_ref);
        ports.contains(&target.port)
            && match (&self.hosts, &target.name) {
                (Hosts::Any, Name::Domain(name)) => is_public(name),
                (Hosts::Any, Name::Address(_)) => true,
                (Hosts::Below(zone), Name::Domain(name)) => name.ends_with(zone),
                (Hosts::One(one), Name::Domain(name)) => name == one,
                (Hosts::Below(_) | Hosts::One(_), Name::Address(_)) => false,
            }
    }
}

/// Whether a name may be looked up for somebody who named no host.
pub(crate) fn is_public(name: &str) -> bool {
    let in_zone = |zone: &&str| name.strip_suffix(*zone).is_some_and(|rest| rest.is_empty() || rest.ends_with('.'));
    name.contains('.') && !NOT_PUBLIC.iter().any(in_zone)
}
