//! What somebody else has in hand is refused, and not repaired either.

use std::fs::{self, Permissions};
use std::os::unix::fs::{PermissionsExt as _, chown, symlink};
use std::path::{Path, PathBuf};

use setup::{NotUsable, Untrusted};

use crate::world::{World, failure, names_in};

fn world_with_javascript() -> World {
    let world = World::new();
    world.provision(&["javascript"]);
    world.assert_usable("javascript");
    world
}

/// All folders and files that loading `javascript` depends on.
fn places(world: &World) -> Vec<PathBuf> {
    let installed = world.installed("javascript").expect("installed");
    vec![
        world.root(),
        world.root().join("runtimes"),
        world.root().join("runtimes/javascript"),
        world.manifest("javascript"),
        installed.snapshot,
        installed.pack.expect("a pack"),
        world.root().join("modules"),
        installed.module.with_extension("json"),
        installed.module,
    ]
}

/// Only root can give files to somebody else. Where tests may not be left out (in CI), it has to be root.
#[expect(clippy::disallowed_methods, reason = "how CI tells tests that they may not be left out")]
fn can_give_away() -> bool {
    let is_root = rustix::process::geteuid().is_root();
    let must_run = std::env::var_os("BELLJAR_TEST_NO_SKIP").is_some();
    assert!(is_root || !must_run, "BELLJAR_TEST_NO_SKIP is set, and giving files away needs root");
    is_root
}

fn set_mode(path: &Path, mode: u32) {
    fs::set_permissions(path, Permissions::from_mode(mode)).expect("chmod");
}

#[test]
fn what_others_can_write_to_is_refused() {
    let world = world_with_javascript();
    for path in places(&world) {
        let own = fs::metadata(&path).expect("metadata").permissions().mode() & 0o777;
        for mode in [0o777, 0o702, 0o602] {
            set_mode(&path, mode);
            let refused = Untrusted::Writable { path: path.clone(), mode };
            let state = world.installed("javascript");
            assert!(matches!(&state, Err(NotUsable::Refused(why)) if *why == refused), "{mode:o}: {state:?}");
            let (summary, _) = world.provision(&["javascript"]);
            assert_eq!(failure(&summary, "javascript").why, refused.to_string());
            let after = fs::metadata(&path).expect("metadata").permissions().mode() & 0o777;
            assert_eq!(after, mode, "nothing is repaired");
        }
        set_mode(&path, own);
        world.assert_usable("javascript");
    }
}

#[test]
fn what_a_group_of_others_can_write_to_is_refused() {
    if !can_give_away() {
        return;
    }
    let world = world_with_javascript();
    for path in places(&world) {
        let own = fs::metadata(&path).expect("metadata").permissions().mode() & 0o777;
        let assert_refused = || {
            let state = world.installed("javascript");
            assert!(matches!(&state, Err(NotUsable::Refused(Untrusted::Writable { .. }))), "{state:?}");
        };
        set_mode(&path, own | 0o020);
        // A umask leaves folders so to the user's own group; files were made for the user alone.
        if path.is_dir() {
            world.assert_usable("javascript");
        } else {
            assert_refused();
        }
        chown(&path, None, Some(4321)).expect("chgrp");
        assert_refused();
        chown(&path, None, Some(0)).expect("chgrp");
        set_mode(&path, own);
    }
}

#[test]
fn what_belongs_to_somebody_else_is_refused() {
    if !can_give_away() {
        return;
    }
    let world = world_with_javascript();
    for path in places(&world) {
        chown(&path, Some(4321), None).expect("chown");
        let refused = Untrusted::Owner { path: path.clone(), owner: 4321, us: 0 };
        let state = world.installed("javascript");
        assert!(matches!(&state, Err(NotUsable::Refused(why)) if *why == refused), "{state:?}");
        let (summary, _) = world.provision(&["javascript"]);
        assert_eq!(failure(&summary, "javascript").why, refused.to_string());
        chown(&path, Some(0), None).expect("chown");
        world.assert_usable("javascript");
    }
}

#[test]
fn a_link_is_not_what_it_points_to() {
    let world = world_with_javascript();
    // Not the root: where that is, is the operator's affair.
    for path in places(&world).into_iter().skip(1) {
        let moved = world.path("moved");
        fs::rename(&path, &moved).expect("rename");
        symlink(&moved, &path).expect("symlink");
        let state = world.installed("javascript");
        let is_refused = matches!(&state, Err(NotUsable::Refused(Untrusted::Kind { path: at, .. })) if *at == path);
        assert!(is_refused, "{}: {state:?}", path.display());
        fs::remove_file(&path).expect("remove");
        fs::rename(&moved, &path).expect("rename");
        world.assert_usable("javascript");
    }
}

#[test]
fn a_folder_above_that_others_can_write_to_is_refused() {
    let world = world_with_javascript();
    set_mode(&world.path(""), 0o777);
    let state = world.installed("javascript");
    assert!(matches!(state, Err(NotUsable::Refused(Untrusted::Writable { mode: 0o777, .. }))), "{state:?}");

    // In a sticky folder nobody can exchange what is ours.
    set_mode(&world.path(""), 0o1777);
    world.assert_usable("javascript");
}

#[test]
fn a_folder_above_that_belongs_to_somebody_else_is_refused() {
    if !can_give_away() {
        return;
    }
    let world = world_with_javascript();
    chown(world.path(""), Some(4321), None).expect("chown");
    let state = world.installed("javascript");
    assert!(matches!(state, Err(NotUsable::Refused(Untrusted::Owner { owner: 4321, .. }))), "{state:?}");
}

#[test]
fn a_link_to_the_cache_folder_leads_to_a_checked_place() {
    let world = world_with_javascript();
    let link = world.path("link");
    symlink(world.root(), &link).expect("symlink");
    let installed = world.setup_in(&link).installed(setup::runtime("javascript").expect("runtime")).expect("installed");
    assert!(installed.module.starts_with(world.root()), "the path holds no link: {}", installed.module.display());

    set_mode(&world.root(), 0o777);
    assert!(world.setup_in(&link).installed(setup::runtime("javascript").expect("runtime")).is_err());
}

#[test]
fn a_folder_of_ours_that_others_can_read_is_closed() {
    let world = World::new();
    fs::create_dir(world.root()).expect("mkdir");
    set_mode(&world.root(), 0o755);
    world.provision(&["javascript"]);
    world.assert_private();
}

#[test]
fn looking_makes_nothing() {
    let world = World::new();
    assert!(matches!(world.installed("python"), Err(NotUsable::NotProvisioned)));
    assert!(world.setup().list().iter().all(|row| row.state.is_err()));
    assert_eq!(names_in(&world.path("")), ["recipes"]);
}
