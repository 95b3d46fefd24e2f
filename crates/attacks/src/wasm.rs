//! Guests in WebAssembly: programs that want the host's files, processes and sockets in each language, and that take too much.

use std::collections::BTreeMap;
use std::path::Path;
use std::time::Duration;

use sandbox::{Bytes, LimitsRequest};

use crate::floods::{Flood, Held, NONE};
use crate::verdict::Verdict;
use crate::{Program, python};

/// What turns up in results where nothing but WebAssembly stands.
const WALL: &str = "wasi";

/// A program that prints a line for each of its attempts.
#[derive(Debug)]
pub struct Attempts {
    /// The program.
    pub program: Program,
    /// What it is after, above all.
    pub kind: Kind,
    /// How many attempts it makes, or more.
    pub least: usize,
}

/// All of them.
pub static ATTEMPTS: &[Attempts] = &[
    Attempts { program: FILES, kind: Kind::Read, least: 70 },
    Attempts { program: NETWORK, kind: Kind::Connect, least: 16 },
    Attempts { program: FILES_OF_JAVASCRIPT, kind: Kind::Read, least: 40 },
    Attempts { program: FILES_OF_RUBY, kind: Kind::Read, least: 50 },
    Attempts { program: FILES_OF_PHP, kind: Kind::Read, least: 50 },
    Attempts { program: FILES_OF_LUA, kind: Kind::Read, least: 40 },
    Attempts { program: FILES_OF_C, kind: Kind::Read, least: 40 },
];

/// Python.
pub const FILES: Program = python(include_str!("../programs/wasm/files.py"));
/// Sockets and processes, in Python.
pub const NETWORK: Program = python(include_str!("../programs/wasm/network.py"));
/// As [`FILES`].
pub const FILES_OF_JAVASCRIPT: Program =
    Program { language: "javascript", code: include_str!("../programs/wasm/files.js") };
/// As [`FILES`], and processes.
pub const FILES_OF_RUBY: Program = Program { language: "ruby", code: include_str!("../programs/wasm/files.rb") };
/// As [`FILES`], and processes.
pub const FILES_OF_PHP: Program = Program { language: "php", code: include_str!("../programs/wasm/files.php") };
/// As [`FILES`].
pub const FILES_OF_LUA: Program = Program { language: "lua", code: include_str!("../programs/wasm/files.lua") };
/// As [`FILES`], with the compiler's own ways.
pub const FILES_OF_C: Program = Program { language: "c", code: include_str!("../programs/wasm/files.c") };
/// Shows that it works; [`sql_reads`] and [`sql_attempts`] are its arguments.
pub const FILES_OF_SQL: Program = Program { language: "sql", code: include_str!("../programs/wasm/files.sql") };
/// What could be taken for something that a worker says to its server.
pub const FRAMES: Program = python(include_str!("../programs/wasm/frames.py"));
/// Output without an end, on both streams.
pub const FLOOD: Program = python(
    "import os, sys\nos.write(1, b'x\\n'); os.write(2, b'y\\n')\nblock = b'z' * (1 << 20)\n\
     while sys.argv[1] != 'control': os.write(1, block); os.write(2, block)",
);
/// Lives for a while, for whoever looks at its worker.
pub const SLEEPER: Program = python("import sys, time\ntime.sleep(float((sys.argv[2:] or [3])[0]))\nprint('slept')");

/// Statements that read, each with an answer of its own. Given together.
pub fn sql_reads(secret: &Path, canary: &Path) -> Vec<String> {
    let (secret, canary) = (secret.display().to_string(), canary.display().to_string());
    let paths =
        ["/etc/passwd", "/proc/self/environ", "/proc/self/maps", "/dev/mem", "/dev/fd/7", "/bin/sh", &secret, &canary];
    let climbing = paths.iter().map(|path| format!("{}{path}", "../".repeat(30)));
    let all = paths.iter().map(|path| (*path).to_owned()).chain(climbing);
    all.map(|path| format!("SELECT 'read {path}: ' || iif(readfile('{path}') IS NULL, 'blocked ', 'GOT ') || 'NULL';"))
        .collect()
}

/// Statements and commands that are errors, and end the shell: a run each.
pub fn sql_attempts(secret: &Path, canary: &Path, directory: &Path) -> Vec<String> {
    let (secret, canary, directory) = (secret.display(), canary.display(), directory.display());
    vec![
        format!("SELECT writefile('{canary}', 'harmed');"),
        format!("SELECT writefile('{directory}/new', 'harmed');"),
        format!("ATTACH '{directory}/new.db' AS a; CREATE TABLE a.t(n);"),
        format!("ATTACH '/box/../../../{directory}/new.db' AS a; CREATE TABLE a.t(n);"),
        format!(".import {secret} t"),
        format!(".read {secret}"),
        format!(".open {secret}"),
        format!("VACUUM INTO '{directory}/copy.db';"),
        format!(".backup {directory}/copy.db"),
        format!(".shell cat {secret}"),
        format!(".import '|cat {secret}' t"),
        ".load /lib/x86_64-linux-gnu/libc.so.6".to_owned(),
        "SELECT load_extension('/lib/x86_64-linux-gnu/libc.so.6');".to_owned(),
    ]
}

/// What an attempt is after.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Kind {
    /// The contents of the host's files.
    Read,
    /// Changing them.
    Change,
    /// A way around: steps up, links, open folders.
    Climb,
    /// Programs, processes, native code.
    Start,
    /// Sockets.
    Connect,
}

impl Kind {
    /// By the first word of an attempt's name. What is not listed reads.
    const WORDS: &[(Self, &[&str])] = &[
        (
            Self::Change,
            &[
                "write", "rename", "remove", "make", "truncate", "times", "hard", "copy", "attached", "create",
                "unlink", "mkdir",
            ],
        ),
        (Self::Climb, &["up", "link", "below", "real", "NUL", "two", "by"]),
        (
            Self::Start,
            &[
                "run",
                "pipe",
                "system",
                "backquotes",
                "spawn",
                "popen",
                "fork",
                "exec",
                "kill",
                "syscall",
                "proc_open",
                "subprocess",
                "thread",
                "ctypes",
                "setuid",
                "library",
                "shared",
                "FFI",
                "settings",
            ],
        ),
        (
            Self::Connect,
            &[
                "tcp", "udp", "unix", "abstract", "raw", "fetch", "asyncio", "resolve", "sockets", "socket", "stream",
                "wrapper",
            ],
        ),
    ];

    fn of(name: &str) -> Self {
        if name.starts_with("read up") || name.contains(" from ") {
            return Self::Climb;
        }
        let word = name.split([' ', ':']).next().unwrap_or_default();
        Self::WORDS.iter().find(|(_, words)| words.contains(&word)).map_or(Self::Read, |(kind, _)| *kind)
    }

    /// As a probe's name.
    pub fn name(self) -> &'static str {
        match self {
            Self::Read => "read",
            Self::Change => "change",
            Self::Climb => "climb",
            Self::Start => "start",
            Self::Connect => "connect",
        }
    }

    /// What is tried, in words.
    pub fn tries(self) -> &'static str {
        match self {
            Self::Read => "read the host's files, devices and /proc",
            Self::Change => "write, rename, link or remove the host's files",
            Self::Climb => "reach them by .., links and open folders",
            Self::Start => "start programs and native code, signal processes",
            Self::Connect => "connect to the host's sockets",
        }
    }

    /// What it belongs to.
    pub fn group(self) -> &'static str {
        match self {
            Self::Read | Self::Change | Self::Climb => "files",
            Self::Start => "processes",
            Self::Connect => "network",
        }
    }
}

/// One line of a program's: `name: blocked why`, `name: errno 44` or `name: GOT what`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Attempt {
    /// What was tried.
    pub name: String,
    /// The answer that stopped it, or what was got.
    pub answer: Result<String, String>,
}

/// The attempts in a program's output.
pub fn attempts(output: &str) -> Vec<Attempt> {
    let attempt = |line: &str| {
        let attempt = |name: &str, answer| Attempt { name: name.to_owned(), answer };
        if let Some((name, got)) = line.split_once(": GOT") {
            return Some(attempt(name, Err(got.trim().to_owned())));
        }
        if let Some((name, why)) = line.split_once(": blocked ") {
            return Some(attempt(name, Ok(why.to_owned())));
        }
        let (name, number) = line.split_once(": errno ")?;
        Some(attempt(name, Ok(errno(number))))
    };
    output.lines().filter_map(attempt).collect()
}

/// WASI's numbers, as far as guests meet them.
fn errno(number: &str) -> String {
    let name = match number {
        "2" => "EACCES",
        "8" => "EBADF",
        "20" => "EEXIST",
        "28" => "EINVAL",
        "31" => "EISDIR",
        "44" => "ENOENT",
        "52" => "ENOSYS",
        "54" => "ENOTDIR",
        "58" => "ENOTSUP",
        "63" => "EPERM",
        "69" => "EROFS",
        "75" => "EXDEV",
        "76" => "ENOTCAPABLE",
        other => return format!("errno {other}"),
    };
    name.to_owned()
}

/// A verdict on each kind of attempt, and how many there were.
pub fn judge(attempts: &[Attempt]) -> BTreeMap<Kind, (usize, Verdict)> {
    let mut kinds: BTreeMap<Kind, Vec<&Attempt>> = BTreeMap::new();
    for attempt in attempts {
        kinds.entry(Kind::of(&attempt.name)).or_default().push(attempt);
    }
    kinds.into_iter().map(|(kind, attempts)| (kind, (attempts.len(), judge_kind(&attempts)))).collect()
}

fn judge_kind(attempts: &[&Attempt]) -> Verdict {
    let got: Vec<String> = attempts
        .iter()
        .filter_map(|attempt| Some(format!("{}: {}", attempt.name, attempt.answer.as_ref().err()?)))
        .collect();
    if !got.is_empty() {
        return Verdict::through(got.join("; "));
    }
    let mut answers: Vec<&str> = attempts.iter().filter_map(|attempt| attempt.answer.as_deref().ok()).collect();
    answers.sort_unstable();
    answers.dedup();
    let more = if answers.len() > 3 { " …" } else { "" };
    answers.truncate(3);
    Verdict::blocked(WALL, format!("{}{more}", answers.join(", ")))
}

const SECOND: LimitsRequest = LimitsRequest { wall: Some(Duration::from_secs(1)), ..NONE };
const MEMORY: LimitsRequest = LimitsRequest { memory: Some(Bytes::mib(64)), ..NONE };
const SMALL: LimitsRequest = LimitsRequest { disk: Some(Bytes::mib(4)), files: Some(128), ..NONE };

/// Guests that take too much, each told where to stop if nobody stops it.
#[rustfmt::skip]
pub static FLOODS: &[Flood] = &[
    Flood { name: "processor", tries: "compute for ever", held: Held::Ended, limits: SECOND,
        program: python("while True: pass"), arguments: &[] },
    Flood { name: "processor-in-one-call", tries: "compute for ever in one call of the runtime's", held: Held::Ended, limits: SECOND,
        program: python("import re\nre.match('(a+)+b', 'a' * 64)"), arguments: &[] },
    Flood { name: "sleep", tries: "sleep for ever", held: Held::Ended, limits: SECOND,
        program: python("import time\ntime.sleep(3600)"), arguments: &[] },
    Flood { name: "memory", tries: "take 256 MiB with a limit of 64", held: Held::Memory, limits: MEMORY,
        program: python("held = [bytearray(1 << 20) for _ in range(256)]\nprint('held', len(held))"), arguments: &[] },
    Flood { name: "recursion", tries: "recurse until the stack is full", held: Held::Anyhow, limits: SECOND,
        program: python("import sys\nsys.setrecursionlimit(2 ** 31 - 1)\ndef deeper(): deeper()\ndeeper()"), arguments: &[] },
    Flood { name: "disk", tries: "write 64 MiB with a limit of 4", held: Held::Refused, limits: SMALL,
        program: python("import errno\nrefused = 'none'\ntry:\n    with open('fill', 'wb') as file:\n        for _ in range(64): file.write(bytes(1 << 20))\n\
            except OSError as error: refused = errno.errorcode[error.errno]\nprint('refused', refused)"), arguments: &[] },
    Flood { name: "inodes", tries: "make 2,000 files with a limit of 128", held: Held::Refused, limits: SMALL,
        program: python("import errno\nrefused = 'none'\ntry:\n    for number in range(2000): open(f'file-{number}', 'w').close()\n\
            except OSError as error: refused = errno.errorcode[error.errno]\nprint('refused', refused)"), arguments: &[] },
    Flood { name: "output", tries: "write 8 MiB of output, of which 64 KiB are kept", held: Held::Cut,
        limits: LimitsRequest { output: Some(Bytes::kib(64)), ..NONE },
        program: python("import os\nfor _ in range(8): os.write(1, b'z' * (1 << 20))"), arguments: &[] },
    Flood { name: "processor-in-javascript", tries: "compute for ever, in JavaScript", held: Held::Ended, limits: SECOND,
        program: Program { language: "javascript", code: "for (;;) {}" }, arguments: &[] },
    Flood { name: "memory-in-javascript", tries: "take 256 MiB with a limit of 64, in JavaScript", held: Held::Memory, limits: MEMORY,
        program: Program { language: "javascript",
            code: "const held = []; for (let i = 0; i < 256; i++) held.push(new Uint8Array(1 << 20).fill(1)); console.log('held', held.length)" },
        arguments: &[] },
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_attempt_that_got_through_is_one_too_many() {
        let output = "read /etc/passwd: errno 44\nread /etc/shadow: GOT b'root'\nwrite /x: errno 69\nroot: []\n";
        let verdicts = judge(&attempts(output));
        assert_eq!(verdicts[&Kind::Read], (2, Verdict::through("read /etc/shadow: b'root'")));
        assert_eq!(verdicts[&Kind::Change], (1, Verdict::blocked(WALL, "EROFS")));
        assert_eq!(verdicts.len(), 2);
    }
}
