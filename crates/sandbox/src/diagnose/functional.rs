//! Haskell, OCaml, Standard ML, the languages of the BEAM, and Prolog.

use super::Finding;
use super::compiler;
use super::text::{Source, first_line, is_blank, last_line, lines, or_next_line};

/// `program: message`, under which `error` leaves the place of its call. Only what can be told from a program's own words is read: a
/// place, or the name of the program in front of the last line.
pub(super) fn haskell<'t>(text: &'t str, source: Source<'_>) -> Option<Finding<'t>> {
    if let Some(stack) = last_line(text, |line| line == "CallStack (from HasCallStack):") {
        let (_, message) = stack.before.lines().next_back()?.split_once(": ")?;
        return Some(Finding::new("ErrorCall", message, source.line_in(stack.after)));
    }
    // runghc compiles first.
    if first_line(text, |line| source.located(line).is_some()).is_some() {
        return compiler::diagnostic(text, source);
    }
    let last = last_line(text, |line| !is_blank(line))?;
    let (program, message) = last.text.split_once(": ")?;
    if let Some((line, message)) = source.located(message) {
        return Some(Finding::new("PatternMatchFail", message, Some(line)));
    }
    [source.name(), source.stem(), "program"]
        .contains(&program)
        .then(|| Finding::new("Exception", message, None))
}

/// `Fatal error: exception Failure("message")` of a program, `Exception: Failure "message".` of the toplevel.
pub(super) fn ocaml<'t>(text: &'t str, source: Source<'_>) -> Option<Finding<'t>> {
    const FATAL: &str = "Fatal error: exception ";
    let line = last_line(text, |line| {
        line.starts_with(FATAL) || (line.starts_with("Exception: ") && line.ends_with('.'))
    });
    let Some(line) = line else {
        return compiler::place_then_error(text, source);
    };
    let thrown = match line.text.strip_prefix(FATAL) {
        Some(thrown) => thrown,
        None => line.text.strip_prefix("Exception: ")?.strip_suffix('.')?,
    };
    let (kind, arguments) = thrown.split_at(thrown.find(['(', ' ']).unwrap_or(thrown.len()));
    let arguments = arguments.trim();
    let arguments = arguments
        .strip_prefix('(')
        .and_then(|inner| inner.strip_suffix(')'))
        .unwrap_or(arguments);
    let text = arguments
        .strip_prefix('"')
        .and_then(|inner| inner.strip_suffix('"'))
        .filter(|inner| !inner.contains('"'));
    Some(Finding::new(
        kind,
        text.unwrap_or(arguments),
        source.line_in(line.after),
    ))
}

/// Poly/ML: `Exception- Bad "thing" raised`.
pub(super) fn poly<'t>(text: &'t str, source: Source<'_>) -> Option<Finding<'t>> {
    let raised = last_line(text, |line| line.starts_with("Exception- "));
    let Some(raised) = raised else {
        return compiler::diagnostic(text, source);
    };
    let raised = raised.text.strip_prefix("Exception- ")?.strip_suffix(" raised")?;
    let (kind, argument) = raised.split_once(' ').unwrap_or((raised, ""));
    Some(Finding::new(kind, argument, None))
}

/// `** (Kind) message`, then the frames. Messages about the program's text start with the place.
pub(super) fn elixir<'t>(text: &'t str, source: Source<'_>) -> Option<Finding<'t>> {
    let line = last_line(text, |line| line.starts_with("** ("))?;
    let (kind, message) = line.text.strip_prefix("** (")?.split_once(") ")?;
    Some(match source.located(message) {
        Some((number, message)) => Finding::new(kind, message, Some(number)),
        None => Finding::new(kind, message, source.line_in(line.after)),
    })
}

/// `escript: exception error: message`, then the frames; or the compiler's messages and that there were some.
pub(super) fn erlang<'t>(text: &'t str, source: Source<'_>) -> Option<Finding<'t>> {
    const EXCEPTION: &str = "escript: exception ";
    let line = last_line(text, |line| {
        line.starts_with(EXCEPTION) || line == "escript: There were compilation errors."
    })?;
    match line.text.strip_prefix(EXCEPTION) {
        Some(thrown) => {
            let (class, message) = thrown.split_once(": ")?;
            Some(Finding::new(class, message, source.line_in(line.after)))
        }
        None => compiler::diagnostic(line.before, source),
    }
}

/// SWI-Prolog: the first `ERROR:`, since those after it follow from it.
pub(super) fn prolog<'t>(text: &'t str, source: Source<'_>) -> Option<Finding<'t>> {
    let report = lines(text).find_map(|line| Some((line.text.strip_prefix("ERROR: ")?, line.after)));
    let (report, after) = report?;
    let (number, message) = source
        .located(report)
        .map_or((None, report), |(number, message)| (Some(number), message));
    // The goal on the command line that it was raised in.
    let message = message
        .strip_prefix("-g ")
        .and_then(|goal| goal.split_once(": "))
        .map_or(message, |(_, message)| message);
    match message.strip_prefix("Syntax error: ") {
        Some(message) => Some(Finding::new("SyntaxError", message, number)),
        None => Some(Finding::new("Error", or_next_line(message, after), number)),
    }
}

#[cfg(test)]
mod tests {
    use super::super::Step;
    use super::super::testing::{Tool, found};

    #[test]
    fn haskell() {
        let haskell = Tool {
            language: "haskell",
            source: "main.hs",
        };
        haskell.run(
            "program: bad thing\nCallStack (from HasCallStack):\n  error, called at /box/main.hs:3:3 in main:Main\n",
            found("ErrorCall", "bad thing", 3),
        );
        haskell.run(
            "program: /box/main.hs:2:1-7: Non-exhaustive patterns in function f\n\n",
            found("PatternMatchFail", "Non-exhaustive patterns in function f", 2),
        );
        haskell.run(
            "program: Prelude.head: empty list\n",
            found("Exception", "Prelude.head: empty list", 0),
        );
        haskell.run("program: MyError 3\n", found("Exception", "MyError 3", 0));
        haskell.run(
            "\n/box/main.hs:2:9: error:\n    Variable not in scope: nope\n  |\n2 |   print nope\n  |         ^^^^\n",
            found("CompileError", "Variable not in scope: nope", 2),
        );
        haskell.run("warning: noise\n", None);
    }

    #[test]
    fn ocaml() {
        let ocaml = Tool {
            language: "ocaml",
            source: "main.ml",
        };
        ocaml.run(
            "Fatal error: exception Failure(\"went bad\")\n",
            found("Failure", "went bad", 0),
        );
        ocaml.run(
            "Fatal error: exception Not_found\nRaised at Stdlib__List.find in file \"list.ml\", line 224, characters 10-25\nCalled from Main in file \"/box/main.ml\", line 3, characters 20-23\n",
            found("Not_found", "", 3),
        );
        ocaml.run(
            "Exception: My_error (\"bad\", 3).\n",
            found("My_error", "\"bad\", 3", 0),
        );
        ocaml.run("Exception: Division_by_zero.\n", found("Division_by_zero", "", 0));
        ocaml.run(
            "File \"/box/main.ml\", line 3, characters 0-3:\n3 | let y = \n    ^^^\nError: Syntax error\n",
            found("CompileError", "Syntax error", 3),
        );
        ocaml.run("Exception: noise\n", None);
    }

    #[test]
    fn sml() {
        let sml = Tool {
            language: "sml",
            source: "main.sml",
        };
        sml.check(
            Step::Run,
            "",
            "/box/main.sml:2: error: Type error in function application.\n   Function: f : int -> int\n   Argument: \"a\" : string\n",
            found("CompileError", "Type error in function application.", 2),
        );
        sml.check(
            Step::Run,
            "",
            "Exception- Bad \"thing\" raised\n",
            found("Bad", "\"thing\"", 0),
        );
        sml.check(Step::Run, "noise\n", "noise\n", None);
    }

    #[test]
    fn elixir() {
        let elixir = Tool {
            language: "elixir",
            source: "main.exs",
        };
        elixir.run(
            "** (TokenMissingError) main.exs:3:1: missing terminator: ] (for \"[\" starting at line 1)\n    (elixir 1.14.0) lib/code.ex:1245: Code.require_file/2\n",
            found("TokenMissingError", "missing terminator: ] (for \"[\" starting at line 1)", 3),
        );
        elixir.run(
            "warning: undefined function y/0 (expected A to define such a function or for it to be imported, but none are available)\n  main.exs:2\n\n** (CompileError) main.exs:2: undefined function nope/1 (expected A to define such a function or for it to be imported, but none are available)\n\n",
            found("CompileError", "undefined function nope/1 (expected A to define such a function or for it to be imported, but none are available)", 2),
        );
        elixir.run(
            "** (ArithmeticError) bad argument in arithmetic expression: div(1, 0)\n    :erlang.div(1, 0)\n    main.exs:3: A.f/1\n    (elixir 1.14.0) lib/code.ex:1245: Code.require_file/2\n",
            found("ArithmeticError", "bad argument in arithmetic expression: div(1, 0)", 3),
        );
        elixir.run(
            "** (throw) :oops\n    main.exs:1: (file)\n    (elixir 1.14.0) lib/code.ex:1245: Code.require_file/2\n",
            found("throw", ":oops", 1),
        );
        elixir.run("** noise\n", None);
    }

    #[test]
    fn erlang() {
        let erlang = Tool {
            language: "erlang",
            source: "main.erl",
        };
        erlang.run(
            "/box/main.erl:4:24: variable 'Y' is unbound\n/box/main.erl:3:9: function nope/1 undefined\n/box/main.erl:3:5: Warning: variable 'X' is unused\nescript: There were compilation errors.\n",
            found("CompileError", "variable 'Y' is unbound", 4),
        );
        erlang.run(
            "escript: exception error: an error occurred when evaluating an arithmetic expression\n  in function  main_erl__escript__1794__732544__553230__3:f/1 (/box/main.erl, line 7)\n  in call from main_erl__escript__1794__732544__553230__3:main/1 (/box/main.erl, line 5)\n  in call from escript:run/2 (escript.erl, line 750)\n",
            found("error", "an error occurred when evaluating an arithmetic expression", 7),
        );
        erlang.run(
            "escript: exception throw: oops\n  in function  erl_eval:do_apply/7 (erl_eval.erl, line 742)\n",
            found("throw", "oops", 0),
        );
        erlang.run("escript: noise\n", None);
    }

    #[test]
    fn prolog() {
        let prolog = Tool {
            language: "prolog",
            source: "main.pl",
        };
        prolog.run(
            "ERROR: /box/main.pl:1:24: Syntax error: Operator expected\nERROR: -g main: catch/3: Unknown procedure: main/1\n",
            found("SyntaxError", "Operator expected", 1),
        );
        prolog.run(
            "ERROR: -g main: //2: Arithmetic: evaluation error: `zero_divisor'\n",
            found("Error", "//2: Arithmetic: evaluation error: `zero_divisor'", 0),
        );
        prolog.run("Warning: noise\n", None);
    }
}
