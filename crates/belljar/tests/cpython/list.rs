//! `modules.txt`: a line for each of CPython's test modules, `NAME pass`, `NAME pass slow` or `NAME skip: REASON`.
//!
//! Under a module that passes, indented, the tests in it that are left out: `TEST: REASON`.

const MODULES: &str = include_str!("modules.txt");

/// A test module and what is expected of it.
#[derive(Debug)]
pub(crate) struct Module {
    /// Below `test.`.
    pub(crate) name: String,
    pub(crate) verdict: Verdict,
}

#[derive(Debug)]
pub(crate) enum Verdict {
    /// All its tests pass but those that are left out, each by its name in the module.
    Passes { pace: Pace, without: Vec<String> },
    /// It is not run.
    Skipped,
}

#[derive(Clone, Copy, Debug)]
pub(crate) enum Pace {
    /// Run by every test run.
    Quick,
    /// Takes more than a few seconds.
    Slow,
}

/// The whole list. Every exception must have a reason.
pub(crate) fn read() -> Vec<Module> {
    let mut modules: Vec<Module> = Vec::new();
    for line in MODULES.lines().filter(|line| !line.is_empty() && !line.starts_with('#')) {
        if let Some(exception) = line.strip_prefix("  ") {
            let name = with_reason(exception, line);
            match modules.last_mut().map(|module| &mut module.verdict) {
                Some(Verdict::Passes { without, .. }) => without.push(name.to_owned()),
                Some(Verdict::Skipped) | None => panic!("no module that passes is above `{line}`"),
            }
            continue;
        }
        let (name, verdict) = line.split_once(' ').unwrap_or_else(|| panic!("no verdict: `{line}`"));
        let verdict = match verdict {
            "pass" => Verdict::Passes { pace: Pace::Quick, without: Vec::new() },
            "pass slow" => Verdict::Passes { pace: Pace::Slow, without: Vec::new() },
            _ if with_reason(verdict, line) == "skip" => Verdict::Skipped,
            _ => panic!("no such verdict: `{line}`"),
        };
        modules.push(Module { name: name.to_owned(), verdict });
    }
    modules
}

fn with_reason<'line>(text: &'line str, line: &str) -> &'line str {
    match text.split_once(": ") {
        Some((what, reason)) if !reason.is_empty() => what,
        _ => panic!("no reason: `{line}`"),
    }
}
