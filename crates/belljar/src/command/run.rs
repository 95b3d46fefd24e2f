//! `belljar run`.

use std::ffi::OsStr;
use std::io::{self, Read as _, Write as _};
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;

use anyhow::Context as _;
use belljar::{Settings, engine};
use engine_native::Ahead;
use rustix::fs::{Mode, OFlags, ResolveFlags, openat2};
use sandbox::{
    Collect, EngineChoice, EngineId, InputFile, Limits, LimitsRequest, LiveOutput, Outcome, OutputFile, Principal,
    Refusal, Request, Status, Stream, Variable, signal_name,
};
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::Notify;

use crate::arguments::{EngineArgument, RunArguments};
use crate::{exit, report};

pub(crate) async fn run(mut arguments: RunArguments, settings: &Settings) -> anyhow::Result<ExitCode> {
    let without = std::mem::take(&mut arguments.without);
    let (json, parked) = (arguments.json, arguments.parked);
    let out = arguments.out.take();
    let collect = if out.is_some() { Collect::Contents } else { Collect::Names };
    let request = request(arguments, collect)?;
    // Reported before anything is started; the runtime checks again.
    let limits = *settings.policy.admit(request.clone())?.limits();
    let ahead = if parked { Ahead::Always } else { settings.ahead };
    let runtime = engine::runtime(&Settings { ahead, ..settings.clone() }, without).await?;

    let reader_gone = Arc::new(Notify::new());
    let mut live = Live { json, reader_gone: Arc::clone(&reader_gone) };
    end_on_signals()?;
    // Whichever comes first; the other's future is dropped, and a dropped run is a dead run.
    let outcome = tokio::select! {
        outcome = runtime.run(request, &mut live) => outcome?,
        () = reader_gone.notified() => return Ok(ExitCode::from(exit::READER_GONE)),
    };
    if let Some(directory) = out {
        save(&outcome.files, &directory).with_context(|| format!("cannot save files to `{}`", directory.display()))?;
    }
    if json {
        let mut text = serde_json::to_string(&mcp::RunResult::from(&outcome))?;
        text.push('\n');
        report::print(&text)?;
    } else {
        last_words(&outcome, &limits);
    }
    Ok(ExitCode::from(exit::of(outcome.status)))
}

/// Ends belljar on SIGINT and SIGTERM, and with it the run: the launcher ends everything when its server is gone. On a task of its own,
/// for the one that follows the run may be waiting for a slow reader of the guest's output.
#[expect(clippy::exit, reason = "the binary may exit, and nothing is left to unwind: guests end with the launcher")]
fn end_on_signals() -> io::Result<()> {
    let (mut interrupt, mut terminate) = (signal(SignalKind::interrupt())?, signal(SignalKind::terminate())?);
    tokio::spawn(async move {
        let code = tokio::select! {
            _ = interrupt.recv() => exit::INTERRUPTED,
            _ = terminate.recv() => exit::TERMINATED,
        };
        std::process::exit(code.into())
    });
    Ok(())
}

fn request(arguments: RunArguments, collect: Collect) -> anyhow::Result<Request> {
    let (code, file_name) = program(arguments.code, arguments.file.as_deref())?;
    let stdin = match arguments.stdin.as_deref() {
        Some(path) => read_input(path)?,
        None => Vec::new(),
    };
    let env = arguments.env.iter().map(|variable| environment_variable(variable)).collect::<Result<_, _>>()?;
    let variables = arguments.variables.iter().map(|variable| preset(variable)).collect::<Result<_, _>>()?;
    let files = arguments.files.iter().map(|file| input_file(file)).collect::<anyhow::Result<_>>()?;
    Ok(Request {
        code,
        language: arguments.language,
        file_name,
        stdin,
        args: arguments.args,
        compiler_args: arguments.compiler_args,
        env,
        files,
        variables,
        packages: arguments.packages,
        session: None,
        principal: Principal::default(),
        engine: match arguments.engine {
            EngineArgument::Auto => EngineChoice::Auto,
            EngineArgument::Wasm => EngineChoice::Only(EngineId::Wasm),
            EngineArgument::Native => EngineChoice::Only(EngineId::Native),
        },
        limits: LimitsRequest {
            wall: arguments.timeout,
            cpu: arguments.cpu,
            memory: arguments.memory,
            disk: arguments.disk,
            processes: arguments.processes,
            ..LimitsRequest::default()
        },
        network: arguments.network,
        collect,
    })
}

fn program(code: Option<String>, file: Option<&Path>) -> anyhow::Result<(Vec<u8>, Option<String>)> {
    match (code, file) {
        (Some(code), _) => Ok((code.into_bytes(), None)),
        (None, Some(path)) => {
            let name = path.file_name().map(|name| name.to_string_lossy().into_owned());
            Ok((read_input(path)?, name))
        }
        (None, None) => Ok((Vec::new(), None)),
    }
}

/// The most that is read of anything. Above every limit on what may be sent, so that a refusal names the true size.
const MAX_INPUT: u64 = 1 << 30;

/// A file, or our own standard input for `-`.
fn read_input(path: &Path) -> anyhow::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    if path == Path::new("-") {
        io::stdin().take(MAX_INPUT).read_to_end(&mut bytes).context("cannot read standard input")?;
    } else {
        let file = std::fs::File::open(path).with_context(|| format!("cannot read `{}`", path.display()))?;
        file.take(MAX_INPUT).read_to_end(&mut bytes).with_context(|| format!("cannot read `{}`", path.display()))?;
    }
    Ok(bytes)
}

fn environment_variable(variable: &str) -> Result<(String, String), Refusal> {
    match variable.split_once('=') {
        Some((name, value)) => Ok((name.to_owned(), value.to_owned())),
        None => Err(Refusal::new("env", format!("`--env {variable}` has no value"), "write it as NAME=VALUE")),
    }
}

fn preset(variable: &str) -> Result<Variable, Refusal> {
    let refused =
        |message| Refusal::new("variables", message, "write it as NAME=JSON, such as `x=[1, 2]` or `name=\"Ada\"`");
    let Some((name, json)) = variable.split_once('=') else {
        return Err(refused(format!("`--variable {variable}` has no value")));
    };
    if serde_json::from_str::<serde::de::IgnoredAny>(json).is_err() {
        return Err(refused(format!("the value of `--variable {name}` is no JSON")));
    }
    Ok(Variable { name: name.to_owned(), json: json.to_owned() })
}

/// `PATH`, which keeps its relative path, or `NAME=PATH`.
fn input_file(argument: &OsStr) -> anyhow::Result<InputFile> {
    let bytes = argument.as_bytes();
    let (name, path) = match bytes.iter().position(|byte| *byte == b'=') {
        Some(equals) => (bytes.get(..equals).unwrap_or_default(), bytes.get(equals + 1..).unwrap_or_default()),
        None => (bytes, bytes),
    };
    let (name, path) = (OsStr::from_bytes(name), Path::new(OsStr::from_bytes(path)));
    // Checked before the file is read; what may be inside a workspace is the policy's to say, and is said again there.
    if let Err(error) = sandbox::WorkspacePath::new(name) {
        let shown = name.to_string_lossy();
        let message = format!("`{shown}` cannot be a file of the workspace: {error}");
        return Err(Refusal::new("files", message, "give it a relative name: `--file NAME=PATH`").into());
    }
    Ok(InputFile { path: name.to_owned(), contents: read_input(path)? })
}

/// Passes output through as it comes. With `--json` it is part of the result instead.
struct Live {
    json: bool,
    reader_gone: Arc<Notify>,
}

impl LiveOutput for Live {
    fn output(&mut self, stream: Stream, bytes: &[u8]) {
        if self.json {
            return;
        }
        let written = match stream {
            Stream::Stdout => write_through(&mut io::stdout().lock(), bytes),
            Stream::Stderr => write_through(&mut io::stderr().lock(), bytes),
        };
        if written.is_err() {
            self.reader_gone.notify_one();
        }
    }

    fn news(&mut self, text: &str) {
        report::note(&format!("belljar: {text}\n"));
    }
}

fn write_through(sink: &mut dyn io::Write, bytes: &[u8]) -> io::Result<()> {
    sink.write_all(bytes)?;
    sink.flush()
}

/// What a terminal's reader has not seen yet: the compiler's warnings, and one line about an end that is not the program's own.
fn last_words(outcome: &Outcome, limits: &Limits) {
    if let Some(diagnostics) = &outcome.diagnostics {
        io::stderr().write_all(diagnostics.as_bytes()).ok();
    }
    let line = match outcome.status {
        Status::Completed { .. } => return,
        Status::Crashed { signal } => format!("belljar: the program was ended by {}\n", signal_name(signal)),
        Status::TimedOut => format!("belljar: timed out after {:.1} s\n", limits.wall.as_secs_f64()),
        Status::LimitExceeded(limit) => format!("belljar: the program was ended: over its {limit} limit\n"),
        Status::Cancelled => "belljar: cancelled\n".to_owned(),
    };
    io::stderr().write_all(line.as_bytes()).ok();
}

/// Writes what the run made below `directory`. Paths were checked to stay inside by their text; the kernel checks that no link that is
/// already there leads out.
fn save(files: &[OutputFile], directory: &Path) -> io::Result<()> {
    std::fs::create_dir_all(directory)?;
    let root = rustix::fs::open(directory, OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty())?;
    for file in files {
        let Some(contents) = &file.contents else { continue };
        let path = file.path.as_str();
        for (slash, _) in path.match_indices('/') {
            make_directory(&root, path.get(..slash).unwrap_or_default())?;
        }
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::TRUNC | OFlags::CLOEXEC;
        let target = openat2(&root, path, flags, Mode::from_raw_mode(0o666), INSIDE)?;
        std::fs::File::from(target).write_all(contents)?;
    }
    Ok(())
}

const INSIDE: ResolveFlags = ResolveFlags::BENEATH.union(ResolveFlags::NO_SYMLINKS);

fn make_directory(root: &OwnedFd, path: &str) -> io::Result<()> {
    // Its parent was made, or found to be no link, in the round before.
    let (parent, name) = path.rsplit_once('/').unwrap_or((".", path));
    let parent = openat2(root, parent, OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty(), INSIDE)?;
    match rustix::fs::mkdirat(&parent, name, Mode::from_raw_mode(0o777)) {
        Ok(()) | Err(rustix::io::Errno::EXIST) => Ok(()),
        Err(error) => Err(error.into()),
    }
}
