//! What a recipe says on its output: progress, and last words.

use std::collections::VecDeque;

/// Steps that a recipe may have. More is garbage.
const MOST_STEPS: u32 = 1000;
/// Of one line. A recipe's output is bounded by its own log file, not by our memory.
const LONGEST_LINE: usize = 2048;
/// Lines that are kept as last words.
const MOST_LINES: usize = 16;

/// `step K/N what`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct RecipeStep {
    pub(crate) index: u32,
    pub(crate) of: u32,
    pub(crate) text: String,
}

/// Cuts a recipe's output into lines; keeps the last that are no steps.
#[derive(Debug, Default)]
pub(crate) struct Output {
    line: Vec<u8>,
    last: VecDeque<String>,
}

impl Output {
    /// The next bytes, and the steps that they complete.
    pub(crate) fn push(&mut self, bytes: &[u8]) -> Vec<RecipeStep> {
        let mut steps = Vec::new();
        for &byte in bytes {
            // A carriage return is how tools redraw their own progress: each state is a line.
            if byte == b'\n' || byte == b'\r' {
                steps.extend(self.end_line());
            } else if self.line.len() < LONGEST_LINE {
                self.line.push(byte);
            }
        }
        steps
    }

    /// The recipe's own sentence about its failure: the last line that says anything.
    pub(crate) fn last_words(&mut self) -> Option<String> {
        self.end_line();
        let line = self.last.back()?;
        let line = line.strip_prefix("error: ").unwrap_or(line);
        // We name the log ourselves.
        let line = line.rsplit_once(" (log: ").map_or(line, |(sentence, _)| sentence);
        Some(line.to_owned())
    }

    fn end_line(&mut self) -> Option<RecipeStep> {
        let line = printable(&std::mem::take(&mut self.line));
        if line.is_empty() {
            return None;
        }
        let step = parse(&line);
        if step.is_none() {
            if self.last.len() == MOST_LINES {
                self.last.pop_front();
            }
            self.last.push_back(line);
        }
        step
    }
}

fn parse(line: &str) -> Option<RecipeStep> {
    let (count, text) = line.strip_prefix("step ")?.split_once(' ')?;
    let (index, of) = count.split_once('/')?;
    let (index, of): (u32, u32) = (index.parse().ok()?, of.parse().ok()?);
    let is_sane = (1..=of).contains(&index) && of <= MOST_STEPS && !text.is_empty();
    is_sane.then(|| RecipeStep { index, of, text: text.to_owned() })
}

/// One line without anything that moves a cursor.
fn printable(bytes: &[u8]) -> String {
    let text: String = String::from_utf8_lossy(bytes).chars().filter(|c| !c.is_control()).collect();
    text.trim().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn steps(text: &str) -> Vec<RecipeStep> {
        Output::default().push(text.as_bytes())
    }

    fn step(index: u32, of: u32, text: &str) -> RecipeStep {
        RecipeStep { index, of, text: text.to_owned() }
    }

    #[test]
    fn steps_are_lines_of_one_form() {
        assert_eq!(steps("step 1/3 fetch zig\nstep 2/3 x\r\n"), [step(1, 3, "fetch zig"), step(2, 3, "x")]);
        for garbage in [
            "step",
            "step ",
            "step 1",
            "step 1/2",
            "step 1/2 ",
            "step 0/2 x",
            "step 3/2 x",
            "step -1/2 x",
            "step 1/9999 x",
            "step 1/99999999999 x",
            "Step 1/2 x",
            "a step 1/2 x",
            "step 1/2x",
        ] {
            assert_eq!(steps(&format!("{garbage}\n")), [], "{garbage}");
        }
        assert_eq!(steps("step 1/2 \x1b[31mred\x07\n"), [step(1, 2, "[31mred")]);
    }

    #[test]
    fn the_last_line_that_is_no_step_is_the_reason() {
        let mut output = Output::default();
        assert_eq!(output.last_words(), None);
        output.push(b"make: warning\nerror: this machine lacks `make` (log: /a/b.log)\nstep 2/2 x\n\n");
        assert_eq!(output.last_words().as_deref(), Some("this machine lacks `make`"));
        output.push(b"and no newline");
        assert_eq!(output.last_words().as_deref(), Some("and no newline"));
    }

    proptest! {
        #[test]
        fn any_bytes_in_any_pieces_are_bounded(pieces in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..5000), 0..20)) {
            let mut pieced = Output::default();
            let one: Vec<RecipeStep> = pieces.iter().flat_map(|piece| pieced.push(piece)).collect();
            let mut whole = Output::default();
            prop_assert_eq!(&one, &whole.push(&pieces.concat()));
            prop_assert_eq!(pieced.last_words(), whole.last_words());
            prop_assert!(pieced.last.len() <= MOST_LINES);
            // A byte that is no UTF-8 becomes three.
            prop_assert!(pieced.last.iter().all(|line| line.len() <= 3 * LONGEST_LINE && !line.contains(char::is_control)));
        }
    }
}
