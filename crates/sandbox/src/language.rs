//! Languages as data: one table, one row per language. See [`table`] for the rows.

mod detect;
mod names;
mod table;

pub use detect::{DetectError, Detected, detect, strip_fence};
pub use names::{Naming, ProgramNames};

/// One language: how callers name it, how its programs are recognised, and how a host's own tools run it.
#[derive(Debug)]
pub struct Language {
    /// What `list_runtimes` and results call it: lower case, stable.
    pub id: &'static str,
    /// How people write it.
    pub name: &'static str,
    /// Other names that callers use for it. Lower case.
    pub aliases: &'static [&'static str],
    /// File name endings, without the dot, the usual one first. Lower case.
    pub extensions: &'static [&'static str],
    /// Programs that a `#!` line names for this language (`python3` matches `python` too: a version suffix is ignored).
    pub interpreters: &'static [&'static str],
    /// The name the program's source gets in the workspace, unless [`Language::naming`] takes one from the program.
    pub source: &'static str,
    /// Whether the program's own text decides the name of its file; [`Language::names_for`] answers for a program.
    pub naming: Naming,
    /// The host tools that can run it, best first; the first one found is used.
    pub toolchains: &'static [Toolchain],
    /// A short program that shows it working.
    pub sample: Sample,
}

/// A small file of ours that a tool loads before the program: it reads `variables.json` or `wait.json` beside it.
#[derive(Debug, Clone, Copy)]
pub struct Preset {
    /// Name and text of the file, which goes into `{build}`.
    pub file: (&'static str, &'static str),
    /// What makes the tool load it.
    pub hook: Hook,
}

/// How a tool is made to load a [`Preset`].
#[derive(Debug, Clone, Copy)]
pub enum Hook {
    /// By an environment variable, whose value is a template.
    Variable(&'static str, &'static str),
    /// By an argument before the program's path. A template.
    Argument(&'static str),
}

/// One way to run a language with tools of the host.
///
/// Arguments are templates: `{program}` is the tool's path, `{source}` the program's path in `{workspace}`, `{entry}` the name of
/// its entry point (see [`ProgramNames`]), `{build}` a private directory for what a compiler writes, `{memory_mb}` the memory limit
/// in MiB, `{database}` the one file of the workspace that is an `SQLite` database, else `:memory:`. Other braces stand for
/// themselves. The caller's `args` are appended to `run`.
#[derive(Debug)]
pub struct Toolchain {
    /// The program looked up on the tool path: the interpreter, or the compiler.
    pub program: &'static str,
    /// Other programs that must be there too.
    pub also: &'static [&'static str],
    /// The Debian package that provides it, or if Debian has none, a phrase on where to get it.
    pub package: Package,
    /// Small files, as name and text, that go into `{build}` before the first step: for things that a tool cannot be
    /// told in any other way, such as a Ruby prelude that turns off buffering. The text is a template.
    pub support: &'static [(&'static str, &'static str)],
    /// What turns the source into something to run, if anything does.
    pub compile: Option<&'static [&'static str]>,
    /// What runs it.
    pub run: &'static [&'static str],
    /// Environment for both steps, over the engine's own (`PATH`, `HOME`, `LANG`, `TMPDIR`). Values are templates too.
    pub env: &'static [(&'static str, &'static str)],
    /// Host files beyond `/usr` that it reads (mostly configuration in `/etc`). Missing ones are left out.
    pub reads: &'static [&'static str],
    /// Arguments that make the program print its version on either stream; empty if it has no such option.
    pub version: &'static [&'static str],
    /// How a program is given variables, if it can be.
    pub variables: Option<Preset>,
    /// What makes it wait for its program when it is started ahead, if it can: a file that it loads before it looks for
    /// the program, and that waits if there is a `wait.json` beside it.
    pub waiting: Option<Preset>,
    /// How it finds packages that were made ready for a program.
    pub packages: PackageUse,
    /// How it uses address space, which decides how memory can be limited on a host without memory cgroups.
    pub address_space: AddressSpace,
}

/// Where a tool comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Package {
    /// `apt-get install` this.
    Debian(&'static str),
    /// Not in Debian: a phrase that says where to get it.
    Elsewhere(&'static str),
}

/// How a tool finds packages.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PackageUse {
    /// It does not.
    None,
    /// Its [`Preset`] tells it of [`PYTHON_PACKAGES`].
    Preset,
    /// In a `node_modules` above the program, namely [`NODE_PACKAGES`].
    NodeModules,
}

/// Where a Python program's packages are.
pub const PYTHON_PACKAGES: &str = "/packages/python";
/// Where a JavaScript program's packages are.
pub const NODE_PACKAGES: &str = "/node_modules";

/// How a runtime uses address space.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AddressSpace {
    /// About as much as it uses: `RLIMIT_AS` at the memory limit works.
    Proportional,
    /// Reserves gigabytes up front (V8, the JVM, .NET): `RLIMIT_AS` breaks it, so its own flags carry the limit.
    Reserved,
}

/// A program and what it prints.
#[derive(Debug)]
pub struct Sample {
    /// The program.
    pub code: &'static str,
    /// Exactly what it writes to standard output.
    pub stdout: &'static str,
}

impl Language {
    /// Every language, in the table's order.
    pub fn all() -> &'static [Self] {
        table::LANGUAGES
    }

    /// The language with this id or alias, in any case.
    pub fn find(name: &str) -> Option<&'static Self> {
        let name = name.trim().to_ascii_lowercase();
        Self::all().iter().find(|language| language.id == name || language.aliases.contains(&name.as_str()))
    }

    /// The names of this program's file and entry point. Cost: one pass over the program, and only where [`Language::naming`] needs it.
    pub fn names_for(&self, code: &[u8]) -> ProgramNames {
        names::names_for(self, code)
    }
}

impl PartialEq for Language {
    fn eq(&self, other: &Self) -> bool {
        self.id == other.id
    }
}

impl Eq for Language {}
