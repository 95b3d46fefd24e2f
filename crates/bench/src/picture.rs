//! `bench picture`: runs `belljar example` and draws what it prints, as a terminal would show it.

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{ExitCode, Stdio};

use clap::Args;
use testkit::arena::host_command;

use crate::server;

#[derive(Debug, Args)]
pub(crate) struct Options {
    /// The folder of provisioned runtimes [default: belljar's own]
    #[arg(long)]
    cache: Option<PathBuf>,
    /// Where to draw it [default: the project's `docs/example.svg`]
    #[arg(long)]
    to: Option<PathBuf>,
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

pub(crate) fn run(options: &Options) -> anyhow::Result<ExitCode> {
    let mut example = host_command(server::build()?);
    example.arg("example").args(LANGUAGES).stderr(Stdio::inherit());
    if let Some(cache) = &options.cache {
        example.env("BELLJAR_CACHE", cache);
    }
    let printed = example.output()?;
    anyhow::ensure!(printed.status.success(), "`belljar example` ended with {}", printed.status);
    let own = || Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/example.svg");
    let command = format!("$ belljar example {}", LANGUAGES.join(" "));
    fs::write(options.to.clone().unwrap_or_else(own), drawn(&command, &String::from_utf8(printed.stdout)?))?;
    Ok(ExitCode::SUCCESS)
}

/// The command in blue, the table's rule and what comes before it in grey.
fn drawn(command: &str, printed: &str) -> String {
    const LINE: usize = 17;
    const TOP: usize = 44;
    let lines: Vec<&str> = std::iter::once(command).chain(printed.trim_end().lines()).collect();
    let heading = lines.iter().position(|line| line.starts_with("language ")).unwrap_or(0);
    let widest = lines.iter().map(|line| line.chars().count()).max().unwrap_or(0);
    // 7.8 pixels a character, in this size of most such fonts.
    let (width, height) = (40 + widest * 39 / 5, TOP + lines.len() * LINE);
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
    format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width}\" height=\"{height}\" viewBox=\"0 0 {width} {height}\" role=\"img\" \
         aria-label=\"belljar example: a sample in every language, each in a fresh sandbox\">\n\
         <rect width=\"100%\" height=\"100%\" rx=\"8\" fill=\"#11151c\"/>\n\
         <circle cx=\"18\" cy=\"16\" r=\"5\" fill=\"#e06c75\"/><circle cx=\"36\" cy=\"16\" r=\"5\" fill=\"#e5c07b\"/><circle cx=\"54\" cy=\"16\" r=\"5\" fill=\"#98c379\"/>\n\
         <g font-family=\"ui-monospace, SFMono-Regular, Menlo, Consolas, monospace\" font-size=\"13\" fill=\"#d5dae3\">\n{text}</g>\n</svg>\n"
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
    use super::drawn;

    #[test]
    fn what_is_printed_is_drawn() {
        let printed = "A server.\n\nlanguage  engine  result  output\n────────  ──────  ──────  ──────\nPython    wasm    ok      a < b\n";
        let drawn = drawn("$ belljar example python", printed);
        assert_eq!(drawn.matches("<text").count(), 6);
        let row = "Python    <tspan fill=\"#7aa2f7\">wasm</tspan>    <tspan fill=\"#98c379\">ok</tspan>      a &lt; b";
        assert!(drawn.contains(row), "{drawn}");
    }
}
