//! Who may be reached, and how much.

use std::sync::Arc;
use std::time::Duration;

use crate::address::Reach;
use crate::dial::Resolver;
use crate::host::{Authority, HTTPS, Host, Name};
use crate::pattern::{Pattern, is_public};
use crate::traffic::Reason;
use crate::upstream::Upstream;

/// Who may be reached from a jail. Cheap to clone.
///
/// By itself: 64 connections at once, 8 GiB in all, and connections made from here.
#[derive(Clone, Debug)]
pub struct Gate(Arc<Rules>);

#[derive(Clone, Debug)]
struct Rules {
    hosts: Vec<Host>,
    others: Others,
    upstream: Option<Upstream>,
    connections: usize,
    bytes: u64,
    resolver: Resolver,
    patience: Patience,
}

/// What holds for hosts that are not listed.
#[derive(Clone, Debug)]
enum Others {
    Closed,
    Public,
    /// Of a program that its operator lets out.
    Granted(Vec<Pattern>),
}

/// What is served beside tunnels.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Plain {
    Refused,
    /// Requests in the clear, which carry the whole address of what they want.
    Served,
}

/// How long somebody may keep a connection waiting.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Patience {
    /// For a whole request.
    pub(crate) head: Duration,
    /// For looking a host up, connecting, and an upstream proxy's answer, all together.
    pub(crate) connect: Duration,
    /// For a byte, in either direction.
    pub(crate) idle: Duration,
    /// Bytes that have to move in that time, both directions together.
    pub(crate) least: u64,
}

const PATIENCE: Patience = Patience {
    head: Duration::from_secs(10),
    connect: Duration::from_secs(15),
    idle: Duration::from_mins(2),
    least: 0,
};

impl Gate {
    /// To these hosts only, each on its own port.
    pub fn to(hosts: impl IntoIterator<Item = Host>) -> Self {
        Self(Arc::new(Rules {
            hosts: hosts.into_iter().collect(),
            others: Others::Closed,
            upstream: None,
            connections: 64,
            bytes: 8 << 30,
            resolver: Resolver::system(),
            patience: PATIENCE,
        }))
    }

    /// To any public host on port 443: for learning which hosts a client's configuration leads to. Only for a program that was given nothing
    /// but the operator's own configuration, since whoever chooses the hosts can send them anything.
    pub fn to_any_public() -> Self {
        Self::to([]).with(|rules| rules.others = Others::Public)
    }

    /// To what these patterns say, for a program: in tunnels, and in plain HTTP.
    pub fn for_programs(patterns: impl IntoIterator<Item = Pattern>) -> Self {
        let patterns = patterns.into_iter().collect();
        Self::to([]).with(|rules| {
            rules.others = Others::Granted(patterns);
            rules.resolver = Resolver::of_programs();
        })
    }

    /// To these hosts too.
    #[must_use]
    pub fn and(self, hosts: impl IntoIterator<Item = Host>) -> Self {
        self.with(|rules| rules.hosts.extend(hosts))
    }

    /// Through the operator's own proxy, if there is one. It looks the names up, so which addresses they lead to is its business.
    #[must_use]
    pub fn behind(self, upstream: Option<Upstream>) -> Self {
        self.with(|rules| rules.upstream = upstream)
    }

    /// How many connections are served at once, at least one; more wait. Each holds two sockets and up to 128 KiB of the server.
    #[must_use]
    pub fn connections_at_most(self, connections: usize) -> Self {
        self.with(|rules| rules.connections = connections.max(1))
    }

    /// How many bytes are passed on, in both directions and all tunnels together. One more ends everything.
    #[must_use]
    pub fn bytes_at_most(self, bytes: u64) -> Self {
        self.with(|rules| rules.bytes = bytes)
    }

    /// How many bytes a tunnel moves in two minutes, in both directions together. One that is slower is closed.
    #[must_use]
    pub fn moving_at_least(self, bytes: u64) -> Self {
        self.with(|rules| rules.patience.least = bytes)
    }

    /// How far away an address of this host may be.
    pub(crate) fn admit(&self, target: &Authority) -> Result<Reach, Reason> {
        let listed = self.0.hosts.iter().filter(|host| host.authority() == target).map(Host::reach).max();
        match (&target.name, listed, &self.0.others) {
            (_, None, Others::Granted(patterns)) if patterns.iter().any(|pattern| pattern.admits(target)) => {
                Ok(Reach::Public)
            }
            (_, None, Others::Granted(_)) => Err(Reason::NotGranted),
            (Name::Address(_), Some(Reach::Private), _) => Ok(Reach::Private),
            (Name::Address(_), _, _) => Err(Reason::Address),
            (Name::Domain(_), Some(reach), _) => Ok(reach),
            (Name::Domain(name), None, Others::Public) if target.port == HTTPS && is_public(name) => Ok(Reach::Public),
            (Name::Domain(_), None, _) => Err(Reason::NotListed),
        }
    }

    pub(crate) fn plain(&self) -> Plain {
        match self.0.others {
            Others::Granted(_) => Plain::Served,
            Others::Closed | Others::Public => Plain::Refused,
        }
    }

    pub(crate) fn upstream(&self) -> Option<&Upstream> {
        self.0.upstream.as_ref()
    }

    pub(crate) fn connections(&self) -> usize {
        self.0.connections
    }

    pub(crate) fn bytes(&self) -> u64 {
        self.0.bytes
    }

    pub(crate) fn resolver(&self) -> &Resolver {
        &self.0.resolver
    }

    pub(crate) fn patience(&self) -> Patience {
        self.0.patience
    }

    fn with(mut self, change: impl FnOnce(&mut Rules)) -> Self {
        change(Arc::make_mut(&mut self.0));
        self
    }
}

#[cfg(test)]
impl Gate {
    pub(crate) fn resolving(self, resolver: Resolver) -> Self {
        self.with(|rules| rules.resolver = resolver)
    }

    pub(crate) fn waiting(self, change: impl FnOnce(&mut Patience)) -> Self {
        self.with(|rules| change(&mut rules.patience))
    }
}
