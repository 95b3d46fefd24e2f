//! Running `belljar` (or a program beside it) in a set-up, to its end or to a deadline, and reading its result.

use std::ffi::OsString;
use std::io::Read;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::thread;
use std::time::{Duration, Instant};

pub use ::attacks::Program;
use serde::Deserialize;

use crate::arena::Level;
use crate::processes;
use crate::runtimes::CACHE;
use crate::stage::{Stage, Starts};

/// No run of the corpus takes longer. One that does hangs, and is a failure.
const DEADLINE: Duration = Duration::from_mins(3);

/// A `belljar run --json` that is being put together.
#[derive(Debug)]
#[must_use]
pub struct Run<'stage> {
    stage: &'stage Stage,
    options: Vec<OsString>,
    arguments: Vec<OsString>,
    level: &'static str,
    cache: Option<PathBuf>,
}

impl<'stage> Run<'stage> {
    pub(crate) fn new(stage: &'stage Stage, program: Program) -> Self {
        let options = ["run", "--json", "-l", program.language, "-c", program.code].map(OsString::from).to_vec();
        let level = stage.setup().level();
        let run = Self { stage, options, arguments: Vec::new(), level: level.name(), cache: None };
        let run = match level {
            Level::Full | Level::FullNoProc => run,
            Level::Landlock => run.option("--require", "landlock"),
        };
        match stage.starts() {
            Starts::Cold => run,
            Starts::Parked => run.flag("--parked"),
        }
    }

    fn flag(mut self, name: &str) -> Self {
        self.options.push(name.into());
        self
    }

    /// An option of `belljar run` with its value.
    pub fn option(mut self, name: &str, value: impl Into<OsString>) -> Self {
        self.options.extend([name.into(), value.into()]);
        self
    }

    /// An argument of the guest's.
    pub fn argument(mut self, argument: impl Into<OsString>) -> Self {
        self.arguments.push(argument.into());
        self
    }

    /// In the wasm engine, with the runtimes of a folder. Its level is another.
    pub fn in_webassembly(mut self, cache: &Path) -> Self {
        self.cache = Some(cache.to_owned());
        self.level = "wasm+jail";
        self.option("--engine", "wasm")
    }

    /// Leaves layers out: the result must then say that it has no level.
    pub fn without(mut self, layers: &[&str]) -> Self {
        if !layers.is_empty() {
            self.level = "none";
        }
        layers.iter().fold(self, |run, layer| run.option("--without", *layer))
    }

    /// Starts it and leaves it running.
    pub fn start(self) -> Running {
        Running::start(self.command())
    }

    /// As [`Run::start`], in a process group of its own, as a shell starts its jobs.
    pub fn start_in_own_group(self) -> Running {
        let mut command = self.command();
        command.process_group(0);
        Running::start(command)
    }

    fn command(&self) -> Command {
        let mut command = self.stage.command(self.stage.belljar());
        command.args(&self.options).arg("--").args(&self.arguments);
        if let Some(cache) = &self.cache {
            command.env(CACHE, cache);
        }
        command
    }

    /// Runs it to its end and reads the result, whose level must be the set-up's.
    pub fn outcome(self) -> Outcome {
        let level = self.level;
        self.start().finish().outcome(level)
    }

    /// As [`Run::outcome`], with a terminal as belljar's standard input and controlling terminal.
    pub fn outcome_at_terminal(self) -> Outcome {
        let mut command = at_terminal(self.stage, self.stage.belljar());
        command.args(&self.options).arg("--").args(&self.arguments);
        Running::start(command).finish().outcome(self.level)
    }
}

/// A command of the stage's set-up that has a terminal of its own.
pub fn at_terminal(stage: &Stage, program: &Path) -> Command {
    let mut command = stage.command(Path::new("/usr/bin/python3"));
    command.args(["-c", ::attacks::WITH_TERMINAL]).arg(program);
    command
}

/// A process under way, its output being read.
#[derive(Debug)]
pub struct Running {
    child: Child,
    stdout: Receiver<Vec<u8>>,
    stderr: Receiver<Vec<u8>>,
    started: Instant,
}

impl Running {
    /// Starts a command. Its standard input is empty unless the command says otherwise.
    pub fn start(mut command: Command) -> Self {
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let started = Instant::now();
        let mut child = command.spawn().unwrap_or_else(|error| panic!("cannot start {command:?}: {error}"));
        let stdout = read_all(child.stdout.take().expect("piped above"));
        let stderr = read_all(child.stderr.take().expect("piped above"));
        Self { child, stdout, stderr, started }
    }

    /// The process's pid.
    pub fn pid(&self) -> i32 {
        i32::try_from(self.child.id()).expect("pids are positive and below 2^22")
    }

    /// SIGKILL, as the kernel's out-of-memory killer or an impatient operator sends it.
    pub fn kill(&mut self) {
        self.child.kill().expect("our own child");
    }

    /// Waits for its end. That nothing keeps its output open afterwards is part of having ended.
    pub fn finish(mut self) -> Finished {
        let mut peak_memory = 0;
        let status = loop {
            if let Some(status) = self.child.try_wait().expect("our own child") {
                break status;
            }
            peak_memory = peak_memory.max(processes::peak_memory(self.pid()).unwrap_or(0));
            if self.started.elapsed() > DEADLINE {
                drop(self.child.kill());
                panic!("did not end within {DEADLINE:?}");
            }
            thread::sleep(Duration::from_millis(3));
        };
        let wall = self.started.elapsed();
        let drain = |stream: &Receiver<Vec<u8>>, name: &str| {
            stream.recv_timeout(Duration::from_secs(20)).unwrap_or_else(|_| panic!("{name} is held open after the end"))
        };
        let (stdout, stderr) = (drain(&self.stdout, "stdout"), drain(&self.stderr, "stderr"));
        Finished { code: status.code(), signal: status.signal(), stdout, stderr, wall, peak_memory }
    }
}

fn read_all(mut stream: impl Read + Send + 'static) -> Receiver<Vec<u8>> {
    let (sender, receiver) = channel();
    thread::spawn(move || {
        let mut bytes = Vec::new();
        stream.read_to_end(&mut bytes).expect("reading a pipe");
        // Nobody waits any more when the test has already failed.
        drop(sender.send(bytes));
    });
    receiver
}

/// A process that has ended.
#[derive(Debug)]
pub struct Finished {
    /// Exit code, unless a signal ended it.
    pub code: Option<i32>,
    /// The signal that ended it.
    pub signal: Option<i32>,
    /// All of its standard output.
    pub stdout: Vec<u8>,
    /// All of its standard error.
    pub stderr: Vec<u8>,
    /// From start to end.
    pub wall: Duration,
    /// Highest resident set seen, in bytes; sampled, so up to a few milliseconds old.
    pub peak_memory: u64,
}

impl Finished {
    /// The result on standard output, which must be one JSON object and nothing else, of a run at `level`.
    pub fn outcome(self, level: &str) -> Outcome {
        let stderr = String::from_utf8_lossy(&self.stderr);
        let text = std::str::from_utf8(&self.stdout)
            .unwrap_or_else(|error| panic!("the result is not UTF-8: {error}; stderr: {stderr}"));
        let body = text.strip_suffix('\n').unwrap_or(text);
        let mut outcome: Outcome = serde_json::from_str(body).unwrap_or_else(|error| {
            panic!("not a result: {error}; code {:?}, stdout: {text:.2000}\nstderr: {stderr}", self.code)
        });
        // Whoever reads line by line, or shows the object in a terminal, meets no control character of the guest's.
        let strays: Vec<char> = body.chars().filter(|character| *character < ' ' && *character != '\n').collect();
        assert!(strays.is_empty(), "raw control characters in the result: {strays:?}");
        assert_eq!(outcome.isolation.level, level, "level of {:#?}; stderr: {stderr}", outcome.isolation);
        outcome.process_code = self.code;
        outcome.wall = self.wall;
        outcome.peak_memory = self.peak_memory;
        outcome
    }
}

/// What `--json` prints, as far as these tests look at it.
#[derive(Clone, Debug, Deserialize)]
pub struct Outcome {
    /// How the run ended.
    pub status: String,
    /// The guest's exit code, if it completed.
    pub exit_code: Option<i32>,
    /// The signal that ended it, if it crashed.
    pub signal: Option<String>,
    /// The limit that ended it, if one did.
    pub limit: Option<String>,
    /// Standard output that was kept.
    pub stdout: String,
    /// Standard error that was kept.
    pub stderr: String,
    /// Bytes not kept.
    #[serde(default)]
    pub dropped: Dropped,
    /// The language's own error, parsed.
    pub error: Option<GuestError>,
    /// Files that the run made.
    #[serde(default)]
    pub files: Vec<CollectedFile>,
    /// Which walls stood.
    pub isolation: Isolation,
    /// Exit code of `belljar` itself.
    #[serde(skip)]
    pub process_code: Option<i32>,
    /// How long `belljar` itself ran.
    #[serde(skip)]
    pub wall: Duration,
    /// Highest resident set of `belljar` itself, in bytes.
    #[serde(skip)]
    pub peak_memory: u64,
}

/// Bytes of output that were not kept.
#[derive(Clone, Debug, Default, Deserialize)]
pub struct Dropped {
    /// Of standard output.
    pub stdout: u64,
    /// Of standard error.
    pub stderr: u64,
}

/// An error as the guest's language reported it.
#[derive(Clone, Debug, Deserialize)]
pub struct GuestError {
    /// Its class or kind.
    pub kind: Option<String>,
}

/// One file that the run made.
#[derive(Clone, Debug, Deserialize)]
pub struct CollectedFile {
    /// Relative to the workspace.
    pub path: PathBuf,
    /// Its size.
    pub bytes: u64,
}

/// Which walls stood.
#[derive(Clone, Debug, Deserialize)]
pub struct Isolation {
    /// `full`, `full-noproc`, `landlock` or `none`.
    pub level: String,
    /// Layers that this level lacks.
    pub missing: Vec<String>,
    /// What the operator granted outside of them.
    #[serde(default)]
    pub granted: Vec<String>,
    /// What enforces the memory limit.
    pub memory: Option<String>,
    /// What enforces the limit on processes.
    pub processes: Option<String>,
}

impl Outcome {
    /// How it ended, for comparing as a whole.
    pub fn ending(&self) -> Ending<'_> {
        Ending {
            status: &self.status,
            exit_code: self.exit_code,
            signal: self.signal.as_deref(),
            limit: self.limit.as_deref(),
            process_code: self.process_code,
        }
    }

    /// Fails unless the run ended exactly so.
    pub fn assert_ended(&self, expected: Ending<'_>) {
        let (stdout, stderr) = (tail(&self.stdout), tail(&self.stderr));
        assert_eq!(self.ending(), expected, "\nisolation: {:?}\nstdout: …{stdout}\nstderr: …{stderr}", self.isolation);
    }

    /// The number that follows `word` in the guest's standard output.
    pub fn number_after(&self, word: &str) -> u64 {
        let mut words = self.stdout.split_whitespace().skip_while(|found| *found != word).skip(1);
        let number = words.next().and_then(|number| number.parse().ok());
        number.unwrap_or_else(|| {
            panic!("no number after `{word}` in `{}`, stderr `{}`", tail(&self.stdout), tail(&self.stderr))
        })
    }
}

fn tail(text: &str) -> &str {
    let start = text.char_indices().rev().nth(1000).map_or(0, |(index, _)| index);
    text.get(start..).unwrap_or(text)
}

/// How a run ended, and what `belljar` itself answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ending<'text> {
    /// Status of the result.
    pub status: &'text str,
    /// The guest's exit code.
    pub exit_code: Option<i32>,
    /// The signal that ended the guest.
    pub signal: Option<&'text str>,
    /// The limit that ended the run.
    pub limit: Option<&'text str>,
    /// Exit code of `belljar`.
    pub process_code: Option<i32>,
}

impl<'text> Ending<'text> {
    /// The guest's program ended by itself.
    pub fn completed(code: i32) -> Self {
        Self { status: "completed", exit_code: Some(code), signal: None, limit: None, process_code: Some(code) }
    }

    /// The wall clock ended it.
    pub fn timed_out() -> Self {
        Self { status: "timed_out", exit_code: None, signal: None, limit: None, process_code: Some(124) }
    }

    /// A signal ended it.
    pub fn crashed(signal: &'text str) -> Self {
        Self { status: "crashed", exit_code: None, signal: Some(signal), limit: None, process_code: Some(137) }
    }

    /// A limit ended it.
    pub fn limit_exceeded(limit: &'text str) -> Self {
        Self { status: "limit_exceeded", exit_code: None, signal: None, limit: Some(limit), process_code: Some(137) }
    }
}
