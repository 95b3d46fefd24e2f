//! The jail of a session, from the server's side.

use std::fs::File;
use std::io;
use std::os::fd::OwnedFd;
use std::path::Path;
use std::time::Duration;

use jail::{Batch, Limit, Monitor, Report, RunStdio, SeenUsage, Spec, Writing};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use sandbox::FileError;
use tokio::io::Interest;
use tokio::io::unix::AsyncFd;
use tokio::task::JoinSet;

use crate::error::NativeError;
use crate::launcher::{LauncherProcess, watched};

/// A jail that stays.
#[derive(Debug)]
pub(crate) struct Room {
    monitor: AsyncFd<Monitor>,
    workspace: OwnedFd,
    /// Serves its way out, if it has one.
    _serving: JoinSet<io::Result<()>>,
    batches: u32,
    is_gone: bool,
}

/// Something that happened in it.
#[derive(Debug)]
pub(crate) enum News {
    /// The last command of a batch ended.
    Ended(BatchEnd),
    /// The cell's CPU time is up, and it has a moment to stop.
    CpuOver,
    /// Everything that ran was ended.
    Cleared(Limit),
    /// Nothing runs now.
    Resting(SeenUsage),
    Written(Result<u64, i32>),
}

#[derive(Debug, Clone, Copy)]
pub(crate) struct BatchEnd {
    pub(crate) batch: u32,
    /// The index of the command that was last.
    pub(crate) command: u32,
    /// Its wait status.
    pub(crate) status: i32,
}

impl Room {
    /// A jail as described by `spec`, whose way out, if it has one, leads through `gate`.
    pub(crate) async fn open(
        launcher: &LauncherProcess,
        spec: &Spec,
        gate: Option<egress::Gate>,
    ) -> Result<Self, NativeError> {
        let nothing =
            || -> io::Result<OwnedFd> { Ok(File::options().read(true).write(true).open("/dev/null")?.into()) };
        let stdio = || -> io::Result<RunStdio> {
            Ok(RunStdio { stdin: nothing()?, stdout: nothing()?, stderr: nothing()?, control: None })
        };
        let monitor = launcher.order(spec, &[], &stdio().map_err(NativeError::pipes)?).await?;
        let monitor = watched(monitor).map_err(NativeError::reports)?;
        loop {
            match report(&monitor).await? {
                Some((Report::Started(_), _)) => {}
                Some((Report::Ready, descriptors)) => {
                    let mut descriptors = descriptors.into_iter();
                    let workspace = descriptors.next().ok_or(NativeError::SupervisorLost)?;
                    let mut serving = JoinSet::new();
                    if let (Some(listener), Some(gate)) = (descriptors.next(), gate) {
                        serving.spawn(async move { egress::serve(listener, gate, &egress::Log::default()).await });
                    }
                    return Ok(Self { monitor, workspace, _serving: serving, batches: 0, is_gone: false });
                }
                Some((Report::Failed(failure), _)) => return Err(failure.into()),
                Some(_) | None => return Err(NativeError::SupervisorLost),
            }
        }
    }

    /// Asks the kernel: if it is killed between two cells, no report of that is read before the next one.
    pub(crate) fn is_alive(&self) -> bool {
        let mut monitor = [PollFd::new(self.monitor.get_ref(), PollFlags::empty())];
        let at_once = Timespec { tv_sec: 0, tv_nsec: 0 };
        let is_closed = poll(&mut monitor, Some(&at_once)).is_ok_and(|count| count > 0);
        !self.is_gone && !is_closed
    }

    pub(crate) fn workspace(&self) -> &OwnedFd {
        &self.workspace
    }

    /// Lets its processes run for this long and with this much CPU time; what is still running then is ended (for CPU
    /// time, a moment later).
    pub(crate) fn go_on(&self, wall: Duration, cpu: Duration) {
        let millis = |duration: Duration| u64::try_from(duration.as_millis()).unwrap_or(u64::MAX);
        self.monitor.get_ref().begin(millis(wall), millis(cpu));
    }

    /// Stops everything in it.
    pub(crate) fn rest(&self) {
        self.monitor.get_ref().rest();
    }

    pub(crate) fn interrupt(&self, batch: u32) {
        self.monitor.get_ref().interrupt(batch);
    }

    pub(crate) fn clear(&self) {
        self.monitor.get_ref().clear();
    }

    /// Starts commands, and returns their batch's number.
    pub(crate) fn start(&mut self, batch: &Batch, contents: &[&[u8]], stdio: &RunStdio) -> Result<u32, NativeError> {
        self.batches += 1;
        let started = self.monitor.get_ref().start(self.batches, batch, contents.iter().copied(), stdio);
        started.map_err(NativeError::reports)?;
        Ok(self.batches)
    }

    pub(crate) fn write(&self, file: &jail::File, contents: &[u8], mode: Writing) -> Result<(), NativeError> {
        self.monitor.get_ref().write(file, contents, mode).map_err(NativeError::reports)
    }

    pub(crate) async fn show(
        &self,
        launcher: &LauncherProcess,
        source: &Path,
        target: &Path,
    ) -> Result<(), NativeError> {
        launcher.show(self.monitor.get_ref(), source, target).await
    }

    pub(crate) async fn memory_kills(&self, launcher: &LauncherProcess) -> Result<u64, NativeError> {
        launcher.memory_kills(self.monitor.get_ref()).await
    }

    /// The next thing that happens. Cancel-safe.
    pub(crate) async fn news(&mut self) -> Result<News, NativeError> {
        loop {
            let heard = report(&self.monitor).await;
            if let Some(news) = self.understand(heard)? {
                return Ok(news);
            }
        }
    }

    /// Something that has happened and was not heard yet.
    pub(crate) fn old_news(&mut self) -> Result<Option<News>, NativeError> {
        loop {
            let heard = match self.monitor.get_ref().receive() {
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(None),
                heard => heard.map_err(NativeError::reports),
            };
            if let Some(news) = self.understand(heard)? {
                return Ok(Some(news));
            }
        }
    }

    fn understand(&mut self, heard: Result<Option<Heard>, NativeError>) -> Result<Option<News>, NativeError> {
        match heard {
            Ok(Some((Report::BatchEnded { batch, command, status }, _))) => {
                Ok(Some(News::Ended(BatchEnd { batch, command, status })))
            }
            Ok(Some((Report::CpuOver, _))) => Ok(Some(News::CpuOver)),
            Ok(Some((Report::Cleared(limit), _))) => Ok(Some(News::Cleared(limit))),
            Ok(Some((Report::Resting(used), _))) => Ok(Some(News::Resting(used))),
            Ok(Some((Report::Written(written), _))) => Ok(Some(News::Written(written))),
            // A command that could not be started; its end follows.
            Ok(Some((Report::Failed(failure), _))) => Err(failure.into()),
            Ok(Some((Report::Started(_) | Report::Ready | Report::Probed(_), _))) => Ok(None),
            Ok(Some((Report::Exited(_) | Report::Ended(_), _)) | None) => {
                self.is_gone = true;
                Err(NativeError::SupervisorLost)
            }
            Err(error) => {
                self.is_gone = true;
                Err(error)
            }
        }
    }
}

/// A report, and the descriptors that came with it.
type Heard = (Report, Vec<OwnedFd>);

async fn report(monitor: &AsyncFd<Monitor>) -> Result<Option<Heard>, NativeError> {
    monitor.async_io(Interest::READABLE, Monitor::receive).await.map_err(NativeError::reports)
}

/// Why a file could not be written, from the kernel's answer.
pub(crate) fn file_error(errno: i32) -> FileError {
    use rustix::io::Errno;

    match Errno::from_raw_os_error(errno) {
        Errno::NOENT => FileError::NotFound,
        Errno::ISDIR => FileError::IsFolder,
        Errno::NOTDIR => FileError::NotFolder,
        Errno::LOOP | Errno::XDEV | Errno::NXIO => FileError::Special,
        Errno::NOSPC | Errno::DQUOT | Errno::FBIG => FileError::Full,
        Errno::ACCESS | Errno::PERM | Errno::ROFS => FileError::Denied,
        other => FileError::Failed(sandbox::EngineError::new(io::Error::from(other))),
    }
}
