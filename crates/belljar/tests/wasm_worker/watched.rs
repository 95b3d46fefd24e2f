//! Workers as children of this process.

use std::os::fd::OwnedFd;
use std::process::{Child, Stdio};
use std::sync::Mutex;

use engine_wasm::{Confined, WORKER_ARGUMENT, Wall};
use sandbox::{BoxFuture, Enforcement, EngineError, Isolation, Level};
use testkit::arena;

use crate::BELLJAR;

/// Starts workers as children of this process and remembers which.
#[derive(Debug, Default)]
pub(crate) struct Watched {
    pids: Mutex<Vec<u32>>,
}

impl Watched {
    pub(crate) fn started(&self) -> Vec<u32> {
        self.pids.lock().expect("no panics").clone()
    }
}

impl Wall for Watched {
    fn start(&self, stdin: OwnedFd) -> BoxFuture<'_, Result<Box<dyn Confined>, EngineError>> {
        let started = arena::host_command(BELLJAR)
            .arg(WORKER_ARGUMENT)
            .env_clear()
            .stdin(Stdio::from(stdin))
            .stdout(Stdio::null())
            .spawn();
        Box::pin(async move {
            let child = started.map_err(EngineError::new)?;
            self.pids.lock().expect("no panics").push(child.id());
            Ok(Box::new(Process(Mutex::new(child))) as Box<dyn Confined>)
        })
    }

    fn isolation(&self) -> Isolation {
        Isolation {
            level: Level::Wasm,
            missing: Vec::new(),
            granted: Vec::new(),
            memory: Enforcement::Wasm,
            processes: Enforcement::Wasm,
        }
    }
}

#[derive(Debug)]
struct Process(Mutex<Child>);

impl Confined for Process {}

impl Drop for Process {
    fn drop(&mut self) {
        let child = self.0.get_mut().expect("no panics");
        // One that has ended already is reaped all the same.
        drop(child.kill());
        drop(child.wait());
    }
}
