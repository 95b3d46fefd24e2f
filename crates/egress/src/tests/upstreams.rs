use std::io::ErrorKind;

use tokio::io::AsyncWriteExt;
use tokio::net::TcpListener;
use tokio::task::JoinHandle;

use super::{LOOPBACK, Proxy, all, connect, read_head, refusal};
use crate::dial::Resolver;
use crate::{Gate, Host, Upstream, UpstreamError};

/// A proxy that gives this answer, echoes four bytes, and tells what it was asked.
async fn upstream(answer: &'static str) -> (u16, JoinHandle<String>) {
    let listener = TcpListener::bind((LOOPBACK, 0)).await.unwrap();
    let port = listener.local_addr().unwrap().port();
    let asked = tokio::spawn(async move {
        let (mut stream, _) = listener.accept().await.unwrap();
        let head = read_head(&mut stream).await;
        stream.write_all(answer.as_bytes()).await.unwrap();
        let sent = all(&mut stream).await;
        drop(stream.write_all(sent.as_bytes()).await);
        head
    });
    (port, asked)
}

fn gate(proxy: &str) -> Gate {
    Gate::to([Host::parse("pypi.example").unwrap()])
        .behind(Some(Upstream::parse(proxy).unwrap()))
        .resolving(Resolver::Table(vec![("proxy.example", LOOPBACK), ("pypi.example", LOOPBACK)]))
}

#[tokio::test]
async fn a_tunnel_through_the_operators_proxy() {
    let (port, asked) = upstream("HTTP/1.1 200 OK\r\nVia: x\r\n\r\nwelcome ").await;
    let proxy = Proxy::serve(gate(&format!("http://user:p%40ss:word@proxy.example:{port}/")));
    let mut client = proxy.tunnel("pypi.example:443").await;
    client.write_all(b"ping").await.unwrap();
    client.shutdown().await.unwrap();
    assert_eq!(all(&mut client).await, "welcome ping");
    let request = "CONNECT pypi.example:443 HTTP/1.1\r\nHost: pypi.example:443\r\n\
                   Proxy-Authorization: Basic dXNlcjpwQHNzOndvcmQ=\r\n\r\n";
    assert_eq!(asked.await.unwrap(), request);
    assert_eq!((proxy.traffic().bytes_in, proxy.traffic().bytes_out), (12, 4));
}

#[tokio::test]
async fn a_proxy_without_credentials() {
    let (port, asked) = upstream("HTTP/1.0 200 Connection established\r\n\r\n").await;
    drop(Proxy::serve(gate(&format!("http://127.0.0.1:{port}"))).tunnel("pypi.example:443").await);
    assert_eq!(asked.await.unwrap(), connect("pypi.example:443"));
}

#[tokio::test]
async fn hosts_are_checked_before_the_proxy_is_asked() {
    let listener = TcpListener::bind((LOOPBACK, 0)).await.unwrap();
    let proxy = Proxy::serve(gate(&format!("http://{}", listener.local_addr().unwrap())));
    for target in ["evil.example:443", "127.0.0.1:443", "169.254.169.254:80", "pypi.example:80"] {
        assert!(proxy.answer(connect(target).as_bytes()).await.starts_with("HTTP/1.1 403 "));
    }
    let asked = tokio::time::timeout(std::time::Duration::from_millis(100), listener.accept()).await;
    asked.unwrap_err();
}

#[tokio::test]
async fn a_proxy_that_refuses_keeps_its_words_to_itself() {
    for (answer, reason) in [
        ("HTTP/1.1 407 No\r\n\r\nsecret of the network", "was refused by this server's own proxy, with status 407"),
        ("HTTP/1.1 100 Continue\r\n\r\n", "was refused by this server's own proxy, with status 100"),
        ("SSH-2.0-x\r\n\r\n", "cannot be reached: this server's own proxy gave no answer in HTTP"),
    ] {
        let (port, _asked) = upstream(answer).await;
        let got = Proxy::serve(gate(&format!("http://u:hidden@127.0.0.1:{port}")))
            .answer(connect("pypi.example:443").as_bytes())
            .await;
        assert_eq!(got, refusal("502 Bad Gateway", &format!("`pypi.example:443` {reason}")));
    }
}

#[tokio::test]
async fn a_proxy_that_is_not_there() {
    let socket = tokio::net::TcpSocket::new_v4().unwrap();
    socket.bind((std::net::Ipv4Addr::LOCALHOST, 0).into()).unwrap();
    let gate = gate(&format!("http://{}", socket.local_addr().unwrap()));
    let answer = Proxy::serve(gate).answer(connect("pypi.example:443").as_bytes()).await;
    let reason = crate::Reason::UpstreamUnreachable(ErrorKind::ConnectionRefused);
    assert_eq!(answer, refusal("502 Bad Gateway", &format!("`pypi.example:443` {reason}")));
}

#[test]
fn addresses_of_proxies() {
    for text in ["https://proxy.example:3128", "socks5://proxy.example:3128", "://proxy.example"] {
        assert_eq!(Upstream::parse(text).unwrap_err(), UpstreamError::Scheme, "{text}");
    }
    for text in ["proxy.example:3128", "HTTP://proxy.example:3128", "user:hidden@proxy.example:3128/"] {
        let shown = format!("{:?}", Upstream::parse(text).unwrap());
        assert!(shown.contains("proxy.example") && shown.contains("3128"), "{shown}");
    }
    for text in ["http://", "http://a b:1", "http://proxy.example/path", "http://u:p@", "http://proxy.example:x"] {
        assert!(matches!(Upstream::parse(text), Err(UpstreamError::Host(_))), "{text}");
    }
    let shown = format!("{:?}", Upstream::parse("http://user:hidden@proxy.example").unwrap());
    assert!(shown.contains("80") && !shown.contains("hidden") && !shown.contains("user"), "{shown}");
}

#[test]
fn hosts_without_the_proxy() {
    let list = ".corp.example, *.lab.example other.example:8443\tLOCALHOST 10.0.0.0/8,192.0.2.7,fd00::/8,::1,a/b,x:y,";
    let upstream = Upstream::parse("proxy.example").unwrap().except(list);
    let serves = |host: &str| upstream.serves(Host::parse(host).unwrap().authority());
    for host in [
        "corp.example",
        "pypi.corp.example:8443",
        "a.b.lab.example",
        "other.example:8443",
        "localhost",
        "10.9.8.7",
        "192.0.2.7:8443",
        "[fd12::1]",
        "[::1]",
    ] {
        assert!(!serves(host), "{host}");
    }
    for host in ["notcorp.example", "corp.example.org", "other.example", "11.0.0.1", "192.0.2.8", "[fe00::1]", "a", "x"]
    {
        assert!(serves(host), "{host}");
    }
    let (nobody, all) = (Upstream::parse("proxy.example").unwrap(), upstream.clone().except("*"));
    let networks = upstream.except("0.0.0.0/0");
    for (host, expected) in [("pypi.example", [true, false, true]), ("10.0.0.1", [true, false, false])] {
        let host = Host::parse(host).unwrap();
        assert_eq!([&nobody, &all, &networks].map(|upstream| upstream.serves(host.authority())), expected);
    }
}

/// What is excepted is held to what holds for everybody who is connected to from here.
#[tokio::test]
async fn an_exception_is_connected_to_from_here() {
    let port = super::echo().await;
    let (listed, table) = (format!("pypi.example:{port}"), vec![("pypi.example", LOOPBACK)]);
    let upstream = Upstream::parse("http://127.0.0.1:1").unwrap().except("pypi.example");
    let public = Gate::to([Host::parse(&listed).unwrap()]).behind(Some(upstream.clone()));
    let answer =
        Proxy::serve(public.resolving(Resolver::Table(table.clone()))).answer(connect(&listed).as_bytes()).await;
    assert!(answer.starts_with("HTTP/1.1 403 "), "{answer}");
    let private = Gate::to([Host::parse(&listed).unwrap().private()]).behind(Some(upstream));
    let mut client = Proxy::serve(private.resolving(Resolver::Table(table))).tunnel(&listed).await;
    client.write_all(b"ping").await.unwrap();
    client.shutdown().await.unwrap();
    assert_eq!(all(&mut client).await, "ping");
}
