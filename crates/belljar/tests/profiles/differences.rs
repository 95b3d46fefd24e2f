//! In what our profiles differ from what was recorded, and why. Numbers are those of the faults in each profile's section of `docs/profiles.md`.

use crate::compare::Difference;

const fn differs(entry: &'static str, field: &'static str, reason: &'static str) -> Difference {
    Difference { entry, field, reason }
}

pub(crate) const MCP_SERVER_CODE_RUNNER: &[Difference] = &[];

pub(crate) const RUNNO: &[Difference] = &[];

pub(crate) const MCP_RUN_PYTHON: &[Difference] = &[];

pub(crate) const CODE_RUNNER_MCP: &[Difference] = &[];

pub(crate) const MCP_CODE_EXECUTOR: &[Difference] = &[];
