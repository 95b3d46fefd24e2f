//! The story: what is wanted, whether it is here, and else resolved, installed and kept.

use std::collections::HashMap;
use std::ffi::OsString;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::{Duration, Instant};

use engine_native::{Interpreter, NativeEngine};
use engine_wasm::WasmEngine;
use sandbox::{
    BoxFuture, Bytes, Changed, EngineId, Imported, Layer, LayerKind, LiveOutput, PackageVersion, Packages, Plan,
    Principal, ProvideError, Provided, Refusal, Wanted,
};
use setup::{Digest, Setup};
use tokio::runtime::Handle;

use crate::answers::{Answers, Verdict};
use crate::clients::{Clients, Surroundings};
use crate::getting::Getting;
use crate::lock_file::LockFile;
use crate::policy::PackagePolicy;
use crate::python::{self, Target};
use crate::store::Store;
use crate::trouble::Trouble;
use crate::turns::Turns;
use crate::wish;

/// How long to wait before trying again to get what could not be had for an import.
const TROUBLE_FOR: Duration = Duration::from_mins(1);

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
    pub(crate) policy: PackagePolicy,
    pub(crate) surroundings: Surroundings,
    pub(crate) clients: Clients,
    pub(crate) wasm: Arc<WasmEngine>,
    store: OnceLock<Store>,
    answers: Answers,
    /// What could not be had a moment ago, and why.
    troubles: Mutex<HashMap<String, (Instant, Trouble)>>,
    /// What decides which registries are asked, for Python and for Node.
    fingerprints: [OnceLock<String>; 2],
    turns: Turns,
}

/// What one client is asked for.
#[derive(Debug)]
pub(crate) struct Asked {
    pub(crate) requirements: Vec<String>,
    /// Those of them that are guesses.
    pub(crate) imported: Vec<String>,
    key: String,
}

/// What there is for a wish.
struct Found {
    /// `None` where nothing is needed.
    layer: Option<Layer>,
    /// Imports that nothing provides.
    unknown: Vec<String>,
    cached: bool,
}

/// Removes what is over the limit once something was got or given up: a client that does not come to its end leaves
/// what it fetched.
struct Evicting {
    store: Store,
    most: Bytes,
}

impl Drop for Evicting {
    fn drop(&mut self) {
        let (store, most) = (self.store.clone(), self.most);
        // None where all ends with the server.
        if let Ok(runtime) = Handle::try_current() {
            runtime.spawn_blocking(move || store.evict(most));
        }
    }
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
            store: OnceLock::new(),
            answers: Answers::default(),
            troubles: Mutex::default(),
            fingerprints: Default::default(),
            turns: Turns::default(),
        }
    }

    fn store(&self) -> io::Result<&Store> {
        if let Some(store) = self.store.get() {
            return Ok(store);
        }
        let store = Store::prepare(&self.root)?;
        Ok(self.store.get_or_init(|| store))
    }

    async fn get(&self, wanted: &Wanted, engine: EngineId, live: &mut dyn LiveOutput) -> Result<Found, ProvideError> {
        let target = match (wanted.kind, engine) {
            (LayerKind::Node, _) => None,
            (LayerKind::Python, engine) => Some(self.target(engine, &wanted.caller).await?),
        };
        if let (Some(target), Some(requires)) = (&target, &wanted.requires_python)
            && !wanted::python_satisfies(target.version(), requires)
        {
            let message = format!("the program requires Python `{requires}`, and this is {}", target.version());
            return Err(ProvideError::WrongPython(message));
        }
        let asked = self.ask(wanted, target.as_ref());
        if asked.requirements.is_empty() {
            return Ok(Found { layer: None, unknown: Vec::new(), cached: true });
        }
        // Whoever made the wish has checked this already. Here it holds even for what they forgot.
        self.policy.check_enabled()?;
        // What the cells of a session name together is one wish.
        wish::check_count(wanted.named.len())?;
        let store = self.store().map_err(Trouble::Files)?;
        if let Some(found) = self.recall(&asked, engine, store)? {
            return Ok(found);
        }
        let _alone = self.turns.alone_with(&wanted.caller, &asked.key).await;
        if let Some(found) = self.recall(&asked, engine, store)? {
            return Ok(found);
        }
        if let Some(trouble) = self.recent_trouble(&asked) {
            return Err(trouble.into());
        }
        self.check_clients()?;
        let _turn = self.turns.take(&wanted.caller).await;
        let _process = LockFile::take(&store.lock(&asked.key)).await.map_err(Trouble::Files)?;
        // What came of it when another caller or server tried, while this one waited.
        if let Some(found) = self.recall(&asked, engine, store)? {
            return Ok(found);
        }
        if let Some(trouble) = self.recent_trouble(&asked) {
            return Err(trouble.into());
        }
        let _evicting = self.evicting(store);
        let getting = Getting { manager: self, store, asked: &asked, live };
        let answer = match &target {
            Some(target) => getting.python(target, &wanted.caller).await,
            None => getting.node().await,
        };
        let answer = answer.inspect_err(|trouble| self.remember_trouble(&asked, trouble))?;
        self.answers.keep(&asked.key, answer, store);
        // What was just made is held by this, whatever has to go now.
        let found = self.recall(&asked, engine, store)?;
        let found = found.ok_or_else(|| Trouble::Files(io::ErrorKind::NotFound.into()))?;
        Ok(Found { cached: false, ..found })
    }

    /// The same for good, in an environment of the operator's.
    async fn change(&self, wanted: &Wanted, root: &Path, live: &mut dyn LiveOutput) -> Result<Changed, ProvideError> {
        self.policy.check_enabled()?;
        let store = self.store().map_err(Trouble::Files)?;
        self.check_clients()?;
        let host = self.host(&wanted.caller).await?;
        let key = Digest::of_parts([root.as_os_str().as_encoded_bytes()]).to_string();
        let asked = Asked { requirements: wanted.named.clone(), imported: Vec::new(), key };
        let _turn = self.turns.take(&wanted.caller).await;
        let _process = LockFile::take(&store.lock(&asked.key)).await.map_err(Trouble::Files)?;
        let _evicting = self.evicting(store);
        Ok(Getting { manager: self, store, asked: &asked, live }.environment(host, root).await?)
    }

    fn evicting(&self, store: &Store) -> Evicting {
        Evicting { store: store.clone(), most: self.policy.most }
    }

    fn check_clients(&self) -> Result<(), Refusal> {
        if self.clients.native().can_run_clients() {
            return Ok(());
        }
        let message = "packages cannot be installed on this host, which gives jails no namespaces";
        Err(Refusal::new("packages", message, "leave `packages` out; `belljar doctor` says more"))
    }

    /// The Python whose packages an engine needs.
    async fn target(&self, engine: EngineId, caller: &Principal) -> Result<Target, ProvideError> {
        Ok(match engine {
            EngineId::Native => Target::Native(self.host(caller).await?),
            EngineId::Wasm => Target::Wasm { version: self.wasm.python_version().unwrap_or_default() },
        })
    }

    pub(crate) async fn host(&self, caller: &Principal) -> Result<Interpreter, Trouble> {
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
        let parts = [&*target, &rules, registries, &named.join("\n"), &imported.join("\n")];
        let key = Digest::of_parts(parts.map(str::as_bytes)).to_string();
        Asked { requirements: named.into_iter().chain(imported.iter().cloned()).collect(), imported, key }
    }

    /// Read once: whoever changes it restarts the server.
    pub(crate) fn fingerprint(&self, kind: LayerKind) -> &str {
        let [python, node] = &self.fingerprints;
        let place = if kind == LayerKind::Python { python } else { node };
        place.get_or_init(|| self.surroundings.fingerprint(kind))
    }

    /// The answer to the same wish before, if what it names is still here.
    fn recall(&self, asked: &Asked, engine: EngineId, store: &Store) -> Result<Option<Found>, ProvideError> {
        let answer = self.answers.recall(&asked.key).or_else(|| self.answers.look_up(&asked.key, store));
        let Some(answer) = answer else { return Ok(None) };
        match answer.verdict {
            Verdict::Unsuited(reason) => Err(ProvideError::Unsuited(reason)),
            Verdict::Nothing => Ok(Some(Found { layer: None, unknown: answer.unknown, cached: true })),
            Verdict::Layer(id) => {
                let Some(layer) = store.layer(&id) else { return Ok(None) };
                // The operator may have changed their mind since.
                self.policy.check_all(&layer.packages)?;
                if engine == EngineId::Wasm && layer.pack.is_none() {
                    return Err(ProvideError::Unsuited(format!("{} needs compiled code", of(&layer.packages))));
                }
                Ok(Some(Found { layer: Some(layer), unknown: answer.unknown, cached: true }))
            }
        }
    }

    /// Why the same could not be had a moment ago. If only imports ask for it, it is not tried again at once: a
    /// registry that does not answer would hold up every run.
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
}

/// The package that is part of Python in WebAssembly.
pub(crate) const NUMPY: &str = "numpy";

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
                Ok(Found { layer, unknown, cached }) => {
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

    fn change_environment<'a>(
        &'a self,
        wanted: &'a Wanted,
        environment: &'a Path,
        live: &'a mut dyn LiveOutput,
    ) -> BoxFuture<'a, Result<Changed, ProvideError>> {
        Box::pin(self.change(wanted, environment, live))
    }
}

fn of(packages: &[PackageVersion]) -> String {
    let names: Vec<String> = packages.iter().take(3).map(|package| format!("`{}`", package.name)).collect();
    format!("one of {}", names.join(", "))
}
