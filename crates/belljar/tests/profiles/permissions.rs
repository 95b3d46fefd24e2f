//! What an operator grants to programs of the originals, in the originals' own words.

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

use serde_json::{Value, json};
use testkit::runtimes::{CACHE, skip};

use crate::client::Client;
use crate::world::{World, call, text};

/// How it ends where nobody speaks with it, and what it says.
fn ended(mut command: Command) -> (Option<i32>, String) {
    let output = command.stdin(Stdio::null()).output().expect("belljar starts");
    (output.status.code(), String::from_utf8(output.stderr).expect("text"))
}

/// `code-runner-mcp` with these flags of Deno's.
fn with_flags(world: &World, flags: &str) -> Command {
    let mut command = world.command(&["--profile", "code-runner-mcp"]);
    command.env("DENO_PERMISSION_ARGS", flags);
    command
}

fn shown(path: &Path) -> std::path::Display<'_> {
    path.display()
}

#[test]
fn what_cannot_be_denied_or_names_nothing_is_refused() {
    let world = World::new();
    for (flags, at_fault) in [
        ("--allow-net --deny-net=example.org", "--deny-net=example.org"),
        ("--deny-net", "--deny-net"),
        ("-A --deny-run", "--deny-run"),
        ("--allow-read=/srv --deny-read=/srv/in", "--deny-read=/srv/in"),
        ("--ignore-read=/srv", "--ignore-read=/srv"),
        ("--allow-net=", "--allow-net="),
        ("-N=,", "-N=,"),
        ("--allow-env=", "--allow-env="),
        ("--deny-env=", "--deny-env="),
        ("--allow-read=", "--allow-read="),
        ("-W=", "-W="),
    ] {
        let (code, said) = ended(with_flags(&world, flags));
        let sentence = format!("error: `{at_fault}` of DENO_PERMISSION_ARGS ");
        assert!(code == Some(1) && said.starts_with(&sentence) && said.lines().count() == 1, "{flags}: {said}");
    }
}

#[test]
fn variables_that_are_denied_are_not_there() {
    let world = World::new();
    for (flags, expected) in [
        ("--allow-env=SECRET,B --deny-env=SECRET", "undefined b undefined\n"),
        ("--deny-env=SECRET,OTHER --allow-env=SECRET,B,OTHER", "undefined b undefined\n"),
        ("--allow-env --deny-env=SEC*", "undefined b other\n"),
        ("--allow-env=SEC*,OTHER", "secret undefined other\n"),
        ("--allow-env=B --deny-env", "undefined undefined undefined\n"),
    ] {
        let mut command = with_flags(&world, flags);
        command.env("SECRET", "secret").env("B", "b").env("OTHER", "other");
        let code = "console.log(process.env.SECRET, process.env.B, process.env.OTHER)";
        let result = call(&mut Client::of(command).greeted(), "javascript-code-runner", &json!({"code": code}));
        assert_eq!(text(&result, 0), expected, "{flags}");
    }
}

/// Folders of both variables and of `--mount`, also the same one twice, are there for both tools.
#[test]
fn folders_are_merged() {
    let world = World::new();
    let (store, other) = (world.path("store"), world.path("other"));
    fs::create_dir_all(other.join("in")).expect("made");
    fs::write(store.join("in.txt"), "of the store").expect("written");
    fs::write(other.join("in/in.txt"), "of the other").expect("written");
    let (of_store, of_other) = (shown(&store), shown(&other));
    let mut command = world.command(&["--mount", &format!("{of_store}:ro"), "--profile", "code-runner-mcp"]);
    command.env("NODEFS_ROOT", &store);
    let flags = format!("--allow-read={of_store},{of_other} --allow-write={of_store} --allow-read={of_other}/in");
    command.env("DENO_PERMISSION_ARGS", flags);
    let mut client = Client::of(command).greeted();
    let tools = client.request("tools/list", &json!({}));
    let told = format!("Folders of the host: {of_other} (to read), {of_store} (to read and write).");
    for tool in 0..2 {
        let description = tools["result"]["tools"][tool]["description"].as_str().expect("text");
        assert!(description.contains(&told), "{description}");
    }
    let code = format!(
        "print(open('{of_store}/in.txt').read(), open('{of_other}/in/in.txt').read())\nopen('{of_store}/out.txt', 'w').write('out')\n\
         try:\n  open('{of_other}/out.txt', 'w')\nexcept OSError as error:\n  print(error.errno)"
    );
    let result = call(&mut client, "python-code-runner", &json!({"code": code}));
    assert_eq!(text(&result, 0), "of the store of the other\n30\n");
    assert_eq!(fs::read_to_string(store.join("out.txt")).expect("made"), "out");
}

#[test]
fn folders_inside_one_another_are_refused() {
    let world = World::new();
    let (store, out) = (world.path("store"), world.path("store/out"));
    fs::create_dir(&out).expect("made");
    let sentence = format!(
        "error: programs are shown `{}`, and `{}` in it cannot have rights of its own\n",
        shown(&store),
        shown(&out)
    );
    let flags = format!("--allow-read={} --allow-write={}", shown(&store), shown(&out));
    let (code, said) = ended(with_flags(&world, &flags));
    assert!(code != Some(0) && said.starts_with(&sentence), "{said}");
    let mut command = with_flags(&world, &format!("--allow-read={}", shown(&store)));
    command.env("NODEFS_ROOT", &out);
    let (code, said) = ended(command);
    assert!(code != Some(0) && said.starts_with(&sentence), "{said}");
}

/// What is granted only the host's own tools can have. Without Deno there may be Node.js.
#[test]
fn javascript_runs_with_a_folder_without_deno() {
    let world = World::new();
    fs::write(world.path("store/in.txt"), "in").expect("written");
    let store = world.path("store");
    let mut command = with_flags(&world, &format!("--allow-write={}", shown(&store)));
    // belljar's own Deno is in the cache.
    command.env(CACHE, world.path("cache"));
    let mut client = Client::of(command).greeted();
    let mut run = |code: &str| call(&mut client, "javascript-code-runner", &json!({"code": code}));
    let code = format!(
        "import * as fs from 'node:fs';\nfs.writeFileSync('{0}/out.txt', 'out');\nconsole.log(await fs.promises.readFile('{0}/in.txt', 'utf8'));",
        shown(&store)
    );
    let result = run(&code);
    if text(&result, 0).contains("nothing on this host runs") {
        return skip(&format!("there is nothing that runs JavaScript: {result}"));
    }
    assert_eq!(result, json!({"content": [{"type": "text", "text": "in\n"}]}));
    assert_eq!(fs::read_to_string(store.join("out.txt")).expect("made"), "out");
    // Types need more, and whoever uses them is told.
    let result = run("const n: number = 2;\nconsole.log(n)");
    let said = text(&result, 0);
    let is_told = said.starts_with("[stderr] types cannot be used here: ") && result["isError"] == true;
    assert!(said == "2\n" || is_told, "{result}");
}

/// It has no files and no network, whatever its operator grants to others.
#[test]
fn runno_sees_nothing_that_is_mounted() {
    let world = World::new();
    let store = world.path("store");
    let mount = format!("{}:rw", shown(&store));
    let mut command = world.command(&["--mount", &mount, "--network", "example.org", "--profile", "runno"]);
    let code = format!("import os\nprint(os.path.exists({:?}))", shown(&store).to_string());
    let arguments = json!({"runtime": "python", "code": code});
    let result: Value = call(&mut Client::of(command).greeted(), "run_code", &arguments);
    assert_eq!(text(&result, 0), "Execution completed with exit code 0.", "{result}");
    assert_eq!(text(&result, 2), "False\n");
    command = world.command(&["--mount", &mount, "--profile", "runno"]);
    let said =
        "belljar: programs see no folder of this machine, as with the original\nbelljar: programs have no network\n";
    assert_eq!(ended(command), (Some(0), said.to_owned()));
}
