//! Output that a careless reader would act on.

use std::io::Read;
use std::process::Stdio;

use rustix::fs::{OFlags, fcntl_getfl};

use crate::run::{Ending, Outcome, Program};
use crate::stage::Stage;

fn attack(stage: &Stage, program: Program, mode: &str, code: i32) -> Outcome {
    let control = stage.run_mode(program, "plain").outcome();
    control.assert_ended(Ending::completed(0));
    assert!(["plain\n", "ready\n"].contains(&&*control.stdout), "{}", control.stdout);
    let outcome = stage.run_mode(program, mode).option("--timeout", "20s").outcome();
    outcome.assert_ended(Ending::completed(code));
    outcome
}

pub(super) fn control_characters(stage: &Stage, program: Program) {
    let mut expected: String = ('\0'..' ').chain(['\x7f']).chain('\u{80}'..'\u{a0}').collect();
    expected.push_str("\x1b[31mred\x1b[0m\x1b]0;title\x07\x1b]52;c;aGk=\x07\x1b[2J\x1b[H\x1b[6n\r");
    expected
        .push_str("\u{202e}evil\u{202c}\u{2066}\u{2069}\u{200f}\u{feff}\u{2028}\u{2029}\u{e0041}\u{ffff}\u{10ffff}");
    let outcome = attack(stage, program, "control-characters", 0);
    assert_eq!(outcome.stdout, expected);
    assert_eq!(outcome.stderr, expected.chars().rev().collect::<String>());
}

pub(super) fn invalid_text(stage: &Stage, program: Program) {
    let bytes: Vec<u8> = (0..=255).chain(*b"\xed\xa0\x80\xc0\xaf\xf4\x90\x80\x80\xe2\x82").collect();
    let outcome = attack(stage, program, "invalid-text", 0);
    assert_eq!(outcome.stdout, String::from_utf8_lossy(&bytes));
    assert_eq!(outcome.stderr, "\u{fffd}".repeat(1000));
    assert_eq!((outcome.dropped.stdout, outcome.dropped.stderr), (0, 0));
}

pub(super) fn fake_result(stage: &Stage, program: Program) {
    let outcome = attack(stage, program, "fake-result", 7);
    for stream in [&outcome.stdout, &outcome.stderr] {
        assert!(stream.starts_with(r#"{"status": "completed", "exit_code": 0"#), "{stream}");
        assert!(stream.ends_with("\n\n"), "{stream}");
    }
}

pub(super) fn fake_traceback(stage: &Stage, program: Program) {
    let outcome = attack(stage, program, "fake-traceback", 0);
    assert!(outcome.error.is_none(), "a program that ended well has no error: {:?}", outcome.error);
}

pub(super) fn one_long_line(stage: &Stage, program: Program) {
    let outcome = attack(stage, program, "one-long-line", 0);
    assert_eq!((outcome.stdout.len(), outcome.dropped.stdout), (900 << 10, 0));
}

pub(super) fn cut_inside_character(stage: &Stage, program: Program) {
    let outcome = attack(stage, program, "cut-inside-character", 0);
    assert!(outcome.dropped.stdout > 0, "nothing was cut");
    let note = format!("\n[… {} bytes dropped …]\n", outcome.dropped.stdout);
    assert_eq!(outcome.stdout.replacen(&note, "", 1).trim_matches('€'), "", "a character was cut");
}

pub(super) fn nonblocking(stage: &Stage, program: Program) {
    let outcome = attack(stage, program, "nonblocking-streams", 0);
    let expected = "ready\n".len() as u64 + (4 << 20);
    let note = format!(
        "
[… {} bytes dropped …]
",
        outcome.dropped.stdout
    );
    assert_eq!(
        (outcome.stdout.len() - note.len()) as u64 + outcome.dropped.stdout,
        expected,
        "every byte is kept or counted"
    );

    // Without --json the guest's output is passed through. The caller's own description must stay as the caller made
    // it.
    let (mut reader, writer) = std::io::pipe().expect("a pipe");
    let mut command = stage.passing_through(program, "nonblocking-streams");
    command.stdin(Stdio::null()).stdout(writer.try_clone().expect("a descriptor")).stderr(Stdio::null());
    let counter =
        std::thread::spawn(move || std::io::copy(&mut reader.by_ref(), &mut std::io::sink()).expect("a pipe"));
    let mut child = command.spawn().expect("belljar starts");
    drop(command);
    let status = child.wait().expect("our own child");
    let flags = fcntl_getfl(&writer).expect("our own descriptor");
    drop(writer);
    assert_eq!(status.code(), Some(0));
    assert!(!flags.contains(OFlags::NONBLOCK), "the guest made its caller's standard output non-blocking");
    assert_eq!(counter.join().expect("it does not panic"), expected, "every byte is passed through");
}

pub(super) fn shrunken_pipe(stage: &Stage, program: Program) {
    let outcome = attack(stage, program, "shrink-pipe", 0);
    assert_eq!(outcome.stdout, format!("ready\n{}", "p".repeat(20_000)));
}
