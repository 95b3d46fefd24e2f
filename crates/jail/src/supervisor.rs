//! The process that starts a run's commands, reaps whatever they leave behind, watches the limits that the kernel does
//! not, and reports.
//!
//! With a pid namespace it is pid 1: it can end every process of the run with one call, and if it is killed, the kernel
//! ends them. Without one it is a subreaper that keeps killing until it has no child left.

use std::collections::HashSet;
use std::io;
use std::os::fd::{AsFd as _, OwnedFd};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Pid, Signal, kill_process};

use crate::cgroup::Counters;
use crate::failure::{At as _, Failure, Step};
use crate::guest::{self, Lockdown, Streams};
use crate::scratch::Scratch;
use crate::spec::{Command, Limits, Purpose};
use crate::sys::{self, Cloned, Resumed, Stop};
use crate::watchdog::Watchdog;
use crate::wire::{self, Ask, Ended, Exit, Limit, Report, SeenUsage};

/// How often the limits are checked. A guest can overshoot a limit by what it can use up in this time.
pub(crate) const WATCH_INTERVAL: Duration = Duration::from_millis(20);
/// The longest interval between checks while a program is waited for: an interpreter that has started does nothing.
const WAIT_INTERVAL: Duration = Duration::from_millis(320);
/// How long we leave the processor to the server after reporting, at most.
const ANSWERING: Duration = Duration::from_millis(20);

/// A run in its supervisor.
#[derive(Debug)]
pub(crate) struct Supervisor<'a> {
    pub(crate) lockdown: Lockdown<'a>,
    pub(crate) streams: Streams,
    pub(crate) report: OwnedFd,
    /// The launcher holds its other end: hangs up when the launcher is gone.
    pub(crate) leash: OwnedFd,
    /// Whether the kernel ends all guests when this process, as their init, ends.
    pub(crate) ends_with_us: bool,
    /// The run's directory on the host, if it has no root of its own.
    pub(crate) scratch: Option<&'a Scratch>,
    pub(crate) watchdog: Watchdog,
    pub(crate) counters: Counters,
}

/// What the program may use, and until when.
struct Bounds {
    limits: Limits,
    deadline: Instant,
    /// What had been used when the program came, if it was waited for.
    before: SeenUsage,
}

impl Bounds {
    fn from_now(limits: Limits) -> Self {
        let deadline = Instant::now() + Duration::from_millis(limits.wall_millis);
        Self { limits, deadline, before: SeenUsage::default() }
    }
}

/// Why a command stopped being watched.
enum End {
    Exited {
        status: i32,
    },
    /// It is about to exit, and nothing else of the run is left. Not waited for: freeing the memory of an interpreter
    /// with large libraries takes longer than most programs run.
    Leaving {
        status: i32,
        used: sys::Rusage,
    },
    Limit(Limit),
    /// The server asked for the end, or is gone.
    Stopped,
    /// The launcher is gone, and this process is about to be. Whatever end of the guests it saw now would be of its own
    /// making.
    Orphaned,
}

impl Supervisor<'_> {
    /// Runs the commands and reports how the last one ended. On return nothing of the run is left but this process, and
    /// perhaps one that is exiting inside the kernel.
    pub(crate) fn run(mut self) -> Result<(), Failure> {
        let signals = sys::child_signals().at(Step::Supervise)?;
        let mut bounds = Bounds::from_now(self.lockdown.spec.limits);
        let exit = self.run_commands(&signals, &mut bounds);
        let seen = self.watchdog.usage();
        // Whatever went wrong, leave no guest behind.
        let alone = if let Ok(Exit { alone: Some(leaving), .. }) = &exit {
            Some(*leaving)
        } else if self.ends_with_us {
            // The kernel would do this when we exit, but then only the launcher could tell when it is done, and would
            // have to wait for the namespaces to go too. A process that is being killed cannot fork, so once is enough.
            sys::signal_everybody_else(libc::SIGKILL);
            sys::reap_all();
            Some(self.used(sys::Rusage::default()))
        } else {
            self.kill_descendants();
            None
        };
        let exit = Exit { seen, before: bounds.before, alone, ..exit? };
        // A failed send means that the server is gone, and needs no report.
        wire::send(&self.report, &Report::Exited(exit), &[]).ok();
        if alone.is_some() {
            self.make_way();
        }
        Ok(())
    }

    /// What the run used, once nobody is left but perhaps one process, which has used `last`.
    fn used(&self, last: sys::Rusage) -> Ended {
        // Leaves out our own usage, which grows for as long as a program is waited for.
        let reaped = sys::children_usage();
        Ended {
            cpu_micros: reaped.cpu_micros + last.cpu_micros,
            peak_bytes: reaped.peak_bytes.max(last.peak_bytes),
            group: self.counters.usage(),
        }
    }

    /// Leaves the processor to the server, which has just been told: taking the namespaces down takes longer than its
    /// answer.
    fn make_way(&self) {
        let mut events = [PollFd::from_borrowed_fd(self.report.as_fd(), PollFlags::RDHUP)];
        let timeout = Timespec { tv_sec: 0, tv_nsec: i64::from(ANSWERING.subsec_nanos()) };
        poll(&mut events, Some(&timeout)).ok();
    }

    fn run_commands(&mut self, signals: &OwnedFd, bounds: &mut Bounds) -> Result<Exit, Failure> {
        let commands = &self.lockdown.spec.commands;
        let nothing = SeenUsage::default();
        let mut exit = Exit { command: 0, status: 0, limit: None, seen: nothing, before: nothing, alone: None };
        for (index, command) in (0u32..).zip(commands) {
            exit.command = index;
            if let Some(scratch) = self.scratch {
                scratch.make_executable(&command.arguments);
            }
            let pid = self.start(command)?;
            match self.watch(pid, signals, bounds).at(Step::Supervise)? {
                End::Exited { status } => exit.status = status,
                End::Leaving { status, used } => {
                    return Ok(Exit { status, alone: Some(self.used(used)), ..exit });
                }
                End::Limit(limit) => {
                    return Ok(Exit { status: libc::SIGKILL, limit: Some(limit), ..exit });
                }
                End::Stopped => {
                    return Ok(Exit { status: libc::SIGKILL, ..exit });
                }
                End::Orphaned => return Err(Failure::new(Step::Supervise, "the launcher is gone", libc::ECHILD)),
            }
            if exit.status != 0 {
                break;
            }
        }
        Ok(exit)
    }

    fn start(&self, command: &Command) -> Result<i32, Failure> {
        match sys::clone(0, None).at(Step::Fork)? {
            Cloned::Parent { pid, .. } => Ok(pid),
            Cloned::Child => {
                let failure = guest::enter(&self.lockdown, command, &self.streams, &self.report);
                // Nobody to tell if even this fails; the exit code still says that the program did not run.
                wire::send(&self.report, &Report::Failed(failure), &[]).ok();
                sys::exit_now(126)
            }
        }
    }

    /// Waits for `main` to end, reaping whatever else ends meanwhile.
    fn watch(&mut self, main: i32, signals: &OwnedFd, bounds: &mut Bounds) -> io::Result<End> {
        let mut waiting = match self.lockdown.spec.purpose {
            Purpose::Wait(waiting) => Some(waiting),
            Purpose::Run | Purpose::Session | Purpose::Probe => None,
        };
        let mut interval = WATCH_INTERVAL;
        let mut next_look = Instant::now() + interval;
        loop {
            let changed = reap_any()?;
            if let Some((pid, status, _)) = changed {
                match sys::stop(status) {
                    None if pid == main => return Ok(End::Exited { status }),
                    None => {}
                    Some(stop) => {
                        if let Some(end) = self.stopped(pid, stop) {
                            return Ok(end);
                        }
                    }
                }
            }
            // Checked even while more are waiting to be reaped: a guest can keep children exiting and stopping for as
            // long as it likes.
            let now = Instant::now();
            if now >= next_look {
                let passed = waiting.and_then(|waiting| self.watchdog.look_at_waiting(waiting));
                if let Some(limit) = passed.or_else(|| self.watchdog.look(&bounds.limits)) {
                    return Ok(End::Limit(limit));
                }
                interval = (interval * 2).min(if waiting.is_some() { WAIT_INTERVAL } else { WATCH_INTERVAL });
                next_look = now + interval;
            }
            if now >= bounds.deadline {
                return Ok(End::Limit(Limit::Wall));
            }
            if changed.is_some() {
                continue;
            }
            let pause = next_look.min(bounds.deadline).saturating_duration_since(now);
            let timeout = Timespec { tv_sec: 0, tv_nsec: i64::from(pause.subsec_nanos()) };
            let mut events = [
                PollFd::from_borrowed_fd(signals.as_fd(), PollFlags::IN),
                PollFd::from_borrowed_fd(self.leash.as_fd(), PollFlags::IN),
                // A message asks for the end; a hang-up means that the server dropped the run.
                PollFd::from_borrowed_fd(self.report.as_fd(), PollFlags::IN | PollFlags::RDHUP),
            ];
            match poll(&mut events, Some(&timeout)) {
                Ok(_) | Err(rustix::io::Errno::INTR) => {}
                Err(error) => return Err(error.into()),
            }
            let [child, leash, report] = &events;
            if !leash.revents().is_empty() {
                return Ok(End::Orphaned);
            }
            if !report.revents().is_empty() {
                // Read the message: a socket that is closed with one unread is reset.
                let is_asked = report.revents().contains(PollFlags::IN);
                let asked = if is_asked { wire::receive::<Ask>(&self.report).ok().flatten() } else { None };
                let Some((Ask::Begin { wall_millis, cpu_millis }, _)) = asked else { return Ok(End::Stopped) };
                let before = self.watchdog.usage();
                let cpu_millis = before.cpu_micros / 1000 + cpu_millis;
                *bounds = Bounds::from_now(Limits { cpu_millis, wall_millis, ..bounds.limits });
                // The same figure that `/proc` gives in hundredths of a second, but in microseconds.
                bounds.before = SeenUsage { cpu_micros: sys::cpu_micros_of(main).unwrap_or(0), ..before };
                (waiting, interval) = (None, WATCH_INTERVAL);
                next_look = Instant::now() + interval;
                // If this is refused, the run merely takes longer to end.
                if self.ends_with_us && self.lockdown.spec.commands.len() == 1 {
                    sys::watch_exit(main).ok();
                }
            }
            if child.revents().contains(PollFlags::IN) {
                drain(signals);
            }
        }
    }

    /// Resumes a command that has stopped, unless it stopped in order to exit.
    fn stopped(&self, pid: i32, stop: Stop) -> Option<End> {
        let how = match stop {
            Stop::Exit => {
                let peak_bytes = self.watchdog.peak_of_last();
                let known = (sys::coming_status(pid).ok(), sys::cpu_micros_of(pid).ok(), peak_bytes);
                if let (Some(status), Some(cpu_micros), Some(peak_bytes)) = known {
                    return Some(End::Leaving { status, used: sys::Rusage { cpu_micros, peak_bytes } });
                }
                Resumed::Running { signal: 0 }
            }
            Stop::Job => Resumed::Stopped,
            Stop::Signal(signal) => Resumed::Running { signal },
        };
        sys::resume(pid, how);
        None
    }

    /// Sends SIGKILL to all descendants until there are none left: orphans of a killed process become children of this
    /// subreaper.
    ///
    /// Killing them as they turn up would race with a fork bomb, since every death makes room for a birth. So all are
    /// stopped first, and nothing is reaped meanwhile: stopped processes count against the process limit, and once it
    /// is used up nobody is left who could fork.
    fn kill_descendants(&self) {
        loop {
            if let Some(user) = self.lockdown.identity {
                kill_all_of(user);
            }
            let mut stopped = HashSet::new();
            loop {
                let fresh: Vec<i32> =
                    self.watchdog.processes().into_iter().filter(|pid| stopped.insert(*pid)).collect();
                if fresh.is_empty() {
                    break;
                }
                signal_all(&fresh, Signal::STOP);
            }
            signal_all(&stopped, Signal::KILL);
            loop {
                match sys::reap_any() {
                    Ok(Some(_)) => {}
                    Ok(None) => break,
                    Err(_) => return,
                }
            }
            std::thread::sleep(Duration::from_micros(200));
        }
    }
}

/// Some may have exited already; as zombies they keep their pids until reaped, so no pid can belong to anyone else.
fn signal_all<'a>(pids: impl IntoIterator<Item = &'a i32>, signal: Signal) {
    for pid in pids.into_iter().filter_map(|pid| Pid::from_raw(*pid)) {
        kill_process(pid, signal).ok();
    }
}

/// Ends every process of a user id that only this run has. A child does it, having taken on that id, because `kill(-1)`
/// reaches everything that the caller may signal.
fn kill_all_of(user: u32) {
    match sys::clone(0, None) {
        Ok(Cloned::Child) => {
            if sys::assume_identity(user, user, sys::Groups::Clear).is_ok() {
                sys::signal_everybody_else(libc::SIGKILL);
            }
            sys::exit_now(0)
        }
        Ok(Cloned::Parent { pid, .. }) => {
            sys::reap(pid).ok();
        }
        // Out of processes: the loop around this carries on with single kills.
        Err(_) => {}
    }
}

/// Also `None` if there is no child at all, which a supervisor sees only between commands.
pub(crate) fn reap_any() -> io::Result<Option<(i32, i32, sys::Rusage)>> {
    match sys::reap_any() {
        Err(error) if error.raw_os_error() == Some(libc::ECHILD) => Ok(None),
        other => other,
    }
}

pub(crate) fn drain(signals: &OwnedFd) {
    let mut buffer = [0u8; 1024];
    while rustix::io::read(signals, &mut buffer).is_ok_and(|count| count > 0) {}
}
