//! `belljar example`: a sample in every language found here.

use std::process::ExitCode;
use std::sync::Arc;

use belljar::{Settings, engine, provision};
use runtime::{RunError, Runtime};
use sandbox::{Language, Package, Refusal, Request, Sample};

use crate::arguments::ExampleArguments;
use crate::report;

pub(crate) async fn run(arguments: &ExampleArguments, settings: &Settings) -> anyhow::Result<ExitCode> {
    let languages = chosen(&arguments.languages)?;
    provide(&languages, settings).await?;
    let runtime = engine::runtime(settings, Vec::new()).await?;
    report::print("Each sample runs in a fresh sandbox: no network, no files of yours, nothing left behind.\n\n")?;

    let mut rows =
        vec![["language", "version", "engine", "isolation", "time", "result", "output"].map(str::to_owned).to_vec()];
    let mut missing = Vec::new();
    let mut failures = 0;
    for language in languages {
        report::progress(language.name);
        match sample(&runtime, language, &language.sample).await {
            Ok(row) => {
                failures += usize::from(row.result != "ok");
                rows.push(row.cells(language.name));
                if let Some((name, sample_of)) = richer_sample(language, settings) {
                    let row = sample(&runtime, language, sample_of).await?;
                    failures += usize::from(row.result != "ok");
                    rows.push(row.cells(name));
                }
            }
            Err(RunError::Refused(_)) if arguments.languages.is_empty() => missing.push(language),
            Err(error) => return Err(error.into()),
        }
    }
    report::progress("");
    report::print(&report::table(&rows))?;
    if !missing.is_empty() {
        report::print(&format!("\nNot found on this host: {}\n", missing_tools(&missing)))?;
    }
    report::print("\nNow yours:  belljar run -l python -c 'print(sum(range(10)))'\n")?;
    Ok(if failures == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE })
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

struct Row {
    version: String,
    engine: String,
    isolation: String,
    time: String,
    result: &'static str,
    output: String,
}

impl Row {
    fn cells(self, name: &str) -> Vec<String> {
        vec![name.to_owned(), self.version, self.engine, self.isolation, self.time, self.result.to_owned(), self.output]
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

async fn sample(runtime: &Runtime, language: &'static Language, sample: &Sample) -> Result<Row, RunError> {
    // Asked for first, so that the time shown is the run's alone.
    let (_, described) = runtime.describe(language).await?;
    let request = Request { code: sample.code.into(), language: Some(language.id.to_owned()), ..Request::default() };
    let outcome = runtime.run(request, &mut ()).await?;
    let as_expected = outcome.status.is_success() && outcome.stdout.text == sample.stdout;
    let shown = if as_expected { &outcome.stdout.text } else { &outcome.stderr.text };
    Ok(Row {
        version: described.version,
        engine: outcome.engine.to_string(),
        isolation: outcome.isolation.level.to_string(),
        time: format!("{:.1} ms", outcome.usage.wall.as_secs_f64() * 1e3),
        result: if as_expected { "ok" } else { "FAILED" },
        output: shown.trim_end().lines().take(3).collect::<Vec<_>>().join(" | ").chars().take(48).collect(),
    })
}

fn missing_tools(languages: &[&'static Language]) -> String {
    let name = |language: &&Language| match language.toolchains.first().map(|toolchain| toolchain.package) {
        Some(Package::Debian(package)) => format!("{} ({package})", language.name),
        Some(Package::Elsewhere(_)) | None => language.name.to_owned(),
    };
    languages.iter().map(name).collect::<Vec<_>>().join(", ")
}
