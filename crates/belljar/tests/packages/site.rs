//! An index of wheels in a folder, and a package folder of one's own: what is installed there touches nobody, and asks nobody.

use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};

use serde_json::Value;
use testkit::arena;
use testkit::runtimes::CACHE;

use crate::client::BELLJAR;

/// Both, for servers of one user.
pub(crate) struct Site {
    folder: PathBuf,
}

impl Site {
    /// `wheels` is what `wheels.py` reads. `None` after saying that the test is skipped.
    pub(crate) fn of(uid: u32, wheels: &Value) -> Option<Self> {
        static NUMBER: AtomicUsize = AtomicUsize::new(0);
        let provisioned = testkit::runtimes::provisioned(BELLJAR)?;
        let name = format!("packages-{}", NUMBER.fetch_add(1, Ordering::Relaxed));
        let site = Self { folder: arena::shared_directory().join(name) };
        fs::create_dir_all(site.cache().join("built")).expect("a fresh name");
        fs::write(site.configuration(), "[packages]\noffline = true\n").expect("written");
        // The installer is all that has to be set up: programs run natively.
        succeed(arena::host_command("cp").arg("-a").arg(provisioned.join("built/uv")).arg(site.cache().join("built")));
        let mut make = arena::host_command("python3");
        make.args(["-c", include_str!("wheels.py")]).arg(site.index()).stdin(Stdio::piped());
        let mut make = make.spawn().expect("the host has Python");
        make.stdin.take().expect("piped").write_all(wheels.to_string().as_bytes()).expect("it reads");
        assert!(make.wait().expect("our own child").success());
        succeed(arena::host_command("chmod").args(["700"]).arg(site.cache()));
        if arena::running_as_root() {
            succeed(arena::host_command("chown").arg("-R").arg(format!("{uid}:{uid}")).arg(site.cache()));
        }
        Some(site)
    }

    fn cache(&self) -> PathBuf {
        self.folder.join("cache")
    }

    /// The index, with a folder for each package.
    pub(crate) fn index(&self) -> PathBuf {
        self.folder.join("simple")
    }

    /// A file that lets nothing be fetched.
    pub(crate) fn configuration(&self) -> PathBuf {
        self.folder.join("belljar.toml")
    }

    /// Where packages are kept.
    pub(crate) fn packages(&self) -> PathBuf {
        self.cache().join("packages")
    }

    /// Tells a server of this index and folder. Of the operator's folders, clients can read the one with certificates: so that is the index.
    pub(crate) fn given_to(&self, mut command: Command) -> Command {
        command.env(CACHE, self.cache()).env("SSL_CERT_DIR", self.index());
        command.env("UV_DEFAULT_INDEX", format!("file://{}", self.index().display()));
        command.arg("--config").arg(self.configuration());
        command
    }

    /// A server for whoever runs the tests.
    pub(crate) fn serve(&self) -> Command {
        let mut command = arena::host_command(BELLJAR);
        command.arg("serve");
        self.given_to(command)
    }

    /// Fails if something is still being made, or was left behind by somebody who made it.
    #[track_caller]
    pub(crate) fn assert_nothing_half_made(&self) {
        assert_eq!(names(&self.packages().join("tmp")), Vec::<String>::new());
        for layer in names(&self.packages().join("layers")) {
            let described = self.packages().join("layers").join(&layer).join("layer.json");
            assert!(described.is_file(), "{} is missing", described.display());
        }
    }
}

/// What is in a folder, sorted.
pub(crate) fn names(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let mut names: Vec<String> = entries.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect();
    names.sort();
    names
}

#[track_caller]
fn succeed(command: &mut Command) {
    let status = command.status().unwrap_or_else(|error| panic!("{command:?}: {error}"));
    assert!(status.success(), "{command:?}: {status}");
}
