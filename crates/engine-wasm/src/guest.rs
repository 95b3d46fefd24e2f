//! What a store holds: one guest's view of the world, what it is held to, and what its driver says about it.

use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime};

use belljar_wasi::{Context, Disk, FileOrigin, Host, Image, Interrupted, OutputStream, Quota, WorkspaceFile};
use sandbox::{OutputFile, SkippedFile};
use wasmtime::{AsContextMut, Caller, Instance, Linker, Memory, ResourceLimiter, Result, Store};

use crate::bulk;
use crate::halt::{self, Ask};
use crate::protocol::{self, Collecting, Gone, Job, JobFile, JobLimits, MadeFile, Report};
use crate::run::Run;

/// A guest.
pub(crate) struct Guest {
    /// `None` once its files have been taken.
    wasi: Option<Context<World>>,
    limiter: Limiter,
    memory: Option<Memory>,
    run: Arc<Run>,
    /// The address of the list of words that tell it to stop; see [`Ask`].
    ask: Option<u32>,
    pub(crate) report: Report,
    pub(crate) cell: CellState,
}

/// Where an instance is with a cell, for drivers that have to know.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) enum CellState {
    /// It runs a program of its own.
    #[default]
    None,
    /// The cell goes on, until its run is asked to stop.
    Running,
    /// It has ended itself, with this code.
    Exited(u32),
    /// It is over, and what is left to do is not interrupted.
    Over,
}

/// What becomes of a guest after a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Afterwards {
    /// It has others.
    Stays,
    /// It goes.
    Gone,
}

/// What a guest is put into.
pub(crate) struct Surroundings<'a> {
    pub(crate) image: &'a Image,
    pub(crate) files: &'a [JobFile],
    /// The program's path and text.
    pub(crate) program: Option<(&'a str, &'a [u8])>,
    pub(crate) stdin: &'a [u8],
    pub(crate) limits: &'a JobLimits,
    /// Bytes of memory that are there before the limit counts.
    pub(crate) base_memory: u64,
    /// Nothing below this address in its memory can be touched.
    pub(crate) lowest_address: u32,
}

impl Guest {
    pub(crate) fn new(surroundings: &Surroundings<'_>, run: Arc<Run>) -> Result<Self> {
        let limits = surroundings.limits;
        // The program's own file is not the guest's to pay for.
        let program_size = surroundings.program.map_or(0, |(_, text)| text.len() as u64);
        let quota = Quota { bytes: limits.disk + program_size, entries: limits.files.saturating_add(1) };
        let mut wasi = Context::new(World::new(Arc::clone(&run)), surroundings.image, quota);
        let refused =
            |path: &str, error| wasmtime::Error::msg(format!("`{path}` cannot be put into the workspace: {error}"));
        for file in surroundings.files {
            wasi.add_input(&file.path, file.contents.clone()).map_err(|error| refused(&file.path, error))?;
        }
        if let Some((path, text)) = surroundings.program {
            wasi.add_input(workspace_name(path), text.to_vec()).map_err(|error| refused(path, error))?;
        }
        wasi.set_stdin(surroundings.stdin.to_vec());
        wasi.set_lowest_address(surroundings.lowest_address);
        let limiter = Limiter { most: surroundings.base_memory + limits.memory, peak: 0, refused: Refused::No };
        let (report, cell) = (Report::default(), CellState::None);
        Ok(Self { wasi: Some(wasi), limiter, memory: None, run, ask: None, report, cell })
    }

    /// Begins another run of this guest, on this disk, which it has until [`Guest::leave`]. Its memory grows to `most` bytes.
    pub(crate) fn enter(&mut self, run: &Arc<Run>, disk: &mut Disk, stdin: &[u8], most: u64) -> Result<()> {
        self.run = Arc::clone(run);
        self.report = Report::default();
        self.limiter.most = most;
        self.limiter.refused = Refused::No;
        let wasi = self.wasi()?;
        wasi.host_mut().enter(run);
        wasi.set_stdin(stdin.to_vec());
        wasi.swap_disk(disk);
        Ok(())
    }

    /// The end of such a run: the disk back, and what the driver says.
    pub(crate) fn leave(&mut self, disk: &mut Disk, and: Afterwards) -> Report {
        if let Some(wasi) = &mut self.wasi {
            wasi.host_mut().leave();
            if and == Afterwards::Gone {
                wasi.close_all();
            }
            wasi.swap_disk(disk);
        }
        std::mem::take(&mut self.report)
    }

    /// A guest with the same open files and limits.
    pub(crate) fn fork(&self, image: &Image) -> Result<Self> {
        let wasi = self.wasi.as_ref().ok_or_else(no_instance)?;
        let wasi = wasi.fork(wasi.host().fork(), image);
        Ok(Self {
            wasi: Some(wasi),
            limiter: Limiter { refused: Refused::No, ..self.limiter },
            memory: None,
            run: Arc::clone(&self.run),
            ask: self.ask,
            report: Report::default(),
            cell: CellState::None,
        })
    }

    /// How the instance is told to stop, when it can be.
    pub(crate) fn ask(store: &Store<Self>) -> Option<Ask> {
        let (list, memory) = (store.data().ask?, store.data().memory?);
        Some(Ask { memory: memory.data_ptr(store), size: memory.data_size(store), list })
    }

    /// Remembers where the list of words is.
    pub(crate) fn set_ask(&mut self, list: u32) {
        self.ask = Some(list);
    }

    /// Whether the interpreter, which asks now and then, is to stop what it does.
    pub(crate) fn should_stop(&self) -> bool {
        match self.cell {
            CellState::None | CellState::Over => false,
            CellState::Running => {
                self.run.take_ask();
                self.run.asked().is_some()
            }
            CellState::Exited(_) => true,
        }
    }

    /// Tells the guest to stop if it was asked to during a call of the host, in which nothing else could tell it.
    fn tell(memory: &mut [u8], guest: &Self) {
        if let Some(list) = guest.ask
            && guest.run.take_ask()
        {
            halt::set_words(memory, list);
        }
    }

    /// Remembers where the instance's memory is, so that no call has to look it up.
    pub(crate) fn adopt(store: &mut Store<Self>, instance: &Instance) -> Result<()> {
        let memory = instance.get_memory(&mut *store, "memory");
        let memory = memory.ok_or_else(|| wasmtime::Error::msg("the module has no memory"))?;
        let size = memory.data_size(&*store) as u64;
        let guest = store.data_mut();
        guest.memory = Some(memory);
        // An instance that was made for another guest has asked this limiter for nothing.
        guest.limiter.peak = guest.limiter.peak.max(size);
        Ok(())
    }

    /// The instance's memory.
    pub(crate) fn memory(store: &Store<Self>) -> Result<Memory> {
        store.data().memory.ok_or_else(no_instance)
    }

    /// The instance's memory and the guest that it belongs to, for a call of the host. An error if the run has to end.
    pub(crate) fn split(caller: &mut impl AsContextMut<Data = Self>) -> Result<(&mut [u8], &mut Self)> {
        let context = caller.as_context_mut();
        if context.data().run.interruption().is_some() {
            return Err(belljar_wasi::End::Interrupted.into());
        }
        let memory = context.data().memory.ok_or_else(no_instance)?;
        Ok(memory.data_and_store_mut(context))
    }

    /// Its files, clocks and streams.
    pub(crate) fn wasi(&mut self) -> Result<&mut Context<World>> {
        self.wasi.as_mut().ok_or_else(no_instance)
    }

    /// The same for who only looks, between its runs.
    pub(crate) fn wasi_at_rest(&self) -> Result<&Context<World>> {
        self.wasi.as_ref().ok_or_else(no_instance)
    }

    pub(crate) fn limiter(&mut self) -> &mut dyn ResourceLimiter {
        &mut self.limiter
    }

    pub(crate) fn was_refused_memory(&self) -> bool {
        self.limiter.refused == Refused::Yes
    }

    /// The peak of its memory and files together, or nearly: files are looked at only now.
    pub(crate) fn peak_bytes(&self) -> u64 {
        self.limiter.peak + self.wasi.as_ref().map_or(0, |wasi| wasi.usage().bytes)
    }

    /// What it leaves. Nothing works after this.
    pub(crate) fn take_workspace(&mut self, job: &Job) -> Left {
        let Some(wasi) = self.wasi.take() else { return Left::default() };
        let (_, workspace) = wasi.into_workspace();
        let gone = match job.collect {
            // The program's own file does not count: nobody gave it.
            Collecting::Changes => {
                let gone = workspace.gone();
                Gone::of(gone.iter().copied().filter(|path| *path != workspace_name(&job.file)))
            }
            Collecting::Sizes | Collecting::Contents => Gone::default(),
        };
        let mut budget = Budget::new(job.collect);
        let changed = workspace.files.into_iter().filter(|file| is_changed(file, job)).take(MOST_FILES);
        let made = changed.map(|file| {
            let (path, size) = (file.path.clone(), file.size());
            let contents = budget.take(size).then(|| file.into_contents().into_vec());
            MadeFile { path, size, contents }
        });
        Left { files: made.collect(), links: workspace.links.into_iter().take(MOST_LINKS).collect(), gone }
    }
}

/// What a run leaves in its workspace: as many files as may be reported, with as much of their contents as is wanted.
/// One file can have so many names that the contents of all of them would not fit into memory.
#[derive(Debug, Default)]
pub(crate) struct Left {
    /// Made or changed.
    pub(crate) files: Vec<MadeFile>,
    /// Not brought back.
    pub(crate) links: Vec<String>,
    pub(crate) gone: Gone,
}

/// As many as the server will take, and as many more as it can report as skipped.
pub(crate) const MOST_FILES: usize = OutputFile::MAX_COUNT + SkippedFile::MAX_COUNT;
/// The same for symbolic links, which are only reported.
pub(crate) const MOST_LINKS: usize = SkippedFile::MAX_COUNT;

/// How much may still be sent back of what is in files.
#[derive(Debug)]
pub(crate) struct Budget {
    collect: Collecting,
    left: u64,
}

impl Budget {
    pub(crate) fn new(collect: Collecting) -> Self {
        Self { collect, left: OutputFile::MAX_CONTENTS }
    }

    /// Whether a file of this size is sent.
    pub(crate) fn take(&mut self, size: u64) -> bool {
        let left = self.left.checked_sub(size).filter(|_| self.collect != Collecting::Sizes);
        self.left = left.unwrap_or(self.left);
        left.is_some()
    }
}

/// Whether a file differs from what was given. One that was rewritten with the same contents does not.
fn is_changed(file: &WorkspaceFile, job: &Job) -> bool {
    match file.origin {
        FileOrigin::Made => true,
        FileOrigin::Unchanged => false,
        FileOrigin::Changed => {
            let is_given = job.files.iter().any(|given| given.path == file.path && file.holds(&given.contents));
            let is_program = workspace_name(&job.file) == file.path && file.holds(&job.code);
            !is_given && !is_program
        }
    }
}

/// A path of the guest's as it is called within the workspace.
fn workspace_name(path: &str) -> &str {
    path.strip_prefix(crate::WORKSPACE).unwrap_or(path).trim_start_matches('/')
}

fn no_instance() -> wasmtime::Error {
    wasmtime::Error::msg("a call without an instance")
}

/// Clocks, randomness and output of a run.
#[derive(Debug)]
pub(crate) struct World {
    run: Arc<Run>,
    /// Where its monotonic clock starts. Not the machine's own start, which is nobody's business.
    epoch: Instant,
    /// CPU time of runs of the same guest that are over.
    cpu_before: Duration,
}

impl World {
    fn new(run: Arc<Run>) -> Self {
        Self { run, epoch: Instant::now(), cpu_before: Duration::ZERO }
    }

    /// Clocks go on where they are.
    fn enter(&mut self, run: &Arc<Run>) {
        self.run = Arc::clone(run);
    }

    fn leave(&mut self) {
        self.cpu_before += self.run.cpu_time();
    }

    fn fork(&self) -> Self {
        Self { run: Arc::clone(&self.run), epoch: self.epoch, cpu_before: self.cpu_before }
    }

    /// What its clocks show: time since its start, and CPU time.
    pub(crate) fn clocks(&self) -> (Duration, Duration) {
        (self.epoch.elapsed(), self.cpu_before)
    }

    /// Sets clocks to what others showed.
    pub(crate) fn set_clocks(&mut self, elapsed: Duration, cpu: Duration) {
        let now = Instant::now();
        self.epoch = now.checked_sub(elapsed).unwrap_or(now);
        self.cpu_before = cpu;
    }
}

impl Host for World {
    fn realtime(&self) -> u64 {
        let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
        nanos(since)
    }

    fn monotonic(&self) -> u64 {
        // Never 0, which programs take for "not set".
        1_000_000_000 + nanos(self.epoch.elapsed())
    }

    fn cpu_time(&self) -> u64 {
        nanos(self.cpu_before + self.run.cpu_time())
    }

    fn sleep(&mut self, duration: Duration) -> Result<(), Interrupted> {
        self.run.sleep(duration).map_err(|_| Interrupted)
    }

    fn random(&mut self, buffer: &mut [u8]) {
        let mut rest = buffer;
        while !rest.is_empty() {
            // The kernel's generator does not fail once it is seeded; an interrupted call is made again.
            let count = rustix::rand::getrandom(&mut *rest, rustix::rand::GetRandomFlags::empty()).unwrap_or(0);
            rest = rest.get_mut(count..).unwrap_or_default();
        }
    }

    fn output(&mut self, stream: OutputStream, bytes: &[u8]) {
        let stream = match stream {
            OutputStream::Stdout => protocol::OutputStream::Stdout,
            OutputStream::Stderr => protocol::OutputStream::Stderr,
        };
        // If this run is interrupted here, its thread is signalled again.
        self.run.write(stream, bytes).ok();
    }
}

fn nanos(duration: Duration) -> u64 {
    u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX)
}

/// Holds an instance to its memory.
#[derive(Debug, Clone, Copy)]
struct Limiter {
    most: u64,
    peak: u64,
    refused: Refused,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Refused {
    No,
    Yes,
}

impl ResourceLimiter for Limiter {
    fn memory_growing(&mut self, _: usize, desired: usize, maximum: Option<usize>) -> Result<bool> {
        let allowed = desired as u64 <= self.most && maximum.is_none_or(|maximum| desired <= maximum);
        if allowed {
            self.peak = self.peak.max(desired as u64);
        } else {
            self.refused = Refused::Yes;
        }
        // If refused, the guest's allocator reports that to the guest, which can go on.
        Ok(allowed)
    }

    fn table_growing(&mut self, _: usize, desired: usize, maximum: Option<usize>) -> Result<bool> {
        // Tables hold function pointers. Nothing that we run adds any.
        Ok(desired <= 200_000 && maximum.is_none_or(|maximum| desired <= maximum))
    }
}

/// Links what code calls that would otherwise be out of reach: it does nothing, but fails if the run has to end.
pub(crate) fn link_look_up(linker: &mut Linker<Guest>) -> Result<()> {
    let (module, name) = bulk::LOOK_UP;
    linker.func_wrap(module, name, |mut caller: Caller<'_, Guest>| -> Result<()> {
        let (memory, guest) = Guest::split(&mut caller)?;
        Guest::tell(memory, guest);
        Ok(())
    })?;
    Ok(())
}

macro_rules! link_functions {
    ($($name:ident($($parameter:ident: $type:ty),*) -> $result:tt;)*) => {
        /// Adds all of WASI.
        pub(crate) fn link_wasi(linker: &mut Linker<Guest>) -> Result<()> {
            $(link_function!(linker, $name($($parameter: $type),*) -> $result);)*
            Ok(())
        }
    };
}

macro_rules! link_function {
    ($linker:ident, $name:ident($($parameter:ident: $type:ty),*) -> u32) => {
        $linker.func_wrap(
            "wasi_snapshot_preview1",
            stringify!($name),
            |mut caller: Caller<'_, Guest>, $($parameter: $type),*| -> Result<u32> {
                let (memory, guest) = Guest::split(&mut caller)?;
                let errno = guest.wasi()?.$name(memory, $($parameter),*)?;
                Guest::tell(memory, guest);
                Ok(errno.into())
            },
        )?
    };
    ($linker:ident, $name:ident($($parameter:ident: $type:ty),*) -> ()) => {
        $linker.func_wrap(
            "wasi_snapshot_preview1",
            stringify!($name),
            |mut caller: Caller<'_, Guest>, $($parameter: $type),*| -> Result<()> {
                let (memory, guest) = Guest::split(&mut caller)?;
                Ok(guest.wasi()?.$name(memory, $($parameter),*)?)
            },
        )?
    };
}

belljar_wasi::for_each_function!(link_functions);
