//! `modules.txt` and the like: a line for each of another project's test modules, `NAME pass`, with `slow` or `despite FEATURE` behind it,
//! or `NAME skip: REASON`.
//!
//! Under a module that passes, indented, the tests in it that are left out: `TEST: REASON`.

/// A test module and what is expected of it.
#[derive(Debug)]
pub(crate) struct Module {
    /// Of CPython's below `test.`; a package is named by itself or, with a dot, file by file. Of NumPy's a file.
    pub(crate) name: String,
    pub(crate) verdict: Verdict,
}

impl Module {
    /// How to run it, if it is to be run this time.
    #[expect(clippy::disallowed_methods, reason = "tests have no settings module")]
    pub(crate) fn terms_now(&self) -> Option<&Terms> {
        match &self.verdict {
            Verdict::Passes(terms) if terms.pace == Pace::Quick || std::env::var_os("BELLJAR_TEST_ALL").is_some() => {
                Some(terms)
            }
            Verdict::Passes(_) | Verdict::Skipped => None,
        }
    }
}

#[derive(Debug)]
pub(crate) enum Verdict {
    /// All its tests pass but those that are left out.
    Passes(Terms),
    /// It is not run.
    Skipped,
}

/// How to run a module so that it passes.
#[derive(Debug, Default)]
pub(crate) struct Terms {
    pub(crate) pace: Pace,
    /// What the module asks for as a whole, and what few of its tests need. It is told that it is there.
    pub(crate) despite: Vec<String>,
    /// Tests that are left out, each by its name in the module.
    pub(crate) without: Vec<String>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Pace {
    /// Run by every test run.
    #[default]
    Quick,
    /// Takes more than a few seconds.
    Slow,
}

/// The whole list. Every exception must have a reason.
pub(crate) fn read(text: &str) -> Vec<Module> {
    let mut modules: Vec<Module> = Vec::new();
    for line in text.lines().filter(|line| !line.is_empty() && !line.starts_with('#')) {
        match (line.strip_prefix("  "), modules.last_mut().map(|module| &mut module.verdict)) {
            (Some(exception), Some(Verdict::Passes(terms))) => terms.without.push(with_reason(exception).to_owned()),
            (Some(_), Some(Verdict::Skipped) | None) => panic!("no module that passes is above `{line}`"),
            (None, _) => modules.push(module(line)),
        }
    }
    modules
}

fn module(line: &str) -> Module {
    let (name, verdict) = line.split_once(' ').unwrap_or_else(|| panic!("no verdict: `{line}`"));
    let verdict = if let Some(terms) = verdict.strip_prefix("pass") {
        Verdict::Passes(terms_of(terms))
    } else {
        assert_eq!(with_reason(verdict), "skip", "no such verdict: `{line}`");
        Verdict::Skipped
    };
    Module { name: name.to_owned(), verdict }
}

fn terms_of(words: &str) -> Terms {
    let (mut terms, mut words) = (Terms::default(), words.split_whitespace());
    while let Some(word) = words.next() {
        match word {
            "slow" => terms.pace = Pace::Slow,
            "despite" => terms.despite.extend(words.next().map(str::to_owned)),
            _ => panic!("no such word for how a module passes: `{word}`"),
        }
    }
    terms
}

fn with_reason(text: &str) -> &str {
    match text.split_once(": ") {
        Some((what, reason)) if !reason.is_empty() => what,
        _ => panic!("no reason: `{text}`"),
    }
}
