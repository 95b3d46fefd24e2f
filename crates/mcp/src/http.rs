//! MCP over HTTP, at `/mcp`: who may come in, and how much they may send.

use std::collections::HashMap;
use std::net::SocketAddr;
use std::sync::Arc;

use axum::Router;
use axum::extract::{Request, State};
use axum::middleware::{self, Next};
use axum::response::{IntoResponse as _, Response};
use axum::routing::get;
use axum::serve::ListenerExt as _;
use http::{StatusCode, header};
use rmcp::transport::streamable_http_server::session::local::LocalSessionManager;
use rmcp::transport::{StreamableHttpServerConfig, StreamableHttpService};
use sandbox::Principal;
use sha2::{Digest as _, Sha256};
use subtle::ConstantTimeEq as _;
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;

use crate::Server;

/// The largest request. A program's files are in it.
const MAX_BODY: usize = 64 << 20;

/// Bearer tokens and whose they are.
#[derive(Debug, Clone, Default)]
pub struct Tokens(Vec<(Principal, Secret)>);

/// A token's hash. Hashes are compared in constant time, and say nothing of the token's length.
#[derive(Clone)]
struct Secret([u8; 32]);

impl std::fmt::Debug for Secret {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Secret")
    }
}

/// What is wrong with a file of tokens.
#[derive(Debug, thiserror::Error)]
pub enum TokensError {
    /// A line that is none.
    #[error("line {0} is not `NAME TOKEN`")]
    Line(usize),
    /// A token that could be guessed.
    #[error("the token in line {line} is shorter than {MIN_TOKEN} characters")]
    Short {
        /// Where.
        line: usize,
    },
    /// Two callers with one token cannot be told apart.
    #[error("the token in line {line} is that of line {first} too")]
    Same {
        /// The second.
        line: usize,
        /// The first.
        first: usize,
    },
    /// A file without any would let nobody in.
    #[error("there is no token in it")]
    Empty,
}

const MIN_TOKEN: usize = 16;

impl Tokens {
    /// A line for each caller: a name, a space, a token. Lines that start with `#` are comments.
    pub fn parse(text: &str) -> Result<Self, TokensError> {
        let mut tokens = Vec::new();
        let mut seen = HashMap::new();
        for (number, line) in (1..).zip(text.lines()) {
            let line_text = line.trim();
            if line_text.is_empty() || line_text.starts_with('#') {
                continue;
            }
            let mut words = line_text.split_whitespace();
            let (Some(name), Some(token), None) = (words.next(), words.next(), words.next()) else {
                return Err(TokensError::Line(number));
            };
            if token.len() < MIN_TOKEN {
                return Err(TokensError::Short { line: number });
            }
            if let Some(first) = seen.insert(token, number) {
                return Err(TokensError::Same { line: number, first });
            }
            tokens.push((Principal::new(name), Secret(Sha256::digest(token).into())));
        }
        if tokens.is_empty() { Err(TokensError::Empty) } else { Ok(Self(tokens)) }
    }

    /// Whose token it is. Takes the same time whichever it is, and whether it is any.
    fn owner(&self, token: &str) -> Option<Principal> {
        let given: [u8; 32] = Sha256::digest(token).into();
        let mut owner = None;
        for (principal, secret) in &self.0 {
            if bool::from(secret.0.ct_eq(&given)) {
                owner = Some(principal.clone());
            }
        }
        owner
    }
}

/// Who is let in.
#[derive(Debug, Clone, Default)]
pub struct Access {
    /// Without any, everybody who reaches the address is the local user.
    pub tokens: Option<Tokens>,
    /// Names of this server beside those of the loopback interface.
    pub hosts: Vec<String>,
    /// Web pages that may call it beside local ones.
    pub origins: Vec<String>,
}

const LOOPBACK_HOSTS: [&str; 3] = ["localhost", "127.0.0.1", "::1"];
const LOOPBACK_ORIGINS: [&str; 3] = ["http://localhost:*", "http://127.0.0.1:*", "http://[::1]:*"];

/// Why a server does not open.
#[derive(Debug, thiserror::Error)]
pub enum HttpError {
    /// Anybody on the network could run code here.
    #[error("`{0}` can be reached from other machines, and there are no tokens")]
    Open(SocketAddr),
    /// The address cannot be had.
    #[error("cannot listen on `{address}`")]
    Listen {
        /// Where.
        address: SocketAddr,
        /// Why.
        source: std::io::Error,
    },
    /// The listener broke.
    #[error("cannot serve")]
    Serve(#[source] std::io::Error),
}

/// Opens the door. Loopback only, unless there are tokens.
pub async fn listen(address: SocketAddr, access: &Access) -> Result<TcpListener, HttpError> {
    if access.tokens.is_none() && !address.ip().is_loopback() {
        return Err(HttpError::Open(address));
    }
    TcpListener::bind(address).await.map_err(|source| HttpError::Listen { address, source })
}

/// Serves until `shutdown`; then requests that go on are ended.
pub async fn serve(
    server: Arc<Server>,
    listener: TcpListener,
    access: Access,
    shutdown: CancellationToken,
) -> Result<(), HttpError> {
    let hosts = LOOPBACK_HOSTS.map(str::to_owned).into_iter().chain(access.hosts.clone());
    let origins = LOOPBACK_ORIGINS.map(str::to_owned).into_iter().chain(access.origins.clone());
    let config = StreamableHttpServerConfig::default()
        .with_allowed_hosts(hosts)
        .with_allowed_origins(origins)
        .with_max_request_body_bytes(MAX_BODY)
        .with_cancellation_token(shutdown.clone());
    let mcp =
        StreamableHttpService::new(move || Ok(server.connect()), Arc::new(LocalSessionManager::default()), config);
    let guarded =
        Router::new().nest_service("/mcp", mcp).layer(middleware::from_fn_with_state(Arc::new(access), authenticate));
    // Answers are many small writes, which must not wait for each other.
    let listener = listener.tap_io(|stream| {
        stream.set_nodelay(true).ok();
    });
    let router = Router::new().route("/healthz", get(|| async { "ok" })).merge(guarded);
    axum::serve(listener, router).with_graceful_shutdown(shutdown.cancelled_owned()).await.map_err(HttpError::Serve)
}

/// Finds out whose request it is.
async fn authenticate(State(access): State<Arc<Access>>, mut request: Request, next: Next) -> Response {
    if let Some(tokens) = &access.tokens {
        let given = request.headers().get(header::AUTHORIZATION).and_then(|value| value.to_str().ok());
        let token = given.and_then(|value| {
            let (scheme, token) = value.split_once(' ')?;
            scheme.eq_ignore_ascii_case("bearer").then(|| token.trim())
        });
        let Some(owner) = token.and_then(|token| tokens.owner(token)) else {
            let challenge = if token.is_some() { "Bearer error=\"invalid_token\"" } else { "Bearer" };
            return (StatusCode::UNAUTHORIZED, [(header::WWW_AUTHENTICATE, challenge)], "a bearer token is needed\n")
                .into_response();
        };
        request.extensions_mut().insert(owner);
    }
    next.run(request).await
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tokens_name_their_owners() {
        let tokens = Tokens::parse("# ours\nada 0123456789abcdef0\n\ngrace   fedcba9876543210f\n").expect("tokens");
        assert_eq!(tokens.owner("0123456789abcdef0"), Some(Principal::new("ada")));
        assert_eq!(tokens.owner("fedcba9876543210f"), Some(Principal::new("grace")));
        for wrong in ["", "0123456789abcdef", "0123456789abcdef00", "ada"] {
            assert_eq!(tokens.owner(wrong), None, "{wrong}");
        }
        assert!(!format!("{tokens:?}").contains("0123"));
    }

    #[test]
    fn a_file_that_lets_in_too_many_or_nobody_is_an_error() {
        for (text, expected) in [
            ("", "there is no token in it"),
            ("# nothing", "there is no token in it"),
            ("ada", "line 1 is not `NAME TOKEN`"),
            ("ada 0123456789abcdef x", "line 1 is not `NAME TOKEN`"),
            ("ada short", "the token in line 1 is shorter than 16 characters"),
            ("ada 0123456789abcdef\ngrace 0123456789abcdef", "the token in line 2 is that of line 1 too"),
        ] {
            assert_eq!(Tokens::parse(text).expect_err("wrong").to_string(), expected, "{text}");
        }
    }
}
