//! Names of resources: `run://ID/stdout`, `run://ID/files/PATH`, `run://ID/displays/NUMBER`, `session://NAME/files/PATH`,
//! `runtime://LANGUAGE`, and the page that shows results; of parts of them, `…?offset=BYTES&limit=BYTES`.

use std::borrow::Cow;

use percent_encoding::{AsciiSet, CONTROLS, percent_decode_str, utf8_percent_encode};
use sandbox::FilePart;

use crate::app;

/// What a path may hold and a URI may not, in any part of it.
const RESERVED: &AsciiSet = &CONTROLS
    .add(b' ')
    .add(b'"')
    .add(b'#')
    .add(b'%')
    .add(b'<')
    .add(b'>')
    .add(b'?')
    .add(b'[')
    .add(b'\\')
    .add(b']')
    .add(b'^')
    .add(b'`')
    .add(b'{')
    .add(b'|')
    .add(b'}');

/// What a resource's name refers to.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Resource<'a> {
    /// `runtime://LANGUAGE`
    Runtime(&'a str),
    /// `run://ID/stdout`
    Stdout(&'a str),
    /// `run://ID/stderr`
    Stderr(&'a str),
    /// `run://ID/files/PATH`
    File(&'a str, Cow<'a, str>),
    /// `run://ID/displays/NUMBER`
    Display(&'a str, usize),
    /// `session://NAME/files/PATH`
    SessionFile(&'a str, Cow<'a, str>),
    /// The page that shows results.
    View,
}

pub(crate) fn run_file(run: &str, path: &str) -> String {
    format!("run://{run}/files/{}", utf8_percent_encode(path, RESERVED))
}

pub(crate) fn session_file(session: &str, path: &str) -> String {
    format!("session://{session}/files/{}", utf8_percent_encode(path, RESERVED))
}

pub(crate) fn run_display(run: &str, number: usize) -> String {
    format!("run://{run}/displays/{number}")
}

pub(crate) fn run_stream(run: &str, stream: &str) -> String {
    format!("run://{run}/{stream}")
}

pub(crate) fn runtime(language: &str) -> String {
    format!("runtime://{language}")
}

/// A part of what a run left, in bytes.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Part {
    pub(crate) offset: usize,
    pub(crate) limit: Option<usize>,
}

impl Part {
    /// What has to be read for it, and which part of that it is: characters at its ends may begin or end outside.
    pub(crate) fn around(self, most: usize) -> (FilePart, Self) {
        /// What a character has beside its first byte.
        const REST: usize = 3;
        let before = self.offset.min(REST);
        let limit = self.limit.unwrap_or(usize::MAX).min(most);
        let wanted = FilePart {
            offset: (self.offset - before) as u64,
            limit: limit.saturating_add(before).saturating_add(REST) as u64,
        };
        (wanted, Self { offset: before, limit: Some(limit) })
    }

    /// The part of these bytes. Characters are not cut in two: one that lies across the start is in it, one across the end is not.
    pub(crate) fn of(self, bytes: &[u8]) -> &[u8] {
        let character = |place: usize| {
            let mut start = place.min(bytes.len());
            while start > place.saturating_sub(3) && bytes.get(start).is_some_and(|byte| byte & 0xc0 == 0x80) {
                start -= 1;
            }
            start
        };
        let end = self.limit.map_or(bytes.len(), |limit| character(self.offset.saturating_add(limit)));
        bytes.get(character(self.offset)..end).unwrap_or_default()
    }
}

/// What is asked for, and which part of it. `None` for everything that is none of ours.
pub(crate) fn parse(uri: &str) -> Option<(Resource<'_>, Part)> {
    let (name, query) = uri.split_once('?').unwrap_or((uri, ""));
    let mut part = Part::default();
    for parameter in query.split('&').filter(|parameter| !parameter.is_empty()) {
        match parameter.split_once('=')? {
            ("offset", bytes) => part.offset = bytes.parse().ok()?,
            ("limit", bytes) => part.limit = Some(bytes.parse().ok()?),
            _ => return None,
        }
    }
    Some((resource(name)?, part))
}

fn resource(uri: &str) -> Option<Resource<'_>> {
    if uri == app::RESULT {
        return Some(Resource::View);
    }
    if let Some(language) = uri.strip_prefix("runtime://") {
        return Some(Resource::Runtime(language.trim_end_matches('/')));
    }
    if let Some(name) = uri.strip_prefix("session://") {
        let (session, path) = name.split_once("/files/")?;
        return Some(Resource::SessionFile(session, percent_decode_str(path).decode_utf8().ok()?));
    }
    let (run, rest) = uri.strip_prefix("run://")?.split_once('/')?;
    match rest {
        "stdout" => Some(Resource::Stdout(run)),
        "stderr" => Some(Resource::Stderr(run)),
        _ => {
            if let Some(number) = rest.strip_prefix("displays/") {
                return Some(Resource::Display(run, number.parse().ok()?));
            }
            let path = rest.strip_prefix("files/")?;
            Some(Resource::File(run, percent_decode_str(path).decode_utf8().ok()?))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_can_be_read_back() {
        for path in ["plot.png", "a/b/c.txt", "with space?#.csv", "100%.txt", "ü/日本.txt", "a[1]{2}|`^\\"] {
            let uri = run_file("r1", path);
            assert!(uri.is_ascii() && !uri.contains(' '), "{uri}");
            assert_eq!(parse(&uri), Some((Resource::File("r1", path.into()), Part::default())));
            let uri = session_file("desk", path);
            assert_eq!(parse(&uri), Some((Resource::SessionFile("desk", path.into()), Part::default())));
        }
        assert_eq!(parse(&run_stream("r1", "stdout")), Some((Resource::Stdout("r1"), Part::default())));
        assert_eq!(parse(&runtime("python")), Some((Resource::Runtime("python"), Part::default())));
        let part = Part { offset: 5, limit: Some(7) };
        assert_eq!(parse("run://r1/stderr?offset=5&limit=7"), Some((Resource::Stderr("r1"), part)));
    }

    #[test]
    fn parts_fit_together() {
        let text = "aé日𝄞z".as_bytes();
        for size in 4..12 {
            let part = |offset| Part { offset, limit: Some(size) }.of(text);
            let parts: Vec<&[u8]> = (0..text.len()).step_by(size).map(part).collect();
            assert!(parts.iter().all(|part| std::str::from_utf8(part).is_ok()), "{size}: {parts:?}");
            assert_eq!(parts.concat(), text, "{size}");
        }
        for (offset, limit) in (0..=text.len()).flat_map(|offset| (4..12).map(move |limit| (offset, limit))) {
            let part = Part { offset, limit: Some(limit) };
            let (wanted, inner) = part.around(usize::MAX);
            let start = usize::try_from(wanted.offset).expect("small");
            let end = text.len().min(start + usize::try_from(wanted.limit).expect("small"));
            assert_eq!(inner.of(&text[start..end]), part.of(text), "{offset} {limit}");
        }
        assert_eq!(Part { offset: 99, limit: None }.of(text), b"");
        assert_eq!(Part { offset: 1, limit: Some(usize::MAX) }.of(b"abc"), b"bc");
        // Bytes that are no text are not searched for long.
        assert_eq!(Part { offset: 6, limit: Some(2) }.of(&[0x80; 10]), [0x80; 2]);
    }

    #[test]
    fn other_names_are_not_ours() {
        for uri in [
            "",
            "run://",
            "run://r1",
            "run://r1/",
            "run://r1/files",
            "file:///etc/passwd",
            "run://r1/files/%ff",
            "run://r1/stdout?from=1",
            "run://r1/displays/x",
            "session://desk",
            "session://desk/files",
        ] {
            assert_eq!(parse(uri), None, "{uri}");
        }
    }
}
