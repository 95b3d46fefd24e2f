//! A server that is killed while a session is being saved: what was saved before is there, or what was being saved, and whole.

use std::thread;
use std::time::{Duration, Instant};

use serde_json::json;
use testkit::processes;
use testkit::random::Random;

use crate::client::Client;
use crate::world::World;
use crate::{printed, seed};

const KILLS: u64 = 6;

fn call(client: &mut Client, tool: &str, session: &str, name: &str) -> serde_json::Value {
    let arguments = json!({"session": session, "as": name});
    client.request("tools/call", &json!({"name": tool, "arguments": arguments}))["result"].take()
}

#[test]
fn what_is_saved_is_the_old_or_the_new_and_whole() {
    let Some(world) = World::new() else { return };
    let mut random = Random::new(seed());
    let fill = |client: &mut Client, number: u64| {
        let code = format!("import random\nn = {number}\ndata = random.Random(n).randbytes(16 << 20)");
        let cell = json!({"session": "s", "engine": "wasm", "language": "python", "code": code});
        printed(&client.run(&cell));
    };
    let mut client = world.serve(&["--log", "off"]);
    fill(&mut client, 0);
    let started = Instant::now();
    assert_eq!(call(&mut client, "save_session", "s", "kept")["isError"], false);
    let whole = started.elapsed();
    let mut last = 0;
    for number in 1..=KILLS {
        fill(&mut client, number);
        client.send("tools/call", &json!({"name": "save_session", "arguments": {"session": "s", "as": "kept"}}));
        let micros = u64::try_from(whole.as_micros()).expect("not that long");
        thread::sleep(Duration::from_micros(random.below(micros * 5 / 4)));
        processes::kill(client.pid());
        drop(client);
        client = world.serve(&["--log", "off"]);
        assert_eq!(world.drafts(), Vec::<std::path::PathBuf>::new());
        assert_eq!(call(&mut client, "restore_session", "kept", "s")["isError"], false);
        let code = "import random\nassert data == random.Random(n).randbytes(16 << 20)\nprint(n)";
        let text = printed(&client.run(&json!({"session": "s", "language": "python", "code": code}))).to_owned();
        let now: u64 = text.trim().parse().expect("a number");
        assert!([last, number].contains(&now), "{now}, and not {last} or {number}");
        last = now;
    }
}
