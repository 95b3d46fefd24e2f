//! Faults of the originals that ours does not have.

use std::fs;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use testkit::processes;

use crate::client::Client;
use crate::world::{World, call, text};

/// A profile, its tool, and how a program in Python is sent to it.
type Runner = (&'static str, &'static str, fn(&str) -> Value);

const RUNNERS: &[Runner] = &[
    ("mcp-server-code-runner", "run-code", |code| json!({"languageId": "python", "code": code})),
    ("runno", "run_code", |code| json!({"runtime": "python", "code": code})),
    ("mcp-run-python", "run_python_code", |code| json!({"python_code": code})),
    ("code-runner-mcp", "python-code-runner", |code| json!({"code": code})),
    ("mcp-code-executor", "execute_code", |code| json!({"code": code})),
];

/// All texts of a result.
fn all(result: &Value) -> String {
    let blocks = result["content"].as_array().expect("blocks");
    blocks.iter().filter_map(|block| block["text"].as_str()).collect::<Vec<_>>().join("\n")
}

#[test]
fn each_of_eight_calls_has_its_own_output() {
    let world = World::new();
    for (profile, tool, arguments) in RUNNERS {
        let mut client = world.greeted(profile, &[]);
        let send = |client: &mut Client, number: usize| {
            let code = format!("import time\nprint('start-{number}')\ntime.sleep(0.05)\nprint('end-{number}')");
            client.send("tools/call", &json!({"name": tool, "arguments": arguments(&code)}))
        };
        let ids: Vec<u64> = (0..8).map(|number| send(&mut client, number)).collect();
        for (number, id) in ids.into_iter().enumerate() {
            let said = all(&client.answer(id)["result"]);
            for other in 0..8 {
                for word in ["start", "end"] {
                    let is_there = said.contains(&format!("{word}-{other}"));
                    assert_eq!(is_there, other == number, "{profile}, {number}: {said}");
                }
            }
        }
    }
}

#[test]
fn a_loop_ends_at_the_limit_and_its_output_is_kept() {
    let world = World::with("[limits]\ntimeout = \"2s\"\n");
    for (profile, tool, arguments) in RUNNERS {
        let mut client = world.greeted(profile, &[]);
        let loops = json!({"name": tool, "arguments": arguments("print('before', flush=True)\nwhile True: pass")});
        let id = client.send("tools/call", &loops);
        // Meanwhile others are answered.
        assert!(client.request("ping", &json!({}))["error"].is_null());
        let answer = client.answer(id);
        let said = all(&answer["result"]);
        let end = match *profile {
            "runno" => "Execution timed out.",
            "code-runner-mcp" => "[err][py] timeout",
            _ => "time limit",
        };
        assert!(said.contains("before") && said.contains(end), "{profile}: {answer}");
        let again = call(&mut client, tool, &arguments("print('again')"));
        assert!(all(&again).contains("again"), "{profile}: {again}");
    }
}

#[test]
fn exits_end_the_run_and_not_the_server() {
    let world = World::new();
    for (profile, tool, arguments) in RUNNERS {
        let mut client = world.greeted(profile, &[]);
        for code in ["import sys\nsys.exit(3)", "import os\nos._exit(3)", "import os\nos.abort()"] {
            call(&mut client, tool, &arguments(code));
        }
        let result = call(&mut client, tool, &arguments("print(open(0).read() or 'nothing')"));
        assert!(all(&result).contains("nothing"), "{profile}: {result}");
    }
    let mut client = world.greeted("mcp-run-python", &[]);
    let result = call(&mut client, "run_python_code", &json!({"python_code": "import sys\nsys.exit(3)"}));
    assert!(text(&result, 0).ends_with("SystemExit: 3\n\n</error>"), "{result}");
}

#[test]
fn programs_see_nothing_of_the_host() {
    let world = World::new();
    fs::write(world.path("secret"), "a secret").expect("written");
    let code = format!(
        "import os\nprint(os.path.exists({:?}), 'SECRET' in os.environ)",
        world.path("secret").display().to_string()
    );
    for (profile, tool, arguments) in RUNNERS {
        let mut command = world.command(&["--profile", profile]);
        command.env("SECRET", "1");
        let mut client = Client::of(command).greeted();
        let result = call(&mut client, tool, &arguments(&code));
        assert!(all(&result).contains("False False"), "{profile}: {result}");
    }
}

#[test]
fn a_cancelled_call_leaves_nothing() {
    let world = World::new();
    for (profile, tool, arguments) in RUNNERS {
        let mut client = world.greeted(profile, &[]);
        call(&mut client, tool, &arguments("print(1)"));
        let sleeps = json!({"name": tool, "arguments": arguments("import time\nprint(1)\ntime.sleep(60)")});
        let id = client.send("tools/call", &sleeps);
        std::thread::sleep(Duration::from_millis(300));
        client.notify("notifications/cancelled", &json!({"requestId": id}));
        let started = Instant::now();
        let result = call(&mut client, tool, &arguments("print('next')"));
        assert!(all(&result).contains("next") && started.elapsed() < Duration::from_secs(20), "{profile}: {result}");
        let pid = client.pid();
        let started: Vec<i32> = processes::all().iter().filter(|it| it.parent == pid).map(|it| it.pid).collect();
        client.close();
        let is_there = |pid: &i32| processes::find(*pid).is_some_and(|left| left.state != 'Z');
        let end = Instant::now() + Duration::from_secs(20);
        while started.iter().any(is_there) {
            assert!(Instant::now() < end, "{profile}: something is left");
            std::thread::sleep(Duration::from_millis(20));
        }
    }
}

#[test]
fn a_flood_is_cut_in_the_middle() {
    let world = World::new();
    for (profile, tool, arguments) in RUNNERS {
        let mut client = world.greeted(profile, &[]);
        let result = call(
            &mut client,
            tool,
            &arguments("print('first')\nfor _ in range(50):\n  print('x' * 999_999)\nprint('last')"),
        );
        let said = all(&result);
        assert!(said.contains("first") && said.contains("last") && said.len() < 4 << 20, "{profile}: {}", said.len());
        assert!(said.contains("bytes dropped"), "{profile}");
    }
}

#[test]
fn code_runner_keeps_output_and_tells_what_is_missing() {
    let world = World::new();
    let mut client = world.greeted("code-runner-mcp", &[]);
    let mut python = |code: &str| call(&mut client, "python-code-runner", &json!({"code": code}));
    assert_eq!(text(&python("print('a', end='')"), 0), "a");
    assert_eq!(text(&python("print('b')"), 0), "b\n");
    assert_eq!(text(&python("import asyncio\nprint(await asyncio.sleep(0, 'awaited'))"), 0), "awaited\n");
    let result = python("print('before')\n1/0");
    assert!(text(&result, 0).starts_with("before\nTraceback (most recent call last):\n"), "{result}");
    assert_eq!(result["isError"], true);
    let result = python("import js\nprint(js.process.env)");
    assert_eq!(result["isError"], true, "{result}");
    assert!(text(&result, 0).contains("**Missing dependency detected!**"), "{result}");
    let mut other = world.greeted("code-runner-mcp", &[]);
    call(&mut client, "python-code-runner", &json!({"code": "mine = 1"}));
    let result = call(&mut other, "python-code-runner", &json!({"code": "print('mine' in globals())"}));
    assert_eq!(text(&result, 0), "False\n");
    let write = "import * as fs from 'node:fs';\nfs.writeFileSync('kept.txt', 'kept');";
    call(&mut client, "javascript-code-runner", &json!({"code": write}));
    let read = "import * as fs from 'node:fs';\nconsole.log(fs.existsSync('kept.txt'));";
    assert_eq!(text(&call(&mut client, "javascript-code-runner", &json!({"code": read})), 0), "true\n");
    assert_eq!(text(&call(&mut other, "javascript-code-runner", &json!({"code": read})), 0), "false\n");
}

#[test]
fn run_python_tells_of_lines_as_they_come() {
    let world = World::new();
    let mut client = world.greeted("mcp-run-python", &[]);
    let code = json!({"python_code": "import sys\nprint('a')\nprint('b', file=sys.stderr)\nprint('c', end='')"});
    call(&mut client, "run_python_code", &code);
    assert!(client.take_early().is_none(), "nobody asked");
    for (level, expected) in
        [("info", vec![("info", "a"), ("warning", "b"), ("info", "c")]), ("warning", vec![("warning", "b")])]
    {
        client.request("logging/setLevel", &json!({"level": level}));
        call(&mut client, "run_python_code", &code);
        for (level, line) in expected {
            let message = client.take_early().expect("told");
            assert_eq!(message["params"], json!({"level": level, "data": line}));
        }
        assert!(client.take_early().is_none());
    }
}

/// Where packages cannot be had, a program that can do without one that nobody named runs.
#[test]
fn run_python_gives_pydantic_where_it_can_be_had() {
    let world = World::with("[packages]\nenabled = false\n");
    let mut client = world.greeted("mcp-run-python", &[]);
    client.request("logging/setLevel", &json!({"level": "error"}));
    let code = "try:\n    import pydantic\nexcept ImportError:\n    print('without')\n6 * 7";
    let result = call(&mut client, "run_python_code", &json!({"python_code": code}));
    let expected = "<status>success</status>\n<output>\nwithout\n</output>\n<return_value>\n42\n</return_value>";
    assert_eq!(text(&result, 0), expected);
    let told = client.take_early().expect("told");
    assert_eq!(told["params"]["level"], "error", "{told}");
    assert!(told["params"]["data"].as_str().is_some_and(|data| data.contains("`packages`")), "{told}");
    assert!(client.take_early().is_none());
    for (code, status) in [("'''\nimport pydantic\n'''\n1", "success"), ("import pydantic", "run-error")] {
        let result = call(&mut client, "run_python_code", &json!({"python_code": code}));
        assert!(text(&result, 0).starts_with(&format!("<status>{status}</status>")), "{result}");
    }
}

#[test]
fn a_tool_of_runno_has_its_own_arguments() {
    let mut client = World::new().greeted("runno", &[]);
    let more =
        json!({"runtime": "python", "code": "print(2)", "input_files": 3, "output_file_names": ["/a"], "more": 1});
    let result = call(&mut client, "run_code", &more);
    let blocks: Vec<&str> = (0..3).map(|block| text(&result, block)).collect();
    assert_eq!(blocks, ["Execution completed with exit code 0.", "Following is the TTY output.", "2\n"]);
    assert_eq!(result["content"].as_array().map(Vec::len), Some(3), "{result}");
    for (missing, arguments) in [
        ("input_files", json!({"runtime": "python", "code": "1", "output_file_names": []})),
        ("output_file_names", json!({"runtime": "python", "code": "1", "input_files": []})),
    ] {
        let result = call(&mut client, "run_code_with_files", &arguments);
        let is_said = text(&result, 0).starts_with(&format!("`{missing}` is missing; "));
        assert!(is_said && result["isError"] == true, "{result}");
    }
}

#[test]
fn code_runner_tells_of_javascript_that_failed() {
    let mut client = World::new().greeted("code-runner-mcp", &[]);
    let mut run = |code: &str| call(&mut client, "javascript-code-runner", &json!({"code": code}));
    let result = run("console.log('before');\nprocess.exit(3)");
    assert_eq!(
        result,
        json!({"content": [{"type": "text", "text": "before\n[err][js] exit code 3"}], "isError": true})
    );
    for module in ["jsr:@std/path", "https://esm.sh/zod"] {
        let result = run(&format!("import * as m from \"{module}\";\nconsole.log(m)"));
        let sentence = format!("[stderr] `{module}` cannot be imported here: modules come from npm alone");
        assert!(text(&result, 0).starts_with(&sentence) && result["isError"] == true, "{result}");
    }
}
