//! A server's folders: the runtimes of whoever runs the tests, and nobody's sessions or packages.

use std::fs;
use std::io;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use testkit::arena;
use testkit::conformance::command::Belljar;
use testkit::runtimes::{self, CACHE};
use testkit::server::Served;

use crate::client::{BELLJAR, Client};

/// Those that the tests here run programs in.
const RUNTIMES: [&str; 3] = ["javascript", "python", "uv"];

pub(crate) struct World {
    home: Belljar,
}

impl World {
    /// `None` after saying that the test is skipped.
    pub(crate) fn new() -> Option<Self> {
        let provisioned = runtimes::provisioned(BELLJAR)?;
        let world = Self { home: Belljar::new(BELLJAR) };
        for folder in ["built", "modules", "runtimes"] {
            fs::create_dir_all(world.cache().join(folder)).expect("our own folder");
            let theirs = fs::read_dir(provisioned.join(folder)).expect("set up").flatten().map(|entry| entry.path());
            let name = |path: &Path| path.file_name().map(|name| name.to_string_lossy().into_owned());
            let wanted = |path: &PathBuf| {
                let name = name(path).unwrap_or_default();
                RUNTIMES.iter().any(|runtime| name == *runtime || name.starts_with(&format!("{runtime}-")))
            };
            let wanted: Vec<PathBuf> = theirs.filter(wanted).collect();
            // Links where that can be.
            let copied = ["-al", "-a"].iter().any(|how| {
                let mut copy = arena::host_command("cp");
                copy.arg(how).args(&wanted).arg(world.cache().join(folder));
                copy.stderr(std::process::Stdio::null()).status().is_ok_and(|status| status.success())
            });
            assert!(copied, "`{folder}` cannot be copied");
            fs::set_permissions(world.cache().join(folder), fs::Permissions::from_mode(0o700)).expect("ours");
        }
        fs::set_permissions(world.cache(), fs::Permissions::from_mode(0o700)).expect("ours");
        Some(world)
    }

    pub(crate) fn directory(&self) -> &Path {
        self.home.directory()
    }

    pub(crate) fn cache(&self) -> PathBuf {
        self.directory().join("cache")
    }

    /// `belljar` with these arguments.
    pub(crate) fn command(&self, arguments: &[&str]) -> Command {
        let mut command = self.home.command(arguments);
        command.env(CACHE, self.cache());
        command
    }

    /// The same, started by another program, such as `prlimit`.
    pub(crate) fn command_by(&self, starter: &[&str], arguments: &[&str]) -> Command {
        let mut command = self.home.client(starter[0]);
        command.args(&starter[1..]).arg(BELLJAR).args(arguments).env(CACHE, self.cache());
        command
    }

    /// A server over HTTP.
    pub(crate) fn serve_http(&self, more: &[&str]) -> io::Result<Served> {
        Served::start(self.command(&[&["serve", "--http", "127.0.0.1:0"], more].concat()))
    }

    /// A server over standard streams.
    pub(crate) fn serve(&self, more: &[&str]) -> Client {
        Client::of(self.command(&[&["serve"], more].concat())).greeted()
    }

    /// Everything below its folders but runtimes and what is kept for later, sorted.
    pub(crate) fn files(&self) -> Vec<PathBuf> {
        let kept = RUNTIMES_FOLDERS.map(|folder| self.cache().join(folder));
        let (mut found, mut pending) = (Vec::new(), vec![self.directory().to_owned()]);
        while let Some(folder) = pending.pop() {
            for entry in fs::read_dir(&folder).into_iter().flatten().flatten() {
                if kept.contains(&entry.path()) {
                    continue;
                }
                if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
                    pending.push(entry.path());
                }
                found.push(entry.path());
            }
        }
        found.sort();
        found
    }

    /// Files of sessions that are being saved, or were when their server was killed.
    pub(crate) fn drafts(&self) -> Vec<PathBuf> {
        let is_draft = |path: &PathBuf| path.file_name().is_some_and(|name| name.as_encoded_bytes().starts_with(b"."));
        let sessions = self.cache().join("sessions");
        self.files().into_iter().filter(|path| path.starts_with(&sessions) && is_draft(path)).collect()
    }
}

/// What is made once, and stays.
const RUNTIMES_FOLDERS: [&str; 4] = ["built", "modules", "runtimes", "locks"];
