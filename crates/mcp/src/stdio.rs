//! MCP over standard input and output, or another pair of streams.

mod lines;
mod shape;

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use rmcp::service::{RxJsonRpcMessage, ServerInitializeError, Service, TxJsonRpcMessage};
use rmcp::transport::Transport;
use rmcp::transport::async_rw::AsyncRwTransport;
use rmcp::{RoleServer, ServiceExt as _};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio_util::sync::CancellationToken;

use self::lines::{Lines, unreadable};
use crate::Server;
use crate::profiles::Guise;

/// How long requests may still go on when their client has closed its end, or the server is told to stop: long enough for answers that are on their way.
const LAST_ANSWERS: Duration = Duration::from_millis(500);

/// Why the client cannot be served.
#[derive(Debug, thiserror::Error)]
pub enum StdioError {
    /// It does not begin as the protocol says.
    #[error("the client does not speak MCP: {0}")]
    Opening(Box<ServerInitializeError>),
    /// It broke while it went on.
    #[error("the connection broke")]
    Broken(#[source] tokio::task::JoinError),
}

/// Serves the one client that is there, until it closes its end or `shutdown`.
pub async fn serve(server: &Arc<Server>, shutdown: CancellationToken) -> Result<(), StdioError> {
    serve_streams(server, rmcp::transport::stdio_pipes(), shutdown).await
}

/// The same for a client at the other end of these streams.
pub async fn serve_streams<R, W>(
    server: &Arc<Server>,
    (reader, writer): (R, W),
    shutdown: CancellationToken,
) -> Result<(), StdioError>
where
    R: AsyncRead + Send + Unpin + 'static,
    W: AsyncWrite + Send + Unpin + 'static,
{
    let ended = CancellationToken::new();
    let reader = Lines::new(Watched { reader, ended: ended.clone() });
    let serving = async {
        match server.connect_masked() {
            Some(mask) => converse(Guise(mask), (reader, writer), shutdown.clone()).await,
            None => converse(server.connect(), (reader, writer), shutdown.clone()).await,
        }
    };
    let over = async {
        tokio::select! {
            () = ended.cancelled() => {}
            () = shutdown.cancelled() => {}
        }
        tokio::time::sleep(LAST_ANSWERS).await;
    };
    tokio::select! {
        end = serving => end,
        // rmcp would wait for all requests to end.
        () = over => Ok(()),
    }
}

/// Until one of both ends it.
async fn converse<R: AsyncRead + Send + Unpin + 'static, W: AsyncWrite + Send + Unpin + 'static>(
    face: impl Service<RoleServer>,
    streams: (R, W),
    shutdown: CancellationToken,
) -> Result<(), StdioError> {
    // The length of lines has been limited before this.
    let transport = AsyncRwTransport::new(streams.0, streams.1).with_max_line_length(usize::MAX);
    match face.serve_with_ct(Answering(transport), shutdown).await {
        Ok(running) => running.waiting().await.map(|_| ()).map_err(StdioError::Broken),
        // It came and went.
        Err(ServerInitializeError::ConnectionClosed(_) | ServerInitializeError::Cancelled) => Ok(()),
        Err(error) => Err(StdioError::Opening(error.into())),
    }
}

/// Answers the placeholders of requests that could not be read, at whatever point of a conversation they come.
struct Answering<T>(T);

impl<T: Transport<RoleServer>> Transport<RoleServer> for Answering<T> {
    type Error = T::Error;

    fn send(
        &mut self,
        message: TxJsonRpcMessage<RoleServer>,
    ) -> impl Future<Output = Result<(), T::Error>> + Send + 'static {
        self.0.send(message)
    }

    async fn receive(&mut self) -> Option<RxJsonRpcMessage<RoleServer>> {
        loop {
            let message = self.0.receive().await?;
            let Some((number, error)) = unreadable(&message) else { return Some(message) };
            // By itself: rmcp may stop waiting for the next message, and the answer must not end half-way.
            tokio::spawn(self.0.send(TxJsonRpcMessage::<RoleServer>::error(error, Some(number))));
        }
    }

    async fn close(&mut self) -> Result<(), T::Error> {
        self.0.close().await
    }
}

/// Tells when its reader has come to the end.
struct Watched<R> {
    reader: R,
    ended: CancellationToken,
}

impl<R: AsyncRead + Unpin> AsyncRead for Watched<R> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let before = buffer.filled().len();
        let read = Pin::new(&mut self.reader).poll_read(context, buffer);
        if let Poll::Ready(result) = &read
            && (result.is_err() || buffer.filled().len() == before)
        {
            self.ended.cancel();
        }
        read
    }
}
