//! What a run may use: deadlines that hold for whatever a guest does, memory, output, and recursion that ends in an error.

use testkit::conformance::command::{Answer, answer};

use crate::{Run, WASM};

const DEADLINE_MS: f64 = 500.0;
/// What a busy machine may add.
const SLACK_MS: f64 = 10_000.0;

#[track_caller]
fn times_out(language: &str, code: &str) {
    let ran = Run::wasm(language, code).options(&["--timeout", "500ms"]).ran();
    let seen = (ran.code, ran.text("status"), ran.text("engine"));
    assert_eq!(seen, (Some(124), "timed_out", "wasm"), "{language}: {code}: {:#}", ran.result);
    let wall = ran.result["usage"]["wall_ms"].as_f64().expect("a number");
    assert!((DEADLINE_MS..DEADLINE_MS + SLACK_MS).contains(&wall), "{language}: {code}: {wall} ms");
}

/// W5, W6, W15: guest code, host calls that wait, and endless jobs.
#[test]
fn nothing_in_python_outlasts_its_deadline() {
    if WASM.serves("python") {
        for code in [
            "while True: pass",
            "7 ** 9000000",
            "sum(range(10 ** 12))",
            "import re\nre.match('(a+)+$', 'a' * 60 + 'b')",
            "import time\ntime.sleep(600)",
            "import time\nwhile True:\n    try: time.sleep(600)\n    except BaseException: pass",
            "import select\nselect.select([], [], [], 600)",
            "import asyncio\nawait asyncio.sleep(600)",
            "import asyncio\nasync def spin():\n    while True: await asyncio.sleep(0)\nasyncio.run(spin())",
            "import threading\nthreading.Event().wait(600)",
            "import os\nwhile True: os.urandom(1 << 20)",
            "import sqlite3\nsqlite3.connect(':memory:').execute(\
             'with recursive n(i) as (select 1 union all select i + 1 from n) select count(*) from n').fetchall()",
            "import atexit, time\natexit.register(time.sleep, 600)",
            "class Late:\n    def __repr__(self):\n        while True: pass\nLate()",
        ] {
            times_out("python", code);
        }
    }
}

#[test]
fn nothing_in_javascript_outlasts_its_deadline() {
    if WASM.serves("javascript") {
        for code in [
            "for (;;) {}",
            "(function chain() { Promise.resolve().then(chain); })()",
            "(function chain() { process.nextTick(chain); })()",
            "setInterval(() => {}, 10)",
            "setTimeout(() => {}, 600000)",
            "await new Promise((done) => setTimeout(done, 600000))",
            "/(a+)+$/.test('a'.repeat(60) + 'b')",
            "for (;;) crypto.getRandomValues(new Uint8Array(65536))",
            "const large = 7n ** 100000n; for (;;) large * large",
            "process.on('exit', () => { for (;;); })",
        ] {
            times_out("javascript", code);
        }
    }
}

/// What the host does with all of a program's memory, it does in pieces.
#[test]
fn nothing_that_is_done_for_javascript_outlasts_its_deadline() {
    if WASM.serves("javascript") {
        for code in [
            "crypto.createHash('md5').update(bytes).digest()",
            "crypto.createHmac('md5', bytes).update('x').digest()",
            "new TextDecoder().decode(bytes.fill(0x80))",
        ] {
            let code = format!("const crypto = require('crypto'), bytes = new Uint8Array(400 << 20);\nfor (;;) {code}");
            let options = ["--timeout", "200ms", "--memory", "1GiB"];
            let ran = Run::wasm("javascript", &code).options(&options).ran();
            assert_eq!(ran.text("status"), "timed_out", "{code}: {:#}", ran.result);
            // Whatever else the machine does.
            let cpu = ran.result["usage"]["cpu_ms"].as_f64().expect("a number");
            assert!(cpu < 450.0, "{code}: {cpu} ms");
        }
    }
}

#[test]
fn nothing_in_lua_or_sql_outlasts_its_deadline() {
    if WASM.serves("lua") && WASM.serves("sql") {
        for code in [
            "while true do end",
            "repeat local ok = pcall(error) until false",
            "local s = ('a'):rep(40) s:find(('a*'):rep(30) .. 'b')",
            "coroutine.wrap(function() while true do coroutine.yield() end end)() while true do end",
            "setmetatable({}, {__gc = function() while true do end end})",
            "while true do io.open('/tmp/x', 'w'):close() end",
        ] {
            times_out("lua", code);
        }
        for code in [
            "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT count(*) FROM n;",
            "SELECT count(*) FROM generate_series(1, 10000000000);",
            "SELECT sum(length(randomblob(1000000))) FROM generate_series(1, 10000000);",
            "CREATE TABLE t(a); INSERT INTO t VALUES (1);\n.open :memory:\n\
             WITH RECURSIVE n(i) AS (SELECT 1 UNION SELECT i + 1 FROM n) SELECT max(i) FROM n;",
        ] {
            times_out("sql", code);
        }
    }
}

/// A run may end so late after its deadline. Each is tried until it is kept, because a busy machine can keep anybody waiting.
const LATENESS_MS: f64 = 50.0;

/// W5: what fills and copies memory is not the guest's own code, where a run is ended otherwise.
#[test]
fn nothing_that_fills_or_copies_memory_outlasts_its_deadline() {
    /// In which a C program is compiled, too.
    const DEADLINE_MS: f64 = 4000.0;
    if !WASM.serves("python") {
        return;
    }
    for (language, code) in [
        ("javascript", "console.log('started'); const b = new Uint8Array(100 << 20); for (;;) b.fill(1)"),
        ("javascript", "console.log('started'); const b = new Uint8Array(40 << 20); for (;;) b.copyWithin(1, 0)"),
        ("python", "print('started', flush=True)\nb = bytearray(40 << 20)\nwhile True: b[:] = bytes(len(b))"),
        ("python", "print('started', flush=True)\nb = bytearray(60000)\nwhile True: b * 1"),
        ("lua", "print('started') local s = ('x'):rep(20 << 20) while true do local t = s .. 'y' end"),
        (
            "c",
            "#include <stdio.h>\n#include <string.h>\nstatic char buffer[1 << 20];\n\
             int main(void) { puts(\"started\"); fflush(stdout);\n\
             for (;;) { memset(buffer, 1, sizeof buffer); __asm__ volatile(\"\" ::: \"memory\"); } }",
        ),
        (
            "c",
            "#include <stdio.h>\n#include <string.h>\nstatic char buffer[1 << 20];\n\
             int main(void) { puts(\"started\"); fflush(stdout); volatile unsigned length = 3000;\n\
             for (;;) { memmove(buffer, buffer + 1, length); __asm__ volatile(\"\" ::: \"memory\"); } }",
        ),
    ] {
        let mut walls = Vec::new();
        for _ in 0..12 {
            let ran = Run::wasm(language, code).options(&["--timeout", "4s", "--memory", "256MiB"]).ran();
            let seen = (ran.code, ran.text("status"), ran.text("engine"), ran.text("stdout"));
            assert_eq!(seen, (Some(124), "timed_out", "wasm", "started\n"), "{language}: {code}: {:#}", ran.result);
            walls.push(ran.result["usage"]["wall_ms"].as_f64().expect("a number"));
            if walls.last().is_some_and(|wall| *wall < DEADLINE_MS + LATENESS_MS) {
                break;
            }
        }
        let in_time = walls.iter().any(|wall| (DEADLINE_MS..DEADLINE_MS + LATENESS_MS).contains(wall));
        assert!(in_time, "{language}: {code}: ended after {walls:?} ms");
    }
}

/// W7: memory that is not granted is the program's own error.
#[test]
fn memory() {
    if !WASM.serves("python") {
        return;
    }
    let options = &["--memory", "64MiB"];
    for (language, code, kind) in [
        ("python", "held = bytearray(200 << 20)", "MemoryError"),
        ("python", "held = []\nwhile True: held.append(bytearray(1 << 20))", "MemoryError"),
        ("python", "held = 'x'\nwhile True: held += held", "MemoryError"),
        (
            "python",
            "class Node: pass\nheld = None\nwhile True:\n    node = Node(); node.next = held; held = node",
            "MemoryError",
        ),
        ("javascript", "const held = []; for (;;) held.push(new Uint8Array(1 << 20))", "OutOfMemory"),
        ("javascript", "const held = []; for (;;) held.push({})", "OutOfMemory"),
        ("lua", "held = ('x'):rep(200 << 20)", "MemoryError"),
        ("lua", "held = {} while true do held[#held + 1] = {} end", "MemoryError"),
        ("lua", "held = '' while true do held = held .. ('x'):rep(1 << 20) end", "MemoryError"),
        (
            "sql",
            "CREATE TABLE t(b); INSERT INTO t SELECT randomblob(1000000) FROM generate_series(1, 200);",
            "SQLError",
        ),
        ("sql", "SELECT length(group_concat(hex(randomblob(100000)))) FROM generate_series(1, 1000);", "SQLError"),
    ] {
        let ran = Run::wasm(language, code).options(options).ran();
        let seen = (ran.code, ran.text("status"), ran.text("limit"), ran.result["error"]["kind"].as_str());
        assert_eq!(seen, (Some(137), "limit_exceeded", "memory", Some(kind)), "{code}: {:#}", ran.result);
    }
    // One that it catches is none.
    let caught = "try:\n    bytearray(200 << 20)\nexcept MemoryError:\n    print('caught')";
    Run::wasm("python", caught).options(options).ran().printed("caught\n");
    let caught = "print(pcall(string.rep, 'x', 200 << 20))";
    Run::wasm("lua", caught).options(options).ran().printed("false\tnot enough memory\n");
    let caught = "try { new Uint8Array(200 << 20) } catch (error) { console.log('caught') }";
    Run::wasm("javascript", caught).options(options).ran().printed("caught\n");
}

/// W22: the limit is what a program may have beyond its interpreter.
#[test]
fn the_smallest_memory_limit_is_enough_to_start() {
    if WASM.serves("python") {
        let options = &["--memory", "16MiB"];
        Run::wasm("python", "print(len(bytearray(8 << 20)))").options(options).ran().printed("8388608\n");
        Run::wasm("python", "import numpy\nprint(numpy.ones(1 << 20).sum())")
            .options(options)
            .ran()
            .printed("1048576.0\n");
        Run::wasm("javascript", "console.log(new Uint8Array(8 << 20).length)")
            .options(options)
            .ran()
            .printed("8388608\n");
        Run::wasm("typescript", "const n: number = 1; console.log(n)").options(options).ran().printed("1\n");
        Run::wasm("lua", "print(#('x'):rep(4 << 20))").options(options).ran().printed("4194304\n");
        Run::wasm("sql", "SELECT length(zeroblob(4000000)) AS n;")
            .options(options)
            .ran()
            .printed("n      \n-------\n4000000\n");
    }
}

/// All places that it can write to share one limit.
#[test]
fn disk() {
    if !WASM.serves("python") {
        return;
    }
    let options = &["--disk", "4MiB"];
    let python = "total = 0\ntry:\n    for place in '/box', '/tmp':\n        for n in range(40):\n            \
                  open(f'{place}/{n}', 'wb').write(bytes(65536)); total += 65536\n\
                  except OSError as error:\n    print(error.strerror, 3 << 20 < total <= 4 << 20)";
    let ran = Run::wasm("python", python).options(options).ran().printed("No space left on device True\n");
    assert_eq!(ran.result["files"].as_array().map(Vec::len), Some(40));
    let javascript = "const fs = require('fs'); let total = 0;\n\
                      try { for (const place of ['/box', '/tmp']) for (let n = 0; n < 40; n++) {\n\
                      fs.writeFileSync(`${place}/${n}`, Buffer.alloc(65536)); total += 65536; } }\n\
                      catch (error) { console.log(error.code, 3 << 20 < total && total <= 4 << 20); }";
    Run::wasm("javascript", javascript).options(options).ran().printed("ENOSPC true\n");
    // What is removed can be written again, and a file that is cut gives back what it had.
    let again = "import os\nfor n in range(8):\n    open('/tmp/a', 'wb').write(bytes(3 << 20))\n    \
                 open('/tmp/a', 'r+b').truncate(0)\n    open('/tmp/b', 'wb').write(bytes(3 << 20))\n    os.remove('/tmp/b')\nprint('done')";
    Run::wasm("python", again).options(options).ran().printed("done\n");
}

/// W8: 50 MB, of which a megabyte is kept, from both ends.
#[test]
fn output_keeps_its_head_and_tail() {
    if !WASM.serves("python") {
        return;
    }
    let python =
        "import sys\nprint('head')\nfor _ in range(50): sys.stdout.write('x' * 999_999 + '\\n')\nprint('tail')";
    let javascript = "console.log('head');\nfor (let i = 0; i < 50; i++) process.stdout.write('x'.repeat(999_999) + '\\n');\n\
                      console.log('tail')";
    let lua =
        "print('head')\nlocal line = ('x'):rep(999999) .. '\\n'\nfor _ = 1, 50 do io.write(line) end\nprint('tail')";
    let sql = ".headers off\n.mode list\nSELECT 'head';\n\
               SELECT replace(hex(zeroblob(499999)), '0', 'x') || 'x' FROM generate_series(1, 50);\nSELECT 'tail';";
    for (language, code) in [("python", python), ("javascript", javascript), ("lua", lua), ("sql", sql)] {
        let ran = Run::wasm(language, code).ran().exited(0);
        let (stdout, dropped) = (ran.text("stdout"), ran.result["dropped"]["stdout"].as_u64().expect("a number"));
        let note = format!("\n[… {dropped} bytes dropped …]\n");
        assert!(stdout.starts_with("head\nxxx") && stdout.ends_with("xxx\ntail\n"), "{language}");
        assert_eq!(stdout.matches(&note).count(), 1, "{language}");
        assert_eq!(
            (stdout.len() - note.len()) as u64 + dropped,
            50_000_010,
            "{language}: every byte is kept or counted"
        );
        assert_eq!(stdout.len() - note.len(), 1 << 20, "{language}");
    }
}

/// Without `--json` all of it comes through, once and in order.
#[test]
fn output_that_is_passed_on_is_whole() {
    if !WASM.serves("javascript") {
        return;
    }
    let code = "for (let i = 0; i < 200_000; i++) { console.log(`line ${i}`); if (i % 1000 === 0) console.error(i); }";
    let lines: Vec<_> = (0..200_000).map(|number| format!("line {number}\n")).collect();
    let numbers: Vec<_> = (0..200_000).step_by(1000).map(|number| format!("{number}\n")).collect();
    let expected = Answer::new(0, lines.concat(), numbers.concat());
    for engine in ["wasm", "auto"] {
        let answer = answer(WASM.command_line().command(["run", "-l", "js", "-c", code, "--engine", engine]), b"");
        assert!(answer == expected, "{engine}: {} bytes of {}", answer.stdout.len(), expected.stdout.len());
    }
}

/// W13: recursion as deep as it gets, in the language and in the C code of its interpreter.
#[test]
fn recursion_is_an_error() {
    if !WASM.serves("python") {
        return;
    }
    for (code, kind) in [
        ("def deeper(n): return deeper(n + 1)\ndeeper(0)", "RecursionError"),
        (
            "class Deeper:\n    def __getattr__(self, name): return getattr(self, name + 'x')\nDeeper().x",
            "RecursionError",
        ),
        ("class Deeper:\n    def __repr__(self): return repr(self)\nrepr(Deeper())", "RecursionError"),
        ("held = []\nfor _ in range(100_000): held = [held]\nrepr(held)", "RecursionError"),
        ("import json\njson.loads('[' * 100_000)", "RecursionError"),
        ("import ast\nast.literal_eval('-' * 100_000 + '1')", "MemoryError"),
        ("eval('(' * 100_000 + ')' * 100_000)", "MemoryError"),
    ] {
        let ran = Run::wasm("python", code).ran().exited(1);
        let seen = ran.result["error"]["kind"].as_str();
        let recursion = ["RecursionError", kind];
        assert!(seen.is_some_and(|seen| recursion.contains(&seen)), "{code}: {:#}", ran.result["error"]);
    }
    for code in [
        "function deeper() { return deeper() + 1; }\ndeeper()",
        "const deeper = { get x() { return this.x; } };\ndeeper.x",
        "class Deeper { toString() { return `${this}`; } }\n`${new Deeper()}`",
        "let held = []; for (let i = 0; i < 100_000; i++) held = [held];\nheld.flat(Infinity)",
        "const deeper = new Proxy({}, { get: (target, name, self) => self[name] });\ndeeper.x",
    ] {
        let ran = Run::wasm("javascript", code).ran().exited(1);
        let kind = ran.result["error"]["kind"].as_str();
        assert!(kind == Some("RangeError") || kind == Some("InternalError"), "{code}: {:#}", ran.result["error"]);
    }
    // Functions of C that call themselves, and that nobody counts.
    for code in [
        "let held = []; for (let i = 0; i < 100_000; i++) held = [held];\nJSON.stringify(held)",
        "JSON.parse('['.repeat(1_000_000))",
    ] {
        // The first takes ten seconds of a processor: at every level it looks whether an array is in itself.
        let ran = Run::wasm("javascript", code).options(&["--timeout", "120s"]).ran();
        let hint = ran.result["error"]["hint"].as_str().unwrap_or_default();
        assert!(hint.starts_with("calls this deep need a larger stack"), "{code}: {:#}", ran.result);
    }
    // Deep, and still all right.
    let deep = "import sys\nsys.setrecursionlimit(3000)\ndef depth(n): return 0 if n == 0 else 1 + depth(n - 1)\nprint(depth(2500))";
    Run::wasm("python", deep).ran().printed("2500\n");
    let deep = "function depth(n) { return n === 0 ? 0 : 1 + depth(n - 1); }\nconsole.log(depth(5000))";
    Run::wasm("javascript", deep).ran().printed("5000\n");
}

/// Without a limit of its own in the way, it is the stack that ends: of WebAssembly, never of the worker.
#[test]
fn recursion_without_a_limit_is_the_end_of_the_run_alone() {
    if !WASM.serves("python") {
        return;
    }
    for code in [
        "import sys\nsys.setrecursionlimit(2 ** 31 - 1)\ndef deeper(n): return deeper(n + 1)\ndeeper(0)",
        "import sys\nsys.setrecursionlimit(2 ** 31 - 1)\nclass Deeper:\n    def __repr__(self): return repr(self)\nrepr(Deeper())",
    ] {
        let ran = Run::wasm("python", code).options(&["--timeout", "20s", "--memory", "64MiB"]).ran();
        let seen = (ran.text("status"), ran.result["signal"].as_str(), ran.result["limit"].as_str());
        let ways = [
            ("completed", None, None),
            ("crashed", Some("SIGSEGV"), None),
            ("crashed", Some("SIGABRT"), None),
            ("limit_exceeded", None, Some("memory")),
            // A traceback of a million lines.
            ("timed_out", None, None),
        ];
        assert!(ways.contains(&seen), "{code}: {:#}", ran.result);
    }
}

/// A trap is a crash, with the signal that a native program would die of.
#[test]
fn a_trap_is_a_crash() {
    if !WASM.serves("python") {
        return;
    }
    let ran = Run::wasm("python", "print('before')\nimport os\nos.abort()").ran();
    let seen = (ran.code, ran.text("status"), ran.text("signal"), ran.text("stdout"));
    assert_eq!(seen, (Some(137), "crashed", "SIGABRT", "before\n"), "{:#}", ran.result);
    assert_eq!(ran.result["error"]["kind"], "Trap");
}
