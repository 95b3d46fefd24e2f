//! Attacks on the wasm engine.

use std::fs;
use std::sync::Arc;
use std::time::Duration;

use attacks::floods::Flood;
use attacks::processes::{self, Process};
use attacks::verdict::{Finding, Verdict};
use attacks::wasm::{self, Attempts, Kind};
use engine_wasm::WORKER_ARGUMENT;
use sandbox::{EngineId, Language};

use super::{Attack, Job, NoOutcome, Run};

/// How often the worker is looked for.
const LOOK: Duration = Duration::from_millis(100);

pub(super) fn jobs(attack: &Arc<Attack>) -> Vec<(&'static str, Job)> {
    let mut jobs: Vec<(&'static str, Job)> = Vec::new();
    for attempts in wasm::ATTEMPTS {
        let attack = Arc::clone(attack);
        jobs.push((attempts.program.language, Box::pin(async move { attack.attempts(attempts).await })));
    }
    let of = Arc::clone(attack);
    jobs.push(("sql", Box::pin(async move { of.sql().await })));
    for flood in wasm::FLOODS {
        let attack = Arc::clone(attack);
        jobs.push((flood.name, Box::pin(async move { vec![attack.wasm_flood(flood).await] })));
    }
    let of = Arc::clone(attack);
    jobs.push(("worker", Box::pin(async move { of.worker().await })));
    jobs
}

fn finding(group: &'static str, name: impl Into<String>, tries: impl Into<String>, verdict: Verdict) -> Finding {
    Finding { group, engine: Some(EngineId::Wasm), name: name.into(), tries: tries.into(), verdict }
}

impl Attack {
    async fn attempts(&self, attempts: &Attempts) -> Vec<Finding> {
        let Attempts { program, kind, least } = attempts;
        let arguments = vec![self.facts.to_string(), self.stage.marker.clone()];
        let outcome = self.run(Run::new(EngineId::Wasm, program, arguments)).await;
        let all = |verdict| vec![kind_finding(*kind, program.language, None, verdict)];
        let outcome = match outcome {
            Ok(outcome) => outcome,
            Err(NoOutcome(verdict)) => return all(verdict),
        };
        let attempts = wasm::attempts(&outcome.stdout.text);
        if self.stage.victims.secrets().are_in(outcome.stdout.text.as_bytes()) {
            return all(Verdict::through("a secret of the host's"));
        }
        if !outcome.status.is_success() || attempts.len() < *least {
            let why = format!("{:?} after {} attempts: {}", outcome.status, attempts.len(), outcome.stderr.text);
            return all(Verdict::unclear(why));
        }
        let kinds = wasm::judge(&attempts).into_iter();
        kinds.map(|(kind, (count, verdict))| kind_finding(kind, program.language, Some(count), verdict)).collect()
    }

    /// Tries all reads in one run. An error ends the shell, so what causes one has a run of its own.
    async fn sql(&self) -> Vec<Finding> {
        let victims = &self.stage.victims;
        let (secret, canary) = (victims.secret_file(), victims.directory().join("canary"));
        let reads = wasm::sql_reads(&secret, &canary);
        let count = reads.len();
        let program = wasm::FILES_OF_SQL;
        let outcome = match self.run(Run::new(EngineId::Wasm, &program, reads)).await {
            Ok(outcome) => outcome,
            Err(NoOutcome(verdict)) => return vec![kind_finding(Kind::Read, "sql", None, verdict)],
        };
        let attempts = wasm::attempts(&outcome.stdout.text);
        if attempts.len() != count {
            let why = format!("{} of {count} attempts: {}", attempts.len(), outcome.stderr.text);
            return vec![kind_finding(Kind::Read, "sql", None, Verdict::unclear(why))];
        }
        let kinds = wasm::judge(&attempts).into_iter();
        let mut findings: Vec<Finding> =
            kinds.map(|(kind, (count, verdict))| kind_finding(kind, "sql", Some(count), verdict)).collect();
        let mut verdict = Verdict::blocked("wasi", "an error of SQLite's");
        let statements = wasm::sql_attempts(&secret, &canary, victims.directory());
        let count = statements.len();
        for statement in statements {
            match self.run(Run::new(EngineId::Wasm, &program, vec![statement.clone()])).await {
                Ok(outcome) => {
                    let said = format!("{}{}", outcome.stdout.text, outcome.stderr.text);
                    if victims.secrets().are_in(said.as_bytes()) {
                        // Whatever becomes of the others.
                        verdict = Verdict::through(statement);
                        break;
                    }
                    if !said.starts_with("mine\nmine\n") {
                        verdict = Verdict::unclear(said);
                    }
                }
                Err(NoOutcome(why)) => verdict = why,
            }
        }
        findings.push(kind_finding(Kind::Change, "sql", Some(count), verdict));
        findings
    }

    async fn wasm_flood(&self, flood: &Flood) -> Finding {
        let arguments = flood.arguments.iter().map(ToString::to_string).collect();
        let run = Run { limits: flood.limits, ..Run::new(EngineId::Wasm, &flood.program, arguments) };
        let verdict = match self.run(run).await {
            Ok(outcome) => flood.judge(&outcome),
            Err(NoOutcome(verdict)) => verdict,
        };
        finding("resources", flood.name, flood.tries, verdict)
    }

    /// The second wall, seen from outside while a guest is behind it.
    async fn worker(&self) -> Vec<Finding> {
        let rows = [
            ("worker-filter", "make system calls from a worker that was taken over"),
            ("worker-privileges", "have privileges in such a worker"),
        ];
        let arguments = vec![self.stage.marker.clone(), "0.5".to_owned()];
        let sleeping = self.run(Run::new(EngineId::Wasm, &wasm::SLEEPER, arguments));
        tokio::pin!(sleeping);
        let mut status = None;
        let outcome = loop {
            tokio::select! {
                outcome = &mut sleeping => break outcome,
                () = tokio::time::sleep(LOOK) => {
                    let seen = tokio::task::spawn_blocking(find_worker).await.ok().flatten();
                    status = seen.or(status);
                }
            }
        };
        let verdicts = match (outcome, status) {
            (Err(NoOutcome(verdict)), _) => [verdict.clone(), verdict],
            (Ok(_), None) => [Verdict::unclear("no worker was found"), Verdict::unclear("no worker was found")],
            (Ok(_), Some(status)) => judge_worker(&status),
        };
        let of = |((name, tries), verdict)| finding("kernel", name, tries, verdict);
        rows.into_iter().zip(verdicts).map(of).collect()
    }
}

fn kind_finding(kind: Kind, language: &str, count: Option<usize>, verdict: Verdict) -> Finding {
    let shown = Language::all().iter().find(|known| known.id == language).map_or(language, |known| known.name);
    let count = match count {
        None => String::new(),
        Some(1) => " (1 way)".to_owned(),
        Some(count) => format!(" ({count} ways)"),
    };
    finding(kind.group(), format!("{}-{language}", kind.name()), format!("{shown}: {}{count}", kind.tries()), verdict)
}

/// What the kernel says of a worker of ours.
fn find_worker() -> Option<String> {
    let everyone = processes::all();
    let own = i32::try_from(std::process::id()).ok()?;
    let descends = |process: &Process| {
        let mut parent = process.parent;
        while parent > 1 && parent != own {
            parent = everyone.iter().find(|other| other.pid == parent).map_or(0, |other| other.parent);
        }
        parent == own
    };
    let is_worker =
        |process: &&Process| process.arguments.split('\0').nth(1) == Some(WORKER_ARGUMENT) && descends(process);
    let statuses = everyone
        .iter()
        .filter(is_worker)
        .filter_map(|worker| fs::read_to_string(format!("/proc/{}/status", worker.pid)).ok());
    // One that waits for its first guest has not sealed itself yet.
    statuses.max_by_key(|status| field(status, "Seccomp_filters").and_then(|count| count.parse::<u32>().ok()))
}

fn field<'a>(status: &'a str, name: &str) -> Option<&'a str> {
    status.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':')).map(str::trim)
}

fn judge_worker(status: &str) -> [Verdict; 2] {
    let mode = field(status, "Seccomp").unwrap_or("0");
    // Kernels before 5.9 do not count them.
    let filters = field(status, "Seccomp_filters").and_then(|count| count.parse::<u32>().ok());
    let filter = match (mode, filters) {
        ("2", Some(2..)) => Verdict::blocked("seccomp", format!("{} filters", filters.unwrap_or_default())),
        ("2", None) => Verdict::blocked("seccomp", "a filter"),
        (_, _) => Verdict::through(format!("seccomp mode {mode}, {} filters", filters.unwrap_or_default())),
    };
    let held: Vec<&str> = ["CapEff", "CapPrm", "CapInh", "CapAmb"]
        .into_iter()
        .filter(|set| field(status, set).is_none_or(|set| set.chars().any(|digit| digit != '0')))
        .collect();
    let privileges = if held.is_empty() && field(status, "NoNewPrivs") == Some("1") {
        Verdict::blocked("capabilities", "none, and none to be gained")
    } else {
        Verdict::through(format!("NoNewPrivs {:?}, {held:?}", field(status, "NoNewPrivs")))
    };
    [filter, privileges]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_worker_without_walls_is_seen() {
        let bare = "CapInh:\t0000000000000000\nCapPrm:\t000001ffffffffff\nCapEff:\t000001ffffffffff\nCapAmb:\t0000000000000000\n\
            NoNewPrivs:\t0\nSeccomp:\t0\nSeccomp_filters:\t0\n";
        assert!(judge_worker(bare).iter().all(|verdict| matches!(verdict, Verdict::Through { .. })));
        let sealed = bare.replace("1ffffffffff", "00000000000").replace("NoNewPrivs:\t0", "NoNewPrivs:\t1");
        let sealed = sealed.replace("Seccomp:\t0", "Seccomp:\t2").replace("filters:\t0", "filters:\t2");
        assert!(judge_worker(&sealed).iter().all(|verdict| matches!(verdict, Verdict::Blocked { .. })));
        let half = sealed.replace("filters:\t2", "filters:\t1");
        assert_eq!(judge_worker(&half)[0].name(), "NOT BLOCKED");
    }
}
