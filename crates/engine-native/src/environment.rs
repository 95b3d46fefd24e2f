//! The Python that a caller's programs run on: the host's own, or an environment that the operator allows.
//!
//! An environment is shown to guests at its own path, read-only, along with the Python that it was made from. What is
//! in it is the operator's responsibility: callers choose among what the operator lists, and nothing they say makes us
//! open anything outside of that.

use std::collections::HashMap;
use std::fs;
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use rustix::fs::{Mode, OFlags};
use sandbox::{
    BoxFuture, EngineError, EnvironmentInfo, EnvironmentKind, EnvironmentRequest, Environments, Language,
    PackageVersion, Principal, Refusal,
};
use tokio::sync::OnceCell;

use crate::client::Interpreter;
use crate::error::NativeError;
use crate::tools::{self, FoundTool};
use crate::{NativeEngine, Shared, Tool};

/// How many callers' choices are remembered. Beyond that, no new caller can choose until the server is restarted.
const MOST_CALLERS: usize = 10_000;
/// How much is read of a package's metadata, whose name and version come first, and of an environment's configuration.
const MOST_METADATA: u64 = 16 << 10;
const PYTHON: &str = "python";

/// What the operator allows, and what callers chose.
#[derive(Debug, Default)]
pub(crate) struct Chosen {
    /// Environments may be here or below.
    allowed: Vec<PathBuf>,
    /// For callers who have chosen nothing.
    default: Option<Arc<Environment>>,
    by_caller: Mutex<HashMap<Principal, Option<Arc<Environment>>>>,
}

/// An environment that has been inspected.
#[derive(Debug)]
pub(crate) struct Environment {
    kind: EnvironmentKind,
    root: PathBuf,
    pub(crate) tool: Arc<Tool>,
    interpreter: OnceCell<Interpreter>,
}

impl Chosen {
    /// The environment of a caller; `None` for the host's own Python.
    pub(crate) fn of(&self, caller: &Principal) -> Option<Arc<Environment>> {
        let by_caller = self.by_caller.lock().unwrap_or_else(PoisonError::into_inner);
        by_caller.get(caller).cloned().unwrap_or_else(|| self.default.clone())
    }

    fn set(&self, caller: &Principal, environment: Option<Arc<Environment>>) -> Result<(), Refusal> {
        let mut by_caller = self.by_caller.lock().unwrap_or_else(PoisonError::into_inner);
        if by_caller.len() >= MOST_CALLERS && !by_caller.contains_key(caller) {
            let message = "this server remembers no more environments";
            return Err(Refusal::new("type", message, "ask its operator to start it again"));
        }
        by_caller.insert(caller.clone(), environment);
        Ok(())
    }
}

impl Shared {
    /// What was configured at start. `environment` is the operator's own choice, and need not be on the list.
    pub(crate) fn configured(&self, environment: Option<&Path>, allowed: &[PathBuf]) -> Result<Chosen, Refusal> {
        let default = environment
            .map(|path| {
                let allowed = [path.to_owned()];
                let found = find(path, &allowed).ok_or_else(|| nothing_at(path, &allowed))?;
                self.open(found, &allowed)
            })
            .transpose()?;
        Ok(Chosen { allowed: allowed.to_vec(), default: default.map(Arc::new), by_caller: Mutex::default() })
    }

    fn choose(&self, wanted: &EnvironmentRequest) -> Result<Option<Arc<Environment>>, Refusal> {
        if wanted.kind == EnvironmentKind::Host {
            return Ok(None);
        }
        let allowed = &self.chosen.allowed;
        if allowed.is_empty() {
            let message = "this server's operator allows no Python environments";
            let hint = "list folders in `environments.allow` of its configuration, or use type `host`";
            return Err(Refusal::new("type", message, hint));
        }
        let places = places(wanted, allowed)?;
        let found = places.iter().find_map(|place| find(place, allowed));
        let first = places.first().map_or(Path::new(""), PathBuf::as_path);
        let found = found.ok_or_else(|| nothing_at(first, allowed))?;
        let is = found.kind;
        let fits = is == wanted.kind || (wanted.kind == EnvironmentKind::Venv && is == EnvironmentKind::Uv);
        if !fits {
            let message = format!("`{}` is an environment of {is}, not of {}", found.root.display(), wanted.kind);
            return Err(Refusal::new("type", message, format!("ask for type `{is}`")));
        }
        Ok(Some(Arc::new(self.open(found, allowed)?)))
    }

    /// Makes a found environment usable, if its Python is where guests may look.
    fn open(&self, found: Found, allowed: &[PathBuf]) -> Result<Environment, Refusal> {
        let real = fs::canonicalize(&found.python).map_err(|_| nothing_at(&found.root, allowed))?;
        let mut more = Vec::new();
        if !self.view.covers(&real) && !real.starts_with(&found.root) {
            let base = real.parent().and_then(Path::parent).unwrap_or(&real).to_owned();
            let is_known = tools::is_toolchain_home(&base, &self.search) || is_below(&base, allowed);
            if !is_known {
                let message = format!("the Python of `{}` is in `{}`", found.root.display(), base.display());
                let hint = "the operator has to allow that folder too, in `environments.allow`";
                return Err(Refusal::new("path", message, hint));
            }
            more.push(base);
        }
        let language = Language::find(PYTHON);
        let toolchain = language.and_then(|language| language.toolchains.first());
        let toolchain = toolchain.ok_or_else(|| nothing_at(&found.root, allowed))?;
        let tool = FoundTool { toolchain, program: found.python, home: Some(found.root.clone()), more };
        Ok(Environment {
            kind: found.kind,
            root: found.root,
            tool: Arc::new(Tool { found: tool, version: OnceCell::new() }),
            interpreter: OnceCell::new(),
        })
    }

    /// The interpreter of a caller's programs.
    pub(crate) async fn interpreter_of(&self, caller: &Principal) -> Result<Interpreter, NativeError> {
        if let Some(environment) = self.chosen.of(caller) {
            let asked = environment.interpreter.get_or_try_init(|| self.ask_interpreter(&environment.tool));
            return asked.await.cloned();
        }
        let language = Language::find(PYTHON).ok_or(NativeError::ToolGone(PYTHON))?;
        let tool = self.tool(language)?;
        self.interpreter.get_or_try_init(|| self.ask_interpreter(&tool)).await.cloned()
    }

    async fn describe_environment(&self, caller: &Principal) -> Result<EnvironmentInfo, NativeError> {
        let interpreter = self.interpreter_of(caller).await?;
        let environment = self.chosen.of(caller);
        Ok(EnvironmentInfo {
            kind: environment.as_ref().map_or(EnvironmentKind::Host, |environment| environment.kind),
            path: environment.map(|environment| environment.root.clone()),
            python: interpreter.program,
            version: interpreter.version,
        })
    }
}

impl Environments for NativeEngine {
    fn configure<'a>(
        &'a self,
        caller: &'a Principal,
        wanted: EnvironmentRequest,
    ) -> BoxFuture<'a, Result<EnvironmentInfo, Refusal>> {
        Box::pin(async move {
            let before = self.shared.chosen.of(caller);
            let shared = Arc::clone(&self.shared);
            // The folder may be on a slow disk or another machine; only this caller waits for it.
            let chosen = tokio::task::spawn_blocking(move || shared.choose(&wanted)).await;
            let broken = |_| Refusal::new("path", "the environment could not be looked at", "try again");
            self.shared.chosen.set(caller, chosen.map_err(broken)??)?;
            match self.shared.describe_environment(caller).await {
                Ok(info) => Ok(info),
                Err(error) => {
                    // An environment that does not work is not kept.
                    self.shared.chosen.set(caller, before)?;
                    let hint = "make the environment anew, or use another";
                    Err(Refusal::new("path", format!("that environment's Python does not run here: {error}"), hint))
                }
            }
        })
    }

    fn environment<'a>(&'a self, caller: &'a Principal) -> BoxFuture<'a, Result<EnvironmentInfo, EngineError>> {
        Box::pin(async move { self.shared.describe_environment(caller).await.map_err(EngineError::new) })
    }

    fn installed<'a>(&'a self, caller: &'a Principal) -> BoxFuture<'a, Result<Vec<PackageVersion>, EngineError>> {
        Box::pin(async move {
            let interpreter = self.shared.interpreter_of(caller).await.map_err(EngineError::new)?;
            let look = move || {
                let mut packages: Vec<PackageVersion> =
                    interpreter.site.iter().flat_map(|site| packages_in(site)).collect();
                packages.sort();
                packages.dedup();
                packages
            };
            tokio::task::spawn_blocking(look).await.map_err(EngineError::new)
        })
    }
}

/// An environment on the disk.
struct Found {
    kind: EnvironmentKind,
    root: PathBuf,
    python: PathBuf,
}

/// What is at an allowed path: an environment, or a project with one. Nothing outside is looked at: otherwise callers
/// could name any path and learn what is there.
fn find(path: &Path, allowed: &[PathBuf]) -> Option<Found> {
    // Links in the path are followed once, here; what counts is where they lead.
    let real = |path: &Path| fs::canonicalize(path).ok().filter(|path| is_below(path, allowed));
    let root = real(path)?;
    let within = |root: PathBuf| {
        let python = ["bin/python3", "bin/python"]
            .map(|name| root.join(name))
            .into_iter()
            .find(|it| fs::metadata(it).is_ok())?;
        let configuration = start_of(&root.join("pyvenv.cfg")).ok();
        let kind = match configuration {
            Some(text) if text.lines().any(|line| line.trim_start().starts_with("uv =")) => EnvironmentKind::Uv,
            Some(_) => EnvironmentKind::Venv,
            None if root.join("conda-meta").is_dir() => EnvironmentKind::Conda,
            None => return None,
        };
        Some(Found { kind, root, python })
    };
    within(root.clone()).or_else(|| within(real(&root.join(".venv"))?))
}

/// Where the wanted environment may be.
fn places(wanted: &EnvironmentRequest, allowed: &[PathBuf]) -> Result<Vec<PathBuf>, Refusal> {
    match (&wanted.path, &wanted.name) {
        (Some(path), _) if path.is_absolute() => Ok(vec![path.clone()]),
        (Some(path), _) => {
            let message = format!("`path` is `{}`, which is relative", path.display());
            Err(Refusal::new("path", message, "give the environment's whole path"))
        }
        (None, Some(name)) => {
            let is_name = !name.is_empty() && !name.starts_with('.') && !name.contains(['/', '\0']);
            if !is_name {
                let shown: String = name.chars().flat_map(char::escape_debug).take(40).collect();
                let message = format!("`{shown}` is no name of an environment");
                return Err(Refusal::new("name", message, "give its name, such as `analysis`, or its `path`"));
            }
            Ok(allowed.iter().flat_map(|folder| [folder.join("envs").join(name), folder.join(name)]).collect())
        }
        (None, None) => {
            let hint = "give the environment's `path`, or for conda its `name`";
            Err(Refusal::new("path", "neither `path` nor `name` says which environment", hint))
        }
    }
}

fn is_below(path: &Path, allowed: &[PathBuf]) -> bool {
    allowed.iter().any(|folder| fs::canonicalize(folder).is_ok_and(|folder| path.starts_with(folder)))
}

fn listed(allowed: &[PathBuf]) -> String {
    allowed.iter().map(|path| format!("`{}`", path.display())).collect::<Vec<_>>().join(", ")
}

/// One answer for a path with nothing there and for one that is not allowed: the difference is none of the caller's
/// business.
fn nothing_at(path: &Path, allowed: &[PathBuf]) -> Refusal {
    let message = format!("there is no Python environment at `{}` that this server's operator allows", path.display());
    let hint = format!(
        "give a folder with `bin/python` and `pyvenv.cfg`, or with `conda-meta`, that is below {}",
        listed(allowed)
    );
    Refusal::new("path", message, hint)
}

/// Names and versions, from the metadata in a folder of packages.
fn packages_in(site: &Path) -> Vec<PackageVersion> {
    let entries = fs::read_dir(site).into_iter().flatten().flatten();
    let metadata = entries.filter_map(|entry| {
        let path = entry.path();
        match path.extension()?.to_str()? {
            "dist-info" => Some(path.join("METADATA")),
            "egg-info" if path.is_dir() => Some(path.join("PKG-INFO")),
            "egg-info" => Some(path),
            _ => None,
        }
    });
    metadata.filter_map(|path| described(&path)).collect()
}

fn described(path: &Path) -> Option<PackageVersion> {
    let start = start_of(path).ok()?;
    let field = |name: &str| {
        let head = start.lines().take_while(|line| !line.is_empty());
        let mut values = head.filter_map(|line| line.strip_prefix(name)?.strip_prefix(':'));
        values.next().map(|value| value.trim().chars().filter(|c| !c.is_control()).take(128).collect::<String>())
    };
    Some(PackageVersion { name: field("Name")?, version: field("Version")? })
}

/// The start of a file's text. Only of a regular file: a FIFO is opened without waiting for a writer, and a device is
/// not read.
fn start_of(path: &Path) -> io::Result<String> {
    let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
    let file = fs::File::from(rustix::fs::open(path, flags, Mode::empty())?);
    if !file.metadata()?.is_file() {
        return Err(io::ErrorKind::InvalidInput.into());
    }
    let mut start = Vec::new();
    file.take(MOST_METADATA).read_to_end(&mut start)?;
    Ok(String::from_utf8_lossy(&start).into_owned())
}
