//! Promises name what holds them, and that is there: tests and constants by file and name, suites and budgets of the benchmark, and probes of
//! the attack suite.

use std::fs;
use std::path::Path;

use ::attacks::probes::GROUPS;

use crate::nothing_wrong;
use crate::page::{Page, code_spans, files_below, repository};

/// Pages whose tables are promises, where there is a column for what they are held by.
const PROMISES: [&str; 2] = ["docs/security.md", "docs/SPECIFICATION.md"];

#[test]
fn every_promise_names_what_holds_it() {
    let mut wrong = Vec::new();
    for page in PROMISES.map(Page::named) {
        let mut is_promise = false;
        for line in page.prose() {
            is_promise = line.starts_with('|') && (is_promise || line.contains("| held by |"));
            if is_promise && !line.contains("| held by |") && !line.starts_with("|---") {
                wrong.extend(check(line).into_iter().map(|what| format!("{}: {line}\n{what}", page.name)));
            }
        }
    }
    nothing_wrong(&wrong);
}

/// What is wrong with what the last column of a row names.
fn check(row: &str) -> Vec<String> {
    let holders = row.trim_end_matches(['|', ' ']).rsplit('|').next().unwrap_or_default();
    let mut wrong = Vec::new();
    // A suite, then the names of its budgets.
    let mut suite = None;
    let mut budgets = 0;
    for holder in code_spans(holders) {
        if let Some(named) = holder.strip_prefix("bench ") {
            (suite, budgets) = (Some(named), 0);
        } else if is_constant(holder) {
            budgets += 1;
        }
        wrong.extend(is_there(holder, suite, row).err());
    }
    match suite {
        Some(suite) if budgets == 0 => wrong.push(format!("`bench {suite}` is there without a budget")),
        None if code_spans(holders).next().is_none() => wrong.push("nothing holds it".to_owned()),
        Some(_) | None => {}
    }
    wrong
}

fn is_constant(name: &str) -> bool {
    name.chars().all(|c| c.is_ascii_uppercase() || c == '_')
}

fn is_there(holder: &str, suite: Option<&str>, row: &str) -> Result<(), String> {
    match holder.split_once("::") {
        Some((file, name)) if is_constant(name) => number(&source(file)?, name, row),
        Some(_) => test(holder),
        None if is_constant(holder) => {
            let suite = suite.ok_or_else(|| format!("`{holder}` is no suite's"))?;
            number(&source(&format!("bench/src/{suite}.rs"))?, holder, row)
        }
        None => match holder.strip_prefix("bench ") {
            Some(suite) => source(&format!("bench/src/{suite}.rs")).map(drop),
            None => probe(holder),
        },
    }
}

/// A constant that is a number of the row's, whatever units the two are in.
fn number(text: &str, name: &str, row: &str) -> Result<(), String> {
    let definition = format!("const {name}: ");
    let values = text.split(&definition).skip(1).filter_map(|rest| rest.split_once(" = ")?.1.split_once(';'));
    let values: Vec<f64> = values.filter_map(|(value, _)| defined(name, value)).collect();
    let is_promised = promised(row).iter().any(|promised| values.contains(promised));
    if is_promised { Ok(()) } else { Err(format!("`{name}` is {values:?}, and the row has {:?}", promised(row))) }
}

/// What prose calls a unit; how a constant's name ends that is in it; the function that makes one; and how many milliseconds or bytes it is.
const UNITS: &[(&[&str], &str, &str, f64)] = &[
    (&["ms"], "_MS", "Duration::from_millis", 1.0),
    (&["s"], "_S", "Duration::from_secs", 1e3),
    (&["minute", "minutes"], "_MINUTES", "Duration::from_mins", 6e4),
    (&["hour", "hours"], "_HOURS", "Duration::from_hours", 3.6e6),
    (&["day", "days"], "_DAYS", "Duration::from_days", 8.64e7),
    (&["KiB"], "_KIB", "Bytes::kib", 1024.0),
    (&["MB"], "_MB", "Bytes::mb", 1e6),
    (&["MiB"], "_MIB", "Bytes::mib", 1_048_576.0),
    (&["GiB"], "_GIB", "Bytes::gib", 1_073_741_824.0),
];

/// The value of a constant; the first one of several.
fn defined(name: &str, value: &str) -> Option<f64> {
    let maker = value.split_once('(').filter(|(maker, _)| !maker.is_empty());
    let (numbers, unit) = match maker {
        Some((maker, inside)) => (inside, UNITS.iter().find(|unit| unit.2 == maker)),
        None => (value, UNITS.iter().find(|unit| name.ends_with(unit.1))),
    };
    let first = numbers.trim_matches(['(', ')']).split(',').next()?;
    let factors = first.split('*').map(|factor| {
        let (number, shift) = factor.split_once("<<").unwrap_or((factor, "0"));
        Some(number.trim().replace('_', "").parse::<f64>().ok()? * f64::from(shift.trim().parse::<u8>().ok()?).exp2())
    });
    let product: Option<f64> = factors.product();
    Some(product? * unit.map_or(1.0, |unit| unit.3))
}

/// The numbers of a row.
fn promised(row: &str) -> Vec<f64> {
    let words: Vec<&str> = row.split_whitespace().map(|word| word.trim_end_matches([',', ';', ':', '.'])).collect();
    let number = |at: usize| {
        let number: f64 = words.get(at)?.replace(',', "").parse().ok()?;
        let unit = words.get(at + 1).and_then(|next| UNITS.iter().find(|unit| unit.0.contains(next)));
        Some(number * unit.map_or(1.0, |unit| unit.3))
    };
    (0..words.len()).filter_map(number).collect()
}

#[test]
fn numbers_have_units() {
    for (name, value, row, is_it) in [
        ("MOST", "64 << 20", "at most 64 MiB", true),
        ("MOST", "64 << 10", "at most 64 MiB", false),
        ("MOST", "Bytes::kib(512)", "512 KiB, and more", true),
        ("GOOD_FOR", "Duration::from_hours(7 * 24)", "7 days", true),
        ("DEADLINE", "Duration::from_millis(28)", "in 28 s", false),
        ("SPEED_MS", "50.0", "at most 50 ms", true),
        ("SPEED_S", "0.8", "0.8 ms", false),
        ("GROWTH", "(5, 8 << 20)", "5 % more", true),
        ("COUNT", "1_024", "1,024;", true),
    ] {
        assert_eq!(
            defined(name, value).is_some_and(|value| promised(row).contains(&value)),
            is_it,
            "{name} {value} {row}"
        );
    }
}

fn probe(name: &str) -> Result<(), String> {
    let mut probes = GROUPS.iter().flat_map(|(_, _, probes)| *probes);
    if probes.any(|probe| probe.name == name) { Ok(()) } else { Err(format!("there is no probe `{name}`")) }
}

#[track_caller]
pub(crate) fn assert_test(name: &str) {
    assert_eq!(test(name), Ok(()));
}

/// `folder/file.rs::name`. Tests that a macro makes are named by their row.
fn test(name: &str) -> Result<(), String> {
    let (file, function) = name.split_once("::").ok_or("no name of a test")?;
    let text = source(file)?;
    let lines: Vec<&str> = text.lines().map(str::trim_start).collect();
    let is_function = |line: &str| {
        let rest = line.strip_prefix("async ").unwrap_or(line).strip_prefix("fn ");
        rest.and_then(|rest| rest.strip_prefix(function)).is_some_and(|rest| rest.starts_with('('))
    };
    // Attributes and comments stand between.
    let is_marked = |at: usize| {
        let mut above = lines[..at].iter().rev().take_while(|line| line.starts_with(['#', '/']));
        above.any(|line| line.starts_with("#[test]") || line.starts_with("#[tokio::test"))
    };
    let is_test = lines.iter().enumerate().any(|(at, line)| is_function(line) && is_marked(at));
    let rows = [function.to_owned(), format!("{function};")];
    let is_row = |line: &&str| rows.iter().any(|row| row == line) || line.starts_with(&format!("{function}: "));
    let has_rows = text.contains("macro_rules!") || text.contains("testkit::in_both_setups!");
    let is_row = has_rows && lines.iter().any(is_row);
    if is_test || is_row { Ok(()) } else { Err(format!("there is no test `{name}`")) }
}

/// The text of the one file whose path ends like this.
fn source(ending: &str) -> Result<String, String> {
    let all = files_below(&repository().join("crates"), "rs");
    let mut files = all.iter().filter(|path| path.ends_with(Path::new(ending)));
    match (files.next(), files.next()) {
        (Some(file), None) => Ok(fs::read_to_string(file).expect("a source")),
        (_, _) => Err(format!("`{ending}` is not one file")),
    }
}
