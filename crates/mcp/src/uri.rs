//! Names of resources: `run://ID/stdout`, `run://ID/files/PATH`, `runtime://LANGUAGE`.

use std::borrow::Cow;

use percent_encoding::{AsciiSet, CONTROLS, percent_decode_str, utf8_percent_encode};

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
}

pub(crate) fn run_file(run: &str, path: &str) -> String {
    format!("run://{run}/files/{}", utf8_percent_encode(path, RESERVED))
}

pub(crate) fn run_stream(run: &str, stream: &str) -> String {
    format!("run://{run}/{stream}")
}

pub(crate) fn runtime(language: &str) -> String {
    format!("runtime://{language}")
}

/// `None` for everything that is none of ours.
pub(crate) fn parse(uri: &str) -> Option<Resource<'_>> {
    if let Some(language) = uri.strip_prefix("runtime://") {
        return Some(Resource::Runtime(language.trim_end_matches('/')));
    }
    let (run, rest) = uri.strip_prefix("run://")?.split_once('/')?;
    match rest {
        "stdout" => Some(Resource::Stdout(run)),
        "stderr" => Some(Resource::Stderr(run)),
        _ => {
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
            assert_eq!(parse(&uri), Some(Resource::File("r1", path.into())));
        }
        assert_eq!(parse(&run_stream("r1", "stdout")), Some(Resource::Stdout("r1")));
        assert_eq!(parse(&runtime("python")), Some(Resource::Runtime("python")));
    }

    #[test]
    fn other_names_are_not_ours() {
        for uri in ["", "run://", "run://r1", "run://r1/", "run://r1/files", "file:///etc/passwd", "run://r1/files/%ff"]
        {
            assert_eq!(parse(uri), None, "{uri}");
        }
    }
}
