//! What is neither heard of nor killed: a launcher that is stopped, a guest that cannot end. Nobody waits for ever, and it is told which.

use std::io::Read as _;
use std::process::Stdio;
use std::thread;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};
use serde_json::json;
use testkit::{arena, processes, runtimes};

use crate::client::{BELLJAR, Client};
use crate::tree::{Tree, Victim};
use crate::{SOON, printed, told};

/// The run's time, what is allowed to the launcher, and a busy machine's share.
const IN_THE_END: Duration = Duration::from_mins(1);

/// A process that does nothing until this is dropped.
struct Stopped(Pid);

impl Stopped {
    fn new(pid: i32) -> Self {
        let pid = Pid::from_raw(pid).expect("a pid");
        kill_process(pid, Signal::STOP).expect("our own");
        Self(pid)
    }
}

impl Drop for Stopped {
    fn drop(&mut self) {
        kill_process(self.0, Signal::CONT).expect("our own");
    }
}

#[test]
fn a_launcher_that_is_stopped_holds_nobody() {
    let mut client = Client::start(&["--log", "off"]).greeted();
    let arguments = json!({"language": "bash", "engine": "native", "code": "echo up; sleep 600", "timeout_ms": 10_000});
    let params = json!({"name": "run_code", "arguments": arguments, "_meta": {"progressToken": 1}});
    let id = client.send("tools/call", &params);
    assert_eq!(client.next()["params"]["message"], "up\n");
    let tree = Tree::of(client.pid());
    let stopped = Stopped::new(tree.launcher().expect("a launcher"));
    for pid in tree.find(Victim::Supervisor) {
        processes::kill(pid);
    }
    let answer = client.answer_within(id, IN_THE_END).expect("an answer");
    assert!(told(&answer["result"]).contains("does not answer"), "{answer}");
    drop(stopped);
    let result = client.run(&json!({"language": "bash", "engine": "native", "code": "echo again"}));
    assert_eq!(printed(&result), "again\n");
}

/// As one that waits for a disk or a folder that does not answer: what is traced is there until its tracer has heard of its end.
const TRACER: &str = "import ctypes, sys\nSEIZE = 0x4206\nassert ctypes.CDLL(None).ptrace(SEIZE, int(sys.argv[1]), 0, 0) == 0\nprint(flush=True)\nsys.stdin.read()";

#[test]
fn a_program_that_the_kernel_cannot_end_is_not_the_launchers_fault() {
    let mut client = Client::start(&["--log", "off"]).greeted();
    let code = "echo up; sleep 600; true";
    let arguments = json!({"language": "bash", "engine": "native", "code": code, "timeout_ms": 5_000});
    let params = json!({"name": "run_code", "arguments": arguments, "_meta": {"progressToken": 1}});
    let id = client.send("tools/call", &params);
    assert_eq!(client.next()["params"]["message"], "up\n");
    let find = || Tree::of(client.pid()).find(Victim::Guest).into_iter().filter_map(processes::find);
    let since = Instant::now();
    let sleeping = loop {
        assert!(since.elapsed() < SOON, "it does not sleep");
        if let Some(found) = find().find(|process| process.arguments.contains("600")) {
            break found.pid;
        }
    };
    let mut tracer = arena::host_command("python3");
    tracer.args(["-c", TRACER, &sleeping.to_string()]).stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut tracer = tracer.spawn().expect("a Python");
    if tracer.stdout.as_mut().expect("piped").read_exact(&mut [0]).is_err() {
        tracer.wait().expect("our own");
        return runtimes::skip("whoever runs the tests may not trace a guest");
    }
    let answer = client.answer_within(id, IN_THE_END).expect("an answer");
    assert!(told(&answer["result"]).contains("its processes stay"), "{answer}");
    let result = client.run(&json!({"language": "bash", "engine": "native", "code": "echo again"}));
    assert_eq!(printed(&result), "again\n");
    // Which closes its input.
    tracer.wait().expect("our own");
}

/// As on a host that is slow to build a jail. A run with variables of its own waits for one: no interpreter that is there already serves it.
#[test]
fn what_starts_late_on_the_host_is_not_the_answer_when_it_fails_there() {
    if runtimes::provisioned(BELLJAR).is_none() {
        return;
    }
    let mut client = Client::start(&["--log", "off"]).greeted();
    for engine in ["wasm", "native"] {
        printed(&client.run(&json!({"language": "python", "engine": engine, "code": "1"})));
    }
    let stopped = Stopped::new(Tree::of(client.pid()).launcher().expect("a launcher"));
    let only_here = "import sys, time\nif sys.platform != 'wasi': sys.exit('not here')\ntime.sleep(6)\nprint('ok')";
    let arguments = json!({"language": "python", "code": only_here, "env": {"A": "1"}});
    let id = client.send("tools/call", &json!({"name": "run_code", "arguments": arguments}));
    thread::sleep(Duration::from_secs(3));
    drop(stopped);
    assert_eq!(printed(&client.answer(id)["result"]), "ok\n");
}
