//! One cell.

use std::os::fd::OwnedFd;
use std::sync::{Arc, PoisonError};

use belljar_wasi::{Errno, FileVersion};
use wasmtime::{Result, Store};

use super::files::fault;
use super::{Interpreter, Live, now};
use crate::driver::{Cell, Packages};
use crate::execute::{self, Executor, Remains, SIGABRT, judge, micros};
use crate::guest::{Afterwards, Guest, Surroundings};
use crate::halt;
use crate::instances::Made;
use crate::protocol::{End, Finished, Gone, Job, MadeFile, Report, SessionId};
use crate::run::{Interruption, Manner, Run};
use crate::runtime::Runtime;

/// What came of a cell.
#[derive(Default)]
struct Ended {
    end: Option<End>,
    report: Report,
    files: Vec<MadeFile>,
    links: Vec<String>,
    peak_bytes: u64,
    lost: Option<String>,
    store: Option<Store<Guest>>,
}

impl Ended {
    /// It ended before it began: what it was given cannot be placed.
    fn unplaced(path: &str, errno: Errno) -> Self {
        let end = if errno == Errno::Nospc {
            End::OverDisk
        } else {
            End::Unplaced { path: path.to_owned(), fault: fault(errno) }
        };
        Self { end: Some(end), ..Self::default() }
    }
}

impl Executor {
    /// Runs a cell to its end on this thread. `layer` is the tree of its packages.
    pub(crate) fn cell(
        &self,
        session: SessionId,
        job: &Job,
        layer: Option<&OwnedFd>,
        socket: &Arc<OwnedFd>,
    ) -> (Finished, Remains) {
        let manner = self.runtime(job.runtime).ok().and_then(|runtime| runtime.cells).unwrap_or(Manner::Halted);
        let run = Arc::new(Run::start(job.id, &job.limits, Some(Arc::clone(socket))).ended(manner));
        self.timekeeper.watch(&run);
        let ended = match self.sessions.find(session) {
            Some(live) => live.lock().unwrap_or_else(PoisonError::into_inner).run(self, job, layer, &run),
            None => Err(wasmtime::Error::msg("there is no such session")),
        };
        // If a cell could not even start, that is our fault.
        let failed = |error: wasmtime::Error| Ended {
            end: Some(End::Trapped { signal: SIGABRT, message: format!("{error:#}") }),
            ..Ended::default()
        };
        let ended = ended.unwrap_or_else(failed);
        let cpu = run.cpu_time();
        self.timekeeper.forget(&run);
        let mut finished = Finished {
            end: ended.end.unwrap_or(End::Exited(0)),
            output: run.take_output(),
            report: ended.report,
            files: ended.files,
            links: ended.links,
            // Its files are where it runs.
            gone: Gone::default(),
            wall_micros: micros(run.elapsed()),
            cpu_micros: micros(cpu),
            peak_bytes: ended.peak_bytes,
            lost: ended.lost,
        };
        finished.bound();
        (finished, ended.store.map_or(Remains::Nothing, |store| Remains::Store(Box::new(store))))
    }
}

impl Live {
    fn run(&mut self, executor: &Executor, job: &Job, layer: Option<&OwnedFd>, run: &Arc<Run>) -> Result<Ended> {
        if run.interruption().or(run.asked()).is_some() {
            // Given up before its turn came. Whoever gave it up may have gone on since.
            return Ok(Ended { end: Some(End::Cancelled), ..Ended::default() });
        }
        self.cells += 1;
        let runtime = executor.runtime(job.runtime)?;
        for file in &job.files {
            if let Err(errno) = self.disk.put(&file.path, file.contents.as_slice(), now()) {
                return Ok(Ended::unplaced(&file.path, errno));
            }
        }
        self.take_note();
        let packages = match &job.layer {
            Some(entry) if self.add_layer(executor, job.runtime, (entry, layer))? => Packages::Changed,
            Some(_) | None => Packages::Same,
        };
        let (mut interpreter, packages) = match self.take(job.runtime) {
            Some(mut interpreter) => {
                if packages == Packages::Changed {
                    interpreter.store.data_mut().wasi()?.set_image(&self.image(job.runtime, runtime)?);
                }
                (interpreter, packages)
            }
            None => match self.start(runtime, job.runtime, run)? {
                Some(interpreter) => (interpreter, Packages::Same),
                None => return Ok(Ended { end: Some(End::OverMemory), ..Ended::default() }),
            },
        };
        let program = match runtime.cells {
            Some(_) => None,
            None => match self.put_program(job) {
                Ok(program) => Some(program),
                Err(errno) => return Ok(Ended::unplaced(program_path(job), errno)),
            },
        };
        let cell = Cell { job, name: format!("<cell {}>", self.cells), packages };
        // The limit is for all of them together. Only one runs at a time, so what the others hold does not change.
        let most = runtime.base_memory + self.limits.memory.saturating_sub(self.held(executor)?);
        let mut ended = self.run_in(&mut interpreter, (runtime, most), &cell, run)?;
        if let Some(program) = program {
            self.take_program(job, program);
        }
        (ended.files, ended.links) = self.changed();
        self.fill(&mut ended.files, job.collect);
        if runtime.cells.is_some() && ended.lost.is_none() {
            self.interpreters.push(interpreter);
        } else {
            ended.store = Some(interpreter.store);
        }
        Ok(ended)
    }

    fn take(&mut self, runtime: u32) -> Option<Interpreter> {
        let place = self.interpreters.iter().position(|interpreter| interpreter.runtime == runtime)?;
        Some(self.interpreters.swap_remove(place))
    }

    /// How much of the session's memory its interpreters hold, counted as the limit counts: beyond what each starts
    /// with.
    fn held(&self, executor: &Executor) -> Result<u64> {
        let held = self.interpreters.iter().map(|interpreter| {
            let size = Guest::memory(&interpreter.store)?.data_size(&interpreter.store) as u64;
            Ok(size.saturating_sub(executor.runtime(interpreter.runtime)?.base_memory))
        });
        held.sum()
    }

    /// A new instance. `None`: it may not have as much memory as it starts with.
    fn start(&self, runtime: &Runtime, index: u32, run: &Arc<Run>) -> Result<Option<Interpreter>> {
        let image = self.image(index, runtime)?;
        let surroundings = Surroundings {
            image: &image,
            files: &[],
            program: None,
            stdin: &[],
            limits: &self.limits,
            base_memory: runtime.base_memory,
            lowest_address: runtime.memories.lowest_address(),
        };
        let made = runtime.instances.make(Guest::new(&surroundings, Arc::clone(run))?)?;
        let Some(Made { store, instance, .. }) = made else { return Ok(None) };
        let mut interpreter = Interpreter { runtime: index, store, instance };
        interpreter.learn_to_be_asked(runtime)?;
        Ok(Some(interpreter))
    }

    fn run_in(
        &mut self,
        interpreter: &mut Interpreter,
        (runtime, most): (&Runtime, u64),
        cell: &Cell<'_>,
        run: &Arc<Run>,
    ) -> Result<Ended> {
        let Interpreter { store, instance, .. } = interpreter;
        let (forbidden, ask) = (execute::forbidden(runtime, store)?, Guest::ask(store));
        store.data_mut().enter(run, &mut self.disk, &cell.job.stdin, most)?;
        let result = halt::stoppable(&runtime.grounds, run, forbidden, ask, || match runtime.cells {
            Some(_) => runtime.driver.cell(store, instance, cell),
            None => runtime.driver.run(store, instance, cell.job),
        });
        let guest = store.data_mut();
        if run.interruption().or(run.asked()).is_some() {
            // What it says of its own end is about being interrupted.
            (guest.report.error, guest.report.unsupported) = (None, None);
        }
        let end = judge(&result, run, guest);
        let peak_bytes = guest.peak_bytes();
        let lost = runtime.cells.and_then(|manner| lost(&result, &end, run, manner));
        let goes = runtime.cells.is_none() || lost.is_some();
        let report = guest.leave(&mut self.disk, if goes { Afterwards::Gone } else { Afterwards::Stays });
        Ok(Ended { end: Some(end), report, peak_bytes, lost, ..Ended::default() })
    }

    /// Puts a program where interpreters that load it themselves find it. Returns its version, and what was there
    /// before.
    fn put_program(&mut self, job: &Job) -> Result<(FileVersion, Option<Vec<u8>>), Errno> {
        let path = program_path(job);
        let before = match self.disk.size(path) {
            Ok(size) => {
                let mut contents = vec![0; usize::try_from(size).map_err(|_| Errno::Overflow)?];
                self.disk.read(path, 0, &mut contents)?;
                Some(contents)
            }
            Err(_) => None,
        };
        Ok((self.disk.put(path, job.code.as_slice(), now())?, before))
    }

    /// Takes it away again, unless the program made something else of it.
    fn take_program(&mut self, job: &Job, (version, before): (FileVersion, Option<Vec<u8>>)) {
        let path = program_path(job);
        if self.disk.version(path) != Ok(version) {
            return;
        }
        match before {
            Some(contents) => {
                if let Ok(version) = self.disk.put(path, contents, now()) {
                    self.known.know(path, version);
                }
            }
            // It is there, as its version says.
            None => drop(self.disk.remove(path, now())),
        }
    }
}

impl Interpreter {
    /// Finds out how it is told to stop.
    pub(super) fn learn_to_be_asked(&mut self, runtime: &Runtime) -> Result<()> {
        if runtime.cells == Some(Manner::Asked)
            && let Some(list) = runtime.driver.ask(&mut self.store, &self.instance)?
        {
            self.store.data_mut().set_ask(list);
        }
        Ok(())
    }
}

fn program_path(job: &Job) -> &str {
    job.file.strip_prefix(crate::WORKSPACE).unwrap_or(&job.file).trim_start_matches('/')
}

/// Why an interpreter cannot run another cell, if it cannot: it was left in the middle of something.
fn lost(result: &Result<i32>, end: &End, run: &Run, manner: Manner) -> Option<String> {
    let error = result.as_ref().err()?;
    let why = match (run.interruption(), manner) {
        (Some(Interruption::TimedOut), Manner::Asked) => "it did not stop when its time was over",
        (Some(Interruption::OverCpu), Manner::Asked) => "it did not stop when its CPU time was used up",
        (Some(Interruption::Cancelled), Manner::Asked) => "it did not stop when it was cancelled",
        (Some(_), _) => "this interpreter can only be ended, not interrupted",
        (None, _) => match (error.downcast_ref::<belljar_wasi::End>(), end) {
            (Some(belljar_wasi::End::Exit(code)), _) => {
                return Some(format!("the cell ended the interpreter itself, with exit code {}", code & 0xff));
            }
            (_, End::OverMemory) => "the interpreter ran out of memory",
            (_, _) => return Some(format!("the interpreter crashed: {}", crash(error))),
        },
    };
    Some(why.to_owned())
}

fn crash(error: &wasmtime::Error) -> String {
    error.downcast_ref::<wasmtime::Trap>().map_or_else(|| format!("{error:#}"), ToString::to_string)
}
