//! A network namespace with hosts and names in it, in which belljar runs.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use testkit::arena::{self, Setup};
use testkit::run::{Outcome, Running};
use testkit::stage::Stage;

use crate::client::BELLJAR;

/// A stage whose belljar is in a world of its own: see `world.py`.
pub(crate) struct World {
    pub(crate) stage: Stage,
    notes: PathBuf,
}

impl World {
    /// `None` after saying that the test is skipped.
    pub(crate) fn open(setup: Setup) -> Option<Self> {
        // Making one takes root.
        let opened = Stage::open(Setup::Root, Path::new(BELLJAR)).and_then(|_| Stage::open(setup, Path::new(BELLJAR)));
        match opened {
            Ok(stage) => {
                let notes = stage.work().join("notes");
                fs::create_dir(&notes).expect("a fresh name");
                Some(Self { stage, notes })
            }
            Err(unavailable) => {
                unavailable.skip(setup);
                None
            }
        }
    }

    /// A command of belljar's in it.
    pub(crate) fn command(&self, arguments: &[&str]) -> Command {
        let mut command = arena::host_command("unshare");
        command.args(["--net", "--mount", "--propagation", "private", "--"]);
        command.args(["python3", "-c", include_str!("world.py")]);
        command.arg(self.stage.uid().to_string()).arg(&self.notes).arg(self.stage.belljar()).args(arguments);
        command.env_clear().env("PATH", arena::SEARCH_PATH.to_owned() + ":/usr/sbin:/sbin").env("LANG", "C.UTF-8");
        // A proxy of the operator's own is not the guest's.
        command.env("HTTP_PROXY", "http://127.0.0.1:1").env("HTTPS_PROXY", "http://127.0.0.1:1");
        command.env("HOME", self.stage.work().with_file_name("home")).env("TMPDIR", self.stage.temporary());
        command.current_dir(self.stage.work());
        command
    }

    /// A Python program that may connect to these hosts.
    pub(crate) fn run(&self, network: &str, code: &str) -> Outcome {
        let mut arguments = vec!["run", "--json", "-l", "python", "-c", code];
        if !network.is_empty() {
            arguments.extend(["--network", network]);
        }
        let mut command = self.command(&arguments);
        command.args(["--", self.stage.marker()]);
        Running::start(command).finish().outcome(self.stage.level().name())
    }

    /// Who was reached in the world that ended last, each once.
    pub(crate) fn reached(&self) -> Vec<String> {
        let notes = fs::read(self.notes.join("reached")).expect("it wrote them");
        let mut reached: Vec<String> = serde_json::from_slice(&notes).expect("JSON");
        reached.sort();
        reached.dedup();
        reached
    }
}
