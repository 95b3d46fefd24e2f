//! Making, listing, moving and removing.

use std::collections::BTreeSet;

use super::guest::{A_DIRECTORY, A_FILE, A_LINK, CREATE, DIRECTORY, Guest, READ, ROOT, WRITE};
use crate::Errno;

#[test]
fn make_and_remove() {
    let mut guest = Guest::new();
    guest.make_directory("box/d").unwrap();
    guest.make_directory("box/d/e/").unwrap();
    for path in ["box/d", "box/d/", "box", ".", "box/d/.", "box/d/.."] {
        assert_eq!(guest.make_directory(path), Err(Errno::Exist), "{path}");
    }
    assert_eq!(guest.make_directory("box/none/d"), Err(Errno::Noent));
    guest.save("box/file", b"").unwrap();
    assert_eq!(guest.make_directory("box/file/d"), Err(Errno::Notdir));
    assert_eq!(guest.make_directory("box/file"), Err(Errno::Exist));

    assert_eq!(guest.remove_directory("box/d"), Err(Errno::Notempty));
    assert_eq!(guest.remove_directory("box/file"), Err(Errno::Notdir));
    assert_eq!(guest.remove_directory("box/file/"), Err(Errno::Notdir));
    assert_eq!(guest.remove_directory("box/d/e/."), Err(Errno::Inval));
    assert_eq!(guest.remove_directory("box/d/e/.."), Err(Errno::Inval));
    assert_eq!(guest.remove_directory("box/none"), Err(Errno::Noent));
    assert_eq!(guest.unlink("box/d"), Err(Errno::Isdir));
    assert_eq!(guest.unlink("box/d/"), Err(Errno::Isdir));
    assert_eq!(guest.unlink("box/d/."), Err(Errno::Isdir));
    assert_eq!(guest.unlink("box/file/"), Err(Errno::Notdir));
    guest.symlink("d", "box/link").unwrap();
    for path in ["box/link", "box/link/", "box/link//"] {
        assert_eq!(guest.remove_directory(path), Err(Errno::Notdir), "{path}");
    }
    assert_eq!(guest.unlink("box/link/"), Err(Errno::Notdir));
    guest.stat("box/d").unwrap();

    guest.remove_directory("box/d/e/").unwrap();
    guest.remove_directory("box/d").unwrap();
    guest.unlink("box/link").unwrap();
    guest.unlink("box/file").unwrap();
    assert_eq!(guest.context.usage(), crate::Usage { bytes: 0, entries: 0 });
}

#[test]
fn listing() {
    let mut guest = Guest::new();
    guest.make_directory("box/d").unwrap();
    guest.save("box/file", b"").unwrap();
    guest.symlink("file", "box/link").unwrap();
    let fd = guest.open("box", DIRECTORY, READ).unwrap();
    let listing = guest.read_directory(fd, 1_000, 0).unwrap();
    assert!(!listing.full);
    let found: Vec<_> = listing.entries.iter().map(|entry| (entry.name.as_str(), entry.file_type)).collect();
    assert_eq!(
        found,
        [(".", A_DIRECTORY), ("..", A_DIRECTORY), ("d", A_DIRECTORY), ("file", A_FILE), ("link", A_LINK)]
    );
    assert_eq!(listing.entries[0].number, guest.stat("box").unwrap().number);
    assert_eq!(listing.entries[1].number, guest.stat(".").unwrap().number);
    for entry in &listing.entries[2..] {
        assert_eq!(entry.number, guest.link_stat(&format!("box/{}", entry.name)).unwrap().number);
    }
    let file = guest.open("box/file", 0, READ).unwrap();
    assert!(matches!(guest.read_directory(file, 100, 0), Err(Errno::Notdir)));
    assert!(matches!(guest.read_directory(1, 100, 0), Err(Errno::Notdir)));
    assert_eq!(guest.names(".").unwrap(), ["box", "dev", "lib", "tmp"]);
    assert_eq!(guest.names("lib").unwrap(), ["a.py", "b.py"]);
    // The image's directories know their parents.
    let fd = guest.open("lib", DIRECTORY, READ).unwrap();
    let listing = guest.read_directory(fd, 1_000, 0).unwrap();
    assert_eq!(listing.entries[1].number, guest.stat_fd(ROOT).unwrap().number);
}

/// Reads with a buffer of this size, as a C library does: a full buffer means that there is more, and what was cut off is read again.
fn list_in_pieces(guest: &mut Guest, fd: u32, length: u32, mut each: impl FnMut(&mut Guest, &str)) {
    let mut cookie = 0;
    loop {
        let listing = guest.read_directory(fd, length, cookie).unwrap();
        for entry in &listing.entries {
            each(guest, &entry.name);
            cookie = entry.next;
        }
        if !listing.full {
            return;
        }
        assert!(!listing.entries.is_empty(), "a buffer of {length} holds at least one");
    }
}

#[test]
fn listing_in_pieces() {
    let mut guest = Guest::new();
    let expected: BTreeSet<_> = (0..100).map(|number| format!("file{number}")).collect();
    for name in &expected {
        guest.save(&format!("box/{name}"), b"").unwrap();
    }
    let fd = guest.open("box", DIRECTORY, READ).unwrap();
    for length in [30, 31, 32, 33, 64, 100, 1_000, 4_096] {
        let mut found = Vec::new();
        list_in_pieces(&mut guest, fd, length, |_, name| found.push(name.to_owned()));
        assert_eq!(found.len(), 102, "buffer of {length}");
        assert_eq!(found.into_iter().skip(2).collect::<BTreeSet<_>>(), expected);
    }
    // No room for anything is not the end.
    assert!(guest.read_directory(fd, 0, 0).unwrap().full);
    assert!(guest.read_directory(fd, 10, 0).unwrap().full);
    // Cookies from nowhere.
    assert!(guest.read_directory(fd, 100, u64::MAX).unwrap().entries.is_empty());
    let image = guest.open("lib", DIRECTORY, READ).unwrap();
    assert!(guest.read_directory(image, 100, u64::MAX).unwrap().entries.is_empty());
}

#[test]
fn a_listing_stands_changes() {
    let mut guest = Guest::new();
    for number in 0..100 {
        guest.save(&format!("box/{number}"), b"").unwrap();
    }
    // Removing what was shown misses nothing: `rm -r`.
    let fd = guest.open("box", DIRECTORY, READ).unwrap();
    let mut removed = 0;
    list_in_pieces(&mut guest, fd, 128, |guest, name| {
        if !name.starts_with('.') {
            guest.unlink(&format!("box/{name}")).unwrap();
            removed += 1;
        }
    });
    assert_eq!(removed, 100);

    // Making a file for each one shown, or renaming each, ends.
    for number in 0..100 {
        guest.save(&format!("box/{number}"), b"").unwrap();
    }
    let mut shown = 0;
    list_in_pieces(&mut guest, fd, 128, |guest, name| {
        if !name.starts_with('.') {
            guest.save(&format!("box/{name}.bak"), b"").unwrap();
            guest.rename(&format!("box/{name}"), &format!("box/{name}.new")).unwrap();
            shown += 1;
        }
    });
    assert_eq!(shown, 100);
    assert_eq!(guest.names("box").unwrap().len(), 200);
}

#[test]
fn renaming_files() {
    let mut guest = Guest::new();
    guest.save("box/a", b"a").unwrap();
    let number = guest.stat("box/a").unwrap().number;
    guest.rename("box/a", "box/b").unwrap();
    assert_eq!(guest.stat("box/a"), Err(Errno::Noent));
    guest.rename("box/b", "tmp/c").unwrap();
    assert_eq!(guest.stat("tmp/c").unwrap().number, number);
    guest.rename("tmp/c", "tmp/c").unwrap();
    guest.save("box/old", b"old").unwrap();
    let open = guest.open("box/old", 0, READ).unwrap();
    guest.rename("tmp/c", "box/old").unwrap();
    assert_eq!(guest.load("box/old").unwrap(), b"a");
    assert_eq!(guest.read(open, 10).unwrap(), b"old");
    guest.close(open).unwrap();
    assert_eq!(guest.context.usage(), crate::Usage { bytes: 1, entries: 1 });

    guest.make_directory("box/d").unwrap();
    assert_eq!(guest.rename("box/old", "box/d"), Err(Errno::Isdir));
    assert_eq!(guest.rename("box/old", "box/new/"), Err(Errno::Notdir));
    assert_eq!(guest.rename("box/old/", "box/new"), Err(Errno::Notdir));
    assert_eq!(guest.rename("box/none", "box/new"), Err(Errno::Noent));
    assert_eq!(guest.rename("box/old", "box/none/new"), Err(Errno::Noent));
    assert_eq!(guest.rename("box/old", "box/d/.."), Err(Errno::Busy));
    assert_eq!(guest.rename("box/d/.", "box/e"), Err(Errno::Busy));
    // A link is moved, not what it leads to.
    guest.symlink("old", "box/link").unwrap();
    guest.rename("box/link", "box/link2").unwrap();
    assert_eq!(guest.link_stat("box/link2").unwrap().file_type, A_LINK);
    guest.rename("box/old", "box/link2").unwrap();
    assert_eq!(guest.link_stat("box/link2").unwrap().file_type, A_FILE);
}

#[test]
fn renaming_directories() {
    let mut guest = Guest::new();
    guest.make_directory("box/a").unwrap();
    guest.make_directory("box/a/b").unwrap();
    guest.save("box/a/b/file", b"deep").unwrap();
    guest.rename("box/a/", "box/c/").unwrap();
    assert_eq!(guest.load("box/c/b/file").unwrap(), b"deep");
    guest.rename("box/c", "tmp/c").unwrap();
    assert_eq!(guest.load("tmp/c/b/file").unwrap(), b"deep");
    assert_eq!(guest.stat("tmp/c/..").unwrap().number, guest.stat("tmp").unwrap().number);

    assert_eq!(guest.rename("tmp/c", "tmp/c/d"), Err(Errno::Inval));
    assert_eq!(guest.rename("tmp/c", "tmp/c/b/d"), Err(Errno::Inval));
    assert_eq!(guest.rename("tmp/c", "tmp/c/b"), Err(Errno::Inval));
    assert_eq!(guest.rename("tmp/c/b", "tmp/c"), Err(Errno::Notempty));
    guest.rename("tmp/c", "tmp/c").unwrap();

    guest.save("tmp/file", b"").unwrap();
    assert_eq!(guest.rename("tmp/c", "tmp/file"), Err(Errno::Notdir));
    guest.make_directory("tmp/full").unwrap();
    guest.save("tmp/full/x", b"").unwrap();
    assert_eq!(guest.rename("tmp/c", "tmp/full"), Err(Errno::Notempty));
    guest.unlink("tmp/full/x").unwrap();
    let replaced = guest.open("tmp/full", DIRECTORY, READ).unwrap();
    guest.rename("tmp/c", "tmp/full").unwrap();
    assert_eq!(guest.load("tmp/full/b/file").unwrap(), b"deep");
    assert_eq!(guest.open_at(replaced, "x", 1, CREATE, WRITE, 0), Err(Errno::Noent));
}
