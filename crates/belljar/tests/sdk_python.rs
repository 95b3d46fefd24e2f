//! The Python package in `sdk/python`: its own tests, its types, the wheel with the program in it, and agents of others that run code.

#![expect(clippy::expect_used, reason = "a failed check is a failed test")]

use std::path::{Path, PathBuf};

use testkit::arena;
use testkit::conformance::command::{self, Answer, Belljar};
use testkit::packages::Pypi;
use testkit::runtimes::{self, CACHE};

const BELLJAR: &str = env!("CARGO_BIN_EXE_belljar");

/// What the package's tests need. `mcp` is the package's own only dependency.
const TOOLS: &[&str] = &["mcp==2.3.0", "pytest==9.2.0", "mypy==2.4.1", "pydantic-ai-slim[mcp]==2.66.0"];

/// LangChain's adapters are for the older `mcp`.
const LANGCHAIN: &[&str] =
    &["langchain==1.4.7", "langchain-mcp-adapters==0.3.2", "mcp==1.30.0", "anyio==4.16.0", "pytest==9.2.0"];

#[test]
fn its_tests_pass() {
    let (Some(pypi), Some(cache)) = (tools(), runtimes::provisioned(BELLJAR)) else { return };
    passes(&pypi, &["pytest", "-q", "tests"], (CACHE, cache));
}

#[test]
fn its_types_are_right() {
    let Some(pypi) = tools() else { return };
    passes(&pypi, &["mypy"], ("MYPY_CACHE_DIR", &folder("mypy")));
}

#[test]
fn an_agent_of_pydantic_ai_runs_code() {
    let Some(pypi) = tools() else { return };
    agent(&pypi, "agents/test_pydantic_ai.py");
}

#[test]
fn an_agent_of_langchain_runs_code() {
    let Some(pypi) = Pypi::install(&folder("langchain"), LANGCHAIN) else { return };
    agent(&pypi, "agents/test_langchain.py");
}

/// Nothing but the wheel, and what it depends on, in an environment of its own.
#[test]
fn the_wheel_has_the_program_and_the_package() {
    let wheels = folder("wheels");
    let mut build = arena::host_command(source().join("../../packaging/pypi/build"));
    build.arg(&wheels).env("BELLJAR_BINARY", BELLJAR);
    let built = command::answer(build, b"");
    if built.code != Some(0) {
        return runtimes::skip(&format!("the wheel cannot be built: {}", built.stderr));
    }
    let Some(pypi) = Pypi::install_anew(&folder("wheel"), built.text().trim()) else { return };
    let home = Belljar::new(BELLJAR);

    let program = pypi.python().with_file_name("belljar");
    let mut run = home.client(&program);
    run.args(["run", "-l", "bash", "-c", "cat; exit 7", "--stdin", "-"]);
    assert_eq!(command::answer(run, b"hi\n"), Answer::new(7, "hi\n", ""));

    let readme = std::fs::read_to_string(source().join("README.md")).expect("the README");
    let (_, after) = readme.split_once("```python\n").expect("a quick start");
    let (quick_start, after) = after.split_once("```").expect("its end");
    let (_, shown) = after.split_once("```text\n").expect("its output");
    let (shown, _) = shown.split_once("```").expect("its end");
    let mut python = home.client(pypi.python());
    python.args(["-c", quick_start]);
    assert_eq!(command::answer(python, b""), Answer::new(0, shown, ""));
}

fn tools() -> Option<Pypi> {
    Pypi::install(&folder("tools"), TOOLS)
}

/// Nothing of WebAssembly: an empty folder is its cache.
#[track_caller]
fn agent(pypi: &Pypi, test: &str) {
    passes(pypi, &["pytest", "-q", test], (CACHE, &folder("cache")));
}

/// Runs a module of Python's in the package's folder, with the built program and one more variable.
#[track_caller]
fn passes(pypi: &Pypi, module: &[&str], (name, value): (&str, &Path)) {
    let home = Belljar::new(BELLJAR);
    let mut python = home.client(pypi.python());
    python.current_dir(source()).arg("-m").args(module).env("BELLJAR_BIN", BELLJAR).env(name, value);
    let answer = command::answer(python, b"");
    assert_eq!(answer.code, Some(0), "{}{}", String::from_utf8_lossy(&answer.stdout), answer.stderr);
}

fn source() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../sdk/python")
}

fn folder(name: &str) -> PathBuf {
    Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("sdk-python-{name}"))
}
