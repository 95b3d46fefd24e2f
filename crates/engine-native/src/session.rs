//! Sessions: a jail that stays, with a live interpreter in it for each language used so far.
//!
//! Between cells everything in the jail is stopped wherever it happens to be: a thread that a cell left behind resumes
//! with the next cell and costs nothing until then. A cell that is out of time is interrupted as if by Ctrl-C. One that
//! ignores that is ended, along with all interpreters of the session, and only the files stay.

mod driver;
mod files;
mod furnish;
mod interpreter;
mod program;
mod room;

use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use std::time::{Duration, Instant};

use jail::{Limit, SeenUsage, Writing};
use sandbox::{
    BoxFuture, Bytes, CpuSource, EngineError, EngineId, Evidence, FileError, FilePart, FileRead, FolderEntry,
    HostPattern, Language, Layer, LimitKind, LiveOutput, MemorySource, Outcome, Plan, Refusal, Session, SessionError,
    SessionState, Status, Step, Usage, WorkspacePath, WriteMode, diagnose,
};

use crate::collect::{Survey, Told, beside_others};
use crate::error::NativeError;
use crate::launcher::in_time;
use crate::pace::Pace;
use crate::tools::FoundTool;
use crate::{Shared, Tool, recipe, run};
use driver::{Answer, Driver};
use interpreter::{Buffers, Ends, Heard, Interpreter, Keeping, Work};
use room::{BatchEnd, News, Room};

/// How long after its deadline a cell may take to react to being interrupted.
const GRACE: Duration = Duration::from_secs(1);
/// How long an interpreter may take to start.
const START: Duration = Duration::from_secs(20);
/// Stands in for the time limits of a session's jail: CPU and wall-clock time are limited in each cell instead.
const A_LONG_TIME: Duration = Duration::from_hours(24 * 365);

/// A session of the native engine.
#[derive(Debug)]
pub(crate) struct NativeSession {
    shared: Arc<Shared>,
    room: Room,
    /// By language id.
    interpreters: HashMap<&'static str, Interpreter>,
    /// Languages whose interpreter ended outside of one of their own cells. Their next cell says so.
    lost: HashSet<&'static str>,
    /// A batch that is not an interpreter, or not yet.
    underway: Option<u32>,
    /// Packages that it has been shown, and where they are.
    layers: Vec<(Layer, String)>,
    /// The workspace as last seen; `None` after it was written to from outside.
    known: Option<Survey>,
    /// Programs that were put into the workspace in order to run.
    programs: HashSet<String>,
    /// What it was granted outside of its jail when it was opened.
    granted: Vec<String>,
    network: Vec<HostPattern>,
    used: SeenUsage,
    memory_kills: u64,
    /// What all of its processes may use together.
    memory: Bytes,
}

/// How a cell ended.
struct CellEnd {
    status: Status,
    state: SessionState,
    answer: Option<Answer>,
    /// Whether the last step was the compiler's.
    step: Step,
}

impl CellEnd {
    fn lost(status: Status, why: impl Into<String>) -> Self {
        Self { status, state: SessionState::Lost(why.into()), answer: None, step: Step::Run }
    }
}

impl NativeSession {
    /// A session for plans like this one.
    pub(crate) async fn open(shared: Arc<Shared>, first: &Plan) -> Result<Self, NativeError> {
        let spec = shared.session_spec(first)?;
        let room = in_time(Room::open(&shared.launcher, &spec, crate::gate(first))).await?;
        Ok(Self {
            shared,
            room,
            interpreters: HashMap::new(),
            lost: HashSet::new(),
            underway: None,
            layers: Vec::new(),
            known: None,
            programs: HashSet::new(),
            granted: first.granted(),
            network: first.network().to_vec(),
            used: SeenUsage::default(),
            memory_kills: 0,
            memory: first.limits().memory,
        })
    }

    async fn cell(&mut self, plan: Plan, live: &mut dyn LiveOutput) -> Result<Outcome, NativeError> {
        let plan = self.with_its_network(plan)?;
        let language = plan.language();
        let shared = Arc::clone(&self.shared);
        let tool = shared.tool_for(&plan)?;
        // The version is queried alongside the first cell of a language, not before it.
        let (ran, runtime) = tokio::join!(self.run_cell(&plan, &tool, live), shared.describe_tool(&tool, language));
        let mut outcome = ran.map_err(|error| self.explain(error, language))?;
        if let Ok(runtime) = runtime {
            outcome.runtime = runtime;
        }
        Ok(outcome)
    }

    /// A live interpreter cannot be kept from what an earlier cell could reach, and its jail has one way out or none.
    fn with_its_network(&self, plan: Plan) -> Result<Plan, NativeError> {
        if let Some(host) = plan.network().iter().find(|host| !host.is_within(&self.network)) {
            let message = format!("`network` asks for `{host}`, with which this session was not opened");
            let hint = "ask for it with the first call of a new session";
            return Err(NativeError::Refused(Refusal::new("network", message, hint)));
        }
        Ok(plan.in_network(self.network.clone()))
    }

    async fn run_cell(&mut self, plan: &Plan, tool: &Tool, live: &mut dyn LiveOutput) -> Result<Outcome, NativeError> {
        let started = Instant::now();
        self.catch_up()?;
        self.put_files(plan.files()).await?;
        let paths = self.show(plan.layer(), &tool.found).await?;
        let before = match self.known.take() {
            Some(known) => known,
            None => beside_others(|| Survey::of(self.room.workspace())),
        };
        let mut keeping = Keeping::new(plan.limits().output, live);
        let driver = driver::driver_for(plan.language().id, &tool.found);
        let end = match driver {
            Some(driver) => self.interpret(driver, plan, (tool, &paths), &mut keeping).await?,
            None => self.run_program(plan, &tool.found, &before, &mut keeping).await?,
        };
        let wall = started.elapsed();
        let cpu_before = self.used.cpu_micros;
        self.rest().await?;
        let workspace = self.room.workspace();
        let (mut files, now) = beside_others(|| before.changes(workspace, plan.collect(), Told::Changes));
        files.found.retain(|file| !self.programs.contains(file.path.as_str()));
        self.known = Some(now);

        let (stdout, stderr) = (keeping.stdout.finish(), keeping.stderr.finish());
        let value = end.answer.as_ref().and_then(Answer::value);
        let cell = end.answer.as_ref().and_then(|answer| answer.done).map(driver::name);
        let error = match end.answer.as_ref().and_then(Answer::error) {
            None if !end.status.is_success() => diagnose(&Evidence {
                language: plan.language().id,
                step: end.step,
                stderr: &stderr.text,
                stdout: &stdout.text,
                source: cell.as_ref().unwrap_or(&plan.names().source),
            }),
            // That error is only the interruption's.
            Some(_) if matches!(end.status, Status::TimedOut | Status::LimitExceeded(LimitKind::Cpu)) => None,
            said => said,
        };
        Ok(Outcome {
            status: end.status,
            stdout,
            stderr,
            diagnostics: None,
            value,
            displays: end.answer.map(Answer::displays).unwrap_or_default(),
            state: Some(end.state),
            error,
            unsupported: None,
            files: files.found,
            skipped_files: files.skipped,
            engine: EngineId::Native,
            promoted: None,
            packages: None,
            runtime: tool.describe(plan.language(), String::new()),
            isolation: self.shared.isolation(self.granted.clone()),
            usage: Usage {
                wall,
                cpu: Duration::from_micros(self.used.cpu_micros.saturating_sub(cpu_before)),
                cpu_source: CpuSource::Procfs,
                peak_memory: self.used.peak_bytes,
                memory_source: MemorySource::Procfs,
            },
        })
    }

    /// Gives a cell to its live interpreter and follows it until it ends.
    async fn interpret(
        &mut self,
        driver: &'static Driver,
        plan: &Plan,
        (tool, paths): (&Tool, &[String]),
        keeping: &mut Keeping<'_>,
    ) -> Result<CellEnd, NativeError> {
        let (language, limits) = (plan.language(), plan.limits());
        if !self.interpreters.contains_key(language.id)
            && let Some(end) = self.start_interpreter(driver, plan, &tool.found, keeping).await?
        {
            return Ok(end);
        }
        let Self { room, interpreters, .. } = self;
        let interpreter = interpreters.get_mut(language.id).ok_or(NativeError::SupervisorLost)?;
        let cell = interpreter.give(|number| driver::frame(driver, plan, number, paths));
        room.go_on(limits.wall + GRACE, limits.cpu);
        let deadline = tokio::time::Instant::now() + limits.wall;
        let (mut buffers, mut time) = (Buffers::new(), Time::Left);
        let (mut pace, mut others) = (Pace::new(), Vec::new());
        let end = loop {
            if time != Time::Left {
                interpreter.interrupt(room);
            }
            tokio::select! {
                heard = interpreter.hear(&mut buffers) => match heard {
                    Heard::Output(stream, count) => {
                        keeping.take(stream, buffers.of(stream, count));
                        pace.rest_after(count).await;
                    }
                    Heard::Answer(answer) if answer.done == Some(cell) => break Ok(answer),
                    Heard::Answer(_) => {}
                    Heard::Gone => break Err(wait_for(room, interpreter.batch, &mut others).await?),
                },
                news = room.news() => match news? {
                    News::Ended(end) if end.batch == interpreter.batch => break Err(Death::Ended(end)),
                    News::Ended(end) => others.push(end.batch),
                    News::CpuOver if time == Time::Left => time = Time::Over(Limit::Cpu),
                    News::Cleared(limit) => break Err(Death::Cleared(limit)),
                    News::CpuOver | News::Resting(_) | News::Written(_) => {}
                },
                () = tokio::time::sleep_until(deadline), if time == Time::Left => time = Time::Over(Limit::Wall),
            }
        };
        interpreter.drain(keeping);
        self.forget(&others);
        match end {
            Ok(answer) => {
                let status = time.status().unwrap_or(Status::Completed { exit_code: answer.exit_code });
                let state =
                    if self.lost.remove(language.id) { SessionState::lost_before() } else { SessionState::Kept };
                Ok(CellEnd { status, state, answer: Some(answer), step: Step::Run })
            }
            Err(death) => self.bury(death, language, time).await,
        }
    }

    /// Works out what an interpreter's end means for the cell.
    async fn bury(&mut self, death: Death, language: &'static Language, time: Time) -> Result<CellEnd, NativeError> {
        let end = match death {
            Death::Cleared(limit) => {
                self.forget_all();
                // Wall and CPU time are announced before they are enforced, so the limit that was announced counts.
                let limit = match (time, limit) {
                    (Time::Over(told), Limit::Wall | Limit::Cpu) => told,
                    (Time::Left | Time::Over(_), limit) => limit,
                };
                let why = match limit {
                    Limit::Wall => "it did not stop when its time was over",
                    Limit::Memory => "it took more memory than it may",
                    Limit::Cpu => "it did not stop when its CPU time was over",
                    Limit::Disk => "it wrote more than it may",
                };
                CellEnd::lost(run::over(limit), why)
            }
            Death::Ended(end) => {
                self.interpreters.remove(language.id);
                let status = self.judge(end).await?;
                CellEnd::lost(time.status().unwrap_or(status), "its interpreter ended")
            }
            Death::Mute => {
                self.clear();
                CellEnd::lost(Status::Crashed { signal: SIGKILL }, "its interpreter did not answer any more")
            }
        };
        self.lost.remove(language.id);
        Ok(end)
    }

    /// How a batch ended, from its wait status and what the kernel counted.
    async fn judge(&mut self, end: BatchEnd) -> Result<Status, NativeError> {
        // If that is not available, the wait status still says how it ended.
        let kills = self.room.memory_kills(&self.shared.launcher).await.unwrap_or(self.memory_kills);
        let was_out_of_memory = kills > self.memory_kills;
        self.memory_kills = kills;
        if was_out_of_memory {
            return Ok(Status::LimitExceeded(LimitKind::Memory));
        }
        let limits = jail::Limits { cpu_millis: u64::MAX, ..recipe::limits(&sandbox::Limits::DEFAULT) };
        Ok(run::judge(end.status, &jail::Ended::default(), &limits))
    }

    /// Starts a live interpreter. If it does not stay alive, returns how it ended.
    async fn start_interpreter(
        &mut self,
        driver: &'static Driver,
        plan: &Plan,
        tool: &FoundTool,
        keeping: &mut Keeping<'_>,
    ) -> Result<Option<CellEnd>, NativeError> {
        let (batch, contents) =
            recipe::for_interpreter(plan, tool, &self.shared.walls()?, (driver.files, driver.arguments))?;
        let contents: Vec<&[u8]> = contents.iter().map(Vec::as_slice).collect();
        let ends = Ends::make().map_err(NativeError::pipes)?;
        self.room.go_on(START, START);
        let number = self.room.start(&batch, &contents, &ends.theirs)?;
        self.underway = Some(number);
        let mut interpreter = Interpreter::new(number, ends);
        let (mut buffers, mut others) = (Buffers::new(), Vec::new());
        let death = loop {
            tokio::select! {
                heard = interpreter.hear(&mut buffers) => match heard {
                    Heard::Output(stream, count) => keeping.take(stream, buffers.of(stream, count)),
                    // Its first message.
                    Heard::Answer(_) => break None,
                    Heard::Gone => break Some(wait_for(&mut self.room, number, &mut others).await?),
                },
                news = self.room.news() => match news? {
                    News::Ended(end) if end.batch == number => break Some(Death::Ended(end)),
                    News::Ended(end) => others.push(end.batch),
                    News::Cleared(limit) => break Some(Death::Cleared(limit)),
                    News::CpuOver | News::Resting(_) | News::Written(_) => {}
                },
            }
        };
        self.underway = None;
        self.forget(&others);
        let Some(death) = death else {
            self.interpreters.insert(plan.language().id, interpreter);
            return Ok(None);
        };
        interpreter.drain(keeping);
        self.bury(death, plan.language(), Time::Left).await.map(Some)
    }

    /// Stops everything until the next cell, and notes what has been used.
    async fn rest(&mut self) -> Result<(), NativeError> {
        self.room.rest();
        loop {
            match self.room.news().await? {
                News::Resting(used) => {
                    self.used = used;
                    return Ok(());
                }
                News::Ended(end) => self.forget(&[end.batch]),
                News::Cleared(_) => self.forget_all(),
                News::CpuOver | News::Written(_) => {}
            }
        }
    }

    /// Whatever ended since the last cell is lost, and must not be taken for the end of the next one.
    fn catch_up(&mut self) -> Result<(), NativeError> {
        while let Some(news) = self.room.old_news()? {
            match news {
                News::Ended(end) => self.forget(&[end.batch]),
                News::Cleared(_) => self.forget_all(),
                News::CpuOver | News::Resting(_) | News::Written(_) => {}
            }
        }
        Ok(())
    }

    /// Drops interpreters that ended during another cell, or between cells.
    fn forget(&mut self, batches: &[u32]) {
        let ended = self.interpreters.extract_if(|_, interpreter| batches.contains(&interpreter.batch));
        self.lost.extend(ended.map(|(language, _)| language));
    }

    fn forget_all(&mut self) {
        self.lost.extend(self.interpreters.drain().map(|(language, _)| language));
    }

    fn clear(&mut self) {
        self.room.clear();
        self.forget_all();
        self.underway = None;
    }

    /// If a file that a language needs does not fit, the caller has to make room: what runs there goes on.
    fn explain(&self, error: NativeError, language: &Language) -> NativeError {
        let NativeError::Jail(failure) = &error else { return error };
        if failure.step != jail::Step::WriteFiles {
            return error;
        }
        let cause = room::file_error(failure.errno);
        let hint = match cause {
            FileError::Full => match self.languages().first() {
                Some(live) => {
                    format!("remove files with a cell in `{live}`, which runs there already, or use another session")
                }
                None => "use another session".to_owned(),
            },
            FileError::IsFolder | FileError::NotFolder | FileError::Special | FileError::Denied => {
                "rename what has that name, or use another session".to_owned()
            }
            FileError::NotFound | FileError::Failed(_) => return error,
        };
        let message = format!(
            "`{}` needs a file `{}`, which cannot be written in this session: {cause}",
            language.id, failure.subject
        );
        NativeError::Refused(Refusal::new("session", message, hint))
    }

    /// Ends what a dropped cell left: first as Ctrl-C would, then for good.
    async fn end_cell(&mut self) -> Result<(), NativeError> {
        if let Some(batch) = self.underway {
            self.room.interrupt(batch);
            let mut others = Vec::new();
            let mut ended = wait_for(&mut self.room, batch, &mut others).await;
            // It could not be started. Its end follows that report.
            while matches!(ended, Err(NativeError::Jail(_))) {
                ended = wait_for(&mut self.room, batch, &mut others).await;
            }
            if !matches!(ended, Ok(Death::Ended(_))) {
                self.clear();
            }
            self.underway = None;
            self.forget(&others);
        }
        let mut has_answered = true;
        for interpreter in self.interpreters.values_mut() {
            if interpreter.work != Work::None {
                has_answered &= tokio::time::timeout(GRACE, answered(interpreter, &self.room)).await == Ok(Work::None);
            }
        }
        if !has_answered {
            self.clear();
        }
        self.known = None;
        self.rest().await
    }
}

const SIGKILL: i32 = 9;

/// Whether a cell may go on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Time {
    Left,
    /// It has to stop, for this limit: wall-clock or CPU time.
    Over(Limit),
}

impl Time {
    /// The status of a cell that had to stop.
    fn status(self) -> Option<Status> {
        match self {
            Self::Left => None,
            Self::Over(limit) => Some(run::over(limit)),
        }
    }
}

/// Why an interpreter no longer answers.
enum Death {
    Ended(BatchEnd),
    Cleared(Limit),
    /// It closed its socket but is still running.
    Mute,
}

/// Waits for the end of a batch that has closed its socket, which mostly comes at once.
async fn wait_for(room: &mut Room, batch: u32, others: &mut Vec<u32>) -> Result<Death, NativeError> {
    let wait = async {
        loop {
            match room.news().await? {
                News::Ended(end) if end.batch == batch => return Ok(Death::Ended(end)),
                News::Ended(end) => others.push(end.batch),
                News::Cleared(limit) => return Ok(Death::Cleared(limit)),
                News::CpuOver | News::Resting(_) | News::Written(_) => {}
            }
        }
    };
    tokio::time::timeout(GRACE, wait).await.unwrap_or(Ok(Death::Mute))
}

/// Waits until a cell that nobody waits for any more is answered.
async fn answered(interpreter: &mut Interpreter, room: &Room) -> Work {
    let mut buffers = Buffers::new();
    loop {
        interpreter.interrupt(room);
        match interpreter.hear(&mut buffers).await {
            Heard::Answer(_) if interpreter.work == Work::None => {
                interpreter.drain(&mut Keeping::new(Bytes::kib(1), &mut ()));
                return Work::None;
            }
            Heard::Answer(_) | Heard::Output(..) => {}
            Heard::Gone => return interpreter.work,
        }
    }
}

impl NativeError {
    /// Sorts the error by who has to fix it.
    pub(crate) fn in_session(self) -> SessionError {
        if let Self::Refused(refusal) = self {
            SessionError::Refused(refusal)
        } else {
            SessionError::Failed(EngineError::new(self))
        }
    }
}

impl Session for NativeSession {
    fn run<'a>(&'a mut self, plan: Plan, live: &'a mut dyn LiveOutput) -> BoxFuture<'a, Result<Outcome, SessionError>> {
        Box::pin(async move { self.cell(plan, live).await.map_err(NativeError::in_session) })
    }

    fn settle(&mut self) -> BoxFuture<'_, ()> {
        Box::pin(async move {
            // If something cannot be ended, the next call notices.
            self.end_cell().await.ok();
        })
    }

    fn is_alive(&self) -> bool {
        self.room.is_alive()
    }

    fn languages(&self) -> Vec<&'static str> {
        let mut languages: Vec<&'static str> = self.interpreters.keys().copied().collect();
        languages.sort_unstable();
        languages
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
        Box::pin(self.put(path, contents, mode))
    }

    fn read<'a>(&'a mut self, path: &'a WorkspacePath, part: FilePart) -> BoxFuture<'a, Result<FileRead, FileError>> {
        Box::pin(async move { beside_others(|| files::read(self.room.workspace(), path, part)) })
    }

    fn list<'a>(&'a mut self, folder: Option<&'a WorkspacePath>) -> BoxFuture<'a, Result<Vec<FolderEntry>, FileError>> {
        Box::pin(async move { beside_others(|| files::list(self.room.workspace(), folder)) })
    }
}
