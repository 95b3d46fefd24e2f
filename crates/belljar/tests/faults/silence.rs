//! A launcher that is stopped, not killed: nobody hears of anything from it, and nobody waits for ever.

use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};
use serde_json::json;
use testkit::processes;

use crate::client::Client;
use crate::tree::{Tree, Victim};
use crate::{printed, told};

/// What is allowed to the launcher, and a busy machine's share.
const IN_THE_END: Duration = Duration::from_secs(20);

#[test]
fn a_launcher_that_is_stopped_holds_nobody() {
    let mut client = Client::start(&["--log", "off"]).greeted();
    let arguments = json!({"language": "bash", "engine": "native", "code": "echo up; sleep 600", "timeout_ms": 1_000});
    let params = json!({"name": "run_code", "arguments": arguments, "_meta": {"progressToken": 1}});
    let id = client.send("tools/call", &params);
    assert_eq!(client.next()["params"]["message"], "up\n");
    let tree = Tree::of(client.pid());
    let launcher = Pid::from_raw(tree.launcher().expect("a launcher")).expect("a pid");
    kill_process(launcher, Signal::STOP).expect("our own");
    for pid in tree.find(Victim::Supervisor) {
        processes::kill(pid);
    }
    let answer = client.answer_within(id, IN_THE_END).expect("an answer");
    assert!(told(&answer["result"]).contains("does not answer"), "{answer}");
    kill_process(launcher, Signal::CONT).expect("our own");
    let result = client.run(&json!({"language": "bash", "engine": "native", "code": "echo again"}));
    assert_eq!(printed(&result), "again\n");
}
