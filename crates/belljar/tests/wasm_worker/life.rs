//! A worker's life: who has one, what happens to runs when it dies, what is left of runs that were given up, and that it does not grow.

use std::fs;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use sandbox::{LiveOutput, Request, Status, Stream};
use testkit::processes;

use crate::{Server, request, request_of, within};

/// What a wait for something that must happen may take on a busy machine.
const PATIENCE: Duration = Duration::from_secs(30);

/// Notes that a run has said something.
#[derive(Clone, Default)]
struct Heard(Arc<AtomicBool>);

impl LiveOutput for Heard {
    fn output(&mut self, _: Stream, _: &[u8]) {
        self.0.store(true, Ordering::Relaxed);
    }
}

impl Heard {
    async fn wait(&self) {
        let end = Instant::now() + PATIENCE;
        while !self.0.load(Ordering::Relaxed) {
            assert!(Instant::now() < end, "the run never said anything");
            tokio::time::sleep(Duration::from_millis(2)).await;
        }
    }
}

/// W23: more than there are slots, and more than the runtime lets run at one time.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn runs_that_are_too_many_wait_their_turn() {
    let Some(server) = Server::start(4) else { return };
    let mut runs = tokio::task::JoinSet::new();
    for number in 0..150_u16 {
        let server = Arc::clone(&server);
        runs.spawn(async move {
            let code = format!("import time\ntime.sleep(0.02)\nprint({number})");
            (number, server.printed("python", &code).await)
        });
    }
    while let Some(run) = runs.join_next().await {
        let (number, printed) = run.expect("a run");
        assert_eq!(printed, format!("{number}\n"));
    }
    server.worker();
}

/// A caller that goes away ends its run, wherever the run is, and nothing else.
#[tokio::test]
async fn a_run_that_is_given_up_ends_and_its_worker_lives() {
    let Some(server) = Server::start(2) else { return };
    for (language, code) in [
        ("python", "print('started', flush=True)\nwhile True: pass"),
        ("python", "import time\nprint('started', flush=True)\ntime.sleep(200)"),
        ("python", "while True: print('x' * 100)"),
        ("python", "print('started', flush=True)\n7 ** 90000000"),
        ("javascript", "console.log('started'); for (;;);"),
        ("javascript", "console.log('started'); setInterval(() => {}, 10)"),
    ] {
        let heard = Heard::default();
        let mut live = heard.clone();
        // More often than there are slots: one that went on would hold its slot. All but the first are given up before a thread has them.
        for _ in 0..3 {
            tokio::select! {
                outcome = server.runtime.run(request(language, code), &mut live) => panic!("{code}: {outcome:?}"),
                () = heard.wait() => {}
            }
        }
        assert_eq!(server.printed("python", "print('next')").await, "next\n", "{code}");
    }
    let worker = server.worker();
    let end = Instant::now() + PATIENCE;
    while cpu_ticks_in(worker, Duration::from_millis(300)).await > 3 {
        assert!(Instant::now() < end, "a run that nobody waits for goes on");
    }
}

/// What a process uses of the processor in a while, in hundredths of a second.
async fn cpu_ticks_in(pid: u32, while_: Duration) -> u64 {
    let ticks = || {
        let stat = fs::read_to_string(format!("/proc/{pid}/stat")).expect("it lives");
        let after_name = stat.rsplit(')').next().expect("a name").split_whitespace();
        after_name.skip(11).take(2).map(|field| field.parse::<u64>().expect("a number")).sum::<u64>()
    };
    let before = ticks();
    tokio::time::sleep(while_).await;
    ticks() - before
}

#[tokio::test]
async fn a_worker_that_dies_takes_its_runs_with_it_and_no_more() {
    let Some(server) = Server::start(2) else { return };
    for _ in 0..2 {
        let heard = Heard::default();
        let mut live = heard.clone();
        let code = "import time\nprint('started', flush=True)\ntime.sleep(200)";
        let run = server.runtime.run(request("python", code), &mut live);
        let kill = async {
            heard.wait().await;
            let worker = *server.wall.started().last().expect("it has started");
            processes::kill(i32::try_from(worker).expect("a pid"));
        };
        let (outcome, ()) = tokio::join!(run, kill);
        let error = outcome.expect_err("its worker is dead").to_string();
        assert_eq!(error, "the worker process that hosted this run has ended; run it again");
        assert_eq!(server.printed("python", "print('next')").await, "next\n");
    }
    let workers = server.wall.started();
    assert_eq!(workers.len(), 3, "{workers:?}");
    // Of the dead there is not even a zombie.
    for dead in &workers[..2] {
        ends(i32::try_from(*dead).expect("a pid")).await;
    }
}

#[tokio::test]
async fn principals_never_share_a_worker() {
    let Some(server) = Server::start(1) else { return };
    for _ in 0..2 {
        for principal in ["ada", "grace"] {
            let outcome = server.run(request_of(principal, "javascript", "console.log(1)")).await;
            assert_eq!(outcome.stdout.text, "1\n");
        }
    }
    let workers = server.wall.started();
    assert_eq!(workers.len(), 2, "{workers:?}");
    // One that is busy does not hold up the other, nor does its end.
    let heard = Heard::default();
    let mut live = heard.clone();
    let mut endless = request_of("ada", "javascript", "console.log('started'); for (;;);");
    endless.limits = within(Duration::from_secs(3));
    let both = async {
        heard.wait().await;
        server.run(request_of("grace", "javascript", "console.log(2)")).await
    };
    let (ada, grace) = tokio::join!(server.runtime.run(endless, &mut live), both);
    assert_eq!(grace.stdout.text, "2\n");
    assert_eq!(ada.expect("an outcome").status, Status::TimedOut);
    assert_eq!(server.wall.started(), workers);
}

/// A compiled program's worker waits for its next run. What happened before that, to it or in it, is not that run's.
#[tokio::test]
async fn a_compiled_program_does_not_answer_for_its_worker() {
    let Some(server) = Server::start(1) else { return };
    let code = "#include <stdio.h>\n#include <string.h>\n\
                int main(int c, char **v) { if (getchar() == 'x') memset(v[c], 1, 3000); puts(\"well\"); }";
    let run = |stdin: &str| server.run(Request { stdin: stdin.as_bytes().to_vec(), ..request("c", code) });
    // The first page of memory, which nobody may touch, is the same for the next.
    for stdin in ["", "x", "", "", "x", "", ""] {
        let outcome = run(stdin).await;
        let expected =
            if stdin.is_empty() { Status::Completed { exit_code: 0 } } else { Status::Crashed { signal: 11 } };
        assert_eq!(outcome.status, expected, "{outcome:?}");
    }
    // All that wait die, and nobody has heard of it yet.
    for worker in server.wall.started() {
        processes::kill(i32::try_from(worker).expect("a pid"));
    }
    let outcome = run("").await;
    assert_eq!((outcome.status, &*outcome.stdout.text), (Status::Completed { exit_code: 0 }, "well\n"));
}

/// A server that is gone takes its workers with it.
#[tokio::test]
async fn workers_end_with_their_engine() {
    let Some(server) = Server::start(1) else { return };
    server.printed("javascript", "console.log(1)").await;
    let worker = i32::try_from(server.worker()).expect("a pid");
    drop(server);
    ends(worker).await;
}

async fn ends(worker: i32) {
    let end = Instant::now() + PATIENCE;
    while processes::find(worker).is_some() {
        assert!(Instant::now() < end, "worker {worker} is left");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

/// Two thousand runs: memory and descriptors of the worker stay as they are. (A hundred thousand are in the benchmark.)
#[tokio::test]
async fn a_worker_does_not_grow() {
    const PYTHON: &str = "import json\nopen('f', 'w').write('x' * 10000)\nprint(json.dumps(list(range(1000)))[:9])";
    const JAVASCRIPT: &str =
        "require('fs').writeFileSync('f', 'x'.repeat(10000)); console.log([1, 2].map(String).join())";
    let Some(server) = Server::start(2) else { return };
    let mut footprints = Vec::new();
    for round in 0..1000 {
        assert_eq!(server.printed("python", PYTHON).await, "[0, 1, 2,\n");
        assert_eq!(server.printed("javascript", JAVASCRIPT).await, "1,2\n");
        if round % 333 == 200 {
            footprints.push(Footprint::of(server.worker()));
        }
    }
    let (first, last) = (footprints[0], footprints[footprints.len() - 1]);
    assert_eq!(first.descriptors, last.descriptors, "{footprints:?}");
    assert!(last.memory < first.memory + (6 << 20), "{footprints:?}");
}

#[derive(Clone, Copy, Debug)]
struct Footprint {
    memory: u64,
    descriptors: usize,
}

impl Footprint {
    fn of(pid: u32) -> Self {
        // Its own pages: those of files, which every instance maps, are shared with the workers of other tests too.
        let rollup = fs::read_to_string(format!("/proc/{pid}/smaps_rollup")).expect("it lives");
        let memory = rollup.lines().find_map(|line| line.strip_prefix("Anonymous:")?.trim().strip_suffix(" kB"));
        Self {
            memory: memory.expect("a figure").trim().parse::<u64>().expect("a number") << 10,
            descriptors: fs::read_dir(format!("/proc/{pid}/fd")).expect("ours").count(),
        }
    }
}
