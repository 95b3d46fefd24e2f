//! Python's tracebacks.

use super::Finding;
use super::text::{Source, exception, lines, or_next_line};

/// The last exception in the text. Python prints a chain oldest first, so the last one is the one that ended the
/// program.
///
/// For an exception group this is the group itself: its parts are in `stderr`, and none of them speaks for the others.
pub(super) fn traceback<'t>(text: &'t str, source: Source<'_>) -> Option<Finding<'t>> {
    let mut traceback = Traceback::None;
    let mut line = None;
    let mut found = None;
    for printed in lines(text) {
        let Some(content) = outermost(printed.text) else {
            continue;
        };
        if matches!(
            content,
            "Traceback (most recent call last):" | "Exception Group Traceback (most recent call last):"
        ) {
            traceback = Traceback::Headed;
            line = None;
        } else if content.starts_with("  File \"") {
            if traceback == Traceback::None {
                traceback = Traceback::Headless;
                line = None;
            }
            // The innermost frame comes last.
            line = source.line_in(content).or(line);
        } else if traceback != Traceback::None && !content.is_empty() && !content.starts_with(' ') {
            let ended = exception(content).filter(|(kind, _)| traceback == Traceback::Headed || is_syntax_error(kind));
            if let Some((kind, message)) = ended {
                found = Some(Finding::new(kind, or_next_line(message, printed.after), line));
            }
            traceback = Traceback::None;
        }
    }
    // Not an error but a way to exit; it has a traceback only if something printed one.
    found.filter(|found| found.kind != "SystemExit")
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Traceback {
    None,
    Headed,
    /// For a syntax error in the program itself, Python prints only the place.
    Headless,
}

fn is_syntax_error(kind: &str) -> bool {
    matches!(kind, "SyntaxError" | "IndentationError" | "TabError")
}

/// A line without the margin that Python draws for an exception group; `None` if it belongs to a part of the group.
fn outermost(line: &str) -> Option<&str> {
    if let Some(content) = line.strip_prefix("  | ").or_else(|| line.strip_prefix("  + ")) {
        return Some(content);
    }
    let nested = line.starts_with("  +-") || line.trim_start().starts_with(['|', '+']);
    (!nested).then_some(line)
}

#[cfg(test)]
mod tests {
    use super::super::tests::{Tool, found};

    const PYTHON: Tool = Tool::new("python", "main.py");

    #[test]
    fn exceptions() {
        PYTHON.run(
            r#"Traceback (most recent call last):
  File "/box/main.py", line 6, in <module>
    f(1)
    ~^^^
  File "/box/main.py", line 3, in f
    return x / 0
           ~~^~~
ZeroDivisionError: division by zero
"#,
            found("ZeroDivisionError", "division by zero", 3),
        );
        PYTHON.run(
            r#"Traceback (most recent call last):
  File "/box/main.py", line 3, in <module>
    f()
    ~^^
  File "/box/main.py", line 2, in f
    assert 1 == 2
           ^^^^^^
AssertionError
"#,
            found("AssertionError", "", 2),
        );
        PYTHON.run(
            r#"Traceback (most recent call last):
  File "/box/main.py", line 3, in <module>
    f(0)
    ~^^^
  File "/box/main.py", line 2, in f
    return f(n + 1)
  [Previous line repeated 996 more times]
RecursionError: maximum recursion depth exceeded
"#,
            found("RecursionError", "maximum recursion depth exceeded", 2),
        );
        PYTHON.run(
            "Traceback (most recent call last):\n  File \"/box/main.py\", line 1, in <module>\n    raise ValueError(\"\"\"\n    first: line\n      second\"\"\")\nValueError: \nfirst: line\n  second\n",
            found("ValueError", "first: line", 1),
        );
        PYTHON.run(
            "Traceback (most recent call last):\n  File \"/box/main.py\", line 5, in <module>\n    raise e\nurllib.error.URLError: <urlopen error x>\na note: here\n",
            found("urllib.error.URLError", "<urlopen error x>", 5),
        );
    }

    #[test]
    fn library_frames_are_not_the_callers_line() {
        PYTHON.run(
            r#"Traceback (most recent call last):
  File "/box/main.py", line 6, in <module>
    load()
  File "/box/main.py", line 4, in load
    return json.loads("{oops")
           ^^^^^^^^^^^^^^^^^^^
  File "/usr/lib/python3.11/json/decoder.py", line 353, in raw_decode
    obj, end = self.scan_once(s, idx)
               ^^^^^^^^^^^^^^^^^^^^^^
json.decoder.JSONDecodeError: Expecting property name enclosed in double quotes: line 1 column 2 (char 1)
"#,
            found(
                "json.decoder.JSONDecodeError",
                "Expecting property name enclosed in double quotes: line 1 column 2 (char 1)",
                4,
            ),
        );
    }

    #[test]
    fn syntax_errors() {
        PYTHON.run(
            "  File \"/box/main.py\", line 2\n    return (1 +\n           ^\nSyntaxError: '(' was never closed\n",
            found("SyntaxError", "'(' was never closed", 2),
        );
        PYTHON.run(
            "  File \"/box/main.py\", line 2\n    x = 1\n    ^\nIndentationError: expected an indented block after function definition on line 1\n",
            found("IndentationError", "expected an indented block after function definition on line 1", 2),
        );
    }

    #[test]
    fn a_chain_is_its_last_exception() {
        PYTHON.run(
            r#"Traceback (most recent call last):
  File "/box/main.py", line 5, in f
    {}["a"]
    ~~^^^^^
KeyError: 'a'

The above exception was the direct cause of the following exception:

Traceback (most recent call last):
  File "/box/main.py", line 9, in <module>
    f()
    ~^^
  File "/box/main.py", line 7, in f
    raise MyError("bad\nthing") from e
MyError: bad
thing

During handling of the above exception, another exception occurred:

Traceback (most recent call last):
  File "/box/main.py", line 11, in <module>
    int("x")
    ~~~^^^^^
ValueError: invalid literal for int() with base 10: 'x'
"#,
            found("ValueError", "invalid literal for int() with base 10: 'x'", 11),
        );
    }

    #[test]
    fn a_group_speaks_for_its_parts() {
        PYTHON.run(
            r#"  + Exception Group Traceback (most recent call last):
  |   File "/box/main.py", line 11, in <module>
  |     g()
  |     ~^^
  |   File "/box/main.py", line 10, in g
  |     raise ExceptionGroup("two failed", errors)
  | ExceptionGroup: two failed (2 sub-exceptions)
  +-+---------------- 1 ----------------
    | Traceback (most recent call last):
    |   File "/box/main.py", line 7, in g
    |     f()
    |     ~^^
    |   File "/box/main.py", line 2, in f
    |     raise ValueError("inner")
    | ValueError: inner
    +---------------- 2 ----------------
    | Traceback (most recent call last):
    |   File "/box/main.py", line 7, in g
    |     f()
    |     ~^^
    | ValueError: inner
    +------------------------------------
"#,
            found("ExceptionGroup", "two failed (2 sub-exceptions)", 10),
        );
    }

    #[test]
    fn leaving_is_not_an_error() {
        PYTHON.run("warning: low disk\n", None);
        PYTHON.run("ValueError: usage error\n", None);
        PYTHON.run("  File \"/box/main.py\", line 2\nValueError: not what it seems\n", None);
        PYTHON.run(
            "Traceback (most recent call last):\n  File \"/box/main.py\", line 2, in <module>\nSystemExit: 3\n",
            None,
        );
    }
}
