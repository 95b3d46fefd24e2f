//! What a recipe gets, and what becomes of one that does not behave.

use std::fs;
use std::time::{Duration, Instant};

use setup::{Cancel, Event, How};

use crate::world::{RECIPE, World, eventually, failure, outcomes};

#[test]
fn a_recipe_gets_its_folders_and_a_clean_environment() {
    let world = World::new();
    let look = r#"
        env >"@WORLD@/environment"
        ls -A "$BELLJAR_OUT" >"@WORLD@/out"
        cat "$BELLJAR_RECIPES/toolchain/common.sh" >"@WORLD@/common"
        cat >"@WORLD@/stdin"
    "#;
    world.recipe_file("toolchain/common.sh", "shared");
    world.recipe("javascript", &format!("{look}\n{RECIPE}"));
    let (summary, _) = world.provision(&["javascript"]);
    assert!(summary.is_complete(), "{summary}");
    let read = |name: &str| fs::read_to_string(world.path(name)).expect("read");
    let environment = read("environment");
    assert!(environment.contains("PATH=") && environment.contains("LC_ALL=C.UTF-8"), "{environment}");
    assert!(!environment.contains("s3cret"), "{environment}");
    assert_eq!([read("out"), read("common"), read("stdin")], ["", "shared", ""]);
}

#[test]
fn a_recipe_that_leaves_the_wrong_thing_has_failed() {
    let cases = [
        ("true", "the recipe left no usable `reactor.wasm`"),
        (r#": >"$BELLJAR_OUT/reactor.wasm""#, "the recipe left no usable `reactor.wasm`"),
        (r#"ln -s /etc/passwd "$BELLJAR_OUT/reactor.wasm""#, "the recipe left no usable `reactor.wasm`"),
        (r#"echo x >"$BELLJAR_OUT/reactor.wasm""#, "the recipe left no usable `facts`"),
        (r#"cd "$BELLJAR_OUT"; echo x >reactor.wasm; echo x >tree"#, "the recipe left no usable `tree`"),
        (r#"cd "$BELLJAR_OUT"; echo x >reactor.wasm; echo version= >facts"#, "the recipe left no usable `facts`"),
        ("exit 3", "the recipe ended with exit status: 3"),
        ("kill -KILL $$", "the recipe ended with exit status: 137"),
        ("printf 'no newline' >&2; exit 1", "no newline"),
        ("head -c 3000000 /dev/urandom; echo; echo sorry; exit 1", "sorry"),
    ];
    for (script, why) in cases {
        let world = World::new();
        world.recipe("javascript", script);
        let (summary, _) = world.provision(&["javascript"]);
        assert_eq!(failure(&summary, "javascript").why, why, "{script}");
        world.assert_nothing_temporary();
    }
}

#[test]
fn nothing_that_a_recipe_started_is_left() {
    let world = World::new();
    // The second one holds the recipe's output open.
    let daemons = r#"sleep 1000 >/dev/null 2>&1 & echo $! >"@WORLD@/pids"; sleep 1000 & echo $! >>"@WORLD@/pids""#;
    world.recipe("javascript", &format!("{daemons}\n{RECIPE}"));
    let (summary, _) = world.provision(&["javascript"]);
    assert_eq!(outcomes(&summary), [("javascript", Ok(How::Built))]);
    assert_gone(&world);
}

#[test]
fn a_recipe_without_output_may_still_be_busy() {
    let world = World::new();
    world
        .recipe("javascript", &format!("{RECIPE}\nexec >&- 2>&-; sleep 0.5; echo 'version=2' >\"$BELLJAR_OUT/facts\""));
    world.provision(&["javascript"]);
    assert_eq!(world.installed("javascript").expect("installed").version(), "2");
}

#[test]
fn a_cancelled_recipe_ends_at_once_and_leaves_nothing_but_its_work() {
    let world = World::new();
    let hang = r#"echo half >"$BELLJAR_WORK/stamp"; echo $$ >"@WORLD@/pids"; sleep 1000 & echo $! >>"@WORLD@/pids"; echo "step 1/2 hang"; wait"#;
    world.recipe("javascript", hang);
    let cancel = Cancel::default();
    let start = Instant::now();
    let (summary, events) = world.provision_watched(&["javascript", "python"], &cancel, |event| {
        if matches!(event, Event::Step { .. }) {
            cancel.cancel();
        }
    });
    assert!(start.elapsed() < Duration::from_mins(1));
    assert_eq!(failure(&summary, "javascript").why, "cancelled");
    assert_eq!(failure(&summary, "python").why, "cancelled");
    assert_eq!(events.iter().filter(|event| matches!(event, Event::Step { .. })).count(), 1);
    assert_gone(&world);
    world.assert_nothing_temporary();
    assert_eq!(fs::read_to_string(world.root().join("work/stamp")).expect("kept for the next attempt"), "half\n");
}

fn assert_gone(world: &World) {
    let pids = fs::read_to_string(world.path("pids")).expect("pids");
    assert!(pids.lines().count() > 1, "{pids}");
    for pid in pids.lines() {
        eventually("what the recipe started has ended", || is_gone(pid));
    }
}

/// Ended, or only waiting to be counted.
pub(crate) fn is_gone(pid: &str) -> bool {
    let status = fs::read_to_string(format!("/proc/{pid}/stat"));
    status.map_or(true, |status| status.rsplit_once(") ").is_none_or(|(_, rest)| rest.starts_with('Z')))
}
