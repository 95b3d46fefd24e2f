//! Calls of `run_code`: results, files, live output, cancelling.

use std::time::{Duration, Instant};

use serde_json::json;
use testkit::processes;

use crate::client::Client;
use crate::text_of;

#[test]
fn text_mirrors_the_result() {
    let mut client = Client::initialized();
    for (arguments, text, is_error) in [
        (json!({"language": "python", "code": "print('a')\n6 * 7"}), "a\n[value] 42", false),
        (json!({"language": "python", "code": "x = 1"}), "(no output)", false),
        (
            json!({"language": "bash", "code": "echo out; echo err >&2; exit 3"}),
            "out\n[stderr]\nerr\n[exit code 3]",
            true,
        ),
        (json!({"language": "javascript", "code": "({a: [1, 2]})"}), "[value] {\"a\":[1,2]}", false),
    ] {
        let result = client.run(&arguments);
        assert_eq!((text_of(&result), &result["isError"]), (text, &is_error.into()), "{arguments}");
    }
}

#[test]
fn everything_that_can_be_sent_arrives() {
    let mut client = Client::initialized();
    let code = "import os, sys\nprint(sys.argv[1:], os.environ['WHO'], input(), open('d/a.txt').read(), open('b.bin', 'rb').read(), n['x'])";
    let result = client.run(&json!({
        "code": code,
        "language": "py",
        "stdin": "typed\n",
        "args": ["one", "two words"],
        "env": {"WHO": "Ada"},
        "files": [{"path": "d/a.txt", "text": "ä"}, {"path": "b.bin", "base64": "AAH/"}],
        "variables": {"n": {"x": [1.5, null]}},
        "engine": "wasm",
        "timeout_ms": 20_000,
        "memory_mb": 256,
    }));
    let expected = "['one', 'two words'] Ada typed ä b'\\x00\\x01\\xff' [1.5, None]\n";
    assert_eq!(result["structuredContent"]["stdout"], expected, "{result}");
}

#[test]
fn variables_arrive_in_every_language_that_has_them() {
    let mut client = Client::initialized();
    let javascript = "console.log(n.x[0] + 1, process.argv.slice(2).join())";
    for (language, code) in [
        ("python", "import sys\nprint(n['x'][0] + 1, ','.join(sys.argv[1:]))"),
        ("javascript", javascript),
        ("typescript", javascript),
    ] {
        for engine in ["wasm", "native"] {
            let variables = json!({"n": {"x": [1.5, null]}});
            let result = client.run(&json!({
                "language": language, "engine": engine, "code": code, "variables": variables, "args": ["a", "b c"],
            }));
            assert_eq!(result["structuredContent"]["stdout"], "2.5 a,b c\n", "{engine}, {language}: {result:#}");
        }
    }
}

#[test]
fn files_come_back_as_resources_and_pictures() {
    let mut client = Client::initialized();
    let code = "import struct, zlib\n\
        def chunk(kind, data): return struct.pack('>I', len(data)) + kind + data + struct.pack('>I', zlib.crc32(kind + data))\n\
        png = b'\\x89PNG\\r\\n\\x1a\\n' + chunk(b'IHDR', struct.pack('>IIBBBBB', 1, 1, 8, 2, 0, 0, 0)) + chunk(b'IDAT', zlib.compress(b'\\0\\0\\0\\0')) + chunk(b'IEND', b'')\n\
        open('dot.png', 'wb').write(png)\n\
        open('a b.csv', 'w').write('x,y\\n')\n\
        open('fake.png', 'w').write('<script>')\n\
        None";
    let result = client.run(&json!({"language": "python", "code": code}));
    let files = result["structuredContent"]["files"].as_array().expect("files");
    let paths: Vec<&str> = files.iter().filter_map(|file| file["path"].as_str()).collect();
    assert_eq!(paths, ["a b.csv", "dot.png", "fake.png"], "{result}");
    let kinds: Vec<&str> =
        result["content"].as_array().expect("blocks").iter().filter_map(|block| block["type"].as_str()).collect();
    // What only calls itself a picture is not shown as one.
    assert_eq!(kinds, ["text", "resource_link", "image", "resource_link"]);
    let uri = files[0]["uri"].as_str().expect("a name");
    let read = client.request("resources/read", &json!({"uri": uri}));
    assert_eq!(read["result"]["contents"][0]["text"], "x,y\n", "{read}");
    assert_eq!(read["result"]["contents"][0]["mimeType"], "text/csv");
    let read = client.request("resources/read", &json!({"uri": files[1]["uri"]}));
    assert!(read["result"]["contents"][0]["blob"].as_str().is_some_and(|blob| blob.starts_with("iVBOR")), "{read}");
    let missing = client.request("resources/read", &json!({"uri": format!("{uri}x")}));
    assert_eq!(missing["error"]["code"], -32002, "{missing}");
}

#[test]
fn all_output_can_be_read_later() {
    let mut client = Client::initialized();
    let result = client.run(&json!({"language": "python", "code": "for n in range(400_000): print(n)"}));
    let content = &result["structuredContent"];
    assert!(content["dropped"]["stdout"].as_u64().is_some_and(|dropped| dropped > 0), "nothing was dropped");
    let uri = format!("run://{}/stdout", content["run"].as_str().expect("a name"));
    assert!(text_of(&result).contains(&uri));
    let read = client.request("resources/read", &json!({"uri": uri}));
    let text = read["result"]["contents"][0]["text"].as_str().expect("text");
    assert!(text.starts_with("0\n1\n") && text.ends_with("\n399999\n"), "{} bytes", text.len());
    // Also of a run that has a name for its files' sake.
    let code = "open('a', 'w').write('x')\nprint('short')";
    let result = client.run(&json!({"language": "python", "code": code}));
    let uri = format!("run://{}/stdout", result["structuredContent"]["run"].as_str().expect("a name"));
    let read = client.request("resources/read", &json!({"uri": uri}));
    assert_eq!(read["result"]["contents"][0]["text"], "short\n", "{read}");
}

#[test]
fn output_is_told_while_it_comes() {
    let mut client = Client::initialized();
    // The last part comes right before the end.
    let code = "import time\nfor n in range(3):\n    time.sleep(0.4)\n    print('part', n)";
    let params = json!({"name": "run_code", "arguments": {"language": "python", "code": code, "engine": "wasm"}, "_meta": {"progressToken": "p"}});
    let id = client.send("tools/call", &params);
    let (mut told, mut last) = (String::new(), 0.0);
    loop {
        let message = client.next();
        if message["id"] == id {
            assert_eq!(message["result"]["structuredContent"]["stdout"], "part 0\npart 1\npart 2\n");
            break;
        }
        assert_eq!(
            (&message["method"], &message["params"]["progressToken"]),
            (&"notifications/progress".into(), &"p".into())
        );
        let progress = message["params"]["progress"].as_f64().expect("a number");
        assert!(progress > last, "{message}");
        last = progress;
        told += message["params"]["message"].as_str().expect("text");
    }
    assert_eq!(told, "part 0\npart 1\npart 2\n");
    assert!(last > 1.0, "it came in parts");
}

#[test]
fn a_silent_run_gives_signs_of_life() {
    let mut client = Client::initialized();
    let params = json!({"name": "run_code", "arguments": {"language": "python", "code": "import time\ntime.sleep(20)"}, "_meta": {"progressToken": 7}});
    let id = client.send("tools/call", &params);
    let started = Instant::now();
    let message = client.next();
    assert_eq!(message["method"], "notifications/progress", "{message}");
    assert!(started.elapsed() < Duration::from_secs(20), "after {:?}", started.elapsed());
    assert_eq!(client.answer(id)["result"]["isError"], false);
}

#[test]
fn cancelling_kills_the_run_and_nothing_else() {
    let mut client = Client::initialized();
    let marker = format!("cancel-{}", client.pid());
    let code = format!("sleep 1000 & exec -a {marker} sleep 1000");
    let cancelled = client.send(
        "tools/call",
        &json!({"name": "run_code", "arguments": {"language": "bash", "code": code, "timeout_ms": 200_000}}),
    );
    let other = client.send(
        "tools/call",
        &json!({"name": "run_code", "arguments": {"language": "bash", "code": "sleep 2; echo still here"}}),
    );
    let is_there = || processes::all().iter().any(|process| process.arguments.starts_with(&marker));
    wait_until(is_there, "the run never started");
    client.notify("notifications/cancelled", &json!({"requestId": cancelled, "reason": "test"}));
    wait_until(|| !is_there(), "the run goes on");
    assert_eq!(client.answer(other)["result"]["structuredContent"]["stdout"], "still here\n");
}

#[test]
fn closing_the_input_ends_everything_at_once() {
    let mut client = Client::initialized();
    let marker = format!("close-{}", client.pid());
    let code = format!("exec -a {marker} sleep 1000");
    client.send(
        "tools/call",
        &json!({"name": "run_code", "arguments": {"language": "bash", "code": code, "timeout_ms": 200_000}}),
    );
    let is_there = || processes::all().iter().any(|process| process.arguments.starts_with(&marker));
    wait_until(is_there, "the run never started");
    let took = client.close();
    assert!(took < Duration::from_secs(20), "took {took:?}");
    wait_until(|| !is_there(), "the run outlives its server");
}

#[test]
fn calls_run_side_by_side() {
    let mut client = Client::initialized();
    let started = Instant::now();
    let ids: Vec<u64> = (0..8)
        .map(|number| {
            let code = format!("import time\ntime.sleep(5)\nprint({number})");
            client.send(
                "tools/call",
                &json!({"name": "run_code", "arguments": {"language": "python", "code": code, "engine": "wasm"}}),
            )
        })
        .collect();
    for (number, id) in ids.into_iter().enumerate() {
        assert_eq!(client.answer(id)["result"]["structuredContent"]["stdout"], format!("{number}\n"));
    }
    assert!(started.elapsed() < Duration::from_secs(30), "took {:?}", started.elapsed());
}

#[track_caller]
fn wait_until(condition: impl Fn() -> bool, complaint: &str) {
    let end = Instant::now() + Duration::from_secs(20);
    while !condition() {
        assert!(Instant::now() < end, "{complaint}");
        std::thread::sleep(Duration::from_millis(20));
    }
}
