//! What this host gives us: found out by building the whole jail once, at start, from the strongest walls down.

use std::fs;
use std::io;
use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _};
use std::path::{Path, PathBuf};

use jail::{AddressSpace, CgroupKind, Command, Egress, Holders, Proc, Purpose, Seen, Spec, Stdio, Swap, View, Walls};
use sandbox::{Enforcement, Isolation, Level, Limits, Requirement, Status};

use crate::error::NativeError;
use crate::launcher::LauncherProcess;
use crate::recipe;
use crate::run::{self, Input};

/// What a probe found, and what the operator can do about what is missing.
#[derive(Debug, Clone)]
pub struct HostReport {
    /// What runs get.
    pub isolation: Isolation,
    /// Each layer, as seen from inside.
    pub layers: Vec<LayerReport>,
    /// Walls that could not be built, strongest first, and why.
    pub failed: Vec<FailedAttempt>,
    /// What the operator can do, in sentences.
    pub advice: Vec<String>,
}

/// One layer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LayerReport {
    /// Its name.
    pub name: String,
    /// Whether it stands.
    pub stands: bool,
    /// What was looked at, or why the layer is missing.
    pub evidence: String,
}

/// Walls that this host did not let us build.
#[derive(Debug, Clone)]
pub struct FailedAttempt {
    /// The level they would have given.
    pub level: Level,
    /// What stopped them.
    pub reason: String,
}

/// The kind of walls that every run on this host gets.
#[derive(Debug, Clone)]
pub(crate) enum WallKind {
    Namespaces(Proc),
    Landlock { parent: PathBuf },
}

/// This version brought scoped signals; without them one user's guests could signal each other and the server.
const LANDLOCK_FOR_LANDLOCK_LEVEL: u32 = 6;

/// Layers that stand between a guest and the host. If one is not seen standing, there is no level at all.
const REQUIRED: &[&str] = &[
    "user-namespace",
    "pid-namespace",
    "mount-namespace",
    "network-namespace",
    "uts-namespace",
    "no-new-privs",
    "capabilities",
    "landlock",
    "seccomp",
    "rlimits",
];

/// Tries walls from the strongest down and keeps the first that stand.
pub(crate) async fn probe(
    launcher: &LauncherProcess,
    view: &View,
    scratch: &Path,
) -> Result<(Option<WallKind>, HostReport), NativeError> {
    let attempts = [
        (Level::Full, WallKind::Namespaces(Proc::Fresh)),
        (Level::FullNoProc, WallKind::Namespaces(Proc::Absent)),
        (Level::Landlock, WallKind::Landlock { parent: scratch.to_owned() }),
    ];
    let mut failed = Vec::new();
    for (level, kind) in attempts {
        match attempt(launcher, view, &kind).await {
            Ok((seen, holders)) => {
                let report = report(level, &seen, holders, failed);
                return Ok((Some(kind), report));
            }
            Err(Attempted::Failed(reason)) => failed.push(FailedAttempt { level, reason }),
            Err(Attempted::Broken(error)) => return Err(error),
        }
    }
    let isolation = Isolation {
        level: Level::None,
        missing: vec!["everything".to_owned()],
        granted: Vec::new(),
        memory: Enforcement::Rlimit,
        processes: Enforcement::Rlimit,
    };
    let advice = advice(Level::None, None);
    Ok((None, HostReport { isolation, layers: Vec::new(), failed, advice }))
}

enum Attempted {
    /// This host does not allow these walls.
    Failed(String),
    /// Our own parts do not work.
    Broken(NativeError),
}

async fn attempt(launcher: &LauncherProcess, view: &View, kind: &WallKind) -> Result<(Seen, Holders), Attempted> {
    if matches!(kind, WallKind::Landlock { .. }) && jail::landlock_version() < LANDLOCK_FOR_LANDLOCK_LEVEL {
        return Err(Attempted::Failed(format!(
            "Landlock version {} is too old: {LANDLOCK_FOR_LANDLOCK_LEVEL} is needed",
            jail::landlock_version()
        )));
    }
    if let WallKind::Landlock { parent } = kind {
        let failed =
            |error| Attempted::Failed(format!("cannot use the scratch directory `{}`: {error}", parent.display()));
        make_scratch(parent).map_err(failed)?;
    }
    let spec = probe_spec(view, kind.walls());
    let input = Input::nothing();
    let finished = match run::run(launcher, &spec, input, &mut ()).await {
        Ok(finished) => finished,
        Err(NativeError::Jail(failure)) => return Err(Attempted::Failed(failure.to_string())),
        Err(error) => return Err(Attempted::Broken(error)),
    };
    let (Some(seen), Some(holders)) = (finished.probed, finished.holders) else {
        return Err(Attempted::Failed("the probe did not report".to_owned()));
    };
    if let Some(layer) = seen.layers.iter().find(|layer| !layer.stands && REQUIRED.contains(&layer.name.as_str())) {
        return Err(Attempted::Failed(format!("{} does not stand: {}", layer.name, layer.evidence)));
    }
    if finished.status != (Status::Completed { exit_code: 0 }) {
        return Err(Attempted::Failed(format!(
            "a shell inside did not work: {:?} {}",
            finished.status, finished.stderr.text
        )));
    }
    Ok((seen, holders))
}

fn probe_spec(view: &View, walls: Walls) -> Spec {
    Spec {
        walls,
        view: view.clone(),
        egress: Egress::None,
        limits: recipe::limits(&Limits { wall: std::time::Duration::from_secs(5), ..Limits::DEFAULT }),
        environment: Vec::new(),
        files: Vec::new(),
        commands: vec![Command {
            program: "/bin/sh".into(),
            arguments: ["sh", "-c", "exit 0"].map(str::to_owned).into(),
            stdio: Stdio::Program,
            address_space: AddressSpace::Limited,
        }],
        purpose: Purpose::Probe,
        without: Vec::new(),
    }
}

impl WallKind {
    /// The walls of one more run.
    pub(crate) fn walls(&self) -> Walls {
        match self {
            Self::Namespaces(proc) => Walls::Namespaces { proc: *proc },
            Self::Landlock { parent } => Walls::Landlock { scratch: parent.join(jail::scratch_name()) },
        }
    }
}

fn report(level: Level, seen: &Seen, holders: Holders, failed: Vec<FailedAttempt>) -> HostReport {
    let mut layers: Vec<LayerReport> = seen
        .layers
        .iter()
        .map(|layer| LayerReport { name: layer.name.clone(), stands: layer.stands, evidence: layer.evidence.clone() })
        .collect();
    layers.extend(absent(level));
    // The supervisor watches through the host's /proc, whatever the run itself has.
    let memory = holders.memory.map_or(Enforcement::Watchdog, enforcement);
    layers.push(LayerReport {
        name: "memory-cgroup".to_owned(),
        stands: holders.memory.is_some(),
        evidence: match holders.memory {
            Some(CgroupKind::V2) => "a group of the unified hierarchy".to_owned(),
            Some(CgroupKind::V1) => "a group of the version 1 memory controller".to_owned(),
            None => format!("no group may be made here; memory is held by {memory}"),
        },
    });
    if holders.memory.is_some() && holders.swap == Swap::Free {
        let evidence = "this host has swap, and its groups do not bound it; memory is watched too".to_owned();
        layers.push(LayerReport { name: "swap".to_owned(), stands: false, evidence });
    }
    let isolation = Isolation {
        level,
        missing: layers.iter().filter(|layer| !layer.stands).map(|layer| layer.name.clone()).collect(),
        granted: Vec::new(),
        memory,
        processes: holders.processes.map_or(Enforcement::Rlimit, enforcement),
    };
    let advice = advice(level, holders.memory);
    HostReport { isolation, layers, failed, advice }
}

fn enforcement(kind: CgroupKind) -> Enforcement {
    match kind {
        CgroupKind::V2 => Enforcement::CgroupV2,
        CgroupKind::V1 => Enforcement::CgroupV1,
    }
}

/// Layers that a run on the host's own root does not have.
const ABSENT_WITHOUT_NAMESPACES: &[&str] = &[
    "user-namespace",
    "pid-namespace",
    "mount-namespace",
    "network-namespace",
    "ipc-namespace",
    "uts-namespace",
    "cgroup-namespace",
    "proc",
    "disk-quota",
];

/// Parts of Landlock, by the version that introduced them. With namespaces they only back up other walls.
const LANDLOCK_PARTS: &[(u32, &str)] =
    &[(2, "landlock-refer"), (3, "landlock-truncate"), (5, "landlock-ioctl"), (6, "landlock-scope")];

/// Layers that were not looked for because they cannot exist.
fn absent(level: Level) -> Vec<LayerReport> {
    let absent = |name: &str, evidence: String| LayerReport { name: name.to_owned(), stands: false, evidence };
    let mut layers = Vec::new();
    if level == Level::Landlock {
        layers.extend(
            ABSENT_WITHOUT_NAMESPACES.iter().map(|name| absent(name, "user namespaces are blocked".to_owned())),
        );
    }
    let version = jail::landlock_version();
    let newer = LANDLOCK_PARTS.iter().filter(|(since, _)| version < *since);
    layers.extend(
        newer.map(|(since, name)| absent(name, format!("this kernel has version {version}, it came with {since}"))),
    );
    layers
}

/// Makes the parent of the scratch directories, or takes an existing one if it is ours alone: in a shared `/tmp`,
/// someone else could have made it first.
fn make_scratch(path: &Path) -> io::Result<()> {
    // A root server's guests have user ids of their own, and must be able to pass through.
    fs::DirBuilder::new().recursive(true).mode(0o711).create(path)?;
    let metadata = fs::symlink_metadata(path)?;
    let is_ours =
        metadata.is_dir() && metadata.uid() == rustix::process::geteuid().as_raw() && metadata.mode() & 0o022 == 0;
    if !is_ours {
        return Err(io::ErrorKind::PermissionDenied.into());
    }
    jail::sweep_scratch(path);
    Ok(())
}

/// How the operator could get stronger isolation, judging by what this host says about itself.
fn advice(level: Level, memory: Option<CgroupKind>) -> Vec<String> {
    let says = |file: &str, value: &str| fs::read_to_string(file).is_ok_and(|text| text.trim() == value);
    let mut advice = Vec::new();
    if level < Level::FullNoProc {
        if says("/proc/sys/kernel/apparmor_restrict_unprivileged_userns", "1") {
            advice.push(
                "AppArmor restricts user namespaces here: install the profile `packaging/apparmor/belljar` \
                 (copy it to /etc/apparmor.d, set the binary's path in it, then `apparmor_parser -r /etc/apparmor.d/belljar`)"
                    .to_owned(),
            );
        }
        if says("/proc/sys/user/max_user_namespaces", "0") {
            advice.push("user namespaces are turned off: `sysctl user.max_user_namespaces=10000`".to_owned());
        }
        if says("/proc/sys/kernel/unprivileged_userns_clone", "0") {
            advice
                .push("user namespaces are for root only here: `sysctl kernel.unprivileged_userns_clone=1`".to_owned());
        }
        if advice.is_empty() {
            advice.push(
                "something around belljar (a container's seccomp profile?) keeps it from making namespaces; \
                 allow `clone3`, `mount` and `pivot_root`, or run it outside"
                    .to_owned(),
            );
        }
        if level == Level::Landlock {
            advice.push(format!("or accept the weaker level: `--require {}`", Requirement::Landlock));
        }
    }
    if jail::landlock_version() == 0 {
        advice.push(
            "this kernel has no Landlock: boot one that is 5.13 or newer with `landlock` in its `lsm=` list".to_owned(),
        );
    }
    if level == Level::FullNoProc {
        advice.push(
            "guests have no /proc, because this container masks its own: Java and `<(…)` in bash need one".to_owned(),
        );
    }
    if memory.is_none() && level > Level::None {
        advice.push(
            "no memory cgroup: start it with `systemd-run --user --scope -p Delegate=yes belljar …`, or as a service with `Delegate=yes`, \
             for limits that the kernel holds exactly"
                .to_owned(),
        );
    }
    advice
}

/// Whether the operator accepts this level; if not, the error says what to do.
pub(crate) fn accepts(requirement: Requirement, report: &HostReport) -> Result<(), sandbox::Refusal> {
    let level = report.isolation.level;
    if requirement.accepts(level) {
        return Ok(());
    }
    let why = report.failed.first().map_or_else(String::new, |attempt| format!(": {}", attempt.reason));
    Err(sandbox::Refusal::new(
        "engine",
        format!("this host gives isolation level `{level}`, below the required `{requirement}`{why}"),
        report.advice.first().cloned().unwrap_or_else(|| "run `belljar doctor`".to_owned()),
    ))
}
