//! Compilers, and the libraries of their languages: they say what is wrong in words of their own.

use super::{Exception, refused};
use crate::conformance::case::{Ending, Error, Expected, SILENT, Text, printed};

const fn c(case: &'static str, expected: Expected) -> Exception {
    Exception { case, language: "c", expected }
}

const fn cpp(case: &'static str, expected: Expected) -> Exception {
    Exception { case, language: "cpp", expected }
}

/// What ends a program of C, in our words for it.
const fn crashes(signal: &'static str, message: &'static str) -> Expected {
    Expected { ending: Ending::Signal(signal), error: Some(Error { kind: "Trap", message, line: None }), ..SILENT }
}

/// The compiler does not know what WebAssembly has not.
const fn undeclared(message: &'static str, line: u32) -> Expected {
    refused("CompileError", message, line)
}

const NO_FORK: &str = "call to undeclared function 'fork'; ISO C99 and later do not support implicit function declarations [-Wimplicit-function-declaration]";
const NO_PAUSE: &str = "call to undeclared function 'pause'; ISO C99 and later do not support implicit function declarations [-Wimplicit-function-declaration]";
const ABORTED: &str =
    "it called abort, or did what has no meaning in its language, such as falling off the end of a function";
const WILD: &str = "it used memory that is not its own: a null or wild pointer, or an index out of range";

pub(super) const EXCEPTIONS: &[Exception] = &[
    c("a compiler's error (c)", refused("CompileError", "use of undeclared identifier 'basket'", 3)),
    c(
        "a failed assertion (c)",
        Expected {
            ending: Ending::Signal("SIGABRT"),
            stderr: Text::Is("Assertion failed: 1 == 2 (/box/main.c: main: 4)\n"),
            error: Some(Error { kind: "AssertionFailed", message: "1 == 2", line: Some(4) }),
            ..SILENT
        },
    ),
    c("the limit on files", printed("51 True\n")),
    c("the limit on processes", undeclared(NO_FORK, 6)),
    c("the limit on processes counts threads", undeclared(NO_PAUSE, 4)),
    c("a child's death is its parent's to tell", refused("CompileError", "'sys/wait.h' file not found", 3)),
    c("what it leaves running ends with it", undeclared(NO_FORK, 4)),
    c("SIGSEGV", crashes("SIGSEGV", WILD)),
    c("SIGABRT", crashes("SIGABRT", ABORTED)),
    c(
        "SIGKILL by its own hand",
        Expected { stderr: Text::Is("Program received termination signal: Killed\n"), ..crashes("SIGABRT", ABORTED) },
    ),
    c(
        "c: a syntax error",
        Expected {
            ending: Ending::Exit(1),
            stderr: Text::Has("expected ';' at end of declaration"),
            error: Some(Error { kind: "CompileError", message: "expected ';' at end of declaration", line: Some(3) }),
            ..SILENT
        },
    ),
    c(
        "c: an undeclared name",
        Expected {
            ending: Ending::Exit(1),
            stderr: Text::Has("use of undeclared identifier 'total'"),
            error: Some(Error { kind: "CompileError", message: "use of undeclared identifier 'total'", line: Some(3) }),
            ..SILENT
        },
    ),
    c(
        "c: an error of the program itself",
        Expected {
            ending: Ending::Exit(1),
            stderr: Text::Has("\"this is not ready\""),
            error: Some(Error { kind: "CompileError", message: "\"this is not ready\"", line: Some(3) }),
            ..SILENT
        },
    ),
    c(
        "c: a missing header",
        Expected {
            ending: Ending::Exit(1),
            stderr: Text::Has("'nowhere.h' file not found"),
            error: Some(Error { kind: "CompileError", message: "'nowhere.h' file not found", line: Some(2) }),
            ..SILENT
        },
    ),
    c(
        "c: no main",
        Expected {
            ending: Ending::Exit(1),
            stderr: Text::Has("undefined symbol: main"),
            error: Some(Error { kind: "LinkError", message: "undefined symbol: main", line: None }),
            ..SILENT
        },
    ),
    c(
        "c: a function that is nowhere",
        Expected {
            ending: Ending::Exit(1),
            stderr: Text::Has("undefined symbol: elsewhere"),
            error: Some(Error { kind: "LinkError", message: "undefined symbol: elsewhere", line: None }),
            ..SILENT
        },
    ),
    c(
        "c: abort",
        Expected {
            ending: Ending::Signal("SIGABRT"),
            stderr: Text::Is("before\n"),
            error: Some(Error {
                kind: "Trap",
                message: "it called abort, or did what has no meaning in its language, such as falling off the end of a function",
                line: None,
            }),
            ..SILENT
        },
    ),
    c(
        "c: a division by zero",
        Expected {
            ending: Ending::Signal("SIGFPE"),
            stdout: Text::Is("before\n"),
            error: Some(Error { kind: "Trap", message: "it divided by zero", line: None }),
            ..SILENT
        },
    ),
    c(
        "c: a null pointer",
        Expected {
            ending: Ending::Signal("SIGSEGV"),
            stdout: Text::Is("before\n"),
            error: Some(Error {
                kind: "Trap",
                message: "it used memory that is not its own: a null or wild pointer, or an index out of range",
                line: None,
            }),
            ..SILENT
        },
    ),
    c(
        "c: recursion without end",
        Expected {
            ending: Ending::Signal("SIGSEGV"),
            stdout: Text::Is("before\n"),
            error: Some(Error { kind: "Trap", message: "its stack is full: a recursion without an end", line: None }),
            ..SILENT
        },
    ),
    cpp(
        "c++: a syntax error",
        Expected {
            ending: Ending::Exit(1),
            stderr: Text::Has("expected ';' after expression"),
            error: Some(Error { kind: "CompileError", message: "expected ';' after expression", line: Some(3) }),
            ..SILENT
        },
    ),
    cpp(
        "c++: an undeclared name",
        Expected {
            ending: Ending::Exit(1),
            stderr: Text::Has("use of undeclared identifier 'total'"),
            error: Some(Error { kind: "CompileError", message: "use of undeclared identifier 'total'", line: Some(3) }),
            ..SILENT
        },
    ),
    cpp(
        "c++: a type that does not fit",
        Expected {
            ending: Ending::Exit(1),
            stderr: Text::Has(
                "no viable conversion from 'std::vector<std::string>' (aka 'std::vector<basic_string<char>>') to 'int'",
            ),
            error: Some(Error {
                kind: "CompileError",
                message: "no viable conversion from 'std::vector<std::string>' (aka 'std::vector<basic_string<char>>') to 'int'",
                line: Some(5),
            }),
            ..SILENT
        },
    ),
    cpp(
        "c++: an assertion at compile time",
        Expected {
            ending: Ending::Exit(1),
            stderr: Text::Has("static assertion failed due to requirement 'sizeof(int) < 4': too large"),
            error: Some(Error {
                kind: "CompileError",
                message: "static assertion failed due to requirement 'sizeof(int) < 4': too large",
                line: Some(1),
            }),
            ..SILENT
        },
    ),
    cpp(
        "c++: a missing header",
        Expected {
            ending: Ending::Exit(1),
            stderr: Text::Has("'nowhere.hpp' file not found"),
            error: Some(Error { kind: "CompileError", message: "'nowhere.hpp' file not found", line: Some(2) }),
            ..SILENT
        },
    ),
    cpp(
        "c++: no main",
        Expected {
            ending: Ending::Exit(1),
            stderr: Text::Has("undefined symbol: main"),
            error: Some(Error { kind: "LinkError", message: "undefined symbol: main", line: None }),
            ..SILENT
        },
    ),
    cpp(
        "c++: a function that is nowhere",
        Expected {
            ending: Ending::Exit(1),
            stderr: Text::Has("undefined symbol: elsewhere(int)"),
            error: Some(Error { kind: "LinkError", message: "undefined symbol: elsewhere(int)", line: None }),
            ..SILENT
        },
    ),
    cpp(
        "c++: a null pointer",
        Expected {
            ending: Ending::Signal("SIGSEGV"),
            stdout: Text::Is("before\n"),
            error: Some(Error {
                kind: "Trap",
                message: "it used memory that is not its own: a null or wild pointer, or an index out of range",
                line: None,
            }),
            ..SILENT
        },
    ),
    cpp(
        "c++: recursion without end",
        Expected {
            ending: Ending::Signal("SIGSEGV"),
            stdout: Text::Is("before\n"),
            error: Some(Error { kind: "Trap", message: "its stack is full: a recursion without an end", line: None }),
            ..SILENT
        },
    ),
];
