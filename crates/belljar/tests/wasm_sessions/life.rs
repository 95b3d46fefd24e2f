//! Sessions come and go, and so do workers.

use std::fs;
use std::time::{Duration, Instant};

use testkit::processes;

use crate::{Stage, plan, request, request_of};

#[tokio::test]
async fn two_sessions_have_nothing_in_common() {
    let Some(stage) = Stage::start() else { return };
    let (mut one, mut other) = (stage.open().await, stage.open().await);
    one.printed("python", "x = 'secret'\nopen('secret', 'w').write(x)\nimport sys\nsys.secret = 1").await;
    let code =
        "import os, sys\nprint('x' in globals(), os.listdir('/box'), os.listdir('/tmp'), hasattr(sys, 'secret'))";
    assert_eq!(other.printed("python", code).await, "False [] [] False\n");
    // And wait for nobody.
    let started = Instant::now();
    let sleep = "import time\ntime.sleep(10)";
    let (first, second) = tokio::join!(one.cell("python", sleep), other.cell("python", sleep));
    assert!(first.status.is_success() && second.status.is_success());
    assert!(started.elapsed() < Duration::from_secs(19), "{:?}", started.elapsed());
    assert_eq!(stage.wall.started().len(), 1);
    let mut stranger = stage.open_as(request_of("ada", "python", "0")).await;
    let outcome = stranger.run(request_of("ada", "python", "1")).await;
    assert!(outcome.status.is_success());
    assert_eq!(stage.wall.started().len(), 2);
}

#[tokio::test]
async fn a_session_ends_with_its_worker() {
    let Some(stage) = Stage::start() else { return };
    let mut session = stage.open().await;
    session.printed("python", "x = 1").await;
    assert!(session.session.is_alive());
    let worker = *stage.wall.started().last().expect("a worker");
    processes::kill(i32::try_from(worker).expect("a pid"));
    let end = Instant::now() + Duration::from_secs(10);
    while session.session.is_alive() {
        assert!(Instant::now() < end, "nobody notices");
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    let error = session.session.run(plan(request("python", "x")), &mut ()).await.expect_err("it is dead");
    assert_eq!(error.to_string(), "the worker process that hosted this run has ended; run it again");
    session.session.settle().await;
    assert_eq!(session.session.languages(), [""; 0]);
    drop(session);
    assert_eq!(stage.open().await.printed("python", "print(1)").await, "1\n");
}

/// Memory that a process has written and nobody shares, in KiB. Pages of files are its own or not as other tests' workers come and go.
fn private(pid: u32) -> u64 {
    let rollup = fs::read_to_string(format!("/proc/{pid}/smaps_rollup")).expect("it lives");
    let line = rollup.lines().find(|line| line.starts_with("Private_Dirty:")).expect("a field");
    line.split_whitespace().nth(1).expect("a number").parse::<u64>().expect("a number")
}

#[tokio::test]
async fn a_closed_session_leaves_nothing() {
    let Some(stage) = Stage::start() else { return };
    let worker = {
        let mut first = stage.open().await;
        first.printed("python", "x = 1").await;
        stage.wall.started()[0]
    };
    let before = private(worker);
    let mut left = Vec::new();
    for _ in 0..6 {
        let mut sessions = Vec::new();
        for _ in 0..8 {
            let mut session = stage.open().await;
            session.printed("python", "import os\nx = os.urandom(8 << 20)\nopen('f', 'wb').write(x)").await;
            sessions.push(session);
        }
        assert!(private(worker) > before + (100 << 10), "it is in there somewhere");
        drop(sessions);
        // What waits to be used again stays, without what was in it; the rest is given up after a while.
        let end = Instant::now() + Duration::from_secs(20);
        while private(worker) > before + (64 << 10) {
            assert!(Instant::now() < end, "{} KiB, and {before} before", private(worker));
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
        tokio::time::sleep(Duration::from_secs(1)).await;
        left.push(private(worker));
    }
    // How much waits to be used again differs from round to round, and one round is no measure.
    let (early, late) = left.split_at(3);
    let [early, late] = [early, late].map(|rounds| {
        let mut rounds = rounds.to_vec();
        rounds.sort_unstable();
        rounds[1]
    });
    assert!(late <= early + (8 << 10), "it grows: {before} KiB before, then {left:?}");
    assert_eq!(stage.wall.started(), [worker]);
}

/// What a session costs, to be looked at: `cargo test --test wasm_sessions figures -- --ignored --nocapture`.
#[tokio::test]
#[ignore = "prints figures"]
#[expect(clippy::print_stdout, reason = "figures")]
async fn figures() {
    let Some(stage) = Stage::start() else { return };
    let mut first = stage.open().await;
    first.printed("python", "x = 1").await;
    let worker = stage.wall.started()[0];
    for (language, code) in
        [("python", "x = 1\nprint(x)"), ("javascript", "let x = 1; console.log(x)"), ("ruby", "x = 1\nputs x")]
    {
        tokio::time::sleep(Duration::from_secs(1)).await;
        let before = private(worker);
        let mut sessions = Vec::new();
        for _ in 0..64 {
            let mut session = stage.open().await;
            session.printed(language, code).await;
            session.printed(language, code).await;
            sessions.push(session);
        }
        tokio::time::sleep(Duration::from_secs(1)).await;
        println!("{language}: {} KiB private a session, of 64", (private(worker) - before) / 64);
        let session = &mut sessions[0];
        let mut times: Vec<Duration> = Vec::new();
        for _ in 0..300 {
            let started = Instant::now();
            session.cell(language, code).await;
            times.push(started.elapsed());
        }
        times.sort_unstable();
        println!("{language}: cell p50 {:?}, p90 {:?}", times[150], times[270]);
        let mut times: Vec<Duration> = Vec::new();
        for _ in 0..20 {
            let started = Instant::now();
            let fork = session.session.fork().await.expect("a copy");
            times.push(started.elapsed());
            drop(fork);
        }
        times.sort_unstable();
        println!("{language}: fork p50 {:?}", times[10]);
    }
}
