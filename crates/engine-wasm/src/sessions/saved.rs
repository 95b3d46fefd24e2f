//! A session as a file, and back.
//!
//! The file is the worker's word, and may have been anywhere since. So every number in it is checked, and it is only
//! used for what the session could have done itself: a guest's memory goes back to a guest; files, folders and what is
//! open are made anew. The hash at the end is against damage.

use std::io::{self, BufReader, BufWriter, Read, Write};
use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::time::Duration;

use belljar_wasi::{Quota, RestoreError, RestoredDisk, SaveReader, SaveWriter, Tree};
use sha2::{Digest as _, Sha256};

use super::files::Known;
use super::{Interpreter, Live, Stack, now};
use crate::execute::Executor;
use crate::guest::{Guest, Surroundings};
use crate::protocol::{Answer, Fault, JobLimits, RunId, SessionId};
use crate::run::Run;

/// What such a file starts with, its version last.
const MAGIC: [u8; 16] = *b"belljar session1";

/// The most of lists in a file, of names in it, and of packages in one piece.
const MOST: u64 = 64;
const LONGEST_NAME: usize = 256;
const LARGEST_TREE: u64 = 1 << 30;
const MOST_REGIONS: u64 = 1 << 20;

/// Why a file is not restored.
#[derive(Debug, thiserror::Error)]
enum Refused {
    #[error("it is no saved session, or of another version of belljar")]
    Unknown,
    #[error("it was saved with the runtime `{0}`, which is not set up here")]
    NoRuntime(String),
    #[error("it was saved with another build of the runtime `{0}`")]
    OtherRuntime(String),
    #[error("it is damaged")]
    Damaged,
    #[error(transparent)]
    Content(#[from] RestoreError),
    #[error("its memory does not fit: {0:#}")]
    Memory(#[from] wasmtime::Error),
}

impl From<io::Error> for Refused {
    fn from(error: io::Error) -> Self {
        Self::Content(error.into())
    }
}

/// A file that came with an errand. A sealed worker can read and write it, and not even copy its descriptor.
struct Given<'a>(&'a OwnedFd);

impl Read for Given<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        Ok(rustix::io::read(self.0, buffer)?)
    }
}

impl Write for Given<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        Ok(rustix::io::write(self.0, bytes)?)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Live {
    /// Writes the session into the file that came with the errand.
    pub(super) fn save(&self, executor: &Executor, files: &[OwnedFd]) -> Result<Answer, Fault> {
        let file = files.first().ok_or_else(|| Fault::Failed("no file came with it".to_owned()))?;
        let saved = self.write_file(executor, Given(file));
        saved.map(|()| Answer::Done).map_err(|error| Fault::Failed(format!("it cannot be saved: {error}")))
    }

    fn write_file(&self, executor: &Executor, file: Given<'_>) -> io::Result<()> {
        let mut hashing = Hashing { inner: BufWriter::new(file), hash: Sha256::new() };
        hashing.write_all(&MAGIC)?;
        let mut out = SaveWriter(&mut hashing);
        out.bytes(crate::protocol::build().as_bytes())?;
        for limit in [self.limits.memory, self.limits.disk, self.limits.files.into(), self.cells] {
            out.long(limit)?;
        }
        let name = |index: u32| executor.runtime(index).map(|runtime| runtime.name.as_str()).unwrap_or_default();
        out.count(self.layers.len())?;
        for (index, stack) in &self.layers {
            out.bytes(name(*index).as_bytes())?;
            out.count(stack.layers.len())?;
            for (id, tree) in &stack.layers {
                out.bytes(id.as_bytes())?;
                out.bytes(tree.bytes())?;
            }
        }
        self.disk.save(&mut out)?;
        out.count(self.interpreters.len())?;
        for interpreter in &self.interpreters {
            interpreter.save(executor, &mut out)?;
        }
        let digest = hashing.hash.finalize();
        hashing.inner.write_all(&digest)?;
        hashing.inner.flush()
    }
}

impl Interpreter {
    fn save(&self, executor: &Executor, out: &mut SaveWriter<'_>) -> io::Result<()> {
        let runtime = executor.runtime(self.runtime).map_err(io::Error::other)?;
        out.bytes(runtime.name.as_bytes())?;
        out.0.write_all(&runtime.identity())?;
        let wasi = self.store.data().wasi_at_rest().map_err(io::Error::other)?;
        let (elapsed, cpu) = wasi.host().clocks();
        out.long(nanos(elapsed))?;
        out.long(nanos(cpu))?;
        wasi.save_descriptors(out)?;
        let memory = Guest::memory(&self.store).map_err(io::Error::other)?.data(&self.store);
        let written = runtime.memories.written(memory.as_ptr(), memory.len())?;
        out.count(memory.len())?;
        out.count(written.len())?;
        for pages in written {
            out.count(pages.start)?;
            out.bytes(memory.get(pages).unwrap_or_default())?;
        }
        Ok(())
    }
}

impl Executor {
    /// Makes a session of the file that came with the errand.
    pub(super) fn restore(
        &self,
        id: SessionId,
        files: &[OwnedFd],
        length: u64,
        most: &JobLimits,
    ) -> Result<Answer, Fault> {
        let file = files.first().ok_or_else(|| Fault::Failed("no file came with it".to_owned()))?;
        let file = BufReader::new(Given(file)).take(length);
        let live = self.read_file(file, most).map_err(|refused| Fault::Refused(refused.to_string()))?;
        let answer = Answer::Restored { runtimes: live.indices(), memory: live.limits.memory };
        self.sessions.insert(id, live);
        Ok(answer)
    }

    fn read_file(&self, file: impl Read, most: &JobLimits) -> Result<Live, Refused> {
        let mut hashing = Hashing { inner: file, hash: Sha256::new() };
        let mut from = SaveReader(&mut hashing);
        if from.array::<16>().map_err(|_| Refused::Unknown)? != MAGIC
            || from.text(LONGEST_NAME).map_err(|_| Refused::Unknown)? != crate::protocol::build()
        {
            return Err(Refused::Unknown);
        }
        let (memory, disk) = (from.long()?.min(most.memory), from.long()?.min(most.disk));
        let files = u32::try_from(from.long()?).unwrap_or(u32::MAX).min(most.files);
        let limits = JobLimits { wall_micros: 0, cpu_micros: 0, memory, disk, files };
        let cells = from.long()?;
        let layers = self.read_layers(&mut from)?;
        let mut disk = RestoredDisk::read(&mut from, Quota { bytes: disk, entries: files }, now())?;
        let known = Known::default();
        let mut live = Live { limits, layers, cells, known, ..Live::new(limits) };
        // For all of them together, as in a cell.
        let mut room = limits.memory;
        for _ in 0..from.count(MOST)? {
            let interpreter = self.read_interpreter(&mut from, &live, &mut disk, &mut room)?;
            if live.interpreters.iter().any(|other| other.runtime == interpreter.runtime) {
                return Err(Refused::Damaged);
            }
            live.interpreters.push(interpreter);
        }
        let digest: [u8; 32] = std::mem::take(&mut hashing.hash).finalize().into();
        if SaveReader(&mut hashing).array::<32>()? != digest {
            return Err(Refused::Damaged);
        }
        live.disk = disk.into_disk();
        live.take_note();
        Ok(live)
    }

    fn read_layers(&self, from: &mut SaveReader<'_>) -> Result<Vec<(u32, Stack)>, Refused> {
        let mut layers = Vec::new();
        for _ in 0..from.count(MOST)? {
            let name = from.text(LONGEST_NAME)?;
            let (index, _) = self.runtime_named(&name).ok_or(Refused::NoRuntime(name))?;
            let mut stack = Stack::default();
            for _ in 0..from.count(MOST)? {
                let id = from.text(LONGEST_NAME)?;
                let tree = Tree::open(Arc::new(from.bytes(LARGEST_TREE)?)).map_err(|_| Refused::Damaged)?;
                stack.layers.push((id, tree));
            }
            layers.push((index, stack));
        }
        Ok(layers)
    }

    fn read_interpreter(
        &self,
        from: &mut SaveReader<'_>,
        live: &Live,
        disk: &mut RestoredDisk,
        room: &mut u64,
    ) -> Result<Interpreter, Refused> {
        let name = from.text(LONGEST_NAME)?;
        let Some((index, runtime)) = self.runtime_named(&name) else { return Err(Refused::NoRuntime(name)) };
        if from.array::<32>()? != runtime.identity() || runtime.cells.is_none() {
            return Err(Refused::OtherRuntime(name));
        }
        let image = live.image(index, runtime)?;
        let surroundings = Surroundings {
            image: &image,
            files: &[],
            program: None,
            stdin: &[],
            limits: &live.limits,
            base_memory: runtime.base_memory,
            lowest_address: runtime.memories.lowest_address(),
        };
        // Stands in for past runs: nothing runs until the first cell brings its own.
        let run = Arc::new(Run::start(RunId(0), &live.limits, None));
        let mut guest = Guest::new(&surroundings, run)?;
        let (elapsed, cpu) = (Duration::from_nanos(from.long()?), Duration::from_nanos(from.long()?));
        guest.wasi()?.host_mut().set_clocks(elapsed, cpu);
        guest.wasi()?.restore_descriptors(from, disk)?;
        let mut interpreter = Interpreter::instantiate(index, runtime, guest)?;
        interpreter.learn_to_be_asked(runtime)?;
        let size = usize::try_from(from.count(4 << 30)?).map_err(|_| Refused::Damaged)?;
        let held = (size as u64).saturating_sub(runtime.base_memory);
        let too_much = || wasmtime::Error::msg("its interpreters together have more than it may have");
        *room = room.checked_sub(held).ok_or_else(too_much)?;
        interpreter.grow_to(size)?;
        let memory = Guest::memory(&interpreter.store)?.data_mut(&mut interpreter.store);
        if memory.len() != size {
            return Err(Refused::Damaged);
        }
        for _ in 0..from.count(MOST_REGIONS)? {
            let (start, length) = (from.long()?, from.long()?);
            let range = usize::try_from(start).ok().zip(usize::try_from(length).ok());
            let range = range.and_then(|(start, length)| Some(start..start.checked_add(length)?));
            let target = range.and_then(|range| memory.get_mut(range)).ok_or(Refused::Damaged)?;
            from.0.read_exact(target)?;
        }
        Ok(interpreter)
    }
}

/// Hashes what passes.
struct Hashing<T> {
    inner: T,
    hash: Sha256,
}

impl<T: Write> Write for Hashing<T> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let count = self.inner.write(bytes)?;
        self.hash.update(bytes.get(..count).unwrap_or_default());
        Ok(count)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.inner.flush()
    }
}

impl<T: Read> Read for Hashing<T> {
    fn read(&mut self, target: &mut [u8]) -> io::Result<usize> {
        let count = self.inner.read(target)?;
        self.hash.update(target.get(..count).unwrap_or_default());
        Ok(count)
    }
}

fn nanos(duration: Duration) -> u64 {
    u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX)
}
