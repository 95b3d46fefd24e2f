//! A session, from the server's side.

use std::fs::File;
use std::io::{self, Read as _, Write as _};
use std::os::fd::{AsFd as _, OwnedFd};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use sandbox::{
    BoxFuture, Bytes, Capture, Collect, EngineError, EntryKind, FileError, FilePart, FileRead, FolderEntry, Layer,
    Limits, LiveOutput, Outcome, OutputFile, Plan, PlannedFile, Principal, Refusal, RuntimeInfo, Session, SessionError,
    SessionState, SkipReason, WorkspacePath, WriteMode,
};

use crate::compiled::Ran;
use crate::connection::Connection;
use crate::error::WasmError;
use crate::protocol::{
    Answer, Collecting, End, Errand, Fault, Gone, JobFile, ListedEntry, ListedKind, Report, SessionId, Writing, shorten,
};
use crate::{COMPILER, Keeping, SERVICES, Service, Shared, job_limits, job_with_packages};

/// Said when nothing was removed: what was moved might be lost, or there is too much to report.
const STILL_THERE: &str = "warning: not all changes could be brought back to the session, so what the program moved or removed is \
                           still there under its old name\n";

/// The most that all files of a session may be together for a compiled cell. They pass through this process, which holds them several times over on
/// their way to compiler and program.
const MOST_COMPILED: Bytes = Bytes::mib(96);

/// A session in a worker. The worker lives as long as this does, whatever else becomes of it.
#[derive(Debug)]
pub(crate) struct WasmSession {
    shared: Arc<Shared>,
    worker: Arc<Connection>,
    id: SessionId,
    /// Languages with a live interpreter.
    languages: Vec<&'static str>,
    /// Languages whose interpreter is gone without a cell that said so.
    lost: Vec<&'static str>,
    /// What all of its interpreters may have.
    memory: Bytes,
    /// Packages that cells have brought: held as long as the session may look at them.
    layers: Vec<Layer>,
}

impl WasmSession {
    pub(crate) async fn open(shared: Arc<Shared>, plan: &Plan) -> Result<Self, WasmError> {
        let worker = shared.pool.worker(plan.principal()).await?;
        let id = SessionId(worker.number().0);
        let session = Self::new(shared, worker, id, plan.limits().memory);
        session.ask_plainly(Errand::Open(job_limits(plan.limits()))).await?;
        Ok(session)
    }

    fn new(shared: Arc<Shared>, worker: Arc<Connection>, id: SessionId, memory: Bytes) -> Self {
        Self { shared, worker, id, memory, languages: Vec::new(), lost: Vec::new(), layers: Vec::new() }
    }

    async fn copy(&self) -> Result<Self, WasmError> {
        let id = SessionId(self.worker.number().0);
        // Made first, so that the copy is closed if nobody waits for it any more.
        let mut copy = Self::new(Arc::clone(&self.shared), Arc::clone(&self.worker), id, self.memory);
        copy.languages.clone_from(&self.languages);
        copy.lost.clone_from(&self.lost);
        copy.layers.clone_from(&self.layers);
        self.ask_plainly(Errand::Fork(id)).await?;
        Ok(copy)
    }

    /// From what [`WasmSession::save`] wrote. `Err` with words: it is not from here, or damaged.
    pub(crate) async fn restore(
        shared: Arc<Shared>,
        principal: &Principal,
        file: OwnedFd,
        most: &Limits,
    ) -> Result<Result<Self, String>, WasmError> {
        let worker = shared.pool.worker(principal).await?;
        let id = SessionId(worker.number().0);
        let length = rustix::fs::fstat(&file).map_err(|error| WasmError::Sockets(error.into()))?.st_size;
        let errand = Errand::Restore { length: u64::try_from(length).unwrap_or(0), most: job_limits(most) };
        // Made first, so that a half-restored session is closed.
        let mut session = Self::new(shared, worker, id, most.memory);
        let answered = session.worker.ask(id, errand, &[file.as_fd()]).await?;
        if let Err(Fault::Refused(reason)) = answered {
            return Ok(Err(reason));
        }
        let Answer::Restored { runtimes, memory } = plain(answered)? else { return Err(odd()) };
        session.languages = session.shared.languages_of(&runtimes);
        session.memory = Bytes::new(memory).min(most.memory);
        Ok(Ok(session))
    }

    /// Through a pipe: a worker never holds a file of the host's that it could write to, and may not write to one as large as this.
    async fn write_to(&self, file: OwnedFd) -> Result<(), WasmError> {
        let pipe = rustix::pipe::pipe_with(rustix::pipe::PipeFlags::CLOEXEC);
        let (from, into) = pipe.map_err(|error| WasmError::Sockets(error.into()))?;
        let copying = copy(from, file);
        let answer = self.worker.ask(self.id, Errand::Save, &[into.as_fd()]).await;
        // The end of what is copied.
        drop(into);
        // First report what could not be written: all that the worker knows of it is that nobody reads any more.
        match copying.await.map_err(WasmError::Save)? {
            Copied::All => plain(answer?).map(drop),
            Copied::Endless => Err(self.broken()),
        }
    }

    async fn ask(&self, errand: Errand) -> Result<Result<Answer, Fault>, WasmError> {
        self.worker.ask(self.id, errand, &[]).await
    }

    /// For errands that only fail through our own fault.
    async fn ask_plainly(&self, errand: Errand) -> Result<Answer, WasmError> {
        plain(self.ask(errand).await?)
    }

    /// About a file.
    async fn ask_for_file(&self, errand: Errand) -> Result<Answer, FileError> {
        self.ask(errand).await.map_err(EngineError::new)?.map_err(file_error)
    }

    async fn run_cell(&mut self, plan: Plan, live: &mut dyn LiveOutput) -> Result<Outcome, WasmError> {
        let language = plan.language();
        let no_driver = || WasmError::NoDriver(language.id.to_owned());
        let (index, service) = self.shared.runtime_for_cells(language).ok_or_else(no_driver)?;
        let runtime = RuntimeInfo {
            language: language.id,
            version: self.shared.pool.version_of(index).to_owned(),
            tool: self.shared.pool.name_of(index).to_owned(),
        };
        if service.runtime == COMPILER {
            return self.run_compiled(plan, runtime, live).await;
        }
        if let Some(layer) = plan.layer().filter(|layer| !self.layers.iter().any(|held| held.id == layer.id)) {
            self.layers.push(layer.clone());
        }
        let (output, collect) = (plan.limits().output, plan.collect());
        let mut keeping = Keeping { stdout: Capture::new(output), stderr: Capture::new(output), live };
        let (job, tree) = job_with_packages(&plan, self.worker.number(), index, service.dialect)?;
        let mut finished = self.worker.run_cell(self.id, job, tree.as_ref(), &mut keeping).await?;
        if let End::Unplaced { path, fault } = finished.end {
            return Err(unplaced(&path, fault));
        }
        finished.bound();
        let lost = finished.lost.take();
        let state = if service.has_cells() { self.note(service, lost) } else { SessionState::Kept };
        let mut outcome = self.shared.outcome(finished, keeping, runtime, collect);
        outcome.state = Some(state);
        Ok(outcome)
    }

    /// What a cell means for the interpreters, and what its caller hears of them.
    fn note(&mut self, service: &Service, lost: Option<String>) -> SessionState {
        self.languages.retain(|known| *known != service.language);
        let was_lost = self.lost.iter().position(|known| *known == service.language);
        let was_lost = was_lost.map(|place| self.lost.swap_remove(place));
        if let Some(why) = lost {
            // Languages that share an interpreter lose it together.
            self.lost.extend(self.languages.extract_if(.., |known| runtime_of(known) == Some(service.runtime)));
            return SessionState::Lost(why);
        }
        self.languages.push(service.language);
        was_lost.map_or(SessionState::Kept, |_| SessionState::lost_before())
    }

    /// A program that is compiled runs in a worker of its own: files go there and come back.
    async fn run_compiled(
        &mut self,
        plan: Plan,
        runtime: RuntimeInfo,
        live: &mut dyn LiveOutput,
    ) -> Result<Outcome, WasmError> {
        let started = Instant::now();
        let compiled = self.shared.compiled.clone().ok_or_else(|| WasmError::NoDriver(COMPILER.to_owned()))?;
        let (output, collect) = (plan.limits().output, plan.collect());
        for file in plan.files() {
            let write = writing(&file.path, file.contents.clone());
            self.ask(write).await?.map_err(|fault| unplaced(file.path.as_str(), fault))?;
        }
        let plan = plan.in_workspace(self.all_files().await?);
        let mut keeping = Keeping { stdout: Capture::new(output), stderr: Capture::new(output), live };
        let Ran { mut finished, diagnostics } = compiled.run(&plan, started, Collecting::Changes, &mut keeping).await?;
        let gone = std::mem::take(&mut finished.gone);
        let outcome = self.shared.outcome(finished, keeping, runtime, Collect::Contents);
        let mut outcome = Shared::of_compiled(outcome, diagnostics, &plan);
        // What did not come back may be one of those, under another name.
        let all_came = outcome.skipped_files.iter().all(|file| file.reason == SkipReason::NotRegular);
        let gone = match gone {
            Gone::Paths(paths) if all_came || paths.is_empty() => paths,
            Gone::Paths(_) | Gone::TooMuch => {
                outcome.diagnostics.get_or_insert_default().push_str(STILL_THERE);
                Vec::new()
            }
        };
        let brought = |file: &mut OutputFile| {
            let contents = match collect {
                Collect::Names => file.contents.take(),
                Collect::Contents => file.contents.clone(),
            };
            Some(JobFile { path: file.path.as_str().to_owned(), contents: contents? })
        };
        let files = outcome.files.iter_mut().filter_map(brought).collect();
        self.ask_plainly(Errand::Merge { gone, files }).await?;
        outcome.state = Some(SessionState::Kept);
        Ok(outcome)
    }

    /// All files whose names can be passed on. Their size together is checked before any is read.
    async fn all_files(&self) -> Result<Vec<PlannedFile>, WasmError> {
        let mut files = Vec::new();
        for (path, size) in self.all_names().await? {
            let contents = self.read_all(&path, size).await?;
            files.push(PlannedFile { path, contents });
        }
        Ok(files)
    }

    /// Their names and sizes. A file counts once for each of its names: the program gets it that often.
    async fn all_names(&self) -> Result<Vec<(WorkspacePath, u64)>, WasmError> {
        /// What a name counts for beside its bytes.
        const NAME: u64 = 64;
        let mut names = Vec::new();
        let mut room = MOST_COMPILED.get();
        let mut after = None;
        loop {
            let Answer::Entries(entries) = self.ask_plainly(Errand::Files { after: after.clone() }).await? else {
                return Err(self.broken());
            };
            if entries.is_empty() {
                return Ok(names);
            }
            for ListedEntry { path, size, .. } in entries {
                // Otherwise this need never end.
                if after.as_ref().is_some_and(|after| path <= *after) {
                    return Err(self.broken());
                }
                let taken = size.saturating_add(path.len() as u64 + NAME);
                room = room.checked_sub(taken).ok_or_else(too_large)?;
                names.extend(WorkspacePath::new(&path).ok().map(|path| (path, size)));
                after = Some(path);
            }
        }
    }

    async fn read_all(&self, path: &WorkspacePath, size: u64) -> Result<Vec<u8>, WasmError> {
        let mut contents = Vec::new();
        while (contents.len() as u64) < size {
            let (path, offset) = (path.as_str().to_owned(), contents.len() as u64);
            let limit = size - offset;
            let Answer::Part { bytes, .. } = self.ask_plainly(Errand::Read { path, offset, limit }).await? else {
                return Err(self.broken());
            };
            if bytes.len() as u64 > limit {
                return Err(self.broken());
            }
            if bytes.is_empty() {
                break;
            }
            contents.extend(bytes);
        }
        Ok(contents)
    }

    /// Ends a worker that answers as no worker of ours does.
    fn broken(&self) -> WasmError {
        self.worker.end();
        odd()
    }
}

impl Drop for WasmSession {
    fn drop(&mut self) {
        self.worker.close(self.id);
    }
}

impl Session for WasmSession {
    fn run<'a>(&'a mut self, plan: Plan, live: &'a mut dyn LiveOutput) -> BoxFuture<'a, Result<Outcome, SessionError>> {
        Box::pin(async move { self.run_cell(plan, live).await.map_err(WasmError::in_session) })
    }

    fn settle(&mut self) -> BoxFuture<'_, ()> {
        Box::pin(async move {
            // Answered when the cell is over.
            let live = match self.ask_plainly(Errand::Runtimes).await {
                Ok(Answer::Runtimes(runtimes)) => self.shared.languages_of(&runtimes),
                // It is not alive.
                Ok(_) | Err(_) => Vec::new(),
            };
            self.lost.extend(self.languages.extract_if(.., |language| !live.contains(language)));
        })
    }

    fn is_alive(&self) -> bool {
        self.worker.is_alive()
    }

    fn languages(&self) -> Vec<&'static str> {
        self.languages.clone()
    }

    fn memory(&self) -> Bytes {
        self.memory
    }

    fn write<'a>(
        &'a mut self,
        path: &'a WorkspacePath,
        contents: &'a [u8],
        mode: WriteMode,
    ) -> BoxFuture<'a, Result<u64, FileError>> {
        let mode = match mode {
            WriteMode::Replace => Writing::Replace,
            WriteMode::Append => Writing::Append,
        };
        let errand = Errand::Write { path: path.as_str().to_owned(), contents: contents.to_vec(), mode };
        Box::pin(async move {
            match self.ask_for_file(errand).await? {
                Answer::Size(size) => Ok(size),
                Answer::Done
                | Answer::Runtimes(_)
                | Answer::Restored { .. }
                | Answer::Part { .. }
                | Answer::Entries(_) => Err(EngineError::new(odd()).into()),
            }
        })
    }

    fn read<'a>(&'a mut self, path: &'a WorkspacePath, part: FilePart) -> BoxFuture<'a, Result<FileRead, FileError>> {
        Box::pin(async move {
            let mut bytes = Vec::new();
            // In several parts, if it is large.
            loop {
                let had = bytes.len() as u64;
                let (offset, limit) = (part.offset.saturating_add(had), part.limit.saturating_sub(had));
                let errand = Errand::Read { path: path.as_str().to_owned(), offset, limit };
                let Answer::Part { bytes: mut more, size } = self.ask_for_file(errand).await? else {
                    return Err(EngineError::new(odd()).into());
                };
                more.truncate(usize::try_from(limit).unwrap_or(usize::MAX));
                let read = more.len() as u64;
                let is_all = read == 0 || read == limit || offset.saturating_add(read) >= size;
                bytes.append(&mut more);
                if is_all {
                    return Ok(FileRead { bytes, size });
                }
            }
        })
    }

    fn list<'a>(&'a mut self, folder: Option<&'a WorkspacePath>) -> BoxFuture<'a, Result<Vec<FolderEntry>, FileError>> {
        let folder = folder.map(|folder| folder.as_str().to_owned());
        Box::pin(async move {
            let Answer::Entries(entries) = self.ask_for_file(Errand::List { folder }).await? else {
                return Err(EngineError::new(odd()).into());
            };
            // One more than are shown says that there are more.
            Ok(entries.iter().take(FolderEntry::MAX_COUNT + 1).map(listed).collect())
        })
    }

    fn fork(&mut self) -> BoxFuture<'_, Result<Box<dyn Session>, SessionError>> {
        Box::pin(async move {
            let fork = self.copy().await.map_err(EngineError::new)?;
            Ok(Box::new(fork) as Box<dyn Session>)
        })
    }

    fn save(&mut self, file: OwnedFd) -> BoxFuture<'_, Result<(), SessionError>> {
        Box::pin(async move { self.write_to(file).await.map_err(|error| EngineError::new(error).into()) })
    }
}

/// How a copy ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Copied {
    All,
    /// Whoever writes into the pipe keeps it open.
    Endless,
}

/// Starts to copy what comes out of a pipe into a file. Goes on until the pipe ends or this is dropped: nobody counts a
/// copy that nobody waits for, and whoever writes into the pipe sees that it is closed. To be awaited when whoever writes
/// says that all is written: from then on the pipe has to end soon.
fn copy(from: OwnedFd, file: OwnedFd) -> impl Future<Output = io::Result<Copied>> {
    /// More than what any session may have.
    const MOST: u64 = 8 << 30;
    /// As much as a pipe holds.
    const STEP: usize = 64 << 10;
    /// How long to wait for more before checking again whether anybody waits for the copy.
    const PAUSE: Timespec = Timespec { tv_sec: 0, tv_nsec: 100_000_000 };
    /// How long to wait for the end, in all, once everything is written. Writing to a slow disk does not count.
    const PATIENCE: Duration = Duration::from_secs(5);
    let all_written = Arc::new(AtomicBool::new(false));
    let waiting = Arc::downgrade(&all_written);
    let copying = tokio::task::spawn_blocking(move || {
        let (mut from, mut file) = (File::from(from).take(MOST), File::from(file));
        let mut buffer = vec![0; STEP];
        let mut patience = PATIENCE;
        while let Some(all_written) = waiting.upgrade().map(|all_written| all_written.load(Ordering::Relaxed)) {
            if patience.is_zero() {
                return Ok(Copied::Endless);
            }
            let since = Instant::now();
            let mut pipe = [PollFd::new(from.get_ref(), PollFlags::IN)];
            let has_come = match poll(&mut pipe, Some(&PAUSE)) {
                Ok(count) => count > 0,
                Err(Errno::INTR) => false,
                Err(error) => return Err(error.into()),
            };
            if all_written {
                patience = patience.saturating_sub(since.elapsed());
            }
            if !has_come {
                continue;
            }
            let length = from.read(&mut buffer)?;
            if length == 0 {
                // It gets its name next: even if the machine stops, a file with a name is complete.
                file.sync_all()?;
                return Ok(Copied::All);
            }
            file.write_all(buffer.get(..length).unwrap_or_default())?;
        }
        Err(io::ErrorKind::Interrupted.into())
    });
    async move {
        all_written.store(true, Ordering::Relaxed);
        let copied = copying.await;
        drop(all_written);
        copied.unwrap_or_else(|error| Err(io::Error::other(error)))
    }
}

fn writing(path: &WorkspacePath, contents: Vec<u8>) -> Errand {
    Errand::Write { path: path.as_str().to_owned(), contents, mode: Writing::Replace }
}

/// A file that was given for a path that cannot have it. As in the native engine.
fn unplaced(path: &str, fault: Fault) -> WasmError {
    let path: String = path.chars().flat_map(escaped).collect();
    let message = format!("`{path}` cannot be put into the session's workspace: {}", file_error(fault));
    WasmError::Refused(Refusal::new("files", message, "`list_files` says what is there already"))
}

/// More than what a compiled cell is given.
fn too_large() -> WasmError {
    let message = format!(
        "the session's files are too large for a compiled cell: all of them together may have {MOST_COMPILED}, each as often as it has names"
    );
    WasmError::Refused(Refusal::new(
        "session",
        message,
        "remove what is not needed, or use a session with engine `native`",
    ))
}

fn listed(entry: &ListedEntry) -> FolderEntry {
    FolderEntry {
        path: entry.path.chars().flat_map(escaped).collect(),
        kind: match entry.kind {
            ListedKind::File => EntryKind::File,
            ListedKind::Folder => EntryKind::Folder,
            ListedKind::Other => EntryKind::Other,
        },
        size: entry.size,
    }
}

/// What a terminal or a line would take for something else.
fn escaped(character: char) -> impl Iterator<Item = char> {
    let is_plain = !character.is_control();
    let plain = is_plain.then_some(character);
    let escape = (!is_plain).then(|| character.escape_debug());
    plain.into_iter().chain(escape.into_iter().flatten())
}

fn runtime_of(language: &str) -> Option<&'static str> {
    SERVICES.iter().find(|service| service.language == language).map(|service: &Service| service.runtime)
}

fn file_error(fault: Fault) -> FileError {
    match fault {
        Fault::NotFound => FileError::NotFound,
        Fault::IsFolder => FileError::IsFolder,
        Fault::NotFolder => FileError::NotFolder,
        Fault::Special => FileError::Special,
        Fault::Full => FileError::Full,
        Fault::Refused(reason) | Fault::Failed(reason) => {
            FileError::Failed(EngineError::new(WasmError::Session(reason)))
        }
    }
}

fn plain(answered: Result<Answer, Fault>) -> Result<Answer, WasmError> {
    answered.map_err(|fault| {
        WasmError::Session(match fault {
            Fault::Refused(mut reason) | Fault::Failed(mut reason) => {
                shorten(&mut reason, Report::MAX_WORDS);
                reason
            }
            Fault::Full => "its workspace is full".to_owned(),
            Fault::NotFound | Fault::IsFolder | Fault::NotFolder | Fault::Special => "a file cannot be had".to_owned(),
        })
    })
}

fn odd() -> WasmError {
    WasmError::Session("it answered what it was not asked".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn nothing_is_waited_for_when_nobody_waits() {
        let (from, into) = rustix::pipe::pipe_with(rustix::pipe::PipeFlags::CLOEXEC).expect("a pipe");
        drop(copy(from, tempfile::tempfile().expect("a file").into()));
        let mut pipe = [PollFd::new(&into, PollFlags::empty())];
        let closed = poll(&mut pipe, Some(&Timespec { tv_sec: 20, tv_nsec: 0 }));
        assert_eq!(closed, Ok(1), "its other end is still open");
    }

    #[tokio::test]
    async fn what_is_saved_for_nobody_is_not_written() {
        /// More than what a copy takes before it looks again.
        const MORE: usize = 8 << 20;
        let (from, into) = rustix::pipe::pipe_with(rustix::pipe::PipeFlags::CLOEXEC).expect("a pipe");
        let mut into = File::from(into);
        let copying = copy(from, tempfile::tempfile().expect("a file").into());
        into.write_all(&vec![7; 1 << 20]).expect("somebody waits");
        drop(copying);
        let written = into.write_all(&vec![7; MORE]);
        assert_eq!(written.map_err(|error| error.kind()), Err(io::ErrorKind::BrokenPipe));
    }

    #[tokio::test]
    async fn all_that_is_saved_is_written() {
        let (from, into) = rustix::pipe::pipe_with(rustix::pipe::PipeFlags::CLOEXEC).expect("a pipe");
        let file = tempfile::tempfile().expect("a file");
        let copying = copy(from, file.try_clone().expect("a file").into());
        File::from(into).write_all(&vec![7; (3 << 20) + 1]).expect("somebody waits");
        assert_eq!(copying.await.expect("copied"), Copied::All);
        assert_eq!(file.metadata().expect("a file").len(), (3 << 20) + 1);
    }
}
