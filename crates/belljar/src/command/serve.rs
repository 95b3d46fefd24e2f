//! `belljar serve`: the MCP server.

use std::io;
use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use anyhow::Context as _;
use belljar::{Settings, engine};
use mcp::audit::Audit;
use mcp::http::{Access, HttpError, Tokens};
use sandbox::Refusal;
use tokio::signal::unix::{SignalKind, signal};
use tokio_util::sync::CancellationToken;

use crate::arguments::ServeArguments;
use crate::report;

/// How long requests that go on may take to end when the server has been told to stop.
const DRAIN: Duration = Duration::from_millis(500);

pub(crate) async fn run(arguments: ServeArguments, settings: &Settings) -> anyhow::Result<ExitCode> {
    let access = Access {
        tokens: arguments.tokens.as_deref().map(read_tokens).transpose()?,
        hosts: arguments.hosts,
        origins: arguments.origins,
    };
    let audit = match &arguments.audit {
        Some(path) => Some(Audit::open(path).with_context(|| format!("cannot write to `{}`", path.display()))?),
        None => None,
    };
    // Before anything is started: an address that is taken, or open to everybody, is the caller's to change.
    let listener = match arguments.http {
        Some(address) => Some(mcp::http::listen(address, &access).await.map_err(refuse_open)?),
        None => None,
    };
    let runtime = Arc::new(engine::runtime(settings, Vec::new()).await?);
    warm_up(&runtime);
    let server = if arguments.conformance_fixtures {
        mcp::Server::with_conformance_fixtures(runtime)
    } else {
        mcp::Server::new(runtime, audit)
    };
    let shutdown = CancellationToken::new();
    stop_on_signals(shutdown.clone())?;
    let serving = async {
        match listener {
            Some(listener) => {
                let address = listener.local_addr()?;
                report::note(&format!("belljar: serving at http://{address}/mcp\n"));
                Ok(mcp::http::serve(server, listener, access, shutdown.clone()).await?)
            }
            None => Ok(mcp::serve_stdio(&server, shutdown.clone()).await?),
        }
    };
    tokio::select! {
        end = serving => end.map(|()| ExitCode::SUCCESS),
        // Whatever still goes on ends with this process: the launcher ends its guests.
        () = async { shutdown.cancelled().await; tokio::time::sleep(DRAIN).await } => Ok(ExitCode::SUCCESS),
    }
}

fn refuse_open(error: HttpError) -> anyhow::Error {
    match error {
        HttpError::Open(_) => {
            Refusal::new("http", error.to_string(), "use 127.0.0.1, or give callers tokens with `--tokens FILE`").into()
        }
        HttpError::Listen { .. } | HttpError::Serve(_) => error.into(),
    }
}

fn read_tokens(path: &Path) -> anyhow::Result<Tokens> {
    let text = std::fs::read_to_string(path).with_context(|| format!("cannot read the tokens `{}`", path.display()))?;
    Tokens::parse(&text).with_context(|| format!("the tokens in `{}` cannot be used", path.display()))
}

/// Starts what the first call would have to wait for.
fn warm_up(runtime: &Arc<runtime::Runtime>) {
    let runtime = Arc::clone(runtime);
    tokio::spawn(async move { runtime.warm_up().await });
}

fn stop_on_signals(shutdown: CancellationToken) -> io::Result<()> {
    let (mut interrupt, mut terminate) = (signal(SignalKind::interrupt())?, signal(SignalKind::terminate())?);
    tokio::spawn(async move {
        tokio::select! {
            _ = interrupt.recv() => {}
            _ = terminate.recv() => {}
        }
        shutdown.cancel();
    });
    Ok(())
}
