//! A database among the given files is the script's, in both engines, and comes back changed.

use serde_json::Value;
use testkit::conformance::command::Belljar;

use crate::{NATIVE, WASM};

/// Runs a script over the databases in `home`, and leaves there what came back.
fn run(home: &Belljar, engine: &str, script: &str, databases: &[&str]) -> Value {
    home.write("script.sql", script);
    let mut arguments = vec!["run", "script.sql", "--json", "--engine", engine, "--out", "."];
    for database in databases {
        arguments.extend(["--file", database]);
    }
    let answer = home.answer(arguments);
    serde_json::from_slice(&answer.stdout).unwrap_or_else(|error| panic!("{error}: {answer:?}"))
}

fn is_served() -> bool {
    WASM.serves("sql") && NATIVE.serves("sql")
}

#[test]
fn come_back_changed() {
    if !is_served() {
        return;
    }
    let home = WASM.command_line();
    let made = run(&home, "wasm", "CREATE TABLE t(n);\nINSERT INTO t VALUES (1);\n.save /box/made.db\n", &[]);
    assert_eq!((&made["status"], &made["files"][0]["path"]), (&"completed".into(), &"made.db".into()), "{made:#}");
    for (engine, sum) in [("wasm", 2), ("native", 3), ("auto", 4)] {
        let script = "INSERT INTO t VALUES (1);\nSELECT sum(n) AS sum FROM t;";
        let ran = run(&home, engine, script, &["made.db"]);
        assert_eq!(ran["stdout"], format!("sum\n---\n{sum}  \n"), "{engine}: {ran:#}");
        assert_eq!(ran["files"][0]["path"], "made.db", "{engine}: {ran:#}");
    }
    let looked = run(&home, "wasm", "SELECT sum(n) AS sum FROM t;", &["made.db"]);
    assert_eq!((&looked["files"], &looked["result"][0]["sum"]), (&Value::Array(Vec::new()), &4.into()), "{looked:#}");
}

#[test]
fn of_several_none_is_meant() {
    if !is_served() {
        return;
    }
    let home = WASM.command_line();
    run(&home, "wasm", "CREATE TABLE t(n);\n.save /box/one.db\n.save /box/two.db\n", &[]);
    for engine in ["wasm", "native"] {
        let ran = run(&home, engine, "SELECT count(*) AS tables FROM sqlite_master;", &["one.db", "two.db"]);
        assert_eq!(ran["stdout"], "tables\n------\n0     \n", "{engine}: {ran:#}");
    }
}

#[test]
fn with_a_log_are_the_native_engines() {
    if !is_served() {
        return;
    }
    let home = WASM.command_line();
    run(&home, "wasm", "CREATE TABLE t(n);\nINSERT INTO t VALUES (1);\n.save /box/logged.db\n", &[]);
    run(&home, "native", "PRAGMA journal_mode = wal;", &["logged.db"]);
    let ran = run(&home, "auto", "SELECT n FROM t;", &["logged.db"]);
    assert_eq!((&ran["stdout"], &ran["engine"]), (&"n\n-\n1\n".into(), &"native".into()), "{ran:#}");
    assert_eq!(ran["promoted"]["reason"], "WebAssembly cannot open a database with a write-ahead log", "{ran:#}");
}
