//! `bench native`.

use std::io::Write as _;
use std::path::PathBuf;
use std::process::{Command, ExitCode, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

use clap::Args;
use engine_native::{NativeConfig, NativeEngine, ToolSearch};
use runtime::Runtime;
use sandbox::{Policy, Request, Requirement};

use crate::statistics::Timings;

/// The budgets that this suite holds: `DESIGN`'s for the native engine.
const ADDED_COST_BUDGET_MS: f64 = 5.0;
const THROUGHPUT_BUDGET: f64 = 150.0;

const PROGRAM: Program = Program { language: "python", code: "print(1+1)" };
/// The least that can run: what is left is the sandbox.
const SMALLEST: Program = Program { language: "sh", code: "echo 2" };

/// Prints `2`.
#[derive(Debug, Clone, Copy)]
struct Program {
    language: &'static str,
    code: &'static str,
}

#[derive(Debug, Args)]
pub(crate) struct Options {
    /// Timings of each kind
    #[arg(long, default_value_t = 200)]
    rounds: u32,
    /// Runs for throughput and growth
    #[arg(long, default_value_t = 1000)]
    runs: u32,
    /// Runs at one time for throughput
    #[arg(long, default_value_t = 8)]
    concurrency: usize,
}

pub(crate) async fn run(options: &Options) -> anyhow::Result<ExitCode> {
    let runtime = Arc::new(start().await?);
    // The first run also asks the interpreter for its version.
    for _ in 0..10 {
        sandboxed(&runtime, PROGRAM).await?;
        sandboxed(&runtime, SMALLEST).await?;
    }
    let latency = latency(&runtime, options.rounds).await?;
    let before = Footprint::of_this_tree();
    let python = throughput(&runtime, PROGRAM, options).await?;
    let per_second = throughput(&runtime, SMALLEST, options).await?;
    let after = Footprint::of_this_tree();

    let verdict = |met| if met { "met" } else { "MISSED" };
    let added = latency.belljar.median() - latency.plain.median();
    let mut out = std::io::stdout();
    writeln!(out, "`{}` with python3, {} rounds interleaved, ms from start to end\n", PROGRAM.code, options.rounds)?;
    writeln!(out, "                    min    median       p95")?;
    for (name, timings) in latency.rows() {
        let [low, middle, high] = [0.0, 0.5, 0.95].map(|share| timings.percentile(share));
        writeln!(out, "{name:<14} {low:8.2}  {middle:8.2}  {high:8.2}")?;
    }
    write!(
        out,
        "\nadded by belljar over fork and exec: {added:.2} ms median (budget {ADDED_COST_BUDGET_MS} ms): {}\n\
         sandboxes per second, {} at a time: {per_second:.0} with `sh` (budget {THROUGHPUT_BUDGET}): {}; {python:.0} with python3\n\
         over {} runs of each: descriptors {} to {}, processes {} to {}, mounts {} to {}, resident {} to {} KiB\n",
        verdict(added <= ADDED_COST_BUDGET_MS),
        options.concurrency,
        verdict(per_second >= THROUGHPUT_BUDGET),
        options.runs,
        before.descriptors,
        after.descriptors,
        before.processes,
        after.processes,
        before.mounts,
        after.mounts,
        before.resident_kib,
        after.resident_kib,
    )?;
    let met = added <= ADDED_COST_BUDGET_MS && per_second >= THROUGHPUT_BUDGET;
    Ok(if met { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

async fn start() -> anyhow::Result<Runtime> {
    let path = ["/usr/local/bin", "/usr/bin", "/bin"].map(PathBuf::from).into();
    let native = NativeEngine::start(NativeConfig {
        launcher: "/proc/self/exe".into(),
        tools: ToolSearch { path, home: None, own: Vec::new() },
        scratch: std::env::current_exe()?.with_file_name("bench-scratch"),
        require: Requirement::Full,
        environment: None,
        environments: Vec::new(),
        ahead: engine_native::Ahead::Never,
        without: Vec::new(),
    })
    .await?;
    Ok(Runtime::new(Policy::default(), vec![Arc::new(native)]))
}

struct Latency {
    plain: Timings,
    belljar: Timings,
    plain_smallest: Timings,
    belljar_smallest: Timings,
    bubblewrap: Option<Timings>,
}

impl Latency {
    fn rows(&self) -> Vec<(&'static str, &Timings)> {
        let mut rows = vec![("fork and exec", &self.plain), ("belljar", &self.belljar)];
        rows.extend(self.bubblewrap.as_ref().map(|timings| ("bubblewrap", timings)));
        rows.extend([("sh plain", &self.plain_smallest), ("sh in belljar", &self.belljar_smallest)]);
        rows
    }
}

async fn latency(runtime: &Runtime, rounds: u32) -> anyhow::Result<Latency> {
    let bubblewrap = PathBuf::from("/usr/bin/bwrap").is_file().then(Timings::default);
    let mut latency = Latency {
        plain: Timings::default(),
        belljar: Timings::default(),
        plain_smallest: Timings::default(),
        belljar_smallest: Timings::default(),
        bubblewrap,
    };
    for _ in 0..rounds {
        latency.plain.push(command(&["/usr/bin/python3", "-c", PROGRAM.code])?);
        latency.belljar.push(sandboxed(runtime, PROGRAM).await?);
        latency.plain_smallest.push(command(&["/bin/sh", "-c", SMALLEST.code])?);
        latency.belljar_smallest.push(sandboxed(runtime, SMALLEST).await?);
        if let Some(timings) = &mut latency.bubblewrap {
            // What bubblewrap does by itself: no seccomp filter, no Landlock, no limits.
            timings.push(command(BUBBLEWRAP)?);
        }
    }
    Ok(latency)
}

#[rustfmt::skip]
const BUBBLEWRAP: &[&str] = &[
    "/usr/bin/bwrap", "--unshare-all", "--die-with-parent", "--new-session", "--clearenv",
    "--ro-bind", "/usr", "/usr", "--symlink", "usr/bin", "/bin", "--symlink", "usr/lib", "/lib", "--symlink", "usr/lib64", "/lib64",
    "--ro-bind", "/etc/ld.so.cache", "/etc/ld.so.cache", "--proc", "/proc", "--dev", "/dev", "--tmpfs", "/tmp",
    "/usr/bin/python3", "-c", PROGRAM.code,
];

#[expect(clippy::disallowed_methods, reason = "the peers are host processes")]
fn command(arguments: &[&str]) -> anyhow::Result<Duration> {
    let started = Instant::now();
    let (program, arguments) = arguments.split_first().ok_or_else(|| anyhow::anyhow!("no program"))?;
    let output = Command::new(program).args(arguments).env_clear().stdin(Stdio::null()).output()?;
    anyhow::ensure!(output.stdout == b"2\n", "{program}: {}", String::from_utf8_lossy(&output.stderr));
    Ok(started.elapsed())
}

async fn sandboxed(runtime: &Runtime, program: Program) -> anyhow::Result<Duration> {
    let started = Instant::now();
    let request =
        Request { code: program.code.into(), language: Some(program.language.to_owned()), ..Request::default() };
    let outcome = runtime.run(request, &mut ()).await?;
    anyhow::ensure!(outcome.stdout.text == "2\n", "{}", outcome.stderr.text);
    Ok(started.elapsed())
}

async fn throughput(runtime: &Arc<Runtime>, program: Program, options: &Options) -> anyhow::Result<f64> {
    let started = Instant::now();
    let mut workers = tokio::task::JoinSet::new();
    for worker in 0..options.concurrency {
        let share = options.runs as usize / options.concurrency
            + usize::from(worker < options.runs as usize % options.concurrency);
        let runtime = Arc::clone(runtime);
        workers.spawn(async move {
            for _ in 0..share {
                sandboxed(&runtime, program).await?;
            }
            anyhow::Ok(())
        });
    }
    while let Some(result) = workers.join_next().await {
        result??;
    }
    Ok(f64::from(options.runs) / started.elapsed().as_secs_f64())
}

/// What this process and its launcher hold.
struct Footprint {
    descriptors: usize,
    processes: usize,
    mounts: usize,
    resident_kib: u64,
}

impl Footprint {
    fn of_this_tree() -> Self {
        let count = |path: String| std::fs::read_dir(path).map_or(0, Iterator::count);
        let own = std::process::id();
        let children: Vec<u32> = children(own);
        let tree = std::iter::once(own).chain(children.iter().copied());
        let resident = |pid: u32| {
            let status = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
            let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
            line.and_then(|line| line.split_whitespace().next()?.parse::<u64>().ok()).unwrap_or(0)
        };
        Self {
            descriptors: tree.clone().map(|pid| count(format!("/proc/{pid}/fd"))).sum(),
            processes: 1 + children.len(),
            mounts: std::fs::read_to_string("/proc/self/mountinfo").map_or(0, |text| text.lines().count()),
            resident_kib: tree.map(resident).sum(),
        }
    }
}

fn children(pid: u32) -> Vec<u32> {
    let Ok(tasks) = std::fs::read_dir(format!("/proc/{pid}/task")) else {
        return Vec::new();
    };
    let lists = tasks.flatten().filter_map(|task| std::fs::read_to_string(task.path().join("children")).ok());
    lists.flat_map(|list| list.split_whitespace().filter_map(|pid| pid.parse().ok()).collect::<Vec<_>>()).collect()
}
