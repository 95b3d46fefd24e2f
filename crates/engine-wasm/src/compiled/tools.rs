//! How the compiler and the linker are called. They cannot start each other, so this does what clang's driver would do.

use sandbox::Plan;

use super::wants;

/// What every source is compiled with, every one of C++, and where headers are: one argument a line.
const COMPILE: &str = include_str!("../../../../runtimes/clang/compile.args");
const COMPILE_CPP: &str = include_str!("../../../../runtimes/clang/cpp.args");
const HEADERS: &str = include_str!("../../../../runtimes/clang/headers.args");

/// What every program is linked with. The stack comes first in memory, so that an overflow hits the forbidden page and
/// not the program's data.
const LINK: &str = include_str!("../../../../runtimes/clang/link.args");
const LIBRARIES: &str = include_str!("../../../../runtimes/clang/libraries.args");

/// Where a program begins, in either language.
const START: &str = "/usr/lib/wasm32-wasip1/crt1-command.o";
const START_CPP: &str = "/usr/lib/wasm32-wasip1/crt1-c++.o";

/// What C++ is unless the caller says otherwise. With it, a set of headers that was precompiled can be used.
const STANDARD_CPP: &str = "-std=gnu++23";
const OPTIMIZED: &str = "-O2";

/// Which C++ headers were precompiled when the compiler was set up: the recipe has a source of each name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Headers {
    /// Every one of them.
    All,
    Iostream,
    /// None: the program reads those that it includes.
    Own,
}

impl Headers {
    pub(crate) const PRECOMPILED: [Self; 2] = [Self::All, Self::Iostream];

    /// The fastest choice that does not change what the program means. Anything that the program or its caller says
    /// before the first header could change what headers mean; and where all of `std` is in scope, headers that the
    /// program does not include could change what it means.
    pub(super) fn for_program(plan: &Plan) -> Self {
        let harmless = |argument: &String| {
            argument.starts_with("-W")
                || ["-w", "-g", "-lm", "-pthread", OPTIMIZED, STANDARD_CPP].contains(&&**argument)
        };
        if !is_cpp(plan) || !plan.compiler_args().iter().all(harmless) {
            return Self::Own;
        }
        let first = wants::first_headers(plan.code());
        let includes = |name: &str| first.contains(&name.as_bytes());
        if includes("bits/stdc++.h")
            || (first.iter().any(|name| !name.contains(&b'.')) && !wants::uses_namespaces(plan))
        {
            Self::All
        } else if includes("iostream") {
            Self::Iostream
        } else {
            Self::Own
        }
    }

    /// What its files are called, without what they end in.
    pub(crate) fn name(self) -> Option<&'static str> {
        match self {
            Self::All => Some("usr/pch/all"),
            Self::Iostream => Some("usr/pch/iostream"),
            Self::Own => None,
        }
    }
}

/// The compiler's arguments for precompiling headers of this name into a file.
pub(crate) fn precompile(name: &str, makes: &str) -> Vec<String> {
    let mut line = compiler(COMPILE_CPP);
    line.extend(strings(&[STANDARD_CPP, OPTIMIZED, "-emit-pch", "-fpch-instantiate-templates", "-fno-pch-timestamp"]));
    line.extend(strings(&["-o", makes, "-x", "c++-header", &format!("/{name}.hh")]));
    line
}

/// What the linker makes, in the workspace.
pub(super) const LINKED: &str = ".belljar.wasm";

/// The name of what a source is compiled to, in the workspace: one that no file of a caller's is likely to have.
pub(super) fn object_of(index: usize) -> String {
    format!(".belljar.{index}.o")
}

fn is_cpp(plan: &Plan) -> bool {
    plan.language().id == "cpp"
}

/// The compiler and what all of its lines have.
fn compiler(particular: &str) -> Vec<String> {
    strings(&["clang", "-cc1"])
        .into_iter()
        .chain(lines(COMPILE))
        .chain(lines(particular))
        .chain(lines(HEADERS))
        .collect()
}

/// The compiler's arguments for one source, by its path.
pub(super) fn compile(plan: &Plan, source: &str, index: usize, headers: Headers) -> Vec<String> {
    let is_cpp = is_cpp(plan);
    let mut line = compiler(if is_cpp { COMPILE_CPP } else { "" });
    if plan.compiler_args().iter().any(|argument| argument == "-fno-exceptions") {
        line.retain(|argument| argument != "-fcxx-exceptions" && argument != "-fexceptions");
    }
    line.extend(strings(&["-emit-obj", "-main-file-name", source.rsplit('/').next().unwrap_or(source)]));
    line.extend(strings(&[if is_cpp { STANDARD_CPP } else { "-std=gnu17" }, OPTIMIZED]));
    line.extend(for_compiler(plan));
    if let Some(name) = headers.name() {
        line.extend(["-include-pch".to_owned(), format!("/{name}.pch")]);
    }
    line.extend(["-o".to_owned(), format!("{}/{}", crate::WORKSPACE, object_of(index))]);
    line.extend(strings(&["-x", if is_cpp { "c++" } else { "c" }, source]));
    line
}

/// The linker's arguments for so many objects.
pub(super) fn link(plan: &Plan, objects: usize) -> Vec<String> {
    let mut line = strings(&["wasm-ld"]);
    line.extend(lines(LINK));
    line.push(if is_cpp(plan) { START_CPP } else { START }.to_owned());
    line.extend((0..objects).map(|index| format!("{}/{}", crate::WORKSPACE, object_of(index))));
    if is_cpp(plan) {
        line.extend(strings(&["-lc++", "-lc++abi"]));
    }
    line.extend(lines(LIBRARIES));
    line.extend(["-o".to_owned(), format!("{}/{LINKED}", crate::WORKSPACE)]);
    line
}

/// A caller's arguments as the compiler proper takes them: those for the driver or the linker are left out or
/// translated.
fn for_compiler(plan: &Plan) -> impl Iterator<Item = String> {
    let is_cpp = is_cpp(plan);
    let mut rest = plan.compiler_args().iter();
    std::iter::from_fn(move || {
        let argument = rest.next()?;
        let translated: &[&str] = match argument.as_str() {
            "-l" => {
                rest.next();
                &[]
            }
            // C's two libraries are one here; only a debugger would read what `-g` adds; there are no threads.
            "-lm" | "-g" | "-pthread" | "-fno-exceptions" | "-fsigned-char" => &[],
            "-Og" | "-O" => &["-O1"],
            "-ansi" if is_cpp => &["-std=c++98"],
            "-ansi" => &["-std=c89"],
            "-ffast-math" => {
                &["-ffast-math", "-menable-no-infs", "-menable-no-nans", "-fapprox-func", "-funsafe-math-optimizations"]
            }
            "-funsigned-char" => &["-fno-signed-char"],
            "-fno-strict-aliasing" => &["-relaxed-aliasing"],
            other => return Some(vec![other.to_owned()]),
        };
        Some(strings(translated))
    })
    .flatten()
}

fn lines(file: &str) -> impl Iterator<Item = String> {
    file.lines().map(str::to_owned)
}

fn strings(words: &[&str]) -> Vec<String> {
    words.iter().map(|word| (*word).to_owned()).collect()
}
