//! Real sockets on loopback; names from a table, since a test has no name server.

mod addresses;
mod ends;
mod heads;
mod programs;
mod refusals;
mod tunnels;
mod upstreams;

use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::os::fd::OwnedFd;
use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinHandle;
use tokio::time::timeout;

use crate::dial::Resolver;
use crate::{Gate, Host, Log, Traffic, serve};

const LOOPBACK: IpAddr = IpAddr::V4(Ipv4Addr::LOCALHOST);

/// A gate being served, as a jail sees it.
struct Proxy {
    address: SocketAddr,
    log: Log,
    serving: JoinHandle<std::io::Result<()>>,
}

impl Proxy {
    fn serve(gate: Gate) -> Self {
        let listener = std::net::TcpListener::bind((LOOPBACK, 0)).unwrap();
        let address = listener.local_addr().unwrap();
        let log = Log::default();
        let shared = log.clone();
        let serving = tokio::spawn(async move { serve(OwnedFd::from(listener), gate, &shared).await });
        Self { address, log, serving }
    }

    async fn client(&self) -> TcpStream {
        TcpStream::connect(self.address).await.unwrap()
    }

    /// Sends these bytes, and reads all that comes back.
    async fn answer(&self, request: &[u8]) -> String {
        let mut client = self.client().await;
        client.write_all(request).await.unwrap();
        all(&mut client).await
    }

    async fn tunnel(&self, target: &str) -> TcpStream {
        let mut client = self.client().await;
        client.write_all(connect(target).as_bytes()).await.unwrap();
        let head = read_head(&mut client).await;
        assert_eq!(head, "HTTP/1.1 200 Connection established\r\n\r\n");
        client
    }

    fn traffic(&self) -> Traffic {
        self.log.traffic()
    }
}

fn connect(target: &str) -> String {
    format!("CONNECT {target} HTTP/1.1\r\nHost: {target}\r\n\r\n")
}

/// A gate to `echo.example` and its like on this machine.
fn gate_to(entries: &[String]) -> Gate {
    let hosts = entries.iter().map(|entry| Host::parse(entry).unwrap().private());
    Gate::to(hosts).resolving(Resolver::Table(vec![("echo.example", LOOPBACK), ("other.example", LOOPBACK)]))
}

/// Sends back what it gets, until that ends.
async fn echo() -> u16 {
    let listener = TcpListener::bind((LOOPBACK, 0)).await.unwrap();
    let port = listener.local_addr().unwrap().port();
    tokio::spawn(async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            tokio::spawn(async move {
                let (mut from, mut to) = stream.split();
                drop(tokio::io::copy(&mut from, &mut to).await);
                drop(to.shutdown().await);
            });
        }
    });
    port
}

async fn all(stream: &mut TcpStream) -> String {
    let mut text = String::new();
    timeout(Duration::from_secs(20), stream.read_to_string(&mut text)).await.unwrap().unwrap();
    text
}

async fn read_head(stream: &mut TcpStream) -> String {
    let mut head = String::new();
    while !head.ends_with("\r\n\r\n") {
        head.push(char::from(timeout(Duration::from_secs(20), stream.read_u8()).await.unwrap().unwrap()));
    }
    head
}

fn refusal(status: &str, body: &str) -> String {
    let length = body.len() + 1;
    format!(
        "HTTP/1.1 {status}\r\nContent-Type: text/plain\r\nContent-Length: {length}\r\nConnection: close\r\n\r\n{body}\n"
    )
}
