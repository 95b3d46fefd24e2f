//! Programs compiled to machine code: what their runtimes say as they end. And rustc, whose messages are its own kind.

use super::Finding;
use super::compiler::{self, COMPILE_ERROR, LINK_ERROR};
use super::text::{Source, exception, first_line, is_blank, last_line, or_next_line};

/// A C++ exception that nobody caught, a failed assertion, or the C library giving up.
pub(super) fn c<'t>(text: &'t str, source: Source<'_>) -> Option<Finding<'t>> {
    if let Some(line) = last_line(text, |line| line.starts_with("terminate called ")) {
        let thrown = line
            .text
            .strip_prefix("terminate called after throwing an instance of '")
            .and_then(|kind| kind.strip_suffix('\''));
        let what = line
            .after
            .lines()
            .next()
            .and_then(|next| next.strip_prefix("  what():  "))
            .unwrap_or("");
        return Some(thrown.map_or_else(
            || Finding::new("terminate", line.text, None),
            |kind| Finding::new(kind, what, None),
        ));
    }
    let last = last_line(text, |line| !is_blank(line))?.text;
    if let Some((place, condition)) = last.split_once(": Assertion `") {
        return Some(Finding::new(
            "AssertionFailed",
            condition.strip_suffix("' failed.")?,
            source.line_in(place),
        ));
    }
    let aborted = [
        "*** stack smashing",
        "*** buffer overflow",
        "free(): ",
        "malloc(): ",
        "realloc(): ",
        "munmap_chunk(): ",
        "double free or",
        "corrupted ",
    ];
    aborted
        .iter()
        .any(|start| last.starts_with(start))
        .then(|| Finding::new("abort", last, None))
}

/// `error[E0308]: message`, then ` --> main.rs:3:5`.
pub(super) fn rustc<'t>(text: &'t str, source: Source<'_>) -> Option<Finding<'t>> {
    let error = first_line(text, |line| line.starts_with("error: ") || line.starts_with("error["))?;
    let missing = error.after.lines().find_map(compiler::missing_symbol);
    if let Some(symbol) = missing.filter(|_| error.text.starts_with("error: linking with")) {
        return Some(Finding::new(LINK_ERROR, symbol, None));
    }
    let place = error
        .after
        .lines()
        .take_while(|line| !is_blank(line))
        .find(|line| line.trim_start().starts_with("--> "));
    let line = place.and_then(|place| source.line_in(place));
    let (label, message) = error.text.split_once(": ")?;
    let code = label.strip_prefix("error[").and_then(|code| code.strip_suffix(']'));
    Some(code.map_or_else(
        || Finding::new(COMPILE_ERROR, message, line),
        |code| Finding::new(COMPILE_ERROR, format!("{code}: {message}"), line),
    ))
}

/// The last panic, or the error that `main` returned.
pub(super) fn rust<'t>(text: &'t str, source: Source<'_>) -> Option<Finding<'t>> {
    if let Some(line) = last_line(text, |line| {
        line.starts_with("thread '") && line.contains(" panicked at ")
    }) {
        let (_, panic) = line.text.split_once(" panicked at ")?;
        let place = source.line_in(panic).or_else(|| source.line_in(line.after));
        // Before 1.73 the message came first, in quotes, and the place after it.
        let message = match panic.strip_prefix('\'') {
            Some(quoted) => quoted.rsplit_once("', ").map_or(quoted, |(message, _)| message),
            None => or_next_line("", line.after),
        };
        return Some(Finding::new("panic", message, place));
    }
    if let Some(overflow) = last_line(text, |line| {
        line.starts_with("thread '") && line.ends_with(" has overflowed its stack")
    }) {
        return Some(Finding::new("stack overflow", overflow.text, None));
    }
    let returned = last_line(text, |line| !is_blank(line))?.text.strip_prefix("Error: ")?;
    Some(Finding::new("Error", returned, None))
}

/// `panic: message` or `fatal error: message`, and the goroutine that it happened in.
pub(super) fn go<'t>(text: &'t str, source: Source<'_>) -> Option<Finding<'t>> {
    let first = last_line(text, |line| {
        line.starts_with("panic: ") || line.starts_with("fatal error: ")
    })?;
    let (_, stack) = first.after.split_once("goroutine ")?;
    let (kind, message) = first.text.split_once(": ")?;
    // A deferred function that panics in turn is printed below, indented.
    let again = first
        .after
        .lines()
        .take_while(|line| !is_blank(line))
        .filter_map(|line| line.strip_prefix("\tpanic: "))
        .last();
    Some(Finding::new(kind, again.unwrap_or(message), source.line_in(stack)))
}

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
    Some(Finding::new(
        kind,
        message,
        source.line_in(place).or_else(|| source.line_in(frames)),
    ))
}

/// Frames outermost first, then `Error: unhandled exception: message [Kind]`.
pub(super) fn nim<'t>(text: &'t str, source: Source<'_>) -> Option<Finding<'t>> {
    const UNHANDLED: &str = "Error: unhandled exception: ";
    let line = last_line(text, |line| {
        line.starts_with(UNHANDLED) || line.starts_with("SIGSEGV: ")
    })?;
    let place = line.before.lines().rev().find_map(|frame| source.line_in(frame));
    let Some(message) = line.text.strip_prefix(UNHANDLED) else {
        let (kind, message) = line.text.split_once(": ")?;
        return Some(Finding::new(kind, message, place));
    };
    // The kind ends the message, however many lines that has.
    let end = std::iter::once(message)
        .chain(line.after.lines())
        .find(|line| line.ends_with(']'))?;
    let (last, kind) = end.strip_suffix(']')?.rsplit_once(" [")?;
    Some(Finding::new(
        kind,
        if message.ends_with(']') { last } else { message },
        place,
    ))
}

/// `Unhandled exception: message (Kind)`, then the frames.
pub(super) fn crystal<'t>(text: &'t str, source: Source<'_>) -> Option<Finding<'t>> {
    let line = last_line(text, |line| line.starts_with("Unhandled exception"))?;
    let (_, message) = line.text.split_once(": ")?;
    let end = std::iter::once(message)
        .chain(line.after.lines())
        .find(|line| line.ends_with(')'))?;
    let (last, kind) = end.strip_suffix(')')?.rsplit_once(" (")?;
    Some(Finding::new(
        kind,
        if message.ends_with(')') { last } else { message },
        source.line_in(line.after),
    ))
}

/// `At line 6 of file main.f90`, then `Fortran runtime error: message`.
pub(super) fn fortran<'t>(text: &'t str, source: Source<'_>) -> Option<Finding<'t>> {
    let line = last_line(text, |line| {
        line.starts_with("Fortran runtime error: ") || line.starts_with("ERROR STOP")
    })?;
    if let Some(message) = line.text.strip_prefix("ERROR STOP") {
        return Some(Finding::new("ERROR STOP", message, None));
    }
    let (kind, message) = line.text.split_once(": ")?;
    let place = line
        .before
        .lines()
        .next_back()
        .filter(|above| above.starts_with("At line "));
    Some(Finding::new(
        kind,
        message,
        place.and_then(|place| source.line_of(place)),
    ))
}

/// `An unhandled exception occurred at $…:` and the exception below it, or `Runtime error 200 at $…`.
pub(super) fn pascal<'t>(text: &'t str, source: Source<'_>) -> Option<Finding<'t>> {
    let line = last_line(text, |line| {
        line.starts_with("An unhandled exception occurred at $") || line.starts_with("Runtime error ")
    })?;
    let place = source.line_of(line.after);
    if let Some((message, _)) = line
        .text
        .split_once(" at $")
        .filter(|_| line.text.starts_with("Runtime error "))
    {
        return Some(Finding::new("RuntimeError", message, place));
    }
    let (kind, message) = exception(line.after.lines().next()?)?;
    Some(Finding::new(kind, message, place))
}

#[cfg(test)]
mod tests {
    use super::super::testing::{Tool, found};

    #[test]
    fn c_and_cpp() {
        let c = Tool {
            language: "c",
            source: "main.c",
        };
        c.run(
            "program: /box/main.c:3: f: Assertion `x > 1 && \"too small\"' failed.\n",
            found("AssertionFailed", "x > 1 && \"too small\"", 3),
        );
        c.run(
            "free(): double free detected in tcache 2\n",
            found("abort", "free(): double free detected in tcache 2", 0),
        );
        c.run(
            "*** stack smashing detected ***: terminated\n",
            found("abort", "*** stack smashing detected ***: terminated", 0),
        );
        c.run("error: noise\n", None);
        let cpp = Tool {
            language: "cpp",
            source: "main.cpp",
        };
        cpp.run(
            "terminate called after throwing an instance of 'std::out_of_range'\n  what():  vector::_M_range_check: __n (which is 7) >= this->size() (which is 2)\n",
            found("std::out_of_range", "vector::_M_range_check: __n (which is 7) >= this->size() (which is 2)", 0),
        );
        cpp.run(
            "terminate called after throwing an instance of 'MyError'\n",
            found("MyError", "", 0),
        );
        cpp.run(
            "terminate called without an active exception\n",
            found("terminate", "terminate called without an active exception", 0),
        );
        cpp.run("terminate soon\n", None);
    }

    #[test]
    fn rustc() {
        let rust = Tool {
            language: "rust",
            source: "main.rs",
        };
        rust.compile(
            r#"warning: unnecessary parentheses around `if` condition
 --> /box/main.rs:3:8
  |
3 |     if (x == 3) {}
  |        ^      ^
  |
  = note: `#[warn(unused_parens)]` (part of `#[warn(unused)]`) on by default

error[E0308]: mismatched types
 --> /box/main.rs:4:19
  |
4 |     let y: &str = &mut x;
  |            ----   ^^^^^^ expected `&str`, found `&mut {integer}`
  |            |
  |            expected due to this

error: aborting due to 1 previous error; 1 warning emitted

For more information about this error, try `rustc --explain E0308`.
"#,
            found("CompileError", "E0308: mismatched types", 4),
        );
        rust.compile(
            "error: mismatched closing delimiter: `}`\n --> /box/main.rs:2:13\n  |\n1 | fn main() {\n  |           - closing delimiter possibly meant for this\n2 |     println!(\"hi\"\n  |             ^ unclosed delimiter\n\nerror: aborting due to 1 previous error\n\n",
            found("CompileError", "mismatched closing delimiter: `}`", 2),
        );
        rust.compile(
            "error: linking with `cc` failed: exit status: 1\n  |\n  = note:  \"cc\" \"-m64\" \"-nodefaultlibs\"\n  = note: rust-lld: error: undefined symbol: nosuch\n          >>> referenced by main.235e3519f142be8b-cgu.0\n          collect2: error: ld returned 1 exit status\n          \n\nerror: aborting due to 1 previous error\n\n",
            found("LinkError", "undefined symbol: nosuch", 0),
        );
    }

    #[test]
    fn rust() {
        let rust = Tool {
            language: "rust",
            source: "main.rs",
        };
        rust.run(
            "\nthread 'main' (26401) panicked at /box/main.rs:2:5:\nindex out of bounds: the len is 2 but the index is 5\nnote: run with `RUST_BACKTRACE=1` environment variable to display a backtrace\n",
            found("panic", "index out of bounds: the len is 2 but the index is 5", 2),
        );
        // rustc 1.63.
        rust.run(
            "thread '<unnamed>' panicked at 'in\nthread', /box/main.rs:2:27\nnote: run with `RUST_BACKTRACE=1` environment variable to display a backtrace\nthread 'main' panicked at 'called `Result::unwrap()` on an `Err` value: Any { .. }', /box/main.rs:3:56\n",
            found("panic", "called `Result::unwrap()` on an `Err` value: Any { .. }", 3),
        );
        rust.run(
            "Error: ParseIntError { kind: InvalidDigit }\n",
            found("Error", "ParseIntError { kind: InvalidDigit }", 0),
        );
        rust.run(
            "\nthread 'main' has overflowed its stack\nfatal runtime error: stack overflow\n",
            found("stack overflow", "thread 'main' has overflowed its stack", 0),
        );
        rust.run("error: noise\n", None);
    }

    #[test]
    fn go() {
        let go = Tool {
            language: "go",
            source: "main.go",
        };
        go.run(
            "starting\npanic: strings: negative Repeat count\n\ngoroutine 1 [running]:\nstrings.Repeat({0x498453?, 0xc000012020?}, 0xc00006af60?)\n\t/usr/lib/go-1.19/src/strings/strings.go:538 +0x4d8\nmain.f(...)\n\t/box/main.go:4\nmain.main()\n\t/box/main.go:6 +0x6e\n",
            found("panic", "strings: negative Repeat count", 4),
        );
        go.run(
            "panic: inner [recovered]\n\tpanic: wrapped: inner\n\ngoroutine 1 [running]:\nmain.f.func1()\n\t/box/main.go:4 +0x86\npanic({0x48aea0, 0xc000014270})\n\t/usr/lib/go-1.19/src/runtime/panic.go:884 +0x212\nmain.f()\n\t/box/main.go:5 +0x69\n",
            found("panic", "wrapped: inner", 4),
        );
        go.run(
            "panic: runtime error: invalid memory address or nil pointer dereference\n[signal SIGSEGV: segmentation violation code=0x1 addr=0x0 pc=0x457c76]\n\ngoroutine 1 [running]:\nmain.f(...)\n\t/box/main.go:4\nmain.main()\n\t/box/main.go:6 +0x16\n",
            found("panic", "runtime error: invalid memory address or nil pointer dereference", 4),
        );
        go.run(
            "fatal error: all goroutines are asleep - deadlock!\n\ngoroutine 1 [chan receive]:\nmain.main()\n\t/box/main.go:4 +0x2c\n",
            found("fatal error", "all goroutines are asleep - deadlock!", 4),
        );
        go.run("2026/11/15 08:31:38 panic: not really\n", None);
    }

    #[test]
    fn d() {
        let d = Tool {
            language: "d",
            source: "main.d",
        };
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
        let nim = Tool {
            language: "nim",
            source: "main.nim",
        };
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
        let crystal = Tool {
            language: "crystal",
            source: "main.cr",
        };
        crystal.run(
            "Unhandled exception: Index out of bounds (IndexError)\n  from /usr/lib/crystal/lib/indexable.cr:73:20 in '[]'\n  from main.cr:2:3 in 'f'\n  from main.cr:5:6 in '__crystal_main'\n  from /usr/lib/crystal/lib/crystal/main.cr:115:5 in 'main_user_code'\n",
            found("IndexError", "Index out of bounds", 2),
        );
        crystal.run("Unhandled exception: bad\nthing (MyError)\n  from main.cr:3:3 in 'f'\n  from main.cr:5:1 in '__crystal_main'\n", found("MyError", "bad", 3));
        crystal.run("Unhandled noise\n", None);
    }

    #[test]
    fn fortran() {
        let fortran = Tool {
            language: "fortran",
            source: "main.f90",
        };
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
        let pascal = Tool {
            language: "pascal",
            source: "main.pas",
        };
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
