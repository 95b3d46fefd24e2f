//! The drivers of live interpreters: which there are, and what they and we say to each other.
//!
//! A driver is a small program in its own language that the interpreter runs. It receives cells on descriptor 3, a
//! stream socket, and answers there; in both directions a frame is a length in decimal, a line feed, and that many
//! bytes. What it says is as trustworthy as the guest.

use std::fmt;

use sandbox::{Display, GuestError, LastValue, Plan};
use serde::Deserialize;
use serde::de::{Deserializer, IgnoredAny, SeqAccess, Visitor};

use crate::displays::{self, Shown, is_json};
use crate::tools::FoundTool;

/// How a language's interpreter becomes a live one.
#[derive(Debug)]
pub(super) struct Driver {
    /// Its files, starting with the one to run.
    pub(super) files: &'static [(&'static str, &'static str)],
    /// Arguments besides those of any program: before that file, and after it.
    pub(super) arguments: [&'static [&'static str]; 2],
    form: Form,
}

/// What a cell looks like to it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Form {
    Json,
    /// Text for a shell.
    Shell,
}

const PYTHON: Driver = Driver {
    files: &[
        ("session/python.py", include_str!("drivers/python.py")),
        ("session/values.py", include_str!("../../../../runtimes/python/driver/values.py")),
        ("session/rich.py", displays::SUPPORT.1),
    ],
    arguments: [&[], &[]],
    form: Form::Json,
};

const NODE: Driver = Driver {
    files: &[
        ("session/node.js", include_str!("drivers/node.js")),
        ("session/rewrite.js", include_str!("drivers/rewrite.js")),
    ],
    arguments: [&[], &[]],
    form: Form::Json,
};

// The same, but it removes types when told to. It calls `require`, for which Deno needs a flag.
const DENO: Driver =
    Driver { files: NODE.files, arguments: [&["--unstable-detect-cjs"], &["typescript"]], form: Form::Json };

const RUBY: Driver =
    Driver { files: &[("session/ruby.rb", include_str!("drivers/ruby.rb"))], arguments: [&[], &[]], form: Form::Json };

const BASH: Driver =
    Driver { files: &[("session/bash.sh", include_str!("drivers/bash.sh"))], arguments: [&[], &[]], form: Form::Shell };

/// The driver for the language that a tool interprets, if there is one.
pub(super) fn driver_for(language: &str, tool: &FoundTool) -> Option<&'static Driver> {
    match (language, tool.toolchain.program) {
        ("python", _) => Some(&PYTHON),
        ("javascript", "node" | "nodejs") => Some(&NODE),
        ("typescript", "deno") => Some(&DENO),
        ("ruby", "ruby") => Some(&RUBY),
        ("bash", "bash") => Some(&BASH),
        _ => None,
    }
}

/// The frame of a cell.
pub(super) fn frame(driver: &Driver, plan: &Plan, number: u32, paths: &[String]) -> Vec<u8> {
    let code = String::from_utf8_lossy(plan.code());
    let stdin = String::from_utf8_lossy(plan.stdin());
    let body = match driver.form {
        Form::Json => json(plan, number, paths, (&code, &stdin)),
        Form::Shell => shell(plan, &code, &stdin),
    };
    let mut frame = format!("{}\n", body.len()).into_bytes();
    frame.extend(body);
    frame
}

/// What messages call a cell.
pub(super) fn name(number: u32) -> String {
    format!("<cell {number}>")
}

fn json(plan: &Plan, number: u32, paths: &[String], (code, stdin): (&str, &str)) -> Vec<u8> {
    let variables: Vec<String> =
        plan.variables().iter().map(|variable| format!("\"{}\":{}", variable.name, variable.json)).collect();
    let env: serde_json::Map<String, serde_json::Value> =
        plan.env().iter().map(|(name, value)| (name.clone(), value.as_str().into())).collect();
    let head = serde_json::json!({
        "cell": number,
        "file": name(number),
        "code": code,
        "stdin": stdin,
        "args": plan.args(),
        "env": env,
        "paths": paths,
    });
    // Values are already JSON, and stay as they were written: a large number is not ours to round.
    let mut text = head.to_string();
    text.truncate(text.len() - 1);
    text.push_str(",\"variables\":{");
    text.push_str(&variables.join(","));
    text.push_str("}}");
    text.into_bytes()
}

/// A cell for a shell: its setup as commands, all on one line, and its own text, which begins on that line and so keeps
/// its line numbers.
fn shell(plan: &Plan, code: &str, stdin: &str) -> Vec<u8> {
    let quoted = |text: &str| format!("$'{}'", text.replace('\\', r"\\").replace('\'', r"\'").replace('\n', r"\n"));
    let exports = plan.env().iter().map(|(name, value)| format!("export {name}={}; ", quoted(value)));
    let arguments: Vec<String> = plan.args().iter().map(|argument| quoted(argument)).collect();
    let arguments = format!("set -- {}; ", arguments.join(" "));
    let input = if stdin.is_empty() {
        "exec </dev/null; ".to_owned()
    } else {
        // Frames are read into a variable, which cannot hold a NUL: with one here, the read would never be satisfied.
        let escaped = stdin.replace('\\', r"\\").replace('\0', r"\0000");
        format!("printf %b {} >/tmp/build/stdin; exec </tmp/build/stdin; ", quoted(&escaped))
    };
    exports.chain([arguments, input, code.to_owned()]).collect::<String>().into_bytes()
}

/// What a driver says.
#[derive(Debug, Deserialize)]
pub(super) struct Answer {
    /// The cell that can be interrupted from now on.
    #[serde(default)]
    pub(super) begun: Option<u32>,
    #[serde(default)]
    pub(super) done: Option<u32>,
    #[serde(default)]
    pub(super) exit_code: u8,
    #[serde(default)]
    value_json: Option<String>,
    #[serde(default)]
    value_repr: Option<String>,
    #[serde(default)]
    error: Option<Trouble>,
    #[serde(default, deserialize_with = "first_shown")]
    displays: Vec<Shown>,
}

/// The first things shown. A frame has room for millions of empty ones, each of which would cost many times its own
/// bytes.
fn first_shown<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<Shown>, D::Error> {
    struct First;

    impl<'de> Visitor<'de> for First {
        type Value = Vec<Shown>;

        fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
            formatter.write_str("what is shown")
        }

        fn visit_seq<A: SeqAccess<'de>>(self, mut sequence: A) -> Result<Self::Value, A::Error> {
            let mut first = Vec::new();
            while first.len() < displays::MOST_LOOKED_AT
                && let Some(shown) = sequence.next_element()?
            {
                first.push(shown);
            }
            while sequence.next_element::<IgnoredAny>()?.is_some() {}
            Ok(first)
        }
    }

    deserializer.deserialize_seq(First)
}

#[derive(Debug, Deserialize)]
struct Trouble {
    kind: String,
    message: String,
    #[serde(default)]
    line: Option<u32>,
}

impl Answer {
    pub(super) fn value(&self) -> Option<LastValue> {
        match (&self.value_json, &self.value_repr) {
            (Some(json), _) if is_json(json) => Some(LastValue::Json(json.clone())),
            (_, Some(printed)) => Some(LastValue::Printed(printed.clone())),
            _ => None,
        }
    }

    pub(super) fn error(&self) -> Option<GuestError> {
        let error = self.error.as_ref()?;
        Some(GuestError { kind: error.kind.clone(), message: error.message.clone(), line: error.line, hint: None })
    }

    /// What it shows, as far as that is what it claims to be.
    pub(super) fn displays(self) -> Vec<Display> {
        Display::within_limits(self.displays.into_iter().filter_map(Shown::check)).0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_millions_that_say_nothing_a_few_are_kept() {
        let many = vec![r#"{"mime":""}"#; 100_000].join(",");
        let answer: Answer = serde_json::from_str(&format!(r#"{{"displays":[{many}],"done":2}}"#)).expect("an answer");
        assert_eq!((answer.displays.len(), answer.done), (displays::MOST_LOOKED_AT, Some(2)));
    }
}
