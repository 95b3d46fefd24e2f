//! What went wrong, in the guest's own words: tracebacks and compiler messages read into a [`GuestError`].
//!
//! Every byte read here was written by a guest, or by a tool about a guest's program. So the result helps the reader
//! and never decides a status: a program can print a traceback of its own and exit, and then that is what is reported.
//! Reading is line by line and linear, over windows of fixed size.

mod compiler;
mod data;
mod functional;
mod javascript;
mod lisp;
mod managed;
mod native;
mod python;
mod ruby;
mod script;
mod shell;
mod systems;
#[cfg(test)]
mod tests;
mod text;
mod typescript;

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
    /// What the step wrote to standard error, as much of it as was kept.
    pub stderr: &'a str,
    /// What it wrote to standard output. Read only for tools that are known to report there.
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

/// The error that the output reports, if it reports one.
///
/// `None` is the usual answer for a program that chose its exit code. At most 64 KiB of a compiler's output are read, from its start,
/// and 128 KiB of a run's, from its end. Kind and message are one line each, without control characters, of at most 200 and 2,000 bytes.
pub fn diagnose(evidence: &Evidence<'_>) -> Option<GuestError> {
    let dialect = DIALECTS.iter().find(|dialect| dialect.languages.contains(&evidence.language)).unwrap_or(&UNKNOWN);
    let source = Source::new(evidence.source);
    let read = |output: &str| match evidence.step {
        Step::Compile => finish((dialect.compile)(&text::printable(text::head(output, COMPILER_WINDOW)), source)),
        Step::Run => finish((dialect.run)(&text::printable(text::tail(output, RUN_WINDOW)), source)),
    };
    read(evidence.stderr).or_else(|| match (evidence.step, dialect.run_reports) {
        (Step::Compile, _) | (Step::Run, Reports::OnEither) => read(evidence.stdout),
        (Step::Run, Reports::OnStderr) => None,
    })
}

/// Enough to reach the first error of any compiler behind a page of warnings.
const COMPILER_WINDOW: usize = 64 * 1024;

/// Enough for the 1,024 frames that a JVM prints for a stack overflow, at 128 bytes each.
const RUN_WINDOW: usize = 128 * 1024;

/// Enough for a class name with its package; anything longer is not a name.
const KIND_BYTES: usize = 200;

/// A message is meant to be read. `stderr` has the rest.
const MESSAGE_BYTES: usize = 2_000;

/// How to read one family of tools.
struct Dialect {
    languages: &'static [&'static str],
    compile: Parser,
    run: Parser,
    run_reports: Reports,
}

/// Reads a window of output, with control characters already removed, for what it says about the caller's program.
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
        Self { kind: kind.into(), message: message.into(), line }
    }
}

impl Dialect {
    /// A language in which one tool both reads and runs the program.
    const fn interpreted(languages: &'static [&'static str], parser: Parser) -> Self {
        Self { languages, compile: parser, run: parser, run_reports: Reports::OnStderr }
    }

    /// A language with a separate compiler.
    const fn compiled(languages: &'static [&'static str], compile: Parser, run: Parser) -> Self {
        Self { languages, compile, run, run_reports: Reports::OnStderr }
    }

    /// Also reports errors of a run on standard output.
    const fn on_either(self) -> Self {
        Self { run_reports: Reports::OnEither, ..self }
    }
}

/// How to read a language that is not in [`DIALECTS`].
const UNKNOWN: Dialect = Dialect::compiled(&[], compiler::diagnostic, compiler::last_located);

const DIALECTS: &[Dialect] = &[
    Dialect::interpreted(&["python"], python::traceback),
    Dialect::compiled(&["javascript", "typescript"], typescript::compile, javascript::uncaught),
    Dialect::compiled(&["coffeescript"], compiler::diagnostic, javascript::coffee),
    Dialect::interpreted(&["bash", "sh"], shell::shell),
    Dialect::interpreted(&["powershell"], shell::powershell),
    Dialect::interpreted(&["awk"], shell::awk),
    Dialect::compiled(&["c", "cpp"], compiler::diagnostic, native::c),
    Dialect::compiled(&["rust"], native::rustc, native::rust),
    Dialect::compiled(&["go"], compiler::diagnostic, native::go),
    Dialect::compiled(&["zig"], compiler::diagnostic, native::zig),
    Dialect::compiled(&["swift"], compiler::diagnostic, native::swift),
    Dialect::compiled(&["d"], compiler::diagnostic, systems::d),
    Dialect::compiled(&["nim"], compiler::diagnostic, systems::nim),
    Dialect::compiled(&["pascal"], compiler::diagnostic, systems::pascal),
    Dialect::compiled(&["crystal"], compiler::place_then_error, systems::crystal),
    Dialect::compiled(&["fortran"], compiler::place_then_error, systems::fortran),
    Dialect::compiled(&["java", "kotlin", "scala"], compiler::diagnostic, managed::jvm),
    Dialect::interpreted(&["groovy"], managed::groovy),
    Dialect::interpreted(&["clojure"], managed::clojure),
    Dialect::compiled(&["csharp"], compiler::diagnostic, managed::dotnet),
    Dialect::compiled(&["dart"], compiler::diagnostic, managed::dart),
    Dialect::compiled(&["haskell"], compiler::diagnostic, functional::haskell),
    Dialect::compiled(&["ocaml"], compiler::place_then_error, functional::ocaml),
    Dialect::interpreted(&["elixir"], functional::elixir),
    Dialect::compiled(&["erlang"], compiler::diagnostic, functional::erlang).on_either(),
    Dialect::interpreted(&["racket"], lisp::racket),
    Dialect::interpreted(&["scheme"], lisp::scheme),
    Dialect::interpreted(&["lisp"], lisp::common_lisp),
    Dialect::interpreted(&["ruby"], ruby::traceback),
    Dialect::interpreted(&["php"], script::php).on_either(),
    Dialect::interpreted(&["perl"], script::perl),
    Dialect::interpreted(&["raku"], script::raku),
    Dialect::interpreted(&["lua"], script::lua),
    Dialect::interpreted(&["tcl"], script::tcl),
    Dialect::interpreted(&["r"], data::r),
    Dialect::interpreted(&["julia"], data::julia),
    Dialect::interpreted(&["octave"], data::octave),
    Dialect::interpreted(&["sql"], data::sqlite),
    Dialect::interpreted(&["sass", "scss"], data::sass),
];

/// The finding, cut to its bounds.
fn finish(finding: Option<Finding<'_>>) -> Option<GuestError> {
    let finding = finding?;
    let kind = text::one_line(&finding.kind, KIND_BYTES);
    let kind = if kind.is_empty() { "Error".to_owned() } else { kind };
    // A colon at the end announces lines that are left behind.
    let message = text::one_line(finding.message.trim_end().trim_end_matches(':'), MESSAGE_BYTES);
    let hint = OUT_OF_MEMORY.contains(&kind.as_str()).then(|| MEMORY_HINT.to_owned());
    Some(GuestError { kind, message, line: finding.line, hint })
}

/// What runtimes call it when an allocation within the limit fails.
const OUT_OF_MEMORY: &[&str] =
    &["MemoryError", "NoMemoryError", "OutOfMemory", "java.lang.OutOfMemoryError", "std::bad_alloc"];

const MEMORY_HINT: &str = "the program ran out of memory: ask for more with `memory_mb`, or use less";
