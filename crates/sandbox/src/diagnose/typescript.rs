//! TypeScript: its own compiler, Deno and Bun.

use super::Finding;
use super::compiler::{self, COMPILE_ERROR};
use super::javascript::{self, error, first_frame, is_error_name, is_underline};
use super::text::{Source, first_line, is_blank, last_line, lines};

/// What tsc said, or a runtime that was asked to check the program.
pub(super) fn compile<'t>(text: &'t str, source: Source<'_>) -> Option<Finding<'t>> {
    checked(text, source).or_else(|| compiler::diagnostic(text, source)).or_else(|| javascript::uncaught(text, source))
}

/// `error: Uncaught (in promise) Kind: message`, the code and the stack.
pub(super) fn deno<'t>(text: &'t str, source: Source<'_>) -> Option<Finding<'t>> {
    if let Some(error) = checked(text, source) {
        return Some(error);
    }
    let report = last_line(text, |line| line.starts_with("error: "))?;
    let message = report.text.strip_prefix("error: ")?;
    if let Some(thrown) = message.strip_prefix("Uncaught ") {
        let thrown = thrown.strip_prefix("(in promise) ").unwrap_or(thrown);
        let (kind, message) = error(thrown).unwrap_or(("Uncaught", thrown));
        let stack = report.after.split("\nCaused by: ").next().unwrap_or("");
        return Some(Finding::new(kind, message, first_frame(stack, source)));
    }
    // Errors in modules and syntax show at most some code, then the place.
    let is_code = |line: &str| line.starts_with(|c: char| c == ' ' || c.is_ascii_digit());
    let mut below = report.after.lines().take_while(|line| is_code(line));
    let place = below.find(|line| line.starts_with("    at "))?;
    let named = error(message).filter(|(kind, _)| is_error_name(kind));
    let (kind, message) = named.unwrap_or(("Error", message));
    Some(Finding::new(kind, message, source.line_in(place)))
}

/// The code with its line numbers, a caret, `Kind: message` and the stack. Bun signs with its version.
pub(super) fn bun<'t>(text: &'t str, source: Source<'_>) -> Option<Finding<'t>> {
    let signature = last_line(text, |line| !is_blank(line)).filter(|line| line.text.starts_with("Bun v"))?;
    let said = signature.before;
    let Some(first) = first_line(said, is_underline).map(|caret| caret.after) else {
        // There is nothing of the program to show.
        let message = last_line(said, |line| line.starts_with("error: "))?.text.strip_prefix("error: ")?;
        return Some(Finding::new("Error", message, None));
    };
    // A program that does not parse gets a report for each error, indented less; those after the first follow from it.
    let parses = !first.lines().nth(1)?.starts_with("    at ");
    let report = if parses { last_line(said, is_underline)?.after } else { first };
    let thrown = lines(report).next()?;
    let (kind, message) = error(thrown.text).unwrap_or(("Uncaught", thrown.text));
    let kind = match kind {
        "error" if parses => "Error",
        "error" => "SyntaxError",
        name => name,
    };
    Some(Finding::new(kind, message, first_frame(thrown.after, source)))
}

/// Deno's `TS2322 [ERROR]: message`, the code, then the place.
fn checked<'t>(text: &'t str, source: Source<'_>) -> Option<Finding<'t>> {
    let report = first_line(text, |line| line.contains(" [ERROR]: "))?;
    let (code, message) = report.text.split_once(" [ERROR]: ")?;
    let code = code.strip_prefix("error: ").unwrap_or(code).trim();
    let line = first_frame(report.after, source);
    code.starts_with("TS").then(|| Finding::new(COMPILE_ERROR, format!("{code}: {message}"), line))
}

#[cfg(test)]
mod tests {
    use super::super::Step;
    use super::super::tests::{Tool, found};

    const TYPESCRIPT: Tool = Tool::new("typescript", "main.ts");

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
        TYPESCRIPT.run("error: Uncaught (in promise) \"just text\"\n", found("Uncaught", "\"just text\"", 0));
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
        let expected = || found("CompileError", "TS2322: Type 'number' is not assignable to type 'string'.", 2);
        let deno = "Check main.ts\nTS2322 [ERROR]: Type 'number' is not assignable to type 'string'.\n  return x;\n  ~~~~~~\n    at file:///box/main.ts:2:3\n\nTS2345 [ERROR]: Argument of type 'string' is not assignable to parameter of type 'number'.\nconsole.log(f(\"a\"));\n              ~~~\n    at file:///box/main.ts:4:15\n\nFound 2 errors.\n\nerror: Type checking failed.\n";
        TYPESCRIPT.compile(deno, expected());
        TYPESCRIPT.run(deno, expected());
        TYPESCRIPT.check(Step::Compile, "", "main.ts(2,3): error TS2322: Type 'number' is not assignable to type 'string'.\nmain.ts(4,15): error TS2345: Argument of type 'string' is not assignable to parameter of type 'number'.\n", expected());
        TYPESCRIPT.check(Step::Compile, "", "\u{1b}[96mmain.ts\u{1b}[0m:\u{1b}[93m2\u{1b}[0m:\u{1b}[93m3\u{1b}[0m - \u{1b}[91merror\u{1b}[0m\u{1b}[90m TS2322: \u{1b}[0mType 'number' is not assignable to type 'string'.\n", expected());
    }

    #[test]
    fn bun() {
        TYPESCRIPT.run(
            "1 | interface A { y?: { z: number } }\n2 | function f(x: A): number {\n3 |   return x.y!.z;\n               ^\nTypeError: undefined is not an object (evaluating 'x.y.z')\n      at f (/box/main.ts:3:12)\n      at /box/main.ts:6:1\n\nBun v1.4.4 (Linux x64)\n",
            found("TypeError", "undefined is not an object (evaluating 'x.y.z')", 3),
        );
        TYPESCRIPT.run(
            "2 | function f( { return 1\n                         ^\nerror: Expected \"}\" but found \"1\"\n    at /box/main.ts:2:22\n\n2 | function f( { return 1\n                          ^\nerror: Expected \")\" but found end of file\n    at /box/main.ts:2:23\n\nBun v1.4.4 (Linux x64)\n",
            found("SyntaxError", "Expected \"}\" but found \"1\"", 2),
        );
        TYPESCRIPT.run(
            "error: Cannot find package 'nosuch' from '/box/main.ts'\n\nBun v1.4.4 (Linux x64)\n",
            found("Error", "Cannot find package 'nosuch' from '/box/main.ts'", 0),
        );
        TYPESCRIPT.run("error: text\ntext\n\nBun v1.4.4 (Linux x64)\n", found("Error", "text", 0));
    }

    #[test]
    fn an_error_that_was_only_logged() {
        TYPESCRIPT.run("error: noise\nError: logged\n    at file:///box/main.ts:1:46\n", None);
        TYPESCRIPT.run(
            "error: noise\n1 | console.error(new Error(\"logged\"))\n                      ^\nerror: logged\n      at /box/main.ts:1:50\n\n",
            None,
        );
    }
}
