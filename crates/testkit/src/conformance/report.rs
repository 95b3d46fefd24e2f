//! What `--json` prints.

use serde::Deserialize;

use super::command::Answer;

/// The structured result, whole: a field that is not there when it should be is an error.
#[derive(Clone, Debug, Deserialize)]
pub struct Report {
    /// How the run ended.
    pub status: String,
    /// The program's exit code, when it completed.
    pub exit_code: Option<i32>,
    /// The signal that ended it, when it crashed.
    pub signal: Option<String>,
    /// The limit that ended it, when one did.
    pub limit: Option<String>,
    /// What was kept of standard output.
    pub stdout: String,
    /// What was kept of standard error.
    pub stderr: String,
    /// What was not.
    pub dropped: Dropped,
    /// What the program's own messages say went wrong.
    pub error: Option<GuestError>,
    /// Files that the run made or changed.
    pub files: Vec<OutputFile>,
    /// Files that were left where they were.
    #[serde(default)]
    pub skipped_files: Vec<serde_json::Value>,
    /// Which engine ran it.
    pub engine: String,
    /// What ran it.
    pub runtime: Runtime,
    /// Which walls stood.
    pub isolation: Isolation,
    /// What it cost.
    pub usage: Usage,
}

/// Bytes of output that were not kept.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
pub struct Dropped {
    /// Of standard output.
    pub stdout: u64,
    /// Of standard error.
    pub stderr: u64,
}

/// An error as the program's language reported it.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub struct GuestError {
    /// Its type.
    pub kind: String,
    /// Its message.
    pub message: String,
    /// The line of the caller's program.
    pub line: Option<u32>,
}

/// A file that the run made or changed.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub struct OutputFile {
    /// Relative to the workspace.
    pub path: String,
    /// Its size.
    pub bytes: u64,
    /// The type that its name promises.
    pub mime: String,
}

/// What ran the program.
#[derive(Clone, Debug, Deserialize)]
pub struct Runtime {
    /// The language's id.
    pub language: String,
    /// The tool's version; absent where it does not tell.
    #[serde(default)]
    pub version: String,
    /// The tool.
    pub tool: String,
}

/// Which walls stood.
#[derive(Clone, Debug, Deserialize)]
pub struct Isolation {
    /// Their sum.
    pub level: String,
    /// Layers that this host does not give.
    pub missing: Vec<String>,
    /// What holds the memory limit.
    pub memory: String,
    /// What holds the process limit.
    pub processes: String,
}

/// What a run cost.
#[derive(Clone, Debug, Deserialize)]
pub struct Usage {
    /// Milliseconds from start to end.
    pub wall_ms: f64,
    /// Milliseconds of CPU.
    pub cpu_ms: f64,
    /// How they were measured.
    pub cpu_source: String,
    /// The most memory at one time.
    pub peak_memory_bytes: u64,
    /// How it was measured.
    pub memory_source: String,
}

impl Report {
    /// The result on standard output, which must be one line of JSON and nothing else.
    pub fn read(answer: &Answer) -> Self {
        let text = answer.text();
        let lines = text.lines().count();
        assert!(lines == 1 && text.ends_with('\n'), "not one line: {answer:?}");
        serde_json::from_str(text).unwrap_or_else(|error| panic!("not a result: {error}: {answer:?}"))
    }
}
