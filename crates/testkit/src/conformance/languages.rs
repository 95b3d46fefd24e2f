//! What every language owes, whichever tool runs it: its sample prints what the table says, output arrives as it is
//! printed, standard input and arguments reach the program untouched, its exit code comes back, and an error names its
//! line.

mod table;

use std::thread;
use std::time::Duration;

use sandbox::Language;

use super::case::{Code, Ending, Error, NOTHING, Program, Text};
use super::command::{Answer, Conversation};
use super::report::{GuestError, Report};
use super::{Engine, Subject};

/// One language.
#[derive(Clone, Copy, Debug)]
pub struct Row {
    /// Its id.
    language: &'static str,
    conversation: Conversing,
    broken: Broken,
}

/// A program that prints `ready`, sleeps for a second, prints each line of its input after `got` and each of its
/// arguments after `arg`, says `oops` on standard error, and exits with 3.
#[derive(Clone, Copy, Debug)]
enum Conversing {
    Program(&'static str),
    /// Its programs read no input and have no arguments.
    Impossible,
    /// None of our machines has it.
    Untried,
}

/// A program that fails.
#[derive(Clone, Copy, Debug)]
enum Broken {
    Program {
        code: &'static str,
        exit_code: u8,
        error: Error,
    },
    /// None of our machines has it.
    Untried,
}

const INPUT: &str = "line one\nline two ☃\n";
/// Nothing of it may be taken for an option of the tool that runs the program.
const ARGUMENTS: &[&str] = &["--version", "", "two words", "ü☃", "-x"];
const CONVERSATION: &str = "ready\ngot line one\ngot line two ☃\n\
    arg [--version]\narg []\narg [two words]\narg [ü☃]\narg [-x]\n";
/// The program sleeps for a second after its first line. Output that is held back arrives with the end.
const HEAD_START: Duration = Duration::from_millis(500);

/// Tools that end in another way, and with other words, than the one that their row is about.
const OTHER_ENDS: &[(&str, u8, &str)] = &[("mawk", 2, "syntax error at or near *")];

/// What the compiler in WebAssembly says where the host's has other words.
const WASM_WORDS: &[(&str, &str)] =
    &[("c", "use of undeclared identifier 'basket'"), ("cpp", "use of undeclared identifier 'basket'")];

/// Holds a language to all of it.
pub fn hold(subject: &Subject, language: &str) {
    let row = table::ROWS.iter().find(|row| row.language == language);
    let row = row.unwrap_or_else(|| panic!("no row for `{language}`"));
    if subject.serves(language) {
        // Beside each other: one of them mostly sleeps.
        thread::scope(|scope| {
            scope.spawn(|| sample(subject, row));
            scope.spawn(|| conversation(subject, row));
            scope.spawn(|| error(subject, row));
        });
    }
}

fn sample(subject: &Subject, row: &Row) {
    let sample = &Language::find(row.language).expect("a language of the table").sample;
    let answer = run(subject, row, sample.code);
    let report = Report::read(&answer);
    Ending::Exit(0).check(&report, &answer);
    Text::Is(sample.stdout).check("stdout", &report.stdout);
    Text::Is("").check("stderr", &report.stderr);
    assert_eq!(report.files, [], "a sample makes no files");
    assert_eq!(report.runtime.language, row.language);
}

fn conversation(subject: &Subject, row: &Row) {
    let code = match row.conversation {
        Conversing::Program(code) => code,
        Conversing::Impossible | Conversing::Untried => return,
    };
    let belljar = subject.command_line();
    belljar.write("program", code);
    let converse = || {
        let mut command = belljar.command(["run", "program", "--stdin", "-", "--language", row.language]);
        command.args(["--engine", subject.engine.name(), "--"]).args(ARGUMENTS);
        let told = Conversation::start(command, INPUT.as_bytes()).finish();
        assert_eq!(told.answer, Answer::new(3, CONVERSATION, "oops\n"), "{}", row.language);
        told.after_first_byte
    };
    // A busy machine may read the first byte late, but not every time.
    assert!((0..4).any(|_| converse() > HEAD_START), "the output of {} came all at once", row.language);
}

fn error(subject: &Subject, row: &Row) {
    let (code, exit_code, expected) = match row.broken {
        Broken::Program { code, exit_code, error } => (code, exit_code, error),
        Broken::Untried => return,
    };
    let answer = run(subject, row, code);
    let report = Report::read(&answer);
    let own = OTHER_ENDS.iter().find(|(tool, ..)| *tool == report.runtime.tool);
    Ending::Exit(own.map_or(exit_code, |(_, exit_code, _)| *exit_code)).check(&report, &answer);
    let in_wasm = WASM_WORDS.iter().find(|(language, _)| subject.engine == Engine::Wasm && *language == row.language);
    let words = own.map(|(.., words)| words).or(in_wasm.map(|(_, words)| words));
    let expected = Error { message: words.copied().unwrap_or(expected.message), ..expected };
    assert_eq!(report.error, Some(GuestError::from(expected)), "stderr: {}", report.stderr);
    assert_eq!(report.files, [], "an error leaves no files");
}

fn run(subject: &Subject, row: &Row, code: &'static str) -> Answer {
    Program { language: row.language, code: Code::Text(code) }.answer(subject, &NOTHING)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_language_has_its_row() {
        let rows: Vec<&str> = table::ROWS.iter().map(|row| row.language).collect();
        let languages: Vec<&str> = Language::all().iter().map(|language| language.id).collect();
        assert_eq!(rows, languages);
    }
}
