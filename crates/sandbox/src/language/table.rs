//! The rows. One constant per language, grouped by what runs it; [`LANGUAGES`] puts the ones that people ask for most
//! first.
//!
//! Three rules hold for every row. Compiler output goes to `{build}`, so that the workspace holds only what the program
//! made. Output is unbuffered, or flushed line by line, wherever the language allows it: a program that is stopped at
//! its time limit keeps what it printed. And the line numbers in errors are those of the caller's source.

mod compiled;
mod data;
mod functional;
mod managed;
mod scripting;

use super::{AddressSpace, Language, Package, PackageUse, Toolchain};

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

/// What most toolchains are: an interpreter that is given the source. Rows state where they differ.
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
    variables: None,
    waiting: None,
    packages: PackageUse::None,
    address_space: AddressSpace::Proportional,
};

/// A compiler whose programs print through C's `stdio`, which buffers output to a pipe; `stdbuf` makes it pass on
/// lines.
const STDIO_COMPILER: Toolchain =
    Toolchain { also: &["stdbuf"], run: &["stdbuf", "-oL", "{build}/main"], ..INTERPRETER };

#[cfg(test)]
mod tests {
    use super::*;

    fn templates(toolchain: &Toolchain) -> impl Iterator<Item = &'static str> {
        let arguments = toolchain.compile.unwrap_or_default().iter().chain(toolchain.run).copied();
        let environment = toolchain.env.iter().map(|(_, value)| *value);
        arguments.chain(environment).chain(toolchain.support.iter().map(|(_, text)| *text))
    }

    #[test]
    fn a_recipe_starts_programs_that_the_row_asks_for() {
        for (language, toolchain) in all() {
            for command in toolchain.compile.iter().chain([&toolchain.run]) {
                let first = *command.first().unwrap();
                let known = first == "{program}" || first.starts_with("{build}/") || toolchain.also.contains(&first);
                assert!(known, "{}: `{first}` is neither the program, nor built, nor in `also`", language.id);
            }
            assert!(!toolchain.program.is_empty() && !toolchain.program.contains('/'), "{}", language.id);
        }
    }

    #[test]
    fn what_is_compiled_lands_in_the_build_directory_and_what_is_interpreted_is_the_source() {
        for (language, toolchain) in all() {
            let names = |command: &[&str], what: &str| command.iter().any(|argument| argument.contains(what));
            match toolchain.compile {
                Some(compile) => {
                    assert!(names(compile, "{build}"), "{}", language.id);
                    assert!(names(compile, "{source}") || templates(toolchain).any(|text| text.contains("{source}")));
                    assert!(names(toolchain.run, "{build}"), "{}", language.id);
                }
                None => assert!(names(toolchain.run, "{source}"), "{}", language.id),
            }
        }
    }

    #[test]
    fn support_files_stay_in_the_build_directory_and_reads_are_absolute() {
        for (language, toolchain) in all() {
            for (name, _) in toolchain.support {
                assert!(!name.starts_with('/') && !name.contains(".."), "{}: {name}", language.id);
            }
            assert!(toolchain.reads.iter().all(|path| path.starts_with('/')), "{}", language.id);
        }
    }

    #[test]
    fn braces_that_look_like_a_template_are_one() {
        let known = ["program", "source", "workspace", "entry", "build", "memory_mb", "database"];
        for (language, toolchain) in all() {
            for template in templates(toolchain) {
                let looks_like_one =
                    |name: &&str| !name.is_empty() && name.chars().all(|c| c.is_ascii_lowercase() || c == '_');
                let inside = template.split('{').skip(1).filter_map(|rest| rest.split_once('}')).map(|(name, _)| name);
                for name in inside.filter(looks_like_one) {
                    assert!(known.contains(&name), "{}: `{{{name}}}` in {template}", language.id);
                }
            }
        }
    }

    #[test]
    fn a_sample_has_the_languages_usual_file_name() {
        for language in LANGUAGES {
            assert_eq!(language.names_for(language.sample.code.as_bytes()).source, language.source);
            assert!(language.sample.stdout.ends_with('\n') && language.sample.code.ends_with('\n'), "{}", language.id);
        }
    }

    #[test]
    fn every_id_of_mcp_server_code_runner_that_linux_can_run_is_here() {
        // Without `bat`, `vbscript`, `applescript`, `ahk` and `autoit`, whose tools are for Windows or macOS alone.
        let ids = "javascript php python perl perl6 ruby go lua groovy powershell shellscript fsharp csharp typescript \
                   coffeescript scala swift julia crystal ocaml r clojure racket scheme dart haskell nim lisp kit v sass scss";
        let missing: Vec<&str> = ids.split_whitespace().filter(|id| Language::find(id).is_none()).collect();
        assert!(missing.is_empty(), "{missing:?}");
    }

    fn all() -> impl Iterator<Item = (&'static Language, &'static Toolchain)> {
        LANGUAGES.iter().flat_map(|language| language.toolchains.iter().map(move |toolchain| (language, toolchain)))
    }
}
