//! Sessions in the worker: a disk, and on it instances that stay, one for each runtime that was used.
//!
//! An instance has the disk while it runs a cell and gives it back afterwards, so that all of them see the same files.
//! Runtimes whose instances can run only one program get a new instance for every cell, with the same disk.

mod cell;
mod files;
mod fork;
mod saved;

use std::collections::{BTreeSet, HashMap};
use std::os::fd::OwnedFd;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::SystemTime;

use belljar_wasi::{Disk, Image, Quota, Tree};
use wasmtime::{Instance, Store};

use crate::execute::Executor;
use crate::guest::Guest;
use crate::memory;
use crate::protocol::{Answer, Errand, Fault, JobLimits, LayerEntry, SessionId};
use crate::runtime::{self, Runtime};
use files::Known;

/// All of a worker's sessions.
#[derive(Default)]
pub(crate) struct Sessions {
    table: Mutex<Table>,
}

#[derive(Default)]
struct Table {
    live: HashMap<SessionId, Arc<Mutex<Live>>>,
    /// Sessions that were closed before they existed: somebody wanted a copy, and gave it up while it was being made.
    given_up: BTreeSet<SessionId>,
}

/// How many of those are remembered, the newest: copies that could not be made are among them.
const MOST_GIVEN_UP: usize = 1024;

/// A session.
struct Live {
    disk: Disk,
    limits: JobLimits,
    interpreters: Vec<Interpreter>,
    /// Packages, by the runtime that they are for.
    layers: Vec<(u32, Stack)>,
    /// How many cells it has run.
    cells: u64,
    known: Known,
}

/// An instance that stays.
struct Interpreter {
    runtime: u32,
    store: Store<Guest>,
    instance: Instance,
}

/// Packages that cells have brought, the last first.
#[derive(Default, Clone)]
struct Stack {
    layers: Vec<(String, Tree)>,
}

impl Sessions {
    fn find(&self, id: SessionId) -> Option<Arc<Mutex<Live>>> {
        self.lock().live.get(&id).cloned()
    }

    fn insert(&self, id: SessionId, live: Live) {
        let mut table = self.lock();
        if !table.given_up.remove(&id) {
            table.live.insert(id, Arc::new(Mutex::new(live)));
        }
    }

    fn remove(&self, id: SessionId) -> Option<Arc<Mutex<Live>>> {
        let mut table = self.lock();
        let removed = table.live.remove(&id);
        if removed.is_none() {
            table.given_up.insert(id);
            if table.given_up.len() > MOST_GIVEN_UP {
                table.given_up.pop_first();
            }
        }
        removed
    }

    fn lock(&self) -> MutexGuard<'_, Table> {
        self.table.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Executor {
    /// Forgets a session. If a cell is running in it, it goes when the cell has ended.
    pub(crate) fn close(&self, id: SessionId) {
        /// With this many bytes of files, giving memory back is worth the time.
        const LARGE: u64 = 1 << 20;
        let Some(closed) = self.sessions.remove(id) else { return };
        let was_large = closed.try_lock().is_ok_and(|live| live.disk.usage().bytes >= LARGE);
        drop(closed);
        // Its memory waits to be used again, and is given up if nobody comes.
        self.timekeeper.stir();
        if was_large {
            memory::give_back();
        }
    }

    /// Does what a session is asked for. `files` are those that came with it.
    pub(crate) fn errand(&self, id: SessionId, errand: Errand, files: &[OwnedFd]) -> Result<Answer, Fault> {
        if let Errand::Open(limits) = errand {
            self.sessions.insert(id, Live::new(limits));
            return Ok(Answer::Done);
        }
        if let Errand::Restore { length, most } = errand {
            return self.restore(id, files, length, &most);
        }
        let live = self.sessions.find(id).ok_or_else(|| Fault::Failed("there is no such session".to_owned()))?;
        let mut live = live.lock().unwrap_or_else(PoisonError::into_inner);
        match errand {
            Errand::Runtimes => Ok(live.runtimes()),
            Errand::Write { path, contents, mode } => live.write(&path, contents, mode),
            Errand::Read { path, offset, limit } => live.read(&path, offset, limit),
            Errand::List { folder } => live.list(folder.as_deref()),
            Errand::Files { after } => live.files(after.as_deref()),
            Errand::Merge { gone, files } => live.merge(&gone, files),
            Errand::Fork(other) => {
                let fork = live.fork(self).map_err(|error| Fault::Failed(format!("{error:#}")))?;
                self.sessions.insert(other, fork);
                Ok(Answer::Done)
            }
            Errand::Save => live.save(self, files),
            Errand::Open(_) | Errand::Restore { .. } => Ok(Answer::Done),
        }
    }
}

impl Live {
    fn new(limits: JobLimits) -> Self {
        let disk = Disk::new(Quota { bytes: limits.disk, entries: limits.files }, now());
        Self { disk, limits, interpreters: Vec::new(), layers: Vec::new(), cells: 0, known: Known::default() }
    }

    fn runtimes(&self) -> Answer {
        Answer::Runtimes(self.indices())
    }

    /// Of the runtimes that it has live instances of.
    fn indices(&self) -> Vec<u32> {
        self.interpreters.iter().map(|interpreter| interpreter.runtime).collect()
    }

    /// Takes up packages. Returns whether they differ from those before.
    fn add_layer(
        &mut self,
        executor: &Executor,
        index: u32,
        layer: (&LayerEntry, Option<&OwnedFd>),
    ) -> wasmtime::Result<bool> {
        let (entry, pack) = layer;
        let (tree, _) = executor.layers.image(index, executor.runtime(index)?, entry, pack)?;
        if !self.layers.iter().any(|(runtime, _)| *runtime == index) {
            self.layers.push((index, Stack::default()));
        }
        let stack = self.layers.iter_mut().find(|(runtime, _)| *runtime == index).map(|(_, stack)| stack);
        let Some(stack) = stack else { return Ok(false) };
        if stack.layers.first().is_some_and(|(id, _)| *id == entry.id) {
            return Ok(false);
        }
        stack.layers.retain(|(id, _)| *id != entry.id);
        stack.layers.insert(0, (entry.id.clone(), tree));
        Ok(true)
    }

    /// What the runtime's instances have beneath the disk.
    fn image(&self, index: u32, runtime: &Runtime) -> wasmtime::Result<Image> {
        match self.layers.iter().find(|(runtime, _)| *runtime == index) {
            None => Ok(runtime.image.clone()),
            Some((_, stack)) => {
                let packages = stack.layers.iter().map(|(_, tree)| tree.clone());
                runtime::image(runtime.tree.iter().cloned().chain(packages))
            }
        }
    }
}

/// Nanoseconds since 1970.
fn now() -> u64 {
    let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_nanos()).unwrap_or(u64::MAX)
}
