//! What a call says.

use sandbox::{Outcome, SessionState, Status, Stream};

use super::Tongue;
use crate::profiles::transcript::{Line, Transcript};
use crate::profiles::{Call, Verdict};

const TIP: &str = "(no output)\n\n**Tip:** what is not printed, with `console.log()` for instance, is not seen.";
const BROKEN: &str = "\n\n**Syntax Error Detected!** Send the program's text as it is, with real newlines and quotes.";
const ABSENT: &str = "\n\n**Missing dependency detected!** Map the import's name to its package in `packages`, such as {\"cv2\": \"opencv-python\"}.";

impl Call<'_> {
    /// What came of a program, after remarks on it.
    pub(super) fn shown(
        &self,
        heard: &Transcript,
        outcome: &Outcome,
        tongue: Tongue,
        remarks: &[String],
    ) -> (String, Verdict) {
        let lost = match &outcome.state {
            Some(SessionState::Lost(reason)) => Some(format!("variables of earlier calls are gone: {reason}")),
            Some(SessionState::Gone) => Some("variables and files of earlier calls are gone".to_owned()),
            Some(SessionState::Kept) | None => None,
        };
        let remarks = remarks.iter().chain(&lost).flat_map(|remark| ["[stderr] ", remark, "\n"]);
        let text = remarks.collect::<String>() + &output(heard, outcome, tongue);
        let mark = match tongue {
            Tongue::Python => "[err][py]",
            Tongue::JavaScript => "[err][js]",
        };
        match outcome.status {
            Status::Completed { exit_code: 0 } if text.is_empty() => match tongue {
                Tongue::Python => ("(no output)".to_owned(), Verdict::Fine),
                Tongue::JavaScript => (TIP.to_owned(), Verdict::Fine),
            },
            Status::Completed { exit_code: 0 } => (text, Verdict::Fine),
            Status::TimedOut => (text + mark + " timeout", Verdict::Fine),
            Status::Completed { .. } if outcome.error.is_some() => (text + advice(outcome, tongue), Verdict::Error),
            Status::Completed { .. } | Status::Crashed { .. } | Status::LimitExceeded(_) | Status::Cancelled => {
                (format!("{text}{mark} {}", self.ending(outcome)), Verdict::Error)
            }
        }
    }
}

fn advice(outcome: &Outcome, tongue: Tongue) -> &'static str {
    match (tongue, outcome.error.as_ref().map(|error| error.kind.as_str())) {
        (Tongue::Python, Some("SyntaxError" | "IndentationError" | "TabError")) => BROKEN,
        (Tongue::Python, Some("ModuleNotFoundError")) => ABSENT,
        _ => "",
    }
}

fn output(heard: &Transcript, outcome: &Outcome, tongue: Tongue) -> String {
    let marked = |(stream, text): &Line| match stream {
        Stream::Stdout => text.clone(),
        Stream::Stderr => format!("[stderr] {text}"),
    };
    match tongue {
        Tongue::JavaScript => heard.chunks().iter().map(marked).collect(),
        Tongue::Python => {
            let lines = heard.lines();
            let (printed, report) =
                lines.split_at(if outcome.error.is_some() { report_at(&lines) } else { lines.len() });
            let report: String = report.iter().map(|(_, line)| as_there(line)).collect();
            printed.iter().map(marked).collect::<String>() + &report
        }
    }
}

/// A line of a traceback, in which the program is called what the original calls it.
fn as_there(line: &str) -> String {
    let named = line.strip_prefix("  File \"<cell ").and_then(|rest| rest.split_once(">\""));
    named.map_or_else(|| line.to_owned(), |(_, rest)| format!("  File \"<exec>\"{rest}"))
}

/// Where the report of an exception begins that nobody caught: it is the last that was printed.
fn report_at(lines: &[Line]) -> usize {
    let begins =
        |(stream, line): &Line| *stream == Stream::Stderr && line.starts_with("Traceback (most recent call last):");
    let names = |(stream, line): &Line| *stream == Stream::Stderr && line.starts_with("  File \"");
    let last = |is: &dyn Fn(&Line) -> bool| lines.iter().rposition(is);
    last(&begins).or_else(|| last(&names)).unwrap_or(lines.len())
}
