//! `bench parked`: what a native run costs a caller of the server when an interpreter has waited for it, and when none has.

use std::path::PathBuf;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use clap::Args;
use serde_json::json;

use crate::mcp::{Client, Report};
use crate::server;
use crate::sessions::resident_mb;
use crate::statistics::Timings;

#[derive(Debug, Args)]
pub(crate) struct Options {
    /// Timings of each kind
    #[arg(long, default_value_t = 40)]
    rounds: u32,
    /// The time between two calls, in milliseconds: another interpreter is started in it
    #[arg(long, default_value_t = 500)]
    pause: u64,
    /// The folder of provisioned runtimes
    #[arg(long)]
    cache: PathBuf,
}

const PYTHON_BUDGET_MS: f64 = 5.0;
const NUMPY_BUDGET_MS: f64 = 10.0;
const PANDAS_BUDGET_MS: f64 = 10.0;
const NODE_BUDGET_MS: f64 = 8.0;
/// Of an idle server with those that still wait: no more than one that has run nothing natively may have.
const IDLE_BUDGET_MB: f64 = 120.0;

/// What runs, and its budget in milliseconds.
const PROGRAMS: &[(&str, &str, &str, Option<f64>)] = &[
    ("Python", "python", "print(1+1)", Some(PYTHON_BUDGET_MS)),
    ("Python with NumPy", "python", "import numpy\nprint(1+1)", Some(NUMPY_BUDGET_MS)),
    ("Python with pandas", "python", "import pandas\nprint(1+1)", Some(PANDAS_BUDGET_MS)),
    ("Node.js", "javascript", "console.log(1+1)", Some(NODE_BUDGET_MS)),
    ("Deno", "typescript", "console.log(1+1)", None),
    ("Bash", "bash", "echo $((1+1))", None),
];

/// A minute, and how often a server looks whether it is over.
const QUIET: Duration = Duration::from_secs(80);

/// Not timed: packages are installed in the first, and the first that waits comes after it.
const UNTIMED: u32 = 5;

pub(crate) fn run(options: &Options) -> anyhow::Result<ExitCode> {
    server::build()?;
    let mut report = Report::new();
    let mut client = Client::start(&options.cache)?;
    client.initialize()?;
    for (name, language, code, budget) in PROGRAMS {
        let arguments = json!({"language": language, "engine": "native", "code": code});
        let [spaced, at_once] = [Duration::from_millis(options.pause), Duration::ZERO]
            .map(|pause| timings(&mut client, &arguments, options.rounds, pause));
        let (spaced, at_once) = (spaced?, at_once?);
        let [low, high] = [0.0, 0.95].map(|share| spaced.percentile(share));
        let title = format!("{name}, calls {} ms apart, ms (min {low:.2}, p95 {high:.2}), p50", options.pause);
        match budget {
            Some(budget) => report.line(&title, spaced.median(), *budget)?,
            None => report.note(&title, spaced.median())?,
        }
        report.note(&format!("{name}, one call after the other, ms, p50"), at_once.median())?;
    }
    report.note("resident memory of the server with all that waits, MB", resident_mb(client.pid())?)?;
    std::thread::sleep(QUIET);
    let idle = resident_mb(client.pid())?;
    report.line("the same when nobody has run anything for a minute, MB", idle, IDLE_BUDGET_MB)?;
    client.end()?;
    Ok(report.verdict())
}

fn timings(
    client: &mut Client,
    arguments: &serde_json::Value,
    rounds: u32,
    pause: Duration,
) -> anyhow::Result<Timings> {
    let mut timings = Timings::default();
    for round in 0..rounds + UNTIMED {
        std::thread::sleep(pause);
        let started = Instant::now();
        let answer = client.tool("run_code", arguments)?;
        let took = started.elapsed();
        anyhow::ensure!(answer.pointer("/structuredContent/stdout") == Some(&json!("2\n")), "{answer}");
        if round >= UNTIMED {
            timings.push(took);
        }
    }
    Ok(timings)
}
