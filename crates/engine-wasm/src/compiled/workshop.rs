//! Makes a program: compiles, links and translates it, in a worker that has the tools.

use std::fs::File;
use std::io::{self, Write as _};
use std::os::fd::OwnedFd;

use rustix::fs::{MemfdFlags, SealFlags};
use sandbox::{Bytes, Capture, Captured, Evidence, LiveOutput, OutputFile, Plan, Step, Stream, diagnose};

use super::tools::Headers;
use super::wants::{self, Wants};
use super::{OwnWorker, Program, Spent, Stopped, Unmade, tools};
use crate::WORKSPACE;
use crate::error::WasmError;
use crate::protocol::{Collecting, Dialect, End, Finished, Job, JobFile, JobLimits, ReportedError, TOO_LARGE, Work};

/// The least memory that a compiler gets. What it needs depends on a program's headers more than on the program.
const LEAST_MEMORY: u64 = 512 << 20;
/// Room for what the compiler and the linker write: as much as can be brought back.
const DISK: u64 = OutputFile::MAX_CONTENTS;

/// What is kept of what they say.
const MOST_SAID: Bytes = Bytes::kib(64);

/// A workshop at work.
pub(super) struct Workshop<'a> {
    worker: OwnWorker,
    plan: &'a Plan,
    spent: &'a mut Spent,
    said: Said,
}

struct Said(Capture);

impl LiveOutput for Said {
    fn output(&mut self, _: Stream, bytes: &[u8]) {
        self.0.push(bytes);
    }
}

impl<'a> Workshop<'a> {
    pub(super) fn new(worker: OwnWorker, plan: &'a Plan, spent: &'a mut Spent) -> Self {
        Self { worker, plan, spent, said: Said(Capture::new(MOST_SAID)) }
    }

    pub(super) async fn make(mut self) -> Result<Program, Stopped> {
        let source = &self.plan.names().source;
        let headers = Headers::for_program(self.plan);
        let first = match self.compile(source, 0, headers).await {
            // Headers that the program does not include may define names that it wants for itself. So a program that
            // does not compile gets another chance without them, and the compiler's last word is about the program as
            // it stands.
            Err(Stopped::Unmade(unmade)) if headers != Headers::Own && unmade.end == End::Exited(1) => {
                self.compile(source, 0, Headers::Own).await?
            }
            compiled => compiled?,
        };
        let mut objects = vec![first];
        for file in self.plan.more_sources() {
            objects.push(self.compile(file.path.as_str(), objects.len(), Headers::Own).await?);
        }
        self.check_main(&objects)?;
        let linked = self.run(tools::link(self.plan, objects.len()), objects, tools::LINKED).await?;
        let code = self.translate(linked).await?;
        let size = code.len() as u64;
        let module = sealed(&code).map_err(WasmError::Sockets)?;
        Ok(Program { module, size, diagnostics: self.said.0.finish().text })
    }

    /// Checks that there is a `main`. The linker would not notice: the library has one that traps.
    fn check_main(&mut self, objects: &[JobFile]) -> Result<(), Stopped> {
        let has =
            |name: &[u8]| objects.iter().any(|object| object.contents.windows(name.len()).any(|part| part == name));
        if has(b"__main_void") || has(b"__main_argc_argv") {
            return Ok(());
        }
        // The compiler does not rename a `main` that returns nothing, or takes the environment.
        let said: &[u8] = if has(b"\x04main") {
            b"wasm-ld: error: function signature mismatch: main\n"
        } else {
            b"wasm-ld: error: undefined symbol: main\n"
        };
        self.said.output(Stream::Stderr, said);
        Err(self.stopped(End::Exited(1)))
    }

    async fn compile(&mut self, source: &str, index: usize, headers: Headers) -> Result<JobFile, Stopped> {
        let line = tools::compile(self.plan, &format!("{WORKSPACE}/{source}"), index, headers);
        let path = tools::object_of(index);
        let contents = self.run(line, Vec::new(), &path).await?;
        Ok(JobFile { path, contents })
    }

    /// Runs a tool, with the program's files and these, for one file that it makes.
    async fn run(&mut self, line: Vec<String>, files: Vec<JobFile>, makes: &str) -> Result<Vec<u8>, Stopped> {
        let mut job = crate::job(self.plan, self.worker.0.number(), 0, Dialect::Plain);
        job.args = line;
        job.env = Vec::new();
        job.stdin = Vec::new();
        job.files.extend(files);
        job.collect = Collecting::Contents;
        let given = job.files.iter().map(|file| file.contents.len() as u64).sum::<u64>();
        job.limits = self.spent.rest_of(JobLimits {
            memory: job.limits.memory.max(LEAST_MEMORY),
            disk: given + DISK,
            files: job.limits.files.saturating_add(1_000),
            ..job.limits
        });
        let mut finished = match self.worker.0.run(job, None, &mut self.said).await {
            Ok(finished) => self.spent.and(finished),
            // Long before its time it was told to end, and is ended for it now.
            Err(WasmError::Unresponsive) => return Err(self.stopped(End::TimedOut)),
            Err(error) => return Err(error.into()),
        };
        if finished.end != End::Exited(0) {
            return Err(self.stopped(finished.end));
        }
        let made = finished.files.iter_mut().find(|file| file.path == makes).and_then(|file| file.contents.take());
        made.ok_or_else(|| {
            self.said.output(Stream::Stderr, b"error: what was made is too large: No space left on device\n");
            self.stopped(End::Exited(1))
        })
    }

    /// Makes machine code of a module.
    async fn translate(&mut self, module: Vec<u8>) -> Result<Vec<u8>, Stopped> {
        let job = Job {
            work: Work::Translate,
            code: module,
            files: Vec::new(),
            ..crate::job(self.plan, self.worker.0.number(), 0, Dialect::Plain)
        };
        let over = self.spent.wall_left();
        let Ok(finished) = tokio::time::timeout(over, self.worker.0.run(job, None, &mut ())).await else {
            return Err(self.stopped(End::TimedOut));
        };
        let Finished { end, mut files, .. } = self.spent.and(finished?);
        match (end, files.pop().and_then(|file| file.contents)) {
            (End::Exited(0), Some(code)) => Ok(code),
            (end, _) => Err(self.stopped(end)),
        }
    }

    /// Why there is no program.
    fn stopped(&mut self, end: End) -> Stopped {
        let said = std::mem::replace(&mut self.said.0, Capture::new(MOST_SAID)).finish();
        let error = |message: &str| {
            Some(ReportedError { kind: "CompileError".to_owned(), message: message.to_owned(), line: None })
        };
        let (end, reported, unsupported) = match end {
            End::Trapped { message, .. } if message.contains(TOO_LARGE) => (
                End::Exited(1),
                error("the program is too large"),
                Some("it is too large to be compiled for WebAssembly"),
            ),
            _ if said.text.contains("LLVM ERROR: out of memory") => {
                (End::OverMemory, error("the compiler needs more memory than the limit"), None)
            }
            // Its stack, nearly always.
            End::Trapped { message, .. }
                if message.contains("out of bounds") || message.contains("stack exhausted") =>
            {
                let message = "the program is nested too deeply for the compiler";
                (End::Exited(1), error(message), Some("it is nested too deeply for the compiler in WebAssembly"))
            }
            End::Trapped { message, .. } => {
                let message = format!("the compiler gave up: {message}");
                (End::Exited(1), error(&message), Some("the compiler in WebAssembly gave up on it"))
            }
            End::TimedOut => (End::TimedOut, error("the compiler was not done when the time was over"), None),
            End::OverCpu => (End::OverCpu, error("the compiler was not done when the CPU time was used up"), None),
            End::OverMemory => (End::OverMemory, error("the compiler needs more memory than the limit"), None),
            End::Exited(_) => (End::Exited(1), None, Wants::of(self.plan).cannot()),
            end @ (End::Cancelled | End::OverDisk | End::Unplaced { .. }) => (end, None, None),
        };
        let unsupported = unsupported.map(str::to_owned).or_else(|| wants::missing_in(&said.text));
        let first_line = || error(said.text.lines().next().unwrap_or("the compiler says nothing"));
        let error = reported.or_else(|| self.diagnosed(&said)).or_else(first_line);
        Stopped::Unmade(Box::new(Unmade { end, said: said.text, error, unsupported }))
    }

    fn diagnosed(&self, said: &Captured) -> Option<ReportedError> {
        let error = diagnose(&Evidence {
            language: self.plan.language().id,
            step: Step::Compile,
            stderr: &said.text,
            stdout: "",
            source: &self.plan.names().source,
        })?;
        Some(ReportedError { kind: error.kind, message: error.message, line: error.line })
    }
}

/// A file in memory that nobody can change any more: it holds code that will run.
fn sealed(contents: &[u8]) -> io::Result<OwnedFd> {
    let flags = MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING;
    let mut file = File::from(rustix::fs::memfd_create("belljar-program", flags)?);
    file.write_all(contents)?;
    rustix::fs::fcntl_add_seals(&file, SealFlags::WRITE | SealFlags::GROW | SealFlags::SHRINK | SealFlags::SEAL)?;
    Ok(file.into())
}
