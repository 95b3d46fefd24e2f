//! `bench picture`: runs `belljar example` and draws what it prints, as a terminal would show it; or draws a session that a test had.

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{ExitCode, Stdio};

use anyhow::Context as _;
use base64::Engine as _;
use clap::Args;
use serde::Deserialize;
use testkit::arena::host_command;

use crate::server;

#[derive(Debug, Args)]
pub(crate) struct Options {
    /// The folder of provisioned runtimes [default: belljar's own]
    #[arg(long)]
    cache: Option<PathBuf>,
    /// Where to draw it [default: the project's `docs/example.svg`, or `docs/session.svg`]
    #[arg(long)]
    to: Option<PathBuf>,
    /// Draw this transcript of a session, which `belljar/tests/mcp_clients/day.py` writes
    #[arg(long, value_name = "FILE")]
    session: Option<PathBuf>,
}

const LANGUAGES: &[&str] = &[
    "python",
    "javascript",
    "typescript",
    "bash",
    "c",
    "cpp",
    "rust",
    "go",
    "java",
    "ruby",
    "php",
    "perl",
    "lua",
    "sql",
    "r",
];

/// A call of a session's client, as lines.
#[derive(Debug, Deserialize)]
struct Step {
    asked: Vec<String>,
    answered: Vec<String>,
    /// A PNG that came with the answer, in base64.
    #[serde(default)]
    picture: Option<String>,
}

/// Pixels between the baselines of two lines.
const LINE: usize = 17;
/// Where the first one's is.
const TOP: usize = 44;

pub(crate) fn run(options: &Options) -> anyhow::Result<ExitCode> {
    let (name, drawn) = match &options.session {
        Some(transcript) => {
            let steps: Vec<Step> = serde_json::from_str(&fs::read_to_string(transcript)?)?;
            ("session.svg", session(&steps).context("what came with an answer is no PNG")?)
        }
        None => ("example.svg", example(options)?),
    };
    let own = || Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs").join(name);
    fs::write(options.to.clone().unwrap_or_else(own), drawn)?;
    Ok(ExitCode::SUCCESS)
}

fn example(options: &Options) -> anyhow::Result<String> {
    let mut example = host_command(server::build()?);
    example.arg("example").args(LANGUAGES).stderr(Stdio::inherit());
    if let Some(cache) = &options.cache {
        example.env("BELLJAR_CACHE", cache);
    }
    let printed = example.output()?;
    anyhow::ensure!(printed.status.success(), "`belljar example` ended with {}", printed.status);
    let command = format!("$ belljar example {}", LANGUAGES.join(" "));
    Ok(drawn(&command, &String::from_utf8(printed.stdout)?))
}

/// What was asked in blue, what came in white, and pictures where they came. `None`: one of those is no PNG.
fn session(steps: &[Step]) -> Option<String> {
    /// Between two calls.
    const GAP: usize = 8;
    /// Of a picture that is drawn smaller than it is, so that lines are the widest.
    const WIDTH: usize = 460;
    let said = steps.iter().flat_map(|step| step.asked.iter().chain(&step.answered));
    let width = width(said.map(|line| line.chars().count()).max());
    let (mut body, mut at) = (String::new(), TOP);
    for step in steps {
        let asked = step.asked.iter().map(|line| (prompted(line), " fill=\"#7aa2f7\""));
        for (line, colour) in asked.chain(step.answered.iter().map(|line| (escaped(line), ""))) {
            let _ = writeln!(body, "<text x=\"20\" y=\"{at}\" xml:space=\"preserve\"{colour}>{line}</text>");
            at += LINE;
        }
        if let Some(png) = &step.picture {
            let (width, height) = size(png)?;
            let height = WIDTH * height / width.max(1);
            let _ = writeln!(
                body,
                "<image x=\"20\" y=\"{}\" width=\"{WIDTH}\" height=\"{height}\" href=\"data:image/png;base64,{png}\"/>",
                at - LINE / 2
            );
            at += height + GAP;
        }
        at += GAP;
    }
    let label =
        "A session: a table is uploaded, explored and plotted, carried on in two ways, and a report is read back";
    Some(framed((width, at), label, &body))
}

/// A line that was sent. Which session it is for stands out, and of other calls what they are.
fn prompted(line: &str) -> String {
    let line = escaped(line);
    let end = match line.split_once("&gt; ") {
        Some((session, _)) if !session.contains(' ') => session.len() + "&gt;".len(),
        _ if line.starts_with(' ') => 0,
        _ => line.find(' ').unwrap_or(line.len()),
    };
    let (first, rest) = line.split_at(end);
    if first.is_empty() { line } else { format!("<tspan fill=\"#98c379\">{first}</tspan>{rest}") }
}

/// Width and height of a PNG, which is given in base64.
fn size(picture: &str) -> Option<(usize, usize)> {
    // The start has them: eight bytes of magic, eight of a chunk's head, and four of each.
    let start = base64::prelude::BASE64_STANDARD.decode(picture.get(..32)?).ok()?;
    let number = |at: usize| Some(u32::from_be_bytes(start.get(at..at + 4)?.try_into().ok()?) as usize);
    let is_png = start.starts_with(b"\x89PNG\r\n\x1a\n");
    is_png.then_some((number(16)?, number(20)?))
}

/// The command in blue, the table's rule and what comes before it in grey.
fn drawn(command: &str, printed: &str) -> String {
    let lines: Vec<&str> = std::iter::once(command).chain(printed.trim_end().lines()).collect();
    let heading = lines.iter().position(|line| line.starts_with("language ")).unwrap_or(0);
    let size = (width(lines.iter().map(|line| line.chars().count()).max()), TOP + lines.len() * LINE);
    let mut text = String::new();
    for (number, line) in lines.iter().enumerate() {
        let colour = match number {
            0 => " fill=\"#7aa2f7\"",
            number if number < heading || number == heading + 1 => " fill=\"#8891a0\"",
            _ => "",
        };
        let _ = writeln!(
            text,
            "<text x=\"20\" y=\"{}\" xml:space=\"preserve\"{colour}>{}</text>",
            TOP + number * LINE,
            if number > heading + 1 { coloured(&escaped(line)) } else { escaped(line) }
        );
    }
    framed(size, "belljar example: a sample in every language, each in a fresh sandbox", &text)
}

/// The width that lines need, of which this is the longest.
fn width(longest: Option<usize>) -> usize {
    // 7.8 pixels a character, in this size of most such fonts.
    40 + longest.unwrap_or(0) * 39 / 5
}

/// A terminal's window around it.
fn framed((width, height): (usize, usize), label: &str, body: &str) -> String {
    format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width}\" height=\"{height}\" viewBox=\"0 0 {width} {height}\" role=\"img\" \
         aria-label=\"{label}\">\n\
         <rect width=\"100%\" height=\"100%\" rx=\"8\" fill=\"#11151c\"/>\n\
         <circle cx=\"18\" cy=\"16\" r=\"5\" fill=\"#e06c75\"/><circle cx=\"36\" cy=\"16\" r=\"5\" fill=\"#e5c07b\"/><circle cx=\"54\" cy=\"16\" r=\"5\" fill=\"#98c379\"/>\n\
         <g font-family=\"ui-monospace, SFMono-Regular, Menlo, Consolas, monospace\" font-size=\"13\" fill=\"#d5dae3\">\n{body}</g>\n</svg>\n"
    )
}

/// A row's engine and result stand out.
fn coloured(line: &str) -> String {
    let mut line = line.to_owned();
    for (word, colour) in [(" wasm ", "#7aa2f7"), (" ok ", "#98c379"), (" FAILED ", "#e06c75")] {
        line = line.replacen(word, &format!(" <tspan fill=\"{colour}\">{}</tspan> ", word.trim()), 1);
    }
    line
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

#[cfg(test)]
mod tests {
    use super::{Step, drawn, session};

    #[test]
    fn what_is_printed_is_drawn() {
        let printed = "A server.\n\nlanguage  engine  result  output\n────────  ──────  ──────  ──────\nPython    wasm    ok      a < b\n";
        let drawn = drawn("$ belljar example python", printed);
        assert_eq!(drawn.matches("<text").count(), 6);
        let row = "Python    <tspan fill=\"#7aa2f7\">wasm</tspan>    <tspan fill=\"#98c379\">ok</tspan>      a &lt; b";
        assert!(drawn.contains(row), "{drawn}");
    }

    #[test]
    fn a_session_is_drawn_line_by_line() {
        let lines = |lines: &[&str]| lines.iter().map(|&line| line.to_owned()).collect();
        let picture = Some("iVBORw0KGgoAAAANSUhEUgAAAgAAAAEACAYAAAA=".to_owned());
        let steps = [
            Step { asked: lines(&["write_file path=a"]), answered: lines(&["1 < 2"]), picture: None },
            Step { asked: lines(&["day> plot(", "     1)"]), answered: Vec::new(), picture },
        ];
        let drawn = session(&steps).expect("a picture");
        assert_eq!(drawn.matches("<text").count(), 4);
        for part in [
            ">1 &lt; 2</text>",
            "<tspan fill=\"#98c379\">write_file</tspan> path=a<",
            "<tspan fill=\"#98c379\">day&gt;</tspan> plot(<",
            // 512 by 256.
            "width=\"460\" height=\"230\"",
        ] {
            assert!(drawn.contains(part), "{part}: {drawn}");
        }
    }
}
