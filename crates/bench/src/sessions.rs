//! `bench sessions`: what a cell costs a caller of the server, what opening, copying and keeping sessions costs, and what a live one takes.

use std::fs;
use std::io::Write as _;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use anyhow::Context as _;
use clap::Args;
use serde_json::{Value, json};

use crate::mcp::{Client, Report};
use crate::server;
use crate::statistics::Timings;

#[derive(Debug, Args)]
pub(crate) struct Options {
    /// Timings of cells
    #[arg(long, default_value_t = 1000)]
    rounds: u32,
    /// Timings of what is done once in a session
    #[arg(long, default_value_t = 30)]
    openings: u32,
    /// The folder of provisioned runtimes
    #[arg(long)]
    cache: PathBuf,
}

const CELL_BUDGET_MS: f64 = 2.0;
const LIVE_BUDGET_KIB: f64 = 2048.0;
const LIVE: u32 = 64;
const IDLE_BUDGET_MB: f64 = 120.0;

const CELLS: &[(&str, &str, &str)] = &[
    ("native", "python", "x = 1 + 1\nx"),
    ("native", "javascript", "x = 1 + 1"),
    ("native", "typescript", "x = 1 + 1"),
    ("native", "ruby", "x = 1 + 1"),
    ("native", "bash", "x=$((1+1))"),
    ("wasm", "python", "x = 1 + 1\nx"),
    ("wasm", "javascript", "x = 1 + 1"),
    ("wasm", "typescript", "x = 1 + 1"),
    ("wasm", "ruby", "x = 1 + 1"),
];

pub(crate) fn run(options: &Options) -> anyhow::Result<ExitCode> {
    server::build()?;
    let mut report = Report::new();
    let mut client = Client::start(&options.cache)?;
    client.initialize()?;
    let runtimes = client.tool("list_runtimes", &json!({}))?;
    for (engine, language, code) in CELLS {
        if !serves(&runtimes, engine, language) {
            writeln!(std::io::stdout(), "{engine} {language}: skipped, there is no tool for it")?;
            continue;
        }
        let mut opening = Timings::default();
        for number in 0..options.openings {
            let name = format!("open{number}");
            opening.push(cell(&mut client, &name, (engine, language, code))?);
            client.tool("close_session", &json!({"session": name}))?;
        }
        report.note(&format!("{engine} {language}: first cell of a session, ms, p50"), opening.median())?;
        let mut timings = Timings::default();
        for round in 0..options.rounds + 50 {
            let took = cell(&mut client, engine, (engine, language, code))?;
            if round >= 50 {
                timings.push(took);
            }
        }
        let [low, high] = [0.0, 0.95].map(|share| timings.percentile(share));
        let name = format!("{engine} {language}: cell, ms (min {low:.3}, p95 {high:.3}), p50");
        report.line(&name, timings.median(), CELL_BUDGET_MS)?;
    }
    let (mut forking, mut saving, mut restoring) = (Timings::default(), Timings::default(), Timings::default());
    for number in 0..options.openings {
        let (copy, again) = (format!("copy{number}"), format!("again{number}"));
        let started = Instant::now();
        client.tool("fork_session", &json!({"session": "wasm", "as": copy}))?;
        forking.push(started.elapsed());
        let started = Instant::now();
        client.tool("save_session", &json!({"session": copy, "as": "bench"}))?;
        saving.push(started.elapsed());
        let started = Instant::now();
        client.tool("restore_session", &json!({"session": "bench", "as": again}))?;
        restoring.push(started.elapsed());
        for name in [copy, again] {
            client.tool("close_session", &json!({"session": name}))?;
        }
    }
    report.note("fork_session of four languages, ms, p50", forking.median())?;
    report.note("save_session of the same, ms, p50", saving.median())?;
    report.note("restore_session of the same, ms, p50", restoring.median())?;
    client.end()?;

    let mut client = Client::start(&options.cache)?;
    client.initialize()?;
    client.run("python", "print(1+1)")?.printed("2\n")?;
    client.run("javascript", "console.log(1+1)")?.printed("2\n")?;
    // By then it has given up what only the next of many runs would want.
    std::thread::sleep(Duration::from_secs(2));
    let resident = resident_mb(client.pid())?;
    report.line("resident memory of an idle server, Python and JavaScript ready, MB", resident, IDLE_BUDGET_MB)?;
    client.end()?;

    // In a server of its own, where nothing has touched any memory yet but the first of them.
    let mut client = Client::start(&options.cache)?;
    client.initialize()?;
    let python = ("wasm", "python", "x = 1");
    for number in 0..8 {
        cell(&mut client, &format!("warm{number}"), python)?;
    }
    let before = private_kib(client.pid())?;
    for number in 8..LIVE {
        cell(&mut client, &format!("live{number}"), python)?;
    }
    let each = (private_kib(client.pid())? - before) / f64::from(LIVE - 8);
    report.line(&format!("private memory of each of {LIVE} live Python sessions, KiB"), each, LIVE_BUDGET_KIB)?;
    client.end()?;
    Ok(report.verdict())
}

/// Whether `list_runtimes` has it.
fn serves(runtimes: &Value, engine: &str, language: &str) -> bool {
    let languages = runtimes.pointer("/structuredContent/languages").and_then(Value::as_array);
    let mut engines = languages.into_iter().flatten().filter(|entry| entry.get("language") == Some(&json!(language)));
    engines.any(|entry| entry.get("engines").and_then(Value::as_array).is_some_and(|all| all.contains(&json!(engine))))
}

fn cell(client: &mut Client, session: &str, (engine, language, code): (&str, &str, &str)) -> anyhow::Result<Duration> {
    let started = Instant::now();
    let arguments = json!({"session": session, "engine": engine, "language": language, "code": code});
    let answer = client.tool("run_code", &arguments)?;
    anyhow::ensure!(answer.pointer("/structuredContent/exit_code") == Some(&json!(0)), "{answer}");
    Ok(started.elapsed())
}

/// What the server's worker processes have for themselves.
fn private_kib(server: u32) -> anyhow::Result<f64> {
    let mut total = 0.0;
    for process in descendants(server)? {
        let command = fs::read_to_string(format!("/proc/{process}/cmdline")).unwrap_or_default();
        if !command.contains("__worker") {
            continue;
        }
        total += rollup(process, "Private_Dirty:");
    }
    anyhow::ensure!(total > 0.0, "no worker can be looked at; run this as root");
    Ok(total)
}

/// What a server has with all of its processes. Shared pages once: server, launcher and workers are one binary.
pub(crate) fn resident_mb(server: u32) -> anyhow::Result<f64> {
    let processes = descendants(server)?.into_iter().chain([server]);
    Ok(processes.map(|process| rollup(process, "Pss:")).sum::<f64>() * 1.024 / 1e3)
}

/// KiB of one kind in all of a process's memory; none of one that has ended.
fn rollup(process: u32, kind: &str) -> f64 {
    let rollup = fs::read_to_string(format!("/proc/{process}/smaps_rollup")).unwrap_or_default();
    let figures = rollup.lines().filter_map(|line| line.strip_prefix(kind)?.split_whitespace().next());
    figures.filter_map(|figure| figure.parse::<f64>().ok()).sum()
}

pub(crate) fn descendants(process: u32) -> anyhow::Result<Vec<u32>> {
    let mut found = vec![process];
    let mut next = 0;
    while let Some(pid) = found.get(next).copied() {
        next += 1;
        for task in fs::read_dir(format!("/proc/{pid}/task")).into_iter().flatten().flatten() {
            let children = fs::read_to_string(task.path().join("children")).unwrap_or_default();
            found.extend(children.split_whitespace().filter_map(|pid| pid.parse::<u32>().ok()));
        }
    }
    found.get(1..).map(<[u32]>::to_vec).context("the server is there")
}
