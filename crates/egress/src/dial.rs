//! Connecting to a host that a gate has admitted.

use std::io;
use std::net::{IpAddr, Ipv4Addr, SocketAddr, ToSocketAddrs, UdpSocket};
use std::sync::{Arc, LazyLock};

use tokio::net::TcpStream;
use tokio::sync::Semaphore;

use crate::address::Reach;
use crate::gate::Gate;
use crate::host::{Authority, Name};
use crate::traffic::Reason;

/// The far end of a tunnel, and what it has sent already.
#[derive(Debug)]
pub(crate) struct Line {
    pub(crate) stream: TcpStream,
    pub(crate) early: Vec<u8>,
}

/// Who looks names up.
#[derive(Clone, Debug)]
pub(crate) enum Resolver {
    System(Arc<Semaphore>),
    #[cfg(test)]
    Table(Vec<(&'static str, IpAddr)>),
}

/// Lookups that a gate has under way. Each is a thread of the server, and one that a slow name server holds cannot be cancelled.
const LOOKUPS: usize = 8;
/// The same for all programs together, which choose what is looked up.
const LOOKUPS_OF_PROGRAMS: usize = 32;

/// Connects, in the time that the gate gives it.
pub(crate) async fn dial(gate: &Gate, target: &Authority, reach: Reach) -> Result<Line, Reason> {
    let connecting = async {
        match gate.upstream().filter(|upstream| upstream.serves(target)) {
            Some(upstream) => upstream.connect(gate, target).await,
            None => direct(gate, target, reach).await,
        }
    };
    let patience = gate.patience().connect;
    tokio::time::timeout(patience, connecting).await.unwrap_or(Err(Reason::Slow(patience)))
}

async fn direct(gate: &Gate, target: &Authority, reach: Reach) -> Result<Line, Reason> {
    let mut addresses = gate.resolver().resolve(target).await.map_err(|_| Reason::Unresolved)?;
    if addresses.is_empty() {
        return Err(Reason::Unresolved);
    }
    // From here on there are only addresses: a name looked up again could lead elsewhere (DNS rebinding).
    addresses.retain(|address| Reach::of(address.ip()) <= reach);
    if reach < Reach::Private {
        addresses.retain(|address| !is_this_machines(address.ip()));
    }
    if addresses.is_empty() {
        return Err(Reason::NotPublic);
    }
    let stream = first(&addresses).await.map_err(|error| Reason::Unreachable(error.kind()))?;
    beyond_this_machine(&stream, reach)?;
    Ok(Line { stream, early: Vec::new() })
}

/// Whether an address is one of this machine's own. Through a public one, a client could reach services that listen on
/// all addresses, as no other machine may. Only local addresses can be bound to, unless the kernel was told otherwise
/// (`ip_nonlocal_bind`), so it is asked a second time. An address that a router translates back to this machine is not
/// recognized here.
pub(crate) fn is_this_machines(address: IpAddr) -> bool {
    /// "No such device". The standard library has no name for it.
    const ENODEV: i32 = 19;
    /// A group of which every interface is a member already, so joining it is announced to nobody.
    const ALL_HOSTS: Ipv4Addr = Ipv4Addr::new(224, 0, 0, 1);
    let address = address.to_canonical();
    let Ok(socket) = UdpSocket::bind((address, 0)) else { return false };
    match address {
        // A group is joined on the interface that has the address.
        IpAddr::V4(address) => {
            !socket.join_multicast_v4(&ALL_HOSTS, &address).is_err_and(|error| error.raw_os_error() == Some(ENODEV))
        }
        IpAddr::V6(address) => {
            let own = std::fs::read_to_string("/proc/net/if_inet6");
            let digits = format!("{:032x} ", address.to_bits());
            own.map_or(true, |own| own.lines().any(|line| line.starts_with(&digits)))
        }
    }
}

/// The same for a connection, before anything is sent on it: one from this machine to itself mostly has the same
/// address at both ends.
pub(crate) fn beyond_this_machine(stream: &TcpStream, reach: Reach) -> Result<(), Reason> {
    let failed = |error: io::Error| Reason::Unreachable(error.kind());
    let (ours, theirs) = (stream.local_addr().map_err(failed)?, stream.peer_addr().map_err(failed)?);
    let is_this_machine = ours.ip().to_canonical() == theirs.ip().to_canonical();
    if is_this_machine && reach < Reach::Private { Err(Reason::NotPublic) } else { Ok(()) }
}

/// The first of these that takes a connection, in this order.
pub(crate) async fn first(addresses: &[SocketAddr]) -> io::Result<TcpStream> {
    // Tokio looks nothing up for addresses.
    let stream = TcpStream::connect(addresses).await?;
    stream.set_nodelay(true)?;
    Ok(stream)
}

impl Resolver {
    pub(crate) fn system() -> Self {
        Self::System(Arc::new(Semaphore::new(LOOKUPS)))
    }

    /// One for the gates of all programs, however many there are.
    pub(crate) fn of_programs() -> Self {
        static ALL: LazyLock<Arc<Semaphore>> = LazyLock::new(|| Arc::new(Semaphore::new(LOOKUPS_OF_PROGRAMS)));
        Self::System(Arc::clone(&ALL))
    }

    pub(crate) async fn resolve(&self, target: &Authority) -> io::Result<Vec<SocketAddr>> {
        let (name, port) = match &target.name {
            Name::Address(address) => return Ok(vec![SocketAddr::new(*address, target.port)]),
            Name::Domain(name) => (name.clone(), target.port),
        };
        match self {
            Self::System(lookups) => {
                let turn = Arc::clone(lookups).acquire_owned().await.map_err(io::Error::other)?;
                let lookup = move || {
                    // Held by the thread, not by this future, which may be dropped long before the thread ends.
                    let _turn = turn;
                    (name.as_str(), port).to_socket_addrs().map(Vec::from_iter)
                };
                tokio::task::spawn_blocking(lookup).await?
            }
            #[cfg(test)]
            Self::Table(table) => {
                let of_name = table.iter().filter(|(known, _)| *known == name);
                Ok(of_name.map(|(_, address)| SocketAddr::new(*address, port)).collect())
            }
        }
    }
}
