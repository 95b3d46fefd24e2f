use super::guest::{A_DIRECTORY, A_FILE, CREATE, DIRECTORY, EXCLUSIVE, Guest, READ, RESULT, ROOT, TRUNCATE, WRITE};
use crate::{Errno, MAX_DESCRIPTORS};

#[test]
fn flags_of_open() {
    let mut guest = Guest::new();
    assert_eq!(guest.open("box/a", 0, READ), Err(Errno::Noent));
    assert_eq!(guest.open("box/a", TRUNCATE, WRITE), Err(Errno::Noent));
    assert_eq!(guest.open("box/a/b", CREATE, WRITE), Err(Errno::Noent));
    guest.open("box/a", CREATE | EXCLUSIVE, WRITE).unwrap();
    assert_eq!(guest.open("box/a", CREATE | EXCLUSIVE, WRITE), Err(Errno::Exist));
    guest.save("box/a", b"data").unwrap();
    guest.open("box/a", CREATE, WRITE).unwrap();
    assert_eq!(guest.load("box/a").unwrap(), b"data");
    guest.open("box/a", TRUNCATE, WRITE).unwrap();
    assert_eq!(guest.load("box/a").unwrap(), b"");
    assert_eq!(guest.open("box/a", DIRECTORY, READ), Err(Errno::Notdir));
    assert_eq!(guest.open("box/new", CREATE | DIRECTORY, READ), Err(Errno::Inval));
    assert_eq!(guest.open("box/a/b", CREATE, WRITE), Err(Errno::Notdir));
    assert_eq!(guest.open("box/a", 1 << 4, READ), Err(Errno::Inval));
    assert_eq!(guest.open_at(ROOT, "box/a", 2, 0, READ, 0), Err(Errno::Inval));
    assert_eq!(guest.open_at(ROOT, "box/a", 1, 0, READ, 1 << 5), Err(Errno::Inval));
}

#[test]
fn directories() {
    let mut guest = Guest::new();
    let fd = guest.open("box", 0, READ).unwrap();
    assert_eq!(guest.stat_fd(fd).unwrap().file_type, A_DIRECTORY);
    assert_eq!(guest.open("box", 0, WRITE), Err(Errno::Isdir));
    assert_eq!(guest.open("box", TRUNCATE, READ), Err(Errno::Isdir));
    assert_eq!(guest.open("box", CREATE, WRITE), Err(Errno::Isdir));
    assert_eq!(guest.open("box", CREATE, READ), Err(Errno::Isdir));
    assert_eq!(guest.open("lib", CREATE, READ), Err(Errno::Isdir));
    assert_eq!(guest.open("box", CREATE | EXCLUSIVE, READ), Err(Errno::Exist));
    let file = guest.open_at(fd, "a", 1, CREATE, WRITE, 0).unwrap();
    assert_eq!(guest.open_at(file, "a", 1, 0, READ, 0), Err(Errno::Notdir));
    assert_eq!(guest.open_at(0, "a", 1, 0, READ, 0), Err(Errno::Notdir));
    assert_eq!(guest.open_at(99, "a", 1, 0, READ, 0), Err(Errno::Badf));
}

#[test]
fn the_image_is_read_only() {
    let mut guest = Guest::new();
    assert_eq!(guest.load("lib/a.py").unwrap(), b"import b");
    let fd = guest.open("lib/a.py", 0, READ).unwrap();
    let stat = guest.stat_fd(fd).unwrap();
    assert_eq!((stat.file_type, stat.size, stat.links), (A_FILE, 8, 1));
    assert_eq!(guest.read_at(fd, 100, 7).unwrap(), b"b");
    assert_eq!(guest.open("lib/a.py", 0, WRITE), Err(Errno::Rofs));
    assert_eq!(guest.open("lib/a.py", TRUNCATE, READ), Err(Errno::Rofs));
    assert_eq!(guest.open("lib/new", CREATE, WRITE), Err(Errno::Rofs));
    assert_eq!(guest.open("new", CREATE, WRITE), Err(Errno::Rofs));
    // Nothing is made or cut, so there is nothing to refuse.
    guest.open("lib/a.py", CREATE, READ).unwrap();
    assert_eq!(guest.make_directory("lib/new"), Err(Errno::Rofs));
    assert_eq!(guest.make_directory("lib"), Err(Errno::Exist));
    assert_eq!(guest.unlink("lib/a.py"), Err(Errno::Rofs));
    assert_eq!(guest.remove_directory("lib"), Err(Errno::Rofs));
    assert_eq!(guest.remove_directory("box"), Err(Errno::Rofs));
    assert_eq!(guest.rename("lib/a.py", "box/a.py"), Err(Errno::Rofs));
    assert_eq!(guest.rename("box", "box2"), Err(Errno::Rofs));
    guest.save("box/a", b"a").unwrap();
    assert_eq!(guest.rename("box/a", "lib/a.py"), Err(Errno::Rofs));
    assert_eq!(guest.rename("box/a", "a"), Err(Errno::Rofs));
    assert_eq!(guest.link("lib/a.py", "box/b"), Err(Errno::Xdev));
    assert_eq!(guest.symlink("a.py", "lib/c.py"), Err(Errno::Rofs));
    assert_eq!(guest.load("lib/a.py").unwrap(), b"import b");
}

#[test]
fn a_removed_file_lives_while_it_is_open() {
    let mut guest = Guest::new();
    guest.save("box/a", b"alive").unwrap();
    let fd = guest.open("box/a", 0, READ | WRITE).unwrap();
    guest.unlink("box/a").unwrap();
    assert_eq!(guest.open("box/a", 0, READ), Err(Errno::Noent));
    assert_eq!(guest.read(fd, 10).unwrap(), b"alive");
    assert_eq!(guest.write(fd, b"!"), Ok(1));
    assert_eq!(guest.stat_fd(fd).unwrap().links, 0);
    assert_eq!(guest.context.usage().bytes, 6);
    // Its slot is not given to another.
    guest.save("box/b", b"other").unwrap();
    assert_eq!(guest.read_at(fd, 10, 0).unwrap(), b"alive!");
    guest.close(fd).unwrap();
    assert_eq!(guest.context.usage().bytes, 5);
    assert_eq!(guest.read(fd, 1), Err(Errno::Badf));
}

#[test]
fn a_removed_directory_is_a_dead_end() {
    let mut guest = Guest::new();
    guest.make_directory("box/d").unwrap();
    let fd = guest.open("box/d", DIRECTORY, READ).unwrap();
    guest.remove_directory("box/d").unwrap();
    assert_eq!(guest.open_at(fd, "a", 1, CREATE, WRITE, 0), Err(Errno::Noent));
    assert_eq!(guest.stat_fd(fd).unwrap().links, 0);
    assert_eq!(guest.stat_at(fd, ".", 0).unwrap().file_type, A_DIRECTORY);
    assert_eq!(guest.read_directory(fd, 1000, 0).unwrap().entries.len(), 2);
    assert_eq!(guest.stat_at(fd, "..", 0), Err(Errno::Perm));
    guest.close(fd).unwrap();
}

#[test]
fn descriptors_are_the_lowest_and_run_out() {
    let mut guest = Guest::new();
    guest.save("box/a", b"a").unwrap();
    for expected in 4..u32::try_from(MAX_DESCRIPTORS).unwrap() {
        assert_eq!(guest.open("box/a", 0, READ), Ok(expected));
    }
    assert_eq!(guest.open("box/a", TRUNCATE, WRITE), Err(Errno::Mfile));
    assert_eq!(guest.open("box/b", CREATE, WRITE), Err(Errno::Mfile));
    // Neither had an effect.
    assert_eq!(guest.stat("box/a").unwrap().size, 1);
    assert_eq!(guest.stat("box/b"), Err(Errno::Noent));
    guest.close(100).unwrap();
    guest.close(50).unwrap();
    assert_eq!(guest.open("box/a", 0, READ), Ok(50));
    assert_eq!(guest.open("box/a", 0, READ), Ok(100));
    assert_eq!(guest.close(u32::MAX), Err(Errno::Badf));
}

#[test]
fn renumber() {
    let mut guest = Guest::new();
    guest.save("box/a", b"a").unwrap();
    guest.save("box/b", b"b").unwrap();
    let a = guest.open("box/a", 0, READ).unwrap();
    let b = guest.open("box/b", 0, READ).unwrap();
    guest.unlink("box/b").unwrap();
    guest.call(|context, memory| context.fd_renumber(memory, a, b)).unwrap();
    assert_eq!(guest.read(b, 1).unwrap(), b"a");
    assert_eq!(guest.read(a, 1), Err(Errno::Badf));
    // What it was is closed.
    assert_eq!(guest.context.usage().bytes, 1);
    assert_eq!(guest.call(|context, memory| context.fd_renumber(memory, b, 99)), Err(Errno::Badf));
    assert_eq!(guest.call(|context, memory| context.fd_renumber(memory, 99, b)), Err(Errno::Badf));
    assert_eq!(guest.call(|context, memory| context.fd_renumber(memory, b, b)), Ok(()));

    // Redirecting standard output.
    let out = guest.open("box/out", CREATE, READ | WRITE).unwrap();
    guest.call(|context, memory| context.fd_renumber(memory, out, 1)).unwrap();
    guest.write(1, b"into the file").unwrap();
    assert_eq!(guest.load("box/out").unwrap(), b"into the file");
    assert_eq!(guest.context.host().stdout, b"");
}

#[test]
fn one_preopened_directory() {
    let mut guest = Guest::new();
    guest.call(|context, memory| context.fd_prestat_get(memory, ROOT, RESULT)).unwrap();
    assert_eq!((guest.get_u32(RESULT), guest.get_u32(RESULT + 4)), (0, 1));
    guest.call(|context, memory| context.fd_prestat_dir_name(memory, ROOT, RESULT, 1)).unwrap();
    assert_eq!(guest.get(RESULT, 1), b"/");
    assert_eq!(
        guest.call(|context, memory| context.fd_prestat_dir_name(memory, ROOT, RESULT, 0)),
        Err(Errno::Nametoolong)
    );
    let opened = guest.open(".", DIRECTORY, READ).unwrap();
    for fd in [0, 1, 2, opened, opened + 1] {
        assert_eq!(guest.call(|context, memory| context.fd_prestat_get(memory, fd, RESULT)), Err(Errno::Badf));
    }
}

#[test]
fn rights_cannot_be_dropped() {
    let mut guest = Guest::new();
    assert_eq!(guest.call(|context, memory| context.fd_fdstat_set_rights(memory, ROOT, 0, 0)), Err(Errno::Notsup));
    assert_eq!(guest.call(|context, memory| context.fd_fdstat_set_rights(memory, 9, 0, 0)), Err(Errno::Badf));
}

/// wasi-libc asks for what the directory says its files can have, less what the mode does not want.
#[test]
fn rights_of_a_directory_allow_everything_below() {
    let mut guest = Guest::new();
    guest.call(|context, memory| context.fd_fdstat_get(memory, ROOT, RESULT)).unwrap();
    assert_eq!(guest.get(RESULT, 1), [A_DIRECTORY]);
    let inheriting = guest.get_u64(RESULT + 16);
    assert_eq!(inheriting, ((1 << 28) - 1) & !(1 << 19));
    guest.open("box/a", CREATE, inheriting).unwrap();
}
