//! Workers by principal.

use std::collections::HashMap;
use std::fs::File;
use std::os::fd::OwnedFd;
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

use sandbox::Principal;
use tokio::sync::OnceCell;

use crate::connection::{Connection, OpenRuntime};
use crate::error::WasmError;
use crate::{InstalledRuntime, WasmConfig};

/// The most workers at one time. One more principal ends the worker that has waited longest.
const MAX_WORKERS: usize = 32;

/// All workers. Each is started by the first run that needs it; runs that come meanwhile wait for the same one.
#[derive(Debug)]
pub(crate) struct Pool {
    config: WasmConfig,
    workers: Mutex<Workers>,
}

#[derive(Debug, Default)]
struct Workers {
    by_principal: HashMap<Principal, Entry>,
    uses: u64,
}

#[derive(Debug)]
struct Entry {
    worker: Arc<OnceCell<Arc<Connection>>>,
    last_use: u64,
}

impl Pool {
    pub(crate) fn new(config: WasmConfig) -> Self {
        Self { config, workers: Mutex::default() }
    }

    /// The worker of this principal; a new one when there is none, or when the last one died.
    pub(crate) async fn worker(&self, principal: &Principal) -> Result<Arc<Connection>, WasmError> {
        let cell = self.cell(principal);
        let worker = cell.get_or_try_init(|| self.start()).await?;
        Ok(Arc::clone(worker))
    }

    fn cell(&self, principal: &Principal) -> Arc<OnceCell<Arc<Connection>>> {
        let mut workers = self.workers.lock().unwrap_or_else(PoisonError::into_inner);
        workers.uses += 1;
        let now = workers.uses;
        if let Some(entry) = workers.by_principal.get_mut(principal)
            && entry.worker.get().is_none_or(|worker| worker.is_alive())
        {
            entry.last_use = now;
            return Arc::clone(&entry.worker);
        }
        if workers.by_principal.len() >= MAX_WORKERS {
            // Whoever is running in it keeps it until the end of the run.
            let oldest = workers.by_principal.iter().min_by_key(|(_, entry)| entry.last_use);
            if let Some(oldest) = oldest.map(|(principal, _)| principal.clone()) {
                workers.by_principal.remove(&oldest);
            }
        }
        let worker = Arc::new(OnceCell::new());
        workers.by_principal.insert(principal.clone(), Entry { worker: Arc::clone(&worker), last_use: now });
        worker
    }

    async fn start(&self) -> Result<Arc<Connection>, WasmError> {
        let runtimes = self.runtimes().map(open_runtime).collect::<Result<Vec<OpenRuntime>, WasmError>>()?;
        Connection::open(&*self.config.wall, self.config.slots, &runtimes).await
    }

    /// Those that a worker loads. The compiler has processes of its own.
    fn runtimes(&self) -> impl Iterator<Item = &InstalledRuntime> {
        self.config.runtimes.iter().filter(|runtime| runtime.name != crate::COMPILER)
    }

    pub(crate) fn index_of(&self, name: &str) -> Option<usize> {
        self.config.runtimes.iter().position(|runtime| runtime.name == name)
    }

    pub(crate) fn name_of(&self, index: usize) -> &str {
        self.config.runtimes.get(index).map_or("", |runtime| &runtime.name)
    }

    pub(crate) fn version_of(&self, index: usize) -> &str {
        self.config.runtimes.get(index).map_or("", |runtime| &runtime.version)
    }
}

pub(crate) fn open_runtime(runtime: &InstalledRuntime) -> Result<OpenRuntime, WasmError> {
    Ok(OpenRuntime {
        name: runtime.name.clone(),
        module: open_ours(&runtime.module)?.0,
        tree: runtime.tree.as_deref().map(|tree| open_ours(tree).map(|(tree, _)| tree)).transpose()?,
    })
}

/// Opens a file that nobody but us can have written, and says how long it is. A compiled module is native code that will run.
pub(crate) fn open_ours(path: &Path) -> Result<(OwnedFd, u64), WasmError> {
    let refused = |reason: &str| WasmError::File { path: path.to_owned(), reason: reason.to_owned() };
    let open = || -> std::io::Result<(File, std::fs::Metadata)> {
        let flags = rustix::fs::OFlags::RDONLY | rustix::fs::OFlags::NOFOLLOW | rustix::fs::OFlags::CLOEXEC;
        let file = File::from(rustix::fs::open(path, flags, rustix::fs::Mode::empty())?);
        let metadata = file.metadata()?;
        Ok((file, metadata))
    };
    let (file, metadata) = open().map_err(|source| WasmError::Io { path: path.to_owned(), source })?;
    if !metadata.is_file() {
        return Err(refused("it is no regular file"));
    }
    if metadata.uid() != rustix::process::geteuid().as_raw() {
        return Err(refused("it belongs to another user"));
    }
    if metadata.mode() & 0o022 != 0 {
        return Err(refused("others may write to it"));
    }
    Ok((file.into(), metadata.len()))
}
