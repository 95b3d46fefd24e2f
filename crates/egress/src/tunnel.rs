//! Bytes, both ways.

use std::io;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::time::{Instant, sleep, sleep_until};

use crate::dial::Line;
use crate::gate::{Gate, Patience};
use crate::traffic::{Log, Way};

/// What is read at once, for each direction.
const CHUNK: usize = 64 << 10;

/// A tunnel's share in what all tunnels of a log may move, and when it last did.
struct Meter<'a> {
    log: &'a Log,
    limit: u64,
    last: Mutex<Instant>,
    moved: AtomicU64,
}

/// Passes bytes on until both ends have closed, one of them breaks, nothing moves for a while, or the log has had enough. An end that closes its
/// direction only is still sent what the other has to say.
pub(crate) async fn join(mut inside: TcpStream, sent: Vec<u8>, outside: Line, gate: &Gate, log: &Log) {
    let Line { stream: mut outside, early } = outside;
    let (from_inside, to_inside) = inside.split();
    let (from_outside, to_outside) = outside.split();
    let meter = Meter { log, limit: gate.bytes(), last: Mutex::new(Instant::now()), moved: AtomicU64::new(0) };
    let both = async {
        tokio::try_join!(
            meter.pass(Way::Out, sent, from_inside, to_outside),
            meter.pass(Way::In, early, from_outside, to_inside),
        )
    };
    tokio::select! {
        // However it ended, there is nobody left to tell.
        _ = both => {}
        () = meter.quiet(gate.patience().idle) => {}
        () = meter.slow(gate.patience()) => {}
    }
}

impl Meter<'_> {
    /// Passes on `bytes`, and then all that comes.
    async fn pass(
        &self,
        way: Way,
        mut bytes: Vec<u8>,
        mut from: impl AsyncRead + Unpin,
        mut to: impl AsyncWrite + Unpin,
    ) -> io::Result<()> {
        bytes.reserve_exact(CHUNK.saturating_sub(bytes.len()));
        loop {
            if !bytes.is_empty() {
                self.log.moves(way, bytes.len(), self.limit)?;
                to.write_all(&bytes).await?;
                self.moved.fetch_add(bytes.len() as u64, Ordering::Relaxed);
                bytes.clear();
                *self.last.lock().unwrap_or_else(PoisonError::into_inner) = Instant::now();
            }
            if from.read_buf(&mut bytes).await? == 0 {
                return to.shutdown().await;
            }
        }
    }

    /// Until less has moved in a while than has to.
    async fn slow(&self, Patience { idle, least, .. }: Patience) {
        let moved = || self.moved.load(Ordering::Relaxed);
        loop {
            let before = moved();
            sleep(idle).await;
            if moved() - before < least {
                return;
            }
        }
    }

    /// Until nothing has moved for so long.
    async fn quiet(&self, idle: Duration) {
        loop {
            let end = *self.last.lock().unwrap_or_else(PoisonError::into_inner) + idle;
            if end <= Instant::now() {
                return;
            }
            sleep_until(end).await;
        }
    }
}
