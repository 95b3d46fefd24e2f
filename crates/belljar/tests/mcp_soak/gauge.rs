//! How large a server is, with everything below it.

use std::fmt;
use std::fs;
use std::thread;
use std::time::{Duration, Instant};

use testkit::processes::{self, Process};

use crate::site::Site;

/// How much larger the server may be in the last third than in the middle one, in percent and bytes: over minutes,
const GROWTH: (u64, u64) = (5, 8 << 20);
/// and over seconds, in which the heap has not been as full yet as it gets.
const EARLY_GROWTH: (u64, u64) = (15, 16 << 20);
/// With fewer measurements it is early.
const EARLY: usize = 100;
/// Connections that are kept for the next request come and go, and so do threads that wait for files.
const GROWTH_COUNT: u64 = 12;

/// How long runs whose callers are gone may go on, at most: their own limit, and time to end on a busy machine.
const AFTERMATH: Duration = Duration::from_secs(30);

#[derive(Debug)]
pub(crate) struct Gauge {
    server: i32,
    /// Processes of a server that nobody calls.
    at_rest: usize,
    samples: Vec<Sample>,
}

#[derive(Debug, Clone, Copy, Default)]
struct Sample {
    memory: u64,
    /// Of the server's own.
    own_memory: u64,
    descriptors: u64,
    threads: u64,
}

impl Gauge {
    /// Of a server that has done something of each kind, and is at rest.
    pub(crate) fn new(server: i32) -> Self {
        let mut gauge = Self { server, at_rest: 0, samples: Vec::new() };
        // What it keeps in store comes and goes: as many as were there at one time.
        for _ in 0..30 {
            thread::sleep(Duration::from_millis(100));
            gauge.at_rest = gauge.at_rest.max(gauge.settled().len());
        }
        gauge
    }

    /// Waits for runs to end whose callers are gone, and fails if they do not.
    pub(crate) fn measure(&mut self, site: &Site) {
        let end = Instant::now() + AFTERMATH;
        let mut all = self.settled();
        while all.len() > self.at_rest || !processes::marked(site.marker()).is_empty() {
            assert!(Instant::now() < end, "{} processes at rest before, and now {all:#?}", self.at_rest);
            thread::sleep(Duration::from_millis(20));
            all = self.settled();
        }
        let own = Sample::of(self.server);
        let sample = all.iter().map(|process| Sample::of(process.pid)).fold(Sample::default(), |sum, one| Sample {
            memory: sum.memory + one.memory,
            own_memory: own.memory,
            descriptors: sum.descriptors + one.descriptors,
            threads: sum.threads + one.threads,
        });
        self.samples.push(sample);
    }

    /// Without interpreters that wait for a program, and their supervisors: they come and go, a few at a time.
    fn settled(&self) -> Vec<Process> {
        const MOST_WAITING: usize = 16;
        let mut all = self.processes();
        let waits = |process: &&Process| {
            let is_node = process.arguments.contains("node\0--max-old-space-size=")
                && process.arguments.ends_with("/box/main.js\0");
            process.arguments == "/usr/bin/python3\0/box/main.py\0" || is_node
        };
        // More than that are programs, which have to end.
        let waiting = all.iter().filter(waits).take(MOST_WAITING);
        let waiting: Vec<[i32; 2]> = waiting.map(|process| [process.pid, process.parent]).collect();
        all.retain(|process| !waiting.iter().any(|pids| pids.contains(&process.pid)));
        all
    }

    /// The server and everything below it.
    pub(crate) fn processes(&self) -> Vec<Process> {
        let all = processes::all();
        let mut found: Vec<Process> = all.iter().filter(|process| process.pid == self.server).cloned().collect();
        let mut next = 0;
        while let Some(parent) = found.get(next).map(|process| process.pid) {
            found.extend(all.iter().filter(|process| process.parent == parent).cloned());
            next += 1;
        }
        found
    }

    /// Fails if the last third of the time was not like the one before. In the first, caches fill.
    pub(crate) fn assert_flat(&self) {
        let third = self.samples.len() / 3;
        assert!(third > 0, "too few measurements: {self}");
        let before = &self.samples[third..self.samples.len() - third];
        let after = &self.samples[self.samples.len() - third..];
        let (percent, bytes) = if self.samples.len() < EARLY { EARLY_GROWTH } else { GROWTH };
        let grows = |value: fn(&Sample) -> u64, more: u64| {
            let [before, after] = [before, after].map(|samples| median(samples, value));
            after > before + before * percent / 100 + more
        };
        assert!(!grows(|sample| sample.memory, bytes), "its memory grows: {self}");
        assert!(!grows(|sample| sample.own_memory, bytes), "its own memory grows: {self}");
        assert!(!grows(|sample| sample.descriptors, GROWTH_COUNT), "its descriptors grow: {self}");
        assert!(!grows(|sample| sample.threads, GROWTH_COUNT), "its threads grow: {self}");
    }

    /// Fails if something computes all the time: a run in WebAssembly is a thread, which nobody sees among the processes.
    pub(crate) fn assert_idle(&self) {
        const WATCHED: Duration = Duration::from_secs(1);
        let used = || self.processes().iter().map(|process| cpu(process.pid)).sum::<u64>();
        // In hundredths of a second.
        let watched = |_| {
            let before = used();
            thread::sleep(WATCHED);
            used().saturating_sub(before)
        };
        assert!((0..20).map(watched).any(|used| used < 20), "nobody calls, and a fifth of a core is used");
    }
}

impl Sample {
    /// Zero for what has just gone or may not be looked at.
    fn of(pid: i32) -> Self {
        let status = fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
        let field = |name: &str| -> u64 {
            let line = status.lines().find_map(|line| line.strip_prefix(name)).unwrap_or_default();
            line.split_whitespace().next().and_then(|number| number.parse().ok()).unwrap_or(0)
        };
        let descriptors = fs::read_dir(format!("/proc/{pid}/fd")).map_or(0, Iterator::count);
        let memory = field("VmRSS:") * 1024;
        Self { memory, own_memory: memory, descriptors: descriptors as u64, threads: field("Threads:") }
    }
}

fn median(samples: &[Sample], value: fn(&Sample) -> u64) -> u64 {
    let mut values: Vec<u64> = samples.iter().map(value).collect();
    values.sort_unstable();
    values.get(values.len() / 2).copied().unwrap_or(0)
}

/// User and system time, in ticks.
fn cpu(pid: i32) -> u64 {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    // The name before it may hold anything.
    let after_name = stat.rsplit(')').next().unwrap_or_default();
    after_name.split_whitespace().skip(11).take(2).filter_map(|ticks| ticks.parse::<u64>().ok()).sum()
}

impl fmt::Display for Gauge {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let third = self.samples.len() / 3;
        write!(f, "{} processes at rest, {} measurements; medians of each third:", self.at_rest, self.samples.len())?;
        for samples in [
            &self.samples[..third],
            &self.samples[third..self.samples.len() - third],
            &self.samples[self.samples.len() - third..],
        ] {
            let mib = |value| median(samples, value) >> 20;
            let count = |value| median(samples, value);
            write!(
                f,
                "\n  {} MiB (the server itself {}), {} descriptors, {} threads",
                mib(|sample| sample.memory),
                mib(|sample| sample.own_memory),
                count(|sample| sample.descriptors),
                count(|sample| sample.threads)
            )?;
        }
        Ok(())
    }
}
