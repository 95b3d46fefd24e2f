//! What a program's gate lets through.

use super::{Proxy, connect, echo, refusal};
use crate::dial::Resolver;
use crate::head::plain;
use crate::host::Authority;
use crate::{Denied, Gate, HostError, Pattern, Reason};

fn admits(pattern: &str, target: &str) -> bool {
    let gate = Gate::for_programs([Pattern::parse(pattern).unwrap()]);
    gate.admit(&Authority::parse(target, None).unwrap()).is_ok()
}

#[test]
fn patterns() {
    for (pattern, target) in [
        ("example.org", "example.org:80"),
        ("Example.ORG.", "EXAMPLE.org.:443"),
        ("example.org:8443", "example.org:8443"),
        ("*.example.org", "a.example.org:443"),
        ("*.example.org", "a.b.example.org:80"),
        ("*", "example.org:443"),
        ("*", "203.0.113.1:80"),
        ("*:22", "example.org:22"),
    ] {
        assert!(admits(pattern, target), "{pattern} {target}");
    }
    for (pattern, target) in [
        ("example.org", "a.example.org:443"),
        ("example.org", "example.org:22"),
        ("example.org:8443", "example.org:443"),
        ("*.example.org", "example.org:443"),
        ("*.example.org", "badexample.org:443"),
        ("*.example.org", "203.0.113.1:443"),
        ("*", "example.org:22"),
        ("*", "localhost:80"),
        ("*", "printer.local:80"),
        ("*", "metadata.google.internal:80"),
    ] {
        assert!(!admits(pattern, target), "{pattern} {target}");
    }
    for text in ["", "**", "*.", "*example.org", "a.*.org", "1.2.3.4", "*.1.2.3.4", "127.1", "a/b"] {
        assert_eq!(Pattern::parse(text), Err(HostError::Name), "{text}");
    }
    assert_eq!(Pattern::parse("a.org:http"), Err(HostError::Port));
}

#[tokio::test]
async fn a_granted_name_that_leads_inside() {
    for address in ["127.0.0.1", "10.0.0.1", "169.254.169.254", "::1", "::ffff:127.0.0.1"] {
        for pattern in ["rebound.example", "*.example", "*"] {
            let gate = Gate::for_programs([Pattern::parse(pattern).unwrap()])
                .resolving(Resolver::Table(vec![("rebound.example", address.parse().unwrap())]));
            let proxy = Proxy::serve(gate);
            let denied = |port| Denied { host: "rebound.example".to_owned(), port, reason: Reason::NotPublic };
            let tunnel = proxy.answer(connect("rebound.example:443").as_bytes()).await;
            assert_eq!(tunnel, refusal("403 Forbidden", &denied(443).to_string()));
            let plain = proxy.answer(b"GET http://rebound.example/ HTTP/1.1\r\n\r\n").await;
            assert_eq!(plain, refusal("403 Forbidden", &denied(80).to_string()));
            assert!(proxy.traffic().reached.is_empty());
        }
    }
}

#[test]
fn requests_in_the_clear() {
    let head = "POST http://A.example:8080/x?y=1 HTTP/1.0\r\nHost: evil.example\r\nContent-Length: 2\r\n\
                Proxy-Connection: keep-alive\r\nCONNECTION: upgrade\r\nUpgrade: x\r\nCookie: a\r\n\r\n";
    let (target, rewritten) = plain(head.as_bytes()).unwrap();
    assert_eq!(target.to_string(), "a.example:8080");
    let expected = "POST /x?y=1 HTTP/1.0\r\nHost: A.example:8080\r\nContent-Length: 2\r\nCookie: a\r\n\
                    Connection: close\r\n\r\n";
    assert_eq!(String::from_utf8(rewritten).unwrap(), expected);
    let (target, rewritten) = plain(b"GET http://a.example HTTP/1.1\r\n\r\n").unwrap();
    assert_eq!(target.to_string(), "a.example:80");
    assert!(rewritten.starts_with(b"GET / HTTP/1.1\r\nHost: a.example\r\n"));
    for address in ["/", "https://a.example/", "HTTP://a.example/", "ftp://a.example/", "*"] {
        assert!(plain(format!("GET {address} HTTP/1.1\r\n\r\n").as_bytes()).is_err(), "{address}");
    }
    for host in ["", "user@a.example", "a.example\\@b.example", "a.example:0", "127.1", "[::1", "a.example:80:80"] {
        assert!(plain(format!("GET http://{host}/ HTTP/1.1\r\n\r\n").as_bytes()).is_err(), "{host}");
    }
}

/// The body follows, and what comes behind it goes nowhere else.
#[tokio::test]
async fn a_request_in_the_clear_and_what_follows() {
    let port = echo().await;
    let gate = Gate::for_programs([]).and([crate::Host::parse(&format!("echo.example:{port}")).unwrap().private()]);
    let gate = gate.resolving(Resolver::Table(vec![("echo.example", super::LOOPBACK)]));
    let proxy = Proxy::serve(gate);
    let mut client = proxy.client().await;
    let request = format!("POST http://echo.example:{port}/ HTTP/1.1\r\nContent-Length: 2\r\n\r\nhi");
    let more = "GET http://other.example/ HTTP/1.1\r\n\r\n";
    tokio::io::AsyncWriteExt::write_all(&mut client, format!("{request}{more}").as_bytes()).await.unwrap();
    tokio::io::AsyncWriteExt::shutdown(&mut client).await.unwrap();
    let head =
        format!("POST / HTTP/1.1\r\nHost: echo.example:{port}\r\nContent-Length: 2\r\nConnection: close\r\n\r\n");
    assert_eq!(super::all(&mut client).await, format!("{head}hi{more}"));
    assert_eq!(Vec::from_iter(proxy.traffic().reached), [format!("echo.example:{port}")]);
}
