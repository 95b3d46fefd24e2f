//! A program is made: compiled, linked and translated, in a worker that has the tools.

use std::fs::File;
use std::io::{self, Write as _};
use std::os::fd::OwnedFd;

use rustix::fs::{MemfdFlags, SealFlags};
use sandbox::{Bytes, Capture, Captured, Evidence, LiveOutput, Plan, Step, Stream, diagnose};

use super::tools::Headers;
use super::wants::{self, Main, Wants};
use super::{OwnWorker, Program, Spent, Stopped, Unmade, tools};
use crate::WORKSPACE;
use crate::error::WasmError;
use crate::protocol::{Collecting, Dialect, End, Finished, Job, JobFile, JobLimits, ReportedError, TOO_LARGE, Work};

/// The least that a compiler gets. What it takes depends on the headers of a program more than on the program.
const LEAST_MEMORY: u64 = 512 << 20;
/// Room for what compiler and linker write.
const DISK: u64 = 64 << 20;

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
        let mut objects = vec![match Headers::for_program(self.plan) {
            // Headers that it does not include are there too, and have names that it may have for itself. So what does not compile gets
            // another chance, and the compiler's last word is about the program as it stands.
            Headers::Precompiled => match self.compile(source, 0, Headers::Precompiled).await {
                Err(Stopped::Unmade(unmade)) if unmade.end == End::Exited(1) => {
                    self.compile(source, 0, Headers::Own).await?
                }
                compiled => compiled?,
            },
            Headers::Own => self.compile(source, 0, Headers::Own).await?,
        }];
        for file in self.plan.more_sources() {
            objects.push(self.compile(file.path.as_str(), objects.len(), Headers::Own).await?);
        }
        // The linker would not mind: the library has a `main` that traps.
        match Wants::of(self.plan).main() {
            Main::Usual => {}
            Main::Missing => {
                self.said.output(Stream::Stderr, b"wasm-ld: error: undefined symbol: main\n");
                return Err(self.stopped(End::Exited(1)));
            }
            Main::Strange => {
                self.said.output(Stream::Stderr, b"wasm-ld: error: function signature mismatch: main\n");
                return Err(self.stopped(End::Exited(1)));
            }
        }
        let linked = self.run(tools::link(self.plan, objects.len()), objects, tools::LINKED).await?;
        let code = self.translate(linked).await?;
        let size = code.len() as u64;
        let module = sealed(&code).map_err(WasmError::Sockets)?;
        Ok(Program { module, size, diagnostics: self.said.0.finish().text })
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
        let mut finished = match self.worker.0.run(job, &mut self.said).await {
            Ok(finished) => self.spent.and(finished),
            // Long before its time it was told to end, and is ended for it now.
            Err(WasmError::Unresponsive) => return Err(self.stopped(End::TimedOut)),
            Err(error) => return Err(error.into()),
        };
        if finished.end != End::Exited(0) {
            return Err(self.stopped(finished.end));
        }
        let made = finished.files.iter_mut().find(|file| file.path == makes).and_then(|file| file.contents.take());
        made.ok_or_else(|| self.stopped(End::Exited(1)))
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
        let Ok(finished) = tokio::time::timeout(over, self.worker.0.run(job, &mut ())).await else {
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
        let too_large = matches!(&end, End::Trapped { message, .. } if message.contains(TOO_LARGE));
        let (end, reported) = match end {
            End::Trapped { message, .. } => (End::Exited(1), error(&format!("the compiler gave up: {message}"))),
            End::TimedOut => (End::TimedOut, error("the compiler was not done when the time was over")),
            End::OverCpu => (End::OverCpu, error("the compiler was not done when the CPU time was used up")),
            End::OverMemory => (End::OverMemory, error("the compiler needs more memory than the limit")),
            end @ (End::Exited(_) | End::Cancelled) => (end, None),
        };
        let unsupported = if too_large {
            Some("the program is too large to be compiled for WebAssembly".to_owned())
        } else {
            wants::missing_in(&said.text).or_else(|| Wants::of(self.plan).cannot().map(str::to_owned))
        };
        let error = reported.or_else(|| self.diagnosed(&said));
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
