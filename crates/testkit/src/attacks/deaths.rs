//! belljar itself is killed while guests run: nothing of them may stay.

use std::thread;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process, kill_process_group};

use crate::arena::running_as_root;
use crate::processes::{self, Process};
use crate::run::{Ending, Program, Running};
use crate::stage::Stage;

/// From the death of belljar or its launcher to the death of the last guest.
const NOTICE: Duration = Duration::from_secs(15);

/// In the arguments of the launcher's process.
const LAUNCHER: &str = "__launcher";

pub(super) fn server(stage: &Stage, program: Program) {
    let (mut belljar, launcher) = start(stage, program);
    belljar.kill();
    let finished = belljar.finish();
    assert_eq!(finished.signal, Some(9), "{finished:?}");
    processes::assert_gone(stage.marker(), NOTICE);
    assert_ends(&launcher);
    sweep(stage, program);
}

pub(super) fn launcher(stage: &Stage, program: Program) {
    let (belljar, launcher) = start(stage, program);
    processes::kill(launcher.pid);
    // belljar too: it must not wait for an answer that cannot come.
    processes::assert_gone(stage.marker(), NOTICE);
    let finished = belljar.finish();
    let stderr = String::from_utf8_lossy(&finished.stderr);
    assert_eq!((finished.code, finished.stdout.len()), (Some(125), 0), "stderr: {stderr}");
    assert!(stderr.starts_with("error: "), "stderr: {stderr}");
    sweep(stage, program);
}

/// Ctrl-C at a terminal reaches every process of the foreground group: belljar, its launcher and whoever supervises
/// the run.
pub(super) fn interrupted(stage: &Stage, program: Program) {
    end_by(stage, program, |belljar| {
        let group = Pid::from_raw(belljar.pid()).expect("pids are positive");
        kill_process_group(group, Signal::INT).expect("our own group");
    });
}

pub(super) fn terminated(stage: &Stage, program: Program) {
    end_by(stage, program, |belljar| {
        let process = Pid::from_raw(belljar.pid()).expect("pids are positive");
        kill_process(process, Signal::TERM).expect("our own child");
    });
}

/// A polite end: belljar cleans up itself, with no later start to sweep for it.
fn end_by(stage: &Stage, program: Program, signal: impl Fn(&Running)) {
    let (belljar, launcher) = start(stage, program);
    signal(&belljar);
    let finished = belljar.finish();
    processes::assert_gone(stage.marker(), NOTICE);
    assert_ends(&launcher);
    // 128 and the signal's number, as shells do, or the signal itself.
    let code = finished.code.or(finished.signal.map(|signal| 128 + signal));
    assert!([Some(130), Some(143)].contains(&code), "{code:?}, stderr: {}", String::from_utf8_lossy(&finished.stderr));
}

pub(super) fn kernel_uid(stage: &Stage, program: Program) {
    let (mut belljar, _) = start(stage, program);
    let guests = guests(stage, belljar.pid());
    belljar.kill();
    belljar.finish();
    processes::assert_gone(stage.marker(), NOTICE);
    sweep(stage, program);
    if running_as_root() {
        let roots: Vec<&Process> = guests.iter().filter(|guest| guest.uids.contains(&0)).collect();
        assert!(roots.is_empty(), "guests with kernel uid 0: {roots:#?}");
    }
}

/// A run whose program and whose daemon both sleep, and the launcher behind it.
fn start(stage: &Stage, program: Program) -> (Running, Process) {
    let belljar = stage.run_mode(program, "daemon-until-timeout").start_in_own_group();
    let end = Instant::now() + Duration::from_secs(30);
    // The control: two processes of the guest's, seen from outside.
    while guests(stage, belljar.pid()).len() < 2 {
        assert!(
            Instant::now() < end,
            "the guest's two processes never appeared: {:#?}",
            processes::marked(stage.marker())
        );
        thread::sleep(Duration::from_millis(5));
    }
    let launcher = processes::all()
        .into_iter()
        .find(|process| process.parent == belljar.pid() && process.arguments.contains(LAUNCHER));
    (belljar, launcher.expect("belljar has a launcher among its children"))
}

/// What cannot be removed by the dead (cgroups, a scratch directory) is removed at the next start.
fn sweep(stage: &Stage, program: Program) {
    stage.run_mode(program, "plain").outcome().assert_ended(Ending::completed(0));
}

fn guests(stage: &Stage, belljar: i32) -> Vec<Process> {
    processes::marked(stage.marker()).into_iter().filter(|process| process.pid != belljar).collect()
}

fn assert_ends(process: &Process) {
    let end = Instant::now() + NOTICE;
    let same = |found: &Process| found.arguments == process.arguments && found.state != 'Z';
    while processes::find(process.pid).is_some_and(|found| same(&found)) {
        assert!(Instant::now() < end, "{process:?} outlives belljar");
        thread::sleep(Duration::from_millis(5));
    }
}
