//! Languages that are compiled: C and C++.
//!
//! The compiler and the linker are WebAssembly and run like any program, each in an instance of its own. What they make
//! is translated to machine code, which gives a runtime with a single program in it. Each half has processes of its
//! own. A [`Workshop`] makes one program and ends, since nothing less stops a translation that takes too long. A worker
//! runs one program: it loads the program before it gives up the right to load code, and every run in it is a fresh
//! instance. Blank processes are started ahead, so that no run waits for one to start.

mod cache;
mod tools;
mod wants;
mod workshop;

use std::collections::VecDeque;
use std::os::fd::OwnedFd;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use sandbox::{LiveOutput, Plan, Stream};

use crate::InstalledRuntime;
use crate::connection::{Blank, Connection, OpenRuntime};
use crate::driver::PROGRAM;
use crate::error::WasmError;
use crate::pool::open_runtime;
use crate::protocol::{Collecting, Dialect, End, Finished, JobLimits, Report, ReportedError};
use crate::wall::Wall;
use cache::{Cache, Key};
use workshop::Workshop;

pub(crate) use tools::{Headers, precompile};
pub(crate) use wants::Wants;

/// What a program is called in its own arguments, as in the native engine.
const PROGRAM_NAME: &str = "/tmp/build/main";

/// Compiles and runs programs.
#[derive(Debug)]
pub(crate) struct Compiled {
    wall: Arc<dyn Wall>,
    tools: InstalledRuntime,
    waiting: Mutex<Waiting>,
    cache: Mutex<Cache>,
    /// Workers whose programs ran recently, the latest one last: the same program is often run again with other input.
    idle: Mutex<VecDeque<(Arc<Program>, OwnWorker)>>,
}

/// The most workers that wait for their program to be run again.
const MOST_IDLE: usize = 4;

/// Processes that wait for a run: one of each kind, once there has been a run. They belong to no caller yet.
#[derive(Debug, Default)]
struct Waiting {
    blank: Option<Blank>,
    workshop: Option<OwnWorker>,
}

/// A worker with a single user. Ends when this is dropped.
#[derive(Debug)]
struct OwnWorker(Arc<Connection>);

impl Drop for OwnWorker {
    fn drop(&mut self) {
        self.0.end();
    }
}

/// A program that can be loaded.
#[derive(Debug)]
struct Program {
    /// A memfd that nobody can write to any more.
    module: OwnedFd,
    size: u64,
    /// What the compiler said.
    diagnostics: String,
}

/// What came of a run.
pub(crate) struct Ran {
    pub(crate) finished: Finished,
    /// What the compiler said of a program that it compiled.
    pub(crate) diagnostics: Option<String>,
}

/// Why there is no program to run.
enum Stopped {
    /// Through the caller's fault, or for a limit.
    Unmade(Box<Unmade>),
    /// Through our fault.
    Failed(WasmError),
}

struct Unmade {
    end: End,
    said: String,
    error: Option<ReportedError>,
    unsupported: Option<String>,
}

impl Unmade {
    fn link_error(message: &str) -> Self {
        let error = ReportedError { kind: "LinkError".to_owned(), message: message.to_owned(), line: None };
        Self { end: End::Exited(1), said: format!("{message}\n"), error: Some(error), unsupported: None }
    }

    fn late() -> Self {
        Self { end: End::TimedOut, said: String::new(), error: None, unsupported: None }
    }
}

impl From<WasmError> for Stopped {
    fn from(error: WasmError) -> Self {
        Self::Failed(error)
    }
}

impl Compiled {
    pub(crate) fn new(wall: Arc<dyn Wall>, tools: InstalledRuntime) -> Self {
        Self { wall, tools, waiting: Mutex::default(), cache: Mutex::default(), idle: Mutex::default() }
    }

    /// Compiles a program, unless that was done before, and runs it. Its time began when `started` says.
    pub(crate) async fn run(
        self: &Arc<Self>,
        plan: &Plan,
        started: Instant,
        collect: Collecting,
        live: &mut dyn LiveOutput,
    ) -> Result<Ran, WasmError> {
        let mut spent = Spent::since(started, plan);
        let key = Key::of(plan);
        let known = self.cache.lock().unwrap_or_else(PoisonError::into_inner).get(&key);
        let program = match known {
            Some(program) => program,
            None => match self.make(plan, &mut spent).await {
                Ok(program) => {
                    self.cache.lock().unwrap_or_else(PoisonError::into_inner).put(key, Arc::clone(&program));
                    program
                }
                Err(Stopped::Failed(error)) => return Err(error),
                Err(Stopped::Unmade(unmade)) => {
                    live.output(Stream::Stderr, unmade.said.as_bytes());
                    return Ok(Ran { finished: spent.without_a_run(*unmade), diagnostics: None });
                }
            },
        };
        let mut live = Said { anything: Anything::No, live };
        let mut idle = self.idle_worker(&program);
        let (worker, ran) = loop {
            let is_used = idle.is_some();
            let worker = match idle.take() {
                Some(worker) => worker,
                None => match self.load(&program).await {
                    Ok(worker) => worker,
                    // The caller made the program, so the caller is told that it cannot be loaded.
                    Err(WasmError::WorkerFailed(reason)) => {
                        let unmade = Unmade::link_error(&format!("the program cannot be loaded: {reason}"));
                        live.output(Stream::Stderr, unmade.said.as_bytes());
                        return Ok(Ran { finished: spent.without_a_run(unmade), diagnostics: None });
                    }
                    Err(error) => return Err(error),
                },
            };
            let mut job = crate::job(plan, worker.0.number(), 0, Dialect::Plain);
            job.args.insert(0, PROGRAM_NAME.to_owned());
            job.limits = spent.rest_of(job.limits);
            job.collect = collect;
            let ran = worker.0.run(job, None, &mut live).await;
            // A worker that has waited may end for reasons that have nothing to do with this run: others ran in it, and
            // something else may have wanted its memory.
            if is_used && live.anything == Anything::No && matches!(ran, Err(WasmError::WorkerLost)) {
                continue;
            }
            break (worker, ran);
        };
        let mut finished = match ran {
            Ok(finished) => spent.and(finished),
            // It did not answer at its deadline, and was ended. Nobody else's run was in it.
            Err(WasmError::Unresponsive) => spent.without_a_run(Unmade::late()),
            Err(error) => return Err(error),
        };
        if let End::Trapped { message, .. } = &mut finished.end {
            *message = explained(message);
        }
        let diagnostics = (!program.diagnostics.is_empty()).then(|| program.diagnostics.clone());
        self.keep(program, worker);
        Ok(Ran { finished, diagnostics })
    }

    async fn make(self: &Arc<Self>, plan: &Plan, spent: &mut Spent) -> Result<Arc<Program>, Stopped> {
        let worker = self.workshop().await?;
        Ok(Arc::new(Workshop::new(worker, plan, spent).make().await?))
    }

    /// A worker that the program has run in.
    fn idle_worker(&self, program: &Arc<Program>) -> Option<OwnWorker> {
        let mut idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner);
        let place = idle.iter().position(|(other, worker)| Arc::ptr_eq(other, program) && worker.0.is_alive());
        place.and_then(|place| idle.remove(place)).map(|(_, worker)| worker)
    }

    /// A new worker that has the program loaded.
    async fn load(self: &Arc<Self>, program: &Program) -> Result<OwnWorker, WasmError> {
        let load = async |blank: Blank| {
            let module = program.module.try_clone().map_err(WasmError::Sockets)?;
            let runtime = OpenRuntime { name: PROGRAM.to_owned(), module, tree: None };
            Ok(OwnWorker(blank.load(1, &[runtime]).await?))
        };
        let waiting = self.waiting.lock().unwrap_or_else(PoisonError::into_inner).blank.take();
        self.refill();
        if let Some(waiting) = waiting {
            match load(waiting).await {
                // Like a worker that has a program, it may have ended while it waited.
                Err(WasmError::WorkerLost | WasmError::Sockets(_)) => {}
                loaded => return loaded,
            }
        }
        load(Blank::start(&*self.wall).await?).await
    }

    fn keep(&self, program: Arc<Program>, worker: OwnWorker) {
        let mut idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner);
        idle.push_back((program, worker));
        let too_many = if idle.len() > MOST_IDLE { idle.pop_front() } else { None };
        drop(idle);
        // Dropping one ends a process, which others should not have to wait for.
        drop(too_many);
    }

    async fn workshop(self: &Arc<Self>) -> Result<OwnWorker, WasmError> {
        let waiting = self.waiting.lock().unwrap_or_else(PoisonError::into_inner).workshop.take();
        // One that has waited may have ended: something else on this machine needed its memory.
        match waiting.filter(|workshop| workshop.0.is_alive()) {
            Some(workshop) => Ok(workshop),
            None => self.start_workshop().await,
        }
    }

    async fn start_workshop(&self) -> Result<OwnWorker, WasmError> {
        let tools = open_runtime(&self.tools)?;
        Ok(OwnWorker(Blank::start(&*self.wall).await?.load(1, &[tools]).await?))
    }

    /// Starts what the next run will want. A failure here would recur then, and is reported then.
    fn refill(self: &Arc<Self>) {
        let this = Arc::clone(self);
        tokio::spawn(async move {
            let lacks =
                |lacks: fn(&Waiting) -> bool| lacks(&this.waiting.lock().unwrap_or_else(PoisonError::into_inner));
            if lacks(|waiting| waiting.blank.is_none())
                && let Ok(blank) = Blank::start(&*this.wall).await
            {
                this.waiting.lock().unwrap_or_else(PoisonError::into_inner).blank = Some(blank);
            }
            if lacks(|waiting| waiting.workshop.is_none())
                && let Ok(workshop) = this.start_workshop().await
            {
                this.waiting.lock().unwrap_or_else(PoisonError::into_inner).workshop = Some(workshop);
            }
        });
    }
}

/// Passes output on, and knows whether there was any.
struct Said<'a> {
    anything: Anything,
    live: &'a mut dyn LiveOutput,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Anything {
    No,
    Yes,
}

impl LiveOutput for Said<'_> {
    fn output(&mut self, stream: Stream, bytes: &[u8]) {
        self.anything = Anything::Yes;
        self.live.output(stream, bytes);
    }
}

/// A trap's name, in the words of somebody who writes C.
fn explained(trap: &str) -> String {
    const WORDS: &[(&str, &str)] = &[
        (
            "out of bounds memory access",
            "it used memory that is not its own: a null or wild pointer, or an index out of range",
        ),
        (
            "unreachable",
            "it called abort, or did what has no meaning in its language, such as falling off the end of a function",
        ),
        ("call stack exhausted", "its stack is full: a recursion without an end"),
        ("integer divide by zero", "it divided by zero"),
        ("integer overflow", "it divided the smallest integer by -1"),
        ("thrown Wasm exception", "it jumped to a place that is not there any more"),
        ("indirect call type mismatch", "it called a function through a pointer of another type"),
        ("uninitialized element", "it called a function through a null pointer"),
        ("undefined element", "it called a function through a wild pointer"),
    ];
    let known = WORDS.iter().find(|(name, _)| trap.contains(name));
    known.map_or_else(|| trap.to_owned(), |(_, words)| (*words).to_owned())
}

/// How much of its limits a run has used. They hold for its parts together.
#[derive(Debug)]
struct Spent {
    started: Instant,
    wall: Duration,
    cpu_micros: u64,
    peak_bytes: u64,
}

impl Spent {
    fn since(started: Instant, plan: &Plan) -> Self {
        Self { started, wall: plan.limits().wall, cpu_micros: 0, peak_bytes: 0 }
    }

    /// What is left of the time.
    fn wall_left(&self) -> Duration {
        self.wall.saturating_sub(self.started.elapsed())
    }

    /// These limits, less what was used.
    fn rest_of(&self, limits: JobLimits) -> JobLimits {
        JobLimits {
            wall_micros: u64::try_from(self.wall_left().as_micros()).unwrap_or(u64::MAX),
            cpu_micros: limits.cpu_micros.saturating_sub(self.cpu_micros),
            ..limits
        }
    }

    /// A part is over.
    fn and(&mut self, mut finished: Finished) -> Finished {
        self.cpu_micros += finished.cpu_micros;
        self.peak_bytes = self.peak_bytes.max(finished.peak_bytes);
        finished.wall_micros = self.wall_micros();
        finished.cpu_micros = self.cpu_micros;
        finished.peak_bytes = self.peak_bytes;
        finished
    }

    fn without_a_run(&self, unmade: Unmade) -> Finished {
        Finished {
            report: Report { error: unmade.error, unsupported: unmade.unsupported, ..Report::default() },
            wall_micros: self.wall_micros(),
            cpu_micros: self.cpu_micros,
            peak_bytes: self.peak_bytes,
            ..Finished::only(unmade.end)
        }
    }

    fn wall_micros(&self) -> u64 {
        u64::try_from(self.started.elapsed().as_micros()).unwrap_or(u64::MAX)
    }
}
