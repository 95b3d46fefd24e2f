//! The part of a program that shows its language: its lines without strings and comments, which can quote any other
//! language.

/// A program, prepared for [`Pattern`](super::pattern::Pattern)s.
#[derive(Debug)]
pub(super) struct Outline<'code> {
    /// The program as it was sent.
    pub raw: &'code str,
    /// Without comment lines, and with string literals emptied.
    pub text: Text<'code>,
    /// The same in lower case.
    pub lowered: Text<'code>,
    /// What its comment lines begin with.
    pub comments: &'code [&'static str],
}

/// A text and its lines, which are scanned once per sign.
#[derive(Debug)]
pub(super) struct Text<'code> {
    pub whole: &'code str,
    pub lines: Vec<&'code str>,
    /// The lines without indentation and trailing space.
    pub trimmed: Vec<&'code str>,
}

impl<'code> Text<'code> {
    fn of(whole: &'code str) -> Self {
        Self { whole, lines: whole.lines().collect(), trimmed: whole.lines().map(str::trim).collect() }
    }
}

/// What an [`Outline`] points into.
#[derive(Debug)]
pub(super) struct Stripped<'code> {
    raw: &'code str,
    text: String,
    lowered: String,
    comments: Vec<&'static str>,
}

/// How much of a program is looked at, both before and after removing strings and comments. The search costs the caller
/// about a millisecond at most, and a language shows long before this.
const MAX_RAW: usize = 16 * 1024;
const MAX_TEXT: usize = 4 * 1024;

/// What a comment line begins with, and whether a space must follow (`#include` and `--i` are not comments).
const COMMENT_MARKERS: &[(&str, bool)] = &[("//", false), ("#", true), ("--", true), (";", false), ("%", true)];

impl<'code> Stripped<'code> {
    pub(super) fn of(code: &'code str) -> Self {
        let (mut text, mut comments) = (String::new(), Vec::new());
        let mut in_block = false;
        let emptied = empty_strings(start_of(code, MAX_RAW));
        for line in emptied.lines() {
            let start = line.trim_start();
            let marker = if in_block || start.starts_with("/*") {
                in_block = !start.contains("*/");
                Some("//")
            } else {
                comment_marker(start)
            };
            match marker {
                Some(marker) if comments.contains(&marker) => {}
                Some(marker) => comments.push(marker),
                None => {
                    text.push_str(line);
                    text.push('\n');
                }
            }
        }
        let text = start_of(&text, MAX_TEXT).to_owned();
        Self { raw: start_of(code, MAX_TEXT), lowered: text.to_ascii_lowercase(), text, comments }
    }

    pub(super) fn outline(&self) -> Outline<'_> {
        let (text, lowered) = (Text::of(&self.text), Text::of(&self.lowered));
        Outline { raw: self.raw, text, lowered, comments: &self.comments }
    }
}

fn start_of(text: &str, length: usize) -> &str {
    text.get(..text.floor_char_boundary(length)).unwrap_or(text)
}

fn comment_marker(line: &str) -> Option<&'static str> {
    let is_comment = |(marker, needs_space): &&(&'static str, bool)| {
        line.strip_prefix(*marker).is_some_and(|rest| {
            !needs_space || rest.is_empty() || rest.starts_with([' ', '\t']) || rest.starts_with(*marker)
        })
    };
    COMMENT_MARKERS.iter().find(is_comment).map(|(marker, _)| *marker)
}

/// The program with nothing between the quotes of its string literals: `"…"` on one line, and `"""` or `'''` over
/// several.
///
/// Single quotes stay: in Rust, Haskell and every Lisp they do not quote strings.
fn empty_strings(code: &str) -> String {
    let mut emptied = String::with_capacity(code.len());
    let mut rest = code;
    while let Some(at) = rest.find(['"', '\'']) {
        let (before, quoted) = rest.split_at(at);
        emptied.push_str(before);
        let block = ["\"\"\"", "'''"].into_iter().find(|block| quoted.starts_with(block));
        if let Some(block) = block {
            emptied.push_str(block);
            let inside = quoted.strip_prefix(block).unwrap_or("");
            rest = inside.split_once(block).map_or("", |(_, after)| after);
            emptied.push_str(block);
        } else if let Some(after) = quoted.strip_prefix("'\"'") {
            // A quote inside a character literal opens nothing.
            emptied.push_str("'\"'");
            rest = after;
        } else if let Some(after) = quoted.strip_prefix('"').and_then(after_string) {
            emptied.push_str("\"\"");
            rest = after;
        } else {
            // An apostrophe, or a string that does not end on its line: then nothing else on the line can be a string
            // either.
            let end = if quoted.starts_with('"') { quoted.find('\n').unwrap_or(quoted.len()) } else { 1 };
            let (kept, after) = quoted.split_at(end);
            emptied.push_str(kept);
            rest = after;
        }
    }
    emptied.push_str(rest);
    emptied
}

/// What follows the quote that closes a string on this line, if one does.
fn after_string(inside: &str) -> Option<&str> {
    let mut characters = inside.chars();
    while let Some(character) = characters.next() {
        match character {
            '"' => return Some(characters.as_str()),
            '\n' => return None,
            '\\' => {
                characters.next();
            }
            _ => {}
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn strings_are_emptied_and_comment_lines_dropped() {
        let check = |code: &str, expected: &str, comments: &[&str]| {
            let stripped = Stripped::of(code);
            assert_eq!((stripped.text.as_str(), stripped.comments.as_slice()), (expected, comments), "{code}");
        };
        check("print(\"SELECT \\\" 1\")\n", "print(\"\")\n", &[]);
        check("q = \"\"\"\nSELECT 1\n\"\"\"\nx = 1\n", "q = \"\"\"\"\"\"\nx = 1\n", &[]);
        check("# puts 1\n#include <stdio.h>\n  // x\n", "#include <stdio.h>\n", &["#", "//"]);
        check("/* a\n b */\nint x;\n", "int x;\n", &["//"]);
        check("char c = '\"'; f(\"x\")\n", "char c = '\"'; f(\"\")\n", &[]);
        check("fn f<'a>(x: &'a str) {}\n", "fn f<'a>(x: &'a str) {}\n", &[]);
        check("say \"open\nnext\n", "say \"open\nnext\n", &[]);
    }
}
