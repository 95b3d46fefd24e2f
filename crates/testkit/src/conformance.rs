//! The suite that every engine must pass, run through the built binary (`belljar run --json --engine ENGINE`): what a
//! program is given, and exactly what must come back.
//!
//! [`cases`] is a table of small programs in [`case::LANGUAGES`], one expectation for all of them wherever the language
//! cannot matter. [`languages`] holds every language of the table to the same few promises. [`scenes`] are the checks
//! that take more than one run.

pub mod case;
pub mod cases;
pub mod command;
pub mod languages;
pub mod report;
pub mod scenes;

use std::sync::OnceLock;

use serde::Deserialize;

use crate::arena::NO_SKIP;
use crate::runtimes;
use command::Belljar;

/// An engine of the binary under test.
#[derive(Clone, Copy, Debug)]
pub struct Subject {
    /// The binary.
    pub belljar: &'static str,
    /// Which of its engines.
    pub engine: Engine,
}

/// What the wasm engine serves, and what of [`case::LANGUAGES`] and of the scenes is tried in it.
pub const WASM_LANGUAGES: &[&str] = &["python", "javascript", "typescript", "ruby", "php", "lua", "sql", "c", "cpp"];

/// The engines, and what the suite has to know of each.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Engine {
    /// The host's own tools.
    Native,
    /// Interpreters in WebAssembly, in a worker behind the jail.
    Wasm,
}

impl Engine {
    /// As `--engine` and results spell it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Native => "native",
            Self::Wasm => "wasm",
        }
    }

    /// Languages that must be there where skipping is not allowed; the others are tested where they are found.
    fn required_languages(self) -> &'static [&'static str] {
        match self {
            Self::Native => &[
                "python",
                "javascript",
                "bash",
                "sh",
                "c",
                "cpp",
                "perl",
                "ruby",
                "php",
                "lua",
                "sql",
                "go",
                "java",
                "r",
            ],
            Self::Wasm => WASM_LANGUAGES,
        }
    }
}

impl Subject {
    /// Whether the engine serves a language here. Says that a test is skipped when not, and fails it when it must not be.
    pub fn serves(&self, language: &str) -> bool {
        match self.engine {
            Engine::Native => self.finds_tool(language),
            // One that is not set up here is a skipped test, which `provisioned` says.
            Engine::Wasm => {
                WASM_LANGUAGES.contains(&language)
                    && self.finds_walls()
                    && runtimes::provisioned(self.belljar).is_some()
            }
        }
    }

    /// The binary with what this engine needs.
    pub fn command_line(&self) -> Belljar {
        let belljar = Belljar::new(self.belljar);
        match self.engine {
            Engine::Native => belljar,
            Engine::Wasm => match runtimes::provisioned(self.belljar) {
                Some(cache) => belljar.with_runtimes(cache),
                None => belljar,
            },
        }
    }

    #[expect(clippy::print_stderr, reason = "a skipped test says so")]
    fn finds_tool(&self, language: &str) -> bool {
        let doctor = self.doctor();
        let found = doctor.languages.iter().find(|found| found.id == language);
        let found = found.unwrap_or_else(|| panic!("`doctor` does not know the language `{language}`"));
        let reason = match (doctor.accepted, found.present) {
            (true, true) => return true,
            (true, false) => format!("nothing here runs {language}"),
            (false, _) => format!("this host gives isolation level `{}` only", doctor.level),
        };
        let must_run = skipping_is_a_failure() && self.engine.required_languages().contains(&language);
        assert!(!must_run, "{NO_SKIP} is set, and {reason}");
        eprintln!("skipped: {reason}");
        false
    }

    /// A worker stands behind the host's walls, so they have to be there.
    fn finds_walls(&self) -> bool {
        let doctor = self.doctor();
        if !doctor.accepted {
            runtimes::skip(&format!("this host gives isolation level `{}` only", doctor.level));
        }
        doctor.accepted
    }

    fn doctor(&self) -> &'static Doctor {
        static DOCTOR: OnceLock<Doctor> = OnceLock::new();
        DOCTOR.get_or_init(|| {
            let answer = Belljar::new(self.belljar).answer(["doctor", "--json"]);
            serde_json::from_slice(&answer.stdout)
                .unwrap_or_else(|error| panic!("`doctor --json`: {error}: {answer:?}"))
        })
    }
}

/// Set by CI.
#[expect(clippy::disallowed_methods, reason = "tests have no settings module")]
fn skipping_is_a_failure() -> bool {
    std::env::var_os(NO_SKIP).is_some()
}

/// What `doctor --json` says, as far as it decides what can be tested here.
#[derive(Debug, Deserialize)]
struct Doctor {
    accepted: bool,
    level: String,
    languages: Vec<FoundLanguage>,
}

#[derive(Debug, Deserialize)]
struct FoundLanguage {
    id: String,
    present: bool,
}
