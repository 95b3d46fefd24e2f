//! Which server a request means, and which web page sent it. A page whose name leads here for a moment has the same
//! origin to its browser, and could read whatever is answered without a token; but the request still carries the page's
//! name. rmcp checks what comes to `/mcp` against the same lists.

use std::sync::Arc;

use axum::extract::{Request, State};
use axum::middleware::Next;
use axum::response::Response;
use http::uri::Authority;
use http::{HeaderMap, StatusCode, header};

use super::refuse;

const LOOPBACK_HOSTS: [&str; 3] = ["localhost", "127.0.0.1", "::1"];
const LOOPBACK_ORIGINS: [&str; 3] = ["http://localhost:*", "http://127.0.0.1:*", "http://[::1]:*"];

/// What a server is called, and who may send requests to it.
#[derive(Debug, Clone)]
pub(super) struct Names {
    /// With a port, only at that one.
    pub(super) hosts: Vec<String>,
    /// `:*` is any port, and so is none.
    pub(super) origins: Vec<String>,
}

impl Names {
    /// Those of the loopback interface, and these.
    pub(super) fn new(hosts: &[String], origins: &[String]) -> Self {
        let with = |own: [&str; 3], more: &[String]| own.iter().map(ToString::to_string).chain(more.to_vec()).collect();
        Self { hosts: with(LOOPBACK_HOSTS, hosts), origins: with(LOOPBACK_ORIGINS, origins) }
    }

    fn fault(&self, headers: &HeaderMap) -> Option<&'static str> {
        let text = |name| headers.get(name).map(|value: &http::HeaderValue| value.to_str().unwrap_or_default());
        if !text(header::HOST).is_some_and(|host| self.has_host(host)) {
            return Some("this server is not called what `Host` says");
        }
        match text(header::ORIGIN) {
            Some(origin) if !self.has_origin(origin) => Some("pages of this `Origin` may not ask this server"),
            Some(_) | None => None,
        }
    }

    fn has_host(&self, given: &str) -> bool {
        let Some((name, port)) = host(given) else { return false };
        let is_given =
            |(known, only): (String, Option<u16>)| known == name && only.is_none_or(|only| port == Some(only));
        self.hosts.iter().filter_map(|known| host(known)).any(is_given)
    }

    fn has_origin(&self, given: &str) -> bool {
        let Some((scheme, (name, port))) = page(given) else { return self.origins.iter().any(|known| known == given) };
        let port = port.or(match &*scheme {
            "http" => Some(80),
            "https" => Some(443),
            _ => None,
        });
        self.origins.iter().filter_map(|known| page(known.strip_suffix(":*").unwrap_or(known))).any(
            |(known_scheme, (known, only))| {
                known_scheme == scheme && known == name && only.is_none_or(|only| port == Some(only))
            },
        )
    }
}

/// A page's origin: how it was fetched, and from where.
fn page(text: &str) -> Option<(String, (String, Option<u16>))> {
    let (scheme, place) = text.split_once("://")?;
    Some((scheme.to_ascii_lowercase(), host(place)?))
}

/// A name, without the brackets of an address, and its port.
fn host(text: &str) -> Option<(String, Option<u16>)> {
    let bare = |name: &str| name.trim_matches(['[', ']']).to_ascii_lowercase();
    match Authority::try_from(text) {
        Ok(authority) => Some((bare(authority.host()), authority.port_u16())),
        // An address of IPv6 without brackets.
        Err(_) => text.parse::<std::net::Ipv6Addr>().ok().map(|_| (bare(text), None)),
    }
}

/// Refuses requests that are meant for another server, and those that others' pages send.
pub(super) async fn check_names(State(names): State<Arc<Names>>, request: Request, next: Next) -> Response {
    match names.fault(request.headers()) {
        Some(fault) => refuse(StatusCode::FORBIDDEN, fault),
        None => next.run(request).await,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_those_of_this_machine_and_what_the_operator_says() {
        let names = Names::new(&["code.example.org:8443".to_owned()], &["https://app.example.org:443".to_owned()]);
        for (host, is_known) in [
            ("localhost", true),
            ("LOCALHOST:8300", true),
            ("127.0.0.1:1", true),
            ("[::1]:8300", true),
            ("code.example.org:8443", true),
            ("code.example.org", false),
            ("evil.example", false),
            ("localhost.evil.example", false),
            ("", false),
        ] {
            assert_eq!(names.has_host(host), is_known, "{host}");
        }
        for (origin, is_known) in [
            ("http://localhost:3000", true),
            ("http://[::1]", true),
            ("https://app.example.org", true),
            ("https://app.example.org:444", false),
            ("https://localhost", false),
            ("http://evil.example", false),
            ("null", false),
            ("", false),
        ] {
            assert_eq!(names.has_origin(origin), is_known, "{origin}");
        }
    }
}
