//! JavaScript: Node, Deno, QuickJS, and what compiles to it.

use super::Finding;
use super::compiler::{self, COMPILE_ERROR};
use super::text::{Line, Source, exception, first_line, is_blank, last_line, lines, or_next_line};

/// What a run ended with. Node and Deno mark an uncaught error, so that one that was only logged is not taken for it.
pub(super) fn uncaught<'t>(text: &'t str, source: Source<'_>) -> Option<Finding<'t>> {
    node(text, source)
        .or_else(|| deno(text, source))
        .or_else(|| quickjs(text, source))
        .or_else(|| out_of_memory(text))
}

/// What tsc said, or a runtime that was asked to check the program.
pub(super) fn compile<'t>(text: &'t str, source: Source<'_>) -> Option<Finding<'t>> {
    deno_check(text, source)
        .or_else(|| compiler::diagnostic(text, source))
        .or_else(|| uncaught(text, source))
}

/// CoffeeScript prints the stack alone. Its places are in the JavaScript it was compiled to, so they are no lines of the program.
pub(super) fn coffee<'t>(text: &'t str, source: Source<'_>) -> Option<Finding<'t>> {
    let located = lines(text).find_map(|line| source.located(line.text));
    if let Some((number, message)) =
        located.and_then(|(number, message)| Some((number, message.strip_prefix("error: ")?)))
    {
        return Some(Finding::new("SyntaxError", message, Some(number)));
    }
    let (before, _) = trailing_frames(text)?;
    let (kind, message) = error_above(before)?;
    Some(Finding::new(kind, message, None))
}

/// Node prints the place, the code and a caret, then the error with its stack, and signs with its version.
fn node<'t>(text: &'t str, source: Source<'_>) -> Option<Finding<'t>> {
    let signature = last_line(text, |line| !is_blank(line)).filter(|line| line.text.starts_with("Node.js v"))?;
    let (mut above, mut place, mut report) = ("", "", None);
    for line in lines(signature.before) {
        if is_underline(line.text) && is_place(place) {
            report = Some((place, line.after));
        }
        (place, above) = (above, line.text);
    }
    let (place, report) = report?;
    let thrown = first_line(report, |line| !is_blank(line))?;
    let stack = thrown.after.split("\n  [cause]").next().unwrap_or("");
    let line = first_frame(stack, source).or_else(|| source.line_in(place));
    // Node says this of values that are no errors, and so have no stack.
    let is_error = !thrown
        .after
        .lines()
        .any(|line| line.starts_with("(Use `node --trace-uncaught"));
    let text = thrown
        .text
        .strip_prefix('[')
        .and_then(|text| text.strip_suffix(']'))
        .unwrap_or(thrown.text);
    let (kind, message) = error(text).filter(|_| is_error).unwrap_or(("Uncaught", text));
    Some(Finding::new(kind, or_next_line(message, stack), line))
}

fn deno<'t>(text: &'t str, source: Source<'_>) -> Option<Finding<'t>> {
    if let Some(checked) = deno_check(text, source) {
        return Some(checked);
    }
    let report = last_line(text, |line| line.starts_with("error: "))?;
    let message = report.text.strip_prefix("error: ")?;
    if let Some(thrown) = message.strip_prefix("Uncaught ") {
        let thrown = thrown.strip_prefix("(in promise) ").unwrap_or(thrown);
        let (kind, message) = error(thrown).unwrap_or(("Uncaught", thrown));
        let stack = report.after.split("\nCaused by: ").next().unwrap_or("");
        return Some(Finding::new(kind, message, first_frame(stack, source)));
    }
    // Of modules and syntax: the code at most, then the place.
    let is_code = |line: &str| line.starts_with(|c: char| c == ' ' || c.is_ascii_digit());
    let place = report
        .after
        .lines()
        .take_while(|line| is_code(line))
        .find(|line| line.starts_with("    at "))?;
    let (kind, message) = error(message)
        .filter(|(kind, _)| is_error_name(kind))
        .unwrap_or(("Error", message));
    Some(Finding::new(kind, message, source.line_in(place)))
}

/// `TS2322 [ERROR]: message`, the code, then the place.
fn deno_check<'t>(text: &'t str, source: Source<'_>) -> Option<Finding<'t>> {
    let report = first_line(text, |line| line.contains(" [ERROR]: "))?;
    let (code, message) = report.text.split_once(" [ERROR]: ")?;
    let code = code.strip_prefix("error: ").unwrap_or(code);
    code.starts_with("TS").then(|| {
        Finding::new(
            COMPILE_ERROR,
            format!("{code}: {message}"),
            first_frame(report.after, source),
        )
    })
}

/// The bare `TypeError: message` and stack, at the very end.
fn quickjs<'t>(text: &'t str, source: Source<'_>) -> Option<Finding<'t>> {
    let (before, frames) = trailing_frames(text)?;
    if frames.contains("(node:") || frames.contains("at node:") || frames.contains("file://") {
        return None;
    }
    let (kind, message) = error_above(before)?;
    // QuickJS counts the constructor of an error's class as its innermost frame.
    let is_constructor = |frame: &str| {
        frame
            .strip_prefix("    at ")
            .and_then(|frame| frame.split(' ').next())
            .is_some_and(is_error_name)
    };
    let line = frames
        .lines()
        .skip_while(|frame| is_constructor(frame))
        .find_map(|frame| source.line_in(frame));
    Some(Finding::new(kind, message, line))
}

fn out_of_memory(text: &str) -> Option<Finding<'_>> {
    let fatal = last_line(text, |line| {
        line.starts_with("FATAL ERROR: ") && line.ends_with("out of memory")
    })?;
    Some(Finding::new(
        "OutOfMemory",
        fatal.text.strip_prefix("FATAL ERROR: ")?,
        None,
    ))
}

/// `Kind: message`, where Node may put a code behind the kind: `TypeError [ERR_INVALID_ARG_TYPE]: …`.
fn error(line: &str) -> Option<(&str, &str)> {
    match line.split_once(": ") {
        Some((kind, message)) if kind.ends_with(']') => {
            let (kind, _) = exception(kind.split(" [").next()?)?;
            Some((kind, message))
        }
        _ => exception(line),
    }
}

fn is_error_name(name: &str) -> bool {
    name.starts_with(char::is_uppercase) && (name.ends_with("Error") || name.ends_with("Exception"))
}

/// The error whose stack follows `before`. Its message may have several lines, so that its name is not always on the last.
fn error_above(before: &str) -> Option<(&str, &str)> {
    let mut nearest = before
        .lines()
        .rev()
        .skip_while(|line| is_blank(line))
        .take(16)
        .peekable();
    let last = *nearest.peek()?;
    let named = nearest
        .find_map(|line| error(line.strip_prefix("Uncaught ").unwrap_or(line)).filter(|(kind, _)| is_error_name(kind)));
    Some(named.unwrap_or(("Error", last)))
}

/// The stack that ends the text, and what comes before it.
fn trailing_frames(text: &str) -> Option<(&str, &str)> {
    let mut start: Option<Line<'_>> = None;
    for line in lines(text).filter(|line| !is_blank(line.text)) {
        start = if line.text.starts_with("    at ") {
            start.or(Some(line))
        } else {
            None
        };
    }
    let before = start?.before;
    Some((before, text.strip_prefix(before)?))
}

fn first_frame(stack: &str, source: Source<'_>) -> Option<u32> {
    stack
        .lines()
        .filter(|line| line.trim_start().starts_with("at "))
        .find_map(|line| source.line_in(line))
}

/// The carets below a line of code.
fn is_underline(line: &str) -> bool {
    let line = line.trim();
    !line.is_empty() && line.chars().all(|c| c == '^')
}

/// A path or address alone on its line, with a line number.
fn is_place(line: &str) -> bool {
    let named = ["/", "file://", "node:", "<"]
        .iter()
        .any(|start| line.starts_with(start));
    named
        && line
            .rsplit_once(':')
            .is_some_and(|(_, number)| !number.is_empty() && number.chars().all(|c| c.is_ascii_digit()))
}

#[cfg(test)]
mod tests {
    use super::super::Step;
    use super::super::testing::{Tool, found};
    use crate::GuestError;

    const JAVASCRIPT: Tool = Tool {
        language: "javascript",
        source: "main.js",
    };
    const TYPESCRIPT: Tool = Tool {
        language: "typescript",
        source: "main.ts",
    };

    #[test]
    fn node() {
        JAVASCRIPT.run(
            r#"/box/main.js:2
  return x.y.z;
             ^

TypeError: Cannot read properties of undefined (reading 'z')
    at f (/box/main.js:2:14)
    at Object.<anonymous> (/box/main.js:5:1)
    at Module._compile (node:internal/modules/cjs/loader:1521:14)
    at node:internal/main/run_main_module:28:49

Node.js v20.20.2
"#,
            found("TypeError", "Cannot read properties of undefined (reading 'z')", 2),
        );
        JAVASCRIPT.run(
            "/box/main.js:2\nfunction f( { return 1\n                     ^\n\nSyntaxError: Unexpected number\n    at wrapSafe (node:internal/modules/cjs/loader:1464:18)\n    at node:internal/main/run_main_module:28:49\n\nNode.js v20.20.2\n",
            found("SyntaxError", "Unexpected number", 2),
        );
        JAVASCRIPT.run(
            "<anonymous_script>:1\n{bad\n ^\n\nSyntaxError: Expected property name or '}' in JSON at position 1\n    at JSON.parse (<anonymous>)\n    at f (/box/main.js:3:8)\n\nNode.js v20.20.2\n",
            found("SyntaxError", "Expected property name or '}' in JSON at position 1", 3),
        );
        let modules = Tool {
            language: "javascript",
            source: "main.mjs",
        };
        modules.run(
            "file:///box/main.mjs:1\nimport { nope } from \"fs\";\n         ^^^^\nSyntaxError: The requested module 'fs' does not provide an export named 'nope'\n    at ModuleJob._instantiate (node:internal/modules/esm/module_job:213:21)\n\nNode.js v20.20.2\n",
            found("SyntaxError", "The requested module 'fs' does not provide an export named 'nope'", 1),
        );
    }

    #[test]
    fn node_in_a_library() {
        JAVASCRIPT.run(
            r#"node:assert:90
  throw new AssertionError(obj);
  ^

AssertionError [ERR_ASSERTION]: Expected values to be strictly deep-equal:
+ actual - expected

  {
+   a: 1
-   a: 2
  }
    at Object.<anonymous> (/box/main.js:2:8)
    at node:internal/main/run_main_module:28:49 {
  generatedMessage: true,
  code: 'ERR_ASSERTION',
  actual: { a: 1 },
  expected: { a: 2 },
  operator: 'deepStrictEqual'
}

Node.js v20.20.2
"#,
            found("AssertionError", "Expected values to be strictly deep-equal:", 2),
        );
        JAVASCRIPT.run(
            r#"/box/main.js:1
function f() { try { null.x } catch (e) { throw new Error("outer", { cause: e }); } }
                                          ^

Error: outer
    at f (/box/main.js:1:49)
    at Object.<anonymous> (/box/main.js:2:1)
    ... 5 lines matching cause stack trace ...
    at node:internal/main/run_main_module:28:49 {
  [cause]: TypeError: Cannot read properties of null (reading 'x')
      at f (/box/main.js:1:27)
      at node:internal/main/run_main_module:28:49
}

Node.js v20.20.2
"#,
            found("Error", "outer", 1),
        );
    }

    #[test]
    fn node_with_values_that_are_no_errors() {
        JAVASCRIPT.run(
            "\n/box/main.js:2\n  throw \"just a string\";\n  ^\njust a string\n(Use `node --trace-uncaught ...` to show where the exception was thrown)\n\nNode.js v20.20.2\n",
            found("Uncaught", "just a string", 2),
        );
        JAVASCRIPT.run(
            "\n/box/main.js:2\n  throw { a: 1 };\n  ^\n{ a: 1 }\n\nNode.js v20.20.2\n",
            found("Uncaught", "{ a: 1 }", 2),
        );
        JAVASCRIPT.run(
            "/box/main.js:1\nconst e = new Error(\"quiet\"); e.stack = undefined; throw e;\n                                                   ^\n\n[Error: quiet]\n\nNode.js v20.20.2\n",
            found("Error", "quiet", 1),
        );
        JAVASCRIPT.run(
            r#"/box/main.js:1
function f() { throw new SyntaxError("bad.js:1\nfoo bar\n    ^\nhere"); }
               ^

SyntaxError: bad.js:1
foo bar
    ^
here
    at f (/box/main.js:1:22)
    at Object.<anonymous> (/box/main.js:2:1)

Node.js v20.20.2
"#,
            found("SyntaxError", "bad.js:1", 1),
        );
    }

    #[test]
    fn an_error_that_was_only_logged() {
        JAVASCRIPT.run("Error: noise\nError: logged\n    at Object.<anonymous> (/box/main.js:1:46)\n    at node:internal/main/run_main_module:28:49\n", None);
        TYPESCRIPT.run("error: noise\nError: logged\n    at file:///box/main.ts:1:46\n", None);
    }

    #[test]
    fn node_out_of_memory() {
        let stderr = "\n<--- JS stacktrace --->\n\nFATAL ERROR: Reached heap limit Allocation failed - JavaScript heap out of memory\n----- Native stack trace -----\n\n 1: 0xb78db3 node::OOMErrorHandler(char const*, v8::OOMDetails const&) [node]\n";
        let expected = found(
            "OutOfMemory",
            "Reached heap limit Allocation failed - JavaScript heap out of memory",
            0,
        );
        let hint = Some(super::super::MEMORY_HINT.to_owned());
        JAVASCRIPT.run(stderr, expected.map(|error| GuestError { hint, ..error }));
    }

    #[test]
    fn deno() {
        TYPESCRIPT.run(
            "\u{1b}[0m\u{1b}[1m\u{1b}[31merror\u{1b}[0m: Uncaught (in promise) TypeError: Cannot read properties of undefined (reading 'z')\n  return x.y!.z;\n\u{1b}[0m\u{1b}[31m              ^\u{1b}[0m\n    at \u{1b}[0m\u{1b}[1m\u{1b}[3mf\u{1b}[0m (\u{1b}[0m\u{1b}[2m\u{1b}[38;5;245mfile:///box/\u{1b}[0m\u{1b}[0m\u{1b}[36mmain.ts\u{1b}[0m:\u{1b}[0m\u{1b}[33m3\u{1b}[0m:\u{1b}[0m\u{1b}[33m15\u{1b}[0m)\n    at file:///box/main.ts:6:1\n",
            found("TypeError", "Cannot read properties of undefined (reading 'z')", 3),
        );
        TYPESCRIPT.run(
            "error: Uncaught (in promise) MyError: outer\nmore\n  throw new MyError(\"outer\\nmore\", { cause: new TypeError(\"inner\") });\n        ^\n    at f (file:///box/main.ts:4:9)\n    at async file:///box/main.ts:6:1\nCaused by: TypeError: inner\n    at f (file:///box/main.ts:4:45)\n    at async file:///box/main.ts:6:1\n",
            found("MyError", "outer", 4),
        );
        TYPESCRIPT.run(
            "error: Uncaught (in promise) \"just text\"\n",
            found("Uncaught", "\"just text\"", 0),
        );
        TYPESCRIPT.run(
            "error: SyntaxError: Expected ',', got 'numeric literal (1, 1)'\n  |\n2 | function f( { return 1\n  |                      ~\n    at file:///box/main.ts:2:22\n\nStack backtrace:\n   0: <unknown>\n",
            found("SyntaxError", "Expected ',', got 'numeric literal (1, 1)'", 2),
        );
        TYPESCRIPT.run(
            "error: Module not found \"file:///box/nosuch.ts\".\n    at file:///box/main.ts:1:19\n\nStack backtrace:\n   0: <unknown>\n",
            found("Error", "Module not found \"file:///box/nosuch.ts\".", 1),
        );
    }

    #[test]
    fn type_checks() {
        let expected = || {
            found(
                "CompileError",
                "TS2322: Type 'number' is not assignable to type 'string'.",
                2,
            )
        };
        let deno = "Check main.ts\nTS2322 [ERROR]: Type 'number' is not assignable to type 'string'.\n  return x;\n  ~~~~~~\n    at file:///box/main.ts:2:3\n\nTS2345 [ERROR]: Argument of type 'string' is not assignable to parameter of type 'number'.\nconsole.log(f(\"a\"));\n              ~~~\n    at file:///box/main.ts:4:15\n\nFound 2 errors.\n\nerror: Type checking failed.\n";
        TYPESCRIPT.compile(deno, expected());
        TYPESCRIPT.run(deno, expected());
        TYPESCRIPT.check(Step::Compile, "", "main.ts(2,3): error TS2322: Type 'number' is not assignable to type 'string'.\nmain.ts(4,15): error TS2345: Argument of type 'string' is not assignable to parameter of type 'number'.\n", expected());
        TYPESCRIPT.check(Step::Compile, "", "\u{1b}[96mmain.ts\u{1b}[0m:\u{1b}[93m2\u{1b}[0m:\u{1b}[93m3\u{1b}[0m - \u{1b}[91merror\u{1b}[0m\u{1b}[90m TS2322: \u{1b}[0mType 'number' is not assignable to type 'string'.\n", expected());
    }

    #[test]
    fn quickjs() {
        JAVASCRIPT.run(
            "TypeError: cannot read property 'z' of undefined\n    at f (/box/main.js:2:10)\n    at <eval> (/box/main.js:4:1)\n\n",
            found("TypeError", "cannot read property 'z' of undefined", 2),
        );
        JAVASCRIPT.run(
            "Error: first\nsecond\n    at MyError (/box/main.js:1:1)\n    at f (/box/main.js:3:12)\n    at <eval> (/box/main.js:4:1)\n",
            found("Error", "first", 3),
        );
        JAVASCRIPT.run(
            "SyntaxError: invalid destructuring target\n    at /box/main.js:3:1\n",
            found("SyntaxError", "invalid destructuring target", 3),
        );
    }

    #[test]
    fn coffeescript() {
        let coffee = Tool {
            language: "coffeescript",
            source: "main.coffee",
        };
        coffee.run(
            "/box/main.coffee:3:3: error: unexpected if\n  if\n  ^^\n",
            found("SyntaxError", "unexpected if", 3),
        );
        coffee.run(
            "TypeError: Cannot read properties of undefined (reading 'z')\n    at f (/box/main.coffee:6:16)\n    at Object.<anonymous> (/box/main.coffee:11:3)\n    at node:internal/main/run_main_module:28:49\n",
            found("TypeError", "Cannot read properties of undefined (reading 'z')", 0),
        );
        coffee.run("error: noise\n", None);
    }
}
