//! The server's side: sending orders and hearing reports. Never blocks; the caller waits for readiness its own way.

use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd, RawFd};
use std::sync::OnceLock;

use rustix::process::{Signal, pidfd_send_signal};

use crate::contents;
use crate::spec::{Layer, Spec, Walls};
use crate::wire::{self, Ask, Namespaces, Order, Report};

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
}

/// Where a run's reports come in. Dropping it ends the run.
#[derive(Debug)]
pub struct Monitor {
    socket: OwnedFd,
    /// Known once the launcher has reported the start.
    pidfd: OnceLock<OwnedFd>,
    supervision: Supervision,
}

/// What a run's first process is to the others.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Supervision {
    /// Their init: they end with it.
    Init,
    /// A subreaper, which has to end them itself.
    Subreaper,
    /// A subreaper that also keeps the run's files until they have been read.
    SubreaperWithFiles,
}

impl Launcher {
    /// A socket for a launcher that is about to be started: its own end, to become the launcher's descriptor 0, and ours.
    pub fn channel() -> io::Result<(OwnedFd, Self)> {
        let (theirs, ours) = wire::channel()?;
        rustix::fs::fcntl_setfl(&ours, rustix::fs::OFlags::NONBLOCK)?;
        Ok((theirs, Self { socket: ours }))
    }

    /// Orders a run; `contents` are those of the spec's files, in order. `WouldBlock` when the launcher is behind: wait until this is
    /// writable and order again.
    pub fn order<'a>(
        &self,
        spec: &Spec,
        contents: impl IntoIterator<Item = &'a [u8]>,
        stdio: &Stdio,
    ) -> io::Result<Monitor> {
        let packed = contents::pack(spec, contents)?;
        let (ours, theirs) = wire::channel()?;
        rustix::fs::fcntl_setfl(&ours, rustix::fs::OFlags::NONBLOCK)?;
        let order = Order {
            namespaces: namespaces(spec),
            blueprint: spec.blueprint(),
            memory: spec.limits.memory,
            processes: spec.limits.processes,
        };
        let descriptors = [&packed, &stdio.stdin, &stdio.stdout, &stdio.stderr, &theirs].map(|fd| fd.as_fd());
        wire::send(&self.socket, &order, &descriptors)?;
        let supervision = match spec.walls {
            Walls::Landlock { .. } => Supervision::SubreaperWithFiles,
            Walls::Namespaces { .. } if spec.has_pid_namespace() => Supervision::Init,
            Walls::Namespaces { .. } => Supervision::Subreaper,
        };
        Ok(Monitor { socket: ours, pidfd: OnceLock::new(), supervision })
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
    /// The next report, with the workspace and the way out beside [`Report::Ready`]; `None` when nobody is left to report. `WouldBlock`
    /// when there is none yet.
    pub fn receive(&self) -> io::Result<Option<(Report, Vec<OwnedFd>)>> {
        let received = match wire::receive::<Report>(&self.socket) {
            // The peer went without reading what we asked of it. The kernel says so once, before what the peer had sent.
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

    /// The program of a run that was started ahead comes only now: its time counts from here.
    pub fn begin(&self, wall_millis: u64, cpu_millis: u64) {
        // A run that is gone is noticed when its reports end.
        wire::send(&self.socket, &Ask::Begin { wall_millis, cpu_millis }, &[]).ok();
    }

    /// Ends everything that the run started. Reports still come.
    pub fn stop(&self) {
        match self.pidfd.get() {
            // The kernel ends the whole pid namespace with its init. It may have ended by itself.
            Some(pidfd) if self.supervision == Supervision::Init => {
                pidfd_send_signal(pidfd, Signal::KILL).ok();
            }
            // The supervisor has to survive its guests, so it is asked. Its socket is never full: hardly anything else is sent to it.
            _ => {
                wire::send(&self.socket, &Ask::Stop, &[]).ok();
            }
        }
    }

    /// Whether the kernel ends all guests with the supervisor. Elsewhere the supervisor has ended them when it reports its exit.
    pub fn ends_with_its_supervisor(&self) -> bool {
        self.supervision == Supervision::Init
    }

    /// After [`Report::Exited`]: the run's files have been read and can go. Behind namespaces they go by themselves.
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
