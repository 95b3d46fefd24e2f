//! Limits that the kernel does not hold for a run as a whole: CPU time always, memory where there is no memory cgroup, disk where the
//! run has no file system of its own. Added up from what the kernel says in `/proc`.

use std::fs;
use std::path::{Path, PathBuf};

use crate::scratch;
use crate::spec::Limits;
use crate::sys;
use crate::wire::{Limit, SeenUsage};

/// Which processes are the run's.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Scope {
    /// All that `/proc` shows, but this one: it is this pid namespace's.
    Namespace,
    /// The descendants of this process.
    Descendants,
}

impl Scope {
    /// The run's processes at this moment. Empty where `/proc` is not there.
    pub(crate) fn processes(self) -> Vec<i32> {
        match self {
            Self::Namespace => {
                let Ok(entries) = fs::read_dir("/proc") else {
                    return Vec::new();
                };
                let pids = entries.flatten().filter_map(|entry| entry.file_name().to_str()?.parse().ok());
                pids.filter(|pid| *pid != 1).collect()
            }
            Self::Descendants => {
                let mut found = children_of("self".as_ref());
                let mut next = 0;
                while let Some(pid) = found.get(next) {
                    let children = children_of(pid.to_string().as_ref());
                    found.extend(children);
                    next += 1;
                }
                found
            }
        }
    }
}

fn children_of(process: &Path) -> Vec<i32> {
    let tasks = Path::new("/proc").join(process).join("task");
    let Ok(entries) = fs::read_dir(tasks) else {
        return Vec::new();
    };
    let lists = entries.flatten().filter_map(|entry| fs::read_to_string(entry.path().join("children")).ok());
    lists.flat_map(|list| list.split_whitespace().filter_map(|pid| pid.parse().ok()).collect::<Vec<_>>()).collect()
}

/// What is watched, and what was seen.
#[derive(Debug)]
pub(crate) struct Watchdog {
    scope: Scope,
    memory: Watch,
    /// The scratch directory, where the run's disk limit is not a file system's size.
    scratch: Option<PathBuf>,
    seen: SeenUsage,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Watch {
    On,
    Off,
}

impl Watchdog {
    pub(crate) fn new(scope: Scope, memory: Watch, scratch: Option<PathBuf>) -> Self {
        Self { scope, memory, scratch, seen: SeenUsage::default() }
    }

    /// The limit that is passed now, if one is.
    pub(crate) fn look(&mut self, limits: &Limits) -> Option<Limit> {
        let processes = self.update();
        if self.seen.cpu_micros / 1000 > limits.cpu_millis {
            return Some(Limit::Cpu);
        }
        if self.memory == Watch::On && uses_more_than(&processes, limits.memory) {
            return Some(Limit::Memory);
        }
        let scratch = self.scratch.as_deref()?;
        scratch::exceeds(scratch, limits.disk, limits.files).then_some(Limit::Disk)
    }

    /// What was seen up to now.
    pub(crate) fn usage(&mut self) -> SeenUsage {
        self.update();
        self.seen
    }

    fn update(&mut self) -> Vec<i32> {
        let processes = self.scope.processes();
        // Processes that ended are in our own children's account, live ones in theirs.
        let live: u64 = processes.iter().map(|pid| cpu_micros(*pid)).sum();
        self.seen.cpu_micros = sys::children_usage().cpu_micros + live;
        self.seen.peak_bytes = self.seen.peak_bytes.max(processes.iter().map(|pid| resident(*pid)).sum());
        processes
    }
}

/// CPU time of a process and of the children it has reaped.
fn cpu_micros(pid: i32) -> u64 {
    let Ok(stat) = fs::read_to_string(format!("/proc/{pid}/stat")) else {
        return 0;
    };
    // The name in parentheses is the guest's to choose, parentheses and spaces included; what follows the last one is the kernel's.
    let Some((_, fields)) = stat.rsplit_once(')') else {
        return 0;
    };
    // utime, stime, cutime, cstime: fields 14 to 17, counted from the pid as field 1; the state after the name is field 3.
    let ticks: u64 = fields.split_whitespace().skip(11).take(4).filter_map(|field| field.parse::<u64>().ok()).sum();
    ticks.saturating_mul(1_000_000) / rustix::param::clock_ticks_per_second().max(1)
}

/// Whether the processes' memory together is above `limit`. Resident sizes count shared pages once per process, so they can only be too
/// high: cheap, and enough when their sum is below the limit. Else the proportional sizes decide.
fn uses_more_than(processes: &[i32], limit: u64) -> bool {
    let sum = |size: fn(i32) -> u64| processes.iter().map(|pid| size(*pid)).fold(0, u64::saturating_add);
    sum(resident) > limit && sum(proportional) > limit
}

fn resident(pid: i32) -> u64 {
    let statm = fs::read_to_string(format!("/proc/{pid}/statm")).unwrap_or_default();
    let pages: u64 = statm.split_whitespace().nth(1).and_then(|field| field.parse().ok()).unwrap_or(0);
    pages.saturating_mul(rustix::param::page_size() as u64)
}

/// A process may hide this from us (by making itself non-dumpable); then its resident size stands.
fn proportional(pid: i32) -> u64 {
    let Ok(rollup) = fs::read_to_string(format!("/proc/{pid}/smaps_rollup")) else {
        return resident(pid);
    };
    let line = rollup.lines().find_map(|line| line.strip_prefix("Pss:"));
    let kib = line.and_then(|line| line.split_whitespace().next()?.parse::<u64>().ok());
    kib.map_or_else(|| resident(pid), |kib| kib.saturating_mul(1024))
}
