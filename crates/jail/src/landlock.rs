//! Landlock: which files a guest may open, and how, whatever is mounted.

use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};

use landlock::{
    ABI, Access as _, AccessFs, AccessNet, BitFlags, CompatLevel, Compatible as _, PathBeneath, Ruleset,
    RulesetAttr as _, RulesetCreatedAttr as _, RulesetStatus, Scope,
};
use rustix::fs::{FileType, Mode, OFlags};

use crate::failure::{At as _, Failure, Step};
use crate::sys;

/// One place and what may be done there.
#[derive(Debug, Clone)]
pub(crate) struct Rule {
    pub(crate) path: PathBuf,
    pub(crate) grant: Grant,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Grant {
    /// Read and execute, everything below included.
    Read,
    /// See names, read nothing.
    List,
    /// Everything but device nodes, everything below included.
    Write,
    /// One device.
    Device,
}

/// The Landlock version that is enforced here: the kernel's, or the newest that we know.
pub(crate) fn version() -> u32 {
    sys::landlock_version().min(NEWEST)
}

/// The newest version whose rights we use: 6 scopes signals and abstract sockets. 7 adds logging only.
const NEWEST: u32 = 6;

/// Confines the calling thread, for good, to `rules`, and to no TCP if `network` says so.
///
/// Asks for exactly what the kernel's version supports and accepts nothing less: what an older version lacks follows
/// from its number and is reported with the level, never dropped silently.
pub(crate) fn restrict(rules: &[Rule], network: Network) -> Result<(), Failure> {
    let abi = match version() {
        0 => return Err(Failure::new(Step::Landlock, "not in this kernel", libc::ENOSYS)),
        1 => ABI::V1,
        2 => ABI::V2,
        3 => ABI::V3,
        4 => ABI::V4,
        5 => ABI::V5,
        _ => ABI::V6,
    };
    let status = build(rules, network, abi)?;
    if status != RulesetStatus::FullyEnforced {
        return Err(Failure::new(Step::Landlock, "only partly enforced", libc::EOPNOTSUPP));
    }
    Ok(())
}

/// Whether TCP is closed too.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Network {
    /// A network namespace is already in the way.
    Open,
    /// No binding, no connecting.
    Closed,
}

fn build(rules: &[Rule], network: Network, abi: ABI) -> Result<RulesetStatus, Failure> {
    let invalid = |error: &dyn std::error::Error| Failure::new(Step::Landlock, error.to_string(), libc::EINVAL);
    let mut ruleset = Ruleset::default()
        .set_compatibility(CompatLevel::HardRequirement)
        .handle_access(AccessFs::from_all(abi))
        .map_err(|error| invalid(&error))?;
    if network == Network::Closed {
        ruleset = ruleset.handle_access(AccessNet::from_all(abi)).map_err(|error| invalid(&error))?;
    }
    let scopes = Scope::from_all(abi);
    if !scopes.is_empty() {
        ruleset = ruleset.scope(scopes).map_err(|error| invalid(&error))?;
    }
    let mut ruleset = ruleset.create().map_err(|error| invalid(&error))?;
    for rule in rules {
        let Some((place, access)) = open(rule, abi)? else {
            continue;
        };
        ruleset = ruleset.add_rule(PathBeneath::new(place, access)).map_err(|error| invalid(&error))?;
    }
    // no_new_privs is a layer of its own, set before this.
    let status = ruleset.no_new_privs(false).restrict_self().map_err(|error| invalid(&error))?;
    Ok(status.ruleset)
}

/// A handle on the place, and the rights that make sense for what is there. A place that does not exist needs no rule:
/// nothing is granted.
fn open(rule: &Rule, abi: ABI) -> Result<Option<(OwnedFd, BitFlags<AccessFs>)>, Failure> {
    let place = match rustix::fs::open(&rule.path, OFlags::PATH | OFlags::CLOEXEC, Mode::empty()) {
        Ok(place) => place,
        Err(rustix::io::Errno::NOENT) => return Ok(None),
        Err(error) => return Err(error).at_path(Step::Landlock, &rule.path),
    };
    let metadata = rustix::fs::fstat(&place).at_path(Step::Landlock, &rule.path)?;
    let is_directory = FileType::from_raw_mode(metadata.st_mode) == FileType::Directory;
    let access = rights(rule.grant, abi);
    Ok(Some((place, if is_directory { access } else { access & AccessFs::from_file(abi) })))
}

fn rights(grant: Grant, abi: ABI) -> BitFlags<AccessFs> {
    match grant {
        Grant::Read => AccessFs::ReadFile | AccessFs::ReadDir | AccessFs::Execute,
        Grant::List => AccessFs::ReadDir.into(),
        Grant::Write => AccessFs::from_all(abi) & !(AccessFs::MakeBlock | AccessFs::MakeChar | AccessFs::IoctlDev),
        Grant::Device => AccessFs::ReadFile | AccessFs::WriteFile,
    }
}

pub(crate) fn rule(path: impl AsRef<Path>, grant: Grant) -> Rule {
    Rule { path: path.as_ref().to_owned(), grant }
}
