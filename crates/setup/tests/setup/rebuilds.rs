//! A change redoes what depends on it and nothing else.

use std::fs;
use std::path::PathBuf;

use setup::{How, Needs, NotUsable};

use crate::world::{RECIPE, World, names_in, outcomes};

fn world_with_python() -> World {
    let world = World::new();
    world.provision(&["javascript", "numpy"]);
    world
}

#[test]
fn a_changed_driver_rebuilds_what_it_goes_into() {
    let world = world_with_python();
    world.recipe_file("python/driver/main.c", "int main;");
    assert!(world.installed("javascript").is_ok());
    for name in ["python", "numpy"] {
        assert!(matches!(world.installed(name), Err(NotUsable::Outdated(Needs::Build))), "{name}");
    }
    let (summary, _) = world.provision(&["javascript", "numpy"]);
    assert_eq!(
        outcomes(&summary),
        [("javascript", Ok(How::Found)), ("python", Ok(How::Built)), ("numpy", Ok(How::Built))]
    );
    assert_eq!([world.runs("javascript"), world.runs("python"), world.runs("numpy")], [1, 2, 2]);
}

#[test]
fn another_machine_or_compiler_only_compiles() {
    let world = world_with_python();
    world.finish.set_keys("", "another cpu");
    assert!(matches!(world.installed("python"), Err(NotUsable::Outdated(Needs::Compile))));
    let (summary, _) = world.provision(&["python"]);
    assert_eq!(outcomes(&summary), [("python", Ok(How::Compiled))]);
    world.assert_usable("python");
    assert_eq!(world.finish.made(), (3, 4));

    // Two kinds of machine that share the folder do not take turns.
    world.finish.set_keys("", "");
    world.assert_usable("python");
}

#[test]
fn another_snapshotter_starts_from_the_recipes_kept_result() {
    let world = world_with_python();
    world.finish.set_keys("another pack format", "");
    assert!(matches!(world.installed("python"), Err(NotUsable::Outdated(Needs::Build))));
    let (summary, _) = world.provision(&["python"]);
    assert_eq!(outcomes(&summary), [("python", Ok(How::Snapshotted))]);
    assert_eq!(world.runs("python"), 1);
    world.assert_usable("python");
}

#[test]
fn a_second_attempt_goes_on_where_the_first_failed() {
    let world = World::new();
    let slow = r#"
        if [ ! -f "$BELLJAR_WORK/stamp" ]; then echo slow >>"@WORLD@/slow"; touch "$BELLJAR_WORK/stamp"; fi
        [ -f "@WORLD@/network" ] || { echo "error: no network" >&2; exit 1; }
    "#;
    world.recipe("python", &format!("{slow}\n{RECIPE}"));
    assert!(!world.provision(&["python"]).0.is_complete());
    fs::write(world.path("network"), "").expect("write");
    assert!(world.provision(&["python"]).0.is_complete());
    assert_eq!(fs::read_to_string(world.path("slow")).expect("read"), "slow\n");
}

#[test]
fn old_versions_are_swept_but_for_one() {
    let world = world_with_python();
    for version in ["a", "b", "c"] {
        world.recipe_file("python/driver", version);
        world.recipe("python", &RECIPE.replace("reactor of", &format!("reactor {version} of")));
        world.provision(&["python"]);
    }
    let names = names_in(&world.root().join("runtimes/python"));
    let count = |ending: &str| names.iter().filter(|name| name.ends_with(ending)).count();
    // The pack has never changed.
    assert_eq!([count(".json"), count(".wasm"), count(".pack")], [2, 2, 1], "{names:?}");
    let modules = names_in(&world.root().join("modules"));
    let count = |start: &str| modules.iter().filter(|name| name.starts_with(start)).count();
    assert_eq!([count("python-"), count("numpy-"), count("javascript-")], [4, 2, 2], "{modules:?}");
    assert_eq!(names_in(&world.root().join("built/python")).len(), 1);
    assert_eq!(names_in(&world.root().join("recipes")).len(), 1);

    // The one before is still there for whoever runs it.
    world.recipe_file("python/driver", "b");
    world.recipe("python", &RECIPE.replace("reactor of", "reactor b of"));
    assert!(world.installed("python").is_ok());
}

type Damage = fn(&PathBuf);

#[test]
fn what_is_damaged_is_made_again() {
    let world = world_with_python();
    let installed = world.installed("python").expect("installed");
    let record = installed.module.with_extension("json");
    let manifest = world.manifest("python");
    let pack = installed.pack.clone().expect("a pack");
    let cases: [(&PathBuf, Damage, How); 8] = [
        (&installed.module, shorten, How::Compiled),
        (&installed.module, flip, How::Compiled),
        (&installed.module, remove, How::Compiled),
        (&record, flip, How::Compiled),
        (&record, remove, How::Compiled),
        (&installed.snapshot, shorten, How::Snapshotted),
        (&pack, flip, How::Snapshotted),
        (&manifest, shorten, How::Snapshotted),
    ];
    for (path, damage, how) in cases {
        damage(path);
        let (summary, _) = world.provision(&["python"]);
        assert_eq!(outcomes(&summary), [("python", Ok(how))], "{}", path.display());
        world.assert_usable("python");
    }
    assert_eq!(world.runs("python"), 1);
}

#[test]
fn a_size_that_is_wrong_is_seen_without_hashing() {
    let world = world_with_python();
    let installed = world.installed("python").expect("installed");
    for path in [&installed.module, &installed.snapshot, installed.pack.as_ref().expect("a pack")] {
        let whole = fs::read(path).expect("read");
        shorten(path);
        let state = world.installed("python");
        assert!(matches!(&state, Err(NotUsable::Damaged(damaged)) if damaged == path), "{state:?}");
        fs::write(path, whole).expect("write");
    }
    world.assert_usable("python");
}

fn shorten(path: &PathBuf) {
    let bytes = fs::read(path).expect("read");
    fs::write(path, &bytes[..bytes.len() / 2]).expect("write");
}

fn flip(path: &PathBuf) {
    let mut bytes = fs::read(path).expect("read");
    bytes[0] ^= 1;
    fs::write(path, bytes).expect("write");
}

fn remove(path: &PathBuf) {
    fs::remove_file(path).expect("remove");
}
