//! C, C++, Rust, Go, Zig and Swift: what their runtimes print when they fail. Also rustc, whose messages have a format
//! of their own.

use super::Finding;
use super::compiler::{self, COMPILE_ERROR, LINK_ERROR};
use super::text::{Source, exception, first_line, is_blank, last_line, or_next_line};

/// A C++ exception that nobody caught, a failed assertion, or the C library giving up.
pub(super) fn c<'t>(text: &'t str, source: Source<'_>) -> Option<Finding<'t>> {
    const ABORTS: &[&str] = &[
        "*** stack smashing",
        "*** buffer overflow",
        "free(): ",
        "malloc(): ",
        "realloc(): ",
        "munmap_chunk(): ",
        "double free or",
        "corrupted ",
    ];
    if let Some(line) = last_line(text, |line| line.starts_with("terminate called ")) {
        let Some((_, kind)) = line.text.split_once("throwing an instance of '") else {
            return Some(Finding::new("terminate", line.text, None));
        };
        let what = line.after.lines().next().and_then(|below| below.strip_prefix("  what():  "));
        return Some(Finding::new(kind.trim_end_matches('\''), what.unwrap_or(""), None));
    }
    let last = last_line(text, |line| !is_blank(line))?.text;
    if let Some(exception) = last.strip_prefix("libc++abi: terminating due to uncaught exception of type ") {
        let (kind, what) = exception.split_once(": ").unwrap_or((exception, ""));
        // The library's internal name for its version of `std`.
        return Some(Finding::new(kind.replace("std::__1::", "std::"), what, None));
    }
    if let Some(rest) = last.strip_prefix("libc++abi: terminating") {
        return Some(Finding::new("terminate", rest.trim_start(), None));
    }
    // musl's form, with the place at the end: `Assertion failed: x > 1 (/box/main.c: main: 3)`.
    if let Some((condition, place)) = last.strip_prefix("Assertion failed: ").and_then(|rest| rest.rsplit_once(" (")) {
        let line = place.strip_suffix(')').and_then(|place| place.rsplit_once(": ")).map(|(_, line)| line);
        let ours = place.split(": ").next().is_some_and(|file| file.rsplit('/').next() == Some(source.name()));
        return Some(Finding::new(
            "AssertionFailed",
            condition,
            line.filter(|_| ours).and_then(|line| line.parse().ok()),
        ));
    }
    if let Some((place, condition)) = last.split_once(": Assertion `") {
        return Some(Finding::new("AssertionFailed", condition.strip_suffix("' failed.")?, source.line_in(place)));
    }
    ABORTS.iter().any(|abort| last.starts_with(abort)).then(|| Finding::new("abort", last, None))
}

/// `error[E0308]: message`, then ` --> main.rs:3:5`.
pub(super) fn rustc<'t>(text: &'t str, source: Source<'_>) -> Option<Finding<'t>> {
    let error = first_line(text, |line| line.starts_with("error: ") || line.starts_with("error["))?;
    if error.text.starts_with("error: linking with")
        && let Some(symbol) = error.after.lines().find_map(compiler::missing_symbol)
    {
        return Some(Finding::new(LINK_ERROR, symbol, None));
    }
    let mut below = error.after.lines().take_while(|line| !is_blank(line));
    let line = below.find(|line| line.trim_start().starts_with("--> ")).and_then(|place| source.line_in(place));
    let (label, message) = error.text.split_once(": ")?;
    Some(match label.strip_prefix("error[").and_then(|code| code.strip_suffix(']')) {
        Some(code) => Finding::new(COMPILE_ERROR, format!("{code}: {message}"), line),
        None => Finding::new(COMPILE_ERROR, message, line),
    })
}

/// The last panic, or the error that `main` returned.
pub(super) fn rust<'t>(text: &'t str, source: Source<'_>) -> Option<Finding<'t>> {
    if let Some(line) = last_line(text, |line| line.starts_with("thread '") && line.contains(" panicked at ")) {
        let (_, panic) = line.text.split_once(" panicked at ")?;
        let place = source.line_in(panic).or_else(|| source.line_in(line.after));
        // Before 1.73 the message came first, in quotes, and the place after it.
        let message = match panic.strip_prefix('\'') {
            Some(quoted) => quoted.rsplit_once("', ").map_or(quoted, |(message, _)| message),
            None => or_next_line("", line.after),
        };
        return Some(Finding::new("panic", message, place));
    }
    if let Some(overflow) =
        last_line(text, |line| line.starts_with("thread '") && line.ends_with(" has overflowed its stack"))
    {
        return Some(Finding::new("stack overflow", overflow.text, None));
    }
    let returned = last_line(text, |line| !is_blank(line))?.text.strip_prefix("Error: ")?;
    Some(Finding::new("Error", returned, None))
}

/// `panic: message` or `fatal error: message`, and the goroutine in which it happened.
pub(super) fn go<'t>(text: &'t str, source: Source<'_>) -> Option<Finding<'t>> {
    let first = last_line(text, |line| line.starts_with("panic: ") || line.starts_with("fatal error: "))?;
    let (_, stack) = first.after.split_once("goroutine ")?;
    let (kind, message) = first.text.split_once(": ")?;
    // A deferred function that panics in turn is printed below, indented.
    let again =
        first.after.lines().take_while(|line| !is_blank(line)).filter_map(|line| line.strip_prefix("\tpanic: ")).last();
    Some(Finding::new(kind, again.unwrap_or(message), source.line_in(stack)))
}

/// `thread 123 panic: message`, or the name of the error that `main` returned, and the frames.
pub(super) fn zig<'t>(text: &'t str, source: Source<'_>) -> Option<Finding<'t>> {
    if let Some(line) = last_line(text, |line| line.starts_with("thread ") && line.contains(" panic: ")) {
        let (_, message) = line.text.split_once(" panic: ")?;
        return Some(Finding::new("panic", message, source.line_in(line.after)));
    }
    let line = last_line(text, |line| line.starts_with("error: "))?;
    let (name, _) = exception(line.text.strip_prefix("error: ")?)?;
    // Without a frame it is something that the program printed.
    line.after.lines().next()?.contains(": 0x").then(|| Finding::new(name, "", source.line_in(line.after)))
}

/// `main/main.swift:3: Fatal error: message`, where the first part is the module. Errors of the standard library name
/// the module `Swift`; a backtrace may follow.
pub(super) fn swift<'t>(text: &'t str, source: Source<'_>) -> Option<Finding<'t>> {
    let line = last_line(text, |line| line.contains(": Fatal error: ") || line.starts_with("Fatal error: "))?;
    let (place, message) = line.text.split_once("Fatal error: ")?;
    let file = place.rsplit_once('/').map_or(place, |(_, file)| file);
    Some(Finding::new("Fatal error", message, source.line_in(file).or_else(|| source.line_in(line.after))))
}

#[cfg(test)]
mod tests {
    use super::super::tests::{Tool, found};

    #[test]
    fn c_and_cpp() {
        let c = Tool::new("c", "main.c");
        c.run(
            "program: /box/main.c:3: f: Assertion `x > 1 && \"too small\"' failed.\n",
            found("AssertionFailed", "x > 1 && \"too small\"", 3),
        );
        c.run("Assertion failed: f(x) > 1 (/box/main.c: main: 3)\n", found("AssertionFailed", "f(x) > 1", 3));
        c.run("Assertion failed: a (/usr/include/x.h: f: 3)\n", found("AssertionFailed", "a", 0));
        c.run(
            "libc++abi: terminating due to uncaught exception of type std::runtime_error: boom: bang\n",
            found("std::runtime_error", "boom: bang", 0),
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
        let cpp = Tool::new("cpp", "main.cpp");
        cpp.run(
            "terminate called after throwing an instance of 'std::out_of_range'\n  what():  vector::_M_range_check: __n (which is 7) >= this->size() (which is 2)\n",
            found("std::out_of_range", "vector::_M_range_check: __n (which is 7) >= this->size() (which is 2)", 0),
        );
        cpp.run("terminate called after throwing an instance of 'MyError'\n", found("MyError", "", 0));
        cpp.run(
            "terminate called without an active exception\n",
            found("terminate", "terminate called without an active exception", 0),
        );
        cpp.run("terminate soon\n", None);
    }

    #[test]
    fn rustc() {
        let rust = Tool::new("rust", "main.rs");
        rust.compile(
            r"warning: unnecessary parentheses around `if` condition
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
",
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
        let rust = Tool::new("rust", "main.rs");
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
        let go = Tool::new("go", "main.go");
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
    fn zig() {
        let zig = Tool::new("zig", "main.zig");
        zig.compile(
            "main.zig:3:12: error: expected type 'u32', found '*const [1:0]u8'\n    return \"x\";\n           ^~~\nmain.zig:2:8: note: function return type declared here\n",
            found("CompileError", "expected type 'u32', found '*const [1:0]u8'", 3),
        );
        zig.run(
            "thread 28084 panic: index out of bounds: index 5, len 2\n/box/main.zig:3:13: 0x113acdf in f (main.zig)\n    return a[i];\n            ^\n/box/main.zig:7:32: 0x113a6d8 in main (main.zig)\n",
            found("panic", "index out of bounds: index 5, len 2", 3),
        );
        zig.run(
            "error: InvalidCharacter\n/usr/lib/zig/lib/std/fmt.zig:593:24: 0x113dcc1 in charToDigit (std.zig)\n    if (value >= base) return error.InvalidCharacter;\n                       ^\n/box/main.zig:3:5: 0x1139cbb in f (main.zig)\n",
            found("InvalidCharacter", "", 3),
        );
        zig.run("error: noise\n", None);
    }

    // Not captured on the machine used for the rest: the first line is as in moreSwift/swift-cross-ui#137.
    #[test]
    fn swift() {
        let swift = Tool::new("swift", "main.swift");
        swift.run(
            "Swift/ContiguousArrayBuffer.swift:690: Fatal error: Index out of range\n",
            found("Fatal error", "Index out of range", 0),
        );
        swift.run("main/main.swift:3: Fatal error: bad thing\n", found("Fatal error", "bad thing", 3));
        swift.run("error: noise\n", None);
    }
}
