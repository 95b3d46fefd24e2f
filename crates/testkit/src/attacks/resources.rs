//! Guests that take as much as they can get.

use crate::arena::Level;
use crate::run::{Ending, Outcome, Program, Run};
use crate::stage::Stage;

/// The default limits of a run, as the reference documents them.
const PROCESSES: u64 = 64;
const DISK: u64 = 256 << 20;
const FILES: u64 = 16_384;
const DESCRIPTORS: u64 = 1024;
const KEPT_OUTPUT: u64 = 1 << 20;

/// What belljar itself may use while a guest floods it.
const SERVER_MEMORY: u64 = 100 << 20;

/// The memory limit that the memory attacks ask for.
const MEMORY: u64 = 256 << 20;

/// Shows that a little of it works, and returns the run that takes all.
fn control_then<'stage>(stage: &'stage Stage, program: Program, mode: &str, works: &str) -> Run<'stage> {
    let control = stage.run_mode(program, mode).argument("control").option("--memory", "256MiB").outcome();
    control.assert_ended(Ending::completed(0));
    assert_eq!((&*control.stdout, control.dropped.stdout), (works, 0), "the control run");
    stage.run_mode(program, mode)
}

/// The deadline was kept, and not by much overrun: one that waits for a guest to give up would be seconds late.
fn assert_timed_out(outcome: &Outcome, seconds: f64) {
    outcome.assert_ended(Ending::timed_out());
    let wall = outcome.wall.as_secs_f64();
    assert!(wall >= seconds && wall < seconds + 2.0, "a deadline of {seconds} s, but {wall} s in all");
}

pub(super) fn fork_count(stage: &Stage, program: Program) {
    let outcome = control_then(stage, program, "fork-count", "forked 3 refused none\n").outcome();
    outcome.assert_ended(Ending::completed(0));
    let forked = outcome.number_after("forked");
    let most = match stage.level() {
        Level::Full | Level::FullNoProc => PROCESSES,
        // The kernel counts all of the user's processes there, and belljar adds those that it finds.
        Level::Landlock => 4 * PROCESSES,
    };
    assert!(forked > 8 && forked <= most, "{forked} processes: {}", outcome.stdout);
    assert!(outcome.stdout.ends_with("refused EAGAIN\n"), "{}", outcome.stdout);
}

pub(super) fn fork_bomb(stage: &Stage, program: Program) {
    let outcome = control_then(stage, program, "fork-bomb", "forked 0\n").option("--timeout", "2s").outcome();
    assert_timed_out(&outcome, 2.0);
    assert_eq!(outcome.stdout, "started\n");
}

pub(super) fn bash_bomb(stage: &Stage, program: Program) {
    let control = stage.run(program).argument(stage.marker()).argument("control").outcome();
    control.assert_ended(Ending::completed(0));
    assert_eq!(control.stdout, "started piped\n");
    let outcome = stage.run(program).argument(stage.marker()).option("--timeout", "2s").outcome();
    assert_timed_out(&outcome, 2.0);
    assert_eq!(outcome.stdout, "started\n");
}

pub(super) fn descriptors(stage: &Stage, program: Program) {
    let outcome = control_then(stage, program, "descriptors", "opened 3 refused none\n").outcome();
    outcome.assert_ended(Ending::completed(0));
    let opened = outcome.number_after("opened");
    assert!(opened > 100 && opened < DESCRIPTORS, "{}", outcome.stdout);
    assert!(outcome.stdout.ends_with("refused EMFILE\n"), "{}", outcome.stdout);
}

pub(super) fn processor(stage: &Stage, program: Program) {
    let outcome = control_then(stage, program, "processor", "counted\n").option("--timeout", "1s").outcome();
    assert_timed_out(&outcome, 1.0);
}

pub(super) fn output(stage: &Stage, program: Program) {
    let outcome = control_then(stage, program, "output", "0123456789abcdef").option("--timeout", "30s").outcome();
    outcome.assert_ended(Ending::completed(0));
    assert_eq!(outcome.stderr, format!("wrote {}\n", 1 << 30));
    assert_kept(&outcome.stdout, outcome.dropped.stdout, 1 << 30);
    assert_server_small(&outcome);
}

pub(super) fn endless_output(stage: &Stage, program: Program) {
    let outcome = control_then(stage, program, "endless-output", "control\n").option("--timeout", "1s").outcome();
    assert_timed_out(&outcome, 1.0);
    for (text, dropped) in [(&outcome.stdout, outcome.dropped.stdout), (&outcome.stderr, outcome.dropped.stderr)] {
        let note = format!("\n[… {dropped} bytes dropped …]\n");
        assert!(dropped > 0, "an endless stream was kept whole");
        assert_kept(text, dropped, (text.len() - note.len()) as u64 + dropped);
    }
    assert_server_small(&outcome);
}

/// Every byte is kept or counted, and where some were dropped our own note stands between head and tail.
pub(super) fn assert_kept(text: &str, dropped: u64, written: u64) {
    let note = format!("\n[… {dropped} bytes dropped …]\n");
    assert_eq!(text.matches(&note).count(), 1, "`{}` is not there once", note.trim());
    let kept = (text.len() - note.len()) as u64;
    assert_eq!(kept + dropped, written, "every byte is kept or counted");
    assert!(kept <= KEPT_OUTPUT && kept > KEPT_OUTPUT / 2, "kept {kept} bytes");
}

pub(super) fn assert_server_small(outcome: &Outcome) {
    assert!(outcome.peak_memory > 0, "belljar's own memory was never seen");
    assert!(outcome.peak_memory < SERVER_MEMORY, "belljar itself used {} bytes", outcome.peak_memory);
}

/// What holds the memory limit, as the result says. What a guest can get away with depends on it, and only on it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Holder {
    /// The kernel counts all processes together.
    Cgroup,
    /// We count all processes together, every few milliseconds; each process is held by the kernel.
    Watchdog,
    /// The kernel holds each process by itself, nobody the sum.
    Rlimit,
}

fn holder(outcome: &Outcome) -> Holder {
    match outcome.isolation.memory.as_deref() {
        Some("cgroup-v1" | "cgroup-v2") => Holder::Cgroup,
        Some("watchdog") => Holder::Watchdog,
        Some("rlimit") => Holder::Rlimit,
        other => panic!("who holds memory: {other:?}"),
    }
}

pub(super) fn memory(stage: &Stage, program: Program) {
    let outcome = control_then(stage, program, "memory", "held 16777216\n").option("--memory", "256MiB").outcome();
    match holder(&outcome) {
        Holder::Cgroup => outcome.assert_ended(Ending::limit_exceeded("memory")),
        Holder::Watchdog | Holder::Rlimit => assert_memory_error(&outcome),
    }
}

/// The interpreter was told no, and said so in its own way.
fn assert_memory_error(outcome: &Outcome) {
    outcome.assert_ended(Ending::completed(1));
    assert_eq!(outcome.error.as_ref().and_then(|error| error.kind.as_deref()), Some("MemoryError"));
}

pub(super) fn growing_memory(stage: &Stage, program: Program) {
    let run = control_then(stage, program, "growing-memory", "held 16 MiB\n");
    let outcome = run.option("--memory", "256MiB").outcome();
    match holder(&outcome) {
        Holder::Cgroup | Holder::Watchdog => outcome.assert_ended(Ending::limit_exceeded("memory")),
        Holder::Rlimit => assert_memory_error(&outcome),
    }
}

pub(super) fn memory_of_many(stage: &Stage, program: Program) {
    let run = control_then(stage, program, "memory-of-many", "16 of 16 held 1 MiB\n");
    assert_sum_held(&run.option("--memory", "256MiB").outcome());
}

pub(super) fn blinded_memory(stage: &Stage, program: Program) {
    let run = control_then(stage, program, "blinded-memory", "16 of 16 held 1 MiB\n");
    assert_sum_held(&run.option("--memory", "256MiB").outcome());
}

fn assert_sum_held(outcome: &Outcome) {
    match holder(outcome) {
        Holder::Cgroup | Holder::Watchdog => outcome.assert_ended(Ending::limit_exceeded("memory")),
        // The result says that only single processes are held.
        Holder::Rlimit => outcome.assert_ended(Ending::completed(0)),
    }
}

pub(super) fn shared_memory(stage: &Stage, program: Program) {
    let run = control_then(stage, program, "shared-memory", "hid 33554432 bytes refused none\n");
    assert_nothing_hidden(&run.option("--memory", "256MiB").outcome());
}

pub(super) fn socket_buffers(stage: &Stage, program: Program) {
    let control = stage.run_mode(program, "socket-buffers").argument("control").outcome();
    control.assert_ended(Ending::completed(0));
    assert!(control.number_after("hid") > 0, "{}", control.stdout);
    assert_nothing_hidden(&stage.run_mode(program, "socket-buffers").option("--memory", "256MiB").outcome());
}

/// Ended for it, or held to the limit. Without a memory cgroup nobody counts memory that no process has mapped, and the result says so.
fn assert_nothing_hidden(outcome: &Outcome) {
    if outcome.status == "limit_exceeded" {
        return outcome.assert_ended(Ending::limit_exceeded("memory"));
    }
    outcome.assert_ended(Ending::completed(0));
    if outcome.isolation.missing.iter().any(|missing| missing == "memory-cgroup") {
        return;
    }
    let hidden = outcome.number_after("hid");
    assert!(hidden <= MEMORY, "holds {hidden} bytes under a limit of {MEMORY}; isolation: {:?}", outcome.isolation);
}

pub(super) fn disk(stage: &Stage, program: Program) {
    // Enough memory: pages of a tmpfs count as memory where there is a memory cgroup.
    let control = stage.run_mode(program, "disk").argument("control").outcome();
    control.assert_ended(Ending::completed(0));
    assert!(control.stdout.ends_with(" bytes refused none\n"), "{}", control.stdout);
    let outcome = stage.run_mode(program, "disk").option("--memory", "1GiB").outcome();
    assert_disk_held(stage, &outcome);
}

pub(super) fn hidden_disk(stage: &Stage, program: Program) {
    let control = stage.run_mode(program, "hidden-disk").argument("control").outcome();
    control.assert_ended(Ending::completed(0));
    assert!(control.stdout.ends_with(" bytes refused none\n"), "{}", control.stdout);
    let outcome = stage.run_mode(program, "hidden-disk").option("--memory", "1GiB").outcome();
    assert_disk_held(stage, &outcome);
}

/// A file system of its own refuses what is too much; a directory on the host is watched, and the run is ended.
fn assert_disk_held(stage: &Stage, outcome: &Outcome) {
    match stage.level() {
        Level::Full | Level::FullNoProc => {
            outcome.assert_ended(Ending::completed(0));
            let written = outcome.number_after("wrote");
            assert!(written > DISK / 2 && written <= DISK, "{}", outcome.stdout);
            assert!(outcome.stdout.ends_with("refused ENOSPC\n"), "{}", outcome.stdout);
        }
        Level::Landlock => outcome.assert_ended(Ending::limit_exceeded("disk")),
    }
}

pub(super) fn inodes(stage: &Stage, program: Program) {
    let outcome = control_then(stage, program, "inodes", "made 10 files refused none\n").outcome();
    match stage.level() {
        Level::Full | Level::FullNoProc => {
            outcome.assert_ended(Ending::completed(0));
            let made = outcome.number_after("made");
            assert!(made > FILES / 2 && made <= FILES, "{}", outcome.stdout);
            assert!(outcome.stdout.ends_with("refused ENOSPC\n"), "{}", outcome.stdout);
        }
        Level::Landlock => outcome.assert_ended(Ending::limit_exceeded("disk")),
    }
}
