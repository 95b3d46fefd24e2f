//! The worker process: hosts guests, has nothing else, and can do nothing else.
//!
//! It receives [`Hello`], loads the runtimes from the descriptors that come with it, starts one thread a slot, gives up
//! every system call that it no longer needs, and says [`Greeting::Ready`]. From then on its threads take jobs until
//! the server is gone.

use std::fs::File;
use std::io;
use std::os::fd::OwnedFd;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use crate::execute::Executor;
use crate::halt;
use crate::jobs::Jobs;
use crate::machine;
use crate::protocol::{self, Control, Greeting, Hello, MAX_PACKET, Reply, Reset, RunId, Task, TreeEntry};
use crate::runtime::Runtime;
use crate::timekeeper::Timekeeper;

/// The argument with which the binary becomes a worker.
pub const WORKER_ARGUMENT: &str = "__worker";

/// Runs the worker until the server is gone. Descriptor 0 is the control socket.
pub fn main() -> ExitCode {
    let Ok(control) = rustix::io::fcntl_dupfd_cloexec(rustix::stdio::stdin(), 3) else {
        return ExitCode::FAILURE;
    };
    let worker = match Worker::start(&control) {
        Ok(worker) => worker,
        Err(error) => {
            // A server that does not hear this sees the end of the socket.
            protocol::send(&control, &Greeting::Failed(format!("{error:#}")), &[]).ok();
            return ExitCode::FAILURE;
        }
    };
    if protocol::send(&control, &Greeting::Ready(worker.reset), &[]).is_err() {
        return ExitCode::FAILURE;
    }
    worker.listen(&control);
    ExitCode::SUCCESS
}

/// Why a worker cannot work.
#[derive(Debug, thiserror::Error)]
enum StartError {
    #[error("no hello came: {0}")]
    Hello(#[from] io::Error),
    #[error("the server is another build, `{0}`: belljar was replaced while it ran, and must be started again")]
    Build(String),
    #[error("descriptors are missing")]
    Descriptors,
    #[error("runtime `{name}`: {error:#}")]
    Runtime { name: String, error: wasmtime::Error },
    #[error("the lock-down failed: {0}")]
    Seal(#[from] jail::Failure),
}

struct Worker {
    executor: Arc<Executor>,
    timekeeper: Arc<Timekeeper>,
    reset: Reset,
}

impl Worker {
    fn start(control: &OwnedFd) -> Result<Self, StartError> {
        let (hello, descriptors) =
            protocol::receive::<Hello>(control)?.ok_or(io::Error::from(io::ErrorKind::UnexpectedEof))?;
        if hello.build != protocol::build() {
            return Err(StartError::Build(hello.build));
        }
        halt::catch_faults()?;
        let mut descriptors = descriptors.into_iter();
        // One more than there are runs at one time, so that asking for a session's files never has to wait for a run.
        let threads = hello.slots.saturating_add(1);
        let jobs = Arc::new(Jobs::new(descriptors.next().ok_or(StartError::Descriptors)?, threads));
        let mut runtimes = Vec::new();
        for entry in &hello.runtimes {
            let module = descriptors.next().ok_or(StartError::Descriptors)?;
            let tree = match entry.tree {
                TreeEntry::None => None,
                TreeEntry::Own => Some(File::from(descriptors.next().ok_or(StartError::Descriptors)?)),
            };
            let runtime = Runtime::load(&entry.name, File::from(module), tree)
                .map_err(|error| StartError::Runtime { name: entry.name.clone(), error })?;
            runtimes.push(runtime);
        }
        let reset = if runtimes.iter().all(Runtime::scans) { Reset::Scan } else { Reset::Remap };
        let timekeeper = Arc::new(Timekeeper::new());
        let executor = Arc::new(Executor::new(runtimes, Arc::clone(&timekeeper)));
        spawn_timekeeper(Arc::clone(&executor), Arc::clone(&timekeeper))?;
        for _ in 0..threads {
            let (executor, jobs) = (Arc::clone(&executor), Arc::clone(&jobs));
            std::thread::Builder::new().stack_size(machine::THREAD_STACK).spawn(move || take_jobs(&executor, &jobs))?;
        }
        jail::seal_worker()?;
        Ok(Self { executor, timekeeper, reset })
    }

    /// Hears what concerns runs that go on, until the server is gone.
    fn listen(&self, control: &OwnedFd) {
        while let Ok(Some((control, _))) = protocol::receive::<Control>(control) {
            match control {
                Control::Cancel(id) => self.timekeeper.cancel(id),
                Control::Consumed(id, bytes) => {
                    if let Some(run) = self.timekeeper.find(id) {
                        run.consumed(bytes);
                    }
                }
                Control::Close(session) => self.executor.close(session),
            }
        }
    }
}

fn spawn_timekeeper(executor: Arc<Executor>, timekeeper: Arc<Timekeeper>) -> io::Result<()> {
    std::thread::Builder::new().name("timekeeper".to_owned()).spawn(move || timekeeper.keep(|| executor.rest()))?;
    Ok(())
}

/// A thread's life. The process ends with the server, so this never has to.
fn take_jobs(executor: &Executor, jobs: &Jobs) {
    let mut buffer = vec![0; MAX_PACKET];
    loop {
        match jobs.next(&mut buffer) {
            Ok(Some((task, files))) => execute(executor, task, &files, jobs.socket()),
            // The server is gone; whoever listens on the control socket ends the process.
            Ok(None) => return,
            // A packet that cannot be read names no run that could be told. The server would notice the missing answer.
            Err(error) if error.kind() == io::ErrorKind::InvalidData => {}
            // Out of descriptors or memory, but not forever.
            Err(_) => std::thread::sleep(Duration::from_millis(10)),
        }
    }
}

fn execute(executor: &Executor, task: Task, files: &[OwnedFd], jobs: &Arc<OwnedFd>) {
    let (id, reply, remains) = match task {
        Task::Run(job) => {
            let (finished, remains) = executor.execute(&job, files.first(), jobs);
            (job.id, Reply::Finished(Box::new(finished)), Some(remains))
        }
        Task::Cell(session, job) => {
            let (finished, remains) = executor.cell(session, &job, files.first(), jobs);
            (job.id, Reply::Finished(Box::new(finished)), Some(remains))
        }
        Task::Errand(session, id, errand) => {
            (id, Reply::Answer(Box::new(executor.errand(session, errand, files))), None)
        }
    };
    send_reply(jobs, id, &reply).ok();
    if let Some(remains) = remains {
        executor.clear_away(remains);
    }
}

fn send_reply(jobs: &OwnedFd, run: RunId, reply: &Reply) -> io::Result<()> {
    let encoded = protocol::encode(reply)?;
    for part in protocol::parts(run, &encoded) {
        protocol::send_bytes(jobs, &protocol::encode(&part)?, &[])?;
    }
    Ok(())
}
