//! Who is let in.

use std::sync::Arc;

use axum::extract::{Request, State};
use axum::middleware::Next;
use axum::response::{IntoResponse as _, Response};
use http::{HeaderMap, StatusCode, header};
use sandbox::Principal;

use super::{OAuth, Tokens, refuse};

/// Who is let in. With neither tokens nor an issuer, everybody who reaches the address is the local user.
#[derive(Debug)]
pub struct Access {
    /// Tokens that the operator handed out.
    pub tokens: Option<Tokens>,
    /// Somebody else who hands out tokens.
    pub oauth: Option<OAuth>,
    /// Names of this server beside those of the loopback interface.
    pub hosts: Vec<String>,
    /// Web pages that may call it beside local ones.
    pub origins: Vec<String>,
}

/// Why a caller is not let in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Denied {
    /// No token.
    Unknown,
    /// A token that is not valid, or not any more, or not here.
    Invalid,
    /// A good one, for something else.
    Scope,
    /// Unknown: the issuer's keys cannot be had.
    Unavailable,
}

impl Access {
    /// Whether callers are not asked who they are.
    pub fn is_open(&self) -> bool {
        self.tokens.is_none() && self.oauth.is_none()
    }

    async fn identify(&self, headers: &HeaderMap) -> Result<Principal, Denied> {
        if self.is_open() {
            return Ok(Principal::default());
        }
        let token = bearer_token(headers).ok_or(Denied::Unknown)?;
        if let Some(owner) = self.tokens.as_ref().and_then(|tokens| tokens.owner(token)) {
            return Ok(owner);
        }
        match &self.oauth {
            Some(oauth) => oauth.owner(token).await,
            None => Err(Denied::Invalid),
        }
    }

    fn deny(&self, denied: Denied) -> Response {
        let (status, error, message) = match denied {
            Denied::Unknown => (StatusCode::UNAUTHORIZED, None, "a bearer token is needed"),
            Denied::Invalid => (StatusCode::UNAUTHORIZED, Some("invalid_token"), "this bearer token is not valid here"),
            Denied::Scope => {
                (StatusCode::FORBIDDEN, Some("insufficient_scope"), "this bearer token is not for running code here")
            }
            Denied::Unavailable => {
                let message = "the keys of the authorization server cannot be had; try again later";
                return ([(header::RETRY_AFTER, "10")], refuse(StatusCode::SERVICE_UNAVAILABLE, message))
                    .into_response();
            }
        };
        let mut parameters: Vec<String> = error.map(|error| format!("error=\"{error}\"")).into_iter().collect();
        parameters.extend(self.oauth.iter().flat_map(|oauth| oauth.challenge(denied)));
        let challenge = format!("Bearer {}", parameters.join(", "));
        ([(header::WWW_AUTHENTICATE, challenge.trim_end())], refuse(status, message)).into_response()
    }
}

/// Finds out whose request it is, and leaves that with the request.
pub(super) async fn authenticate(State(access): State<Arc<Access>>, mut request: Request, next: Next) -> Response {
    match access.identify(request.headers()).await {
        Ok(principal) => {
            request.extensions_mut().insert(principal);
            next.run(request).await
        }
        Err(denied) => {
            tracing::warn!(path = request.uri().path(), ?denied, "a caller was not let in");
            access.deny(denied)
        }
    }
}

fn bearer_token(headers: &HeaderMap) -> Option<&str> {
    let (scheme, token) = headers.get(header::AUTHORIZATION)?.to_str().ok()?.split_once(' ')?;
    scheme.eq_ignore_ascii_case("bearer").then(|| token.trim())
}
