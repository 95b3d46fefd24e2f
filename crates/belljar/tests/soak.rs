//! A server that has been at it for a while: a thousand runs through one process and one launcher leave nothing behind,
//! and neither does the launcher's death or a caller that walks away.
//!
//! The test process is the server, by the library; its launcher is the built binary.

#![expect(clippy::expect_used, reason = "a failed check is a failed test")]

#[path = "soak/footprint.rs"]
mod footprint;

use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use engine_native::{NativeConfig, NativeEngine, ToolSearch};
use runtime::{RunError, Runtime};
use sandbox::{Bytes, LimitKind, LimitsRequest, Outcome, Policy, Request, Requirement, Status};
use testkit::processes;

use footprint::{Footprint, launchers};

/// A guest that lives until it is ended, its processes to be found by an argument.
const LASTING: &str = "echo up; sleep 600; echo \"$1\"";

/// A server of this process's. One at a time: what it leaves is counted for the process as a whole.
struct Server {
    runtime: Runtime,
    scratch: tempfile::TempDir,
}

impl Server {
    async fn start() -> Self {
        let scratch = tempfile::tempdir().expect("a temporary directory");
        let config = NativeConfig {
            launcher: env!("CARGO_BIN_EXE_belljar").into(),
            tools: ToolSearch { path: Vec::new(), home: None, own: Vec::new() },
            scratch: scratch.path().join("scratch"),
            require: Requirement::Full,
            environment: None,
            environments: Vec::new(),
            ahead: engine_native::Ahead::Never,
            without: Vec::new(),
        };
        let native = NativeEngine::start(config).await.expect("the engine starts");
        Self { runtime: Runtime::new(Policy::default(), vec![Arc::new(native)]), scratch }
    }

    async fn run(&self, request: Request) -> Result<Outcome, RunError> {
        self.runtime.run(request, &mut ()).await
    }

    async fn outcome(&self, request: Request) -> Outcome {
        self.run(request).await.expect("an outcome")
    }

    fn scratch(&self) -> &Path {
        self.scratch.path()
    }
}

fn shell(code: &str) -> Request {
    Request { code: code.into(), language: Some("sh".to_owned()), ..Request::default() }
}

/// A request whose guest lasts, and what its processes are found by.
fn lasting() -> (Request, String) {
    static NUMBER: AtomicUsize = AtomicUsize::new(0);
    let marker = format!("soak-{}-{}", std::process::id(), NUMBER.fetch_add(1, Ordering::Relaxed));
    (Request { args: vec![marker.clone()], ..shell(LASTING) }, marker)
}

/// Waits for the guest to be up.
async fn until_seen(marker: &str) {
    let seen = async {
        while processes::marked(marker).is_empty() {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    tokio::time::timeout(Duration::from_secs(20), seen).await.expect("the guest starts");
}

/// Runs a test as the only one of this process, on a runtime like the server's.
fn alone<Test: Future<Output = ()>>(test: impl FnOnce() -> Test) {
    static TURN: Mutex<()> = Mutex::new(());
    // A test that failed has said so; the next one starts afresh.
    let _turn = TURN.lock().unwrap_or_else(PoisonError::into_inner);
    let tokio = tokio::runtime::Builder::new_multi_thread().worker_threads(4).enable_all().build().expect("a runtime");
    tokio.block_on(async {
        // The launcher of the test before ends when it notices that its server is gone.
        while !launchers().is_empty() {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        test().await;
    });
}

#[test]
fn a_thousand_runs_in_a_row_leave_nothing() {
    alone(|| async {
        let server = Server::start().await;
        for number in 0..100 {
            one_of_each_kind(&server, number).await;
        }
        let before = Footprint::settled(server.scratch());
        for number in 100..1100 {
            one_of_each_kind(&server, number).await;
        }
        before.assert_nothing_left();
    });
}

/// A run, with its exact outcome: every end that a run can come to takes its turn.
async fn one_of_each_kind(server: &Server, number: usize) {
    let told = |outcome: &Outcome| (outcome.status, outcome.stdout.text.clone(), outcome.files.len());
    match number % 25 {
        0 => {
            let outcome = server.outcome(shell("kill -SEGV $$")).await;
            assert_eq!(told(&outcome), (Status::Crashed { signal: 11 }, String::new(), 0));
        }
        5 => {
            let limits = LimitsRequest { wall: Some(Duration::from_millis(50)), ..LimitsRequest::default() };
            let outcome = server.outcome(Request { limits, ..shell("echo so far; sleep 600") }).await;
            assert_eq!(outcome.status, Status::TimedOut);
        }
        10 => {
            let limits = LimitsRequest { cpu: Some(Duration::from_millis(20)), ..LimitsRequest::default() };
            let outcome = server.outcome(Request { limits, ..shell("while :; do :; done") }).await;
            assert_eq!(outcome.status, Status::LimitExceeded(LimitKind::Cpu));
        }
        15 => {
            let run = server.run(shell("sleep 600"));
            assert!(tokio::time::timeout(Duration::from_millis(20), run).await.is_err(), "it sleeps for ten minutes");
        }
        20 => {
            let limits = LimitsRequest { memory: Some(Bytes::new(1)), ..LimitsRequest::default() };
            let refused = server.run(Request { limits, ..shell("echo unreached") }).await;
            assert!(matches!(refused, Err(RunError::Refused(_))), "{refused:?}");
        }
        _ => {
            let code = "cat; echo \"$1\"; echo made > file; sleep 600 & exit 3";
            let request = Request { args: vec![number.to_string()], stdin: b"in ".to_vec(), ..shell(code) };
            let outcome = server.outcome(request).await;
            assert_eq!(told(&outcome), (Status::Completed { exit_code: 3 }, format!("in {number}\n"), 1));
        }
    }
}

/// The server's other threads allocate and lock all the while: a launcher that forked from among them would hang.
#[test]
fn a_thousand_runs_of_eight_callers_at_once() {
    alone(|| async {
        let server = Arc::new(Server::start().await);
        let busy = tokio::spawn(async {
            loop {
                let noise: Vec<String> = (0..1000).map(|number: u32| number.to_string()).collect();
                drop(noise);
                tokio::task::yield_now().await;
            }
        });
        let callers = (0..8).map(|caller| {
            let server = Arc::clone(&server);
            tokio::spawn(async move {
                for turn in 0..125 {
                    let word = format!("caller {caller}, turn {turn}");
                    let request = Request { args: vec![word.clone()], ..shell("echo \"$1\"; echo \"$1\" >&2") };
                    let outcome = server.outcome(request).await;
                    let expected = format!("{word}\n");
                    assert_eq!(outcome.status, Status::Completed { exit_code: 0 });
                    assert_eq!((outcome.stdout.text, outcome.stderr.text), (expected.clone(), expected));
                }
            })
        });
        let callers: Vec<_> = callers.collect();
        for caller in callers {
            let finished = tokio::time::timeout(Duration::from_mins(2), caller).await.expect("no run hangs");
            finished.expect("every run of this caller came out right");
        }
        busy.abort();
    });
}

#[test]
fn a_launcher_that_is_killed_takes_its_runs_along_and_is_replaced() {
    alone(|| async {
        let server = Server::start().await;
        server.outcome(shell("echo warm")).await;
        let before = Footprint::settled(server.scratch());
        let (request, marker) = lasting();
        let (run, ()) = tokio::join!(server.run(request), async {
            until_seen(&marker).await;
            let [launcher] = launchers()[..] else { panic!("one launcher: {:?}", launchers()) };
            processes::kill(launcher);
        });
        match run {
            Err(RunError::Failed(_)) => {}
            other => panic!("a run without its launcher has no outcome: {other:?}"),
        }
        processes::assert_gone(&marker, processes::GRACE);

        let outcome = server.outcome(shell("echo again")).await;
        assert_eq!((outcome.status, &*outcome.stdout.text), (Status::Completed { exit_code: 0 }, "again\n"));
        // The dead one is no zombie, and what it held is gone: cgroups too, which only the next launcher can remove.
        assert_eq!(launchers().len(), 1);
        before.assert_nothing_left();
    });
}

#[test]
fn runs_that_are_waiting_when_the_launcher_dies_all_fail_or_finish() {
    alone(|| async {
        let server = Arc::new(Server::start().await);
        server.outcome(shell("echo warm")).await;
        let callers: Vec<_> = (0..8)
            .map(|caller| {
                let server = Arc::clone(&server);
                tokio::spawn(async move {
                    let mut failed = 0;
                    for turn in 0..20 {
                        let word = format!("{caller} {turn}\n");
                        match server.run(shell(&format!("echo {caller} {turn}"))).await {
                            Ok(outcome) => {
                                assert_eq!((outcome.status.is_success(), &outcome.stdout.text), (true, &word));
                            }
                            Err(RunError::Failed(_)) => failed += 1,
                            Err(RunError::Refused(refusal)) => panic!("{refusal}"),
                        }
                    }
                    failed
                })
            })
            .collect();
        for _ in 0..3 {
            tokio::time::sleep(Duration::from_millis(100)).await;
            for launcher in launchers() {
                processes::kill(launcher);
            }
        }
        let mut failed = 0;
        for caller in callers {
            let finished = tokio::time::timeout(Duration::from_mins(1), caller).await.expect("no run hangs");
            failed += finished.expect("outcomes are whole");
        }
        // Each death costs each caller the run that was under way, and on a slow machine one that it ordered from the dying.
        assert!(failed <= 3 * 8 * 2, "{failed} runs failed");
        let outcome = server.outcome(shell("echo after")).await;
        assert_eq!((outcome.status.is_success(), &*outcome.stdout.text), (true, "after\n"));
    });
}

#[test]
fn a_caller_that_walks_away_ends_its_run() {
    alone(|| async {
        let server = Server::start().await;
        server.outcome(shell("echo warm")).await;
        let before = Footprint::settled(server.scratch());
        let (request, marker) = lasting();
        {
            let run = server.run(request);
            tokio::select! {
                outcome = run => panic!("it sleeps for ten minutes: {outcome:?}"),
                () = until_seen(&marker) => {}
            }
            // The future is dropped here.
        }
        processes::assert_gone(&marker, processes::GRACE);
        before.assert_nothing_left();
    });
}

#[test]
fn a_server_that_is_dropped_ends_its_launcher_and_runs() {
    alone(|| async {
        let server = Arc::new(Server::start().await);
        let (request, marker) = lasting();
        let run = tokio::spawn({
            let server = Arc::clone(&server);
            async move { server.run(request).await }
        });
        until_seen(&marker).await;
        let [launcher] = launchers()[..] else { panic!("one launcher: {:?}", launchers()) };
        run.abort();
        assert!(run.await.is_err_and(|error| error.is_cancelled()));
        drop(server);
        processes::assert_gone(&marker, processes::GRACE);
        let ended = async {
            // A zombie of ours: std reaps it when it next starts a process, or the kernel with us.
            while processes::find(launcher).is_some_and(|launcher| launcher.state != 'Z') {
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
        };
        tokio::time::timeout(Duration::from_secs(1), ended).await.expect("the launcher ends");
    });
}
