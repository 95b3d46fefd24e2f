//! One process is killed while calls of every kind are under way, and while there are none: whom it takes along, what those are told, and that
//! the rest goes on.

use std::thread;
use std::time::{Duration, Instant};

use serde_json::json;
use testkit::processes;

use crate::client::Client;
use crate::programs::{QUICK, quick};
use crate::tree::{Holdings, Tree, Victim, group_folders};
use crate::world::World;
use crate::{SOON, printed, told};

/// A call that lasts.
struct Lasting {
    name: &'static str,
    language: &'static str,
    engine: &'static str,
    session: Option<&'static str>,
    code: &'static str,
}

const PYTHON: &str = "import time\nprint('up', flush=True)\ntime.sleep(600)";
const SCRIPT: &str = "console.log('up'); for (;;);";
const SHELL: &str = "echo up; sleep 600 & sleep 600";

const LASTING: [Lasting; 6] = [
    Lasting { name: "wasm", language: "python", engine: "wasm", session: None, code: PYTHON },
    Lasting { name: "script", language: "javascript", engine: "wasm", session: None, code: SCRIPT },
    Lasting { name: "wasm cell", language: "python", engine: "wasm", session: Some("w"), code: PYTHON },
    Lasting { name: "parked", language: "python", engine: "native", session: None, code: PYTHON },
    Lasting { name: "shell", language: "bash", engine: "native", session: None, code: SHELL },
    Lasting { name: "native cell", language: "python", engine: "native", session: Some("n"), code: PYTHON },
];

/// What becomes of such a call.
#[derive(Debug, Clone, Copy)]
enum Fate {
    GoesOn,
    Told(&'static str),
    Killed,
}

use Fate::{GoesOn, Killed, Told};

const WORKER: Fate = Told("the worker process that hosted this run has ended; run it again");
const WASM_SESSION: Fate = Told(
    "the session `w` is gone, with its variables and files: the worker process that hosted this run has ended; run it again",
);
const LAUNCHER: Fate = Told("the launcher process, in which native runs begin, has ended; run it again");
const SUPERVISOR: Fate = Told("the process that supervised this run has ended, and the run with it; run it again");
const NATIVE_SESSION: Fate = Told(
    "the session `n` is gone, with its variables and files: the process that supervised this run has ended, and the run with it; run it again",
);

/// In the order of `LASTING`.
const FATES: [(Victim, [Fate; 6]); 5] = [
    (Victim::Worker, [WORKER, WORKER, WASM_SESSION, GoesOn, GoesOn, GoesOn]),
    (Victim::Launcher, [WORKER, WORKER, WASM_SESSION, LAUNCHER, LAUNCHER, NATIVE_SESSION]),
    (Victim::Supervisor, [WORKER, WORKER, WASM_SESSION, SUPERVISOR, SUPERVISOR, NATIVE_SESSION]),
    (Victim::Guest, [GoesOn, GoesOn, GoesOn, Killed, Killed, Killed]),
    (Victim::Spare, [GoesOn; 6]),
];

/// Starts all of them, and waits until each has said something. Their requests, in order.
fn start_all(client: &mut Client) -> Vec<u64> {
    let start = |lasting: &Lasting| {
        let mut arguments = json!({
            "language": lasting.language, "engine": lasting.engine, "code": lasting.code, "timeout_ms": 200_000,
        });
        if let Some(session) = lasting.session {
            arguments["session"] = session.into();
        }
        let params = json!({"name": "run_code", "arguments": arguments, "_meta": {"progressToken": lasting.name}});
        client.send("tools/call", &params)
    };
    let calls: Vec<u64> = LASTING.iter().map(start).collect();
    let mut waiting: Vec<&str> = LASTING.iter().map(|lasting| lasting.name).collect();
    while !waiting.is_empty() {
        let message = client.next();
        assert_eq!(message["method"], "notifications/progress", "{message}");
        waiting.retain(|name| message["params"]["progressToken"] != *name);
    }
    calls
}

/// Ends those that still go on, and sessions that are still there.
fn give_up(client: &mut Client, calls: &[u64]) {
    for call in calls {
        client.notify("notifications/cancelled", &json!({"requestId": call, "reason": "test"}));
    }
    for session in LASTING.iter().filter_map(|lasting| lasting.session) {
        client.request("tools/call", &json!({"name": "close_session", "arguments": {"session": session}}));
    }
}

/// How many milliseconds after the fault each kind of program is answered rightly.
fn back(client: &mut Client, since: Instant) -> Vec<u128> {
    QUICK.iter().map(|kind| served(client, kind, since).as_millis()).collect()
}

/// How long after the fault a program of this kind is answered rightly. What is told on the way is no wrong answer.
fn served(client: &mut Client, kind: &(&str, &str), since: Instant) -> Duration {
    loop {
        let (arguments, expected) = quick(kind, "again");
        let result = client.run(&arguments);
        if result["structuredContent"]["stdout"] == expected {
            return since.elapsed();
        }
        // It can be given to an interpreter that has just been killed, and is told of that.
        let was_killed = result["structuredContent"]["signal"] == "SIGKILL";
        assert!(was_killed || told(&result).ends_with("run it again"), "{kind:?}: {result}");
        assert!(since.elapsed() < SOON, "{kind:?} is not served after {:?}", since.elapsed());
    }
}

/// Waits until there are some: interpreters that wait for programs are started when the answer before is out.
fn find(server: i32, victim: Victim) -> Vec<i32> {
    let end = Instant::now() + Duration::from_secs(20);
    loop {
        let found = Tree::of(server).find(victim);
        if !found.is_empty() {
            return found;
        }
        assert!(Instant::now() < end, "no {victim:?}");
        thread::sleep(Duration::from_millis(20));
    }
}

/// Has one of every kind run, so that what waits for programs waits.
fn warm_up(client: &mut Client) {
    for kind in QUICK {
        let (arguments, expected) = quick(&kind, "warm");
        assert_eq!(printed(&client.run(&arguments)), expected, "{kind:?}");
    }
}

#[test]
#[expect(clippy::print_stderr, reason = "figures for whoever reads the log")]
fn whoever_is_hit_is_told_and_the_rest_goes_on() {
    let Some(world) = World::new() else { return };
    let mut client = world.serve(&["--log", "off"]);
    let server = client.pid();
    warm_up(&mut client);
    let before = Holdings::of(server);
    for (victim, fates) in FATES {
        let calls = start_all(&mut client);
        let found = find(server, victim);
        for pid in &found {
            processes::kill(*pid);
        }
        let since = Instant::now();
        for ((lasting, fate), call) in LASTING.iter().zip(fates).zip(&calls) {
            let place = format!("{victim:?}, {}", lasting.name);
            match fate {
                GoesOn => {
                    assert_eq!(client.answer_within(*call, Duration::from_millis(20)), None, "{place}");
                }
                Told(why) => {
                    let answer = client.answer_within(*call, SOON).unwrap_or_else(|| panic!("{place}: no answer"));
                    assert_eq!(
                        told(&answer["result"]),
                        format!("Failed, and not because of the code: {why}"),
                        "{place}"
                    );
                }
                Killed => {
                    let answer = client.answer_within(*call, SOON).unwrap_or_else(|| panic!("{place}: no answer"));
                    assert_eq!(answer["result"]["structuredContent"]["signal"], "SIGKILL", "{place}: {answer}");
                }
            }
        }
        let told = since.elapsed();
        give_up(&mut client, &calls);
        let after = Instant::now();
        eprintln!(
            "{victim:?}: all were told within {told:.0?}, the next served after {:?} ms",
            back(&mut client, after)
        );
        before.assert_again(server, SOON);
    }
}

/// A call that is refused in between does not keep it from who asks next.
#[test]
fn who_was_refused_hears_of_it_with_the_next_result() {
    let Some(world) = World::new() else { return };
    let mut client = world.serve(&["--log", "off"]);
    for (victim, session, engine) in [(Victim::Worker, "w", "wasm"), (Victim::Launcher, "n", "native")] {
        let cell = |code: &str, packages: &[&str]| json!({"session": session, "engine": engine, "language": "python", "code": code, "packages": packages});
        printed(&client.run(&cell("x = 1", &[])));
        for pid in find(client.pid(), victim) {
            processes::kill(pid);
        }
        thread::sleep(Duration::from_millis(500));
        let refused = client.run(&cell("x", &["no name!"]));
        assert_eq!((&refused["isError"], refused.get("structuredContent")), (&json!(true), None), "{refused}");
        let result = client.run(&cell("'x' in globals()", &[]));
        let content = &result["structuredContent"];
        assert_eq!((&content["result"], &content["state"]), (&json!(false), &json!("gone")), "{result}");
        let again = client.run(&cell("1", &[]));
        assert_eq!(again["structuredContent"].get("state"), None, "it is said once: {again}");
        // Nor from who would only add to it.
        for pid in find(client.pid(), victim) {
            processes::kill(pid);
        }
        thread::sleep(Duration::from_millis(500));
        let refused = client.run(&cell("x", &["no name!"]));
        assert_eq!((&refused["isError"], refused.get("structuredContent")), (&json!(true), None), "{refused}");
        let part = json!({"session": session, "path": "parts.txt", "text": "part", "append": true});
        let mut write =
            || client.request("tools/call", &json!({"name": "write_file", "arguments": part}))["result"].take();
        let added = write();
        assert!(told(&added).contains(&format!("the session `{session}` is gone")), "{added}");
        assert_eq!(write()["structuredContent"]["bytes"], 4, "it begins anew");
    }
}

/// What is added to a session that is gone is not the end of anything: a file that was built in parts would be its last part alone.
#[test]
fn who_adds_to_a_session_hears_that_it_is_gone() {
    let Some(world) = World::new() else { return };
    let mut client = world.serve(&["--log", "off"]);
    for (victim, session, engine) in [(Victim::Worker, "w", "wasm"), (Victim::Launcher, "n", "native")] {
        printed(&client.run(&json!({"session": session, "engine": engine, "language": "python", "code": "x = 1"})));
        let part = json!({"session": session, "path": "parts.txt", "text": "part", "append": true});
        let mut write =
            || client.request("tools/call", &json!({"name": "write_file", "arguments": part}))["result"].take();
        assert_eq!(write()["structuredContent"]["bytes"], 4);
        for pid in find(client.pid(), victim) {
            processes::kill(pid);
        }
        let mut write =
            || client.request("tools/call", &json!({"name": "write_file", "arguments": part}))["result"].take();
        let since = Instant::now();
        let answer = loop {
            let answer = write();
            // It takes a moment until the death is noticed.
            if answer["isError"] == true || since.elapsed() > SOON {
                break answer;
            }
        };
        assert!(
            told(&answer).contains(&format!("the session `{session}` is gone, with its variables and files")),
            "{answer}"
        );
        assert_eq!(write()["structuredContent"]["bytes"], 4, "it begins anew");
    }
}

/// Nobody has to be told of what was only waiting: the next call is served, by another.
#[test]
#[expect(clippy::print_stderr, reason = "figures for whoever reads the log")]
fn what_only_waits_can_be_killed() {
    let Some(world) = World::new() else { return };
    let mut client = world.serve(&["--log", "off"]);
    let server = client.pid();
    warm_up(&mut client);
    let before = Holdings::of(server);
    for victim in [Victim::Guest, Victim::Spare, Victim::Worker, Victim::Supervisor, Victim::Launcher] {
        for (session, engine) in [("w", "wasm"), ("n", "native")] {
            printed(&client.run(&json!({"session": session, "engine": engine, "language": "python", "code": "x = 1"})));
        }
        let found = find(server, victim);
        for pid in &found {
            processes::kill(*pid);
        }
        let since = Instant::now();
        eprintln!("{victim:?}, {} of them: served after {:?} ms", found.len(), back(&mut client, since));
        // Sessions are what they were, or say that they are not.
        for (session, engine, holders) in [
            ("w", "wasm", [Victim::Worker, Victim::Supervisor, Victim::Launcher]),
            ("n", "native", [Victim::Guest, Victim::Supervisor, Victim::Launcher]),
        ] {
            let code = "'x' in globals()";
            let result = client.run(&json!({"session": session, "engine": engine, "language": "python", "code": code}));
            let content = &result["structuredContent"];
            let (expected, state) = match (holders.contains(&victim), victim) {
                (false, _) => (json!(true), json!(null)),
                // It was noticed before: a new one ran this.
                (true, Victim::Guest) => (json!(false), json!("lost")),
                (true, _) => (json!(false), json!("gone")),
            };
            assert_eq!((&content["result"], &content["state"]), (&expected, &state), "{victim:?}, {session}: {result}");
        }
        give_up(&mut client, &[]);
        before.assert_again(server, SOON);
    }
}

/// What is promised of the time between a kill and the next right answer.
const BACK_S: u64 = 1;

/// Each kind of program after each kind of kill: one time of many is enough to see that nothing but a busy machine holds it up.
#[test]
#[expect(clippy::print_stderr, reason = "figures for whoever reads the log")]
fn any_kind_of_program_is_served_within_a_second_of_a_kill() {
    const TRIES: usize = 12;
    let Some(world) = World::new() else { return };
    let mut client = world.serve(&["--log", "off"]);
    for victim in [Victim::Guest, Victim::Spare, Victim::Worker, Victim::Supervisor, Victim::Launcher] {
        for kind in &QUICK {
            let mut attempt = || {
                // All kinds, so that what waits for them waits. The first to come may be told of the kill before.
                back(&mut client, Instant::now());
                let found = find(client.pid(), victim);
                for pid in found {
                    processes::kill(pid);
                }
                served(&mut client, kind, Instant::now())
            };
            let mut times = Vec::new();
            while times.len() < TRIES && times.iter().all(|time| *time >= Duration::from_secs(BACK_S)) {
                times.push(attempt());
            }
            eprintln!("{victim:?}, {kind:?}: served after {times:.0?}");
            assert!(times.iter().any(|time| *time < Duration::from_secs(BACK_S)), "{victim:?}, {kind:?}: {times:?}");
        }
    }
}

/// All are gone within a second, wherever the machine lets them: one time of many is enough to see that nothing else holds them up.
#[test]
#[expect(clippy::print_stderr, reason = "figures for whoever reads the log")]
fn a_killed_server_leaves_nothing() {
    const PROMISED: Duration = Duration::from_secs(1);
    let Some(world) = World::new() else { return };
    drop(world.serve(&["--log", "off"]));
    let files = world.files();
    let mut times: Vec<Duration> = Vec::new();
    let is_kept = |times: &[Duration]| times.iter().any(|gone| *gone < PROMISED);
    while times.len() < 3 || (times.len() < 12 && !is_kept(&times)) {
        let mut client = world.serve(&["--log", "off"]);
        warm_up(&mut client);
        start_all(&mut client);
        let tree = Tree::of(client.pid());
        let groups = group_folders(tree.launcher().expect("a launcher"));
        processes::kill(client.pid());
        let gone = tree.assert_gone(Instant::now(), SOON);
        times.push(gone);
        drop(client);
        // Groups cannot be removed by whoever was in them.
        let started = Instant::now();
        let mut client = world.serve(&["--log", "off"]);
        warm_up(&mut client);
        eprintln!(
            "all were gone after {gone:.0?}, and another server had served all kinds after {:.0?}",
            started.elapsed()
        );
        let left: Vec<_> = groups.iter().filter(|folder| folder.is_dir()).collect();
        assert!(left.is_empty(), "{left:?}");
        assert_eq!(world.files(), files);
    }
    assert!(is_kept(&times), "{times:?}");
}
