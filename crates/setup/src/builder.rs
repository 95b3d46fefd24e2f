//! Runs a recipe.

use std::ffi::{OsStr, OsString};
use std::io::{self, Read as _};
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Command, ExitStatus, Stdio};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError};
use std::thread;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, WaitId, WaitIdOptions, kill_process_group, waitid};

use crate::error::SetupError;
use crate::event::Cancel;
use crate::lock::Lock;
use crate::steps::{Output, RecipeStep};

/// Runs the recipe and watches us. Standard input is a pipe that ends when belljar does, however that happens; then
/// everything in this process group is ended too. Standard error is a lock, which everything that the recipe starts
/// inherits and so holds. What this shell itself would say ("Killed") goes nowhere.
const LEASH: &str = r#"
exec 3<&0 4>&2 5>&1 </dev/null >/dev/null 2>&1
(read -r _ <&3; kill -KILL 0) 4>&- 5>&- &
leash=$!
bash "$1" 3<&- >&5 2>&5 5>&-
status=$?
kill "$leash"
exit "$status"
"#;

/// A recipe that takes longer hangs: the slowest takes minutes, and downloads some 200 MB.
const CEILING: Duration = Duration::from_hours(2);

/// How soon a cancellation or the recipe's end is noticed.
const POLL: Duration = Duration::from_millis(50);

/// How long the output of a recipe that has ended is read.
const LAST_WORDS: Duration = Duration::from_secs(1);

/// What package clients, and programs in general, need of the caller's environment. The rest stays here: a server's environment holds
/// keys to other things, and a compiler setting would end up in the result.
const VARIABLES: [&str; 14] = [
    "PATH",
    "HOME",
    "USER",
    "LOGNAME",
    "TMPDIR",
    "APT_CONFIG",
    "ALL_PROXY",
    "HTTP_PROXY",
    "HTTPS_PROXY",
    "NO_PROXY",
    "CURL_CA_BUNDLE",
    "NODE_EXTRA_CA_CERTS",
    "NETRC",
    "REQUESTS_CA_BUNDLE",
];
const VARIABLE_FAMILIES: [&str; 7] = ["CARGO_", "NPM_CONFIG_", "PIP_", "PYENV_", "SSL_CERT_", "UV_", "XDG_"];

/// One run of a recipe.
#[derive(Debug)]
pub(crate) struct Build<'a> {
    /// The unpacked tree.
    pub(crate) recipes: &'a Path,
    pub(crate) script: PathBuf,
    pub(crate) work: &'a Path,
    /// Fresh and empty.
    pub(crate) out: &'a Path,
    pub(crate) environment: &'a [(OsString, OsString)],
    /// On `work`.
    pub(crate) lock: &'a Lock,
    pub(crate) log: PathBuf,
}

impl Build<'_> {
    /// Runs it to its end. Nothing of it is left then, whichever way it ended.
    pub(crate) fn run(self, cancel: &Cancel, mut on_step: impl FnMut(RecipeStep)) -> Result<(), SetupError> {
        let mut running = self.start().map_err(SetupError::StartRecipe)?;
        let mut output = Output::default();
        let deadline = Instant::now() + CEILING;
        let ended = loop {
            match running.output.recv_timeout(POLL) {
                Ok(bytes) => output.push(&bytes).into_iter().for_each(&mut on_step),
                Err(RecvTimeoutError::Timeout) => {}
                // It closed its output and may still be busy.
                Err(RecvTimeoutError::Disconnected) => thread::sleep(POLL),
            }
            if let Err(cancelled) = cancel.check() {
                break Err(cancelled);
            }
            if Instant::now() > deadline {
                break Err(SetupError::RecipeTooSlow { ceiling: CEILING, log: self.log() });
            }
            if running.has_ended() {
                break Ok(());
            }
        };
        running.end_group();
        // What it said last is still in the pipe; what left its group may go on saying things.
        let deadline = Instant::now() + LAST_WORDS;
        while let (Ok(bytes), true) = (running.output.recv_timeout(POLL), Instant::now() < deadline) {
            output.push(&bytes).into_iter().for_each(&mut on_step);
        }
        let status = running.reap().map_err(SetupError::StartRecipe)?;
        ended?;
        if status.success() {
            return Ok(());
        }
        let last_words = output.last_words().unwrap_or_else(|| format!("the recipe ended with {status}"));
        Err(SetupError::Recipe { last_words, log: self.log() })
    }

    #[expect(
        clippy::disallowed_methods,
        reason = "recipes are our own code, run by an operator's order and never by a guest's"
    )]
    fn start(&self) -> io::Result<Running> {
        let mut child = Command::new("bash")
            .args(["--noprofile", "--norc", "-c", LEASH, "belljar-setup"])
            .arg(&self.script)
            .env_clear()
            .envs(self.environment.iter().filter(|(name, _)| is_passed_on(name)).map(|(name, value)| (name, value)))
            .env("LC_ALL", "C.UTF-8")
            .env("BELLJAR_RECIPES", self.recipes)
            .env("BELLJAR_WORK", self.work)
            .env("BELLJAR_OUT", self.out)
            .current_dir(self.work)
            .process_group(0)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(self.lock.duplicate()?)
            .spawn()?;
        let stdout = child.stdout.take().ok_or(io::ErrorKind::BrokenPipe)?;
        Ok(Running { output: read(stdout)?, child, is_reaped: false })
    }

    fn log(&self) -> Option<PathBuf> {
        self.log.metadata().is_ok().then(|| self.log.clone())
    }
}

/// A recipe that has been started; ended with this.
struct Running {
    /// Its standard input, which is held open in here, is the leash.
    child: Child,
    output: Receiver<Vec<u8>>,
    /// Once it is reaped, its number may be another's.
    is_reaped: bool,
}

impl Running {
    fn has_ended(&self) -> bool {
        // Not reaped yet, so the group's number is still its own while the rest of the group is ended.
        let options = WaitIdOptions::EXITED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT;
        !matches!(self.pid().map(|pid| waitid(WaitId::Pid(pid), options)), Some(Ok(None)))
    }

    fn end_group(&self) {
        if let Some(pid) = self.pid() {
            kill_process_group(pid, Signal::KILL).ok();
        }
    }

    fn reap(&mut self) -> io::Result<ExitStatus> {
        let status = self.child.wait()?;
        self.is_reaped = true;
        Ok(status)
    }

    fn pid(&self) -> Option<Pid> {
        i32::try_from(self.child.id()).ok().and_then(Pid::from_raw)
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        if !self.is_reaped {
            self.end_group();
            self.reap().ok();
        }
    }
}

/// Reads on a thread, so that waiting for output and for a cancellation are one wait. The thread ends with the pipe.
fn read(mut stdout: ChildStdout) -> io::Result<Receiver<Vec<u8>>> {
    let (sender, receiver) = mpsc::sync_channel(16);
    thread::Builder::new().name("recipe output".to_owned()).spawn(move || {
        let mut buffer = [0; 4096];
        while let Ok(count @ 1..) = stdout.read(&mut buffer) {
            let Some(bytes) = buffer.get(..count) else { break };
            if sender.send(bytes.to_owned()).is_err() {
                break;
            }
        }
    })?;
    Ok(receiver)
}

fn is_passed_on(name: &OsStr) -> bool {
    let name = name.to_string_lossy().to_ascii_uppercase();
    VARIABLES.contains(&name.as_str()) || VARIABLE_FAMILIES.iter().any(|family| name.starts_with(family))
}
