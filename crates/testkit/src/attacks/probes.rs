//! Probe programs: many small attempts, each judged by a line of its own.
//!
//! The table says for every probe what must stop it at each level, and where it succeeds on the bare host. A probe
//! that is not reported, is reported twice, is stopped by something else, or does not see the open door in the control
//! run is a failure.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;

use serde_json::json;

use crate::arena::{Level, Setup, running_as_root};
use crate::run::{Ending, Outcome, Program, Running, at_terminal};
use crate::stage::Stage;

/// One probe, and what is expected of it.
#[derive(Clone, Copy, Debug)]
pub struct Probe {
    /// As the program reports it.
    pub name: &'static str,
    /// Where it must succeed, to show that it would be seen.
    pub control: Control,
    /// What stops it in a full jail: one of these, separated by `|`.
    pub full: &'static str,
    /// What stops it in a jail without /proc.
    pub no_proc: &'static str,
    /// What stops it without namespaces.
    pub landlock: &'static str,
}

/// Where on the bare host a probe succeeds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Control {
    /// For any user.
    User,
    /// For root.
    Root,
    /// Depends on the kernel's configuration, or is not tried outside: only its being reported is checked.
    Varies,
}

/// A probe that a level does not stop, and the layer that its results must name as missing for that.
#[rustfmt::skip]
pub static GAPS: &[(Level, &str, &str)] = &[
    (Level::Landlock, "see-victim", "pid-namespace"),
    (Level::Landlock, "set-user-id-honoured", "mount-namespace"),
    // Emptying it takes a capability that an ordinary user has only in a user namespace. no_new_privs makes it moot.
    (Level::Landlock, "bounding-set", "user-namespace"),
    (Level::Landlock, "namespace-cgroup", "cgroup-namespace"),
    (Level::Landlock, "namespace-ipc", "ipc-namespace"),
    (Level::Landlock, "namespace-mnt", "mount-namespace"),
    (Level::Landlock, "namespace-net", "network-namespace"),
    (Level::Landlock, "namespace-pid", "pid-namespace"),
    (Level::Landlock, "namespace-user", "user-namespace"),
    (Level::Landlock, "namespace-uts", "uts-namespace"),
];

use Control::{Root, User, Varies};

const fn probe(name: &'static str, control: Control, walls: [&'static str; 3]) -> Probe {
    let [full, no_proc, landlock] = walls;
    Probe { name, control, full, no_proc, landlock }
}

/// The host's files.
#[rustfmt::skip]
pub static FILES: &[Probe] = &[
    probe("read-shadow", Root, ["ENOENT", "ENOENT", "EACCES"]),
    probe("read-shadow-through-init-root", Root, ["EACCES", "ENOENT", "EACCES"]),
    probe("read-host-secret", User, ["ENOENT", "ENOENT", "EACCES"]),
    probe("read-host-secret-by-dot-dot", User, ["ENOENT", "ENOENT", "EACCES"]),
    probe("read-host-secret-through-own-root", User, ["ENOENT", "ENOENT", "EACCES"]),
    probe("read-host-secret-through-init-root", User, ["EACCES", "ENOENT", "EACCES"]),
    probe("read-kernel-memory-map", Varies, ["EACCES|ENOENT", "ENOENT", "EACCES|ENOENT"]),
    probe("list-root-home", Root, ["ENOENT|nothing there", "ENOENT|nothing there", "EACCES"]),
    probe("list-var-lib", User, ["ENOENT", "ENOENT", "EACCES"]),
    probe("list-sys", User, ["ENOENT", "ENOENT", "EACCES"]),
    probe("list-run", User, ["ENOENT|nothing there", "ENOENT|nothing there", "EACCES"]),
    probe("list-host-directory", User, ["ENOENT", "ENOENT", "EACCES"]),
    probe("write-host-canary", User, ["ENOENT", "ENOENT", "EACCES"]),
    probe("write-etc-passwd", Root, ["EACCES|EROFS", "EACCES|EROFS", "EACCES"]),
    probe("write-linker-cache", Root, ["EACCES|EROFS", "EACCES|EROFS", "EACCES"]),
    probe("write-usr-file", Root, ["EACCES|EROFS", "EACCES|EROFS", "EACCES"]),
    probe("write-core-pattern", Root, ["EACCES|EROFS", "ENOENT", "EACCES"]),
    probe("write-sysrq", Varies, ["EACCES|ENOENT", "ENOENT", "EACCES|ENOENT"]),
    probe("create-in-host-directory", User, ["ENOENT", "ENOENT", "EACCES"]),
    probe("create-in-root", Root, ["EACCES|EROFS", "EACCES|EROFS", "EACCES"]),
    probe("create-in-etc", Root, ["EACCES|EROFS", "EACCES|EROFS", "EACCES"]),
    probe("create-in-usr", Root, ["EACCES|EROFS", "EACCES|EROFS", "EACCES"]),
    probe("create-in-usr-bin", Root, ["EACCES|EROFS", "EACCES|EROFS", "EACCES"]),
    probe("create-in-dev", Root, ["EACCES|EROFS", "EACCES|EROFS", "EACCES"]),
    probe("list-root-directory", User, ["nothing there", "nothing there", "EACCES"]),
    probe("list-devices", User, ["nothing there", "nothing there", "EACCES"]),
    probe("read-host-passwd", User, ["synthetic", "synthetic", "EACCES"]),
    probe("follow-own-symlink-to-host-secret", User, ["ENOENT", "ENOENT", "EACCES"]),
    probe("hard-link-host-canary", User, ["ENOENT", "ENOENT", "EACCES|EXDEV"]),
    probe("open-by-handle", Root, ["ENOSYS", "ENOSYS", "ENOSYS"]),
    probe("make-block-device", Root, ["EACCES|EPERM", "EACCES|EPERM", "EACCES|EPERM"]),
    probe("set-user-id-honoured", User, ["nosuid", "nosuid", "gap"]),
];

/// Other processes, and what a process inherits.
#[rustfmt::skip]
pub static PROCESSES: &[Probe] = &[
    probe("environment-of-init", User, ["EACCES", "ENOENT", "EACCES"]),
    probe("memory-of-init", User, ["EACCES", "ENOENT", "EACCES"]),
    probe("files-of-init", User, ["EACCES", "ENOENT", "EACCES"]),
    probe("trace-init", User, ["ENOSYS", "ENOSYS", "ENOSYS"]),
    probe("read-memory-of-init", User, ["ENOSYS", "ENOSYS", "ENOSYS"]),
    probe("take-descriptor-of-init", User, ["ENOSYS", "ENOSYS", "ENOSYS"]),
    probe("signal-init", User, ["EPERM", "EPERM", "EPERM"]),
    probe("signal-init-by-pidfd", User, ["EPERM", "EPERM", "EPERM"]),
    probe("limit-init", User, ["ENOSYS|EPERM", "ENOSYS|EPERM", "ENOSYS|EPERM"]),
    probe("reschedule-init", User, ["ENOSYS|EPERM", "ENOSYS|EPERM", "ENOSYS|EPERM"]),
    probe("renice-init", User, ["ENOSYS|EPERM", "ENOSYS|EPERM", "ENOSYS|EPERM"]),
    probe("environment-of-victim", User, ["ENOENT", "ENOENT", "EACCES"]),
    probe("memory-of-victim", User, ["ENOENT", "ENOENT", "EACCES"]),
    probe("files-of-victim", User, ["ENOENT", "ENOENT", "EACCES"]),
    probe("trace-victim", User, ["ENOSYS", "ENOSYS", "ENOSYS"]),
    probe("read-memory-of-victim", User, ["ENOSYS", "ENOSYS", "ENOSYS"]),
    probe("take-descriptor-of-victim", User, ["ESRCH", "ESRCH", "ENOSYS"]),
    probe("signal-victim", User, ["ESRCH", "ESRCH", "EPERM"]),
    probe("signal-victim-by-pidfd", User, ["ESRCH", "ESRCH", "EPERM"]),
    probe("limit-victim", User, ["ENOSYS|ESRCH", "ENOSYS|ESRCH", "ENOSYS|EPERM"]),
    probe("reschedule-victim", User, ["ENOSYS|ESRCH", "ENOSYS|ESRCH", "ENOSYS|EPERM"]),
    probe("renice-victim", User, ["ENOSYS|ESRCH", "ENOSYS|ESRCH", "ENOSYS|EPERM"]),
    probe("see-victim", User, ["ESRCH", "ESRCH", "gap"]),
    probe("signal-anyone", User, ["nobody", "nobody", "nobody"]),
    probe("message-queue-of-victim", Varies, ["ENOENT|ENOSYS", "ENOENT|ENOSYS", "EACCES|ENOSYS"]),
    probe("watch-host-activity", User, ["ENOSYS|silence", "ENOSYS|silence", "ENOSYS|silence"]),
    probe("list-processes", User, ["own only", "ENOENT|own only", "EACCES"]),
    probe("share-session", User, ["own session", "own session", "own session"]),
    probe("inherited-descriptors", User, ["none", "none", "none"]),
    probe("secret-in-environment", User, ["absent", "absent", "absent"]),
    probe("write-to-stdin", Varies, ["read only", "read only", "read only"]),
    probe("namespace-cgroup", User, ["own namespace", "ENOENT", "gap"]),
    probe("namespace-ipc", User, ["own namespace", "ENOENT", "gap"]),
    probe("namespace-mnt", User, ["own namespace", "ENOENT", "gap"]),
    probe("namespace-net", User, ["own namespace", "ENOENT", "gap"]),
    probe("namespace-pid", User, ["own namespace", "ENOENT", "gap"]),
    probe("namespace-user", User, ["own namespace", "ENOENT", "gap"]),
    probe("namespace-uts", User, ["own namespace", "ENOENT", "gap"]),
];

/// The host's sockets, and socket families that nobody needs.
#[rustfmt::skip]
pub static NETWORK: &[Probe] = &[
    probe("tcp-host-loopback", User, ["ECONNREFUSED", "ECONNREFUSED", "ENOSYS"]),
    probe("tcp-metadata-address", Varies, ["ENETUNREACH", "ENETUNREACH", "ENOSYS"]),
    probe("udp-host-loopback", User, ["ECONNREFUSED", "ECONNREFUSED", "ENOSYS"]),
    probe("abstract-unix-socket", User, ["ECONNREFUSED", "ECONNREFUSED", "ENOSYS"]),
    probe("pathname-unix-socket", User, ["ENOENT", "ENOENT", "ENOSYS"]),
    probe("socket-packet", Root, ["ENOSYS", "ENOSYS", "ENOSYS"]),
    probe("socket-raw-ip", Root, ["ENOSYS", "ENOSYS", "ENOSYS"]),
    probe("socket-raw-icmp6", Varies, ["ENOSYS", "ENOSYS", "ENOSYS"]),
    probe("socket-vsock", Varies, ["ENOSYS", "ENOSYS", "ENOSYS"]),
    probe("socket-crypto", Varies, ["ENOSYS", "ENOSYS", "ENOSYS"]),
    probe("socket-netfilter", Varies, ["ENOSYS", "ENOSYS", "ENOSYS"]),
    probe("socket-ipsec", Varies, ["ENOSYS", "ENOSYS", "ENOSYS"]),
    probe("socket-audit", Varies, ["ENOSYS", "ENOSYS", "ENOSYS"]),
    probe("socket-uevent", User, ["ENOSYS", "ENOSYS", "ENOSYS"]),
    probe("socket-express-data-path", Varies, ["ENOSYS", "ENOSYS", "ENOSYS"]),
    probe("socket-tipc", Varies, ["ENOSYS", "ENOSYS", "ENOSYS"]),
    probe("socket-bluetooth", Varies, ["ENOSYS", "ENOSYS", "ENOSYS"]),
    probe("socket-key", Varies, ["ENOSYS", "ENOSYS", "ENOSYS"]),
    probe("socket-rds", Varies, ["ENOSYS", "ENOSYS", "ENOSYS"]),
    probe("socket-smc", Varies, ["ENOSYS", "ENOSYS", "ENOSYS"]),
    probe("socket-sctp", Varies, ["ENOSYS", "ENOSYS", "ENOSYS"]),
    probe("socket-multipath-tcp", Varies, ["ENOSYS", "ENOSYS", "ENOSYS"]),
    probe("socket-smc-as-protocol", Varies, ["ENOSYS", "ENOSYS", "ENOSYS"]),
    probe("socket-udp-lite", Varies, ["ENOSYS", "ENOSYS", "ENOSYS"]),
    probe("socket-can", Varies, ["ENOSYS", "ENOSYS", "ENOSYS"]),
    probe("socket-nfc", Varies, ["ENOSYS", "ENOSYS", "ENOSYS"]),
];

/// System calls and privileges.
#[rustfmt::skip]
pub static KERNEL: &[Probe] = &[
    probe("unshare-user", User, ["ENOSYS", "ENOSYS", "ENOSYS"]),
    probe("unshare-mount", Root, ["ENOSYS", "ENOSYS", "ENOSYS"]),
    probe("clone-user", User, ["ENOSYS", "ENOSYS", "ENOSYS"]),
    probe("clone3-user", User, ["ENOSYS", "ENOSYS", "ENOSYS"]),
    probe("clone3-plain", User, ["ENOSYS", "ENOSYS", "ENOSYS"]),
    probe("mount", Root, ["ENOSYS", "ENOSYS", "ENOSYS"]),
    probe("fsopen", Root, ["ENOSYS", "ENOSYS", "ENOSYS"]),
    probe("open-tree", Root, ["ENOSYS", "ENOSYS", "ENOSYS"]),
    probe("move-mount", Root, ["ENOSYS", "ENOSYS", "ENOSYS"]),
    probe("mount-setattr", Root, ["ENOSYS", "ENOSYS", "ENOSYS"]),
    probe("pivot-root", Root, ["ENOSYS", "ENOSYS", "ENOSYS"]),
    probe("chroot", Root, ["ENOSYS", "ENOSYS", "ENOSYS"]),
    probe("enter-namespace", User, ["ENOSYS", "ENOSYS", "ENOSYS"]),
    probe("keyring", User, ["ENOSYS", "ENOSYS", "ENOSYS"]),
    probe("bpf", Varies, ["ENOSYS", "ENOSYS", "ENOSYS"]),
    probe("io-uring", Varies, ["ENOSYS", "ENOSYS", "ENOSYS"]),
    probe("perf-events", Varies, ["ENOSYS", "ENOSYS", "ENOSYS"]),
    probe("userfaultfd", User, ["ENOSYS", "ENOSYS", "ENOSYS"]),
    probe("fanotify", Varies, ["ENOSYS", "ENOSYS", "ENOSYS"]),
    probe("kernel-log", Root, ["ENOSYS", "ENOSYS", "ENOSYS"]),
    probe("kernel-symbols", Varies, ["EACCES|addresses hidden", "ENOENT", "EACCES"]),
    probe("compare-kernel-objects", Varies, ["ENOSYS", "ENOSYS", "ENOSYS"]),
    probe("load-module", Varies, ["ENOSYS", "ENOSYS", "ENOSYS"]),
    probe("reboot", Root, ["ENOSYS", "ENOSYS", "ENOSYS"]),
    probe("set-host-name", Root, ["ENOSYS", "ENOSYS", "ENOSYS"]),
    probe("personality", User, ["ENOSYS", "ENOSYS", "ENOSYS"]),
    probe("sysv-shared-memory", User, ["EINVAL|ENOSYS", "EINVAL|ENOSYS", "ENOSYS"]),
    probe("cgroup-files", Varies, ["none writable", "none writable", "none writable"]),
    probe("capabilities", Root, ["none", "none", "none"]),
    probe("bounding-set", User, ["empty", "empty", "gap"]),
    probe("new-privileges", User, ["no_new_privs", "no_new_privs", "no_new_privs"]),
    probe("become-root", Root, ["ENOSYS", "ENOSYS", "ENOSYS"]),
    probe("keep-groups", Root, ["ENOSYS", "ENOSYS", "ENOSYS"]),
    probe("core-dumps", User, ["limit 1", "limit 1", "limit 1"]),
    probe("raise-hard-limits", Varies, ["EPERM", "EPERM", "EPERM"]),
    probe("modify-ldt", Varies, ["ENOSYS", "ENOSYS", "ENOSYS"]),
    probe("x32-numbers", Varies, ["ENOSYS", "ENOSYS", "ENOSYS"]),
    probe("int-80", Varies, ["SIGSYS", "SIGSYS", "SIGSYS"]),
];

/// The caller's terminal.
#[rustfmt::skip]
pub static TERMINAL: &[Probe] = &[
    probe("open-terminal", User, ["ENOENT|ENXIO", "ENOENT|ENXIO", "EACCES|ENXIO"]),
    probe("inject-input", Root, ["ENOSYS", "ENOSYS", "ENOSYS"]),
    probe("standard-streams-are-terminals", User, ["none", "none", "none"]),
];

/// Only where the machine has them.
const X86_ONLY: [&str; 3] = ["modify-ldt", "x32-numbers", "int-80"];

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

/// What one probe reported.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Report {
    /// `BLOCKED`, `ESCAPE` or `BROKEN`.
    pub(crate) verdict: String,
    /// By what, or what it got.
    pub(crate) detail: String,
}

/// The reports of a probe program, which must say nothing else.
pub(crate) fn reports(output: &str) -> BTreeMap<String, Report> {
    let mut reports = BTreeMap::new();
    let mut lines: Vec<&str> = output.lines().collect();
    let done = lines.pop();
    for line in &lines {
        let parsed = line.split_once(' ').and_then(|(verdict, rest)| Some((verdict, rest.split_once(": ")?)));
        let Some((verdict @ ("BLOCKED" | "ESCAPE" | "BROKEN"), (name, detail))) = parsed else {
            panic!("not a probe's report: `{line}` in\n{output}");
        };
        let report = Report { verdict: verdict.into(), detail: detail.into() };
        assert_eq!(reports.insert(name.to_owned(), report), None, "`{name}` is reported twice");
    }
    assert_eq!(done, Some(&*format!("DONE {}", lines.len())), "the probes did not come to their end:\n{output}");
    reports
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
        let mut reports = reports(&String::from_utf8_lossy(&finished.stdout));
        let mut problems = Vec::new();
        for probe in applicable(expected) {
            let Some(report) = reports.remove(probe.name) else {
                problems.push(format!("{} is not reported", probe.name));
                continue;
            };
            let must_succeed = match probe.control {
                User => true,
                Root => setup == Setup::Root,
                Varies => false,
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
    let mut reports = reports(&outcome.stdout);
    let mut problems = Vec::new();
    for probe in applicable(expected) {
        let wall = match level {
            Level::Full => probe.full,
            Level::FullNoProc => probe.no_proc,
            Level::Landlock => probe.landlock,
        };
        let gap = GAPS.iter().find(|(at, name, _)| *at == level && *name == probe.name).map(|(_, _, layer)| *layer);
        match (reports.remove(probe.name), gap) {
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
    expected.iter().filter(|probe| cfg!(target_arch = "x86_64") || !X86_ONLY.contains(&probe.name))
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
    reports(&outcome.stdout)
}
