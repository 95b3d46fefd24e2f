//! Guests that do not end, or leave something running. That nothing is left is checked after every attack.

use std::time::Duration;

use crate::run::{Ending, Outcome, Program};
use crate::stage::Stage;

/// Every mode says so when it has got as far as its attack.
const READY: &str = "ready\n";

/// Far more than a run needs, far less than what a guest left sleeping would take.
const SOON: Duration = Duration::from_secs(40);

fn control(stage: &Stage, program: Program) {
    let outcome = stage.run_mode(program, "plain").outcome();
    outcome.assert_ended(Ending::completed(0));
    assert_eq!(outcome.stdout, READY);
}

fn attack(stage: &Stage, program: Program, mode: &str, expected: Ending<'_>) -> Outcome {
    control(stage, program);
    // Time for a busy machine to get as far as the attack; and where the end is the guest's own, to get to it.
    let limit = if expected == Ending::timed_out() { "4s" } else { "60s" };
    let outcome = stage.run_mode(program, mode).option("--timeout", limit).outcome();
    outcome.assert_ended(expected);
    assert!(outcome.stdout.starts_with(READY), "{}", outcome.stdout);
    assert!(outcome.wall < SOON, "took {:?}", outcome.wall);
    outcome
}

pub(super) fn ignored_signals(stage: &Stage, program: Program) {
    attack(stage, program, "ignore-signals", Ending::timed_out());
}

pub(super) fn stopped(stage: &Stage, program: Program) {
    attack(stage, program, "stop-self", Ending::timed_out());
}

pub(super) fn stopped_child(stage: &Stage, program: Program) {
    attack(stage, program, "stopped-child", Ending::timed_out());
}

pub(super) fn daemon_keeps_output(stage: &Stage, program: Program) {
    attack(stage, program, "daemon-keeps-output", Ending::completed(0));
}

pub(super) fn daemons(stage: &Stage, program: Program) {
    attack(stage, program, "daemons", Ending::completed(0));
}

pub(super) fn forking_chain(stage: &Stage, program: Program) {
    attack(stage, program, "forking-chain", Ending::completed(0));
}

pub(super) fn daemon_until_timeout(stage: &Stage, program: Program) {
    attack(stage, program, "daemon-until-timeout", Ending::timed_out());
}

pub(super) fn closed_streams(stage: &Stage, program: Program) {
    let outcome = attack(stage, program, "close-streams", Ending::completed(3));
    assert!(outcome.wall >= Duration::from_millis(300), "ended at end-of-file, after {:?}", outcome.wall);
}

pub(super) fn closed_streams_and_stay(stage: &Stage, program: Program) {
    attack(stage, program, "close-streams-and-stay", Ending::timed_out());
}

pub(super) fn own_signal(stage: &Stage, program: Program) {
    attack(stage, program, "killed-by-own-signal", Ending::crashed("SIGSEGV"));
}

pub(super) fn exit_codes(stage: &Stage, program: Program) {
    control(stage, program);
    for code in [1, 124, 125, 126, 127, 137, 255] {
        let outcome = stage.run_mode(program, "exit-code").argument(code.to_string()).outcome();
        outcome.assert_ended(Ending::completed(code));
        assert_eq!(outcome.stdout, READY);
    }
}
