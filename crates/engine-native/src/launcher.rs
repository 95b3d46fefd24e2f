//! The launcher process, from the server's side.

use std::io;
use std::os::fd::AsRawFd;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::Duration;

use jail::{Monitor, RunStdio, Spec};
use tokio::io::Interest;
use tokio::io::unix::AsyncFd;

use crate::error::NativeError;

/// The argument that turns the binary into the launcher.
pub const LAUNCHER_ARGUMENT: &str = "__launcher";

/// How long a launcher may take to do what it is asked, up to jails with all their files. It has other things to do,
/// but none that take this long.
pub(crate) const PATIENCE: Duration = Duration::from_secs(30);

/// The result of something that needs the launcher, or an error if the launcher stays silent.
pub(crate) async fn in_time<T>(asked: impl Future<Output = Result<T, NativeError>>) -> Result<T, NativeError> {
    tokio::time::timeout(PATIENCE, asked).await.unwrap_or(Err(NativeError::LauncherSilent))
}

/// A launcher, replaced by another one when it dies.
#[derive(Debug)]
pub(crate) struct LauncherProcess {
    executable: PathBuf,
    current: Mutex<Arc<Live>>,
}

#[derive(Debug)]
struct Live {
    socket: AsyncFd<jail::Launcher>,
    /// Taken when this is dropped.
    child: Option<Child>,
}

impl LauncherProcess {
    pub(crate) fn start(executable: &Path) -> Result<Self, NativeError> {
        let live = spawn(executable).map_err(NativeError::StartLauncher)?;
        Ok(Self { executable: executable.to_owned(), current: Mutex::new(Arc::new(live)) })
    }

    /// Orders a run. If the launcher has died since the last order, it is replaced; its runs died with it.
    pub(crate) async fn order(
        &self,
        spec: &Spec,
        contents: &[&[u8]],
        stdio: &RunStdio,
    ) -> Result<Monitor, NativeError> {
        in_time(async {
            let live = self.live();
            match live.order(spec, contents, stdio).await {
                Err(error) if is_gone(&error) => {
                    let live = self.replace(&live)?;
                    live.order(spec, contents, stdio).await.map_err(unreached)
                }
                other => other.map_err(unreached),
            }
        })
        .await
    }

    /// Shows a folder of the host to a session, at one of its places.
    pub(crate) async fn show(&self, session: &Monitor, source: &Path, target: &Path) -> Result<(), NativeError> {
        ask(&self.live().socket, |launcher| launcher.show(session, source, target)).await?.map_err(NativeError::Jail)
    }

    /// How often the kernel killed a process of a session for lack of memory.
    pub(crate) async fn memory_kills(&self, session: &Monitor) -> Result<u64, NativeError> {
        Ok(ask(&self.live().socket, |launcher| launcher.count(session)).await?.oom_kills)
    }

    fn live(&self) -> Arc<Live> {
        Arc::clone(&self.current.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// A new launcher, unless another run has already replaced the dead one.
    fn replace(&self, dead: &Arc<Live>) -> Result<Arc<Live>, NativeError> {
        let mut current = self.current.lock().unwrap_or_else(PoisonError::into_inner);
        if Arc::ptr_eq(&current, dead) {
            *current = Arc::new(spawn(&self.executable).map_err(NativeError::StartLauncher)?);
        }
        Ok(Arc::clone(&current))
    }
}

impl Live {
    async fn order(&self, spec: &Spec, contents: &[&[u8]], stdio: &RunStdio) -> io::Result<Monitor> {
        let order = |launcher: &jail::Launcher| launcher.order(spec, contents.iter().copied(), stdio);
        self.socket.async_io(Interest::WRITABLE, order).await
    }
}

impl Drop for Live {
    fn drop(&mut self) {
        let Some(mut child) = self.child.take() else { return };
        if !matches!(child.try_wait(), Ok(Some(_))) {
            // Closing the socket, right after this, ends the launcher. One that was killed may still be exiting.
            thread::Builder::new().spawn(move || child.wait()).ok();
        }
    }
}

/// Asks something, and waits while the launcher is behind.
async fn ask<T: serde::de::DeserializeOwned>(
    launcher: &AsyncFd<jail::Launcher>,
    question: impl Fn(&jail::Launcher) -> io::Result<jail::Answer<T>>,
) -> Result<T, NativeError> {
    in_time(async {
        let answer = launcher.async_io(Interest::WRITABLE, question).await.map_err(unreached)?;
        let answer = watched(answer).map_err(unreached)?;
        answer.async_io(Interest::READABLE, jail::Answer::receive).await.map_err(unreached)
    })
    .await
}

fn is_gone(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::BrokenPipe | io::ErrorKind::ConnectionReset | io::ErrorKind::NotConnected)
}

/// Why a launcher did not do what it was asked: it is gone, or could not be reached.
fn unreached(error: io::Error) -> NativeError {
    if is_gone(&error) || error.kind() == io::ErrorKind::UnexpectedEof {
        NativeError::LauncherGone(error)
    } else {
        NativeError::order(error)
    }
}

/// Registers a descriptor with tokio.
#[expect(
    deprecated,
    reason = "`register` is `unsafe` for types that change their descriptor; `jail`'s own one for life, and `unsafe` stays in `jail`"
)]
pub(crate) fn watched<T: AsRawFd>(owner: T) -> io::Result<AsyncFd<T>> {
    AsyncFd::new(owner)
}

#[expect(clippy::disallowed_methods, reason = "this is the one place where the server starts a host process")]
fn spawn(executable: &Path) -> io::Result<Live> {
    let (theirs, ours) = jail::Launcher::channel()?;
    let child = Command::new(executable)
        .arg(LAUNCHER_ARGUMENT)
        .env_clear()
        .current_dir("/")
        .stdin(Stdio::from(theirs))
        .stdout(Stdio::null())
        .spawn()?;
    Ok(Live { socket: watched(ours)?, child: Some(child) })
}

#[cfg(test)]
mod tests {
    use std::fs::File;
    use std::os::fd::OwnedFd;

    use jail::{Egress, Proc, Purpose, View, Walls};
    use tokio::time::timeout;

    use super::*;
    use crate::recipe;

    #[tokio::test]
    async fn a_launcher_that_is_behind_is_waited_for() {
        let (_theirs, ours) = jail::Launcher::channel().expect("a socket");
        let launcher = watched(ours).expect("registered");
        let nothing = || OwnedFd::from(File::open("/dev/null").expect("every Linux has it"));
        let stdio = RunStdio { stdin: nothing(), stdout: nothing(), stderr: nothing(), control: None };
        let spec = Spec {
            walls: Walls::Namespaces { proc: Proc::Fresh },
            view: View::of_host(),
            egress: Egress::None,
            limits: recipe::limits(&sandbox::Limits::DEFAULT),
            environment: Vec::new(),
            files: Vec::new(),
            commands: Vec::new(),
            purpose: Purpose::Session,
            without: Vec::new(),
        };
        let session = launcher.get_ref().order(&spec, [], &stdio).expect("room for one");
        let mut unanswered = Vec::new();
        let full = loop {
            match launcher.get_ref().count(&session) {
                Ok(answer) => unanswered.push(answer),
                Err(error) => break error,
            }
        };
        assert_eq!(full.kind(), io::ErrorKind::WouldBlock);
        let asked = timeout(Duration::from_millis(200), ask(&launcher, |launcher| launcher.count(&session))).await;
        assert!(asked.is_err(), "{asked:?}");
    }
}
