//! The table. A case says what every engine owes a program, in as many of [`LANGUAGES`](super::case::LANGUAGES) as can
//! show it.

mod c;
mod cpp;
mod endings;
mod files;
mod limits;
mod lua;
mod php;
mod programs;
mod ruby;
mod sql;
mod streams;
mod wasm;

use std::panic::{AssertUnwindSafe, catch_unwind};

use super::case::{Case, Expected, Program};
use super::{Engine, Subject};

/// Parts of the table, by what they are about.
#[derive(Clone, Copy, Debug)]
pub enum Topic {
    /// Source, arguments, environment, errors.
    Programs,
    /// Standard input, output and error.
    Streams,
    /// The workspace, and what is brought back of it.
    Files,
    /// What a run may use.
    Limits,
    /// Exit codes, signals and what is left running.
    Endings,
    /// C and its library.
    C,
    /// C++ and its library.
    Cpp,
    /// What of C++ only the compiler in WebAssembly is new enough for.
    NewCpp,
    /// Ruby and its library.
    Ruby,
    /// PHP and its library.
    Php,
    /// Lua and its library.
    Lua,
    /// SQL, and the commands of `SQLite`'s shell.
    Sql,
}

impl Topic {
    fn cases(self) -> &'static [Case] {
        match self {
            Self::Programs => programs::CASES,
            Self::Streams => streams::CASES,
            Self::Files => files::CASES,
            Self::Limits => limits::CASES,
            Self::Endings => endings::CASES,
            Self::C => c::CASES,
            Self::Cpp => cpp::CASES,
            Self::NewCpp => cpp::WASM_ONLY,
            Self::Ruby => ruby::CASES,
            Self::Php => php::CASES,
            Self::Lua => lua::CASES,
            Self::Sql => sql::CASES,
        }
    }
}

/// Holds every case of a topic, in one language, against an engine; all of them, also when one fails.
pub fn hold(subject: &Subject, topic: Topic, language: &str) {
    if !subject.serves(language) {
        return;
    }
    let mut failed = Vec::new();
    for case in topic.cases() {
        for program in case.programs.iter().filter(|program| program.language == language) {
            let result = catch_unwind(AssertUnwindSafe(|| {
                expected(subject, case, program).check(subject, program, &program.answer(subject, &case.given));
            }));
            if result.is_err() {
                failed.push(case.name);
            }
        }
    }
    assert!(failed.is_empty(), "{language}: these cases do not hold (messages above): {failed:?}");
}

/// What an engine owes: what the case says, but for what WebAssembly has not.
fn expected(subject: &Subject, case: &Case, program: &Program) -> Expected {
    let exception = match subject.engine {
        Engine::Native => None,
        Engine::Wasm => wasm::exceptions().find(|exception| exception.names(case, program)),
    };
    exception.map_or(case.expected, |exception| exception.expected)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use crate::conformance::case::LANGUAGES;

    #[test]
    fn names_are_unique_and_languages_are_those_of_the_table() {
        let mut names = BTreeSet::new();
        for topic in [
            Topic::Programs,
            Topic::Streams,
            Topic::Files,
            Topic::Limits,
            Topic::Endings,
            Topic::C,
            Topic::Cpp,
            Topic::NewCpp,
            Topic::Ruby,
            Topic::Php,
            Topic::Lua,
            Topic::Sql,
        ] {
            for case in topic.cases() {
                for program in case.programs {
                    assert!(LANGUAGES.contains(&program.language), "{}", program.language);
                    assert!(names.insert((case.name, program.language)), "`{}` is there twice", case.name);
                }
            }
        }
        for exception in wasm::exceptions() {
            let place = (exception.case, exception.language);
            assert!(names.remove(&place), "{place:?} is no case, or has two exceptions");
        }
    }
}
