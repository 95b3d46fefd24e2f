//! The host's process table, read from /proc: who of a run is still there.

use std::fs;
use std::thread;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};

/// One process as /proc shows it. Zombies have no arguments and so carry no marker: they hold nothing but their pid.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Process {
    /// Process id, in our own namespace.
    pub pid: i32,
    /// Parent's process id.
    pub parent: i32,
    /// Real, effective, saved and file-system uid, as our own namespace numbers them.
    pub uids: Vec<u32>,
    /// State letter: `T` stopped, `t` traced, `Z` zombie.
    pub state: char,
    /// Pid of who traces it, 0 for nobody.
    pub tracer: i32,
    /// Program and arguments, separated by NUL.
    pub arguments: String,
}

/// The process with this pid.
pub fn find(pid: i32) -> Option<Process> {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
    let arguments = fs::read(format!("/proc/{pid}/cmdline")).ok()?;
    let field = |name: &str| status.lines().find_map(|line| line.strip_prefix(name)).map(str::trim);
    Some(Process {
        pid,
        parent: field("PPid:")?.parse().ok()?,
        uids: field("Uid:")?.split_whitespace().filter_map(|uid| uid.parse().ok()).collect(),
        state: field("State:")?.chars().next()?,
        tracer: field("TracerPid:")?.parse().ok()?,
        arguments: String::from_utf8_lossy(&arguments).into_owned(),
    })
}

/// Every process.
pub fn all() -> Vec<Process> {
    let entries = fs::read_dir("/proc").into_iter().flatten();
    entries.filter_map(|entry| find(entry.ok()?.file_name().to_str()?.parse().ok()?)).collect()
}

/// Processes whose arguments contain `marker`.
pub fn marked(marker: &str) -> Vec<Process> {
    all().into_iter().filter(|process| process.arguments.contains(marker)).collect()
}

/// What is left of the marked processes after `grace`, and is ended now: it would disturb whatever comes next.
pub fn leftovers(marker: &str, grace: Duration) -> Vec<Process> {
    let end = Instant::now() + grace;
    let mut left = marked(marker);
    while !left.is_empty() && Instant::now() < end {
        thread::sleep(Duration::from_millis(5));
        left = marked(marker);
    }
    for process in &left {
        kill(process.pid);
    }
    left
}

/// SIGKILL to one process that we started. That it is already gone is no failure.
pub fn kill(pid: i32) {
    signal(pid, Signal::KILL);
}

/// SIGTERM to one process that we started.
pub fn terminate(pid: i32) {
    signal(pid, Signal::TERM);
}

fn signal(pid: i32, signal: Signal) {
    if let Some(pid) = Pid::from_raw(pid) {
        kill_process(pid, signal).ok();
    }
}

/// Highest resident set so far, in bytes.
pub fn peak_memory(pid: i32) -> Option<u64> {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
    let kibibytes = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?.trim().strip_suffix(" kB")?;
    Some(kibibytes.trim().parse::<u64>().ok()? * 1024)
}
