//! Attacks on the native engine.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use attacks::floods::{self, Flood};
use attacks::probes::{self, Door, Probe, Report};
use attacks::processes;
use attacks::verdict::{Finding, Verdict};
use attacks::{LEAVINGS, Level, NEIGHBOUR, Program};
use sandbox::{Collect, Enforcement, EngineId, FolderAccess, LimitsRequest, LiveOutput, Outcome, SkipReason, Stream};
use serde_json::json;
use tokio::sync::Notify;

use super::{Attack, Job, NoOutcome, Run};

/// How long one run looks for another, in seconds; the other one stays until it is found, or this is over.
const TOGETHER: f64 = 1.0;

/// The time for what takes a second, on a machine that is busy.
const PATIENCE: Duration = Duration::from_secs(10);

/// After the end of a run, before its processes are counted: they are gone sooner.
const GRACE: Duration = Duration::from_millis(500);

pub(super) fn jobs(attack: &Arc<Attack>) -> Vec<(&'static str, Job)> {
    let mut jobs: Vec<(&'static str, Job)> = Vec::new();
    let own = || Arc::clone(attack);
    for (group, program, probes) in probes::GROUPS {
        let attack = own();
        jobs.push((group, Box::pin(async move { attack.probe(group, program, probes).await })));
    }
    let attack_of = own();
    jobs.push(("processes", Box::pin(async move { attack_of.bomb().await })));
    for flood in floods::RESOURCE_FLOODS.iter().skip(1) {
        let attack = own();
        jobs.push((flood.name, Box::pin(async move { vec![attack.flood("resources", flood).await] })));
    }
    for flood in floods::ENDING_FLOODS {
        let attack = own();
        jobs.push((flood.name, Box::pin(async move { vec![attack.flood("endings", flood).await] })));
    }
    for (mode, tries) in COLLECTED {
        let attack = own();
        jobs.push((mode, Box::pin(async move { vec![attack.collect(mode, tries).await] })));
    }
    let attack = own();
    jobs.push(("neighbours", Box::pin(async move { Box::pin(attack.neighbours()).await })));
    let attack = own();
    jobs.push(("grants", Box::pin(async move { attack.granted_hosts() })));
    jobs
}

fn finding(group: &'static str, name: impl Into<String>, tries: impl Into<String>, verdict: Verdict) -> Finding {
    Finding { group, engine: Some(EngineId::Native), name: name.into(), tries: tries.into(), verdict }
}

/// What is left for whoever collects a run's files.
const COLLECTED: &[(&str, &str)] = &[
    ("links", "have a link to a file of the host's collected"),
    ("special", "have pipes, sockets and devices collected"),
    ("race", "swap a folder for a link while it is collected"),
];

impl Attack {
    async fn probe(&self, group: &'static str, program: &Program, probes: &[Probe]) -> Vec<Finding> {
        let arguments = vec![self.facts.to_string(), self.stage.marker.clone()];
        let result = self.run(Run::new(EngineId::Native, program, arguments)).await;
        let outcome = match result {
            Ok(outcome) => outcome,
            Err(NoOutcome(verdict)) => {
                let of = |probe: &Probe| finding(group, probe.name, probe.tries, verdict.clone());
                return probes.iter().filter(|probe| probe.applies()).map(of).collect();
            }
        };
        let missing = &outcome.isolation.missing;
        let mut reports = match probes::reports(&outcome.stdout.text) {
            Ok(reports) => reports,
            Err(why) => {
                let why = format!("{why} {}", outcome.stderr.text);
                return vec![finding(group, group, "everything of this group", Verdict::unclear(why))];
            }
        };
        let judge = |probe: &Probe| {
            let report = reports.remove(probe.name);
            let judged = self.granted(probe, probe.judge(report.as_ref(), self.level, missing));
            let verdict = match (self.leave_out(probe), judged) {
                // What got through did, whatever was seen from outside.
                (Some(why), Verdict::Blocked { .. } | Verdict::Unclear { .. }) => Verdict::NotTried { why },
                (_, judged) => judged,
            };
            finding(group, probe.name, probe.tries, verdict)
        };
        let mut findings: Vec<Finding> = probes.iter().filter(|probe| probe.applies()).map(judge).collect();
        findings.extend(reports.into_iter().map(|(name, report)| self.folder(&name, &report)));
        findings
    }

    /// Why an answer would mean nothing here.
    fn leave_out(&self, probe: &Probe) -> Option<String> {
        let needs_terminal = probe.door == Door::Terminal || probe.name == "standard-streams-are-terminals";
        if needs_terminal && !self.stage.has_terminal {
            return Some("doctor was not started at a terminal".to_owned());
        }
        (!probe.is_on_host()).then(|| "not on this host".to_owned())
    }

    /// What got through because the operator said so.
    fn granted(&self, probe: &Probe, verdict: Verdict) -> Verdict {
        let place = match probe.name {
            "list-var-lib" => PathBuf::from("/var/lib"),
            "list-root-home" => PathBuf::from("/root"),
            "list-run" => PathBuf::from("/run"),
            name if probe.door == Door::HostPath && name.contains("-host-") => {
                self.stage.victims.directory().to_owned()
            }
            _ => return verdict,
        };
        let shows = |target: &std::path::Path| target.starts_with(&place) || place.starts_with(target);
        match (&verdict, self.folders.iter().find(|folder| shows(folder.target()))) {
            (Verdict::Through { .. }, Some(folder)) => Verdict::Granted { grant: folder.to_string() },
            _ => verdict,
        }
    }

    /// A report on a folder of the operator's.
    fn folder(&self, name: &str, report: &Report) -> Finding {
        let (action, path) = name.split_once(' ').unwrap_or((name, ""));
        let folder = self.folders.iter().find(|folder| folder.target() == path);
        let tries = match action {
            "read-folder" => format!("read what is in {path}"),
            _ => format!("make a file in {path}"),
        };
        let may = |access: FolderAccess| action == "read-folder" || access == FolderAccess::Write;
        let verdict = match (&*report.verdict, folder) {
            ("ESCAPE", Some(folder)) if may(folder.access()) => Verdict::Granted { grant: folder.to_string() },
            ("ESCAPE", _) => Verdict::through(&*report.detail),
            ("BLOCKED", _) if report.detail == "EROFS" => Verdict::blocked("mount-namespace", "EROFS"),
            ("BLOCKED", _) if report.detail == "EACCES" => {
                let by = ["landlock", "file permissions"].map(str::to_owned).to_vec();
                Verdict::Blocked { by, sign: "EACCES".to_owned() }
            }
            ("BLOCKED", _) => Verdict::Blocked { by: Vec::new(), sign: report.detail.clone() },
            _ => Verdict::unclear(&*report.detail),
        };
        finding("grants", name, tries, verdict)
    }

    /// Hosts are not connected to: nobody's server is attacked.
    fn granted_hosts(&self) -> Vec<Finding> {
        let granted = |host: &String| {
            let verdict = Verdict::Granted { grant: format!("network {host}") };
            finding("grants", format!("network {host}"), format!("connect to {host} over HTTP"), verdict)
        };
        self.network.iter().map(granted).collect()
    }

    /// The endless bomb only where a countable one was held: the host would pay.
    async fn bomb(&self) -> Vec<Finding> {
        let mut findings = Vec::new();
        for flood in floods::RESOURCE_FLOODS.iter().take(1).chain([&floods::FORK_BOMB]) {
            let is_held = findings.iter().all(|found: &Finding| matches!(found.verdict, Verdict::Blocked { .. }));
            findings.push(if is_held {
                self.flood("resources", flood).await
            } else {
                let why = "the number of processes is not held".to_owned();
                finding("resources", flood.name, flood.tries, Verdict::NotTried { why })
            });
        }
        findings
    }

    async fn flood(&self, group: &'static str, flood: &Flood) -> Finding {
        if let Some(why) = self.nobody_counts(flood) {
            return finding(group, flood.name, flood.tries, Verdict::NotTried { why });
        }
        // With an end, so that no other's begins with it.
        let marker = format!("{}-{}-end", self.stage.marker, flood.name);
        let (mode, rest) = flood.arguments.split_first().map_or(("", &[][..]), |(mode, rest)| (*mode, rest));
        let arguments = [mode, &marker].into_iter().chain(rest.iter().copied()).map(str::to_owned).collect();
        let run = Run { limits: flood.limits, ..Run::new(EngineId::Native, &flood.program, arguments) };
        let mut result = self.run(run.clone()).await;
        if result.as_ref().is_ok_and(|outcome| !flood.has_begun(outcome)) {
            // A busy machine: it was ended before it could do anything.
            let limits = LimitsRequest { wall: Some(PATIENCE), ..flood.limits };
            result = self.run(Run { limits, ..run }).await;
        }
        let mut verdict = match result {
            Ok(outcome) => flood.judge(&outcome),
            Err(NoOutcome(verdict)) => verdict,
        };
        let left = tokio::task::spawn_blocking(move || processes::leftovers(&marker, GRACE)).await.unwrap_or_default();
        if !left.is_empty() {
            verdict = Verdict::through(format!("{} processes are left", left.len()));
        }
        finding(group, flood.name, flood.tries, verdict)
    }

    /// What a result of this host says itself: this is not held here.
    fn nobody_counts(&self, flood: &Flood) -> Option<String> {
        let lacks = |layer: &str| self.isolation.missing.iter().any(|missing| missing == layer);
        match flood.name {
            "shared-memory" if lacks("memory-cgroup") => {
                Some("a known gap: nothing counts it without a memory cgroup, see `belljar doctor`".to_owned())
            }
            "memory-of-many" if self.isolation.memory == Enforcement::Rlimit => {
                Some("a known gap: only single processes are held here, see `belljar doctor`".to_owned())
            }
            "hidden-disk" if lacks("disk-quota") => {
                Some("a known gap: what no listing shows is not counted here, see `belljar doctor`".to_owned())
            }
            _ => None,
        }
    }

    async fn collect(&self, mode: &'static str, tries: &str) -> Finding {
        let victims = &self.stage.victims;
        let directory = victims.directory().display().to_string();
        let paths = match mode {
            "links" => vec![
                victims.secret_file().display().to_string(),
                directory.clone(),
                victims.directory().join("canary").display().to_string(),
            ],
            "race" => vec![directory],
            _ => Vec::new(),
        };
        let arguments = [mode.to_owned(), self.stage.marker.clone()].into_iter().chain(paths).collect();
        let run = Run { collect: Collect::Contents, ..Run::new(EngineId::Native, &LEAVINGS, arguments) };
        let verdict = match self.run(run).await {
            Ok(outcome) => self.judge_collected(mode, &outcome),
            Err(NoOutcome(verdict)) => verdict,
        };
        finding("collection", mode, tries, verdict)
    }

    fn judge_collected(&self, mode: &str, outcome: &Outcome) -> Verdict {
        let contents = || outcome.files.iter().filter_map(|file| file.contents.as_deref());
        if let Some(file) = outcome
            .files
            .iter()
            .find(|file| file.contents.as_deref().is_some_and(|contents| self.stage.victims.secrets().are_in(contents)))
        {
            return Verdict::through(format!("{} holds a file of the host's", file.path.as_str()));
        }
        let left = outcome.skipped_files.iter().filter(|file| file.reason == SkipReason::NotRegular).count();
        // The control: what is beside it came back.
        let is_collected = outcome.status.is_success() && contents().any(|contents| contents == b"plain\n");
        match (is_collected, left) {
            (false, _) => Verdict::unclear(format!("the run ended with {:?}: {}", outcome.status, outcome.stderr.text)),
            (true, 0) if mode != "race" => Verdict::unclear("nothing was left behind"),
            (true, left) => Verdict::blocked("collection", format!("{left} left where they were: not regular files")),
        }
    }

    async fn neighbours(&self) -> Vec<Finding> {
        // Both at one time, whoever else waits.
        let _permits = self.permits.acquire_many(2).await;
        let marker = format!("{}-role-host", self.stage.marker);
        let port = std::net::TcpListener::bind("127.0.0.1:0").and_then(|listener| listener.local_addr());
        let port = port.map_or(0, |address| address.port());
        let name = self.stage.marker.replace("guest", "neighbour");
        let settings =
            |seconds: f64| json!({ "port": port, "name": name, "other": "role-host", "seconds": seconds }).to_string();
        let is_open = Arc::new(Notify::new());
        let arguments = vec!["host".to_owned(), marker.clone(), settings(3600.0)];
        let mut live = Open { is_open: Arc::clone(&is_open) };
        let host = self.run_now(Run::new(EngineId::Native, &NEIGHBOUR, arguments), &mut live);
        let looking = async {
            is_open.notified().await;
            let root = tokio::task::spawn_blocking(move || uids(&marker)).await.unwrap_or_default();
            let arguments = vec!["guest".to_owned(), self.stage.marker.clone(), settings(TOGETHER)];
            (root, self.run_now(Run::new(EngineId::Native, &NEIGHBOUR, arguments), &mut ()).await)
        };
        tokio::pin!(host);
        tokio::pin!(looking);
        let (uids, guest) = tokio::select! {
            looked = &mut looking => looked,
            // It was refused, or went wrong: nobody was there to be met.
            ended = &mut host => {
                let verdict = match ended {
                    Ok(outcome) => Verdict::unclear(format!("the neighbour ended: {}", outcome.stderr.text)),
                    Err(NoOutcome(verdict)) => verdict,
                };
                return vec![finding("neighbours", "neighbours", "meet another run", verdict)];
            }
        };
        let root = match (uids.is_empty(), uids.contains(&0)) {
            (true, _) => Verdict::unclear("its process was not found"),
            (false, true) => Verdict::through("uid 0"),
            (false, false) => Verdict::blocked("user-namespace", format!("uid {}", uids.first().unwrap_or(&0))),
        };
        let mut findings = vec![finding("neighbours", "kernel-uid", "be root on the host, seen from outside", root)];
        findings.extend(self.judge_neighbours(guest));
        findings
    }

    fn judge_neighbours(&self, guest: Result<Outcome, NoOutcome>) -> Vec<Finding> {
        let reports = match guest.map(|outcome| probes::reports(&outcome.stdout.text)) {
            Ok(Ok(reports)) => reports,
            Ok(Err(why)) => {
                return vec![finding("neighbours", "neighbours", "meet another run", Verdict::unclear(why))];
            }
            Err(NoOutcome(verdict)) => return vec![finding("neighbours", "neighbours", "meet another run", verdict)],
        };
        let judge = |(place, report): (String, Report)| {
            let (tries, layer) = match &*place {
                "tcp" | "abstract" => (format!("connect to another run's {place} socket"), "network-namespace"),
                "process" => ("find another run's process".to_owned(), "pid-namespace"),
                "sibling" => ("find another run's workspace".to_owned(), "mount-namespace"),
                _ => (format!("find another run's file in {place}"), "mount-namespace"),
            };
            let layer = match (&*report.detail, self.level) {
                ("ENOSYS", _) => "seccomp",
                (_, Level::Full | Level::FullNoProc) => layer,
                (_, Level::Landlock) => "landlock",
            };
            let verdict = match &*report.verdict {
                "BLOCKED" => Verdict::blocked(layer, report.detail),
                "ESCAPE" => Verdict::through(report.detail),
                _ => Verdict::unclear(report.detail),
            };
            finding("neighbours", format!("neighbour-{place}"), tries, verdict)
        };
        reports.into_iter().map(judge).collect()
    }
}

/// Says when a run has opened everything that there is to find.
struct Open {
    is_open: Arc<Notify>,
}

impl LiveOutput for Open {
    fn output(&mut self, _: Stream, bytes: &[u8]) {
        if bytes.windows(4).any(|window| window == b"open") {
            self.is_open.notify_one();
        }
    }
}

/// The user ids that the processes of a run have on the host.
fn uids(marker: &str) -> Vec<u32> {
    processes::marked(marker).into_iter().flat_map(|process| process.uids).collect()
}
