//! `bench peers`: the published peers and belljar, side by side: the same work in one run, one table, one page.

mod catalogue;
mod conversation;
mod growth;
mod install;
mod jails;
mod page;
mod plot;
mod probes;
mod table;
mod work;

use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::{Duration, Instant};

use anyhow::Context as _;
use clap::Args;
use testkit::arena::host_command;

use catalogue::{IN_WASM, PEERS, Scene, belljar};
use conversation::{Runs as _, Server};
use install::Folder;
use table::Results;
use work::Effort;

use crate::server;

#[derive(Debug, Args)]
pub(crate) struct Options {
    /// A smoke run: a little of everything. Its numbers mean nothing, and are only printed unless `--docs` says where they go
    #[arg(long)]
    quick: bool,
    /// Write the page and the plots again from the data of the last run
    #[arg(long)]
    redraw: bool,
    /// These peers only, or `growth` (repeatable). Printed only, too
    #[arg(long, value_name = "NAME")]
    only: Vec<String>,
    /// The folder of provisioned runtimes [default: belljar's own]
    #[arg(long)]
    cache: Option<PathBuf>,
    /// The server [default: the one beside this program, which is built first]
    #[arg(long)]
    server: Option<PathBuf>,
    /// Where peers are installed [default: `peers` beside this program]
    #[arg(long)]
    folder: Option<PathBuf>,
    /// Where `benchmarks.md` is written [default: the project's `docs`]
    #[arg(long)]
    docs: Option<PathBuf>,
}

pub(crate) fn run(options: &Options) -> anyhow::Result<ExitCode> {
    let own = || Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs");
    let results = if options.redraw {
        let data = options.docs.clone().unwrap_or_else(own).join("benchmarks/peers.json");
        serde_json::from_slice(&fs::read(data)?)?
    } else {
        measure(options)?
    };
    write!(std::io::stdout(), "{}", page::printed(&results))?;
    // The project's page is of a whole run.
    let is_whole = !options.quick && options.only.is_empty();
    let Some(docs) = options.docs.clone().or_else(|| is_whole.then(own)) else { return Ok(ExitCode::SUCCESS) };
    let gaps = results.gaps();
    anyhow::ensure!(
        gaps.is_empty(),
        "`{}` stays as it is, for of belljar itself not all was measured:\n{}",
        docs.join("benchmarks.md").display(),
        gaps.join("\n")
    );
    page::write(&results, &docs)?;
    Ok(ExitCode::SUCCESS)
}

fn measure(options: &Options) -> anyhow::Result<Results> {
    let names: Vec<&str> = PEERS.iter().map(|peer| peer.name).chain(["growth"]).collect();
    if let Some(unknown) = options.only.iter().find(|only| !names.contains(&only.as_str())) {
        anyhow::bail!("`{unknown}` is none of {}", names.join(", "));
    }
    let began = Instant::now();
    let beside = std::env::current_exe()?;
    let path = options.folder.clone().unwrap_or_else(|| beside.with_file_name("peers"));
    let mut tell = |what: &str| drop(writeln!(std::io::stderr(), "{:4.0} s  {what}", began.elapsed().as_secs_f64()));
    let belljar = match &options.server {
        Some(server) => server.clone(),
        None => server::build()?,
    };
    let mut folder = Folder::install(path, &mut tell)?;
    let mut version = host_command(&belljar);
    version.arg("--version");
    folder.note("belljar", version);
    let scene = Scene { folder: &folder, belljar, cache: options.cache.clone() };
    let (effort, reach) =
        if options.quick { (Effort::QUICK, growth::Reach::QUICK) } else { (Effort::WHOLE, growth::Reach::WHOLE) };
    let wanted = |name: &str| options.only.is_empty() || options.only.iter().any(|only| only == name);
    if wanted("belljar") || wanted("growth") {
        tell("belljar's own runtimes");
        provide(&scene)?;
    }
    let mut columns = Vec::new();
    for peer in PEERS.iter().filter(|peer| wanted(peer.name)) {
        tell(peer.name);
        columns.push(work::measure(peer, &scene, effort));
    }
    let mut growth = Vec::new();
    if wanted("growth") {
        tell("growth");
        // What was measured before is worth being printed.
        match growth::measure(&scene, reach) {
            Ok(measured) => growth = measured,
            Err(error) => tell(&format!("growth cannot be measured: {error:#}")),
        }
    }
    Ok(Results {
        machine: machine()?,
        day: day(),
        took_s: began.elapsed().as_secs_f64(),
        method: method(effort),
        versions: folder.versions.clone(),
        columns,
        growth,
    })
}

/// Sets up Python and NumPy in WebAssembly, if they are not, and sees that programs run in them: without, `auto` would run natively, and
/// nobody would see it in a number.
fn provide(scene: &Scene<'_>) -> anyhow::Result<()> {
    let mut setup = host_command(&scene.belljar);
    setup.args(["setup", "python", "numpy"]);
    if let Some(cache) = &scene.cache {
        setup.env("BELLJAR_CACHE", cache);
    }
    let status = setup.status().context("cannot start belljar")?;
    anyhow::ensure!(
        status.success(),
        "Python in WebAssembly is not set up, and is what is to be compared; see `belljar setup`"
    );
    let mut server = Server::start(belljar(scene, &[]), IN_WASM, &scene.folder.log("belljar's runtimes"))?;
    for code in ["print(1)", "import numpy\nprint(numpy.ones(1, int)[0])"] {
        let answer = server.run(code, Duration::from_mins(1))?;
        let ran = (answer.text.as_str(), answer.engine.as_deref());
        anyhow::ensure!(
            ran == ("1\n", Some("wasm")),
            "belljar does not run Python in WebAssembly here: {}",
            answer.text
        );
    }
    Ok(())
}

fn method(effort: Effort) -> String {
    format!(
        "Each peer is measured alone, one after the other, over pipes. Libraries sit behind a small driver that speaks \
         the same messages as the servers, so that all pay for the same pipes. The program is \
         `print(sum(range(100)))` in Python. Starts are medians of {}. Warm runs come one after the other: {} untimed, \
         then {} timed or as many as fit into {} s, at least 3; a p99 needs at least 100. Throughput is measured for \
         {} s with 8 runs in flight, each with output of its own. Where a peer takes limits they are 30 s and 512 MiB. \
         Memory is the proportional set size of all its processes. The isolation probes are judged from the host's \
         side (the file is there, the listener was reached), after a check that the program ran. Everything is \
         compiled ahead and warm in the file cache, belljar's runtimes and the peers' alike. Each of belljar's runs is \
         checked to come from the engine of its column.",
        effort.starts,
        effort.untimed,
        effort.rounds,
        effort.longest.as_secs(),
        effort.longest.as_secs()
    )
}

/// What this ran on, in a line.
fn machine() -> anyhow::Result<String> {
    let first = |path: &str, name: &str| {
        let text = fs::read_to_string(path).unwrap_or_default();
        let line = text
            .lines()
            .find_map(|line| line.strip_prefix(name).map(|rest| rest.trim_matches([':', ' ', '\t']).to_owned()));
        line.unwrap_or_default()
    };
    let memory = first("/proc/meminfo", "MemTotal");
    let kibibytes: f64 =
        memory.split_whitespace().next().and_then(|number| number.parse().ok()).context("`MemTotal`")?;
    let kernel = fs::read_to_string("/proc/sys/kernel/osrelease")?;
    let user = if testkit::arena::running_as_root() { "root" } else { "an ordinary user" };
    Ok(format!(
        "{} processors ({}), {:.0} GiB, Linux {}, as {user}",
        std::thread::available_parallelism()?,
        first("/proc/cpuinfo", "model name"),
        kibibytes / 1024.0 / 1024.0,
        kernel.trim()
    ))
}

/// Today, as `date` writes it.
fn day() -> String {
    let said = host_command("date").arg("+%-d %B %Y").env("LC_ALL", "C").output();
    said.map(|said| String::from_utf8_lossy(&said.stdout).trim().to_owned()).unwrap_or_default()
}
