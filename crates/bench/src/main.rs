//! Measures belljar against plain processes and other sandboxes, in one run and interleaved, so that a busy machine is busy for all.

mod mcp;
mod native;
mod packages;
mod parked;
mod peers;
mod picture;
mod server;
mod sessions;
mod statistics;
mod wasm;

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
    /// The wasm engine: latency, throughput and memory of fresh instances, and what its code costs beside native code
    Wasm(wasm::Options),
    /// The MCP server: from its start to its answers, over standard input and output and over HTTP
    Mcp(mcp::Options),
    /// Packages: what importing one costs, the first time and the second
    Packages(packages::Options),
    /// Interpreters that wait: what a native run costs with one, in turn and at once
    Parked(parked::Options),
    /// The published peers and belljar, side by side: installs them, runs the same work through each, and writes `docs/benchmarks.md`
    Peers(peers::Options),
    /// The picture in the README: `docs/example.svg`, drawn from what `belljar example` prints
    Picture(picture::Options),
    /// Sessions: what a cell costs, opening and copying, and what a live one takes
    Sessions(sessions::Options),
}

fn main() -> anyhow::Result<ExitCode> {
    // The engines re-execute this binary as their launcher, which must have a single thread.
    if let Some(end) = belljar::helper() {
        return end;
    }
    let suite = Arguments::parse().suite;
    let tokio = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build()?;
    // As a task, like a server's handlers: between two threads of the runtime a wake-up costs what a short run costs.
    tokio.block_on(async {
        let suite = tokio::spawn(async move {
            match suite {
                Suite::Native(options) => native::run(&options).await,
                Suite::Wasm(options) => wasm::run(&options).await,
                Suite::Mcp(options) => mcp::run(&options),
                Suite::Packages(options) => packages::run(&options),
                Suite::Parked(options) => parked::run(&options),
                Suite::Peers(options) => peers::run(&options),
                Suite::Picture(options) => picture::run(&options),
                Suite::Sessions(options) => sessions::run(&options),
            }
        });
        suite.await?
    })
}
