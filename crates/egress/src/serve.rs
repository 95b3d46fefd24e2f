//! The way of a connection: a head, a decision, a tunnel.

use std::io;
use std::net::TcpListener as StdListener;
use std::os::fd::OwnedFd;
use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinSet;
use tokio::time::{sleep, timeout};

use crate::dial::{Line, dial};
use crate::gate::{Gate, Plain};
use crate::head::{Head, HeadError, plain, target};
use crate::traffic::{Denied, Log, Reason};
use crate::tunnel;

/// A refused client gets this long to take the answer and close, and may send this much meanwhile.
const FAREWELL: Duration = Duration::from_secs(1);
const FAREWELL_BYTES: u64 = 1 << 20;

/// Serves on a listening TCP socket of a jail. Every connection ends when this is dropped or returns: with `Ok` for the
/// reason that is then in the log, with an error if `listener` is no such socket, or one that strangers could reach.
///
/// The jail must not keep the socket: it could make the shared description blocking, and with it a thread of the server.
pub async fn serve(listener: OwnedFd, gate: Gate, log: &Log) -> io::Result<()> {
    let listener = StdListener::from(listener);
    // On any other address strangers could come in, if a mistake left the socket in the host's namespace.
    if !listener.local_addr()?.ip().is_loopback() {
        return Err(io::ErrorKind::AddrNotAvailable.into());
    }
    listener.set_nonblocking(true)?;
    let listener = TcpListener::from_std(listener)?;
    let mut connections = JoinSet::new();
    loop {
        tokio::select! {
            accepted = listener.accept(), if connections.len() < gate.connections() => match accepted {
                Ok((client, _)) => {
                    connections.spawn(connection(client, gate.clone(), log.clone()));
                }
                Err(error) => survive(error).await?,
            },
            Some(_) = connections.join_next() => {}
            () = log.ended() => return Ok(()),
        }
    }
}

/// A socket that does not listen never will. Anything else (a client that is gone again, no descriptors left) passes.
async fn survive(error: io::Error) -> io::Result<()> {
    if error.kind() == io::ErrorKind::InvalidInput {
        return Err(error);
    }
    sleep(Duration::from_millis(50)).await;
    Ok(())
}

async fn connection(mut client: TcpStream, gate: Gate, log: Log) {
    match open(&mut client, &gate, &log).await {
        Ok(Opened { line, answer, sent }) => {
            // For speed only: handshakes are small and wait for each other.
            drop(client.set_nodelay(true));
            if client.write_all(answer).await.is_ok() {
                tunnel::join(client, sent, line, &gate, &log).await;
            }
        }
        Err(refusal) => refuse(client, &refusal).await,
    }
}

/// A way to the far end.
struct Opened {
    line: Line,
    /// What the client is told.
    answer: &'static [u8],
    /// What the far end gets before all that the client still sends.
    sent: Vec<u8>,
}

async fn open(client: &mut TcpStream, gate: &Gate, log: &Log) -> Result<Opened, Refusal> {
    let patience = gate.patience().head;
    let head = timeout(patience, Head::read(client)).await.unwrap_or(Err(HeadError::Slow(patience)))?;
    let (target, answer, sent) = match (target(&head.bytes), gate.plain()) {
        (Err(HeadError::NotConnect), Plain::Served) => {
            let (target, rewritten) = plain(&head.bytes)?;
            (target, NOTHING, [rewritten, head.rest].concat())
        }
        (target, Plain::Served | Plain::Refused) => (target?, ESTABLISHED, head.rest),
    };
    let connecting = async {
        let reach = gate.admit(&target)?;
        dial(gate, &target, reach).await
    };
    match connecting.await {
        Ok(line) => {
            log.reached(&target);
            Ok(Opened { line, answer, sent })
        }
        Err(reason) => {
            let denied = Denied::new(&target, reason);
            log.denied(&denied);
            Err(Refusal::Denied(denied))
        }
    }
}

/// A client that asked in plain HTTP hears from the far end.
const NOTHING: &[u8] = b"";
const ESTABLISHED: &[u8] = b"HTTP/1.1 200 Connection established\r\n\r\n";

/// What a client is told instead of getting a tunnel.
#[derive(Debug, thiserror::Error)]
enum Refusal {
    #[error("{0}")]
    Head(#[from] HeadError),
    #[error("{0}")]
    Denied(Denied),
}

impl Refusal {
    fn status(&self) -> &'static str {
        match self {
            Self::Head(HeadError::Malformed) => "400 Bad Request",
            Self::Head(HeadError::NotConnect) => "403 Forbidden",
            Self::Head(HeadError::Slow(_)) => "408 Request Timeout",
            Self::Head(HeadError::Long) => "431 Request Header Fields Too Large",
            Self::Denied(denied) => match denied.reason {
                Reason::NotListed | Reason::NotGranted | Reason::Address | Reason::NotPublic => "403 Forbidden",
                Reason::Slow(_) => "504 Gateway Timeout",
                Reason::Unresolved
                | Reason::Unreachable(_)
                | Reason::UpstreamUnreachable(_)
                | Reason::UpstreamRefused(_)
                | Reason::UpstreamGarbled => "502 Bad Gateway",
            },
        }
    }
}

async fn refuse(mut client: TcpStream, refusal: &Refusal) {
    let (status, body) = (refusal.status(), format!("{refusal}\n"));
    let length = body.len();
    let answer = format!(
        "HTTP/1.1 {status}\r\nContent-Type: text/plain\r\nContent-Length: {length}\r\nConnection: close\r\n\r\n{body}"
    );
    let farewell = async {
        client.write_all(answer.as_bytes()).await?;
        client.shutdown().await?;
        // Closing on bytes that nobody has read resets the connection, and the answer could be lost.
        tokio::io::copy(&mut client.take(FAREWELL_BYTES), &mut tokio::io::sink()).await
    };
    // Whether the client heard it or not, it is over.
    drop(timeout(FAREWELL, farewell).await);
}
