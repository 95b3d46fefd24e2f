//! Running the binary as a caller would: arguments, standard input, and what came out, byte for byte.

use std::ffi::OsStr;
use std::fmt;
use std::io::{Read, Write};
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use tempfile::TempDir;

use crate::arena::{self, SEARCH_PATH};
use crate::runtimes::CACHE;

/// No run of the suite takes longer, also where other tests use the machine. One that does hangs, and is a failure.
const DEADLINE: Duration = Duration::from_mins(2);

/// In the environment of every `belljar` of the suite. A guest that sees it sees the server's environment.
pub const SECRET: (&str, &str) = ("BELLJAR_TEST_SECRET", "SUPERSECRET-5f2d9c");

/// The binary, with a home, a temporary directory and a working directory of its own.
#[derive(Debug)]
pub struct Belljar {
    program: &'static str,
    directory: TempDir,
    cache: Option<&'static Path>,
}

impl Belljar {
    /// Nothing of the tests' own environment reaches it, so no configuration of whoever runs them does.
    pub fn new(program: &'static str) -> Self {
        let directory = tempfile::tempdir().expect("a temporary directory");
        Self { program, directory, cache: None }
    }

    /// With the WebAssembly runtimes of this folder. Without, it has none: its home is empty.
    #[must_use]
    pub fn with_runtimes(mut self, cache: &'static Path) -> Self {
        self.cache = Some(cache);
        self
    }

    /// Its working directory, home and temporary directory; removed with it.
    pub fn directory(&self) -> &Path {
        self.directory.path()
    }

    /// Puts a file into its working directory.
    pub fn write(&self, name: &str, contents: impl AsRef<[u8]>) {
        let path = self.directory().join(name);
        let parent = path.parent().expect("a name below the directory");
        std::fs::create_dir_all(parent).expect("our own directory");
        std::fs::write(path, contents).expect("our own directory");
    }

    /// The command, for tests that need more than its answer.
    pub fn command<Argument: AsRef<OsStr>>(&self, arguments: impl IntoIterator<Item = Argument>) -> Command {
        let mut command = self.client(self.program);
        command.args(arguments).env(SECRET.0, SECRET.1);
        if let Some(cache) = self.cache {
            command.env(CACHE, cache);
        }
        command
    }

    /// Another program, with the same home and search path: the `belljar` that it starts has them too.
    pub fn client(&self, program: impl AsRef<OsStr>) -> Command {
        let mut command = arena::host_command(program);
        command
            .env_clear()
            .env("PATH", SEARCH_PATH)
            .env("HOME", self.directory())
            .env("TMPDIR", self.directory())
            .current_dir(self.directory());
        command
    }

    /// Runs it to its end, with nothing on standard input.
    pub fn answer<Argument: AsRef<OsStr>>(&self, arguments: impl IntoIterator<Item = Argument>) -> Answer {
        answer(self.command(arguments), b"")
    }
}

/// What a command wrote and how it ended.
#[derive(Clone, PartialEq, Eq)]
pub struct Answer {
    /// Exit code; `None` when a signal ended it.
    pub code: Option<i32>,
    /// All of standard output.
    pub stdout: Vec<u8>,
    /// All of standard error.
    pub stderr: String,
}

impl Answer {
    /// One to compare with.
    pub fn new(code: i32, stdout: impl Into<Vec<u8>>, stderr: impl Into<String>) -> Self {
        Self { code: Some(code), stdout: stdout.into(), stderr: stderr.into() }
    }

    /// Standard output, which must be text.
    pub fn text(&self) -> &str {
        std::str::from_utf8(&self.stdout).unwrap_or_else(|error| panic!("not text: {error}: {self:?}"))
    }
}

/// Shows standard output as text, which it nearly always is.
impl fmt::Debug for Answer {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("Answer")
            .field("code", &self.code)
            .field("stdout", &String::from_utf8_lossy(&self.stdout))
            .field("stderr", &self.stderr)
            .finish()
    }
}

/// Runs a command to its end.
pub fn answer(command: Command, stdin: &[u8]) -> Answer {
    Conversation::start(command, stdin).finish().answer
}

/// A command under way.
#[derive(Debug)]
pub struct Conversation {
    child: Child,
    stdout: JoinHandle<Stream>,
    stderr: JoinHandle<Stream>,
    started: Instant,
}

/// What came of it, and when.
#[derive(Debug)]
pub struct Told {
    /// What it wrote and how it ended.
    pub answer: Answer,
    /// From its first byte of standard output to its end.
    pub after_first_byte: Duration,
}

/// A stream read to its end.
#[derive(Debug, Default)]
struct Stream {
    bytes: Vec<u8>,
    first: Option<Instant>,
}

impl Conversation {
    /// Starts it and lets it have `stdin`.
    pub fn start(mut command: Command, stdin: &[u8]) -> Self {
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let started = Instant::now();
        let mut child = command.spawn().unwrap_or_else(|error| panic!("cannot start {command:?}: {error}"));
        let (mut input, stdin) = (child.stdin.take().expect("piped above"), stdin.to_vec());
        // Beside the readers: a program that echoes would otherwise wait for us while we wait for it. One that does not
        // read its input closes it, which is its right.
        thread::spawn(move || drop(input.write_all(&stdin)));
        let stdout = read(child.stdout.take().expect("piped above"));
        let stderr = read(child.stderr.take().expect("piped above"));
        Self { child, stdout, stderr, started }
    }

    /// Its pid.
    pub fn pid(&self) -> i32 {
        i32::try_from(self.child.id()).expect("pids are positive and below 2^22")
    }

    /// Whether it is still under way.
    pub fn goes_on(&mut self) -> bool {
        self.child.try_wait().expect("our own child").is_none()
    }

    /// Waits for its end.
    pub fn finish(mut self) -> Told {
        let status = wait(&mut self.child, self.started + DEADLINE);
        let ended = Instant::now();
        let [stdout, stderr] = [self.stdout, self.stderr].map(|stream| stream.join().expect("reading a pipe"));
        let after_first_byte = stdout.first.map_or(Duration::ZERO, |first| ended.saturating_duration_since(first));
        let stderr = String::from_utf8_lossy(&stderr.bytes).into_owned();
        Told { answer: Answer { code: status.code(), stdout: stdout.bytes, stderr }, after_first_byte }
    }
}

/// Waits for the end of a child, but not past `deadline`.
pub fn wait(child: &mut Child, deadline: Instant) -> ExitStatus {
    loop {
        if let Some(status) = child.try_wait().expect("our own child") {
            return status;
        }
        if Instant::now() > deadline {
            drop(child.kill());
            panic!("did not end in time");
        }
        thread::sleep(Duration::from_millis(2));
    }
}

fn read(mut pipe: impl Read + Send + 'static) -> JoinHandle<Stream> {
    thread::spawn(move || {
        let mut stream = Stream::default();
        let mut buffer = vec![0; 64 << 10];
        loop {
            match pipe.read(&mut buffer).expect("reading a pipe") {
                0 => return stream,
                count => stream.bytes.extend(buffer.iter().take(count)),
            }
            stream.first.get_or_insert_with(Instant::now);
        }
    })
}
