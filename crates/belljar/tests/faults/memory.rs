//! A machine without memory: the kernel takes runs before the server, which says so and serves the next.

use std::fs;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::json;
use testkit::arena;

use crate::client::Client;
use crate::programs::{QUICK, quick};
use crate::world::World;
use crate::{SOON, printed};

/// A group of the version 1 memory controller, or of the unified hierarchy.
struct Group(PathBuf);

impl Group {
    fn make(bytes: u64) -> Option<Self> {
        let name = format!("faults-{}", std::process::id());
        for (parent, limit) in [("memory", "memory.limit_in_bytes"), ("", "memory.max")] {
            let membership = fs::read_to_string("/proc/self/cgroup").ok()?;
            let is_it = |line: &&str| line.split(':').nth(1) == Some(parent);
            let Some(path) = membership.lines().find(is_it).and_then(|line| line.splitn(3, ':').nth(2)) else {
                continue;
            };
            let root = Path::new("/sys/fs/cgroup").join(parent);
            let group = Self(root.join(path.trim_start_matches('/')).join(&name));
            if fs::create_dir(&group.0).is_ok() && fs::write(group.0.join(limit), bytes.to_string()).is_ok() {
                return Some(group);
            }
        }
        None
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        // What launchers made in it goes first.
        for _ in 0..50 {
            for folder in [2, 1].iter().flat_map(|depth| below(&self.0, *depth)) {
                fs::remove_dir(folder).ok();
            }
            if fs::remove_dir(&self.0).is_ok() {
                return;
            }
            thread::sleep(Duration::from_millis(20));
        }
    }
}

fn below(folder: &Path, depth: u32) -> Vec<PathBuf> {
    let folders = fs::read_dir(folder).into_iter().flatten().flatten();
    let folders = folders.filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir())).map(|entry| entry.path());
    if depth == 1 { folders.collect() } else { folders.flat_map(|folder| below(&folder, depth - 1)).collect() }
}

#[test]
#[expect(clippy::print_stderr, reason = "figures for whoever reads the log")]
fn who_is_taken_for_want_of_memory_is_told() {
    let Some(world) = World::new() else { return };
    let Some(group) = Group::make(400 << 20).filter(|_| arena::running_as_root()) else {
        return testkit::runtimes::skip("there is no memory controller that the tests may use");
    };
    let join = format!("echo $$ > '{}/cgroup.procs' && exec \"$@\"", group.0.display());
    let command = world.command_by(&["sh", "-c", &join, "sh"], &["serve", "--log", "off"]);
    let mut client = Client::of(command).greeted();
    let hungry = "held = []\nfor _ in range(400): held.append(b'x' * (1 << 20))\nprint(len(held))";
    for _ in 0..2 {
        // More than there is, and within what each may have.
        let call = |client: &mut Client, engine: &str| {
            let arguments = json!({"language": "python", "engine": engine, "code": hungry, "memory_mb": 500});
            client.send("tools/call", &json!({"name": "run_code", "arguments": arguments}))
        };
        let calls = ["wasm", "wasm", "native", "native"].map(|engine| (engine, call(&mut client, engine)));
        for (engine, id) in calls {
            let result = client.answer(id)["result"].take();
            let content = &result["structuredContent"];
            let text = result["content"][0]["text"].as_str().unwrap_or_default();
            let expected = match engine {
                "wasm" => text.ends_with("the worker process that hosted this run has ended; run it again"),
                _ => content["limit"] == "memory" || content["signal"] == "SIGKILL" || text.ends_with("run it again"),
            };
            // One may be lucky.
            assert!(expected || content["stdout"] == "400\n", "{engine}: {result}");
        }
        let since = Instant::now();
        for kind in &QUICK {
            let (arguments, expected) = quick(kind, "next");
            assert_eq!(printed(&client.run(&arguments)), expected, "{kind:?}");
        }
        eprintln!("after the last was told, all kinds were served within {:.0?}", since.elapsed());
        assert!(since.elapsed() < SOON, "{:?}", since.elapsed());
    }
}
