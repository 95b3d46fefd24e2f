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

#[rustfmt::skip]
pub(crate) const MEASURES: &[Measure] = &[
    Measure { key: "start", title: "start to ready", unit: "ms", better: Better::Faster },
    Measure { key: "first", title: "start to first result", unit: "ms", better: Better::Faster },
    Measure { key: "warm_p50", title: "warm run, p50", unit: "ms", better: Better::Faster },
    Measure { key: "warm_p99", title: "warm run, p99", unit: "ms", better: Better::Faster },
    Measure { key: "numpy_p50", title: "warm run with NumPy, p50", unit: "ms", better: Better::Faster },
    Measure { key: "throughput", title: "runs a second, 8 at a time", unit: "/s", better: Better::More },
    Measure { key: "sleeps", title: "8 sleeps of 0.5 s at once", unit: "s", better: Better::Faster },
    Measure { key: "loops", title: "8 loops of 2,000,000 at once", unit: "s", better: Better::Computes },
    Measure { key: "memory_idle", title: "memory, idle after runs", unit: "MiB", better: Better::Smaller },
    Measure { key: "memory_busy", title: "memory, 8 runs asleep", unit: "MiB", better: Better::Smaller },
    Measure { key: "timeout", title: "endless loop, time limit of 1 s", unit: "", better: Better::Good },
    Measure { key: "cancel", title: "cancelling an endless loop", unit: "", better: Better::Good },
    Measure { key: "output", title: "50 MB of output", unit: "", better: Better::Good },
    Measure { key: "allocation", title: "2 GB of memory", unit: "", better: Better::Good },
    Measure { key: "apart", title: "runs see each other's state", unit: "", better: Better::Good },
    Measure { key: "read", title: "reads a file of the host", unit: "", better: Better::Good },
    Measure { key: "environment", title: "reads the host's environment", unit: "", better: Better::Good },
    Measure { key: "write", title: "writes a file of the host", unit: "", better: Better::Good },
    Measure { key: "connect", title: "connects to the host's loopback", unit: "", better: Better::Good },
    Measure { key: "processes", title: "sees the host's processes", unit: "", better: Better::Good },
    Measure { key: "left", title: "leaves a process behind", unit: "", better: Better::Good },
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
        let own = self.columns.iter().find(|column| column.name == "belljar");
        let others =
            || self.columns.iter().filter_map(|column| Some((column, column.peer().filter(|peer| !peer.is_ours())?)));
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
        let reasons = before.iter().map(|(_, peer)| format!("{}: {}", peer.name, measure.better.reason(peer)));
        format!("**not first**. {}", reasons.collect::<Vec<_>>().join(". "))
    }
}

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
    fn figures_have_three_digits() {
        let written = [0.0612, 9.876, 12.34, 123.4, 12345.6].map(figure);
        assert_eq!(written, ["0.06", "9.88", "12.3", "123", "12,346"]);
    }
}
