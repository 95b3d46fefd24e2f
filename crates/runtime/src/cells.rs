//! Runs and files of sessions.

use std::os::fd::OwnedFd;

use sandbox::{
    Engine, EngineChoice, EngineError, EngineId, FileError, FilePart, FileRead, FolderEntry, Language, LayerKind,
    LiveOutput, Outcome, PackageVersion, Packages, Plan, Principal, Provided, Refusal, SessionError, SessionName,
    SessionState, Wanted, WorkspacePath, WriteMode,
};

use crate::errand::{Errand, Ready, final_word, is_own, own_places};
use crate::sessions::{Furnished, Live, Past, Seat, SessionInfo, Stage};
use crate::{RunError, Runtime};

impl Runtime {
    /// Runs a cell of a session.
    pub(crate) async fn run_cell(
        &self,
        plan: Plan,
        name: &SessionName,
        live: &mut dyn LiveOutput,
    ) -> Result<Outcome, RunError> {
        let mut seat = self.sessions.enter(plan.principal(), name).await?;
        let closed = seat.closed();
        tokio::select! {
            biased;
            () = closed => Err(closed_meanwhile(name).into()),
            outcome = self.run_at(&mut seat, plan, live) => outcome,
        }
    }

    async fn run_at(&self, seat: &mut Seat, plan: Plan, live: &mut dyn LiveOutput) -> Result<Outcome, RunError> {
        drop_dead(seat)?;
        let engines = self.engines_for_cell(seat, &plan)?;
        let mut errand = self.errand(plan).await?;
        leave_own(seat, &mut errand).await?;
        let mut last = None;
        for engine in engines {
            let ready = match self.furnish_cell(seat, &errand, engine.id(), live).await {
                Ok(ready) => ready,
                // Another engine may have what this one has not; if none has, the first one's reason is told.
                Err(refused @ RunError::Refused(_)) => {
                    last.get_or_insert(refused);
                    continue;
                }
                Err(failed) => return Err(failed),
            };
            let _turn = self.turns.take(ready.plan.principal()).await;
            if let Err(error) = self.open(seat, &**engine, &ready.plan).await {
                last = Some(error);
                continue;
            }
            let packages = ready.packages;
            let ran = run_busy(seat, ready.plan, live).await;
            let mut outcome = match ran {
                Err(RunError::Failed(cause)) if is_dead(seat)? => return Err(gone(seat, cause)),
                ran => ran?,
            };
            outcome.packages = packages;
            let past = std::mem::replace(&mut seat.held()?.past, Past::None);
            if past == Past::Lost && matches!(outcome.state, Some(SessionState::Kept)) {
                outcome.state = Some(SessionState::Gone);
            }
            return Ok(explain(outcome));
        }
        Err(last.unwrap_or_else(|| closed_meanwhile(seat.name()).into()))
    }

    /// Makes packages ready for a cell. It also gets what earlier cells wanted, all of it in versions that go together.
    async fn furnish_cell(
        &self,
        seat: &mut Seat,
        errand: &Errand,
        engine: EngineId,
        live: &mut dyn LiveOutput,
    ) -> Result<Ready, RunError> {
        let Some(kind) = LayerKind::of(errand.plan.language()) else {
            return self.furnish_only(errand, engine, live).await;
        };
        let before = seat.held()?.furnished.get(&kind).cloned();
        let together = match (before.as_ref().map(|before| &before.wanted), &errand.wanted) {
            (Some(before), Some(now)) => Some(union(before, now)),
            (Some(before), None) => Some(before.clone()),
            (None, now) => now.clone(),
        };
        if let Some(Furnished { wanted, layer, engine: whose }) = &before
            && Some(wanted) == together.as_ref()
            && *whose == engine
        {
            return Ok(Ready { plan: errand.plan.clone().with_layer(layer.clone()), packages: None });
        }
        let Some(together) = together else { return self.furnish_only(errand, engine, live).await };
        let all = Errand { plan: errand.plan.clone(), wanted: Some(together.clone()) };
        let ready = match self.furnish_only(&all, engine, live).await {
            // They do not go together: then this cell gets only what it wants itself.
            Err(RunError::Refused(_)) if errand.wanted.as_ref() != Some(&together) => {
                return self.furnish_only(errand, engine, live).await;
            }
            furnished => furnished?,
        };
        // What could not be had is asked for again by the next cell, and takes nothing from this one that earlier ones had.
        if ready.packages.as_ref().is_some_and(|provided| provided.problem.is_some()) {
            let had = before.filter(|before| before.engine == engine).and_then(|before| before.layer);
            return Ok(Ready { plan: ready.plan.with_layer(had), ..ready });
        }
        let layer = ready.plan.layer().cloned();
        seat.held()?.furnished.insert(kind, Furnished { wanted: together, engine, layer });
        Ok(ready)
    }

    /// Makes packages ready in a session, which is opened if it does not exist.
    pub async fn install_in(
        &self,
        (owner, name): (&Principal, &SessionName),
        language: &'static Language,
        packages: &[String],
        live: &mut dyn LiveOutput,
    ) -> Result<(EngineId, Provided), RunError> {
        let (kind, installer) = self.installer(language)?;
        let wanted = installer.check(kind, owner, packages)?;
        let mut seat = living(self.sessions.enter(owner, name).await?)?;
        let closed = seat.closed();
        tokio::select! {
            biased;
            () = closed => Err(closed_meanwhile(name).into()),
            provided = self.install_at(&mut seat, (installer, language, kind), wanted, live) => provided,
        }
    }

    async fn install_at(
        &self,
        seat: &mut Seat,
        (installer, language, kind): (&dyn Packages, &'static Language, LayerKind),
        wanted: Wanted,
        live: &mut dyn LiveOutput,
    ) -> Result<(EngineId, Provided), RunError> {
        let held = seat.held()?;
        let engine = match &held.stage {
            Stage::Live(live) => live.engine,
            Stage::Draft(_) => {
                let serving = self.engines.iter().rev().find(|engine| engine.serves(language).is_ok());
                match serving {
                    Some(engine) => engine.id(),
                    None => self.first_that_serves(language, EngineChoice::Auto)?.id(),
                }
            }
        };
        let wanted = match held.furnished.get(&kind) {
            Some(before) => union(&before.wanted, &wanted),
            None => wanted,
        };
        let provided = installer.provide(&wanted, engine, live).await.map_err(final_word)?;
        held.furnished.insert(kind, Furnished { wanted, engine, layer: provided.layer.clone() });
        Ok((engine, provided))
    }

    /// Packages that a session has been given, by name.
    pub async fn packages_in(
        &self,
        (owner, name): (&Principal, &SessionName),
        language: &'static Language,
    ) -> Result<Vec<PackageVersion>, RunError> {
        let (kind, _) = self.installer(language)?;
        let mut seat = self.sessions.find(owner, name).await?;
        let layer = seat.held()?.furnished.get(&kind).and_then(|furnished| furnished.layer.as_ref());
        Ok(layer.map(|layer| layer.packages.clone()).unwrap_or_default())
    }

    /// The session's engine, or those that a new session may have.
    fn engines_for_cell(&self, seat: &mut Seat, plan: &Plan) -> Result<Vec<&std::sync::Arc<dyn Engine>>, Refusal> {
        let name = seat.name().clone();
        let Stage::Live(live) = &seat.held()?.stage else {
            return match plan.engine() {
                EngineChoice::Only(_) => Ok(vec![self.first_that_serves(plan.language(), plan.engine())?]),
                // A session cannot move, so it starts where everything is possible.
                EngineChoice::Auto => {
                    let all: Vec<_> =
                        self.engines.iter().rev().filter(|engine| engine.serves(plan.language()).is_ok()).collect();
                    if all.is_empty() {
                        self.first_that_serves(plan.language(), EngineChoice::Auto)?;
                    }
                    Ok(all)
                }
            };
        };
        if let EngineChoice::Only(asked) = plan.engine()
            && asked != live.engine
        {
            let message =
                format!("the session `{name}` runs on engine `{}`, and cannot move to `{asked}`", live.engine);
            return Err(Refusal::new("engine", message, "leave `engine` out, or use another session"));
        }
        let memory = live.session.memory();
        if plan.limits().memory > memory {
            let message = format!("the session `{name}` was opened with {memory} of memory");
            return Err(Refusal::new("memory", message, "ask for more with the first call of a new session"));
        }
        let engine = self.first_that_serves(plan.language(), EngineChoice::Only(live.engine)).map_err(|refusal| {
            let message = format!("the session `{name}` runs on engine `{}`, and {refusal}", live.engine);
            Refusal::new("language", message, "use another session for this language")
        })?;
        Ok(vec![engine])
    }

    /// Turns files that wait for a session into a live one.
    async fn open(&self, seat: &mut Seat, engine: &dyn Engine, plan: &Plan) -> Result<(), RunError> {
        let held = seat.held()?;
        let Stage::Draft(draft) = &held.stage else { return Ok(()) };
        let mut session = engine.open_session(plan).await.map_err(session_error)?;
        for (path, contents) in draft.files() {
            let written = session.write(path, contents, WriteMode::Replace).await;
            written.map_err(|error| file_refusal("session", path, error))?;
        }
        held.stage = Stage::Live(Live { engine: engine.id(), session });
        Ok(())
    }

    /// Writes a file into a session, which is opened if it does not exist, and returns the file's size.
    pub async fn write_file(
        &self,
        (owner, name): (&Principal, &SessionName),
        path: &WorkspacePath,
        contents: &[u8],
        mode: WriteMode,
    ) -> Result<u64, RunError> {
        let mut seat = living(self.sessions.enter(owner, name).await?)?;
        let (usual, most) = (&self.policy.defaults, &self.policy.ceilings);
        let room = (usual.disk.min(most.disk), usual.files.min(most.files));
        seat.is_busy();
        let written = match &mut seat.held()?.stage {
            Stage::Draft(draft) => draft.write(path, contents, mode, room),
            Stage::Live(live) => live.session.write(path, contents, mode).await,
        };
        seat.is_done();
        written.map_err(|error| file_error(&mut seat, path, error))
    }

    /// A turn in an existing session whose process is alive.
    async fn find_living(&self, owner: &Principal, name: &SessionName) -> Result<Seat, RunError> {
        living(self.sessions.find(owner, name).await?)
    }

    /// Reads a part of a session's file.
    pub async fn read_file(
        &self,
        (owner, name): (&Principal, &SessionName),
        path: &WorkspacePath,
        part: FilePart,
    ) -> Result<FileRead, RunError> {
        let mut seat = self.find_living(owner, name).await?;
        let read = seat.held()?.stage.read(path, part).await;
        read.map_err(|error| file_error(&mut seat, path, error))
    }

    /// What a session's workspace holds.
    pub async fn list_files(
        &self,
        (owner, name): (&Principal, &SessionName),
        folder: Option<&WorkspacePath>,
    ) -> Result<Vec<FolderEntry>, RunError> {
        let mut seat = self.find_living(owner, name).await?;
        let listed = seat.held()?.stage.list(folder).await;
        listed.map_err(|error| match folder {
            Some(folder) => file_refusal("path", folder, error),
            None => RunError::Failed(EngineError::new(error)),
        })
    }

    /// A caller's sessions.
    pub fn sessions(&self, owner: &Principal) -> Vec<SessionInfo> {
        self.sessions.list(owner)
    }

    /// How many sessions there are, of all callers.
    pub fn session_count(&self) -> usize {
        self.sessions.count()
    }

    /// Ends a session, even a busy one.
    pub fn close_session(&self, owner: &Principal, name: &SessionName) -> Result<(), Refusal> {
        self.sessions.close(owner, name)
    }

    /// Makes a copy of a session as it is now, as a session of its own.
    pub async fn fork_session(&self, owner: &Principal, name: &SessionName, new: &SessionName) -> Result<(), RunError> {
        let mut seat = self.find_living(owner, name).await?;
        seat.is_busy();
        let held = seat.held()?;
        let Stage::Live(live) = &mut held.stage else {
            return Err(nothing_to_copy(name).into());
        };
        let (engine, copied) = (live.engine, live.session.fork().await);
        let furnished = held.furnished.clone();
        seat.is_done();
        let copy = Live { engine, session: copied.map_err(session_error)? };
        let mut place = self.sessions.make(owner, new).await?;
        let held = place.held()?;
        held.stage = Stage::Live(copy);
        held.furnished = furnished;
        Ok(())
    }

    /// Writes a session into a file. The file is made only when it is this call's turn in the session, so calls that
    /// wait have none. Returns whatever was made along with it.
    pub async fn save_session<T>(
        &self,
        owner: &Principal,
        name: &SessionName,
        begin: impl FnOnce() -> Result<(OwnedFd, T), RunError>,
    ) -> Result<T, RunError> {
        let mut seat = self.find_living(owner, name).await?;
        let (into, made) = begin()?;
        seat.is_busy();
        let Stage::Live(live) = &mut seat.held()?.stage else {
            return Err(nothing_to_copy(name).into());
        };
        let saved = live.session.save(into).await;
        seat.is_done();
        saved.map(|()| made).map_err(session_error)
    }

    /// Makes a session from what was saved.
    pub async fn restore_session(&self, owner: &Principal, name: &SessionName, from: OwnedFd) -> Result<(), RunError> {
        let none = || {
            Refusal::new("session", "this server has no WebAssembly, in which sessions are saved", "run the code again")
        };
        let engine = self.engine(EngineId::Wasm).ok_or_else(none)?;
        let session = engine.restore_session(from, owner, &self.policy.ceilings).await.map_err(session_error)?;
        let mut place = self.sessions.make(owner, name).await?;
        place.held()?.stage = Stage::Live(Live { engine: engine.id(), session });
        Ok(())
    }
}

/// A caller who only adds to a session has to hear that what it would add to is gone.
fn living(mut seat: Seat) -> Result<Seat, RunError> {
    if is_dead(&mut seat)? || seat.held()?.past == Past::Lost {
        return Err(gone(&mut seat, EngineError::new(HolderEnded)));
    }
    Ok(seat)
}

fn is_dead(seat: &mut Seat) -> Result<bool, Refusal> {
    Ok(matches!(&seat.held()?.stage, Stage::Live(live) if !live.session.is_alive()))
}

/// If a session's process is gone, a cell starts it afresh, and the result of the first one that runs says so.
fn drop_dead(seat: &mut Seat) -> Result<(), Refusal> {
    if is_dead(seat)? {
        seat.clear()?;
    }
    Ok(())
}

/// Why a file cannot be had; or that the session's process ended just now.
fn file_error(seat: &mut Seat, path: &WorkspacePath, error: FileError) -> RunError {
    match is_dead(seat) {
        Ok(true) => gone(seat, EngineError::new(HolderEnded)),
        Ok(false) | Err(_) => file_refusal("path", path, error),
    }
}

/// A session that ended with the process that held it.
#[derive(Debug, thiserror::Error)]
#[error("the session `{name}` is gone, with its variables and files: {cause}")]
struct Gone {
    name: SessionName,
    cause: EngineError,
}

#[derive(Debug, thiserror::Error)]
#[error("the process that held it has ended; begin it again")]
struct HolderEnded;

/// Says so, once: the name is free after that.
fn gone(seat: &mut Seat, cause: EngineError) -> RunError {
    let name = seat.name().clone();
    seat.give_up();
    EngineError::new(Gone { name, cause }).into()
}

/// Says what another engine could do, in a session that cannot move there.
fn explain(mut outcome: Outcome) -> Outcome {
    if let (Some(reason), Some(error)) = (&outcome.unsupported, &mut outcome.error) {
        error.hint.get_or_insert_with(|| format!("{reason}; use another session, with engine `native`"));
    }
    outcome
}

impl Stage {
    async fn read(&mut self, path: &WorkspacePath, part: FilePart) -> Result<FileRead, FileError> {
        match self {
            Self::Draft(draft) => draft.read(path, part),
            Self::Live(live) => live.session.read(path, part).await,
        }
    }

    async fn list(&mut self, folder: Option<&WorkspacePath>) -> Result<Vec<FolderEntry>, FileError> {
        match self {
            Self::Draft(draft) => draft.list(folder),
            Self::Live(live) => live.session.list(folder).await,
        }
    }

    /// Whether something has this name, whatever it is.
    async fn has(&mut self, path: &WorkspacePath) -> bool {
        let read = self.read(path, FilePart { offset: 0, limit: 0 }).await;
        !matches!(read, Err(FileError::NotFound | FileError::NotFolder))
    }
}

/// Does not look for modules that the workspace has itself: a registry need not learn what they are called, and might
/// offer a stranger's under the same name.
async fn leave_own(seat: &mut Seat, errand: &mut Errand) -> Result<(), Refusal> {
    let Some(kind) = LayerKind::of(errand.plan.language()).filter(|_| !errand.guesses().is_empty()) else {
        return Ok(());
    };
    let stage = &mut seat.held()?.stage;
    let listed = stage.list(None).await;
    let mut own = Vec::new();
    match listed {
        Ok(entries) if entries.len() <= FolderEntry::MAX_COUNT => {
            errand.without(|imported| is_own(kind, imported, &entries));
            return Ok(());
        }
        // There are more than were listed: then look for each.
        Ok(_) => {
            for imported in errand.guesses() {
                for place in own_places(kind, imported) {
                    if stage.has(&place).await {
                        own.push(imported.clone());
                    }
                }
            }
        }
        // Nobody knows what is there.
        Err(_) => own.extend_from_slice(errand.guesses()),
    }
    errand.without(|imported| own.contains(imported));
    Ok(())
}

async fn run_busy(seat: &mut Seat, plan: Plan, live: &mut dyn LiveOutput) -> Result<Outcome, RunError> {
    seat.is_busy();
    // If this fails half-way, it is ended like a run that nobody waits for.
    let outcome = live_of(seat)?.session.run(plan, live).await.map_err(session_error)?;
    seat.is_done();
    Ok(outcome)
}

fn live_of(seat: &mut Seat) -> Result<&mut Live, Refusal> {
    let name = seat.name().clone();
    match &mut seat.held()?.stage {
        Stage::Live(live) => Ok(live),
        Stage::Draft(_) => Err(closed_meanwhile(&name)),
    }
}

fn union(before: &Wanted, now: &Wanted) -> Wanted {
    let mut together = now.clone();
    for named in &before.named {
        if !together.named.contains(named) {
            together.named.push(named.clone());
        }
    }
    for imported in &before.imported {
        if !together.imported.contains(imported) {
            together.imported.push(imported.clone());
        }
    }
    together.named.sort();
    together.imported.sort();
    together
}

fn closed_meanwhile(name: &SessionName) -> Refusal {
    Refusal::new("session", format!("the session `{name}` was closed"), "use it again to open a new one")
}

fn nothing_to_copy(name: &SessionName) -> Refusal {
    let message = format!("nothing has run in the session `{name}`, so there is nothing to copy");
    Refusal::new("session", message, "run something in it first, with engine `wasm`")
}

fn session_error(error: SessionError) -> RunError {
    match error {
        SessionError::Refused(refusal) => refusal.into(),
        SessionError::Failed(error) => error.into(),
    }
}

/// Why a file is not available, for the caller to fix.
fn file_refusal(argument: &'static str, path: &WorkspacePath, error: FileError) -> RunError {
    let hint = match error {
        FileError::NotFound => "`list_files` says what there is",
        FileError::IsFolder => "name a file in it; `list_files` says what there is",
        FileError::NotFolder => "name a folder, or a path on which no name is a file's",
        FileError::Special => "copy it to a regular file in the session first",
        FileError::Full => {
            "remove files in the session, or write less; sessions in which nothing has run yet share their room"
        }
        FileError::Denied => "change its permissions in the session first",
        FileError::Failed(error) => return RunError::Failed(error),
    };
    Refusal::new(argument, format!("`{path}`: {error}"), hint).into()
}
