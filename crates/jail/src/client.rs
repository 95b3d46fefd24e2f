//! The server's side: sending orders and receiving reports. Never blocks; callers wait for readiness in their own way.

use std::io;
use std::marker::PhantomData;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd, RawFd};
use std::path::Path;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Signal, pidfd_send_signal};
use serde::de::DeserializeOwned;

use crate::contents;
use crate::failure::Failure;
use crate::spec::{Batch, File, Layer, Purpose, Spec, Walls};
use crate::wire::{self, Ask, Demand, GroupUsage, Namespaces, Order, Report, Show, Writing};

/// The server's end of the socket to a launcher.
#[derive(Debug)]
pub struct Launcher {
    socket: OwnedFd,
}

/// A run's standard streams, as the guest gets them.
#[derive(Debug)]
pub struct Stdio {
    /// Read by the guest.
    pub stdin: OwnedFd,
    /// Written by the guest.
    pub stdout: OwnedFd,
    /// Written by the guest and its compiler.
    pub stderr: OwnedFd,
    /// Descriptor 3, if there is one.
    pub control: Option<OwnedFd>,
}

/// Where a run's reports arrive. Dropping it ends the run.
#[derive(Debug)]
pub struct Monitor {
    socket: OwnedFd,
    /// Known once the launcher has reported the start.
    pidfd: OnceLock<OwnedFd>,
    supervision: Supervision,
    session: Option<u64>,
}

/// Where the launcher's answer arrives.
#[derive(Debug)]
pub struct Answer<T> {
    socket: OwnedFd,
    kind: PhantomData<fn() -> T>,
}

impl<T: DeserializeOwned> Answer<T> {
    /// The answer. `WouldBlock` if it has not arrived yet.
    pub fn receive(&self) -> io::Result<T> {
        let gone = || io::Error::from(io::ErrorKind::UnexpectedEof);
        Ok(wire::receive::<T>(&self.socket)?.ok_or_else(gone)?.0)
    }
}

impl<T> AsRawFd for Answer<T> {
    fn as_raw_fd(&self) -> RawFd {
        self.socket.as_raw_fd()
    }
}

/// What a run's first process is to the run's other processes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Supervision {
    /// Their init: they end when it does.
    Init,
    /// A subreaper, which has to end them itself.
    Subreaper,
    /// A subreaper that also keeps the run's files until the server has read them.
    SubreaperWithFiles,
}

impl Launcher {
    /// A socket for a launcher that is about to be started: the launcher's end, to become its descriptor 0, and ours.
    pub fn channel() -> io::Result<(OwnedFd, Self)> {
        let (theirs, ours) = wire::channel()?;
        rustix::fs::fcntl_setfl(&ours, rustix::fs::OFlags::NONBLOCK)?;
        Ok((theirs, Self { socket: ours }))
    }

    /// Orders a run; `contents` are those of the spec's files, in order. `WouldBlock` if the launcher is behind: wait
    /// until this is writable and order again.
    pub fn order<'a>(
        &self,
        spec: &Spec,
        contents: impl IntoIterator<Item = &'a [u8]>,
        stdio: &Stdio,
    ) -> io::Result<Monitor> {
        /// Session numbers, never used twice in this process's life.
        static SESSIONS: AtomicU64 = AtomicU64::new(0);
        let session = (spec.purpose == Purpose::Session).then(|| SESSIONS.fetch_add(1, Ordering::Relaxed));
        let packed = contents::pack(spec, contents)?;
        let (ours, theirs) = wire::channel()?;
        rustix::fs::fcntl_setfl(&ours, rustix::fs::OFlags::NONBLOCK)?;
        let scratch = match &spec.walls {
            Walls::Landlock { scratch } => Some(scratch.clone()),
            Walls::Namespaces { .. } => None,
        };
        let order = Order {
            namespaces: namespaces(spec),
            blueprint: spec.blueprint(),
            memory: spec.limits.memory,
            processes: spec.limits.processes,
            session,
            scratch,
        };
        let descriptors: Vec<BorrowedFd<'_>> = [&packed, &stdio.stdin, &stdio.stdout, &stdio.stderr, &theirs]
            .into_iter()
            .chain(&stdio.control)
            .map(|fd| fd.as_fd())
            .collect();
        wire::send(&self.socket, &Demand::Run(order), &descriptors)?;
        let supervision = match spec.walls {
            Walls::Landlock { .. } => Supervision::SubreaperWithFiles,
            Walls::Namespaces { .. } if spec.has_pid_namespace() => Supervision::Init,
            Walls::Namespaces { .. } => Supervision::Subreaper,
        };
        Ok(Monitor { socket: ours, pidfd: OnceLock::new(), supervision, session })
    }

    /// Shows a folder of the host to a session, at one of its places.
    pub fn show(&self, session: &Monitor, source: &Path, target: &Path) -> io::Result<Answer<Result<(), Failure>>> {
        let session = session.session.ok_or(io::ErrorKind::InvalidInput)?;
        self.demand(&Demand::Show(Show { session, source: source.to_owned(), target: target.to_owned() }))
    }

    /// What a session's cgroups have counted.
    pub fn count(&self, session: &Monitor) -> io::Result<Answer<GroupUsage>> {
        self.demand(&Demand::Count { session: session.session.ok_or(io::ErrorKind::InvalidInput)? })
    }

    fn demand<T>(&self, demand: &Demand) -> io::Result<Answer<T>> {
        let (ours, theirs) = wire::channel()?;
        rustix::fs::fcntl_setfl(&ours, rustix::fs::OFlags::NONBLOCK)?;
        wire::send(&self.socket, demand, &[theirs.as_fd()])?;
        Ok(Answer { socket: ours, kind: PhantomData })
    }
}

impl AsRawFd for Launcher {
    fn as_raw_fd(&self) -> RawFd {
        self.socket.as_raw_fd()
    }
}

impl AsFd for Launcher {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}

impl Monitor {
    /// The next report, with the workspace and the way out beside [`Report::Ready`]; `None` once nobody is left to
    /// report. `WouldBlock` if there is none yet.
    pub fn receive(&self) -> io::Result<Option<(Report, Vec<OwnedFd>)>> {
        let received = match wire::receive::<Report>(&self.socket) {
            // The peer went away without reading our request. The kernel reports that once, ahead of what the peer had
            // sent.
            Err(error) if error.kind() == io::ErrorKind::ConnectionReset => wire::receive::<Report>(&self.socket)?,
            received => received?,
        };
        let Some((report, descriptors)) = received else {
            return Ok(None);
        };
        if let (Report::Started(_), [pidfd]) = (&report, descriptors.as_slice()) {
            self.pidfd.set(pidfd.try_clone()?).ok();
        }
        Ok(Some((report, descriptors)))
    }

    /// Tells a run that was started ahead that its program is here: its time counts from now.
    pub fn begin(&self, wall_millis: u64, cpu_millis: u64) {
        // If the run is gone, the end of its reports will say so.
        wire::send(&self.socket, &Ask::Begin { wall_millis, cpu_millis }, &[]).ok();
    }

    /// Starts commands in a session. `contents` are those of the batch's files.
    pub fn start<'a>(
        &self,
        number: u32,
        batch: &Batch,
        contents: impl IntoIterator<Item = &'a [u8]>,
        stdio: &Stdio,
    ) -> io::Result<()> {
        let packed = contents::pack(batch, contents)?;
        let descriptors: Vec<BorrowedFd<'_>> = [&packed, &stdio.stdin, &stdio.stdout, &stdio.stderr]
            .into_iter()
            .chain(&stdio.control)
            .map(|fd| fd.as_fd())
            .collect();
        wire::send(&self.socket, &Ask::Start { batch: number }, &descriptors)
    }

    /// Writes a file in a session; [`Report::Written`] says how that went.
    pub fn write(&self, file: &File, contents: &[u8], mode: Writing) -> io::Result<()> {
        let packed = contents::pack(file, [contents])?;
        wire::send(&self.socket, &Ask::Write(mode), &[packed.as_fd()])
    }

    /// Stops everything that runs in a session until it is told to go on; [`Report::Resting`] says when it has stopped.
    pub fn rest(&self) {
        wire::send(&self.socket, &Ask::Rest, &[]).ok();
    }

    /// Does what Ctrl-C does, to the command that a batch is running.
    pub fn interrupt(&self, batch: u32) {
        wire::send(&self.socket, &Ask::Interrupt { batch }, &[]).ok();
    }

    /// Ends everything that runs in a session.
    pub fn clear(&self) {
        wire::send(&self.socket, &Ask::Clear, &[]).ok();
    }

    /// Ends everything that the run started. Reports still arrive.
    pub fn stop(&self) {
        match self.pidfd.get() {
            // The kernel ends the whole pid namespace with its init, which may have ended by itself.
            Some(pidfd) if self.supervision == Supervision::Init => {
                pidfd_send_signal(pidfd, Signal::KILL).ok();
            }
            // The supervisor has to survive its guests, so it is asked. Its socket is never full: hardly anything else
            // is sent to it.
            _ => {
                wire::send(&self.socket, &Ask::Stop, &[]).ok();
            }
        }
    }

    /// Whether the run's first process was started and is still alive. This shows that it has ended before the launcher
    /// says so.
    pub fn goes_on(&self) -> bool {
        let at_once = Timespec { tv_sec: 0, tv_nsec: 0 };
        self.pidfd.get().is_some_and(|pidfd| {
            let mut ended = [PollFd::new(pidfd, PollFlags::IN)];
            poll(&mut ended, Some(&at_once)) == Ok(0)
        })
    }

    /// After [`Report::Exited`]: the run's files have been read and can be removed. With namespaces they go by
    /// themselves.
    pub fn release(&self) {
        if self.supervision == Supervision::SubreaperWithFiles {
            wire::send(&self.socket, &Ask::Release, &[]).ok();
        }
    }
}

impl AsRawFd for Monitor {
    fn as_raw_fd(&self) -> RawFd {
        self.socket.as_raw_fd()
    }
}

impl AsFd for Monitor {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}

impl Drop for Monitor {
    fn drop(&mut self) {
        self.stop();
    }
}

fn namespaces(spec: &Spec) -> Namespaces {
    match spec.walls {
        Walls::Landlock { .. } => Namespaces::None,
        Walls::Namespaces { .. } => match (spec.has(Layer::PidNamespace), spec.has(Layer::NetworkNamespace)) {
            (true, true) => Namespaces::All,
            (false, true) => Namespaces::AllButPid,
            (true, false) => Namespaces::AllButNetwork,
            (false, false) => Namespaces::AllButPidAndNetwork,
        },
    }
}
