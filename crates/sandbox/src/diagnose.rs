//! What went wrong, in the guest's own words: tracebacks and compiler messages read into a [`GuestError`].
//!
//! Every byte read here was written by a guest, or by a tool about a guest's program. So the answer is a help for the reader and never
//! decides a status; a program can print a traceback of its own and exit, and then that is what is reported. Reading is line by line and
//! linear, over windows of fixed size.

mod compiler;
mod functional;
mod javascript;
mod lisp;
mod managed;
mod native;
mod python;
mod ruby;
mod script;
mod shell;
mod text;
mod tool;

use std::borrow::Cow;

use crate::GuestError;
use text::Source;

/// What there is to read after a step that did not end with exit code 0.
#[derive(Debug, Clone, Copy)]
pub struct Evidence<'a> {
    /// The language's id in the table (`python`). Any other text gets the reading for unknown languages.
    pub language: &'a str,
    /// The step that failed.
    pub step: Step,
    /// What the step wrote to standard error, as far as it was kept.
    pub stderr: &'a str,
    /// What it wrote to standard output. Read only where tools are known to report there.
    pub stdout: &'a str,
    /// The file name of the caller's program in the workspace: `main.py` for `/box/main.py`.
    pub source: &'a str,
}

/// The two steps of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Step {
    /// A compiler read the program: its first error counts, and all output is the tool's.
    Compile,
    /// The program ran, or an interpreter refused it: the last thing written counts.
    Run,
}

/// The error that the output tells of, when it tells of one.
///
/// `None` is the usual answer for a program that chose its exit code. At most 64 KiB of a compiler's output are read, from its start,
/// and 128 KiB of a run's, from its end. Kind and message are one line each, without control characters, of at most 200 and 2,000 bytes.
pub fn diagnose(evidence: &Evidence<'_>) -> Option<GuestError> {
    let dialect = DIALECTS
        .iter()
        .find(|dialect| dialect.languages.contains(&evidence.language))
        .unwrap_or(&UNKNOWN);
    let source = Source::new(evidence.source);
    let read = |output: &str| match evidence.step {
        Step::Compile => finish((dialect.compile)(
            &text::printable(text::head(output, COMPILER_WINDOW)),
            source,
        )),
        Step::Run => finish((dialect.run)(&text::printable(text::tail(output, RUN_WINDOW)), source)),
    };
    read(evidence.stderr).or_else(|| match (evidence.step, dialect.run_reports) {
        (Step::Compile, _) | (Step::Run, Reports::OnEither) => read(evidence.stdout),
        (Step::Run, Reports::OnStderr) => None,
    })
}

/// Enough for the first error of any compiler behind a page of warnings.
const COMPILER_WINDOW: usize = 64 * 1024;

/// Enough for the 1,024 frames that a JVM prints of a stack overflow, at 128 bytes each.
const RUN_WINDOW: usize = 128 * 1024;

/// A class name with its package; more is not a name.
const KIND_BYTES: usize = 200;

/// A message is for reading. `stderr` has the rest.
const MESSAGE_BYTES: usize = 2_000;

/// How to read one family of tools.
struct Dialect {
    languages: &'static [&'static str],
    compile: Parser,
    run: Parser,
    run_reports: Reports,
}

/// Reads a window of output, control characters already removed, for what it says of the caller's program.
type Parser = for<'t> fn(&'t str, Source<'_>) -> Option<Finding<'t>>;

/// Where a run's errors are written.
#[derive(Clone, Copy)]
enum Reports {
    OnStderr,
    OnEither,
}

/// What a parser found, not yet bounded.
struct Finding<'t> {
    kind: Cow<'t, str>,
    message: Cow<'t, str>,
    line: Option<u32>,
}

impl<'t> Finding<'t> {
    fn new(kind: impl Into<Cow<'t, str>>, message: impl Into<Cow<'t, str>>, line: Option<u32>) -> Self {
        Self {
            kind: kind.into(),
            message: message.into(),
            line,
        }
    }
}

impl Dialect {
    /// A language whose one tool reads and runs the program.
    const fn interpreted(languages: &'static [&'static str], parser: Parser) -> Self {
        Self {
            languages,
            compile: parser,
            run: parser,
            run_reports: Reports::OnStderr,
        }
    }

    /// A language with a compiler of its own.
    const fn compiled(languages: &'static [&'static str], compile: Parser, run: Parser) -> Self {
        Self {
            languages,
            compile,
            run,
            run_reports: Reports::OnStderr,
        }
    }

    /// Reports errors of a run on standard output as well.
    const fn on_either(self) -> Self {
        Self {
            run_reports: Reports::OnEither,
            ..self
        }
    }
}

/// What a language that is not in [`DIALECTS`] is read as.
const UNKNOWN: Dialect = Dialect::compiled(&[], compiler::diagnostic, compiler::last_located);

const DIALECTS: &[Dialect] = &[
    Dialect::interpreted(&["python"], python::traceback),
    Dialect::compiled(&["javascript", "typescript"], javascript::compile, javascript::uncaught),
    Dialect::compiled(&["coffeescript"], compiler::diagnostic, javascript::coffee),
    Dialect::compiled(&["c", "cpp", "objective-c"], compiler::diagnostic, native::c),
    Dialect::compiled(&["rust"], native::rustc, native::rust),
    Dialect::compiled(&["go"], compiler::diagnostic, native::go),
    Dialect::compiled(&["d"], compiler::diagnostic, native::d),
    Dialect::compiled(&["nim"], compiler::diagnostic, native::nim),
    Dialect::compiled(&["crystal"], compiler::place_then_error, native::crystal),
    Dialect::compiled(&["fortran"], compiler::place_then_error, native::fortran),
    Dialect::compiled(&["pascal"], compiler::diagnostic, native::pascal),
    Dialect::compiled(&["java", "kotlin", "scala"], compiler::diagnostic, managed::jvm),
    Dialect::interpreted(&["groovy"], managed::groovy),
    Dialect::interpreted(&["clojure"], managed::clojure),
    Dialect::compiled(&["csharp"], compiler::diagnostic, managed::dotnet),
    Dialect::compiled(&["haskell"], compiler::diagnostic, functional::haskell),
    Dialect::compiled(&["ocaml"], compiler::place_then_error, functional::ocaml),
    Dialect::compiled(&["sml"], compiler::diagnostic, functional::poly).on_either(),
    Dialect::interpreted(&["elixir"], functional::elixir),
    Dialect::compiled(&["erlang"], compiler::diagnostic, functional::erlang),
    Dialect::interpreted(&["prolog"], functional::prolog),
    Dialect::interpreted(&["racket"], lisp::racket),
    Dialect::interpreted(&["scheme", "guile", "chicken"], lisp::scheme),
    Dialect::interpreted(&["lisp", "commonlisp", "common-lisp"], lisp::sbcl),
    Dialect::interpreted(&["ruby"], ruby::traceback),
    Dialect::interpreted(&["php"], script::php).on_either(),
    Dialect::interpreted(&["perl"], script::perl),
    Dialect::interpreted(&["raku", "perl6"], script::raku),
    Dialect::interpreted(&["lua"], script::lua),
    Dialect::interpreted(&["tcl"], script::tcl),
    Dialect::interpreted(&["bash", "sh", "shell", "dash"], shell::shell),
    Dialect::interpreted(&["awk", "gawk", "mawk"], shell::awk),
    Dialect::interpreted(&["r"], tool::r),
    Dialect::interpreted(&["octave"], tool::octave),
    Dialect::interpreted(&["sql", "sqlite"], tool::sqlite),
    Dialect::interpreted(&["sass", "scss"], tool::sass),
];

fn finish(finding: Option<Finding<'_>>) -> Option<GuestError> {
    let finding = finding?;
    let kind = Some(text::one_line(&finding.kind, KIND_BYTES))
        .filter(|kind| !kind.is_empty())
        .unwrap_or_else(|| "Error".to_owned());
    let hint = RUNS_OUT_OF_MEMORY
        .contains(&kind.as_str())
        .then(|| MEMORY_HINT.to_owned());
    Some(GuestError {
        message: text::one_line(&finding.message, MESSAGE_BYTES),
        line: finding.line,
        kind,
        hint,
    })
}

/// What runtimes call it when an allocation within the limit fails.
const RUNS_OUT_OF_MEMORY: &[&str] = &[
    "MemoryError",
    "NoMemoryError",
    "OutOfMemory",
    "java.lang.OutOfMemoryError",
    "std::bad_alloc",
];

const MEMORY_HINT: &str = "the program ran out of memory: ask for more with `memory_mb`, or use less";

#[cfg(test)]
mod testing {
    use super::{Evidence, Step, diagnose};
    use crate::GuestError;

    /// One language's tools, for tables of what they printed and what is read from it.
    pub(super) struct Tool {
        pub(super) language: &'static str,
        pub(super) source: &'static str,
    }

    impl Tool {
        #[track_caller]
        pub(super) fn compile(&self, stderr: &str, expected: Option<GuestError>) {
            self.check(Step::Compile, stderr, "", expected);
        }

        #[track_caller]
        pub(super) fn run(&self, stderr: &str, expected: Option<GuestError>) {
            self.check(Step::Run, stderr, "", expected);
        }

        #[track_caller]
        pub(super) fn check(&self, step: Step, stderr: &str, stdout: &str, expected: Option<GuestError>) {
            let Self { language, source } = *self;
            assert_eq!(
                diagnose(&Evidence {
                    language,
                    step,
                    stderr,
                    stdout,
                    source
                }),
                expected
            );
        }
    }

    /// An error without a hint; line 0 stands for none.
    pub(super) fn found(kind: &str, message: &str, line: u32) -> Option<GuestError> {
        Some(GuestError {
            kind: kind.to_owned(),
            message: message.to_owned(),
            line: (line > 0).then_some(line),
            hint: None,
        })
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::testing::{Tool, found};
    use super::*;

    #[test]
    fn unknown_languages_are_read_for_located_messages() {
        let zig = Tool {
            language: "zig",
            source: "main.zig",
        };
        zig.compile(
            "/box/main.zig:3:5: error: expected ';'\n",
            found("CompileError", "expected ';'", 3),
        );
        zig.compile(
            "main.zig:3: note: here\nmain.zig:4: stray brace\n",
            found("CompileError", "stray brace", 4),
        );
        zig.run(
            "noise\nmain.zig:7:1: warning: unused\nmain.zig:9: error: bad\n",
            found("Error", "bad", 9),
        );
        zig.run("noise: at 3\n", None);
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
        let python = Tool {
            language: "python",
            source: "main.py",
        };
        let head = "Traceback (most recent call last):\n  File \"/box/main.py\", line 1, in <module>\nValueError: ";
        python.run(
            &format!("{head}a\x07\x1b[31mb\x1b[0m\tc\u{85}d\n"),
            found("ValueError", "ab cd", 1),
        );
        python.run(
            &format!("{head}{}\n", "é".repeat(3_000)),
            found("ValueError", &"é".repeat(1_000), 1),
        );
        python.run(
            &format!("{head}x{}\n", "é".repeat(3_000)),
            found("ValueError", &format!("x{}", "é".repeat(999)), 1),
        );
    }

    #[test]
    fn a_run_is_read_from_its_end_and_a_compiler_from_its_start() {
        let noise = "noise é\n".repeat(100_000);
        let python = Tool {
            language: "python",
            source: "main.py",
        };
        let traceback =
            "Traceback (most recent call last):\n  File \"/box/main.py\", line 1, in <module>\nKeyError: 'k'\n";
        python.run(&format!("{noise}{traceback}"), found("KeyError", "'k'", 1));
        python.run(&format!("{traceback}{noise}"), None);
        let c = Tool {
            language: "c",
            source: "main.c",
        };
        c.compile(
            &format!("main.c:2:1: error: first\n{noise}"),
            found("CompileError", "first", 2),
        );
        c.compile(&format!("{noise}main.c:2:1: error: first\n"), None);
    }

    /// Pieces that the parsers look for, so that arbitrary text reaches past their first test.
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
}
