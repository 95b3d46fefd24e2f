//! Pythons that wait: started ahead, each in a jail of its own like any run's, with the large libraries imported that the last programs
//! wanted. A program that comes is given to one of them, which is used for that and ends with it.
//!
//! What waits has seen nothing of anybody: it is what would be started for the program, only sooner. It is used when it makes no difference
//! but that of time: for a run with the same limits and packages, without variables or an environment of its own, whose program imports
//! everything that was imported ahead.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::time::{Duration, Instant};

use jail::{File, Place, Spec};
use sandbox::{Layer, Limits, LiveOutput, Plan};

use crate::collect::Given;
use crate::error::NativeError;
use crate::run::{self, Clock, Finished, Going, Input, Stdin};
use crate::tools::FoundTool;
use crate::{Shared, recipe};

/// How many wait at one time. One with pandas has some 70 MB.
const MOST: usize = 3;
/// How many wait for programs of one kind.
const MOST_ALIKE: usize = 2;
/// How long one waits for nothing.
const PATIENCE: Duration = Duration::from_mins(5);
/// How long one may take to be ready.
const START: Duration = Duration::from_secs(20);
/// CPU time that starting may take. The program's own counts from when it comes.
const START_CPU: Duration = Duration::from_secs(20);

/// Libraries that take long to import, and do not look at what the program does before it imports them.
const AHEAD: &[&str] = &[
    "altair",
    "bokeh",
    "bs4",
    "lxml",
    "matplotlib",
    "networkx",
    "numpy",
    "pandas",
    "PIL",
    "plotly",
    "polars",
    "pyarrow",
    "pydantic",
    "requests",
    "scipy",
    "seaborn",
    "skimage",
    "sklearn",
    "statsmodels",
    "sympy",
    "xarray",
];

/// All that wait.
#[derive(Debug, Default)]
pub(crate) struct Parked {
    waiting: Mutex<Vec<Waiting>>,
}

#[derive(Debug)]
struct Waiting {
    kind: Kind,
    going: Going,
    since: Instant,
    /// Held as long as something waits with it.
    _layer: Option<Layer>,
}

/// What has to be the same.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Kind {
    /// The interpreter.
    program: PathBuf,
    layer: Option<String>,
    limits: Limits,
    /// Imported ahead, sorted.
    modules: Vec<String>,
}

impl Kind {
    /// Of a plan that something could wait for.
    fn of(plan: &Plan, tool: &FoundTool) -> Option<Self> {
        let is_python = plan.language().id == "python";
        let is_plain = plan.env().is_empty() && plan.variables().is_empty() && plan.compiler_args().is_empty();
        if !is_python || !is_plain {
            return None;
        }
        let code = String::from_utf8_lossy(plan.code());
        // Whoever changes the environment may do it for a library that is not imported yet.
        if code.contains("environ") || code.contains("putenv") {
            return None;
        }
        let top = |module: &str| module.split('.').next().unwrap_or_default().to_owned();
        // What it brings may have the name of something that is imported already.
        if plan.files().iter().any(|file| is_module(file.path.as_str())) {
            return None;
        }
        let mut modules: Vec<String> = match plan.layer() {
            Some(_) => wanted::python_imports(&code),
            None => Vec::new(),
        };
        modules.retain(|module| AHEAD.contains(&top(module).as_str()));
        modules.sort_unstable();
        Some(Self {
            program: tool.program.clone(),
            layer: plan.layer().map(|layer| layer.id.clone()),
            limits: *plan.limits(),
            modules,
        })
    }

    /// Whether what waits for that kind serves this one.
    fn is_served_by(&self, other: &Self) -> bool {
        self.program == other.program
            && self.layer == other.layer
            && self.limits == other.limits
            && other.modules.iter().all(|module| self.modules.contains(module))
    }
}

/// Whether a file can be imported, or is in a folder that can.
fn is_module(path: &str) -> bool {
    let extension = Path::new(path).extension().and_then(|extension| extension.to_str());
    matches!(extension, Some("py" | "pyc" | "so"))
}

impl Parked {
    /// The best that waits for this.
    fn take(&self, kind: &Kind) -> Option<Going> {
        let mut waiting = self.lock();
        let fits = waiting.iter().enumerate().filter(|(_, waiting)| kind.is_served_by(&waiting.kind));
        let (best, _) = fits.max_by_key(|(_, waiting)| waiting.kind.modules.len())?;
        Some(waiting.remove(best).going)
    }

    /// Whether one more of this kind should wait. Makes room for it.
    fn wants(&self, kind: &Kind) -> bool {
        let mut waiting = self.lock();
        let alike = waiting.iter().filter(|waiting| waiting.kind == *kind).count();
        if alike >= MOST_ALIKE {
            return false;
        }
        while waiting.len() >= MOST {
            // The one that nobody has wanted for longest.
            waiting.remove(0);
        }
        true
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Vec<Waiting>> {
        let mut waiting = self.waiting.lock().unwrap_or_else(PoisonError::into_inner);
        waiting.retain(|waiting| waiting.since.elapsed() < PATIENCE);
        waiting
    }
}

impl Shared {
    /// One that waits for this plan, if one does. Has another wait for the next one like it.
    pub(crate) async fn parked_for(self: &Arc<Self>, plan: &Plan, tool: &FoundTool) -> Option<Going> {
        if !self.parks() {
            return None;
        }
        let kind = Kind::of(plan, tool)?;
        let going = self.parked.take(&kind);
        self.park_for(plan, tool, kind);
        let mut going = going?;
        going.is_ready(START).await.then_some(going)
    }

    /// Runs a plan with one that waited.
    pub(crate) async fn run_parked(
        &self,
        going: Going,
        plan: &Plan,
        given: &[Given<'_>],
        live: &mut dyn LiveOutput,
    ) -> Result<Finished, NativeError> {
        let stdin = job(plan);
        let input = Input {
            contents: &[],
            stdin: &stdin,
            output: plan.limits().output,
            files: given,
            collect: plan.collect(),
            way_out: None,
        };
        going.finish(&input, Clock::FromNow { wall: plan.limits().wall, cpu: plan.limits().cpu }, live).await
    }

    fn park_for(self: &Arc<Self>, plan: &Plan, tool: &FoundTool, kind: Kind) {
        if !self.parked.wants(&kind) {
            return;
        }
        let Ok(spec) = self.waiting_spec(plan, tool, &kind) else { return };
        let layer = plan.layer().cloned();
        let shared: Weak<Self> = Arc::downgrade(self);
        tokio::spawn(async move {
            let Some(shared) = shared.upgrade() else { return };
            let contents: Vec<&[u8]> = spec.1.iter().map(Vec::as_slice).collect();
            let output = kind.limits.output;
            // What fails here fails again in a run, and is told there.
            if let Ok(going) = run::begin(&shared.launcher, &spec.0, &contents, Stdin::Pipe, output).await {
                shared.parked.lock().push(Waiting { kind, going, since: Instant::now(), _layer: layer });
            }
        });
    }

    /// Only where every layer stands, and runs have a root.
    fn parks(&self) -> bool {
        self.ahead && self.without.is_empty() && matches!(self.walls(), Ok(jail::Walls::Namespaces { .. }))
    }

    /// The jail of one that waits, and the contents of its files.
    fn waiting_spec(&self, plan: &Plan, tool: &FoundTool, kind: &Kind) -> Result<(Spec, Vec<Vec<u8>>), NativeError> {
        let recipe = recipe::for_plan(plan, tool, &self.view, self.walls()?)?;
        let mut spec = recipe.spec;
        // All but the program's own: that comes later.
        let own = spec.files.iter().zip(&recipe.contents).filter(|(file, _)| file.place == Place::Build);
        let (mut files, mut contents): (Vec<File>, Vec<Vec<u8>>) =
            own.map(|(file, contents)| (file.clone(), contents.to_vec())).unzip();
        let preset = tool.toolchain.variables.ok_or(NativeError::NoVariables(tool.toolchain.program))?;
        let mut add = |path: &str, text: Vec<u8>| {
            if !files.iter().any(|file| file.path == path) {
                files.push(File { place: Place::Build, path: path.to_owned(), length: text.len() as u64 });
                contents.push(text);
            }
        };
        add(preset.file.0, preset.file.1.as_bytes().to_vec());
        add("wait.json", serde_json::to_vec(&kind.modules).unwrap_or_default());
        let build = spec.walls.places().build;
        spec.environment.retain(|variable| !variable.starts_with("PYTHONPATH="));
        spec.environment.push(format!("PYTHONPATH={}", build.display()));
        if let Some(command) = spec.commands.last_mut() {
            let arguments = plan.args().len();
            command.arguments.truncate(command.arguments.len() - arguments);
        }
        spec.files = files;
        spec.limits.wall_millis = u64::try_from((PATIENCE + kind.limits.wall * 2).as_millis()).unwrap_or(u64::MAX);
        spec.limits.cpu_millis += u64::try_from(START_CPU.as_millis()).unwrap_or(0);
        Ok((spec, contents))
    }
}

/// A program as one that waits reads it: a head behind its length, the files, and then what the program itself reads.
fn job(plan: &Plan) -> Vec<u8> {
    let given = plan.files().iter().map(|file| (file.path.as_str(), file.contents.as_slice()));
    let files: Vec<(&str, &[u8])> = given.chain([(plan.names().source.as_str(), plan.code())]).collect();
    let sizes: Vec<(&str, usize)> = files.iter().map(|(name, contents)| (*name, contents.len())).collect();
    let head = serde_json::json!({"args": plan.args(), "files": sizes}).to_string();
    let mut job = (head.len() as u64).to_le_bytes().to_vec();
    job.extend(head.as_bytes());
    for (_, contents) in files {
        job.extend(contents);
    }
    job.extend(plan.stdin());
    job
}
