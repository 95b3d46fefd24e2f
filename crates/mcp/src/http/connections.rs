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
/// Connections of one address. Clients that cannot be asked for a token yet must not keep out the others.
const MOST_OF_ONE: usize = MOST / 4;
/// What the next one of it is told.
const ONE_TOO_MANY: &[u8] =
    b"HTTP/1.1 503 Service Unavailable\r\nretry-after: 1\r\nconnection: close\r\ncontent-length: 0\r\n\r\n";
/// How long a client may take to send a request's head, and how long it may keep a connection without asking anything.
const HEAD_TIME: Duration = Duration::from_secs(15);
/// How long a client may go without taking any of what is sent to it. Nothing else ends a connection with an unsent
/// answer.
const STALL: Duration = Duration::from_mins(2);
/// How long to wait after a connection could not be accepted.
const AGAIN: Duration = Duration::from_millis(100);
/// The largest head.
const MOST_HEAD: usize = 64 << 10;

/// Serves until `shutdown`, then gives requests that go on some time to end. Returns when all have, or the time is over.
pub(super) async fn serve(listener: TcpListener, router: Router, shutdown: CancellationToken, drain: Duration) {
    let open = take_all(listener, router, shutdown, STALL).await;
    if tokio::time::timeout(drain, open.shutdown()).await.is_err() {
        tracing::warn!("requests that did not end in time are cut off");
    }
}

/// Takes connections until `shutdown`. Those that are still open then.
async fn take_all(
    listener: TcpListener,
    router: Router,
    shutdown: CancellationToken,
    stall: Duration,
) -> GracefulShutdown {
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
            () = shutdown.cancelled() => return open,
        };
        let Some(peer) = peers.enter(address) else {
            tracing::debug!(%address, "a connection is one too many of its address");
            turn_away(&stream);
            continue;
        };
        if let Err(error) = give_up_after(stall, &stream) {
            tracing::debug!(%error, "a connection could be held for ever");
            continue;
        }
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
}

/// Tells one client too many so, as far as that can be done without waiting for it.
fn turn_away(stream: &TcpStream) {
    // Not through tokio, which has not heard yet that it can be written to. A new connection's buffer has room for it.
    rustix::io::write(stream, ONE_TOO_MANY).ok();
}

/// Has the kernel break a connection if data has waited this long and the other end has taken none of it. Reading a
/// little now and then starts the time anew, and a connection with nothing to read has no limit.
fn give_up_after(stall: Duration, stream: &TcpStream) -> rustix::io::Result<()> {
    let millis = u32::try_from(stall.as_millis()).unwrap_or(u32::MAX);
    rustix::net::sockopt::set_tcp_user_timeout(stream, millis)
}

/// The next connection. Failing to accept one does not stop the others; if descriptors run out, a connection that is
/// closed makes room.
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

/// What stands for all addresses of one customer, who in IPv6 mostly has networks of their own, 256 of them or more.
fn whose(address: IpAddr) -> IpAddr {
    const HOSTS: u32 = 128 - 56;
    match address.to_canonical() {
        IpAddr::V6(address) if !address.is_loopback() => {
            Ipv6Addr::from_bits(address.to_bits() >> HOSTS << HOSTS).into()
        }
        address @ (IpAddr::V4(_) | IpAddr::V6(_)) => address,
    }
}

#[cfg(test)]
mod tests {
    use std::io;

    use axum::routing::get;
    use tokio::io::AsyncReadExt as _;
    use tokio::net::TcpSocket;
    use tokio::time::{sleep, timeout};

    use super::*;

    const ASKED: &[u8] = b"GET / HTTP/1.1\r\nhost: here\r\n\r\n";

    /// Connected, and reads little at a time.
    async fn client(listener: &TcpListener) -> TcpStream {
        let socket = TcpSocket::new_v4().expect("a socket");
        socket.set_recv_buffer_size(16 << 10).expect("a small buffer");
        socket.connect(listener.local_addr().expect("an address")).await.expect("a connection")
    }

    /// Asks for more than any buffer holds, reads nothing of it, and goes on asking until the connection is broken.
    async fn ask_until_broken(client: &TcpStream) {
        let is_broken = |error: io::Error| error.kind() != io::ErrorKind::WouldBlock;
        let mut asked = client.try_write(&ASKED.repeat(1_000));
        while !asked.is_err_and(is_broken) {
            sleep(Duration::from_millis(100)).await;
            asked = client.try_write(ASKED);
        }
    }

    #[tokio::test]
    async fn who_takes_nothing_is_cut_off_and_who_takes_little_is_not() {
        const STALL: Duration = Duration::from_secs(1);
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let (never, slowly) = (client(&listener).await, client(&listener).await);
        let router = Router::new().route("/", get(|| async { "x".repeat(64 << 10) }));
        tokio::spawn(take_all(listener, router, CancellationToken::new(), STALL));
        let (mut answers, questions) = slowly.into_split();
        never.writable().await.expect("a socket");
        questions.writable().await.expect("a socket");
        let reading = async {
            questions.try_write(&ASKED.repeat(8)).expect("room");
            let mut part = [0; 8 << 10];
            for _ in 0..30 {
                sleep(STALL / 10).await;
                assert!(answers.read(&mut part).await.expect("more") > 0);
            }
        };
        let broken = timeout(STALL * 20, ask_until_broken(&never));
        let ((), broken) = tokio::join!(reading, broken);
        assert!(broken.is_ok(), "it holds its place");
    }

    #[tokio::test]
    async fn one_too_many_is_told_so() {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let mut client = client(&listener).await;
        let (stream, _) = listener.accept().await.expect("a connection");
        turn_away(&stream);
        drop(stream);
        let mut answer = String::new();
        client.read_to_string(&mut answer).await.expect("an answer");
        assert!(answer.starts_with("HTTP/1.1 503 ") && answer.contains("retry-after: 1"), "{answer}");
    }

    #[test]
    fn one_address_does_not_keep_out_the_others() {
        let peers = Peers::default();
        let address = |text: &str| text.parse::<IpAddr>().expect("an address");
        for (one, same, other) in [
            ("192.0.2.1", "::ffff:192.0.2.1", "192.0.2.2"),
            ("2001:db8:0:1::1", "2001:db8:0:ff:ffff::2", "2001:db8:0:100::1"),
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
