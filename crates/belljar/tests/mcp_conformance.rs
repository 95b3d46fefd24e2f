//! The protocol's own conformance suites, against the built binary over HTTP. Most of their scenarios call tools that they prescribe: the
//! server has them with `--conformance-fixtures`.

#![expect(clippy::expect_used, clippy::panic, reason = "a failed check is a failed test")]

use std::path::Path;
use std::process::Stdio;

use testkit::arena;
use testkit::packages::Npm;
use testkit::server::Served;

const BELLJAR: &str = env!("CARGO_BIN_EXE_belljar");

const OLDER: &str = "0.1.16";
const NEWER: &str = "0.2.0-alpha.12";

/// What every server must pass, whatever its tools: scenarios, and the revision of the protocol that is spoken.
const WITHOUT_FIXTURES: &[(&str, &str)] = &[
    ("server-initialize", "2025-11-25"),
    ("server-session-lifecycle", "2025-11-25"),
    ("ping", "2025-11-25"),
    ("logging-set-level", "2025-11-25"),
    ("tools-list", "2025-11-25"),
    ("tools-list", "2026-07-28"),
    ("resources-list", "2025-11-25"),
    ("resources-list", "2026-07-28"),
    ("prompts-list", "2025-11-25"),
    ("prompts-list", "2026-07-28"),
    ("server-sse-multiple-streams", "2025-11-25"),
    ("server-sse-multiple-streams", "2026-07-28"),
    ("dns-rebinding-protection", "2025-11-25"),
    ("dns-rebinding-protection", "2026-07-28"),
    ("sep-2164-resource-not-found", "2026-07-28"),
    ("caching", "2026-07-28"),
    ("http-header-validation", "2026-07-28"),
    ("input-required-result-unsupported-methods", "2026-07-28"),
];

#[test]
fn older_suite_passes() {
    let Some(suite) = Suite::install(OLDER) else { return };
    let server = serve(&["--conformance-fixtures"]);
    suite.passes(&server, &["--suite", "all"], 46);
}

#[test]
fn requirements_of_2025_11_25_are_met() {
    let Some(suite) = Suite::install(NEWER) else { return };
    let server = serve(&["--conformance-fixtures"]);
    suite.passes(&server, &["--requirements", "2025-11-25"], 83);
}

#[test]
fn requirements_of_2026_07_28_are_met() {
    let Some(suite) = Suite::install(NEWER) else { return };
    let server = serve(&["--conformance-fixtures"]);
    suite.passes(&server, &["--requirements", "2026-07-28"], 197);
}

#[test]
fn what_needs_no_fixtures_passes_without_them() {
    let Some(suite) = Suite::install(NEWER) else { return };
    let server = serve(&[]);
    for (scenario, revision) in WITHOUT_FIXTURES {
        suite.passes(&server, &["--scenario", scenario, "--spec-version", revision], 1);
    }
}

fn serve(arguments: &[&str]) -> Served {
    let mut command = arena::host_command(BELLJAR);
    command.args(["serve", "--http", "127.0.0.1:0"]).args(arguments);
    Served::start(command).expect("belljar serves")
}

/// A suite, as npm has it.
#[derive(Debug)]
struct Suite(Npm);

impl Suite {
    /// `None` after saying that the test is skipped.
    fn install(version: &str) -> Option<Self> {
        let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("mcp-conformance-{version}"));
        Npm::install(&folder, &[&format!("@modelcontextprotocol/conformance@{version}")]).map(Self)
    }

    /// Runs it. It must find nothing wrong, and look at no less than this many things.
    fn passes(&self, server: &Served, arguments: &[&str], at_least: usize) {
        let mut conformance = arena::host_command(self.0.node());
        conformance.arg(self.0.modules().join("@modelcontextprotocol/conformance/dist/index.js"));
        conformance.args(["server", "--url", &server.url()]).args(arguments).stdin(Stdio::null());
        let output = conformance.output().expect("Node starts");
        let said = [output.stdout, output.stderr].map(|text| String::from_utf8_lossy(&text).into_owned()).concat();
        assert!(output.status.success(), "{arguments:?}: {}\n{said}", output.status);
        let (passed, failed) = totals(&said).unwrap_or_else(|| panic!("{arguments:?} has no totals:\n{said}"));
        assert!(failed == 0 && passed >= at_least, "{arguments:?}: {passed} passed, {failed} failed\n{said}");
    }
}

/// How many checks passed and failed: `Total: 46 passed, 0 failed` of a suite, `Passed: 3/3, 0 failed, 0 warnings` of a scenario.
///
/// A suite's exit code is silent about scenarios that its revision does not score, such as those of tasks. We want them all.
fn totals(said: &str) -> Option<(usize, usize)> {
    let total = |line: &str| line.strip_prefix("Total: ").or_else(|| line.strip_prefix("Passed: ")).map(str::to_owned);
    let line = said.lines().rev().find_map(total)?;
    let passed = line.split(|character: char| !character.is_ascii_digit()).next()?.parse().ok()?;
    let failed = line.split(", ").find_map(|part| part.strip_suffix(" failed"))?.parse().ok()?;
    Some((passed, failed))
}
