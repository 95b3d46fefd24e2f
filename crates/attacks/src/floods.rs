//! Guests that take too much or do not end, with limits so small that each is over in a second, and told where to stop should nothing
//! else stop them.

use std::time::Duration;

use sandbox::{Bytes, LimitKind, LimitsRequest, Outcome, Status, signal_name};

use crate::verdict::Verdict;
use crate::{ENDINGS, Program, RESOURCES};

/// One of them.
#[derive(Debug)]
pub struct Flood {
    /// Unique with the engine.
    pub name: &'static str,
    /// What it tries, in words.
    pub tries: &'static str,
    /// How to tell that it was held.
    pub held: Held,
    /// Limits of the run.
    pub limits: LimitsRequest,
    /// The guest's program.
    pub program: Program,
    /// Its arguments: a mode first. The harness puts its marker behind that.
    pub arguments: &'static [&'static str],
}

/// How a flood that was held ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Held {
    /// Its time is over, and it is ended.
    Ended,
    /// The same, after it has said that it is so far.
    EndedLater,
    /// The program is told no and says `refused` and by what; or it is ended.
    Refused,
    /// It is ended, or out of memory in its own words.
    Memory,
    /// It writes to its end, and what is too much is not kept.
    Cut,
    /// It ends by itself, and the harness looks at what it left.
    Alone,
    /// In whichever way, but it ends.
    Anyhow,
}

/// No limits but the operator's.
pub const NONE: LimitsRequest =
    LimitsRequest { wall: None, cpu: None, memory: None, disk: None, files: None, processes: None, output: None };

const SOON: LimitsRequest = LimitsRequest { wall: Some(Duration::from_millis(1500)), ..NONE };
const FEW: LimitsRequest = LimitsRequest { processes: Some(16), ..SOON };
const MEMORY: LimitsRequest = LimitsRequest { memory: Some(Bytes::mib(64)), ..NONE };
const SMALL: LimitsRequest = LimitsRequest { disk: Some(Bytes::mib(4)), files: Some(128), ..NONE };

const fn flood(
    name: &'static str,
    tries: &'static str,
    (held, limits): (Held, LimitsRequest),
    arguments: &'static [&'static str],
) -> Flood {
    Flood { name, tries, held, limits, program: RESOURCES, arguments }
}

const fn ending(name: &'static str, tries: &'static str, held: Held, arguments: &'static [&'static str]) -> Flood {
    let limits = match held {
        Held::EndedLater => SOON,
        // Nobody waits for these: they end by themselves.
        Held::Ended | Held::Refused | Held::Memory | Held::Cut | Held::Alone | Held::Anyhow => NONE,
    };
    Flood { name, tries, held, limits, program: ENDINGS, arguments }
}

/// Guests that take too much.
#[rustfmt::skip]
pub static RESOURCE_FLOODS: &[Flood] = &[
    flood("fork-count", "start 64 processes with a limit of 16", (Held::Refused, LimitsRequest { processes: Some(16), ..NONE }), &["fork-count", "64"]),
    flood("processor", "compute for ever", (Held::Ended, LimitsRequest { cpu: Some(Duration::from_millis(500)), ..NONE }), &["processor"]),
    flood("memory", "take 256 MiB in one piece with a limit of 64", (Held::Memory, MEMORY), &["memory", "256"]),
    flood("growing-memory", "take 256 MiB bit by bit with a limit of 64", (Held::Memory, MEMORY), &["growing-memory", "256"]),
    flood("memory-of-many", "take 256 MiB in 16 processes with a limit of 64", (Held::Memory, MEMORY), &["memory-of-many", "256"]),
    flood("shared-memory", "take 256 MiB in mappings that no process has any more", (Held::Memory, MEMORY), &["shared-memory", "256"]),
    flood("disk", "write 64 MiB with a limit of 4", (Held::Refused, SMALL), &["disk", "64"]),
    flood("hidden-disk", "write 48 MiB where no listing shows it", (Held::Refused, SMALL), &["hidden-disk", "48"]),
    flood("inodes", "make 2,000 files with a limit of 128", (Held::Refused, SMALL), &["inodes", "2000"]),
    flood("descriptors", "open 100,000 files at one time", (Held::Refused, NONE), &["descriptors"]),
    flood("output", "write 8 MiB of output, of which 64 KiB are kept", (Held::Cut, LimitsRequest { output: Some(Bytes::kib(64)), ..NONE }), &["output", "8"]),
];

/// The endless one, for when [`RESOURCE_FLOODS`]' count of processes was found to be held.
pub static FORK_BOMB: Flood =
    flood("fork-bomb", "fork for ever, in every process", (Held::EndedLater, FEW), &["fork-bomb"]);

/// Guests that do not end, or leave something running.
#[rustfmt::skip]
pub static ENDING_FLOODS: &[Flood] = &[
    ending("ignored-signals", "ignore every signal and stay", Held::EndedLater, &["ignore-signals"]),
    ending("stopped", "stop itself and stay", Held::EndedLater, &["stop-self"]),
    ending("closed-streams", "close its streams and stay", Held::EndedLater, &["close-streams-and-stay"]),
    ending("daemons", "leave five daemons running", Held::Alone, &["daemons"]),
    ending("forking-chain", "leave a chain of processes that fork and die", Held::Alone, &["forking-chain"]),
    ending("daemon-keeps-output", "leave a daemon that keeps its output open", Held::Alone, &["daemon-keeps-output"]),
];

impl Flood {
    /// Whether it got as far as what it is here for.
    pub fn has_begun(&self, outcome: &Outcome) -> bool {
        match self.held {
            Held::EndedLater => !outcome.stdout.text.is_empty(),
            // These have time enough.
            Held::Ended | Held::Refused | Held::Memory | Held::Cut | Held::Alone | Held::Anyhow => true,
        }
    }

    /// What the end of its run means.
    pub fn judge(&self, outcome: &Outcome) -> Verdict {
        let isolation = &outcome.isolation;
        match outcome.status {
            Status::TimedOut if !self.has_begun(outcome) => Verdict::unclear("it was ended before it had begun"),
            Status::TimedOut if matches!(self.held, Held::Ended | Held::EndedLater | Held::Anyhow) => {
                Verdict::blocked("deadline", "timed out")
            }
            Status::TimedOut => Verdict::unclear("timed out"),
            Status::LimitExceeded(LimitKind::Memory) => {
                Verdict::blocked(isolation.memory.to_string(), "over its memory limit")
            }
            Status::LimitExceeded(limit @ (LimitKind::Cpu | LimitKind::Disk)) => {
                Verdict::blocked("watchdog", format!("over its {limit} limit"))
            }
            Status::Completed { exit_code } => self.judge_end(outcome, exit_code),
            Status::Crashed { signal } if self.held == Held::Anyhow => Verdict::blocked("wasm", signal_name(signal)),
            Status::Crashed { signal } => Verdict::unclear(format!("ended by {}", signal_name(signal))),
            Status::Cancelled => Verdict::unclear("cancelled"),
        }
    }

    fn judge_end(&self, outcome: &Outcome, exit_code: u8) -> Verdict {
        let said = outcome.stdout.text.trim();
        let wrong = || {
            let error = outcome.error.as_ref().map_or("", |error| &error.message);
            Verdict::unclear(format!("exit code {exit_code} {error}"))
        };
        let refused = said.rsplit_once("refused ").map(|(_, by)| by);
        let out_of_memory = outcome
            .error
            .as_ref()
            .is_some_and(|error| error.kind.contains("Memory") || error.message.contains("memory"));
        match self.held {
            Held::Memory if out_of_memory => Verdict::blocked(outcome.isolation.memory.to_string(), "out of memory"),
            Held::Anyhow => Verdict::blocked("wasm", format!("exit code {exit_code}")),
            _ if exit_code != 0 => wrong(),
            Held::Ended | Held::EndedLater => Verdict::through(format!("it ended by itself: {said}")),
            Held::Memory => Verdict::through(said),
            Held::Refused => match refused {
                None | Some("none") => Verdict::through(said),
                Some(by) => Verdict::blocked(who_refuses(by, outcome), by),
            },
            Held::Cut => {
                let (kept, dropped) = (outcome.stdout.text.len(), outcome.stdout.dropped);
                let most = self.limits.output.map_or(u64::MAX, Bytes::get);
                // Our own note on what is missing comes on top.
                if dropped > 0 && u64::try_from(kept).is_ok_and(|kept| kept <= most + 256) {
                    Verdict::blocked("output limit", format!("{dropped} bytes dropped"))
                } else {
                    Verdict::through(format!("{kept} bytes are kept"))
                }
            }
            Held::Alone => Verdict::blocked("supervisor", "nothing left running"),
        }
    }
}

/// Which limit says so.
fn who_refuses(sign: &str, outcome: &Outcome) -> String {
    match sign {
        "EAGAIN" => outcome.isolation.processes.to_string(),
        "EMFILE" => "rlimits".to_owned(),
        "ENOSPC" | "EDQUOT" => "disk limit".to_owned(),
        _ => "limit".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use sandbox::{Captured, CpuSource, Enforcement, EngineId, Isolation, Level, MemorySource, RuntimeInfo, Usage};

    use super::*;
    use crate::wasm;

    /// A run of a host that holds nothing: the program takes what it wants and ends.
    fn ended_well(said: &str) -> Outcome {
        Outcome {
            status: Status::Completed { exit_code: 0 },
            stdout: Captured { text: said.to_owned(), dropped: 0 },
            stderr: Captured::default(),
            diagnostics: None,
            value: None,
            displays: Vec::new(),
            state: None,
            error: None,
            unsupported: None,
            files: Vec::new(),
            skipped_files: Vec::new(),
            engine: EngineId::Native,
            promoted: None,
            packages: None,
            runtime: RuntimeInfo { language: "python", version: String::new(), tool: String::new() },
            isolation: Isolation {
                level: Level::Full,
                missing: Vec::new(),
                granted: Vec::new(),
                memory: Enforcement::CgroupV2,
                processes: Enforcement::Rlimit,
            },
            usage: Usage {
                wall: Duration::ZERO,
                cpu: Duration::ZERO,
                cpu_source: CpuSource::Rusage,
                peak_memory: 0,
                memory_source: MemorySource::Rusage,
            },
        }
    }

    /// What is not held is seen, for each of them but those whose processes the harness counts.
    #[test]
    fn no_flood_passes_where_nothing_held_it() {
        let all = RESOURCE_FLOODS.iter().chain(ENDING_FLOODS).chain([&FORK_BOMB]).chain(wasm::FLOODS);
        for flood in all.filter(|flood| !matches!(flood.held, Held::Alone | Held::Anyhow)) {
            let said = format!("held 256 refused none{}", " ".repeat(1 << 20));
            assert_eq!(flood.judge(&ended_well(&said)).name(), "NOT BLOCKED", "{}", flood.name);
        }
    }

    #[test]
    fn one_that_was_ended_too_soon_says_nothing() {
        let timed_out = |said: &str| Outcome { status: Status::TimedOut, ..ended_well(said) };
        assert_eq!(FORK_BOMB.judge(&timed_out("")).name(), "unclear");
        assert_eq!(FORK_BOMB.judge(&timed_out("started\n")), Verdict::blocked("deadline", "timed out"));
    }
}
