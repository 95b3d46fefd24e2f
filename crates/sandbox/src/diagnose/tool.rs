//! R, Octave, SQLite and Sass.

use super::Finding;
use super::compiler::COMPILE_ERROR;
use super::text::{Source, first_line, is_blank, last_line, or_next_line};

/// `Error in f(1) : message`, and that execution was halted. R keeps no lines.
pub(super) fn r<'t>(text: &'t str, source: Source<'_>) -> Option<Finding<'t>> {
    let halted = last_line(text, |line| !is_blank(line)).filter(|line| line.text == "Execution halted")?;
    let error = last_line(halted.before, |line| {
        line.starts_with("Error in ") || line.starts_with("Error: ")
    })?;
    let message = match error.text.strip_prefix("Error: ") {
        Some(message) => message,
        // A call ends in a parenthesis, and may well hold a colon.
        None => error
            .text
            .split_once(") :")
            .or_else(|| error.text.split_once(" :"))
            .map_or("", |(_, message)| message),
    };
    let message = or_next_line(message, error.after);
    if let Some((number, message)) = source.located(message) {
        return Some(Finding::new("SyntaxError", message, Some(number)));
    }
    let kind = if message.starts_with("unexpected ") {
        "SyntaxError"
    } else {
        "Error"
    };
    Some(Finding::new(
        kind,
        message.strip_suffix(" in:").unwrap_or(message),
        None,
    ))
}

/// `error: message`, then `error: called from` and the frames by function. Only the frame of the script itself is surely the caller's.
pub(super) fn octave<'t>(text: &'t str, source: Source<'_>) -> Option<Finding<'t>> {
    if let Some(line) = first_line(text, |line| line.starts_with("error: parse error near line ")) {
        return Some(Finding::new(
            "SyntaxError",
            or_next_line("", line.after),
            source.line_of(line.text),
        ));
    }
    let frames = last_line(text, |line| line == "error: called from")?;
    let message = last_line(frames.before, |line| line.starts_with("error: "))?
        .text
        .strip_prefix("error: ")?;
    let number = frames.after.lines().find_map(|frame| {
        let place = frame
            .trim_start()
            .strip_prefix(source.stem())?
            .strip_prefix(" at line ")?;
        place.split(' ').next()?.parse().ok().filter(|number| *number > 0)
    });
    Some(Finding::new("Error", message, number))
}

/// `Parse error near line 2: message`, the first: without `-bail` the shell goes on.
pub(super) fn sqlite<'t>(text: &'t str, _: Source<'_>) -> Option<Finding<'t>> {
    let phases = ["Parse error", "Runtime error", "Error"];
    let line = first_line(text, |line| {
        phases.iter().any(|phase| {
            line.strip_prefix(phase)
                .is_some_and(|rest| rest.starts_with([' ', ':']))
        })
    })?;
    let (place, message) = line.text.split_once(": ")?;
    let (number, message) = match place.split_once(" near line ") {
        Some((_, number)) => (number.parse().ok().filter(|number| *number > 0), message),
        None => (None, message),
    };
    // The code of the result, for whoever knows them by heart.
    let message = message
        .rsplit_once(" (")
        .filter(|(_, code)| code.trim_end_matches(')').parse::<u32>().is_ok())
        .map_or(message, |(message, _)| message);
    Some(Finding::new("SQLError", message, number))
}

/// `Error: message`, then `on line 2:13 of main.scss` (sassc) or `main.scss 2:13` (Dart Sass).
pub(super) fn sass<'t>(text: &'t str, source: Source<'_>) -> Option<Finding<'t>> {
    let error = first_line(text, |line| line.starts_with("Error: "))?;
    let number = source.line_of(error.after).or_else(|| source.line_in(error.after));
    Some(Finding::new(COMPILE_ERROR, error.text.strip_prefix("Error: ")?, number))
}

#[cfg(test)]
mod tests {
    use super::super::testing::{Tool, found};

    #[test]
    fn r() {
        let r = Tool {
            language: "r",
            source: "main.R",
        };
        r.run(
            "Error: unexpected '}' in:\n\"  x + \n}\"\nExecution halted\n",
            found("SyntaxError", "unexpected '}'", 0),
        );
        r.run(
            "Error in f(1) : bad thing\nCalls: g -> f\nExecution halted\n",
            found("Error", "bad thing", 0),
        );
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

    #[test]
    fn octave() {
        let octave = Tool {
            language: "octave",
            source: "main.m",
        };
        octave.run(
            "error: parse error near line 2 of file /box/main.m\n\n  syntax error\n\n>>> y = (x + ;\n             ^\nerror: ignoring const execution_exception& while preparing to exit\n",
            found("SyntaxError", "syntax error", 2),
        );
        octave.run(
            "error: 'nosuch' undefined near line 3, column 7\nerror: called from\n    f at line 3 column 5\n    main at line 6 column 1\nerror: ignoring const execution_exception& while preparing to exit\n",
            found("Error", "'nosuch' undefined near line 3, column 7", 6),
        );
        octave.run(
            "error: noise\nerror: ignoring const execution_exception& while preparing to exit\n",
            None,
        );
    }

    #[test]
    fn sqlite() {
        let sqlite = Tool {
            language: "sqlite",
            source: "main.sql",
        };
        sqlite.run(
            "Parse error near line 2: near \"selec\": syntax error\n  selec 1;\n  ^--- error here\n",
            found("SQLError", "near \"selec\": syntax error", 2),
        );
        sqlite.run(
            "Runtime error near line 3: UNIQUE constraint failed: t.x (19)\n",
            found("SQLError", "UNIQUE constraint failed: t.x", 3),
        );
        sqlite.run(
            "Parse error near line 4: no such table: nosuch\n",
            found("SQLError", "no such table: nosuch", 4),
        );
        sqlite.run("noise\n", None);
    }

    #[test]
    fn sass() {
        let sass = Tool {
            language: "scss",
            source: "main.scss",
        };
        sass.compile("Error: Undefined variable: \"$nope\".\n        on line 2:13 of main.scss\n>> .a { color: $nope; }\n\n   ------------^\n", found("CompileError", "Undefined variable: \"$nope\".", 2));
        sass.run("Error: bad 1\n        on line 2:21 of main.scss, in mixin `f`\n        from line 4:15 of main.scss\n>>   @error \"bad #{$x}\";\n", found("CompileError", "bad 1", 2));
        sass.run("Error: Undefined variable.\n  ╷\n2 │ .a { color: $nope; }\n  │             ^^^^^\n  ╵\n  main.scss 2:13  root stylesheet\n", found("CompileError", "Undefined variable.", 2));
    }
}
