//! Native cells that do not end by themselves: they are told to stop, and what earlier ones know is kept.

use std::fs;

use serde_json::{Value, json};

use super::is_here;
use crate::client::Client;
use crate::told::Told;

/// A language, what is to be kept, a cell that does not end, and one that prints what was kept.
type Row = (&'static str, &'static str, &'static str, &'static str);

const ENDLESS: [Row; 4] = [
    ("python", "x = 1", "while True: pass", "print(x)"),
    ("javascript", "let x = 1", "for (;;);", "console.log(x)"),
    ("ruby", "x = 1", "loop {}", "puts x"),
    ("bash", "x=1", "while :; do :; done", "echo $x"),
];

/// Runs that cell as often as there is something to give it. `check` is told its results.
#[track_caller]
fn assert_most_are_kept(client: &mut Client, row: Row, given: impl IntoIterator<Item = Value>, check: impl Fn(&Value)) {
    let (language, set, endless, get) = row;
    if !is_here(client, language) {
        return;
    }
    let mut cell = |code: &str, given: Value| {
        let mut arguments = given;
        for (name, value) in [("session", language), ("engine", "native"), ("language", language), ("code", code)] {
            arguments[name] = value.into();
        }
        client.run(&arguments)["structuredContent"].take()
    };
    let mut told = Told::default();
    cell(set, json!({}));
    for given in given {
        let got = cell(endless, given);
        check(&got);
        assert_eq!(got.get("error"), None, "{language}: {got:#}");
        if got.get("state").is_none() {
            told.kept();
        } else {
            told.lost();
            cell(set, json!({}));
        }
        let kept = cell(get, json!({}));
        assert_eq!((&kept["stdout"], &kept["exit_code"]), (&json!("1\n"), &json!(0)), "{language}: {kept:#}");
    }
    told.assert_most_are_kept(language);
}

#[test]
fn cpu_time_is_the_cells_own() {
    let folder = tempfile::tempdir().expect("a folder");
    let configuration = folder.path().join("belljar.toml");
    fs::write(&configuration, "[defaults]\ncpu = '400ms'\n").expect("written");
    let mut client = Client::start(&["--config", &configuration.display().to_string()]).greeted();
    for row in ENDLESS {
        assert_most_are_kept(&mut client, row, vec![json!({}); Told::IN_A_ROW], |got| {
            assert_eq!((&got["status"], &got["limit"]), (&json!("limit_exceeded"), &json!("cpu")), "{got:#}");
            assert!(got["usage"]["cpu_ms"].as_f64().is_some_and(|used| used > 300.0), "{got:#}");
        });
    }
}

fn assert_timed_out(got: &Value) {
    assert_eq!(got["status"], "timed_out", "{got:#}");
}

/// Before its code runs an interpreter would not hear that the time is over, or end.
#[test]
fn the_time_of_a_cell_may_be_over_before_it_begins() {
    let mut client = Client::initialized();
    let short = (1..=30).map(|millis| json!({"timeout_ms": millis}));
    // Still on its way by then.
    let large = (0..30).map(|_| json!({"timeout_ms": 1, "stdin": "x".repeat(2_000_000)}));
    for row in ENDLESS {
        assert_most_are_kept(&mut client, row, short.clone(), assert_timed_out);
        assert_most_are_kept(&mut client, row, large.clone(), assert_timed_out);
    }
}

#[test]
fn who_prints_without_end_hears_that_its_time_is_over() {
    let mut client = Client::initialized();
    for row in [
        ("python", "x = 1", "while True: print(1)", "print(x)"),
        ("javascript", "let x = 1", "for (;;) console.log(1)", "console.log(x)"),
        ("bash", "x=1", "while :; do echo 1; done", "echo $x"),
    ] {
        assert_most_are_kept(&mut client, row, vec![json!({"timeout_ms": 1_000}); Told::IN_A_ROW], assert_timed_out);
    }
}
