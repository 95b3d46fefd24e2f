//! What is refused: one sentence, what would work, exit code 125, nothing on standard output, and nothing started.

use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt as _;

use testkit::arena::host_command;
use testkit::conformance::command::{Answer, Belljar, answer};

use super::{belljar, check};

/// A refusal, as it is printed.
fn refusal(message: &str, hint: &str) -> Answer {
    Answer::new(125, "", format!("error: {message}\n\nhint: {hint}\n"))
}

/// A command line for a belljar that cannot start a launcher without being noticed. Started by the dynamic loader, its own
/// `/proc/self/exe` is the loader, which finds no program of the launcher's name and says so on standard error. Whoever is
/// refused here in the words of the refusal and no others was refused before any launcher and any guest.
fn answer_without_launcher<Argument: AsRef<OsStr>>(
    belljar: &Belljar,
    arguments: impl IntoIterator<Item = Argument>,
) -> Answer {
    const LOADERS: &[&str] = &["/lib64/ld-linux-x86-64.so.2", "/lib/ld-linux-aarch64.so.1"];
    let loader = LOADERS.iter().find(|loader| fs::metadata(loader).is_ok()).expect("a host with the GNU C library");
    let direct = belljar.command(arguments);
    let mut command = host_command(loader);
    command.arg(direct.get_program()).args(direct.get_args()).current_dir(belljar.directory()).env_clear();
    command.envs(direct.get_envs().filter_map(|(name, value)| Some((name, value?))));
    answer(command, b"")
}

#[test]
fn a_launcher_that_is_started_is_noticed() {
    let given = answer_without_launcher(&belljar(), ["run", "-l", "bash", "-c", "echo unreached"]);
    assert_eq!((given.code, given.text()), (Some(125), ""));
    assert!(given.stderr.starts_with("__launcher: error while loading shared libraries: "), "{given:?}");
}

const NAME_IT: &str = "give it a relative name: `--file NAME=PATH`";

/// Options beside a good program, the sentence, and what would work.
#[rustfmt::skip]
const REFUSALS: &[(&[&str], &str, &str)] = &[
    (&["--file", "../x=input.txt"], "`../x` cannot be a file of the workspace: it contains `..`", NAME_IT),
    (&["--file", "a/../x=input.txt"], "`a/../x` cannot be a file of the workspace: it contains `..`", NAME_IT),
    (&["--file", "/etc/passwd"], "`/etc/passwd` cannot be a file of the workspace: it is absolute", NAME_IT),
    (&["--file", "=input.txt"], "`` cannot be a file of the workspace: it is empty", NAME_IT),
    (&["--file", "main.py=input.txt"],
        "`files` names `main.py`, which is the program itself", "give the file another name"),
    (&["--file", "a=input.txt", "--file", "a=input.txt"], "`files` names `a` twice", "name each file once"),
    (&["--timeout", "0s"],
        "`timeout` of 0 s is below the least that can work, 1 ms",
        "ask for 1 ms to 300 s, or leave `timeout` out for 30 s"),
    (&["--timeout", "301s"],
        "`timeout` of 301 s is above this server's ceiling of 300 s",
        "ask for at most 300 s, or raise `limits.timeout` in the server's configuration"),
    (&["--cpu", "0s"],
        "`cpu` of 0 s is below the least that can work, 1 ms",
        "ask for 1 ms to 600 s, or leave `cpu` out for 30 s"),
    (&["--memory", "0"],
        "`memory` of 0 bytes is below the least that can work, 16 MiB",
        "ask for 16 MiB to 2 GiB, or leave `memory` out for 512 MiB"),
    (&["--memory", "3GiB"],
        "`memory` of 3 GiB is above this server's ceiling of 2 GiB",
        "ask for at most 2 GiB, or raise `limits.memory` in the server's configuration"),
    (&["--disk", "2GiB"],
        "`disk` of 2 GiB is above this server's ceiling of 1 GiB",
        "ask for at most 1 GiB, or raise `limits.disk` in the server's configuration"),
    (&["--processes", "0"],
        "`processes` of 0 is below the least that can work, 4",
        "ask for 4 to 512, or leave `processes` out for 64"),
    (&["--env", "=value"],
        "`` cannot be the name of an environment variable",
        "use a name without `=` and control characters, such as `API_URL`"),
    (&["--env", "NAME"], "`--env NAME` has no value", "write it as NAME=VALUE"),
    (&["--env", "A=1", "--env", "A=2"], "`env` names `A` twice", "name each variable once"),
    (&["--network", "127.0.0.1"],
        "`127.0.0.1` is not a host name that can be granted",
        "write `example.org`, `*.example.org` or `example.org:8443`"),
    (&["--network", "example.org", "--engine", "wasm"],
        "`engine` asks for `wasm`, which cannot have network access, and this run is granted it",
        "use engine `auto` or `native`"),
    (&["--mount", "/usr/share", "--engine", "wasm"],
        "runs have something else at `/usr/share`",
        "show the folder at another place: `HOST:/data`"),
    (&["--mount", "/usr/share:/data", "--engine", "wasm"],
        "`engine` asks for `wasm`, which cannot see folders of the host, and this run is granted some",
        "use engine `auto` or `native`"),
    (&["--mount", "/usr/share:data"],
        "`/usr/share:data` does not say which folder runs see, and where",
        "write HOST[:GUEST][:ro|rw], such as `/srv/data:/data:rw`"),
    (&["--mount", "/usr/share:/data", "--mount", "/usr/lib:/data/lib"],
        "of the folders at `/data` and `/data/lib` one would be inside the other",
        "show them side by side"),
    (&["--mount", "/etc/passwd:/data"],
        "`/etc/passwd` is no folder",
        "name the folder that it is in"),
    (&["--mount", "/usr:/data:rw"],
        "`/usr` cannot be granted for writing: belljar itself uses `/usr/local/bin`",
        "give them a folder of their own, or show it read-only"),
];

#[test]
fn bad_options_are_refused_before_anything_starts() {
    let belljar = belljar();
    belljar.write("input.txt", "x");
    for (options, message, hint) in REFUSALS {
        let given = answer_without_launcher(&belljar, ["run", "-l", "python", "-c", "1"].iter().chain(*options));
        assert_eq!(given, refusal(message, hint), "{options:?}");
    }
    let not_utf8 = ["run", "-l", "python", "-c", "1", "--file"].map(OsStr::new).into_iter();
    let given = answer_without_launcher(&belljar, not_utf8.chain([OsStr::from_bytes(b"bad\xff=input.txt")]));
    assert_eq!(given, refusal("`bad\u{fffd}` cannot be a file of the workspace: it is not UTF-8", NAME_IT));
}

/// Also what is not there yet, and what only a server has.
#[test]
fn what_belljar_itself_uses_is_not_for_runs_to_write() {
    let belljar = belljar();
    let home = belljar.directory().join("home");
    fs::create_dir_all(home.join(".config/belljar")).expect("a fresh name");
    fs::create_dir(home.join("data")).expect("a fresh name");
    let path = |name: &str| home.join(name).display().to_string();
    let refused = |folder: &str, used: &str, options: &[&str]| {
        let mount = format!("{}:/data:rw", path(folder));
        let mut command = belljar.command(options.iter().copied().chain(["--mount", &mount]));
        command.env("HOME", &home).env_remove("XDG_CONFIG_HOME").env_remove("BELLJAR_CONFIG");
        command.current_dir(home.join("data"));
        let message = format!("`{}` cannot be granted for writing: belljar itself uses `{used}`", path(folder));
        assert_eq!(answer(command, b""), refusal(&message, "give them a folder of their own, or show it read-only"));
    };
    for folder in [".config", ".config/belljar"] {
        refused(folder, &path(".config/belljar/belljar.toml"), &["run", "-l", "python", "-c", "1"]);
    }
    let (audit, tokens) = (path("data/audit.jsonl"), path("data/tokens"));
    refused("data", &audit, &["serve", "--audit", &audit]);
    refused("data", &tokens, &["serve", "--http", "127.0.0.1:0", "--tokens", &tokens]);
    refused("data", "audit.jsonl", &["serve", "--audit", "audit.jsonl"]);
    // Written through a link, it comes to be where that leads.
    std::os::unix::fs::symlink("data/not/yet.jsonl", home.join("link")).expect("a fresh name");
    refused("data", &path("link"), &["serve", "--audit", &path("link")]);
}

#[test]
fn bad_programs_are_refused_before_anything_starts() {
    let belljar = belljar();
    belljar.write("empty.py", " \n\t\n");
    belljar.write("nul.py", "print(1)\0");
    belljar.write("huge.py", vec![b'#'; 50_000_000]);
    for (file, message, hint) in [
        ("empty.py", "`code` is empty", "send a program, such as `print(1 + 1)`"),
        ("nul.py", "`code` contains a NUL byte", "send source text; put binary data into `files`"),
        (
            "huge.py",
            "`code` is 47.6 MiB, above the limit of 16 MiB",
            "put data into `files` and keep `code` to the program",
        ),
    ] {
        assert_eq!(answer_without_launcher(&belljar, ["run", file]), refusal(message, hint));
    }
}

#[test]
fn an_unknown_language_is_refused_with_all_that_are_known() {
    let known: Vec<&str> = sandbox::Language::all().iter().map(|language| language.id).collect();
    let given = answer_without_launcher(&belljar(), ["run", "-l", "klingon", "-c", "1"]);
    let hint = format!("use one of {}", known.join(", "));
    assert_eq!(given, refusal("`klingon` is not a language belljar knows", &hint));
}

#[test]
fn an_unclear_language_is_refused_with_candidates() {
    let candidates = |answer: &Answer| {
        let hint =
            answer.stderr.lines().last().and_then(|line| line.strip_prefix("hint: name it with `-l`; it may be "));
        hint.unwrap_or_else(|| panic!("no candidates: {answer:?}")).split(", ").map(str::to_owned).collect::<Vec<_>>()
    };
    let answer = answer_without_launcher(&belljar(), ["run", "-c", "print(\"hi\")"]);
    assert_eq!((answer.code, answer.text()), (Some(125), ""));
    assert!(answer.stderr.starts_with("error: the language of `code` is not clear\n\n"), "{answer:?}");
    assert!(candidates(&answer).starts_with(&["python".to_owned(), "lua".to_owned()]), "{answer:?}");

    let nothing_known = answer_without_launcher(&belljar(), ["run", "-c", "hello there"]);
    assert_eq!(nothing_known, refusal("the language of `code` is not clear", "name it with `-l`, such as `-l python`"));

    let unknown_fence = answer_without_launcher(&belljar(), ["run", "-c", "```klingon\nnuqneH\n```"]);
    assert_eq!(
        unknown_fence,
        refusal(
            "the fence around `code` is tagged `klingon`, which is no language that belljar knows",
            "name it with `-l`, such as `-l python`"
        )
    );
}

/// Kit has had no release for years: no machine of ours will surprise us with it.
#[test]
fn a_missing_tool_is_named_with_where_to_get_it() {
    check(
        ["run", "-l", "kit", "-c", "function main() {}"],
        &refusal("nothing on this host runs Kit: found no `kitc`", "install it: kitlang.org"),
    );
}

#[test]
fn an_engine_that_is_not_there_is_refused() {
    check(
        ["run", "-l", "python", "-c", "1", "--engine", "wasm"],
        &refusal("Python in WebAssembly is not set up on this machine", "run `belljar setup python`"),
    );
}

#[test]
fn files_that_cannot_be_read_are_named() {
    let no_such_file = "  caused by: No such file or directory (os error 2)\n";
    for (arguments, message) in [
        (&["run", "missing.py"][..], "cannot read `missing.py`"),
        (&["run", "-l", "bash", "-c", ":", "--file", "missing.txt"], "cannot read `missing.txt`"),
        (&["run", "-l", "bash", "-c", ":", "--stdin", "missing.txt"], "cannot read `missing.txt`"),
        (&["run", "-l", "bash", "-c", ":", "--config", "missing.toml"], "cannot read the configuration `missing.toml`"),
    ] {
        let given = answer_without_launcher(&belljar(), arguments);
        assert_eq!(given, Answer::new(125, "", format!("error: {message}\n{no_such_file}")));
    }
}

#[test]
fn a_command_line_that_makes_no_sense_is_refused() {
    for (arguments, message) in [
        (&["run"][..], "error: the following required arguments were not provided:"),
        (&["run", "program.py", "-c", "1"], "error: the argument '[FILE]' cannot be used with '--code <CODE>'"),
        (&["run", "--frobnicate"], "error: unexpected argument '--frobnicate' found"),
        (&["run", "-c", "1", "--engine", "cuda"], "error: invalid value 'cuda' for '--engine <ENGINE>'"),
        (
            &["run", "-c", "1", "--memory", "lots"],
            "error: invalid value 'lots' for '--memory <SIZE>': `lots` is not an amount",
        ),
        (&["run", "-c", "1", "--memory", "-1"], "error: "),
        (&["run", "-c", "1", "--timeout", "soon"], "error: invalid value 'soon' for '--timeout <TIME>'"),
        (&["run", "-c", "1", "--processes", "many"], "error: invalid value 'many' for '--processes <COUNT>'"),
        (&["run", "-c", "1", "--require", "none"], "error: invalid value 'none' for '--require <LEVEL>'"),
        (&["frobnicate"], "error: unrecognized subcommand 'frobnicate'"),
        (&[], "Runs code that nobody has vetted"),
    ] {
        let given = answer_without_launcher(&belljar(), arguments);
        assert_eq!((given.code, given.text()), (Some(125), ""), "{arguments:?}");
        assert!(given.stderr.starts_with(message), "{arguments:?}: {given:?}");
    }
}
