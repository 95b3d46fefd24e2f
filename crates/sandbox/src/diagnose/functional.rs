//! Haskell, OCaml, Elixir and Erlang.

use super::Finding;
use super::compiler::{self, COMPILE_ERROR};
use super::text::{Source, is_blank, last_line, lines};

/// `main: message`, below which `error` prints the place of its call. Exceptions have no name here, and only the
/// program's name in front tells them from the program's own output.
pub(super) fn haskell<'t>(text: &'t str, source: Source<'_>) -> Option<Finding<'t>> {
    // What the table makes GHC call its output.
    const PROGRAM: &str = "main";
    if let Some(stack) = last_line(text, |line| line == "CallStack (from HasCallStack):") {
        let (_, message) = stack.before.lines().next_back()?.split_once(": ")?;
        return Some(Finding::new("ErrorCall", message, source.line_in(stack.after)));
    }
    let last = last_line(text, |line| !is_blank(line))?;
    let (program, message) = last.text.split_once(": ")?;
    if let Some((line, message)) = source.located(message) {
        return Some(Finding::new("PatternMatchFail", message, Some(line)));
    }
    (program == PROGRAM).then(|| Finding::new("Exception", message, None))
}

/// `Fatal error: exception Failure("message")` from a program, `Exception: Failure "message".` from the toplevel.
pub(super) fn ocaml<'t>(text: &'t str, source: Source<'_>) -> Option<Finding<'t>> {
    const FATAL: &str = "Fatal error: exception ";
    let line =
        last_line(text, |line| line.starts_with(FATAL) || (line.starts_with("Exception: ") && line.ends_with('.')));
    let Some(line) = line else {
        return compiler::place_then_error(text, source);
    };
    let thrown = match line.text.strip_prefix(FATAL) {
        Some(thrown) => thrown,
        None => line.text.strip_prefix("Exception: ")?.strip_suffix('.')?,
    };
    let (kind, arguments) = thrown.split_at(thrown.find(['(', ' ']).unwrap_or(thrown.len()));
    let arguments = arguments.trim();
    let arguments = arguments.strip_prefix('(').and_then(|inner| inner.strip_suffix(')')).unwrap_or(arguments);
    let text =
        arguments.strip_prefix('"').and_then(|inner| inner.strip_suffix('"')).filter(|inner| !inner.contains('"'));
    Some(Finding::new(kind, text.unwrap_or(arguments), source.line_in(line.after)))
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

/// `escript: exception error: message`, then the frames. The compiler's messages have no label, but quote the code
/// below after a `%`, and go to standard output.
pub(super) fn erlang<'t>(text: &'t str, source: Source<'_>) -> Option<Finding<'t>> {
    const EXCEPTION: &str = "escript: exception ";
    if let Some(line) = last_line(text, |line| line.starts_with(EXCEPTION)) {
        let (class, message) = line.text.strip_prefix(EXCEPTION)?.split_once(": ")?;
        return Some(Finding::new(class, message, source.line_in(line.after)));
    }
    lines(text).filter(|line| line.after.starts_with('%')).find_map(|line| {
        let (number, message) = source.located(line.text)?;
        Some(Finding::new(COMPILE_ERROR, message, Some(number)))
    })
}

#[cfg(test)]
mod tests {
    use super::super::Step;
    use super::super::tests::{Tool, found};

    #[test]
    fn haskell() {
        let haskell = Tool::new("haskell", "main.hs");
        haskell.run(
            "main: bad thing\nCallStack (from HasCallStack):\n  error, called at /box/main.hs:3:3 in main:Main\n",
            found("ErrorCall", "bad thing", 3),
        );
        haskell.run(
            "main: /box/main.hs:2:1-7: Non-exhaustive patterns in function f\n\n",
            found("PatternMatchFail", "Non-exhaustive patterns in function f", 2),
        );
        haskell.run("main: Prelude.head: empty list\n", found("Exception", "Prelude.head: empty list", 0));
        haskell.run("main: MyError 3\n", found("Exception", "MyError 3", 0));
        haskell.run("warning: noise\n", None);
    }

    #[test]
    fn ocaml() {
        let ocaml = Tool::new("ocaml", "main.ml");
        ocaml.run("Fatal error: exception Failure(\"went bad\")\n", found("Failure", "went bad", 0));
        ocaml.run(
            "Fatal error: exception Not_found\nRaised at Stdlib__List.find in file \"list.ml\", line 224, characters 10-25\nCalled from Main in file \"/box/main.ml\", line 3, characters 20-23\n",
            found("Not_found", "", 3),
        );
        ocaml.run("Exception: My_error (\"bad\", 3).\n", found("My_error", "\"bad\", 3", 0));
        ocaml.run("Exception: Division_by_zero.\n", found("Division_by_zero", "", 0));
        ocaml.run(
            "File \"/box/main.ml\", line 3, characters 0-3:\n3 | let y = \n    ^^^\nError: Syntax error\n",
            found("CompileError", "Syntax error", 3),
        );
        ocaml.run("Exception: noise\n", None);
    }

    #[test]
    fn elixir() {
        let elixir = Tool::new("elixir", "main.exs");
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
        let erlang = Tool::new("erlang", "main.erl");
        let refused = "/box/main.erl:3:9: function nope/1 undefined\n%    3|     X = nope(1),\n%     |         ^\n\n/box/main.erl:4:24: variable 'Y' is unbound\n%    4|     io:format(\"~p~n\", [Y]).\n%     |                        ^\n\n";
        erlang.check(Step::Run, "", refused, found("CompileError", "function nope/1 undefined", 3));
        erlang.check(Step::Run, "", "/box/main.erl:3:9: noise\n", None);
        erlang.run(
            "escript: exception error: an error occurred when evaluating an arithmetic expression\n  in function  main_erl__escript__1794__732544__553230__3:f/1 (/box/main.erl, line 7)\n  in call from main_erl__escript__1794__732544__553230__3:main/1 (/box/main.erl, line 5)\n  in call from escript:run/2 (escript.erl, line 750)\n",
            found("error", "an error occurred when evaluating an arithmetic expression", 7),
        );
        erlang.run(
            "escript: exception throw: oops\n  in function  main:main/1 (/box/main.erl, line 3)\n  in call from erl_eval:local_func/8 (erl_eval.erl, line 644)\n",
            found("throw", "oops", 3),
        );
        erlang.run("escript: noise\n", None);
    }
}
