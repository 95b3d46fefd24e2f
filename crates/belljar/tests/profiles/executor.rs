//! `mcp-code-executor`: its folder, its environment, and nothing else.

use std::fs;
use std::os::unix::fs::{PermissionsExt as _, symlink};

use serde_json::{Value, json};
use testkit::runtimes::skip;

use crate::client::Client;
use crate::world::{World, call, text};

#[test]
fn it_refuses_what_is_no_name_and_what_is_outside() {
    let world = World::new();
    let mut client = world.greeted("mcp-code-executor", &[]);
    let mut said = |tool: &str, arguments: &Value| -> Value {
        let result = call(&mut client, tool, arguments);
        let block = &result["content"][0];
        let is_error = result["isError"] == true;
        assert_eq!(block["isError"], is_error, "{result}");
        serde_json::from_str(block["text"].as_str().expect("text")).expect("JSON")
    };
    for name in [
        "six; echo INJECTED-$(id -u)",
        "-e .",
        "--index-url=http://127.0.0.1/",
        "six @ http://127.0.0.1/six.whl",
        "../six",
        "$(id)",
    ] {
        let answer = said("install_dependencies", &json!({"packages": [name]}));
        assert_eq!(answer["status"], "error", "{answer}");
        assert!(!answer.to_string().contains("INJECTED-0"), "{answer}");
    }
    for path in ["/etc/hostname", "../belljar.toml", "/proc/self/environ"] {
        for (tool, more) in [
            ("read_code_file", json!({})),
            ("execute_code_file", json!({})),
            ("append_to_code_file", json!({"content": "x"})),
        ] {
            let mut arguments = more;
            arguments["file_path"] = json!(path);
            assert_eq!(said(tool, &arguments)["status"], "error", "{tool} {path}");
        }
    }
    // A program can leave links in the folder, which lead nowhere.
    let link = "import os\nos.symlink('/etc/hostname', 'link.py')";
    assert_eq!(said("execute_code", &json!({"code": link}))["status"], "success");
    assert_eq!(said("read_code_file", &json!({"file_path": world.path("store/link.py")}))["status"], "error");
    for name in ["../x", "a/b", "/tmp/x"] {
        assert_eq!(said("execute_code", &json!({"code": "1", "filename": name}))["status"], "error", "{name}");
    }
    let other = said("configure_environment", &json!({"type": "venv", "venv_path": "/usr; id"}));
    assert_eq!(other["status"], "error", "{other}");
    assert_eq!(said("get_environment_config", &json!({}))["config"]["venv_path"], json!(world.path("venv")));
    // What it leaves in the folder is there, and its environment is not its own to change.
    let write = format!(
        "open('made.txt', 'w').write('made')\ntry:\n  open({:?}, 'w')\nexcept OSError as error:\n  print(error.errno)",
        world.path("venv/pyvenv.cfg").display().to_string()
    );
    let answer = said("execute_code", &json!({"code": write}));
    assert_eq!(answer["output"], "30\n", "{answer}");
    assert_eq!(fs::read_to_string(world.path("store/made.txt")).expect("made"), "made");
}

#[test]
fn it_installs_into_its_environment() {
    let world = World::new();
    let site = |name: &str| {
        let folders = fs::read_dir(world.path("venv/lib")).expect("installed").flatten();
        let files = folders.map(|folder| folder.path().join("site-packages").join(name));
        files.map(|file| fs::metadata(file).expect("installed").permissions().mode()).next()
    };
    let mut client = world.greeted("mcp-code-executor", &[]);
    let mut said = |tool: &str, arguments: &Value| -> Value {
        serde_json::from_str(text(&call(&mut client, tool, arguments), 0)).expect("JSON")
    };
    let program = json!({"code": "import six, yaml\nprint(six.__name__, yaml.__name__)"});
    assert_eq!(said("execute_code", &program)["status"], "error");
    let answer = said("install_dependencies", &json!({"packages": ["six", "PyYAML"]}));
    if answer["status"] == "error" {
        skip(&format!("packages cannot be had: {answer}"));
        return;
    }
    assert_eq!(said("execute_code", &program)["output"], "six yaml\n");
    let checked = said("check_installed_packages", &json!({"packages": ["six", "PyYAML", "yaml", "numpy"]}));
    assert_eq!(checked["not_installed"], json!(["numpy"]), "{checked}");
    assert_eq!(checked["package_details"]["PyYAML"], checked["package_details"]["yaml"]);
    // It is nobody else's to change.
    assert_eq!(site("six.py").expect("installed") & 0o022, 0);
}

#[test]
fn it_asks_for_modules_by_their_whole_names() {
    let world = World::new();
    let mut client = world.greeted("mcp-code-executor", &[]);
    let names =
        ["json", "json.decoder", "xml.etree.ElementTree", "os.path", "json.nonexistent", "json.decoder.x", "x.y", ""];
    let result = call(&mut client, "check_installed_packages", &json!({"packages": names}));
    let said: Value = serde_json::from_str(text(&result, 0)).expect("JSON");
    assert_eq!(said["not_installed"], json!(["json.nonexistent", "json.decoder.x", "x.y", ""]), "{said}");
    let place = said["package_details"]["json.decoder"]["location"].as_str().expect("a file");
    assert!(place.ends_with("/json/decoder.py"), "{place}");
}

/// A link, or one on the way to the folder.
#[test]
fn it_knows_its_folder_by_the_operators_name_for_it() {
    let world = World::new();
    symlink("store", world.path("link")).expect("linked");
    let mut command = world.command(&["--profile", "mcp-code-executor"]);
    command.env("CODE_STORAGE_DIR", world.path("link"));
    let mut client = Client::of(command).greeted();
    let mut said = |tool: &str, arguments: &Value| -> Value {
        serde_json::from_str(text(&call(&mut client, tool, arguments), 0)).expect("JSON")
    };
    let made = said("initialize_code_file", &json!({"content": "print(1)\n"}));
    let named = world.path("link").join(made["filename"].as_str().expect("a name"));
    for path in [&made["file_path"], &json!(named)] {
        assert_eq!(
            said("append_to_code_file", &json!({"file_path": path, "content": "print(2)\n"}))["status"],
            "success"
        );
        assert_eq!(said("read_code_file", &json!({"file_path": path}))["status"], "success");
    }
    assert_eq!(said("execute_code_file", &json!({"file_path": named}))["output"], "1\n2\n2\n");
}
