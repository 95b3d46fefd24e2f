//! A request that has been checked.

use std::time::Duration;

use crate::{
    Collect, EngineChoice, Folders, HostPattern, Language, Layer, Limits, Principal, ProgramNames, SessionName,
    Variable, WorkspacePath,
};

/// A run that may start. Only [`Policy::admit`](crate::Policy::admit) makes one, so whoever holds it knows that every
/// field was checked: the language exists, paths stay inside the workspace, limits and grants are within what the
/// operator allows.
#[derive(Debug, Clone)]
pub struct Plan {
    pub(crate) language: &'static Language,
    pub(crate) code: Vec<u8>,
    pub(crate) names: ProgramNames,
    pub(crate) stdin: Vec<u8>,
    pub(crate) args: Vec<String>,
    pub(crate) env: Vec<(String, String)>,
    pub(crate) compiler_args: Vec<String>,
    pub(crate) files: Vec<PlannedFile>,
    pub(crate) variables: Vec<Variable>,
    pub(crate) packages: Vec<String>,
    pub(crate) layer: Option<Layer>,
    pub(crate) session: Option<SessionName>,
    pub(crate) principal: Principal,
    pub(crate) engine: EngineChoice,
    pub(crate) limits: Limits,
    pub(crate) folders: Folders,
    pub(crate) network: Vec<HostPattern>,
    pub(crate) collect: Collect,
}

/// An input file whose path has been checked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PlannedFile {
    /// Where it goes.
    pub path: WorkspacePath,
    /// What it holds.
    pub contents: Vec<u8>,
}

impl Plan {
    /// The program's language.
    pub fn language(&self) -> &'static Language {
        self.language
    }

    /// The program's source: not empty, no NUL, no Markdown fence around it.
    pub fn code(&self) -> &[u8] {
        &self.code
    }

    /// What the program's file and entry point are called.
    pub fn names(&self) -> &ProgramNames {
        &self.names
    }

    /// Standard input.
    pub fn stdin(&self) -> &[u8] {
        &self.stdin
    }

    /// Arguments, without NUL.
    pub fn args(&self) -> &[String] {
        &self.args
    }

    /// Environment variables, with valid names and no NUL.
    pub fn env(&self) -> &[(String, String)] {
        &self.env
    }

    /// Arguments for the compiler, each of them checked to be harmless.
    pub fn compiler_args(&self) -> &[String] {
        &self.compiler_args
    }

    /// The input files to compile and link with the program.
    pub fn more_sources(&self) -> Vec<&PlannedFile> {
        crate::compiling::more_sources(self.language.id, &self.code, &self.files)
    }

    /// Input files, no path twice, none of them the program's own.
    pub fn files(&self) -> &[PlannedFile] {
        &self.files
    }

    /// Variables to set, by names that are identifiers, none twice.
    pub fn variables(&self) -> &[Variable] {
        &self.variables
    }

    /// Packages that its caller named, unchecked except for their number and size.
    pub fn packages(&self) -> &[String] {
        &self.packages
    }

    /// The packages that were made ready for it.
    pub fn layer(&self) -> Option<&Layer> {
        self.layer.as_ref()
    }

    /// The same plan in a workspace that already has these files. Any that the run changes come back with their
    /// contents.
    #[must_use]
    pub fn in_workspace(mut self, files: Vec<PlannedFile>) -> Self {
        let given = std::mem::take(&mut self.files);
        self.files = files.into_iter().filter(|file| !given.iter().any(|newer| newer.path == file.path)).collect();
        self.files.extend(given);
        self.collect = Collect::Contents;
        self
    }

    /// The same run with another program text.
    #[must_use]
    pub fn with_code(mut self, code: Vec<u8>) -> Self {
        self.code = code;
        self
    }

    /// The same run with packages.
    #[must_use]
    pub fn with_layer(mut self, layer: Option<Layer>) -> Self {
        self.layer = layer;
        self
    }

    /// The session that it is a cell of.
    pub fn session(&self) -> Option<&SessionName> {
        self.session.as_ref()
    }

    /// On whose behalf it runs.
    pub fn principal(&self) -> &Principal {
        &self.principal
    }

    /// The engine that may run it: the caller's choice, or the only one that can give it what it is granted.
    pub fn engine(&self) -> EngineChoice {
        self.engine
    }

    /// The limits that hold.
    pub fn limits(&self) -> &Limits {
        &self.limits
    }

    /// The same run with less time, once some of it is gone.
    #[must_use]
    pub fn within(mut self, wall: Duration) -> Self {
        self.limits.wall = self.limits.wall.min(wall);
        self
    }

    /// The same plan in a session that was opened with these hosts.
    #[must_use]
    pub fn in_network(mut self, hosts: Vec<HostPattern>) -> Self {
        self.network = hosts;
        self
    }

    /// Folders of the host that it sees.
    pub fn folders(&self) -> &Folders {
        &self.folders
    }

    /// Hosts that it can connect to.
    pub fn network(&self) -> &[HostPattern] {
        &self.network
    }

    /// Everything it is granted outside of its sandbox, in the form used in results.
    pub fn granted(&self) -> Vec<String> {
        let network = self.network.iter().map(|pattern| format!("network {pattern}"));
        network.chain(self.folders.iter().map(ToString::to_string)).collect()
    }

    /// What to bring back.
    pub fn collect(&self) -> Collect {
        self.collect
    }
}
