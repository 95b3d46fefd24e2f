//! What one cell leaves for the next.

use sandbox::{LastValue, Request, SessionState, Status, Variable};

use crate::{Stage, request};

#[tokio::test]
async fn names_outlive_their_cell() {
    let Some(stage) = Stage::start() else { return };
    let mut session = stage.open().await;
    for (language, first, second, value) in [
        ("python", "import math\nx = 20\ndef f(y):\n    return x + y", "f(math.floor(1.5) + 21)", "42"),
        ("javascript", "const a = 20; let b = 21; class C { get n() { return a + b } }", "new C().n", "41"),
        ("javascript", "function f() { return a * 2 }\nvar v = 1", "f() + v", "41"),
        ("javascript", "const a = 1", "a", "1"),
        (
            "javascript",
            "import { join } from 'path'\nconst os = require('os')",
            "join('x', 'y') + os.EOL",
            "\"x/y\\n\"",
        ),
        ("javascript", "const w = await Promise.resolve(5)", "w", "5"),
        ("javascript", "async function later() { return a + 1 }", "await later()", "2"),
        ("typescript", "interface P { n: number }\nconst p: P = { n: 7 };\nenum E { A = 3 }", "p.n + E.A + a", "11"),
        ("typescript", "import { basename } from 'path';", "basename('/a/b' as string)", "\"b\""),
    ] {
        assert_eq!(session.value(language, first).await, None, "{first}");
        assert_eq!(session.value(language, second).await.as_deref(), Some(value), "{second}");
    }
    assert_eq!(session.session.languages(), ["python", "javascript", "typescript"]);
}

#[tokio::test]
async fn the_last_value_is_underscore() {
    let Some(stage) = Stage::start() else { return };
    let mut session = stage.open().await;
    for language in ["python", "javascript"] {
        assert_eq!(session.value(language, "6 * 7").await.as_deref(), Some("42"));
        assert_eq!(session.value(language, "_ + 1").await.as_deref(), Some("43"));
    }
    assert_eq!(session.value("javascript", "const _ = 'mine'; 5").await.as_deref(), Some("5"));
    assert_eq!(session.value("javascript", "_").await.as_deref(), Some("\"mine\""));
}

#[tokio::test]
async fn an_exception_keeps_what_was_there() {
    let Some(stage) = Stage::start() else { return };
    let mut session = stage.open().await;
    session.printed("python", "def broken(n):\n    return 1 / n\nx = 1").await;
    let outcome = session.cell("python", "x = 2\nbroken(0)").await;
    assert_eq!(outcome.status, Status::Completed { exit_code: 1 });
    assert_eq!(outcome.state, Some(SessionState::Kept));
    let expected = "Traceback (most recent call last):\n  File \"<cell 2>\", line 2, in <module>\n    broken(0)\n    ~~~~~~^^^\n  \
                    File \"<cell 1>\", line 2, in broken\n    return 1 / n\n           ~~^~~\nZeroDivisionError: division by zero\n";
    assert_eq!(outcome.stderr.text, expected);
    let error = outcome.error.expect("an error");
    assert_eq!((&*error.kind, &*error.message, error.line), ("ZeroDivisionError", "division by zero", Some(2)));
    assert_eq!(session.printed("python", "print(x)").await, "2\n");

    session.printed("javascript", "let y = 1\nfunction broken() { null.x }").await;
    let outcome = session.cell("javascript", "y = 2\nbroken()").await;
    assert_eq!(outcome.status, Status::Completed { exit_code: 1 });
    assert_eq!(outcome.state, Some(SessionState::Kept));
    assert!(outcome.stderr.text.contains("at broken (<cell 4>:2:"), "{}", outcome.stderr.text);
    assert!(outcome.stderr.text.contains("at <cell 5>:2:1"), "{}", outcome.stderr.text);
    assert_eq!(session.printed("javascript", "console.log(y)").await, "2\n");
    for code in [
        "const = 5",
        "throw 5",
        "Promise.reject(new Error('x'))",
        "setTimeout(() => { throw 1 }, 1)",
        "await 0; null.x",
    ] {
        let outcome = session.cell("javascript", code).await;
        assert_eq!(
            (outcome.status, outcome.state),
            (Status::Completed { exit_code: 1 }, Some(SessionState::Kept)),
            "{code}"
        );
        assert_eq!(session.printed("javascript", "console.log(y)").await, "2\n", "{code}");
    }
}

#[tokio::test]
async fn an_exit_is_the_cells_and_not_the_sessions() {
    let Some(stage) = Stage::start() else { return };
    let mut session = stage.open().await;
    for (language, set, exit, get) in [
        ("python", "x = 5", "import sys\nx = 6\nsys.exit(3)", "print(x)"),
        ("javascript", "let x = 5", "x = 6; try { process.exit(3) } finally { x = 7 }", "console.log(x)"),
        (
            "javascript",
            "x = 5",
            "x = 6; setTimeout(() => process.exit(3), 1); await new Promise(() => {})",
            "console.log(x)",
        ),
        ("javascript", "x = 5", "x = 6; process.exitCode = 3", "console.log(x)"),
    ] {
        session.printed(language, set).await;
        let outcome = session.cell(language, exit).await;
        assert_eq!(outcome.status, Status::Completed { exit_code: 3 }, "{exit}: {outcome:?}");
        assert_eq!(outcome.state, Some(SessionState::Kept), "{exit}");
        assert_eq!(session.printed(language, get).await, "6\n", "{exit}");
    }
}

#[tokio::test]
async fn an_event_loop_goes_on_in_the_next_cell() {
    let Some(stage) = Stage::start() else { return };
    let mut session = stage.open().await;
    let begin = "import asyncio\nasync def work():\n    await asyncio.sleep(0.01)\n    return 42\ntask = asyncio.create_task(work())\nawait asyncio.sleep(0)";
    session.printed("python", begin).await;
    assert_eq!(session.value("python", "await task").await.as_deref(), Some("42"));
    assert_eq!(session.printed("python", "asyncio.run(work())\nprint('done')").await, "done\n");
    assert_eq!(session.value("python", "await work()").await.as_deref(), Some("42"));
}

#[tokio::test]
async fn what_a_cell_is_given_is_its_own() {
    let Some(stage) = Stage::start() else { return };
    let mut session = stage.open().await;
    let variable = |name: &str, json: &str| Variable { name: name.to_owned(), json: json.to_owned() };
    for (language, code) in [
        ("python", "import sys, os\nprint(sys.argv[1:], sys.stdin.readline(), os.environ['K'], given)"),
        (
            "javascript",
            "const fs = require('fs'); console.log(process.argv.slice(2), fs.readFileSync(0, 'utf8').split('\\n')[0], process.env.K, given)",
        ),
    ] {
        for round in ["one", "two"] {
            let outcome = session
                .run(Request {
                    args: vec![round.to_owned()],
                    stdin: format!("{round}\nrest\n").into_bytes(),
                    env: vec![("K".to_owned(), round.to_owned())],
                    variables: vec![variable("given", &format!("\"{round}\""))],
                    ..request(language, code)
                })
                .await;
            let said = outcome.stdout.text.replace('\'', "").replace("[ ", "[").replace(" ]", "]").replace('\n', "");
            assert_eq!(said, format!("[{round}] {round} {round} {round}"), "{outcome:?}");
        }
    }
    // A stream of its own, of which nothing is left.
    assert_eq!(session.value("python", "sys.stdin.read()").await.as_deref(), Some("\"\""));
    assert_eq!(session.value("python", "given").await.as_deref(), Some("\"two\""));
}

#[tokio::test]
async fn values_that_are_more_than_text_are_shown() {
    let Some(stage) = Stage::start() else { return };
    let mut session = stage.open().await;
    let code =
        "class Table:\n    def _repr_html_(self): return '<b>1</b>'\n    def __repr__(self): return 'table'\nTable()";
    let outcome = session.cell("python", code).await;
    assert_eq!(outcome.value, Some(LastValue::Printed("table".to_owned())));
    let [display] = &outcome.displays[..] else { panic!("{outcome:?}") };
    assert_eq!((display.mime(), display.data()), ("text/html", b"<b>1</b>".as_slice()));
    let outcome = session.cell("python", "for _ in range(20): display(Table())").await;
    assert_eq!(outcome.displays.len(), 16);
    assert!(outcome.stderr.text.contains("not shown"), "{outcome:?}");
}
