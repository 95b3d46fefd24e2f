//! Binds sessions of the older era to their owners. rmcp names sessions but does not know callers, so anybody who knew
//! a name could listen in. Therefore the name that a client gets is sealed for its caller: nobody else can use it.

use std::sync::Arc;

use axum::body::to_bytes;
use axum::extract::{Request, State};
use axum::middleware::Next;
use axum::response::{IntoResponse as _, Response};
use hmac::{Hmac, Mac as _};
use http::{HeaderName, HeaderValue, Method, StatusCode, header};
use sandbox::Principal;
use sha2::Sha256;

use super::refuse;
use crate::hex::hex;

const SESSION: HeaderName = HeaderName::from_static("mcp-session-id");

/// Marks an answer that refuses a request because there is no session.
#[derive(Debug, Clone, Copy)]
pub(crate) struct NoSession;

/// In rmcp's words.
const WITHOUT_SESSION: [&[u8]; 2] = [b"Bad Request: Session ID is required", b"Not Found: Session not found"];

/// A key of this server's alone: sessions end with it.
#[derive(Clone)]
pub(super) struct Seal(Hmac<Sha256>);

impl Seal {
    pub(super) fn new(key: &[u8]) -> Self {
        // HMAC takes keys of any length.
        #[expect(clippy::expect_used, reason = "it cannot fail")]
        Self(Hmac::new_from_slice(key).expect("a key of any length"))
    }

    fn mac(&self, session: &str, owner: &Principal) -> Hmac<Sha256> {
        let mut mac = self.0.clone();
        // Names of sessions have no line ends.
        mac.update(session.as_bytes());
        mac.update(b"\n");
        mac.update(owner.to_string().as_bytes());
        mac
    }

    /// The name for its owner.
    fn seal(&self, session: &str, owner: &Principal) -> String {
        format!("{session}.{}", hex(&self.mac(session, owner).finalize().into_bytes()))
    }

    /// The name under the seal, if it is this caller's.
    fn open<'a>(&self, sealed: &'a str, caller: &Principal) -> Option<&'a str> {
        let (session, _) = sealed.rsplit_once('.')?;
        let expected = self.seal(session, caller);
        bool::from(subtle::ConstantTimeEq::ct_eq(expected.as_bytes(), sealed.as_bytes())).then_some(session)
    }
}

/// Opens seals on the way in, and puts them on on the way out.
pub(super) async fn own_sessions(State(seal): State<Arc<Seal>>, mut request: Request, next: Next) -> Response {
    let caller = request.extensions().get::<Principal>().cloned().unwrap_or_default();
    if let Some(sealed) = request.headers().get(SESSION) {
        let session = sealed.to_str().ok().and_then(|sealed| seal.open(sealed, &caller));
        let Some(session) = session.and_then(|session| HeaderValue::from_str(session).ok()) else {
            let mut refusal = refuse(StatusCode::NOT_FOUND, "there is no such session");
            refusal.extensions_mut().insert(NoSession);
            return refusal;
        };
        request.headers_mut().insert(SESSION, session);
    }
    let ends = request.method() == Method::DELETE;
    let mut response = marked(next.run(request).await).await;
    // Some clients take only this for the end of a session.
    if ends && response.status() == StatusCode::ACCEPTED {
        *response.status_mut() = StatusCode::NO_CONTENT;
    }
    let session = response.headers().get(SESSION).and_then(|session| session.to_str().ok());
    if let Some(Ok(sealed)) = session.map(|session| HeaderValue::from_str(&seal.seal(session, &caller))) {
        response.headers_mut().insert(SESSION, sealed);
    }
    response
}

/// The same, and marked if there is no session. What rmcp says in the protocol's own terms, of a version or a method,
/// is JSON.
async fn marked(response: Response) -> Response {
    let is_refusal = matches!(response.status(), StatusCode::BAD_REQUEST | StatusCode::NOT_FOUND);
    if !is_refusal || response.headers().contains_key(header::CONTENT_TYPE) {
        return response;
    }
    let (mut head, body) = response.into_parts();
    // A sentence, which is in memory already.
    let Ok(text) = to_bytes(body, usize::MAX).await else { return head.status.into_response() };
    if WITHOUT_SESSION.contains(&&*text) {
        head.extensions.insert(NoSession);
    }
    Response::from_parts(head, text.into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_session_is_its_owners() {
        let seal = Seal::new(b"key");
        let (ada, grace) = (Principal::new("ada"), Principal::new("grace"));
        let sealed = seal.seal("name", &ada);
        assert_eq!(seal.open(&sealed, &ada), Some("name"));
        assert_eq!(seal.open(&sealed, &grace), None);
        assert_eq!(Seal::new(b"other").open(&sealed, &ada), None);
        for wrong in ["", "name", "name.", "other.00", &sealed[1..]] {
            assert_eq!(seal.open(wrong, &ada), None, "{wrong}");
        }
    }
}
