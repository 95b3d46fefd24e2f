//! How belljar's cost grows with what it is asked: one server, Python in WebAssembly, over standard streams.

use std::collections::HashMap;
use std::time::{Duration, Instant};

use anyhow::Context as _;
use serde_json::{Value, json};

use super::catalogue::{IN_WASM, Scene, belljar};
use super::conversation::{Runs as _, Server};
use super::table::{Growth, Series};
use super::work::memory;
use crate::statistics::Timings;

const PATIENCE: Duration = Duration::from_mins(1);

/// How far each goes.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Reach {
    concurrency: u32,
    code: u32,
    output: u32,
    sessions: u32,
    files: u32,
    /// For one point.
    longest: Duration,
}

impl Reach {
    pub(crate) const WHOLE: Self = Self {
        concurrency: 256,
        code: 10_000_000,
        output: 100_000_000,
        sessions: 1000,
        files: 10_000,
        longest: Duration::from_secs(2),
    };
    pub(crate) const QUICK: Self = Self {
        concurrency: 8,
        code: 10_000,
        output: 100_000,
        sessions: 10,
        files: 100,
        longest: Duration::from_millis(300),
    };
}

pub(crate) fn measure(scene: &Scene<'_>, reach: Reach) -> anyhow::Result<Vec<Growth>> {
    let mut server = start(scene, &[])?;
    let mut found = concurrency(&mut server, reach)?;
    found.push(code(&mut server, reach));
    found.push(output(&mut server, reach));
    found.push(files(&mut server, reach));
    drop(server);
    let mut server = start(scene, &["--sessions-per-caller", "1024"])?;
    found.extend(sessions(&mut server, reach)?);
    Ok(found)
}

fn start(scene: &Scene<'_>, arguments: &[&str]) -> anyhow::Result<Server> {
    let mut server = Server::start(belljar(scene, arguments), IN_WASM, &scene.folder.log("growth"))?;
    for _ in 0..20 {
        server.run("print(1)", PATIENCE)?;
    }
    Ok(server)
}

fn concurrency(server: &mut Server, reach: Reach) -> anyhow::Result<Vec<Growth>> {
    let (mut one, mut all) = (Vec::new(), Vec::new());
    for level in doubled(reach.concurrency) {
        let (mut waiting, mut timings) = (HashMap::new(), Timings::default());
        let began = Instant::now();
        while began.elapsed() < reach.longest || !waiting.is_empty() {
            while began.elapsed() < reach.longest && waiting.len() < level as usize {
                waiting.insert(server.submit("print(1)", None)?, Instant::now());
            }
            let (id, answer) = server.receive(PATIENCE)?.context("an answer")?;
            let sent: Instant = waiting.remove(&id).context("an answer to nothing")?;
            anyhow::ensure!(answer.text == "1\n", "{answer:?}");
            timings.push(sent.elapsed());
        }
        one.push((f64::from(level), timings.median()));
        #[expect(clippy::cast_precision_loss, reason = "some thousands")]
        all.push((f64::from(level), timings.count() as f64 / began.elapsed().as_secs_f64()));
    }
    let queue = "8 runs for each processor go on at one time, and more wait in a queue: callers wait longer, and no run is lost.";
    let flat = "Flat is good: once all processors are busy, more callers should not cost throughput.";
    Ok(vec![
        growth(
            ["concurrency", "A run, with others beside it", "runs at a time", "ms, p50"],
            queue,
            vec![whole("print(1)", one)],
        ),
        growth(
            ["throughput", "Runs a second, by runs at a time", "runs at a time", "runs a second"],
            flat,
            vec![whole("print(1)", all)],
        ),
    ])
}

fn code(server: &mut Server, reach: Reach) -> Growth {
    let comment = |size: u32| json!({"code": format!("#{}", "x".repeat(size as usize - 1))});
    let lines = |size: u32| json!({"code": "x = 1\n".repeat((size as usize / 6).max(1))});
    let said = "A comment only has to be sent and skipped. Lines have to be compiled too, by Python in WebAssembly.";
    let series = vec![
        grown(server, "one comment", tenfold(reach.code), reach, comment),
        grown(server, "lines of x = 1", tenfold(reach.code), reach, lines),
    ];
    growth(["code", "A run, by the size of its program", "bytes of code", "ms, median"], said, series)
}

fn output(server: &mut Server, reach: Reach) -> Growth {
    let code = |size: u32| json!({"code": format!("print('x' * {})", size - 1)});
    let said = "1 MiB of each stream is kept (its head and tail), and the rest is counted.";
    let series = vec![grown(server, "one line", tenfold(reach.output), reach, code)];
    growth(["output", "A run, by the size of its output", "bytes printed", "ms, median"], said, series)
}

fn files(server: &mut Server, reach: Reach) -> Growth {
    let made = |count: u32| json!({"code": format!("for n in range({count}):\n    open(f'f{{n}}', 'w').write('x')")});
    let given = |count: u32| {
        let files: Vec<Value> = (0..count).map(|number| json!({"path": format!("f{number}"), "text": "x"})).collect();
        json!({"code": "pass", "files": files})
    };
    let said = "Files that a program makes are listed in its result.";
    let series = vec![
        grown(server, "made by the program", tenfold(reach.files), reach, made),
        grown(server, "given to the program", tenfold(reach.files), reach, given),
    ];
    growth(["files", "A run, by its files", "files of one byte", "ms, median"], said, series)
}

fn sessions(server: &mut Server, reach: Reach) -> anyhow::Result<Vec<Growth>> {
    let (mut opening, mut cells, mut taken) = (Vec::new(), Vec::new(), Vec::new());
    let mut open = 0;
    let mut stopped = None;
    'all: for wanted in tenfold(reach.sessions) {
        let mut timings = Timings::default();
        while open < wanted {
            let began = Instant::now();
            if let Err(refused) = cell(server, open) {
                stopped = Some(format!("at {open}: {refused:#}"));
                break 'all;
            }
            timings.push(began.elapsed());
            open += 1;
        }
        opening.push((f64::from(open), timings.median()));
        let mut timings = Timings::default();
        // Spread over all of them, the oldest too.
        for round in 0..50 {
            let began = Instant::now();
            cell(server, round * 7919 % open)?;
            timings.push(began.elapsed());
        }
        cells.push((f64::from(open), timings.median()));
        taken.push((f64::from(open), memory(&server.processes())));
    }
    let told =
        "A caller has at most 64 sessions by default. This server was started with `--sessions-per-caller 1024`.";
    let shared = "The server and its workers. Pages that sessions share are counted once.";
    let series = |name: &str, points| Series { name: name.to_owned(), points, stopped: stopped.clone() };
    let times = vec![series("first cell of a session", opening), series("a later cell", cells)];
    let live = "live Python sessions";
    Ok(vec![
        growth(["sessions", "A cell, by the sessions that are live", live, "ms, median"], told, times),
        growth(
            ["memory", "Memory, by the sessions that are live", live, "MiB"],
            shared,
            vec![series("all processes", taken)],
        ),
    ])
}

fn cell(server: &mut Server, session: u32) -> anyhow::Result<()> {
    let arguments = json!({"code": "x = 1", "session": format!("s{session}")});
    completed(server, &arguments)
}

/// The cost of the same thing in growing sizes, up to the first that is refused or fails.
fn grown(
    server: &mut Server,
    name: &str,
    sizes: impl Iterator<Item = u32>,
    reach: Reach,
    request: impl Fn(u32) -> Value,
) -> Series {
    let mut series = Series { name: name.to_owned(), points: Vec::new(), stopped: None };
    for size in sizes {
        let arguments = request(size);
        let mut timings = Timings::default();
        let end = Instant::now() + reach.longest;
        while timings.count() < 30 && (timings.count() == 0 || Instant::now() < end) {
            let began = Instant::now();
            if let Err(error) = completed(server, &arguments) {
                series.stopped = Some(format!("at {size}: {error:#}"));
                return series;
            }
            timings.push(began.elapsed());
        }
        series.points.push((f64::from(size), timings.median()));
    }
    series
}

fn completed(server: &mut Server, arguments: &Value) -> anyhow::Result<()> {
    let mut arguments = arguments.clone();
    if let Some(arguments) = arguments.as_object_mut() {
        arguments.insert("language".to_owned(), json!("python"));
        arguments.insert("engine".to_owned(), json!("wasm"));
    }
    let result = server.tool("run_code", &arguments, PATIENCE)?;
    let said = || {
        let text = result.pointer("/content/0/text").and_then(Value::as_str).unwrap_or_default();
        super::install::telling_line(text)
    };
    anyhow::ensure!(result.pointer("/structuredContent/exit_code") == Some(&json!(0)), "{}", said());
    Ok(())
}

fn growth([key, title, across, up]: [&str; 4], said: &str, series: Vec<Series>) -> Growth {
    let [key, title, across, up, said] = [key, title, across, up, said].map(str::to_owned);
    Growth { key, title, across, up, series, said }
}

fn whole(name: &str, points: Vec<(f64, f64)>) -> Series {
    Series { name: name.to_owned(), points, stopped: None }
}

fn doubled(last: u32) -> impl Iterator<Item = u32> {
    std::iter::successors(Some(1), move |level| Some(level * 2).filter(|level| *level <= last))
}

fn tenfold(last: u32) -> impl Iterator<Item = u32> {
    std::iter::successors(Some(1), move |size| Some(size * 10).filter(|size| *size <= last))
}
