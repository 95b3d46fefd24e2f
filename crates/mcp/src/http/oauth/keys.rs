//! An issuer's keys: asked for when they are needed, kept for a while.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use jsonwebtoken::jwk::{Jwk, JwkSet, KeyAlgorithm, PublicKeyUse};
use jsonwebtoken::{Algorithm, AlgorithmFamily, DecodingKey, Header};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use tokio::sync::Semaphore;
use url::Url;

use crate::fetch;
use crate::http::access::Denied;

/// How long keys are trusted. A key that the issuer revokes stays good until then.
const FRESH: Duration = Duration::from_mins(10);
/// How long they are trusted if the issuer cannot be reached.
const STALE: Duration = Duration::from_hours(1);
/// How long callers wait for the issuer while older keys are still at hand.
const PROMPT: Duration = Duration::from_secs(1);
/// The issuer is not asked more often than this, whatever callers send.
const PAUSE: Duration = Duration::from_secs(10);
/// The largest answer.
const MOST_BYTES: u64 = 1 << 20;

#[derive(Debug)]
pub(super) struct Keys(Arc<Shared>);

#[derive(Debug)]
struct Shared {
    /// As tokens and the issuer's own document spell it.
    name: String,
    issuer: Url,
    agent: ureq::Agent,
    state: Mutex<State>,
    /// One asks, the others wait for what it hears.
    asking: Semaphore,
}

#[derive(Debug, Default)]
struct State {
    held: Option<Held>,
    /// When the issuer was asked last.
    asked: Option<Instant>,
}

#[derive(Debug)]
struct Held {
    keys: Arc<JwkSet>,
    since: Instant,
}

/// Why there are no keys.
#[derive(Debug, thiserror::Error)]
enum KeysError {
    #[error("it cannot be reached: {0}")]
    Request(#[from] Box<ureq::Error>),
    #[error("its answer cannot be read: {0}")]
    Answer(#[from] serde_json::Error),
    #[error("it says that it is `{0}`")]
    Issuer(String),
    #[error("its keys are at `{0}`, which is not safe")]
    Insecure(String),
    #[error("asking it was given up")]
    GivenUp,
}

/// What RFC 8414 and OpenID's discovery have in common.
#[derive(Debug, Deserialize)]
struct Metadata {
    issuer: String,
    jwks_uri: String,
}

impl Keys {
    pub(super) fn new(name: String, issuer: Url) -> Self {
        let (agent, asking) = (fetch::agent(), Semaphore::new(1));
        Self(Arc::new(Shared { name, issuer, agent, state: Mutex::default(), asking }))
    }

    /// The key that a token says it was signed with.
    pub(super) async fn find(&self, header: &Header) -> Result<DecodingKey, Denied> {
        let find = |age| {
            let held = self.0.held(age)?;
            choose(&held, header).map(DecodingKey::from_jwk)
        };
        if let Some(key) = find(FRESH) {
            return key.map_err(|_| Denied::Invalid);
        }
        // In a task of its own: a caller that hangs up does not take the answer with it.
        let shared = Arc::clone(&self.0);
        let refreshing = tokio::spawn(async move { shared.refresh().await });
        if self.0.held(STALE).is_some() {
            // A key may have been taken back since. An issuer that is slow to say so does not hold up everybody.
            tokio::time::timeout(PROMPT, refreshing).await.ok();
        } else {
            refreshing.await.map_err(|_| Denied::Unavailable)?;
        }
        match find(STALE) {
            Some(key) => key.map_err(|_| Denied::Invalid),
            None if self.0.held(STALE).is_none() => Err(Denied::Unavailable),
            None => Err(Denied::Invalid),
        }
    }
}

impl Shared {
    /// Keys that are not older than this.
    fn held(&self, age: Duration) -> Option<Arc<JwkSet>> {
        let state = self.state();
        state.held.as_ref().filter(|held| held.since.elapsed() < age).map(|held| Arc::clone(&held.keys))
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Asks the issuer, if that was not done just now.
    async fn refresh(&self) {
        // The semaphore is never closed.
        let _asking = self.asking.acquire().await;
        if self.state().asked.is_some_and(|asked| asked.elapsed() < PAUSE) {
            return;
        }
        let answer = self.ask().await;
        let mut state = self.state();
        state.asked = Some(Instant::now());
        match answer {
            Ok(keys) => state.held = Some(Held { keys: keys.into(), since: Instant::now() }),
            Err(error) => tracing::error!(issuer = self.name, %error, "the issuer's keys cannot be had"),
        }
    }

    async fn ask(&self) -> Result<JwkSet, KeysError> {
        let (agent, name) = (self.agent.clone(), self.name.clone());
        let places = well_known(&self.issuer);
        let asking = tokio::task::spawn_blocking(move || ask(&agent, &name, &places));
        asking.await.map_err(|_| KeysError::GivenUp)?
    }
}

fn ask(agent: &ureq::Agent, name: &str, places: &[Url]) -> Result<JwkSet, KeysError> {
    let mut found = Err(KeysError::GivenUp);
    for place in places {
        found = get::<Metadata>(agent, place.as_str());
        if found.is_ok() {
            break;
        }
    }
    let metadata = found?;
    if metadata.issuer != name {
        return Err(KeysError::Issuer(metadata.issuer));
    }
    if super::address(&metadata.jwks_uri).is_err() {
        return Err(KeysError::Insecure(metadata.jwks_uri));
    }
    get(agent, &metadata.jwks_uri)
}

fn get<T: DeserializeOwned>(agent: &ureq::Agent, url: &str) -> Result<T, KeysError> {
    let mut response = agent.get(url).call().map_err(Box::new)?;
    let body = response.body_mut().with_config().limit(MOST_BYTES).read_to_vec().map_err(Box::new)?;
    Ok(serde_json::from_slice(&body)?)
}

/// Where an issuer describes itself: RFC 8414 puts the issuer's path behind the well-known one, OpenID in front of it.
fn well_known(issuer: &Url) -> [Url; 2] {
    let path = issuer.path().trim_end_matches('/');
    [format!("/.well-known/oauth-authorization-server{path}"), format!("{path}/.well-known/openid-configuration")].map(
        |path| {
            let mut url = issuer.clone();
            url.set_path(&path);
            url
        },
    )
}

/// The key with the token's name; where the token names none, the only one that fits.
fn choose<'keys>(keys: &'keys JwkSet, header: &Header) -> Option<&'keys Jwk> {
    let fits = |key: &&Jwk| is_for(key, header.alg);
    if let Some(name) = &header.kid {
        return keys.keys.iter().find(|key| key.common.key_id.as_ref() == Some(name)).filter(fits);
    }
    let mut fitting = keys.keys.iter().filter(fits);
    fitting.next().filter(|_| fitting.next().is_none())
}

/// Whether a key may have signed with this algorithm. Secrets that both sides know are no keys of an issuer's.
fn is_for(key: &Jwk, algorithm: Algorithm) -> bool {
    let for_signatures = key.common.public_key_use.as_ref().is_none_or(|used| *used == PublicKeyUse::Signature);
    let as_it_says = key.common.key_algorithm.is_none_or(|named| named == KeyAlgorithm::from(algorithm));
    let family = DecodingKey::from_jwk(key).map(|key| key.family());
    for_signatures
        && as_it_says
        && family.is_ok_and(|family| family != AlgorithmFamily::Hmac && family.algorithms().contains(&algorithm))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn issuers_are_looked_for_in_both_places() {
        let places = |issuer: &str| well_known(&Url::parse(issuer).expect("an address")).map(String::from);
        assert_eq!(
            places("https://id.example.org/tenant/"),
            [
                "https://id.example.org/.well-known/oauth-authorization-server/tenant",
                "https://id.example.org/tenant/.well-known/openid-configuration",
            ]
        );
        assert_eq!(
            places("https://id.example.org"),
            [
                "https://id.example.org/.well-known/oauth-authorization-server",
                "https://id.example.org/.well-known/openid-configuration",
            ]
        );
    }

    #[test]
    fn a_key_is_used_for_what_it_is_for() {
        let keys: JwkSet = serde_json::from_str(
            r#"{"keys": [
                {"kty": "oct", "kid": "secret", "k": "c2VjcmV0"},
                {"kty": "OKP", "kid": "ed", "crv": "Ed25519", "x": "11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo"},
                {"kty": "OKP", "kid": "enc", "use": "enc", "crv": "Ed25519", "x": "11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo"}
            ]}"#,
        )
        .expect("keys");
        let header = |algorithm, kid: Option<&str>| {
            let mut header = Header::new(algorithm);
            header.kid = kid.map(str::to_owned);
            header
        };
        let name = |header| choose(&keys, &header).and_then(|key| key.common.key_id.clone());
        assert_eq!(name(header(Algorithm::EdDSA, Some("ed"))).as_deref(), Some("ed"));
        assert_eq!(name(header(Algorithm::EdDSA, None)).as_deref(), Some("ed"));
        for (algorithm, kid) in [
            (Algorithm::HS256, Some("secret")),
            (Algorithm::HS256, Some("ed")),
            (Algorithm::RS256, Some("ed")),
            (Algorithm::EdDSA, Some("enc")),
            (Algorithm::EdDSA, Some("other")),
            (Algorithm::HS256, None),
        ] {
            assert_eq!(name(header(algorithm, kid)), None, "{algorithm:?} {kid:?}");
        }
    }
}
