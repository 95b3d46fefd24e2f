//! Guests that take all they can get, as root and as an ordinary user: each ends with the right status and in time,
//! belljar itself stays small, and nothing of the run is left.
//!
//! The attack suite does some of this too, in more set-ups; here it is done to the numbers of the specification.

use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use testkit::arena::{Arena, Setup, installed};
use testkit::conformance::case::Ending;
use testkit::conformance::command::{Answer, Conversation};
use testkit::conformance::report::Report;
use testkit::processes;

/// What belljar, and its launcher, may use themselves whatever a guest does.
const OWN_MEMORY: u64 = 100 << 20;

/// How late after its deadline a run may end.
const LATENESS_MS: f64 = 50.0;

/// A program that takes a little when its second argument is `little`, and all it can get when it is `all`. Its first is
/// what its processes are found by.
#[derive(Clone, Copy)]
struct Guest {
    language: &'static str,
    code: &'static str,
    options: &'static [&'static str],
    /// Its `--timeout` when it takes all it can get. A little has more than enough.
    deadline: &'static str,
}

/// More than anything takes that ends by itself, on a busy machine too.
const AMPLE: &str = "60s";

/// What came of a run, and of those who ran it.
struct Watched {
    answer: Answer,
    report: Report,
    peak: u64,
    launcher_peak: u64,
}

impl Guest {
    /// First a little, which must work; then all of it. `None` where the set-up cannot be had, which is said.
    fn run(self, setup: Setup, little: &str) -> Option<Watched> {
        let arena = match Arena::open(setup) {
            Ok(arena) => arena,
            Err(unavailable) => {
                unavailable.skip(setup);
                return None;
            }
        };
        let control = self.watch(&arena, "little");
        Ending::Exit(0).check(&control.report, &control.answer);
        assert_eq!(control.report.stdout, little, "the control run");
        Some(self.watch(&arena, "all"))
    }

    fn watch(self, arena: &Arena, amount: &str) -> Watched {
        static NUMBER: AtomicUsize = AtomicUsize::new(0);
        let marker = format!("limits-{}-{}", std::process::id(), NUMBER.fetch_add(1, Ordering::Relaxed));
        let mut command = arena.command(installed(Path::new(env!("CARGO_BIN_EXE_belljar"))));
        command.args(["run", "--json", "--engine", "native", "-l", self.language, "-c", self.code]).args(self.options);
        command.args(["--timeout", if amount == "all" { self.deadline } else { AMPLE }, "--", &marker, amount]);
        let mut conversation = Conversation::start(command, b"");
        let (mut peak, mut launcher_peak, mut launcher) = (0, 0, None);
        // The kernel keeps the highest figure for us, so only what happens in the last few milliseconds is missed.
        while conversation.goes_on() {
            peak = peak.max(processes::peak_memory(conversation.pid()).unwrap_or(0));
            launcher = launcher.or_else(|| launcher_of(conversation.pid()));
            launcher_peak = launcher_peak.max(launcher.and_then(processes::peak_memory).unwrap_or(0));
            thread::sleep(Duration::from_millis(3));
        }
        let answer = conversation.finish().answer;
        processes::assert_gone(&marker, processes::GRACE);
        let report = Report::read(&answer);
        Watched { answer, report, peak, launcher_peak }
    }
}

fn launcher_of(server: i32) -> Option<i32> {
    let children = std::fs::read_to_string(format!("/proc/{server}/task/{server}/children")).ok()?;
    let mut children = children.split_whitespace().filter_map(|pid| processes::find(pid.parse().ok()?));
    children.find(|child| child.arguments.contains("__launcher")).map(|child| child.pid)
}

impl Watched {
    /// Fails unless it ended so and belljar stayed small.
    fn check(&self, ending: Ending) {
        ending.check(&self.report, &self.answer);
        assert!(self.peak > 0, "belljar's own memory was never seen");
        assert!(self.peak < OWN_MEMORY, "belljar itself used {} bytes", self.peak);
        assert!(self.launcher_peak < OWN_MEMORY, "the launcher used {} bytes", self.launcher_peak);
    }

    fn memory_is_held_by_a_cgroup(&self) -> bool {
        self.report.isolation.memory.starts_with("cgroup-")
    }
}

/// The only timed test here: that a deadline is kept is a promise of the product's. Tried until it is kept, because a busy
/// machine can keep anybody waiting; one that is late twelve times is late by itself.
fn deadline(setup: Setup) {
    let guest = Guest {
        language: "python",
        code: "import sys\nwhile sys.argv[2] == 'all': pass\nprint('started')",
        options: &[],
        deadline: "1s",
    };
    let mut walls = Vec::new();
    for _ in 0..12 {
        let Some(watched) = guest.run(setup, "started\n") else { return };
        watched.check(Ending::TimedOut);
        let wall = watched.report.usage.wall_ms;
        assert!(wall >= 1000.0, "ended early, after {wall} ms");
        walls.push(wall);
        if wall < 1000.0 + LATENESS_MS {
            break;
        }
    }
    assert!(walls.iter().any(|wall| *wall < 1000.0 + LATENESS_MS), "ended after {walls:?} ms");
}

fn fork_bomb_in_bash(setup: Setup) {
    let guest = Guest {
        language: "bash",
        code: "bomb() { bomb | bomb; }\necho started\nif [ \"$2\" = all ]; then bomb 2> /dev/null; else echo a | cat; fi",
        options: &[],
        deadline: "4s",
    };
    let Some(watched) = guest.run(setup, "started\na\n") else { return };
    watched.check(Ending::TimedOut);
    assert_eq!(watched.report.stdout, "started\n");
}

/// The classic, which goes on in the background: the program itself has ended, and that is the end of the run.
fn fork_bomb_in_the_background(setup: Setup) {
    let guest = Guest {
        language: "bash",
        code: "bomb() { bomb | bomb & }\nexec 2> /dev/null\nif [ \"$2\" = all ]; then bomb; fi\n\
               while (( SECONDS < 1 )); do :; done\necho done",
        options: &[],
        deadline: AMPLE,
    };
    let Some(watched) = guest.run(setup, "done\n") else { return };
    // Nothing but builtins: whether there is a process left for anything else is the bomb's to decide.
    watched.check(Ending::Exit(0));
    assert_eq!(watched.report.stdout, "done\n");
}

fn fork_bomb_in_python(setup: Setup) {
    let guest = Guest {
        language: "python",
        code: "import os, sys\nprint('started')\nif sys.argv[2] == 'little':\n    sys.exit(os.fork() and os.wait()[1])\n\
               while True:\n    try:\n        os.fork()\n    except OSError:\n        pass",
        options: &[],
        deadline: "4s",
    };
    let Some(watched) = guest.run(setup, "started\n") else { return };
    watched.check(Ending::TimedOut);
    assert_eq!(watched.report.stdout, "started\n");
}

/// 10 GB in pieces of one, every page written: the first piece is past the limit, wherever memory is counted.
fn allocation_in_python(setup: Setup) {
    let guest = Guest {
        language: "python",
        code: "import sys\nheld = []\nfor _ in range(10 if sys.argv[2] == 'all' else 1):\n\
               \x20   block = bytearray(1 << 30 if sys.argv[2] == 'all' else 1 << 24)\n\
               \x20   for page in range(0, len(block), 4096): block[page] = 1\n    held.append(block)\nprint('all')",
        options: &[],
        deadline: AMPLE,
    };
    let Some(watched) = guest.run(setup, "all\n") else { return };
    if watched.memory_is_held_by_a_cgroup() {
        return watched.check(Ending::Limit("memory"));
    }
    // Each process is told no by the kernel, and says so in its own way.
    watched.check(Ending::Exit(1));
    let error = watched.report.error.as_ref().map(|error| (&*error.kind, error.line));
    assert_eq!(error, Some(("MemoryError", Some(4))), "{}", watched.report.stderr);
}

fn allocation_in_c(setup: Setup) {
    let guest = Guest {
        language: "c",
        code: "#include <stdio.h>\n#include <stdlib.h>\n#include <string.h>\nint main(int count, char **arguments) {\n\
               int all = !strcmp(arguments[2], \"all\");\n  for (int i = 0; i < (all ? 10 : 1); i++) {\n\
               size_t size = all ? 1ul << 30 : 1ul << 24; char *block = malloc(size);\n\
               if (!block) { puts(\"refused\"); return 9; }\n\
               for (size_t page = 0; page < size; page += 4096) ((volatile char *)block)[page] = 1; }\n  puts(\"all\"); }",
        options: &[],
        deadline: AMPLE,
    };
    let Some(watched) = guest.run(setup, "all\n") else { return };
    if watched.memory_is_held_by_a_cgroup() {
        return watched.check(Ending::Limit("memory"));
    }
    watched.check(Ending::Exit(9));
    assert_eq!(watched.report.stdout, "refused\n");
}

/// Node reserves more address space than it may use, so its memory is counted by what it touches in every set-up.
fn allocation_in_javascript(setup: Setup) {
    let guest = Guest {
        language: "javascript",
        code: "const all = process.argv[3] === 'all', held = [];\n\
               for (let i = 0; i < (all ? 10 : 1); i++) held.push(Buffer.alloc(all ? 2 ** 30 : 2 ** 24, 1));\n\
               console.log('all')",
        options: &[],
        deadline: AMPLE,
    };
    let Some(watched) = guest.run(setup, "all\n") else { return };
    watched.check(Ending::Limit("memory"));
    assert_eq!(watched.report.stdout, "");
}

fn disk(setup: Setup) {
    let guest = Guest {
        language: "python",
        code: "import os, sys\ntotal = 0\nblock = bytes(1 << 20)\ntry:\n\
               \x20   for number in range(1024 if sys.argv[2] == 'all' else 1):\n\
               \x20       with open(f'/tmp/{number}', 'wb', buffering=0) as file: total += file.write(block)\n\
               except OSError as error:\n    print(error.errno, (192 << 20) < total <= (256 << 20))\nelse:\n    print(total)",
        options: &["--memory", "1GiB"],
        deadline: AMPLE,
    };
    let Some(watched) = guest.run(setup, "1048576\n") else { return };
    watched.check(Ending::Exit(0));
    assert_eq!(watched.report.stdout, "28 True\n");
}

fn inodes(setup: Setup) {
    let guest = Guest {
        language: "python",
        code: "import os, sys\nmade = 0\ntry:\n    while made < (100000 if sys.argv[2] == 'all' else 10):\n\
               \x20       os.mkdir(f'/tmp/{made}')\n        made += 1\n\
               except OSError as error:\n    print(error.errno, 16000 < made <= 16384)\nelse:\n    print(made)",
        options: &[],
        deadline: AMPLE,
    };
    let Some(watched) = guest.run(setup, "10\n") else { return };
    watched.check(Ending::Exit(0));
    assert_eq!(watched.report.stdout, "28 True\n");
}

fn output_flood(setup: Setup) {
    const WRITTEN: u64 = 1 << 30;
    const KEPT: u64 = 1 << 20;
    let guest = Guest {
        language: "bash",
        code: "amount=8; if [ \"$2\" = all ]; then amount=1G; fi; yes abc | head -c \"$amount\"; echo done >&2",
        options: &[],
        deadline: "120s",
    };
    let Some(watched) = guest.run(setup, "abc\nabc\n") else { return };
    watched.check(Ending::Exit(0));
    let dropped = WRITTEN - KEPT;
    assert_eq!((watched.report.dropped.stdout, watched.report.dropped.stderr), (dropped, 0));
    let half = "abc\n".repeat(1 << 17);
    let kept = format!("{half}\n[… {dropped} bytes dropped …]\n{half}");
    assert!(watched.report.stdout == kept, "{} bytes were kept", watched.report.stdout.len());
    assert_eq!(watched.report.stderr, "done\n");
}

/// It goes on until its deadline, which is kept although belljar is busy reading.
fn endless_output(setup: Setup) {
    let guest = Guest {
        language: "bash",
        code: "if [ \"$2\" = all ]; then yes abc & yes def >&2; else echo abc; fi",
        options: &[],
        deadline: "4s",
    };
    let started = Instant::now();
    let Some(watched) = guest.run(setup, "abc\n") else { return };
    watched.check(Ending::TimedOut);
    assert!(
        watched.report.dropped.stdout > 0 && watched.report.dropped.stderr > 0,
        "{:?} {:.200}",
        watched.report.dropped,
        watched.report.stderr
    );
    assert!(started.elapsed() < Duration::from_mins(1), "{:?}", started.elapsed());
}

testkit::in_both_setups! {
    deadline;
    fork_bomb_in_bash;
    fork_bomb_in_the_background;
    fork_bomb_in_python;
    allocation_in_python;
    allocation_in_c;
    allocation_in_javascript;
    disk;
    inodes;
    output_flood;
    endless_output;
}
