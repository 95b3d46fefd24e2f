//! Grants of a server: what callers get without asking, what they may ask for, and in sessions.

use std::fs;
use std::process::Command;

use serde_json::{Value, json};
use testkit::arena::{self, Setup};

use crate::client::{BELLJAR, Client};
use crate::world::World;
use crate::{printed, refusal};

fn call(client: &mut Client, tool: &str, arguments: &Value) -> Value {
    client.request("tools/call", &json!({"name": tool, "arguments": arguments}))["result"].take()
}

fn serving(arguments: &[&str]) -> Command {
    let mut command = arena::host_command(BELLJAR);
    command.arg("serve").args(arguments);
    command
}

#[test]
fn every_run_of_a_server_sees_its_folders() {
    let folder = tempfile::tempdir().expect("a temporary directory");
    let mount = format!("{}:/data:rw", folder.path().display());
    let mut client = Client::of(serving(&["--mount", &mount])).greeted();
    let write = "open('/data/x', 'a').write('x')\nprint(open('/data/x').read())";
    for expected in ["x\n", "xx\n"] {
        let result = client.run(&json!({"language": "python", "code": write}));
        assert_eq!(printed(&result), expected);
        assert_eq!(result["structuredContent"]["isolation"]["granted"], json!(["folder /data rw"]));
    }
    let session = json!({"language": "python", "code": write, "session": "s"});
    for expected in ["xxx\n", "xxxx\n"] {
        let result = client.run(&session);
        assert_eq!(printed(&result), expected);
        assert_eq!(result["structuredContent"]["isolation"]["granted"], json!(["folder /data rw"]));
    }
    let shell = json!({"language": "bash", "code": "printf x >> /data/x; wc -c < /data/x", "session": "s"});
    assert_eq!(printed(&client.run(&shell)), "5\n");
    call(&mut client, "close_session", &json!({"session": "s"}));
    assert_eq!(fs::read_to_string(folder.path().join("x")).expect("it stays"), "xxxxx");
    let wasm = client.run(&json!({"language": "python", "code": "1", "engine": "wasm"}));
    let expected = "`engine` asks for `wasm`, which cannot see folders of the host, and this run is granted some";
    assert!(refusal(&wasm).contains(expected), "{wasm:#}");
    let runtimes = call(&mut client, "list_runtimes", &json!({}));
    assert_eq!(runtimes["structuredContent"]["folders"], json!(["folder /data rw"]));
    let tools = client.request("tools/list", &json!({}));
    let run_code = &tools["result"]["tools"][0];
    assert!(run_code["description"].as_str().expect("text").contains("with folder /data rw"), "{run_code:#}");
    assert_eq!(run_code["annotations"]["destructiveHint"], true);
}

#[test]
fn callers_ask_for_hosts_within_the_operators() {
    let Some(world) = World::open(Setup::Unprivileged) else { return };
    fs::write(world.stage.work().join("belljar.toml"), "[network]\nalways = [\"sub.allowed.example\"]\n")
        .expect("written");
    let serve = ["serve", "--config", "belljar.toml", "--network", "allowed.example"];
    let mut client = Client::of(world.command(&serve)).greeted();
    let get = |url: &str| {
        format!(
            "import urllib.request\nprint(urllib.request.urlopen('{url}', timeout=10).read().decode().split('\\n')[0])"
        )
    };
    let (always, asked) = (get("http://sub.allowed.example/"), get("http://allowed.example/"));
    let mut python = |code: &str, more: Value| {
        let mut arguments = json!({"language": "python", "code": code});
        arguments.as_object_mut().expect("an object").extend(more.as_object().cloned().expect("an object"));
        client.run(&arguments)
    };
    let granted = |result: &Value| result["structuredContent"]["isolation"]["granted"].clone();

    let result = python(&always, json!({}));
    assert_eq!(printed(&result), "203.0.113.10:80 | GET / HTTP/1.1 | Host: sub.allowed.example\n");
    assert_eq!(granted(&result), json!(["network sub.allowed.example"]));
    let result = python(&asked, json!({}));
    assert_eq!(result["structuredContent"]["error"]["kind"], "urllib.error.HTTPError", "{result:#}");
    let result = python(&asked, json!({"network": ["allowed.example"]}));
    assert_eq!(printed(&result), "203.0.113.10:80 | GET / HTTP/1.1 | Host: allowed.example\n");
    assert_eq!(granted(&result), json!(["network sub.allowed.example", "network allowed.example"]));
    let result = python(&asked, json!({"network": ["other.example"]}));
    let expected = "`network` asks for `other.example`, which this server's operator does not allow";
    assert!(refusal(&result).contains(expected), "{result:#}");
    let result = python("1", json!({"engine": "wasm"}));
    let expected = "`engine` asks for `wasm`, which cannot have network access, and this run is granted it";
    assert!(refusal(&result).contains(expected), "{result:#}");

    // A session has what it was opened with.
    let result = python(&asked, json!({"session": "s", "network": ["allowed.example"]}));
    assert_eq!(printed(&result), "203.0.113.10:80 | GET / HTTP/1.1 | Host: allowed.example\n");
    let result = python(&asked, json!({"session": "s"}));
    assert_eq!(printed(&result), "203.0.113.10:80 | GET / HTTP/1.1 | Host: allowed.example\n");
    assert_eq!(granted(&result), json!(["network sub.allowed.example", "network allowed.example"]));
    assert_eq!(
        printed(&python(&always, json!({"session": "t"}))),
        "203.0.113.10:80 | GET / HTTP/1.1 | Host: sub.allowed.example\n"
    );
    let result = python(&asked, json!({"session": "t", "network": ["allowed.example"]}));
    let expected = "`network` asks for `allowed.example`, with which this session was not opened";
    assert!(refusal(&result).contains(expected), "{result:#}");
    client.close();
    assert_eq!(world.reached(), ["203.0.113.10:80"]);
}
