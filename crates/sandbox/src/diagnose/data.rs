//! R, Julia, Octave, `SQLite` and Sass.

use super::Finding;
use super::compiler::COMPILE_ERROR;
use super::text::{Source, exception, first_line, is_blank, last_line, line_number, or_next_line};

/// `Error in f(1) : message`, and a note that execution was halted. R keeps no line numbers.
pub(super) fn r<'t>(text: &'t str, _: Source<'_>) -> Option<Finding<'t>> {
    let halted = last_line(text, |line| !is_blank(line)).filter(|line| line.text == "Execution halted")?;
    let error = last_line(halted.before, |line| line.starts_with("Error in ") || line.starts_with("Error: "))?;
    let message = match error.text.strip_prefix("Error: ") {
        Some(message) => message,
        // A call ends in a parenthesis, and may well contain a colon.
        None => error.text.split_once(") :").or_else(|| error.text.split_once(" :"))?.1,
    };
    let message = or_next_line(message, error.after);
    let kind = if message.starts_with("unexpected ") { "SyntaxError" } else { "Error" };
    Some(Finding::new(kind, message.strip_suffix(" in:").unwrap_or(message), None))
}

/// `ERROR: LoadError: Kind: message`, then the frames. `error("message")` has no kind.
pub(super) fn julia<'t>(text: &'t str, source: Source<'_>) -> Option<Finding<'t>> {
    let line = last_line(text, |line| line.starts_with("ERROR: "))?;
    let thrown = line.text.trim_start_matches("ERROR: ").trim_start_matches("LoadError: ");
    // Without frames or a place it is something that the program printed.
    if !line.after.contains("Stacktrace:") && !line.after.contains("in expression starting at ") {
        return None;
    }
    let named = exception(thrown).filter(|(kind, _)| kind.ends_with("Error") || kind.ends_with("Exception"));
    let (kind, message) = named.unwrap_or(("ErrorException", thrown));
    // The parser points at the code, with its message after a drawn line.
    let pointed = line.after.lines().find_map(|line| line.split_once("── ")).filter(|_| kind == "ParseError");
    Some(Finding::new(kind, pointed.map_or(message, |(_, words)| words), source.line_in(line.after)))
}

/// `error: message`, then `error: called from` and the frames by function. Only the script's own frame is certain to be
/// the caller's.
pub(super) fn octave<'t>(text: &'t str, source: Source<'_>) -> Option<Finding<'t>> {
    if let Some(line) = first_line(text, |line| line.starts_with("error: parse error near line ")) {
        return Some(Finding::new("SyntaxError", or_next_line("", line.after), source.line_of(line.text)));
    }
    let frames = last_line(text, |line| line == "error: called from")?;
    let message = last_line(frames.before, |line| line.starts_with("error: "))?.text.strip_prefix("error: ")?;
    let mut places = frames.after.lines().filter_map(|frame| frame.trim_start().split_once(" at line "));
    let place = places.find(|(function, _)| *function == source.stem()).and_then(|(_, place)| line_number(place));
    Some(Finding::new("Error", message, place.map(|(number, _)| number)))
}

/// `Parse error near line 2: message`, if it is the first: without `-bail` the shell carries on.
pub(super) fn sqlite<'t>(text: &'t str, _: Source<'_>) -> Option<Finding<'t>> {
    const PHASES: &[&str] = &["Parse error ", "Runtime error ", "Error: "];
    let line = first_line(text, |line| PHASES.iter().any(|phase| line.starts_with(phase)))?;
    let (place, message) = line.text.split_once(": ")?;
    let number = place.split_once(" near line ").and_then(|(_, number)| line_number(number)).map(|(number, _)| number);
    // The result code at the end means something only to those who know them by heart.
    let is_code = |code: &str| code.strip_suffix(')').is_some_and(|code| code.parse::<u32>().is_ok());
    let coded = message.rsplit_once(" (").filter(|(_, code)| is_code(code));
    Some(Finding::new("SQLError", coded.map_or(message, |(message, _)| message), number))
}

/// `Error: message`, then `on line 2:13 of main.scss` (sassc) or `main.scss 2:13` (Dart Sass).
pub(super) fn sass<'t>(text: &'t str, source: Source<'_>) -> Option<Finding<'t>> {
    let error = first_line(text, |line| line.starts_with("Error: "))?;
    let number = source.line_of(error.after).or_else(|| source.line_in(error.after));
    Some(Finding::new(COMPILE_ERROR, error.text.strip_prefix("Error: ")?, number))
}

#[cfg(test)]
mod tests {
    use super::super::tests::{Tool, found};

    #[test]
    fn r() {
        let r = Tool::new("r", "main.R");
        r.run(
            "Error: unexpected '}' in:\n\"  x + \n}\"\nExecution halted\n",
            found("SyntaxError", "unexpected '}'", 0),
        );
        r.run("Error in f(1) : bad thing\nCalls: g -> f\nExecution halted\n", found("Error", "bad thing", 0));
        r.run(
            "loading\nWarning message:\ncareful \nError in f(\"y : z\") : bad: y : z\nExecution halted\n",
            found("Error", "bad: y : z", 0),
        );
        r.run(
            "Error in f(data_frame_with_long_name = c(1, 2, 3, 4, 5, 6)) : \n  a rather long message that goes over the line width for sure, yes\nExecution halted\n",
            found("Error", "a rather long message that goes over the line width for sure, yes", 0),
        );
        r.run("Error: noise\n", None);
    }

    // Not captured on the machine used for the rest: the traces are as in JuliaLang/julia#53919 and #49876.
    #[test]
    fn julia() {
        let julia = Tool::new("julia", "main.jl");
        julia.run(
            "ERROR: LoadError: DivideError: integer division error\nStacktrace:\n [1] div\n   @ ./int.jl:295 [inlined]\n [2] f(x::Int64)\n   @ Main /box/main.jl:2\n [3] top-level scope\n   @ /box/main.jl:5\nin expression starting at /box/main.jl:5\n",
            found("DivideError", "integer division error", 2),
        );
        julia.run(
            "ERROR: LoadError: bad thing\nStacktrace:\n [1] error(s::String)\n   @ Base ./error.jl:35\n [2] top-level scope\n   @ /box/main.jl:1\nin expression starting at /box/main.jl:1\n",
            found("ErrorException", "bad thing", 1),
        );
        julia.run("ERROR: noise\n", None);
    }

    #[test]
    fn octave() {
        let octave = Tool::new("octave", "main.m");
        octave.run(
            "error: parse error near line 2 of file /box/main.m\n\n  syntax error\n\n>>> y = (x + ;\n             ^\nerror: ignoring const execution_exception& while preparing to exit\n",
            found("SyntaxError", "syntax error", 2),
        );
        octave.run(
            "error: 'nosuch' undefined near line 3, column 7\nerror: called from\n    f at line 3 column 5\n    main at line 6 column 1\nerror: ignoring const execution_exception& while preparing to exit\n",
            found("Error", "'nosuch' undefined near line 3, column 7", 6),
        );
        octave.run("error: noise\nerror: ignoring const execution_exception& while preparing to exit\n", None);
    }

    #[test]
    fn sqlite() {
        let sqlite = Tool::new("sql", "main.sql");
        sqlite.run(
            "Parse error near line 2: near \"selec\": syntax error\n  selec 1;\n  ^--- error here\n",
            found("SQLError", "near \"selec\": syntax error", 2),
        );
        sqlite.run(
            "Runtime error near line 3: UNIQUE constraint failed: t.x (19)\n",
            found("SQLError", "UNIQUE constraint failed: t.x", 3),
        );
        sqlite.run("Parse error near line 4: no such table: nosuch\n", found("SQLError", "no such table: nosuch", 4));
        sqlite.run("noise\n", None);
    }

    #[test]
    fn sass() {
        let sass = Tool::new("scss", "main.scss");
        sass.compile("Error: Undefined variable: \"$nope\".\n        on line 2:13 of main.scss\n>> .a { color: $nope; }\n\n   ------------^\n", found("CompileError", "Undefined variable: \"$nope\".", 2));
        sass.run("Error: bad 1\n        on line 2:21 of main.scss, in mixin `f`\n        from line 4:15 of main.scss\n>>   @error \"bad #{$x}\";\n", found("CompileError", "bad 1", 2));
        sass.run("Error: Undefined variable.\n  ╷\n2 │ .a { color: $nope; }\n  │             ^^^^^\n  ╵\n  main.scss 2:13  root stylesheet\n", found("CompileError", "Undefined variable.", 2));
    }
}
