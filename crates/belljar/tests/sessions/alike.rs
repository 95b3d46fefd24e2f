//! The same cells in both engines, which must not be told apart.

use serde_json::{Value, json};

use super::life::TRIES;
use super::{call, is_here};
use crate::client::Client;

/// What is expected of a cell.
enum Then {
    /// It prints this and nothing else.
    Prints(&'static str),
    /// Its last expression has this value.
    Is(&'static str),
    /// It ends in an error of this kind, on this line, and the state is kept.
    Fails(&'static str, u32),
    /// It returns this.
    Exits(u8),
    /// Its time is over, and the state is kept.
    TimesOut,
    /// It makes or changes these files.
    Writes(&'static [&'static str]),
}

use Then::{Exits, Fails, Is, Prints, TimesOut, Writes};

type Cell = (&'static str, Then);

const PYTHON: &[Cell] = &[
    ("x = 41\nprint('hi')", Prints("hi\n")),
    ("x + 1", Is("42")),
    ("_ + 1", Is("43")),
    ("import math\ndef area(r):\n    return math.pi * r * r\n", Prints("")),
    ("round(area(2), 3)", Is("12.566")),
    ("1 / 0", Fails("ZeroDivisionError", 1)),
    ("y = 1\nraise ValueError('no')", Fails("ValueError", 2)),
    ("y", Is("1")),
    ("x = = 2", Fails("SyntaxError", 1)),
    ("x", Is("41")),
    ("class A:\n    pass\nA.__module__, __name__", Is(r#"["__main__","__main__"]"#)),
    ("import sys\nsys.exit(3)", Exits(3)),
    ("exit()", Exits(0)),
    ("while True: pass", TimesOut),
    ("import time\ntime.sleep(60)", TimesOut),
    ("x", Is("41")),
    ("import asyncio\nawait asyncio.sleep(0.001)\nasync def f():\n    return 7\nawait f()", Is("7")),
    ("open('a.txt', 'w').write('one')", Writes(&["a.txt"])),
    ("open('a.txt').read()", Is("\"one\"")),
    ("f = open('b.txt', 'w'); f.write('two'); f.flush()", Writes(&["b.txt"])),
    ("f.write('three'); f.close()", Writes(&["b.txt"])),
    ("open('b.txt').read()", Is("\"twothree\"")),
    ("import os\nos.mkdir('d'); open('d/c.txt', 'w').write('c'); None", Writes(&["d/c.txt"])),
    ("[n for n in range(5) if n % 2]", Is("[1,3]")),
    ("{'a': None, 'b': [1.5, True]}", Is(r#"{"a":null,"b":[1.5,true]}"#)),
    ("input()", Fails("EOFError", 1)),
    ("del x", Prints("")),
    ("x", Fails("NameError", 1)),
];

const JAVASCRIPT: &[Cell] = &[
    ("let a = 1; const b = {x: [1, 2]}; console.log('hi')", Prints("hi\n")),
    ("a + b.x.length", Is("3")),
    ("const b = 5; b", Is("5")),
    ("function f(n) { return n * a }", Prints("")),
    ("f(4)", Is("4")),
    ("class P { v() { return 9 } }", Prints("")),
    ("new P().v()", Is("9")),
    ("null.x", Fails("TypeError", 1)),
    ("a = 2;\nthrow new RangeError('no')", Fails("RangeError", 2)),
    ("a", Is("2")),
    ("let = 3 3", Fails("SyntaxError", 1)),
    ("await new Promise(r => setTimeout(r, 2)); const c = await Promise.resolve(8); c", Is("8")),
    ("c + 1", Is("9")),
    ("while (true) {}", TimesOut),
    ("a", Is("2")),
    ("import path from 'path'; path.join('a', 'b')", Is("\"a/b\"")),
    ("require('fs').writeFileSync('j.txt', 'js')", Writes(&["j.txt"])),
    ("require('fs').readFileSync('j.txt', 'utf8')", Is("\"js\"")),
    ("({a: [1, null]})", Is(r#"{"a":[1,null]}"#)),
];

const TYPESCRIPT: &[Cell] = &[
    ("interface P { x: number }\nconst p: P = {x: 3};\nconsole.log(p.x)", Prints("3\n")),
    ("(p.x as number) + 1", Is("4")),
    ("const q: string[] = ['a']; q.length", Is("1")),
    ("throw new Error('no')", Fails("Error", 1)),
    ("p.x", Is("3")),
];

const RUBY: &[Cell] = &[
    ("x = 41\nputs 'hi'", Prints("hi\n")),
    ("x + 1", Is("42")),
    ("def f(n) = n * 2", Prints("")),
    ("f(4)", Is("8")),
    ("1 / 0", Fails("ZeroDivisionError", 1)),
    ("x", Is("41")),
    ("File.write('r.txt', 'rb')", Writes(&["r.txt"])),
    ("File.read('r.txt')", Is("\"rb\"")),
];

const BASH: &[Cell] = &[
    ("x=5; f() { echo $((x + $1)); }", Prints("")),
    ("f 3", Prints("8\n")),
    ("cd /tmp; echo hi > \"$OLDPWD/s.txt\"", Writes(&["s.txt"])),
    ("pwd", Prints("/tmp\n")),
    ("exit 3", Exits(3)),
    ("false", Exits(1)),
    ("f 1", Prints("6\n")),
    ("while :; do :; done", TimesOut),
    ("f 2", Prints("7\n")),
];

/// Whether all of it could be seen: not where a cell had to be ended, because the machine kept it from listening when its time was over.
#[track_caller]
fn check(client: &mut Client, engine: &str, language: &str, cells: &[Cell]) -> bool {
    for (code, then) in cells {
        let timeout = if matches!(then, TimesOut) { 400 } else { 60_000 };
        let result = client.run(&json!({
            "session": "alike", "engine": engine, "language": language, "code": code, "timeout_ms": timeout,
        }));
        let got = &result["structuredContent"];
        let what = format!("{engine} {language} {code:?}: {result:#}");
        if matches!(then, TimesOut) && got["state"] == "lost" {
            return false;
        }
        assert_eq!(got.get("state"), None, "the state is kept: {what}");
        assert_eq!(got["session"], "alike", "{what}");
        match then {
            Prints(text) => assert_eq!((&got["stdout"], &got["exit_code"]), (&json!(text), &json!(0)), "{what}"),
            Is(json) => assert_eq!(got["result"], serde_json::from_str::<Value>(json).expect("JSON"), "{what}"),
            Fails(kind, line) => {
                assert_eq!((&got["error"]["kind"], &got["error"]["line"]), (&json!(kind), &json!(line)), "{what}");
                assert_eq!(got["exit_code"], 1, "{what}");
                assert!(got["stderr"].as_str().is_some_and(|text| text.contains(kind)), "{what}");
            }
            Exits(code) => assert_eq!(got["exit_code"], *code, "{what}"),
            TimesOut => assert_eq!(got["status"], "timed_out", "{what}"),
            Writes(paths) => {
                let files = got["files"].as_array().expect("files");
                let names: Vec<&str> = files.iter().map(|file| file["path"].as_str().expect("text")).collect();
                assert_eq!(names, *paths, "{what}");
                let uri = format!("session://alike/files/{}", names[0]);
                assert_eq!(files[0]["uri"], uri, "{what}");
            }
        }
    }
    true
}

/// All languages in one session, so in one workspace.
fn all(engine: &str, languages: &[(&str, &[Cell])]) {
    let seen = (0..TRIES).find_map(|_| {
        let mut client = Client::initialized();
        let all = languages.iter().all(|(language, cells)| check(&mut client, engine, language, cells));
        all.then_some(client)
    });
    let mut client = seen.expect("a cell whose time is over keeps its variables");
    let listed = call(&mut client, "list_sessions", &json!({}));
    let live = &listed["structuredContent"]["sessions"][0]["languages"];
    assert!(live.as_array().is_some_and(|live| live.len() >= languages.len()), "{listed}");
}

#[test]
fn native() {
    let mut languages: Vec<(&str, &[Cell])> = vec![
        ("python", PYTHON),
        ("javascript", JAVASCRIPT),
        ("bash", BASH),
        ("typescript", TYPESCRIPT),
        ("ruby", RUBY),
    ];
    let mut client = Client::initialized();
    languages.retain(|(language, _)| is_here(&mut client, language));
    all("native", &languages);
}

#[test]
fn wasm() {
    all("wasm", &[("python", PYTHON), ("javascript", JAVASCRIPT), ("typescript", TYPESCRIPT), ("ruby", RUBY)]);
}

/// A shell goes on after most errors: its last one is the cell's.
#[test]
fn a_shell_tells_what_went_wrong() {
    let mut client = Client::initialized();
    for (code, stdin, kind, line) in [
        ("echo 1\necho )", "", "SyntaxError", 2),
        ("\n\nno_such_command", "one\n'two\\n'\n", "CommandNotFound", 3),
        ("set -u\necho $nothing", "", "Error", 2),
    ] {
        let cell = json!({"session": "s", "language": "bash", "code": code, "stdin": stdin});
        let result = client.run(&cell);
        let error = &result["structuredContent"]["error"];
        assert_eq!((&error["kind"], &error["line"]), (&json!(kind), &json!(line)), "{result:#}");
    }
    let cell = json!({"session": "s", "language": "bash", "code": "cat", "stdin": "one\n'two\\n'\n"});
    assert_eq!(client.run(&cell)["structuredContent"]["stdout"], cell["stdin"]);
}

/// The only database of the workspace is a script's, whoever made it.
#[test]
fn a_script_has_the_sessions_database() {
    for engine in ["native", "wasm"] {
        let mut client = Client::initialized();
        let mut cell = |language: &str, code: &str| {
            client.run(&json!({"session": "q", "engine": engine, "language": language, "code": code}))
        };
        let script = "import sqlite3\nwith sqlite3.connect('q.db') as db:\n    db.execute('create table t(n)')\n";
        let made = cell("python", script);
        assert_eq!(made["structuredContent"]["exit_code"], 0, "{made:#}");
        for sum in 1..3 {
            let result = cell("sql", "insert into t values (1); select sum(n) as sum from t;");
            assert_eq!(result["structuredContent"]["stdout"], format!("sum\n---\n{sum}  \n"), "{engine}: {result:#}");
        }
        // Of several none is meant.
        cell("python", &script.replace("q.db", "r.db"));
        let result = cell("sql", "select count(*) as tables from sqlite_master;");
        assert_eq!(result["structuredContent"]["stdout"], "tables\n------\n0     \n", "{engine}: {result:#}");
    }
}

/// Languages without a live interpreter have the workspace in common.
#[test]
fn programs_share_the_workspace() {
    for (engine, language, code) in [
        (
            "native",
            "c",
            "#include <stdio.h>\nint main() { FILE *f = fopen(\"in.txt\", \"a\"); fputs(\"c\", f); fclose(f); puts(\"ok\"); }",
        ),
        (
            "wasm",
            "c",
            "#include <stdio.h>\nint main() { FILE *f = fopen(\"in.txt\", \"a\"); fputs(\"c\", f); fclose(f); puts(\"ok\"); }",
        ),
        ("wasm", "lua", "local f = io.open('in.txt', 'a') f:write('c') f:close() print('ok')"),
    ] {
        let mut client = Client::initialized();
        let cell = |client: &mut Client, language: &str, code: &str| {
            client.run(&json!({"session": "p", "engine": engine, "language": language, "code": code}))
        };
        cell(&mut client, "python", "open('in.txt', 'w').write('py'); kept = 1");
        let result = cell(&mut client, language, code);
        assert_eq!(result["structuredContent"]["stdout"], "ok\n", "{engine} {language}: {result:#}");
        let files = &result["structuredContent"]["files"];
        assert_eq!(files[0]["path"], "in.txt", "{engine} {language}: {result:#}");
        let result = cell(&mut client, "python", "open('in.txt').read(), kept");
        assert_eq!(result["structuredContent"]["result"], json!(["pyc", 1]), "{engine} {language}: {result:#}");
    }
}
