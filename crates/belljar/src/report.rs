//! Printing for people.

use std::io::{self, IsTerminal as _, Write as _};

/// Writes to standard output; an error means that nobody reads.
pub(crate) fn print(text: &str) -> io::Result<()> {
    let mut stdout = io::stdout().lock();
    stdout.write_all(text.as_bytes())?;
    stdout.flush()
}

/// Says something on standard error, which is not the guest's and not the protocol's.
pub(crate) fn note(text: &str) {
    io::stderr().write_all(text.as_bytes()).ok();
}

/// What is going on, on a line of its own that the next call overwrites. For people only: nothing when standard error is no terminal.
pub(crate) fn progress(what: &str) {
    let mut stderr = io::stderr().lock();
    if stderr.is_terminal() {
        write!(stderr, "\r\x1b[K{what}").ok();
        stderr.flush().ok();
    }
}

/// Rows with aligned columns, the first row underlined. Cells hold text that a guest may have written: nothing in them moves the cursor.
pub(crate) fn table(rows: &[Vec<String>]) -> String {
    let columns = rows.iter().map(Vec::len).max().unwrap_or(0);
    let rows: Vec<Vec<String>> = rows.iter().map(|row| row.iter().map(|cell| printable(cell)).collect()).collect();
    let width = |column: usize| {
        rows.iter().filter_map(|row| row.get(column)).map(|cell| cell.chars().count()).max().unwrap_or(0)
    };
    let widths: Vec<usize> = (0..columns).map(width).collect();
    let mut text = String::new();
    for (index, row) in rows.iter().enumerate() {
        let cells: Vec<String> = row.iter().zip(&widths).map(|(cell, width)| format!("{cell:<width$}")).collect();
        text.push_str(cells.join("  ").trim_end());
        text.push('\n');
        if index == 0 {
            let line: Vec<String> = widths.iter().map(|width| "─".repeat(*width)).collect();
            text.push_str(&line.join("  "));
            text.push('\n');
        }
    }
    text
}

/// One line without control characters.
fn printable(text: &str) -> String {
    text.chars().map(|c| if c.is_control() { '·' } else { c }).collect()
}
