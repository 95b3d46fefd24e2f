//! Waiting interpreters: started ahead, each in a jail of its own like any run's. A waiting Python has imported the
//! large libraries that recent programs wanted. A program that comes is given to one of them, which runs only that
//! program and ends with it.
//!
//! A waiting interpreter has seen nobody's data: it is what would be started for the program anyway, only sooner. It is
//! used where only the time can tell the difference: for a run with the same limits and packages, with no grants,
//! variables or environment of its own, whose program imports everything that was imported ahead.
//!
//! How many wait follows demand. For each kind, one is ready for the next program. Every program that finds none ready
//! raises that number by one, as far as memory allows, and they are given up when nobody has wanted them for a while.

mod lot;

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::{Duration, Instant};

use jail::{File, Place, Purpose, Spec};
use sandbox::{Hook, Layer, Limits, LiveOutput, Plan};
use tokio::sync::oneshot;
use tokio::task::JoinHandle;
use tokio::time::{sleep, timeout};

use self::lot::{Found, Lot, PATIENCE, SHORT_PATIENCE};
use crate::collect::Given;
use crate::error::NativeError;
use crate::run::{self, Clock, Finished, Going, Input, Stdin};
use crate::tools::FoundTool;
use crate::{Ahead, Shared, recipe};

/// How long a program has the processors to itself before the next interpreter is started for its successor.
const UNDISTURBED: Duration = Duration::from_millis(100);
/// The longest that an answer takes after the end of a run.
const ANSWERING: Duration = Duration::from_millis(3);
/// How long an interpreter may take to be ready.
const START: Duration = Duration::from_secs(20);
/// CPU time that starting may take. The program's own counts from when the program comes.
const START_CPU: Duration = Duration::from_secs(20);
/// The most modules that are imported ahead: a program may name thousands.
const MOST_MODULES: usize = 32;

/// Libraries that are slow to import, and do not look at what the program did before importing them.
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

/// All interpreters that wait.
#[derive(Debug, Default)]
pub(crate) struct Parked {
    lot: Mutex<Lot<Waiting>>,
    /// Clears out what nobody wants any more, as long as something waits.
    keeper: Mutex<Option<JoinHandle<()>>>,
}

/// One that was taken, if any. Dropping this tells that its program is over.
pub(crate) struct Taken {
    pub(crate) going: Option<(Kind, Going)>,
    _running: Option<oneshot::Sender<()>>,
}

#[derive(Debug)]
struct Waiting {
    going: Going,
    /// Held as long as an interpreter waits with it.
    _layer: Option<Layer>,
}

/// What has to match between a program and an interpreter.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct Kind {
    language: &'static str,
    /// The interpreter.
    program: PathBuf,
    /// The name of the program's file.
    source: String,
    layer: Option<String>,
    limits: Limits,
    /// Imported ahead, sorted.
    modules: Vec<String>,
}

impl Kind {
    /// The kind for a plan, if an interpreter could have waited for it.
    fn of(plan: &Plan, tool: &FoundTool) -> Option<Self> {
        // An interpreter that is told by an argument can take no more arguments later.
        let is_late = match tool.toolchain.waiting?.hook {
            Hook::Variable(..) => true,
            Hook::Argument(_) => plan.args().is_empty(),
        };
        let is_plain = plan.env().is_empty()
            && plan.variables().is_empty()
            && plan.compiler_args().is_empty()
            && plan.granted().is_empty();
        if !is_plain || !is_late {
            return None;
        }
        let modules = if plan.language().id == "python" { modules_ahead(plan)? } else { Vec::new() };
        Some(Self {
            language: plan.language().id,
            program: tool.program.clone(),
            source: plan.names().source.clone(),
            layer: plan.layer().map(|layer| layer.id.clone()),
            limits: *plan.limits(),
            modules,
        })
    }

    /// Whether what waits for the `other` kind can serve this one.
    fn is_served_by(&self, other: &Self) -> bool {
        self.language == other.language
            && self.program == other.program
            && self.source == other.source
            && self.layer == other.layer
            && self.limits == other.limits
            && other.modules.iter().all(|module| self.modules.contains(module))
    }
}

/// The modules in [`AHEAD`] that a Python program imports, sorted. `None` if it could tell the difference.
fn modules_ahead(plan: &Plan) -> Option<Vec<String>> {
    let code = String::from_utf8_lossy(plan.code());
    // A file of its own may have the same name as something that is imported already.
    if plan.files().iter().any(|file| is_module(file.path.as_str())) {
        return None;
    }
    // A program that changes the environment may do so for a library that it has yet to import.
    let may_tell = code.contains("environ") || code.contains("putenv");
    let mut modules: Vec<String> = match plan.layer() {
        Some(_) if !may_tell => wanted::python_imports(&code),
        Some(_) | None => Vec::new(),
    };
    modules.retain(|module| AHEAD.contains(&module.split('.').next().unwrap_or_default()));
    if modules.len() > MOST_MODULES {
        modules.clear();
    }
    modules.sort_unstable();
    Some(modules)
}

/// Whether a file can be imported, or is in a folder that can.
fn is_module(path: &str) -> bool {
    let extension = Path::new(path).extension().and_then(|extension| extension.to_str());
    matches!(extension, Some("py" | "pyc" | "so"))
}

impl Parked {
    /// The best that waits for this kind, and the kind that it was started for.
    fn take(&self, kind: &Kind) -> Option<(Kind, Going)> {
        let mut lot = self.lock();
        loop {
            let (kind, Waiting { mut going, .. }) = lot.take(kind)?;
            if going.is_there() {
                return Some((kind, going));
            }
        }
    }

    fn lock(&self) -> MutexGuard<'_, Lot<Waiting>> {
        let mut lot = self.lot.lock().unwrap_or_else(PoisonError::into_inner);
        lot.tidy(Instant::now());
        lot
    }
}

impl Shared {
    /// An interpreter that waits for this plan, if there is one. Has another started for the next plan like it.
    pub(crate) async fn parked_for(self: &Arc<Self>, plan: &Plan, tool: &FoundTool) -> Result<Taken, NativeError> {
        let kind = if self.parks() { Kind::of(plan, tool) } else { None };
        let Some(kind) = kind else { return Ok(Taken { going: None, _running: None }) };
        let mut going = self.parked.take(&kind);
        let is_ready = going.as_mut().is_some_and(|(_, going)| going.is_ready_now());
        self.parked.lock().learn(&kind, if is_ready { Found::Ready } else { Found::None }, Instant::now());
        if going.is_none() && self.ahead == Ahead::Always {
            going = Some((kind.clone(), self.begin_waiting(plan, tool, &kind).await?));
        }
        let running = self.park_after(plan, tool, kind);
        if !is_ready
            && let Some((_, late)) = &mut going
            && !late.is_ready(START).await
        {
            if self.ahead == Ahead::Always {
                return Err(NativeError::NotReady);
            }
            going = None;
        }
        Ok(Taken { going, _running: running })
    }

    /// Runs a plan with an interpreter that waited.
    pub(crate) async fn run_parked(
        &self,
        (kind, going): (Kind, Going),
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
        let clock = Clock::FromNow { wall: plan.limits().wall, cpu: plan.limits().cpu };
        let finished = going.finish(&input, clock, live).await?;
        if let Some(size) = finished.waited_with {
            self.parked.lock().learn_size(&kind, size);
        }
        Ok(finished)
    }

    /// Starts one for this plan.
    async fn begin_waiting(&self, plan: &Plan, tool: &FoundTool, kind: &Kind) -> Result<Going, NativeError> {
        let (spec, contents) = self.waiting_spec(plan, tool, kind)?;
        let contents: Vec<&[u8]> = contents.iter().map(Vec::as_slice).collect();
        run::begin(&self.launcher, &spec, &contents, Stdin::Pipe, kind.limits.output).await
    }

    /// Has as many wait as should, once the running program is over, which dropping the result tells: starting one
    /// earlier would get in its way, and in its answer's.
    fn park_after(self: &Arc<Self>, plan: &Plan, tool: &FoundTool, kind: Kind) -> Option<oneshot::Sender<()>> {
        let spec = self.waiting_spec(plan, tool, &kind).ok()?;
        let layer = plan.layer().cloned();
        let shared: Weak<Self> = Arc::downgrade(self);
        let (running, over) = oneshot::channel::<()>();
        tokio::spawn(async move {
            timeout(UNDISTURBED, over).await.ok();
            sleep(ANSWERING).await;
            while let Some(shared) = shared.upgrade().filter(|shared| shared.parked.lock().wants(&kind)) {
                let contents: Vec<&[u8]> = spec.1.iter().map(Vec::as_slice).collect();
                let output = kind.limits.output;
                // Whatever fails here fails again in a run, and is reported there.
                let Ok(going) = run::begin(&shared.launcher, &spec.0, &contents, Stdin::Pipe, output).await else {
                    return;
                };
                shared.push(kind.clone(), Waiting { going, _layer: layer.clone() });
            }
        });
        Some(running)
    }

    fn push(self: &Arc<Self>, kind: Kind, waiting: Waiting) {
        self.parked.lock().push(kind, waiting, Instant::now());
        let mut keeper = self.parked.keeper.lock().unwrap_or_else(PoisonError::into_inner);
        if keeper.as_ref().is_none_or(JoinHandle::is_finished) {
            let shared = Arc::downgrade(self);
            *keeper = Some(tokio::spawn(async move {
                while shared.upgrade().is_some_and(|shared| !shared.parked.lock().is_empty()) {
                    sleep(SHORT_PATIENCE / 4).await;
                }
            }));
        }
    }

    /// Only if every layer stands and runs have a root of their own.
    fn parks(&self) -> bool {
        self.ahead != Ahead::Never
            && self.without.is_empty()
            && matches!(self.walls(), Ok(jail::Walls::Namespaces { .. }))
    }

    /// The jail of a waiting interpreter, and the contents of its files.
    fn waiting_spec(&self, plan: &Plan, tool: &FoundTool, kind: &Kind) -> Result<(Spec, Vec<Vec<u8>>), NativeError> {
        let recipe = recipe::for_plan(plan, tool, &self.view, self.walls()?, recipe::database(plan))?;
        let mut spec = recipe.spec;
        // Everything except the program's own files: those come later.
        let own = spec.files.iter().zip(&recipe.contents).filter(|(file, _)| file.place == Place::Build);
        let (mut files, mut contents): (Vec<File>, Vec<Vec<u8>>) =
            own.map(|(file, contents)| (file.clone(), contents.to_vec())).unzip();
        let preset = tool.toolchain.waiting.ok_or(NativeError::NoVariables(tool.toolchain.program))?;
        let mut add = |path: &str, text: Vec<u8>| {
            if !files.iter().any(|file| file.path == path) {
                files.push(File { place: Place::Build, path: path.to_owned(), length: text.len() as u64 });
                contents.push(text);
            }
        };
        add(preset.file.0, preset.file.1.as_bytes().to_vec());
        add("wait.json", serde_json::to_vec(&kind.modules).unwrap_or_default());
        let places = spec.walls.places();
        let fill = |template: &str| template.replace("{build}", &places.build.to_string_lossy());
        if let Some(command) = spec.commands.last_mut() {
            let arguments = plan.args().len();
            command.arguments.truncate(command.arguments.len() - arguments);
            match preset.hook {
                Hook::Variable(name, value) => {
                    spec.environment.retain(|variable| !variable.starts_with(&format!("{name}=")));
                    spec.environment.push(format!("{name}={}", fill(value)));
                }
                // The last argument is the program's path now.
                Hook::Argument(argument) => {
                    command.arguments.insert(command.arguments.len().saturating_sub(1), fill(argument));
                }
            }
        }
        spec.files = files;
        let start_cpu = u64::try_from(START_CPU.as_millis()).unwrap_or(u64::MAX);
        // It has not been given a turn yet, and what it imports is code that nobody has vetted.
        spec.purpose = Purpose::Wait(jail::Waiting { memory: lot::MEMORY, cpu_millis: start_cpu });
        spec.limits.wall_millis = u64::try_from((PATIENCE + kind.limits.wall * 2).as_millis()).unwrap_or(u64::MAX);
        spec.limits.cpu_millis = spec.limits.cpu_millis.saturating_add(start_cpu);
        Ok((spec, contents))
    }
}

/// A program as a waiting interpreter reads it: a head preceded by its length, the files, and then the program's own
/// standard input.
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
