//! Peers that are a command for every run.

use std::collections::HashMap;
use std::fs;
use std::io::Read as _;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use serde_json::json;
use testkit::arena::host_command;

use super::catalogue::{VARIABLE, VARIABLE_VALUE};
use super::conversation::{Answer, Runs, end};
use super::install::Folder;
use crate::sessions::descendants;

const PYTHON: &str = "/usr/bin/python3";

/// What bubblewrap does by itself: the same as in `bench native`.
#[rustfmt::skip]
const BUBBLEWRAP: &[&str] = &[
    "--unshare-all", "--die-with-parent", "--new-session", "--clearenv",
    "--ro-bind", "/usr", "/usr", "--symlink", "usr/bin", "/bin", "--symlink", "usr/lib", "/lib", "--symlink", "usr/lib64", "/lib64",
    "--ro-bind", "/etc/ld.so.cache", "/etc/ld.so.cache", "--proc", "/proc", "--dev", "/dev", "--tmpfs", "/tmp",
    PYTHON, "-c",
];

/// As for the others.
const MEMORY_LIMIT: u64 = 512 << 20;

/// Makes the command that runs a program.
type Maker = Box<dyn Fn(u64, &str) -> anyhow::Result<Command>>;

/// Starts a process for every run, as a program that has no sandbox of its own does.
pub(crate) struct Jail {
    maker: Maker,
    last: u64,
    running: Arc<Mutex<HashMap<u64, u32>>>,
    sender: Sender<(u64, Answer)>,
    answers: Receiver<(u64, Answer)>,
}

impl Jail {
    pub(crate) fn subprocess() -> Self {
        Self::new(Box::new(|_, code| {
            let mut command = host_command(PYTHON);
            command.args(["-c", code]);
            Ok(command)
        }))
    }

    pub(crate) fn bubblewrap(folder: &Folder) -> anyhow::Result<Self> {
        let program = folder.debian_program("bwrap")?;
        Ok(Self::new(Box::new(move |_, code| {
            let mut command = host_command(&program);
            command.args(BUBBLEWRAP).arg(code);
            Ok(command)
        })))
    }

    pub(crate) fn gvisor(folder: &Folder) -> anyhow::Result<Self> {
        let program = folder.debian_program("runsc")?;
        let groups = groups();
        let bundles = folder.fresh("gvisor")?;
        let root = bundles.join("root");
        for name in ["usr", "proc", "dev", "tmp", "etc"] {
            fs::create_dir_all(root.join(name))?;
        }
        for name in ["bin", "lib", "lib64"] {
            symlink(format!("usr/{name}"), root.join(name))?;
        }
        Ok(Self::new(Box::new(move |number, code| {
            let bundle = bundles.join(number.to_string());
            fs::create_dir(&bundle)?;
            let group = groups.as_ref().map(|groups| format!("/{groups}/{number}"));
            fs::write(bundle.join("config.json"), container(&root, code, group.as_deref()).to_string())?;
            let mut command = host_command(&program);
            command.arg("--root").arg(bundles.join("state")).args(["--platform=ptrace", "--network=none"]);
            if group.is_none() {
                command.arg("--ignore-cgroups");
            }
            command.args(["run", "--bundle"]).arg(bundle);
            command.arg(format!("peers-{}-{number}", std::process::id()));
            Ok(command)
        })))
    }

    fn new(maker: Maker) -> Self {
        let (sender, answers) = channel();
        Self { maker, last: 0, running: Arc::default(), sender, answers }
    }
}

impl Runs for Jail {
    fn submit(&mut self, code: &str, _limit: Option<Duration>) -> anyhow::Result<u64> {
        self.last += 1;
        let id = self.last;
        let mut command = (self.maker)(id, code)?;
        command.env(VARIABLE, VARIABLE_VALUE).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let child = command.spawn()?;
        let (running, sender) = (Arc::clone(&self.running), self.sender.clone());
        running.lock().unwrap_or_else(PoisonError::into_inner).insert(id, child.id());
        std::thread::spawn(move || {
            let answer = collect(child);
            running.lock().unwrap_or_else(PoisonError::into_inner).remove(&id);
            // Nobody waits any more for what a stopped comparison left.
            drop(sender.send((id, answer)));
        });
        Ok(id)
    }

    fn receive(&mut self, within: Duration) -> anyhow::Result<Option<(u64, Answer)>> {
        match self.answers.recv_timeout(within) {
            Ok(answer) => Ok(Some(answer)),
            Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => Ok(None),
        }
    }

    /// What a caller can do who has nothing but the processes that it started.
    fn cancel(&mut self, id: u64) -> anyhow::Result<()> {
        let pid = self.running.lock().unwrap_or_else(PoisonError::into_inner).get(&id).copied();
        if let Some(pid) = pid {
            end(&descendants(pid).unwrap_or_default());
            end(&[pid]);
        }
        Ok(())
    }

    fn processes(&self) -> Vec<u32> {
        descendants(std::process::id()).unwrap_or_default()
    }
}

impl Drop for Jail {
    fn drop(&mut self) {
        end(&self.processes());
        remove_groups();
    }
}

/// What the cgroups of containers are below, where this process may make any: they hold the memory limit.
pub(crate) fn groups() -> Option<String> {
    let name = format!("peers-{}", std::process::id());
    // Version 1 holds memory in a hierarchy of its own, version 2 everything in one.
    let is_made = ["/sys/fs/cgroup/memory", "/sys/fs/cgroup"].into_iter().any(|hierarchy| {
        let group = Path::new(hierarchy).join(&name);
        fs::create_dir_all(&group).is_ok() && group.join("cgroup.procs").is_file()
    });
    is_made.then_some(name)
}

/// Those that a container left which was killed.
fn remove_groups() {
    let name = format!("peers-{}", std::process::id());
    let folders = |folder: PathBuf| fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path());
    let below = folders("/sys/fs/cgroup".into()).map(|hierarchy| hierarchy.join(&name));
    for group in below.chain(["/sys/fs/cgroup".into()].map(|root: PathBuf| root.join(&name))) {
        // Files in there cannot be removed, and go with their folder.
        folders(group.clone()).for_each(|inner| drop(fs::remove_dir(inner)));
        drop(fs::remove_dir(group));
    }
}

fn collect(mut child: std::process::Child) -> Answer {
    let errors = child.stderr.take().map(|mut stderr| {
        std::thread::spawn(move || {
            let mut text = Vec::new();
            drop(stderr.read_to_end(&mut text));
            text
        })
    });
    let mut text = Vec::new();
    if let Some(stdout) = &mut child.stdout {
        drop(stdout.read_to_end(&mut text));
    }
    let failed = !child.wait().is_ok_and(|status| status.success());
    if failed {
        text.extend(errors.and_then(|errors| errors.join().ok()).unwrap_or_default());
    }
    Answer { text: String::from_utf8_lossy(&text).into_owned(), flagged: failed, engine: None }
}

/// The same view of the host that bubblewrap's programs get, as an OCI runtime is told of it.
fn container(root: &Path, code: &str, group: Option<&str>) -> serde_json::Value {
    let limits = json!({"memory": {"limit": MEMORY_LIMIT}});
    let namespaces = ["pid", "network", "ipc", "uts", "mount"].map(|name| json!({"type": name}));
    json!({
        "ociVersion": "1.0.0",
        "process": {
            "user": {"uid": 65534, "gid": 65534}, "args": [PYTHON, "-c", code], "env": ["PATH=/usr/bin"], "cwd": "/tmp",
            "noNewPrivileges": true
        },
        "root": {"path": root, "readonly": true},
        "mounts": [
            {"destination": "/proc", "type": "proc", "source": "proc"},
            {"destination": "/tmp", "type": "tmpfs", "source": "tmpfs"},
            {"destination": "/usr", "type": "bind", "source": "/usr", "options": ["ro", "rbind"]}
        ],
        "linux": {
            "namespaces": namespaces, "cgroupsPath": group.unwrap_or_default(),
            "resources": group.map_or(json!({}), |_| limits)
        }
    })
}
