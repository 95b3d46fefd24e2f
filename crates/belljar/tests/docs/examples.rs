//! Every block of code in the documentation is run, or says who runs it.

use std::fs;
use std::path::{Path, PathBuf};
use std::thread;

use serde_json::{Value, json};
use testkit::arena::SEARCH_PATH;
use testkit::conformance::command::{self, Belljar};
use testkit::runtimes;

use crate::client::{BELLJAR, Client};
use crate::page::{self, Fence, Page, repository};
use crate::shell::{self, HOME, fits};
use crate::{claims, nothing_wrong};

/// Blocks that are not run here, by page and first words, and the test that holds them or the reason why none can.
#[rustfmt::skip]
const ELSEWHERE: &[(&str, &str, Why)] = &[
    ("README.md", "cargo install --locked --path", Why::Not(BUILDS)),
    ("README.md", "cargo test --workspace", Why::Not("this is one of those tests, and benchmarks measure release builds")),
    ("docs/installing.md", "cargo install --locked --path", Why::Not(BUILDS)),
    ("docs/installing.md", "belljar setup --export", Why::Test("setup/archives.rs::what_is_exported_is_imported_without_building")),
    ("docs/installing.md", "cargo build --release", Why::Test(NPM)),
    ("docs/installing.md", "packaging/pypi/build", Why::Test(PYPI)),
    ("docs/installing.md", "packaging/mcpb/pack", Why::Test("packaging.rs::a_bundle_validates_and_serves")),
    ("docs/installing.md", "docker build", Why::Not("not every machine has Docker; what its filter leaves is in packaging.rs")),
    ("docs/installing.md", "sudo runuser", Why::Not("needs a user of that name")),
    ("docs/installing.md", "cp -r packaging/skill", Why::Test("packaging.rs::the_skill_says_when_to_use_it")),
    ("docs/programs.md", "packaging/pypi/build", Why::Test(PYPI)),
    ("docs/programs.md", "cargo build --release", Why::Test(NPM)),
    ("docs/packages.md", "$ belljar run -l python -c 'import pandas", Why::Test("packages/table.rs::python_in_native")),
    ("docs/profiles.md", "{\"command\": \"belljar\", \"args\": [\"serve\", \"--profile\", \"mcp-code-executor\"]", Why::Test("profiles/executor.rs::it_installs_into_its_environment")),
    ("docs/grants.md", "belljar run --network", Why::Test("grants/network.rs::granted_hosts_are_reached")),
];

/// What examples use beside belljar.
const TOOLS: &[&str] = &["curl", "jq", "openssl", "perl", "python3"];

const BUILDS: &str = "this test has the program that it builds";
const NPM: &str = "sdk_typescript.rs::the_packages_for_npm_bring_the_binary_and_the_library";
const PYPI: &str = "sdk_python.rs::the_wheel_has_the_program_and_the_package";

/// Written by the code, and by the benchmark.
const GENERATED: [&str; 2] = ["docs/reference/", "docs/benchmarks.md"];

#[derive(Debug)]
enum Why {
    /// By this one.
    Test(&'static str),
    /// Because of this.
    Not(&'static str),
}

/// Programs in the documentation are copies of these, which other tests run: `sdk_python.rs::its_tests_pass`,
/// `sdk_typescript.rs::the_sdk_passes_its_tests` and `command_line.rs::another_program_can_embed_it`.
const PROGRAMS: &[(&str, &str)] = &[
    ("python", "sdk/python/README.md"),
    ("ts", "sdk/typescript/examples/quickstart.ts"),
    ("rust", "crates/belljar/examples/embed.rs"),
];

#[test]
fn every_example_is_true() {
    if let Some(tool) =
        TOOLS.iter().find(|tool| !SEARCH_PATH.split(':').any(|folder| Path::new(folder).join(tool).is_file()))
    {
        return runtimes::skip(&format!("examples need `{tool}`"));
    }
    let Some(cache) = runtimes::provisioned(BELLJAR) else { return };
    let is_written = |page: &Page| !GENERATED.iter().any(|generated| page.name.starts_with(generated));
    let pages: Vec<Page> = page::all().into_iter().filter(is_written).collect();
    let wrong: Vec<String> = thread::scope(|scope| {
        let checks: Vec<_> = pages.iter().map(|page| scope.spawn(move || check(page, cache))).collect();
        checks.into_iter().flat_map(|check| check.join().expect("a check ends")).collect()
    });
    nothing_wrong(&wrong);
}

#[test]
fn what_is_not_run_here_says_why() {
    let pages = page::all();
    for (name, start, why) in ELSEWHERE {
        let page = pages.iter().find(|page| page.name == *name).unwrap_or_else(|| panic!("there is no {name}"));
        assert!(page.fences().iter().any(|fence| fence.text.starts_with(start)), "{name} has nothing like `{start}`");
        match why {
            Why::Test(test) => claims::assert_test(test),
            Why::Not(reason) => assert!(!reason.is_empty()),
        }
    }
}

/// What is wrong with a page's examples.
fn check(page: &Page, cache: &'static Path) -> Vec<String> {
    let is_elsewhere =
        |fence: &Fence| ELSEWHERE.iter().any(|(name, start, _)| page.name == *name && fence.text.starts_with(start));
    let fences: Vec<Fence> = page.fences().into_iter().filter(|fence| !is_elsewhere(fence)).collect();
    let home = Belljar::new(BELLJAR).with_runtimes(cache);
    let mut calls = Calls { home: &home, server: None, answer: None };
    let mut wrong = Vec::new();
    for fence in &fences {
        let before = calls.answer.take();
        let found = match fence.language.as_str() {
            "sh" | "console" => Ok(()),
            "python" | "ts" | "rust" => copied(fence),
            "toml" => settings(&home, fence),
            "json" => calls.json(fence, before.as_ref()),
            "text" => told(fence, before.as_ref()),
            other => Err(format!("`{other}` is no language of an example; see tests/docs/examples.rs")),
        };
        wrong.extend(found.err().map(|what| format!("{}: {what}", page.at(fence))));
    }
    let commands: Vec<&Fence> =
        fences.iter().filter(|fence| ["sh", "console"].contains(&fence.language.as_str())).collect();
    if !commands.is_empty() {
        wrong.extend(shell::run(page, &commands, cache));
    }
    wrong
}

fn copied(fence: &Fence) -> Result<(), String> {
    let (_, original) = PROGRAMS.iter().find(|(language, _)| *language == fence.language).expect("all are there");
    let text = fs::read_to_string(repository().join(original)).expect("an example");
    if text.contains(&fence.text) { Ok(()) } else { Err(format!("this is not in {original}, which is what is run")) }
}

/// Loads a configuration. Every command does, so the one that does least is enough.
fn settings(home: &Belljar, fence: &Fence) -> Result<(), String> {
    home.write("belljar.toml", there(home, "/srv", &fence.text));
    let answer = home.answer(["--config", "belljar.toml", "man"]);
    if answer.code == Some(0) { Ok(()) } else { Err(answer.stderr) }
}

/// The text with a folder of examples below our own home, and what it names there made.
fn there(home: &Belljar, folder: &str, text: &str) -> String {
    let below = home.directory().join(folder.trim_start_matches('/'));
    for name in text.split(['"', ':']).filter_map(|name| name.strip_prefix(folder)) {
        fs::create_dir_all(PathBuf::from(format!("{}{name}", below.display()))).expect("our own folder");
    }
    text.replace(folder, below.to_str().expect("text"))
}

/// Calls of tools that a page shows, to one server.
struct Calls<'a> {
    home: &'a Belljar,
    server: Option<Client>,
    /// What the last call came to, for the block right after it.
    answer: Option<Value>,
}

impl Calls<'_> {
    /// A call, what one answered, or a client's configuration.
    fn json(&mut self, fence: &Fence, before: Option<&Value>) -> Result<(), String> {
        let value: Value = serde_json::from_str(&fence.text).map_err(|error| error.to_string())?;
        if value["name"].is_string() && value["arguments"].is_object() {
            let server = self.server.get_or_insert_with(|| Client::of(self.home.command(["serve"])).greeted());
            let answer = server.request("tools/call", &value)["result"].take();
            let is_object = answer.is_object();
            self.answer = Some(answer);
            return if is_object { Ok(()) } else { Err("this call is an error of the protocol".to_owned()) };
        }
        if value["command"] == "belljar" {
            return self.configuration(&fence.text);
        }
        let answer = before.ok_or("this follows no call of a tool")?;
        let is_shown = contains(&answer["structuredContent"], &value);
        if is_shown { Ok(()) } else { Err(format!("the call before it answers {answer:#}")) }
    }

    /// Starts what a client would start. It ends where nobody speaks to it.
    fn configuration(&self, text: &str) -> Result<(), String> {
        let entry: Value = serde_json::from_str(&there(self.home, HOME, text)).expect("it was JSON before");
        let words = |value: &Value| value.as_str().expect("text").to_owned();
        let mut command = self.home.command(entry["args"].as_array().expect("a list").iter().map(words));
        command.envs(entry["env"].as_object().into_iter().flatten().map(|(name, value)| (name, words(value))));
        let answer = command::answer(command, b"");
        if answer.code == Some(0) { Ok(()) } else { Err(answer.stderr) }
    }
}

/// What a model reads of the call before.
fn told(fence: &Fence, before: Option<&Value>) -> Result<(), String> {
    let answer = before.ok_or("this follows no call of a tool")?;
    let text = answer["content"][0]["text"].as_str().unwrap_or_default();
    let is_shown = fits(fence.text.trim_end(), text.trim_end());
    if is_shown { Ok(()) } else { Err(format!("the call before it answers {text}")) }
}

/// Whether all that is shown is there. `"..."` is anything.
fn contains(value: &Value, shown: &Value) -> bool {
    match (value, shown) {
        (Value::Object(value), Value::Object(shown)) => {
            shown.iter().all(|(name, shown)| value.get(name).is_some_and(|value| contains(value, shown)))
        }
        (Value::Array(value), Value::Array(shown)) => {
            value.len() == shown.len() && value.iter().zip(shown).all(|(value, shown)| contains(value, shown))
        }
        (Value::String(value), Value::String(shown)) => fits(shown, value),
        (_, shown) => *shown == json!("...") || value == shown,
    }
}
