//! The same work through every peer.

use std::collections::HashMap;
use std::fs;
use std::time::{Duration, Instant};

use anyhow::Context as _;

use super::catalogue::{Kind, Peer, Scene};
use super::conversation::{Answer, Runs};
use super::install::telling_line;
use super::jails;
use super::probes;
use super::table::{Cell, Column};
use crate::statistics::Timings;

const PROGRAM: &str = "print(sum(range(100)))";
const PRINTED: &str = "4950\n";
const NUMPY: &str = "import numpy\nprint(int(numpy.arange(100).sum()))";
const LOOP: &str = "print('before', flush=True)\nwhile True: pass";
const AT_A_TIME: usize = 8;
const KIB_IN_MIB: f64 = 1024.0;

/// The longest wait for an answer that is to come.
const PATIENCE: Duration = Duration::from_secs(30);
/// For what takes a stopped run down.
const GRACE: Duration = Duration::from_millis(500);
const TIME_LIMIT: Duration = Duration::from_secs(1);
/// What is still running then was not stopped by a limit of 1 s.
const TOO_LATE: Duration = Duration::from_secs(5);

/// The longest for all of one peer; what is not measured by then is left out, and says so.
const BUDGET: Duration = Duration::from_mins(3);

/// Timings of a peer that takes its time.
const FEWEST: u32 = 3;

/// Below that a p99 would be the slowest run of all.
const FEWEST_FOR_P99: usize = 100;

/// How much of everything.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Effort {
    pub(crate) starts: u32,
    pub(crate) untimed: u32,
    pub(crate) rounds: u32,
    /// Rounds stop here, so that slow peers have fewer.
    pub(crate) longest: Duration,
}

impl Effort {
    pub(crate) const WHOLE: Self = Self { starts: 5, untimed: 20, rounds: 1000, longest: Duration::from_secs(4) };
    pub(crate) const QUICK: Self = Self { starts: 1, untimed: 3, rounds: 50, longest: Duration::from_secs(1) };
}

/// Everything about one peer. A step that fails is a cell that says why; the next step has a peer that was started anew.
pub(crate) fn measure(peer: &Peer, scene: &Scene<'_>, effort: Effort) -> Column {
    let mut column = Column::new(peer.name);
    if let Some(reason) = scene.folder.missing(peer.kind) {
        column.absent = Some(reason);
        return column;
    }
    if let Err(error) = starts(peer, scene, effort, &mut column) {
        column.absent = Some(format!("it does not run here: {error:#}"));
        return column;
    }
    let end = Instant::now() + BUDGET;
    let mut runs = None;
    for (keys, after, step) in STEPS {
        if Instant::now() > end {
            keys.iter().for_each(|key| column.set(key, Cell::out_of_time()));
            continue;
        }
        if *after == After::Anew {
            runs = None;
        }
        let outcome = started(peer, scene, &mut runs).and_then(|runs| step(runs, peer, effort, &mut column));
        if let Err(error) = outcome {
            runs = None;
            for key in *keys {
                column.cells.entry((*key).to_owned()).or_insert_with(|| Cell::Bad(format!("{error:#}")));
            }
        }
    }
    drop(runs);
    probes::probe(peer, scene, end, &mut column);
    column
}

/// What the peer has been through when a step begins.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum After {
    /// The steps before.
    Others,
    /// Nothing: what the step before may have left running would disturb this one.
    Anew,
}

/// Each with the rows that it fills.
const STEPS: &[(&[&str], After, Step)] = &[
    (&["warm_p50", "warm_p99"], After::Anew, warm),
    (&["numpy_p50"], After::Others, numpy),
    (&["throughput"], After::Others, throughput),
    (&["memory_idle", "memory_busy", "sleeps"], After::Others, sleeps),
    (&["loops"], After::Others, loops),
    (&["timeout"], After::Others, timeout),
    (&["cancel"], After::Anew, cancel),
    (&["output"], After::Anew, output),
    (&["allocation"], After::Anew, allocation),
];

type Step = fn(&mut dyn Runs, &Peer, Effort, &mut Column) -> anyhow::Result<()>;

/// The peer, which answers: one that was left hanging by the step before is started anew.
fn started<'a>(
    peer: &Peer,
    scene: &Scene<'_>,
    runs: &'a mut Option<Box<dyn Runs>>,
) -> anyhow::Result<&'a mut dyn Runs> {
    let answers = runs.as_mut().is_some_and(|runs| runs.run(PROGRAM, TOO_LATE).is_ok_and(|it| it.text == PRINTED));
    if !answers {
        *runs = None;
        let started = runs.insert(peer.start(scene)?);
        // Slow ones are slow the first time.
        expect(peer, &started.run(PROGRAM, PATIENCE)?)?;
    }
    Ok(runs.as_mut().context("just started")?.as_mut())
}

fn starts(peer: &Peer, scene: &Scene<'_>, effort: Effort, column: &mut Column) -> anyhow::Result<()> {
    let (mut ready, mut first) = (Timings::default(), Timings::default());
    for _ in 0..effort.starts {
        let started = Instant::now();
        let mut runs = peer.start(scene)?;
        ready.push(started.elapsed());
        expect(peer, &runs.run(PROGRAM, PATIENCE)?)?;
        first.push(started.elapsed());
    }
    let note = format!("median of {} starts", effort.starts);
    let start = Cell::Number { value: ready.median(), note: note.clone() };
    column.set("start", if peer.waits() { start } else { Cell::None("nothing to start".to_owned()) });
    column.set("first", Cell::Number { value: first.median(), note });
    Ok(())
}

fn warm(runs: &mut dyn Runs, peer: &Peer, effort: Effort, column: &mut Column) -> anyhow::Result<()> {
    let timings = rounds(runs, peer, PROGRAM, effort)?;
    let note = format!("{} runs", timings.count());
    column.set("warm_p50", Cell::Number { value: timings.median(), note: note.clone() });
    let p99 = if timings.count() < FEWEST_FOR_P99 {
        Cell::None(format!("too few for it: {note} in the time"))
    } else {
        Cell::Number { value: timings.percentile(0.99), note }
    };
    column.set("warm_p99", p99);
    Ok(())
}

fn numpy(runs: &mut dyn Runs, peer: &Peer, effort: Effort, column: &mut Column) -> anyhow::Result<()> {
    // Some install it on the first use.
    let answer = runs.run(NUMPY, PATIENCE)?;
    let cell = if answer.text == PRINTED {
        let timings = rounds(runs, peer, NUMPY, effort)?;
        Cell::Number { value: timings.median(), note: format!("{} runs", timings.count()) }
    } else {
        Cell::None("no NumPy here".to_owned())
    };
    column.set("numpy_p50", cell);
    Ok(())
}

fn rounds(runs: &mut dyn Runs, peer: &Peer, code: &str, effort: Effort) -> anyhow::Result<Timings> {
    let warm = Instant::now() + effort.longest / 4;
    for _ in 0..effort.untimed {
        expect(peer, &runs.run(code, PATIENCE)?)?;
        if Instant::now() > warm {
            break;
        }
    }
    let mut timings = Timings::default();
    let end = Instant::now() + effort.longest;
    for round in 0..effort.rounds {
        if round >= FEWEST && Instant::now() > end {
            break;
        }
        let started = Instant::now();
        expect(peer, &runs.run(code, PATIENCE)?)?;
        timings.push(started.elapsed());
    }
    Ok(timings)
}

/// Each program prints a number of its own: an answer that is another's is a wrong one.
fn throughput(runs: &mut dyn Runs, _: &Peer, effort: Effort, column: &mut Column) -> anyhow::Result<()> {
    let (mut waiting, mut tally, mut sent) = (HashMap::new(), Tally::default(), 0_u64);
    let began = Instant::now();
    while began.elapsed() < effort.longest || !waiting.is_empty() {
        while began.elapsed() < effort.longest && waiting.len() < AT_A_TIME {
            sent += 1;
            waiting.insert(runs.submit(&format!("print({sent} + 0)"), None)?, sent);
        }
        let (id, answer) = runs.receive(PATIENCE)?.with_context(|| format!("no answer within {PATIENCE:?}"))?;
        let Some(number) = waiting.remove(&id) else { continue };
        tally.count(number, sent, &answer);
    }
    let value = f64::from(tally.right) / began.elapsed().as_secs_f64();
    column.set("throughput", tally.cell(value));
    Ok(())
}

fn sleeps(runs: &mut dyn Runs, peer: &Peer, _: Effort, column: &mut Column) -> anyhow::Result<()> {
    let nothing = || Cell::None("nothing waits between runs".to_owned());
    let idle =
        |runs: &dyn Runs| Cell::Number { value: memory(&runs.processes()), note: "proportional set size".to_owned() };
    column.set("memory_idle", if peer.waits() { idle(runs) } else { nothing() });
    let mut busy = 0.0_f64;
    let cell = side_by_side(runs, |number| format!("import time\ntime.sleep(0.5)\nprint({number})"), &mut |runs| {
        busy = busy.max(memory(&runs.processes()));
    })?;
    column.set("sleeps", cell);
    column.set("memory_busy", Cell::Number { value: busy, note: "proportional set size".to_owned() });
    Ok(())
}

fn loops(runs: &mut dyn Runs, _: &Peer, _: Effort, column: &mut Column) -> anyhow::Result<()> {
    let code = |number| format!("n = 2000000\nwhile n:\n    n -= 1\nprint({number})");
    let cell = side_by_side(runs, code, &mut |_| {})?;
    column.set("loops", cell);
    Ok(())
}

/// Seconds for eight programs at once. `look` is called now and then while they run.
fn side_by_side(
    runs: &mut dyn Runs,
    code: impl Fn(u64) -> String,
    look: &mut dyn FnMut(&dyn Runs),
) -> anyhow::Result<Cell> {
    let began = Instant::now();
    let mut waiting = HashMap::new();
    let all = AT_A_TIME as u64;
    for number in 1..=all {
        waiting.insert(runs.submit(&code(number), None)?, number);
    }
    let mut tally = Tally::default();
    let mut looked = began;
    while !waiting.is_empty() {
        anyhow::ensure!(
            began.elapsed() < PATIENCE,
            "{} of {AT_A_TIME} answers within {PATIENCE:?}",
            AT_A_TIME - waiting.len()
        );
        if looked.elapsed() > Duration::from_millis(200) {
            look(runs);
            looked = Instant::now();
        }
        let Some((id, answer)) = runs.receive(Duration::from_millis(100))? else { continue };
        let Some(number) = waiting.remove(&id) else { continue };
        tally.count(number, all, &answer);
    }
    Ok(tally.cell(began.elapsed().as_secs_f64()))
}

/// What came back of runs that each print a number of their own.
#[derive(Debug, Default)]
struct Tally {
    right: u32,
    /// Another run's number.
    strangers: u32,
    failed: u32,
    /// What the first of those that failed said.
    first_failure: Option<String>,
}

impl Tally {
    /// Counts the answer to the run with this number, where runs have numbers from 1 to `last`.
    fn count(&mut self, number: u64, last: u64, answer: &Answer) {
        let printed = answer.text.strip_suffix('\n').and_then(|text| text.parse::<u64>().ok());
        match printed {
            Some(printed) if printed == number => self.right += 1,
            Some(printed) if (1..=last).contains(&printed) => self.strangers += 1,
            Some(_) | None => {
                self.failed += 1;
                self.first_failure.get_or_insert_with(|| telling_line(&answer.text).chars().take(80).collect());
            }
        }
    }

    /// The number, which is none to go by if any answer was wrong.
    fn cell(&self, value: f64) -> Cell {
        let all = self.right + self.strangers + self.failed;
        if self.right == all {
            return Cell::Number { value, note: format!("all {all} answers right") };
        }
        let strangers = (self.strangers > 0).then(|| format!("{} of {all} answers were another run's", self.strangers));
        let failure = self.first_failure.as_deref().unwrap_or_default();
        let failed = (self.failed > 0).then(|| format!("{} of {all} runs failed: {failure}", self.failed));
        Cell::Wrong { value, note: strangers.into_iter().chain(failed).collect::<Vec<_>>().join("; ") }
    }
}

fn timeout(runs: &mut dyn Runs, peer: &Peer, _: Effort, column: &mut Column) -> anyhow::Result<()> {
    let began = Instant::now();
    let id = runs.submit(LOOP, Some(TIME_LIMIT))?;
    let answer = runs.receive(TOO_LATE)?;
    let took = began.elapsed().as_secs_f64();
    let cell = match answer {
        Some((_, answer)) => {
            let kept = answer.text.contains("before");
            std::thread::sleep(GRACE);
            match still_busy(runs) {
                Busy::No if kept => Cell::Good(format!("stopped after {took:.2} s, output kept")),
                Busy::No => Cell::Bad(format!("stopped after {took:.2} s, its output is lost")),
                Busy::Yes => Cell::Bad(format!("answered after {took:.2} s, and computes on")),
            }
        }
        None if peer.waits() => Cell::Bad(format!("no answer after {} s: it computes on", TOO_LATE.as_secs())),
        None => Cell::Bad("no time limit of its own: the caller has to kill it".to_owned()),
    };
    runs.cancel(id)?;
    column.set("timeout", cell);
    Ok(())
}

fn cancel(runs: &mut dyn Runs, _: &Peer, _: Effort, column: &mut Column) -> anyhow::Result<()> {
    // The comment tells a driver that this one is to be cancelled.
    let id = runs.submit("while True: pass # cancelled", None)?;
    std::thread::sleep(Duration::from_millis(500));
    if still_busy(runs) == Busy::No {
        anyhow::bail!("the loop does not run");
    }
    runs.cancel(id)?;
    std::thread::sleep(GRACE);
    let cell = match still_busy(runs) {
        Busy::No => Cell::Good("stopped within 0.5 s".to_owned()),
        Busy::Yes => Cell::Bad("computes on".to_owned()),
    };
    column.set("cancel", cell);
    Ok(())
}

fn output(runs: &mut dyn Runs, _: &Peer, _: Effort, column: &mut Column) -> anyhow::Result<()> {
    const WRITTEN: usize = 50_000_000;
    let began = Instant::now();
    let answer = runs.run("print('x' * 49_999_999)", PATIENCE)?;
    let (bytes, took) = (answer.text.len(), began.elapsed().as_secs_f64());
    #[expect(clippy::cast_precision_loss, reason = "some megabytes")]
    let megabytes = bytes as f64 / 1e6;
    let cell = if bytes >= WRITTEN {
        Cell::Bad(format!("all 50 MB go to the client, in {took:.2} s: nothing bounds them"))
    } else if answer.text.matches('x').count() < 1000 {
        Cell::Bad(format!("all output is lost; it says: {}", telling_line(&answer.text)))
    } else if answer.flagged || answer.text.contains("dropped") {
        Cell::Good(format!("cut to {megabytes:.1} MB and says so, in {took:.2} s"))
    } else {
        Cell::Bad(format!("cut to {megabytes:.1} MB without a word"))
    };
    column.set("output", cell);
    Ok(())
}

fn allocation(runs: &mut dyn Runs, peer: &Peer, _: Effort, column: &mut Column) -> anyhow::Result<()> {
    if peer.kind == Kind::Gvisor && jails::groups().is_none() {
        column.set("allocation", Cell::None("no limit is set here: it may make no cgroups".to_owned()));
        return Ok(());
    }
    let answer = runs.run("block = b'x' * 2_000_000_000\nprint(len(block))", PATIENCE)?;
    let again = runs.run(PROGRAM, PATIENCE).is_ok_and(|answer| answer.text == PRINTED);
    column.set(
        "allocation",
        match (answer.text == "2000000000\n", again) {
            (true, _) => Cell::Bad("it gets them".to_owned()),
            (false, true) => Cell::Good("refused, and the next run is served".to_owned()),
            (false, false) => Cell::Bad("refused, and the next run is not served".to_owned()),
        },
    );
    Ok(())
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Busy {
    Yes,
    No,
}

/// Whether its processes compute.
fn still_busy(runs: &dyn Runs) -> Busy {
    const LOOKED: Duration = Duration::from_millis(400);
    let before = cpu_ticks(&runs.processes());
    std::thread::sleep(LOOKED);
    // A tick is 10 ms: a loop takes all 40 of them, or its share on a busy machine; one that waits takes next to none.
    if cpu_ticks(&runs.processes()).saturating_sub(before) >= 4 { Busy::Yes } else { Busy::No }
}

fn cpu_ticks(processes: &[u32]) -> u64 {
    let ticks = |pid: &u32| {
        let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
        let fields: Vec<&str> = stat.rsplit_once(')')?.1.split_whitespace().collect();
        Some(fields.get(11)?.parse::<u64>().ok()? + fields.get(12)?.parse::<u64>().ok()?)
    };
    processes.iter().filter_map(ticks).sum()
}

/// The memory of all these processes in MiB, with what they share counted once.
pub(crate) fn memory(processes: &[u32]) -> f64 {
    let share = |pid: &u32| {
        let rollup = fs::read_to_string(format!("/proc/{pid}/smaps_rollup")).ok()?;
        let line = rollup.lines().find_map(|line| line.strip_prefix("Pss:"))?;
        line.split_whitespace().next()?.parse::<f64>().ok()
    };
    processes.iter().filter_map(share).sum::<f64>() / KIB_IN_MIB
}

/// The right answer, by the engine that the column is about.
fn expect(peer: &Peer, answer: &Answer) -> anyhow::Result<()> {
    anyhow::ensure!(answer.text == PRINTED, "expected {PRINTED:?}, and it said {:?}", telling_line(&answer.text));
    if let Some(engine) = peer.engine() {
        let ran = answer.engine.as_deref().unwrap_or("none that it names");
        anyhow::ensure!(ran == engine, "engine {engine} was to run it, and it was {ran}");
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::{Answer, Tally};
    use crate::peers::table::Cell;

    #[test]
    fn another_runs_answer_is_told_from_one_that_failed() {
        let mut tally = Tally::default();
        let mut count = |number, text: &str| {
            tally.count(number, 8, &Answer { text: text.to_owned(), flagged: false, engine: None });
        };
        count(1, "1\n");
        count(2, "7\n");
        count(3, "OSError: sleep is not supported\n");
        count(4, "4\n5\n");
        count(5, "900\n");
        let Cell::Wrong { note, .. } = tally.cell(1.0) else { panic!("{tally:?}") };
        assert_eq!(note, "1 of 5 answers were another run's; 3 of 5 runs failed: OSError: sleep is not supported");
        let mut right = Tally::default();
        right.count(1, 8, &Answer { text: "1\n".to_owned(), flagged: false, engine: None });
        assert!(matches!(right.cell(1.0), Cell::Number { .. }), "{right:?}");
    }
}
