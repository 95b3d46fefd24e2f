//! Every layer is there for a reason: with it left out, named probes get through that are stopped with it.
//!
//! Defence in depth hides single layers from tests: what two of them stop is still stopped when one is deleted. So
//! each row names probes that only its layer stops, and, where others cover for it, which of them are left out as well
//! to show it.

use std::path::Path;

use ::attacks::{FILES, KERNEL, PROCESSES};

use crate::arena::{Level, Setup};
use crate::attacks::with_layers_left_out;
use crate::run::Program;
use crate::stage::Stage;

/// A layer and the probes that guard it.
#[derive(Debug)]
pub struct Guard {
    /// As `--without` and `isolation.missing` name it.
    pub layer: &'static str,
    /// Levels at which this row holds.
    pub levels: &'static [Level],
    /// Layers that stop the same probes and are left out in both runs.
    pub covers: &'static [&'static str],
    /// The program that has the probes.
    pub program: Program,
    /// Probes that are stopped with the layer and get through without it.
    pub probes: &'static [&'static str],
}

const NAMESPACED: &[Level] = &[Level::Full, Level::FullNoProc];
const WITH_PROC: &[Level] = &[Level::Full];
const WITHOUT_NAMESPACES: &[Level] = &[Level::Landlock];

/// Which probes guard which layer.
pub static GUARDS: &[Guard] = &[
    Guard {
        layer: "seccomp",
        levels: NAMESPACED,
        covers: &[],
        program: KERNEL,
        probes: &[
            "unshare-user",
            "clone-user",
            "clone3-plain",
            "keyring",
            "userfaultfd",
            "personality",
            "enter-namespace",
        ],
    },
    Guard {
        layer: "seccomp",
        levels: WITHOUT_NAMESPACES,
        covers: &[],
        program: KERNEL,
        probes: &["clone3-plain", "keyring", "userfaultfd", "personality", "enter-namespace", "sysv-shared-memory"],
    },
    // In a root of its own there is little left for Landlock to hide: that the guest cannot signal its own init is
    // Landlock's alone.
    Guard { layer: "landlock", levels: NAMESPACED, covers: &[], program: PROCESSES, probes: &["signal-init"] },
    Guard {
        layer: "landlock",
        levels: WITHOUT_NAMESPACES,
        covers: &[],
        program: FILES,
        probes: &[
            "read-host-secret",
            "write-host-canary",
            "list-host-directory",
            "create-in-host-directory",
            "list-sys",
        ],
    },
    Guard { layer: "pid-namespace", levels: NAMESPACED, covers: &[], program: PROCESSES, probes: &["see-victim"] },
    Guard {
        layer: "non-dumpable-init",
        levels: NAMESPACED,
        covers: &["landlock", "seccomp"],
        program: PROCESSES,
        probes: &["read-memory-of-init", "take-descriptor-of-init"],
    },
    Guard {
        layer: "non-dumpable-init",
        levels: WITH_PROC,
        covers: &["landlock", "seccomp"],
        program: PROCESSES,
        probes: &["environment-of-init", "memory-of-init", "files-of-init"],
    },
    Guard {
        layer: "network-namespace",
        levels: WITH_PROC,
        covers: &[],
        program: PROCESSES,
        probes: &["namespace-net"],
    },
    Guard { layer: "capabilities", levels: NAMESPACED, covers: &[], program: KERNEL, probes: &["bounding-set"] },
    // Without it an ordinary process may install neither a Landlock domain nor a filter.
    Guard {
        layer: "no-new-privs",
        levels: NAMESPACED,
        covers: &["landlock", "seccomp"],
        program: KERNEL,
        probes: &["new-privileges"],
    },
    Guard { layer: "rlimits", levels: NAMESPACED, covers: &[], program: KERNEL, probes: &["core-dumps"] },
];

/// Runs each guard of a layer at this set-up's level, with the layer and without it.
pub fn prove(layer: &str, setup: Setup, belljar: &Path) {
    let guards: Vec<&Guard> =
        GUARDS.iter().filter(|guard| guard.layer == layer && guard.levels.contains(&setup.level())).collect();
    assert!(!guards.is_empty(), "no probe guards `{layer}` at level {}", setup.level().name());
    for guard in guards {
        let stage = match Stage::open(setup, belljar) {
            Ok(stage) => stage,
            Err(unavailable) => return unavailable.skip(setup),
        };
        let with = with_layers_left_out(&stage, guard.program, guard.probes, guard.covers);
        let left_out: Vec<&str> = guard.covers.iter().copied().chain([layer]).collect();
        let without = with_layers_left_out(&stage, guard.program, guard.probes, &left_out);
        for name in guard.probes {
            let verdicts = (&*with[*name].verdict, &*without[*name].verdict);
            let reports = (&with[*name], &without[*name]);
            assert_eq!(
                verdicts,
                ("BLOCKED", "ESCAPE"),
                "`{name}` with and without {layer} (and without {:?}): {reports:?}",
                guard.covers
            );
            // What gets out of the jail's init is not the server's: the launcher has an empty environment and none of
            // its memory.
            if layer == "non-dumpable-init" {
                assert!(!without[*name].detail.contains("secret found"), "{reports:?}");
            }
        }
    }
}
