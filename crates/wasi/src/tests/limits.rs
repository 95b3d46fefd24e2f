//! What a guest cannot make the host do.

use super::guest::{CREATE, DATA, DIRECTORY, Guest, READ, RESULT, TRUNCATE, WRITE};
use crate::{Errno, MAX_PATH, Quota, Usage};

const SMALL: Quota = Quota { bytes: 10_000, entries: 20 };

#[test]
fn bytes_run_out() {
    let mut guest = Guest::with(SMALL);
    let fd = guest.open("box/a", CREATE, READ | WRITE).unwrap();
    assert_eq!(guest.write(fd, &[1; 9_990]), Ok(9_990));
    // What fits is written; then nothing.
    assert_eq!(guest.write(fd, &[2; 100]), Ok(10));
    assert_eq!(guest.write(fd, &[2; 1]), Err(Errno::Nospc));
    assert_eq!(guest.write(fd, &[]), Ok(0));
    assert_eq!(guest.save("tmp/b", b"x"), Err(Errno::Nospc));
    assert_eq!(guest.symlink("x", "tmp/link"), Err(Errno::Nospc));
    // What is there can be overwritten.
    assert_eq!(guest.write_at(fd, &[3; 100], 0), Ok(100));
    assert_eq!(guest.context.usage().bytes, 10_000);
    guest.set_size(fd, 0).unwrap();
    assert_eq!(guest.context.usage().bytes, 0);
    guest.save("tmp/b", &[0; 10_000]).unwrap();
    guest.open("tmp/b", TRUNCATE, WRITE).unwrap();
    assert_eq!(guest.context.usage().bytes, 0);
    guest.symlink("target", "box/link").unwrap();
    assert_eq!(guest.context.usage().bytes, 6);
}

#[test]
fn several_buffers_are_written_as_far_as_they_fit() {
    let mut guest = Guest::with(SMALL);
    let fd = guest.open("box/a", CREATE, WRITE).unwrap();
    let (vectors, count) = guest.vectors(&[(DATA, 6_000), (DATA, 6_000), (DATA, 6_000)]);
    guest.call(|context, memory| context.fd_write(memory, fd, vectors, count, RESULT)).unwrap();
    assert_eq!(guest.get_u32(RESULT), 10_000);
}

#[test]
fn sizes_from_nowhere_are_refused() {
    let mut guest = Guest::with(SMALL);
    let fd = guest.open("box/a", CREATE, READ | WRITE).unwrap();
    for size in [10_001, 1 << 40, u64::MAX] {
        assert_eq!(guest.set_size(fd, size), Err(Errno::Nospc));
        assert_eq!(guest.call(|context, memory| context.fd_allocate(memory, fd, 0, size)), Err(Errno::Nospc));
        assert_eq!(guest.call(|context, memory| context.fd_allocate(memory, fd, size, 1)), Err(Errno::Nospc));
    }
    assert_eq!(guest.write_at(fd, b"x", 10_000), Err(Errno::Nospc));
    assert_eq!(guest.write_at(fd, b"x", 1 << 40), Err(Errno::Nospc));
    guest.seek(fd, 1 << 40, 0).unwrap();
    assert_eq!(guest.write(fd, b"x"), Err(Errno::Nospc));
    assert_eq!(guest.context.usage().bytes, 0);
    // A hole counts as if it were full.
    assert_eq!(guest.write_at(fd, b"xyz", 9_998), Ok(2));
    assert_eq!(guest.context.usage().bytes, 10_000);
}

#[test]
fn a_hole_at_the_end_takes_no_memory() {
    let mut guest = Guest::new();
    let fd = guest.open("box/a", CREATE, READ | WRITE).unwrap();
    guest.set_size(fd, 256 << 20).unwrap();
    guest.write_at(fd, b"start", 0).unwrap();
    assert_eq!(guest.context.usage().bytes, 256 << 20);
    assert!(guest.context.file_system.memory() < 10_000);
    assert_eq!(guest.read_at(fd, 4, (256 << 20) - 2).unwrap(), [0, 0]);
    assert_eq!(guest.save("tmp/b", b"x"), Err(Errno::Nospc));
}

#[test]
fn memory_follows_sizes_down() {
    let mut guest = Guest::new();
    for round in 0..50 {
        let fd = guest.open(&format!("box/{round}"), CREATE, READ | WRITE).unwrap();
        guest.write(fd, &vec![1; 1 << 20]).unwrap();
        guest.set_size(fd, [0, 1, 100_000][round % 3]).unwrap();
        guest.close(fd).unwrap();
    }
    let used = guest.context.usage().bytes;
    let memory = guest.context.file_system.memory();
    assert!(memory <= used + used / 8 + 50 * 4_096, "{memory} bytes for {used}");
}

#[test]
fn appending_byte_by_byte_is_amortised() {
    let mut guest = Guest::new();
    let fd = guest.open("box/a", CREATE, WRITE).unwrap();
    let mut capacities = std::collections::BTreeSet::new();
    for _ in 0..100_000 {
        guest.write(fd, b"x").unwrap();
        capacities.insert(guest.context.file_system.memory());
    }
    assert!(capacities.len() < 50, "{} times", capacities.len());
    assert!(guest.context.file_system.memory() <= 100_000 + 100_000 / 8 + 4_096);
}

#[test]
fn entries_run_out() {
    let mut guest = Guest::with(SMALL);
    for number in 0..18 {
        guest.save(&format!("box/{number}"), b"").unwrap();
    }
    guest.make_directory("box/d").unwrap();
    guest.link("box/0", "box/link").unwrap();
    assert_eq!(guest.context.usage(), Usage { bytes: 0, entries: 20 });
    assert_eq!(guest.save("box/more", b""), Err(Errno::Nospc));
    assert_eq!(guest.make_directory("box/more"), Err(Errno::Nospc));
    assert_eq!(guest.link("box/0", "box/more"), Err(Errno::Nospc));
    assert_eq!(guest.symlink("0", "box/more"), Err(Errno::Nospc));
    guest.rename("box/0", "box/d/0").unwrap();
    guest.unlink("box/link").unwrap();
    guest.save("box/more", b"").unwrap();
}

#[test]
fn directories_cannot_be_nested_past_the_longest_path() {
    let mut guest = Guest::new();
    let mut fd = guest.open("box", DIRECTORY, READ).unwrap();
    let mut depth = 0;
    let refused = loop {
        let (path, length) = guest.path(b"d");
        if let Err(errno) = guest.call(|context, memory| context.path_create_directory(memory, fd, path, length)) {
            break errno;
        }
        let deeper = guest.open_at(fd, "d", 1, DIRECTORY, READ, 0).unwrap();
        guest.close(fd).unwrap();
        fd = deeper;
        depth += 1;
    };
    assert_eq!(refused, Errno::Nametoolong);
    assert_eq!(depth, (MAX_PATH - "/box".len()) / 2);
    assert_eq!(guest.open_at(fd, "file", 1, CREATE, WRITE, 0), Err(Errno::Nametoolong));
    guest.close(fd).unwrap();

    // Nor by moving a deep directory into another.
    guest.rename("box/d", "tmp/d").unwrap();
    assert_eq!(guest.rename("tmp/d", "box/longer"), Err(Errno::Nametoolong));
    guest.make_directory("box/e").unwrap();
    assert_eq!(guest.rename("tmp/d", "box/e/d"), Err(Errno::Nametoolong));
    assert_eq!(guest.names("tmp").unwrap(), ["d"]);
    guest.context.files().remove_all("/tmp/d").unwrap();
    assert_eq!(guest.context.usage(), Usage { bytes: 0, entries: 1 });
}

#[test]
fn lengths_of_paths_move_along() {
    let mut guest = Guest::new();
    let name = "n".repeat(200);
    guest.make_directory("box/a").unwrap();
    guest.make_directory("box/a/b").unwrap();
    // Made deeper by moving, then as long as it can get there.
    guest.make_directory(&format!("tmp/{name}")).unwrap();
    guest.rename("box/a", &format!("tmp/{name}/a")).unwrap();
    let mut path = format!("tmp/{name}/a/b");
    while path.len() + 1 + 1 + 200 <= MAX_PATH {
        path = format!("{path}/{name}");
        guest.make_directory(&path).unwrap();
    }
    let rest = MAX_PATH - "/".len() - path.len() - "/".len();
    guest.make_directory(&format!("{path}/{}", "x".repeat(rest))).unwrap();
    guest.remove_directory(&format!("{path}/{}", "x".repeat(rest))).unwrap();
    let fd = guest.open(&path, DIRECTORY, READ).unwrap();
    let longer = "x".repeat(rest + 1);
    assert_eq!(guest.open_at(fd, &longer, 1, CREATE, WRITE, 0), Err(Errno::Nametoolong));
    // Moved back up, there is room again.
    guest.rename(&format!("tmp/{name}/a"), "box/a").unwrap();
    guest.open_at(fd, &longer, 1, CREATE, WRITE, 0).unwrap();
}
