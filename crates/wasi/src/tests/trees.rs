//! Packed trees and images.

use std::collections::BTreeMap;
use std::sync::Arc;

use proptest::prelude::*;

use super::guest::{A_DIRECTORY, DIRECTORY, Guest, READ, TestHost};
use crate::{Context, Errno, Image, MountError, PackError, Quota, Tree, TreeError};

fn tree(files: &[(&str, &str)]) -> Tree {
    let packed = Tree::pack(files.iter().map(|(path, contents)| (*path, contents.as_bytes()))).unwrap();
    Tree::open(Arc::new(packed)).unwrap()
}

fn guest(mounts: &[(&str, Tree)]) -> Guest {
    let image = Image::new(mounts.iter().map(|(path, tree)| (*path, tree.clone()))).unwrap();
    let mut guest = Guest::new();
    guest.context = Context::new(TestHost::default(), &image, Quota::DEFAULT);
    guest
}

#[test]
fn packing_depends_on_the_files_alone() {
    let files = [("a/x", "1"), ("b", "2"), ("a/y/z", "3"), ("empty/", ""), ("a-", "4")];
    let forward = Tree::pack(files.iter().map(|(path, contents)| (*path, contents.as_bytes()))).unwrap();
    let mut reversed: Vec<_> = files.iter().map(|(path, contents)| (*path, contents.as_bytes())).collect();
    reversed.reverse();
    assert_eq!(Tree::open(Arc::new(forward.clone())).unwrap().len(), 7);
    assert_eq!(forward, Tree::pack(reversed).unwrap());
}

#[test]
fn what_cannot_be_packed() {
    let pack = |paths: &[&'static str]| Tree::pack(paths.iter().map(|path| (*path, b"".as_slice()))).unwrap_err();
    for path in ["", "/", "/a", "a//b", "./a", "a/..", "a/./b", "a\0"] {
        assert_eq!(pack(&[path]), PackError::Path(path.to_owned()), "{path:?}");
    }
    for paths in [["a", "a"], ["a", "a/b"], ["a/b", "a"]] {
        assert_eq!(pack(&paths), PackError::Twice(paths[1].to_owned()));
    }
}

#[test]
fn files_of_a_tree() {
    let mut guest = guest(&[("/", tree(&[("a/x", "1"), ("b", "2"), ("a/y/z", "3"), ("empty/", "")]))]);
    assert_eq!(guest.names(".").unwrap(), ["a", "b", "box", "dev", "empty", "tmp"]);
    assert_eq!(guest.names("a").unwrap(), ["x", "y"]);
    assert_eq!(guest.names("empty").unwrap(), [""; 0]);
    assert_eq!(guest.load("a/y/z").unwrap(), b"3");
    assert_eq!(guest.load("a/../b").unwrap(), b"2");
    assert_eq!(guest.load("a/y/../../a/x").unwrap(), b"1");
    assert_eq!(guest.stat("a/y/..").unwrap().number, guest.stat("a").unwrap().number);
}

#[test]
fn what_is_open_in_an_image_that_changes() {
    let (base, old, new) = (
        tree(&[("both/base", "base")]),
        tree(&[("both/x", "old"), ("d/y", "")]),
        tree(&[("both/x", "new"), ("a", "")]),
    );
    let image = |trees: &[&Tree]| Image::new(trees.iter().map(|tree| ("/", (*tree).clone()))).unwrap();
    let mut guest = Guest::new();
    guest.context = Context::new(TestHost::default(), &image(&[&base, &old]), Quota::DEFAULT);
    let kept = guest.open("both/base", 0, READ).unwrap();
    let moved = guest.open("both/x", 0, READ).unwrap();
    let directory = guest.open("d", DIRECTORY, READ).unwrap();
    let merged = guest.open("both", DIRECTORY, READ).unwrap();

    guest.context.set_image(&image(&[&base, &new, &old]));
    assert_eq!(guest.load("both/x").unwrap(), b"new");
    assert_eq!(guest.read(kept, 2).unwrap(), b"ba");
    assert_eq!(guest.read(moved, 1).unwrap(), b"o");
    assert_eq!(guest.read_directory(directory, 1_000, 0).unwrap().entries[2].name, "y");
    assert_eq!(guest.read_directory(merged, 1_000, 0).err(), Some(Errno::Io));
    assert_eq!(guest.open_at(merged, "x", 0, 0, READ, 0), Err(Errno::Io));

    guest.context.set_image(&image(&[&base, &new]));
    assert_eq!(guest.read(kept, 9).unwrap(), b"se");
    assert_eq!(guest.read(moved, 9), Err(Errno::Io));
    assert_eq!(guest.read_at(moved, 9, 0), Err(Errno::Io));
    assert_eq!(guest.seek(moved, 0, 2), Err(Errno::Io));
    assert_eq!(guest.stat_fd(moved), Err(Errno::Io));
    assert_eq!(guest.read_directory(directory, 1_000, 0).err(), Some(Errno::Io));
    // Their numbers are not given to others before the guest closes them.
    assert_eq!(guest.open("a", 0, READ), Ok(merged + 1));
    for fd in [moved, directory, merged] {
        guest.close(fd).unwrap();
    }
}

#[test]
fn trees_are_merged() {
    let first = tree(&[("site/one/a.py", "one"), ("site/both.py", "first"), ("site/conflict", "file")]);
    let second = tree(&[("site/two/b.py", "two"), ("site/both.py", "second"), ("site/conflict/x", "")]);
    let third = tree(&[("two/c.py", "three"), ("two/deep/d.py", "four")]);
    let fourth = tree(&[("bin/tool", "tool")]);
    let mounts = [("/", first), ("/", second), ("/site", third), ("/usr/local", fourth)];
    let mut guest = guest(&mounts);
    assert_eq!(guest.names("site").unwrap(), ["both.py", "conflict", "one", "two"]);
    assert_eq!(guest.names("site/two").unwrap(), ["b.py", "c.py", "deep"]);
    assert_eq!(guest.load("site/both.py").unwrap(), b"first");
    assert_eq!(guest.load("site/conflict").unwrap(), b"file");
    assert_eq!(guest.load("site/two/b.py").unwrap(), b"two");
    assert_eq!(guest.load("site/two/c.py").unwrap(), b"three");
    assert_eq!(guest.load("usr/local/bin/tool").unwrap(), b"tool");
    // Upwards it is one tree as well, through whichever tree one came.
    for (below, above) in [
        ("site/one/..", "site"),
        ("site/two/deep/..", "site/two"),
        ("site/two/..", "site"),
        ("usr/local/bin/..", "usr/local"),
        ("usr/local/..", "usr"),
        ("usr/..", "."),
        ("box/..", "."),
    ] {
        let (below_stat, above_stat) = (guest.stat(below).unwrap(), guest.stat(above).unwrap());
        assert_eq!(below_stat, above_stat, "{below}");
        assert_eq!(above_stat.file_type, A_DIRECTORY);
    }
    for (below, above) in [("site/one", "site"), ("site/two/deep", "site/two"), ("usr/local", "usr")] {
        let fd = guest.open(below, DIRECTORY, READ).unwrap();
        let number = guest.read_directory(fd, 1_000, 0).unwrap().entries[1].number;
        assert_eq!(number, guest.stat(above).unwrap().number, "{below}");
    }
}

#[test]
fn inode_numbers_are_distinct() {
    let mut guest = guest(&[("/", tree(&[("a/x", ""), ("b", "")])), ("/m", tree(&[("a/x", ""), ("b", "")]))]);
    guest.save("box/a", b"").unwrap();
    guest.save("tmp/a", b"").unwrap();
    let paths = [
        ".", "a", "a/x", "b", "m", "m/a", "m/a/x", "m/b", "box", "box/a", "tmp", "tmp/a", "dev", "dev/null", "dev/zero",
    ];
    let numbers: BTreeMap<_, _> = paths.iter().map(|path| (guest.stat(path).unwrap().number, path)).collect();
    assert_eq!(numbers.len(), paths.len(), "{numbers:?}");
    assert!(numbers.keys().all(|number| *number < 1 << 53));
    // A file that comes after another is another.
    let before = guest.stat("box/a").unwrap().number;
    guest.unlink("box/a").unwrap();
    guest.save("box/a", b"").unwrap();
    assert_ne!(guest.stat("box/a").unwrap().number, before);
}

#[test]
fn where_nothing_can_be_mounted() {
    let some = || tree(&[("x", "")]);
    let mount = |path: &str| Image::new([("/", tree(&[("file", "")])), (path, some())]).map(|_| ()).unwrap_err();
    for path in ["", "a", "/a/", "/a//b", "/../a", "/./a"] {
        assert_eq!(mount(path), MountError::Path(path.to_owned()));
    }
    for path in ["/box", "/box/x", "/tmp", "/dev", "/dev/x", "/file", "/file/x"] {
        assert_eq!(mount(path), MountError::Taken(path.to_owned()));
    }
}

#[test]
fn a_tree_cannot_hide_the_writable_places() {
    let mut guest = guest(&[("/", tree(&[("box/x", ""), ("tmp", "file"), ("dev/null", "not null"), ("dev/own", "")]))]);
    assert_eq!(guest.names("box").unwrap(), [""; 0]);
    guest.save("tmp/a", b"").unwrap();
    assert_eq!(guest.load("dev/null").unwrap(), b"");
    guest.stat("dev/own").unwrap();
}

#[test]
fn what_is_no_tree() {
    let open = |bytes: Vec<u8>| Tree::open(Arc::new(bytes)).map(|_| ()).unwrap_err();
    assert_eq!(open(Vec::new()), TreeError::Truncated);
    assert_eq!(open(vec![0; 100]), TreeError::Magic);
    let packed = Tree::pack([("a/b", b"contents".as_slice())]).unwrap();
    for length in 0..packed.len() {
        open(packed[..length].to_vec());
    }
    // An empty one is one.
    let empty = Tree::pack([]).unwrap();
    assert!(Tree::open(Arc::new(empty)).unwrap().is_empty());
}

/// Goes through everything that can be reached, as a guest would.
fn explore(tree: &Tree) {
    let mut guest = guest(&[("/", tree.clone()), ("/other", tree.clone())]);
    let mut pending = vec![".".to_owned()];
    let mut seen = 0;
    while let Some(path) = pending.pop() {
        seen += 1;
        assert!(seen < 10_000);
        for name in guest.names(&path).unwrap_or_default() {
            let path = format!("{path}/{name}");
            guest.stat(&path).unwrap();
            if guest.load(&path).is_err() {
                pending.push(path);
            }
        }
    }
}

proptest! {
    #[test]
    fn round_trip(files in proptest::collection::btree_map("[a-c]{1,2}(/[a-c]{1,2}){0,3}", proptest::collection::vec(any::<u8>(), 0..20), 0..30)) {
        // Files that are directories for others cannot be packed.
        let files: BTreeMap<_, _> = files.iter()
            .filter(|(path, _)| !files.keys().any(|other| other.starts_with(&format!("{path}/"))))
            .collect();
        let packed = Tree::pack(files.iter().map(|(path, contents)| (path.as_str(), contents.as_slice()))).unwrap();
        let tree = Tree::open(Arc::new(packed)).unwrap();
        let mut guest = guest(&[("/m", tree)]);
        for (path, contents) in &files {
            prop_assert_eq!(&guest.load(&format!("m/{path}")).unwrap(), *contents);
        }
        let mut found = 0;
        let mut pending = vec!["m".to_owned()];
        while let Some(path) = pending.pop() {
            for name in guest.names(&path).unwrap() {
                let path = format!("{path}/{name}");
                if guest.stat(&path).unwrap().file_type == A_DIRECTORY { pending.push(path) } else { found += 1 }
            }
        }
        prop_assert_eq!(found, files.len());
    }

    #[test]
    fn damaged_trees_are_refused_or_harmless(
        damage in proptest::collection::vec((0usize..400, any::<u8>()), 1..4),
        length in 0usize..400,
    ) {
        let files = [("a/x", "1"), ("b", "22"), ("a/y/z", "333"), ("empty/", ""), ("c/d/e/f", "4444")];
        let mut packed = Tree::pack(files.iter().map(|(path, contents)| (*path, contents.as_bytes()))).unwrap();
        for (at, value) in damage {
            let at = at % packed.len();
            packed[at] = value;
        }
        packed.truncate(packed.len() - length / 20);
        if let Ok(tree) = Tree::open(Arc::new(packed)) {
            explore(&tree);
        }
    }

    #[test]
    fn any_bytes_after_the_magic(bytes in proptest::collection::vec(any::<u8>(), 0..300)) {
        let bytes = [b"belljar tree 01\n".as_slice(), &bytes].concat();
        if let Ok(tree) = Tree::open(Arc::new(bytes)) {
            explore(&tree);
        }
    }
}

/// A mapped file can be changed by whoever may write it. That must not be worth more than wrong contents.
#[test]
fn bytes_that_change_after_opening() {
    struct Changing {
        sound: Vec<u8>,
        changed: std::sync::atomic::AtomicBool,
        other: Vec<u8>,
    }
    struct Shared(Arc<Changing>);
    impl AsRef<[u8]> for Shared {
        fn as_ref(&self) -> &[u8] {
            let changed = self.0.changed.load(std::sync::atomic::Ordering::Relaxed);
            if changed { &self.0.other } else { &self.0.sound }
        }
    }

    let sound = Tree::pack([("a/x", b"1".as_slice()), ("b", b"2"), ("a/y/z", b"3")]).unwrap();
    for other in [Vec::new(), sound[..100].to_vec(), vec![0; 1_000], vec![0xff; 1_000], vec![1; 1_000]] {
        let changing = Arc::new(Changing { sound: sound.clone(), changed: false.into(), other });
        let tree = Tree::open(Arc::new(Shared(Arc::clone(&changing)))).unwrap();
        let mut guest = guest(&[("/", tree)]);
        let open = guest.open("a/x", 0, READ).unwrap();
        changing.changed.store(true, std::sync::atomic::Ordering::Relaxed);
        for path in ["a", "a/x", "a/y/z", "b", "a/..", "a/y/../.."] {
            guest.stat(path).ok();
            guest.load(path).ok();
            guest.names(path).ok();
        }
        guest.read(open, 10).ok();
    }
}
