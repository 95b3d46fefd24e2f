//! `belljar doctor`: what is enforced here, as probed.

use std::process::ExitCode;

use belljar::{Settings, engine, provision};
use engine_native::{HostReport, NativeEngine};
use engine_wasm::Reset;
use sandbox::{Language, Level, Policy};
use serde_json::json;

use crate::arguments::DoctorArguments;
use crate::report;

pub(crate) async fn run(arguments: &DoctorArguments, settings: &Settings) -> anyhow::Result<ExitCode> {
    if arguments.attack {
        return super::attack::run(arguments, settings).await;
    }
    let native = engine::native(settings, Vec::new()).await?;
    let accepted = settings.require.accepts(native.report().isolation.level);
    let worker = Worker::look(&native, settings).await?;
    let text = if arguments.json { as_json(&native, settings, &worker) } else { as_text(&native, settings, &worker) };
    report::print(&text)?;
    Ok(if accepted { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// What a worker of the wasm engine is like here, found by starting one.
struct Worker {
    level: Level,
    missing: Vec<String>,
    /// How it resets memory, or why it did not start.
    reset: Result<Reset, String>,
}

impl Worker {
    async fn look(native: &NativeEngine, settings: &Settings) -> anyhow::Result<Self> {
        let wasm = engine::wasm(native, provision::installed(settings))?;
        let reset = wasm.warm_up().await.map_err(|error| error.to_string());
        let isolation = wasm.isolation();
        Ok(Self { level: isolation.level, missing: isolation.missing, reset })
    }

    fn describe_reset(&self) -> String {
        match &self.reset {
            Ok(Reset::Scan) => "page by page".to_owned(),
            Ok(Reset::Remap) => {
                "as a whole, which is slower: the kernel is older than 6.7, or has no /proc here".to_owned()
            }
            Err(why) => format!("not at all, for it does not start: {why}"),
        }
    }
}

fn as_json(native: &NativeEngine, settings: &Settings, worker: &Worker) -> String {
    let HostReport { isolation, layers, failed, advice } = native.report();
    let layers: Vec<_> = layers
        .iter()
        .map(|layer| json!({ "name": layer.name, "present": layer.stands, "detail": layer.evidence }))
        .collect();
    let failed: Vec<_> =
        failed.iter().map(|attempt| json!({ "level": attempt.level.to_string(), "reason": attempt.reason })).collect();
    let languages: Vec<_> = Language::all()
        .iter()
        .map(|language| json!({ "id": language.id, "present": native.has_tool(language) }))
        .collect();
    let report = json!({
        "version": env!("CARGO_PKG_VERSION"),
        "level": isolation.level.to_string(),
        "required": settings.require.to_string(),
        "accepted": settings.require.accepts(isolation.level),
        "missing": isolation.missing,
        "limits": { "memory": isolation.memory.to_string(), "processes": isolation.processes.to_string() },
        "layers": layers,
        "failed": failed,
        "granted": granted(settings),
        "advice": advice,
        "languages": languages,
        "runtimes": runtimes(settings),
        "worker": {
            "level": worker.level.to_string(),
            "missing": worker.missing,
            "starts": worker.reset.is_ok(),
            "memory_reset": worker.describe_reset(),
        },
    });
    format!("{report:#}\n")
}

/// What the operator lets runs have outside of their walls.
fn granted(settings: &Settings) -> Vec<String> {
    let Policy { network, folders, .. } = &settings.policy;
    let always = network.always.iter().map(|host| format!("network {host}"));
    let asked = network.all().filter(|host| !network.always.contains(host));
    let asked = asked.map(|host| format!("network {host}, for callers that ask for it"));
    let folders = folders.iter().map(|folder| format!("{folder}, which is {}", folder.source().display()));
    always.chain(asked).chain(folders).collect()
}

/// What the wasm engine has.
fn runtimes(settings: &Settings) -> Vec<serde_json::Value> {
    let listed = provision::setup(settings).list().into_iter();
    listed
        .map(|listed| match listed.state {
            Ok(installed) => json!({
                "name": listed.runtime.name,
                "languages": listed.runtime.languages,
                "ready": true,
                "version": installed.version(),
            }),
            Err(why) => json!({
                "name": listed.runtime.name,
                "languages": listed.runtime.languages,
                "ready": false,
                "reason": super::setup::state(&why),
            }),
        })
        .collect()
}

/// The same in lines, and what to do about what is missing.
fn runtime_lines(settings: &Settings) -> String {
    let listed = provision::setup(settings).list();
    let line = |listed: &setup::Listed| {
        let state = match &listed.state {
            Ok(installed) => format!("ready, version {}", installed.version()),
            Err(why) => super::setup::state(why),
        };
        format!("  {:<12} {state}\n", listed.runtime.name)
    };
    let mut text =
        ["\nWebAssembly runtimes:\n".to_owned()].into_iter().chain(listed.iter().map(line)).collect::<String>();
    let setup = provision::setup(settings);
    text.extend(setup::TOOLS.iter().map(|tool| {
        let state = match setup.find_tool(tool) {
            Some(found) => format!("ready, version {}", found.version),
            None => "got when a program first needs packages".to_owned(),
        };
        format!("  {:<12} {state}\n", tool.name)
    }));
    if listed.iter().any(|listed| listed.state.is_err()) {
        text.push_str("  `belljar setup` sets up the rest\n");
    }
    text
}

fn as_text(native: &NativeEngine, settings: &Settings, worker: &Worker) -> String {
    let HostReport { isolation, layers, failed, advice } = native.report();
    let verdict = if settings.require.accepts(isolation.level) { "accepted" } else { "REFUSED: nothing runs here" };
    let mut rows = vec![["layer", "here", "what the probe saw"].map(str::to_owned).to_vec()];
    rows.extend(layers.iter().map(|layer| {
        vec![layer.name.clone(), if layer.stands { "yes" } else { "no" }.to_owned(), layer.evidence.clone()]
    }));
    let (found, missing): (Vec<_>, Vec<_>) = Language::all().iter().partition(|language| native.has_tool(language));
    let ids = |languages: &[&Language]| languages.iter().map(|language| language.id).collect::<Vec<_>>().join(" ");
    let attempts =
        failed.iter().map(|attempt| format!("level {} is not possible here: {}\n", attempt.level, attempt.reason));
    let sentences = advice.iter().map(|sentence| format!("  - {sentence}\n"));
    let heading = if advice.is_empty() { "" } else { "\nwhat you can do:\n" };
    [
        format!("isolation level: {} (required: {}; {verdict})\n\n", isolation.level, settings.require),
        report::table(&rows),
        format!("\nmemory limit held by: {}; process limit held by: {}\n", isolation.memory, isolation.processes),
        attempts.collect(),
        granted(settings).iter().flat_map(|grant| ["runs are granted: ", grant, "\n"]).collect(),
        format!("\nlanguages found:     {}\nlanguages not found: {}\n", ids(&found), ids(&missing)),
        runtime_lines(settings),
        format!("  isolation level {}; memory is reset {}\n", worker.level, worker.describe_reset()),
        heading.to_owned(),
        sentences.collect(),
    ]
    .concat()
}
