//! How compiler and linker are called. They cannot start each other, so what clang's driver would say to them is said here.

use sandbox::Plan;

use super::wants;

/// What every source is compiled with, every one of C++, and where headers are: one argument a line.
const COMPILE: &str = include_str!("../../../../runtimes/clang/compile.args");
const COMPILE_CPP: &str = include_str!("../../../../runtimes/clang/cpp.args");
const HEADERS: &str = include_str!("../../../../runtimes/clang/headers.args");

/// What every program is linked with. The stack comes first in memory, so that one that is full meets the forbidden page and not the
/// program's data.
const LINK: &str = include_str!("../../../../runtimes/clang/link.args");
const LIBRARIES: &str = include_str!("../../../../runtimes/clang/libraries.args");

/// Where a program begins, in either language.
const START: &str = "/usr/lib/wasm32-wasip1/crt1-command.o";
const START_CPP: &str = "/usr/lib/wasm32-wasip1/crt1-c++.o";

/// What C++ is unless the caller says otherwise. With it, a set of headers that was precompiled can be used.
const STANDARD_CPP: &str = "-std=gnu++23";
const OPTIMIZED: &str = "-O2";

/// All headers of C++, precompiled when the compiler is set up: the recipe has the source.
const ALL_HEADERS: &str = "/usr/pch/all.hh";
const PRECOMPILED: &str = "/usr/pch/all.pch";

/// The compiler's arguments for precompiling all headers into a file.
pub(crate) fn precompile(makes: &str) -> Vec<String> {
    let mut line = compiler(COMPILE_CPP);
    line.extend(strings(&[STANDARD_CPP, OPTIMIZED, "-emit-pch", "-fpch-instantiate-templates", "-fno-pch-timestamp"]));
    line.extend(strings(&["-o", makes, "-x", "c++-header", ALL_HEADERS]));
    line
}

/// Whether a program is read after all headers of C++, or has to read those that it includes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Headers {
    Precompiled,
    Own,
}

impl Headers {
    /// The faster of those that a program can be compiled with. What it or its caller says before the first header could change what headers
    /// mean.
    pub(super) fn for_program(plan: &Plan) -> Self {
        let harmless = |argument: &String| {
            argument.starts_with("-W") || ["-w", "-g", "-lm", "-pthread", OPTIMIZED].contains(&&**argument)
        };
        let is_cpp_header = |name: &&[u8]| !name.contains(&b'.') || *name == b"bits/stdc++.h";
        let usable = is_cpp(plan)
            && plan.compiler_args().iter().all(harmless)
            && wants::first_headers(plan.code()).iter().any(is_cpp_header);
        if usable { Self::Precompiled } else { Self::Own }
    }
}

/// What the linker makes, in the workspace.
pub(super) const LINKED: &str = "program.wasm";

/// The name of what a source is compiled to, in the workspace.
pub(super) fn object_of(index: usize) -> String {
    format!("{index}.o")
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
    line.extend(strings(&["-emit-obj", "-main-file-name", source.rsplit('/').next().unwrap_or(source)]));
    line.extend(strings(&[if is_cpp { STANDARD_CPP } else { "-std=gnu17" }, OPTIMIZED]));
    line.extend(for_compiler(plan.compiler_args()));
    if headers == Headers::Precompiled {
        line.extend(strings(&["-include-pch", PRECOMPILED]));
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

/// A caller's arguments as the compiler proper takes them: what is the driver's or the linker's is left out, or said otherwise.
fn for_compiler(arguments: &[String]) -> impl Iterator<Item = String> {
    let mut rest = arguments.iter();
    std::iter::from_fn(move || {
        let argument = rest.next()?;
        let translated: &[&str] = match argument.as_str() {
            "-l" => {
                rest.next();
                &[]
            }
            // One of C's two libraries, which are one here; what only a debugger would read; no threads.
            "-lm" | "-g" | "-pthread" => &[],
            "-Og" | "-O" => &["-O1"],
            "-ansi" => &["-std=c89"],
            "-fno-exceptions" => &["-fno-cxx-exceptions"],
            "-ffast-math" => {
                &["-ffast-math", "-menable-no-infs", "-menable-no-nans", "-fapprox-func", "-funsafe-math-optimizations"]
            }
            "-fsigned-char" => &[],
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
