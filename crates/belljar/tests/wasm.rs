//! What is particular to the wasm engine and to `auto`: the value of the last expression, variables, `await` at the top level, tracebacks,
//! deadlines that hold for anything a guest can do, promotion and hedging. What both engines owe alike is in `conformance.rs`; what takes
//! many runs in one worker in `wasm_worker.rs`; attacks in `wasm_attacks.rs`.

#![expect(clippy::expect_used, clippy::indexing_slicing, clippy::panic, reason = "a failed check is a failed test")]

#[path = "wasm/compiled.rs"]
mod compiled;
#[path = "wasm/databases.rs"]
mod databases;
#[path = "wasm/limits.rs"]
mod limits;
#[path = "wasm/php.rs"]
mod php;
#[path = "wasm/programs.rs"]
mod programs;
#[path = "wasm/promotion.rs"]
mod promotion;
#[path = "wasm/ruby.rs"]
mod ruby;
#[path = "wasm/values.rs"]
mod values;

use serde_json::Value;
use testkit::conformance::command::answer;
use testkit::conformance::{Engine, Subject};

const BELLJAR: &str = env!("CARGO_BIN_EXE_belljar");
const WASM: Subject = Subject { belljar: BELLJAR, engine: Engine::Wasm };
const NATIVE: Subject = Subject { belljar: BELLJAR, engine: Engine::Native };

/// A run that is being put together.
#[derive(Clone, Copy, Debug)]
struct Run<'a> {
    engine: &'a str,
    language: &'a str,
    code: &'a str,
    options: &'a [&'a str],
    stdin: &'a str,
    files: &'a [(&'a str, &'a str)],
}

/// What came of it.
#[derive(Debug)]
struct Ran {
    /// `belljar`'s own exit code.
    code: Option<i32>,
    /// The structured result.
    result: Value,
}

impl<'a> Run<'a> {
    fn wasm(language: &'a str, code: &'a str) -> Self {
        Self { engine: "wasm", language, code, options: &[], stdin: "", files: &[] }
    }

    fn auto(language: &'a str, code: &'a str) -> Self {
        Self { engine: "auto", ..Self::wasm(language, code) }
    }

    fn native(language: &'a str, code: &'a str) -> Self {
        Self { engine: "native", ..Self::wasm(language, code) }
    }

    fn options(self, options: &'a [&'a str]) -> Self {
        Self { options, ..self }
    }

    fn ran(self) -> Ran {
        let belljar = WASM.command_line();
        belljar.write("program", self.code);
        let mut command = belljar.command(["run", "program", "--json", "-l", self.language, "--engine", self.engine]);
        command.args(["--stdin", "-"]).args(self.options);
        for (name, contents) in self.files {
            belljar.write(&format!("inputs/{name}"), contents);
            command.arg("--file").arg(format!("{name}=inputs/{name}"));
        }
        let answer = answer(command, self.stdin.as_bytes());
        let result = serde_json::from_slice(&answer.stdout).unwrap_or_else(|error| panic!("{error}: {answer:?}"));
        Ran { code: answer.code, result }
    }
}

impl Ran {
    fn text(&self, field: &str) -> &str {
        self.result[field].as_str().unwrap_or_else(|| panic!("no text `{field}` in {:#}", self.result))
    }

    /// Ended by itself with this exit code.
    #[track_caller]
    fn exited(self, code: i32) -> Self {
        let seen = (self.code, self.text("status"), self.result["exit_code"].as_i64());
        assert_eq!(seen, (Some(code), "completed", Some(code.into())), "{:#}", self.result);
        self
    }

    /// Ended by itself without an error, after printing this.
    #[track_caller]
    fn printed(self, stdout: &str) -> Self {
        let ran = self.exited(0);
        assert_eq!((ran.text("stdout"), ran.text("stderr")), (stdout, ""), "{:#}", ran.result);
        ran
    }

    /// Ended in an error of its own, which its result names.
    #[track_caller]
    fn failed(self, kind: &str, line: Option<u64>) -> Self {
        let ran = self.exited(1);
        let error = &ran.result["error"];
        assert_eq!((error["kind"].as_str(), error["line"].as_u64()), (Some(kind), line), "{:#}", ran.result);
        ran
    }
}

#[test]
fn example_shows_every_runtime() {
    if !WASM.serves("python") {
        return;
    }
    let answer = answer(
        WASM.command_line().command([
            "example",
            "python",
            "javascript",
            "typescript",
            "ruby",
            "php",
            "lua",
            "sql",
            "c",
        ]),
        b"",
    );
    assert_eq!((answer.code, &*answer.stderr), (Some(0), ""), "{answer:?}");
    let text = answer.text();
    for (name, output) in [
        ("Python ", "tea: 3.20 |   cake: 4.50 |  total: 7.70"),
        ("Python, NumPy ", "[12 15 18 21] 22.494"),
        ("JavaScript ", "tea: 3.20 | cake: 4.50 | total: 7.70"),
        ("TypeScript ", "2 items: 7.70"),
        ("Ruby ", "tea   3.20 | cake  4.50 | total 7.7"),
        ("PHP ", "tea  3.20 | cake 4.50 | total 7.70"),
        ("Lua ", "5 numbers add up to 14"),
        ("SQL (SQLite) ", "name  price | ----  ----- | tea   3.2"),
        ("C ", "sum: 14, mean: 2.8"),
    ] {
        let row = text.lines().find(|line| line.starts_with(name)).unwrap_or_else(|| panic!("no {name}in {text}"));
        assert!(row.contains(" wasm ") && row.contains(" ok ") && row.ends_with(output), "{row}");
    }
}
