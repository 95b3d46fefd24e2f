//! The first process of a session: starts commands as they are asked for, stops all of them in between, and ends them
//! when they exceed a limit, but lives on itself, so that the workspace stays.

use std::collections::VecDeque;
use std::ffi::CString;
use std::io::{self, Read as _, Write as _};
use std::os::fd::{AsFd as _, OwnedFd};
use std::path::Path;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::{AtFlags, FileType, Mode, OFlags, ResolveFlags, openat2};
use rustix::process::{Pid, Signal, kill_process_group};
use rustix::rand::GetRandomFlags;

use crate::contents;
use crate::failure::{At as _, Failure, Step};
use crate::guest::{self, Lockdown, Streams};
use crate::landlock::Rule;
use crate::seccomp::Filter;
use crate::spec::{Batch, Command, File, Limits, Place, Places, Spec};
use crate::supervisor::{WATCH_INTERVAL, drain, reap_any};
use crate::sys::{self, Cloned};
use crate::watchdog::Watchdog;
use crate::wire::{self, Ask, Limit, Report, SeenUsage, Writing};

/// A session in its first process.
pub(crate) struct SessionSupervisor<'a> {
    pub(crate) spec: &'a Spec,
    pub(crate) filter: &'a Filter,
    pub(crate) rules: Vec<Rule>,
    pub(crate) memory: guest::MemoryHolder,
    pub(crate) report: OwnedFd,
    pub(crate) leash: OwnedFd,
    pub(crate) watchdog: Watchdog,
}

/// The exit code of a command that could not be started.
const NOT_STARTED: i32 = 126;

/// How many processes are reaped before limits and orders are looked at again: a guest can keep them exiting for as
/// long as it likes.
const ENDED_AT_ONCE: u32 = 64;

/// How often a stopped session is checked. One that waits for its next cell should cost next to nothing.
const REST_INTERVAL: Duration = Duration::from_millis(300);
/// How long a cell may take to stop once its CPU time is up. For wall time, the grace is part of what the server asks
/// for.
const GRACE: Duration = Duration::from_secs(1);
/// The CPU time that stopping may take: a process inside the kernel, such as one freeing gigabytes as it exits, stops
/// only when it comes out.
const STOPPING: Duration = Duration::from_secs(1);

/// The state of a session.
struct Going<'a> {
    session: SessionSupervisor<'a>,
    places: Places,
    batches: Vec<Started>,
    phase: Phase,
    used: SeenUsage,
}

enum Phase {
    /// Nothing is there to be watched.
    Empty,
    /// A cell runs, until this deadline at most, which is set by that limit.
    Cell { bounds: Bounds, deadline: Instant, because: Limit },
    /// Everything has been stopped.
    Rest(Bounds),
}

/// What may be used, and when to check next.
struct Bounds {
    limits: Limits,
    next_look: Instant,
}

/// A batch whose last command has not ended.
struct Started {
    number: u32,
    /// The command that is running.
    pid: i32,
    command: u32,
    rest: VecDeque<Command>,
    environment: Vec<CString>,
    streams: Streams,
}

enum Then {
    GoOn,
    End,
}

impl SessionSupervisor<'_> {
    /// Serves until the server or the launcher is gone. Guests end with this process, which is their init.
    pub(crate) fn run(self) -> Result<(), Failure> {
        let signals = sys::child_signals().at(Step::Supervise)?;
        let places = self.spec.walls.places();
        let mut going =
            Going { session: self, places, batches: Vec::new(), phase: Phase::Empty, used: SeenUsage::default() };
        while let Then::GoOn = going.step(&signals).at(Step::Supervise)? {}
        Ok(())
    }
}

impl Going<'_> {
    fn step(&mut self, signals: &OwnedFd) -> io::Result<Then> {
        let mut ended = 0;
        while ended < ENDED_AT_ONCE
            && let Some((pid, status, _)) = reap_any()?
        {
            self.ended(pid, status);
            ended += 1;
        }
        let mut pause = self.watch();
        if ended == ENDED_AT_ONCE {
            // There may be more.
            pause = Some(Duration::ZERO);
        }
        let timeout = pause.map(|pause| Timespec { tv_sec: 0, tv_nsec: i64::from(pause.subsec_nanos()) });
        let mut events = [
            PollFd::from_borrowed_fd(signals.as_fd(), PollFlags::IN),
            PollFd::from_borrowed_fd(self.session.leash.as_fd(), PollFlags::IN),
            PollFd::from_borrowed_fd(self.session.report.as_fd(), PollFlags::IN | PollFlags::RDHUP),
        ];
        match poll(&mut events, timeout.as_ref()) {
            Ok(_) | Err(rustix::io::Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
        let [child, leash, report] = events.map(|event| event.revents());
        if !leash.is_empty() {
            return Ok(Then::End);
        }
        if child.contains(PollFlags::IN) {
            drain(signals);
        }
        if report.is_empty() {
            return Ok(Then::GoOn);
        }
        match wire::receive::<Ask>(&self.session.report) {
            Ok(Some((ask, descriptors))) => Ok(self.answer(ask, descriptors)),
            Ok(None) | Err(_) => Ok(Then::End),
        }
    }

    fn answer(&mut self, ask: Ask, descriptors: Vec<OwnedFd>) -> Then {
        match ask {
            Ask::Begin { wall_millis, cpu_millis } => {
                // What was used to get here, say by an interpreter's start, is not charged to the cell.
                self.used = self.session.watchdog.usage();
                let bounds = self.bounds(Duration::from_millis(cpu_millis), WATCH_INTERVAL);
                let deadline = Instant::now() + Duration::from_millis(wall_millis);
                self.phase = Phase::Cell { bounds, deadline, because: Limit::Wall };
                sys::signal_everybody_else(libc::SIGCONT);
            }
            Ask::Rest => {
                sys::signal_everybody_else(libc::SIGSTOP);
                self.used = self.session.watchdog.usage();
                self.phase = Phase::Rest(self.bounds(STOPPING, REST_INTERVAL));
                self.say(&Report::Resting(self.used));
            }
            Ask::Start { batch } => {
                if let Err(failure) = self.start(batch, descriptors) {
                    self.say(&Report::Failed(failure));
                    // As for a command that could not be executed, so that whoever waits for its end hears of it.
                    self.say(&Report::BatchEnded { batch, command: 0, status: NOT_STARTED << 8 });
                }
            }
            Ask::Interrupt { batch } => {
                let started = self.batches.iter().find(|started| started.number == batch);
                if let Some(group) = started.and_then(|started| Pid::from_raw(started.pid)) {
                    kill_process_group(group, Signal::INT).ok();
                }
            }
            Ask::Clear => self.clear(),
            Ask::Write(mode) => {
                let written = write(&self.places, descriptors, mode);
                self.say(&Report::Written(written.map_err(|error| error.raw_os_error().unwrap_or(libc::EIO))));
            }
            Ask::Stop => return Then::End,
            // Nothing to remove: the workspace goes with its file system.
            Ask::Release => {}
        }
        Then::GoOn
    }

    /// If the server does not hear this, it is gone.
    fn say(&self, report: &Report) {
        wire::send(&self.session.report, report, &[]).ok();
    }

    /// The session's limits, with this much CPU time on top of what has been used already.
    fn bounds(&self, cpu: Duration, interval: Duration) -> Bounds {
        let cpu_millis = u64::try_from(cpu.as_millis()).unwrap_or(u64::MAX);
        let cpu_millis = (self.used.cpu_micros / 1000).saturating_add(cpu_millis);
        Bounds { limits: Limits { cpu_millis, ..self.session.spec.limits }, next_look: Instant::now() + interval }
    }

    /// Checks the limits if it is time to. Returns how long nothing needs checking.
    fn watch(&mut self) -> Option<Duration> {
        let now = Instant::now();
        let (mut passed, mut tell) = (None, None);
        let until = match &mut self.phase {
            Phase::Empty => return None,
            Phase::Cell { bounds, deadline, because } => {
                if now >= bounds.next_look {
                    passed = self.session.watchdog.look(&bounds.limits);
                    bounds.next_look = now + WATCH_INTERVAL;
                }
                if (passed, *because) == (Some(Limit::Cpu), Limit::Wall) {
                    // The same as when the clock runs out: the server interrupts, and what does not listen is ended.
                    (*deadline, *because) = ((now + GRACE).min(*deadline), Limit::Cpu);
                    bounds.limits.cpu_millis = u64::MAX;
                    passed = None;
                    tell = Some(Report::CpuOver);
                }
                if now >= *deadline {
                    passed = passed.or(Some(*because));
                }
                bounds.next_look.min(*deadline)
            }
            Phase::Rest(bounds) => {
                if now >= bounds.next_look {
                    // A guest's own timer may have sent SIGCONT, again and again. A process that is stopped already
                    // does not notice this signal, and a process's state says nothing about its threads, so we do not
                    // ask first.
                    sys::signal_everybody_else(libc::SIGSTOP);
                    passed = self.session.watchdog.look(&bounds.limits);
                    bounds.next_look = now + REST_INTERVAL;
                }
                bounds.next_look
            }
        };
        if let Some(report) = tell {
            self.say(&report);
        }
        if let Some(limit) = passed {
            self.clear();
            self.say(&Report::Cleared(limit));
            return None;
        }
        Some(until.saturating_duration_since(now))
    }

    /// Ends all processes except this one, and waits until they are gone.
    fn clear(&mut self) {
        self.used = self.session.watchdog.usage();
        sys::signal_everybody_else(libc::SIGKILL);
        sys::reap_all();
        self.batches.clear();
        self.phase = Phase::Empty;
    }

    fn start(&mut self, number: u32, descriptors: Vec<OwnedFd>) -> Result<(), Failure> {
        let missing = || Failure::new(Step::Receive, "descriptors", libc::EINVAL);
        let (packed, streams) = Streams::take(descriptors).ok_or_else(missing)?;
        let (batch, contents) = contents::unpack::<Batch>(packed)?;
        let mut contents = contents.reader().at(Step::WriteFiles)?;
        for file in &batch.files {
            let mut contents = (&mut contents).take(file.length);
            put(&self.places, file, &mut contents, Writing::Replace).at_path(Step::WriteFiles, &file.path)?;
        }
        let invalid = |_| Failure::new(Step::Exec, "environment", libc::EINVAL);
        let environment = batch.environment.into_iter().map(CString::new);
        let mut started = Started {
            number,
            pid: 0,
            command: 0,
            rest: batch.commands.into(),
            environment: environment.collect::<Result<_, _>>().map_err(invalid)?,
            streams,
        };
        self.start_next(&mut started)?;
        self.batches.push(started);
        Ok(())
    }

    fn start_next(&self, started: &mut Started) -> Result<(), Failure> {
        let none = || Failure::new(Step::Exec, "no command", libc::EINVAL);
        let command = started.rest.pop_front().ok_or_else(none)?;
        let session = &self.session;
        let lockdown = Lockdown {
            spec: session.spec,
            filter: session.filter,
            rules: session.rules.clone(),
            working_directory: Path::new(crate::spec::WORKSPACE),
            environment: started.environment.clone(),
            memory: session.memory,
            processes: u64::from(session.spec.limits.processes) + 1,
            identity: None,
        };
        match sys::clone(0, None).at(Step::Fork)? {
            Cloned::Parent { pid, .. } => {
                started.pid = pid;
                Ok(())
            }
            Cloned::Child => {
                let failure = guest::enter(&lockdown, &command, &started.streams, &session.report);
                // Nobody to tell if even this fails; the exit code still says that the program did not run.
                wire::send(&session.report, &Report::Failed(failure), &[]).ok();
                sys::exit_now(NOT_STARTED)
            }
        }
    }

    /// A process has ended: starts the next command of its batch, or ends the batch.
    fn ended(&mut self, pid: i32, status: i32) {
        let Some(index) = self.batches.iter().position(|started| started.pid == pid) else { return };
        let mut started = self.batches.swap_remove(index);
        if status == 0 && !started.rest.is_empty() {
            started.command += 1;
            match self.start_next(&mut started) {
                Ok(()) => return self.batches.push(started),
                Err(failure) => self.say(&Report::Failed(failure)),
            }
        }
        self.say(&Report::BatchEnded { batch: started.number, command: started.command, status });
    }
}

fn write(places: &Places, descriptors: Vec<OwnedFd>, mode: Writing) -> io::Result<u64> {
    let [packed] = <[OwnedFd; 1]>::try_from(descriptors).map_err(|_| io::ErrorKind::InvalidInput)?;
    let (file, contents) = contents::unpack::<File>(packed).map_err(|_| io::ErrorKind::InvalidData)?;
    let mut contents = contents.reader()?.take(file.length);
    put(places, &file, &mut contents, mode)
}

/// Writes a file into a workspace that guests have been in: follows no link on the way, and keeps the old contents if
/// there is no room.
fn put(places: &Places, file: &File, contents: &mut impl io::Read, mode: Writing) -> io::Result<u64> {
    let root = match file.place {
        Place::Workspace => &places.workspace,
        Place::Build => &places.build,
    };
    let root = rustix::fs::open(root, OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty())?;
    let (folder, name) = match file.path.rsplit_once('/') {
        Some((folder, name)) => (make_folders(&root, folder)?, name),
        None => (root, file.path.as_str()),
    };
    let before = match rustix::fs::statat(&folder, name, AtFlags::SYMLINK_NOFOLLOW) {
        Ok(stat) => match FileType::from_raw_mode(stat.st_mode) {
            FileType::RegularFile => Some(stat),
            FileType::Directory => return Err(rustix::io::Errno::ISDIR.into()),
            FileType::Symlink
            | FileType::Fifo
            | FileType::Socket
            | FileType::CharacterDevice
            | FileType::BlockDevice
            | FileType::Unknown => return Err(rustix::io::Errno::LOOP.into()),
        },
        Err(rustix::io::Errno::NOENT) => None,
        Err(error) => return Err(error.into()),
    };
    match (mode, before) {
        (Writing::Append, Some(before)) => append(&folder, name, contents, u64::try_from(before.st_size).unwrap_or(0)),
        (_, before) => {
            let mode = before.map_or(Mode::from_raw_mode(0o644), |before| Mode::from_raw_mode(before.st_mode));
            replace(&folder, name, contents, mode)
        }
    }
}

fn append(folder: &OwnedFd, name: &str, contents: &mut impl io::Read, size: u64) -> io::Result<u64> {
    let flags = OFlags::WRONLY | OFlags::APPEND | OFlags::NONBLOCK;
    let file = openat2(folder, name, flags | OFlags::CLOEXEC, Mode::empty(), BENEATH)?;
    let mut file = std::fs::File::from(file);
    let metadata = file.metadata()?;
    if !metadata.is_file() {
        return Err(rustix::io::Errno::LOOP.into());
    }
    match io::copy(contents, &mut file) {
        Ok(count) => Ok(size + count),
        Err(error) => {
            file.set_len(size).ok();
            Err(error)
        }
    }
}

/// Writes under another name first, so that anyone reading meanwhile sees either the old contents or the new.
fn replace(folder: &OwnedFd, name: &str, contents: &mut impl io::Read, mode: Mode) -> io::Result<u64> {
    let under_way = nobodys_name()?;
    let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let mut file = std::fs::File::from(rustix::fs::openat(folder, &under_way, flags, mode)?);
    let written = io::copy(contents, &mut file).and_then(|count| {
        file.flush()?;
        rustix::fs::renameat(folder, &under_way, folder, name)?;
        Ok(count)
    });
    if written.is_err() {
        rustix::fs::unlinkat(folder, &under_way, AtFlags::empty()).ok();
    }
    written
}

/// A name that no guest can have taken, because none can guess it.
fn nobodys_name() -> io::Result<String> {
    let mut chance = [0; 16];
    // This few bytes are returned whole or not at all.
    rustix::rand::getrandom(&mut chance, GetRandomFlags::empty())?;
    Ok(format!(".belljar-{:032x}", u128::from_ne_bytes(chance)))
}

/// The kernel refuses anything that could lead out of the workspace as it walks the path.
const BENEATH: ResolveFlags = ResolveFlags::BENEATH
    .union(ResolveFlags::NO_SYMLINKS)
    .union(ResolveFlags::NO_MAGICLINKS)
    .union(ResolveFlags::NO_XDEV);

fn make_folders(root: &OwnedFd, path: &str) -> io::Result<OwnedFd> {
    let mut at = root.try_clone()?;
    let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
    for name in path.split('/') {
        at = match openat2(&at, name, flags, Mode::empty(), BENEATH) {
            Err(rustix::io::Errno::NOENT) => {
                rustix::fs::mkdirat(&at, name, Mode::from_raw_mode(0o755))?;
                openat2(&at, name, flags, Mode::empty(), BENEATH)?
            }
            opened => opened?,
        };
    }
    Ok(at)
}
