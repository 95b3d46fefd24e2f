//! A disk that fills up: said, nothing half written is used, and all is well again when there is room.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};
use testkit::arena;

use crate::client::Client;
use crate::world::World;
use crate::{printed, told};

/// Starts a server for which a folder is a file system of this size. `None` after saying that the test is skipped.
fn serve_on_small_disk(world: &World, folder: &Path, size: &str, more: &[&str]) -> Option<Client> {
    if !arena::running_as_root() {
        testkit::runtimes::skip("the tests do not run as root, who alone mounts file systems");
        return None;
    }
    fs::create_dir_all(folder).expect("ours");
    let mount = format!("mount -t tmpfs -o size={size},mode=700 tmpfs '{}' && exec \"$@\"", folder.display());
    let starter = ["unshare", "--mount", "--propagation", "private", "sh", "-c", &mount, "sh"];
    Some(Client::of(world.command_by(&starter, &[&["serve", "--log", "off"], more].concat())).greeted())
}

/// The folder as the server sees it.
fn seen_by(client: &Client, folder: &Path) -> PathBuf {
    Path::new("/proc").join(client.pid().to_string()).join("root").join(folder.strip_prefix("/").expect("absolute"))
}

fn grow(client: &Client, folder: &Path, size: &str) {
    let mut nsenter = arena::host_command("nsenter");
    nsenter.args(["--mount", "--target", &client.pid().to_string(), "mount", "-o"]);
    let status = nsenter.arg(format!("remount,size={size}")).arg(folder).status().expect("the host has it");
    assert!(status.success(), "{status}");
}

fn cell(client: &mut Client, session: &str, code: &str) -> Value {
    let result = client.run(&json!({"session": session, "engine": "wasm", "language": "python", "code": code}));
    printed(&result);
    result["structuredContent"]["result"].clone()
}

fn call(client: &mut Client, tool: &str, session: &str, name: &str) -> Value {
    let arguments = json!({"session": session, "as": name});
    client.request("tools/call", &json!({"name": tool, "arguments": arguments}))["result"].take()
}

#[test]
fn a_session_that_does_not_fit_is_not_saved_and_the_one_before_stays() {
    let Some(world) = World::new() else { return };
    let folder = world.cache().join("sessions");
    let Some(mut client) = serve_on_small_disk(&world, &folder, "3m", &[]) else { return };
    cell(&mut client, "s", "x = 1");
    assert_eq!(call(&mut client, "save_session", "s", "kept")["isError"], false);
    cell(&mut client, "s", "import os\nx = os.urandom(8 << 20)");
    let result = call(&mut client, "save_session", "s", "kept");
    let expected =
        "Failed, and not because of the code: the session cannot be saved: No space left on device (os error 28)";
    assert_eq!(told(&result), expected);
    // What was half written is gone, what was saved is there, and so is the session.
    let kept: Vec<_> = fs::read_dir(seen_by(&client, &folder)).expect("there").flatten().collect();
    let names: Vec<_> = kept.iter().flat_map(|entry| fs::read_dir(entry.path()).expect("a folder").flatten()).collect();
    assert_eq!(names.iter().map(fs::DirEntry::file_name).collect::<Vec<_>>(), ["kept.session"]);
    assert_eq!(call(&mut client, "restore_session", "kept", "copy")["isError"], false);
    assert_eq!(cell(&mut client, "copy", "x"), 1);
    assert_eq!(cell(&mut client, "s", "len(x)"), 8 << 20);
    grow(&client, &folder, "64m");
    assert_eq!(call(&mut client, "save_session", "s", "kept")["isError"], false);
    assert_eq!(call(&mut client, "restore_session", "kept", "larger")["isError"], false);
    assert_eq!(cell(&mut client, "larger", "len(x)"), 8 << 20);
}

#[test]
fn without_room_for_the_audit_log_nothing_runs_and_no_run_is_missing_from_it() {
    let Some(world) = World::new() else { return };
    let folder = world.directory().join("audit");
    let log = folder.join("log.jsonl");
    let audit = ["--audit", log.to_str().expect("text")];
    let Some(mut client) = serve_on_small_disk(&world, &folder, "32k", &audit) else { return };
    let program = json!({"language": "javascript", "engine": "wasm", "code": "console.log(1)"});
    let mut ran = 0;
    let refusal = loop {
        let result = client.run(&program);
        if result["isError"] == true {
            break told(&result).to_owned();
        }
        ran += 1;
        assert!(ran < 1000, "the log does not fill up");
    };
    let expected = "Refused: this server must write down every run, and its audit log cannot be written.";
    assert!(refusal.starts_with(expected), "{refusal}");
    assert_eq!(told(&client.run(&program)), refusal, "as long as there is no room");
    grow(&client, &folder, "1m");
    assert_eq!(printed(&client.run(&program)), "1\n");
    let copy = world.directory().join("copy.jsonl");
    fs::copy(seen_by(&client, &log), &copy).expect("a copy");
    let text = fs::read_to_string(&copy).expect("a log");
    assert_eq!(text.matches("\"verdict\":\"ran\"").count(), ran + 1);
    let verified = world.command(&["audit", "verify", "copy.jsonl"]).output().expect("belljar");
    assert!(verified.status.success(), "{verified:?}");
    // A server that was stopped in the middle of a line is not kept from starting.
    drop(client);
    fs::write(&copy, format!("{text}{{\"seq\":")).expect("written");
    let mut client = world.serve(&["--audit", "copy.jsonl", "--log", "off"]);
    assert_eq!(printed(&client.run(&program)), "1\n");
}

/// Machine code is loaded from there: what is half written must never have its name.
#[test]
fn a_module_that_does_not_fit_is_not_installed() {
    let Some(world) = World::new().filter(|_| arena::running_as_root()) else { return };
    let modules = || {
        let entries =
            fs::read_dir(world.cache().join("modules")).expect("a folder").flatten().map(|entry| entry.path());
        entries.filter(|path| path.display().to_string().contains("/javascript-")).collect::<Vec<_>>()
    };
    for module in modules() {
        fs::remove_file(module).expect("ours");
    }
    // Where things are made before they are complete.
    let folder = world.cache().join("tmp");
    fs::create_dir_all(&folder).expect("ours");
    let mount = format!("mount -t tmpfs -o size=1m,mode=700 tmpfs '{}' && exec \"$@\"", folder.display());
    let starter = ["unshare", "--mount", "--propagation", "private", "sh", "-c", &mount, "sh"];
    let failed = world.command_by(&starter, &["setup", "javascript"]).output().expect("belljar");
    let said = String::from_utf8_lossy(&failed.stderr);
    assert!(!failed.status.success() && said.contains("No space left on device"), "{said}");
    assert_eq!(modules(), Vec::<PathBuf>::new());
    let succeeded = world.command(&["setup", "javascript"]).output().expect("belljar");
    assert!(succeeded.status.success(), "{succeeded:?}");
    let mut client = world.serve(&["--log", "off"]);
    let result = client.run(&json!({"language": "javascript", "engine": "wasm", "code": "console.log(1)"}));
    assert_eq!(printed(&result), "1\n");
}
