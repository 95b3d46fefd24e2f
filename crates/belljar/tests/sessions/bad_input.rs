//! What cannot be done says what can.

use serde_json::json;

use super::life::TRIES;
use super::{call, python, refusal, structured};
use crate::client::Client;

#[test]
fn refusals_name_what_would_work() {
    let mut client = Client::initialized();
    structured(&python(&mut client, "a", "x = 1"));
    for (tool, arguments, expected) in [
        ("run_code", json!({"session": "a b", "code": "1", "language": "python"}), "letters, digits"),
        ("run_code", json!({"session": "", "code": "1", "language": "python"}), "letters, digits"),
        ("run_code", json!({"session": "../x", "code": "1", "language": "python"}), "letters, digits"),
        ("run_code", json!({"session": "a", "code": "1", "language": "python", "engine": "wasm"}), "cannot move"),
        (
            "run_code",
            json!({"session": "a", "code": "1", "language": "python", "memory_mb": 1024}),
            "first call of a new session",
        ),
        ("write_file", json!({"session": "a", "path": "x"}), "send `text`"),
        ("write_file", json!({"session": "a", "path": "x", "text": "1", "base64": "MQ=="}), "send one of them"),
        ("write_file", json!({"session": "a", "path": "x", "base64": "!!"}), "standard base64"),
        ("write_file", json!({"session": "a", "path": "x/", "base64": "MQ==", "mode": 7}), "append"),
        ("read_file", json!({"session": "nope", "path": "x"}), "list_sessions"),
        ("list_files", json!({"session": "nope"}), "list_sessions"),
        ("list_files", json!({"session": "a", "path": "nope"}), "no such file"),
        ("close_session", json!({"session": "nope"}), "list_sessions"),
        ("fork_session", json!({"session": "a", "as": "b"}), "engine `wasm`"),
        ("fork_session", json!({"session": "nope", "as": "b"}), "list_sessions"),
        ("save_session", json!({"session": "a", "as": "b"}), "engine `wasm`"),
        ("restore_session", json!({"session": "nope", "as": "b"}), "save_session"),
        ("restore_session", json!({"session": "..", "as": "b"}), "letters, digits"),
    ] {
        let result = call(&mut client, tool, &arguments);
        let text = refusal(&result);
        assert!(text.starts_with("Refused: ") && text.contains(expected), "{tool} {arguments}: {text}");
    }
    let listed = call(&mut client, "list_sessions", &json!({}));
    assert_eq!(structured(&listed)["sessions"].as_array().map(Vec::len), Some(1), "no refusal opened one: {listed}");
    assert_eq!(structured(&python(&mut client, "a", "x"))["result"], 1, "and none cost anything");
}

#[test]
fn a_file_in_the_way_is_not_overwritten() {
    let mut client = Client::initialized();
    structured(&call(&mut client, "write_file", &json!({"session": "a", "path": "main.c", "text": "mine"})));
    structured(&python(&mut client, "a", "1"));
    let arguments = json!({"session": "a", "language": "c", "code": "int main() { return 0; }"});
    let result = client.run(&arguments);
    assert!(refusal(&result).contains("`main.c`"), "{result}");
    let read = call(&mut client, "read_file", &json!({"session": "a", "path": "main.c"}));
    assert_eq!(structured(&read)["text"], "mine");
    // A file where a folder is meant to be.
    let files = json!([{"path": "main.c/x", "text": "1"}]);
    let result = client.run(&json!({"session": "a", "language": "python", "code": "1", "files": files}));
    assert!(refusal(&result).contains("`main.c/x`"), "{result}");
    assert_eq!(structured(&python(&mut client, "a", "1 + 1"))["result"], 2, "it goes on");
}

#[test]
fn values_that_misbehave_cost_their_own_session_nothing() {
    let mut client = Client::initialized();
    let result = python(&mut client, "a", "class A:\n    def __repr__(self): raise ValueError('no')\nA()");
    assert_eq!(structured(&result).get("result_repr"), None, "{result}");
    let endless = "class B:\n    def __repr__(self):\n        while True: pass\nB()";
    let mut found = || {
        structured(&python(&mut client, "a", "x = 5"));
        let result = client.run(&json!({"session": "a", "language": "python", "code": endless, "timeout_ms": 400}));
        assert_eq!(result["structuredContent"]["status"], "timed_out", "{result}");
        python(&mut client, "a", "x")["structuredContent"]["result"].take()
    };
    assert!((0..TRIES).any(|_| found() == 5), "it loses its variables");
    let result = python(&mut client, "a", "'x' * 50_000_000");
    assert!(result.to_string().len() < 1 << 20, "cut");
    // What speaks to the server in the driver's place is heard, and not believed.
    let forged =
        "import os\nfor fd in range(3, 200):\n    try: os.write(fd, b'999999999999\\n')\n    except OSError: pass\n";
    let result = python(&mut client, "a", forged);
    assert!(
        result["structuredContent"]["state"] == "lost" || result["structuredContent"]["status"] == "completed",
        "{result}"
    );
    assert_eq!(structured(&python(&mut client, "a", "1 + 1"))["result"], 2);
}
