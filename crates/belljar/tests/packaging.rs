//! What `packaging/` holds, held against the binary and against the tools of those who install it.

#![expect(clippy::expect_used, clippy::indexing_slicing, clippy::panic, reason = "a failed check is a failed test")]

#[path = "mcp/client.rs"]
#[expect(dead_code, reason = "the tests of MCP itself need more of it")]
mod client;

use std::fs;
use std::path::{Path, PathBuf};

use client::{BELLJAR, Client};
use serde_json::{Value, json};
use testkit::conformance::command::{self, Answer, Belljar};
use testkit::packages::Npm;
use testkit::runtimes;

const VERSION: &str = env!("CARGO_PKG_VERSION");

/// Settings of systemd that take something away which belljar builds its walls with. The unit says what.
const IN_THE_WAY: &[&str] = &[
    "DynamicUser",
    "MemoryDenyWriteExecute",
    "ProtectHostname",
    "ProtectKernel",
    "ProtectProc",
    "RestrictNamespaces",
    "RestrictSUIDSGID",
    "SystemCallFilter",
];

/// Tools that not every machine has.
const SYSTEMD_ANALYZE: &str = "/usr/bin/systemd-analyze";
const APPARMOR_PARSER: &str = "/usr/sbin/apparmor_parser";

#[test]
fn a_bundle_validates_and_serves() {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("packaging-npm");
    let Some(npm) = Npm::install(&folder, &["@anthropic-ai/mcpb@2.1.2"]) else { return };
    let mcpb =
        format!("{} {}", npm.node().display(), npm.modules().join("@anthropic-ai/mcpb/dist/cli/cli.js").display());
    let home = Belljar::new(BELLJAR);
    let mut pack = home.client(packaging("mcpb/pack"));
    pack.env("MCPB", &mcpb).args([BELLJAR, "belljar.mcpb"]);
    succeeds(&command::answer(pack, b""));
    let mut unpack = home.client("sh");
    unpack.args(["-c", &format!("{mcpb} unpack belljar.mcpb unpacked")]);
    succeeds(&command::answer(unpack, b""));

    // As a client starts it.
    let unpacked = home.directory().join("unpacked");
    let manifest: Value = read_json(&unpacked.join("manifest.json"));
    assert_eq!(manifest["version"], VERSION);
    let place = |text: &Value| {
        let text = text.as_str().expect("text").replace("${__dirname}", unpacked.to_str().expect("text"));
        text.replace("${user_config.require}", manifest["user_config"]["require"]["default"].as_str().expect("text"))
    };
    let started = &manifest["server"]["mcp_config"];
    let mut server = home.client(place(&started["command"]));
    server.args(started["args"].as_array().expect("a list").iter().map(place));
    let mut client = Client::of(server).greeted();
    let result = client.run(&json!({"language": "bash", "code": "echo $((6 * 7))"}));
    assert_eq!(result["structuredContent"]["stdout"], "42\n", "{result}");
    let tools = client.request("tools/list", &json!({}))["result"]["tools"].take();
    let names = |tools: &Value| -> Vec<Value> {
        tools.as_array().expect("a list").iter().map(|tool| tool["name"].clone()).collect()
    };
    assert_eq!(names(&manifest["tools"]), names(&tools));
}

/// The registry holds both against each other, and refuses what is longer.
#[test]
fn the_registry_knows_the_packages() {
    let server = read_json(&packaging("server.json"));
    let npm = read_json(&packaging("../sdk/typescript/package.json"));
    assert_eq!((&server["version"], &npm["version"]), (&json!(VERSION), &json!(VERSION)));
    assert_eq!(npm["mcpName"], server["name"]);
    // Where PyPI's has it.
    let readme = fs::read_to_string(packaging("../sdk/python/README.md")).expect("the README");
    let name = readme.split_once("<!-- mcp-name: ").and_then(|(_, rest)| Some(rest.split_once(" -->")?.0));
    assert_eq!(name, server["name"].as_str());
    assert!(server["description"].as_str().is_some_and(|text| text.len() <= 100), "{server}");
    let packages = server["packages"].as_array().expect("a list");
    let told = |package: &Value| {
        json!([package["registryType"], package["identifier"], package["version"], package["transport"]["type"]])
    };
    let expected = ["npm", "pypi"].map(|registry| json!([registry, "belljar", VERSION, "stdio"]));
    assert_eq!(packages.iter().map(told).collect::<Vec<_>>(), expected);
    assert_eq!(npm["name"], "belljar");
}

/// Its readers have the package, and nothing that was beside it.
#[test]
fn what_is_packed_leads_nowhere_that_is_not() {
    for sdk in ["typescript", "python"] {
        let readme = fs::read_to_string(packaging(&format!("../sdk/{sdk}/README.md"))).expect("the README");
        let links = readme.split("](").skip(1).filter_map(|rest| Some(rest.split_once(')')?.0));
        let dead: Vec<&str> = links.filter(|link| !link.contains("://") && !link.starts_with('#')).collect();
        assert!(dead.is_empty(), "{sdk}: {dead:?}");
    }
}

#[test]
fn systemd_takes_the_unit() {
    let unit = fs::read_to_string(packaging("systemd/belljar.service")).expect("the unit");
    assert!(unit.contains("\nDelegate=yes\n"), "without it no limit of a run's is the kernel's");
    for line in unit.lines() {
        assert!(!IN_THE_WAY.iter().any(|name| line.starts_with(name)), "{line}");
    }
    if !is_installed(SYSTEMD_ANALYZE, "systemd") {
        return;
    }
    // It looks for the program.
    let unit = unit.replace("/usr/local/bin/belljar", BELLJAR);
    let home = Belljar::new(BELLJAR);
    let verified = |unit: &str| {
        home.write("belljar.service", unit);
        let mut verify = home.client(SYSTEMD_ANALYZE);
        verify.args(["verify", "belljar.service"]);
        command::answer(verify, b"")
    };
    assert_eq!(verified(&unit), Answer::new(0, "", ""));
    let misspelt = verified(&unit.replace("TasksMax", "TaskMax"));
    assert!(misspelt.stderr.contains("TaskMax"), "{misspelt:?}");
}

/// `userns` came with version 4. An older parser, which Debian 12 has, reads the profile without that line: docs/installing.md says so.
#[test]
fn apparmor_takes_the_profile() {
    if !is_installed(APPARMOR_PARSER, "apparmor") {
        return;
    }
    let mut profile = fs::read_to_string(packaging("apparmor/belljar")).expect("the profile");
    if !Path::new("/etc/apparmor.d/abi/4.0").is_file() {
        for (newer, older) in [("\nabi <abi/4.0>,\n", "\nabi <abi/3.0>,\n"), ("\n  userns,\n", "\n")] {
            assert!(profile.contains(newer), "{newer:?}");
            profile = profile.replace(newer, older);
        }
    }
    let home = Belljar::new(BELLJAR);
    let parsed = |profile: &str| {
        let mut parser = home.client(APPARMOR_PARSER);
        parser.args(["--skip-kernel-load", "--skip-cache"]);
        command::answer(parser, profile.as_bytes())
    };
    succeeds(&parsed(&profile));
    assert_ne!(parsed(&profile.replace("unconfined", "confined")).code, Some(0), "it takes anything");
}

/// Docker's filter says that there is no `clone3`, and lets nobody make namespaces. `landlock`, the level that is left, must be had there.
#[test]
fn dockers_filter_leaves_a_level() {
    let home = Belljar::new(BELLJAR);
    let filtered = |arguments: &[&str]| {
        let mut python = home.client("python3");
        python.arg(Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/packaging/filtered.py")).arg(BELLJAR);
        python.args(arguments).env("BELLJAR_REQUIRE", "landlock");
        command::answer(python, b"")
    };
    let doctor: Value = serde_json::from_str(filtered(&["doctor", "--json"]).text()).expect("JSON");
    assert_eq!((&doctor["level"], &doctor["accepted"]), (&json!("landlock"), &json!(true)), "{doctor:#}");
    let run = filtered(&["run", "-l", "bash", "--json", "-c", "(echo $((6 * 7))) & wait; cat /etc/shadow"]);
    let result: Value = serde_json::from_str(run.text()).expect("JSON");
    assert_eq!((&result["stdout"], &result["exit_code"]), (&json!("42\n"), &json!(1)), "{result:#}");
    assert_eq!(result["isolation"]["level"], "landlock", "{result:#}");
}

/// What its readers look for, and nothing that its readers refuse.
#[test]
fn the_skill_says_when_to_use_it() {
    let skill = fs::read_to_string(packaging("skill/SKILL.md")).expect("the skill");
    let mut lines = skill.lines();
    assert_eq!((lines.next(), lines.next()), (Some("---"), Some("name: belljar")));
    let description = lines.next().and_then(|line| line.strip_prefix("description: ")).expect("a description");
    assert!(description.len() <= 1024 && description.contains("Use when"), "{description}");
    assert_eq!(lines.next(), Some("---"));
    // The tools that it tells of are there.
    let mut client = Client::initialized();
    let tools = client.request("tools/list", &json!({}))["result"]["tools"].take();
    let names: Vec<&str> = tools.as_array().expect("a list").iter().filter_map(|tool| tool["name"].as_str()).collect();
    for told in ["run_code", "write_file", "read_file", "list_files", "close_session", "fork_session", "list_runtimes"]
    {
        assert!(skill.contains(&format!("`{told}`")) && names.contains(&told), "{told}");
    }
}

fn is_installed(tool: &str, package: &str) -> bool {
    let is_there = Path::new(tool).is_file();
    if !is_there {
        runtimes::skip(&format!("there is no `{tool}`: Debian's package `{package}` has it"));
    }
    is_there
}

fn packaging(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../packaging").join(path)
}

fn read_json(path: &Path) -> Value {
    serde_json::from_slice(&fs::read(path).expect("a file"))
        .unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

#[track_caller]
fn succeeds(answer: &Answer) {
    assert_eq!(answer.code, Some(0), "{answer:?}");
}
