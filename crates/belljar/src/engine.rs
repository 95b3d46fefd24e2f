//! The engines and the runtime, from settings.

use std::os::fd::OwnedFd;
use std::path::PathBuf;
use std::sync::Arc;

use engine_native::{NativeConfig, NativeEngine, Program};
use engine_wasm::{Confined, InstalledRuntime, NoWall, WORKER_ARGUMENT, Wall, WasmConfig, WasmEngine};
use jail::Layer;
use packages::PackageManager;
use runtime::Runtime;
use sandbox::{BoxFuture, Bytes, Enforcement, Engine, EngineError, Isolation, Level};

use crate::{Settings, provision};

/// Starts the native engine. `without` is empty everywhere but in tests of the layers.
pub async fn native(settings: &Settings, without: Vec<Layer>) -> anyhow::Result<NativeEngine> {
    let config = NativeConfig {
        // This very binary, even if its file has been replaced since.
        launcher: "/proc/self/exe".into(),
        tools: provision::with_own_tools(settings),
        scratch: settings.scratch.clone(),
        require: settings.require,
        environment: settings.python.clone(),
        environments: settings.pythons.clone(),
        ahead: settings.ahead,
        without,
    };
    Ok(NativeEngine::start(config).await?)
}

/// The wasm engine, with what is set up on this machine. Its workers are confined with what the native engine found out about this host.
pub fn wasm(native: &NativeEngine, runtimes: Vec<InstalledRuntime>) -> anyhow::Result<WasmEngine> {
    let executable = std::env::current_exe()?;
    let slots = u32::try_from(runtime::runs_at_one_time()).unwrap_or(u32::MAX);
    let wall: Arc<dyn Wall> = if native.report().isolation.level == Level::None {
        Arc::new(NoWall { executable })
    } else {
        Arc::new(Jail { native: native.clone(), executable, threads: slots + 8 })
    };
    Ok(WasmEngine::new(WasmConfig { runtimes, wall, slots }))
}

/// A runtime over all engines of this build.
pub async fn runtime(settings: &Settings, without: Vec<Layer>) -> anyhow::Result<Runtime> {
    let native = native(settings, without).await?;
    let wasm = Arc::new(wasm(&native, provision::installed(settings))?);
    let packages = packages(settings, &native, &wasm);
    let native = Arc::new(native);
    let engines: Vec<Arc<dyn Engine>> = vec![wasm, Arc::clone(&native) as Arc<dyn Engine>];
    Ok(Runtime::new(settings.policy.clone(), engines).with_packages(Arc::new(packages)).with_environments(native))
}

/// Packages for programs of both engines.
pub fn packages(settings: &Settings, native: &NativeEngine, wasm: &Arc<WasmEngine>) -> PackageManager {
    let config = packages::Config {
        root: settings.cache.join("packages"),
        policy: settings.packages.clone(),
        environment: settings.environment.clone(),
        home: settings.tools.home.clone(),
    };
    PackageManager::new(config, native.clone(), Arc::clone(wasm), Arc::new(provision::setup(settings)))
}

/// Puts workers of the wasm engine behind the walls that native runs have.
#[derive(Debug)]
struct Jail {
    native: NativeEngine,
    executable: PathBuf,
    threads: u32,
}

/// Layers whose absence says nothing about a worker: WebAssembly itself holds memory, and a worker has no files.
const BESIDE_THE_POINT: &[&str] = &["memory-cgroup", "disk-quota", "proc"];

impl Wall for Jail {
    fn start(&self, stdin: OwnedFd) -> BoxFuture<'_, Result<Box<dyn Confined>, EngineError>> {
        Box::pin(async move {
            let program = Program {
                executable: self.executable.clone(),
                arguments: vec![WORKER_ARGUMENT.to_owned()],
                memory: most_memory(),
                threads: self.threads,
                stdin,
            };
            let confined = self.native.confine(program).await.map_err(EngineError::new)?;
            Ok(Box::new(JailedWorker { _process: confined }) as Box<dyn Confined>)
        })
    }

    fn isolation(&self) -> Isolation {
        let mut missing = self.native.report().isolation.missing.clone();
        missing.retain(|layer| !BESIDE_THE_POINT.contains(&layer.as_str()));
        Isolation {
            level: Level::WasmAndJail,
            missing,
            granted: Vec::new(),
            memory: Enforcement::Wasm,
            processes: Enforcement::Wasm,
        }
    }
}

#[derive(Debug)]
struct JailedWorker {
    _process: engine_native::Confined,
}

impl Confined for JailedWorker {}

/// What all runs of a worker may have together, where a cgroup holds it: most of the machine, but not all.
fn most_memory() -> Bytes {
    let info = rustix::system::sysinfo();
    let total = info.totalram.saturating_mul(u64::from(info.mem_unit));
    Bytes::new(total / 4 * 3)
}
