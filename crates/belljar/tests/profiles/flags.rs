//! The originals' own flags, modes and variables.

use std::fs::File;
use std::process::{Command, Output, Stdio};

use serde_json::{Value, json};
use testkit::mcp_http::Endpoint;
use testkit::server::Served;

use crate::client::Client;
use crate::world::{World, call, text};

fn output(mut command: Command) -> Output {
    command.stdin(Stdio::null()).output().expect("belljar starts")
}

#[test]
fn command_lines() {
    let world = World::new();
    let ended = |flags: &[&str], variables: &[(&str, &str)]| {
        let mut command = world.command(&[&["--profile"], flags].concat());
        command.envs(variables.iter().copied());
        let output = output(command);
        let [stdout, stderr] = [output.stdout, output.stderr].map(|text| String::from_utf8(text).expect("text"));
        (output.status.code().expect("a code"), stdout, stderr)
    };
    assert_eq!(ended(&["mcp-server-code-runner", "-V"], &[]), (0, "0.1.8\n".to_owned(), String::new()));
    assert_eq!(ended(&["mcp-run-python", "--version"], &[]), (0, "mcp-run-python 0.0.22\n".to_owned(), String::new()));
    let (code, _, said) = ended(&["mcp-server-code-runner", "--bogus"], &[]);
    assert_eq!((code, said.as_str()), (1, "error: unknown option '--bogus'\n"));
    assert_eq!(ended(&["mcp-server-code-runner", "-t", "pigeon"], &[]).0, 1);
    assert_eq!(ended(&["mcp-run-python", "stdio", "--port", "1"], &[]).0, 1);
    let (code, _, said) = ended(&["mcp-run-python", "--dependencies", "not a package!,six"], &[]);
    assert!(code == 1 && said.contains("packages"), "{said}");
    let (code, _, said) = ended(&["mcp-run-python", "stdio", "--deps", "six @ http://127.0.0.1/six.whl"], &[]);
    assert!(code == 1 && said.contains("packages"), "{said}");
    for (variables, expected) in [
        (&[("CODE_STORAGE_DIR", "")][..], "Missing required environment variable: CODE_STORAGE_DIR\n"),
        (&[("VENV_PATH", "")], "Missing required environment variable: VENV_PATH (required for virtualenv)\n"),
        (
            &[("ENV_TYPE", "venv-uv")],
            "Missing required environment variable: UV_VENV_PATH (required for uv virtualenv)\n",
        ),
        (
            &[("ENV_TYPE", "")],
            "Missing required environment variable: CONDA_ENV_NAME (required for conda environment)\n",
        ),
        (&[("ENV_TYPE", "pipx")], "error: ENV_TYPE is `pipx`, and has to be `conda`, `venv` or `venv-uv`\n"),
    ] {
        let (code, _, said) = ended(&["mcp-code-executor"], variables);
        assert_eq!((code, said.as_str()), (1, expected));
    }
    for flag in ["--allow-run", "--allow-ffi", "--allow-sys", "--allow-read"] {
        let (code, _, said) = ended(&["code-runner-mcp"], &[("DENO_PERMISSION_ARGS", flag)]);
        assert!(code == 1 && said.contains(flag), "{said}");
    }
    for profile in ["runno", "code-runner-mcp", "mcp-code-executor"] {
        let command = world.command(&["--http", "127.0.0.1:0", "--profile", profile]);
        assert_eq!(output(command).status.code(), Some(1), "{profile}");
    }
    // Nobody is there: it says what it has to, and ends.
    for profile in ["mcp-server-code-runner", "mcp-run-python", "code-runner-mcp", "runno"] {
        let (code, stdout, said) = ended(&[profile], &[]);
        assert_eq!((code, stdout.as_str()), (0, ""), "{profile}");
        assert!(
            said.starts_with("belljar: programs have no network") && said.lines().count() == 1,
            "{profile}: {said}"
        );
    }
}

#[test]
fn tools_that_are_allowed() {
    let world = World::new();
    for (allowed, expected) in [
        ("all", &["python-code-runner", "javascript-code-runner"][..]),
        (" Python , ruby", &["python-code-runner"]),
        ("js", &["javascript-code-runner"]),
        ("ruby", &[]),
    ] {
        let mut command = world.command(&["--profile", "code-runner-mcp"]);
        command.env("ALLOWED_TOOLS", allowed);
        let mut client = Client::of(command).greeted();
        let listed = client.request("tools/list", &json!({}));
        let names: Vec<&str> = listed["result"]["tools"]
            .as_array()
            .expect("tools")
            .iter()
            .filter_map(|tool| tool["name"].as_str())
            .collect();
        assert_eq!(names, expected);
    }
}

#[test]
fn a_folder_of_the_host_for_python() {
    let world = World::new();
    std::fs::write(world.path("store/in.txt"), "in").expect("written");
    std::os::unix::fs::symlink(world.path("belljar.toml"), world.path("store/link")).expect("linked");
    let mut command = world.command(&["--profile", "code-runner-mcp"]);
    command.env("NODEFS_ROOT", world.path("store")).env("NODEFS_MOUNT_POINT", "/data");
    let mut client = Client::of(command).greeted();
    let code = "import os\nprint(open('/data/in.txt').read(), os.path.exists('/data/link'))\nopen('/data/out.txt', 'w').write('out')\nx = 1";
    let result = call(&mut client, "python-code-runner", &json!({"code": code}));
    assert_eq!(text(&result, 0), "in False\n");
    assert_eq!(std::fs::read_to_string(world.path("store/out.txt")).expect("made"), "out");
    assert_eq!(text(&call(&mut client, "python-code-runner", &json!({"code": "print(x)"})), 0), "1\n");
}

#[test]
fn variables_for_javascript() {
    let world = World::new();
    let mut command = world.command(&["--profile", "code-runner-mcp"]);
    command.env("DENO_PERMISSION_ARGS", "--allow-env=SHOWN,OTHER --no-check").env("SHOWN", "1").env("HIDDEN", "2");
    let mut client = Client::of(command).greeted();
    let code = "console.log(process.env.SHOWN, process.env.HIDDEN)";
    let result = call(&mut client, "javascript-code-runner", &json!({"code": code}));
    assert_eq!(text(&result, 0), "1 undefined\n");
}

/// A port that was free a moment ago.
pub(crate) fn port() -> String {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
    listener.local_addr().expect("an address").port().to_string()
}

#[test]
fn over_http() {
    let world = World::new();
    let run = |call: Value, flags: &[&str]| {
        let served = Served::start(world.command(&[&["--profile"], flags].concat())).expect("it serves");
        let client = Endpoint::new(served.address()).modern();
        let first = client.request("tools/call", call.clone()).expect("an answer");
        let second = client.request("tools/call", call).expect("another");
        assert_eq!(first["result"]["content"], second["result"]["content"], "{flags:?}");
        first["result"]["content"][0]["text"].as_str().map(str::to_owned)
    };
    let flags = ["--profile", "mcp-server-code-runner", "-t", "http", "-p", &port()];
    let served = Served::start(world.command(&flags)).expect("it serves");
    let (status, said) = Endpoint::new(served.address()).get("/mcp").expect("an answer");
    let said: Value = serde_json::from_str(&said).expect("JSON");
    let expected = json!({"code": -32000, "message": "Method not allowed."});
    assert_eq!((status, &said["error"], &said["id"]), (405, &expected, &Value::Null));
    let flags = ["--profile", "mcp-run-python", "streamable-http", "--port", &port()];
    let served = Served::start(world.command(&flags)).expect("it serves");
    let endpoint = Endpoint::new(served.address()).with_header("Accept", "text/event-stream");
    let get = |path: &str| endpoint.get(path).expect("an answer");
    assert_eq!(get("/mcp"), (400, "Invalid or missing session ID".to_owned()));
    assert_eq!(get("/other"), (404, "Page not found".to_owned()));
    let code = json!({"name": "run-code", "arguments": {"languageId": "python", "code": "print(2)"}});
    assert_eq!(run(code, &["mcp-server-code-runner", "-t", "http", "-p", &port()]).as_deref(), Some("2\n"));
    let code = json!({"name": "run_python_code", "arguments": {"python_code": "print(1)\n2"}});
    for mode in ["streamable-http", "streamable-http-stateless"] {
        let flags = ["mcp-run-python", "--return-mode", "json", mode, "--port", &port()];
        let expected = r#"{"status":"success","output":["1"],"return_value":2}"#;
        assert_eq!(run(code.clone(), &flags).as_deref(), Some(expected), "{mode}");
    }
}

#[test]
fn a_port_in_the_environment() {
    let world = World::new();
    let (set, given) = (port(), port());
    for (flags, expected) in [(&["-t", "http"][..], &set), (&["-t", "http", "-p", &given], &given)] {
        let mut command = world.command(&[&["--profile", "mcp-server-code-runner"], flags].concat());
        command.env("PORT", &set);
        let served = Served::start(command).expect("it serves");
        assert_eq!(served.address(), format!("127.0.0.1:{expected}"));
    }
}

/// What it does is told on standard error, for whoever asks.
#[test]
fn verbosity() {
    let world = World::new();
    let said = |flags: &[&str]| {
        let log = world.path("said");
        let mut command = world.command(&[&["--profile", "mcp-run-python"], flags].concat());
        command.stderr(File::create(&log).expect("made"));
        let mut client = Client::of(command).greeted();
        call(&mut client, "run_python_code", &json!({"python_code": "1"}));
        client.close();
        std::fs::read_to_string(log).expect("text")
    };
    let short = said(&[]);
    assert!(short.lines().count() == 1 && !short.contains("verdict"), "{short}");
    let long = said(&["--verbose", "stdio"]);
    assert!(long.starts_with(&short) && long.contains("verdict"), "{long}");
}

#[test]
fn a_network_is_the_operators_to_give() {
    let world = World::new();
    let told = |command: Command| String::from_utf8(output(command).stderr).expect("text");
    let with_flag = |flags: &[&str]| told(world.command(&[&["--network", "example.org", "--profile"], flags].concat()));
    assert_eq!(with_flag(&["mcp-run-python"]), "belljar: programs can reach example.org\n");
    assert_eq!(with_flag(&["mcp-run-python", "--disable-networking"]), "belljar: programs have no network\n");
    assert_eq!(with_flag(&["runno"]), "belljar: programs have no network\n");
    for (flags, hosts) in [("--allow-net=a.example,b.example:8080", "a.example, b.example:8080"), ("-A", "*")] {
        let mut command = world.command(&["--profile", "code-runner-mcp"]);
        command.env("DENO_PERMISSION_ARGS", flags);
        assert_eq!(told(command), format!("belljar: programs can reach {hosts}\n"));
    }
    let mut command = world.command(&["--profile", "code-runner-mcp"]);
    command.env("DENO_PERMISSION_ARGS", "--allow-net=a.example");
    let mut client = Client::of(command).greeted();
    let listed = client.request("tools/list", &json!({}));
    assert!(listed["result"]["tools"][0]["description"].as_str().is_some_and(|text| text.contains("a.example")));
    let result = call(&mut client, "python-code-runner", &json!({"code": "print(1)"}));
    assert_eq!(text(&result, 0), "1\n");
}
