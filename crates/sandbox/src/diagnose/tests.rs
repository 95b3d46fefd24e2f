//! What holds for every language. What is read from each tool's own output is tested next to its parser, on output
//! captured from the tool itself, with its directory replaced by `/box`.

use proptest::prelude::*;

use super::{DIALECTS, Evidence, KIND_BYTES, MESSAGE_BYTES, Step, diagnose};
use crate::{GuestError, Language};

/// One language's tools, for tables of what they printed and what we read from it.
pub(super) struct Tool {
    language: &'static str,
    source: &'static str,
}

impl Tool {
    pub(super) const fn new(language: &'static str, source: &'static str) -> Self {
        Self { language, source }
    }

    #[track_caller]
    pub(super) fn compile(&self, stderr: &str, expected: Option<GuestError>) {
        self.check(Step::Compile, stderr, "", expected);
    }

    #[track_caller]
    pub(super) fn run(&self, stderr: &str, expected: Option<GuestError>) {
        self.check(Step::Run, stderr, "", expected);
    }

    #[track_caller]
    #[expect(clippy::needless_pass_by_value, reason = "tables of expected values read better without `&`")]
    pub(super) fn check(&self, step: Step, stderr: &str, stdout: &str, expected: Option<GuestError>) {
        let Self { language, source } = *self;
        assert_eq!(diagnose(&Evidence { language, step, stderr, stdout, source }), expected);
    }
}

/// An error without a hint; line 0 means none.
#[expect(clippy::unnecessary_wraps, reason = "stands beside `None` in tables")]
pub(super) fn found(kind: &str, message: &str, line: u32) -> Option<GuestError> {
    let line = (line > 0).then_some(line);
    Some(GuestError { kind: kind.to_owned(), message: message.to_owned(), line, hint: None })
}

#[test]
fn every_dialect_is_of_a_language_in_the_table() {
    for language in DIALECTS.iter().flat_map(|dialect| dialect.languages) {
        assert!(Language::all().iter().any(|row| row.id == *language), "{language}");
    }
}

#[test]
fn unknown_languages_are_read_for_located_messages() {
    let kit = Tool::new("kit", "main.kit");
    kit.compile("/box/main.kit:3:5: error: expected ';'\n", found("CompileError", "expected ';'", 3));
    kit.compile("main.kit:3: note: here\nmain.kit:4: stray brace\n", found("CompileError", "stray brace", 4));
    kit.run("noise\nmain.kit:7:1: warning: unused\nmain.kit:9: error: bad\n", found("Error", "bad", 9));
    kit.run("noise: at 3\n", None);
}

#[test]
fn memory_errors_carry_a_hint() {
    let evidence = Evidence {
        language: "python",
        step: Step::Run,
        stderr: "Traceback (most recent call last):\n  File \"/box/main.py\", line 1, in <module>\n    x = bytearray(10**15)\nMemoryError\n",
        stdout: "",
        source: "main.py",
    };
    let expected = GuestError {
        kind: "MemoryError".to_owned(),
        message: String::new(),
        line: Some(1),
        hint: Some("the program ran out of memory: ask for more with `memory_mb`, or use less".to_owned()),
    };
    assert_eq!(diagnose(&evidence), Some(expected));
}

#[test]
fn messages_are_capped_on_a_character_and_lose_control_characters() {
    let python = Tool::new("python", "main.py");
    let head = "Traceback (most recent call last):\n  File \"/box/main.py\", line 1, in <module>\nValueError: ";
    python.run(&format!("{head}a\x07\x1b[31mb\x1b[0m\tc\u{85}d\n"), found("ValueError", "ab cd", 1));
    python.run(&format!("{head}{}\n", "é".repeat(3_000)), found("ValueError", &"é".repeat(1_000), 1));
    python.run(&format!("{head}x{}\n", "é".repeat(3_000)), found("ValueError", &format!("x{}", "é".repeat(999)), 1));
}

#[test]
fn a_run_is_read_from_its_end_and_a_compiler_from_its_start() {
    let noise = "noise é\n".repeat(100_000);
    let python = Tool::new("python", "main.py");
    let traceback = "Traceback (most recent call last):\n  File \"/box/main.py\", line 1, in <module>\nKeyError: 'k'\n";
    python.run(&format!("{noise}{traceback}"), found("KeyError", "'k'", 1));
    python.run(&format!("{traceback}{noise}"), None);
    let c = Tool::new("c", "main.c");
    c.compile(&format!("main.c:2:1: error: first\n{noise}"), found("CompileError", "first", 2));
    c.compile(&format!("{noise}main.c:2:1: error: first\n"), None);
}

/// Pieces that the parsers look for, so that arbitrary text gets past their first test.
const PIECES: &[&str] = &[
    "\n",
    "\n\n",
    " ",
    "  ",
    "    ",
    "\t",
    ":",
    ": ",
    "(",
    ")",
    "\"",
    "'",
    "^",
    "@",
    "|",
    "-",
    "1",
    "23",
    "99999999999",
    "é",
    "\u{1b}[31m",
    "\u{0}",
    "main.x",
    "/box/main.x",
    "./main.x",
    "file:///box/main.x",
    "/usr/lib/main.x",
    "Traceback (most recent call last):",
    "  File \"",
    "  | ",
    "  + ",
    "Error: ",
    "error: ",
    "ERROR: ",
    "error[E0308]: ",
    " --> ",
    "Uncaught ",
    "Node.js v20",
    "    at ",
    "\tat ",
    "\tfrom ",
    "in `",
    "in '",
    "Caused by: ",
    "Exception in thread \"",
    "Caught: ",
    "Unhandled ",
    " in thread ",
    ">:",
    "panic: ",
    "goroutine ",
    "panicked at ",
    "thread '",
    "terminate called ",
    "what():  ",
    "Assertion `",
    "' failed.",
    "Fortran runtime error: ",
    "stack traceback:",
    "lua: ",
    "PHP Fatal error:  ",
    "thrown in ",
    "Next ",
    " on line ",
    " line ",
    "  in block <unit> at ",
    "===SORRY!===",
    "while executing",
    "Execution halted",
    "error: called from",
    "near line ",
    "In procedure ",
    "Call history:",
    "context...:",
    "** (",
    "escript: exception ",
    "Exception: ",
    "Fatal error: exception ",
    "CallStack (from HasCallStack):",
    "program: ",
    "required from here",
    "undefined reference to ",
];

fn output() -> impl Strategy<Value = String> {
    let piece = prop_oneof![4 => proptest::sample::select(PIECES).prop_map(str::to_owned), 1 => any::<String>()];
    proptest::collection::vec(piece, 0..60).prop_map(|pieces| pieces.concat())
}

fn language() -> impl Strategy<Value = String> {
    let known: Vec<&str> = DIALECTS.iter().flat_map(|dialect| dialect.languages).copied().collect();
    prop_oneof![9 => proptest::sample::select(known).prop_map(str::to_owned), 1 => any::<String>()]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 1_024, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_output_gives_a_bounded_answer(
        language in language(),
        step in prop_oneof![Just(Step::Compile), Just(Step::Run)],
        stderr in output(),
        stdout in output(),
        source in prop_oneof![9 => Just("main.x".to_owned()), 1 => any::<String>()],
    ) {
        let evidence = Evidence { language: &language, step, stderr: &stderr, stdout: &stdout, source: &source };
        if let Some(error) = diagnose(&evidence) {
            prop_assert!(!error.kind.is_empty() && error.kind.len() <= KIND_BYTES);
            prop_assert!(error.message.len() <= MESSAGE_BYTES);
            prop_assert!(!error.kind.contains(char::is_control) && !error.message.contains(char::is_control));
            prop_assert_ne!(error.line, Some(0));
        }
    }
}
