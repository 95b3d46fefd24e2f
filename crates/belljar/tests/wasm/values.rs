//! The value of the last expression, and variables.

use serde_json::{Value, json};

use crate::{NATIVE, Run, WASM};

/// What a result says of the last expression's value.
enum Last {
    /// `result`
    Data(Value),
    /// `result_repr`
    Printed(&'static str),
    /// Neither.
    Nothing,
}

#[track_caller]
fn check(language: &str, code: &str, last: &Last) {
    let ran = Run::wasm(language, code).ran().exited(0);
    let seen = (ran.result.get("result"), ran.result.get("result_repr").and_then(Value::as_str));
    let expected = match last {
        Last::Data(data) => (Some(data), None),
        Last::Printed(text) => (None, Some(*text)),
        Last::Nothing => (None, None),
    };
    assert_eq!(seen, expected, "{language}: {code}");
}

/// What a program returns.
#[test]
fn of_lua() {
    if !WASM.serves("lua") {
        return;
    }
    for (code, last) in [
        ("return 6 * 7", Last::Data(json!(42))),
        ("return 'ü'", Last::Data(json!("ü"))),
        ("return 1.0, 0.1, 2^53, math.maxinteger", Last::Data(json!([1.0, 0.1, 9_007_199_254_740_992.0, i64::MAX]))),
        ("return true, nil, false", Last::Data(json!([true, null, false]))),
        ("return {1, 'two', {three = 3, ['a b'] = {}}}", Last::Data(json!([1, "two", {"three": 3, "a b": []}]))),
        ("return {b = 1, a = {[1] = 'x'}}", Last::Data(json!({"a": ["x"], "b": 1}))),
        ("return", Last::Nothing),
        ("return nil", Last::Nothing),
        ("x = 1", Last::Nothing),
        ("return math.huge", Last::Printed("inf")),
        ("return '\\xff'", Last::Printed("\u{fffd}")),
        ("return setmetatable({}, {__tostring = function() return 'a basket' end})", Last::Printed("a basket")),
        // One that cannot be printed is no reason to fail.
        ("return setmetatable({}, {__tostring = function() error('no') end})", Last::Nothing),
    ] {
        check("lua", code, &last);
    }
    // No plain data: a cycle, a gap, names beside places.
    for code in ["local t = {} t.t = t return t", "return {[1] = 'a', [3] = 'c'}", "return {1, a = 2}", "return print"]
    {
        let ran = Run::wasm("lua", code).ran().exited(0);
        let printed = ran.result["result_repr"].as_str().unwrap_or_default();
        assert!(printed.starts_with("table: ") || printed.starts_with("function: "), "{code}: {printed}");
    }
}

/// The rows of the last statement that gave any.
#[test]
fn of_sql() {
    if !WASM.serves("sql") {
        return;
    }
    for (code, last) in [
        ("SELECT 1 AS a, 'x' AS b;", Last::Data(json!([{"a": 1, "b": "x"}]))),
        (
            "CREATE TABLE t(n); INSERT INTO t VALUES (1), (NULL), (2.5); SELECT n FROM t; DELETE FROM t;",
            Last::Data(json!([{"n": 1}, {"n": null}, {"n": 2.5}])),
        ),
        ("SELECT 9223372036854775807 AS most, x'00ff' AS bytes, 1.0 AS one;", {
            Last::Data(json!([{"most": i64::MAX, "bytes": "00FF", "one": 1.0}]))
        }),
        ("SELECT 1 AS id, 2 AS id, 3 AS id;", Last::Data(json!([{"id": 1, "id:1": 2, "id:2": 3}]))),
        ("SELECT 'said' AS it;\n.tables\n.mode json\n.schema\n", Last::Data(json!([{"it": "said"}]))),
        (
            "CREATE VIRTUAL TABLE f USING fts5(t); INSERT INTO f VALUES ('tea'); SELECT * FROM f WHERE f MATCH 'tea';",
            Last::Data(json!([{"t": "tea"}])),
        ),
        ("CREATE TABLE t(n); INSERT INTO t VALUES (7) RETURNING n;", Last::Data(json!([{"n": 7}]))),
        ("CREATE TABLE t(n); SELECT * FROM t;", Last::Nothing),
        ("-- nothing to do\n", Last::Nothing),
        (
            "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 50000) SELECT i FROM n;",
            Last::Printed("50000 rows, more than a result can hold (256 KiB); they are in the output"),
        ),
    ] {
        check("sql", code, &last);
    }
}

#[test]
fn of_python() {
    if !WASM.serves("python") {
        return;
    }
    for (code, last) in [
        ("6 * 7", Last::Data(json!(42))),
        ("'ü' * 2", Last::Data(json!("üü"))),
        ("[1, 2.5, None, True, {'a': 'b'}]", Last::Data(json!([1, 2.5, null, true, {"a": "b"}]))),
        ("(1, 2)", Last::Data(json!([1, 2]))),
        ("False", Last::Data(json!(false))),
        ("print('x')\n'after'", Last::Data(json!("after"))),
        ("import asyncio\nawait asyncio.sleep(0, 'late')", Last::Data(json!("late"))),
        ("None", Last::Nothing),
        ("x = 1", Last::Nothing),
        ("print('x')", Last::Nothing),
        ("if True:\n    5", Last::Nothing),
        ("5\nx = 1", Last::Nothing),
        ("float('nan')", Last::Printed("nan")),
        ("{1: 2}", Last::Printed("{1: 2}")),
        ("2 ** 70", Last::Printed("1180591620717411303424")),
        ("b'x'", Last::Printed("b'x'")),
        ("import datetime\ndatetime.date(2026, 1, 2)", Last::Printed("datetime.date(2026, 1, 2)")),
        ("class Basket: pass\nBasket", Last::Printed("<class '__main__.Basket'>")),
        ("basket = []\nbasket.append(basket)\nbasket", Last::Printed("[[...]]")),
        // One that cannot be printed is no reason to fail.
        ("class Basket:\n    def __repr__(self): 1/0\nBasket()", Last::Nothing),
        ("'\\ud800'", Last::Printed("'\\ud800'")),
    ] {
        check("python", code, &last);
    }
}

#[test]
fn of_numpy() {
    if !WASM.serves("python") {
        return;
    }
    check("python", "import numpy as np\nnp.arange(3)", &Last::Printed("array([0, 1, 2])"));
    check("python", "import numpy as np\nint(np.arange(10).sum())", &Last::Data(json!(45)));
}

#[test]
fn of_javascript() {
    if !WASM.serves("javascript") {
        return;
    }
    for (code, last) in [
        ("6 * 7", Last::Data(json!(42))),
        ("'ü'.repeat(2)", Last::Data(json!("üü"))),
        ("[1, 2.5, null, true, { a: 'b' }]", Last::Data(json!([1, 2.5, null, true, {"a": "b"}]))),
        ("({ b: 1, a: [] })", Last::Data(json!({"b": 1, "a": []}))),
        ("console.log('x'); 'after'", Last::Data(json!("after"))),
        ("await Promise.resolve('late')", Last::Data(json!("late"))),
        ("undefined", Last::Nothing),
        ("const x = 1", Last::Nothing),
        ("console.log('x')", Last::Nothing),
        ("NaN", Last::Printed("NaN")),
        ("10n ** 30n", Last::Printed("1000000000000000000000000000000n")),
        ("new Map([[1, 2]])", Last::Printed("Map(1) { 1 => 2 }")),
        ("() => 1", Last::Printed("[Function (anonymous)]")),
        ("Symbol('x')", Last::Printed("Symbol(x)")),
    ] {
        check("javascript", code, &last);
    }
}

#[test]
fn of_typescript() {
    if !WASM.serves("typescript") {
        return;
    }
    for (code, last) in [
        ("const x: number = 41; x + 1", Last::Data(json!(42))),
        ("enum Fruit { Pear = 3 }\nFruit.Pear", Last::Data(json!(3))),
        ("interface Basket { total: number }\n({ total: 1 } as Basket)", Last::Data(json!({"total": 1}))),
        ("type Only = string;", Last::Nothing),
    ] {
        check("typescript", code, &last);
    }
}

/// Every kind of JSON, with what a careless quotation would break.
const VARIABLES: &[&str] = &[
    "--variable",
    r#"basket=[1,2.5,null,true,{"a":"b"}]"#,
    "--variable",
    r#"text="it's \"quoted\" \\ ${x} ` ☃\n\u0000""#,
    "--variable",
    "nothing=null",
];
const PYTHON: &str = "import json\nassert nothing is None\nprint(json.dumps([basket, text]))";
const JAVASCRIPT: &str = "if (nothing !== null) throw nothing;\nconsole.log(JSON.stringify([basket, text]))";

#[track_caller]
fn check_variables(run: Run<'_>) {
    let ran = run.options(VARIABLES).ran().exited(0);
    let printed: Value = serde_json::from_str(ran.text("stdout")).expect("JSON");
    assert_eq!(printed, json!([[1, 2.5, null, true, {"a": "b"}], "it's \"quoted\" \\ ${x} ` ☃\n\0"]), "{run:?}");
}

#[test]
fn variables_in_webassembly() {
    if WASM.serves("python") {
        check_variables(Run::wasm("python", PYTHON));
        check_variables(Run::wasm("javascript", JAVASCRIPT));
        check_variables(Run::wasm("typescript", JAVASCRIPT));
        // The program may do with them what it likes.
        Run::wasm("python", "nothing = 1\nnothing").options(VARIABLES).ran().exited(0);
    }
}

#[test]
fn variables_in_native() {
    if NATIVE.serves("python") {
        check_variables(Run::native("python", PYTHON));
    }
    if NATIVE.serves("javascript") {
        check_variables(Run::native("javascript", JAVASCRIPT));
    }
}
