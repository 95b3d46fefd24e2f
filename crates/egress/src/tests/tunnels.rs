use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;
use tokio::time::timeout;

use super::{LOOPBACK, Proxy, all, connect, echo, gate_to, read_head};
use crate::dial::Resolver;
use crate::{Gate, Host};

#[tokio::test]
async fn bytes_go_both_ways_and_are_counted() {
    let target = format!("echo.example:{}", echo().await);
    let proxy = Proxy::serve(gate_to(std::slice::from_ref(&target)));
    let mut client = proxy.tunnel(&target.to_uppercase()).await;
    let sent: Vec<u8> = (0..1_000_000_u32).map(|number| (number % 251) as u8).collect();
    let (mut from, mut to) = client.split();
    let sending = async {
        to.write_all(&sent).await.unwrap();
        // The echo sees an end, and still answers.
        to.shutdown().await.unwrap();
    };
    let mut received = Vec::new();
    let ((), read) = tokio::join!(sending, from.read_to_end(&mut received));
    read.unwrap();
    assert!(received == sent);
    let traffic = proxy.traffic();
    assert_eq!((traffic.bytes_in, traffic.bytes_out, traffic.ended), (1_000_000, 1_000_000, None));
    assert_eq!(Vec::from_iter(traffic.reached), [target]);
    assert_eq!(traffic.denied, []);
}

/// The far end closes its direction first, and still hears.
#[tokio::test]
async fn the_far_end_closes_half() {
    let listener = TcpListener::bind((LOOPBACK, 0)).await.unwrap();
    let target = format!("echo.example:{}", listener.local_addr().unwrap().port());
    let proxy = Proxy::serve(gate_to(std::slice::from_ref(&target)));
    let mut client = proxy.tunnel(&target).await;
    let (mut far, _) = listener.accept().await.unwrap();
    far.write_all(b"bye").await.unwrap();
    far.shutdown().await.unwrap();
    assert_eq!(all(&mut client).await, "bye");
    client.write_all(b"and more").await.unwrap();
    drop(client);
    assert_eq!(all(&mut far).await, "and more");
}

#[tokio::test]
async fn bytes_that_come_with_the_head() {
    let target = format!("echo.example:{}", echo().await);
    let proxy = Proxy::serve(gate_to(std::slice::from_ref(&target)));
    let mut client = proxy.client().await;
    client.write_all(format!("{}hello", connect(&target)).as_bytes()).await.unwrap();
    client.shutdown().await.unwrap();
    assert_eq!(all(&mut client).await, "HTTP/1.1 200 Connection established\r\n\r\nhello");
    assert_eq!(proxy.traffic().bytes_out, 5);
}

#[tokio::test]
async fn an_address_that_the_operator_named() {
    let target = format!("127.0.0.1:{}", echo().await);
    Proxy::serve(gate_to(std::slice::from_ref(&target))).tunnel(&target).await;
}

#[tokio::test]
async fn learning_beside_a_host_that_the_operator_named() {
    let target = format!("localhost:{}", echo().await);
    let gate = Gate::to_any_public().and([Host::parse(&target).unwrap().private()]);
    Proxy::serve(gate).tunnel(&target).await;
}

/// Addresses that may not be reached are left out, the others are tried in their order.
#[tokio::test]
async fn the_first_address_that_answers() {
    let target = format!("echo.example:{}", echo().await);
    let addresses = ["169.254.169.254", "127.0.0.2", "127.0.0.1"];
    let table = addresses.map(|address| ("echo.example", address.parse().unwrap()));
    let gate = gate_to(std::slice::from_ref(&target)).resolving(Resolver::Table(table.to_vec()));
    Proxy::serve(gate).tunnel(&target).await;
}

#[tokio::test]
async fn the_connection_after_the_last_waits_its_turn() {
    let target = format!("echo.example:{}", echo().await);
    let proxy = Proxy::serve(gate_to(std::slice::from_ref(&target)));
    let mut open = Vec::new();
    for _ in 0..64 {
        open.push(proxy.tunnel(&target).await);
    }
    let mut waiting = proxy.client().await;
    waiting.write_all(connect(&target).as_bytes()).await.unwrap();
    timeout(Duration::from_millis(200), waiting.read_u8()).await.unwrap_err();
    for client in &mut open {
        client.write_all(b"x").await.unwrap();
        assert_eq!(client.read_u8().await.unwrap(), b'x');
    }
    open.pop();
    assert!(read_head(&mut waiting).await.starts_with("HTTP/1.1 200 "));
}
