use std::io::ErrorKind;
use std::net::IpAddr;
use std::time::{Duration, Instant};

use tokio::io::AsyncWriteExt;

use super::{LOOPBACK, Proxy, all, connect, echo, gate_to, refusal};
use crate::address::Reach;
use crate::dial::{Resolver, beyond_this_machine, is_this_machines};
use crate::{Denied, Gate, Host, Reason};

/// Asks for `target`, and expects this status, this sentence, and the same in the log.
async fn check(gate: Gate, target: &str, status: &str, reason: Reason) {
    let proxy = Proxy::serve(gate);
    let (host, port) = target.rsplit_once(':').unwrap();
    let host = host.trim_matches(['[', ']']).to_owned();
    let denied = Denied { host, port: port.parse().unwrap(), reason };
    assert_eq!(proxy.answer(connect(target).as_bytes()).await, refusal(status, &denied.to_string()));
    assert_eq!(proxy.traffic().denied, [denied]);
    assert!(proxy.traffic().reached.is_empty());
}

#[tokio::test]
async fn other_hosts_and_other_ports() {
    let port = echo().await;
    let gate = gate_to(&[format!("echo.example:{port}")]);
    Proxy::serve(gate.clone()).tunnel(&format!("echo.example:{port}")).await;
    for target in [
        format!("other.example:{port}"),
        format!("sub.echo.example:{port}"),
        format!("localhost:{port}"),
        "echo.example:443".to_owned(),
    ] {
        check(gate.clone(), &target, "403 Forbidden", Reason::NotListed).await;
    }
}

/// What this machine calls itself in public leads to what listens on all of its addresses. Here it is called by its loopback one.
#[tokio::test]
async fn this_machine_by_whatever_address() {
    let stream = tokio::net::TcpStream::connect((LOOPBACK, echo().await)).await.unwrap();
    assert_eq!(beyond_this_machine(&stream, Reach::Public), Err(Reason::NotPublic));
    assert_eq!(beyond_this_machine(&stream, Reach::Private), Ok(()), "its operator named it");
    // Which of its own addresses a connection to this one has at the other end is the kernel's choice.
    assert!(is_this_machines(IpAddr::from([127, 0, 0, 2])));
    assert!(!is_this_machines(IpAddr::from([192, 0, 2, 1])));
}

#[tokio::test]
async fn the_sentence_for_a_host_that_is_not_listed() {
    let answer = Proxy::serve(Gate::to([])).answer(connect("Evil.example.:443").as_bytes()).await;
    let body = "`evil.example:443` is not a registry of this server's configuration";
    assert_eq!(answer, refusal("403 Forbidden", body));
}

#[tokio::test]
async fn addresses() {
    let port = echo().await;
    let named = Host::parse("1.1.1.1").unwrap();
    for gate in [gate_to(&[format!("echo.example:{port}")]), Gate::to_any_public(), Gate::to([named])] {
        for target in
            [&format!("127.0.0.1:{port}"), "169.254.169.254:443", "1.1.1.1:443", "[::1]:443", "[::ffff:1.1.1.1]:443"]
        {
            check(gate.clone(), target, "403 Forbidden", Reason::Address).await;
        }
    }
}

#[tokio::test]
async fn an_address_that_the_operator_named_but_nobody_may_reach() {
    let gate = gate_to(&["169.254.169.254:80".to_owned()]);
    check(gate, "169.254.169.254:80", "403 Forbidden", Reason::NotPublic).await;
}

#[tokio::test]
async fn names_that_lead_inside() {
    let port = echo().await;
    let addresses =
        ["127.0.0.1", "10.0.0.1", "169.254.169.254", "::1", "::ffff:127.0.0.1", "64:ff9b::7f00:1", "0.0.0.0"];
    for address in addresses {
        let address: IpAddr = address.parse().unwrap();
        let resolver = Resolver::Table(vec![("rebound.example", address)]);
        let listed = Gate::to([Host::parse(&format!("rebound.example:{port}")).unwrap()]).resolving(resolver.clone());
        check(listed, &format!("rebound.example:{port}"), "403 Forbidden", Reason::NotPublic).await;
        let learning = Gate::to_any_public().resolving(resolver);
        check(learning, "rebound.example:443", "403 Forbidden", Reason::NotPublic).await;
    }
}

/// The operator's word is for the operator's network, not for where clouds keep secrets.
#[tokio::test]
async fn a_private_host_that_leads_to_metadata() {
    let resolver = Resolver::Table(vec![("mirror.example", "169.254.169.254".parse().unwrap())]);
    let gate = Gate::to([Host::parse("mirror.example:80").unwrap().private()]).resolving(resolver);
    check(gate, "mirror.example:80", "403 Forbidden", Reason::NotPublic).await;
}

#[tokio::test]
async fn localhost_by_the_system_resolver() {
    let port = echo().await;
    let gate = Gate::to([Host::parse(&format!("localhost:{port}")).unwrap()]);
    check(gate, &format!("localhost:{port}"), "403 Forbidden", Reason::NotPublic).await;
    let gate = Gate::to([Host::parse(&format!("localhost:{port}")).unwrap().private()]);
    Proxy::serve(gate).tunnel(&format!("localhost:{port}")).await;
}

#[tokio::test]
async fn learning_does_not_ask_for_names_of_a_network() {
    for target in
        ["localhost:443", "a.localhost:443", "kubernetes:443", "metadata.google.internal:443", "printer.local:443"]
    {
        check(Gate::to_any_public(), target, "403 Forbidden", Reason::NotListed).await;
    }
    check(Gate::to_any_public(), "pypi.example:80", "403 Forbidden", Reason::NotListed).await;
    let known = Gate::to_any_public().resolving(Resolver::Table(vec![]));
    check(known, "notlocal.example:443", "502 Bad Gateway", Reason::Unresolved).await;
}

#[tokio::test]
async fn hosts_that_cannot_be_reached() {
    check(gate_to(&["gone.example".to_owned()]), "gone.example:443", "502 Bad Gateway", Reason::Unresolved).await;
    // Bound and not listening: nobody else gets this port meanwhile, and it refuses.
    let socket = tokio::net::TcpSocket::new_v4().unwrap();
    socket.bind((std::net::Ipv4Addr::LOCALHOST, 0).into()).unwrap();
    let target = format!("echo.example:{}", socket.local_addr().unwrap().port());
    let reason = Reason::Unreachable(ErrorKind::ConnectionRefused);
    check(gate_to(std::slice::from_ref(&target)), &target, "502 Bad Gateway", reason).await;
}

#[tokio::test]
async fn a_host_that_does_not_answer() {
    // A documentation address that swallows packets, or a proxy that says nothing: the latter is the same everywhere.
    let silent = tokio::net::TcpListener::bind((LOOPBACK, 0)).await.unwrap();
    let upstream = format!("http://{}", silent.local_addr().unwrap());
    let short = Duration::from_millis(50);
    let gate = Gate::to([Host::parse("slow.example").unwrap()])
        .behind(Some(crate::Upstream::parse(&upstream).unwrap()))
        .waiting(|patience| patience.connect = short);
    check(gate, "slow.example:443", "504 Gateway Timeout", Reason::Slow(short)).await;
}

#[tokio::test]
async fn what_is_not_a_connect() {
    let proxy = Proxy::serve(Gate::to([]));
    let forbidden = refusal("403 Forbidden", "only CONNECT is served here");
    let bad = refusal("400 Bad Request", "this is not `CONNECT host:port HTTP/1.1`");
    assert_eq!(proxy.answer(b"GET / HTTP/1.1\r\n\r\n").await, forbidden);
    assert_eq!(proxy.answer(b"GET http://evil.example/ HTTP/1.1\r\n\r\n").await, forbidden);
    assert_eq!(proxy.answer(b"POST /v1 HTTP/1.1\r\nContent-Length: 5\r\n\r\nhello").await, forbidden);
    assert_eq!(proxy.answer(b"\x16\x03\x01\x02\0\r\n\r\n").await, bad);
    assert_eq!(proxy.answer(b"CONNECT \x1b[31m:443 HTTP/1.1\r\n\r\n").await, bad);
    let mut hasty = proxy.client().await;
    hasty.write_all(b"CONNECT a").await.unwrap();
    hasty.shutdown().await.unwrap();
    assert_eq!(all(&mut hasty).await, bad);
    assert_eq!(proxy.traffic(), crate::Traffic::default());
}

#[tokio::test]
async fn a_head_without_end() {
    let long =
        refusal("431 Request Header Fields Too Large", "the head of the request is longer than 8 KiB or 64 headers");
    let proxy = Proxy::serve(Gate::to([]));
    let padding = "x".repeat(100_000);
    assert_eq!(proxy.answer(format!("CONNECT a.example:443 HTTP/1.1\r\nX: {padding}").as_bytes()).await, long);
    let many = "X: y\r\n".repeat(65);
    assert_eq!(proxy.answer(format!("CONNECT a.example:443 HTTP/1.1\r\n{many}\r\n").as_bytes()).await, long);
}

/// A reset would make a client that is still sending give up before it reads why.
#[tokio::test]
async fn a_refused_client_may_finish_its_sentence() {
    let proxy = Proxy::serve(Gate::to([]));
    let mut client = proxy.client().await;
    for _ in 0..5 {
        client.write_all(&[b'x'; 9000]).await.unwrap();
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    assert!(all(&mut client).await.starts_with("HTTP/1.1 431 "));
}

#[tokio::test]
async fn a_slow_head() {
    let proxy = Proxy::serve(Gate::to([]).waiting(|patience| patience.head = Duration::from_millis(300)));
    let mut client = proxy.client().await;
    let began = Instant::now();
    // One byte now and then does not buy more time.
    for byte in b"CONNECT a" {
        client.write_all(&[*byte]).await.unwrap();
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    let slow = refusal("408 Request Timeout", "the head of the request did not come within 0 s");
    assert_eq!(all(&mut client).await, slow);
    assert!(began.elapsed() >= Duration::from_millis(300));
}

#[tokio::test]
async fn what_is_remembered_has_an_end() {
    let proxy = Proxy::serve(Gate::to([]));
    for number in 0..300 {
        proxy.answer(connect(&format!("evil{number}.example:443")).as_bytes()).await;
        proxy.answer(connect("evil0.example:443").as_bytes()).await;
    }
    assert_eq!(proxy.traffic().denied.len(), 256);
}
