//! Python's packages, with uv.

use std::path::{Path, PathBuf};
use std::time::Duration;

use engine_native::Interpreter;
use sandbox::{PYTHON_PACKAGES, PackageVersion};
use serde::Deserialize;
use setup::Tool;

use crate::clients::{CACHE, Errand, LAYER, Surroundings};
use crate::policy::PackagePolicy;
use crate::store::ClientFolder;
use crate::trouble::Trouble;

/// How long a resolution, and an installation, may take. A registry that hangs ends the client's own patience much sooner.
const RESOLVING: Duration = Duration::from_mins(2);
const INSTALLING: Duration = Duration::from_mins(15);

/// Whose packages.
#[derive(Debug, Clone)]
pub(crate) enum Target {
    /// The host's own Python.
    Native(Interpreter),
    /// Python in WebAssembly, of this version.
    Wasm { version: String },
}

impl Target {
    /// Everything that a layer depends on besides what is in it.
    pub(crate) fn key(&self) -> String {
        match self {
            Self::Native(interpreter) => {
                format!("native {} {} {}", interpreter.version, interpreter.platform, interpreter.program.display())
            }
            Self::Wasm { version, .. } => format!("wasm {version}"),
        }
    }

    /// Which Python it is.
    pub(crate) fn version(&self) -> &str {
        match self {
            Self::Native(interpreter) => &interpreter.version,
            Self::Wasm { version } => version,
        }
    }

    /// What uv is told of it.
    fn arguments(&self) -> Vec<String> {
        let mut arguments = Vec::new();
        if let Self::Wasm { version } = self {
            let short: Vec<&str> = version.split('.').take(2).collect();
            // No wheel is made for our WebAssembly. What is pure is the same for all; the machine code of the rest is left out.
            let platform = format!("{}-unknown-linux-gnu", std::env::consts::ARCH);
            arguments.extend(["--python-version", &short.join("."), "--python-platform", &platform].map(str::to_owned));
        }
        arguments
    }
}

/// What uv says should be installed, as far as we look at it.
#[derive(Debug, Clone)]
pub(crate) struct Lock {
    text: String,
    pub(crate) packages: Vec<Locked>,
}

#[derive(Debug, Clone, Deserialize)]
pub(crate) struct Locked {
    pub(crate) name: String,
    pub(crate) version: Option<String>,
    #[serde(default)]
    wheels: Vec<Wheel>,
}

#[derive(Debug, Clone, Deserialize)]
struct Wheel {
    url: Option<String>,
    path: Option<String>,
}

impl Locked {
    pub(crate) fn version(&self) -> PackageVersion {
        PackageVersion { name: self.name.clone(), version: self.version.clone().unwrap_or_default() }
    }

    /// Whether it works without machine code: it has a wheel without any, or one in which that only makes it faster.
    pub(crate) fn is_pure(&self) -> bool {
        let is_pure = |wheel: &Wheel| {
            let name = wheel.url.as_deref().or(wheel.path.as_deref()).unwrap_or_default();
            name.ends_with("-none-any.whl")
        };
        self.wheels.iter().any(is_pure) || wanted::has_optional_extension(&self.name)
    }
}

impl Lock {
    pub(crate) fn parse(text: String) -> Option<Self> {
        #[derive(Deserialize)]
        struct File {
            #[serde(default)]
            packages: Vec<Locked>,
        }
        let file: File = toml::from_str(&text).ok()?;
        Some(Self { text, packages: file.packages })
    }

    /// The same for WebAssembly, without a package that is part of it already.
    pub(crate) fn for_wasm(mut self, bundled: Option<&str>) -> Self {
        let Ok(mut table) = self.text.parse::<toml::Table>() else { return self };
        // It is the Python of the host that uv looks at here.
        table.remove("requires-python");
        let is_bundled = |name: Option<&str>| bundled.is_some() && name == bundled;
        if let Some(toml::Value::Array(packages)) = table.get_mut("packages") {
            packages.retain(|package| !is_bundled(package.get("name").and_then(toml::Value::as_str)));
        }
        self.packages.retain(|package| !is_bundled(Some(&package.name)));
        self.text = table.to_string();
        self
    }

    pub(crate) fn text(&self) -> &str {
        &self.text
    }
}

/// What all of uv's errands have in common.
pub(crate) struct Uv<'a> {
    pub(crate) tool: &'a Tool,
    pub(crate) surroundings: &'a Surroundings,
    pub(crate) policy: &'a PackagePolicy,
    /// What it runs on.
    pub(crate) host: &'a Interpreter,
    pub(crate) cache: ClientFolder,
}

impl Uv<'_> {
    /// Fetches something small, with nothing but the operator's configuration.
    pub(crate) fn probe(&self, target: &Target) -> Errand {
        let mut errand = self.errand(&["pip", "install", "--target", "/tmp/probe", "--no-cache", "six"], target);
        errand.wall = RESOLVING;
        errand
    }

    /// Works out what to install, taking what is `given` as it is.
    pub(crate) fn resolve(&self, requirements: &[String], given: Option<&str>, target: &Target) -> Errand {
        let mut errand =
            self.errand(&["pip", "compile", "--quiet", "--no-header", "--format", "pylock.toml", "wanted.txt"], target);
        errand.files = vec![("wanted.txt".to_owned(), requirements.join("\n").into_bytes())];
        errand.wall = RESOLVING;
        if let Some(given) = given {
            errand.files.push(("given.txt".to_owned(), given.as_bytes().to_vec()));
            errand.arguments.extend(["--constraints".to_owned(), "given.txt".to_owned()]);
        }
        if let Some(age) = self.policy.minimum_age {
            let newest = std::time::SystemTime::now().checked_sub(age).unwrap_or(std::time::UNIX_EPOCH);
            errand.arguments.push("--exclude-newer".to_owned());
            errand.arguments.push(humantime::format_rfc3339_seconds(newest).to_string());
        }
        errand
    }

    /// Installs exactly that into a folder.
    pub(crate) fn install(&self, lock: &Lock, target: &Target, into: &Path) -> Errand {
        let install = ["pip", "install", "--target", LAYER, "--no-deps", "--link-mode", "copy", "-r", "pylock.toml"];
        let mut errand = self.errand(&install, target);
        errand.files = vec![("pylock.toml".to_owned(), lock.text().as_bytes().to_vec())];
        errand.layer = Some(into.to_owned());
        errand
    }

    /// Installs exactly that into the environment itself.
    pub(crate) fn change(&self, lock: &Lock, target: &Target, root: &Path) -> Errand {
        let install = ["pip", "install", "--no-deps", "--preview-features", "pylock", "-r", "pylock.toml"];
        let mut errand = self.errand(&install, target);
        // What others use is for all to write, and this is not.
        errand.arguments.push("--no-cache".to_owned());
        errand.files = vec![("pylock.toml".to_owned(), lock.text().as_bytes().to_vec())];
        // What it writes to is shown once.
        errand.reads.retain(|path| !path.starts_with(root));
        errand.changes = Some(root.to_owned());
        errand
    }

    fn errand(&self, arguments: &[&str], target: &Target) -> Errand {
        let common = ["--only-binary", ":all:", "--no-progress", "--color", "never", "--cache-dir", CACHE];
        let mut all: Vec<String> = arguments.iter().chain(&common).map(|argument| (*argument).to_owned()).collect();
        all.extend(["--python".to_owned(), self.host.program.display().to_string()]);
        all.extend(target.arguments());
        if self.policy.offline {
            all.push("--offline".to_owned());
        }
        let configuration = self.surroundings.uv_configuration();
        if let Some(path) = &configuration {
            all.extend(["--config-file".to_owned(), path.display().to_string()]);
        }
        let own = [
            ("UV_PYTHON_DOWNLOADS", "never"),
            ("UV_SYSTEM_CERTS", "true"),
            ("UV_HTTP_TIMEOUT", "15"),
            ("UV_HTTP_CONNECT_TIMEOUT", "10"),
            ("UV_HTTP_RETRIES", "1"),
            ("UV_NO_BUILD", "1"),
        ];
        let mut environment = self.surroundings.passed_on();
        environment.extend(self.surroundings.indexes_of_pip());
        environment.extend(own.map(|(name, value)| (name.to_owned(), value.to_owned())));
        let mut reads = self.surroundings.certificates();
        reads.extend(configuration);
        reads.extend(self.host.reads.clone());
        Errand {
            program: self.tool.program.clone(),
            arguments: all,
            environment,
            files: Vec::new(),
            reads,
            cache: self.cache.path().to_owned(),
            layer: None,
            changes: None,
            folder: None,
            wall: INSTALLING,
        }
    }
}

/// Compiles what was installed for the host's own Python: on a folder that is read-only, it would be compiled in every run. Tests are left
/// out; nobody imports them.
pub(crate) fn compile(interpreter: &Interpreter, layer: &Path, cache: &ClientFolder) -> Errand {
    let arguments = ["-m", "compileall", "-q", "-j", "2", "-x", "/tests?/", "-s", LAYER, "-p", PYTHON_PACKAGES, LAYER];
    Errand {
        program: interpreter.program.clone(),
        arguments: arguments.map(str::to_owned).into(),
        environment: Vec::new(),
        files: Vec::new(),
        reads: interpreter.reads.clone(),
        cache: cache.path().to_owned(),
        layer: Some(layer.to_owned()),
        changes: None,
        folder: None,
        wall: INSTALLING,
    }
}

/// What the host's Python has among its own packages, by the names that programs import.
///
/// Several distributions can share a namespace, in one folder or in one for each: that one part of it is there says
/// nothing about another. So a name counts up to its first part that is no namespace.
pub(crate) fn has(interpreter: &Interpreter, module: &str) -> bool {
    let ends = module.match_indices('.').map(|(end, _)| end).chain([module.len()]);
    for name in ends.filter_map(|end| module.get(..end)) {
        let path = name.replace('.', "/");
        let is_module = |site: &PathBuf| {
            let endings = ["py", "abi3.so", &format!("{}.so", interpreter.platform)];
            endings.iter().any(|ending| site.join(format!("{path}.{ending}")).is_file())
        };
        if interpreter.site.iter().any(is_module) {
            return true;
        }
        let folders: Vec<PathBuf> =
            interpreter.site.iter().map(|site| site.join(&path)).filter(|folder| folder.is_dir()).collect();
        let is_package = folders.iter().any(|folder| folder.join("__init__.py").is_file());
        if folders.is_empty() || (is_package && !wanted::is_namespace(name)) {
            return is_package;
        }
    }
    true
}

/// Packages in a few words.
pub(crate) fn shown(packages: &[Locked]) -> String {
    let some: Vec<String> = packages.iter().take(6).map(|package| package.version().to_string()).collect();
    let more = packages.len().saturating_sub(some.len());
    let more = if more > 0 { format!(" and {more} more") } else { String::new() };
    format!("{}{more}", some.join(", "))
}

/// An unreadable lock is uv's fault, or ours.
pub(crate) fn read_lock(text: String) -> Result<Lock, Trouble> {
    Lock::parse(text).ok_or(Trouble::Client("uv's answer could not be read".to_owned()))
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn a_part_of_a_namespace_is_not_another() {
        let host = tempfile::tempdir().expect("a folder");
        for file in [
            "first/google/protobuf/__init__.py",
            "first/google/cloud/storage/__init__.py",
            "second/google/auth/__init__.py",
            // As older distributions have them.
            "first/zope/__init__.py",
            "first/zope/interface/__init__.py",
            "first/unlisted/deep/module.py",
            "first/unlisted/fast.abi3.so",
            "second/plain/__init__.py",
            "second/single.py",
            "second/quick.cpython-313-x86_64-linux-gnu.so",
        ] {
            let path = host.path().join(file);
            fs::create_dir_all(path.parent().expect("a folder")).expect("ours");
            fs::write(path, "").expect("ours");
        }
        let interpreter = Interpreter {
            program: "/usr/bin/python3".into(),
            reads: Vec::new(),
            version: "3.13.1".to_owned(),
            platform: "cpython-313-x86_64-linux-gnu".to_owned(),
            site: ["first", "second"].map(|site| host.path().join(site)).into(),
        };
        for module in [
            "google.protobuf",
            "google.protobuf.message",
            "google.cloud.storage",
            "google.cloud.storage.blob",
            "google.auth",
            "zope.interface",
            "unlisted.deep.module",
            "unlisted.fast",
            "unlisted",
            "plain",
            "plain.whatever",
            "single",
            "quick",
        ] {
            assert!(has(&interpreter, module), "{module}");
        }
        for module in ["google.cloud.bigquery", "google.generativeai", "zope.event", "unlisted.other", "absent"] {
            assert!(!has(&interpreter, module), "{module}");
        }
    }
}
