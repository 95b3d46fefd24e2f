//! `belljar example`: a server and its client, and a sample in every language found here.

use std::ffi::OsString;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::Context as _;
use belljar::{Settings, provision};
use rmcp::model::{CallToolRequestParams, CallToolResult};
use rmcp::service::RunningService;
use rmcp::transport::TokioChildProcess;
use rmcp::{RoleClient, ServiceExt as _};
use sandbox::{Language, Package, Refusal, Sample};
use serde::Deserialize;
use serde_json::{Map, Value, json};

use crate::arguments::{ExampleArguments, GlobalArguments};
use crate::report;

pub(crate) async fn run(
    arguments: &ExampleArguments,
    global: &GlobalArguments,
    settings: &Settings,
) -> anyhow::Result<ExitCode> {
    let languages = chosen(&arguments.languages)?;
    provide(&languages, settings).await?;
    report::progress("starting the server");
    let client = Client::start(global).await?;
    report::progress("asking for languages");
    // What is asked for by name is tried, and refused by the server where it cannot be run.
    let available = if arguments.languages.is_empty() { client.languages().await? } else { Languages::default() };
    report::print(
        "A server and its client over MCP. Each sample runs in a fresh sandbox:\n\
         no network, no files of yours, nothing left behind. Each runs twice,\n\
         since the first run of a language also starts what later ones find waiting.\n\n",
    )?;

    let headings = ["language", "version", "engine", "isolation", "first", "again", "result", "output"];
    let mut rows = vec![headings.map(str::to_owned).to_vec()];
    let mut missing = Vec::new();
    let mut failures = 0;
    for language in languages {
        if available.lacks(language) {
            missing.push(language);
            continue;
        }
        let more = richer_sample(language, settings);
        for (name, sample) in [(language.name, &language.sample)].into_iter().chain(more) {
            report::progress(name);
            let row = client.run(language, sample).await.unwrap_or_else(|error| Row::failed(&error));
            failures += usize::from(row.result != "ok");
            rows.push(row.cells(name));
        }
    }
    report::progress("");
    client.stop().await?;
    report::print(&report::table(&rows))?;
    if !missing.is_empty() {
        report::print(&format!("\nNot found on this host: {}\n", missing_tools(&missing)))?;
    }
    report::print("\nNow yours:  belljar run -l python -c 'print(sum(range(10)))'\n")?;
    report::print("Assistants: belljar connect claude-code --write\n")?;
    Ok(if failures == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// What `mcp-run-python example` shows: its server, started like this, a client, and a program with NumPy.
pub(crate) async fn run_python(server: &[OsString]) -> anyhow::Result<ExitCode> {
    const SAMPLE: &str = "import numpy\na = numpy.array([1, 2, 3])\nprint('numpy array:', a)\na";
    let client = Client::serving(server).await?;
    let answer = client.call("run_python_code", json!({"python_code": SAMPLE})).await?;
    client.stop().await?;
    let text: String = answer.content.iter().filter_map(|block| Some(block.as_text()?.text.clone())).collect();
    report::print(&format!("{text}\n"))?;
    Ok(if text.starts_with("<status>success</status>") { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// Sets up what these languages can have in WebAssembly and have not. Where that fails, the samples run natively.
async fn provide(languages: &[&'static Language], settings: &Settings) -> anyhow::Result<()> {
    let setup = Arc::new(provision::setup(settings));
    let serves = |runtime: &setup::Runtime| languages.iter().any(|language| runtime.languages.contains(&language.id));
    let missing: Vec<_> =
        setup::CATALOGUE.iter().filter(|runtime| serves(runtime) && setup.installed(runtime).is_err()).collect();
    if !missing.is_empty() {
        super::setup::conclude(&super::setup::provision(setup, missing).await?);
    }
    Ok(())
}

fn chosen(names: &[String]) -> Result<Vec<&'static Language>, Refusal> {
    if names.is_empty() {
        return Ok(Language::all().iter().collect());
    }
    let find = |name: &String| {
        Language::find(name).ok_or_else(|| {
            Refusal::new(
                "language",
                format!("`{name}` is not a language belljar knows"),
                "leave it out to see all of them",
            )
        })
    };
    names.iter().map(find).collect()
}

/// A client of `belljar serve`, which is its child.
struct Client(RunningService<RoleClient, ()>);

/// What `list_runtimes` says, as far as we read it.
#[derive(Debug, Default, Deserialize)]
struct Languages {
    unavailable: Vec<Unavailable>,
}

#[derive(Debug, Deserialize)]
struct Unavailable {
    language: String,
}

impl Languages {
    fn lacks(&self, language: &Language) -> bool {
        self.unavailable.iter().any(|entry| entry.language == language.id)
    }
}

/// What `run_code` says, as far as we read it.
#[derive(Debug, Deserialize)]
struct Outcome {
    stdout: String,
    stderr: String,
    engine: String,
    runtime: Runtime,
    isolation: Isolation,
}

#[derive(Debug, Deserialize)]
struct Runtime {
    #[serde(default)]
    version: String,
}

#[derive(Debug, Deserialize)]
struct Isolation {
    level: String,
}

impl Client {
    async fn start(global: &GlobalArguments) -> anyhow::Result<Self> {
        Self::serving(&global.to_command_line()).await
    }

    #[expect(clippy::disallowed_methods, reason = "the server that the example shows is this program's child")]
    async fn serving(arguments: &[OsString]) -> anyhow::Result<Self> {
        let mut command = tokio::process::Command::new("/proc/self/exe");
        command.arg("serve").args(arguments);
        let server = TokioChildProcess::new(command).context("cannot start the server")?;
        Ok(Self(().serve(server).await.context("the server does not answer")?))
    }

    async fn call(&self, tool: &'static str, arguments: Value) -> anyhow::Result<CallToolResult> {
        let arguments: Map<String, Value> = serde_json::from_value(arguments)?;
        Ok(self.0.call_tool(CallToolRequestParams::new(tool).with_arguments(arguments)).await?)
    }

    async fn languages(&self) -> anyhow::Result<Languages> {
        let answer = self.call("list_runtimes", json!({})).await?;
        structured(answer)
    }

    /// Runs a sample twice: the first run in a language starts what the next ones find waiting.
    async fn run(&self, language: &Language, sample: &Sample) -> anyhow::Result<Row> {
        let (outcome, verdict, first) = self.run_once(language, sample).await?;
        match verdict {
            Verdict::Failed => Ok(Row::new(outcome, verdict, (first, None))),
            Verdict::AsExpected => {
                let (outcome, verdict, again) = self.run_once(language, sample).await?;
                Ok(Row::new(outcome, verdict, (first, Some(again))))
            }
        }
    }

    async fn run_once(&self, language: &Language, sample: &Sample) -> anyhow::Result<(Outcome, Verdict, Duration)> {
        let started = Instant::now();
        let answer = self.call("run_code", json!({"language": language.id, "code": sample.code})).await?;
        let time = started.elapsed();
        let failed = answer.is_error == Some(true);
        let outcome: Outcome = structured(answer)?;
        let verdict = if !failed && outcome.stdout == sample.stdout { Verdict::AsExpected } else { Verdict::Failed };
        Ok((outcome, verdict, time))
    }

    async fn stop(self) -> anyhow::Result<()> {
        self.0.cancel().await?;
        Ok(())
    }
}

/// The structured part of an answer, or its words as an error.
fn structured<T: serde::de::DeserializeOwned>(answer: CallToolResult) -> anyhow::Result<T> {
    let words = || answer.content.iter().filter_map(|block| Some(block.as_text()?.text.clone())).collect::<String>();
    match answer.structured_content {
        Some(content) => Ok(serde_json::from_value(content)?),
        None => Err(anyhow::Error::msg(words())),
    }
}

#[derive(Debug, Clone, Copy)]
enum Verdict {
    AsExpected,
    Failed,
}

struct Row {
    version: String,
    engine: String,
    isolation: String,
    first: String,
    again: String,
    result: &'static str,
    output: String,
}

impl Row {
    fn new(outcome: Outcome, verdict: Verdict, (first, again): (Duration, Option<Duration>)) -> Self {
        let written = |time: Duration| format!("{:.1} ms", time.as_secs_f64() * 1e3);
        let (result, shown) = match verdict {
            Verdict::AsExpected => ("ok", &outcome.stdout),
            Verdict::Failed => ("FAILED", &outcome.stderr),
        };
        Self {
            output: shown.trim_end().lines().take(3).collect::<Vec<_>>().join(" | ").chars().take(48).collect(),
            version: outcome.runtime.version,
            engine: outcome.engine,
            isolation: outcome.isolation.level,
            first: written(first),
            again: again.map(written).unwrap_or_default(),
            result,
        }
    }

    fn failed(error: &anyhow::Error) -> Self {
        let [version, engine, isolation, first, again] = Default::default();
        Self { version, engine, isolation, first, again, result: "FAILED", output: error.to_string() }
    }

    fn cells(self, name: &str) -> Vec<String> {
        let Self { version, engine, isolation, first, again, result, output } = self;
        vec![name.to_owned(), version, engine, isolation, first, again, result.to_owned(), output]
    }
}

/// What a runtime has beyond the language, where it is set up.
fn richer_sample(language: &Language, settings: &Settings) -> Option<(&'static str, &'static Sample)> {
    const NUMPY: Sample = Sample {
        code: "import numpy as np\na = np.arange(12).reshape(3, 4)\nprint(a.sum(axis=0), round(float(np.linalg.norm(a)), 3))\n",
        stdout: "[12 15 18 21] 22.494\n",
    };
    let is_there = || provision::installed(settings).iter().any(|runtime| runtime.name == "numpy");
    (language.id == "python" && is_there()).then_some(("Python, NumPy", &NUMPY))
}

fn missing_tools(languages: &[&'static Language]) -> String {
    let name = |language: &&Language| match language.toolchains.first().map(|toolchain| toolchain.package) {
        Some(Package::Debian(package)) => format!("{} ({package})", language.name),
        Some(Package::Elsewhere(_)) | None => language.name.to_owned(),
    };
    languages.iter().map(name).collect::<Vec<_>>().join(", ")
}
