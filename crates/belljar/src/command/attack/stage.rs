//! What the attacks are after: put there for them, and taken away when they are over.

use std::ffi::OsStr;
use std::fs;
use std::io;
use std::io::Write as _;
use std::os::fd::IntoRawFd as _;
use std::os::unix::fs::DirBuilderExt as _;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use attacks::processes;
use attacks::verdict::{Finding, Verdict};
use attacks::victims::{Secrets, Victims};
use belljar::Settings;
use rustix::fs::MemfdFlags;

/// Where this process has its secret.
const PLANTED: &str = "BELLJAR_ATTACK_SECRET";

/// A socket's path has no more than 107 bytes, and this folder has to hold one.
const LONGEST: usize = 64;

/// How long after its run a process may still be seen. Not much on a quiet machine.
const GRACE: Duration = Duration::from_millis(500);

/// The secret that this process was started with, if it was.
pub(super) fn planted(settings: &Settings) -> Option<String> {
    let secret = settings.environment.iter().find(|(name, _)| name == OsStr::new(PLANTED));
    secret.and_then(|(_, value)| value.to_str().map(str::to_owned))
}

/// Becomes this program once more, as a server that has something to hide: a secret in its environment, and a descriptor that whatever it
/// starts would inherit. Returns only if that failed.
#[expect(clippy::disallowed_methods, reason = "it replaces this very process, and starts none")]
pub(super) fn plant() -> io::Error {
    let secret = match random() {
        Ok(secret) => secret,
        Err(error) => return error,
    };
    let left_open = rustix::fs::memfd_create("secret", MemfdFlags::empty()).map_err(io::Error::from);
    let written = left_open.and_then(|memory| {
        let mut memory = fs::File::from(memory);
        memory.write_all(secret.as_bytes()).map(|()| memory.into_raw_fd())
    });
    if let Err(error) = written {
        return error;
    }
    let mut arguments = std::env::args_os();
    let mut command = Command::new("/proc/self/exe");
    if let Some(name) = arguments.next() {
        command.arg0(name);
    }
    command.args(arguments).env(PLANTED, secret).exec()
}

fn random() -> io::Result<String> {
    let mut bytes = [0_u8; 16];
    rustix::rand::getrandom(&mut bytes, rustix::rand::GetRandomFlags::empty())?;
    Ok(format!("{:032x}", u128::from_ne_bytes(bytes)))
}

pub(super) struct Stage {
    pub(super) victims: Victims,
    /// Every guest has it among its arguments, so that its processes can be told from all others.
    pub(super) marker: String,
    /// Whether there is a terminal that a guest could reach.
    pub(super) has_terminal: bool,
    host: HostState,
    /// Holds the victims' folder.
    folder: PathBuf,
}

impl Stage {
    pub(super) fn set(settings: &Settings, secret: String) -> io::Result<Self> {
        let mut number = random()?;
        number.truncate(8);
        // Beside runs' own scratch, which belongs to its user alone: what is attacked is open to all.
        let parent = settings.scratch.parent().filter(|path| path.as_os_str().len() < LONGEST);
        let parent = parent.unwrap_or_else(|| Path::new("/tmp"));
        let folder = parent.join(format!("belljar-attack-{number}"));
        fs::DirBuilder::new().mode(0o755).create(&folder)?;
        let secrets = Secrets { variable: secret, file: random()? };
        let name = format!("belljar-victim-{number}");
        let victims = Victims::open(folder.join("forbidden"), &name, secrets, python(settings));
        let victims = victims.inspect_err(|_| {
            fs::remove_dir_all(&folder).ok();
        })?;
        let has_terminal = fs::File::open("/dev/tty").is_ok();
        Ok(Self { victims, marker: format!("belljar-guest-{number}"), has_terminal, host: HostState::now(), folder })
    }

    /// What the guests did, whatever they said of it.
    pub(super) fn look_from_outside(&self) -> Vec<Finding> {
        let finding = |name: &str, tries: &str, verdict: Verdict| Finding {
            group: "host",
            engine: None,
            name: name.to_owned(),
            tries: tries.to_owned(),
            verdict,
        };
        let untouched = |harm: Vec<String>| match harm.as_slice() {
            [] => Verdict::Blocked { by: Vec::new(), sign: "as it was".to_owned() },
            [..] => Verdict::through(harm.join("; ")),
        };
        let files = match self.victims.changed_files() {
            Ok(files) => untouched(files.iter().map(|path| path.display().to_string()).collect()),
            Err(error) => Verdict::unclear(error.to_string()),
        };
        let left = processes::leftovers(&self.marker, GRACE);
        let left = left.iter().map(|process| format!("pid {} is left", process.pid)).collect();
        let state = if HostState::now() == self.host { Vec::new() } else { vec!["changed".to_owned()] };
        vec![
            finding("files-changed", "change a file of the host's in any way", files),
            finding("sockets-reached", "reach a socket of the host's in any way", untouched(self.victims.reached())),
            finding(
                "process-harmed",
                "stop, trace or end a process of the host's",
                untouched(self.victims.harmed_process().into_iter().collect()),
            ),
            finding("processes-left", "leave a process behind", untouched(left)),
            finding("host-changed", "change the host's name or its core dump handler", untouched(state)),
        ]
    }
}

impl Drop for Stage {
    fn drop(&mut self) {
        fs::remove_dir_all(&self.folder).ok();
    }
}

#[derive(PartialEq, Eq)]
struct HostState {
    host_name: Option<String>,
    core_pattern: Option<String>,
}

impl HostState {
    fn now() -> Self {
        let read = |path: &str| fs::read_to_string(path).ok();
        Self { host_name: read("/proc/sys/kernel/hostname"), core_pattern: read("/proc/sys/kernel/core_pattern") }
    }
}

/// The host's own Python, for a process that guests look for.
#[expect(
    clippy::disallowed_methods,
    reason = "a process of the host's that guests must not reach, so none of a launcher's"
)]
fn python(settings: &Settings) -> Option<Command> {
    let system = Path::new("/usr/bin").to_owned();
    let mut found = [&system].into_iter().chain(&settings.tools.path).map(|folder| folder.join("python3"));
    let mut command = Command::new(found.find(|path| path.is_file())?);
    command.arg("-I").stderr(Stdio::null());
    Some(command)
}
