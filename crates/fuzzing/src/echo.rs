//! An engine that runs nothing: whatever a plan brings comes back as what a guest left, unless the guest is told what to do.

use std::collections::BTreeMap;
use std::io;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use sandbox::{
    BoxFuture, Bytes, Capture, Captured, CpuSource, Display, Enforcement, Engine, EngineError, EngineId, EntryKind,
    Evidence, FileError, FilePart, FileRead, FolderEntry, Isolation, Language, LastValue, Level, Limits, LiveOutput,
    MemorySource, Outcome, OutputFile, Plan, Refusal, RuntimeInfo, Sandbox, Session, SessionError, SessionState,
    Status, Step, Stream, Usage, WorkspacePath, WriteMode, diagnose,
};

#[derive(Debug)]
pub(crate) struct Echo {
    pub(crate) engine: EngineId,
    pub(crate) role: Role,
}

/// What guests do, until they are told something else.
pub(crate) type Role = Arc<Mutex<Option<Act>>>;

/// What a guest does.
#[derive(Debug, Clone)]
pub(crate) struct Act {
    /// Without one, the engine fails.
    pub(crate) status: Option<Status>,
    pub(crate) printed: Vec<(Stream, Vec<u8>)>,
    pub(crate) files: Vec<(WorkspacePath, Vec<u8>)>,
    pub(crate) state: Option<SessionState>,
}

impl Engine for Echo {
    fn id(&self) -> EngineId {
        self.engine
    }

    fn serves(&self, language: &'static Language) -> Result<(), Refusal> {
        if language.id == "kit" {
            return Err(Refusal::new("language", "`kit` is not here", "use another"));
        }
        Ok(())
    }

    fn describe(&self, language: &'static Language) -> BoxFuture<'_, Result<RuntimeInfo, EngineError>> {
        Box::pin(std::future::ready(Ok(info(language))))
    }

    fn open_session<'a>(&'a self, _: &'a Plan) -> BoxFuture<'a, Result<Box<dyn Session>, SessionError>> {
        let session = Cells { engine: self.engine, role: Arc::clone(&self.role), files: BTreeMap::new() };
        Box::pin(std::future::ready(Ok(Box::new(session) as Box<dyn Session>)))
    }

    fn open(&self, plan: Plan) -> BoxFuture<'_, Result<Box<dyn Sandbox>, EngineError>> {
        let run = Run { engine: self.engine, act: self.role.lock().unwrap().clone(), plan };
        Box::pin(std::future::ready(Ok(Box::new(run) as Box<dyn Sandbox>)))
    }
}

struct Run {
    engine: EngineId,
    act: Option<Act>,
    plan: Plan,
}

impl Sandbox for Run {
    fn run<'a>(self: Box<Self>, live: &'a mut dyn LiveOutput) -> BoxFuture<'a, Result<Outcome, EngineError>>
    where
        Self: 'a,
    {
        Box::pin(async move { self.outcome(live) })
    }
}

impl Run {
    fn outcome(&self, live: &mut dyn LiveOutput) -> Result<Outcome, EngineError> {
        let plan = &self.plan;
        let act = self.act.clone().unwrap_or_else(|| Act {
            status: Some(Status::Completed { exit_code: plan.args().len().to_le_bytes()[0] }),
            printed: vec![(Stream::Stdout, plan.stdin().to_vec()), (Stream::Stderr, plan.code().to_vec())],
            files: plan.files().iter().map(|file| (file.path.clone(), file.contents.clone())).collect(),
            state: None,
        });
        let Some(status) = act.status else { return Err(EngineError::new(io::Error::other("it fails"))) };
        for (stream, bytes) in &act.printed {
            live.output(*stream, bytes);
        }
        let (stdout, stderr) = (self.captured(&act, Stream::Stdout), self.captured(&act, Stream::Stderr));
        let evidence = Evidence {
            language: plan.language().id,
            step: Step::Run,
            stderr: &stderr.text,
            stdout: &stdout.text,
            source: &plan.names().source,
        };
        let shown = plan.env().iter().filter_map(|(mime, data)| {
            let is_json = |text: &str| serde_json::from_str::<serde_json::Value>(text).is_ok();
            Display::new(mime, data.clone().into_bytes(), is_json)
        });
        Ok(Outcome {
            status,
            error: diagnose(&evidence),
            stdout,
            stderr,
            diagnostics: plan.compiler_args().first().cloned(),
            value: plan.variables().first().map(|variable| LastValue::Json(variable.json.clone())),
            displays: Display::within_limits(shown).0,
            state: act.state,
            unsupported: None,
            files: files(act.files),
            skipped_files: Vec::new(),
            engine: self.engine,
            promoted: None,
            packages: None,
            runtime: info(plan.language()),
            isolation: Isolation {
                level: Level::Full,
                missing: Vec::new(),
                granted: Vec::new(),
                memory: Enforcement::CgroupV2,
                processes: Enforcement::CgroupV2,
            },
            usage: Usage {
                wall: Duration::from_millis(1),
                cpu: Duration::from_millis(1),
                cpu_source: CpuSource::Cgroup,
                peak_memory: 1,
                memory_source: MemorySource::Cgroup,
            },
        })
    }

    fn captured(&self, act: &Act, of: Stream) -> Captured {
        let mut capture = Capture::new(self.plan.limits().output);
        act.printed.iter().filter(|(stream, _)| *stream == of).for_each(|(_, bytes)| capture.push(bytes));
        capture.finish()
    }
}

fn files(left: Vec<(WorkspacePath, Vec<u8>)>) -> Vec<OutputFile> {
    let file =
        |(path, contents): (_, Vec<u8>)| OutputFile { path, size: contents.len() as u64, contents: Some(contents) };
    left.into_iter().map(file).collect()
}

fn info(language: &'static Language) -> RuntimeInfo {
    RuntimeInfo { language: language.id, version: "1".to_owned(), tool: language.id.to_owned() }
}

/// A session: files stay.
#[derive(Debug)]
struct Cells {
    engine: EngineId,
    role: Role,
    files: BTreeMap<String, Vec<u8>>,
}

impl Session for Cells {
    fn run<'a>(&'a mut self, plan: Plan, live: &'a mut dyn LiveOutput) -> BoxFuture<'a, Result<Outcome, SessionError>> {
        let act = self.role.lock().unwrap().clone();
        let outcome = Run { engine: self.engine, act, plan }.outcome(live);
        for file in outcome.iter().flat_map(|outcome| &outcome.files) {
            self.files.insert(file.path.as_str().to_owned(), file.contents.clone().unwrap_or_default());
        }
        Box::pin(std::future::ready(outcome.map_err(SessionError::Failed)))
    }

    fn settle(&mut self) -> BoxFuture<'_, ()> {
        Box::pin(std::future::ready(()))
    }

    fn is_alive(&self) -> bool {
        true
    }

    fn languages(&self) -> Vec<&'static str> {
        vec!["python"]
    }

    fn memory(&self) -> Bytes {
        Limits::CEILING.memory
    }

    fn write<'a>(
        &'a mut self,
        path: &'a WorkspacePath,
        contents: &'a [u8],
        mode: WriteMode,
    ) -> BoxFuture<'a, Result<u64, FileError>> {
        let file = self.files.entry(path.as_str().to_owned()).or_default();
        if mode == WriteMode::Replace {
            file.clear();
        }
        file.extend_from_slice(contents);
        Box::pin(std::future::ready(Ok(file.len() as u64)))
    }

    fn read<'a>(&'a mut self, path: &'a WorkspacePath, part: FilePart) -> BoxFuture<'a, Result<FileRead, FileError>> {
        let read = self.files.get(path.as_str()).map(|file| {
            let bytes = file.iter().skip(usize::try_from(part.offset).unwrap_or(usize::MAX));
            let bytes = bytes.take(usize::try_from(part.limit).unwrap_or(usize::MAX)).copied().collect();
            FileRead { bytes, size: file.len() as u64 }
        });
        Box::pin(std::future::ready(read.ok_or(FileError::NotFound)))
    }

    fn list<'a>(&'a mut self, folder: Option<&'a WorkspacePath>) -> BoxFuture<'a, Result<Vec<FolderEntry>, FileError>> {
        let start = folder.map_or_else(String::new, |folder| format!("{folder}/"));
        let files = self.files.iter().filter(|(path, _)| path.starts_with(&start));
        let entries = files.map(|(path, contents)| {
            let path = path.escape_debug().to_string();
            FolderEntry { path, kind: EntryKind::File, size: contents.len() as u64 }
        });
        Box::pin(std::future::ready(Ok(entries.take(FolderEntry::MAX_COUNT + 1).collect())))
    }

    fn fork(&mut self) -> BoxFuture<'_, Result<Box<dyn Session>, SessionError>> {
        let copy = Self { engine: self.engine, role: Arc::clone(&self.role), files: self.files.clone() };
        Box::pin(std::future::ready(Ok(Box::new(copy) as Box<dyn Session>)))
    }
}
