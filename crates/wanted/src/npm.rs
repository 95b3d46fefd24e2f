use std::fmt;

use crate::excerpt::Excerpt;

#[cfg(test)]
mod tests;

/// A checked npm package: a name that npm's registry could hold, and a range of versions or a tag.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct NpmSpec {
    name: String,
    range: String,
}

/// Why a text names no npm package that could be served.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum NpmError {
    /// Nothing, or only spaces.
    #[error("an npm package is empty: write a name such as `lodash`, or `lodash@^4.17`")]
    Empty,
    /// Longer than [`NpmSpec::MAX_LENGTH`].
    #[error("`{0}` goes on for more than {max} characters: write a name and a range, such as `lodash@^4.17`", max = NpmSpec::MAX_LENGTH)]
    TooLong(Excerpt),
    /// NUL, newline or another control character.
    #[error("`{0}` contains a control character: write one package at a time, such as `lodash@^4.17`")]
    ControlCharacter(Excerpt),
    /// Starts with `-`.
    #[error("`{0}` is an option of a package manager: only packages can be asked for, such as `lodash@^4.17`")]
    Option(Excerpt),
    /// From JSR.
    #[error("`{0}` is from JSR, and only npm is served: write an npm package, such as `zod@3`")]
    Jsr(Excerpt),
    /// Another name for a package.
    #[error("`{0}` gives a package another name: write the package's own, such as `zod@3`")]
    Alias(Excerpt),
    /// A URL, a repository, a path or an archive.
    #[error(
        "`{0}` is a place, and packages come from the registry alone: write a name and a range, such as `lodash@^4.17`"
    )]
    Location(Excerpt),
    /// Against npm's rules for names.
    #[error("`{0}` is not a name that npm allows: write a lower-case one, such as `lodash` or `@types/node`")]
    Name(Excerpt),
    /// Neither a range nor a tag.
    #[error("`{0}` is not a range of versions: write one such as `^4.17`, `>=3 <4`, `1.x || 2` or `latest`")]
    Range(Excerpt),
}

impl NpmSpec {
    /// The longest text that is read, in characters. A name has up to 214 of them.
    pub const MAX_LENGTH: usize = 512;

    /// Checks a caller's package: `lodash`, `lodash@^4.17`, `@scope/name@~1.2.3`, `npm:zod@3`, `zod@latest`.
    pub fn parse(text: &str) -> Result<Self, NpmError> {
        let text = text.trim_matches(' ');
        let refused = |error: fn(Excerpt) -> NpmError| Err(error(Excerpt::of(text)));
        if text.is_empty() {
            return Err(NpmError::Empty);
        } else if text.chars().count() > Self::MAX_LENGTH {
            return refused(NpmError::TooLong);
        } else if text.chars().any(char::is_control) {
            return refused(NpmError::ControlCharacter);
        } else if text.starts_with('-') {
            return refused(NpmError::Option);
        } else if text.starts_with("jsr:") || text.contains("@jsr:") {
            return refused(NpmError::Jsr);
        } else if text.contains("@npm:") {
            return refused(NpmError::Alias);
        }
        let package = text.strip_prefix("npm:").unwrap_or(text);
        // The first `@` belongs to a scope.
        let at = package.char_indices().skip(1).find(|(_, character)| *character == '@').map(|(at, _)| at);
        let (name, range) = at.and_then(|at| package.split_at_checked(at)).unwrap_or((package, "@*"));
        let range = range.strip_prefix('@').unwrap_or(range);
        if is_location(name, range) {
            return refused(NpmError::Location);
        } else if !is_name(name) {
            return refused(NpmError::Name);
        }
        let range = canonical_range(range).ok_or_else(|| NpmError::Range(Excerpt::of(range)))?;
        Ok(Self { name: name.to_owned(), range })
    }

    /// The package of that name, at any version.
    pub(crate) fn of_name(name: &str) -> Result<Self, NpmError> {
        if is_name(name) {
            Ok(Self { name: name.to_owned(), range: "*".to_owned() })
        } else {
            Err(NpmError::Name(Excerpt::of(name)))
        }
    }

    /// The name, with its scope.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The range of versions or the tag; `*` if none was given.
    pub fn range(&self) -> &str {
        &self.range
    }
}

/// `name@range`, as npm and Deno read it.
impl fmt::Display for NpmSpec {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}@{}", self.name, self.range)
    }
}

fn is_location(name: &str, range: &str) -> bool {
    let slashes = name.matches('/').count();
    let is_archive = [".tgz", ".tar.gz"].iter().any(|end| name.ends_with(end) || range.ends_with(end));
    name.contains([':', '\\', '~'])
        || range.contains([':', '/', '\\'])
        || name.starts_with("./")
        || name.starts_with("..")
        || slashes > usize::from(name.starts_with('@'))
        || is_archive
}

/// npm's rules for new names, which a few old ones break (`JSONStream`).
fn is_name(name: &str) -> bool {
    let is_part = |part: &str| {
        !part.is_empty()
            && !part.starts_with(['.', '_'])
            && part.bytes().all(|byte| matches!(byte, b'a'..=b'z' | b'0'..=b'9' | b'-' | b'.' | b'_'))
    };
    let is_reserved = matches!(name, "node_modules" | "favicon.ico");
    let parts = name.strip_prefix('@').map_or((None, name), |scoped| match scoped.split_once('/') {
        Some((scope, name)) => (Some(scope), name),
        None => (Some(""), scoped),
    });
    name.len() <= 214 && !is_reserved && !name.starts_with('-') && parts.0.is_none_or(is_part) && is_part(parts.1)
}

/// A range as npm's `semver` reads it, or a tag, with single spaces.
fn canonical_range(range: &str) -> Option<String> {
    if is_tag(range) {
        return Some(range.to_owned());
    }
    let mut alternatives = Vec::new();
    for alternative in range.split("||") {
        let words: Vec<&str> = alternative.split(' ').filter(|word| !word.is_empty()).collect();
        let is_alternative = match words.as_slice() {
            [] => false,
            [from, "-", to] => is_version(from) && is_version(to),
            words => are_comparators(words),
        };
        if !is_alternative {
            return None;
        }
        alternatives.push(words.join(" "));
    }
    Some(alternatives.join(" || "))
}

/// Whether each word is a version with or without an operator, which may stand apart from it: `>= 3 <4`.
fn are_comparators(words: &[&str]) -> bool {
    let mut wants_version = false;
    for word in words {
        let version = word.trim_start_matches(['<', '>', '=', '^', '~']);
        let operator = word.strip_suffix(version).unwrap_or_default();
        let is_operator = matches!(operator, "" | "<" | "<=" | ">" | ">=" | "=" | "^" | "~" | "~>");
        if !is_operator || (wants_version && !operator.is_empty()) || !(version.is_empty() || is_version(version)) {
            return false;
        }
        wants_version = version.is_empty();
    }
    !wants_version
}

/// `1`, `1.2`, `1.x`, `v1.2.3-beta.1+build`, `*`.
fn is_version(version: &str) -> bool {
    let version = version.strip_prefix('v').unwrap_or(version);
    let (version, build) = version.split_once('+').map_or((version, None), |(version, build)| (version, Some(build)));
    let (numbers, release) =
        version.split_once('-').map_or((version, None), |(numbers, release)| (numbers, Some(release)));
    let is_number = |part: &str| {
        matches!(part, "x" | "X" | "*") || (!part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit()))
    };
    let is_suffix = |suffix: &str| {
        let is_part =
            |part: &str| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-');
        suffix.split('.').all(is_part)
    };
    let parts = numbers.split('.').count();
    parts <= 3
        && numbers.split('.').all(is_number)
        && (parts == 3 || (release.is_none() && build.is_none()))
        && release.is_none_or(is_suffix)
        && build.is_none_or(is_suffix)
}

/// A word that is no range: `latest`, `next`, `canary-2`.
fn is_tag(range: &str) -> bool {
    range.starts_with(|first: char| first.is_ascii_alphabetic())
        && range.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.'))
        && !is_version(range)
}
