//! One run on one thread: an instance is made, a driver runs the program in it, and what came of it is put together.

use std::ops::Range;
use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::time::Duration;

use belljar_wasi::Image;
use wasmtime::{Engine, Result, Store, Trap};

use crate::driver::Start;
use crate::guest::{Guest, Surroundings};
use crate::halt;
use crate::instances::Made;
use crate::layers::Layers;
use crate::protocol::{End, Finished, Job, JobLimits, MadeFile, RunId, TOO_LARGE, Work};
use crate::run::{Interruption, Run};
use crate::runtime::Runtime;
use crate::sessions::Sessions;
use crate::snapshot;
use crate::timekeeper::Timekeeper;

/// Runs jobs. Shared by all threads of a worker.
pub(crate) struct Executor {
    runtimes: Vec<Runtime>,
    pub(crate) layers: Layers,
    pub(crate) timekeeper: Arc<Timekeeper>,
    pub(crate) sessions: Sessions,
}

/// What is left of a run when its answer is ready. Clearing it away takes a while that nobody should have to wait for.
pub(crate) enum Remains {
    Nothing,
    /// To be dropped.
    Store(Box<Store<Guest>>),
    /// An instance of this runtime whose run came to its own end.
    Instance(u32, Box<Made>),
}

impl Executor {
    pub(crate) fn new(runtimes: Vec<Runtime>, timekeeper: Arc<Timekeeper>) -> Self {
        Self { runtimes, layers: Layers::default(), timekeeper, sessions: Sessions::default() }
    }

    /// Runs a job to its end on this thread. `layer` is the tree of its packages.
    pub(crate) fn execute(&self, job: &Job, layer: Option<&OwnedFd>, socket: &Arc<OwnedFd>) -> (Finished, Remains) {
        let run = Arc::new(Run::start(job.id, &job.limits, Some(Arc::clone(socket))));
        if job.work == Work::Translate {
            return (translate(job, &run), Remains::Nothing);
        }
        self.timekeeper.watch(&run);
        let (end, mut made) = match self.run(job, layer, &run) {
            Ok(ended) => ended,
            // The instance could not be made, which is our fault.
            Err(error) => (End::Trapped { signal: SIGABRT, message: format!("{error:#}") }, None),
        };
        let cpu = run.cpu_time();
        self.timekeeper.forget(&run);
        let (report, left, peak_bytes) = match &mut made {
            Some(made) => {
                let guest = made.store.data_mut();
                let peak_bytes = guest.peak_bytes();
                (std::mem::take(&mut guest.report), guest.take_workspace(job), peak_bytes)
            }
            None => Default::default(),
        };
        let remains = match made {
            Some(made) if matches!(end, End::Exited(_)) => Remains::Instance(job.runtime, Box::new(made)),
            Some(made) => Remains::Store(Box::new(made.store)),
            None => Remains::Nothing,
        };
        let mut finished = Finished {
            end,
            output: run.take_output(),
            report,
            files: left.files,
            links: left.links,
            gone: left.gone,
            wall_micros: micros(run.elapsed()),
            cpu_micros: micros(cpu),
            peak_bytes,
            lost: None,
        };
        finished.bound();
        (finished, remains)
    }

    /// What comes after the answer.
    pub(crate) fn clear_away(&self, remains: Remains) {
        match remains {
            Remains::Nothing => {}
            Remains::Store(store) => drop(store),
            Remains::Instance(runtime, made) => {
                if let Ok(runtime) = self.runtime(runtime) {
                    runtime.instances.take_back(*made);
                }
            }
        }
    }

    /// Gives up what is only of use while there are many runs.
    pub(crate) fn rest(&self) {
        self.runtimes.iter().for_each(|runtime| runtime.instances.rest());
    }

    pub(crate) fn runtime_named(&self, name: &str) -> Option<(u32, &Runtime)> {
        (0..).zip(&self.runtimes).find(|(_, runtime)| runtime.name == name)
    }

    pub(crate) fn runtime(&self, index: u32) -> Result<&Runtime> {
        let runtime = usize::try_from(index).ok().and_then(|index| self.runtimes.get(index));
        runtime.ok_or_else(|| wasmtime::Error::msg("there is no such runtime"))
    }

    fn run(&self, job: &Job, layer: Option<&OwnedFd>, run: &Arc<Run>) -> Result<(End, Option<Made>)> {
        let runtime = self.runtime(job.runtime)?;
        let layered = match &job.layer {
            Some(entry) => Some(self.layers.image(job.runtime, runtime, entry, layer)?.1),
            None => None,
        };
        let surroundings = Surroundings {
            image: layered.as_ref().unwrap_or(&runtime.image),
            files: &job.files,
            program: Some((&job.file, &job.code)),
            stdin: &job.stdin,
            limits: &job.limits,
            base_memory: runtime.base_memory,
            lowest_address: runtime.memories.lowest_address(),
        };
        let guest = Guest::new(&surroundings, Arc::clone(run))?;
        let Some(mut made) = runtime.instances.make(guest)? else { return Ok((End::OverMemory, None)) };
        let Made { store, instance, .. } = &mut made;
        let forbidden = forbidden(runtime, store)?;
        let result =
            halt::stoppable(&runtime.grounds, run, forbidden, None, || runtime.driver.run(store, instance, job));
        if run.interruption().is_some() {
            // The run was sent to a trap, from which its driver may have drawn the wrong conclusions.
            let report = &mut store.data_mut().report;
            (report.error, report.unsupported) = (None, None);
        }
        let end = judge(&result, run, store.data());
        Ok((end, Some(made)))
    }
}

/// Addresses of an instance's memory that cannot be touched.
pub(crate) fn forbidden(runtime: &Runtime, store: &Store<Guest>) -> Result<Range<usize>> {
    let memory = Guest::memory(store)?.data_ptr(store).addr();
    Ok(memory..memory + runtime.memories.lowest_address() as usize)
}

/// Makes machine code of a module. Nothing interrupts this; the server ends the process if it takes too long.
fn translate(job: &Job, run: &Run) -> Finished {
    let translated = check_module(&job.code).and_then(|()| snapshot::compile_for(Start::EachTime, &job.code));
    let (end, files) = match translated {
        Ok(code) => {
            let size = code.len() as u64;
            (End::Exited(0), vec![MadeFile { path: "program".to_owned(), size, contents: Some(code) }])
        }
        Err(error) => (End::Trapped { signal: SIGABRT, message: format!("{error:#}") }, Vec::new()),
    };
    Finished { files, wall_micros: micros(run.elapsed()), cpu_micros: micros(run.cpu_time()), ..Finished::only(end) }
}

/// Refuses a module that imports functions which nobody has, or that is too large: nothing else bounds the memory and
/// time that its translation takes.
#[expect(clippy::wildcard_enum_match_arm, reason = "other sections have nothing to refuse")]
fn check_module(module: &[u8]) -> Result<()> {
    const MOST_CODE: usize = 8 << 20;
    const MOST_IN_A_FUNCTION: usize = 512 << 10;
    for payload in wasmparser::Parser::new(0).parse_all(module) {
        let too_large = match payload? {
            wasmparser::Payload::ImportSection(imports) => {
                for import in imports.into_imports() {
                    let import = import?;
                    if import.module != "wasi_snapshot_preview1" {
                        let name = format!("{}.{}", import.module, import.name);
                        return Err(wasmtime::Error::msg(format!("there is no `{name}` to import")));
                    }
                }
                false
            }
            // Address space is reserved for one memory, and the limit counts only one.
            wasmparser::Payload::MemorySection(memories) if memories.count() > 1 => {
                return Err(wasmtime::Error::msg("a program has one memory"));
            }
            wasmparser::Payload::CodeSectionStart { size, .. } => size as usize > MOST_CODE,
            wasmparser::Payload::CodeSectionEntry(body) => body.as_bytes().len() > MOST_IN_A_FUNCTION,
            _ => false,
        };
        if too_large {
            return Err(wasmtime::Error::msg(TOO_LARGE));
        }
    }
    Ok(())
}

/// A store with this much memory, for a runtime that is started ahead of all runs; and the run that stands in for that
/// start.
pub(crate) fn set_up_store(engine: &Engine, image: &Image, memory: u64) -> Result<(Store<Guest>, Arc<Run>)> {
    const LONG_MICROS: u64 = 600_000_000;
    const PLENTY: u64 = 1 << 30;
    let limits = JobLimits { wall_micros: LONG_MICROS, cpu_micros: LONG_MICROS, memory, disk: PLENTY, files: 1_000 };
    let run = Arc::new(Run::start(RunId(0), &limits, None));
    let surroundings = Surroundings {
        image,
        files: &[],
        program: None,
        stdin: &[],
        limits: &limits,
        base_memory: 0,
        lowest_address: 0,
    };
    let mut store = Store::new(engine, Guest::new(&surroundings, Arc::clone(&run))?);
    store.limiter(|guest| guest.limiter());
    Ok((store, run))
}

const SIGILL: i32 = 4;
pub(crate) const SIGABRT: i32 = 6;
const SIGFPE: i32 = 8;
const SIGSEGV: i32 = 11;

/// How a run ended, from what wasmtime and our own limits say.
pub(crate) fn judge(result: &Result<i32>, run: &Run, guest: &Guest) -> End {
    let end = match result {
        // It may have come to its end before anybody could stop it.
        Ok(_) if run.interruption() == Some(Interruption::Fault) => interrupted(run),
        // It stopped because it was asked to.
        Ok(_) if run.asked().is_some() => interrupted(run),
        // As the kernel does it.
        Ok(code) => End::Exited(code.to_le_bytes()[0]),
        Err(error) => match (error.downcast_ref::<belljar_wasi::End>(), error.downcast_ref::<Trap>()) {
            (Some(belljar_wasi::End::Exit(code)), _) => End::Exited(code.to_le_bytes()[0]),
            (Some(belljar_wasi::End::Interrupted), _) => interrupted(run),
            // A run that had to end was sent to a trap.
            (None, Some(_)) if run.interruption().is_some() => interrupted(run),
            (None, Some(trap)) => End::Trapped { signal: signal_of(*trap), message: trap.to_string() },
            (None, None) => End::Trapped { signal: SIGABRT, message: format!("{error:#}") },
        },
    };
    let for_want_of_memory = guest.was_refused_memory()
        && match &end {
            End::Trapped { .. } => true,
            End::Exited(code) => *code != 0 && guest.report.is_out_of_memory(),
            End::TimedOut | End::Cancelled | End::OverCpu | End::OverMemory | End::OverDisk | End::Unplaced { .. } => {
                false
            }
        };
    if for_want_of_memory { End::OverMemory } else { end }
}

fn interrupted(run: &Run) -> End {
    match run.interruption().or(run.asked()) {
        Some(Interruption::Cancelled) => End::Cancelled,
        Some(Interruption::OverCpu) => End::OverCpu,
        Some(Interruption::Fault) => End::Trapped { signal: SIGSEGV, message: Trap::MemoryOutOfBounds.to_string() },
        Some(Interruption::TimedOut) | None => End::TimedOut,
    }
}

/// The signal that ends a native program for the same reason.
#[expect(clippy::wildcard_enum_match_arm, reason = "most traps are of features that no runtime of ours uses")]
fn signal_of(trap: Trap) -> i32 {
    match trap {
        // What `abort` and a failed assertion become.
        Trap::UnreachableCodeReached => SIGABRT,
        Trap::IntegerDivisionByZero | Trap::IntegerOverflow | Trap::BadConversionToInteger => SIGFPE,
        Trap::StackOverflow
        | Trap::MemoryOutOfBounds
        | Trap::HeapMisaligned
        | Trap::TableOutOfBounds
        | Trap::IndirectCallToNull
        | Trap::BadSignature
        | Trap::NullReference => SIGSEGV,
        _ => SIGILL,
    }
}

pub(crate) fn micros(duration: Duration) -> u64 {
    u64::try_from(duration.as_micros()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_has_one_memory() {
        // (module (memory 1) …)
        let module = |memories: u8| {
            let section = [vec![5, 1 + 2 * memories, memories], [0, 1].repeat(memories.into())].concat();
            [b"\0asm\x01\0\0\0".to_vec(), section].concat()
        };
        assert!(check_module(&module(1)).is_ok());
        assert!(check_module(&module(2)).is_err());
        assert!(snapshot::compile_for(Start::EachTime, &module(2)).is_err());
    }
}
