//! `bench mcp`: what a client of the server sees, over standard input and output and over HTTP.

use std::collections::HashMap;
use std::io::{BufRead as _, BufReader, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, ExitCode, Stdio};
use std::time::{Duration, Instant};

use anyhow::Context as _;
use clap::Args;
use serde_json::{Value, json};
use testkit::mcp_http::Endpoint;
use testkit::server::Served;

use crate::server;
use crate::statistics::Timings;

#[derive(Debug, Args)]
pub(crate) struct Options {
    /// Timings of each kind
    #[arg(long, default_value_t = 2000)]
    rounds: u32,
    /// Calls for throughput
    #[arg(long, default_value_t = 8000)]
    calls: u32,
    /// Starts of the server
    #[arg(long, default_value_t = 10)]
    starts: u32,
    /// The folder of provisioned runtimes
    #[arg(long)]
    cache: PathBuf,
}

const INITIALIZE_BUDGET_MS: f64 = 50.0;
const FIRST_RESULT_BUDGET_MS: f64 = 150.0;
const STDIO_BUDGET_MS: f64 = 0.7;
const HTTP_BUDGET_MS: f64 = 3.0;
const THROUGHPUT_BUDGET: f64 = 2000.0;
const SLEEPS_BUDGET_S: f64 = 0.8;
const LOOPS_BUDGET_S: f64 = 2.4;
const AT_A_TIME: u64 = 8;

pub(crate) fn run(options: &Options) -> anyhow::Result<ExitCode> {
    server::build()?;
    let mut report = Report::new();
    let (mut initialized, mut first) = (Timings::default(), Timings::default());
    for _ in 0..options.starts {
        let started = Instant::now();
        let mut client = Client::start(&options.cache)?;
        client.initialize()?;
        initialized.push(started.elapsed());
        client.run("python", "print(1+1)")?.printed("2\n")?;
        first.push(started.elapsed());
        client.end()?;
    }
    report.line("`initialize` answered, ms after the process started", initialized.median(), INITIALIZE_BUDGET_MS)?;
    report.line("first Python result, ms after the process started", first.median(), FIRST_RESULT_BUDGET_MS)?;

    let mut client = Client::start(&options.cache)?;
    client.initialize()?;
    for language in ["python", "javascript"] {
        let code = if language == "python" { "print(1+1)" } else { "console.log(1+1)" };
        let (mut timings, mut inside) = (Timings::default(), Timings::default());
        for round in 0..options.rounds + 50 {
            let started = Instant::now();
            let answer = client.run(language, code)?;
            if round >= 50 {
                timings.push(started.elapsed());
                inside.push(answer.wall()?);
            }
            answer.printed("2\n")?;
        }
        let [low, high, highest] = [0.0, 0.95, 0.99].map(|share| timings.percentile(share));
        let name = format!("{language} over stdio, ms (min {low:.3}, p95 {high:.3}, p99 {highest:.3}), p50");
        report.line(&name, timings.median(), STDIO_BUDGET_MS)?;
        report.note("  of which the program itself, in its instance, ms", inside.median())?;
    }
    report.note("  and four messages between processes that do nothing else, ms", hops(options.rounds)?.median())?;
    let per_second = client.throughput(options.calls)?;
    report.at_least(&format!("run_code per second, {AT_A_TIME} at a time"), per_second, THROUGHPUT_BUDGET)?;
    let sleeps = client.side_by_side(|number| format!("import time\ntime.sleep(0.5)\nprint({number})"))?;
    report.line(&format!("{AT_A_TIME} sleeps of 0.5 s, s"), sleeps, SLEEPS_BUDGET_S)?;
    let counts = client.counts_in(0.5)?;
    let spin = |number| format!("n = {counts}\nwhile n: n -= 1\nprint({number})");
    report.line(&format!("{AT_A_TIME} loops of 0.5 s of CPU, s"), client.side_by_side(spin)?, LOOPS_BUDGET_S)?;
    client.end()?;

    let served = Served::start(serve(&options.cache, &["--http", "127.0.0.1:0"])?)?;
    let client = Endpoint::new(served.address()).modern();
    let arguments = json!({"language": "python", "code": "print(1+1)"});
    let mut timings = Timings::default();
    for round in 0..options.rounds + 50 {
        let started = Instant::now();
        Answer(client.call("run_code", &arguments)?).printed("2\n")?;
        if round >= 50 {
            timings.push(started.elapsed());
        }
    }
    let name =
        format!("python over HTTP, ms (min {:.3}, p99 {:.3}), p50", timings.percentile(0.0), timings.percentile(0.99));
    report.line(&name, timings.median(), HTTP_BUDGET_MS)?;
    Ok(report.verdict())
}

#[derive(Debug, Clone, Copy)]
enum Verdict {
    Met,
    Missed,
}

/// Lines of results, and whether all budgets were met.
pub(crate) struct Report {
    out: std::io::Stdout,
    met: bool,
}

impl Report {
    pub(crate) fn new() -> Self {
        Self { out: std::io::stdout(), met: true }
    }

    pub(crate) fn verdict(&self) -> ExitCode {
        if self.met { ExitCode::SUCCESS } else { ExitCode::FAILURE }
    }

    /// A figure without a budget, in milliseconds.
    pub(crate) fn note(&mut self, name: &str, value: f64) -> std::io::Result<()> {
        writeln!(self.out, "{name}: {value:.3}")
    }

    pub(crate) fn line(&mut self, name: &str, value: f64, budget: f64) -> std::io::Result<()> {
        let verdict = if value <= budget { Verdict::Met } else { Verdict::Missed };
        self.say(name, value, budget, verdict)
    }

    fn at_least(&mut self, name: &str, value: f64, budget: f64) -> std::io::Result<()> {
        let verdict = if value >= budget { Verdict::Met } else { Verdict::Missed };
        self.say(name, value, budget, verdict)
    }

    fn say(&mut self, name: &str, value: f64, budget: f64, verdict: Verdict) -> std::io::Result<()> {
        let word = match verdict {
            Verdict::Met => "met",
            Verdict::Missed => {
                self.met = false;
                "MISSED"
            }
        };
        writeln!(self.out, "{name}: {value:.3} (budget {budget}): {word}")
    }
}

/// A tool's answer.
pub(crate) struct Answer(Value);

impl Answer {
    pub(crate) fn printed(&self, expected: &str) -> anyhow::Result<()> {
        let seen = self.0.pointer("/result/structuredContent/stdout").and_then(Value::as_str);
        anyhow::ensure!(seen == Some(expected), "expected {expected:?}: {}", self.0);
        Ok(())
    }

    /// How long the run itself took.
    fn wall(&self) -> anyhow::Result<Duration> {
        let millis = self.0.pointer("/result/structuredContent/usage/wall_ms").and_then(Value::as_f64);
        Ok(Duration::from_secs_f64(millis.context("a time")? / 1e3))
    }
}

/// What no server can be faster than that runs programs in another process: a line through three processes and back, as many messages as a call
/// takes to the server, to its worker and back.
#[expect(clippy::disallowed_methods, reason = "processes of the host's, to compare with")]
fn hops(rounds: u32) -> anyhow::Result<Timings> {
    let mut child =
        Command::new("sh").args(["-c", "cat | cat | cat"]).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn()?;
    let mut stdin = child.stdin.take().context("piped")?;
    let mut stdout = BufReader::new(child.stdout.take().context("piped")?);
    let mut timings = Timings::default();
    for _ in 0..rounds {
        let started = Instant::now();
        stdin.write_all(b"{}\n")?;
        stdout.read_line(&mut String::new())?;
        timings.push(started.elapsed());
    }
    drop(stdin);
    child.wait()?;
    Ok(timings)
}

#[expect(clippy::disallowed_methods, reason = "the server is started as a client starts it")]
fn serve(cache: &Path, arguments: &[&str]) -> anyhow::Result<Command> {
    let mut command = Command::new(server::path()?);
    command.arg("serve").args(arguments).env("BELLJAR_CACHE", cache);
    Ok(command)
}

/// A client that does nothing but wait for answers.
pub(crate) struct Client {
    child: Child,
    stdin: ChildStdin,
    stdout: BufReader<ChildStdout>,
    last: u64,
}

impl Client {
    pub(crate) fn start(cache: &Path) -> anyhow::Result<Self> {
        let mut child = serve(cache, &[])?.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn()?;
        let stdin = child.stdin.take().context("piped")?;
        let stdout = BufReader::new(child.stdout.take().context("piped")?);
        Ok(Self { child, stdin, stdout, last: 0 })
    }

    fn send(&mut self, method: &str, params: &Value) -> anyhow::Result<u64> {
        self.last += 1;
        let request = json!({"jsonrpc": "2.0", "id": self.last, "method": method, "params": params});
        self.stdin.write_all(format!("{request}\n").as_bytes())?;
        Ok(self.last)
    }

    /// The next answer, and whose it is.
    fn receive(&mut self) -> anyhow::Result<(u64, Answer)> {
        loop {
            let mut line = String::new();
            anyhow::ensure!(self.stdout.read_line(&mut line)? > 0, "the server is gone");
            let message: Value = serde_json::from_str(&line)?;
            if let Some(id) = message.get("id").and_then(Value::as_u64) {
                return Ok((id, Answer(message)));
            }
        }
    }

    pub(crate) fn initialize(&mut self) -> anyhow::Result<()> {
        let client = json!({"name": "bench", "version": "1"});
        self.send("initialize", &json!({"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": client}))?;
        self.receive()?;
        self.stdin.write_all(b"{\"jsonrpc\":\"2.0\",\"method\":\"notifications/initialized\"}\n")?;
        Ok(())
    }

    fn call(&mut self, language: &str, code: &str) -> anyhow::Result<u64> {
        self.send("tools/call", &json!({"name": "run_code", "arguments": {"language": language, "code": code}}))
    }

    pub(crate) fn run(&mut self, language: &str, code: &str) -> anyhow::Result<Answer> {
        self.call(language, code)?;
        Ok(self.receive()?.1)
    }

    /// Calls a tool, which must not refuse.
    pub(crate) fn tool(&mut self, name: &str, arguments: &Value) -> anyhow::Result<Value> {
        self.send("tools/call", &json!({"name": name, "arguments": arguments}))?;
        let Answer(mut answer) = self.receive()?.1;
        let result = answer.pointer_mut("/result").map(Value::take).unwrap_or_default();
        anyhow::ensure!(result.pointer("/isError") != Some(&json!(true)), "{name}: {result}");
        Ok(result)
    }

    pub(crate) fn pid(&self) -> u32 {
        self.child.id()
    }

    /// How far a loop counts in so many seconds, when it is alone.
    fn counts_in(&mut self, seconds: f64) -> anyhow::Result<u64> {
        const SAMPLE: f64 = 2e6;
        let code =
            format!("import time\nt = time.perf_counter()\nn = {SAMPLE:.0}\nwhile n: n -= 1\ntime.perf_counter() - t");
        let answer = self.run("python", &code)?;
        let took = answer.0.pointer("/result/structuredContent/result").and_then(Value::as_f64).context("a time")?;
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "a positive count of some millions"
        )]
        Ok((SAMPLE * seconds / took) as u64)
    }

    fn throughput(&mut self, calls: u32) -> anyhow::Result<f64> {
        let started = Instant::now();
        let (mut sent, mut answered) = (0, 0);
        while answered < calls {
            while sent < calls && u64::from(sent - answered) < AT_A_TIME {
                self.call("python", "print(1+1)")?;
                sent += 1;
            }
            self.receive()?.1.printed("2\n")?;
            answered += 1;
        }
        Ok(f64::from(calls) / started.elapsed().as_secs_f64())
    }

    /// Seconds for all of them. Each must have its own output.
    fn side_by_side(&mut self, code: impl Fn(u64) -> String) -> anyhow::Result<f64> {
        let started = Instant::now();
        let mut waiting = HashMap::new();
        for number in 0..AT_A_TIME {
            waiting.insert(self.call("python", &code(number))?, number);
        }
        while !waiting.is_empty() {
            let (id, answer) = self.receive()?;
            let number = waiting.remove(&id).context("an answer to nothing")?;
            answer.printed(&format!("{number}\n"))?;
        }
        Ok(started.elapsed().as_secs_f64())
    }

    pub(crate) fn end(mut self) -> anyhow::Result<()> {
        drop(self.stdin);
        let status = self.child.wait()?;
        anyhow::ensure!(status.success(), "the server ended with {status}");
        Ok(())
    }
}
