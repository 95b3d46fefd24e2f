//! Addresses for `URL`.

use url::{Url, quirks};

/// An address and its parts, each on a line, in the prelude's order. `None` if the text is no address.
pub(super) fn parse(text: &str, base: Option<&str>) -> Option<String> {
    let base = match base {
        Some(base) => Some(Url::parse(base).ok()?),
        None => None,
    };
    Url::options().base_url(base.as_ref()).parse(text).ok().map(|url| parts(&url))
}

/// The address with one of its parts replaced. An invalid value changes nothing; if it was to replace the whole
/// address, the answer is `None`.
pub(super) fn set(href: &str, part: &str, value: &str) -> Option<String> {
    let mut url = Url::parse(href).ok()?;
    match part {
        "href" => url = Url::parse(value).ok()?,
        "protocol" => drop(quirks::set_protocol(&mut url, value)),
        "username" => drop(quirks::set_username(&mut url, value)),
        "password" => drop(quirks::set_password(&mut url, value)),
        "host" => drop(quirks::set_host(&mut url, value)),
        "hostname" => drop(quirks::set_hostname(&mut url, value)),
        "port" => drop(quirks::set_port(&mut url, value)),
        "pathname" => quirks::set_pathname(&mut url, value),
        "search" => quirks::set_search(&mut url, value),
        "hash" => quirks::set_hash(&mut url, value),
        _ => return None,
    }
    Some(parts(&url))
}

pub(super) fn to_ascii(domain: &str) -> String {
    quirks::domain_to_ascii(domain)
}

pub(super) fn to_unicode(domain: &str) -> String {
    quirks::domain_to_unicode(domain)
}

fn parts(url: &Url) -> String {
    // No part can contain the end of a line: the parser takes them out.
    [
        quirks::href(url),
        &quirks::origin(url),
        quirks::protocol(url),
        quirks::username(url),
        quirks::password(url),
        quirks::host(url),
        quirks::hostname(url),
        quirks::port(url),
        quirks::pathname(url),
        quirks::search(url),
        quirks::hash(url),
    ]
    .join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_of_an_address() {
        assert_eq!(
            parse("../x?y#z", Some("https://u:p@ex%41mple.com:8080/a/b/c")).as_deref(),
            Some(
                "https://u:p@example.com:8080/a/x?y#z\nhttps://example.com:8080\nhttps:\nu\np\nexample.com:8080\nexample.com\n8080\n/a/x\n?y\n#z"
            ),
        );
        assert_eq!(parse("nope", None), None);
        assert_eq!(parse("/x", Some("nope")), None);
        assert_eq!(parse("file:///a\n/b", None).map(|text| text.split('\n').count()), Some(11));
    }

    #[test]
    fn parts_are_set() {
        let href = |text: Option<String>| text.and_then(|text| text.lines().next().map(str::to_owned));
        assert_eq!(href(set("http://a/b", "pathname", "/c d")), Some("http://a/c%20d".to_owned()));
        assert_eq!(href(set("http://a/b", "port", "no")), Some("http://a/b".to_owned()));
        assert_eq!(set("http://a/b", "href", "no"), None);
    }
}
