//! A machine for a profile: a folder for code files, a virtual environment, and an operator's configuration.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::PathBuf;
use std::process::Command;

use serde_json::{Value, json};
use testkit::arena;
use testkit::runtimes::{CACHE, provisioned};

use crate::client::{BELLJAR, Client, initialize};

pub(crate) struct World {
    folder: tempfile::TempDir,
    config: String,
}

impl World {
    pub(crate) fn new() -> Self {
        Self::with("")
    }

    /// With this in the operator's configuration.
    pub(crate) fn with(config: &str) -> Self {
        let folder = tempfile::Builder::new().prefix("profiles").tempdir_in("/var/tmp").expect("a folder");
        let world = Self { folder, config: config.to_owned() };
        fs::write(world.path("belljar.toml"), &world.config).expect("written");
        fs::create_dir(world.path("store")).expect("made");
        fs::create_dir_all(world.path("venv/bin")).expect("made");
        symlink("/usr/bin/python3", world.path("venv/bin/python3")).expect("linked");
        symlink("python3", world.path("venv/bin/python")).expect("linked");
        let configuration = "home = /usr/bin\ninclude-system-site-packages = false\n";
        fs::write(world.path("venv/pyvenv.cfg"), configuration).expect("written");
        world
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// `belljar serve` with these of its flags.
    pub(crate) fn command(&self, flags: &[&str]) -> Command {
        let mut command = arena::host_command(BELLJAR);
        command.args(["serve", "--config"]).arg(self.path("belljar.toml")).args(flags);
        command.env("CODE_STORAGE_DIR", self.path("store")).env("ENV_TYPE", "venv").env("VENV_PATH", self.path("venv"));
        if let Some(cache) = provisioned(BELLJAR) {
            command.env(CACHE, cache);
        }
        command
    }

    /// A client of a profile, before it said anything.
    pub(crate) fn client(&self, profile: &str, flags: &[&str]) -> Client {
        Client::of(self.command(&[&["--profile", profile], flags].concat()))
    }

    /// The same after its greeting.
    pub(crate) fn greeted(&self, profile: &str, flags: &[&str]) -> Client {
        let mut client = self.client(profile, flags);
        client.request("initialize", &initialize("2025-06-18"));
        client.notify("notifications/initialized", &json!({}));
        client
    }
}

/// Calls a tool: its result.
pub(crate) fn call(client: &mut Client, tool: &str, arguments: &Value) -> Value {
    let mut answer = client.request("tools/call", &json!({"name": tool, "arguments": arguments}));
    assert!(answer["error"].is_null(), "{answer}");
    answer["result"].take()
}

/// The text of a block of a result.
pub(crate) fn text(result: &Value, block: usize) -> &str {
    result["content"][block]["text"].as_str().unwrap_or_else(|| panic!("no block {block} in {result}"))
}
