//! Tokens that an authorization server handed out.

use std::fs;
use std::time::{SystemTime, UNIX_EPOCH};

use jsonwebtoken::jwk::Jwk;
use jsonwebtoken::{Algorithm, EncodingKey, Header};
use serde_json::{Value, json};
use testkit::mcp_http::Endpoint;
use testkit::server::Served;

use crate::neighbour::Neighbour;
use crate::{call, folder, serve, stdout};

const RESOURCE: &str = "https://code.example.org/mcp";

/// A key whose secret is this byte, 32 times.
fn key(secret: u8) -> EncodingKey {
    const ED25519_IN_PKCS8: [u8; 16] = [0x30, 0x2e, 2, 1, 0, 0x30, 5, 6, 3, 0x2b, 0x65, 0x70, 4, 0x22, 4, 0x20];
    EncodingKey::from_ed_der(&[&ED25519_IN_PKCS8[..], &[secret; 32]].concat())
}

fn public(key: &EncodingKey, name: &str) -> Value {
    let mut public = Jwk::from_encoding_key(key, Algorithm::EdDSA).expect("a public key");
    public.common.key_id = Some(name.to_owned());
    serde_json::to_value(public).expect("JSON")
}

fn now() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).expect("after 1970").as_secs()
}

/// An authorization server with one key.
struct Issuer {
    neighbour: Neighbour,
    key: EncodingKey,
}

impl Issuer {
    fn start() -> Self {
        let (neighbour, key) = (Neighbour::start(), key(1));
        let issuer = neighbour.address();
        let metadata = json!({"issuer": issuer, "jwks_uri": format!("{issuer}/keys")});
        neighbour.publish("/.well-known/openid-configuration", &metadata);
        neighbour.publish("/keys", &json!({"keys": [public(&key, "first")]}));
        Self { neighbour, key }
    }

    fn claims(&self) -> Value {
        let issuer = self.neighbour.address();
        json!({"iss": issuer, "aud": RESOURCE, "sub": "ada", "exp": now() + 300, "scope": "openid run"})
    }

    fn sign(&self, claims: &Value) -> String {
        sign(claims, &self.key, "first")
    }

    fn serve(&self, folder: &std::path::Path, more: &[&str]) -> Served {
        let issuer = self.neighbour.address();
        let options = ["--oauth-issuer", issuer, "--oauth-resource", RESOURCE, "--oauth-scope", "run"];
        serve(folder, &[&options[..], more].concat())
    }
}

fn sign(claims: &Value, key: &EncodingKey, name: &str) -> String {
    let mut header = Header::new(Algorithm::EdDSA);
    header.kid = Some(name.to_owned());
    jsonwebtoken::encode(&header, claims, key).expect("a token")
}

#[test]
fn a_token_for_us_lets_its_owner_in() {
    let (folder, issuer) = (folder(), Issuer::start());
    let audit = folder.path().join("audit");
    let served = issuer.serve(folder.path(), &["--audit", audit.to_str().expect("text")]);
    let endpoint = Endpoint::new(served.address());
    assert_eq!(stdout(&endpoint.clone().with_token(&issuer.sign(&issuer.claims())), "echo in"), "in\n");
    let mut claims = issuer.claims();
    claims["aud"] = json!(["https://other.example.org", RESOURCE]);
    claims["scope"] = Value::Null;
    claims["scp"] = json!(["run"]);
    assert_eq!(stdout(&endpoint.with_token(&issuer.sign(&claims)), "echo in"), "in\n");
    let written = fs::read_to_string(audit).expect("the audit log");
    assert_eq!(written.matches(r#""principal":"oauth:ada""#).count(), 2, "{written}");
    // Two documents, asked for once.
    let asked: Vec<String> = issuer.neighbour.received().into_iter().map(|request| request.path).collect();
    let [first, second] = ["/.well-known/oauth-authorization-server", "/.well-known/openid-configuration"];
    assert_eq!(asked, [first, second, "/keys"]);
}

#[test]
fn any_other_token_does_not() {
    let (folder, issuer) = (folder(), Issuer::start());
    let served = issuer.serve(folder.path(), &[]);
    let endpoint = Endpoint::new(served.address());
    let with = |name: &str, value: Value| {
        let mut claims = issuer.claims();
        claims[name] = value;
        issuer.sign(&claims)
    };
    let unsigned = {
        let whole = issuer.sign(&issuer.claims());
        let claims = whole.split('.').nth(1).expect("claims").to_owned();
        // {"alg":"none"}
        format!("eyJhbGciOiJub25lIn0.{claims}.")
    };
    // The public key, taken for a secret that both sides share.
    let confused = {
        let public = public(&issuer.key, "first");
        let secret = EncodingKey::from_secret(public["x"].as_str().expect("text").as_bytes());
        let mut header = Header::new(Algorithm::HS256);
        header.kid = Some("first".to_owned());
        jsonwebtoken::encode(&header, &issuer.claims(), &secret).expect("a token")
    };
    for (token, what) in [
        ("nonsense".to_owned(), "no token at all"),
        (with("aud", json!("https://other.example.org/mcp")), "for another server"),
        (with("aud", Value::Null), "for nobody"),
        (with("iss", json!("https://evil.example")), "from another issuer"),
        (with("exp", json!(now() - 100)), "too old"),
        (with("exp", Value::Null), "for ever"),
        (with("nbf", json!(now() + 100)), "too early"),
        (with("sub", Value::Null), "nobody's"),
        (sign(&issuer.claims(), &key(2), "first"), "signed by somebody else"),
        (sign(&issuer.claims(), &key(2), "second"), "signed with an unknown key"),
        (unsigned, "not signed"),
        (confused, "signed with a public key"),
    ] {
        let refused = call(&endpoint.clone().with_token(&token), "echo in");
        assert_eq!(refused.status(), 401, "{what}");
        let challenge = refused.header("WWW-Authenticate").unwrap_or_default();
        assert!(
            challenge.starts_with(r#"Bearer error="invalid_token", resource_metadata="https://code.example.org/"#),
            "{challenge}"
        );
    }
    let refused = call(&endpoint.clone().with_token(&with("scope", json!("openid runs"))), "echo in");
    assert_eq!(refused.status(), 403);
    let challenge = refused.header("WWW-Authenticate").unwrap_or_default();
    assert!(challenge.contains("insufficient_scope") && challenge.contains(r#"scope="run""#), "{challenge}");
    assert_eq!(stdout(&endpoint.with_token(&issuer.sign(&issuer.claims())), "echo in"), "in\n");
}

#[test]
fn who_has_none_is_told_whom_to_ask() {
    let (folder, issuer) = (folder(), Issuer::start());
    let served = issuer.serve(folder.path(), &[]);
    let endpoint = Endpoint::new(served.address());
    let refused = call(&endpoint, "echo in");
    assert_eq!(refused.status(), 401);
    let metadata = "https://code.example.org/.well-known/oauth-protected-resource/mcp";
    assert_eq!(
        refused.header("WWW-Authenticate"),
        Some(&*format!(r#"Bearer resource_metadata="{metadata}", scope="run""#))
    );
    for path in ["/.well-known/oauth-protected-resource", "/.well-known/oauth-protected-resource/mcp"] {
        let (status, body) = endpoint.get(path).expect("it answers");
        let body: Value = serde_json::from_str(&body).expect("JSON");
        assert_eq!((status, &body["resource"]), (200, &json!(RESOURCE)), "{path}");
        assert_eq!(body["authorization_servers"], json!([issuer.neighbour.address()]));
        assert_eq!(body["scopes_supported"], json!(["run"]));
    }
    assert_eq!(endpoint.get("/metrics").expect("it answers").0, 401);
    assert_eq!(endpoint.get("/healthz").expect("it answers"), (200, "ok".to_owned()));
}

/// Behind a proxy, the address that clients use may be any.
#[test]
fn what_a_challenge_names_is_there() {
    const HOST: &str = "https://code.example.org";
    let (folder, issuer) = (folder(), Issuer::start());
    for path in ["/tools/belljar/mcp", "/", "/:a/*b/{c}/"] {
        let resource = format!("{HOST}{path}");
        let options = ["--oauth-issuer", issuer.neighbour.address(), "--oauth-resource", &resource];
        let served = serve(folder.path(), &options);
        let endpoint = Endpoint::new(served.address());
        let refused = call(&endpoint, "echo in");
        let challenge = refused.header("WWW-Authenticate").unwrap_or_default();
        let named = challenge.split('"').nth(1).and_then(|address| address.strip_prefix(HOST));
        let (status, body) = endpoint.get(named.unwrap_or_else(|| panic!("{challenge}"))).expect("it answers");
        let body: Value = serde_json::from_str(&body).expect("JSON");
        assert_eq!((status, &body["resource"]), (200, &json!(resource)), "{challenge}");
    }
}

#[test]
fn an_issuer_that_cannot_be_asked_lets_nobody_in() {
    let (folder, issuer) = (folder(), Issuer::start());
    issuer
        .neighbour
        .publish("/.well-known/openid-configuration", &json!({"issuer": "https://evil.example", "jwks_uri": ""}));
    let served = issuer.serve(folder.path(), &[]);
    let refused = call(&Endpoint::new(served.address()).with_token(&issuer.sign(&issuer.claims())), "echo in");
    assert_eq!((refused.status(), refused.header("Retry-After")), (503, Some("10")));
}
