//! Our own programs behind this host's walls: a process that hosts another engine's guests is locked down as a guest
//! is.

use std::fs::File;
use std::os::fd::OwnedFd;
use std::path::PathBuf;

use jail::{AddressSpace, Command, Egress, Limits, Monitor, Purpose, Report, RunStdio, Spec, Stdio};
use sandbox::Bytes;
use tokio::io::Interest;
use tokio::io::unix::AsyncFd;

use crate::error::NativeError;
use crate::launcher::{in_time, watched};
use crate::{NativeEngine, Shared};

/// One of our own programs.
#[derive(Debug)]
pub struct Program {
    /// Its file, shown to it on top of what every guest sees.
    pub executable: PathBuf,
    /// Its arguments, without the zeroth.
    pub arguments: Vec<String>,
    /// The most memory it may have, where a cgroup holds it.
    pub memory: Bytes,
    /// The most threads it may have.
    pub threads: u32,
    /// Its standard input, over which we speak to it. Its output is discarded.
    pub stdin: OwnedFd,
}

/// A program that lives until this is dropped.
#[derive(Debug)]
pub struct Confined {
    _monitor: AsyncFd<Monitor>,
}

/// Long enough never to matter: a confined program ends with its server.
const FOREVER_MILLIS: u64 = 10 * 365 * 24 * 60 * 60 * 1000;

impl NativeEngine {
    /// Starts a program behind the same walls as a run's. Returns when they stand.
    pub async fn confine(&self, program: Program) -> Result<Confined, NativeError> {
        self.shared.confine(program).await
    }
}

impl Shared {
    async fn confine(&self, program: Program) -> Result<Confined, NativeError> {
        let mut view = self.view.clone();
        view.add(&program.executable);
        let zeroth = program.executable.to_string_lossy().into_owned();
        let spec = Spec {
            walls: self.walls()?,
            view,
            egress: Egress::None,
            limits: Limits {
                memory: program.memory.get(),
                // It writes no files.
                disk: 1 << 20,
                files: 64,
                processes: program.threads,
                cpu_millis: FOREVER_MILLIS,
                wall_millis: FOREVER_MILLIS,
            },
            environment: Vec::new(),
            files: Vec::new(),
            commands: vec![Command {
                program: program.executable,
                arguments: std::iter::once(zeroth).chain(program.arguments).collect(),
                stdio: Stdio::Program,
                address_space: AddressSpace::Free,
            }],
            purpose: Purpose::Run,
            without: self.without.clone(),
        };
        let nowhere = || File::options().write(true).open("/dev/null").map(OwnedFd::from).map_err(NativeError::Pipes);
        let stdio = RunStdio { stdin: program.stdin, stdout: nowhere()?, stderr: nowhere()?, control: None };
        let monitor = self.launcher.order(&spec, &[], &stdio).await?;
        drop(stdio);
        let monitor = watched(monitor).map_err(NativeError::reports)?;
        in_time(until_ready(&monitor)).await?;
        Ok(Confined { _monitor: monitor })
    }
}

async fn until_ready(monitor: &AsyncFd<Monitor>) -> Result<(), NativeError> {
    loop {
        let report = monitor.async_io(Interest::READABLE, Monitor::receive).await.map_err(NativeError::reports)?;
        match report {
            Some((Report::Ready, _)) => return Ok(()),
            Some((Report::Failed(failure), _)) => return Err(failure.into()),
            Some((Report::Started(_) | Report::Probed(_), _)) => {}
            Some(_) | None => return Err(NativeError::SupervisorLost),
        }
    }
}
