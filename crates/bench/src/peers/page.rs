//! The page, the plots and the printed table, all of them from the results alone.

use std::fmt::Write as _;
use std::fs;
use std::path::Path;

use super::catalogue::PEERS;
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
        let _ = writeln!(text, "  belljar is {}\n", results.standing(measure).replace('*', ""));
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
         Written by `cargo run --release -p bench -- peers`, which installs the published peers, runs the same work \
         through each of them and through belljar in one run, and writes this page, [its data](benchmarks/peers.json) and its plots. Nothing on it is written by hand.\n\n\
         Machine: {}. {}; the whole took {} minutes.\n\n{}\n\n",
        results.machine,
        results.day,
        figure(results.took_s / 60.0),
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
    let _ = writeln!(text, "| | {names} | belljar is |\n|---|{}---|", "---|".repeat(columns.len()));
    let walls =
        columns.iter().filter_map(|column| column.peer()).map(|peer| peer.walls).collect::<Vec<_>>().join(" | ");
    let _ = writeln!(text, "| walls | {walls} | |");
    for measure in MEASURES {
        let cells = columns.iter().map(|column| cell(column, measure)).collect::<Vec<_>>().join(" | ");
        let _ = writeln!(text, "| {}{} | {cells} | {} |", measure.title, unit(measure), results.standing(measure));
    }
    let _ = writeln!(
        text,
        "\nA number in parentheses counts for nothing: some answers were another run's. Who differs from belljar by less \
         than {:.0} % is level with it.",
        LEVEL * 100.0
    );
    text
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
    let mut text =
        String::from("## How belljar's cost grows\n\nPython in WebAssembly, over standard streams, one server.\n\n");
    for growth in &results.growth {
        let _ = writeln!(text, "![{}](benchmarks/growth-{}.svg)\n\n{}", growth.title, growth.key, growth.said);
        for series in &growth.series {
            if let Some(stopped) = &series.stopped {
                let _ = writeln!(text, "The line of \"{}\" ends {stopped}.", series.name);
            }
        }
        text += "\n";
    }
    text
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

    use super::{page, printed};
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
        assert!(text.contains("| warm run, p50, ms | 0.70 | first |"), "{text}");
        assert!(text.contains("a \\| in a cell"), "{text}");
        assert!(text.lines().any(|line| line.starts_with("| gVisor |") && line.ends_with("| no `runsc` |")), "{text}");
        assert!(printed(&results).contains("gVisor: no `runsc`"));
    }
}
