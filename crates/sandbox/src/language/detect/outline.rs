//! The part of a program that tells its language: its lines without strings and comments, which can quote any other language.

/// A program, prepared for [`Pattern`](super::pattern::Pattern)s.
#[derive(Debug)]
pub(super) struct Outline<'code> {
    /// As it was sent.
    pub raw: &'code str,
    /// Without comment lines, and with string literals emptied.
    pub text: String,
    /// `text` in lower case.
    pub lowered: String,
    /// What its comment lines begin with.
    pub comments: Vec<&'static str>,
}

/// What a comment line begins with, and whether a space has to follow (`#include` and `--i` are no comments).
const COMMENT_MARKERS: &[(&str, bool)] = &[("//", false), ("#", true), ("--", true), (";", false), ("%", true)];

impl<'code> Outline<'code> {
    pub(super) fn of(code: &'code str) -> Self {
        let (mut text, mut comments) = (String::with_capacity(code.len()), Vec::new());
        let mut in_block = false;
        let emptied = empty_strings(code);
        for line in emptied.lines() {
            let start = line.trim_start();
            if in_block || start.starts_with("/*") {
                in_block = !start.contains("*/");
                if !comments.contains(&"//") {
                    comments.push("//");
                }
            } else if let Some(marker) = comment_marker(start) {
                if !comments.contains(&marker) {
                    comments.push(marker);
                }
            } else {
                text.push_str(line);
                text.push('\n');
            }
        }
        Self { raw: code, lowered: text.to_ascii_lowercase(), text, comments }
    }
}

fn comment_marker(line: &str) -> Option<&'static str> {
    let is_comment = |(marker, needs_space): &&(&'static str, bool)| {
        line.strip_prefix(*marker).is_some_and(|rest| {
            !needs_space || rest.is_empty() || rest.starts_with([' ', '\t']) || rest.starts_with(*marker)
        })
    };
    COMMENT_MARKERS.iter().find(is_comment).map(|(marker, _)| *marker)
}

/// The program with nothing between the quotes of its string literals: `"…"` on one line, and `"""` or `'''` over several.
///
/// Single quotes stay: to Rust, Haskell and every Lisp they are no quotes.
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
            // A quote as a character literal opens nothing.
            emptied.push_str("'\"'");
            rest = after;
        } else if let Some(after) = quoted.strip_prefix('"').and_then(after_string) {
            emptied.push_str("\"\"");
            rest = after;
        } else {
            let (quote, after) = quoted.split_at(1);
            emptied.push_str(quote);
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
            let outline = Outline::of(code);
            assert_eq!((outline.text.as_str(), outline.comments.as_slice()), (expected, comments), "{code}");
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
