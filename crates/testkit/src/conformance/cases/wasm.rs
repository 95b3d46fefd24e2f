//! Where WebAssembly cannot do what a case is about, and what it owes instead. Whatever is not here is the same in every engine.

mod compiled;

use crate::conformance::case::{Case, Ending, Error, Expected, Program, SILENT, Text, printed};

/// A case, in one language, that is about something WebAssembly has not: processes, threads, signals, shared libraries.
#[derive(Clone, Copy, Debug)]
pub(super) struct Exception {
    /// The case's name.
    pub(super) case: &'static str,
    pub(super) language: &'static str,
    /// What must come back instead.
    pub(super) expected: Expected,
}

impl Exception {
    pub(super) fn names(&self, case: &Case, program: &Program) -> bool {
        (self.case, self.language) == (case.name, program.language)
    }
}

const fn python(case: &'static str, expected: Expected) -> Exception {
    Exception { case, language: "python", expected }
}

const fn javascript(case: &'static str, expected: Expected) -> Exception {
    Exception { case, language: "javascript", expected }
}

/// The program is told that it cannot have what it asks for.
const fn refused(kind: &'static str, message: &'static str, line: u32) -> Expected {
    Expected {
        ending: Ending::Exit(1),
        stderr: Text::Has(message),
        error: Some(Error { kind, message, line: Some(line) }),
        ..SILENT
    }
}

const NO_KILL: &str = "`process.kill` is not in the WebAssembly JavaScript";
const NO_CHILDREN: &str = "`child_process.spawn` is not in the WebAssembly JavaScript";

/// All of them.
pub(super) fn exceptions() -> impl Iterator<Item = &'static Exception> {
    EXCEPTIONS.iter().chain(compiled::EXCEPTIONS)
}

const EXCEPTIONS: &[Exception] = &[
    // Errors have the names that they have everywhere, and the numbers that WASI gives them.
    python(
        "the disk limit (python)",
        Expected {
            ending: Ending::Exit(1),
            stderr: Text::Has("No space left on device"),
            error: Some(Error { kind: "OSError", message: "[Errno 51] No space left on device", line: Some(2) }),
            ..SILENT
        },
    ),
    python("the limit on files", printed("51 True\n")),
    // There is no `/dev/shm`; that `/box` and `/tmp` are counted together is in `wasm/limits.rs`.
    javascript("the disk limit counts all places together", printed("ENOENT true true\n")),
    python("the limit on processes", refused("AttributeError", "module 'os' has no attribute 'fork'", 5)),
    // The first thread is refused already, as the kernel refuses the tenth.
    python("the limit on processes counts threads", printed("11 0\n")),
    python("SIGSEGV", refused("ModuleNotFoundError", "No module named '_ctypes'", 1)),
    javascript("SIGSEGV", refused("Error", NO_KILL, 1)),
    python(
        "SIGABRT",
        Expected {
            ending: Ending::Signal("SIGABRT"),
            error: Some(Error {
                kind: "Trap",
                message: "wasm trap: wasm `unreachable` instruction executed",
                line: None,
            }),
            ..SILENT
        },
    ),
    python("SIGKILL by its own hand", refused("AttributeError", "module 'os' has no attribute 'kill'", 2)),
    javascript("SIGKILL by its own hand", refused("Error", NO_KILL, 1)),
    python(
        "a child's death is its parent's to tell",
        refused("AttributeError", "module 'os' has no attribute 'fork'", 2),
    ),
    python("what it leaves running ends with it", refused("OSError", "[Errno 58] wasi does not support processes.", 2)),
    javascript("what it leaves running ends with it", refused("Error", NO_CHILDREN, 1)),
];
