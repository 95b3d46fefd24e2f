//! A disk that outlives its guests.

use super::guest::{CREATE, Guest, READ, TestHost, WRITE, image};
use crate::{Context, Disk, Errno, FileKind, Quota, RestoredDisk, SaveReader, SaveWriter};

fn disk() -> Disk {
    Disk::new(Quota::DEFAULT, 5)
}

fn whole(disk: &Disk, path: &str) -> Result<Vec<u8>, Errno> {
    let mut bytes = vec![0; usize::try_from(disk.size(path)?).unwrap()];
    disk.read(path, 0, &mut bytes)?;
    Ok(bytes)
}

#[test]
fn goes_from_guest_to_guest() {
    let mut disk = disk();
    disk.put("a", b"one".as_slice(), 5).unwrap();
    let (mut first, mut second) = (Guest::new(), Guest::new());
    first.context.swap_disk(&mut disk);
    let held = first.open("box/a", 0, READ | WRITE).unwrap();
    first.write(held, b"ONE").unwrap();
    first.context.swap_disk(&mut disk);
    assert_eq!(first.load("box/a"), Err(Errno::Noent));

    second.context.swap_disk(&mut disk);
    assert_eq!(second.load("box/a").unwrap(), b"ONE");
    second.unlink("box/a").unwrap();
    second.context.swap_disk(&mut disk);

    first.context.swap_disk(&mut disk);
    first.write(held, b"!").unwrap();
    assert_eq!(first.context.usage().bytes, 4, "it is open");
    first.context.close_all();
    assert_eq!(first.context.usage().bytes, 0);
}

#[test]
fn knows_what_changed() {
    let mut disk = disk();
    let version = disk.put("d/a", b"one".as_slice(), 5).unwrap();
    let changes = disk.changes();
    assert_eq!(whole(&disk, "d/a").unwrap(), b"one");
    assert_eq!((disk.changes(), disk.version("d/a")), (changes, Ok(version)));
    assert_eq!(disk.append("d/a", b"two", 6), Ok(6));
    assert_ne!(disk.version("d/a"), Ok(version));
    let version = disk.version("d/a").unwrap();
    let mut guest = Guest::new();
    guest.context.swap_disk(&mut disk);
    guest.rename("box/d/a", "box/b").unwrap();
    guest.context.swap_disk(&mut disk);
    assert!(disk.changes() > changes);
    assert_eq!(disk.version("b"), Ok(version), "under another name");
    let entries = disk.list(None).unwrap();
    let entries: Vec<_> = entries.iter().map(|entry| (&*entry.path, entry.kind, entry.size)).collect();
    assert_eq!(entries, [("b", FileKind::File, 6), ("d", FileKind::Directory, 0)]);
    disk.remove("b", 7).unwrap();
    assert_eq!(disk.version("b"), Err(Errno::Noent));
}

#[test]
fn follows_no_links_and_keeps_its_quota() {
    let mut disk = Disk::new(Quota { bytes: 10, entries: 4 }, 5);
    let mut guest = Guest::new();
    guest.context.swap_disk(&mut disk);
    guest.symlink("/lib", "box/l").unwrap();
    guest.context.swap_disk(&mut disk);
    for path in ["l", "l/a.py"] {
        assert_eq!(disk.size(path), Err(Errno::Loop), "{path}");
        assert_eq!(disk.put(path, b"".as_slice(), 5), Err(Errno::Loop), "{path}");
        assert_eq!(disk.append(path, b"", 5), Err(Errno::Loop), "{path}");
    }
    assert_eq!(disk.list(Some("l")), Err(Errno::Loop));
    assert_eq!(disk.put("a", vec![1; 7], 5), Err(Errno::Nospc));
    disk.put("a", vec![1; 6], 5).unwrap();
    assert_eq!(disk.append("a", b"x", 5), Err(Errno::Nospc));
    assert_eq!(whole(&disk, "a").unwrap(), [1; 6]);
    for path in ["", "/a", "a//b", "..", "b/../a", "a\0"] {
        assert_eq!(disk.put(path, b"".as_slice(), 5), Err(Errno::Inval), "{path}");
    }
    assert_eq!(disk.put("a/b", b"".as_slice(), 5), Err(Errno::Notdir));
    disk.put("d/b", b"".as_slice(), 5).unwrap();
    assert_eq!(disk.put("c", b"".as_slice(), 5), Err(Errno::Nospc));
}

/// A disk with everything that there can be, and a guest that has some of it open.
fn full() -> (Disk, Guest) {
    let mut guest = Guest::new();
    let mut disk = disk();
    guest.context.swap_disk(&mut disk);
    guest.save("box/a", b"a").unwrap();
    guest.save("tmp/t", &vec![7; 200_000]).unwrap();
    guest.context.files().make_directories("d/e").unwrap();
    guest.link("box/a", "box/d/again").unwrap();
    guest.symlink("../a", "box/d/l").unwrap();
    let held = guest.open("box/gone", CREATE, READ | WRITE).unwrap();
    guest.write(held, b"still here").unwrap();
    guest.unlink("box/gone").unwrap();
    guest.open("lib/a.py", 0, READ).unwrap();
    guest.open("dev/null", 0, READ).unwrap();
    guest.context.swap_disk(&mut disk);
    (disk, guest)
}

fn saved(disk: &Disk, context: &Context<TestHost>) -> Vec<u8> {
    let mut bytes = Vec::new();
    let mut out = SaveWriter(&mut bytes);
    disk.save(&mut out).unwrap();
    context.save_descriptors(&mut out).unwrap();
    bytes
}

fn restored(bytes: &[u8]) -> Result<Guest, crate::RestoreError> {
    let mut rest = bytes;
    let mut from = SaveReader(&mut rest);
    let mut disk = RestoredDisk::read(&mut from, Quota::DEFAULT, 9)?;
    let mut guest = Guest::new();
    guest.context = Context::new(TestHost::default(), &image(), Quota::DEFAULT);
    guest.context.restore_descriptors(&mut from, &mut disk)?;
    guest.context.swap_disk(&mut disk.into_disk());
    Ok(guest)
}

#[test]
fn what_was_saved_comes_back() {
    let (disk, guest) = full();
    let mut back = restored(&saved(&disk, &guest.context)).unwrap();
    assert_eq!(back.context.usage(), disk.usage());
    assert_eq!(back.load("tmp/t").unwrap(), vec![7; 200_000]);
    back.save("box/a", b"changed").unwrap();
    assert_eq!(back.load("box/d/again").unwrap(), b"changed", "two names of one file");
    assert_eq!(back.load("box/d/l").unwrap(), b"changed");
    assert_eq!(back.context.files().stat("d/e").unwrap().kind, FileKind::Directory);
    assert_eq!(back.write(4, b"!"), Ok(1));
    let again = saved(&disk, &guest.context);
    assert_eq!(again, saved(&disk, &guest.context));
    back.context.close_all();
    assert_eq!(back.context.usage().bytes, disk.usage().bytes + 6 - 10);
}

#[test]
fn what_is_lost_with_an_image_stays_lost() {
    let (disk, mut guest) = full();
    let held = guest.open("lib/a.py", 0, READ).unwrap();
    // The same files, but another tree.
    guest.context.set_image(&image());
    let mut back = restored(&saved(&disk, &guest.context)).unwrap();
    assert_eq!(back.read(held, 9), Err(Errno::Io));
    assert_eq!(back.load("lib/a.py").unwrap(), b"import b");
}

#[test]
fn what_is_damaged_does_no_harm() {
    let (disk, guest) = full();
    let bytes = saved(&disk, &guest.context);
    for length in (0..bytes.len()).step_by(997).chain([bytes.len() - 1]) {
        assert!(restored(&bytes[..length]).is_err(), "{length}");
    }
    // Everything but the middle of the large file.
    let places = (0..600).chain(bytes.len() - 600..bytes.len());
    for place in places {
        for flip in [1, 0x80, 0xff] {
            let mut bytes = bytes.clone();
            bytes[place] ^= flip;
            // Another disk, or none; but a disk.
            if let Ok(mut guest) = restored(&bytes) {
                guest.context.files().list("/box").unwrap();
                for fd in 0..12 {
                    guest.write(fd, b"x").ok();
                }
                let usage = guest.context.usage();
                assert!(usage.bytes <= Quota::DEFAULT.bytes && usage.entries <= Quota::DEFAULT.entries);
                guest.context.close_all();
            }
        }
    }
}
