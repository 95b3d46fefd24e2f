//! The TypeScript SDK with the built binary: its types, its own tests (the quick start of its README among them), and the packages for npm
//! that are made of it.

#![expect(clippy::expect_used, reason = "a failed check is a failed test")]

use std::io::{BufRead as _, BufReader};
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::OnceLock;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};
use testkit::arena;
use testkit::conformance::command::{self, Answer, Belljar, wait};
use testkit::packages::Npm;
use testkit::runtimes::{self, CACHE};

const BELLJAR: &str = env!("CARGO_BIN_EXE_belljar");

#[test]
fn the_sdk_passes_its_tests() {
    let (Some((folder, npm)), Some(cache)) = (built(), runtimes::provisioned(BELLJAR)) else { return };
    let home = Belljar::new(BELLJAR);
    // As the README says, so that what it says works.
    let mut tests = home.client("npm");
    tests.env("PATH", npm.search_path()).env("BELLJAR_BIN", BELLJAR).env(CACHE, cache);
    tests.current_dir(folder).arg("test");
    let answer = command::answer(tests, b"");
    succeeds(&answer);
    // Node.js is content with a pattern that fits no file.
    assert!(answer.text().contains("a run gives back what came of it"), "{answer:?}");
}

#[test]
fn the_packages_for_npm_bring_the_binary_and_the_library() {
    let Some((folder, npm)) = built() else { return };
    let home = Belljar::new(BELLJAR);
    let mut pack = home.client(npm.node());
    pack.arg(repository().join("packaging/npm/pack.mjs")).arg(BELLJAR).arg("packed").arg(folder);
    let packed = command::answer(pack, b"");
    succeeds(&packed);
    // With the settings of whoever runs the tests: they say where packages come from.
    let mut install = arena::host_command("npm");
    install.current_dir(home.directory()).args(["install", "--prefer-offline", "--no-audit", "--no-fund"]);
    install.args(packed.text().lines());
    succeeds(&command::answer(install, b""));

    let program = home.directory().join("node_modules/.bin/belljar");
    let run = |arguments: &[&str]| {
        let mut command = home.client(&program);
        command.args(arguments);
        command::answer(command, b"")
    };
    assert_eq!(run(&["--version"]).text(), concat!("belljar ", env!("CARGO_PKG_VERSION"), "\n"));
    assert_eq!(run(&["run", "-l", "bash", "-c", "echo out; exit 42"]), Answer::new(42, "out\n", ""));
    // As the README says. It is here, so nothing is asked of the registry.
    if let Some(cache) = runtimes::provisioned(BELLJAR) {
        let mut example = home.client("npx");
        example.args(["--offline", "belljar", "example", "javascript", "bash"]).env(CACHE, cache);
        let shown = command::answer(example, b"");
        succeeds(&shown);
        let row = |name: &str| shown.text().lines().find(|row| row.starts_with(name)).unwrap_or_default();
        assert!(row("JavaScript ").contains(" wasm ") && row("JavaScript ").contains(" ok "), "{shown:?}");
        assert!(row("Bash ").contains(" ok "), "{shown:?}");
    }
    let mut going = home.client(&program);
    going.args(["run", "-l", "bash", "-c", "echo up; sleep 600"]).stdout(Stdio::piped());
    let mut going = going.spawn().expect("it starts");
    let mut line = String::new();
    BufReader::new(going.stdout.take().expect("piped")).read_line(&mut line).expect("a pipe");
    kill_process(Pid::from_child(&going), Signal::TERM).expect("our own child");
    let ended = wait(&mut going, Instant::now() + Duration::from_mins(1));
    assert_eq!((line.as_str(), ended.code()), ("up\n", Some(143)), "{ended:?}");

    home.write(
        "imports.mjs",
        r#"import { Belljar } from "belljar";
const belljar = await Belljar.start();
const { stdout } = await belljar.run("print(6 * 7)", { language: "python" });
process.stdout.write(stdout);
await belljar.close();
"#,
    );
    let mut script = home.client(npm.node());
    script.arg("imports.mjs");
    assert_eq!(command::answer(script, b""), Answer::new(0, "42\n", ""));
    // Where npm left the binary out, the command says so.
    std::fs::remove_dir_all(home.directory().join("node_modules/@belljar")).expect("it was installed");
    let without = run(&["--version"]);
    assert!(without.code == Some(125) && without.stderr.contains("is not installed"), "{without:?}");
}

/// A copy of the SDK, with what it needs, compiled.
fn built() -> Option<&'static (PathBuf, Npm)> {
    static BUILT: OnceLock<Option<(PathBuf, Npm)>> = OnceLock::new();
    let build = || {
        let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("sdk-typescript");
        let npm = Npm::install_project(&folder, &repository().join("sdk/typescript"))?;
        let mut compiler = arena::host_command("npm");
        compiler.env("PATH", npm.search_path()).current_dir(&folder).args(["run", "build"]);
        succeeds(&command::answer(compiler, b""));
        Some((folder, npm))
    };
    BUILT.get_or_init(build).as_ref()
}

fn repository() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().expect("the repository")
}

#[track_caller]
fn succeeds(answer: &Answer) {
    assert_eq!(answer.code, Some(0), "{answer:?}");
}
