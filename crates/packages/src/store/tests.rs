use std::collections::HashSet;
use std::io::Write as _;

use proptest::prelude::*;

use super::*;

fn store() -> (tempfile::TempDir, Store) {
    let folder = tempfile::tempdir().expect("a temporary directory");
    let store = Store::prepare(&folder.path().join("packages")).expect("prepared");
    (folder, store)
}

fn publish(store: &Store, id: &str, bytes: u64) {
    let stage = store.stage().expect("a stage");
    fs::create_dir(stage.path("site")).expect("made");
    let described = LayerFile { kind: Kind::Python, packages: Vec::new(), bytes, pack: false };
    store.publish(&stage, id, &described).expect("published");
}

#[test]
fn what_was_not_published_is_gone() {
    let (_folder, store) = store();
    let stage = store.stage().expect("a stage");
    let path = stage.path("");
    drop(stage);
    assert!(fs::symlink_metadata(path).is_err());
}

#[test]
fn the_oldest_goes_first_and_never_what_is_held() {
    let (_folder, store) = store();
    for (index, id) in ["a", "b", "c"].iter().enumerate() {
        publish(&store, id, 100);
        let file = File::open(store.path("layers", id).join(LAYER_FILE)).expect("there");
        let then = SystemTime::UNIX_EPOCH + Duration::from_secs(1 + index as u64);
        file.set_times(FileTimes::new().set_modified(then)).expect("set");
    }
    let held = store.layer("a").expect("there");
    // Using it made it the newest; by age alone it would be the last to go, and it is not to go at all.
    store.evict(Bytes::new(0));
    assert!(store.layer("a").is_some() && store.layer("b").is_none() && store.layer("c").is_none());
    drop(held);
    store.evict(Bytes::new(0));
    assert!(store.layer("a").is_none());
}

#[test]
fn caches_count_like_layers() {
    let (_folder, store) = store();
    fs::write(store.client("uv").expect("made").path().join("wheel"), [0; 50]).expect("ours");
    for (id, used) in [("a", 1), ("b", 2)] {
        publish(&store, id, 60);
        let file = File::open(store.path("layers", id).join(LAYER_FILE)).expect("there");
        let then = SystemTime::UNIX_EPOCH + Duration::from_secs(used);
        file.set_times(FileTimes::new().set_modified(then)).expect("set");
    }
    store.evict(Bytes::new(120));
    assert_eq!(size_of(&store.root.join("clients")), 50);
    assert!(store.layer("a").is_none() && store.layer("b").is_some());
}

#[test]
fn caches_in_use_take_no_more_than_their_half() {
    let (_folder, store) = store();
    let client = store.client("uv").expect("made");
    fs::write(client.path().join("wheel"), [0; 200]).expect("ours");
    publish(&store, "a", 50);
    store.evict(Bytes::new(120));
    assert!(store.layer("a").is_some());
    publish(&store, "b", 50);
    store.evict(Bytes::new(120));
    assert_eq!(store.layers().len(), 1);
    drop(client);
    store.evict(Bytes::new(120));
    assert_eq!((store.layers().len(), size_of(&store.root.join("clients"))), (1, 0));
}

#[test]
fn caches_are_held_to_the_limit_while_installations_overlap() {
    let (_folder, store) = store();
    let mut client = store.client("uv").expect("made");
    let mut most = 0;
    for number in 0..100 {
        fs::write(client.path().join(number.to_string()), [0; 20]).expect("ours");
        let next = store.client("uv").expect("made");
        assert!(client.path().is_dir(), "it stays while somebody has it");
        client = next;
        store.evict(Bytes::new(100));
        most = most.max(size_of(&store.root.join("clients")));
    }
    assert!(most <= 200, "{most}");
    drop(client);
    store.evict(Bytes::new(0));
    assert_eq!(size_of(&store.root.join("clients")), 0);
}

#[test]
fn who_looks_at_the_same_time_removes_no_more() {
    let (_folder, store) = store();
    (0..64).for_each(|id| publish(&store, &id.to_string(), 10));
    std::thread::scope(|scope| {
        (0..8).for_each(|_| drop(scope.spawn(|| store.evict(Bytes::new(320)))));
    });
    assert_eq!(store.layers().len(), 32);
}

#[test]
fn wishes_share_a_number_of_locks() {
    let (_folder, store) = store();
    let key = |number: u32| setup::Digest::of_parts([number.to_le_bytes().as_slice()]).to_string();
    let locks: HashSet<PathBuf> = (0..5000).map(|number| store.lock(&key(number))).collect();
    assert_eq!(locks.len(), 256);
}

#[test]
fn answers_that_are_too_old_are_removed() {
    let (_folder, store) = store();
    let now = SystemTime::now();
    let times = [("old", now - GOOD_FOR), ("new", now), ("tomorrow", now + Duration::from_hours(24))];
    for (name, written) in times {
        store.write("answers", name, b"{}").expect("written");
        let file = File::options().write(true).open(store.path("answers", name)).expect("there");
        file.set_times(FileTimes::new().set_modified(written)).expect("set");
    }
    store.evict(Bytes::gib(1));
    let left: Vec<bool> = times.map(|(name, _)| store.path("answers", name).is_file()).into();
    assert_eq!(left, [false, true, false]);
}

#[test]
fn a_clients_folder_stays_while_somebody_has_it() {
    let (_folder, store) = store();
    let (first, second) = (store.client("uv").expect("made"), store.client("uv").expect("there"));
    let kept = first.path().join("wheel");
    fs::write(&kept, "1").expect("ours");
    drop(second);
    store.evict(Bytes::new(0));
    assert!(fs::symlink_metadata(&kept).is_ok());
    drop(first);
    store.evict(Bytes::new(0));
    assert!(fs::symlink_metadata(&kept).is_err());
}

#[test]
fn what_is_being_made_is_not_swept() {
    let (_folder, store) = store();
    let done = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while !done.load(Ordering::Relaxed) {
                store.sweep();
            }
        });
        let make = || {
            for _ in 0..2000 {
                let stage = store.stage().expect("a stage");
                fs::write(stage.path("file"), "1").expect("the folder is there");
            }
        };
        // Whatever becomes of it, the other one ends.
        let ended = std::panic::catch_unwind(make);
        done.store(true, Ordering::Relaxed);
        ended.expect("nothing was swept");
    });
}

#[test]
fn two_makers_of_one_layer_agree() {
    let (_folder, store) = store();
    publish(&store, "a", 1);
    publish(&store, "a", 1);
    assert!(store.layer("a").is_some());
}

#[test]
fn links_do_not_come_along() {
    let folder = tempfile::tempdir().expect("a temporary directory");
    fs::write(folder.path().join("plain.py"), "1").expect("written");
    std::os::unix::fs::symlink("/etc/passwd", folder.path().join("link")).expect("linked");
    let looked = take_over(folder.path()).expect("looked over");
    assert_eq!((looked.bytes, looked.has_machine_code), (1, false));
    assert!(fs::symlink_metadata(folder.path().join("link")).is_err());
}

#[test]
fn what_a_link_leads_to_is_not_taken_over() {
    let (folder, theirs) = (tempfile::tempdir().expect("a folder"), tempfile::tempdir().expect("another"));
    let secret = theirs.path().join("secret");
    fs::write(&secret, "1").expect("written");
    fs::set_permissions(&secret, Permissions::from_mode(0o600)).expect("private");
    let link = folder.path().join("site");
    std::os::unix::fs::symlink(theirs.path(), &link).expect("linked");
    assert_eq!(take_over(&link).expect_err("a link").kind(), io::ErrorKind::NotADirectory);
    assert_eq!(fs::metadata(&secret).expect("there").mode() & 0o777, 0o600);
}

/// What somebody may leave in a folder.
#[derive(Debug, Clone)]
enum Left {
    File { mode: u32, size: usize },
    Folder { mode: u32 },
    LinkOut,
    LinkUp,
    Fifo,
}

fn left() -> impl Strategy<Value = (Vec<usize>, Left)> {
    let what = prop_oneof![
        4 => (0u32..0o10000, 0usize..50).prop_map(|(mode, size)| Left::File { mode, size }),
        3 => (0u32..0o10000).prop_map(|mode| Left::Folder { mode }),
        1 => Just(Left::LinkOut),
        1 => Just(Left::LinkUp),
        1 => Just(Left::Fifo),
    ];
    (proptest::collection::vec(0usize..5, 1..4), what)
}

fn leave(path: &Path, what: &Left, outside: &Path) -> io::Result<()> {
    match what {
        Left::File { mode, size } => {
            File::create_new(path)?.write_all(&vec![b'x'; *size])?;
            fs::set_permissions(path, Permissions::from_mode(*mode))
        }
        Left::Folder { mode } => DirBuilder::new().mode(0o700 | *mode).create(path),
        Left::LinkOut => std::os::unix::fs::symlink(outside, path),
        Left::LinkUp => std::os::unix::fs::symlink("..", path),
        Left::Fifo => {
            let (kind, mode) = (rustix::fs::FileType::Fifo, rustix::fs::Mode::from_raw_mode(0o666));
            Ok(rustix::fs::mknodat(rustix::fs::CWD, path, kind, mode, 0)?)
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 100, ..ProptestConfig::default() })]

    #[test]
    fn whatever_is_left_becomes_plain_and_ours(all in proptest::collection::vec(left(), 0..20)) {
        let (folder, outside) = (tempfile::tempdir().expect("a folder"), tempfile::tempdir().expect("another"));
        let secret = outside.path().join("secret");
        fs::write(&secret, "secret").expect("written");
        fs::set_permissions(&secret, Permissions::from_mode(0o600)).expect("private");
        for (names, what) in &all {
            let names = names.iter().map(|name| ["a", "b.so", "c.node", ".lock", "ü"][*name]);
            // What is there already, or has no folder to be in, is not left twice.
            leave(&folder.path().join(names.collect::<PathBuf>()), what, outside.path()).ok();
        }
        let looked = take_over(folder.path()).expect("taken over");
        let (mut bytes, mut pending) = (0, vec![folder.path().to_owned()]);
        while let Some(path) = pending.pop() {
            let metadata = fs::symlink_metadata(&path).expect("there");
            prop_assert_eq!(metadata.uid(), rustix::process::geteuid().as_raw());
            let mode = metadata.mode() & 0o7777;
            if metadata.is_dir() {
                prop_assert_eq!(mode, 0o755);
                pending.extend(fs::read_dir(&path).expect("a folder").map(|entry| entry.expect("an entry").path()));
            } else {
                prop_assert!(metadata.is_file() && (mode == 0o644 || mode == 0o755), "{:?} {:o}", path, mode);
                bytes += metadata.len();
            }
        }
        prop_assert_eq!(bytes, looked.bytes);
        let theirs: Vec<_> = fs::read_dir(outside.path()).expect("there").collect();
        // A name may have led through a link before it was taken over; what was there is as it was.
        prop_assert!(!theirs.is_empty());
        prop_assert_eq!(fs::read_to_string(&secret).expect("there"), "secret");
        prop_assert_eq!(fs::metadata(&secret).expect("there").mode() & 0o777, 0o600);
    }
}
