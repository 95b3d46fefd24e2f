//! `run_code`'s structured result: an [`Outcome`] in the shape that `docs/reference/result.md` promises, which is made from this.

use std::path::Path;
use std::time::Duration;

use sandbox::{
    CpuSource, Display, LastValue, MemorySource, Outcome, OutputFile, Provided, SessionState, Status, signal_name,
};
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::value::RawValue;

use crate::uri;

/// The structured result. Fields are absent rather than null where they do not apply, except the first four.
#[derive(Debug, Serialize, JsonSchema)]
pub struct RunResult<'a> {
    /// `completed`, `crashed`, `timed_out`, `limit_exceeded` or `cancelled`
    status: &'static str,
    /// The program's own, when it completed
    exit_code: Option<u8>,
    /// `SIGSEGV` …, when it crashed
    signal: Option<String>,
    /// `memory`, `cpu` or `disk`, when it was ended for one
    limit: Option<String>,
    /// What it printed, as valid UTF-8: head and tail, where it was more than the limit
    stdout: &'a str,
    /// The same of standard error
    stderr: &'a str,
    /// Bytes of output that are not above: the middle of it
    dropped: Dropped,
    /// The compiler's warnings
    #[serde(skip_serializing_if = "Option::is_none")]
    diagnostics: Option<&'a str>,
    /// Value of the last expression
    // As the guest wrote it, members in its order.
    #[schemars(with = "Option<serde_json::Value>")]
    #[serde(skip_serializing_if = "Option::is_none")]
    result: Option<&'a RawValue>,
    /// Its printed form, when it is no JSON
    #[serde(skip_serializing_if = "Option::is_none")]
    result_repr: Option<&'a str>,
    /// Pictures, tables and specifications that it showed
    #[schemars(default)]
    #[serde(skip_serializing_if = "Vec::is_empty")]
    displays: Vec<DisplayEntry>,
    /// What went wrong, read from the program's traceback or its compiler's messages
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<ErrorDetail<'a>>,
    /// What the run made or changed in its workspace
    files: Vec<FileEntry<'a>>,
    /// What was not brought back
    #[schemars(default)]
    #[serde(skip_serializing_if = "Vec::is_empty")]
    skipped_files: Vec<SkippedEntry<'a>>,
    /// The session that it was a cell of
    #[serde(skip_serializing_if = "Option::is_none")]
    session: Option<&'a str>,
    /// `lost` when the session's variables are gone; its files are there. `gone` when they are not
    #[serde(skip_serializing_if = "Option::is_none")]
    state: Option<&'static str>,
    /// Names the run in `run://` resources
    #[serde(skip_serializing_if = "Option::is_none")]
    run: Option<&'a str>,
    /// `wasm` or `native`: where it ran
    engine: String,
    runtime: RuntimeEntry<'a>,
    /// When another engine took over
    #[serde(skip_serializing_if = "Option::is_none")]
    promoted: Option<PromotionEntry<'a>>,
    /// Packages that were made ready for the program
    #[serde(skip_serializing_if = "Option::is_none")]
    packages: Option<PackagesEntry<'a>>,
    /// The walls that stood
    isolation: IsolationEntry<'a>,
    /// What it cost
    usage: UsageEntry,
}

#[derive(Debug, Serialize, JsonSchema)]
struct Dropped {
    stdout: u64,
    stderr: u64,
}

#[derive(Debug, Serialize, JsonSchema)]
struct ErrorDetail<'a> {
    /// `ZeroDivisionError` …; `CompileError` when it did not compile
    kind: &'a str,
    message: &'a str,
    /// In the program as it was sent
    #[serde(skip_serializing_if = "Option::is_none")]
    line: Option<u32>,
    /// What would help
    #[serde(skip_serializing_if = "Option::is_none")]
    hint: Option<&'a str>,
}

#[derive(Debug, Serialize, JsonSchema)]
struct FileEntry<'a> {
    path: &'a str,
    bytes: u64,
    /// By its name
    mime: &'static str,
    /// The resource to read it from
    #[serde(skip_serializing_if = "Option::is_none")]
    uri: Option<String>,
}

#[derive(Debug, Serialize, JsonSchema)]
struct DisplayEntry {
    mime: &'static str,
    bytes: usize,
    /// The resource to read it from
    #[serde(skip_serializing_if = "Option::is_none")]
    uri: Option<String>,
}

#[derive(Debug, Serialize, JsonSchema)]
struct SkippedEntry<'a> {
    path: &'a str,
    reason: &'static str,
}

#[derive(Debug, Serialize, JsonSchema)]
struct RuntimeEntry<'a> {
    language: &'a str,
    #[schemars(default)]
    #[serde(skip_serializing_if = "str::is_empty")]
    version: &'a str,
    /// The host's program that ran it, or the runtime in WebAssembly
    tool: &'a str,
}

#[derive(Debug, Serialize, JsonSchema)]
struct PromotionEntry<'a> {
    /// The engine that was tried first
    from: String,
    reason: &'a str,
}

#[derive(Debug, Serialize, JsonSchema)]
struct PackagesEntry<'a> {
    installed: Vec<PackageEntry<'a>>,
    /// How long that took, before the run
    ms: f64,
    /// Whether they were here already
    cached: bool,
    /// Imports for which there is no package
    #[schemars(default)]
    #[serde(skip_serializing_if = "<[String]>::is_empty")]
    unknown: &'a [String],
    /// Why imports are not there although there may be packages for them
    #[serde(skip_serializing_if = "Option::is_none")]
    problem: Option<&'a str>,
}

#[derive(Debug, Serialize, JsonSchema)]
struct PackageEntry<'a> {
    name: &'a str,
    version: &'a str,
}

#[derive(Debug, Serialize, JsonSchema)]
struct IsolationEntry<'a> {
    /// `full`, `full-noproc`, `landlock` or `none`; in WebAssembly `wasm+jail`, or `wasm` without a second wall
    level: String,
    /// Layers that this host does not give
    missing: &'a [String],
    /// What the server's operator let it have outside of its walls
    #[schemars(default)]
    #[serde(skip_serializing_if = "<[String]>::is_empty")]
    granted: &'a [String],
    /// What held the memory limit: `cgroup-v2`, `cgroup-v1`, `watchdog`, `rlimit` or `wasm`
    memory: String,
    /// What held the process limit
    processes: String,
}

#[derive(Debug, Serialize, JsonSchema)]
struct UsageEntry {
    wall_ms: f64,
    cpu_ms: f64,
    /// `cgroup`, `rusage`, `procfs` or `thread`
    cpu_source: &'static str,
    peak_memory_bytes: u64,
    /// `cgroup`, `rusage`, `procfs` or `linear` (a guest's memory in WebAssembly)
    memory_source: &'static str,
}

impl<'a> From<&'a Outcome> for RunResult<'a> {
    fn from(outcome: &'a Outcome) -> Self {
        Self::new(outcome, Addresses::default())
    }
}

/// Where what came of a run can be read.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Addresses<'a> {
    /// The name under which the server keeps what came of it, if it does.
    pub(crate) run: Option<&'a str>,
    /// The session that it was a cell of.
    pub(crate) session: Option<&'a str>,
}

impl Addresses<'_> {
    /// A file's, if it has one: what was not kept cannot be read.
    pub(crate) fn of_file(self, file: &OutputFile) -> Option<String> {
        let path = file.path.as_str();
        match (self.session, self.run) {
            (Some(session), _) => Some(uri::session_file(session, path)),
            (None, Some(run)) => file.contents.is_some().then(|| uri::run_file(run, path)),
            (None, None) => None,
        }
    }
}

impl<'a> RunResult<'a> {
    pub(crate) fn new(outcome: &'a Outcome, at: Addresses<'a>) -> Self {
        let (exit_code, signal, limit) = match outcome.status {
            Status::Completed { exit_code } => (Some(exit_code), None, None),
            Status::Crashed { signal } => (None, Some(signal_name(signal)), None),
            Status::LimitExceeded(limit) => (None, None, Some(limit.to_string())),
            Status::TimedOut | Status::Cancelled => (None, None, None),
        };
        let (result, result_repr) = match &outcome.value {
            Some(LastValue::Json(text)) if has_large_integer(text) => (None, Some(text.as_str())),
            // The engine parsed it once, so it is JSON.
            Some(LastValue::Json(text)) => (serde_json::from_str(text).ok(), None),
            Some(LastValue::Printed(text)) => (None, Some(text.as_str())),
            None => (None, None),
        };
        Self {
            status: outcome.status.name(),
            exit_code,
            signal,
            limit,
            stdout: &outcome.stdout.text,
            stderr: &outcome.stderr.text,
            dropped: Dropped { stdout: outcome.stdout.dropped, stderr: outcome.stderr.dropped },
            diagnostics: outcome.diagnostics.as_deref(),
            result,
            result_repr,
            error: outcome.error.as_ref().map(|error| ErrorDetail {
                kind: &error.kind,
                message: &error.message,
                line: error.line,
                hint: error.hint.as_deref(),
            }),
            displays: (1..).zip(&outcome.displays).map(|(number, it)| DisplayEntry::new(number, it, at)).collect(),
            files: outcome.files.iter().map(|file| FileEntry::new(file, at)).collect(),
            skipped_files: outcome
                .skipped_files
                .iter()
                .map(|file| SkippedEntry { path: &file.path, reason: file.reason.describe() })
                .collect(),
            session: at.session,
            state: match outcome.state {
                Some(SessionState::Lost(_)) => Some("lost"),
                Some(SessionState::Gone) => Some("gone"),
                Some(SessionState::Kept) | None => None,
            },
            run: at.run,
            engine: outcome.engine.to_string(),
            runtime: RuntimeEntry {
                language: outcome.runtime.language,
                version: &outcome.runtime.version,
                tool: &outcome.runtime.tool,
            },
            promoted: outcome
                .promoted
                .as_ref()
                .map(|promotion| PromotionEntry { from: promotion.from.to_string(), reason: &promotion.reason }),
            packages: outcome.packages.as_ref().map(PackagesEntry::new),
            isolation: IsolationEntry {
                level: outcome.isolation.level.to_string(),
                missing: &outcome.isolation.missing,
                granted: &outcome.isolation.granted,
                memory: outcome.isolation.memory.to_string(),
                processes: outcome.isolation.processes.to_string(),
            },
            usage: UsageEntry {
                wall_ms: millis(outcome.usage.wall),
                cpu_ms: millis(outcome.usage.cpu),
                cpu_source: match outcome.usage.cpu_source {
                    CpuSource::Cgroup => "cgroup",
                    CpuSource::Rusage => "rusage",
                    CpuSource::Procfs => "procfs",
                    CpuSource::Thread => "thread",
                },
                peak_memory_bytes: outcome.usage.peak_memory,
                memory_source: match outcome.usage.memory_source {
                    MemorySource::Cgroup => "cgroup",
                    MemorySource::Rusage => "rusage",
                    MemorySource::Procfs => "procfs",
                    MemorySource::Linear => "linear",
                },
            },
        }
    }
}

impl<'a> PackagesEntry<'a> {
    fn new(provided: &'a Provided) -> Self {
        let packages = provided.layer.iter().flat_map(|layer| &layer.packages);
        Self {
            installed: packages.map(|it| PackageEntry { name: &it.name, version: &it.version }).collect(),
            ms: millis(provided.took),
            cached: provided.cached,
            unknown: &provided.unknown,
            problem: provided.problem.as_deref(),
        }
    }
}

impl DisplayEntry {
    fn new(number: usize, display: &Display, at: Addresses<'_>) -> Self {
        let uri = at.run.map(|run| uri::run_display(run, number));
        Self { mime: display.mime(), bytes: display.data().len(), uri }
    }
}

impl<'a> FileEntry<'a> {
    fn new(file: &'a OutputFile, at: Addresses<'_>) -> Self {
        let path = file.path.as_str();
        Self { path, bytes: file.size, mime: mime_of(path), uri: at.of_file(file) }
    }
}

/// Whether there is an integer in this JSON that most readers would round: one that 64 bits do not hold.
fn has_large_integer(json: &str) -> bool {
    let mut rest = json;
    while let Some(start) = rest.find(|c: char| c == '"' || c == '-' || c.is_ascii_digit()) {
        let token = rest.get(start..).unwrap_or_default();
        let length = if token.starts_with('"') {
            string_length(token)
        } else {
            token.find(|c: char| !matches!(c, '0'..='9' | '-' | '+' | '.' | 'e' | 'E')).unwrap_or(token.len())
        };
        let (token, after) = token.split_at_checked(length).unwrap_or((token, ""));
        let is_integer = !token.contains(['"', '.', 'e', 'E']);
        if is_integer && token.parse::<i64>().is_err() && token.parse::<u64>().is_err() {
            return true;
        }
        rest = after;
    }
    false
}

/// How long the string is that this JSON starts with, quotes included.
fn string_length(json: &str) -> usize {
    let mut escaped = false;
    let end = json.char_indices().skip(1).find(|(_, c)| {
        let ends = *c == '"' && !escaped;
        escaped = *c == '\\' && !escaped;
        ends
    });
    end.map_or(json.len(), |(at, _)| at + 1)
}

/// Milliseconds with three digits: what a reader can use, and what clocks give.
fn millis(duration: Duration) -> f64 {
    (duration.as_secs_f64() * 1e6).round() / 1e3
}

/// The type that a file's name promises. What the guest put inside may be anything, so this is for display.
pub(crate) fn mime_of(path: &str) -> &'static str {
    let extension = Path::new(path).extension().and_then(|extension| extension.to_str()).unwrap_or_default();
    match extension.to_ascii_lowercase().as_str() {
        "txt" | "log" | "out" | "err" => "text/plain",
        "md" => "text/markdown",
        "csv" => "text/csv",
        "tsv" => "text/tab-separated-values",
        "html" | "htm" => "text/html",
        "css" => "text/css",
        "js" | "mjs" => "text/javascript",
        "py" => "text/x-python",
        "json" => "application/json",
        "jsonl" | "ndjson" => "application/x-ndjson",
        "xml" => "application/xml",
        "yaml" | "yml" => "application/yaml",
        "toml" => "application/toml",
        "pdf" => "application/pdf",
        "zip" => "application/zip",
        "gz" | "tgz" => "application/gzip",
        "sqlite" | "db" => "application/vnd.sqlite3",
        "parquet" => "application/vnd.apache.parquet",
        "png" => "image/png",
        "jpg" | "jpeg" => "image/jpeg",
        "gif" => "image/gif",
        "webp" => "image/webp",
        "svg" => "image/svg+xml",
        "wav" => "audio/wav",
        "mp3" => "audio/mpeg",
        "mp4" => "video/mp4",
        _ => "application/octet-stream",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn integers_that_would_be_rounded_are_found() {
        for exact in ["1", "-9223372036854775808", "18446744073709551615", "1e400", "1267650600228229401496703205376.0"]
        {
            assert!(!has_large_integer(exact), "{exact}");
        }
        for exact in
            [r#""1267650600228229401496703205376""#, r#"["\\\"", 1, "1267650600228229401496703205376"]"#, "null"]
        {
            assert!(!has_large_integer(exact), "{exact}");
        }
        for rounded in [
            "18446744073709551616",
            r#"{"a\\": [1, -1267650600228229401496703205376]}"#,
            r#"["\"", 99999999999999999999]"#,
        ] {
            assert!(has_large_integer(rounded), "{rounded}");
        }
    }
}
