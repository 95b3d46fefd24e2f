//! The rows. One constant a language, grouped by what runs it; [`LANGUAGES`] puts the ones that people ask for most first.
//!
//! Three rules hold for every row. What a compiler writes goes to `{build}`, so that the workspace holds only what the program made.
//! Output is unbuffered, or flushed line by line, wherever the language lets us: a program that is stopped at its time limit keeps what it
//! printed. And the lines that an error names are the lines of the caller's source.

mod compiled;
mod data;
mod functional;
mod managed;
mod scripting;

use super::{AddressSpace, Language, Package, Toolchain};

pub(super) static LANGUAGES: &[Language] = &[
    scripting::PYTHON,
    scripting::JAVASCRIPT,
    scripting::TYPESCRIPT,
    scripting::BASH,
    scripting::SH,
    compiled::C,
    compiled::CPP,
    compiled::RUST,
    compiled::GO,
    managed::JAVA,
    managed::CSHARP,
    managed::KOTLIN,
    scripting::RUBY,
    scripting::PHP,
    scripting::PERL,
    scripting::LUA,
    data::SQL,
    data::R,
    data::JULIA,
    compiled::SWIFT,
    managed::SCALA,
    managed::GROOVY,
    managed::CLOJURE,
    managed::FSHARP,
    compiled::DART,
    functional::HASKELL,
    functional::OCAML,
    functional::ELIXIR,
    functional::ERLANG,
    functional::RACKET,
    functional::SCHEME,
    functional::LISP,
    compiled::NIM,
    compiled::CRYSTAL,
    compiled::ZIG,
    compiled::D,
    compiled::V,
    compiled::KIT,
    compiled::FORTRAN,
    compiled::PASCAL,
    scripting::RAKU,
    scripting::TCL,
    scripting::AWK,
    scripting::POWERSHELL,
    scripting::COFFEESCRIPT,
    data::OCTAVE,
    data::SASS,
    data::SCSS,
];

/// What most toolchains are: an interpreter that is given the source. Rows say where they differ.
const INTERPRETER: Toolchain = Toolchain {
    program: "",
    also: &[],
    package: Package::Elsewhere(""),
    support: &[],
    compile: None,
    run: &["{program}", "{source}"],
    env: &[],
    reads: &[],
    version: &["--version"],
    address_space: AddressSpace::Proportional,
};

/// A compiler whose product prints through C's `stdio`, which holds output back when it goes to a pipe; `stdbuf` makes it pass on lines.
const STDIO_COMPILER: Toolchain =
    Toolchain { also: &["stdbuf"], run: &["stdbuf", "-oL", "{build}/main"], ..INTERPRETER };
