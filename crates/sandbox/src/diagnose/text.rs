//! Guest output as the parsers see it: a window of printable text, its lines, and the places in it that name the caller's program.

use std::borrow::Cow;

/// Where the sandbox shows the workspace to its tools. A file of the same name anywhere else is a library's: Crystal has a `main.cr`.
const WORKSPACE: &str = "/box/";

/// The caller's program, by file name.
#[derive(Clone, Copy)]
pub(super) struct Source<'a> {
    name: &'a str,
}

/// A place in the caller's program that some text names.
pub(super) struct Place<'t> {
    /// What comes before the path.
    pub(super) before: &'t str,
    pub(super) line: u32,
    /// What comes after the line number.
    pub(super) after: &'t str,
}

impl<'a> Source<'a> {
    pub(super) fn new(name: &'a str) -> Self {
        Self { name }
    }

    /// The file name without its last extension: what many tools call the program.
    pub(super) fn stem(self) -> &'a str {
        self.name.rsplit_once('.').map_or(self.name, |(stem, _)| stem)
    }

    pub(super) fn name(self) -> &'a str {
        self.name
    }

    /// The first place in `text`, written in any of the ways that tools write one: `main.js:3:14`, `main.d(3)`, `main.sh: line 3:`,
    /// `main.py", line 3`, `main.php on line 3`, `main.scss 3:1`.
    pub(super) fn place(self, text: &str) -> Option<Place<'_>> {
        self.mentions(text).find_map(|(before, after)| {
            let after = after.trim_start_matches(['"', '\'', ',', ':', '(', ' ']);
            let after = after.strip_prefix("on ").unwrap_or(after);
            let (line, after) = line_number(after.strip_prefix("line ").unwrap_or(after))?;
            Some(Place { before, line, after })
        })
    }

    /// The line of the first place in `text`.
    pub(super) fn line_in(self, text: &str) -> Option<u32> {
        self.place(text).map(|place| place.line)
    }

    /// The line of the first place in `text` that is written the other way round: `line 3 of main.pas`.
    pub(super) fn line_of(self, text: &str) -> Option<u32> {
        text.lines().find_map(|line| {
            // Only the first mention of a line: looking back from each would be quadratic.
            let (before, _) = self.mentions(line).next()?;
            let (_, number) = before.rsplit_once("line ")?;
            line_number(number).map(|(line, _)| line)
        })
    }

    /// A message that starts with its place, and the rest of it without the column: `main.c:3:7: error: x` is line 3, `error: x`.
    pub(super) fn located(self, text: &str) -> Option<(u32, &str)> {
        let (_, after) = self.mentions(text).next().filter(|(before, _)| before.is_empty())?;
        // GHC gives a span of lines as `main.hs:(3,1)-(4,7): `, tsc and mcs a column as `main.ts(3,7): `.
        let after = after.trim_start_matches([':', '(', ' ']);
        // Bash says so if it was `eval` that could not read the text, as with the cells of a session.
        let after = after.strip_prefix("eval: ").unwrap_or(after);
        let (line, after) = line_number(after.strip_prefix("line ").unwrap_or(after))?;
        let column = after.strip_prefix(':').or_else(|| after.strip_prefix(", ")).or_else(|| after.strip_prefix(','));
        let after = column.and_then(without_column).unwrap_or(after);
        let after = after.strip_prefix(')').unwrap_or(after);
        let after = after.strip_prefix("-(").and_then(|span| span.split_once(')')).map_or(after, |(_, rest)| rest);
        let after = after.trim_start_matches([':', ' ']);
        Some((line, after.strip_prefix("- ").unwrap_or(after)))
    }

    /// Every mention of the caller's program: what comes before its path, and what comes after.
    fn mentions(self, text: &str) -> impl Iterator<Item = (&str, &str)> {
        let name = self.name;
        text.match_indices(name).filter_map(move |(at, _)| {
            let (before, after) = text.split_at_checked(at)?;
            let after = after.strip_prefix(name).filter(|after| !name.is_empty() && !after.starts_with(is_word))?;
            // D's runtime drops the leading slash of a path.
            let directories = [WORKSPACE, "box/", "./"];
            let before = directories.iter().find_map(|directory| before.strip_suffix(directory)).unwrap_or(before);
            let before = before.strip_suffix("file://").unwrap_or(before);
            let elsewhere = before.ends_with(|c: char| is_word(c) || matches!(c, '/' | '.' | '-'));
            (!elsewhere).then_some((before, after))
        })
    }
}

/// A line of a text, with what surrounds it.
#[derive(Clone, Copy)]
pub(super) struct Line<'t> {
    pub(super) before: &'t str,
    pub(super) text: &'t str,
    pub(super) after: &'t str,
}

pub(super) fn lines(text: &str) -> impl Iterator<Item = Line<'_>> {
    let mut start = 0;
    std::iter::from_fn(move || {
        let (before, rest) = text.split_at_checked(start).filter(|(_, rest)| !rest.is_empty())?;
        let (line, after) = rest.split_once('\n').unwrap_or((rest, ""));
        start = text.len() - after.len();
        Some(Line { before, text: line, after })
    })
}

pub(super) fn first_line(text: &str, wanted: impl Fn(&str) -> bool) -> Option<Line<'_>> {
    lines(text).find(|line| wanted(line.text))
}

pub(super) fn last_line(text: &str, wanted: impl Fn(&str) -> bool) -> Option<Line<'_>> {
    lines(text).filter(|line| wanted(line.text)).last()
}

pub(super) fn is_blank(line: &str) -> bool {
    line.trim().is_empty()
}

/// `message`, or if that is blank, the first line after it that is not: tools put long messages on a line of their own.
pub(super) fn or_next_line<'t>(message: &'t str, after: &'t str) -> &'t str {
    if is_blank(message) { after.lines().find(|line| !is_blank(line)).unwrap_or("") } else { message }.trim()
}

/// `Kind: message`, or just `Kind`, where the kind is a name: letters, digits and whatever languages join names with.
pub(super) fn exception(line: &str) -> Option<(&str, &str)> {
    let (kind, message) = line.split_once(": ").unwrap_or((line, ""));
    let kind = kind.trim_end_matches([':', ' ']);
    let joins = |c: char| matches!(c, '.' | '$' | '<' | '>' | ':' | '`' | '+' | '#');
    let is_name =
        kind.starts_with(|c: char| c.is_alphabetic() || c == '_') && kind.chars().all(|c| is_word(c) || joins(c));
    is_name.then_some((kind, message.trim()))
}

/// A line number, counted from 1, at the start of `text`, and what follows it.
pub(super) fn line_number(text: &str) -> Option<(u32, &str)> {
    let after = text.trim_start_matches(|c: char| c.is_ascii_digit());
    let number = text.strip_suffix(after)?.parse().ok().filter(|number| *number > 0)?;
    Some((number, after))
}

/// The first `limit` bytes, or a few less so as not to split a character.
pub(super) fn head(text: &str, limit: usize) -> &str {
    text.get(..text.floor_char_boundary(limit)).unwrap_or(text)
}

/// The last `limit` bytes, without the partial line at their start.
pub(super) fn tail(text: &str, limit: usize) -> &str {
    match text.len().checked_sub(limit) {
        None | Some(0) => text,
        Some(start) => {
            let cut = text.get(text.ceil_char_boundary(start)..).unwrap_or("");
            cut.split_once('\n').map_or("", |(_, rest)| rest)
        }
    }
}

/// `text` without terminal escapes and control characters, except line breaks and tabs: raku, deno and crystal colour
/// what they print.
pub(super) fn printable(text: &str) -> Cow<'_, str> {
    let unwanted = |c: char| c.is_control() && !matches!(c, '\n' | '\t');
    if !text.contains(unwanted) {
        return Cow::Borrowed(text);
    }
    let mut kept = String::with_capacity(text.len());
    let mut characters = text.chars().peekable();
    while let Some(character) = characters.next() {
        if character == '\u{1b}' && characters.next_if_eq(&'[').is_some() {
            // ECMA-48: parameters and intermediates, then one final byte.
            while characters.next_if(|c| matches!(c, ' '..='?')).is_some() {}
            characters.next_if(|c| matches!(c, '@'..='~'));
        } else if !unwanted(character) {
            kept.push(character);
        }
    }
    Cow::Owned(kept)
}

/// `text` with every run of blanks replaced by one space, cut to `limit` bytes between characters.
pub(super) fn one_line(text: &str, limit: usize) -> String {
    let mut line = String::with_capacity(text.len().min(limit));
    for word in text.split(|c: char| c.is_whitespace() || c.is_control()).filter(|word| !word.is_empty()) {
        if line.len() >= limit {
            break;
        }
        if !line.is_empty() {
            line.push(' ');
        }
        line.push_str(head(word, limit.saturating_sub(line.len())));
    }
    line.truncate(line.trim_end().len());
    line
}

fn is_word(character: char) -> bool {
    character.is_alphanumeric() || character == '_'
}

/// What follows a column, or a range of columns, at the start of `text`.
fn without_column(text: &str) -> Option<&str> {
    let is_digit = |c: char| c.is_ascii_digit();
    let after = text.trim_start_matches(is_digit);
    if after.len() == text.len() {
        return None;
    }
    let end = after.strip_prefix('-').map_or(after, |end| end.trim_start_matches(is_digit));
    Some(if end.len() + 1 < after.len() { end } else { after })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places() {
        let source = Source::new("main.x");
        for (text, expected) in [
            ("  File \"/box/main.x\", line 3, in f", Some(3)),
            ("at f (file:///box/main.x:3:14)", Some(3)),
            ("./main.x:3:8: undefined", Some(3)),
            ("/box/main.x: line 3: oops", Some(3)),
            ("main.x(3)", Some(3)),
            ("main.x then /box/main.x:3", Some(3)),
            ("/usr/lib/main.x:3", None),
            ("/opt/box/main.x:3", None),
            ("box/main.x:3", Some(3)),
            ("sandbox/main.x:3", None),
            ("../main.x:3", None),
            ("domain.x:3", None),
            ("main.xx:3", None),
            ("main.x:0", None),
            ("main.x:99999999999", None),
            ("main.x", None),
        ] {
            assert_eq!(source.line_in(text), expected, "{text}");
        }
        assert_eq!(Source::new("").line_in("3"), None);
        assert_eq!(source.line_of("first\n  at line 3 of file /box/main.x"), Some(3));
    }

    #[test]
    fn located_messages() {
        let source = Source::new("main.x");
        for (text, expected) in [
            ("main.x:3:7: error: bad", Some((3, "error: bad"))),
            ("/box/main.x:3: 5 errors", Some((3, "5 errors"))),
            ("main.x(3,7): error TS1: bad", Some((3, "error TS1: bad"))),
            ("main.x(3, 7) Error: bad", Some((3, "Error: bad"))),
            ("main.x:3:7 - error TS1: bad", Some((3, "error TS1: bad"))),
            ("main.x:3:1-7: bad", Some((3, "bad"))),
            ("main.x:(3,1)-(4,7): error: bad", Some((3, "error: bad"))),
            ("main.x: line 3: bad", Some((3, "bad"))),
            ("main.x: 3: bad", Some((3, "bad"))),
            ("in main.x:3: bad", None),
        ] {
            assert_eq!(source.located(text), expected, "{text}");
        }
    }

    #[test]
    fn windows() {
        assert_eq!(head("aé", 2), "a");
        assert_eq!(tail("é\nlast", 5), "last");
        assert_eq!(tail("one\ntwo", 7), "one\ntwo");
        assert_eq!(tail("one\ntwo", 6), "two");
        assert_eq!(tail("one line", 4), "");
        assert_eq!(printable("\u{1b}[1;31mred\u{1b}[0m\r\n\tx\u{9b}\u{1b}"), "red\n\tx");
        assert_eq!(one_line(" a \t b\nc ", 4), "a b");
    }
}
