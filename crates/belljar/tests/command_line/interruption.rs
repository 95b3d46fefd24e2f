//! A run that nobody waits for any more is over: everything that it started is gone, long before it would have ended by
//! itself.

use std::io::{BufRead as _, BufReader};
use std::os::unix::process::CommandExt as _;
use std::process::{Child, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process, kill_process_group};
use testkit::conformance::command::{Belljar, wait};
use testkit::processes;

use super::belljar;

/// How long everything may take to end on a busy machine. Left alone, it would go on until its limit of 30 s.
const PROMPTLY: Duration = Duration::from_secs(15);

/// A `belljar run` whose guest is up: it, a child of it, and a daemon that it started.
struct Started {
    belljar: Child,
    marker: String,
    _directory: Belljar,
}

impl Started {
    /// Every process of the guest's carries the marker as an argument.
    fn new() -> Self {
        static NUMBER: AtomicUsize = AtomicUsize::new(0);
        let marker = format!("interrupted-{}-{}", std::process::id(), NUMBER.fetch_add(1, Ordering::Relaxed));
        let code = "trap '' INT TERM HUP\nbash -c 'sleep 600; :' \"$1\" &\nsetsid bash -c 'sleep 600; :' \"$1\" &\n\
                    echo up\nwhile :; do echo again; sleep 0.01; done";
        let directory = belljar();
        let mut command = directory.command(["run", "-l", "bash", "-c", code, "--", &marker]);
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).process_group(0);
        let mut belljar = command.spawn().expect("belljar starts");
        let mut line = String::new();
        let mut stdout = BufReader::new(belljar.stdout.take().expect("piped above"));
        stdout.read_line(&mut line).expect("a pipe");
        assert_eq!(line, "up\n");
        belljar.stdout = Some(stdout.into_inner());
        // The control: all three are there, and can be found.
        let end = Instant::now() + Duration::from_secs(10);
        let guests = loop {
            let found = processes::marked(&marker);
            if found.len() >= 4 || Instant::now() >= end {
                break found;
            }
            std::thread::sleep(Duration::from_millis(5));
        };
        assert!(guests.len() >= 4, "belljar, the guest, its child and its daemon: {guests:#?}");
        Self { belljar, marker, _directory: directory }
    }

    fn pid(&self) -> Pid {
        Pid::from_child(&self.belljar)
    }

    /// Waits for its end, and for the end of all that it started; returns its exit code and its last words.
    fn end(mut self) -> (Option<i32>, String) {
        let deadline = Instant::now() + PROMPTLY;
        // What is still written goes nowhere, and must not hold it up.
        let mut stdout = self.belljar.stdout.take();
        let drain = stdout
            .take()
            .map(|mut stdout| std::thread::spawn(move || std::io::copy(&mut stdout, &mut std::io::sink())));
        let status = wait(&mut self.belljar, deadline);
        processes::assert_gone(&self.marker, processes::GRACE);
        assert!(drain.is_none_or(|drain| drain.join().is_ok()), "standard output is held open");
        let mut words = String::new();
        let mut stderr = self.belljar.stderr.take().expect("piped above");
        std::io::Read::read_to_string(&mut stderr, &mut words).expect("a pipe");
        (status.code(), words)
    }
}

#[test]
fn interrupted() {
    let started = Started::new();
    kill_process(started.pid(), Signal::INT).expect("our own child");
    assert_eq!(started.end(), (Some(130), String::new()));
}

#[test]
fn terminated() {
    let started = Started::new();
    kill_process(started.pid(), Signal::TERM).expect("our own child");
    assert_eq!(started.end(), (Some(143), String::new()));
}

/// A terminal sends its signals to everybody in the foreground, the launcher too. Several times, for it is a race.
#[test]
fn interrupted_at_a_terminal() {
    for _ in 0..10 {
        let started = Started::new();
        kill_process_group(started.pid(), Signal::INT).expect("our own children");
        assert_eq!(started.end(), (Some(130), String::new()));
    }
}

/// As `belljar run … | head -n 1` does.
#[test]
fn reader_gone() {
    let mut started = Started::new();
    drop(started.belljar.stdout.take());
    assert_eq!(started.end(), (Some(141), String::new()));
}

#[test]
fn killed() {
    let started = Started::new();
    kill_process(started.pid(), Signal::KILL).expect("our own child");
    assert_eq!(started.end(), (None, String::new()));
}

/// As `belljar example | head -n 1` does.
#[test]
fn reader_of_example_gone() {
    let directory = belljar();
    let mut command = directory.command(["example", "bash", "sh", "perl"]);
    let mut example = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("belljar starts");
    let mut line = String::new();
    BufReader::new(example.stdout.take().expect("piped above")).read_line(&mut line).expect("a pipe");
    assert!(line.starts_with("A server and its client"), "{line}");
    let status = wait(&mut example, Instant::now() + Duration::from_secs(20));
    let mut words = String::new();
    std::io::Read::read_to_string(&mut example.stderr.take().expect("piped above"), &mut words).expect("a pipe");
    assert_eq!((status.code(), &*words), (Some(141), ""));
}
