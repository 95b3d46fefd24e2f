//! In what our profiles differ from what was recorded, why, and what is right instead. Numbers are those of the faults in each profile's
//! section of `docs/profiles.md`.

use serde_json::{Value, json};

use crate::compare::Difference;

const fn differs(
    entry: &'static str,
    field: &'static str,
    reason: &'static str,
    is_right: fn(&Value) -> bool,
) -> Difference {
    Difference { entry, field, reason, is_right }
}

const TEXT: &str = "/result/content/0/text";
const SECOND: &str = "/result/content/1";
const THIRD: &str = "/result/content/2/text";
const VERDICT: &str = "/result/isError";

fn holds(value: &Value, parts: &[&str]) -> bool {
    value.as_str().is_some_and(|text| parts.iter().all(|part| text.contains(part)))
}

/// A result with one block of text.
fn says(result: &Value, text: &str) -> bool {
    *result == json!({"content": [{"type": "text", "text": text}], "isError": true})
}

/// The same of `mcp-code-executor`, in which the text is an object, and the block has a verdict too.
fn complains(result: &Value, error: &str) -> bool {
    let said: Value =
        serde_json::from_str(result["content"][0]["text"].as_str().unwrap_or_default()).unwrap_or_default();
    said == json!({"status": "error", "error": error})
        && result["isError"] == true
        && result["content"][0]["isError"] == true
}

pub(crate) const MCP_SERVER_CODE_RUNNER: &[Difference] = &[
    differs("standard error", TEXT, "5: standard output is not lost", |it| it == "out\n"),
    differs("standard error", SECOND, "5: standard error comes after it", |it| it["text"] == "Stderr: warn\n"),
    differs("standard error", VERDICT, "5: exit code 0 is success", Value::is_null),
    differs("failure", TEXT, "6: it ends with the exit code; 11, 14: the file has another name", |it| {
        it == "Error: Command failed: python -u \"/box/main.py\"\nTraceback (most recent call last):\n  File \"/box/main.py\", line 2, in <module>\n    \
               1/0\n    ~^~\nZeroDivisionError: division by zero\nexit code 1"
    }),
    differs("failure", SECOND, "6: standard output is kept", |it| it["text"] == "before\n"),
    differs("exit code", TEXT, "6: it ends with the exit code; 11, 14: the file has another name", |it| {
        it == "Error: Command failed: bash \"/box/main.sh\"\nexit code 3"
    }),
    differs("exit code", SECOND, "6: standard output is kept", |it| it["text"] == "out\n"),
    differs("no such interpreter", "/result", "12: it says which languages there are; 13: no shell says it", |it| {
        let parts = ["Error: Command failed: runhaskell \"/box/main.hs\"\n", "these can be run here: ", "python"];
        it["isError"] == true && holds(&it["content"][0]["text"], &parts)
    }),
    differs("more than 1 MiB", TEXT, "9: head and tail are kept", |it| {
        holds(it, &["bytes dropped"]) && it.as_str().is_some_and(|text| text.starts_with('x') && text.ends_with("x\n"))
    }),
    differs("more than 1 MiB", VERDICT, "9: a long output is no error", Value::is_null),
];

pub(crate) const RUNNO: &[Difference] = &[
    differs("tools", "/result/tools/1", "8: the tool that takes files works, and is listed", |it| {
        let required = json!(["runtime", "code", "input_files", "output_file_names"]);
        it["name"] == "run_code_with_files" && it["inputSchema"]["required"] == required
    }),
    differs(
        "program and arguments",
        THIRD,
        "deliberate: programs start in a folder of their own, since they may have files",
        |it| it == "/program ['/program'] /box\n",
    ),
    differs("both streams", THIRD, "10: streams are in the order in which they were written", |it| it == "a\nb\nc\n"),
    differs("a JavaScript error", TEXT, "6: an uncaught error is exit code 1", |it| {
        it == "Execution completed with exit code 1."
    }),
    differs("a JavaScript error", THIRD, "6: the report of it shows the line", |it| {
        let report = "before\n/program:2\nthrow new Error('x')\n";
        it.as_str().is_some_and(|text| text.starts_with(report)) && holds(it, &["\nError: x\n", "(/program:2:"])
    }),
    differs("a warning in C", "/result/content", "4: what the compiler says is returned", |it| {
        it[0]["text"] == "Execution completed with exit code 1."
            && it[1]["text"] == "Following is the TTY output."
            && holds(&it[2]["text"], &["/program:1:2: error: no", "#warning no"])
    }),
    differs("php", THIRD, "5: no headers", |it| it == "2"),
    differs("not in the enum", "/error", "13: a result says it in a sentence", Value::is_null),
    differs("not in the enum", "/result", "13: a result says it in a sentence", |it| {
        says(it, "`runtime` cannot be `node`; use one of python, quickjs, clang, clangpp, ruby, php-cgi")
    }),
    differs("missing argument", "/error", "13: a result says it in a sentence", Value::is_null),
    differs("missing argument", "/result", "13: a result says it in a sentence", |it| {
        says(it, "`code` is missing; send `code`, \"the program\"")
    }),
    differs("files", "/result/content", "8, 9: it runs, and returns files", |it| {
        let text = |text: &str| json!({"type": "text", "text": text});
        let file = json!({"uri": "file:///out.txt", "mimeType": "text/plain", "text": "A,B"});
        *it == json!([
            text("Execution completed with exit code 0."),
            text("Following is the TTY output."),
            text("a,b\n"),
            {"type": "resource", "resource": file},
            text("Output file /nope not found in the result."),
        ])
    }),
    differs("unknown tool", "/error/code", "13: the protocol's code for it", |it| *it == -32602),
];

pub(crate) const MCP_RUN_PYTHON: &[Difference] = &[];

const DIVISION: &str = "Traceback (most recent call last):\n  File \"<exec>\", line 2, in <module>\n    1/0\n    ~^~\nZeroDivisionError: division by zero\n";

/// Of JavaScript, which the host's own tools may have run: a report that can be read.
fn is_report(value: &Value) -> bool {
    value.as_str().is_some_and(|text| text.starts_with("[stderr] ") && !text.contains('\u{1b}'))
}

pub(crate) const CODE_RUNNER_MCP: &[Difference] = &[
    differs("an error", TEXT, "deliberate: frames of the runtime are not shown, the line is", |it| it == DIVISION),
    differs("an error after output", TEXT, "7: output before it is kept", |it| {
        it.as_str().and_then(|text| text.strip_prefix("before\n")) == Some(DIVISION)
    }),
    differs("a syntax error", TEXT, "deliberate: frames of the runtime are not shown; advice is in our words", |it| {
        let report = "  File \"<exec>\", line 1\n    def f(:\n          ^\nSyntaxError: invalid syntax\n\n\n**Syntax Error Detected!** ";
        it.as_str().is_some_and(|text| text.starts_with(report))
    }),
    differs("no newline", TEXT, "8: output without a newline is its own call's", |it| it == "a"),
    differs("after no newline", TEXT, "8: and not the next one's", |it| it == "b\n"),
    differs("top-level await", TEXT, "9: it works", |it| it == "awaited\n"),
    differs("top-level await", VERDICT, "9: it works", Value::is_null),
    differs("javascript, no output", TEXT, "deliberate: advice is in our words", |it| {
        it.as_str().is_some_and(|text| text.starts_with("(no output)\n\n**Tip:** "))
    }),
    differs("a javascript error", TEXT, "14: no colour codes", |it| {
        is_report(it) && holds(it, &["throw new Error('x')\n", "Error: x\n"])
    }),
    differs("a javascript error", VERDICT, "14: it is an error", |it| *it == true),
    differs("no network", TEXT, "deliberate: there is no network to ask for, rather than one that is denied", |it| {
        is_report(it) && holds(it, &["fetch"])
    }),
    differs("no network", VERDICT, "14: it is an error", |it| *it == true),
];

pub(crate) const MCP_CODE_EXECUTOR: &[Difference] = &[
    differs("initialize", "/result/protocolVersion", "deliberate: the version is negotiated", |it| it == "2025-06-18"),
    differs("standard error", "/result/content/0/isError", "5: exit code 0 is success", |it| *it == false),
    differs("standard error", "/result/content/0/text/status", "5: exit code 0 is success", |it| it == "success"),
    differs("standard error", "/result/content/0/text/output", "5: standard output is not lost", |it| it == "out\n"),
    differs("standard error", "/result/content/0/text/stderr", "5: standard error has a key of its own", |it| {
        it == "warn\n"
    }),
    differs("an error", "/result/content/0/text/output", "6: standard output is kept", |it| it == "before\n"),
    differs("an error", "/result/content/0/text/exit_code", "6: the exit code is told", |it| *it == 1),
    differs("an error", VERDICT, "7: the result says it", |it| *it == true),
    differs(
        "a file that is not there",
        "/result/content/0/text/error",
        "3: nothing outside of the folder is looked at",
        |it| it == "`/nonexistent/x.py` is not in `<store>`, the folder for code files",
    ),
    differs("a file that is not there", VERDICT, "7: the result says it", |it| *it == true),
    differs("an environment without its path", VERDICT, "7: the result says it", |it| *it == true),
    differs("an environment of no type", VERDICT, "7: the result says it", |it| *it == true),
    differs("no packages", VERDICT, "7: the result says it", |it| *it == true),
    differs("missing code", "/error", "14: a result says it", Value::is_null),
    differs("missing code", "/result", "14: a result says it", |it| complains(it, "Code is required")),
    differs("missing content", "/error", "14: a result says it", Value::is_null),
    differs("missing content", "/result", "14: a result says it", |it| complains(it, "Content is required")),
    differs("missing path", "/error", "14: a result says it", Value::is_null),
    differs("missing path", "/result", "14: a result says it", |it| complains(it, "File path is required")),
    differs("packages of another type", "/error", "14: a result says it", Value::is_null),
    differs("packages of another type", "/result", "14: a result says it", |it| {
        complains(it, "Valid packages array is required")
    }),
    differs("unknown tool", "/error/code", "14: the protocol's code for it", |it| *it == -32602),
];
