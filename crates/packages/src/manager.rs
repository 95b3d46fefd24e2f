//! The story: what is wanted, whether it is here, and else resolved, installed and kept.

use std::collections::HashMap;
use std::ffi::OsString;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::{Duration, Instant};

use egress::{Gate, Log};
use engine_native::{ClientEnd, Interpreter, NativeEngine, NativeError};
use engine_wasm::WasmEngine;
use sandbox::{
    BoxFuture, EngineError, EngineId, Imported, Layer, LayerKind, LiveOutput, PackageVersion, Packages, Plan,
    Principal, ProvideError, Provided, Refusal, Status, Wanted,
};
use setup::Setup;
use sha2::{Digest as _, Sha256};
use tokio::sync::{Mutex as AsyncMutex, Semaphore};

use crate::answers::{Answer, Answers, Verdict};
use crate::clients::{Clients, Errand, Surroundings};
use crate::lock_file::LockFile;
use crate::node::{self, Deno};
use crate::policy::PackagePolicy;
use crate::python::{self, Lock, Target, Uv};
use crate::registries;
use crate::shelf::{self, Kind, LayerFile, PACK, Shelf, Stage};
use crate::{wish, words};

/// Installations at one time: they wait for the network, and then compile on all processors.
const AT_ONE_TIME: usize = 2;
/// Imports without a package that are taken out of a wish one after the other. More than this is a program in another language.
const MOST_UNKNOWN: usize = 8;
/// How long what could not be had for an import is not tried again.
const TROUBLE_FOR: Duration = Duration::from_secs(60);
/// The largest `node_modules` that WebAssembly is given.
const MOST_PACKED: u64 = 256 << 20;

/// Everything that packages need.
#[derive(Debug)]
pub struct Config {
    /// Where they are kept.
    pub root: PathBuf,
    /// What the operator allows.
    pub policy: PackagePolicy,
    /// The operator's environment, of which clients get what is theirs.
    pub environment: Vec<(OsString, OsString)>,
    /// The operator's home, where clients' configuration is.
    pub home: Option<PathBuf>,
}

/// Packages for all programs of a server.
#[derive(Debug)]
pub struct PackageManager {
    root: PathBuf,
    policy: PackagePolicy,
    surroundings: Surroundings,
    clients: Clients,
    wasm: Arc<WasmEngine>,
    shelf: OnceLock<Shelf>,
    answers: Answers,
    /// What could not be had a moment ago, and why.
    troubles: Mutex<HashMap<String, (Instant, Trouble)>>,
    /// What decides which registries are asked, for Python and for Node.
    fingerprints: [OnceLock<String>; 2],
    /// Who wants what somebody else is getting waits for them.
    flights: Mutex<HashMap<String, Arc<AsyncMutex<()>>>>,
    turns: Semaphore,
}

/// Why packages could not be had.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Trouble {
    #[error("`{name}`, which installs packages, cannot be had: {why}")]
    Tool { name: &'static str, why: String },
    #[error("no package registry can be reached: {0}")]
    NoRegistry(String),
    #[error("{0}")]
    Client(String),
    #[error("the package folder cannot be used: {0}")]
    Files(#[from] io::Error),
    #[error(transparent)]
    Engine(NativeError),
    #[error(transparent)]
    Wasm(EngineError),
    #[error(transparent)]
    Refused(#[from] Refusal),
    /// Another engine may have more luck.
    #[error("{0}")]
    Unsuited(String),
}

impl Trouble {
    /// The same, for somebody else.
    fn again(&self) -> Self {
        match self {
            Self::Unsuited(reason) => Self::Unsuited(reason.clone()),
            other => Self::Client(other.to_string()),
        }
    }
}

/// What one client is asked for.
struct Asked {
    requirements: Vec<String>,
    imported: Vec<String>,
    key: String,
}

impl PackageManager {
    /// Touches nothing yet.
    pub fn new(config: Config, native: NativeEngine, wasm: Arc<WasmEngine>, setup: Arc<Setup>) -> Self {
        Self {
            surroundings: Surroundings::new(&config.environment, config.home),
            root: config.root,
            policy: config.policy,
            clients: Clients::new(native, setup),
            wasm,
            shelf: OnceLock::new(),
            answers: Answers::default(),
            troubles: Mutex::default(),
            fingerprints: Default::default(),
            flights: Mutex::default(),
            turns: Semaphore::new(AT_ONE_TIME),
        }
    }

    /// What callers may expect.
    pub fn policy(&self) -> &PackagePolicy {
        &self.policy
    }

    fn shelf(&self) -> io::Result<&Shelf> {
        if let Some(shelf) = self.shelf.get() {
            return Ok(shelf);
        }
        let shelf = Shelf::prepare(&self.root)?;
        Ok(self.shelf.get_or_init(|| shelf))
    }

    async fn get(
        &self,
        wanted: &Wanted,
        engine: EngineId,
        live: &mut dyn LiveOutput,
    ) -> Result<(Option<Layer>, Vec<String>, bool), ProvideError> {
        let target = match (wanted.kind, engine) {
            (LayerKind::Node, _) => None,
            (LayerKind::Python, engine) => Some(self.target(engine, &wanted.caller).await?),
        };
        let asked = self.ask(wanted, target.as_ref());
        if asked.requirements.is_empty() {
            return Ok((None, Vec::new(), true));
        }
        let shelf = self.shelf().map_err(|error| failed(Trouble::Files(error)))?;
        if let Some(found) = self.recall(&asked, engine, shelf)? {
            return Ok(found);
        }
        let flight = self.flight(&asked.key);
        let _alone = flight.lock().await;
        if let Some(found) = self.recall(&asked, engine, shelf)? {
            return Ok(found);
        }
        if let Some(trouble) = self.recent_trouble(&asked) {
            return Err(failed(trouble));
        }
        if !self.clients.native().can_run_clients() {
            let message = "packages cannot be installed on this host, which gives jails no namespaces";
            return Err(Refusal::new("packages", message, "leave `packages` out; `belljar doctor` says more").into());
        }
        let _turn = self.turns.acquire().await;
        let lock = shelf.path("locks", &asked.key);
        let _process = LockFile::take(&lock).await.map_err(|error| failed(Trouble::Files(error)))?;
        if let Some(found) = self.recall(&asked, engine, shelf)? {
            return Ok(found);
        }
        let answer = match &target {
            Some(target) => self.get_python(&asked, (target, &wanted.caller), shelf, live).await,
            None => self.get_node(&asked, shelf, live).await,
        };
        let answer = answer.map_err(|trouble| {
            self.remember_trouble(&asked, &trouble);
            failed(trouble)
        })?;
        self.answers.keep(&asked.key, answer, shelf);
        shelf.evict(self.policy.most);
        // What was just made is the newest.
        let found = self.recall(&asked, engine, shelf)?;
        let (layer, unknown, _) = found.ok_or_else(|| failed(Trouble::Files(io::ErrorKind::NotFound.into())))?;
        Ok((layer, unknown, false))
    }

    /// The Python whose packages an engine needs.
    async fn target(&self, engine: EngineId, caller: &Principal) -> Result<Target, ProvideError> {
        Ok(match engine {
            EngineId::Native => Target::Native(self.host(caller).await.map_err(failed)?),
            EngineId::Wasm => Target::Wasm { version: self.wasm.python_version().unwrap_or_default() },
        })
    }

    async fn host(&self, caller: &Principal) -> Result<Interpreter, Trouble> {
        self.clients.native().interpreter(caller).await.map_err(Trouble::Engine)
    }

    /// What is left of a wish when the target's own is taken away.
    fn ask(&self, wanted: &Wanted, target: Option<&Target>) -> Asked {
        let is_there = |imported: &Imported| match target {
            Some(Target::Native(interpreter)) => python::has(interpreter, &imported.module),
            Some(Target::Wasm { .. }) => imported.package == NUMPY && self.wasm.has_numpy(),
            None => false,
        };
        let is_bundled =
            |name: &String| matches!(target, Some(Target::Wasm { .. })) && name == NUMPY && self.wasm.has_numpy();
        let named: Vec<String> = wanted.named.iter().filter(|name| !is_bundled(name)).cloned().collect();
        let imported: Vec<String> =
            wanted.imported.iter().filter(|imported| !is_there(imported)).map(|it| it.package.clone()).collect();
        // Everything that the answer depends on. What is a guess may be missing, and what is named may not.
        let target = target.map(Target::key).unwrap_or_default();
        let rules = format!("{:?} {:?}", self.policy.minimum_age, self.policy.offline);
        let registries = self.fingerprint(wanted.kind);
        let key = hash([&*target, &rules, registries, &named.join("\n"), &imported.join("\n")]);
        Asked { requirements: named.into_iter().chain(imported.iter().cloned()).collect(), imported, key }
    }

    /// Looked at once: whoever changes it starts the server again.
    fn fingerprint(&self, kind: LayerKind) -> &str {
        let [python, node] = &self.fingerprints;
        let place = if kind == LayerKind::Python { python } else { node };
        place.get_or_init(|| self.surroundings.fingerprint(kind))
    }

    /// The answer to the same wish before, if what it names is still here.
    fn recall(
        &self,
        asked: &Asked,
        engine: EngineId,
        shelf: &Shelf,
    ) -> Result<Option<(Option<Layer>, Vec<String>, bool)>, ProvideError> {
        let answer = self.answers.recall(&asked.key).or_else(|| self.answers.look_up(&asked.key, shelf));
        let Some(answer) = answer else { return Ok(None) };
        match answer.verdict {
            Verdict::Unsuited(reason) => Err(ProvideError::Unsuited(reason)),
            Verdict::Nothing => Ok(Some((None, answer.unknown, true))),
            Verdict::Layer(id) => {
                let Some(layer) = shelf.layer(&id) else { return Ok(None) };
                // The operator may have changed their mind since.
                self.policy.check_all(&layer.packages)?;
                if engine == EngineId::Wasm && layer.pack.is_none() {
                    return Err(ProvideError::Unsuited(format!("{} needs compiled code", of(&layer.packages))));
                }
                Ok(Some((Some(layer), answer.unknown, true)))
            }
        }
    }

    /// Why the same could not be had a moment ago. Where only imports ask for it, it is not tried again at once: a registry that does not
    /// answer would hold up every run.
    fn recent_trouble(&self, asked: &Asked) -> Option<Trouble> {
        let mut troubles = self.troubles.lock().unwrap_or_else(PoisonError::into_inner);
        troubles.retain(|_, (since, _)| since.elapsed() < TROUBLE_FOR);
        troubles.get(&asked.key).map(|(_, trouble)| trouble.again())
    }

    fn remember_trouble(&self, asked: &Asked, trouble: &Trouble) {
        if asked.imported.len() == asked.requirements.len() {
            let mut troubles = self.troubles.lock().unwrap_or_else(PoisonError::into_inner);
            troubles.insert(asked.key.clone(), (Instant::now(), trouble.again()));
        }
    }

    fn flight(&self, key: &str) -> Arc<AsyncMutex<()>> {
        let mut flights = self.flights.lock().unwrap_or_else(PoisonError::into_inner);
        // Those that nobody waits for any more.
        flights.retain(|_, flight| Arc::strong_count(flight) > 1);
        Arc::clone(flights.entry(key.to_owned()).or_default())
    }

    async fn get_python(
        &self,
        asked: &Asked,
        (target, caller): (&Target, &Principal),
        shelf: &Shelf,
        live: &mut dyn LiveOutput,
    ) -> Result<Answer, Trouble> {
        let host = match target {
            Target::Native(host) => host.clone(),
            // uv runs on some Python of the host, whichever it resolves for.
            Target::Wasm { .. } => self.host(caller).await?,
        };
        let tool = self.clients.uv(live).await?;
        let uv = Uv {
            tool,
            surroundings: &self.surroundings,
            policy: &self.policy,
            host: &host,
            cache: shelf.client("uv")?,
        };
        let gate = self.gate(LayerKind::Python, shelf, || Ok(uv.probe(target)), live).await?;
        live.news(&format!("resolving {}", asked.requirements.join(", ")));
        let (mut requirements, mut unknown) = (asked.requirements.clone(), Vec::new());
        // What is part of the target has the version that it has.
        let bundled = match target {
            Target::Wasm { .. } => self.wasm.numpy_version().await.map_err(Trouble::Wasm)?,
            Target::Native(_) => None,
        };
        let given = bundled.as_ref().map(|version| format!("{NUMPY}=={version}"));
        let lock = loop {
            let errand = uv.resolve(&requirements, given.as_deref(), target);
            let end = self.run(errand, gate.as_ref(), live).await?;
            if end.status.is_success() {
                break python::read_lock(end.stdout)?;
            }
            // An import is a guess, and is given up alone. What somebody named is not.
            let missing = words::not_found(&end.stderr);
            let guesses: Vec<String> =
                missing.into_iter().filter(|name| asked.imported.contains(name) && !unknown.contains(name)).collect();
            if guesses.is_empty() || unknown.len() > MOST_UNKNOWN {
                return Err(match target {
                    // The host's own Python is another version, for which there may be wheels.
                    Target::Wasm { .. } => Trouble::Unsuited(why(&end)),
                    Target::Native(_) => Trouble::Client(why(&end)),
                });
            }
            requirements.retain(|requirement| !guesses.contains(requirement));
            unknown.extend(guesses);
            if requirements.is_empty() {
                return Ok(Answer::new(Verdict::Nothing, unknown));
            }
        };
        let lock = match target {
            Target::Wasm { .. } => lock.for_wasm(bundled.as_ref().map(|_| NUMPY)),
            Target::Native(_) => lock,
        };
        let packages: Vec<PackageVersion> = lock.packages.iter().map(python::Locked::version).collect();
        self.policy.check_all(&packages)?;
        if let Target::Wasm { .. } = target
            && let Some(compiled) = lock.packages.iter().find(|package| !package.is_pure())
        {
            return Ok(Answer::new(Verdict::Unsuited(format!("`{}` needs compiled code", compiled.name)), unknown));
        }
        let id = id(&[&target.key(), lock.text()]);
        if shelf.layer(&id).is_none() {
            self.install_python(&uv, &lock, target, gate.as_ref(), shelf, &id, packages, live).await?;
        }
        Ok(Answer::new(Verdict::Layer(id), unknown))
    }

    #[expect(clippy::too_many_arguments, reason = "what was found out on the way")]
    async fn install_python(
        &self,
        uv: &Uv<'_>,
        lock: &Lock,
        target: &Target,
        gate: Option<&Gate>,
        shelf: &Shelf,
        id: &str,
        packages: Vec<PackageVersion>,
        live: &mut dyn LiveOutput,
    ) -> Result<(), Trouble> {
        python::tell(live, "installing", &packages);
        let stage = shelf.stage()?;
        let site = stage.open_folder(Kind::Python.folder())?;
        let end = self.run(uv.install(lock, target, &site), gate, live).await?;
        if !end.status.is_success() {
            return Err(Trouble::Client(why(&end)));
        }
        match target {
            Target::Native(interpreter) => {
                python::tell(live, "compiling", &packages);
                // What does not compile is a template, or for another version: nobody can import it anyway.
                let cache = shelf.client("uv")?;
                self.run(python::compile(interpreter, &site, cache), None, live).await?;
            }
            Target::Wasm { .. } => {}
        }
        let looked = shelf::take_over(&site)?;
        let pack = match target {
            Target::Native(_) => None,
            Target::Wasm { .. } => {
                python::tell(live, "compiling", &packages);
                Some(self.wasm.pack_python(&site).await.map_err(Trouble::Wasm)?)
            }
        };
        publish(shelf, stage, id, Kind::Python, packages, looked.bytes, pack)
    }

    async fn get_node(&self, asked: &Asked, shelf: &Shelf, live: &mut dyn LiveOutput) -> Result<Answer, Trouble> {
        let tool = self.clients.deno(live).await?;
        let deno = Deno {
            tool,
            surroundings: &self.surroundings,
            policy: &self.policy,
            cache: shelf.client("deno")?,
        };
        let probe = shelf.stage()?;
        let probed = probe.open_folder("probe")?;
        let errand = || {
            // Without a cache, or there would be nobody to ask.
            let mut errand = deno.install(&["is-number@*".to_owned()], &probed)?;
            errand.cache = probe.open_folder("cache")?;
            Ok(errand)
        };
        let gate = self.gate(LayerKind::Node, shelf, errand, live).await?;
        let (mut specs, mut unknown) = (asked.requirements.clone(), Vec::new());
        live.news(&format!("installing {}", specs.join(", ")));
        loop {
            let stage = shelf.stage()?;
            let folder = stage.open_folder("work")?;
            let end = self.run(deno.install(&specs, &folder)?, gate.as_ref(), live).await?;
            if end.status.is_success() {
                return self.keep_node(shelf, stage, &folder, unknown).await;
            }
            let missing = words::not_in_npm(&end.stderr);
            let guess = |spec: &String| {
                let name = spec.rsplit_once('@').map_or(spec.as_str(), |(name, _)| name);
                asked.imported.contains(spec) && missing.iter().any(|missing| missing == name)
            };
            let guesses: Vec<String> = specs.iter().filter(|spec| guess(spec)).cloned().collect();
            if guesses.is_empty() || unknown.len() > MOST_UNKNOWN {
                return Err(Trouble::Client(why(&end)));
            }
            specs.retain(|spec| !guesses.contains(spec));
            unknown.extend(guesses.iter().map(|spec| spec.trim_end_matches("@*").to_owned()));
            if specs.is_empty() {
                return Ok(Answer::new(Verdict::Nothing, unknown));
            }
        }
    }

    async fn keep_node(
        &self,
        shelf: &Shelf,
        stage: Stage,
        work: &Path,
        unknown: Vec<String>,
    ) -> Result<Answer, Trouble> {
        let unreadable = || Trouble::Client("what Deno installed could not be read".to_owned());
        let (record, packages) = node::installed(work).ok_or_else(unreadable)?;
        self.policy.check_all(&packages)?;
        let id = id(&["node", &record]);
        if shelf.layer(&id).is_none() {
            let modules = stage.path(Kind::Node.folder());
            fs::rename(work.join("node_modules"), &modules)?;
            fs::remove_dir_all(work)?;
            let looked = shelf::take_over(&modules)?;
            let is_packed = looked.compiled.is_none() && looked.bytes <= MOST_PACKED;
            let pack = if is_packed { Some(engine_wasm::pack_modules(&modules).map_err(|error| Trouble::Wasm(EngineError::new(error)))?) } else { None };
            publish(shelf, stage, &id, Kind::Node, packages, looked.bytes, pack)?;
        }
        Ok(Answer::new(Verdict::Layer(id), unknown))
    }

    /// Who may be reached; `None` when nobody.
    async fn gate(
        &self,
        kind: LayerKind,
        shelf: &Shelf,
        probe: impl FnOnce() -> Result<Errand, Trouble>,
        live: &mut dyn LiveOutput,
    ) -> Result<Option<Gate>, Trouble> {
        if self.policy.offline {
            return Ok(None);
        }
        let asker = registries::Asker {
            name: if kind == LayerKind::Python { "uv" } else { "deno" },
            fingerprint: self.fingerprint(kind),
            policy: &self.policy,
            shelf,
            clients: &self.clients,
            proxy: self.surroundings.proxy(),
        };
        registries::gate(&asker, probe, live).await.map(Some)
    }

    async fn run(&self, errand: Errand, gate: Option<&Gate>, live: &mut dyn LiveOutput) -> Result<ClientEnd, Trouble> {
        let log = Log::default();
        let mut end = self.clients.run(errand, gate.map(|gate| (gate, &log)), live).await?;
        // Clients do not pass on what the way out says of a host.
        if let Some(denied) = log.traffic().denied.first().filter(|_| !end.status.is_success()) {
            end.stderr = format!("error: {denied}");
        }
        Ok(end)
    }
}

const NUMPY: &str = "numpy";

impl Packages for PackageManager {
    fn wants(&self, plan: &Plan) -> Result<Option<Wanted>, Refusal> {
        wish::of(plan, &self.policy)
    }

    fn check(&self, kind: LayerKind, caller: &Principal, packages: &[String]) -> Result<Wanted, Refusal> {
        wish::named(kind, caller, packages, &self.policy)
    }

    fn provide<'a>(
        &'a self,
        wanted: &'a Wanted,
        engine: EngineId,
        live: &'a mut dyn LiveOutput,
    ) -> BoxFuture<'a, Result<Provided, ProvideError>> {
        Box::pin(async move {
            let started = Instant::now();
            match self.get(wanted, engine, live).await {
                Ok((layer, unknown, cached)) => {
                    Ok(Provided { layer, took: started.elapsed(), cached, unknown, problem: None })
                }
                // Nobody named anything: then the program runs, and says itself what it misses.
                Err(error @ (ProvideError::Refused(_) | ProvideError::Failed(_))) if wanted.named.is_empty() => {
                    let problem = Some(error.to_string());
                    Ok(Provided { layer: None, took: started.elapsed(), cached: false, unknown: Vec::new(), problem })
                }
                Err(error) => Err(error),
            }
        })
    }
}

/// Everything but the name.
fn publish(
    shelf: &Shelf,
    stage: Stage,
    id: &str,
    kind: Kind,
    packages: Vec<PackageVersion>,
    bytes: u64,
    pack: Option<Vec<u8>>,
) -> Result<(), Trouble> {
    let described = LayerFile {
        kind,
        packages: packages.into_iter().map(|package| (package.name, package.version)).collect(),
        bytes: bytes + pack.as_ref().map_or(0, |pack| pack.len() as u64),
        pack: pack.is_some(),
    };
    if let Some(pack) = pack {
        fs::write(stage.path(PACK), pack)?;
    }
    Ok(shelf.publish(stage, id, &described)?)
}

fn id(parts: &[&str]) -> String {
    hash(parts.iter().copied()).chars().take(32).collect()
}

fn hash<S: AsRef<str>>(parts: impl IntoIterator<Item = S>) -> String {
    let mut hash = Sha256::new();
    for part in parts {
        let part = part.as_ref();
        hash.update((part.len() as u64).to_le_bytes());
        hash.update(part);
    }
    registries::hex(&hash.finalize())
}

fn of(packages: &[PackageVersion]) -> String {
    let names: Vec<String> = packages.iter().take(3).map(|package| format!("`{}`", package.name)).collect();
    format!("one of {}", names.join(", "))
}

/// Why a client could not.
fn why(end: &ClientEnd) -> String {
    match end.status {
        Status::TimedOut => "the registry did not answer in time".to_owned(),
        Status::Completed { .. } => words::reason(&end.stderr),
        status @ (Status::Crashed { .. } | Status::LimitExceeded(_) | Status::Cancelled) => {
            format!("the client ended early ({}): {}", status.name(), words::reason(&end.stderr))
        }
    }
}

/// Whose fault it is: what a registry or a client says is the caller's to read, the rest the operator's.
fn failed(trouble: Trouble) -> ProvideError {
    match trouble {
        Trouble::Refused(refusal) => refusal.into(),
        Trouble::Unsuited(reason) => ProvideError::Unsuited(reason),
        Trouble::Client(_) | Trouble::NoRegistry(_) | Trouble::Tool { .. } => {
            let hint = "check names and versions; only wheels and npm packages without install scripts are installed";
            Refusal::new("packages", format!("`packages` cannot be installed: {trouble}"), hint).into()
        }
        Trouble::Files(_) | Trouble::Engine(_) | Trouble::Wasm(_) => EngineError::new(trouble).into(),
    }
}
