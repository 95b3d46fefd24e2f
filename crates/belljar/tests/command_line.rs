//! The commands' face: what is accepted, what comes out, and with which exit code. What a run itself owes its program is
//! in `conformance.rs`.

#![expect(clippy::expect_used, reason = "a failed check is a failed test")]

#[path = "command_line/bad_input.rs"]
mod bad_input;
#[path = "command_line/interruption.rs"]
mod interruption;
#[path = "command_line/settings.rs"]
mod settings;

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::fs;

use testkit::conformance::command::{Answer, Belljar, answer};
use testkit::conformance::report::Report;

/// The binary in a directory of its own.
fn belljar() -> Belljar {
    Belljar::new(env!("CARGO_BIN_EXE_belljar"))
}

/// Runs a command line with nothing on standard input.
#[track_caller]
fn check<Argument: AsRef<OsStr>>(arguments: impl IntoIterator<Item = Argument>, expected: &Answer) {
    assert_eq!(&belljar().answer(arguments), expected);
}

#[test]
fn exit_code_is_the_programs_own() {
    for code in [0, 1, 3, 124, 125, 137, 255] {
        check(["run", "-l", "bash", "-c", &format!("exit {code}")], &Answer::new(code, "", ""));
    }
}

#[test]
fn exit_code_and_last_words_of_an_end_that_is_not_its_own() {
    check(
        ["run", "-l", "bash", "-c", "echo so far; sleep 60", "--timeout", "3s"],
        &Answer::new(124, "so far\n", "belljar: timed out after 3.0 s\n"),
    );
    check(
        ["run", "-l", "bash", "-c", "while :; do :; done", "--cpu", "300ms"],
        &Answer::new(137, "", "belljar: the program was ended: over its cpu limit\n"),
    );
    check(
        ["run", "-l", "bash", "-c", "kill -SEGV $$"],
        &Answer::new(137, "", "belljar: the program was ended by SIGSEGV\n"),
    );
}

#[test]
fn exit_code_is_the_same_with_json() {
    for (code, option, exit_code) in [("exit 3", "30s", 3), ("sleep 60", "300ms", 124), ("kill -ABRT $$", "30s", 137)] {
        let answer = belljar().answer(["run", "-l", "bash", "-c", code, "--timeout", option, "--json"]);
        assert_eq!((answer.code, &*answer.stderr), (Some(exit_code), ""));
    }
}

#[test]
fn output_passes_through_byte_for_byte() {
    let all =
        "import sys\nsys.stdout.buffer.write(bytes(range(256)) * 20000)\nsys.stderr.write('to stderr, no newline')";
    let expected: Vec<u8> = (0..=255).cycle().take(256 * 20_000).collect();
    let answer = belljar().answer(["run", "-l", "python", "-c", all]);
    // Five megabytes are past what a result keeps; nothing is kept here, so nothing is dropped.
    assert!(answer.stdout == expected, "{} bytes differ from what was written", answer.stdout.len());
    assert_eq!((answer.code, &*answer.stderr), (Some(0), "to stderr, no newline"));
}

#[test]
fn output_of_both_streams_passes_in_order() {
    let slowly = "echo 1; sleep 3; echo 2 >&2; sleep 3; echo 3; sleep 3; echo 4 >&2";
    let belljar = belljar();
    let both = fs::File::create(belljar.directory().join("both")).expect("our own directory");
    let mut command = belljar.command(["run", "-l", "bash", "-c", slowly]);
    command.stdout(both.try_clone().expect("a descriptor")).stderr(both);
    assert!(command.status().expect("belljar starts").success());
    assert_eq!(fs::read_to_string(belljar.directory().join("both")).expect("our own file"), "1\n2\n3\n4\n");
}

#[test]
fn program_from_a_file() {
    let belljar = belljar();
    belljar.write("below/program.py", "print('from a file')");
    assert_eq!(belljar.answer(["run", "below/program.py"]), Answer::new(0, "from a file\n", ""));
}

#[test]
fn program_from_standard_input() {
    let belljar = belljar();
    let command = belljar.command(["run", "-", "-l", "python"]);
    assert_eq!(answer(command, b"print('from standard input')"), Answer::new(0, "from standard input\n", ""));
}

#[test]
fn program_from_the_command_line() {
    check(["run", "-l", "python", "-c", "print('here')"], &Answer::new(0, "here\n", ""));
    check(["run", "--language", "python", "--code", "print('here')"], &Answer::new(0, "here\n", ""));
}

/// Erlang's attributes and the comments of Lua, SQL and Haskell start with a dash.
#[test]
fn program_that_starts_with_a_dash() {
    check(
        ["run", "-l", "bash", "-c", "-- || echo dashes"],
        &Answer::new(0, "dashes\n", "/box/main.sh: line 1: --: command not found\n"),
    );
}

#[test]
fn standard_input_is_nothing_unless_asked_for() {
    let belljar = belljar();
    belljar.write("input.txt", "from a file\n");
    for (option, expected) in
        [(&[][..], "[]\n"), (&["--stdin", "-"], "[ours]\n"), (&["--stdin", "input.txt"], "[from a file]\n")]
    {
        let mut command = belljar.command(["run", "-l", "bash", "-c", "echo \"[$(cat)]\""]);
        command.args(option);
        assert_eq!(answer(command, b"ours\n"), Answer::new(0, expected, ""), "{option:?}");
    }
}

#[test]
fn files_are_copied_in() {
    let belljar = belljar();
    belljar.write("data/deep/one.txt", "one\n");
    belljar.write("two.txt", "two\n");
    let code = "cat data/deep/one.txt renamed/2.txt; rm -r data renamed";
    let files = ["--file", "data/deep/one.txt", "--file", "renamed/2.txt=two.txt"];
    let answer = belljar.answer(["run", "-l", "bash", "-c", code].into_iter().chain(files));
    assert_eq!(answer, Answer::new(0, "one\ntwo\n", ""));
    assert_eq!(fs::read_to_string(belljar.directory().join("two.txt")).expect("still there"), "two\n");
}

#[test]
fn files_that_the_program_made_are_saved() {
    let belljar = belljar();
    belljar.write("given.txt", "given\n");
    belljar.write("out/old.txt", "old and longer\n");
    let code = "mkdir -p a/b; printf 'x\\0y' > a/b/c.bin; printf new > old.txt; cat given.txt";
    let answer = belljar.answer(["run", "-l", "bash", "-c", code, "--file", "given.txt", "--out", "out"]);
    assert_eq!(answer, Answer::new(0, "given\n", ""));
    let saved = |name: &str| fs::read(belljar.directory().join("out").join(name)).ok();
    assert_eq!(saved("a/b/c.bin").as_deref(), Some(&b"x\0y"[..]));
    assert_eq!(saved("old.txt").as_deref(), Some(&b"new"[..]));
    // What was given and the program itself are not something that it made.
    assert_eq!((saved("given.txt"), saved("main.sh")), (None, None));
}

#[test]
fn a_directory_that_cannot_be_made_is_told() {
    check(
        ["run", "-l", "bash", "-c", "echo made > file", "--out", "/dev/null/out"],
        &Answer::new(
            125,
            "",
            "error: cannot save files to `/dev/null/out`\n  caused by: Not a directory (os error 20)\n",
        ),
    );
}

#[test]
fn environment_and_arguments() {
    let code = "echo \"$NAME [$EMPTY]\"; printf '[%s]' \"$@\"";
    let options = ["--env", "NAME=a=b c", "--env", "EMPTY=", "--", "-l", "", "a b", "--json"];
    check(
        ["run", "-l", "bash", "-c", code].into_iter().chain(options),
        &Answer::new(0, "a=b c []\n[-l][][a b][--json]", ""),
    );
}

#[test]
fn json_is_one_line() {
    let answer = belljar().answer(["run", "-l", "bash", "-c", "printf 'a\\nb\\r\\n'; exit 3", "--json"]);
    let report = Report::read(&answer);
    assert_eq!((&*report.stdout, report.exit_code, answer.code), ("a\nb\r\n", Some(3), Some(3)));
}

#[test]
fn language_is_worked_out() {
    let belljar = belljar();
    belljar.write("script", "#!/bin/sh\necho \"sh $0\"\n");
    belljar.write("module.mjs", "import fs from 'node:fs';\nconsole.log(typeof fs.readFileSync)");
    // A `#!` line is surer than a name.
    belljar.write("not.py", "#!/usr/bin/env perl\nprint \"perl\\n\";");
    belljar.write("notes.md", "```bash\necho \"fence $BASH_VERSION\" | cut -c 1-5\n```\n");
    for (arguments, stdout) in [
        (&["run", "script"][..], "sh /box/main.sh\n"),
        (&["run", "module.mjs"], "function\n"),
        (&["run", "not.py"], "perl\n"),
        (&["run", "notes.md"], "fence\n"),
        (&["run", "-c", "#!/usr/bin/env bash\necho ${BASH_VERSION:+bash}"], "bash\n"),
        (&["run", "-c", "import sys\n\ndef main():\n    print(sys.version_info >= (3,))\n\nmain()"], "True\n"),
        (&["run", "-c", "#include <stdio.h>\nint main(void) { puts(\"c\"); }"], "c\n"),
        (&["run", "-c", "const a = [1, 2];\nconsole.log(a.map((x) => x * 2))"], "[ 2, 4 ]\n"),
        (&["run", "-l", "PY", "-c", "print('alias')"], "alias\n"),
    ] {
        assert_eq!(belljar.answer(arguments), Answer::new(0, stdout, ""), "{arguments:?}");
    }
}

#[test]
fn help_and_version_are_not_errors() {
    let version = belljar().answer(["--version"]);
    assert_eq!(version, Answer::new(0, format!("belljar {}\n", env!("CARGO_PKG_VERSION")), ""));
    for arguments in [&["--help"][..], &["run", "--help"], &["doctor", "--help"], &["example", "--help"]] {
        let help = belljar().answer(arguments);
        assert_eq!((help.code, &*help.stderr), (Some(0), ""));
        assert!(help.text().contains("Usage: belljar"), "{help:?}");
        assert!(!help.text().contains("--without"), "the tests' own option is hidden: {help:?}");
    }
}

#[test]
fn doctor_tells_level_layers_and_languages() {
    let text = belljar().answer(["doctor"]);
    let json = belljar().answer(["doctor", "--json"]);
    assert_eq!((text.code, json.code), (Some(0), Some(0)), "{text:?}");
    let told: serde_json::Value = serde_json::from_slice(&json.stdout).expect("JSON");
    let fields: BTreeSet<&str> = told.as_object().expect("an object").keys().map(String::as_str).collect();
    let expected = [
        "accepted",
        "advice",
        "failed",
        "granted",
        "languages",
        "layers",
        "level",
        "limits",
        "missing",
        "required",
        "runtimes",
        "version",
        "worker",
    ];
    assert_eq!(fields, BTreeSet::from(expected));
    assert_eq!(told["version"], env!("CARGO_PKG_VERSION"));
    assert_eq!((&told["required"], &told["accepted"]), (&"full".into(), &true.into()));
    let level = told["level"].as_str().expect("text");
    assert!(["full", "full-noproc"].contains(&level), "{level}");
    assert!(text.text().starts_with(&format!("isolation level: {level} (required: full; accepted)\n")), "{text:?}");
    for layer in told["layers"].as_array().expect("a list") {
        let name = layer["name"].as_str().expect("text");
        assert!(layer["present"].is_boolean() && layer["detail"].is_string(), "{layer}");
        assert!(text.text().contains(name), "`{name}` is not in the text");
    }
    let languages = told["languages"].as_array().expect("a list");
    let ids: Vec<&str> = languages.iter().filter_map(|language| language["id"].as_str()).collect();
    assert_eq!(ids, sandbox::Language::all().iter().map(|language| language.id).collect::<Vec<_>>());
    assert!(languages.iter().all(|language| language["present"].is_boolean()), "{languages:?}");
}

#[test]
fn example_runs_the_samples_it_is_asked_for() {
    let answer = belljar().answer(["example", "perl", "bash", "sh"]);
    assert_eq!((answer.code, &*answer.stderr), (Some(0), ""), "{answer:?}");
    let text = answer.text();
    for (name, output) in [
        ("Perl", "cake: 4.50 | tea: 3.20 | total: 7.70"),
        ("Bash", "5 numbers add up to 14"),
        ("POSIX shell", "sum: 14"),
    ] {
        let row =
            text.lines().find(|line| line.starts_with(name)).unwrap_or_else(|| panic!("no row for {name}: {text}"));
        assert!(row.contains(" native ") && row.contains(" ok ") && row.ends_with(output), "{row}");
    }
}

#[test]
fn example_of_what_is_not_there_is_refused() {
    check(
        ["example", "klingon"],
        &Answer::new(
            125,
            "",
            "error: `klingon` is not a language belljar knows\n\nhint: leave it out to see all of them\n",
        ),
    );
}

#[test]
fn what_is_not_set_up_is_not_exported() {
    let belljar = belljar();
    for (arguments, said) in [
        (
            &["setup", "--export", "all.tgz"][..],
            "error: nothing is set up here to export\n\nhint: run `belljar setup` first\n",
        ),
        (
            &["setup", "ruby", "--export", "ruby.tgz"],
            "error: `ruby` cannot be exported: it is not provisioned\n\nhint: run `belljar setup ruby` first\n",
        ),
    ] {
        assert_eq!(belljar.answer(arguments), Answer::new(125, "", said));
    }
}

#[test]
fn shells_and_man_are_told_of_every_command() {
    let printed = |arguments: &[&str]| String::from_utf8(belljar().answer(arguments).stdout).expect("text");
    let manual = printed(&["man"]);
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        let script = printed(&["completions", shell]);
        for name in ["run", "serve", "connect", "example", "setup", "audit", "doctor", "completions"] {
            assert!(script.contains(name), "{shell}: {name}");
            assert!(manual.contains(&format!("belljar {name}")), "{name}");
        }
    }
}

/// The examples that show how another program embeds belljar. They check their own results.
#[test]
fn another_program_can_embed_it() {
    let folder = std::path::Path::new(env!("CARGO_BIN_EXE_belljar")).parent().expect("a folder");
    for example in ["examples/embed", "examples/embed_live"] {
        let ended = testkit::arena::host_command(folder.join(example)).output().expect("the example is built");
        assert!(ended.status.success(), "{example}: {ended:?}");
    }
}
