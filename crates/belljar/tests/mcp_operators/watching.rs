//! What a server tells those who run it, and what it does not.

use std::time::{Duration, Instant};

use serde_json::{Value, json};
use testkit::mcp_http::Endpoint;

use crate::neighbour::Neighbour;
use crate::{ADA, call, folder, serve, stdout, tokens};

#[test]
fn metrics_count_what_happened() {
    let folder = folder();
    let served = serve(folder.path(), &["--tokens", &tokens(folder.path())]);
    let endpoint = Endpoint::new(served.address()).with_token(ADA);
    stdout(&endpoint, "echo one");
    stdout(&endpoint, "exit 3");
    call(&endpoint, "").answer().expect("a refusal");
    endpoint.modern().call("run_code", &json!({"code": 1})).expect("a refusal");
    assert_eq!(Endpoint::new(served.address()).get("/metrics").expect("it answers").0, 401);
    let (status, text) = endpoint.get("/metrics").expect("it answers");
    assert_eq!(status, 200);
    for line in [
        r#"belljar_runs_total{language="bash",engine="native",status="completed"} "#,
        r#"belljar_run_seconds_count{engine="native"} "#,
        r#"belljar_calls_total{verdict="ran"} "#,
        r#"belljar_calls_total{verdict="refused"} 2"#,
        r#"belljar_http_answers_total{status="401"} 1"#,
        "belljar_running 0",
        "belljar_waiting 0",
    ] {
        assert!(text.lines().any(|found| found.starts_with(line)), "no {line} in\n{text}");
    }
    assert!(text.ends_with("# EOF\n") && !text.contains("ada"), "{text}");
}

/// A page whose name leads here for a moment reads what its browser takes for its own.
#[test]
fn metrics_are_not_for_pages() {
    let folder = folder();
    let served = serve(folder.path(), &[]);
    let endpoint = Endpoint::new(served.address());
    for (name, value, expected) in [
        ("Host", "evil.example", 403),
        ("Host", "localhost", 200),
        ("Origin", "http://evil.example", 403),
        ("Origin", "null", 403),
        ("Origin", "http://localhost:3000", 200),
    ] {
        let (status, _) = endpoint.clone().with_header(name, value).get("/metrics").expect("it answers");
        assert_eq!(status, expected, "{name}: {value}");
    }
    assert_eq!(endpoint.get("/metrics").expect("it answers").0, 200);
}

#[test]
fn logs_are_json_and_say_nothing_of_the_guests() {
    let folder = folder();
    let served = serve(folder.path(), &["--tokens", &tokens(folder.path()), "--log-format", "json", "--log", "debug"]);
    let endpoint = Endpoint::new(served.address()).with_token(ADA);
    stdout(&endpoint, "echo whisper; echo whisper >&2");
    endpoint.modern().call("run_code", &json!({"code": "whisper", "language": "whisper"})).expect("a refusal");
    call(&Endpoint::new(served.address()).with_token("whisper"), "whisper");
    let lines = wait_for(|| {
        let said = served.said();
        (said.lines().count() >= 3).then_some(said)
    });
    assert!(!lines.contains("whisper") && !lines.contains(ADA), "{lines}");
    let lines: Vec<Value> = lines
        .lines()
        .map(|line| serde_json::from_str(line).unwrap_or_else(|error| panic!("{error}: {line}")))
        .collect();
    let ran = lines.iter().find(|line| line["verdict"] == "ran").unwrap_or_else(|| panic!("{lines:?}"));
    assert_eq!(
        (&ran["message"], &ran["principal"], &ran["language"], &ran["status"], &ran["exit_code"]),
        (&json!("run_code"), &json!("ada"), &json!("bash"), &json!("completed"), &json!(0))
    );
    assert_eq!(ran["run"].as_str().map(str::len), Some(24), "{ran}");
    assert!(lines.iter().any(|line| line["verdict"] == "refused"), "{lines:?}");
    assert!(lines.iter().any(|line| line["message"] == "a caller was not let in"), "{lines:?}");
}

/// A caller's trace goes on in ours, whether its request or its headers name it.
#[test]
fn traces_are_continued() {
    const TRACE: [u8; 16] =
        [0x4b, 0xf9, 0x2f, 0x35, 0x77, 0xb3, 0x4d, 0xa6, 0xa3, 0xce, 0x92, 0x9d, 0x0e, 0x0e, 0x47, 0x36];
    const IN_HEADER: &str = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";
    const IN_META: &str = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b8-01";
    let (folder, collector) = (folder(), Neighbour::start());
    collector.publish("/v1/traces", &json!({}));
    let served = serve(folder.path(), &["--otlp", collector.address()]);
    let endpoint = Endpoint::new(served.address());
    stdout(&endpoint.clone().with_header("traceparent", IN_HEADER), "echo whisper");
    let params = json!({
        "name": "run_code",
        "arguments": {"language": "bash", "code": "echo whisper"},
        "_meta": {"traceparent": IN_META},
    });
    endpoint.modern().request("tools/call", params).expect("an answer");
    let spans = wait_for(|| {
        let bodies: Vec<u8> = collector.received().into_iter().flat_map(|request| request.body).collect();
        let has = |part: &[u8]| bodies.windows(part.len()).any(|window| window == part);
        let both = has(&[0, 0xf0, 0x67, 0xaa, 0x0b, 0xa9, 2, 0xb7]) && has(&[0, 0xf0, 0x67, 0xaa, 0x0b, 0xa9, 2, 0xb8]);
        both.then_some(bodies)
    });
    let has = |part: &[u8]| spans.windows(part.len()).any(|window| window == part);
    assert!(has(&TRACE) && has(b"tools/call run_code") && has(b"belljar.engine") && has(b"native"));
    assert!(!has(b"whisper"));
    assert!(collector.received().iter().all(|request| request.path == "/v1/traces"));
}

/// Waits until there is something.
fn wait_for<T>(find: impl Fn() -> Option<T>) -> T {
    let deadline = Instant::now() + Duration::from_secs(20);
    loop {
        if let Some(found) = find() {
            return found;
        }
        assert!(Instant::now() < deadline, "it did not come");
        std::thread::sleep(Duration::from_millis(20));
    }
}
