//! `belljar setup`: provisions the runtimes of the wasm engine, lists them, and moves them between machines.

use std::io;
use std::process::ExitCode;
use std::sync::Arc;

use anyhow::Context as _;
use belljar::{Settings, provision};
use sandbox::{Language, Refusal};
use setup::{Cancel, Event, Failure, NotUsable, Progress, Runtime, Setup, SetupError, Style, Summary};
use tokio::signal::unix::{SignalKind, signal};

use crate::arguments::SetupArguments;
use crate::{exit, report};

pub(crate) async fn run(arguments: SetupArguments, settings: &Settings) -> anyhow::Result<ExitCode> {
    let setup = Arc::new(provision::setup(settings));
    let words: Vec<&str> = arguments.languages.iter().map(|word| canonical(word)).collect();
    let (tools, words): (Vec<&str>, Vec<&str>) = words.into_iter().partition(|word| setup::tool(word).is_some());
    let everything = tools.is_empty() && words.is_empty();
    let chosen = if words.is_empty() && !everything { Vec::new() } else { setup::select(&words)? };
    let tools: Vec<&'static Runtime> =
        setup::TOOLS.iter().filter(|tool| everything || tools.contains(&tool.name)).collect();
    if arguments.list {
        report::print(&list(&setup, &chosen, &tools))?;
        return Ok(ExitCode::SUCCESS);
    }
    if let Some(file) = arguments.export {
        let wanted = if everything { setup.exportable() } else { chosen };
        if wanted.is_empty() {
            return Err(Refusal::new("export", "nothing is set up here to export", "run `belljar setup` first").into());
        }
        let exported = blocking({
            let (setup, file) = (Arc::clone(&setup), file.clone());
            move |_, _| setup.export(&wanted, &file)
        });
        let exported = exported.await?.map_err(not_exported)?;
        let names: Vec<&str> = exported.runtimes.iter().map(|runtime| runtime.name).collect();
        report::print(&format!("{} in `{}`, {}\n", names.join(", "), file.display(), exported.size))?;
        return Ok(ExitCode::SUCCESS);
    }
    if let Some(file) = arguments.import {
        let imported = blocking({
            let (setup, file) = (Arc::clone(&setup), file.clone());
            move |cancel, events| setup.import(&file, cancel, events)
        });
        let summary = imported.await?.with_context(|| format!("cannot import `{}`", file.display()))?;
        return Ok(conclude(&summary));
    }
    let all_tools = get_tools(Arc::clone(&setup), tools).await?;
    let summary = provision(setup, chosen).await?;
    if !all_tools {
        return Ok(ExitCode::from(exit::REFUSED_OR_FAILED));
    }
    Ok(conclude(&summary))
}

fn not_exported(error: SetupError) -> anyhow::Error {
    if let SetupError::NotExportable { .. } = error {
        let Failure { why, hint, .. } = Failure::of(&error);
        return Refusal::new("export", why, hint).into();
    }
    error.into()
}

/// Makes these runtimes usable, showing how it goes.
pub(crate) async fn provision(setup: Arc<Setup>, runtimes: Vec<&'static Runtime>) -> anyhow::Result<Summary> {
    blocking(move |cancel, events| setup.provision(&runtimes, cancel, events)).await
}

/// Gets these tools, showing how it goes. False if one cannot be had.
async fn get_tools(setup: Arc<Setup>, tools: Vec<&'static Runtime>) -> anyhow::Result<bool> {
    let get = move |cancel: &Cancel, events: &mut dyn FnMut(Event)| {
        let got: Vec<_> = tools.into_iter().map(|tool| setup.provide_tool(tool, cancel, &mut *events)).collect();
        got.into_iter().filter_map(Result::err).collect::<Vec<_>>()
    };
    let failures = blocking(get).await?;
    for failure in &failures {
        report::note(&format!("error: {}\n  hint: {}\n", failure.why, failure.hint));
    }
    Ok(failures.is_empty())
}

/// Says what failed and what to do about it.
pub(crate) fn conclude(summary: &Summary) -> ExitCode {
    if summary.is_complete() {
        return ExitCode::SUCCESS;
    }
    report::note(&summary.to_string());
    ExitCode::from(exit::REFUSED_OR_FAILED)
}

/// Runs something that blocks and reports, on a thread of its own. The first Ctrl-C asks it to stop.
async fn blocking<T: Send + 'static>(
    work: impl FnOnce(&Cancel, &mut dyn FnMut(Event)) -> T + Send + 'static,
) -> anyhow::Result<T> {
    let cancel = Cancel::default();
    let (mut interrupt, mut terminate) = (signal(SignalKind::interrupt())?, signal(SignalKind::terminate())?);
    let watcher = tokio::spawn({
        let cancel = cancel.clone();
        async move {
            tokio::select! { _ = interrupt.recv() => {}, _ = terminate.recv() => {} }
            cancel.cancel();
        }
    });
    let done = tokio::task::spawn_blocking(move || {
        let progress = Progress::new(io::stderr(), Style::of(&io::stderr()));
        work(&cancel, &mut |event| progress.show(&event))
    })
    .await;
    watcher.abort();
    Ok(done?)
}

/// A language's own id for one of its other names; runtimes' names stay.
fn canonical(word: &str) -> &str {
    if setup::runtime(word).is_some() { word } else { Language::find(word).map_or(word, |language| language.id) }
}

fn list(setup: &Setup, chosen: &[&'static Runtime], tools: &[&'static Runtime]) -> String {
    let mut rows = vec![["runtime", "version", "languages", "state", "size"].map(str::to_owned).to_vec()];
    for listed in setup.list().into_iter().filter(|listed| chosen.iter().any(|one| one.name == listed.runtime.name)) {
        let languages = listed.runtime.languages.join(" ");
        rows.push(match listed.state {
            Ok(installed) => vec![
                listed.runtime.name.to_owned(),
                installed.version().to_owned(),
                languages,
                "ready".to_owned(),
                installed.size.to_string(),
            ],
            Err(why) => vec![listed.runtime.name.to_owned(), String::new(), languages, state(&why), String::new()],
        });
    }
    rows.extend(tools.iter().map(|tool| match setup.find_tool(tool) {
        Some(found) => {
            vec![tool.name.to_owned(), found.version, "packages".to_owned(), "ready".to_owned(), tool.size.to_string()]
        }
        None => {
            vec![tool.name.to_owned(), String::new(), "packages".to_owned(), "not set up".to_owned(), String::new()]
        }
    }));
    report::table(&rows)
}

/// Why a runtime cannot be used, in a few words.
pub(crate) fn state(why: &NotUsable) -> String {
    match why {
        NotUsable::NotProvisioned => "not set up".to_owned(),
        NotUsable::Outdated(_) => "outdated".to_owned(),
        NotUsable::Damaged(_) | NotUsable::Refused(_) | NotUsable::Unreadable(_) => why.to_string(),
    }
}
