//! Connections: how many, how slow, and how they end.

use std::sync::Arc;
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
/// How long a client may take to send a request's head, and how long it may keep a connection without asking anything.
const HEAD_TIME: Duration = Duration::from_secs(15);
/// When it is tried again where no connection could be taken.
const AGAIN: Duration = Duration::from_millis(100);
/// The largest head.
const MOST_HEAD: usize = 64 << 10;

/// Serves until `shutdown`, then gives requests that go on some time to end. Returns when all have, or the time is over.
pub(super) async fn serve(listener: TcpListener, router: Router, shutdown: CancellationToken, drain: Duration) {
    let mut http = http1::Builder::new();
    http.timer(TokioTimer::new()).header_read_timeout(HEAD_TIME).max_buf_size(MOST_HEAD);
    let places = Arc::new(Semaphore::new(MOST));
    let open = GracefulShutdown::new();
    loop {
        let accepting = async {
            // The semaphore is never closed.
            let place = Arc::clone(&places).acquire_owned().await.ok();
            (accept(&listener).await, place)
        };
        let (stream, place) = tokio::select! {
            accepted = accepting => accepted,
            () = shutdown.cancelled() => break,
        };
        // Answers are many small writes, which must not wait for each other. A connection without it is slower, no more.
        stream.set_nodelay(true).ok();
        let connection = http.serve_connection(TokioIo::new(stream), TowerToHyperService::new(router.clone()));
        let connection = open.watch(connection);
        tokio::spawn(async move {
            if let Err(error) = connection.await {
                tracing::debug!(%error, "a connection broke");
            }
            drop(place);
        });
    }
    drop(listener);
    if tokio::time::timeout(drain, open.shutdown()).await.is_err() {
        tracing::warn!("requests that did not end in time are cut off");
    }
}

/// The next connection. What goes wrong with one is that one's; where no descriptors are left, one that is closed makes room for the next.
async fn accept(listener: &TcpListener) -> TcpStream {
    loop {
        match listener.accept().await {
            Ok((stream, _)) => return stream,
            Err(error) => {
                tracing::warn!(%error, "a connection cannot be taken");
                tokio::time::sleep(AGAIN).await;
            }
        }
    }
}
