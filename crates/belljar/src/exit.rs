//! Exit codes and last words.

use std::io::{self, Write as _};
use std::process::ExitCode;

use runtime::RunError;
use sandbox::{Refusal, Status};

/// belljar refused or failed; the program did not run, or nobody knows how it ended.
pub(crate) const REFUSED_OR_FAILED: u8 = 125;
const TIMED_OUT: u8 = 124;
const KILLED: u8 = 137;
/// 128 and the signal's number, as shells do.
pub(crate) const INTERRUPTED: u8 = 130;
pub(crate) const TERMINATED: u8 = 143;
pub(crate) const READER_GONE: u8 = 141;

/// The exit code of `belljar run`.
pub(crate) fn of(status: Status) -> u8 {
    match status {
        Status::Completed { exit_code } => exit_code,
        Status::TimedOut => TIMED_OUT,
        Status::Crashed { .. } | Status::LimitExceeded(_) => KILLED,
        Status::Cancelled => INTERRUPTED,
    }
}

/// A command line that makes no sense, or asks for help.
pub(crate) fn usage(error: &clap::Error) -> ExitCode {
    error.print().ok();
    if error.use_stderr() { ExitCode::from(REFUSED_OR_FAILED) } else { ExitCode::SUCCESS }
}

/// Says what failed and why, on standard error.
pub(crate) fn failure(error: &anyhow::Error) -> ExitCode {
    if error.downcast_ref::<io::Error>().is_some_and(|error| error.kind() == io::ErrorKind::BrokenPipe) {
        // Whoever read our output has seen enough.
        return ExitCode::from(READER_GONE);
    }
    let text = if let Some(refusal) = refusal_in(error) {
        format!("error: {}\n\nhint: {}\n", refusal.message(), in_flags(refusal.hint()))
    } else {
        let causes: Vec<String> = error.chain().skip(1).map(|cause| format!("  caused by: {cause}\n")).collect();
        format!("error: {error}\n{}", causes.concat())
    };
    io::stderr().write_all(text.as_bytes()).ok();
    ExitCode::from(REFUSED_OR_FAILED)
}

/// A hint as it is followed on the command line, where the language has a flag.
fn in_flags(hint: &str) -> String {
    let with_example = hint.replace("set `language`, such as `python`", "name it with `-l`, such as `-l python`");
    with_example.replace("set `language`", "name it with `-l`")
}

fn refusal_in(error: &anyhow::Error) -> Option<&Refusal> {
    match error.downcast_ref::<RunError>() {
        Some(RunError::Refused(refusal)) => Some(refusal),
        Some(RunError::Failed(_)) => None,
        None => error.downcast_ref::<Refusal>(),
    }
}
