use std::io::ErrorKind;
use std::net::Ipv4Addr;
use std::os::fd::AsFd;
use std::os::unix::net::UnixListener;
use std::time::{Duration, Instant};

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::time::timeout;

use super::{LOOPBACK, Proxy, all, echo, gate_to};
use crate::{End, Gate, Log, serve};

/// How long nothing may move: much longer than a byte takes, on a machine that has other things to do.
const IDLE: Duration = Duration::from_secs(3);

/// An end may be a reset, if bytes were under way.
async fn ends(stream: &mut TcpStream) {
    let mut rest = Vec::new();
    match timeout(Duration::from_secs(20), stream.read_to_end(&mut rest)).await.unwrap() {
        Ok(_) => {}
        Err(error) => assert_eq!(error.kind(), ErrorKind::ConnectionReset),
    }
}

#[tokio::test]
async fn dropped_it_ends_both_ends_of_everything() {
    let listener = TcpListener::bind((LOOPBACK, 0)).await.unwrap();
    let target = format!("echo.example:{}", listener.local_addr().unwrap().port());
    let proxy = Proxy::serve(gate_to(std::slice::from_ref(&target)));
    let mut inside = proxy.tunnel(&target).await;
    let (mut outside, _) = listener.accept().await.unwrap();
    let mut without_head = proxy.client().await;
    timeout(Duration::from_millis(100), inside.read_u8()).await.unwrap_err();
    proxy.serving.abort();
    ends(&mut inside).await;
    ends(&mut outside).await;
    ends(&mut without_head).await;
    assert_eq!(TcpStream::connect(proxy.address).await.unwrap_err().kind(), ErrorKind::ConnectionRefused);
}

#[tokio::test]
async fn too_many_bytes_end_everything() {
    let target = format!("echo.example:{}", echo().await);
    let proxy = Proxy::serve(gate_to(std::slice::from_ref(&target)).bytes_at_most(10));
    let mut idle = proxy.tunnel(&target).await;
    let mut client = proxy.tunnel(&target).await;
    client.write_all(b"12345").await.unwrap();
    let mut echoed = [0; 5];
    client.read_exact(&mut echoed).await.unwrap();
    assert_eq!(&echoed, b"12345");
    assert_eq!(proxy.traffic().ended, None);
    client.write_all(b"6").await.unwrap();
    ends(&mut client).await;
    ends(&mut idle).await;
    let traffic = proxy.traffic();
    assert_eq!((traffic.bytes_in, traffic.bytes_out), (5, 5));
    assert_eq!(traffic.ended, Some(End::Bytes { limit: 10 }));
    proxy.serving.await.unwrap().unwrap();
}

#[tokio::test]
async fn bytes_beyond_the_limit_are_not_passed_on() {
    let listener = TcpListener::bind((LOOPBACK, 0)).await.unwrap();
    let target = format!("echo.example:{}", listener.local_addr().unwrap().port());
    let proxy = Proxy::serve(gate_to(std::slice::from_ref(&target)).bytes_at_most(10));
    let mut client = proxy.tunnel(&target).await;
    let (mut far, _) = listener.accept().await.unwrap();
    client.write_all(b"eleven byte").await.unwrap();
    assert_eq!(all(&mut far).await, "");
}

#[tokio::test]
async fn a_tunnel_in_which_nothing_moves() {
    let target = format!("echo.example:{}", echo().await);
    let gate = gate_to(std::slice::from_ref(&target)).waiting(|patience| patience.idle = IDLE);
    let proxy = Proxy::serve(gate);
    let began = Instant::now();
    let mut client = proxy.tunnel(&target).await;
    for _ in 0..8 {
        tokio::time::sleep(IDLE / 6).await;
        client.write_all(b"x").await.unwrap();
    }
    assert_eq!(all(&mut client).await, "xxxxxxxx");
    assert!(began.elapsed() >= 2 * IDLE);
}

#[tokio::test]
async fn a_tunnel_that_only_drips() {
    let target = format!("echo.example:{}", echo().await);
    let gate = gate_to(std::slice::from_ref(&target)).waiting(|patience| patience.idle = IDLE);
    let (patient, hurried) = (Proxy::serve(gate.clone()), Proxy::serve(gate.moving_at_least(1000)));
    let (mut served, mut closed) = (patient.tunnel(&target).await, hurried.tunnel(&target).await);
    for _ in 0..8 {
        tokio::time::sleep(IDLE / 6).await;
        served.write_all(b"x").await.unwrap();
        // Until it is closed.
        closed.write_all(b"x").await.ok();
    }
    let mut echoed = [0; 8];
    served.read_exact(&mut echoed).await.unwrap();
    ends(&mut closed).await;
}

#[tokio::test]
async fn only_a_listening_tcp_socket_on_loopback_is_served() {
    async fn kind(socket: impl Into<std::os::fd::OwnedFd>) -> ErrorKind {
        let log = Log::default();
        let serving = serve(socket.into(), Gate::to([]), &log);
        timeout(Duration::from_secs(20), serving).await.unwrap().unwrap_err().kind()
    }
    let everywhere = std::net::TcpListener::bind((Ipv4Addr::UNSPECIFIED, 0)).unwrap();
    assert_eq!(kind(everywhere).await, ErrorKind::AddrNotAvailable);
    let deaf = tokio::net::TcpSocket::new_v4().unwrap();
    deaf.bind((Ipv4Addr::LOCALHOST, 0).into()).unwrap();
    assert_eq!(kind(deaf.as_fd().try_clone_to_owned().unwrap()).await, ErrorKind::InvalidInput);
    let (pipe, _other) = std::io::pipe().unwrap();
    kind(pipe).await;
    let name = <std::os::unix::net::SocketAddr as std::os::linux::net::SocketAddrExt>::from_abstract_name(format!(
        "belljar-egress-{}",
        std::process::id()
    ));
    kind(UnixListener::bind_addr(&name.unwrap()).unwrap()).await;
}
