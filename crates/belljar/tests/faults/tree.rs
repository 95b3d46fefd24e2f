//! The processes of a server, by what they are, and what a server holds of the host.

use std::fs;
use std::path::PathBuf;
use std::thread;
use std::time::{Duration, Instant};

use engine_native::LAUNCHER_ARGUMENT;
use engine_wasm::WORKER_ARGUMENT;
use testkit::processes::{self, Process};

/// What can be killed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Victim {
    Server,
    Launcher,
    /// Where WebAssembly runs.
    Worker,
    /// The first process of a jail with something in it.
    Supervisor,
    /// The first process of a jail that nothing is in yet.
    Spare,
    /// An interpreter, or a program.
    Guest,
}

/// All processes of a server at one moment.
#[derive(Debug, Clone)]
pub(crate) struct Tree {
    server: i32,
    /// Parents before their children.
    all: Vec<Process>,
}

impl Tree {
    pub(crate) fn of(server: i32) -> Self {
        let everybody = processes::all();
        let mut all: Vec<Process> = everybody.iter().filter(|process| process.pid == server).cloned().collect();
        let mut next = 0;
        while let Some(parent) = all.get(next).map(|process| process.pid) {
            all.extend(everybody.iter().filter(|process| process.parent == parent).cloned());
            next += 1;
        }
        Self { server, all }
    }

    pub(crate) fn launcher(&self) -> Option<i32> {
        let mut children = self.all.iter().filter(|process| process.parent == self.server && process.state != 'Z');
        children.find(|process| process.arguments.contains(LAUNCHER_ARGUMENT)).map(|process| process.pid)
    }

    /// Pids of this kind.
    pub(crate) fn find(&self, victim: Victim) -> Vec<i32> {
        let launcher = self.launcher().unwrap_or(0);
        let has_children = |pid: i32| self.all.iter().any(|process| process.parent == pid);
        let is_worker = |process: &Process| process.arguments.contains(WORKER_ARGUMENT);
        let is_it = |process: &&Process| match victim {
            Victim::Server => process.pid == self.server,
            Victim::Launcher => process.pid == launcher,
            Victim::Worker => is_worker(process),
            Victim::Supervisor => process.parent == launcher && has_children(process.pid),
            Victim::Spare => process.parent == launcher && !has_children(process.pid),
            Victim::Guest => {
                let is_ours = [self.server, launcher].contains(&process.pid);
                !is_ours && process.parent != launcher && !is_worker(process)
            }
        };
        self.all.iter().filter(|process| process.state != 'Z').filter(is_it).map(|process| process.pid).collect()
    }

    /// How long it takes until none of them is there any more.
    #[track_caller]
    pub(crate) fn assert_gone(&self, since: Instant, within: Duration) -> Duration {
        let is_there = |process: &&Process| {
            let now = processes::find(process.pid);
            now.is_some_and(|now| now.state != 'Z' && now.arguments == process.arguments)
        };
        loop {
            let left: Vec<&Process> = self.all.iter().filter(is_there).collect();
            if left.is_empty() {
                return since.elapsed();
            }
            assert!(since.elapsed() < within, "left after {within:?}: {left:#?}");
            thread::sleep(Duration::from_millis(2));
        }
    }
}

/// Counts of what a fault could leave behind. Interpreters that wait for programs come and go, and so does what is made ahead for the next jail.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Holdings {
    /// Children of the server, zombies too: launchers.
    children: usize,
    /// Jails and what is in them beyond what waits.
    jails: usize,
    zombies: usize,
    /// Groups without a jail.
    groups: usize,
    mounts: usize,
    /// Of the server and its launcher, beyond what belongs to jails.
    descriptors: [usize; 2],
}

/// Descriptors that the server has for a jail that waits: its streams, its reports, what it shows, the process; and its connections.
const DESCRIPTORS: usize = 8;

impl Holdings {
    pub(crate) fn of(server: i32) -> Self {
        let tree = Tree::of(server);
        let launcher = tree.launcher().unwrap_or(0);
        let jails = tree.all.iter().filter(|process| process.parent == launcher && process.state != 'Z').count();
        let waiting = tree.waiting();
        let descriptors = |pid: i32, each: usize| {
            let count = fs::read_dir(format!("/proc/{pid}/fd")).map_or(0, Iterator::count);
            count.saturating_sub(each * jails).div_ceil(16)
        };
        Self {
            children: tree.all.iter().filter(|process| process.parent == server).count(),
            jails: jails.saturating_sub(waiting + tree.find(Victim::Spare).len()),
            zombies: tree.all.iter().filter(|process| process.state == 'Z').count(),
            groups: groups_of(launcher).saturating_sub(jails),
            mounts: fs::read_to_string(format!("/proc/{server}/mountinfo")).map_or(0, |text| text.lines().count()),
            descriptors: [descriptors(server, DESCRIPTORS), descriptors(launcher, DESCRIPTORS)],
        }
    }

    /// Waits until it is so again.
    #[track_caller]
    pub(crate) fn assert_again(&self, server: i32, within: Duration) {
        let since = Instant::now();
        loop {
            let now = Self::of(server);
            if now.children <= self.children
                && now.jails <= self.jails
                && now.zombies <= self.zombies
                && now.groups <= self.groups
                && now.mounts == self.mounts
                && now.descriptors.iter().zip(self.descriptors).all(|(now, before)| *now <= before + 1)
            {
                return;
            }
            assert!(since.elapsed() < within, "before {self:?}, now {now:?}: {:#?}", Tree::of(server).all);
            thread::sleep(Duration::from_millis(20));
        }
    }
}

impl Tree {
    /// Interpreters that wait for a program, or have just got one.
    fn waiting(&self) -> usize {
        let waits = |process: &&Process| {
            process.arguments.ends_with("/box/main.py\0") || process.arguments.ends_with("/box/main.js\0")
        };
        self.all.iter().filter(waits).count()
    }
}

/// The folders of groups that a launcher has made: its own in each hierarchy.
pub(crate) fn group_folders(launcher: i32) -> Vec<PathBuf> {
    let (name, mut found, mut pending) =
        (format!("belljar-{launcher}"), Vec::new(), vec![PathBuf::from("/sys/fs/cgroup")]);
    while let Some(folder) = pending.pop() {
        let entries = fs::read_dir(&folder).into_iter().flatten().flatten();
        for entry in entries.filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir())) {
            if entry.file_name() == *name { &mut found } else { &mut pending }.push(entry.path());
        }
    }
    found
}

/// Groups of runs that a launcher has made and not removed.
fn groups_of(launcher: i32) -> usize {
    let runs = |folder: &PathBuf| fs::read_dir(folder).into_iter().flatten().flatten().collect::<Vec<_>>();
    let folders = group_folders(launcher);
    folders.iter().flat_map(runs).filter(|run| run.file_type().is_ok_and(|kind| kind.is_dir())).count()
}
