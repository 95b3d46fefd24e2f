//! The same for an ordinary user, with and without namespaces: where a supervisor is no init, nothing ends by itself.

use std::fs;
use std::os::unix::fs::{PermissionsExt as _, chown};
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

/// Swaps a folder for a link that leads out, beside folders that take a while to remove.
const SWAPPING: &str = "import ctypes, os, sys
for number in range(200): os.makedirs(f'many/{number}/inner')
os.mkdir('folder')
os.symlink(sys.argv[1], 'link')
swap = ctypes.CDLL(None).renameat2
print('up', flush=True)
os.fork()
while True: swap(-100, b'folder', -100, b'link', 2)";

/// Where servers of one set-up are, and their runs' files.
struct Place {
    arena: Arena,
    home: PathBuf,
    scratch: PathBuf,
}

impl Place {
    fn open(setup: Setup, name: &str) -> Option<Self> {
        let arena = match Arena::open(setup) {
            Ok(arena) => arena,
            Err(unavailable) => {
                unavailable.skip(setup);
                return None;
            }
        };
        let home = arena::shared_directory().join(format!("{setup:?}-{name}"));
        let scratch = home.join("tmp");
        fs::create_dir_all(&scratch).expect("ours");
        for folder in [&home, &scratch] {
            chown(folder, Some(arena.uid()), Some(arena.uid())).expect("root may");
        }
        Some(Self { arena, home, scratch })
    }

    fn serve(&self) -> Client {
        let mut command = self.arena.command(installed(Path::new(BELLJAR)));
        command.args(["serve", "--log", "off", "--require", "landlock"]);
        command.env("HOME", &self.home).env("TMPDIR", &self.scratch);
        Client::of(command).greeted()
    }

    /// What runs have on the host. One folder stays, for all servers of the user; runs have theirs in it.
    fn left(&self) -> Vec<PathBuf> {
        let entries = |folder: &Path| fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path());
        entries(&self.scratch).flat_map(|folder| entries(&folder).collect::<Vec<_>>()).collect()
    }

    /// Waits until only workers of this server have something: one each.
    #[track_caller]
    fn assert_cleared(&self, client: &Client, since: Instant) {
        let workers = || Tree::of(client.pid()).find(Victim::Worker).len();
        let own = format!("run-{}-", client.pid());
        let is_own = |path: &PathBuf| path.file_name().is_some_and(|name| name.to_string_lossy().starts_with(&own));
        while self.left().len() > workers() || !self.left().iter().all(is_own) {
            assert!(since.elapsed() < SOON, "{own} {:?}", self.left());
            std::thread::sleep(Duration::from_millis(10));
        }
    }
}

fn killed_in(setup: Setup) {
    let Some(place) = Place::open(setup, "killed") else { return };
    let mut client = place.serve();
    for (number, victim) in [Victim::Supervisor, Victim::Launcher, Victim::Server].into_iter().enumerate() {
        let marker = format!("stubborn-{setup:?}-{}-{number}", std::process::id());
        let arguments = json!({"language": "bash", "engine": "native", "code": STUBBORN, "args": [marker]});
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
            client = place.serve();
        } else {
            let answer = client.answer_within(id, SOON).unwrap_or_else(|| panic!("{victim:?}: no answer"));
            assert!(told(&answer["result"]).ends_with("run it again"), "{setup:?}, {victim:?}: {answer}");
        }
        processes::assert_gone(&marker, SOON);
        let result = client.run(&json!({"language": "bash", "engine": "native", "code": "echo again"}));
        assert_eq!(printed(&result), "again\n", "{setup:?}, {victim:?}");
        assert!(since.elapsed() < SOON, "{setup:?}, {victim:?}: {:?}", since.elapsed());
        place.assert_cleared(&client, since);
    }
}

/// Whoever removes its files does so alone, and after its end.
#[test]
fn a_cancelled_run_leaves_and_changes_nothing() {
    let Some(place) = Place::open(Setup::NoUserNamespaces, "cancelled") else { return };
    let outside = place.home.join("outside");
    fs::create_dir(&outside).expect("ours");
    chown(&outside, Some(place.arena.uid()), Some(place.arena.uid())).expect("root may");
    fs::set_permissions(&outside, fs::Permissions::from_mode(0o755)).expect("root may");
    let mode = || fs::metadata(&outside).expect("it is there").permissions().mode();
    let (before, mut client) = (mode(), place.serve());
    for number in 0..5 {
        let marker = format!("swapping-{}-{number}", std::process::id());
        // From a shell: no Python waits then for the next program, with a folder of its own.
        let code = "exec python3 -uc \"$@\"";
        let arguments =
            json!({"language": "bash", "engine": "native", "code": code, "args": [SWAPPING, outside, marker]});
        let params = json!({"name": "run_code", "arguments": arguments, "_meta": {"progressToken": number}});
        let id = client.send("tools/call", &params);
        assert!(client.next()["params"]["message"].as_str().is_some_and(|said| said.starts_with("up")));
        client.notify("notifications/cancelled", &json!({"requestId": id}));
        let since = Instant::now();
        processes::assert_gone(&marker, SOON);
        place.assert_cleared(&client, since);
        assert_eq!(mode(), before);
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
