//! Cells that do not end by themselves.

#[path = "told.rs"]
mod told;

use std::time::{Duration, Instant};

use sandbox::{LimitsRequest, Request, SessionState, Status};

use crate::{Notebook, Stage, plan, request, within};
use told::Told;

/// Enough to begin on a busy machine, and nothing to what these cells would take.
const SHORT: Duration = Duration::from_secs(2);

#[tokio::test]
async fn a_timeout_keeps_state_where_it_can() {
    let Some(stage) = Stage::start() else { return };
    let mut session = stage.open().await;
    let mut told = Told::default();
    for (language, set, code, get) in [
        ("python", "x = 1", "x = 2\nwhile True: pass", "print(x)"),
        ("python", "x = 1", "import time\nx = 2\ntime.sleep(100)\nx = 3", "print(x)"),
        ("python", "x = 1", "import time\nx = 2\nwhile True: time.sleep(0.01)", "print(x)"),
        ("python", "x = 1", "x = 2\nwhile True: print('x' * 1000)", "print(x)"),
        ("python", "x = 1", "x = 2\n7 ** 90000000", "print(x)"),
        ("python", "x = 1", "import asyncio\nx = 2\nawait asyncio.sleep(100)", "print(x)"),
        ("python", "x = 1", "import asyncio\nx = 2\nawait asyncio.sleep(0)\nwhile True: pass", "print(x)"),
        ("python", "x = 1", "class R:\n    def __repr__(self):\n        while True: pass\nx = 2\nR()", "print(x)"),
        ("javascript", "let x = 1", "x = 2; for (;;);", "console.log(x)"),
        ("javascript", "x = 1", "x = 2; try { for (;;); } finally { x = 3 }", "console.log(x)"),
        ("javascript", "x = 1", "x = 2; await new Promise(r => setTimeout(r, 1e6))", "console.log(x)"),
        ("javascript", "x = 1", "x = 2; setInterval(() => {}, 1)", "console.log(x)"),
        ("javascript", "x = 1", "x = 2; async function f() { for (;;) await null }\nawait f()", "console.log(x)"),
        ("javascript", "x = 1", "x = 2; setTimeout(() => { for (;;); }, 1)", "console.log(x)"),
    ] {
        let mut became = None;
        for _ in 0..Told::IN_A_ROW {
            session.printed(language, set).await;
            let started = Instant::now();
            let outcome = session.run(Request { limits: within(SHORT), ..request(language, code) }).await;
            assert_eq!((outcome.status, outcome.error), (Status::TimedOut, None), "{code}");
            assert!(started.elapsed() < Duration::from_secs(30), "{code}: {:?}", started.elapsed());
            became = outcome.state;
            if became == Some(SessionState::Kept) {
                told.kept();
                break;
            }
            told.lost();
        }
        assert_eq!(became, Some(SessionState::Kept), "{code}");
        assert_eq!(session.printed(language, get).await, "2\n", "{code}");
    }
    told.assert_most_are_kept("cells whose time is over");
}

#[tokio::test]
async fn who_cannot_be_asked_is_ended_and_says_so() {
    let Some(stage) = Stage::start() else { return };
    let mut session = stage.open().await;
    session.printed("javascript", "globalThis.kept = 1").await;
    for code in ["sum(iter(int, 1))", "while True:\n    try:\n        while True: pass\n    except BaseException: pass"]
    {
        session.printed("python", "x = 1\nopen('kept.txt', 'w').write('kept')").await;
        let outcome = session.run(Request { limits: within(SHORT), ..request("python", code) }).await;
        let lost = SessionState::Lost("it did not stop when its time was over".to_owned());
        assert_eq!((outcome.status, outcome.state), (Status::TimedOut, Some(lost)), "{code}");
        assert_eq!(session.session.languages(), ["javascript"]);
        let outcome = session.cell("python", "print(open('kept.txt').read())\nx").await;
        assert_eq!(outcome.stdout.text, "kept\n");
        assert!(outcome.stderr.text.ends_with("NameError: name 'x' is not defined\n"), "{outcome:?}");
    }
    assert_eq!(session.printed("javascript", "console.log(kept)").await, "1\n");
    let outcome = session.cell("python", "import os\nos._exit(3)").await;
    assert_eq!(outcome.status, Status::Completed { exit_code: 3 });
    let lost = "the cell ended the interpreter itself, with exit code 3";
    assert_eq!(outcome.state, Some(SessionState::Lost(lost.to_owned())));
    assert_eq!(session.printed("python", "print(1)").await, "1\n");
}

#[tokio::test]
async fn who_goes_away_leaves_a_session_that_goes_on() {
    let Some(stage) = Stage::start() else { return };
    let mut session = stage.open().await;
    let mut told = Told::default();
    for (language, set, code, get) in [
        ("python", "x = 1", "x = 2\nwhile True: pass", "print(x)"),
        ("python", "x = 1", "import time\nx = 2\ntime.sleep(100)", "print(x)"),
        ("javascript", "let x = 1", "x = 2; for (;;);", "console.log(x)"),
    ] {
        for _ in 0..Told::IN_A_ROW {
            session.printed(language, set).await;
            let live = &mut ();
            let dropped = tokio::time::timeout(SHORT, session.session.run(plan(request(language, code)), live)).await;
            assert!(dropped.is_err(), "{code}");
            session.session.settle().await;
            if session.session.languages().contains(&language) {
                told.kept();
                break;
            }
            told.lost();
        }
        assert_eq!(session.printed(language, get).await, "2\n", "{code}");
    }
    told.assert_most_are_kept("cells that nobody waits for");
    assert_eq!(session.session.languages(), ["python", "javascript"]);
    let live = &mut ();
    let dropped = session.session.run(plan(request("python", "sum(iter(int, 1))")), live);
    assert!(tokio::time::timeout(SHORT, dropped).await.is_err());
    session.session.settle().await;
    assert_eq!(session.session.languages(), ["javascript"]);
    assert!(session.session.is_alive());
}

#[tokio::test]
async fn who_only_fills_and_copies_memory_takes_nobody_with_it() {
    let Some(stage) = Stage::start() else { return };
    let (mut busy, mut other) = (stage.open().await, stage.open().await);
    other.printed("python", "kept = 1").await;
    for (language, code) in [
        ("javascript", "const b = new Uint8Array(100 << 20); for (;;) b.fill(1)"),
        ("python", "b = bytearray(40 << 20)\nwhile True: b[:] = bytes(len(b))"),
        ("python", "b = bytearray(60000)\nwhile True: b * 1"),
    ] {
        let outcome = busy.run(Request { limits: within(SHORT), ..request(language, code) }).await;
        assert_eq!((outcome.status, outcome.error), (Status::TimedOut, None), "{code}");
        assert_eq!(other.printed("python", "print(kept)").await, "1\n", "{code}");
        assert!(busy.session.is_alive(), "{code}");
    }
}

#[tokio::test]
async fn cpu_time_is_the_cells_own() {
    let Some(stage) = Stage::start() else { return };
    let mut session = stage.open().await;
    let mut told = Told::default();
    for _ in 0..Told::IN_A_ROW {
        if let Some(counted) = count_with_little_cpu(&mut session, &mut told).await {
            assert_eq!(counted, sandbox::LastValue::Json("3".to_owned()));
        }
    }
    told.assert_most_are_kept("cells whose CPU time is over");
}

/// Two cells that use up what they have, and what a third one finds; `None` where one of them lost it.
async fn count_with_little_cpu(session: &mut Notebook, told: &mut Told) -> Option<sandbox::LastValue> {
    let limits = LimitsRequest { cpu: Some(Duration::from_millis(200)), ..LimitsRequest::default() };
    session.printed("python", "x = 1").await;
    for _ in 0..2 {
        let outcome = session.run(Request { limits, ..request("python", "x += 1\nwhile True: pass") }).await;
        assert_eq!(outcome.status, Status::LimitExceeded(sandbox::LimitKind::Cpu), "{outcome:?}");
        if outcome.state != Some(SessionState::Kept) {
            told.lost();
            return None;
        }
        told.kept();
    }
    session.run(Request { limits, ..request("python", "x") }).await.value
}

#[tokio::test]
async fn memory_that_is_refused_is_an_exception() {
    let Some(stage) = Stage::start() else { return };
    let limits = LimitsRequest { memory: Some(sandbox::Bytes::mib(64)), ..LimitsRequest::default() };
    let mut session = stage.open_as(Request { limits, ..request("python", "0") }).await;
    for (language, set, code, get) in [
        ("python", "x = 1", "x = 2\n[bytes(1 << 20) for _ in range(100)]", "print(x)"),
        (
            "javascript",
            "let x = 1",
            "x = 2; const a = []; for (;;) a.push(new Uint8Array(1 << 20))",
            "a.length = 0; console.log(x)",
        ),
    ] {
        session.printed(language, set).await;
        let outcome = session.cell(language, code).await;
        assert_eq!(outcome.status, Status::LimitExceeded(sandbox::LimitKind::Memory), "{outcome:?}");
        assert_eq!(outcome.state, Some(SessionState::Kept));
        assert_eq!(session.printed(language, get).await, "2\n", "{code}");
    }
}

/// The limit is for the session, however many interpreters it has.
#[tokio::test]
async fn languages_share_their_memory() {
    const MOST: &str = "x = bytearray(40 << 20)";
    let Some(stage) = Stage::start() else { return };
    let limits = LimitsRequest { memory: Some(sandbox::Bytes::mib(64)), ..LimitsRequest::default() };
    let opening = || Request { limits, ..request("python", "0") };
    let others = [
        ("javascript", "var a = new Uint8Array(SIZE << 20)", "console.log(a.length)"),
        ("ruby", "a = 'x' * (SIZE << 20)", "puts a.length"),
    ];
    for (language, code, get) in others {
        let mut session = stage.open_as(opening()).await;
        session.printed(language, &code.replace("SIZE", "40")).await;
        assert_eq!(session.printed(language, get).await, format!("{}\n", 40 << 20), "alone it has room");
        let refused = session.cell("python", MOST).await;
        assert_eq!(refused.status, Status::LimitExceeded(sandbox::LimitKind::Memory), "{language}: {refused:?}");
        assert_eq!(session.printed("python", "x = 5\nprint(x)").await, "5\n", "{language}");
        assert_eq!(session.printed(language, get).await, format!("{}\n", 40 << 20));
    }
    let mut session = stage.open_as(opening()).await;
    session.printed("python", MOST).await;
    for (language, code, get) in others {
        let refused = session.cell(language, &code.replace("SIZE", "40")).await;
        assert_eq!(refused.status, Status::LimitExceeded(sandbox::LimitKind::Memory), "{language}: {refused:?}");
        session.printed(language, &code.replace("SIZE", "4")).await;
        assert_eq!(
            session.printed(language, get).await,
            format!("{}\n", 4 << 20),
            "{language}: there is room for this"
        );
    }
    // A copy has the same limit.
    let mut copy = Notebook { session: session.session.fork().await.expect("a copy") };
    let refused = copy.cell("python", "y = bytearray(20 << 20)").await;
    assert_eq!(refused.status, Status::LimitExceeded(sandbox::LimitKind::Memory), "{refused:?}");
}
