//! Files of sessions: in, out, and not beyond.

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use serde_json::json;

use super::{call, python, refusal, structured};
use crate::client::Client;

#[test]
fn a_file_is_built_in_parts_and_read_in_parts() {
    for engine in [None, Some("native"), Some("wasm")] {
        let mut client = Client::initialized();
        if let Some(engine) = engine {
            let arguments = json!({"session": "f", "engine": engine, "language": "python", "code": "0"});
            structured(&client.run(&arguments));
        }
        let write = |client: &mut Client, text: &str, append: bool| {
            let arguments = json!({"session": "f", "path": "d/a.txt", "text": text, "append": append});
            structured(&call(client, "write_file", &arguments))["bytes"].clone()
        };
        assert_eq!(write(&mut client, "gone", false), 4);
        assert_eq!(write(&mut client, "aé", false), 3);
        assert_eq!(write(&mut client, "日z", true), 7);
        let read = |client: &mut Client, offset: u64, limit: u64| {
            let arguments = json!({"session": "f", "path": "d/a.txt", "offset": offset, "limit": limit});
            structured(&call(client, "read_file", &arguments)).clone()
        };
        let all = read(&mut client, 0, 100);
        assert_eq!((&all["text"], &all["bytes"], &all["mime"]), (&json!("aé日z"), &json!(7), &json!("text/plain")));
        assert_eq!(all.get("next_offset"), None, "{all}");
        // A character is not cut in two.
        let part = read(&mut client, 0, 5);
        assert_eq!((&part["text"], &part["next_offset"]), (&json!("aé"), &json!(3)), "{engine:?} {part}");
        assert_eq!(read(&mut client, 3, 3)["text"], "日", "{engine:?}");
        assert_eq!(read(&mut client, 99, 3)["text"], "", "{engine:?}");

        let bytes: Vec<u8> = (0..=255).collect();
        let encoded = BASE64_STANDARD.encode(&bytes);
        let arguments = json!({"session": "f", "path": "b.bin", "base64": encoded});
        structured(&call(&mut client, "write_file", &arguments));
        let back = call(&mut client, "read_file", &json!({"session": "f", "path": "b.bin"}));
        assert_eq!(structured(&back)["base64"], encoded, "{engine:?}");
        let listed = call(&mut client, "list_files", &json!({"session": "f"}));
        let files = structured(&listed)["files"].as_array().expect("files").clone();
        let names: Vec<&str> = files.iter().map(|file| file["path"].as_str().expect("text")).collect();
        assert_eq!(names, ["b.bin", "d", "d/a.txt"], "{engine:?}");
        let listed = call(&mut client, "list_files", &json!({"session": "f", "path": "d"}));
        assert_eq!(structured(&listed)["files"].as_array().map(Vec::len), Some(1), "{engine:?}");
        // The program sees them, and they are resources.
        let result = python(&mut client, "f", "open('d/a.txt').read(), len(open('b.bin', 'rb').read())");
        assert_eq!(structured(&result)["result"], json!(["aé日z", 256]), "{engine:?}");
        let resource = client.request("resources/read", &json!({"uri": "session://f/files/d/a.txt?offset=1&limit=2"}));
        assert_eq!(resource["result"]["contents"][0]["text"], "é", "{resource}");
    }
}

#[test]
fn pictures_are_pictures() {
    let mut client = Client::initialized();
    let code = "import struct, zlib\n\
        def chunk(kind, data): return struct.pack('>I', len(data)) + kind + data + struct.pack('>I', zlib.crc32(kind + data))\n\
        png = b'\\x89PNG\\r\\n\\x1a\\n' + chunk(b'IHDR', struct.pack('>IIBBBBB', 1, 1, 8, 2, 0, 0, 0)) + chunk(b'IDAT', zlib.compress(b'\\0\\0\\0\\0')) + chunk(b'IEND', b'')\n\
        open('dot.png', 'wb').write(png); open('fake.png', 'w').write('<script>'); None";
    let made = python(&mut client, "f", code);
    assert!(
        made["content"].as_array().expect("blocks").iter().any(|block| block["mimeType"] == "image/png"),
        "{made:#}"
    );
    let read = call(&mut client, "read_file", &json!({"session": "f", "path": "dot.png"}));
    assert_eq!((&read["content"][1]["type"], &read["content"][1]["mimeType"]), (&json!("image"), &json!("image/png")));
    let fake = call(&mut client, "read_file", &json!({"session": "f", "path": "fake.png"}));
    assert_eq!(structured(&fake)["text"], "<script>", "it is no picture");
}

/// Clients drop the connection over a message of more than 10 MiB, and a control character takes six bytes of one.
#[test]
fn no_file_is_too_much_for_a_client() {
    let mut client = Client::initialized();
    let code = "open('controls.txt', 'wb').write(b'\\x01' * 3_000_000)\n\
        open('large.png', 'wb').write(b'\\x89PNG\\r\\n\\x1a\\n' + bytes(5_000_000)); None";
    python(&mut client, "f", code);
    for (path, size) in [("controls.txt", 3_000_000), ("large.png", 5_000_008)] {
        let (mut offset, mut read) = (Some(0), 0);
        while let Some(from) = offset {
            let answer = call(&mut client, "read_file", &json!({"session": "f", "path": path, "offset": from}));
            assert!(answer.to_string().len() < 9_000_000, "{path} at {from}: {}", answer.to_string().len());
            let part = structured(&answer);
            let text = part["text"].as_str().map(str::len);
            let bytes = || BASE64_STANDARD.decode(part["base64"].as_str().expect("one of them")).expect("base64").len();
            read += text.unwrap_or_else(bytes);
            offset = part["next_offset"].as_u64();
        }
        assert_eq!(read, size, "{path}");
    }
}

/// What a guest makes of its workspace: links out of it, things that are no files, names that are no names.
#[test]
fn nothing_beyond_the_workspace() {
    let mut client = Client::initialized();
    let code = "import os\n\
        os.symlink('/etc/passwd', 'link'); os.symlink('/etc', 'folder'); os.symlink('missing', 'dangling')\n\
        os.mkfifo('fifo'); os.mkdir('d'); open('d/real', 'w').write('r'); os.symlink('d', 'alias')\n\
        open(b'bad\\xffname', 'w').close(); open('new\\nline', 'w').close()\n\
        f = open('sparse', 'w'); f.truncate(200 << 20); f.close()\n\
        open('locked', 'w').write('x'); os.chmod('locked', 0)\n\
        None";
    structured(&python(&mut client, "f", code));
    for path in ["link", "folder/passwd", "folder", "dangling", "fifo", "alias/real"] {
        let text = refusal(&call(&mut client, "read_file", &json!({"session": "f", "path": path}))).to_owned();
        assert!(text.contains("not followed") || text.contains("no folder"), "{path}: {text}");
        let written = call(&mut client, "write_file", &json!({"session": "f", "path": path, "text": "x"}));
        let text = refusal(&written).to_owned();
        assert!(text.contains("not followed") || text.contains("no folder"), "{path}: {text}");
    }
    for path in ["../x", "/etc/passwd", "a/../../x", "", "nul\u{0}", "new\nline", &"x".repeat(300)] {
        let text = refusal(&call(&mut client, "read_file", &json!({"session": "f", "path": path}))).to_owned();
        assert!(text.contains("relative path"), "{path:?}: {text}");
    }
    let text = refusal(&call(&mut client, "read_file", &json!({"session": "f", "path": "d"}))).to_owned();
    assert!(text.contains("it is a folder"), "{text}");
    let text = refusal(&call(&mut client, "read_file", &json!({"session": "f", "path": "none"}))).to_owned();
    assert!(text.contains("no such file"), "{text}");
    // 200 MiB of nothing are read in parts.
    let read = call(&mut client, "read_file", &json!({"session": "f", "path": "sparse"}));
    assert_eq!(structured(&read)["bytes"], 200 << 20);
    let text = refusal(&call(&mut client, "read_file", &json!({"session": "f", "path": "sparse", "limit": 200 << 20})))
        .to_owned();
    assert!(text.contains("more than an answer holds"), "{text}");
    let listed = call(&mut client, "list_files", &json!({"session": "f"}));
    let files = structured(&listed)["files"].as_array().expect("files").clone();
    let kind = |path: &str| files.iter().find(|file| file["path"] == path).map(|file| file["kind"].clone());
    assert_eq!(kind("link"), Some(json!("other")));
    assert_eq!(kind("fifo"), Some(json!("other")));
    assert_eq!(kind(r"bad\xffname"), Some(json!("file")));
    assert!(files.iter().all(|file| !file["path"].as_str().expect("text").contains('\n')), "{files:?}");
}

#[test]
fn a_full_workspace_loses_nothing() {
    let mut client = Client::initialized();
    structured(&python(
        &mut client,
        "f",
        "open('old', 'w').write('old')\nwith open('fill', 'wb') as f:\n    for _ in range(255): f.write(bytes(1 << 20))",
    ));
    let long = "x".repeat(2 << 20);
    for append in [false, true] {
        let arguments = json!({"session": "f", "path": "old", "text": long, "append": append});
        let text = refusal(&call(&mut client, "write_file", &arguments)).to_owned();
        assert!(text.contains("the workspace is full"), "{text}");
        let read = call(&mut client, "read_file", &json!({"session": "f", "path": "old"}));
        assert_eq!(structured(&read)["text"], "old", "as it was");
    }
    let listed = call(&mut client, "list_files", &json!({"session": "f"}));
    assert_eq!(structured(&listed)["files"].as_array().map(Vec::len), Some(2), "{listed}");
}

/// A thread that swaps a folder for a link that leads out is stopped between cells, at any moment of it: what is read then is the workspace's
/// own, or nothing. Without that stop, `session::files` of the native engine is raced against.
#[test]
fn a_race_is_lost_by_whoever_races() {
    let mut client = Client::initialized();
    let code = "import os, threading\n\
        os.makedirs('a/etc', exist_ok=True); open('a/etc/passwd', 'w').write('inside')\n\
        os.symlink('/', 'out')\n\
        def race():\n\
        \x20   while True:\n\
        \x20       try: os.rename('a', 'b'); os.rename('out', 'a'); os.rename('a', 'out'); os.rename('b', 'a')\n\
        \x20       except OSError: pass\n\
        threading.Thread(target=race, daemon=True).start()\n\
        None";
    structured(&python(&mut client, "f", code));
    let mut inside = 0;
    for round in 0..400 {
        if round % 20 == 0 {
            // Lets the thread go on for a moment, so that it is stopped somewhere else.
            structured(&python(&mut client, "f", "import time\ntime.sleep(0.001)"));
        }
        let read = call(&mut client, "read_file", &json!({"session": "f", "path": "a/etc/passwd"}));
        match read["structuredContent"]["text"].as_str() {
            Some(text) => {
                assert_eq!(text, "inside");
                inside += 1;
            }
            None => assert_eq!(read["isError"], true, "{read}"),
        }
    }
    assert!(inside > 0);
}

#[test]
fn that_there_are_more_files_is_said() {
    for engine in ["native", "wasm"] {
        let mut client = Client::initialized();
        let mut listed = |code: &str| {
            structured(&client.run(&json!({"session": "f", "engine": engine, "language": "python", "code": code})));
            let listed = structured(&call(&mut client, "list_files", &json!({"session": "f"}))).clone();
            (listed["files"].as_array().map(Vec::len), listed["more"].clone())
        };
        assert_eq!(listed("for n in range(2000): open(f'{n:x}', 'w').close()"), (Some(2000), json!(false)), "{engine}");
        assert_eq!(listed("open('one more', 'w').close()"), (Some(2000), json!(true)), "{engine}");
    }
}

/// It waits behind a cell, and whoever asked for it has thought better of it.
#[test]
fn what_was_cancelled_in_time_is_not_done() {
    for engine in ["native", "wasm"] {
        let mut client = Client::initialized();
        let code = "import time\nprint('up', flush=True)\ntime.sleep(2)";
        let sleep = json!({"session": "f", "engine": engine, "language": "python", "code": code});
        let params = json!({"name": "run_code", "arguments": sleep, "_meta": {"progressToken": 1}});
        let cell = client.send("tools/call", &params);
        while client.next()["params"]["message"] != "up\n" {}
        for (tool, arguments) in [
            ("write_file", json!({"session": "f", "path": "late.txt", "text": "late"})),
            ("save_session", json!({"session": "f", "as": "late"})),
            ("fork_session", json!({"session": "f", "as": "late"})),
        ] {
            let id = client.send("tools/call", &json!({"name": tool, "arguments": arguments}));
            client.notify("notifications/cancelled", &json!({"requestId": id}));
        }
        client.answer(cell);
        assert_eq!(
            structured(&call(&mut client, "list_files", &json!({"session": "f"})))["files"],
            json!([]),
            "{engine}"
        );
        let sessions = structured(&call(&mut client, "list_sessions", &json!({}))).clone();
        let names = sessions["sessions"].as_array().map(|all| all.iter().map(|one| one["session"].clone()).collect());
        assert_eq!(names, Some(vec![json!("f")]), "{engine}");
        let saved = sessions["saved"].as_array();
        assert!(saved.is_none_or(|saved| !saved.contains(&json!("late"))), "{engine}: {sessions}");
    }
}

#[test]
fn a_nul_in_the_input_of_a_shell_is_one() {
    let mut client = Client::initialized();
    let input = "a\u{0}b\\0c\n'é";
    for _ in 0..2 {
        let arguments = json!({"session": "f", "language": "bash", "code": "od -An -c", "stdin": input});
        let result = client.run(&arguments);
        let shown = structured(&result)["stdout"].as_str().expect("output").split_whitespace().collect::<String>();
        assert_eq!(shown, "a\\0b\\0c\\n'303251", "{result}");
    }
}
