//! The same for an ordinary user, with and without namespaces: where a supervisor is no init, nothing ends by itself.

use std::fs;
use std::os::unix::fs::chown;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use serde_json::json;
use testkit::arena::{self, Arena, Setup, installed};
use testkit::processes;

use crate::client::{BELLJAR, Client};
use crate::tree::{Tree, Victim};
use crate::{SOON, printed, told};

/// A program that leaves a process which listens to nobody.
const STUBBORN: &str = "trap '' TERM INT HUP\n(trap '' TERM INT HUP; setsid sh -c 'while :; do sleep 1; done; : '\"$1\") &\necho x > file; echo up; while :; do sleep 1; done";

fn killed_in(setup: Setup) {
    let arena = match Arena::open(setup) {
        Ok(arena) => arena,
        Err(unavailable) => return unavailable.skip(setup),
    };
    let home = arena::shared_directory().join(format!("{setup:?}"));
    let scratch = home.join("tmp");
    fs::create_dir_all(&scratch).expect("ours");
    for folder in [&home, &scratch] {
        chown(folder, Some(arena.uid()), Some(arena.uid())).expect("root may");
    }
    let serve = || {
        let mut command = arena.command(installed(Path::new(BELLJAR)));
        command.args(["serve", "--log", "off", "--require", "landlock"]).env("HOME", &home).env("TMPDIR", &scratch);
        Client::of(command).greeted()
    };
    // One folder stays, for all servers of the user; runs have theirs in it.
    let entries = |folder: &Path| fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path());
    let left = || entries(&scratch).flat_map(|folder| entries(&folder).collect::<Vec<_>>()).collect::<Vec<_>>();
    let mut client = serve();
    for (number, victim) in [Victim::Supervisor, Victim::Launcher, Victim::Server].into_iter().enumerate() {
        let marker = format!("stubborn-{setup:?}-{}-{number}", std::process::id());
        // More time than is waited for its end.
        let limit = 4 * SOON.as_millis();
        let arguments = json!({
            "language": "bash", "engine": "native", "code": STUBBORN, "args": [marker], "timeout_ms": limit,
        });
        let params = json!({"name": "run_code", "arguments": arguments, "_meta": {"progressToken": number}});
        let id = client.send("tools/call", &params);
        assert_eq!(client.next()["params"]["message"], "up\n");
        assert!(processes::marked(&marker).len() > 1, "it has begun");
        let tree = Tree::of(client.pid());
        let found = tree.find(victim);
        assert!(!found.is_empty(), "{victim:?}");
        for pid in &found {
            processes::kill(*pid);
        }
        let since = Instant::now();
        if victim == Victim::Server {
            tree.assert_gone(since, SOON);
            // Reaped: of one that is not, nobody knows that it is gone.
            drop(client);
            client = serve();
        } else {
            let answer = client.answer_within(id, SOON).unwrap_or_else(|| panic!("{victim:?}: no answer"));
            assert!(told(&answer["result"]).ends_with("run it again"), "{setup:?}, {victim:?}: {answer}");
        }
        processes::assert_gone(&marker, SOON);
        let result = client.run(&json!({"language": "bash", "engine": "native", "code": "echo again"}));
        assert_eq!(printed(&result), "again\n", "{setup:?}, {victim:?}");
        assert!(since.elapsed() < SOON, "{setup:?}, {victim:?}: {:?}", since.elapsed());
        // Workers have one each.
        let workers = || Tree::of(client.pid()).find(Victim::Worker).len();
        let own = format!("run-{}-", client.pid());
        let is_own = |path: &PathBuf| path.file_name().is_some_and(|name| name.to_string_lossy().starts_with(&own));
        while left().len() > workers() || !left().iter().all(is_own) {
            assert!(since.elapsed() < SOON, "{setup:?}, {victim:?}: {own} {:?}", left());
            std::thread::sleep(Duration::from_millis(10));
        }
    }
}

#[test]
fn an_ordinary_users_server() {
    killed_in(Setup::Unprivileged);
}

#[test]
fn a_server_without_namespaces() {
    killed_in(Setup::NoUserNamespaces);
}
