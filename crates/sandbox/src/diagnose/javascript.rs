//! JavaScript: Node, `QuickJS` and `CoffeeScript`. Deno and Bun are in [`super::typescript`].

use super::Finding;
use super::text::{Line, Source, exception, first_line, is_blank, last_line, lines, or_next_line};
use super::{compiler, typescript};

/// What ended a run. Node, Deno and Bun mark an uncaught error, so one that was only logged is not mistaken for it.
pub(super) fn uncaught<'t>(text: &'t str, source: Source<'_>) -> Option<Finding<'t>> {
    // QuickJS comes last: it prints no mark of its own.
    typescript::bun(text, source)
        .or_else(|| node(text, source))
        .or_else(|| typescript::deno(text, source))
        .or_else(|| out_of_memory(text))
        .or_else(|| quickjs(text, source))
}

/// The stack alone. With source maps, its places are in `/main.coffee`; those in `/box/main.coffee` are lines of the
/// JavaScript that the program was compiled to.
pub(super) fn coffee<'t>(text: &'t str, source: Source<'_>) -> Option<Finding<'t>> {
    if let Some(refused) = compiler::own_error(text, source) {
        return Some(Finding::new("SyntaxError", refused.message, refused.line));
    }
    let (before, frames) = trailing_frames(text)?;
    let (kind, message) = error_above(before)?;
    let mapped = frames.lines().filter_map(|frame| frame.split_once("(/")).map(|(_, place)| place);
    let line = mapped.filter(|place| place.starts_with(source.name())).find_map(|place| source.line_in(place));
    Some(Finding::new(kind, message, line))
}

/// `Kind: message`, where Node may put a code after the kind: `TypeError [ERR_INVALID_ARG_TYPE]: …`.
pub(super) fn error(line: &str) -> Option<(&str, &str)> {
    match line.split_once(": ") {
        Some((kind, message)) if kind.ends_with(']') => {
            let (kind, _) = exception(kind.split(" [").next()?)?;
            Some((kind, message))
        }
        _ => exception(line),
    }
}

pub(super) fn is_error_name(name: &str) -> bool {
    name.starts_with(char::is_uppercase) && (name.ends_with("Error") || name.ends_with("Exception"))
}

/// The line of the innermost frame in the caller's program.
pub(super) fn first_frame(stack: &str, source: Source<'_>) -> Option<u32> {
    stack.lines().filter(|line| line.trim_start().starts_with("at ")).find_map(|line| source.line_in(line))
}

/// The carets below a line of code.
pub(super) fn is_underline(line: &str) -> bool {
    let line = line.trim();
    !line.is_empty() && line.chars().all(|c| c == '^')
}

/// Node prints the place, the code and a caret, then the error with its stack. It ends with its version, which ts-node
/// does not.
fn node<'t>(text: &'t str, source: Source<'_>) -> Option<Finding<'t>> {
    let signature = last_line(text, |line| !is_blank(line)).filter(|line| line.text.starts_with("Node.js v"));
    let (mut above, mut place, mut report) = ("", "", None);
    for line in lines(signature.map_or(text, |signature| signature.before)) {
        if is_underline(line.text) && is_place(place) {
            report = Some((place, line.after));
        }
        (place, above) = (above, line.text);
    }
    let (place, report) = report?;
    let thrown = first_line(report, |line| !is_blank(line))?;
    if let Some(refused) = compiler::own_error(thrown.after, source) {
        // tsx and ts-node throw the compiler's message.
        return Some(refused);
    }
    let stack = thrown.after.split("\n  [cause]").next().unwrap_or("");
    let line = first_frame(stack, source).or_else(|| source.line_in(place));
    let value = thrown.text.strip_prefix('[').and_then(|text| text.strip_suffix(']')).unwrap_or(thrown.text);
    // Node says this about thrown values that are not errors, and so have no stack.
    let is_error = !stack.lines().any(|line| line.starts_with("(Use `node --trace-uncaught"));
    let (kind, message) = error(value).filter(|_| is_error).unwrap_or(("Uncaught", value));
    Some(Finding::new(kind, or_next_line(message, stack), line))
}

/// A path or address alone on its line, with a line number.
fn is_place(line: &str) -> bool {
    let named = ["/", "file://", "node:", "<"].iter().any(|start| line.starts_with(start));
    let is_number = |number: &str| !number.is_empty() && number.chars().all(|c| c.is_ascii_digit());
    named && line.rsplit_once(':').is_some_and(|(_, number)| is_number(number))
}

fn out_of_memory(text: &str) -> Option<Finding<'_>> {
    let fatal = last_line(text, |line| line.starts_with("FATAL ERROR: ") && line.ends_with("out of memory"))?;
    Some(Finding::new("OutOfMemory", fatal.text.strip_prefix("FATAL ERROR: ")?, None))
}

/// The bare `TypeError: message` and stack, at the very end.
fn quickjs<'t>(text: &'t str, source: Source<'_>) -> Option<Finding<'t>> {
    let (before, frames) = trailing_frames(text)?;
    if ["(node:", "at node:", "file://"].iter().any(|other| frames.contains(other)) {
        return None;
    }
    let (kind, message) = error_above(before)?;
    // The constructor of an error class appears as its innermost frame.
    let function = |frame: &'t str| frame.trim_start().split(' ').nth(1);
    let line = frames
        .lines()
        .skip_while(|frame| function(frame).is_some_and(is_error_name))
        .find_map(|frame| source.line_in(frame));
    Some(Finding::new(kind, message, line))
}

/// The stack that ends the text, and what comes before it.
fn trailing_frames(text: &str) -> Option<(&str, &str)> {
    let mut start: Option<Line<'_>> = None;
    for line in lines(text).filter(|line| !is_blank(line.text)) {
        start = if line.text.starts_with("    at ") { start.or(Some(line)) } else { None };
    }
    let before = start?.before;
    Some((before, text.strip_prefix(before)?))
}

/// The error whose stack follows `before`. Its message may span several lines, so its name is not always on the last.
fn error_above(before: &str) -> Option<(&str, &str)> {
    let mut nearest = before.lines().rev().skip_while(|line| is_blank(line)).take(16).peekable();
    let last = *nearest.peek()?;
    let named = nearest
        .map(|line| line.strip_prefix("Uncaught ").unwrap_or(line))
        .find_map(|line| error(line).filter(|(kind, _)| is_error_name(kind)));
    Some(named.unwrap_or(("Error", last)))
}

#[cfg(test)]
mod tests {
    use super::super::tests::{Tool, found};
    use crate::GuestError;

    const JAVASCRIPT: Tool = Tool::new("javascript", "main.js");

    #[test]
    fn node() {
        JAVASCRIPT.run(
            r"/box/main.js:2
  return x.y.z;
             ^

TypeError: Cannot read properties of undefined (reading 'z')
    at f (/box/main.js:2:14)
    at Object.<anonymous> (/box/main.js:5:1)
    at Module._compile (node:internal/modules/cjs/loader:1521:14)
    at node:internal/main/run_main_module:28:49

Node.js v20.20.2
",
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
        let modules = Tool::new("javascript", "main.mjs");
        modules.run(
            "file:///box/main.mjs:1\nimport { nope } from \"fs\";\n         ^^^^\nSyntaxError: The requested module 'fs' does not provide an export named 'nope'\n    at ModuleJob._instantiate (node:internal/modules/esm/module_job:213:21)\n\nNode.js v20.20.2\n",
            found("SyntaxError", "The requested module 'fs' does not provide an export named 'nope'", 1),
        );
    }

    #[test]
    fn node_in_a_library() {
        JAVASCRIPT.run(
            r"node:assert:90
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
",
            found("AssertionError", "Expected values to be strictly deep-equal", 2),
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
    }

    #[test]
    fn compilers_that_node_runs() {
        let typescript = Tool::new("typescript", "main.ts");
        typescript.run(
            r#"node:internal/modules/run_main:123
    triggerUncaughtException(
    ^

Error: Transform failed with 1 error:
/box/main.ts:2:21: ERROR: Expected "}" but found "1"
    at failureErrorWithLog (/usr/lib/node_modules/esbuild/lib/main.js:1752:15)
    at Pipe.onStreamRead (node:internal/stream_base_commons:191:23) {
  name: 'TransformError'
}

Node.js v20.20.2
"#,
            found("CompileError", "Expected \"}\" but found \"1\"", 2),
        );
        typescript.run(
            "/usr/share/nodejs/ts-node/src/index.ts:865\n    return new TSError(diagnosticText, diagnosticCodes, diagnostics);\n           ^\nTSError: ⨯ Unable to compile TypeScript:\nmain.ts(2,22): error TS1005: ':' expected.\nmain.ts(3,1): error TS1005: ':' expected.\n\n    at createTSError (/usr/share/nodejs/ts-node/src/index.ts:865:12)\n    at Function.executeUserEntryPoint [as runMain] (node:internal/modules/run_main:164:12) {\n  diagnosticCodes: [ 1005, 1005 ]\n}\n",
            found("CompileError", "TS1005: ':' expected.", 2),
        );
        typescript.run(
            "/box/main.ts:3\n  return x.y!.z;\n              ^\nTypeError: Cannot read properties of undefined (reading 'z')\n    at f (/box/main.ts:3:15)\n    at phase4 (/usr/share/nodejs/ts-node/src/bin.ts:649:14)\n",
            found("TypeError", "Cannot read properties of undefined (reading 'z')", 3),
        );
    }

    #[test]
    fn node_out_of_memory() {
        let stderr = "\n<--- JS stacktrace --->\n\nFATAL ERROR: Reached heap limit Allocation failed - JavaScript heap out of memory\n----- Native stack trace -----\n\n 1: 0xb78db3 node::OOMErrorHandler(char const*, v8::OOMDetails const&) [node]\n";
        let expected = found("OutOfMemory", "Reached heap limit Allocation failed - JavaScript heap out of memory", 0);
        let hint = Some(super::super::MEMORY_HINT.to_owned());
        JAVASCRIPT.run(stderr, expected.map(|error| GuestError { hint, ..error }));
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
        let coffee = Tool::new("coffeescript", "main.coffee");
        coffee
            .run("/box/main.coffee:3:3: error: unexpected if\n  if\n  ^^\n", found("SyntaxError", "unexpected if", 3));
        coffee.run(
            "TypeError: Cannot read properties of undefined (reading 'z')\n    at f (/main.coffee:3:7)\n    at Object.<anonymous> (/main.coffee:5:1)\n    at node:internal/main/run_main_module:28:49\n",
            found("TypeError", "Cannot read properties of undefined (reading 'z')", 3),
        );
        coffee.run(
            "Error: bad thing\n    at f (/box/main.coffee:5:11)\n    at Object.<anonymous> (/box/main.coffee:8:3)\n    at node:internal/main/run_main_module:28:49\n",
            found("Error", "bad thing", 0),
        );
        coffee.run("error: noise\n", None);
    }
}
