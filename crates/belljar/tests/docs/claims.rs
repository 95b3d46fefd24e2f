//! Promises name what holds them, and that is there: tests by file and name, probes of the attack suite, suites and budgets of the benchmark.

use std::fs;
use std::path::Path;

use testkit::attacks::probes::{FILES, KERNEL, NETWORK, PROCESSES, TERMINAL};

use crate::nothing_wrong;
use crate::page::{Page, code_spans, files_below, repository};

const PROMISES: [&str; 2] = ["docs/security.md", "docs/SPECIFICATION.md"];

/// Rows of these pages' tables are promises, unless the table's heading has no column for what holds them.
#[test]
fn every_promise_names_what_holds_it() {
    let mut wrong = Vec::new();
    for page in PROMISES.map(Page::named) {
        let mut is_promise = false;
        for line in page.prose() {
            let Some(cells) = line.strip_prefix('|') else {
                is_promise = false;
                continue;
            };
            if cells.contains("held by") {
                is_promise = true;
            } else if is_promise && !cells.starts_with("---") {
                wrong.extend(check(line).into_iter().map(|what| format!("{}: {line}\n{what}", page.name)));
            }
        }
    }
    nothing_wrong(&wrong);
}

/// What is wrong with what the last column of a row names.
fn check(row: &str) -> Vec<String> {
    let holders = row.trim_end_matches(['|', ' ']).rsplit('|').next().unwrap_or_default();
    let mut wrong: Vec<String> = code_spans(holders).filter_map(|holder| is_there(holder, row).err()).collect();
    if code_spans(holders).next().is_none() {
        wrong.push("nothing holds it".to_owned());
    }
    wrong
}

/// A test, a suite of the benchmark, a constant with its number, or a probe.
fn is_there(holder: &str, row: &str) -> Result<(), String> {
    if holder.contains("::") {
        return test(holder);
    }
    if let Some(suite) = holder.strip_prefix("bench ") {
        let source = repository().join(format!("crates/bench/src/{suite}.rs"));
        return if source.is_file() { Ok(()) } else { Err(format!("there is no `{holder}`")) };
    }
    if holder.chars().all(|c| c.is_ascii_uppercase() || c == '_') {
        return budget(holder, row);
    }
    let mut probes = [FILES, PROCESSES, NETWORK, KERNEL, TERMINAL].into_iter().flatten();
    if probes.any(|probe| probe.name == holder) { Ok(()) } else { Err(format!("there is no probe `{holder}`")) }
}

/// The number of the benchmark is the one that is promised.
fn budget(name: &str, row: &str) -> Result<(), String> {
    let sources = files_below(&repository().join("crates/bench/src"), "rs");
    let text: String = sources.iter().map(|file| fs::read_to_string(file).expect("a source")).collect();
    let definition = format!("const {name}: ");
    let values = text.split(&definition).skip(1).filter_map(|rest| {
        let (value, _) = rest.split_once(" = ")?.1.split_once(';')?;
        value.replace('_', "").parse::<f64>().ok()
    });
    let values: Vec<f64> = values.collect();
    let promised = row.replace(',', "");
    let mut words = promised.split(|c: char| c.is_whitespace() || c == '|').filter_map(|word| word.parse::<f64>().ok());
    if words.any(|word| values.contains(&word)) { Ok(()) } else { Err(format!("`{name}` is {values:?}")) }
}

#[track_caller]
pub(crate) fn assert_test(name: &str) {
    assert_eq!(test(name), Ok(()));
}

/// `folder/file.rs::name`, where the path is as long as it must be to mean one file. Tests that a macro makes are named by their row.
fn test(name: &str) -> Result<(), String> {
    let (file, function) = name.split_once("::").ok_or("no name of a test")?;
    let ending = Path::new(file).extension().and_then(|ending| ending.to_str()).unwrap_or_default();
    let all =
        [files_below(&repository().join("crates"), ending), files_below(&repository().join("sdk/python"), ending)];
    let mut files = all.iter().flatten().filter(|path| path.ends_with(file));
    let (Some(found), None) = (files.next(), files.next()) else {
        return Err(format!("`{file}` is not one file"));
    };
    let text = fs::read_to_string(found).expect("a source");
    let lines: Vec<&str> = text.lines().map(str::trim_start).collect();
    let is_function = |line: &&str| {
        ["fn ", "async fn ", "def "].iter().any(|word| {
            line.strip_prefix(word)
                .and_then(|rest| rest.strip_prefix(function))
                .is_some_and(|rest| rest.starts_with('('))
        })
    };
    let is_marked = |at: usize| {
        ending == "py"
            || lines[at.saturating_sub(4)..at]
                .iter()
                .any(|line| line.starts_with("#[test]") || line.starts_with("#[tokio::test"))
    };
    let is_test = lines.iter().enumerate().any(|(at, line)| is_function(line) && is_marked(at));
    let rows = [function.to_owned(), format!("{function};")];
    let is_row = |line: &&str| rows.iter().any(|row| row == line) || line.starts_with(&format!("{function}: "));
    let is_row = text.contains("macro_rules!") && lines.iter().any(is_row);
    if is_test || is_row { Ok(()) } else { Err(format!("there is no test `{name}`")) }
}
