//! In what our profiles differ from what was recorded, and why. Numbers are those of the faults in each profile's section of
//! `docs/profiles.md`.

use crate::compare::Difference;

const fn differs(entry: &'static str, field: &'static str, reason: &'static str) -> Difference {
    Difference { entry, field, reason }
}

const TEXT: &str = "/result/content/0/text";
const SECOND: &str = "/result/content/1";
const THIRD: &str = "/result/content/2/text";
const VERDICT: &str = "/result/isError";

pub(crate) const MCP_SERVER_CODE_RUNNER: &[Difference] = &[
    differs("standard error", TEXT, "5: standard output is not lost"),
    differs("standard error", SECOND, "5: standard error comes after it"),
    differs("standard error", VERDICT, "5: exit code 0 is success"),
    differs("failure", TEXT, "6: it ends with the exit code; 11, 14: the file has another name"),
    differs("failure", SECOND, "6: standard output is kept"),
    differs("exit code", TEXT, "6: it ends with the exit code; 11, 14: the file has another name"),
    differs("exit code", SECOND, "6: standard output is kept"),
    differs("no such interpreter", "/result", "12: it says which languages there are; 13: no shell says it"),
    differs("more than 1 MiB", TEXT, "9: head and tail are kept"),
    differs("more than 1 MiB", VERDICT, "9: a long output is no error"),
];

pub(crate) const RUNNO: &[Difference] = &[
    differs("tools", "/result/tools/1", "8: the tool that takes files works, and is listed"),
    differs(
        "program and arguments",
        THIRD,
        "deliberate: programs start in a folder of their own, since they may have files",
    ),
    differs("both streams", THIRD, "10: streams are in the order in which they were written"),
    differs("a JavaScript error", TEXT, "6: an uncaught error is exit code 1"),
    differs("a JavaScript error", THIRD, "6: the report of it shows the line"),
    differs("a warning in C", "/result/content", "4: what the compiler says is returned"),
    differs("php", THIRD, "5: no headers"),
    differs("not in the enum", "/error", "13: a result says it in a sentence"),
    differs("not in the enum", "/result", "13: a result says it in a sentence"),
    differs("missing argument", "/error", "13: a result says it in a sentence"),
    differs("missing argument", "/result", "13: a result says it in a sentence"),
    differs("files", "/result/content", "8, 9: it runs, and returns files"),
    differs("unknown tool", "/error/code", "13: the protocol's code for it"),
];

pub(crate) const MCP_RUN_PYTHON: &[Difference] = &[];

pub(crate) const CODE_RUNNER_MCP: &[Difference] = &[
    differs("an error", TEXT, "deliberate: frames of the runtime are not shown, the line is"),
    differs("an error after output", TEXT, "7: output before it is kept"),
    differs("a syntax error", TEXT, "deliberate: frames of the runtime are not shown; advice is in our words"),
    differs("no newline", TEXT, "8: output without a newline is its own call's"),
    differs("after no newline", TEXT, "8: and not the next one's"),
    differs("top-level await", TEXT, "9: it works"),
    differs("top-level await", VERDICT, "9: it works"),
    differs("javascript, no output", TEXT, "deliberate: advice is in our words"),
    differs("a javascript error", TEXT, "14: no colour codes"),
    differs("a javascript error", VERDICT, "14: it is an error"),
    differs("no network", TEXT, "deliberate: there is no network to ask for, rather than one that is denied"),
    differs("no network", VERDICT, "14: it is an error"),
];

pub(crate) const MCP_CODE_EXECUTOR: &[Difference] = &[
    differs("initialize", "/result/protocolVersion", "deliberate: the version is negotiated"),
    differs("standard error", "/result/content/0/isError", "5: exit code 0 is success"),
    differs("standard error", "/result/content/0/text/status", "5: exit code 0 is success"),
    differs("standard error", "/result/content/0/text/output", "5: standard output is not lost"),
    differs("standard error", "/result/content/0/text/stderr", "5: standard error has a key of its own"),
    differs("an error", "/result/content/0/text/output", "6: standard output is kept"),
    differs("an error", "/result/content/0/text/exit_code", "6: the exit code is told"),
    differs("an error", VERDICT, "7: the result says it"),
    differs(
        "a file that is not there",
        "/result/content/0/text/error",
        "3: nothing outside of the folder is looked at",
    ),
    differs("a file that is not there", VERDICT, "7: the result says it"),
    differs("an environment without its path", VERDICT, "7: the result says it"),
    differs("an environment of no type", VERDICT, "7: the result says it"),
    differs("no packages", VERDICT, "7: the result says it"),
    differs("missing code", "/error", "14: a result says it"),
    differs("missing code", "/result", "14: a result says it"),
    differs("missing content", "/error", "14: a result says it"),
    differs("missing content", "/result", "14: a result says it"),
    differs("missing path", "/error", "14: a result says it"),
    differs("missing path", "/result", "14: a result says it"),
    differs("packages of another type", "/error", "14: a result says it"),
    differs("packages of another type", "/result", "14: a result says it"),
    differs("unknown tool", "/error/code", "14: the protocol's code for it"),
];
