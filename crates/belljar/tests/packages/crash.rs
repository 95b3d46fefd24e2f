//! Servers that die, and servers that want the same at one time: nothing half made is ever used.

use std::time::{Duration, Instant};

use serde_json::{Map, Value, json};

use crate::client::Client;
use crate::printed;
use crate::site::{Site, names};

const KILLS: u32 = 20;

/// Enough modules to take a while to unpack and to compile.
fn large(names: impl Iterator<Item = String>) -> Value {
    let text = "def f(x):\n    return [x + n for n in range(10)]\n".repeat(20);
    let wheel = |name: &str| -> Map<String, Value> {
        let modules = (0..200).map(|number| (format!("{name}/m{number}.py"), Value::from(&*text)));
        modules.chain([(format!("{name}/__init__.py"), "x = 3\n".into())]).collect()
    };
    Value::Object(names.map(|name| (name.clone(), wheel(&name).into())).collect())
}

fn ask(package: &str) -> Value {
    let code = format!("import {package}.m199\nprint({package}.x, {package}.m199.f(1)[1])");
    json!({"language": "python", "engine": "native", "packages": [package], "code": code})
}

/// The moments go over the whole of an installation, as long as that takes here.
#[test]
fn a_killed_server_leaves_the_old_state_or_the_new() {
    let Some(site) = Site::of(0, &large((0..=KILLS).map(|number| format!("large{number}")))) else { return };
    let mut client = Client::of(site.serve()).greeted();
    let started = Instant::now();
    assert_eq!(printed(&client.run(&ask("large0"))), "3 2\n");
    let whole = started.elapsed();
    client.close();
    for number in 1..=KILLS {
        let ask = ask(&format!("large{number}"));
        let mut killed = Client::of(site.serve()).greeted();
        killed.send("tools/call", &json!({"name": "run_code", "arguments": ask}));
        std::thread::sleep(whole * number / KILLS);
        drop(killed);
        let mut client = Client::of(site.serve()).greeted();
        assert_eq!(printed(&client.run(&ask)), "3 2\n", "killed after {:?}", whole * number / KILLS);
        site.assert_nothing_half_made();
    }
}

#[test]
fn who_wants_the_same_gets_the_same() {
    let Some(site) = Site::of(0, &large(["wanted".to_owned()].into_iter())) else { return };
    let mut servers = [Client::of(site.serve()).greeted(), Client::of(site.serve()).greeted()];
    let call = json!({"name": "run_code", "arguments": ask("wanted")});
    let calls = servers.each_mut().map(|server| [(); 8].map(|()| server.send("tools/call", &call)));
    for (server, calls) in servers.iter_mut().zip(calls) {
        for id in calls {
            assert_eq!(printed(&server.answer(id)["result"]), "3 2\n");
        }
    }
    assert_eq!(names(&site.packages().join("layers")).len(), 1);
    site.assert_nothing_half_made();
    // Nobody waits for anybody any more.
    assert!(servers.map(Client::close).iter().all(|took| *took < Duration::from_secs(30)));
}
