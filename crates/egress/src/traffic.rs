//! What went on, for whoever tells the user.

use std::collections::BTreeSet;
use std::fmt;
use std::io;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::Notify;

use crate::host::Authority;

/// How many hosts, and how many refusals, are remembered. A jail decides how many there are, and the server keeps them.
const REMEMBERED: usize = 256;

/// What went on behind one gate.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Traffic {
    /// Who was connected to, as `host:port`; the first 256.
    pub reached: BTreeSet<String>,
    /// Who was not, each once; the first 256.
    pub denied: Vec<Denied>,
    /// Bytes that came into the jail.
    pub bytes_in: u64,
    /// Bytes that left it.
    pub bytes_out: u64,
    /// Why everything ended, if it did.
    pub ended: Option<End>,
}

/// A host that was asked for and not connected to. Displayed, it is a sentence.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Denied {
    /// A name in lower case, or an address.
    pub host: String,
    /// The port.
    pub port: u16,
    /// Why.
    pub reason: Reason,
}

/// Why a host was not connected to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Reason {
    /// The gate does not lead there.
    #[error("is not a registry of this server's configuration")]
    NotListed,
    /// The program may not go there.
    #[error("is not among the hosts that this run may connect to")]
    NotGranted,
    /// It is an address, and not one that the operator named.
    #[error("is an address; registries are reached by the names in this server's configuration")]
    Address,
    /// Every address that it has is private, or special.
    #[error("has no public address, and is no private registry of this server's configuration")]
    NotPublic,
    /// It has no address, or no name server answered.
    #[error("cannot be found: its name does not resolve")]
    Unresolved,
    /// None of its addresses took the connection.
    #[error("cannot be reached: {0}")]
    Unreachable(io::ErrorKind),
    /// It took longer than this.
    #[error("did not answer within {} s", .0.as_secs())]
    Slow(Duration),
    /// The operator's own proxy cannot be reached.
    #[error("cannot be reached, since this server's own proxy cannot: {0}")]
    UpstreamUnreachable(io::ErrorKind),
    /// The operator's own proxy answered with this status.
    #[error("was refused by this server's own proxy, with status {0}")]
    UpstreamRefused(u16),
    /// The operator's own proxy did not answer as a proxy does.
    #[error("cannot be reached: this server's own proxy gave no answer in HTTP")]
    UpstreamGarbled,
}

/// Why everything ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum End {
    /// More bytes than the gate allows.
    #[error("more than {limit} bytes were to be moved")]
    Bytes {
        /// What it allows.
        limit: u64,
    },
}

/// The traffic of one [`serve`](crate::serve), to be read at any time. Clones are the same log.
#[derive(Clone, Debug, Default)]
pub struct Log(Arc<Shared>);

#[derive(Debug, Default)]
struct Shared {
    traffic: Mutex<Traffic>,
    ended: Notify,
}

#[derive(Clone, Copy, Debug)]
pub(crate) enum Way {
    In,
    Out,
}

impl Log {
    /// What went on so far.
    pub fn traffic(&self) -> Traffic {
        self.lock().clone()
    }

    pub(crate) fn reached(&self, target: &Authority) {
        let reached = &mut self.lock().reached;
        if reached.len() < REMEMBERED {
            reached.insert(target.to_string());
        }
    }

    pub(crate) fn denied(&self, denied: &Denied) {
        let all = &mut self.lock().denied;
        if all.len() < REMEMBERED && !all.contains(denied) {
            all.push(denied.clone());
        }
    }

    /// Asks before bytes are passed on. Beyond the limit, they are not.
    pub(crate) fn moves(&self, way: Way, bytes: usize, limit: u64) -> io::Result<()> {
        let mut traffic = self.lock();
        let bytes = bytes as u64;
        if bytes > limit.saturating_sub(traffic.bytes_in + traffic.bytes_out) {
            traffic.ended = Some(End::Bytes { limit });
            self.0.ended.notify_one();
            return Err(io::ErrorKind::QuotaExceeded.into());
        }
        match way {
            Way::In => traffic.bytes_in += bytes,
            Way::Out => traffic.bytes_out += bytes,
        }
        Ok(())
    }

    pub(crate) async fn ended(&self) {
        self.0.ended.notified().await;
    }

    fn lock(&self) -> MutexGuard<'_, Traffic> {
        self.0.traffic.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Denied {
    pub(crate) fn new(target: &Authority, reason: Reason) -> Self {
        Self { host: target.name.to_string(), port: target.port, reason }
    }
}

impl fmt::Display for Denied {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "`{}:{}` {}", self.host, self.port, self.reason)
    }
}
