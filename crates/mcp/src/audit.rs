//! Who ran what, for those who have to answer for it: an append-only file of JSON lines, each with its own hash and
//! that of the line before. A line that was changed, removed or inserted breaks the chain, which [`verify`] finds.
//! Cutting lines off the end leaves an intact chain; to notice that too, keep the last hash elsewhere.

use std::collections::VecDeque;
use std::fs::{File, OpenOptions};
use std::io::{self, BufRead as _, BufReader, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;
use std::sync::{Mutex, PoisonError};
use std::time::SystemTime;

use rustix::fs::FlockOperation;
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

use crate::hex::hex;

/// What is written of a run. Never the code, its input or its output.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Entry {
    /// The run's name, in logs and results.
    pub run: String,
    /// Whose it was.
    pub principal: String,
    /// The tool that was called.
    pub tool: String,
    /// The program, by its hash. None where what was sent has none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub code_sha256: Option<String>,
    /// What was decided about it, or why it was refused.
    #[serde(flatten)]
    pub verdict: Verdict,
}

/// How a call ended.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "verdict", rename_all = "snake_case")]
pub enum Verdict {
    /// It ran.
    Ran(Box<Ran>),
    /// What was asked for was done, and nothing ran.
    Done {
        /// What there is now: packages with their versions, or a Python.
        what: Vec<String>,
    },
    /// It was not started.
    Refused {
        /// Which argument was wrong. Not how: that may be in the caller's words.
        reason: String,
    },
    /// It was ended by whoever called it.
    Cancelled,
    /// It could not be run, through no fault of the caller.
    Failed {
        /// Why.
        reason: String,
    },
}

impl Verdict {
    /// Its name in the log.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Ran(_) => "ran",
            Self::Done { .. } => "done",
            Self::Refused { .. } => "refused",
            Self::Cancelled => "cancelled",
            Self::Failed { .. } => "failed",
        }
    }
}

/// A run that came to its end.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[expect(missing_docs, reason = "the names of the result, see `RunResult`")]
pub struct Ran {
    pub language: String,
    pub engine: String,
    pub isolation: String,
    pub missing: Vec<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub granted: Vec<String>,
    pub timeout_ms: u64,
    pub cpu_ms: u64,
    pub memory_bytes: u64,
    pub status: String,
    pub exit_code: Option<u8>,
    pub used_wall_ms: u64,
    pub used_cpu_ms: u64,
}

/// A line of the file.
#[derive(Debug, Serialize, Deserialize)]
struct Line {
    seq: u64,
    time: String,
    #[serde(flatten)]
    entry: Entry,
    /// Hash of the line before; of the first, zeros.
    prev: String,
}

/// A log that is being written.
#[derive(Debug)]
pub struct Audit(Mutex<Chain>);

#[derive(Debug)]
struct Chain {
    file: File,
    seq: u64,
    last: String,
    /// How long the file is up to its last whole line.
    length: u64,
    tail: Tail,
    /// Calls whose lines could not be written yet, with their times. While there are any, nothing is run, since nobody
    /// would see it.
    waiting: VecDeque<(SystemTime, Entry)>,
}

/// What is behind the last whole line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Tail {
    Nothing,
    /// A part of a line: there was no room for the rest.
    Part,
}

/// Why a log cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum AuditError {
    /// The file cannot be read or written.
    #[error("cannot use the audit log")]
    File(#[from] io::Error),
    /// Another server writes it.
    #[error("another server writes this audit log")]
    InUse,
    /// The chain is broken.
    #[error("line {line} of the audit log: {what}")]
    Chain {
        /// Where.
        line: u64,
        /// What is wrong.
        what: &'static str,
    },
}

/// What [`verify`] found.
#[derive(Debug, PartialEq, Eq)]
pub struct Verified {
    /// How many lines.
    pub lines: u64,
    /// The hash of the last, to be kept elsewhere.
    pub last: String,
}

impl Audit {
    /// Opens a log, to go on with it. Checks all of it. A last line that was cut off goes: it was being written when a server or its machine
    /// stopped, and nobody had an answer yet.
    pub fn open(path: &Path) -> Result<Self, AuditError> {
        let file = OpenOptions::new().read(true).append(true).create(true).mode(0o600).open(path)?;
        match rustix::fs::flock(&file, FlockOperation::NonBlockingLockExclusive) {
            Err(rustix::io::Errno::WOULDBLOCK) => return Err(AuditError::InUse),
            locked => locked.map_err(io::Error::from)?,
        }
        let Checked { verified: Verified { lines, last }, length, tail } = check(&file)?;
        let mut chain = Chain { file, seq: lines, last, length, tail, waiting: VecDeque::new() };
        chain.cut()?;
        Ok(Self(Mutex::new(chain)))
    }

    /// Whether what happens next can be written down. First writes what could not be written before.
    pub fn is_writable(&self) -> bool {
        let mut chain = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        chain.catch_up();
        chain.waiting.is_empty()
    }

    /// Writes a line, or keeps it until it can be written.
    pub fn record(&self, entry: Entry) {
        let mut chain = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        // Only so much can be running as was let in before, so those lines are kept. Refusals have no such bound, and
        // did nothing.
        if chain.waiting.is_empty() || !matches!(entry.verdict, Verdict::Refused { .. }) {
            chain.waiting.push_back((SystemTime::now(), entry));
        }
        chain.catch_up();
    }
}

impl Chain {
    /// Writes as many lines as there is room for.
    fn catch_up(&mut self) {
        while let Some((time, entry)) = self.waiting.front() {
            let time = humantime::format_rfc3339_millis(*time).to_string();
            let line = Line { seq: self.seq + 1, time, entry: entry.clone(), prev: self.last.clone() };
            // Made of strings and numbers, which always have a JSON form.
            let text = serde_json::to_string(&line).unwrap_or_default();
            let hash = hash_of(text.as_bytes());
            let text = [text.strip_suffix('}').unwrap_or(&text), HASH, &hash, "\"}\n"].concat();
            if let Err(error) = self.write(text.as_bytes()) {
                tracing::error!(%error, "the audit log cannot be written");
                return;
            }
            self.seq += 1;
            self.last = hash;
            self.waiting.pop_front();
        }
    }

    /// A single write. If a full disk cuts it short, it is taken back: a line is there or it is not.
    fn write(&mut self, line: &[u8]) -> io::Result<()> {
        self.cut()?;
        self.tail = Tail::Part;
        let written = self.file.write_all(line);
        match written {
            Ok(()) => {
                self.tail = Tail::Nothing;
                self.length += line.len() as u64;
            }
            Err(_) => self.cut()?,
        }
        written
    }

    fn cut(&mut self) -> io::Result<()> {
        if self.tail == Tail::Part {
            self.file.set_len(self.length)?;
            self.tail = Tail::Nothing;
        }
        Ok(())
    }
}

/// What is between a line's entry and its own hash, which is that of the line without it.
const HASH: &str = ",\"hash\":\"";

/// A line as it was hashed, and the hash that it says it has.
fn without_hash(text: &str) -> Option<(String, &str)> {
    let (entry, hash) = text.strip_suffix("\"}")?.rsplit_once(HASH)?;
    Some(([entry, "}"].concat(), hash))
}

/// Checks a log from its first line to its last.
pub fn verify(path: &Path) -> Result<Verified, AuditError> {
    let Checked { verified, tail, .. } = check(&File::open(path)?)?;
    match tail {
        Tail::Nothing => Ok(verified),
        Tail::Part => Err(AuditError::Chain { line: verified.lines + 1, what: "it was cut off" }),
    }
}

/// What is in a file.
struct Checked {
    verified: Verified,
    /// Of its whole lines.
    length: u64,
    tail: Tail,
}

fn check(file: &File) -> Result<Checked, AuditError> {
    let mut verified = Verified { lines: 0, last: "0".repeat(64) };
    let mut length = 0;
    let mut reader = BufReader::new(file);
    let mut text = Vec::new();
    while reader.read_until(b'\n', &mut text)? > 0 {
        let number = verified.lines + 1;
        let broken = |what| AuditError::Chain { line: number, what };
        let Some(whole) = text.strip_suffix(b"\n") else { return Ok(Checked { verified, length, tail: Tail::Part }) };
        let whole = std::str::from_utf8(whole).map_err(|_| broken("it is no text"))?;
        let (hashed, hash) = without_hash(whole).ok_or_else(|| broken("it is no entry"))?;
        let line: Line = serde_json::from_str(&hashed).map_err(|_| broken("it is no entry"))?;
        if hash != hash_of(hashed.as_bytes()) {
            return Err(broken("it was changed"));
        }
        if line.prev != verified.last {
            return Err(broken("it does not follow the line before: others are missing"));
        }
        if line.seq != number {
            return Err(broken("its number is wrong"));
        }
        verified = Verified { lines: number, last: hash.to_owned() };
        length += text.len() as u64;
        text.clear();
    }
    Ok(Checked { verified, length, tail: Tail::Nothing })
}

/// The hash of a line, and of a program.
pub(crate) fn hash_of(bytes: &[u8]) -> String {
    hex(&Sha256::digest(bytes))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(number: usize) -> Entry {
        Entry {
            run: number.to_string(),
            principal: format!("ada{number}"),
            tool: "run_code".to_owned(),
            code_sha256: Some(hash_of(b"print(1)")),
            verdict: Verdict::Refused { reason: "no \"such\"\nlanguage".to_owned() },
        }
    }

    fn log(folder: &Path, lines: usize) -> std::path::PathBuf {
        let path = folder.join("audit.jsonl");
        let audit = Audit::open(&path).expect("a log");
        (0..lines).for_each(|number| audit.record(entry(number)));
        path
    }

    #[test]
    fn a_log_is_continued_and_whole() {
        let folder = tempfile::tempdir().expect("a temporary directory");
        let path = log(folder.path(), 3);
        log(folder.path(), 2);
        let verified = verify(&path).expect("whole");
        assert_eq!(verified.lines, 5);
        assert_eq!(verified.last.len(), 64);
    }

    #[test]
    fn whatever_is_changed_is_found() {
        let folder = tempfile::tempdir().expect("a temporary directory");
        let whole = std::fs::read_to_string(log(folder.path(), 4)).expect("read");
        let lines: Vec<&str> = whole.lines().collect();
        let path = folder.path().join("changed");
        let changed = whole.replacen("ada1", "eve1", 1);
        let last_changed = whole.replacen("ada3", "eve3", 1);
        let removed = [lines[0], lines[2], lines[3], ""].join("\n");
        let swapped = [lines[0], lines[2], lines[1], lines[3], ""].join("\n");
        let doubled = [lines[0], lines[0], lines[1], ""].join("\n");
        let first_gone = [lines[1], lines[2], ""].join("\n");
        let cut = whole.trim_end().to_owned();
        for (text, line) in
            [(changed, 2), (last_changed, 4), (removed, 2), (swapped, 2), (doubled, 2), (first_gone, 1), (cut, 4)]
        {
            std::fs::write(&path, text).expect("write");
            match verify(&path).expect_err("changed") {
                AuditError::Chain { line: found, .. } => assert_eq!(found, line),
                other @ (AuditError::File(_) | AuditError::InUse) => panic!("{other}"),
            }
        }
    }

    /// Also where what was cut off looks like the beginning of a line.
    #[test]
    fn a_line_that_was_being_written_is_taken_back() {
        let folder = tempfile::tempdir().expect("a temporary directory");
        let path = log(folder.path(), 2);
        let whole = std::fs::read_to_string(&path).expect("read");
        for cut in [1, 20, whole.len() / 2 - 1] {
            std::fs::write(&path, &whole[..whole.len() - cut]).expect("write");
            assert!(verify(&path).is_err());
            log(folder.path(), 1);
            assert_eq!(verify(&path).expect("whole").lines, 2, "cut by {cut}");
        }
    }

    #[test]
    fn one_server_writes_it() {
        let folder = tempfile::tempdir().expect("a temporary directory");
        let path = folder.path().join("audit.jsonl");
        let _first = Audit::open(&path).expect("a log");
        assert!(matches!(Audit::open(&path), Err(AuditError::InUse)));
    }
}
