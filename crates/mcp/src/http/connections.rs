//! Connections: how many, how slow, and how they end.

use std::collections::HashMap;
use std::net::{IpAddr, Ipv6Addr};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use axum::Router;
use hyper::server::conn::http1;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::server::graceful::GracefulShutdown;
use hyper_util::service::TowerToHyperService;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Semaphore;
use tokio_util::sync::CancellationToken;

/// Connections at one time; more wait until one is closed.
const MOST: usize = 1024;
/// Those of one address. Whoever cannot be asked for a token yet must not keep out the others.
const MOST_OF_ONE: usize = MOST / 4;
/// How long a client may take to send a request's head, and how long it may keep a connection without asking anything.
const HEAD_TIME: Duration = Duration::from_secs(15);
/// When it is tried again where no connection could be taken.
const AGAIN: Duration = Duration::from_millis(100);
/// The largest head.
const MOST_HEAD: usize = 64 << 10;

/// Serves until `shutdown`, then gives requests that go on some time to end. Returns when all have, or the time is over.
pub(super) async fn serve(listener: TcpListener, router: Router, shutdown: CancellationToken, drain: Duration) {
    let mut http = http1::Builder::new();
    http.timer(TokioTimer::new()).header_read_timeout(HEAD_TIME).max_buf_size(MOST_HEAD);
    let places = Arc::new(Semaphore::new(MOST));
    let peers = Peers::default();
    let open = GracefulShutdown::new();
    loop {
        let accepting = async {
            // The semaphore is never closed.
            let place = Arc::clone(&places).acquire_owned().await.ok();
            (accept(&listener).await, place)
        };
        let ((stream, address), place) = tokio::select! {
            accepted = accepting => accepted,
            () = shutdown.cancelled() => break,
        };
        let Some(peer) = peers.enter(address) else {
            tracing::debug!(%address, "a connection is one too many of its address");
            continue;
        };
        // Answers are many small writes, which must not wait for each other. A connection without it is slower, no more.
        stream.set_nodelay(true).ok();
        let connection = http.serve_connection(TokioIo::new(stream), TowerToHyperService::new(router.clone()));
        let connection = open.watch(connection);
        tokio::spawn(async move {
            if let Err(error) = connection.await {
                tracing::debug!(%error, "a connection broke");
            }
            drop((place, peer));
        });
    }
    drop(listener);
    if tokio::time::timeout(drain, open.shutdown()).await.is_err() {
        tracing::warn!("requests that did not end in time are cut off");
    }
}

/// The next connection. What goes wrong with one is that one's; where no descriptors are left, one that is closed makes room for the next.
async fn accept(listener: &TcpListener) -> (TcpStream, IpAddr) {
    loop {
        match listener.accept().await {
            Ok((stream, address)) => return (stream, address.ip()),
            Err(error) => {
                tracing::warn!(%error, "a connection cannot be taken");
                tokio::time::sleep(AGAIN).await;
            }
        }
    }
}

/// How many connections each address has.
#[derive(Debug, Clone, Default)]
struct Peers(Arc<Mutex<HashMap<IpAddr, usize>>>);

/// A connection of an address, until it is dropped. This machine's own are not counted: behind a proxy, all are.
#[derive(Debug)]
struct Peer(Option<(Peers, IpAddr)>);

impl Peers {
    /// One more connection, if its address may have it.
    fn enter(&self, address: IpAddr) -> Option<Peer> {
        let address = whose(address);
        if address.is_loopback() {
            return Some(Peer(None));
        }
        let mut peers = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let count = peers.entry(address).or_default();
        if *count >= MOST_OF_ONE {
            return None;
        }
        *count += 1;
        Some(Peer(Some((self.clone(), address))))
    }
}

impl Drop for Peer {
    fn drop(&mut self) {
        let Some((peers, address)) = &self.0 else { return };
        let mut peers = peers.0.lock().unwrap_or_else(PoisonError::into_inner);
        match peers.get_mut(address) {
            Some(count) if *count > 1 => *count -= 1,
            Some(_) | None => drop(peers.remove(address)),
        }
    }
}

/// What stands for all addresses of one host: in IPv6 it mostly has a network of its own.
fn whose(address: IpAddr) -> IpAddr {
    const HOSTS: u32 = 64;
    match address.to_canonical() {
        IpAddr::V6(address) if !address.is_loopback() => {
            Ipv6Addr::from_bits(address.to_bits() >> HOSTS << HOSTS).into()
        }
        address @ (IpAddr::V4(_) | IpAddr::V6(_)) => address,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_address_does_not_keep_out_the_others() {
        let peers = Peers::default();
        let address = |text: &str| text.parse::<IpAddr>().expect("an address");
        for (one, same, other) in [
            ("192.0.2.1", "::ffff:192.0.2.1", "192.0.2.2"),
            ("2001:db8:0:1::1", "2001:db8:0:1:ffff::2", "2001:db8:0:2::1"),
        ] {
            let mut held: Vec<Peer> = (0..MOST_OF_ONE).map(|_| peers.enter(address(one)).expect("one more")).collect();
            assert!(peers.enter(address(same)).is_none(), "{same}");
            assert!(peers.enter(address(other)).is_some(), "{other}");
            held.pop();
            assert!(peers.enter(address(same)).is_some(), "{same}");
        }
        assert!(peers.0.lock().expect("a lock").is_empty());
        // A proxy's, which are everybody's.
        let held: Vec<_> = (0..=MOST_OF_ONE).map(|_| peers.enter(address("127.0.0.1"))).collect();
        assert!(held.iter().all(Option::is_some) && peers.enter(address("::1")).is_some());
    }
}
