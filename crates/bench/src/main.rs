//! Measures belljar against plain processes and other sandboxes, in one run and interleaved, so that a busy machine is busy for all.

mod native;
mod statistics;

use std::process::ExitCode;

use clap::{Parser, Subcommand};

#[derive(Debug, Parser)]
struct Arguments {
    #[command(subcommand)]
    suite: Suite,
}

#[derive(Debug, Subcommand)]
enum Suite {
    /// The native engine: what a sandbox adds to fork and exec, how many a second, and whether anything grows
    Native(native::Options),
}

fn main() -> anyhow::Result<ExitCode> {
    // The engines re-execute this binary as their launcher, which must have a single thread.
    if std::env::args_os().nth(1).is_some_and(|argument| argument == engine_native::LAUNCHER_ARGUMENT) {
        jail::launcher::run()?;
        return Ok(ExitCode::SUCCESS);
    }
    let Suite::Native(options) = Arguments::parse().suite;
    let tokio = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build()?;
    tokio.block_on(native::run(&options))
}
