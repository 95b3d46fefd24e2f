use proptest::prelude::*;

use crate::head::{Head, HeadError, status, target};
use crate::{Host, HostError};

#[test]
fn a_request_names_one_host_in_one_spelling() {
    for (written, read) in [
        ("pypi.example:443", "pypi.example:443"),
        ("PyPI.Example.:443", "pypi.example:443"),
        ("xn--bcher-kva.example:8443", "xn--bcher-kva.example:8443"),
        ("10.0.0.1:443", "10.0.0.1:443"),
        ("127.0.0.1.:443", "127.0.0.1:443"),
        ("[::1]:443", "[::1]:443"),
        ("[0:0::1]:443", "[::1]:443"),
    ] {
        let head = format!("CONNECT {written} HTTP/1.0\r\n\r\n");
        assert_eq!(target(head.as_bytes()).unwrap().to_string(), read);
    }
}

#[test]
fn what_is_no_request() {
    for head in [
        "",
        "\r\n\r\n",
        "CONNECT\r\n\r\n",
        "CONNECT a.example:443\r\n\r\n",
        "CONNECT a.example:443 HTTP/2.0\r\n\r\n",
        "CONNECT  a.example:443 HTTP/1.1\r\n\r\n",
        "CONNECT a.example:443 HTTP/1.1\r\nbad header\r\n\r\n",
        // An empty line that only some would take for the end.
        "CONNECT a.example:443 HTTP/1.1\n\nX: y\r\n\r\n",
        "CONNECT a.example HTTP/1.1\r\n\r\n",
        "CONNECT a.example: HTTP/1.1\r\n\r\n",
        "CONNECT :443 HTTP/1.1\r\n\r\n",
        "CONNECT a.example:0 HTTP/1.1\r\n\r\n",
        "CONNECT a.example:+443 HTTP/1.1\r\n\r\n",
        "CONNECT a.example:65979 HTTP/1.1\r\n\r\n",
        "CONNECT a.example:443:443 HTTP/1.1\r\n\r\n",
        "CONNECT user@a.example:443 HTTP/1.1\r\n\r\n",
        "CONNECT https://a.example:443 HTTP/1.1\r\n\r\n",
        "CONNECT a.example:443/ HTTP/1.1\r\n\r\n",
        "CONNECT a..example:443 HTTP/1.1\r\n\r\n",
        "CONNECT a.example..:443 HTTP/1.1\r\n\r\n",
        "CONNECT a%2eexample:443 HTTP/1.1\r\n\r\n",
        "CONNECT bücher.example:443 HTTP/1.1\r\n\r\n",
        "CONNECT [::1:443 HTTP/1.1\r\n\r\n",
        "CONNECT [::1]443 HTTP/1.1\r\n\r\n",
        "CONNECT [fe80::1%25eth0]:443 HTTP/1.1\r\n\r\n",
        "CONNECT [127.0.0.1]:443 HTTP/1.1\r\n\r\n",
        "CONNECT ::1:443 HTTP/1.1\r\n\r\n",
        // Addresses, to the C library.
        "CONNECT 127.1:443 HTTP/1.1\r\n\r\n",
        "CONNECT 2130706433:443 HTTP/1.1\r\n\r\n",
        "CONNECT 0x7f000001:443 HTTP/1.1\r\n\r\n",
        "CONNECT 0X7F.0.0.0x1:443 HTTP/1.1\r\n\r\n",
        "CONNECT 0177.0.0.01:443 HTTP/1.1\r\n\r\n",
        "CONNECT 127.0.0.0x:443 HTTP/1.1\r\n\r\n",
    ] {
        assert_eq!(target(head.as_bytes()), Err(HeadError::Malformed), "{head:?}");
    }
}

#[test]
fn other_methods_are_not_served() {
    for line in
        ["GET / HTTP/1.1", "GET http://a.example/ HTTP/1.1", "connect a.example:443 HTTP/1.1", "OPTIONS * HTTP/1.1"]
    {
        assert_eq!(target(format!("{line}\r\n\r\n").as_bytes()), Err(HeadError::NotConnect), "{line}");
    }
}

#[test]
fn hosts_of_a_configuration() {
    let host = Host::parse("PyPI.Example").unwrap();
    assert_eq!((host.name(), host.port()), ("pypi.example".to_owned(), 443));
    let host = Host::parse("pypi.example:8443").unwrap();
    assert_eq!((host.name(), host.port()), ("pypi.example".to_owned(), 8443));
    let host = Host::parse("[FD00::3]").unwrap();
    assert_eq!((host.name(), host.port()), ("fd00::3".to_owned(), 443));
    let long = "a".repeat(64);
    for text in ["", ".", "a b", "a.example/", "*.example", long.as_str(), "::1"] {
        assert_eq!(Host::parse(text), Err(HostError::Name), "{text}");
    }
    for text in ["a.example:", "a.example:x", "a.example:0", "a.example:65536", "a.example:-1", "https://a.example"] {
        assert_eq!(Host::parse(text), Err(HostError::Port), "{text}");
    }
}

proptest! {
    #[test]
    fn any_bytes_are_read(bytes: Vec<u8>) {
        let _ignored = (target(&bytes), status(&bytes));
    }

    #[test]
    fn any_target_is_refused_or_harmless(written in "[ -~]{0,300}") {
        let head = format!("CONNECT {written} HTTP/1.1\r\n\r\n");
        if let Ok(authority) = target(head.as_bytes()) {
            let printed = authority.to_string();
            prop_assert!(printed.len() <= 260);
            prop_assert!(printed.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_.:[]".contains(&byte)));
            prop_assert_eq!(target(format!("CONNECT {printed} HTTP/1.1\r\n\r\n").as_bytes()), Ok(authority));
        }
    }

    /// However the bytes come, the head ends at its empty line and nothing after it is lost.
    #[test]
    fn head_and_rest(rest: Vec<u8>, cuts in 1usize..64) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        let head = b"CONNECT a.example:443 HTTP/1.1\r\nHost: a.example\r\n\r\n";
        let sent = [head.as_slice(), &rest].concat();
        let (read, left) = runtime.block_on(async {
            let (mut from, mut to) = tokio::io::duplex(cuts);
            let writing = tokio::spawn(async move { tokio::io::AsyncWriteExt::write_all(&mut to, &sent).await });
            let read = Head::read(&mut from).await.unwrap();
            let mut left = Vec::new();
            tokio::io::AsyncReadExt::read_to_end(&mut from, &mut left).await.unwrap();
            writing.await.unwrap().unwrap();
            (read, left)
        });
        prop_assert_eq!(&read.bytes, head);
        prop_assert_eq!([read.rest, left].concat(), rest);
    }
}
