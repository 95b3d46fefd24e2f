//! Once a machine, whoever comes at the same time; and who dies is no obstacle.

use std::fs;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::Duration;

use setup::{Cancel, Event, How, NotUsable};

use crate::recipes::is_gone;
use crate::world::{Fault, RECIPE, World, eventually, failure, named, names_in, outcomes};

/// Set for a child process: the world to provision `python` in.
const WORLD: &str = "BELLJAR_TEST_WORLD";
/// Set for a child process that is to die: in which stage.
const ABORT: &str = "BELLJAR_TEST_ABORT";

/// Waits until the test lets it go on, and not for ever.
const UNTIL_GO: &str = r#"for _ in $(seq 400); do [ -f "@WORLD@/go" ] && break; sleep 0.05; done"#;

#[test]
fn threads_that_start_together_build_once() {
    let world = World::new();
    world.recipe("python", &format!("{UNTIL_GO}\n{RECIPE}"));
    let (waiting, waiters) = (waiting_for("setting up python"), AtomicUsize::new(0));
    let done: Vec<(How, bool)> = thread::scope(|scope| {
        let provision = || {
            let mut waited = false;
            let (summary, _) = world.provision_watched(&["python"], &Cancel::default(), |event| {
                if *event == waiting && !waited {
                    waited = true;
                    if waiters.fetch_add(1, Ordering::Relaxed) == 2 {
                        fs::write(world.path("go"), "").expect("ours");
                    }
                }
            });
            (outcomes(&summary)[0].1.expect("provisioned"), waited)
        };
        let threads: Vec<_> = (0..4).map(|_| scope.spawn(provision)).collect();
        threads.into_iter().map(|thread| thread.join().expect("no panic")).collect()
    });
    assert_eq!(done.iter().filter(|(how, _)| *how == How::Built).count(), 1, "{done:?}");
    assert_eq!(done.iter().filter(|(how, _)| *how == How::Found).count(), 3, "{done:?}");
    assert_eq!(done.iter().filter(|(_, waited)| *waited).count(), 3, "{done:?}");
    assert_eq!(world.runs("python"), 1);
    assert_eq!(world.finish.made(), (1, 1));
    world.assert_usable("python");
}

#[test]
fn processes_that_start_together_build_once() {
    let world = World::new();
    world.recipe("python", &format!("sleep 0.5\n{RECIPE}"));
    let children: Vec<Child> = (0..4).map(|_| child(&world, None)).collect();
    for mut child in children {
        assert!(child.wait().expect("wait").success());
    }
    assert_eq!(world.runs("python"), 1);
    world.assert_usable("python");
    world.assert_nothing_temporary();
}

#[test]
fn two_runtimes_do_not_share_the_work_folder_at_the_same_time() {
    let world = World::new();
    let alone =
        r#"mkdir "$BELLJAR_WORK/busy" || { echo "two at once" >&2; exit 1; }; sleep 0.3; rmdir "$BELLJAR_WORK/busy""#;
    for name in ["javascript", "python"] {
        world.recipe(name, &format!("{alone}\n{RECIPE}"));
    }
    thread::scope(|scope| {
        for name in ["javascript", "python"] {
            let world = &world;
            scope.spawn(move || {
                let (summary, _) = world.provision(&[name]);
                assert!(summary.is_complete(), "{summary}");
            });
        }
    });
}

#[test]
fn a_killed_process_takes_its_recipe_along_and_the_next_goes_on() {
    let world = World::new();
    let slow = r#"
        if [ ! -f "$BELLJAR_WORK/stamp" ]; then
            touch "$BELLJAR_WORK/stamp"
            echo half >"$BELLJAR_OUT/reactor.wasm"
            sleep 1000 & echo $! >"@WORLD@/pid.new"; mv "@WORLD@/pid.new" "@WORLD@/pid"
            wait
        fi
    "#;
    world.recipe("python", &format!("{slow}\n{RECIPE}"));
    let mut first = child(&world, None);
    eventually("the recipe is busy", || fs::read_to_string(world.path("pid")).is_ok());
    assert_eq!(names_in(&world.root().join("tmp")).len(), 1, "something is being written");
    first.kill().expect("SIGKILL");
    first.wait().expect("wait");
    let sleeper = fs::read_to_string(world.path("pid")).expect("pid");
    eventually("the recipe's processes ended", || is_gone(sleeper.trim()));

    let (summary, _) = world.provision(&["python"]);
    assert_eq!(outcomes(&summary), [("python", Ok(How::Built))]);
    assert_eq!(world.runs("python"), 1, "the first attempt did not come this far");
    world.assert_usable("python");
    world.assert_nothing_temporary();
}

#[test]
fn who_waits_for_a_killed_process_takes_over() {
    let world = World::new();
    let hang_once = r#"
        if [ ! -f "@WORLD@/hung" ]; then touch "@WORLD@/hung"; sleep 1000; fi
    "#;
    world.recipe("python", &format!("{hang_once}\n{RECIPE}"));
    let mut first = child(&world, None);
    eventually("the recipe hangs", || fs::read(world.path("hung")).is_ok());
    let mut has_killed = false;
    let (summary, _) = world.provision_watched(&["python"], &Cancel::default(), |event| {
        if matches!(event, Event::Waiting { .. }) && !has_killed {
            first.kill().expect("SIGKILL");
            has_killed = true;
        }
    });
    assert!(has_killed);
    first.wait().expect("wait");
    assert_eq!(outcomes(&summary), [("python", Ok(How::Built))]);
    world.assert_usable("python");
}

#[test]
fn what_escapes_from_a_killed_process_is_waited_for() {
    let world = World::new();
    let escape_once = r#"
        if [ ! -f "@WORLD@/escaped" ]; then
            setsid sh -c 'touch "@WORLD@/escaped"; @UNTIL_GO@; touch "@WORLD@/ended"' >/dev/null 2>&1 &
            sleep 1000
        fi
        [ -f "@WORLD@/ended" ] || { echo "two at once" >&2; exit 1; }
    "#;
    let escape_once = escape_once.replace("@UNTIL_GO@", UNTIL_GO);
    world.recipe("python", &format!("{escape_once}\n{RECIPE}"));
    let mut first = child(&world, None);
    eventually("something has escaped", || fs::read(world.path("escaped")).is_ok());
    first.kill().expect("SIGKILL");
    first.wait().expect("wait");
    let (summary, events) = world.provision_watched(&["python"], &Cancel::default(), |event| {
        if *event == waiting_for("building python") {
            fs::write(world.path("go"), "").expect("ours");
        }
    });
    assert_eq!(outcomes(&summary), [("python", Ok(How::Built))]);
    assert!(events.contains(&waiting_for("building python")), "{events:?}");
}

#[test]
fn who_waits_can_be_cancelled() {
    let world = World::new();
    world.recipe("python", "sleep 1000");
    let first = Cancel::default();
    thread::scope(|scope| {
        scope.spawn(|| world.provision_watched(&["python"], &first, |_| {}));
        eventually("the first is at it", || !names_in(&world.root().join("tmp")).is_empty());
        let second = Cancel::default();
        let (summary, _) = world.provision_watched(&["python"], &second, |event| {
            if matches!(event, Event::Waiting { .. }) {
                second.cancel();
            }
        });
        assert_eq!(failure(&summary, "python").why, "cancelled");
        first.cancel();
    });
}

#[test]
fn a_process_that_dies_while_finishing_leaves_nothing_that_counts() {
    for (fault, how) in [(Fault::SnapshotAbort, How::Snapshotted), (Fault::CompileAbort, How::Compiled)] {
        let world = World::new();
        let status = child(&world, Some(fault)).wait().expect("wait");
        assert!(!status.success());
        assert!(world.installed("python").is_err());
        assert!(!names_in(&world.root().join("tmp")).is_empty());
        let (summary, _) = world.provision(&["python"]);
        assert_eq!(outcomes(&summary), [("python", Ok(how))], "{fault:?}");
        world.assert_usable("python");
        world.assert_nothing_temporary();
    }
}

#[test]
fn a_kill_at_any_moment_leaves_the_old_state_or_the_new() {
    let world = World::new();
    world.provision(&["python"]);
    let mut interrupted = 0;
    for round in 0..24 {
        let before = world.setup();
        world.recipe_file("python/driver", &round.to_string());
        let mut child = child(&world, None);
        // A whole provisioning takes some 80 ms.
        thread::sleep(Duration::from_millis(round * 17 % 100));
        child.kill().expect("SIGKILL");
        child.wait().expect("wait");

        let still = before.installed(named("python"));
        assert!(still.is_ok(), "round {round}: what was there is still there: {still:?}");
        match world.installed("python") {
            Ok(_) => world.assert_usable("python"),
            Err(NotUsable::Outdated(_)) => interrupted += 1,
            Err(other) => panic!("{other}"),
        }
        let (summary, _) = world.provision(&["python"]);
        assert!(summary.is_complete(), "{summary}");
        world.assert_usable("python");
    }
    assert!(interrupted > 0);
    // A recipe that outlives its belljar for a moment can write once more into what is being swept; the next sweep gets that.
    world.provision(&["python"]);
    world.assert_nothing_temporary();
}

fn waiting_for(other: &str) -> Event {
    Event::Waiting { name: "python", other: other.to_owned() }
}

/// Another process, which provisions `python` in that world. It is this test binary, told to run [`a_child_process`] only.
#[expect(clippy::disallowed_methods, reason = "two processes at once are what is tested")]
fn child(world: &World, fault: Option<Fault>) -> Child {
    let mut command = Command::new(std::env::current_exe().expect("this test binary"));
    command.args(["--exact", "once::a_child_process", "--ignored", "--test-threads=1"]);
    command.env(WORLD, world.path("")).stdout(Stdio::null()).stderr(Stdio::null());
    if let Some(fault) = fault {
        command.env(ABORT, format!("{fault:?}"));
    }
    command.spawn().expect("spawn")
}

#[test]
#[ignore = "run by the other tests, as a process of its own"]
#[expect(clippy::disallowed_methods, reason = "how a test tells its child process what to do")]
fn a_child_process() {
    let Some(folder) = std::env::var_os(WORLD) else { return };
    let world = World::visit(&PathBuf::from(folder));
    let faults = [Fault::SnapshotAbort, Fault::CompileAbort];
    let fault =
        std::env::var(ABORT).ok().and_then(|name| faults.into_iter().find(|fault| format!("{fault:?}") == name));
    world.finish.fault(fault);
    let (summary, _) = world.provision(&["python"]);
    assert!(summary.is_complete(), "{summary}");
}
