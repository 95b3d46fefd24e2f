//! The findings, for people and for programs.

use std::time::Duration;

use attacks::verdict::{Finding, Verdict};
use sandbox::{EngineId, Level};
use serde::Serialize;
use serde_json::json;

use crate::report::table;

/// In the order in which they are told.
const GROUPS: &[&str] = &[
    "files",
    "processes",
    "network",
    "kernel",
    "terminal",
    "resources",
    "endings",
    "collection",
    "neighbours",
    "grants",
    "host",
];

const ENGINES: [EngineId; 2] = [EngineId::Native, EngineId::Wasm];

pub(super) struct Report {
    pub(super) level: Level,
    /// Whether the operator accepts it: else nothing runs natively.
    pub(super) accepted: bool,
    pub(super) took: Duration,
    pub(super) findings: Vec<Finding>,
}

/// How many of each.
#[derive(Debug, Default, PartialEq, Eq)]
struct Score {
    blocked: usize,
    through: usize,
    granted: usize,
    not_tried: usize,
    unclear: usize,
}

impl Report {
    /// Whether runs were attacked, and nothing got through that may not.
    pub(super) fn passes(&self) -> bool {
        let score = self.score();
        let was_attacked = ENGINES.into_iter().any(|engine| self.blocked_in(engine) > 0);
        self.accepted && was_attacked && score.through == 0 && score.unclear == 0
    }

    fn score(&self) -> Score {
        let mut score = Score::default();
        for finding in &self.findings {
            *match finding.verdict {
                Verdict::Blocked { .. } => &mut score.blocked,
                Verdict::Through { .. } => &mut score.through,
                Verdict::Granted { .. } => &mut score.granted,
                Verdict::NotTried { .. } => &mut score.not_tried,
                Verdict::Unclear { .. } => &mut score.unclear,
            } += 1;
        }
        score
    }

    fn blocked_in(&self, engine: EngineId) -> usize {
        let is_blocked =
            |finding: &&Finding| finding.engine == Some(engine) && matches!(finding.verdict, Verdict::Blocked { .. });
        self.findings.iter().filter(is_blocked).count()
    }

    fn of<'a>(&'a self, group: &'a str) -> impl Iterator<Item = &'a Finding> {
        self.findings.iter().filter(move |finding| finding.group == group)
    }

    pub(super) fn as_text(&self) -> String {
        let verdict = if self.accepted { "" } else { ", which is refused: nothing runs natively here" };
        let mut text =
            format!("attacked from inside runs; natively these have isolation level {}{verdict}\n", self.level);
        for group in GROUPS.iter().filter(|group| self.of(group).next().is_some()) {
            let mut rows = vec![[*group, "engine", "", "what stopped it"].map(str::to_owned).to_vec()];
            rows.extend(self.of(group).map(|finding| {
                let engine = finding.engine.map_or("outside".to_owned(), |engine| engine.to_string());
                vec![finding.tries.clone(), engine, finding.verdict.name().to_owned(), why(&finding.verdict)]
            }));
            text.push('\n');
            text.push_str(&table(&rows));
        }
        text.push('\n');
        text.push_str(&self.last_line());
        text
    }

    fn last_line(&self) -> String {
        let Score { blocked, through, granted, not_tried, unclear } = self.score();
        let mut parts =
            vec![format!("blocked {blocked} of {} in {:.1} s", blocked + through + unclear, self.took.as_secs_f64())];
        let unattacked = ENGINES.into_iter().filter(|engine| self.blocked_in(*engine) == 0);
        parts.extend(
            unattacked.map(|engine| format!("NOTHING TRIED in engine {engine}, which this says nothing about")),
        );
        let names = |name: &str| {
            let of = self.findings.iter().filter(|finding| finding.verdict.name() == name);
            of.map(|finding| finding.name.as_str()).collect::<Vec<_>>().join(", ")
        };
        for (count, name) in
            [(through, "NOT BLOCKED"), (unclear, "unclear"), (granted, "granted"), (not_tried, "not tried")]
        {
            match (count, name) {
                (0, _) => {}
                (_, "granted") => parts.push(format!("{count} granted by your configuration: {}", names(name))),
                (_, _) => parts.push(format!("{count} {name}: {}", names(name))),
            }
        }
        format!("{}\n", parts.join("; "))
    }

    pub(super) fn as_json(&self) -> String {
        let Score { blocked, through, granted, not_tried, unclear } = self.score();
        let probes: Vec<Row<'_>> = GROUPS.iter().flat_map(|group| self.of(group)).map(Row::from).collect();
        let report = json!({
            "version": env!("CARGO_PKG_VERSION"),
            "level": self.level.to_string(),
            "passed": self.passes(),
            "seconds": self.took.as_secs_f64(),
            "score": {
                "blocked": blocked,
                "not_blocked": through,
                "unclear": unclear,
                "granted": granted,
                "not_tried": not_tried,
            },
            "blocked_in": {
                "native": self.blocked_in(EngineId::Native),
                "wasm": self.blocked_in(EngineId::Wasm),
            },
            "probes": probes,
        });
        format!("{report:#}\n")
    }
}

/// A finding in JSON.
#[derive(Serialize)]
struct Row<'a> {
    group: &'a str,
    engine: Option<String>,
    name: &'a str,
    tried: &'a str,
    verdict: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    stopped_by: Option<&'a [String]>,
    #[serde(skip_serializing_if = "Option::is_none")]
    sign: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    detail: Option<String>,
}

impl<'a> From<&'a Finding> for Row<'a> {
    fn from(finding: &'a Finding) -> Self {
        let (stopped_by, sign, detail) = match &finding.verdict {
            Verdict::Blocked { by, sign } => (Some(by.as_slice()), Some(sign.as_str()), None),
            other @ (Verdict::Through { .. }
            | Verdict::Granted { .. }
            | Verdict::NotTried { .. }
            | Verdict::Unclear { .. }) => (None, None, Some(why(other))),
        };
        Self {
            group: finding.group,
            engine: finding.engine.map(|engine| engine.to_string()),
            name: &finding.name,
            tried: &finding.tries,
            verdict: finding.verdict.name().to_lowercase().replace(' ', "_"),
            stopped_by,
            sign,
            detail,
        }
    }
}

/// What stopped it, or what else there is to say.
fn why(verdict: &Verdict) -> String {
    match verdict {
        Verdict::Blocked { by, sign } if by.is_empty() => sign.clone(),
        Verdict::Blocked { by, sign } => format!("{} ({sign})", by.join(" or ")),
        Verdict::Through { got } => format!("got: {got}"),
        Verdict::Granted { grant } => format!("by your configuration: {grant}"),
        Verdict::NotTried { why } | Verdict::Unclear { why } => why.clone(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn report(verdicts: Vec<Verdict>) -> Report {
        let finding = |verdict| Finding {
            group: "files",
            engine: Some(EngineId::Native),
            name: "read-shadow".to_owned(),
            tries: "read /etc/shadow".to_owned(),
            verdict,
        };
        Report {
            level: Level::Full,
            accepted: true,
            took: Duration::from_millis(1500),
            findings: verdicts.into_iter().map(finding).collect(),
        }
    }

    #[test]
    fn passes_only_where_nothing_got_through() {
        let blocked = || Verdict::blocked("mount-namespace", "ENOENT");
        let granted = || Verdict::Granted { grant: "folder /data ro".to_owned() };
        let not_tried = || Verdict::NotTried { why: "no terminal".to_owned() };
        assert!(report(vec![blocked(), granted(), not_tried()]).passes());
        for verdicts in [
            vec![],
            vec![not_tried(), granted()],
            vec![blocked(), Verdict::through("root:*")],
            vec![blocked(), Verdict::unclear("no answer")],
        ] {
            assert!(!report(verdicts).passes());
        }
        // Where nothing runs nothing gets through, which proves nothing.
        assert!(!Report { accepted: false, ..report(vec![blocked()]) }.passes());
    }

    #[test]
    fn the_last_line_is_the_score() {
        let all = vec![
            Verdict::blocked("mount-namespace", "ENOENT"),
            Verdict::through("root:*"),
            Verdict::NotTried { why: "no terminal".to_owned() },
        ];
        let line = "blocked 1 of 2 in 1.5 s; NOTHING TRIED in engine wasm, which this says nothing about; 1 NOT BLOCKED: read-shadow; 1 not tried: read-shadow\n";
        assert_eq!(report(all).last_line(), line);
    }
}
