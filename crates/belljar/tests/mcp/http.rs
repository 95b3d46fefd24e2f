//! Over HTTP: who is let in, and who is not.

use std::fs;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use testkit::arena;
use testkit::mcp_http::{Endpoint, Exchange};

use crate::client::{BELLJAR, serve_http};

/// A call of the newer era.
fn call(endpoint: &Endpoint, code: &str) -> Exchange {
    let arguments = json!({"language": "javascript", "code": code});
    endpoint.modern().send("tools/call", json!({"name": "run_code", "arguments": arguments})).expect("it answers")
}

#[track_caller]
fn answer(mut exchange: Exchange) -> Value {
    exchange.answer().expect("it goes on to answer").unwrap_or_else(|| panic!("no answer in {exchange:?}"))
}

#[test]
fn local_callers_are_served_and_foreign_pages_are_not() {
    let served = serve_http(&[]);
    let endpoint = Endpoint::new(served.address());
    let answered = answer(call(&endpoint, "console.log(6 * 7)"));
    assert_eq!(answered["result"]["structuredContent"]["stdout"], "42\n", "{answered}");
    let own_page = endpoint.clone().with_header("Origin", &format!("http://{}", served.address()));
    assert_eq!(call(&own_page, "1").status(), 200);
    for (name, value) in [("Origin", "http://evil.example"), ("Host", "evil.example"), ("Origin", "null")] {
        assert_eq!(call(&endpoint.clone().with_header(name, value), "1").status(), 403, "{name}: {value}");
    }
    assert_eq!(endpoint.get("/healthz").expect("it answers"), (200, "ok".to_owned()));
    assert_eq!(call(&endpoint, "1").status(), 200);
}

/// Whatever a guest makes large, the answer is one that clients take.
#[test]
fn no_guest_decides_how_large_an_answer_is() {
    let served = serve_http(&[]);
    let client = Endpoint::new(served.address()).modern();
    for code in [
        "print('\\x01' * 2_000_000)",
        "raise type('A' * 900_000, (Exception,), {})",
        "raise OSError(38, 'A' * 900_000)",
        "'x' * 200_000",
        "[0] * 100_000",
        "for n in range(900): open('ü' * 100 + str(n), 'w').close()",
        "for n in range(9): open(f'{n}.png', 'wb').write(b'\\x89PNG\\r\\n\\x1a\\n' + bytes(300_000))",
        "import sys\nprint('a' * 400_000); print('b' * 400_000, file=sys.stderr); open('c.png', 'wb').write(b'\\x89PNG\\r\\n\\x1a\\n' + bytes(200_000))",
    ] {
        let answer = client.call("run_code", &json!({"language": "python", "code": code})).expect("an answer");
        assert!(answer["result"]["structuredContent"]["status"] == "completed", "{code}: {answer}");
        let size = answer.to_string().len();
        assert!(size < 1 << 20, "{code}: {size} bytes");
    }
    let answer = client.call("run_code", &json!({"x".repeat(3_000_000): 1})).expect("a refusal");
    assert!(answer.to_string().len() < 2_000);
}

#[test]
fn tokens_open_the_door_for_their_owners() {
    let folder = tempfile::tempdir().expect("a temporary directory");
    let file = folder.path().join("tokens");
    fs::write(&file, "ada 0123456789abcdef-ada\ngrace 0123456789abcdef-grace\n").expect("write");
    let served = serve_http(&["--tokens", file.to_str().expect("text")]);
    let nobody = Endpoint::new(served.address());
    let basic = nobody.clone().with_header("Authorization", "Basic 0123456789abcdef-ada");
    for stranger in [nobody.clone(), nobody.clone().with_token("wrong"), basic] {
        let refused = call(&stranger, "1");
        assert_eq!(refused.status(), 401, "{stranger:?}");
        let challenge = refused.header("WWW-Authenticate").unwrap_or_default();
        assert!(challenge.starts_with("Bearer"), "{challenge}");
    }
    let ada = nobody.clone().with_token("0123456789abcdef-ada");
    let grace = nobody.with_token("0123456789abcdef-grace");
    let written = answer(call(&ada, "require('fs').writeFileSync('a.txt', 'hers')"));
    let uri = written["result"]["structuredContent"]["files"][0]["uri"].as_str().expect("a file");
    // What a run left is its owner's.
    for (caller, is_there) in [(ada, true), (grace, false)] {
        let read = caller.modern().request("resources/read", json!({"uri": uri})).expect("it answers");
        assert_eq!(read["result"]["contents"][0]["text"] == "hers", is_there, "{read}");
    }
}

#[test]
fn an_open_door_to_the_network_is_refused() {
    let output = arena::host_command(BELLJAR).args(["serve", "--http", "0.0.0.0:0"]).output().expect("belljar starts");
    let words = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(125), "{words}");
    assert!(words.contains("can be reached from other machines") && words.contains("--tokens"), "{words}");
}

#[test]
fn every_run_is_in_the_audit_log() {
    let folder = tempfile::tempdir().expect("a temporary directory");
    let log = folder.path().join("audit.jsonl");
    let served = serve_http(&["--audit", log.to_str().expect("text")]);
    let endpoint = Endpoint::new(served.address());
    answer(call(&endpoint, "console.log('secret-output')"));
    answer(call(&endpoint, "process.exit(3)"));
    drop(served);
    let text = fs::read_to_string(&log).expect("a log");
    let entries: Vec<Value> = text.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();
    let codes: Vec<&Value> = entries.iter().map(|entry| &entry["exit_code"]).collect();
    assert_eq!(codes, [&json!(0), &json!(3)], "{text}");
    assert_eq!((&entries[0]["principal"], &entries[0]["isolation"]), (&json!("local"), &json!("wasm+jail")));
    assert!(!text.contains("secret-output"));
    let verify = || arena::host_command(BELLJAR).args(["audit", "verify"]).arg(&log).output().expect("belljar starts");
    assert!(verify().status.success());
    fs::write(&log, text.replace("\"exit_code\":3", "\"exit_code\":0")).expect("write");
    let found = verify();
    assert_eq!(found.status.code(), Some(125));
    assert!(String::from_utf8_lossy(&found.stderr).contains("line 2 of the audit log: it was changed"), "{found:?}");
}

/// What changes what runs find is written down like runs.
#[test]
fn every_change_for_runs_is_in_the_audit_log() {
    let folder = tempfile::tempdir().expect("a temporary directory");
    let log = folder.path().join("audit.jsonl");
    let served = serve_http(&["--audit", log.to_str().expect("text")]);
    let client = Endpoint::new(served.address()).modern();
    for (tool, arguments) in [
        ("configure_environment", json!({"type": "host"})),
        ("configure_environment", json!({"type": "venv", "path": "/secret-place"})),
        ("install_packages", json!({"packages": []})),
    ] {
        client.call(tool, &arguments).expect("an answer");
    }
    drop(served);
    let text = fs::read_to_string(&log).expect("a log");
    let entries: Vec<Value> = text.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();
    let seen: Vec<[&Value; 2]> = entries.iter().map(|entry| [&entry["tool"], &entry["verdict"]]).collect();
    let expected =
        [["configure_environment", "done"], ["configure_environment", "refused"], ["install_packages", "refused"]];
    assert_eq!(json!(seen), json!(expected), "{text}");
    assert!(entries[0]["what"][0].as_str().is_some_and(|what| what.starts_with("host Python 3")), "{text}");
    assert!(!text.contains("secret-place"));
}

/// Tried until it is so, because a busy machine can keep anybody waiting; one that is late every time is late by itself.
#[test]
fn a_signal_ends_the_server_within_a_second() {
    let end = |_| {
        let mut served = serve_http(&[]);
        let started = Instant::now();
        testkit::processes::terminate(served.pid());
        let status = served.wait().expect("our own child");
        assert!(status.success(), "{status}");
        started.elapsed()
    };
    assert!((0..12).map(end).any(|took| took < Duration::from_secs(1)), "it takes longer");
}

/// Both eras: output while it comes, and what ends a run early.
#[test]
fn a_cancelled_request_ends_its_run() {
    let served = serve_http(&[]);
    let endpoint = Endpoint::new(served.address());
    for (era, client) in [("newer", endpoint.modern()), ("older", endpoint.legacy().expect("a session"))] {
        let marker = format!("cancel-{era}-{}", served.pid());
        let code = format!("sleep 1000 & exec -a {marker} bash -c 'echo up; sleep 1000; :'");
        let arguments = json!({"language": "bash", "code": code, "timeout_ms": 200_000});
        let params = json!({"name": "run_code", "arguments": arguments, "_meta": {"progressToken": era}});
        let mut exchange = client.send("tools/call", params).expect("it answers");
        let told = exchange.next_message().expect("a message").unwrap_or_else(|| panic!("{era}: nothing is told"));
        let told = &told["params"];
        assert_eq!((&told["progressToken"], &told["message"]), (&era.into(), &"up\n".into()));
        assert!(!testkit::processes::marked(&marker).is_empty(), "{era}: the run is not there");
        assert_eq!(client.cancel(exchange).expect("it goes on"), None, "{era}: an answer after all");
        testkit::processes::assert_gone(&marker, Duration::from_secs(20));
        let answered = client.call("run_code", &json!({"language": "bash", "code": "echo still here"}));
        assert_eq!(answered.expect("it answers")["result"]["structuredContent"]["stdout"], "still here\n", "{era}");
    }
}

/// With a token of one's own and another's session, nothing of that session can be had.
#[test]
fn a_session_is_its_owners() {
    let folder = tempfile::tempdir().expect("a temporary directory");
    let file = folder.path().join("tokens");
    fs::write(&file, "ada 0123456789abcdef-ada\ngrace 0123456789abcdef-grace\n").expect("write");
    let served = serve_http(&["--tokens", file.to_str().expect("text")]);
    let nobody = Endpoint::new(served.address());
    let ada = nobody.clone().with_token("0123456789abcdef-ada").legacy().expect("a session");
    let grace = ada.taken_over_by(&nobody.with_token("0123456789abcdef-grace"));
    let marker = format!("session-{}", served.pid());
    let code = format!("exec -a {marker} bash -c 'echo up; sleep 1000; :'");
    let arguments = json!({"language": "bash", "code": code, "timeout_ms": 200_000});
    let params = json!({"name": "run_code", "arguments": arguments, "_meta": {"progressToken": 1}});
    let mut exchange = ada.send("tools/call", params).expect("it answers");
    assert_eq!(exchange.next_message().expect("a message").expect("output")["params"]["message"], "up\n");
    // To grace, there is no such session.
    assert_eq!(grace.send("tools/list", json!({})).expect("it answers").status(), 404);
    assert!(
        grace.notify("notifications/cancelled", &json!({"requestId": 1})).is_err(),
        "another's request is cancelled"
    );
    assert!(grace.end().is_err(), "another's session is ended");
    assert!(!testkit::processes::marked(&marker).is_empty(), "the run is gone");
    assert_eq!(ada.cancel(exchange).expect("it goes on"), None);
}

/// What is told to a caller that does not read fills a socket. Its runs end in their time all the same, and others have their turns.
#[test]
fn callers_that_do_not_read_hold_nobody_up() {
    const LIMIT: Duration = Duration::from_secs(6);
    let served = serve_http(&[]);
    let endpoint = Endpoint::new(served.address());
    let deaf = endpoint.legacy().expect("a session");
    // All of them are told of on this stream too, in six characters each: a socket takes some megabytes.
    deaf.request("logging/setLevel", json!({"level": "debug"})).expect("it answers");
    let logs = deaf.listen().expect("a stream");
    let code = "import sys, time\nwhile True:\n    sys.stdout.write('\\1' * 4096)\n    sys.stdout.flush()\n    time.sleep(0.05)";
    let unread: Vec<Exchange> = (0..runtime::runs_at_one_time())
        .map(|number| {
            let arguments =
                json!({"language": "python", "code": code, "engine": "wasm", "timeout_ms": LIMIT.as_millis()});
            let params = json!({"name": "run_code", "arguments": arguments, "_meta": {"progressToken": number}});
            deaf.send("tools/call", params).expect("it answers")
        })
        .collect();
    std::thread::sleep(LIMIT + Duration::from_secs(2));
    let params = json!({"name": "run_code", "arguments": {"language": "javascript", "code": "console.log(6 * 7)"}});
    let answered = endpoint.modern().send_and_vanish("tools/call", params, Duration::from_mins(1));
    let answered = answered.expect("there is a turn for others").expect("an answer");
    assert_eq!(answered["result"]["structuredContent"]["stdout"], "42\n", "{answered}");
    drop((logs, unread));
}
