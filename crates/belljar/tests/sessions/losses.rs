//! What another language, or an end that nobody waited for, costs a session's interpreters, and that the next cell says so.

use serde_json::{Value, json};

use super::{call, refusal, structured};
use crate::client::Client;

fn cell(client: &mut Client, language: &str, code: &str) -> Value {
    client.run(&json!({"session": "s", "engine": "native", "language": language, "code": code}))
}

#[test]
fn a_language_that_cannot_be_started_costs_the_others_nothing() {
    let mut client = Client::initialized();
    let fill = "x = 5\ntry:\n    with open('big', 'wb', buffering=0) as file:\n        while file.write(bytes(1 << 20)): pass\nexcept OSError: pass";
    structured(&cell(&mut client, "python", fill));
    for (language, code) in [("bash", "rm big"), ("c", "int main(void) { return 0; }")] {
        let text = refusal(&cell(&mut client, language, code)).to_owned();
        assert!(text.contains("the workspace is full") && text.contains("a cell in `python`"), "{text}");
        let kept = cell(&mut client, "python", "x");
        let got = structured(&kept);
        assert_eq!((&got["result"], got.get("state")), (&json!(5), None), "{language}: {kept}");
    }
    structured(&cell(&mut client, "python", "import os\nos.remove('big')"));
    assert_eq!(structured(&cell(&mut client, "bash", "echo there"))["stdout"], "there\n");
    assert_eq!(structured(&cell(&mut client, "python", "x"))["result"], 5);
}

#[test]
fn what_has_a_programs_name_is_left_alone() {
    let mut client = Client::initialized();
    structured(&cell(&mut client, "python", "import os\nx = 5"));
    for make in ["os.mkdir('main.c')", "os.rmdir('main.c'); os.symlink('elsewhere', 'main.c')"] {
        structured(&cell(&mut client, "python", make));
        let text = refusal(&cell(&mut client, "c", "int main(void) { return 0; }")).to_owned();
        assert!(text.contains("something called `main.c`"), "{make}: {text}");
        assert_eq!(structured(&cell(&mut client, "python", "x"))["result"], 5, "{make}");
    }
}

/// The next cell of that language begins anew, and says it.
#[track_caller]
fn assert_told_once(client: &mut Client) {
    assert_told_once_by("native", client);
}

#[track_caller]
fn assert_told_once_by(engine: &str, client: &mut Client) {
    let mut cell =
        |code: &str| client.run(&json!({"session": "s", "engine": engine, "language": "python", "code": code}));
    let result = cell("'x' in globals()");
    let got = structured(&result);
    assert_eq!((&got["result"], &got["state"]), (&json!(false), &json!("lost")), "{result}");
    let text = result["content"][0]["text"].as_str().expect("text");
    assert!(text.contains("variables are gone"), "{text}");
    let result = cell("1");
    assert_eq!(structured(&result).get("state"), None, "{result}");
}

#[test]
fn who_ends_while_another_cell_runs_says_so_in_its_next() {
    let mut client = Client::initialized();
    let leave = "import os, threading, time\nx = 5\ndef leave():\n    while not os.path.exists('go'): time.sleep(0.01)\n    os.remove('go')\n    os._exit(1)\nthreading.Thread(target=leave).start()";
    structured(&cell(&mut client, "python", leave));
    let other = cell(&mut client, "bash", "touch go; while [ -e go ]; do sleep 0.1; done; sleep 1");
    assert_eq!(structured(&other).get("state"), None, "{other}");
    assert_told_once(&mut client);

    // Ended with all others, for a limit that was another's.
    structured(&cell(&mut client, "python", "x = 5"));
    let arguments = json!({"session": "s", "engine": "native", "language": "bash", "code": "trap '' INT; while :; do :; done", "timeout_ms": 3_000});
    let other = client.run(&arguments);
    assert_eq!(other["structuredContent"]["state"], "lost", "{other}");
    assert_told_once(&mut client);
}

#[test]
fn who_does_not_stop_when_it_is_cancelled_says_so_in_its_next() {
    let mut client = Client::initialized();
    let masked = "import signal\nsignal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGINT])\nprint('up', flush=True)\nwhile True: pass";
    // In WebAssembly an interpreter looks for signals between two of its instructions, and this is one.
    let one_instruction = "print('up', flush=True)\nsum(iter(int, 1))";
    for (engine, stubborn) in [("native", masked), ("wasm", one_instruction)] {
        let arguments = |code| json!({"session": "s", "engine": engine, "language": "python", "code": code});
        structured(&client.run(&arguments("x = 5")));
        let params = json!({"name": "run_code", "arguments": arguments(stubborn), "_meta": {"progressToken": engine}});
        let id = client.send("tools/call", &params);
        assert_eq!(client.next()["params"]["message"], "up\n");
        client.notify("notifications/cancelled", &json!({"requestId": id}));
        assert_told_once_by(engine, &mut client);
        call(&mut client, "close_session", &json!({"session": "s"}));
    }
}
