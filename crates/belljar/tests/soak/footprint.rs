//! What a server holds of the host.

use std::fs;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

use testkit::processes;

/// How much larger the server and its launcher may be after a thousand runs: an allocator's arenas settle, a leak of one
/// page a run would show.
const MEMORY_GROWTH: u64 = 3 << 20;

/// Counts of everything that a run could leave. `None` is what this user may not look at.
#[derive(Debug, PartialEq, Eq)]
struct Counts {
    descriptors: usize,
    launchers_descriptors: Vec<Option<usize>>,
    /// Of the server and all below it.
    processes: usize,
    mounts: usize,
    launchers_mounts: Vec<Option<usize>>,
    cgroups: usize,
    scratch: usize,
}

/// A server's footprint at one moment.
#[derive(Debug)]
pub(crate) struct Footprint {
    scratch: PathBuf,
    counts: Counts,
    /// Resident bytes of the server and its launcher.
    memory: u64,
}

impl Footprint {
    /// Of this process and all below it, once the launcher is done with the runs that have ended: it closes what it held of
    /// them a moment after it has told of their end.
    pub(crate) fn settled(scratch: &Path) -> Self {
        let (mut last, mut alike) = (Self::now(scratch), 0);
        // For a second: on a busy machine, the moment of what comes next may be long.
        while alike < 20 {
            thread::sleep(Duration::from_millis(50));
            let now = Self::now(scratch);
            alike = if now.counts == last.counts { alike + 1 } else { 0 };
            last = now;
        }
        last
    }

    fn now(scratch: &Path) -> Self {
        let launchers = launchers();
        let own = std::process::id().to_string();
        let of_launchers = |file: &str, count: fn(&Path) -> Option<usize>| -> Vec<Option<usize>> {
            launchers.iter().map(|pid| count(&Path::new("/proc").join(pid.to_string()).join(file))).collect()
        };
        let counts = Counts {
            descriptors: entries(Path::new("/proc/self/fd")).expect("our own"),
            launchers_descriptors: of_launchers("fd", entries),
            processes: descendants(&own).len(),
            mounts: lines(Path::new("/proc/self/mountinfo")).expect("our own"),
            launchers_mounts: of_launchers("mountinfo", lines),
            cgroups: cgroups(&launchers),
            scratch: tree(scratch),
        };
        let resident = launchers.iter().map(ToString::to_string).chain([own]).filter_map(|pid| resident(&pid)).sum();
        Self { scratch: scratch.to_owned(), counts, memory: resident }
    }

    /// Fails if anything has been left since. What is on its way out (a zombie, a cgroup that the kernel still holds) has
    /// until the grace period of a run to go.
    pub(crate) fn assert_nothing_left(&self) {
        let (before, end) = (self, Instant::now() + processes::GRACE);
        let mut now = Self::now(&self.scratch);
        while now.counts != before.counts && Instant::now() < end {
            thread::sleep(Duration::from_millis(10));
            now = Self::now(&self.scratch);
        }
        assert_eq!(now.counts, before.counts, "something was left behind");
        let grown = now.memory.saturating_sub(before.memory);
        assert!(grown <= MEMORY_GROWTH, "{grown} bytes more than before: {before:?}, now {now:?}");
    }
}

/// Launchers that are children of this process and alive.
pub(crate) fn launchers() -> Vec<i32> {
    let own = i32::try_from(std::process::id()).expect("pids are below 2^22");
    let children = processes::all().into_iter().filter(|process| process.parent == own);
    // A dead one that nobody reaped has no arguments, and is counted as a process that was left.
    children
        .filter(|process| process.arguments.contains(engine_native::LAUNCHER_ARGUMENT))
        .map(|child| child.pid)
        .collect()
}

/// Everything below a process, zombies too.
fn descendants(root: &str) -> Vec<i32> {
    let all = processes::all();
    let mut found: Vec<i32> = vec![root.parse().expect("a pid")];
    let mut next = 0;
    while let Some(parent) = found.get(next).copied() {
        found.extend(all.iter().filter(|process| process.parent == parent).map(|process| process.pid));
        next += 1;
    }
    found
}

fn entries(directory: &Path) -> Option<usize> {
    fs::read_dir(directory).ok().map(Iterator::count)
}

fn lines(file: &Path) -> Option<usize> {
    fs::read_to_string(file).ok().map(|text| text.lines().count())
}

/// Everything below a directory.
fn tree(directory: &Path) -> usize {
    let below = fs::read_dir(directory).into_iter().flatten().flatten();
    below.map(|entry| 1 + if entry.file_type().is_ok_and(|kind| kind.is_dir()) { tree(&entry.path()) } else { 0 }).sum()
}

/// Groups that these launchers made, by the names that launchers give them, in every hierarchy.
fn cgroups(launchers: &[i32]) -> usize {
    fn below(directory: &Path, names: &[String]) -> usize {
        let directories = fs::read_dir(directory).into_iter().flatten().flatten();
        let directories = directories.filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir()));
        directories
            .map(|entry| {
                let ours = entry.file_name().to_str().is_some_and(|name| names.iter().any(|ours| ours == name));
                if ours {
                    let runs = fs::read_dir(entry.path()).into_iter().flatten().flatten();
                    1 + runs.filter(|run| run.file_type().is_ok_and(|kind| kind.is_dir())).count()
                } else {
                    below(&entry.path(), names)
                }
            })
            .sum()
    }
    let names: Vec<String> = launchers.iter().map(|pid| format!("belljar-{pid}")).collect();
    below(Path::new("/sys/fs/cgroup"), &names)
}

fn resident(pid: &str) -> Option<u64> {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"))?;
    Some(line.trim().strip_suffix(" kB")?.trim().parse::<u64>().ok()? * 1024)
}
