//! The page, the plots and the printed table, all of them from the results alone.

use std::fmt::Write as _;
use std::fs;
use std::path::Path;

use super::catalogue::{Kind, PEERS, Peer};
use super::plot::{self, Bar};
use super::table::{Cell, Column, LEVEL, MEASURES, Measure, Results, figure};

/// What is drawn as bars.
const DRAWN: &[&str] = &["first", "warm_p50", "throughput", "memory_idle"];

/// Writes `benchmarks.md`, and beside it a folder with the data and the plots.
pub(crate) fn write(results: &Results, docs: &Path) -> anyhow::Result<()> {
    let folder = docs.join("benchmarks");
    fs::create_dir_all(&folder)?;
    fs::write(folder.join("peers.json"), serde_json::to_string_pretty(results)? + "\n")?;
    for key in DRAWN {
        if let Some(measure) = MEASURES.iter().find(|measure| measure.key == *key) {
            fs::write(folder.join(format!("{key}.svg")), drawn(results, measure))?;
        }
    }
    for growth in &results.growth {
        fs::write(folder.join(format!("growth-{}.svg", growth.key)), plot::lines(growth))?;
    }
    fs::write(docs.join("benchmarks.md"), page(results))?;
    Ok(())
}

/// The table for a terminal: a block for each row, peers below each other.
pub(crate) fn printed(results: &Results) -> String {
    let mut text = String::new();
    for measure in MEASURES {
        let _ = writeln!(text, "{}{}", measure.title, unit(measure));
        for column in ran(results) {
            let _ = writeln!(text, "  {:<24}{}", column.name, cell(column, measure));
        }
        let [first, native] =
            [results.standing(measure), results.native_standing(measure)].map(|it| it.replace('*', ""));
        let _ = writeln!(
            text,
            "  belljar is {first}\n  belljar native, among those that run the host's Python, is {native}\n"
        );
    }
    for column in &results.columns {
        if let Some(reason) = &column.absent {
            let _ = writeln!(text, "{}: {reason}", column.name);
        }
    }
    text
}

fn page(results: &Results) -> String {
    let mut text = format!(
        "# Side by side with the peers\n\n\
         `cargo run --release -p bench -- peers` installs the published peers, runs the same work through each of them and \
         through belljar, and writes this page, [its data](benchmarks/peers.json) and its plots. Nothing here is written by hand.\n\n\
         Measured on {}, on {}. The whole run took {:.0} minutes.\n\n{}\n\n",
        results.day,
        results.machine,
        (results.took_s / 60.0).max(1.0),
        results.method
    );
    text += &table(results);
    text += "\n## Plots\n\n";
    for key in DRAWN {
        let title = MEASURES.iter().find(|measure| measure.key == *key).map_or("", |measure| measure.title);
        let _ = writeln!(text, "![{title}](benchmarks/{key}.svg)\n");
    }
    text += &peers(results);
    text += &growth(results);
    text += "## Versions\n\n";
    let versions = results.versions.iter().map(|(name, version)| format!("{name} {version}"));
    let _ = writeln!(text, "{}.", versions.collect::<Vec<_>>().join(" · "));
    text
}

fn table(results: &Results) -> String {
    let columns: Vec<&Column> = ran(results).collect();
    let mut text = String::from("## The table\n\n");
    let names = columns.iter().map(|column| column.name.as_str()).collect::<Vec<_>>().join(" | ");
    let _ = writeln!(
        text,
        "| | {names} | belljar is | belljar native, among those that run the host's Python, is |\n|---|{}---|---|",
        "---|".repeat(columns.len())
    );
    let peers = columns.iter().filter_map(|column| column.peer());
    let walls = peers.map(|peer| walls(peer, results)).collect::<Vec<_>>().join(" | ");
    let _ = writeln!(text, "| walls | {walls} | | |");
    for measure in MEASURES {
        let cells = columns.iter().map(|column| cell(column, measure)).collect::<Vec<_>>().join(" | ");
        let (first, native) = (results.standing(measure), results.native_standing(measure));
        let _ = writeln!(text, "| {}{} | {cells} | {first} | {native} |", measure.title, unit(measure));
    }
    let _ = writeln!(
        text,
        "\nA number in parentheses does not count, because answers were wrong or missing: the cell says which. A peer within {:.0} % \
         of belljar is level with it.",
        LEVEL * 100.0
    );
    text
}

/// What stands around a peer's programs, with the age of the one that is not the newest.
fn walls(peer: &Peer, results: &Results) -> String {
    let version = results.versions.get("runsc").filter(|_| peer.kind == Kind::Gvisor);
    let age = version.map(|version| format!("; runsc {version}, Debian's"));
    format!("{}{}", peer.walls, age.unwrap_or_default())
}

fn peers(results: &Results) -> String {
    let mut text = String::from("## Who they are\n\n| | what it is | can | cannot | here |\n|---|---|---|---|---|\n");
    for column in &results.columns {
        let Some(peer) = column.peer() else { continue };
        let here = column
            .absent
            .clone()
            .unwrap_or_else(|| "runs".to_owned())
            .replace('|', "\\|")
            .replace('\n', " ")
            .replace('<', "&lt;");
        let _ = writeln!(text, "| {} | {} | {} | {} | {here} |", peer.name, peer.what, peer.can, peer.cannot);
    }
    text + "\n"
}

fn growth(results: &Results) -> String {
    let mut text = String::from(
        "## How belljar's cost grows\n\nOne server, over standard streams, running Python in WebAssembly. Both axes are logarithmic.\n\n",
    );
    for growth in &results.growth {
        let _ = writeln!(text, "![{}](benchmarks/growth-{}.svg)\n\n{}", growth.title, growth.key, growth.said);
        for series in &growth.series {
            if let Some(stopped) = &series.stopped {
                let _ = writeln!(text, "\n{}", ending(&series.name, stopped));
            }
        }
        text += "\n";
    }
    text
}

/// Why a line is shorter than the others, from what the server said: `at 10000: Refused: `files` holds …. Hint: …`.
fn ending(name: &str, stopped: &str) -> String {
    let (size, said) = stopped.strip_prefix("at ").and_then(|rest| rest.split_once(": ")).unwrap_or(("", stopped));
    let size = size.parse().map_or_else(|_| size.to_owned(), grouped);
    let said = said.split(". Hint: ").next().unwrap_or_default().trim_matches(['[', ']', '.', ' ']);
    let why = match (said.strip_prefix("Refused: "), said.strip_prefix("ended: ")) {
        (Some(refused), _) => format!("the call is refused ({refused})"),
        (None, Some(ended)) => format!("the run ends {ended}"),
        (None, None) => said.to_owned(),
    };
    format!("The line \"{name}\" stops before {size}, where {why}.")
}

/// With commas between thousands.
fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let places = digits.char_indices().map(|(at, digit)| {
        let comma = if at > 0 && (digits.len() - at).is_multiple_of(3) { "," } else { "" };
        format!("{comma}{digit}")
    });
    places.collect()
}

fn drawn(results: &Results, measure: &Measure) -> String {
    let mut bars: Vec<Bar<'_>> = ran(results)
        .filter_map(|column| {
            let peer = column.peer()?;
            let (value, note) = match column.cells.get(measure.key)? {
                Cell::Number { value, .. } => (*value, peer.walls.to_owned()),
                Cell::Wrong { value, .. } => (*value, format!("wrong answers; {}", peer.walls)),
                Cell::Good(_) | Cell::Bad(_) | Cell::None(_) => return None,
            };
            let class = if peer.is_ours() { "own" } else { "other" };
            Some(Bar { name: peer.name, value, class, note })
        })
        .collect();
    bars.sort_by(|one, other| one.value.total_cmp(&other.value));
    if measure.better == super::table::Better::More {
        bars.reverse();
    }
    plot::bars(&format!("{}{}", measure.title, unit(measure)), measure.unit, &bars)
}

/// Those that there is something of, in the order of the catalogue.
fn ran(results: &Results) -> impl Iterator<Item = &Column> {
    let named = |name: &'static str| results.columns.iter().find(move |column| column.name == name);
    PEERS.iter().filter_map(move |peer| named(peer.name)).filter(|column| column.absent.is_none())
}

fn unit(measure: &Measure) -> String {
    if measure.unit.is_empty() { String::new() } else { format!(", {}", measure.unit) }
}

fn cell(column: &Column, measure: &Measure) -> String {
    let text = match column.cells.get(measure.key) {
        Some(Cell::Number { value, .. }) => figure(*value),
        Some(Cell::Wrong { value, note }) => format!("({}) {note}", figure(*value)),
        Some(Cell::Good(said)) => said.clone(),
        Some(Cell::Bad(said)) => format!("✗ {said}"),
        Some(Cell::None(said)) => format!("– {said}"),
        None => "–".to_owned(),
    };
    text.replace('|', "\\|").replace('\n', " ").replace('<', "&lt;")
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::{ending, page, printed};
    use crate::peers::table::{Cell, Column, Results};

    #[test]
    fn a_peer_that_cannot_run_is_on_the_page_with_its_reason() {
        let mut own = Column::new("belljar");
        own.set("warm_p50", Cell::Number { value: 0.7, note: String::new() });
        own.set("output", Cell::Bad("a | in a cell".to_owned()));
        let mut absent = Column::new("gVisor");
        absent.absent = Some("no `runsc`".to_owned());
        let results = Results {
            machine: "a machine".to_owned(),
            day: "a day".to_owned(),
            took_s: 90.0,
            method: String::new(),
            versions: BTreeMap::from([("eryx".to_owned(), "1".to_owned())]),
            columns: vec![own, absent],
            growth: Vec::new(),
        };
        let text = page(&results);
        assert!(text.contains("| warm run, p50, ms | 0.70 | first | not measured |"), "{text}");
        assert!(text.contains("a \\| in a cell"), "{text}");
        assert!(text.lines().any(|line| line.starts_with("| gVisor |") && line.ends_with("| no `runsc` |")), "{text}");
        assert!(printed(&results).contains("gVisor: no `runsc`"));
    }

    #[test]
    fn why_a_line_ends_is_a_sentence() {
        let refused = "at 10000: Refused: `files` holds 10000 files, above the limit of 1024. Hint: send an archive.";
        let expected = "The line \"given\" stops before 10,000, where the call is refused (`files` holds 10000 files, above the limit of 1024).";
        assert_eq!(ending("given", refused), expected);
        let ended = ending("lines", "at 10000000: [ended: over its memory limit]");
        assert_eq!(ended, "The line \"lines\" stops before 10,000,000, where the run ends over its memory limit.");
    }
}
