//! Python environments of the operator's: venv, uv, conda. Chosen by callers where the operator allows it, read-only to programs.
//!
//! conda itself cannot be had from the registries that tests reach; its environment here is a Python of its own below one folder, with
//! `conda-meta`, which is what one of conda's is.

#![expect(clippy::expect_used, clippy::indexing_slicing, clippy::panic, reason = "a failed check is a failed test")]

#[path = "mcp/client.rs"]
#[expect(dead_code, reason = "the tests of MCP itself need more of it")]
mod client;

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use client::{Client, initialize};
use serde_json::{Value, json};
use testkit::arena;

/// A folder with environments, and the configuration of a server that allows them.
struct World {
    folder: tempfile::TempDir,
}

impl World {
    fn new() -> Self {
        let folder = tempfile::Builder::new().prefix("environments").tempdir_in("/var/tmp").expect("a folder");
        let world = Self { folder };
        let allow = world.path("allowed");
        fs::create_dir(&allow).expect("made");
        let text = format!("[environments]\nallow = [{:?}]\n", allow.display().to_string());
        fs::write(world.path("belljar.toml"), text).expect("written");
        world
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// An environment as `python3 -m venv` makes it, with a package in it.
    fn venv(&self, name: &str, made_by: &str) -> PathBuf {
        let root = self.path(name);
        fs::create_dir_all(root.join("bin")).expect("made");
        symlink(python(), root.join("bin/python3")).expect("linked");
        symlink("python3", root.join("bin/python")).expect("linked");
        let configuration = format!("home = /usr/bin\n{made_by}include-system-site-packages = false\n");
        fs::write(root.join("pyvenv.cfg"), configuration).expect("written");
        install(&root.join("lib").join(version_folder()).join("site-packages"));
        root
    }

    /// An environment as conda makes it: a whole Python, and a list of what is in it.
    fn conda(&self, name: &str) -> PathBuf {
        let root = self.path("allowed/envs").join(name);
        for part in ["bin", "lib", "conda-meta"] {
            fs::create_dir_all(root.join(part)).expect("made");
        }
        let real = fs::canonicalize(python()).expect("there");
        arena::copy_program(&real, &root.join("bin/python3"));
        copy_tree(&Path::new("/usr/lib").join(version_folder()), &root.join("lib").join(version_folder()));
        // Where Debian's Python looks for packages below any prefix but its own.
        install(&root.join("lib/python3/dist-packages"));
        install(&root.join("lib").join(version_folder()).join("site-packages"));
        root
    }

    fn serve(&self) -> Client {
        let config = self.path("belljar.toml").display().to_string();
        let mut client = Client::start(&["--config", &config]);
        client.request("initialize", &initialize("2025-11-25"));
        client.notify("notifications/initialized", &json!({}));
        client
    }
}

fn python() -> &'static str {
    "/usr/bin/python3"
}

/// Such as `python3.11`.
fn version_folder() -> String {
    let real = fs::canonicalize(python()).expect("Python is here");
    real.file_name().expect("a name").to_string_lossy().into_owned()
}

fn install(site: &Path) {
    fs::create_dir_all(site.join("greeter-2.5.dist-info")).expect("made");
    fs::write(site.join("greeter.py"), "words = 'hello from the environment'\n").expect("written");
    let metadata = "Metadata-Version: 2.1\nName: Greeter\nVersion: 2.5\n\nText: Name: not this\n";
    fs::write(site.join("greeter-2.5.dist-info/METADATA"), metadata).expect("written");
}

fn copy_tree(from: &Path, to: &Path) {
    fs::create_dir_all(to).expect("made");
    for entry in fs::read_dir(from).expect("there").flatten() {
        let (path, target) = (entry.path(), to.join(entry.file_name()));
        let kind = entry.file_type().expect("a kind");
        if kind.is_dir() && !["test", "__pycache__", "idlelib"].contains(&&*entry.file_name().to_string_lossy()) {
            copy_tree(&path, &target);
        } else if kind.is_file() {
            fs::copy(&path, &target).expect("copied");
        }
    }
}

fn call(client: &mut Client, tool: &str, arguments: &Value) -> Value {
    client.request("tools/call", &json!({"name": tool, "arguments": arguments}))["result"].clone()
}

fn text(result: &Value) -> &str {
    result["content"][0]["text"].as_str().unwrap_or_else(|| panic!("no text in {result}"))
}

const GREET: &str = "import greeter, sys\nprint(greeter.words, sys.prefix)";

#[test]
fn each_kind_can_be_chosen_and_left() {
    let world = World::new();
    let venv = world.venv("allowed/plain", "");
    let uv = world.venv("allowed/project/.venv", "uv = 0.13.7\n");
    let conda = world.conda("analysis");
    let mut client = world.serve();
    for (arguments, root) in [
        (json!({"type": "venv", "path": venv}), &venv),
        (json!({"type": "uv", "path": world.path("allowed/project")}), &uv),
        (json!({"type": "conda", "name": "analysis"}), &conda),
    ] {
        let configured = call(&mut client, "configure_environment", &arguments);
        assert_eq!(configured["structuredContent"]["type"], arguments["type"], "{configured}");
        let found = call(&mut client, "get_environment", &json!({}));
        assert_eq!(found["structuredContent"], configured["structuredContent"]);
        // The second one is one that waited.
        for _ in 0..2 {
            let result = client.run(&json!({"language": "python", "code": GREET}));
            let expected = format!("hello from the environment {}\n", root.display());
            assert_eq!(result["structuredContent"]["stdout"], expected, "{result}");
            assert_eq!(result["structuredContent"]["engine"], "native");
        }
        let listed = call(&mut client, "list_packages", &json!({"packages": ["greeter", "nope"]}));
        let expected = json!({"packages": [{"name": "Greeter", "version": "2.5"}], "missing": ["nope"]});
        assert_eq!(listed["structuredContent"], expected, "{listed}");
        let write = format!("open({:?}, 'w')", root.join("bin/python3").display().to_string());
        let result = client.run(&json!({"language": "python", "code": write}));
        assert_eq!(
            result["structuredContent"]["error"]["message"].as_str().map(|it| it.contains("Read-only")),
            Some(true),
            "{result}"
        );
    }
    call(&mut client, "configure_environment", &json!({"type": "host"}));
    let result = client.run(&json!({"language": "python", "code": "1 + 1"}));
    assert_eq!(result["structuredContent"]["engine"], "wasm", "{result}");
}

#[test]
fn what_makes_no_sense_is_refused_and_changes_nothing() {
    let world = World::new();
    let venv = world.venv("allowed/plain", "");
    let outside = world.venv("elsewhere", "");
    symlink(&outside, world.path("allowed/link")).expect("linked");
    // Opened as a file, it would be waited for without end.
    for folder in ["allowed/waits", "waits"] {
        let root = world.venv(folder, "");
        fs::remove_file(root.join("pyvenv.cfg")).expect("it is there");
        let fifo = arena::host_command("mkfifo").arg(root.join("pyvenv.cfg")).status();
        assert!(fifo.expect("mkfifo").success());
    }
    let mut client = world.serve();
    call(&mut client, "configure_environment", &json!({"type": "venv", "path": venv}));
    let nothing = "there is no Python environment at";
    for (arguments, said) in [
        (json!({"type": "venv", "path": outside}), nothing),
        (json!({"type": "venv", "path": world.path("nope")}), nothing),
        (json!({"type": "venv", "path": world.path("waits")}), nothing),
        (json!({"type": "venv", "path": world.path("allowed/waits")}), nothing),
        (json!({"type": "venv", "path": world.path("allowed/link")}), nothing),
        (json!({"type": "venv", "path": world.path("allowed/nope")}), nothing),
        (json!({"type": "venv", "path": "allowed/plain"}), "which is relative"),
        (json!({"type": "conda", "name": "../plain"}), "is no name of an environment"),
        (json!({"type": "conda", "path": venv}), "is an environment of venv, not of conda"),
        (json!({"type": "venv"}), "neither `path` nor `name`"),
        (json!({"type": "pipenv", "path": venv}), "`type` cannot be used"),
    ] {
        let result = call(&mut client, "configure_environment", &arguments);
        assert!(result["isError"] == true && text(&result).contains(said), "{arguments}: {result}");
        let found = call(&mut client, "get_environment", &json!({}));
        assert_eq!(found["structuredContent"]["path"], venv.display().to_string());
    }
}

#[test]
fn nothing_can_be_chosen_unless_the_operator_says_so() {
    let mut client = Client::initialized();
    let result = call(&mut client, "configure_environment", &json!({"type": "venv", "path": "/usr"}));
    assert!(text(&result).contains("allows no Python environments"), "{result}");
    let found = call(&mut client, "get_environment", &json!({}));
    assert_eq!(found["structuredContent"]["type"], "host", "{found}");
}
