//! MCP over HTTP, at `/mcp`: who may come in, how much they may send, and how often.

mod access;
mod connections;
mod names;
mod oauth;
mod sessions;
mod throttle;
mod tokens;

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use axum::extract::{Request, State};
use axum::middleware::{self, Next};
use axum::response::{IntoResponse as _, Response};
use axum::routing::get;
use axum::{Json, Router};
use http::{Method, StatusCode, header};
use rmcp::transport::streamable_http_server::session::local::LocalSessionManager;
use rmcp::transport::{StreamableHttpServerConfig, StreamableHttpService};
use serde_json::json;
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;

use self::access::authenticate;
use self::names::{Names, check_names};
use self::sessions::{Seal, own_sessions};
use self::throttle::{Throttle, throttle};
use crate::Server;
use crate::runs::random;

pub(crate) use self::sessions::NoSession;

pub use self::access::Access;
pub use self::oauth::{OAuth, OAuthConfig, OAuthError};
pub use self::throttle::Shares;
pub use self::tokens::{Tokens, TokensError};

/// The largest request. A program's files are in it.
const MAX_BODY: usize = 64 << 20;
/// How long a client of the older era may say nothing beside what its longest run takes, before its session ends: it may wait
/// for its turn, and for packages.
const SILENCE: Duration = Duration::from_mins(5);

/// In the range that the protocol leaves to servers.
const REFUSED: i32 = -32000;

/// What an operator decides about a server.
#[derive(Debug)]
pub struct HttpConfig {
    /// Who is let in.
    pub access: Access,
    /// How much each caller may ask for.
    pub shares: Shares,
    /// How long requests may still go on after `shutdown`.
    pub drain: Duration,
    /// Whether clients of the older era have sessions.
    pub sessions: HttpSessions,
}

/// What becomes of a connection between requests.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HttpSessions {
    /// It is kept, under an id that the client sends.
    Kept,
    /// Each request is on its own.
    None,
}

/// What a server that passes for another looks at in a request.
#[derive(Debug)]
pub(crate) struct Asked {
    pub(crate) method: Method,
    pub(crate) path: String,
    pub(crate) sessions: HttpSessions,
}

/// Why a server does not open.
#[derive(Debug, thiserror::Error)]
pub enum HttpError {
    /// Anybody on the network could run code here.
    #[error("`{0}` can be reached from other machines, and callers are not asked who they are")]
    Open(SocketAddr),
    /// The address cannot be had.
    #[error("cannot listen on `{address}`")]
    Listen {
        /// Where.
        address: SocketAddr,
        /// Why.
        source: std::io::Error,
    },
}

/// Opens the door. Loopback only, unless callers have to say who they are.
pub async fn listen(address: SocketAddr, access: &Access) -> Result<TcpListener, HttpError> {
    if access.is_open() && !address.ip().is_loopback() {
        return Err(HttpError::Open(address));
    }
    TcpListener::bind(address).await.map_err(|source| HttpError::Listen { address, source })
}

/// Serves until `shutdown`. Then nobody new is let in, and requests that go on have the drain's time to end.
pub async fn serve(server: Arc<Server>, listener: TcpListener, config: HttpConfig, shutdown: CancellationToken) {
    let HttpConfig { access, shares, drain, sessions } = config;
    // Cancelled when the drain is over: what still goes on is ended.
    let end = CancellationToken::new();
    let router = router(&server, (access, shares, sessions), end.clone());
    connections::serve(listener, router, shutdown, drain).await;
    end.cancel();
}

fn router(
    server: &Arc<Server>,
    (access, shares, kept): (Access, Shares, HttpSessions),
    end: CancellationToken,
) -> Router {
    let names = Names::new(&access.hosts, &access.origins);
    let config = StreamableHttpServerConfig::default()
        .with_allowed_hosts(names.hosts.clone())
        .with_allowed_origins(names.origins.clone())
        .with_max_request_body_bytes(MAX_BODY)
        .with_legacy_session_mode(kept == HttpSessions::Kept)
        .with_cancellation_token(end);
    let mut sessions = LocalSessionManager::default();
    // What it counts are messages, and a run that prints nothing for a client that wants no progress has none.
    sessions.session_config.keep_alive = Some(server.longest_run() + SILENCE);
    let sessions = Arc::new(sessions);
    let connecting = Arc::clone(server);
    let mcp = if server.connect_masked().is_some() {
        let masked = move || connecting.connect_masked().ok_or_else(|| std::io::ErrorKind::Unsupported.into());
        Router::new().fallback_service(StreamableHttpService::new(masked, sessions, config))
    } else {
        Router::new().fallback_service(StreamableHttpService::new(move || Ok(connecting.connect()), sessions, config))
    };

    let access = Arc::new(access);
    let limit = middleware::from_fn_with_state(Arc::new(Throttle::new(shares)), throttle);
    let guard = middleware::from_fn_with_state(Arc::clone(&access), authenticate);
    let own = middleware::from_fn_with_state(Arc::new(Seal::new(&random::<32>())), own_sessions);
    let mcp = match kept {
        HttpSessions::Kept => mcp.layer(own),
        // Where nobody has one, it does not matter which one is named.
        HttpSessions::None => mcp,
    };
    let check = middleware::from_fn_with_state(Arc::new(names), check_names);
    let guarded =
        Router::new().nest_service("/mcp", mcp.layer(limit)).route("/metrics", get(metrics).layer(check)).layer(guard);
    // Addresses are the operator's, and may have what is a pattern to the router's older versions.
    let mut open = Router::new().without_v07_checks().route("/healthz", get(|| async { "ok" }));
    if let Some(oauth) = &access.oauth {
        for path in oauth.metadata_paths() {
            let metadata = oauth.metadata();
            open = open.route(&path, get(|| async { Json(metadata) }));
        }
    }
    let count = middleware::from_fn_with_state(Arc::clone(server), count);
    let in_its_manner = middleware::from_fn_with_state((Arc::clone(server), kept), in_its_manner);
    open.merge(guarded).layer(in_its_manner).layer(count).with_state(Arc::clone(server))
}

/// A refusal that clients of the protocol show.
pub(crate) fn refuse(status: StatusCode, message: &str) -> Response {
    let body = json!({"jsonrpc": "2.0", "id": null, "error": {"code": REFUSED, "message": message}});
    (status, Json(body)).into_response()
}

/// A server that passes for another answers in that one's words.
async fn in_its_manner(
    State((server, sessions)): State<(Arc<Server>, HttpSessions)>,
    request: Request,
    next: Next,
) -> Response {
    let asked = Asked { method: request.method().clone(), path: request.uri().path().to_owned(), sessions };
    server.reword(&asked, next.run(request).await)
}

async fn metrics(State(server): State<Arc<Server>>) -> Response {
    let kind = [(header::CONTENT_TYPE, "application/openmetrics-text; version=1.0.0; charset=utf-8")];
    match server.metrics() {
        Ok(text) => (kind, text).into_response(),
        Err(_) => StatusCode::INTERNAL_SERVER_ERROR.into_response(),
    }
}

async fn count(State(server): State<Arc<Server>>, request: Request, next: Next) -> Response {
    let response = next.run(request).await;
    server.answered(response.status());
    response
}
