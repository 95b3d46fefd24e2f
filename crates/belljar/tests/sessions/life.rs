//! When sessions begin and end, whose they are, and that they leave nothing.

use std::fs;
use std::thread;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use testkit::mcp_http::Endpoint;
use testkit::processes;

use super::{call, python, refusal, structured};
use crate::client::{Client, serve_http};

const ENGINES: [&str; 2] = ["native", "wasm"];

/// A cell that is told to stop loses its variables where it does not listen within a second. A busy machine may keep it from that, but not
/// so often.
pub(super) const TRIES: usize = 4;

/// The caller's sessions.
fn listed(client: &mut Client) -> Value {
    structured(&call(client, "list_sessions", &json!({})))["sessions"].clone()
}

/// Waits until it is so, or for long enough to be sure that it never will be.
fn wait_until(mut condition: impl FnMut() -> bool) {
    let end = Instant::now() + Duration::from_mins(1);
    while !condition() && Instant::now() < end {
        thread::sleep(Duration::from_millis(50));
    }
}

#[test]
fn calls_to_one_session_queue_and_others_do_not_wait() {
    for engine in ENGINES {
        let mut client = Client::initialized();
        let cell = |client: &mut Client, session: &str, code: &str| {
            let arguments = json!({"session": session, "engine": engine, "language": "python", "code": code});
            let params = json!({"name": "run_code", "arguments": arguments, "_meta": {"progressToken": session}});
            client.send("tools/call", &params)
        };
        let first = cell(&mut client, "one", "import time\nprint('up', flush=True)\ntime.sleep(12)\nn = 1");
        // Handlers of requests start side by side: what is sent at the same moment has no order.
        while client.next()["params"]["message"] != "up\n" {}
        let second = cell(&mut client, "one", "n += 1\nn");
        let other = cell(&mut client, "two", "'at once'");
        let answer = client.answer(other);
        assert_eq!(answer["result"]["structuredContent"]["result"], "at once", "{engine}: {answer}");
        assert_eq!(client.answer_within(first, Duration::ZERO), None, "{engine}: it waited for another session");
        let answer = client.answer(second);
        assert_eq!(answer["result"]["structuredContent"]["result"], 2, "{engine}: {answer}");
        client.answer(first);
    }
}

#[test]
fn a_cell_that_is_cancelled_leaves_its_session() {
    for engine in ENGINES {
        let mut client = Client::initialized();
        let arguments = |code: &str| json!({"session": "c", "engine": engine, "language": "python", "code": code});
        for code in ["import time\ntime.sleep(60)", "while True: pass"] {
            let mut found = || {
                structured(&client.run(&arguments("x = 5")));
                let id = client.send("tools/call", &json!({"name": "run_code", "arguments": arguments(code)}));
                thread::sleep(Duration::from_millis(300));
                client.notify("notifications/cancelled", &json!({"requestId": id}));
                let started = Instant::now();
                let result = client.run(&arguments("x"))["structuredContent"]["result"].take();
                assert!(started.elapsed() < Duration::from_secs(20), "{engine} {code}: it was not ended");
                result
            };
            assert!((0..TRIES).any(|_| found() == 5), "{engine} {code}: it loses its variables");
        }
    }
}

#[test]
fn a_session_that_cannot_be_stopped_says_what_is_lost() {
    let mut client = Client::initialized();
    structured(&python(&mut client, "s", "x = 5\nopen('kept.txt', 'w').write('k')"));
    // Signals are for the main thread, which does not look.
    let stubborn = "import signal\nsignal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGINT])\nwhile True: pass";
    let result = client.run(&json!({"session": "s", "language": "python", "code": stubborn, "timeout_ms": 3000}));
    let got = &result["structuredContent"];
    assert_eq!((&got["status"], &got["state"]), (&json!("timed_out"), &json!("lost")), "{result}");
    let text = result["content"][0]["text"].as_str().expect("text");
    assert!(text.contains("variables are gone"), "{text}");
    let result = python(&mut client, "s", "open('kept.txt').read(), 'x' in globals()");
    assert_eq!(structured(&result)["result"], json!(["k", false]), "files are there");
    for (code, status, code_or_signal) in [
        ("import os\nos._exit(3)", "completed", json!(3)),
        ("import os\nos.kill(os.getpid(), 11)", "crashed", json!("SIGSEGV")),
        ("x = bytearray(3 << 30)\nfor i in range(0, len(x), 4096): x[i] = 1", "", json!(null)),
    ] {
        let result = python(&mut client, "s", code);
        let got = &result["structuredContent"];
        if status.is_empty() {
            // An error of the program's own where address space is limited, else the kernel's doing.
            assert!(got["error"]["kind"] == "MemoryError" || got["limit"] == "memory", "{result}");
            continue;
        }
        assert_eq!((&got["status"], &got["state"]), (&json!(status), &json!("lost")), "{result}");
        assert!(got["exit_code"] == code_or_signal || got["signal"] == code_or_signal, "{result}");
    }
    assert_eq!(structured(&python(&mut client, "s", "1 + 1"))["result"], 2);
}

#[test]
fn idle_sessions_go_and_there_are_so_many() {
    let mut client = Client::start(&["--session-idle", "5s", "--sessions-per-caller", "2"]).greeted();
    structured(&python(&mut client, "a", "x = 1"));
    structured(&call(&mut client, "write_file", &json!({"session": "b", "path": "f", "text": "1"})));
    let text = refusal(&python(&mut client, "c", "1")).to_owned();
    assert!(text.contains("2 sessions already") && text.contains("close_session"), "{text}");
    wait_until(|| listed(&mut client) == json!([]));
    assert_eq!(listed(&mut client), json!([]));
    let text = refusal(&call(&mut client, "read_file", &json!({"session": "b", "path": "f"}))).to_owned();
    assert!(text.contains("no session `b`"), "{text}");
    let result = python(&mut client, "a", "'x' in globals()");
    assert_eq!(structured(&result)["result"], false, "a new one");
}

#[test]
fn a_busy_session_can_be_closed() {
    let mut client = Client::initialized();
    let arguments = json!({"session": "a", "language": "python", "code": "import time\ntime.sleep(60)"});
    let id = client.send("tools/call", &json!({"name": "run_code", "arguments": arguments}));
    wait_until(|| listed(&mut client)[0]["state"] == "busy");
    structured(&call(&mut client, "close_session", &json!({"session": "a"})));
    let started = Instant::now();
    let answer = client.answer(id);
    assert!(started.elapsed() < Duration::from_secs(20));
    assert!(refusal(&answer["result"]).contains("was closed"), "{answer}");
}

#[test]
fn nothing_is_left_of_a_session() {
    let mark = format!("belljar-session-{}", std::process::id());
    let code = format!("import subprocess\nsubprocess.Popen(['bash', '-c', 'sleep 600; : {mark}'])\nNone");
    let mut client = Client::initialized();
    structured(&python(&mut client, "a", &code));
    assert!(!processes::marked(&mark).is_empty(), "it lives as long as its session");
    structured(&call(&mut client, "close_session", &json!({"session": "a"})));
    processes::assert_gone(&mark, Duration::from_secs(5));
    structured(&python(&mut client, "a", &code));
    // Killed, not closed.
    drop(client);
    processes::assert_gone(&mark, Duration::from_secs(5));
}

#[test]
fn two_callers_with_the_same_name_never_meet() {
    let folder = tempfile::tempdir().expect("a temporary directory");
    let file = folder.path().join("tokens");
    fs::write(&file, "ada 0123456789abcdef-ada\ngrace 0123456789abcdef-grace\n").expect("write");
    let served = serve_http(&["--tokens", file.to_str().expect("text")]);
    let at = Endpoint::new(served.address());
    let (ada, grace) = (at.clone().with_token("0123456789abcdef-ada"), at.with_token("0123456789abcdef-grace"));
    for engine in ENGINES {
        let cell = |who: &Endpoint, code: &str| {
            let arguments = json!({"session": "desk", "engine": engine, "language": "python", "code": code});
            who.modern().call("run_code", &arguments).expect("an answer")["result"].take()
        };
        let tool = |who: &Endpoint, tool: &str, arguments: Value| {
            who.modern().call(tool, &arguments).expect("an answer")["result"].take()
        };
        structured(&cell(&ada, "secret = 1\nopen('ada.txt', 'w').write('hers')"));
        // Before she has one of that name, nothing says that somebody else has.
        for (name, arguments) in [
            ("read_file", json!({"session": "desk", "path": "ada.txt"})),
            ("list_files", json!({"session": "desk"})),
            ("close_session", json!({"session": "desk"})),
            ("fork_session", json!({"session": "desk", "as": "mine"})),
        ] {
            let theirs = tool(&grace, name, arguments.clone());
            let mut of_nobody = arguments;
            of_nobody["session"] = json!("nobodys");
            let nobodys = tool(&grace, name, of_nobody);
            assert_eq!(refusal(&theirs).replace("`desk`", "`nobodys`"), refusal(&nobodys), "{name}");
        }
        let read = grace.modern().request("resources/read", json!({"uri": "session://desk/files/ada.txt"}));
        assert!(read.expect("an answer").get("error").is_some());
        assert_eq!(structured(&tool(&grace, "list_sessions", json!({})))["sessions"], json!([]));
        let result = cell(&grace, "import os\n'secret' in globals(), os.listdir('.')");
        assert_eq!(structured(&result)["result"], json!([false, []]), "{engine}");
        assert_eq!(structured(&cell(&ada, "secret"))["result"], 1, "{engine}");
        for who in [&ada, &grace] {
            structured(&tool(who, "close_session", json!({"session": "desk"})));
        }
    }
}

/// What a cell left behind is stopped between cells, and keeps no later one from its end.
#[test]
fn what_is_left_behind_floods_nobody() {
    let mut client = Client::initialized();
    let flood = "import threading\ndef flood():\n    while True: print('x' * 1000)\nthreading.Thread(target=flood, daemon=True).start()";
    structured(&python(&mut client, "a", flood));
    let server = client.pid();
    let cpu = || {
        let stat = fs::read_to_string(format!("/proc/{server}/stat")).expect("its status");
        let fields = stat.rsplit_once(')').expect("a name").1.split_whitespace().skip(11).take(2);
        fields.map(|field| field.parse::<u64>().expect("ticks")).sum::<u64>()
    };
    for _ in 0..5 {
        let started = Instant::now();
        assert_eq!(structured(&python(&mut client, "a", "1 + 1"))["result"], 2);
        assert!(started.elapsed() < Duration::from_secs(5));
    }
    let before = cpu();
    thread::sleep(Duration::from_secs(1));
    assert!(cpu() - before < 20, "the server is busy although nothing runs");
}

/// A guest's own timer can let its processes go on that were stopped.
#[test]
fn what_goes_on_between_cells_is_ended() {
    const STOPPED: &str = "import threading\nx = 5\ndef work():\n    while True: pass\nthreading.Thread(target=work, daemon=True).start()";
    const GOES_ON: &str = "
import ctypes, os, signal, time
libc = ctypes.CDLL(None)
class Event(ctypes.Structure):
    _fields_ = [('value', ctypes.c_void_p), ('signal', ctypes.c_int), ('notify', ctypes.c_int), ('rest', ctypes.c_int * 12)]
x = 5
# The kernel does not wind up a timer again whose signal nobody wants.
signal.signal(signal.SIGCONT, lambda *_: None)
if os.fork() == 0:
    for descriptor in range(4):
        try: os.close(descriptor)
        except OSError: pass
    timer = ctypes.c_void_p()
    libc.timer_create(0, ctypes.byref(Event(0, 18, 0)), ctypes.byref(timer))
    libc.timer_settime(timer, 0, ctypes.byref((ctypes.c_long * 4)(0, 20_000_000, 0, 20_000_000)), None)
    while True: pass
# Until it has done so.
time.sleep(1)
";
    let mut client = Client::initialized();
    for (session, code) in [("stopped", STOPPED), ("goes-on", GOES_ON)] {
        structured(&python(&mut client, session, code));
    }
    thread::sleep(Duration::from_secs(8));
    for (session, state, is_there) in [("stopped", json!(null), true), ("goes-on", json!("lost"), false)] {
        let result = python(&mut client, session, "'x' in globals()");
        let got = structured(&result);
        assert_eq!((&got["state"], &got["result"]), (&state, &json!(is_there)), "{session}: {result}");
    }
}

/// What a server has, its launcher, its worker and all jails included.
#[derive(Debug)]
struct Holdings {
    processes: usize,
    descriptors: usize,
    mounts: usize,
    groups: usize,
    /// Memory that is no other process's.
    private_kib: u64,
}

impl Holdings {
    fn of(server: i32) -> Self {
        let everybody = processes::all();
        let mut pids = vec![server];
        let mut next = 0;
        while let Some(&parent) = pids.get(next) {
            pids.extend(everybody.iter().filter(|process| process.parent == parent).map(|process| process.pid));
            next += 1;
        }
        let private = |pid: &i32| {
            let rollup = fs::read_to_string(format!("/proc/{pid}/smaps_rollup")).unwrap_or_default();
            let line = rollup.lines().find(|line| line.starts_with("Private_Dirty:"));
            line.and_then(|line| line.split_whitespace().nth(1)?.parse::<u64>().ok()).unwrap_or(0)
        };
        let lines = |path: String| fs::read_to_string(path).map_or(0, |text| text.lines().count());
        let entries = |path: String| fs::read_dir(path).map_or(0, Iterator::count);
        Self {
            processes: pids.len(),
            descriptors: pids.iter().map(|pid| entries(format!("/proc/{pid}/fd"))).sum(),
            mounts: pids.iter().map(|pid| lines(format!("/proc/{pid}/mountinfo"))).sum(),
            groups: groups(&pids),
            private_kib: pids.iter().map(private).sum(),
        }
    }

    /// Whether this is no more than what was, but for what is made ahead at this moment and not at that one.
    fn is_within(&self, before: &Self) -> bool {
        self.processes <= before.processes + 2
            && self.descriptors <= before.descriptors + 24
            && self.mounts <= before.mounts + 100
            && self.groups <= before.groups + 2
            && self.private_kib <= before.private_kib + 16 * 1024
    }
}

/// Groups that these processes have made.
fn groups(pids: &[i32]) -> usize {
    let names: Vec<String> = pids.iter().map(|pid| format!("belljar-{pid}")).collect();
    let (mut count, mut pending) = (0, vec![(std::path::PathBuf::from("/sys/fs/cgroup"), false)]);
    while let Some((folder, is_ours)) = pending.pop() {
        for entry in fs::read_dir(&folder).into_iter().flatten().flatten() {
            if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
                let is_ours = is_ours || names.iter().any(|name| entry.file_name() == **name);
                count += usize::from(is_ours);
                pending.push((entry.path(), is_ours));
            }
        }
    }
    count
}

#[test]
fn a_thousand_sessions_leave_no_trace() {
    for (engine, count) in [("wasm", 800), ("native", 200)] {
        let mut client = Client::initialized();
        let pid = client.pid();
        let round = |client: &mut Client, number: usize| {
            let name = format!("s{number}");
            let arguments = json!({"session": name, "engine": engine, "language": "python", "code": "x = 1"});
            structured(&client.run(&arguments));
            structured(&call(client, "close_session", &json!({"session": name})));
        };
        (0..20).for_each(|number| round(&mut client, number));
        let before = Holdings::of(pid);
        (0..count).for_each(|number| round(&mut client, number));
        wait_until(|| Holdings::of(pid).is_within(&before));
        let after = Holdings::of(pid);
        assert!(after.is_within(&before), "{engine}: {before:?} to {after:?}");
    }
}
