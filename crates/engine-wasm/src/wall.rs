//! The second wall: what a worker process is put behind.

use std::fmt;
use std::io;
use std::os::fd::OwnedFd;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::{Mutex, PoisonError};

use sandbox::{BoxFuture, Enforcement, EngineError, Isolation, Level};

use crate::WORKER_ARGUMENT;

/// Starts worker processes, locked down as far as this host allows.
pub trait Wall: Send + Sync + fmt::Debug {
    /// Starts belljar with [`WORKER_ARGUMENT`] and `stdin` as its standard input.
    fn start(&self, stdin: OwnedFd) -> BoxFuture<'_, Result<Box<dyn Confined>, EngineError>>;

    /// What stands around a run in such a worker.
    fn isolation(&self) -> Isolation;
}

/// A process. Ended when dropped.
pub trait Confined: Send + Sync + fmt::Debug {}

/// No second wall, for hosts that give none. A worker still gives up its system calls once it has started.
#[derive(Debug)]
pub struct NoWall {
    /// belljar itself.
    pub executable: PathBuf,
}

impl Wall for NoWall {
    fn start(&self, stdin: OwnedFd) -> BoxFuture<'_, Result<Box<dyn Confined>, EngineError>> {
        let started = spawn(&self.executable, stdin).map_err(EngineError::new);
        Box::pin(async move { Ok(Box::new(started?) as Box<dyn Confined>) })
    }

    fn isolation(&self) -> Isolation {
        Isolation {
            level: Level::Wasm,
            missing: vec!["jail".to_owned()],
            granted: Vec::new(),
            memory: Enforcement::Wasm,
            processes: Enforcement::Wasm,
        }
    }
}

#[derive(Debug)]
struct Unconfined(Mutex<Child>);

impl Confined for Unconfined {}

impl Drop for Unconfined {
    fn drop(&mut self) {
        let child = self.0.get_mut().unwrap_or_else(PoisonError::into_inner);
        // One that has ended by itself cannot be ended, and is reaped all the same.
        child.kill().ok();
        child.wait().ok();
    }
}

#[expect(clippy::disallowed_methods, reason = "a worker on a host that has no jail to start it in")]
fn spawn(executable: &std::path::Path, stdin: OwnedFd) -> io::Result<Unconfined> {
    let child = Command::new(executable)
        .arg(WORKER_ARGUMENT)
        .env_clear()
        .current_dir("/")
        .stdin(Stdio::from(stdin))
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()?;
    Ok(Unconfined(Mutex::new(child)))
}
