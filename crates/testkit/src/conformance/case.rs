//! One row of the table: what a program is given, and everything that must come back.

use super::Subject;
use super::command::{Answer, answer};
use super::report::{Dropped, GuestError, OutputFile, Report};

/// The languages that the table is written in.
pub const LANGUAGES: &[&str] = &["python", "javascript", "bash", "c", "cpp", "ruby", "php", "lua", "sql"];

/// The same promise in several languages.
#[derive(Clone, Copy, Debug)]
pub struct Case {
    /// Unique in the table.
    pub name: &'static str,
    /// What the run is given beside its program.
    pub given: Given,
    /// The program, in every language that it makes sense in.
    pub programs: &'static [Program],
    /// What must come back, whichever language it was.
    pub expected: Expected,
}

/// A program and its language.
#[derive(Clone, Copy, Debug)]
pub struct Program {
    /// Language id.
    pub language: &'static str,
    /// Its source.
    pub code: Code,
}

/// A program's source.
#[derive(Clone, Copy, Debug)]
pub enum Code {
    /// As it stands.
    Text(&'static str),
    /// Too long to be written out.
    Made(fn() -> String),
}

/// What a run is given.
#[derive(Clone, Copy, Debug)]
pub struct Given {
    /// Standard input.
    pub stdin: Input,
    /// The program's arguments.
    pub args: &'static [&'static str],
    /// Environment variables, as `NAME=VALUE`.
    pub env: &'static [&'static str],
    /// Files of the workspace.
    pub files: &'static [(&'static str, &'static str)],
    /// Options of `belljar run`.
    pub options: &'static [&'static str],
    /// `belljar.toml`.
    pub configuration: &'static str,
}

/// What the program reads from standard input.
#[derive(Clone, Copy, Debug)]
pub enum Input {
    /// Nothing is said about it.
    Nothing,
    /// These bytes.
    Bytes(&'static [u8]),
    /// So many bytes, a repeated alphabet.
    Letters(usize),
}

/// What must come back.
#[derive(Clone, Copy, Debug)]
pub struct Expected {
    /// How it ended.
    pub ending: Ending,
    /// Standard output.
    pub stdout: Text,
    /// Standard error.
    pub stderr: Text,
    /// Bytes of both that were not kept.
    pub dropped: Dropped,
    /// The structured error, if there is to be one.
    pub error: Option<Error>,
    /// Every file that is listed: path, size, type.
    pub files: &'static [(&'static str, u64, &'static str)],
}

/// How a run ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ending {
    /// By itself.
    Exit(u8),
    /// By a signal of its own.
    Signal(&'static str),
    /// At its deadline.
    TimedOut,
    /// By passing a limit.
    Limit(&'static str),
}

/// A text that must come back.
#[derive(Clone, Copy, Debug)]
pub enum Text {
    /// Exactly this.
    Is(&'static str),
    /// Exactly this, too long to be written out.
    Made(fn() -> String),
    /// This somewhere: the tool's own words around it differ from version to version.
    Has(&'static str),
}

/// The structured error that must come back.
#[derive(Clone, Copy, Debug)]
pub struct Error {
    /// Its type.
    pub kind: &'static str,
    /// Its message.
    pub message: &'static str,
    /// The line, when the language names one.
    pub line: Option<u32>,
}

/// Nothing beside the program.
pub const NOTHING: Given =
    Given { stdin: Input::Nothing, args: &[], env: &[], files: &[], options: &[], configuration: "" };

/// This on standard input.
pub const fn reads(text: &'static str) -> Given {
    Given { stdin: Input::Bytes(text.as_bytes()), ..NOTHING }
}

/// These files.
pub const fn has(files: &'static [(&'static str, &'static str)]) -> Given {
    Given { files, ..NOTHING }
}

/// These options of `belljar run`.
pub const fn told(options: &'static [&'static str]) -> Given {
    Given { options, ..NOTHING }
}

/// Exit code 0 and not a word.
pub const SILENT: Expected = Expected {
    ending: Ending::Exit(0),
    stdout: Text::Is(""),
    stderr: Text::Is(""),
    dropped: Dropped { stdout: 0, stderr: 0 },
    error: None,
    files: &[],
};

/// Ends in an error that nobody catches, and of which standard error has this.
pub const fn fails(stderr: &'static str, kind: &'static str, message: &'static str, line: u32) -> Expected {
    Expected {
        ending: Ending::Exit(1),
        stderr: Text::Has(stderr),
        error: Some(Error { kind, message, line: Some(line) }),
        ..SILENT
    }
}

/// Exit code 0, and this on standard output.
pub const fn printed(text: &'static str) -> Expected {
    Expected { stdout: Text::Is(text), ..SILENT }
}

/// A program in Python.
pub const fn python(code: &'static str) -> Program {
    Program { language: "python", code: Code::Text(code) }
}

/// A program in JavaScript.
pub const fn javascript(code: &'static str) -> Program {
    Program { language: "javascript", code: Code::Text(code) }
}

/// A program in Bash.
pub const fn bash(code: &'static str) -> Program {
    Program { language: "bash", code: Code::Text(code) }
}

/// A program in Lua.
pub const fn lua(code: &'static str) -> Program {
    Program { language: "lua", code: Code::Text(code) }
}

/// A program in SQL.
pub const fn sql(code: &'static str) -> Program {
    Program { language: "sql", code: Code::Text(code) }
}

/// A program in C.
pub const fn c(code: &'static str) -> Program {
    Program { language: "c", code: Code::Text(code) }
}

/// A program in C++.
pub const fn cpp(code: &'static str) -> Program {
    Program { language: "cpp", code: Code::Text(code) }
}

impl Program {
    /// Runs it with `given` and returns what `belljar` said.
    pub fn answer(&self, subject: &Subject, given: &Given) -> Answer {
        let belljar = subject.command_line();
        let code = match self.code {
            Code::Text(code) => code.to_owned(),
            Code::Made(make) => make(),
        };
        belljar.write("program", code);
        belljar.write("belljar.toml", given.configuration);
        let mut command = belljar.command(["run", "program", "--json", "--config", "belljar.toml"]);
        command.args(["--language", self.language, "--engine", subject.engine.name()]).args(given.options);
        let stdin = match given.stdin {
            Input::Nothing => Vec::new(),
            Input::Bytes(bytes) => bytes.to_vec(),
            Input::Letters(count) => letters(count),
        };
        if !matches!(given.stdin, Input::Nothing) {
            command.args(["--stdin", "-"]);
        }
        for variable in given.env {
            command.args(["--env", *variable]);
        }
        for (name, contents) in given.files {
            belljar.write(&format!("inputs/{name}"), contents);
            command.arg("--file").arg(format!("{name}=inputs/{name}"));
        }
        command.arg("--").args(given.args);
        answer(command, &stdin)
    }

    /// Runs it with `given` and reads the result.
    pub fn report(&self, subject: &Subject, given: &Given) -> Report {
        Report::read(&self.answer(subject, given))
    }
}

/// `count` letters, over and over from `a` to `z`.
pub fn letters(count: usize) -> Vec<u8> {
    (b'a'..=b'z').cycle().take(count).collect()
}

impl Expected {
    /// Fails unless the result, and the exit code of `belljar` itself, are exactly these.
    pub fn check(&self, subject: &Subject, program: &Program, answer: &Answer) {
        let report = Report::read(answer);
        let whole = format!("{report:#?}");
        self.ending.check(&report, answer);
        self.stdout.check("stdout", &report.stdout);
        self.stderr.check("stderr", &report.stderr);
        assert_eq!(report.dropped, self.dropped, "dropped");
        assert_eq!(report.error, self.error.map(GuestError::from), "error; {whole}");
        assert_eq!(report.files, self.files.iter().map(OutputFile::from).collect::<Vec<_>>(), "files");
        assert_eq!(report.skipped_files, Vec::<serde_json::Value>::new(), "skipped files");
        assert_eq!((&*report.engine, &*report.runtime.language), (subject.engine.name(), program.language));
        assert_eq!(answer.stderr, "", "with `--json`, standard error is for our own words");
    }
}

impl Ending {
    /// Fails unless the run ended so, by its result and by `belljar`'s own exit code.
    pub fn check(self, report: &Report, answer: &Answer) {
        let seen = (&*report.status, report.exit_code, report.signal.as_deref(), report.limit.as_deref(), answer.code);
        let expected = match self {
            Self::Exit(code) => ("completed", Some(i32::from(code)), None, None, Some(i32::from(code))),
            Self::Signal(signal) => ("crashed", None, Some(signal), None, Some(137)),
            Self::TimedOut => ("timed_out", None, None, None, Some(124)),
            Self::Limit(limit) => ("limit_exceeded", None, None, Some(limit), Some(137)),
        };
        assert_eq!(seen, expected, "status, exit code, signal, limit, belljar's exit code; {}", excerpt(report));
    }
}

impl Text {
    /// Fails unless `seen` is what it should be.
    pub fn check(&self, name: &str, seen: &str) {
        match self {
            Self::Is(expected) => assert_eq!(seen, *expected, "{name}"),
            Self::Made(make) => assert!(seen == make(), "{name} of {} bytes differs: {:.200}…", seen.len(), seen),
            Self::Has(part) => assert!(seen.contains(part), "{name} has no `{part}`: {seen:.2000}"),
        }
    }
}

/// Enough of the streams to see why a run ended as it did.
fn excerpt(report: &Report) -> String {
    format!("stdout: {:.500}\nstderr: {:.1000}\n{:?}", report.stdout, report.stderr, report.isolation)
}

impl From<Error> for GuestError {
    fn from(error: Error) -> Self {
        Self { kind: error.kind.to_owned(), message: error.message.to_owned(), line: error.line }
    }
}

impl From<&(&'static str, u64, &'static str)> for OutputFile {
    fn from((path, bytes, mime): &(&'static str, u64, &'static str)) -> Self {
        Self { path: (*path).to_owned(), bytes: *bytes, mime: (*mime).to_owned() }
    }
}
