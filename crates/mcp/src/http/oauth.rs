//! OAuth 2.1, as a resource server: somebody else hands out tokens, we check that they are for us. RFC 9728 says who that is, RFC 8414 where
//! their keys are, RFC 8707 what a token must say to be for us.

mod keys;

use std::collections::BTreeSet;

use jsonwebtoken::Validation;
use sandbox::Principal;
use serde::Deserialize;
use serde_json::{Value, json};
use url::{Host, Url};

use self::keys::Keys;
use super::access::Denied;

const METADATA: &str = "/.well-known/oauth-protected-resource";
/// The longest name of a caller.
const MOST_NAME: usize = 255;
/// How far clocks may be apart, in seconds.
const LEEWAY: u64 = 30;

/// What an operator says about it.
#[derive(Debug, Clone)]
pub struct OAuthConfig {
    /// Who hands out tokens.
    pub issuer: String,
    /// What we are called in tokens: the address that clients use, such as `https://code.example.org/mcp`.
    pub resource: String,
    /// What a token must allow.
    pub scopes: Vec<String>,
}

/// Checks tokens that an issuer handed out.
#[derive(Debug)]
pub struct OAuth {
    config: OAuthConfig,
    resource: Url,
    keys: Keys,
}

/// What is wrong with a configuration.
#[derive(Debug, thiserror::Error)]
pub enum OAuthError {
    /// No address at all.
    #[error("`{0}` is not an address such as https://id.example.org")]
    Address(String),
    /// Keys that anybody on the way could have changed.
    #[error("`{0}` is not https")]
    Insecure(String),
}

#[derive(Debug, Deserialize)]
struct Claims {
    sub: String,
    scope: Option<Scopes>,
    /// What some issuers call it.
    scp: Option<Scopes>,
}

/// Words in a text, or a list of them.
#[derive(Debug, Deserialize)]
#[serde(untagged)]
enum Scopes {
    Text(String),
    List(Vec<String>),
}

impl Scopes {
    fn has(&self, scope: &str) -> bool {
        match self {
            Self::Text(text) => text.split_whitespace().any(|word| word == scope),
            Self::List(list) => list.iter().any(|word| word == scope),
        }
    }
}

impl OAuth {
    /// Asks nobody yet.
    pub fn new(config: OAuthConfig) -> Result<Self, OAuthError> {
        let issuer = address(&config.issuer)?;
        let resource = address(&config.resource)?;
        let keys = Keys::new(config.issuer.clone(), issuer);
        Ok(Self { config, resource, keys })
    }

    /// The name that clients call us by.
    pub fn host(&self) -> Option<String> {
        self.resource.host_str().map(str::to_owned)
    }

    /// Who we are, for clients that do not know yet where to get a token.
    pub(super) fn metadata(&self) -> Value {
        json!({
            "resource": self.config.resource,
            "authorization_servers": [self.config.issuer],
            "scopes_supported": self.config.scopes,
            "bearer_methods_supported": ["header"],
            "resource_name": "Belljar",
        })
    }

    /// Where clients look for it (RFC 9728): behind our own path, which a proxy may have made another.
    fn metadata_path(&self) -> String {
        format!("{METADATA}{}", self.resource.path().trim_end_matches('/'))
    }

    /// There, and where clients look that go by the address of the server.
    pub(super) fn metadata_paths(&self) -> BTreeSet<String> {
        BTreeSet::from([METADATA.to_owned(), format!("{METADATA}/mcp"), self.metadata_path()])
    }

    /// What a client that is not let in is told beside the error.
    pub(super) fn challenge(&self, denied: Denied) -> Vec<String> {
        let mut metadata = self.resource.clone();
        metadata.set_path(&self.metadata_path());
        let mut parameters = vec![format!("resource_metadata=\"{metadata}\"")];
        if denied != Denied::Invalid && !self.config.scopes.is_empty() {
            parameters.push(format!("scope=\"{}\"", self.config.scopes.join(" ")));
        }
        parameters
    }

    /// Whose token it is.
    pub(super) async fn owner(&self, token: &str) -> Result<Principal, Denied> {
        let header = jsonwebtoken::decode_header(token).map_err(|_| Denied::Invalid)?;
        let key = self.keys.find(&header).await?;
        let token = jsonwebtoken::decode::<Claims>(token, &key, &self.validation(header.alg));
        let Claims { sub, scope, scp } = match token {
            Ok(token) => token.claims,
            Err(error) => {
                tracing::debug!(%error, "a token is not valid");
                return Err(Denied::Invalid);
            }
        };
        let allows = |wanted: &String| [&scope, &scp].into_iter().flatten().any(|scopes| scopes.has(wanted));
        if !self.config.scopes.iter().all(allows) {
            return Err(Denied::Scope);
        }
        if sub.len() > MOST_NAME || sub.chars().any(char::is_control) {
            return Err(Denied::Invalid);
        }
        // Never the name of somebody whom the operator gave a token: those have no colon.
        Ok(Principal::new(format!("oauth:{sub}")))
    }

    /// The header names the algorithm, but the key has to be one for it.
    fn validation(&self, algorithm: jsonwebtoken::Algorithm) -> Validation {
        let mut validation = Validation::new(algorithm);
        validation.set_issuer(&[&self.config.issuer]);
        validation.set_audience(&[&self.config.resource]);
        validation.set_required_spec_claims(&["exp", "iss", "aud", "sub"]);
        validation.validate_nbf = true;
        validation.leeway = LEEWAY;
        validation
    }
}

/// An address that can be trusted to be what it says: https, or this machine.
fn address(text: &str) -> Result<Url, OAuthError> {
    let url = Url::parse(text).map_err(|_| OAuthError::Address(text.to_owned()))?;
    let is_local = match url.host() {
        Some(Host::Domain(name)) => name == "localhost",
        Some(Host::Ipv4(address)) => address.is_loopback(),
        Some(Host::Ipv6(address)) => address.is_loopback(),
        None => return Err(OAuthError::Address(text.to_owned())),
    };
    match url.scheme() {
        "https" => Ok(url),
        "http" if is_local => Ok(url),
        _ => Err(OAuthError::Insecure(text.to_owned())),
    }
}
