//! The limits that the kernel does not hold for a run as a whole: CPU time always, memory without a memory cgroup, disk
//! without a file system of the run's own. Added up from `/proc`.

use std::collections::HashMap;
use std::fs::File;
use std::io;
use std::os::fd::OwnedFd;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use rustix::fs::{Dir, Mode, OFlags, openat};

use crate::scratch;
use crate::spec::{Limits, Waiting};
use crate::sys;
use crate::wire::{Limit, SeenUsage};

/// The run's processes: this process's descendants, as the host's `/proc` shows them.
///
/// The host's, since a run may have none of its own. The descriptor closes on exec, and a guest cannot reach into this
/// process for it.
#[derive(Debug)]
pub(crate) struct Processes {
    proc: OwnedFd,
    swap: SwapSpace,
}

/// Whether this host has swap.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum SwapSpace {
    None,
    Some,
}

impl SwapSpace {
    pub(crate) fn of_host() -> Self {
        // One line for each, below the column names. If it cannot be read, there is taken to be one.
        let swaps = std::fs::read_to_string("/proc/swaps");
        if swaps.is_ok_and(|swaps| swaps.lines().count() <= 1) { Self::None } else { Self::Some }
    }
}

impl Processes {
    pub(crate) fn open() -> io::Result<Self> {
        let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
        Ok(Self { proc: rustix::fs::open("/proc", flags, Mode::empty())?, swap: SwapSpace::of_host() })
    }

    /// This process's own children.
    pub(crate) fn children(&self) -> Vec<i32> {
        self.children_of("self")
    }

    /// All of them right now, by their pids on the host.
    pub(crate) fn all(&self) -> Vec<i32> {
        let mut found = self.children();
        let mut next = 0;
        while let Some(pid) = found.get(next) {
            let children = self.children_of(&pid.to_string());
            found.extend(children);
            next += 1;
        }
        found
    }

    fn children_of(&self, process: &str) -> Vec<i32> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let tasks = openat(&self.proc, format!("{process}/task"), flags, Mode::empty()).and_then(Dir::read_from);
        let Ok(tasks) = tasks else { return Vec::new() };
        let names = tasks.flatten().filter_map(|entry| entry.file_name().to_str().ok()?.parse::<u32>().ok());
        let lists = names.map(|task| self.read(&format!("{process}/task/{task}/children")).unwrap_or_default());
        lists.flat_map(|list| list.split_whitespace().filter_map(|pid| pid.parse().ok()).collect::<Vec<_>>()).collect()
    }

    fn read(&self, path: &str) -> io::Result<String> {
        let file = openat(&self.proc, path, OFlags::RDONLY | OFlags::CLOEXEC, Mode::empty())?;
        io::read_to_string(File::from(file))
    }

    /// When it started and the CPU time it has used, both in the kernel's units.
    fn cpu_of(&self, pid: i32) -> Option<(u64, CpuTime)> {
        let stat = self.read(&format!("{pid}/stat")).ok()?;
        // The name in parentheses is up to the guest, parentheses and spaces included; what follows the last one comes
        // from the kernel.
        let (_, fields) = stat.rsplit_once(')')?;
        // utime, stime, cutime, cstime and starttime are fields 14 to 17 and 22, counted from the pid as field 1; the state is field 3.
        let fields: Vec<u64> = fields.split_whitespace().skip(11).map_while(|field| field.parse().ok()).collect();
        let [user, system, reaped_user, reaped_system] = fields.get(..4)?.try_into().ok()?;
        let micros = |ticks: u64| ticks.saturating_mul(1_000_000) / rustix::param::clock_ticks_per_second().max(1);
        let time = CpuTime { own: micros(user + system), reaped: micros(reaped_user + reaped_system) };
        Some((*fields.get(8)?, time))
    }

    /// Its memory, whether resident now or swapped out.
    fn resident(&self, pid: i32) -> u64 {
        let statm = self.read(&format!("{pid}/statm")).unwrap_or_default();
        let pages: u64 = statm.split_whitespace().nth(1).and_then(|field| field.parse().ok()).unwrap_or(0);
        let swapped = match self.swap {
            SwapSpace::None => 0,
            SwapSpace::Some => self.status(pid, "VmSwap:").unwrap_or(0).saturating_mul(1024),
        };
        pages.saturating_mul(rustix::param::page_size() as u64).saturating_add(swapped)
    }

    /// A number from its `status` file.
    fn status(&self, pid: i32, name: &str) -> Option<u64> {
        let status = self.read(&format!("{pid}/status")).ok()?;
        let line = status.lines().find_map(|line| line.strip_prefix(name))?;
        line.split_whitespace().next()?.parse().ok()
    }

    /// Those that still exist and cannot be read. A process that has ended is either not listed or a zombie, which can
    /// be read.
    fn hidden(&self, unread: &[i32]) -> Vec<i32> {
        if unread.is_empty() {
            return Vec::new();
        }
        let there = self.all();
        unread.iter().copied().filter(|pid| there.contains(pid) && self.cpu_of(*pid).is_none()).collect()
    }

    /// A process may hide this from us (by making itself non-dumpable); then its resident size is used.
    fn proportional(&self, pid: i32) -> u64 {
        let Ok(rollup) = self.read(&format!("{pid}/smaps_rollup")) else { return self.resident(pid) };
        let kib = |name: &str| {
            let line = rollup.lines().find_map(|line| line.strip_prefix(name))?;
            line.split_whitespace().next()?.parse::<u64>().ok()
        };
        let size = kib("Pss:").map(|resident| resident + kib("SwapPss:").unwrap_or(0));
        size.map_or_else(|| self.resident(pid), |kib| kib.saturating_mul(1024))
    }

    /// The most memory that a process has had, if it exists and has a single thread.
    fn peak_of_single(&self, pid: i32) -> Option<u64> {
        (self.status(pid, "Threads:")? == 1).then_some(self.status(pid, "VmHWM:")?.saturating_mul(1024))
    }

    /// Whether the processes' memory adds up to more than `limit`. Resident sizes count shared pages once per process,
    /// so they can only be too high: cheap, and enough when their sum is below the limit. Otherwise the proportional
    /// sizes decide.
    fn use_more_than(&self, pids: &[i32], limit: u64) -> bool {
        let sum = |size: fn(&Self, i32) -> u64| pids.iter().map(|pid| size(self, *pid)).fold(0, u64::saturating_add);
        sum(Self::resident) > limit && sum(Self::proportional) > limit
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct CpuTime {
    own: u64,
    /// Of children that it has reaped.
    reaped: u64,
}

/// What is watched, and what was seen.
#[derive(Debug)]
pub(crate) struct Watchdog {
    processes: Processes,
    memory: Watch,
    /// The scratch directory, where the run's disk limit is not a file system's size.
    scratch: Option<PathBuf>,
    seen: SeenUsage,
    /// Whether some process cannot be accounted for.
    hides: bool,
    /// Processes that cannot be read, and since when.
    hidden: HashMap<i32, Instant>,
    /// The last CPU time seen of each process, by pid and start time, including those that nobody reaped.
    times: HashMap<(i32, u64), u64>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Watch {
    On,
    Off,
}

/// How long a process may exist without ever having been readable: a command's own, until it executes its program, is a
/// copy of this process and just as closed to others.
const STARTING: Duration = Duration::from_secs(2);

/// How many processes' times are remembered. Past this, those that nobody reaped no longer count.
const MAX_TIMES: usize = 65_536;

impl Watchdog {
    pub(crate) fn new(processes: Processes, memory: Watch, scratch: Option<PathBuf>) -> Self {
        Self {
            processes,
            memory,
            scratch,
            seen: SeenUsage::default(),
            hides: false,
            hidden: HashMap::new(),
            times: HashMap::new(),
        }
    }

    /// The limit that is exceeded now, if any.
    pub(crate) fn look(&mut self, limits: &Limits) -> Option<Limit> {
        let processes = self.update();
        if self.hides {
            // What cannot be counted is not within any limit.
            return Some(match self.memory {
                Watch::On => Limit::Memory,
                Watch::Off => Limit::Cpu,
            });
        }
        if self.seen.cpu_micros / 1000 > limits.cpu_millis {
            return Some(Limit::Cpu);
        }
        if self.memory == Watch::On && self.processes.use_more_than(&processes, limits.memory) {
            return Some(Limit::Memory);
        }
        let scratch = self.scratch.as_deref()?;
        scratch::exceeds(scratch, limits.disk, limits.files).then_some(Limit::Disk)
    }

    /// The limit exceeded now by a guest that waits for its program.
    pub(crate) fn look_at_waiting(&mut self, waiting: Waiting) -> Option<Limit> {
        let processes = self.update();
        if self.seen.cpu_micros / 1000 > waiting.cpu_millis {
            return Some(Limit::Cpu);
        }
        self.processes.use_more_than(&processes, waiting.memory).then_some(Limit::Memory)
    }

    /// What has been seen so far.
    pub(crate) fn usage(&mut self) -> SeenUsage {
        self.update();
        self.seen
    }

    /// The peak memory of the run's only process; `None` if there are others, or it has threads.
    pub(crate) fn peak_of_last(&self) -> Option<u64> {
        let processes = self.processes.all();
        let [pid] = processes.as_slice() else { return None };
        self.processes.peak_of_single(*pid)
    }

    /// The run's processes at this moment.
    pub(crate) fn processes(&self) -> Vec<i32> {
        self.processes.all()
    }

    /// Whether one of these hides from us. Where `hidepid` hides processes from each other, a guest can do so by making
    /// itself non-dumpable.
    fn hides(&mut self, unread: &[i32]) -> bool {
        let hidden = self.processes.hidden(unread);
        self.hidden.retain(|pid, _| hidden.contains(pid));
        let now = Instant::now();
        hidden.into_iter().any(|pid| {
            let was_read = self.times.keys().any(|(known, _)| *known == pid);
            was_read || now.duration_since(*self.hidden.entry(pid).or_insert(now)) >= STARTING
        })
    }

    fn update(&mut self) -> Vec<i32> {
        let processes = self.processes.all();
        let mut accounted = sys::children_usage().cpu_micros;
        let mut unread = Vec::new();
        for pid in &processes {
            let Some((started, time)) = self.processes.cpu_of(*pid) else {
                unread.push(*pid);
                continue;
            };
            // A process that was reaped is in its parent's account (or ours), a live one in its own.
            accounted += time.own + time.reaped;
            if self.times.len() < MAX_TIMES {
                self.times.insert((*pid, started), time.own);
            }
        }
        self.hides = self.hides(&unread);
        // If a guest ignores SIGCHLD, nobody reaps its children; what was seen of them is remembered here.
        let remembered: u64 = self.times.values().sum();
        self.seen.cpu_micros = self.seen.cpu_micros.max(accounted).max(remembered);
        let resident = processes.iter().map(|pid| self.processes.resident(*pid)).sum();
        self.seen.peak_bytes = self.seen.peak_bytes.max(resident);
        processes
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    /// A `/proc` in which this process has one child, as the kernel shows it with `hidepid`.
    #[test]
    fn who_cannot_be_counted_is_over_its_limit() {
        const STAT: &str = "77 (guest) R 1 77 77 0 -1 0 0 0 0 0 5 5 0 0 20 0 1 0 100 0 0\n";
        let proc = tempfile::tempdir().expect("a temporary directory");
        for task in ["self/task/1", "77/task/77"] {
            fs::create_dir_all(proc.path().join(task)).expect("made");
        }
        fs::write(proc.path().join("self/task/1/children"), "77 ").expect("written");
        fs::write(proc.path().join("77/stat"), STAT).expect("written");
        let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let watchdog = |memory, swap| {
            let opened = rustix::fs::open(proc.path(), flags, Mode::empty()).expect("it is there");
            Watchdog::new(Processes { proc: opened, swap }, memory, None)
        };
        let limits = Limits { memory: 1 << 20, disk: 0, files: 0, processes: 0, cpu_millis: 60_000, wall_millis: 0 };
        let [mut with_swap, mut without] = [SwapSpace::Some, SwapSpace::None].map(|swap| watchdog(Watch::On, swap));
        let mut in_group = watchdog(Watch::Off, SwapSpace::None);
        assert_eq!(
            [&mut with_swap, &mut without, &mut in_group].map(|it| it.look(&limits)),
            [None; 3],
            "it can be read"
        );
        fs::write(proc.path().join("77/status"), "VmSwap:\t 1100 kB\n").expect("written");
        assert_eq!(without.look(&limits), None, "there is no swap");
        assert_eq!(with_swap.look(&limits), Some(Limit::Memory), "it is in swap");
        fs::remove_dir_all(proc.path().join("77")).expect("removed");
        assert_eq!([&mut without, &mut in_group].map(|it| it.look(&limits)), [Limit::Memory, Limit::Cpu].map(Some));
        let mut new = watchdog(Watch::On, SwapSpace::None);
        assert_eq!(new.look(&limits), None, "it may be starting");
        new.hidden.values_mut().for_each(|since| *since -= STARTING);
        assert_eq!(new.look(&limits), Some(Limit::Memory), "it hides");
        fs::write(proc.path().join("self/task/1/children"), "").expect("written");
        assert_eq!([&mut without, &mut new].map(|it| it.look(&limits)), [None; 2], "it has ended");
    }
}
