//! An engine that runs nothing: whatever a plan brings comes back as what a guest left.

use std::time::Duration;

use sandbox::{
    BoxFuture, Capture, CpuSource, Display, Enforcement, Engine, EngineError, EngineId, Evidence, Isolation, Language,
    LastValue, Level, LiveOutput, MemorySource, Outcome, OutputFile, Plan, Refusal, RuntimeInfo, Sandbox, Status, Step,
    Stream, Usage, diagnose,
};

#[derive(Debug)]
pub(crate) struct Echo(pub(crate) EngineId);

impl Engine for Echo {
    fn id(&self) -> EngineId {
        self.0
    }

    fn serves(&self, _: &'static Language) -> Result<(), Refusal> {
        Ok(())
    }

    fn describe(&self, language: &'static Language) -> BoxFuture<'_, Result<RuntimeInfo, EngineError>> {
        Box::pin(std::future::ready(Ok(info(language))))
    }

    fn open(&self, plan: Plan) -> BoxFuture<'_, Result<Box<dyn Sandbox>, EngineError>> {
        Box::pin(std::future::ready(Ok(Box::new(Run { engine: self.0, plan }) as Box<dyn Sandbox>)))
    }
}

struct Run {
    engine: EngineId,
    plan: Plan,
}

impl Sandbox for Run {
    fn run<'a>(self: Box<Self>, live: &'a mut dyn LiveOutput) -> BoxFuture<'a, Result<Outcome, EngineError>>
    where
        Self: 'a,
    {
        Box::pin(async move { Ok(self.outcome(live)) })
    }
}

impl Run {
    fn outcome(&self, live: &mut dyn LiveOutput) -> Outcome {
        let plan = &self.plan;
        let capture = |bytes: &[u8]| {
            let mut capture = Capture::new(plan.limits().output);
            capture.push(bytes);
            capture.finish()
        };
        live.output(Stream::Stdout, plan.stdin());
        live.output(Stream::Stderr, plan.code());
        let (stdout, stderr) = (capture(plan.stdin()), capture(plan.code()));
        let evidence = Evidence {
            language: plan.language().id,
            step: Step::Run,
            stderr: &stderr.text,
            stdout: &stdout.text,
            source: &plan.names().source,
        };
        let file = |file: &sandbox::PlannedFile| OutputFile {
            path: file.path.clone(),
            size: file.contents.len() as u64,
            contents: Some(file.contents.clone()),
        };
        let shown = plan.env().iter().filter_map(|(mime, data)| {
            let is_json = |text: &str| serde_json::from_str::<serde_json::Value>(text).is_ok();
            Display::new(mime, data.clone().into_bytes(), is_json)
        });
        Outcome {
            status: Status::Completed { exit_code: plan.args().len() as u8 },
            error: diagnose(&evidence),
            stdout,
            stderr,
            diagnostics: plan.compiler_args().first().cloned(),
            value: plan.variables().first().map(|variable| LastValue::Json(variable.json.clone())),
            displays: Display::within_limits(shown).0,
            state: None,
            unsupported: None,
            files: plan.files().iter().map(file).collect(),
            skipped_files: Vec::new(),
            engine: self.engine,
            promoted: None,
            packages: None,
            runtime: info(plan.language()),
            isolation: Isolation {
                level: Level::Full,
                missing: Vec::new(),
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
        }
    }
}

fn info(language: &'static Language) -> RuntimeInfo {
    RuntimeInfo { language: language.id, version: "1".to_owned(), tool: language.id.to_owned() }
}
