//! A day in the life, through the protocol's own client, and the picture of it in the README. Asks this machine's registries for pandas.

use std::path::{Path, PathBuf};

use serde_json::Value;
use testkit::arena::host_command;
use testkit::conformance::command;
use testkit::runtimes::{self, CACHE};

use super::{BELLJAR, pypi};

#[test]
fn from_a_table_to_a_report() {
    let (Some(pypi), Some(cache)) = (pypi(), runtimes::provisioned(BELLJAR)) else { return };
    let transcript = Path::new(env!("CARGO_TARGET_TMPDIR")).join("day.json");
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut day = host_command(pypi.python());
    day.arg(here.join("tests/mcp_clients/day.py")).arg(BELLJAR).arg(&transcript).env(CACHE, cache);
    let answer = command::answer(day, b"");
    assert_eq!(answer.code, Some(0), "{}", answer.stderr);
    assert_drawn(&transcript, &here.join("../../docs/session.svg"));
}

/// That the picture shows these calls and answers, and nothing else.
#[track_caller]
fn assert_drawn(transcript: &PathBuf, picture: &Path) {
    let steps = std::fs::read_to_string(transcript).expect("the client wrote it");
    let steps: Vec<Value> = serde_json::from_str(&steps).expect("a list of steps");
    let lines = |part: &Value| -> Vec<String> {
        let lines = part.as_array().expect("lines").iter();
        lines.map(|line| line.as_str().expect("text").to_owned()).collect()
    };
    let said: Vec<String> =
        steps.iter().flat_map(|step| [lines(&step["asked"]), lines(&step["answered"])].concat()).collect();
    let drawn = std::fs::read_to_string(picture).expect("a picture");
    let remedy = format!("draw it again: cargo run -p bench -- picture --session {}", transcript.display());
    assert_eq!(texts(&drawn), said, "{remedy}");
    let pictures = steps.iter().filter(|step| step["picture"].is_string()).count();
    assert_eq!(drawn.matches("href=\"data:image/png;base64,").count(), pictures, "{remedy}");
}

/// What is in the elements of text of a drawing.
fn texts(drawn: &str) -> Vec<String> {
    let elements = drawn.split("<text ").skip(1).filter_map(|rest| rest.split_once("</text>"));
    let text = |(element, _): (&str, &str)| {
        let (_, inside) = element.split_once('>').expect("the end of a tag");
        // Without tags of what is coloured.
        let plain = inside.split('<').map(|part| part.split_once('>').map_or(part, |(_, text)| text));
        plain.collect::<String>().replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&")
    };
    elements.map(text).collect()
}
