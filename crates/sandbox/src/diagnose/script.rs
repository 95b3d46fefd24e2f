//! PHP, Perl, Raku, Lua and Tcl.

use super::Finding;
use super::compiler::COMPILE_ERROR;
use super::text::{Place, Source, exception, first_line, is_blank, last_line, lines};

/// `PHP Fatal error:  Uncaught Kind: message in main.php:3`, the trace, and `thrown in main.php on line 3`. On standard
/// output it is the same without `PHP`.
pub(super) fn php<'t>(text: &'t str, source: Source<'_>) -> Option<Finding<'t>> {
    const FATAL: &str = "Fatal error: ";
    const PARSE: &str = "Parse error: ";
    let bare = |line: &'t str| line.strip_prefix("PHP ").unwrap_or(line);
    let report = lines(text)
        .map(|line| (bare(line.text), line.after))
        .filter(|(line, _)| line.starts_with(FATAL) || line.starts_with(PARSE))
        .last();
    let (report, after) = report?;
    let Some((_, thrown)) = report.split_once("Uncaught ") else {
        let (message, place) = report.rsplit_once(" in ").filter(|(_, place)| place.contains(" on line "))?;
        let (kind, message) = message.split_once(": ")?;
        return Some(Finding::new(
            if kind == "Parse error" { "ParseError" } else { "FatalError" },
            message,
            source.line_in(place),
        ));
    };
    // The cause comes first; the last `Next` is the exception that nobody caught.
    let end = first_line(after, |line| line.starts_with("  thrown in "))?;
    let next = last_line(end.before, |line| line.starts_with("Next "));
    let (thrown, frames) =
        next.map_or((thrown, end.before), |next| (next.text.trim_start_matches("Next "), next.after));
    let (kind, message) = exception(thrown)?;
    // The place is at the end of a one-line message, and below one of several lines.
    let message = message.rsplit_once(" in /").map_or(message, |(message, _)| message);
    Some(Finding::new(kind, message, source.line_in(end.text).or_else(|| source.line_in(frames))))
}

/// `message at main.pl line 3.`, if it is the last thing printed. `die` and `warn` print alike.
pub(super) fn perl<'t>(text: &'t str, source: Source<'_>) -> Option<Finding<'t>> {
    const ABORTED: &[&str] = &[" aborted due to compilation errors", "BEGIN failed--compilation aborted"];
    if let Some(aborted) = last_line(text, |line| ABORTED.iter().any(|words| line.contains(words))) {
        let (message, place) = lines(aborted.before).find_map(|line| died(line.text, source))?;
        let line = place.as_ref().map(|place| place.line);
        if message == "syntax error" {
            let near = place.map_or("", |place| place.after);
            return Some(Finding::new("SyntaxError", format!("{message}{near}"), line));
        }
        let message = message.split(" (@INC ").next().unwrap_or(message);
        return Some(Finding::new(COMPILE_ERROR, message, line));
    }
    // `confess` lists the callers below, indented.
    let last = last_line(text, |line| !is_blank(line) && !line.starts_with('\t'))?;
    let (message, place) = died(last.text, source)?;
    let line = place.map(|place| place.line).or_else(|| source.line_in(last.after));
    Some(Finding::new("Error", message, line))
}

/// The message without its place, and the place if it is in the caller's program.
fn died<'t>(line: &'t str, source: Source<'_>) -> Option<(&'t str, Option<Place<'t>>)> {
    if let Some(place) = source.place(line)
        && let Some(message) = place.before.strip_suffix(" at ")
    {
        return Some((message, Some(place)));
    }
    let (message, place) = line.rsplit_once(" at ")?;
    (place.contains(" line ") && place.ends_with('.')).then_some((message, None))
}

/// The message, then frames that end in the program's own block; or `===SORRY!===`, the message and `at main.raku:3`.
pub(super) fn raku<'t>(text: &'t str, source: Source<'_>) -> Option<Finding<'t>> {
    if let Some(sorry) = first_line(text, |line| line.starts_with("===SORRY!===")) {
        let place = first_line(sorry.after, |line| line.starts_with("at "))?;
        return Some(Finding::new(COMPILE_ERROR, place.before, source.line_in(place.text)));
    }
    let outermost = last_line(text, |line| line.starts_with("  in block <unit> at "))?;
    let frames = last_line(outermost.before, |line| !line.starts_with("  in "))?.after;
    let said = outermost.before.strip_suffix(frames)?;
    // Raku breaks long messages, so a long line above is part of the message too.
    let mut above = said.lines().rev();
    let mut message = above.next()?.to_owned();
    for line in above.take_while(|line| line.chars().count() > 56).take(4) {
        message.insert(0, ' ');
        message.insert_str(0, line);
    }
    Some(Finding::new("Error", message, source.line_in(frames).or_else(|| source.line_in(outermost.text))))
}

/// `/usr/bin/lua: main.lua:3: message`, then `stack traceback:`, unless the program does not parse.
pub(super) fn lua<'t>(text: &'t str, source: Source<'_>) -> Option<Finding<'t>> {
    let is_lua =
        |name: &str| name.rsplit('/').next().is_some_and(|name| name.starts_with("lua") && !name.contains(' '));
    let line = last_line(text, |line| line.split_once(": ").is_some_and(|(name, _)| is_lua(name)))?;
    let (_, report) = line.text.split_once(": ")?;
    let stack = first_line(line.after, |line| line == "stack traceback:");
    let kind = if stack.is_some() { "Error" } else { "SyntaxError" };
    let (number, message) = source.located(report).map_or((None, report), |(number, message)| (Some(number), message));
    Some(Finding::new(kind, message, number.or_else(|| source.line_in(stack?.after))))
}

/// The message, `while executing`, and at the end the line in the file: lines in procedures are counted from where each
/// begins.
pub(super) fn tcl<'t>(text: &'t str, source: Source<'_>) -> Option<Finding<'t>> {
    let stack = last_line(text, |line| line == "    while executing")?;
    let file = last_line(stack.after, |line| line.starts_with("    (file \""))?;
    Some(Finding::new("Error", stack.before.lines().next_back()?, source.line_in(file.text)))
}

#[cfg(test)]
mod tests {
    use super::super::Step;
    use super::super::tests::{Tool, found};

    #[test]
    fn php() {
        let php = Tool::new("php", "main.php");
        php.run(
            "PHP Parse error:  syntax error, unexpected token \"{\", expecting variable in /box/main.php on line 2\n",
            found("ParseError", "syntax error, unexpected token \"{\", expecting variable", 2),
        );
        php.run(
            "PHP Fatal error:  Uncaught DivisionByZeroError: Division by zero in /box/main.php:3\nStack trace:\n#0 /box/main.php(3): intdiv()\n#1 /box/main.php(6): f()\n#2 {main}\n  thrown in /box/main.php on line 3\n",
            found("DivisionByZeroError", "Division by zero", 3),
        );
        php.run(
            "PHP Fatal error:  Uncaught Exception: inner in /box/main.php:4\nStack trace:\n#0 /box/main.php(6): f()\n#1 {main}\n\nNext MyError: bad\nthing in /box/main.php:4\nStack trace:\n#0 /box/main.php(6): f()\n#1 {main}\n  thrown in /box/main.php on line 4\n",
            found("MyError", "bad", 4),
        );
        php.run(
            "PHP Fatal error:  Allowed memory size of 8388608 bytes exhausted (tried to allocate 16781312 bytes) in /box/main.php on line 2\n",
            found("FatalError", "Allowed memory size of 8388608 bytes exhausted (tried to allocate 16781312 bytes)", 2),
        );
        php.check(
            Step::Run,
            "",
            "\nWarning: Undefined variable $undefined in /box/main.php on line 2\n\nFatal error: Uncaught Error: Call to undefined function nosuch() in /box/main.php:3\nStack trace:\n#0 {main}\n  thrown in /box/main.php on line 3\n",
            found("Error", "Call to undefined function nosuch()", 3),
        );
        php.run("Fatal error: noise\n", None);
        php.run("PHP Warning:  Undefined variable $x in /box/main.php on line 2\n", None);
    }

    #[test]
    fn perl() {
        let perl = Tool::new("perl", "main.pl");
        perl.run(
            "syntax error at /box/main.pl line 3, near \"; }\"\nExecution of /box/main.pl aborted due to compilation errors.\n",
            found("SyntaxError", "syntax error, near \"; }\"", 3),
        );
        perl.run(
            "Global symbol \"$nope\" requires explicit package name (did you forget to declare \"my $nope\"?) at /box/main.pl line 2.\nExecution of /box/main.pl aborted due to compilation errors.\n",
            found("CompileError", "Global symbol \"$nope\" requires explicit package name (did you forget to declare \"my $nope\"?)", 2),
        );
        perl.run(
            "Can't locate Nosuch/Module.pm in @INC (you may need to install the Nosuch::Module module) (@INC contains: /etc/perl /usr/share/perl5) at /box/main.pl line 1.\nBEGIN failed--compilation aborted at /box/main.pl line 1.\n",
            found("CompileError", "Can't locate Nosuch/Module.pm in @INC (you may need to install the Nosuch::Module module)", 1),
        );
        perl.run(
            "careful at /box/main.pl line 5.\nnoise\nIllegal division by zero at /box/main.pl line 4.\n",
            found("Error", "Illegal division by zero", 4),
        );
        perl.run(
            "Can't call method \"foo\" on unblessed reference at /box/main.pl line 3, <$fh> line 1.\n",
            found("Error", "Can't call method \"foo\" on unblessed reference", 3),
        );
        perl.run(
            "confessed at /box/main.pl line 2.\n\tmain::f() called at /box/main.pl line 3\n",
            found("Error", "confessed", 2),
        );
        perl.run("no location\n", None);
    }

    #[test]
    fn raku() {
        let raku = Tool::new("raku", "main.raku");
        raku.run(
            "\u{1b}[31m===\u{1b}[0mSORRY!\u{1b}[31m===\u{1b}[0m Error while compiling /box/main.raku\nVariable '$nope' is not declared.  Did you mean any of these: '&none',\n'&note'?\nat /box/main.raku:2\n------> \u{1b}[32msay \u{1b}[33m⏏\u{1b}[31m$nope;\u{1b}[0m\n",
            found("CompileError", "Variable '$nope' is not declared. Did you mean any of these: '&none', '&note'?", 2),
        );
        raku.run(
            "noise\nbad thing\n  in sub f at /box/main.raku line 2\n  in block <unit> at /box/main.raku line 5\n\n",
            found("Error", "bad thing", 2),
        );
        raku.run(
            "No such method 'nosuch' for invocant of type 'Int'.  Did you mean\n'cosech'?\n  in sub f at /box/main.raku line 2\n  in block <unit> at /box/main.raku line 4\n\n",
            found("Error", "No such method 'nosuch' for invocant of type 'Int'. Did you mean 'cosech'?", 2),
        );
        raku.run("error: noise\n", None);
    }

    #[test]
    fn lua() {
        let lua = Tool::new("lua", "main.lua");
        lua.run(
            "/usr/bin/lua5.4: /box/main.lua:4: ')' expected (to close '(' at line 3) near 'end'\n",
            found("SyntaxError", "')' expected (to close '(' at line 3) near 'end'", 4),
        );
        lua.run(
            "/usr/bin/lua5.4: /box/main.lua:2: attempt to index a nil value (field 'x')\nstack traceback:\n\t/box/main.lua:2: in local 'f'\n\t/box/main.lua:5: in main chunk\n\t[C]: in ?\n",
            found("Error", "attempt to index a nil value (field 'x')", 2),
        );
        lua.run(
            "/usr/bin/lua5.4: no position\nstack traceback:\n\t[C]: in function 'error'\n\t/box/main.lua:1: in local 'f'\n\t/box/main.lua:2: in main chunk\n\t[C]: in ?\n",
            found("Error", "no position", 1),
        );
        lua.run(
            "/usr/bin/luajit: /box/main.lua:2: attempt to index field 'x' (a nil value)\nstack traceback:\n\t/box/main.lua:2: in function 'f'\n\t/box/main.lua:4: in main chunk\n\t[C]: at 0x5582ca2fa2c0\n",
            found("Error", "attempt to index field 'x' (a nil value)", 2),
        );
        lua.run("main.lua:7: noise\n", None);
    }

    #[test]
    fn tcl() {
        let tcl = Tool::new("tcl", "main.tcl");
        tcl.run(
            "noise\ndivide by zero\n    while executing\n\"expr {$x / 0}\"\n    (procedure \"f\" line 2)\n    invoked from within\n\"f 1\"\n    (file \"/box/main.tcl\" line 5)\n",
            found("Error", "divide by zero", 5),
        );
        tcl.run(
            "missing close-brace\n    while executing\n\"if {$x} {\"\n    (file \"/box/main.tcl\" line 2)\n",
            found("Error", "missing close-brace", 2),
        );
        tcl.run("noise: error\n", None);
    }
}
