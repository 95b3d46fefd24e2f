//! Hosts that an operator lets runs connect to. None by default.

use std::fmt;
use std::str::FromStr;

use crate::Refusal;

/// Hosts by name: `example.org`, `*.example.org` for everything below it, or `*` for every public one. On the two ports
/// of the web, or on the one given (`example.org:8443`). Addresses are not accepted: a name is looked up, and the
/// result checked, for each connection.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HostPattern {
    name: NamePattern,
    port: Option<u16>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum NamePattern {
    Any,
    /// Everything below this zone, but not the zone itself.
    Below(String),
    One(String),
}

/// What an operator allows on the network.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct NetworkPolicy {
    /// What callers may ask for.
    pub allowed: Vec<HostPattern>,
    /// What every run gets, besides what it asks for.
    pub always: Vec<HostPattern>,
}

impl NetworkPolicy {
    /// How many hosts a request may name.
    pub const MOST: usize = 64;

    /// What a run gets if it asks for these.
    pub(crate) fn admit(&self, asked: &[String]) -> Result<Vec<HostPattern>, Refusal> {
        if asked.len() > Self::MOST {
            let message = format!("`network` names {} hosts, above the limit of {}", asked.len(), Self::MOST);
            return Err(Refusal::new("network", message, "name those that the program needs"));
        }
        let mut hosts = self.always.clone();
        for text in asked {
            let pattern = self.admit_one(text)?;
            if !hosts.contains(&pattern) {
                hosts.push(pattern);
            }
        }
        Ok(hosts)
    }

    fn admit_one(&self, text: &str) -> Result<HostPattern, Refusal> {
        let pattern: HostPattern = text.parse()?;
        if pattern.is_within(self.all()) {
            return Ok(pattern);
        }
        let list = self.all().map(|allowed| format!("`{allowed}`")).collect::<Vec<_>>().join(", ");
        let (message, hint) = if list.is_empty() {
            let message = format!("`network` asks for `{pattern}`, and this server gives no run a network");
            (message, "leave `network` out; put what the program needs into `files`".to_owned())
        } else {
            let message = format!("`network` asks for `{pattern}`, which this server's operator does not allow");
            (message, format!("ask for hosts among {list}"))
        };
        Err(Refusal::new("network", message, hint))
    }

    /// Everything that a run may have.
    pub fn all(&self) -> impl Iterator<Item = &HostPattern> {
        self.always.iter().chain(self.allowed.iter().filter(|pattern| !self.always.contains(pattern)))
    }
}

impl HostPattern {
    /// The ports of a pattern that names none: those of `http` and `https`.
    const WEB: &[u16] = &[80, 443];

    fn ports(&self) -> &[u16] {
        self.port.as_ref().map_or(Self::WEB, std::slice::from_ref)
    }

    /// Whether these patterns together cover everything that this one does.
    pub fn is_within<'a>(&self, allowed: impl IntoIterator<Item = &'a Self>) -> bool {
        let allowed: Vec<&Self> = allowed.into_iter().collect();
        let has =
            |port: &u16| allowed.iter().any(|other| other.ports().contains(port) && other.name.covers(&self.name));
        self.ports().iter().all(has)
    }
}

impl NamePattern {
    fn covers(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Any, _) => true,
            (Self::Below(zone), Self::Below(name)) if zone == name => true,
            (Self::Below(zone), Self::One(name) | Self::Below(name)) => {
                name.strip_suffix(zone.as_str()).is_some_and(|rest| rest.ends_with('.'))
            }
            (Self::One(one), Self::One(other)) => one == other,
            (Self::Below(_) | Self::One(_), Self::Any) | (Self::One(_), Self::Below(_)) => false,
        }
    }
}

impl FromStr for HostPattern {
    type Err = Refusal;

    fn from_str(text: &str) -> Result<Self, Refusal> {
        let refused = || {
            let shown: String = text.chars().flat_map(char::escape_debug).take(80).collect();
            let message = format!("`{shown}` is not a host name that can be granted");
            Refusal::new("network", message, "write `example.org`, `*.example.org` or `example.org:8443`")
        };
        let (name, port) = match text.split_once(':') {
            Some((name, port)) => (name, Some(parse_port(port).ok_or_else(refused)?)),
            None => (text, None),
        };
        let name = match name.strip_prefix('*') {
            Some("") => NamePattern::Any,
            Some(below) => NamePattern::Below(below.strip_prefix('.').and_then(parse_name).ok_or_else(refused)?),
            None => NamePattern::One(parse_name(name).ok_or_else(refused)?),
        };
        Ok(Self { name, port })
    }
}

impl fmt::Display for HostPattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.name {
            NamePattern::Any => f.write_str("*")?,
            NamePattern::Below(zone) => write!(f, "*.{zone}")?,
            NamePattern::One(name) => f.write_str(name)?,
        }
        self.port.map_or(Ok(()), |port| write!(f, ":{port}"))
    }
}

/// A name in lower case, which nothing can mistake for an address.
fn parse_name(text: &str) -> Option<String> {
    let text = text.strip_suffix('.').unwrap_or(text);
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'_';
    let is_label = |label: &str| (1..=63).contains(&label.len()) && label.bytes().all(is_plain);
    // `127.1`, `0x7f.1` and `2130706433` are addresses to the C library.
    let is_number = |label: &str| match label.strip_prefix("0x").or(label.strip_prefix("0X")) {
        Some(digits) => digits.bytes().all(|byte| byte.is_ascii_hexdigit()),
        None => label.bytes().all(|byte| byte.is_ascii_digit()),
    };
    let is_name = text.len() <= 253 && text.split('.').all(is_label) && !text.rsplit('.').next().is_some_and(is_number);
    is_name.then(|| text.to_ascii_lowercase())
}

fn parse_port(text: &str) -> Option<u16> {
    // Rust would accept `+443` as well.
    let digits = text.bytes().all(|byte| byte.is_ascii_digit());
    text.parse().ok().filter(|port| digits && *port != 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn patterns(texts: &[&str]) -> Vec<HostPattern> {
        texts.iter().map(|text| text.parse().expect("a pattern")).collect()
    }

    #[test]
    fn spellings() {
        for (text, shown) in [
            ("Example.ORG.", "example.org"),
            ("example.org:8443", "example.org:8443"),
            ("*.example.org", "*.example.org"),
            ("*", "*"),
            ("*:80", "*:80"),
            ("localhost", "localhost"),
        ] {
            assert_eq!(text.parse::<HostPattern>().expect(text).to_string(), shown);
        }
        let bad =
            ["", "*example.org", "a.*.org", "*.", "**", "1.2.3.4", "127.1", "0x7f.1", "[::1]", "::1", "a:0", "a:+1"];
        for text in bad.into_iter().chain(["a:1:2", "http://a", "a/b", "a b", "ä.org", "a..b", "a:"]) {
            assert!(text.parse::<HostPattern>().is_err(), "{text}");
        }
    }

    #[test]
    fn what_is_within_what() {
        for (allowed, asked) in [
            (&["*"][..], "example.org"),
            (&["*"], "*"),
            (&["*"], "*.org:443"),
            (&["*.example.org"], "a.example.org"),
            (&["*.example.org"], "*.a.example.org"),
            (&["*.example.org"], "*.example.org:80"),
            (&["example.org:80", "example.org:443"], "example.org"),
            (&["example.org:8443"], "example.org:8443"),
        ] {
            let policy = NetworkPolicy { allowed: patterns(allowed), ..NetworkPolicy::default() };
            assert_eq!(policy.admit(&[asked.to_owned()]).expect(asked), patterns(&[asked]));
        }
        for (allowed, asked) in [
            (&["*"][..], "example.org:8443"),
            (&["example.org"], "*"),
            (&["example.org"], "a.example.org"),
            (&["*.example.org"], "example.org"),
            (&["*.example.org"], "badexample.org"),
            (&["*.a.example.org"], "*.example.org"),
            (&["example.org:443"], "example.org"),
        ] {
            let policy = NetworkPolicy { allowed: patterns(allowed), ..NetworkPolicy::default() };
            let refusal = policy.admit(&[asked.to_owned()]).expect_err(asked);
            let message = format!("`network` asks for `{asked}`, which this server's operator does not allow");
            assert_eq!(refusal.message(), message);
        }
    }

    #[test]
    fn what_is_asked_for_comes_on_top() {
        let policy = NetworkPolicy { allowed: patterns(&["b.org", "a.org"]), always: patterns(&["a.org"]) };
        for (asked, had) in [(&[][..], &["a.org"][..]), (&["a.org"], &["a.org"]), (&["b.org"], &["a.org", "b.org"])] {
            let asked: Vec<String> = asked.iter().map(ToString::to_string).collect();
            assert_eq!(policy.admit(&asked).expect("admitted"), patterns(had));
        }
        let refusal = policy.admit(&["c.org".to_owned()]).expect_err("more");
        assert_eq!(refusal.hint(), "ask for hosts among `a.org`, `b.org`");
    }
}
