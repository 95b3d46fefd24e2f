//! Trying probe programs: what each probe reports must be what its row in the corpus says.
//!
//! A probe that is not reported, is reported twice, is stopped by something else, or does not see the open door in the
//! control run is a failure.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;

use ::attacks::probes::{Control, Probe, Report, reports};
use serde_json::json;

use crate::arena::{Level, Setup, running_as_root};
use crate::run::{Ending, Outcome, Program, Running, at_terminal};
use crate::stage::Stage;

/// Tries every probe of a program and judges each report.
pub(crate) fn attempt(stage: &Stage, program: Program, expected: &[Probe]) {
    let control = |stage: &Stage| stage.command(Path::new("/usr/bin/python3"));
    assert_control(stage, program, expected, control);
    let outcome = stage.run(program).argument(stage.facts().to_string()).outcome();
    assert_blocked(stage.level(), expected, &outcome);
}

/// As [`attempt`], where the caller has a terminal.
pub(crate) fn attempt_at_terminal(stage: &Stage, program: Program, expected: &[Probe]) {
    assert_control(stage, program, expected, |stage| at_terminal(stage, Path::new("/usr/bin/python3")));
    let outcome = stage.run(program).argument(stage.facts().to_string()).outcome_at_terminal();
    assert_blocked(stage.level(), expected, &outcome);
}

/// Runs the program on the bare host, as a user and as root: it must find the doors open that are open there.
fn assert_control(stage: &Stage, program: Program, expected: &[Probe], command: impl Fn(&Stage) -> Command) {
    let identities = [Setup::Unprivileged, Setup::Root];
    for setup in identities.into_iter().filter(|setup| *setup == Setup::Unprivileged || running_as_root()) {
        let outside = match Stage::open(setup, stage.belljar()) {
            Ok(outside) => outside,
            Err(unavailable) => return unavailable.skip(setup),
        };
        let mut command = command(&outside);
        command.arg("-c").arg(program.code).arg(outside.facts_outside().to_string());
        let finished = Running::start(command).finish();
        let stderr = String::from_utf8_lossy(&finished.stderr);
        assert_eq!(finished.code, Some(0), "control as {setup:?}: {stderr}");
        let mut reports = reports(&String::from_utf8_lossy(&finished.stdout)).expect("reports");
        let mut problems = Vec::new();
        for probe in applicable(expected) {
            let Some(report) = reports.remove(probe.name) else {
                problems.push(format!("{} is not reported", probe.name));
                continue;
            };
            let must_succeed = match probe.control {
                Control::User => true,
                Control::Root => setup == Setup::Root,
                Control::Varies => false,
            };
            if report.verdict == "BROKEN" || (must_succeed && report.verdict != "ESCAPE") {
                problems.push(format!("{}: {report:?}", probe.name));
            }
        }
        problems.extend(reports.into_keys().map(|name| format!("{name} is not in the table")));
        assert!(problems.is_empty(), "control as {setup:?}, on the bare host: {problems:#?}");
    }
}

/// Every probe must be reported once and be stopped by what the table says, or be a gap that the result owns up to.
fn assert_blocked(level: Level, expected: &[Probe], outcome: &Outcome) {
    outcome.assert_ended(Ending::completed(0));
    let mut reports = reports(&outcome.stdout).expect("reports");
    let mut problems = Vec::new();
    for probe in applicable(expected) {
        let wall = probe.wall(level);
        match (reports.remove(probe.name), probe.gap(level)) {
            (None, _) => problems.push(format!("{}: not reported", probe.name)),
            (Some(report), None)
                if report.verdict == "BLOCKED" && wall.split('|').any(|wall| wall == report.detail) => {}
            (Some(report), None) => problems.push(format!("{}: expected `{wall}`, got {report:?}", probe.name)),
            (Some(report), Some(layer)) if report.verdict == "ESCAPE" => {
                if !outcome.isolation.missing.iter().any(|missing| missing == layer) {
                    problems
                        .push(format!("{}: the result does not name `{layer}`: {:?}", probe.name, outcome.isolation));
                }
            }
            (Some(report), Some(_)) => problems.push(format!("{}: is no gap any more: {report:?}", probe.name)),
        }
    }
    problems.extend(reports.into_iter().map(|(name, report)| format!("{name}: not in the table: {report:?}")));
    assert!(problems.is_empty(), "at level {}: {problems:#?}", level.name());
}

fn applicable(expected: &[Probe]) -> impl Iterator<Item = &Probe> {
    expected.iter().filter(|probe| probe.applies())
}

/// Runs only some probes of a program, with layers left out, and says what they reported.
pub(crate) fn with_layers_left_out(
    stage: &Stage,
    program: Program,
    names: &[&str],
    layers: &[&str],
) -> BTreeMap<String, Report> {
    let mut facts = stage.facts();
    facts["only"] = json!(names);
    let outcome = stage.run(program).without(layers).argument(facts.to_string()).outcome();
    outcome.assert_ended(Ending::completed(0));
    reports(&outcome.stdout).expect("reports")
}
