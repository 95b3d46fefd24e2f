//! What a caller asks for, unchecked.

use std::ffi::OsString;
use std::fmt;

use crate::LimitsRequest;

/// A run as a caller asks for it. Nothing in it has been checked; [`Policy::admit`](crate::Policy::admit) does.
#[derive(Debug, Clone, Default)]
pub struct Request {
    /// The program's source.
    pub code: Vec<u8>,
    /// Its language by id or alias; worked out from the code when absent.
    pub language: Option<String>,
    /// The name of the file the code came from, as evidence for its language.
    pub file_name: Option<String>,
    /// What the program reads from standard input.
    pub stdin: Vec<u8>,
    /// The program's arguments.
    pub args: Vec<String>,
    /// Environment variables, over the engine's own.
    pub env: Vec<(String, String)>,
    /// Arguments for the compiler, in languages that have one.
    pub compiler_args: Vec<String>,
    /// Files put into the workspace before the start.
    pub files: Vec<InputFile>,
    /// Variables that the program finds set, in languages that support this.
    pub variables: Vec<Variable>,
    /// Packages that it imports, named as in its language's registry. Python's may say which module they are for
    /// (`opencv-python as cv2`); no other package is then looked for to provide that module.
    pub packages: Vec<String>,
    /// The session to run in; without one, the run starts from nothing and leaves nothing.
    pub session: Option<String>,
    /// On whose behalf it runs.
    pub principal: Principal,
    /// Which engine to use.
    pub engine: EngineChoice,
    /// Limits other than the defaults.
    pub limits: LimitsRequest,
    /// Hosts (`HOST[:PORT]`) that the program may connect to.
    pub network: Vec<String>,
    /// What to bring back of the files the run made.
    pub collect: Collect,
}

impl Request {
    /// A program in a language, by its id or alias, and nothing else.
    pub fn new(language: impl Into<String>, code: impl Into<Vec<u8>>) -> Self {
        Self { language: Some(language.into()), code: code.into(), ..Self::default() }
    }
}

/// A file for the workspace.
#[derive(Debug, Clone)]
pub struct InputFile {
    /// Where it goes, relative to the workspace.
    pub path: OsString,
    /// What it holds.
    pub contents: Vec<u8>,
}

/// A variable that is set before the program starts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Variable {
    /// Its name.
    pub name: String,
    /// Its value, as JSON text that came from a parser.
    pub json: String,
}

/// A caller, as the server tells callers apart. Two principals never share a process that hosts guests.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Principal(String);

impl Principal {
    /// A caller by the name that authentication gave it.
    pub fn new(name: impl Into<String>) -> Self {
        Self(name.into())
    }
}

/// Whoever started this process.
impl Default for Principal {
    fn default() -> Self {
        Self::new("local")
    }
}

impl fmt::Display for Principal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// The caller's choice of engine.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum EngineChoice {
    /// The best engine that can serve the request.
    #[default]
    Auto,
    /// This one or a refusal.
    Only(EngineId),
}

/// The engines.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EngineId {
    /// WebAssembly.
    Wasm,
    /// The host's tools in a Linux jail.
    Native,
}

impl fmt::Display for EngineId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Wasm => "wasm",
            Self::Native => "native",
        })
    }
}

/// What an outcome's `files` hold.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Collect {
    /// Names and sizes.
    #[default]
    Names,
    /// The contents too.
    Contents,
}
