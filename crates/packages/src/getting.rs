//! Getting what is not here: resolved, installed, taken over, kept.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use egress::{Gate, Log};
use engine_native::{ClientEnd, Interpreter};
use sandbox::{Changed, EngineError, LayerKind, LiveOutput, PackageVersion, Principal, Status};
use setup::Digest;

use crate::answers::{Answer, Verdict};
use crate::clients::Errand;
use crate::manager::{Asked, NUMPY, PackageManager};
use crate::node::{self, Deno, Installed};
use crate::python::{self, Lock, Locked, Target, Uv};
use crate::store::{self, Kind, LayerFile, Looked, PACK, Stage, Store};
use crate::trouble::Trouble;
use crate::{registries, words};

/// Imports without a package that are taken out of a wish one after the other. More than this is a program in another language.
const MOST_UNKNOWN: usize = 8;
/// The largest `node_modules` that WebAssembly is given.
const MOST_PACKED: u64 = 256 << 20;

/// One wish that is being fulfilled.
pub(crate) struct Getting<'a> {
    pub(crate) manager: &'a PackageManager,
    pub(crate) store: &'a Store,
    pub(crate) asked: &'a Asked,
    pub(crate) live: &'a mut dyn LiveOutput,
}

/// What came of a resolution, and the imports that nothing provides.
enum Resolved {
    Lock(Lock, Vec<String>),
    Nothing(Vec<String>),
}

impl Getting<'_> {
    /// Packages of Python.
    pub(crate) async fn python(mut self, target: &Target, caller: &Principal) -> Result<Answer, Trouble> {
        let manager = self.manager;
        let host = match target {
            Target::Native(host) => host.clone(),
            // uv runs on some Python of the host, whichever it resolves for.
            Target::Wasm { .. } => manager.host(caller).await?,
        };
        let uv = Uv {
            tool: manager.clients.uv(self.live).await?,
            surroundings: &manager.surroundings,
            policy: &manager.policy,
            host: &host,
            cache: self.store.client("uv")?,
        };
        let gate = self.gate(LayerKind::Python, || Ok(uv.probe(target))).await?;
        // What is part of the target has the version that it has.
        let bundled = match target {
            Target::Wasm { .. } => manager.wasm.numpy_version().await.map_err(Trouble::Wasm)?,
            Target::Native(_) => None,
        };
        let (lock, unknown) = match self.resolve(&uv, target, bundled.as_deref(), gate.as_ref()).await? {
            Resolved::Lock(lock, unknown) => (lock, unknown),
            Resolved::Nothing(unknown) => return Ok(Answer::new(Verdict::Nothing, unknown)),
        };
        let lock = match target {
            Target::Wasm { .. } => lock.for_wasm(bundled.as_ref().map(|_| NUMPY)),
            Target::Native(_) => lock,
        };
        let packages: Vec<PackageVersion> = lock.packages.iter().map(Locked::version).collect();
        manager.policy.check_all(&packages)?;
        let compiled = lock.packages.iter().find(|package| !package.is_pure());
        if let (Target::Wasm { .. }, Some(compiled)) = (target, compiled) {
            return Ok(Answer::new(Verdict::Unsuited(format!("`{}` needs compiled code", compiled.name)), unknown));
        }
        let id = id(&target.key(), lock.text());
        if self.store.layer(&id).is_none() {
            let made = self.install(&uv, target, &lock, gate.as_ref()).await?;
            self.publish(made, &id, Kind::Python, packages).await?;
        }
        Ok(Answer::new(Verdict::Layer(id), unknown))
    }

    /// Packages of Python, in an environment.
    pub(crate) async fn environment(mut self, host: Interpreter, root: &Path) -> Result<Changed, Trouble> {
        let manager = self.manager;
        let uv = Uv {
            tool: manager.clients.uv(self.live).await?,
            surroundings: &manager.surroundings,
            policy: &manager.policy,
            host: &host,
            cache: self.store.client("uv")?,
        };
        let target = Target::Native(host.clone());
        let gate = self.gate(LayerKind::Python, || Ok(uv.probe(&target))).await?;
        let lock = match self.resolve(&uv, &target, None, gate.as_ref()).await? {
            Resolved::Lock(lock, _) => lock,
            Resolved::Nothing(_) => return Ok(Changed::default()),
        };
        let packages: Vec<PackageVersion> = lock.packages.iter().map(Locked::version).collect();
        manager.policy.check_all(&packages)?;
        self.live.news(&format!("installing {}", python::shown(&lock.packages)));
        let end = self.run(uv.change(&lock, &target, root), gate.as_ref()).await?;
        if !end.status.is_success() {
            return Err(Trouble::of(&end));
        }
        Ok(Changed { stdout: end.stdout, stderr: end.stderr })
    }

    /// What to install. An import is a guess, and may be given up by itself; what somebody named may not.
    async fn resolve(
        &mut self,
        uv: &Uv<'_>,
        target: &Target,
        bundled: Option<&str>,
        gate: Option<&Gate>,
    ) -> Result<Resolved, Trouble> {
        let (mut requirements, mut unknown) = (self.asked.requirements.clone(), Vec::new());
        let given = bundled.map(|version| format!("{NUMPY}=={version}"));
        self.live.news(&format!("resolving {}", requirements.join(", ")));
        loop {
            let end = self.run(uv.resolve(&requirements, given.as_deref(), target), gate).await?;
            if end.status.is_success() {
                return Ok(Resolved::Lock(python::read_lock(end.stdout)?, unknown));
            }
            let is_guess = |name: &String| self.asked.imported.contains(name) && !unknown.contains(name);
            let guesses: Vec<String> = words::not_found(&end.stderr).into_iter().filter(is_guess).collect();
            if guesses.is_empty() || unknown.len() > MOST_UNKNOWN {
                return Err(match (target, Trouble::of(&end)) {
                    // The host's own Python is another version, for which there may be wheels.
                    (Target::Wasm { .. }, Trouble::Client(reason)) => Trouble::Unsuited(reason),
                    (Target::Wasm { .. } | Target::Native(_), trouble) => trouble,
                });
            }
            requirements.retain(|requirement| !guesses.contains(requirement));
            unknown.extend(guesses);
            if requirements.is_empty() {
                return Ok(Resolved::Nothing(unknown));
            }
        }
    }

    /// Installs what was resolved, and compiles it.
    async fn install(
        &mut self,
        uv: &Uv<'_>,
        target: &Target,
        lock: &Lock,
        gate: Option<&Gate>,
    ) -> Result<Made, Trouble> {
        let shown = python::shown(&lock.packages);
        self.live.news(&format!("installing {shown}"));
        let stage = self.store.stage()?;
        let site = stage.open_folder(Kind::Python.folder())?;
        let end = self.run(uv.install(lock, target, &site), gate).await?;
        if !end.status.is_success() {
            return Err(Trouble::of(&end));
        }
        self.live.news(&format!("compiling {shown}"));
        if let Target::Native(interpreter) = target {
            // What does not compile is a template, or for another version: nobody can import it anyway.
            self.run(python::compile(interpreter, &site, &uv.cache), None).await?;
        }
        let mut made = Made::look_over(stage, site.clone()).await?;
        if let Target::Wasm { .. } = target {
            made.pack = Some(self.manager.wasm.pack_python(&site).await.map_err(Trouble::Wasm)?);
        }
        Ok(made)
    }

    /// Packages of npm.
    pub(crate) async fn node(mut self) -> Result<Answer, Trouble> {
        let manager = self.manager;
        let deno = Deno {
            tool: manager.clients.deno(self.live).await?,
            surroundings: &manager.surroundings,
            policy: &manager.policy,
            cache: self.store.client("deno")?,
        };
        let probe = self.store.stage()?;
        let errand = || {
            let mut errand = deno.install(&["is-number@*".to_owned()], &probe.open_folder("probe")?)?;
            // Without its cache, or there would be nobody to ask.
            errand.cache = probe.open_folder("cache")?;
            Ok(errand)
        };
        let gate = self.gate(LayerKind::Node, errand).await?;
        let (mut specs, mut unknown) = (self.asked.requirements.clone(), Vec::new());
        self.live.news(&format!("installing {}", specs.join(", ")));
        loop {
            let stage = self.store.stage()?;
            let work = stage.open_folder("work")?;
            let end = self.run(deno.install(&specs, &work)?, gate.as_ref()).await?;
            if end.status.is_success() {
                return self.keep_node(stage, &work, unknown).await;
            }
            let missing = words::not_in_npm(&end.stderr);
            let is_guess = |spec: &&String| {
                let name = spec.rsplit_once('@').map_or(spec.as_str(), |(name, _)| name);
                self.asked.imported.contains(spec) && missing.iter().any(|missing| missing == name)
            };
            let guesses: Vec<String> = specs.iter().filter(is_guess).cloned().collect();
            if guesses.is_empty() || unknown.len() > MOST_UNKNOWN {
                return Err(Trouble::of(&end));
            }
            specs.retain(|spec| !guesses.contains(spec));
            unknown.extend(guesses.iter().map(|spec| spec.trim_end_matches("@*").to_owned()));
            if specs.is_empty() {
                return Ok(Answer::new(Verdict::Nothing, unknown));
            }
        }
    }

    async fn keep_node(&mut self, stage: Stage, work: &Path, unknown: Vec<String>) -> Result<Answer, Trouble> {
        let unreadable = || Trouble::Client("what Deno installed could not be read".to_owned());
        let place = work.to_owned();
        let installed = blocking(move || node::take_over(&place)).await?;
        let Installed { record, packages, looked } = installed.ok_or_else(unreadable)?;
        self.manager.policy.check_all(&packages)?;
        let id = id("node", &record);
        if self.store.layer(&id).is_none() {
            let modules = stage.path(Kind::Node.folder());
            fs::rename(work.join(Kind::Node.folder()), &modules)?;
            fs::remove_dir_all(work)?;
            let mut made = Made { stage, looked, pack: None };
            if !made.looked.has_machine_code && made.looked.bytes <= MOST_PACKED {
                let pack = blocking(move || Ok(engine_wasm::pack_modules(&modules))).await?;
                made.pack = Some(pack.map_err(|error| Trouble::Wasm(EngineError::new(error)))?);
            }
            self.publish(made, &id, Kind::Node, packages).await?;
        }
        Ok(Answer::new(Verdict::Layer(id), unknown))
    }

    /// Gives what was made its name.
    async fn publish(
        &mut self,
        made: Made,
        id: &str,
        kind: Kind,
        packages: Vec<PackageVersion>,
    ) -> Result<(), Trouble> {
        let Made { stage, looked, pack } = made;
        let described = LayerFile {
            kind,
            packages: packages.into_iter().map(|package| (package.name, package.version)).collect(),
            bytes: looked.bytes + pack.as_ref().map_or(0, |pack| pack.len() as u64),
            pack: pack.is_some(),
        };
        let (store, id) = (self.store.clone(), id.to_owned());
        let publish = move || {
            if let Some(pack) = pack {
                fs::write(stage.path(PACK), pack)?;
            }
            store.publish(&stage, &id, &described)
        };
        Ok(blocking(publish).await?)
    }

    /// Who may be reached; `None` when nobody.
    async fn gate(
        &mut self,
        kind: LayerKind,
        probe: impl FnOnce() -> Result<Errand, Trouble>,
    ) -> Result<Option<Gate>, Trouble> {
        let manager = self.manager;
        if manager.policy.offline {
            return Ok(None);
        }
        let asker = registries::Asker {
            name: if kind == LayerKind::Python { "uv" } else { "deno" },
            fingerprint: manager.fingerprint(kind),
            policy: &manager.policy,
            store: self.store,
            clients: &manager.clients,
            proxy: manager.surroundings.proxy()?,
        };
        registries::gate(&asker, probe, self.live).await.map(Some)
    }

    async fn run(&mut self, errand: Errand, gate: Option<&Gate>) -> Result<ClientEnd, Trouble> {
        let log = Log::default();
        let mut end = self.manager.clients.run(errand, gate.map(|gate| (gate, &log)), self.live).await?;
        let traffic = log.traffic();
        if end.status == Status::TimedOut {
            end.stderr = words::out_of_time(&traffic.reached);
        } else if let Some(denied) = traffic.denied.first().filter(|_| !end.status.is_success()) {
            // Clients do not pass on why the way out refused a host.
            end.stderr = format!("error: {denied}");
        }
        Ok(end)
    }
}

/// A layer without a name.
struct Made {
    stage: Stage,
    looked: Looked,
    /// The same in one file.
    pack: Option<Vec<u8>>,
}

impl Made {
    /// Takes over what a client left.
    async fn look_over(stage: Stage, folder: PathBuf) -> Result<Self, Trouble> {
        let looked = blocking(move || store::take_over(&folder)).await?;
        Ok(Self { stage, looked, pack: None })
    }
}

/// Thousands of files would hold up the asynchronous threads.
async fn blocking<T: Send + 'static>(work: impl FnOnce() -> io::Result<T> + Send + 'static) -> io::Result<T> {
    tokio::task::spawn_blocking(work).await.map_err(io::Error::other)?
}

/// A layer's name: a hash of what is in it, and what that is for.
fn id(target: &str, lock: &str) -> String {
    Digest::of_parts([target, lock].map(str::as_bytes)).name()
}
