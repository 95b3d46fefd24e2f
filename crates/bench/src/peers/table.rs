//! What is measured, and the results as data: the printed table, the JSON and the page are all drawn from this.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::catalogue::{PEERS, Peer};

/// One row of the table.
pub(crate) struct Measure {
    pub(crate) key: &'static str,
    pub(crate) title: &'static str,
    pub(crate) unit: &'static str,
    pub(crate) better: Better,
    /// Why belljar's native engine may be behind others that run the host's own Python.
    pub(crate) native: &'static str,
}

/// Which of two is the better one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Better {
    Faster,
    /// Where the program itself takes the time.
    Computes,
    More,
    Smaller,
    /// A question with a good answer and bad ones.
    Good,
}

const STARTS: &str = "a server starts first, and builds a jail to see which walls stand here";
const REFILLED: &str = "one call right after the other uses up the interpreters that wait, and then each run pays for a new \
                        interpreter in a whole jail";
const SHARED: &str = "interpreters for the next runs are started on the same processors";
const KEPT: &str = "a server, its launcher, and interpreters that wait for the next run";

#[rustfmt::skip]
pub(crate) const MEASURES: &[Measure] = &[
    Measure { key: "start", title: "start to ready", unit: "ms", better: Better::Faster, native: STARTS },
    Measure { key: "first", title: "start to first result", unit: "ms", better: Better::Faster, native: STARTS },
    Measure { key: "warm_p50", title: "warm run, p50", unit: "ms", better: Better::Faster, native: REFILLED },
    Measure { key: "warm_p99", title: "warm run, p99", unit: "ms", better: Better::Faster, native: REFILLED },
    Measure { key: "numpy_p50", title: "warm run with NumPy, p50", unit: "ms", better: Better::Faster, native: REFILLED },
    Measure { key: "throughput", title: "runs a second, 8 at a time", unit: "/s", better: Better::More, native: REFILLED },
    Measure { key: "sleeps", title: "8 sleeps of 0.5 s at once", unit: "s", better: Better::Faster, native: SHARED },
    Measure { key: "loops", title: "8 loops of 2,000,000 at once", unit: "s", better: Better::Computes, native: SHARED },
    Measure { key: "memory_idle", title: "memory, idle after runs", unit: "MiB", better: Better::Smaller, native: KEPT },
    Measure { key: "memory_busy", title: "memory, 8 runs asleep", unit: "MiB", better: Better::Smaller, native: KEPT },
    Measure { key: "timeout", title: "endless loop, time limit of 1 s", unit: "", better: Better::Good, native: "" },
    Measure { key: "cancel", title: "cancelling an endless loop", unit: "", better: Better::Good, native: "" },
    Measure { key: "output", title: "50 MB of output", unit: "", better: Better::Good, native: "" },
    Measure { key: "allocation", title: "2 GB of memory", unit: "", better: Better::Good, native: "" },
    Measure { key: "apart", title: "runs see each other's state", unit: "", better: Better::Good, native: "" },
    Measure { key: "read", title: "reads a file of the host", unit: "", better: Better::Good, native: "" },
    Measure { key: "environment", title: "reads the host's environment", unit: "", better: Better::Good, native: "" },
    Measure { key: "write", title: "writes a file of the host", unit: "", better: Better::Good, native: "" },
    Measure { key: "connect", title: "connects to the host's loopback", unit: "", better: Better::Good, native: "" },
    Measure { key: "processes", title: "sees the host's processes", unit: "", better: Better::Good, native: "" },
    Measure { key: "left", title: "leaves a process behind", unit: "", better: Better::Good, native: "" },
];

/// What was found of one peer in one row.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Cell {
    Number {
        value: f64,
        /// How it was measured, and what was wrong with it.
        note: String,
    },
    /// A number that counts for nothing, because answers were wrong.
    Wrong {
        value: f64,
        note: String,
    },
    Good(String),
    Bad(String),
    /// Not measured, and why.
    None(String),
}

impl Cell {
    pub(crate) fn out_of_time() -> Self {
        Self::None("it was too slow to be measured in time".to_owned())
    }
}

/// All of one peer.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub(crate) struct Column {
    pub(crate) name: String,
    /// Why there is nothing of it, if there is nothing.
    pub(crate) absent: Option<String>,
    pub(crate) cells: BTreeMap<String, Cell>,
}

impl Column {
    pub(crate) fn new(name: &str) -> Self {
        Self { name: name.to_owned(), ..Self::default() }
    }

    pub(crate) fn set(&mut self, key: &str, cell: Cell) {
        self.cells.insert(key.to_owned(), cell);
    }

    pub(crate) fn peer(&self) -> Option<&'static Peer> {
        PEERS.iter().find(|peer| peer.name == self.name)
    }

    pub(crate) fn number(&self, key: &str) -> Option<f64> {
        match self.cells.get(key) {
            Some(Cell::Number { value, .. }) => Some(*value),
            Some(Cell::Wrong { .. } | Cell::Good(_) | Cell::Bad(_) | Cell::None(_)) | None => None,
        }
    }
}

/// A line of a plot: what was asked, and what it cost.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Series {
    pub(crate) name: String,
    pub(crate) points: Vec<(f64, f64)>,
    /// Where it ended before its time, and why.
    pub(crate) stopped: Option<String>,
}

/// How a cost grows.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Growth {
    pub(crate) key: String,
    pub(crate) title: String,
    pub(crate) across: String,
    pub(crate) up: String,
    pub(crate) series: Vec<Series>,
    pub(crate) said: String,
}

/// Everything that one run of the command found.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Results {
    pub(crate) machine: String,
    pub(crate) day: String,
    pub(crate) took_s: f64,
    pub(crate) method: String,
    pub(crate) versions: BTreeMap<String, String>,
    pub(crate) columns: Vec<Column>,
    pub(crate) growth: Vec<Growth>,
}

impl Results {
    /// Whether belljar is first in a row, and if not, who is before it and why.
    pub(crate) fn standing(&self, measure: &Measure) -> String {
        self.place("belljar", measure, |peer| !peer.is_ours(), |peer| Some(measure.better.reason(peer)))
    }

    /// The same for its native engine, among those that run the host's own Python, too.
    pub(crate) fn native_standing(&self, measure: &Measure) -> String {
        let place = self.place("belljar native", measure, |peer| peer.is_native() && !peer.is_ours(), |_| None);
        match place.strip_prefix("**not first**. ") {
            Some(before) => format!("**not first**, behind {before}: {}", measure.native),
            None => place,
        }
    }

    /// Where a column stands among these others in a row, and why others are before it, where that has a reason of their own.
    fn place(
        &self,
        name: &str,
        measure: &Measure,
        is_rival: impl Fn(&Peer) -> bool,
        reason: impl Fn(&'static Peer) -> Option<&'static str>,
    ) -> String {
        let own = self.columns.iter().find(|column| column.name == name);
        let others =
            || self.columns.iter().filter_map(|column| Some((column, column.peer().filter(|peer| is_rival(peer))?)));
        let Some(cell) = own.and_then(|own| own.cells.get(measure.key)) else { return "not measured".to_owned() };
        let value = match cell {
            Cell::Number { value, .. } => *value,
            Cell::Good(_) => {
                let good = others().filter(|(column, _)| matches!(column.cells.get(measure.key), Some(Cell::Good(_))));
                return level(good.map(|(_, peer)| peer.name));
            }
            Cell::Wrong { note: said, .. } | Cell::Bad(said) | Cell::None(said) => {
                return format!("**not first**: {said}");
            }
        };
        let numbers = || others().filter_map(|(column, peer)| Some((column.number(measure.key)?, peer)));
        let ratio = |other: f64| if measure.better == Better::More { value / other } else { other / value };
        let mut before: Vec<(f64, &Peer)> = numbers().filter(|(other, _)| ratio(*other) < 1.0 - LEVEL).collect();
        if before.is_empty() {
            return level(numbers().filter(|(other, _)| ratio(*other) < 1.0 + LEVEL).map(|(_, peer)| peer.name));
        }
        before.sort_by(|(one, _), (other, _)| ratio(*one).total_cmp(&ratio(*other)));
        let told = before.iter().map(|(_, peer)| match reason(peer) {
            Some(reason) => format!("{}: {reason}", peer.name),
            None => peer.name.to_owned(),
        });
        let told: Vec<String> = told.collect();
        let has_reasons = before.iter().any(|(_, peer)| reason(peer).is_some());
        format!("**not first**. {}", told.join(if has_reasons { ". " } else { ", " }))
    }

    /// What is missing of belljar's own, without which there is nothing to compare with.
    pub(crate) fn gaps(&self) -> Vec<String> {
        let mut gaps = Vec::new();
        for name in ["belljar", "belljar native"] {
            let column = self.columns.iter().find(|column| column.name == name);
            if let Some(reason) = column.map_or(Some("not measured"), |column| column.absent.as_deref()) {
                gaps.push(format!("{name}: {reason}"));
                continue;
            }
            for measure in MEASURES {
                let said = match column.and_then(|column| column.cells.get(measure.key)) {
                    Some(Cell::Number { .. } | Cell::Good(_)) => continue,
                    Some(Cell::Wrong { note: said, .. } | Cell::Bad(said) | Cell::None(said)) => said,
                    None => "not measured",
                };
                gaps.push(format!("{name}, {}: {said}", measure.title));
            }
        }
        let is_missing = |key: &&str| !self.growth.iter().any(|growth| growth.key == *key);
        gaps.extend(
            GROWN.iter().copied().filter(is_missing).map(|key| format!("how cost grows with {key}: not measured")),
        );
        gaps
    }
}

/// What belljar's cost is measured over.
const GROWN: &[&str] = &["concurrency", "throughput", "code", "output", "files", "sessions", "memory"];

impl Better {
    /// Why this peer may be before belljar.
    fn reason(self, peer: &Peer) -> &'static str {
        match self {
            Self::Faster | Self::More | Self::Good => peer.faster,
            Self::Computes => peer.computes,
            Self::Smaller => peer.smaller,
        }
    }
}

/// Two that differ by less than this share of belljar's number are level.
pub(crate) const LEVEL: f64 = 0.03;

fn level<'a>(others: impl Iterator<Item = &'a str>) -> String {
    let others = others.collect::<Vec<_>>().join(", ");
    if others.is_empty() { "first".to_owned() } else { format!("first, with {others}") }
}

/// Three digits, and not more than one behind the point of a large number.
pub(crate) fn figure(value: f64) -> String {
    match value {
        value if value >= 1000.0 => {
            let whole = format!("{value:.0}");
            let (thousands, rest) = whole.split_at(whole.len() - 3);
            format!("{thousands},{rest}")
        }
        value if value >= 100.0 => format!("{value:.0}"),
        value if value >= 10.0 => format!("{value:.1}"),
        value => format!("{value:.2}"),
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::{Cell, Column, MEASURES, Results, figure};

    fn results(values: &[(&str, Cell)]) -> Results {
        let column = |(name, cell): &(&str, Cell)| {
            let mut column = Column::new(name);
            column.set("warm_p50", cell.clone());
            column.set("timeout", cell.clone());
            column
        };
        Results {
            machine: String::new(),
            day: String::new(),
            took_s: 0.0,
            method: String::new(),
            versions: BTreeMap::new(),
            columns: values.iter().map(column).collect(),
            growth: Vec::new(),
        }
    }

    fn standing(results: &Results, key: &str) -> String {
        results.standing(MEASURES.iter().find(|measure| measure.key == key).expect("a row"))
    }

    #[test]
    fn a_row_says_who_is_before_belljar_and_why() {
        let number = |value| Cell::Number { value, note: String::new() };
        let ahead = results(&[("belljar", number(1.0)), ("eryx", number(2.0))]);
        assert_eq!(standing(&ahead, "warm_p50"), "first");
        let behind = results(&[("belljar", number(1.0)), ("subprocess", number(0.5)), ("eryx", number(2.0))]);
        assert_eq!(standing(&behind, "warm_p50"), "**not first**. subprocess: no isolation at all");
        let wrong = Cell::Wrong { value: 0.5, note: String::new() };
        let cheated = results(&[("belljar", number(1.0)), ("subprocess", wrong)]);
        assert_eq!(standing(&cheated, "warm_p50"), "first");
        let close = results(&[("belljar", number(1.0)), ("eryx", number(0.98))]);
        assert_eq!(standing(&close, "warm_p50"), "first, with eryx");
        let failed = results(&[("belljar", Cell::Bad("it went on".to_owned()))]);
        assert_eq!(standing(&failed, "timeout"), "**not first**: it went on");
    }

    #[test]
    fn the_native_engine_is_judged_among_its_kind() {
        let number = |value| Cell::Number { value, note: String::new() };
        let both = results(&[
            ("belljar", number(1.0)),
            ("belljar native", number(10.0)),
            ("Monty", number(0.5)),
            ("bubblewrap", number(6.0)),
            ("subprocess", number(5.0)),
        ]);
        let measure = MEASURES.iter().find(|measure| measure.key == "warm_p50").expect("a row");
        let expected = format!("**not first**, behind subprocess, bubblewrap: {}", measure.native);
        assert_eq!(both.native_standing(measure), expected);
        let first = results(&[("belljar native", number(4.0)), ("Monty", number(0.5)), ("bubblewrap", number(6.0))]);
        assert_eq!(first.native_standing(measure), "first");
        for measure in MEASURES.iter().filter(|measure| measure.better != super::Better::Good) {
            assert!(!measure.native.is_empty(), "{}", measure.title);
        }
    }

    #[test]
    fn a_column_of_ours_that_is_not_whole_is_seen() {
        let number = || Cell::Number { value: 1.0, note: String::new() };
        let mut whole = results(&[]);
        for name in ["belljar", "belljar native"] {
            let mut column = Column::new(name);
            for measure in MEASURES {
                column.set(measure.key, number());
            }
            whole.columns.push(column);
        }
        let grown = |key: &&str| super::Growth {
            key: (*key).to_owned(),
            title: String::new(),
            across: String::new(),
            up: String::new(),
            series: Vec::new(),
            said: String::new(),
        };
        whole.growth = super::GROWN.iter().map(grown).collect();
        assert_eq!(whole.gaps(), [""; 0]);
        whole.columns[0].set("loops", Cell::Bad("its process ended".to_owned()));
        whole.columns[1].absent = Some("it does not run here".to_owned());
        whole.growth.pop();
        assert_eq!(
            whole.gaps(),
            [
                "belljar, 8 loops of 2,000,000 at once: its process ended",
                "belljar native: it does not run here",
                "how cost grows with memory: not measured",
            ]
        );
    }

    #[test]
    fn figures_have_three_digits() {
        let written = [0.0612, 9.876, 12.34, 123.4, 12345.6].map(figure);
        assert_eq!(written, ["0.06", "9.88", "12.3", "123", "12,346"]);
    }
}
