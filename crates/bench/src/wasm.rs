//! `bench wasm`: the WebAssembly engine in a warm process, through its worker.

use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;
use std::time::{Duration, Instant};

use ::packages::{Installs, PackagePolicy};
use anyhow::Context as _;
use belljar::{Settings, engine};
use clap::Args;
use engine_native::ToolSearch;
use runtime::Runtime;
use sandbox::{EngineChoice, EngineId, Outcome, Policy, Request, Requirement};

use crate::statistics::Timings;

#[derive(Debug, Args)]
pub(crate) struct Options {
    /// Timings of each program
    #[arg(long, default_value_t = 2000)]
    rounds: u32,
    /// Runs for throughput
    #[arg(long, default_value_t = 5000)]
    runs: u32,
    /// Runs for growth of memory and descriptors
    #[arg(long, default_value_t = 100_000)]
    soak: u32,
    /// Timings of each program that is compiled
    #[arg(long, default_value_t = 40)]
    compiled: u32,
    /// Runs at one time for throughput
    #[arg(long, default_value_t = 8)]
    concurrency: usize,
    /// The folder of provisioned runtimes
    #[arg(long)]
    cache: PathBuf,
}

const PYTHON_BUDGET_MS: f64 = 0.8;
const NUMPY_BUDGET_MS: f64 = 1.5;
const JAVASCRIPT_BUDGET_MS: f64 = 0.2;
const RUBY_BUDGET_MS: f64 = 1.5;
const LUA_BUDGET_MS: f64 = 0.5;
const SQL_BUDGET_MS: f64 = 0.5;
const PHP_BUDGET_MS: f64 = 8.0;
const C_BUDGET_MS: f64 = 200.0;
const CPP_BUDGET_S: f64 = 1.5;

/// A program whose latency has a budget.
struct Program {
    name: &'static str,
    language: &'static str,
    code: &'static str,
    stdout: &'static str,
    /// At the median, where the product promises one.
    budget_ms: Option<f64>,
}

const PROGRAMS: &[Program] = &[
    Program {
        name: "Python",
        language: "python",
        code: "print(1+1)",
        stdout: "2\n",
        budget_ms: Some(PYTHON_BUDGET_MS),
    },
    Program {
        name: "Python with NumPy",
        language: "python",
        code: "import numpy as np\nprint(np.arange(10).sum())",
        stdout: "45\n",
        budget_ms: Some(NUMPY_BUDGET_MS),
    },
    Program {
        name: "JavaScript",
        language: "javascript",
        code: "console.log(1+1)",
        stdout: "2\n",
        budget_ms: Some(JAVASCRIPT_BUDGET_MS),
    },
    Program {
        name: "TypeScript",
        language: "typescript",
        code: "const x: number = 1; console.log(x + 1)",
        stdout: "2\n",
        budget_ms: None,
    },
    Program { name: "Ruby", language: "ruby", code: "puts 1+1", stdout: "2\n", budget_ms: Some(RUBY_BUDGET_MS) },
    Program { name: "Lua", language: "lua", code: "print(1 + 1)", stdout: "2\n", budget_ms: Some(LUA_BUDGET_MS) },
    Program {
        name: "SQL",
        language: "sql",
        code: "CREATE TABLE items (name TEXT, price REAL);\nINSERT INTO items VALUES ('tea', 3.2), ('cake', 4.5);\n\
               SELECT name, price FROM items;",
        stdout: "name  price\n----  -----\ntea   3.2  \ncake  4.5  \n",
        budget_ms: Some(SQL_BUDGET_MS),
    },
    Program {
        name: "PHP",
        language: "php",
        code: "<?php echo 1+1, PHP_EOL;",
        stdout: "2\n",
        budget_ms: Some(PHP_BUDGET_MS),
    },
];

/// Programs that are compiled first. The budget is for a program that was not seen before.
const COMPILED: &[Program] = &[
    Program {
        name: "C",
        language: "c",
        code: "#include <stdio.h>\nint main(void) { printf(\"%d\\n\", 1 + 1); }\n",
        stdout: "2\n",
        budget_ms: Some(C_BUDGET_MS),
    },
    Program {
        name: "C++",
        language: "cpp",
        code: "#include <iostream>\nint main() { std::cout << 1 + 1 << \"\\n\"; }\n",
        stdout: "2\n",
        budget_ms: Some(CPP_BUDGET_S * 1e3),
    },
];
const AGAIN_BUDGET_MS: f64 = 10.0;

const THROUGHPUT_BUDGET: f64 = 1000.0;
const PRIVATE_BUDGET_KIB: u64 = 2048;
const SLOWDOWN_BUDGET: f64 = 3.0;
const CPU_TURNS: u32 = 5;

/// Each prints how many seconds its loop took.
const CPU_WORK: &[(&str, &str)] = &[
    (
        "fib(25)",
        "import time\ndef fib(n):\n    return n if n < 2 else fib(n - 1) + fib(n - 2)\n\
         best = 9\nfor _ in range(5):\n    t = time.perf_counter(); fib(25); best = min(best, time.perf_counter() - t)\nprint(best)",
    ),
    (
        "floats",
        "import time, math\ndef work():\n    x, v = [0.1 * i for i in range(20)], [0.0] * 20\n    for _ in range(50):\n        \
         for i in range(20):\n            a = 0.0\n            for j in range(20):\n                if i != j:\n                    \
         d = x[j] - x[i]; a += d / (math.sqrt(d * d + 0.01) ** 3)\n            v[i] += a * 1e-4\n        \
         for i in range(20):\n            x[i] += v[i] * 1e-4\n\
         best = 9\nfor _ in range(5):\n    t = time.perf_counter(); work(); best = min(best, time.perf_counter() - t)\nprint(best)",
    ),
    (
        "dicts and strings",
        "import time\ndef work():\n    d = {}\n    for i in range(100000):\n        k = 'key%d' % (i % 5000)\n        \
         d[k] = d.get(k, 0) + len(k)\n    return sorted(d.items())\n\
         best = 9\nfor _ in range(5):\n    t = time.perf_counter(); work(); best = min(best, time.perf_counter() - t)\nprint(best)",
    ),
];

pub(crate) async fn run(options: &Options) -> anyhow::Result<ExitCode> {
    let runtime = Arc::new(engine::runtime(&settings(options)?, Vec::new()).await?);
    let mut out = std::io::stdout();
    let mut met = true;
    let mut verdict = |ok: bool| {
        met &= ok;
        if ok { "met" } else { "MISSED" }
    };

    writeln!(out, "ms from request to outcome, a fresh instance each, {} rounds\n", options.rounds)?;
    writeln!(out, "                         min       p50       p95       p99    budget (p50)")?;
    for program in PROGRAMS {
        let timings = latency(&runtime, program, options.rounds).await?;
        let [low, middle, high, highest] = [0.0, 0.5, 0.95, 0.99].map(|share| timings.percentile(share));
        let promise = program.budget_ms.map(|budget| format!("{budget}: {}", verdict(middle <= budget)));
        let promise = promise.unwrap_or_default();
        writeln!(out, "{:<20} {low:8.3}  {middle:8.3}  {high:8.3}  {highest:8.3}    {promise}", program.name)?;
    }
    for program in PROGRAMS.iter().filter(|program| program.name == "Python" || program.name == "JavaScript") {
        let per_second = throughput(&runtime, program, options.runs, options.concurrency).await?;
        writeln!(
            out,
            "{} runs per second, {} at a time: {per_second:.0} (budget {THROUGHPUT_BUDGET}): {}",
            program.name,
            options.concurrency,
            verdict(per_second >= THROUGHPUT_BUDGET)
        )?;
    }
    let private = private_memory(&runtime).await?;
    writeln!(
        out,
        "private memory of a live Python instance: {private} KiB (budget {PRIVATE_BUDGET_KIB}): {}",
        verdict(private <= PRIVATE_BUDGET_KIB)
    )?;

    writeln!(
        out,
        "\nCPU work in Python, seconds, best of {CPU_TURNS} times 5\n\n                       wasm    native    ratio (budget {SLOWDOWN_BUDGET})"
    )?;
    for (name, code) in CPU_WORK {
        let [mut wasm, mut native] = [f64::INFINITY; 2];
        // In turns, so that a neighbour of this machine's slows both.
        for _ in 0..CPU_TURNS {
            wasm = wasm.min(seconds(&runtime, EngineId::Wasm, code).await?);
            native = native.min(seconds(&runtime, EngineId::Native, code).await?);
        }
        let ratio = wasm / native;
        writeln!(out, "{name:<20} {wasm:8.4}  {native:8.4}  {ratio:7.2}: {}", verdict(ratio <= SLOWDOWN_BUDGET))?;
    }

    let (before, after) = soak(&runtime, options).await?;
    writeln!(
        out,
        "\nover {} runs: descriptors {} to {}, proportional memory of server and worker {} to {} KiB",
        options.soak, before.descriptors, after.descriptors, before.resident_kib, after.resident_kib
    )?;

    writeln!(out, "\nms from request to outcome, {} rounds\n", options.compiled)?;
    writeln!(out, "                         min       p50       p95       p99    budget (p50)")?;
    for program in COMPILED {
        let new = latency_of_new(&runtime, program, options.compiled).await?;
        let again = latency(&runtime, program, options.compiled).await?;
        for (what, timings, budget) in
            [("new", new, program.budget_ms.unwrap_or_default()), ("again", again, AGAIN_BUDGET_MS)]
        {
            let [low, middle, high, highest] = [0.0, 0.5, 0.95, 0.99].map(|share| timings.percentile(share));
            let name = format!("{}, {what}", program.name);
            let promise = verdict(middle <= budget);
            writeln!(out, "{name:<20} {low:8.3}  {middle:8.3}  {high:8.3}  {highest:8.3}    {budget}: {promise}")?;
        }
    }
    Ok(if met { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

fn settings(options: &Options) -> anyhow::Result<Settings> {
    let path = ["/usr/local/bin", "/usr/bin", "/bin"].map(PathBuf::from).into();
    Ok(Settings {
        off_limits: Vec::new(),
        policy: Policy::default(),
        require: Requirement::Full,
        tools: ToolSearch { path, home: None, own: Vec::new() },
        scratch: std::env::current_exe()?.with_file_name("bench-scratch"),
        cache: options.cache.clone(),
        recipes: setup::Scratch::Keep,
        environment: Vec::new(),
        packages: PackagePolicy { installs: Installs::Nothing, ..PackagePolicy::default() },
        python: None,
        pythons: Vec::new(),
        ahead: engine_native::Ahead::Never,
    })
}

fn request(language: &str, code: &str, engine: EngineChoice) -> Request {
    Request { code: code.into(), language: Some(language.to_owned()), engine, ..Request::default() }
}

async fn once(runtime: &Runtime, program: &Program) -> anyhow::Result<Outcome> {
    once_as(runtime, program, program.code).await
}

async fn once_as(runtime: &Runtime, program: &Program, code: &str) -> anyhow::Result<Outcome> {
    let request = request(program.language, code, EngineChoice::Only(EngineId::Wasm));
    let outcome = runtime.run(request, &mut ()).await?;
    anyhow::ensure!(outcome.stdout.text == program.stdout, "{}: {outcome:?}", program.name);
    Ok(outcome)
}

async fn latency(runtime: &Runtime, program: &Program, rounds: u32) -> anyhow::Result<Timings> {
    for _ in 0..20 {
        once(runtime, program).await?;
    }
    let mut timings = Timings::default();
    for _ in 0..rounds {
        let started = Instant::now();
        once(runtime, program).await?;
        timings.push(started.elapsed());
    }
    Ok(timings)
}

/// The same program in other words every time.
async fn latency_of_new(runtime: &Runtime, program: &Program, rounds: u32) -> anyhow::Result<Timings> {
    let mut timings = Timings::default();
    for round in 0..rounds + 3 {
        let code = format!("{}// {round}\n", program.code);
        let started = Instant::now();
        once_as(runtime, program, &code).await?;
        // The first ones start what waits for the others.
        if round >= 3 {
            timings.push(started.elapsed());
        }
    }
    Ok(timings)
}

async fn throughput(
    runtime: &Arc<Runtime>,
    program: &'static Program,
    runs: u32,
    concurrency: usize,
) -> anyhow::Result<f64> {
    let each = runs / u32::try_from(concurrency)?;
    let started = Instant::now();
    let mut tasks = tokio::task::JoinSet::new();
    for _ in 0..concurrency {
        let runtime = Arc::clone(runtime);
        tasks.spawn(async move {
            for _ in 0..each {
                once(&runtime, program).await?;
            }
            anyhow::Ok(())
        });
    }
    while let Some(task) = tasks.join_next().await {
        task??;
    }
    let total = f64::from(each) * f64::from(u32::try_from(concurrency)?);
    Ok(total / started.elapsed().as_secs_f64())
}

/// What one more live instance adds to the worker's private memory.
async fn private_memory(runtime: &Arc<Runtime>) -> anyhow::Result<u64> {
    const LIVE: u64 = 12;
    let worker = workers().into_iter().next().context("there is no worker")?;
    // Until it has given up what it kept for earlier runs.
    tokio::time::sleep(Duration::from_secs(2)).await;
    let before = private_kib(&worker)?;
    let mut tasks = tokio::task::JoinSet::new();
    for _ in 0..LIVE {
        let runtime = Arc::clone(runtime);
        tasks.spawn(async move {
            let code = "import time\nprint(1+1)\ntime.sleep(1)";
            runtime.run(request("python", code, EngineChoice::Only(EngineId::Wasm)), &mut ()).await
        });
    }
    tokio::time::sleep(Duration::from_millis(700)).await;
    let during = private_kib(&worker)?;
    while let Some(task) = tasks.join_next().await {
        task??;
    }
    Ok(during.saturating_sub(before) / LIVE)
}

async fn seconds(runtime: &Runtime, engine: EngineId, code: &str) -> anyhow::Result<f64> {
    let outcome = runtime.run(request("python", code, EngineChoice::Only(engine)), &mut ()).await?;
    outcome.stdout.text.trim().parse().with_context(|| format!("{outcome:?}"))
}

struct Footprint {
    descriptors: usize,
    resident_kib: u64,
}

async fn soak(runtime: &Arc<Runtime>, options: &Options) -> anyhow::Result<(Footprint, Footprint)> {
    let python = PROGRAMS.first().context("programs")?;
    throughput(runtime, python, 2000, options.concurrency).await?;
    let before = footprint()?;
    throughput(runtime, python, options.soak, options.concurrency).await?;
    Ok((before, footprint()?))
}

fn footprint() -> anyhow::Result<Footprint> {
    let mut folders = workers();
    folders.push("/proc/self".into());
    let descriptors =
        folders.iter().map(|folder| std::fs::read_dir(folder.join("fd")).map_or(0, Iterator::count)).sum();
    // Shared pages once: every instance maps the same image.
    let resident =
        folders.iter().map(|folder| field(&folder.join("smaps_rollup"), "Pss:")).sum::<anyhow::Result<u64>>()?;
    Ok(Footprint { descriptors, resident_kib: resident })
}

/// The `/proc` folders of this process's workers.
fn workers() -> Vec<PathBuf> {
    let entries = std::fs::read_dir("/proc").into_iter().flatten().flatten();
    let is_worker = |path: &PathBuf| {
        let line = std::fs::read(path.join("cmdline")).unwrap_or_default();
        line.split(|byte| *byte == 0).nth(1) == Some(engine_wasm::WORKER_ARGUMENT.as_bytes()) && is_ours(path)
    };
    entries.map(|entry| entry.path()).filter(is_worker).collect()
}

/// Whether this process is among its ancestors.
fn is_ours(process: &Path) -> bool {
    let parent = |process: &Path| {
        let status = std::fs::read_to_string(process.join("status")).ok()?;
        status.lines().find_map(|line| line.strip_prefix("PPid:")?.trim().parse::<u32>().ok())
    };
    let mut next = parent(process);
    while let Some(pid) = next.filter(|pid| *pid > 1) {
        if pid == std::process::id() {
            return true;
        }
        next = parent(&PathBuf::from(format!("/proc/{pid}")));
    }
    false
}

fn private_kib(process: &Path) -> anyhow::Result<u64> {
    field(&process.join("smaps_rollup"), "Private_Dirty:")
}

/// A figure in KiB out of one of `/proc`'s tables.
fn field(file: &Path, name: &str) -> anyhow::Result<u64> {
    let text = std::fs::read_to_string(file).with_context(|| file.display().to_string())?;
    let line = text.lines().find_map(|line| line.strip_prefix(name)).with_context(|| format!("no {name}"))?;
    Ok(line.trim().trim_end_matches(" kB").parse()?)
}
