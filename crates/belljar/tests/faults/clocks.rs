//! A clock that jumps by a day, forward and back: what takes time takes the time that it takes.

use std::fs;
use std::path::PathBuf;
use std::thread;
use std::time::{Duration, Instant, SystemTime};

use serde_json::{Value, json};

use crate::client::Client;
use crate::printed;
use crate::world::World;

/// What is loaded into a program so that its clock is another. `None` after saying that the test is skipped.
fn library() -> Option<PathBuf> {
    let places = fs::read_dir("/usr/lib").into_iter().flatten().flatten();
    let found = places.map(|entry| entry.path().join("faketime/libfaketime.so.1")).find(|path| path.is_file());
    if found.is_none() {
        testkit::runtimes::skip("there is no libfaketime (Debian's `faketime`)");
    }
    found
}

const DAY: Duration = Duration::from_hours(24);

#[test]
fn a_clock_that_jumps_ends_nothing_early_and_keeps_nothing_for_ever() {
    let (Some(world), Some(library)) = (World::new(), library()) else { return };
    let clock = world.directory().join("clock");
    fs::write(&clock, "+0\n").expect("ours");
    let mut command = world.command(&["serve", "--audit", "audit.jsonl", "--session-idle", "30s", "--log", "off"]);
    command.env("LD_PRELOAD", library).env("FAKETIME_TIMESTAMP_FILE", &clock).env("FAKETIME_NO_CACHE", "1");
    // Only the clock that people read: nobody can set the other one.
    command.env("DONT_FAKE_MONOTONIC", "1");
    let mut client = Client::of(command).greeted();
    let start = |client: &mut Client, engine: &str, code: &str, limit: u64| {
        let arguments = json!({"language": "python", "engine": engine, "code": code, "timeout_ms": limit});
        client.send("tools/call", &json!({"name": "run_code", "arguments": arguments}))
    };
    let cell = |client: &mut Client, engine: &str, code: &str| {
        let arguments = json!({"session": engine, "engine": engine, "language": "python", "code": code});
        client.run(&arguments)["structuredContent"].take()
    };
    for engine in ["wasm", "native"] {
        assert_eq!(cell(&mut client, engine, "x = 5")["exit_code"], 0);
    }
    let mut times = Vec::new();
    for jump in ["+1d", "-1d"] {
        let started = Instant::now();
        let endless = ["wasm", "native"].map(|engine| start(&mut client, engine, "import time\ntime.sleep(600)", 1500));
        let sleeping =
            ["wasm", "native"].map(|engine| start(&mut client, engine, "import time\ntime.sleep(1)", 20_000));
        thread::sleep(Duration::from_millis(500));
        fs::write(&clock, format!("{jump}\n")).expect("ours");
        for id in sleeping {
            printed(&client.answer(id)["result"]);
        }
        assert!(started.elapsed() >= Duration::from_secs(1), "{jump}: {:?}", started.elapsed());
        for id in endless {
            let content = client.answer(id)["result"]["structuredContent"].take();
            assert_eq!(content["status"], "timed_out", "{jump}: {content}");
            let took = content["usage"]["wall_ms"].as_f64().expect("a figure");
            assert!((1500.0..20_000.0).contains(&took), "{jump}: {content}");
        }
        // Half of its life was not a day ago.
        for engine in ["wasm", "native"] {
            assert_eq!(cell(&mut client, engine, "x")["result"], 5, "{jump}, {engine}");
        }
        times.push((jump, SystemTime::now()));
    }
    let mut listed = || {
        let answer = client.request("tools/call", &json!({"name": "list_sessions", "arguments": {}}));
        answer["result"]["structuredContent"]["sessions"].clone()
    };
    let end = Instant::now() + Duration::from_secs(90);
    while listed() != json!([]) {
        assert!(Instant::now() < end, "they idle out all the same: {}", listed());
        thread::sleep(Duration::from_millis(200));
    }
    drop(client);
    assert_times(&fs::read_to_string(world.directory().join("audit.jsonl")).expect("a log"), &times);
    let verified = world.command(&["audit", "verify", "audit.jsonl"]).output().expect("belljar");
    assert!(verified.status.success(), "{verified:?}");
}

/// The log has the times that the clock had, and its order does not hang on them.
fn assert_times(log: &str, jumps: &[(&str, SystemTime)]) {
    let lines: Vec<Value> = log.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();
    let numbers: Vec<u64> = lines.iter().filter_map(|line| line["seq"].as_u64()).collect();
    assert_eq!(numbers, (1..=lines.len() as u64).collect::<Vec<_>>());
    for (jump, then) in jumps {
        let shown = if jump.starts_with('+') { *then + DAY } else { *then - DAY };
        let day = humantime::format_rfc3339_seconds(shown).to_string();
        let day = day.split('T').next().expect("a day").to_owned();
        assert!(log.contains(&format!("\"time\":\"{day}")), "{jump}: nothing on {day}: {log}");
    }
}
