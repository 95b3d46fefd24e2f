//! D, Nim, Crystal, Fortran and Pascal: what their runtimes print when they fail.

use super::Finding;
use super::text::{Source, exception, first_line, last_line};

/// `kind@file(line): message`, then a ruler.
pub(super) fn d<'t>(text: &'t str, source: Source<'_>) -> Option<Finding<'t>> {
    // In a chain, the first is the one that was thrown.
    let report = first_line(text, |line| {
        let (kind, rest) = line.split_once('@').unwrap_or_default();
        exception(kind).is_some() && rest.split_once("): ").is_some_and(|(place, _)| place.contains('('))
    })?;
    let (_, frames) = report.after.split_once("----------------\n")?;
    let (kind, rest) = report.text.split_once('@')?;
    let (place, message) = rest.split_once("): ")?;
    Some(Finding::new(kind, message, source.line_in(place).or_else(|| source.line_in(frames))))
}

/// Frames outermost first, then `Error: unhandled exception: message [Kind]`.
pub(super) fn nim<'t>(text: &'t str, source: Source<'_>) -> Option<Finding<'t>> {
    const UNHANDLED: &str = "Error: unhandled exception: ";
    let line = last_line(text, |line| line.starts_with(UNHANDLED) || line.starts_with("SIGSEGV: "))?;
    let place = line.before.lines().rev().find_map(|frame| source.line_in(frame));
    let Some(message) = line.text.strip_prefix(UNHANDLED) else {
        let (kind, message) = line.text.split_once(": ")?;
        return Some(Finding::new(kind, message, place));
    };
    // The kind ends the message, however many lines it has.
    let end = std::iter::once(message).chain(line.after.lines()).find(|line| line.ends_with(']'))?;
    let (last, kind) = end.strip_suffix(']')?.rsplit_once(" [")?;
    Some(Finding::new(kind, if message.ends_with(']') { last } else { message }, place))
}

/// `Unhandled exception: message (Kind)`, then the frames.
pub(super) fn crystal<'t>(text: &'t str, source: Source<'_>) -> Option<Finding<'t>> {
    let line = last_line(text, |line| line.starts_with("Unhandled exception"))?;
    let (_, message) = line.text.split_once(": ")?;
    let end = std::iter::once(message).chain(line.after.lines()).find(|line| line.ends_with(')'))?;
    let (last, kind) = end.strip_suffix(')')?.rsplit_once(" (")?;
    Some(Finding::new(kind, if message.ends_with(')') { last } else { message }, source.line_in(line.after)))
}

/// `At line 6 of file main.f90`, then `Fortran runtime error: message`.
pub(super) fn fortran<'t>(text: &'t str, source: Source<'_>) -> Option<Finding<'t>> {
    let line = last_line(text, |line| line.starts_with("Fortran runtime error: ") || line.starts_with("ERROR STOP"))?;
    if let Some(message) = line.text.strip_prefix("ERROR STOP") {
        return Some(Finding::new("ERROR STOP", message, None));
    }
    let (kind, message) = line.text.split_once(": ")?;
    let place = line.before.lines().next_back().filter(|above| above.starts_with("At line "));
    Some(Finding::new(kind, message, place.and_then(|place| source.line_of(place))))
}

/// `An unhandled exception occurred at $…:` and the exception below it, or `Runtime error 200 at $…`.
pub(super) fn pascal<'t>(text: &'t str, source: Source<'_>) -> Option<Finding<'t>> {
    let line = last_line(text, |line| {
        line.starts_with("An unhandled exception occurred at $") || line.starts_with("Runtime error ")
    })?;
    let place = source.line_of(line.after);
    if let Some((message, _)) = line.text.split_once(" at $").filter(|_| line.text.starts_with("Runtime error ")) {
        return Some(Finding::new("RuntimeError", message, place));
    }
    let (kind, message) = exception(line.after.lines().next()?)?;
    Some(Finding::new(kind, message, place))
}

#[cfg(test)]
mod tests {
    use super::super::tests::{Tool, found};

    #[test]
    fn d() {
        let d = Tool::new("d", "main.d");
        d.run(
            "core.exception.ArrayIndexError@/box/main.d(3): index [5] is out of bounds for array of length 1\n----------------\n??:? onArrayIndexError [0x7fd74f1418c4]\n??:? int main.f(int[], ulong) [0x55c035219337]\n??:? _Dmain [0x55c0352193a2]\n",
            found("core.exception.ArrayIndexError", "index [5] is out of bounds for array of length 1", 3),
        );
        d.run(
            "std.conv.ConvException@/usr/lib/ldc/x86_64-linux-gnu/include/d/std/conv.d(2524): Unexpected 'z' when converting from type string to type int\n----------------\n??:? [0x5558bf796e88]\n",
            found("std.conv.ConvException", "Unexpected 'z' when converting from type string to type int", 0),
        );
        d.run("object.Noise\n", None);
    }

    #[test]
    fn nim() {
        let nim = Tool::new("nim", "main.nim");
        nim.run(
            "/box/main.nim(6) main\n/box/main.nim(5) g\n/usr/lib/nim/lib/pure/strutils.nim(1072) parseInt\nError: unhandled exception: invalid integer: zz [ValueError]\n",
            found("ValueError", "invalid integer: zz", 5),
        );
        nim.run(
            "/box/main.nim(3) main\n/box/main.nim(2) f\nError: unhandled exception: first\nsecond [ValueError]\n",
            found("ValueError", "first", 2),
        );
        nim.run(
            "Traceback (most recent call last)\n/box/main.nim(4) main\nSIGSEGV: Illegal storage access. (Attempt to read from nil?)\n",
            found("SIGSEGV", "Illegal storage access. (Attempt to read from nil?)", 4),
        );
        nim.run(
            "fatal.nim(54)            sysFatal\nError: unhandled exception: index 5 not in 0 .. 0 [IndexDefect]\n",
            found("IndexDefect", "index 5 not in 0 .. 0", 0),
        );
        nim.run("Error: noise\n", None);
    }

    #[test]
    fn crystal() {
        let crystal = Tool::new("crystal", "main.cr");
        crystal.run(
            "Unhandled exception: Index out of bounds (IndexError)\n  from /usr/lib/crystal/lib/indexable.cr:73:20 in '[]'\n  from main.cr:2:3 in 'f'\n  from main.cr:5:6 in '__crystal_main'\n  from /usr/lib/crystal/lib/crystal/main.cr:115:5 in 'main_user_code'\n",
            found("IndexError", "Index out of bounds", 2),
        );
        crystal.run("Unhandled exception: bad\nthing (MyError)\n  from main.cr:3:3 in 'f'\n  from main.cr:5:1 in '__crystal_main'\n", found("MyError", "bad", 3));
        crystal.run("Unhandled noise\n", None);
    }

    #[test]
    fn fortran() {
        let fortran = Tool::new("fortran", "main.f90");
        fortran.run(
            "At line 6 of file /box/main.f90 (unit = 10)\nFortran runtime error: Cannot open file '/nope': No such file or directory\n\nError termination. Backtrace:\n#0  0x7f860b6218c2 in ???\n",
            found("Fortran runtime error", "Cannot open file '/nope': No such file or directory", 6),
        );
        fortran.run(
            "ERROR STOP giving up\n\nError termination. Backtrace:\n#0  0x7f29394218c2 in ???\n",
            found("ERROR STOP", "giving up", 0),
        );
        fortran.run("STOP 3\n noise\n", None);
    }

    #[test]
    fn pascal() {
        let pascal = Tool::new("pascal", "main.pas");
        pascal.run(
            "Runtime error 200 at $00000000004010AB\n  $00000000004010AB  F,  line 4 of main.pas\n  $00000000004010E4  main,  line 7 of main.pas\n  $0000000000422EEC\n\n",
            found("RuntimeError", "Runtime error 200", 4),
        );
        pascal.run(
            "An unhandled exception occurred at $0000000000431B67:\nEConvertError: \"x\" is an invalid integer\n  $0000000000431B67\n  $0000000000401126\n\n",
            found("EConvertError", "\"x\" is an invalid integer", 0),
        );
        pascal.run("Runtime noise\n", None);
    }
}
