//! Native sessions on every kind of host: as root and as an ordinary user, with and without a `/proc`, and where there can be none.

use std::path::Path;

use serde_json::{Value, json};
use testkit::arena::Setup;
use testkit::stage::{SECRET, Stage};

use super::{call, refusal, structured};
use crate::client::{BELLJAR, Client};
use crate::site::Site;

fn open(setup: Setup, wheels: &Value) -> Option<(Stage, Client)> {
    let stage = match Stage::open(setup, Path::new(BELLJAR)) {
        Ok(stage) => stage,
        Err(unavailable) => {
            unavailable.skip(setup);
            return None;
        }
    };
    let site = Site::of(stage.uid(), wheels)?;
    let mut command = stage.command(stage.belljar());
    command.arg("serve").env("BELLJAR_TEST_SECRET", SECRET);
    let client = Client::of(site.given_to(command)).greeted();
    Some((stage, client))
}

fn cell(client: &mut Client, code: &str) -> Value {
    client.run(&json!({"session": "s", "engine": "native", "language": "python", "code": code}))
}

/// What a guest could do with what only sessions have: descriptor 3, places for packages, a first process that goes on.
const ATTACKS: &str = r"
import ctypes, os, signal, socket
found = []
libc = ctypes.CDLL(None, use_errno=True)
for fd in range(3, 256):
    try: os.fstat(fd)
    except OSError: continue
    try: name = socket.socket(fileno=os.dup(fd)).getpeername()
    except OSError as error: name = error.strerror
    found.append(fd)
# The server's own socket, its first process, other namespaces.
tries = {
    'kill first': lambda: os.kill(1, signal.SIGKILL),
    'stop first': lambda: os.kill(1, signal.SIGSTOP),
    'memory of first': lambda: open('/proc/1/mem', 'rb'),
    'descriptors of first': lambda: os.listdir('/proc/1/fd'),
    'environment of first': lambda: open('/proc/1/environ').read(1),
    'write packages': lambda: open('/packages/python/1/x', 'w'),
    'make a place': lambda: os.mkdir('/packages/python/99'),
    'unmount': lambda: libc.umount2(b'/packages/python/1', 2) and os.stat('/nowhere'),
    'setns': lambda: libc.setns(os.open('/proc/self/ns/user', os.O_RDONLY), 0) and os.stat('/nowhere'),
}
done = []
for name, attempt in tries.items():
    try: attempt()
    except OSError: continue
    done.append(name)
# Signals to the first process are not delivered unless it wants them; that it goes on is the test.
[name for name in done if name not in ('kill first', 'stop first')]
";

fn a_session_is_as_it_is_everywhere(setup: Setup) {
    let wheels = json!({"good": {"good.py": "x = 1\n"}, "more": {"more.py": "import good\ny = good.x + 1\n"}, "other": {"other.py": "z = 3\n"}});
    let Some((stage, mut client)) = open(setup, &wheels) else { return };
    structured(&call(&mut client, "write_file", &json!({"session": "s", "path": "d/in.txt", "text": "in"})));
    let result = cell(&mut client, "text = open('d/in.txt').read()\nopen('d/in.txt', 'a').write('more')\ntext");
    assert_eq!(structured(&result)["result"], "in", "{setup:?}");
    // The guest can write to what came from outside, and the other way around.
    structured(&call(
        &mut client,
        "write_file",
        &json!({"session": "s", "path": "d/in.txt", "text": "!", "append": true}),
    ));
    let read = call(&mut client, "read_file", &json!({"session": "s", "path": "d/in.txt"}));
    assert_eq!(structured(&read)["text"], "inmore!", "{setup:?}");
    structured(&cell(&mut client, "import os\nos.rename('d/in.txt', 'moved'); os.rmdir('d'); None"));

    // Packages come while the session goes on, one after the other.
    let result = cell(&mut client, "import good\ngood.x, text");
    assert_eq!(structured(&result)["result"], json!([1, "in"]), "{setup:?}");
    let result = cell(&mut client, "import more\nmore.y");
    assert_eq!(structured(&result)["result"], 2, "{setup:?}");
    let installed = call(&mut client, "install_packages", &json!({"session": "s", "packages": ["other"]}));
    assert_eq!(structured(&installed)["engine"], "native", "{setup:?}");
    let result = cell(&mut client, "import importlib\nimportlib.import_module('other').z, more.y");
    assert_eq!(structured(&result)["result"], json!([3, 2]), "{setup:?}");
    let listed = call(&mut client, "list_packages", &json!({"session": "s", "packages": ["other", "absent"]}));
    assert_eq!(structured(&listed)["packages"][0]["name"], "other", "{setup:?} {listed}");
    assert_eq!(structured(&listed)["missing"], json!(["absent"]), "{setup:?}");
    let result = cell(&mut client, ATTACKS);
    assert_eq!(structured(&result)["result"], json!([]), "{setup:?}");
    assert_eq!(structured(&cell(&mut client, "text"))["result"], "in", "its first process goes on, {setup:?}");
    let result =
        cell(&mut client, "import os\n[k for k, v in os.environ.items() if 'secret' in v.lower() or 'SECRET' in k]");
    assert_eq!(structured(&result)["result"], json!([]), "{setup:?}");
    drop(client);
    testkit::processes::assert_gone(stage.marker(), std::time::Duration::from_secs(5));
    stage.assert_unharmed();
}

#[test]
fn root() {
    a_session_is_as_it_is_everywhere(Setup::Root);
}

#[test]
fn unprivileged() {
    a_session_is_as_it_is_everywhere(Setup::Unprivileged);
}

#[test]
fn masked_proc() {
    a_session_is_as_it_is_everywhere(Setup::MaskedProc);
}

#[test]
fn without_namespaces_there_is_none() {
    let Some((_stage, mut client)) = open(Setup::NoUserNamespaces, &json!({})) else { return };
    let result = cell(&mut client, "1");
    assert_eq!(result["isError"], true, "{result}");
    let text = result["content"][0]["text"].as_str().expect("text");
    assert!(text.contains("wasm") || refusal(&result).contains("isolation"), "{text}");
}
