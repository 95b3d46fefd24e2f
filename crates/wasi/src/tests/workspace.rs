//! What the embedder puts in, does itself, and gets back.

use std::sync::Arc;

use super::guest::{CREATE, Guest, READ, WRITE};
use crate::{Contents, Errno, FileKind, FileOrigin, MAX_RANDOM, Quota};

fn collected(guest: Guest) -> Vec<(String, FileOrigin, Vec<u8>)> {
    let (_, workspace) = guest.context.into_workspace();
    let files = workspace.files.into_iter();
    files.map(|file| (file.path.clone(), file.origin, file.into_contents().into_vec())).collect()
}

fn file(path: &str, origin: FileOrigin, contents: &str) -> (String, FileOrigin, Vec<u8>) {
    (path.to_owned(), origin, contents.as_bytes().to_vec())
}

#[test]
fn made_changed_and_unchanged() {
    let mut guest = Guest::new();
    for path in ["same", "read", "written", "cut", "replaced", "moved", "removed", "d/deep", "same-size"] {
        guest.context.add_input(path, path.as_bytes()).unwrap();
    }
    assert_eq!(guest.load("box/read").unwrap(), b"read");
    let fd = guest.open("box/written", 0, READ | WRITE).unwrap();
    guest.write(fd, b"W").unwrap();
    let fd = guest.open("box/cut", 0, WRITE).unwrap();
    guest.set_size(fd, 1).unwrap();
    let fd = guest.open("box/same-size", 0, WRITE).unwrap();
    guest.set_size(fd, 9).unwrap();
    guest.save("tmp/new", b"new").unwrap();
    guest.rename("tmp/new", "box/replaced").unwrap();
    guest.rename("box/moved", "box/moved2").unwrap();
    guest.unlink("box/removed").unwrap();
    guest.save("box/d/made", b"made").unwrap();
    guest.save("tmp/scratch", b"not collected").unwrap();
    guest.symlink("/lib", "box/link").unwrap();
    let open = guest.open("box/gone", CREATE, WRITE).unwrap();
    guest.write(open, b"gone").unwrap();
    guest.unlink("box/gone").unwrap();

    let mut guest = guest;
    let context = std::mem::replace(&mut guest.context, Guest::new().context);
    let (_, workspace) = context.into_workspace();
    assert_eq!(workspace.links, ["link"]);
    assert_eq!(workspace.gone(), ["moved", "removed"]);
    let files: Vec<_> = workspace
        .files
        .into_iter()
        .map(|file| (file.path.clone(), file.origin, file.into_contents().into_vec()))
        .collect();
    assert_eq!(
        files,
        [
            file("cut", FileOrigin::Changed, "c"),
            file("d/deep", FileOrigin::Unchanged, "d/deep"),
            file("d/made", FileOrigin::Made, "made"),
            file("moved2", FileOrigin::Made, "moved"),
            file("read", FileOrigin::Unchanged, "read"),
            file("replaced", FileOrigin::Changed, "new"),
            file("same", FileOrigin::Unchanged, "same"),
            file("same-size", FileOrigin::Unchanged, "same-size"),
            file("written", FileOrigin::Changed, "Written"),
        ]
    );
}

#[test]
fn contents_are_not_copied() {
    let mut guest = Guest::new();
    let shared: Arc<[u8]> = vec![1; 1_000].into();
    let owned = vec![2; 1_000];
    let address = owned.as_ptr();
    guest.context.add_input("shared", Arc::clone(&shared)).unwrap();
    guest.context.add_input("owned", owned).unwrap();
    guest.load("box/shared").unwrap();
    guest.load("box/owned").unwrap();
    assert_eq!(Arc::strong_count(&shared), 2);
    let (_, workspace) = guest.context.into_workspace();
    let mut files = workspace.files.into_iter().map(crate::WorkspaceFile::into_contents);
    match files.next().unwrap() {
        Contents::Owned(bytes) => assert_eq!(bytes.as_ptr(), address),
        Contents::Shared(_) => panic!("it was given away"),
    }
    match files.next().unwrap() {
        Contents::Shared(bytes) => assert!(Arc::ptr_eq(&bytes, &shared)),
        Contents::Owned(_) => panic!("it was shared"),
    }
}

#[test]
fn writing_to_a_shared_input_leaves_it_alone() {
    let shared: Arc<[u8]> = b"abcdef".as_slice().into();
    let changes: [fn(&mut Guest); 5] = [
        |guest| {
            let fd = guest.open("box/in", 0, WRITE).unwrap();
            guest.write_at(fd, b"X", 2).unwrap();
        },
        |guest| {
            let fd = guest.open("box/in", 0, WRITE).unwrap();
            guest.set_size(fd, 3).unwrap();
            guest.set_size(fd, 5).unwrap();
        },
        |guest| {
            let fd = guest.open("box/in", 0, WRITE).unwrap();
            guest.set_size(fd, 3).unwrap();
            guest.set_size(fd, 6).unwrap();
        },
        |guest| guest.save("box/in", b"").unwrap(),
        |guest| {
            let fd = guest.open("box/in", 0, WRITE).unwrap();
            guest.set_size(fd, 8).unwrap();
        },
    ];
    let expected: [&[u8]; 5] = [b"abXdef", b"abc\0\0", b"abc\0\0\0", b"", b"abcdef\0\0"];
    for (change, expected) in changes.into_iter().zip(expected) {
        let mut guest = Guest::new();
        guest.context.add_input("in", Arc::clone(&shared)).unwrap();
        change(&mut guest);
        assert_eq!(guest.load("box/in").unwrap(), expected);
        assert_eq!(&*shared, b"abcdef");
        assert_eq!(guest.context.usage().bytes, expected.len() as u64);
        assert_eq!(collected(guest), [("in".to_owned(), FileOrigin::Changed, expected.to_vec())]);
    }
}

#[test]
fn a_file_of_many_names() {
    let mut guest = Guest::new();
    guest.save("box/a", b"twins").unwrap();
    guest.link("box/a", "box/b").unwrap();
    guest.link("box/a", "tmp/c").unwrap();
    assert_eq!(collected(guest), [file("a", FileOrigin::Made, "twins"), file("b", FileOrigin::Made, "twins")]);
}

/// 16,384 names of 256 MiB must not be 4 TiB.
#[test]
fn a_large_file_of_many_names_is_kept_once() {
    let mut guest = Guest::new();
    let fd = guest.open("box/0", CREATE, WRITE).unwrap();
    guest.set_size(fd, 256 << 20).unwrap();
    for number in 1..16_384 {
        guest.link("box/0", &format!("box/{number}")).unwrap();
    }
    let (_, workspace) = guest.context.into_workspace();
    assert_eq!(workspace.files.len(), 16_384);
    assert!(workspace.files.iter().all(|file| file.size() == 256 << 20));
    let mut bytes = [1; 10];
    assert_eq!(workspace.files[9].read((256 << 20) - 4, &mut bytes), 4);
    assert_eq!(bytes, [0, 0, 0, 0, 1, 1, 1, 1, 1, 1]);
}

#[test]
fn holes_are_filled_when_they_are_asked_for() {
    let mut guest = Guest::new();
    let fd = guest.open("box/a", CREATE, WRITE).unwrap();
    guest.write(fd, b"x").unwrap();
    guest.set_size(fd, 1_000).unwrap();
    let (_, workspace) = guest.context.into_workspace();
    let file = workspace.files.into_iter().next().unwrap();
    assert_eq!(file.size(), 1_000);
    let contents = file.into_contents().into_vec();
    assert_eq!((contents.len(), contents[0], contents[999]), (1_000, b'x', 0));
}

#[test]
fn inputs_that_cannot_be() {
    let mut guest = Guest::with(Quota { bytes: 10, entries: 3 });
    for path in ["", "/a", "../a", "a/../b", "./a", "a/", "a//b", "a\0"] {
        assert_eq!(guest.context.add_input(path, b"".as_slice()), Err(Errno::Inval), "{path:?}");
    }
    guest.context.add_input("a", b"1234567890".as_slice()).unwrap();
    assert_eq!(guest.context.add_input("b", b"1".as_slice()), Err(Errno::Nospc));
    assert_eq!(guest.context.add_input("a/b", b"".as_slice()), Err(Errno::Notdir));
    // Given twice, the second counts.
    guest.context.add_input("a", b"2".as_slice()).unwrap();
    guest.context.add_input("d/b", b"".as_slice()).unwrap();
    assert_eq!(guest.context.add_input("c", b"".as_slice()), Err(Errno::Nospc));
    assert_eq!(collected(guest), [file("a", FileOrigin::Unchanged, "2"), file("d/b", FileOrigin::Unchanged, "")]);
}

#[test]
fn files_for_functions_of_the_host() {
    let mut guest = Guest::new();
    let mut files = guest.context.files();
    files.make_directories("a/b/c").unwrap();
    files.make_directories("/box/a/b/c/").unwrap();
    files.write("a/b/file", b"one".to_vec()).unwrap();
    files.append("/box/a/b/file", b" two").unwrap();
    files.append("new", b"made").unwrap();
    assert_eq!(files.read("a/../a/b/file").unwrap(), b"one two");
    assert_eq!(files.read("../lib/b.py").unwrap(), b"x = 1");
    assert_eq!(files.read("/dev/null").unwrap(), b"");
    assert_eq!(files.read("a"), Err(Errno::Isdir));
    assert_eq!(files.read("none"), Err(Errno::Noent));
    assert_eq!(files.write("/lib/x", b"".as_slice()), Err(Errno::Rofs));
    assert_eq!(files.write("a", b"".as_slice()), Err(Errno::Isdir));
    assert_eq!(files.append("/lib/a.py", b"x"), Err(Errno::Rofs));
    assert_eq!(
        files.list("a/b").unwrap(),
        [("c".to_owned(), FileKind::Directory), ("file".to_owned(), FileKind::File)]
    );
    assert_eq!(files.list("new"), Err(Errno::Notdir));
    assert_eq!(files.list("/").unwrap().len(), 4);

    files.truncate("new", 2).unwrap();
    let stat = files.stat("new").unwrap();
    assert_eq!((stat.kind, stat.size), (FileKind::File, 2));
    files.symlink("a/b", "link").unwrap();
    assert_eq!(files.link_stat("link").unwrap().kind, FileKind::Symlink);
    assert_eq!(files.stat("link").unwrap().kind, FileKind::Directory);
    assert_eq!(files.read_link("link").unwrap(), "a/b");
    assert_eq!(files.real_path("link/../b/file").unwrap(), "/box/a/b/file");
    assert_eq!(files.real_path("/").unwrap(), "/");
    assert_eq!(files.real_path("../lib/./a.py").unwrap(), "/lib/a.py");
    assert_eq!(files.real_path("none"), Err(Errno::Noent));

    assert!(files.exists("link/c"));
    files.make_directory("d").unwrap();
    assert_eq!(files.make_directory("d"), Err(Errno::Exist));
    files.rename("a/b", "d/b").unwrap();
    assert!(!files.exists("link"));
    files.remove_directory("a").unwrap();
    assert_eq!(files.remove_directory("d"), Err(Errno::Notempty));
    files.remove_all("d").unwrap();
    files.remove_all("link").unwrap();
    files.remove_file("new").unwrap();
    assert_eq!(files.remove_all("none"), Err(Errno::Noent));
    assert_eq!(files.remove_all("/box"), Err(Errno::Rofs));
    assert_eq!(files.remove_all("."), Err(Errno::Busy));
    assert_eq!(files.remove_all("/lib/a.py"), Err(Errno::Rofs));
    assert_eq!(files.list(".").unwrap(), []);
    assert_eq!(guest.context.usage(), crate::Usage { bytes: 0, entries: 0 });
}

#[test]
fn what_is_gone() {
    let mut guest = Guest::new();
    for path in ["a/b/c", "a/b/d", "a/e", "f", "g", "kept/h"] {
        guest.context.add_input(path, path.as_bytes()).unwrap();
    }
    let mut files = guest.context.files();
    files.remove_all("a").unwrap();
    files.rename("kept/h", "h").unwrap();
    files.remove_file("f").unwrap();
    files.make_directories("f").unwrap();
    files.remove_file("g").unwrap();
    files.symlink("h", "g").unwrap();
    let (_, workspace) = guest.context.into_workspace();
    assert_eq!(workspace.gone(), ["a/b/c", "a/b/d", "a/e", "f", "g", "kept/h", "a/b", "a"]);
}

#[test]
fn what_a_file_holds() {
    let mut guest = Guest::new();
    let contents: Vec<u8> = (0..200_000_u32).map(|index| index.to_le_bytes()[0]).collect();
    guest.context.files().write("a", contents.clone()).unwrap();
    guest.context.files().write("empty", Vec::new()).unwrap();
    let (_, workspace) = guest.context.into_workspace();
    let [file, empty] = &workspace.files[..] else { panic!("{workspace:?}") };
    assert!(file.holds(&contents) && empty.holds(b"") && !file.holds(b""));
    assert!(!file.holds(&contents[1..]) && !file.holds(&[&contents[..199_999], b"x"].concat()));
}

#[test]
fn parts_of_files() {
    let mut guest = Guest::with(Quota { bytes: 10, entries: 3 });
    let mut files = guest.context.files();
    assert_eq!(files.write_at("a", 0, b"x"), Err(Errno::Noent));
    files.write("a", b"12345".as_slice()).unwrap();
    files.write_at("a", 3, b"abc").unwrap();
    files.write_at("a", 8, b"z").unwrap();
    assert_eq!(files.read("a").unwrap(), b"123abc\0\0z");
    assert_eq!(files.write_at("a", 7, b"past"), Err(Errno::Nospc));
    assert_eq!(files.write_at("a", u64::MAX, b"past"), Err(Errno::Nospc));
    assert_eq!(files.read_at("a", 4, 3).unwrap(), b"bc\0");
    assert_eq!(files.read_at("a", 7, usize::MAX).unwrap(), b"\0z");
    assert_eq!(files.read_at("a", 9, 1).unwrap(), b"");
    assert_eq!(files.read_at("/box", 0, 1), Err(Errno::Isdir));
    assert_eq!(files.write_at("/lib/a.py", 0, b"x"), Err(Errno::Rofs));
}

#[test]
fn devices_for_functions_of_the_host() {
    let mut guest = Guest::with(Quota { bytes: 9, entries: 1 });
    let mut files = guest.context.files();
    files.symlink("/dev/null", "n").unwrap();
    for path in ["/dev/null", "/dev/zero", "/dev/random", "/dev/urandom", "n"] {
        files.write(path, b"gone".as_slice()).unwrap();
        files.append(path, b"gone").unwrap();
        files.write_at(path, 5, b"gone").unwrap();
        files.truncate(path, 7).unwrap();
        assert_eq!(files.stat(path).unwrap().size, 0);
    }
    assert_eq!(files.read_at("/dev/null", 0, 9).unwrap(), b"");
    assert_eq!(files.read("n").unwrap(), b"");
    assert_eq!(files.read_at("/dev/zero", 5, 3).unwrap(), [0; 3]);
    assert_eq!(files.read_at("/dev/urandom", 5, 3).unwrap(), [0xa5; 3]);
    assert_eq!(files.read_at("/dev/random", 0, usize::MAX).unwrap().len(), MAX_RANDOM as usize);
    assert_eq!(files.read("/dev/zero"), Err(Errno::Overflow));
    assert_eq!(files.read("/dev/urandom"), Err(Errno::Overflow));
    assert_eq!(files.read_at("/dev/stdin", 0, 3).unwrap(), b"");
    assert_eq!(files.write("/dev/stdout", b"x".as_slice()), Err(Errno::Rofs));
    assert_eq!(files.write("/dev/null/", b"x".as_slice()), Err(Errno::Isdir));
    assert_eq!(guest.context.host().randoms, 2);
}

#[test]
fn appending_is_all_or_nothing() {
    let mut guest = Guest::with(Quota { bytes: 10, entries: 3 });
    let mut files = guest.context.files();
    files.append("a", b"12345").unwrap();
    assert_eq!(files.append("a", b"123456"), Err(Errno::Nospc));
    assert_eq!(files.read("a").unwrap(), b"12345");
    assert_eq!(files.write("a", vec![0; 11]), Err(Errno::Nospc));
    assert_eq!(files.read("a").unwrap(), b"12345");
    files.write("a", vec![0; 10]).unwrap();
}

/// Dropping and collecting what nests as deep as it can must not overflow the stack.
#[test]
fn depth_is_no_recursion() {
    let run = std::thread::Builder::new().stack_size(128 << 10).spawn(|| {
        let mut guest = Guest::new();
        let mut files = guest.context.files();
        let path = format!("/tmp{}", "/d".repeat(2_000));
        files.make_directories(&path).unwrap();
        files.rename("/tmp/d", "/box/e").unwrap();
        assert_eq!(files.real_path(&path.replacen("/tmp/d", "/box/e", 1)).unwrap().len(), path.len());
        files.make_directories(&path).unwrap();
        files.remove_all("/tmp/d").unwrap();
        files.write(&format!("/box/e{}/file", "/d".repeat(1_999)), b"deep".as_slice()).unwrap();
        assert_eq!(collected(guest).len(), 1);
    });
    run.unwrap().join().unwrap();
}
