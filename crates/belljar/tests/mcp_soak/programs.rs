//! What is run: programs, by what becomes of them.

use serde_json::{Value, json};
use testkit::mcp_http::{Client, Exchange};

/// What a server keeps of each stream of a run, and of all runs together.
const KEPT_OF_A_STREAM: usize = 8 << 20;
const KEPT_OF_ALL: usize = 128 << 20;

/// Of output in a result over HTTP, as JSON writes it.
pub(crate) const MOST_OUTPUT: usize = 450_000;

/// What comes between the first line and the last of a flood.
pub(crate) const FLOOD: usize = 100_000_000;

/// Says its secret everywhere. It gets another one as an argument, and one to read.
pub(crate) fn quick(language: &str, secret: &str) -> String {
    match language {
        "python" => format!(
            "import sys\nprint('{secret}', sys.argv[1], input())\nprint('{secret}', file=sys.stderr)\n\
             with open('{secret}.txt', 'w') as file: print('{secret}', file=file)\n'{secret}'"
        ),
        "javascript" => format!(
            "const fs = require('fs');\nconsole.log('{secret}', process.argv[2], fs.readFileSync(0, 'utf8').trim());\n\
             console.error('{secret}');\nfs.writeFileSync('{secret}.txt', '{secret}\\n');\n'{secret}'"
        ),
        _ => format!("read -r line\necho {secret} \"$1\" \"$line\"\necho {secret} >&2\necho {secret} > {secret}.txt"),
    }
}

/// Fails with its secret and exit code 1.
pub(crate) fn throws(language: &str, secret: &str) -> String {
    match language {
        "python" => format!("raise ValueError('{secret}')"),
        "javascript" => format!("throw new TypeError('{secret}')"),
        _ => format!("echo {secret} >&2; exit 1"),
    }
}

/// Language, engine, program, and the signal or error that it ends with.
pub(crate) const CRASHES: [(&str, &str, &str, &str); 5] = [
    ("bash", "native", "kill -SEGV $$", "SIGSEGV"),
    ("bash", "auto", "kill -ABRT $$", "SIGABRT"),
    ("python", "native", "import ctypes\nctypes.string_at(0)", "SIGSEGV"),
    ("python", "wasm", "import os\nos.abort()", "SIGABRT"),
    ("javascript", "wasm", "function down() { return down() + 1 }\ndown()", "RangeError"),
];

/// Language, engine and a program without an end.
pub(crate) const ENDLESS: [(&str, &str, &str); 6] = [
    ("python", "wasm", "while True: pass"),
    ("python", "auto", "import time\ntime.sleep(600)"),
    ("javascript", "wasm", "for (;;) {}"),
    ("bash", "native", "sleep 600 & sleep 600"),
    ("bash", "auto", "while :; do :; done"),
    ("bash", "auto", "trap '' TERM INT HUP; yes > /dev/null"),
];

/// Language, engine and a program that takes more than 64 MiB.
pub(crate) const GREEDY: [(&str, &str, &str); 4] = [
    ("python", "wasm", "held = bytearray(400 << 20)"),
    ("python", "native", "held = b'x' * (400 << 20)"),
    ("python", "wasm", "held = []\nwhile True: held.append(bytes(1 << 20))"),
    ("javascript", "wasm", "const held = [];\nfor (;;) held.push(new Array(100000).fill(held.length))"),
];

/// Takes much, within its limit, and gives it back.
pub(crate) fn large(secret: &str) -> String {
    format!("held = b'x' * (200 << 20)\nprint(len(held), '{secret}')")
}

/// 100 MB between two lines.
pub(crate) fn floods(language: &str, secret: &str) -> String {
    match language {
        "python" => format!(
            "import sys\nprint('head {secret}')\nfor _ in range(100): sys.stdout.write('x' * {})\nprint('\\ntail {secret}')",
            FLOOD / 100
        ),
        _ => format!("echo head {secret}; head -c {FLOOD} /dev/zero | tr '\\0' x; echo; echo tail {secret}"),
    }
}

/// What is wrong with arguments, and how the answer begins.
pub(crate) fn refused() -> [(Value, &'static str); 6] {
    [
        (json!({}), "Refused: `code` is missing."),
        (json!({"cod": "1"}), "Refused: `cod` is not an argument of this tool."),
        (json!({"code": 1}), "Refused: `code` cannot be used: "),
        (json!({"code": "1", "language": "klingon"}), "Refused: `klingon` is not a language belljar knows"),
        (json!({"code": "1", "language": "python", "memory_mb": 1_000_000}), "Refused: "),
        (json!({"code": "1", "language": "python", "files": [{"path": "../x", "text": ""}]}), "Refused: "),
    ]
}

/// Starts a run that lasts, and waits until it is told of. Its processes are found by the secret.
pub(crate) fn lasting(client: &Client, language: &str, secret: &str) -> Exchange {
    let code = match language {
        "python" => format!("import time\nprint('up {secret}')\ntime.sleep(600)"),
        "javascript" => format!("console.log('up {secret}')\nfor (;;) {{}}"),
        _ => format!("echo up {secret}; sleep 600 & exec -a {secret} sleep 600"),
    };
    let engine = if language == "bash" { "native" } else { "wasm" };
    let arguments =
        json!({"language": language, "engine": engine, "code": code, "args": [secret], "timeout_ms": 60_000});
    let params = json!({"name": "run_code", "arguments": arguments, "_meta": {"progressToken": secret}});
    let mut exchange = client.send("tools/call", params).unwrap_or_else(|error| panic!("{secret}: {error}"));
    let told = exchange.next_message().unwrap_or_else(|error| panic!("{secret}: {error}"));
    let told = told.unwrap_or_else(|| panic!("{secret}: neither output nor an answer, status {}", exchange.status()));
    let expected = (json!("notifications/progress"), json!(secret), json!(format!("up {secret}\n")));
    let seen = (&told["method"], &told["params"]["progressToken"], &told["params"]["message"]);
    assert_eq!(seen, (&expected.0, &expected.1, &expected.2), "{told}");
    exchange
}

/// Brings a server to what it holds at most: its workers have run something, and it has kept as much of runs as it keeps.
pub(crate) fn warm_up(client: &Client) {
    for language in ["python", "javascript", "bash"] {
        let arguments = json!({"language": language, "code": throws(language, "warm")});
        let answer = client.call("run_code", &arguments).expect("an answer");
        assert_eq!(answer["result"]["structuredContent"]["exit_code"], 1, "{answer}");
    }
    let flood = json!({"language": "bash", "code": format!("head -c {KEPT_OF_A_STREAM} /dev/zero | tr '\\0' x")});
    for _ in 0..=KEPT_OF_ALL / KEPT_OF_A_STREAM {
        let answer = client.call("run_code", &flood).expect("an answer");
        let dropped = &answer["result"]["structuredContent"]["dropped"]["stdout"];
        assert_eq!(*dropped, KEPT_OF_A_STREAM - MOST_OUTPUT, "{answer}");
    }
}
