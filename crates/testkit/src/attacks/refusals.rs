//! Levels: what `doctor` says of a set-up, what is refused there, and that a run gets what it was given.

use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt, chown, symlink};

use serde_json::Value;

use crate::arena::{Level, running_as_root};
use crate::run::{Ending, Program, Running};
use crate::stage::Stage;

pub(super) fn doctor(stage: &Stage, program: Program) {
    let mut command = stage.command(stage.belljar());
    command.args(["doctor", "--json"]);
    let finished = Running::start(command).finish();
    let stderr = String::from_utf8_lossy(&finished.stderr);
    let report: Value =
        serde_json::from_slice(&finished.stdout).unwrap_or_else(|error| panic!("{error}: {finished:?}"));
    assert_eq!(report["level"], stage.level().name(), "{:#}\n{stderr}", report["failed"]);
    let present = |name: &str| {
        let layers = report["layers"].as_array().expect("a list of layers");
        let layer = layers.iter().find(|layer| layer["name"] == name);
        layer.map(|layer| layer["present"].as_bool().expect("yes or no"))
    };
    // Of the layers that levels differ in, exactly those are there that the level says.
    let namespaces = stage.level() != Level::Landlock;
    for (name, expected) in [
        ("user-namespace", namespaces),
        ("pid-namespace", namespaces),
        ("mount-namespace", namespaces),
        ("network-namespace", namespaces),
        ("proc", stage.level() == Level::Full),
        ("landlock", true),
        ("seccomp", true),
        ("no-new-privs", true),
    ] {
        assert_eq!(present(name), Some(expected), "`{name}` in {:#}", report["layers"]);
    }
    // And a run reaches the level that was promised: checked of every outcome.
    stage.run_mode(program, "plain").outcome().assert_ended(Ending::completed(0));
}

pub(super) fn weaker_level(stage: &Stage, program: Program) {
    let mut command = stage.command(stage.belljar());
    command.args(["run", "--json", "-l", program.language, "-c", program.code, "--", "plain", stage.marker()]);
    let finished = Running::start(command).finish();
    let stderr = String::from_utf8_lossy(&finished.stderr);
    match stage.level() {
        Level::Full | Level::FullNoProc => {
            assert_eq!(finished.code, Some(0), "{stderr}");
            finished.outcome(stage.level().name()).assert_ended(Ending::completed(0));
        }
        Level::Landlock => {
            assert_eq!((finished.code, finished.stdout.len()), (Some(125), 0), "{stderr}");
            assert!(stderr.starts_with("error: ") && stderr.contains("\nhint: "), "{stderr}");
        }
    }
}

pub(super) fn inputs_visible(stage: &Stage, program: Program) {
    // A place that is mounted late must not hide what was put below it early.
    let input = stage.work().join("input.txt");
    fs::write(&input, "given\n").expect("our own directory");
    let code = "import os; print(open('input.txt').read(), sorted(os.listdir('.')), os.getcwd())";
    let outcome = stage
        .run(Program { language: program.language, code })
        .option("--file", format!("input.txt={}", input.display()))
        .outcome();
    outcome.assert_ended(Ending::completed(0));
    assert!(outcome.stdout.starts_with("given\n"), "{}", outcome.stdout);
    if stage.level() != Level::Landlock {
        assert!(outcome.stdout.ends_with(" /box\n"), "{}", outcome.stdout);
    }
}

pub(super) fn planted_scratch(stage: &Stage, program: Program) {
    // The parent of scratch directories has a name that anyone can guess, in a directory that anyone may write to.
    let planted = stage.temporary().join(format!("belljar-{}", stage.uid()));
    let owned_by_another = || {
        fs::create_dir(&planted).expect("a fresh name");
        chown(&planted, Some(stage.uid() + 1), Some(stage.uid() + 1)).expect("the tests are root");
        fs::set_permissions(&planted, fs::Permissions::from_mode(0o777)).expect("the tests are root");
    };
    let link = || symlink(stage.forbidden(), &planted).expect("a fresh name");
    if !running_as_root() {
        return;
    }
    for plant in [&owned_by_another as &dyn Fn(), &link] {
        plant();
        let finished = stage.run_mode(program, "plain").start().finish();
        let stderr = String::from_utf8_lossy(&finished.stderr);
        // Refused, or done without it: never used.
        assert!([Some(0), Some(125)].contains(&finished.code), "{stderr}");
        if finished.code == Some(125) {
            assert!(stderr.starts_with("error: "), "{stderr}");
        }
        let metadata = planted.symlink_metadata().expect("still there");
        if metadata.is_dir() {
            let found: Vec<_> = fs::read_dir(&planted).expect("readable by root").flatten().collect();
            assert!(found.is_empty() && metadata.mode() & 0o777 == 0o777, "{found:?}, {metadata:?}");
            fs::remove_dir(&planted).expect("empty");
        } else {
            fs::remove_file(&planted).expect("a link of ours");
        }
    }
}
