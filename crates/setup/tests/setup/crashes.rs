//! At no time is there anything but the old state or the new.

use std::fs;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use setup::{How, NotUsable};

use crate::world::{Fault, RECIPE, World, failure, named, names_in, outcomes};

#[test]
fn a_finisher_that_fails_changes_nothing_that_counts() {
    let cases = [
        (Fault::SnapshotError, "cannot make the snapshot: no start function"),
        (Fault::SnapshotMissing, "the engine left no usable `snapshot.wasm`"),
        (Fault::PackMissing, "the engine left no usable `tree.pack`"),
        (Fault::CompileError, "cannot compile the snapshot: unsupported instruction"),
        (Fault::ModuleMissing, "the engine left no usable `module.cwasm`"),
        (Fault::ModuleEmpty, "the engine left no usable `module.cwasm`"),
    ];
    for (fault, why) in cases {
        let world = World::new();
        world.provision(&["python"]);
        let before = world.setup();

        world.recipe("python", &RECIPE.replace("reactor of", "reactor 2 of"));
        world.finish.fault(Some(fault));
        let (summary, _) = world.provision(&["python"]);
        assert_eq!(failure(&summary, "python").why, why);
        assert!(world.installed("python").is_err(), "{fault:?}");
        assert!(before.installed(named("python")).is_ok(), "what was there is still there: {fault:?}");
        world.assert_nothing_temporary();

        world.finish.fault(None);
        let (summary, _) = world.provision(&["python"]);
        assert!(matches!(outcomes(&summary)[0].1, Ok(How::Snapshotted | How::Compiled)), "the recipe's result is kept");
        assert!(world.installed("python").is_ok());
        assert_eq!(world.runs("python"), 2);
    }
}

#[test]
fn who_looks_meanwhile_sees_the_old_state_or_the_new() {
    let world = World::new();
    let done = AtomicBool::new(false);
    let (mut before, mut after) = (0, 0);
    thread::scope(|scope| {
        scope.spawn(|| {
            for round in 0..30 {
                // Damage, repair, another recipe, another machine.
                world.finish.set_keys("", &format!("machine {}", round % 3));
                if let (Ok(installed), 0) = (world.installed("javascript"), round % 4) {
                    fs::remove_file(installed.module).expect("remove");
                }
                let (summary, _) = world.provision(&["javascript"]);
                assert!(summary.is_complete(), "{summary}");
            }
            done.store(true, Ordering::Relaxed);
        });
        while !done.load(Ordering::Relaxed) {
            match world.installed("javascript") {
                Ok(installed) => {
                    after += 1;
                    // Whole, or (removed by the test) not there at all.
                    if let Ok(module) = fs::read_to_string(&installed.module) {
                        assert!(module.ends_with("snapshot of reactor of javascript\n"), "{module:?}");
                    }
                }
                Err(NotUsable::NotProvisioned | NotUsable::Outdated(_)) => before += 1,
                // The test removed the module and not its record.
                Err(NotUsable::Damaged(path)) => assert_eq!(path.extension().expect("an ending"), "cwasm"),
                Err(other) => panic!("{other}"),
            }
        }
    });
    assert!(before > 0 && after > 0, "{before} {after}");
}

#[test]
fn what_dead_processes_left_is_swept() {
    let world = World::new();
    let left = world.root().join("tmp/12345-0/out");
    fs::create_dir_all(&left).expect("mkdir");
    fs::write(left.join("reactor.wasm"), "half").expect("write");
    for folder in ["cache", "cache/tmp"] {
        use std::os::unix::fs::PermissionsExt as _;
        fs::set_permissions(world.path(folder), fs::Permissions::from_mode(0o700)).expect("chmod");
    }
    world.provision(&["javascript"]);
    assert_eq!(names_in(&world.root().join("tmp")), [""; 0]);
    world.assert_usable("javascript");
}
