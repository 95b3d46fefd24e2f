use super::guest::{APPEND, CHARACTER_DEVICE, CREATE, DATA, EPOCH, Guest, READ, RESULT, ROOT, TRUNCATE, WRITE};
use crate::Errno;

#[test]
fn output_goes_to_the_host_from_all_buffers() {
    let mut guest = Guest::new();
    guest.put(DATA, b"hello world");
    let (vectors, count) = guest.vectors(&[(DATA, 6), (u32::MAX, 0), (DATA + 6, 5)]);
    guest.call(|context, memory| context.fd_write(memory, 1, vectors, count, RESULT)).unwrap();
    assert_eq!(guest.get_u32(RESULT), 11);
    guest.write(2, b"oh").unwrap();
    assert_eq!(guest.context.host().stdout, b"hello world");
    assert_eq!(guest.context.host().stderr, b"oh");
}

#[test]
fn a_bad_buffer_or_result_pointer_has_no_effect() {
    let mut guest = Guest::new();
    let end = u32::try_from(guest.memory.len()).unwrap();
    for buffers in [[(DATA, 4), (end - 2, 4)], [(DATA, 4), (u32::MAX, 2)], [(DATA, 4), (0, u32::MAX)]] {
        let (vectors, count) = guest.vectors(&buffers);
        assert_eq!(
            guest.call(|context, memory| context.fd_write(memory, 1, vectors, count, RESULT)),
            Err(Errno::Fault)
        );
    }
    let (vectors, count) = guest.vectors(&[(DATA, 4)]);
    for result in [end - 2, end, u32::MAX] {
        assert_eq!(
            guest.call(|context, memory| context.fd_write(memory, 1, vectors, count, result)),
            Err(Errno::Fault)
        );
    }
    assert_eq!(guest.call(|context, memory| context.fd_write(memory, 1, end - 4, 1, RESULT)), Err(Errno::Fault));
    assert_eq!(guest.call(|context, memory| context.fd_write(memory, 1, 0, 1_025, RESULT)), Err(Errno::Inval));
    assert_eq!(guest.context.host().stdout, b"");

    guest.context.set_stdin(b"abcd".to_vec());
    assert_eq!(guest.call(|context, memory| context.fd_read(memory, 0, vectors, count, end)), Err(Errno::Fault));
    assert_eq!(guest.read(0, 10).unwrap(), b"abcd");
}

#[test]
fn buffers_that_overlap_their_own_description() {
    let mut guest = Guest::new();
    guest.save("tmp/a", &[0xff; 64]).unwrap();
    let fd = guest.open("tmp/a", 0, READ).unwrap();
    let (vectors, _) = guest.vectors(&[]);
    // The first buffer is the description of the second, which then points to nowhere.
    let (vectors, count) = guest.vectors(&[(vectors + 8, 8), (DATA, 8)]);
    guest.call(|context, memory| context.fd_read(memory, fd, vectors, count, RESULT)).unwrap();
    assert_eq!(guest.get_u32(RESULT), 8);
}

#[test]
fn a_transfer_is_cut_at_its_limit() {
    let mut guest = Guest::new();
    guest.memory.resize(1 << 20, 0);
    let buffers = vec![(0, 1 << 20); 65];
    let (vectors, count) = guest.vectors(&buffers);
    guest.call(|context, memory| context.fd_write(memory, 1, vectors, count, RESULT)).unwrap();
    assert_eq!(guest.get_u32(RESULT), crate::MAX_TRANSFER);
    assert_eq!(guest.context.host().stdout.len(), crate::MAX_TRANSFER as usize);
}

#[test]
fn standard_input() {
    let mut guest = Guest::new();
    assert_eq!(guest.read(0, 4).unwrap(), b"");
    guest.context.set_stdin(b"line 1\nline 2\n".to_vec());
    assert_eq!(guest.read(0, 6).unwrap(), b"line 1");
    assert_eq!(guest.read(0, 100).unwrap(), b"\nline 2\n");
    assert_eq!(guest.read(0, 100).unwrap(), b"");
    assert_eq!(guest.write(0, b"x"), Err(Errno::Badf));
    assert_eq!(guest.read(1, 1), Err(Errno::Badf));
    assert_eq!(guest.seek(0, 0, 0), Err(Errno::Spipe));
    assert_eq!(guest.seek(1, 0, 1), Err(Errno::Spipe));
    assert_eq!(guest.read_at(0, 1, 0), Err(Errno::Spipe));
}

#[test]
fn streams_look_like_pipes() {
    let mut guest = Guest::new();
    for (fd, rights) in [(0, READ), (1, WRITE), (2, WRITE)] {
        guest.call(|context, memory| context.fd_fdstat_get(memory, fd, RESULT)).unwrap();
        // Unknown: anything else is a terminal, a file or a socket to somebody.
        assert_eq!(guest.get(RESULT, 1), [0]);
        assert_eq!(guest.get_u64(RESULT + 8) & (READ | WRITE), rights);
        assert_eq!(guest.stat_fd(fd).unwrap().file_type, 0);
    }
}

#[test]
fn a_file_is_written_and_read_at_a_position() {
    let mut guest = Guest::new();
    let fd = guest.open("box/a", CREATE, READ | WRITE).unwrap();
    assert_eq!(fd, 4);
    assert_eq!(guest.write(fd, b"hello"), Ok(5));
    assert_eq!(guest.seek(fd, 0, 1), Ok(5));
    assert_eq!(guest.read(fd, 5).unwrap(), b"");
    assert_eq!(guest.seek(fd, -4, 2), Ok(1));
    assert_eq!(guest.read(fd, 2).unwrap(), b"el");
    assert_eq!(guest.write(fd, b"LONG"), Ok(4));
    assert_eq!(guest.read_at(fd, 100, 0).unwrap(), b"helLONG");
    guest.call(|context, memory| context.fd_tell(memory, fd, RESULT)).unwrap();
    assert_eq!(guest.get_u64(RESULT), 7);
    assert_eq!(guest.write_at(fd, b"J", 0), Ok(1));
    assert_eq!(guest.seek(fd, 0, 1), Ok(7));
    assert_eq!(guest.read_at(fd, 100, 7).unwrap(), b"");
    assert_eq!(guest.load("box/a").unwrap(), b"JelLONG");
}

#[test]
fn positions_that_make_no_sense() {
    let mut guest = Guest::new();
    let fd = guest.open("box/a", CREATE, READ | WRITE).unwrap();
    assert_eq!(guest.seek(fd, -1, 0), Err(Errno::Inval));
    assert_eq!(guest.seek(fd, -1, 1), Err(Errno::Inval));
    assert_eq!(guest.seek(fd, 0, 3), Err(Errno::Inval));
    assert_eq!(guest.seek(fd, i64::MAX, 0), Ok(i64::MAX.unsigned_abs()));
    assert_eq!(guest.seek(fd, 1, 1), Err(Errno::Inval));
    assert_eq!(guest.seek(fd, 0, 1), Ok(i64::MAX.unsigned_abs()));
    assert_eq!(guest.read(fd, 1).unwrap(), b"");
    assert_eq!(guest.write(fd, b"x"), Err(Errno::Nospc));
    assert_eq!(guest.write_at(fd, b"x", u64::MAX), Err(Errno::Inval));
    assert_eq!(guest.read_at(fd, 1, u64::MAX), Err(Errno::Inval));
    assert_eq!(guest.stat_fd(fd).unwrap().size, 0);
}

#[test]
fn holes_read_as_zeros() {
    let mut guest = Guest::new();
    let fd = guest.open("box/a", CREATE, READ | WRITE).unwrap();
    guest.write_at(fd, b"end", 5).unwrap();
    assert_eq!(guest.read_at(fd, 100, 0).unwrap(), b"\0\0\0\0\0end");
    guest.set_size(fd, 10).unwrap();
    assert_eq!(guest.read_at(fd, 100, 4).unwrap(), b"\0end\0\0");
    guest.write_at(fd, b"x", 9).unwrap();
    assert_eq!(guest.read_at(fd, 100, 4).unwrap(), b"\0end\0x");
    // What was cut off does not come back.
    guest.set_size(fd, 6).unwrap();
    guest.set_size(fd, 8).unwrap();
    assert_eq!(guest.read_at(fd, 100, 4).unwrap(), b"\0e\0\0");
    assert_eq!(guest.stat_fd(fd).unwrap().size, 8);
}

#[test]
fn appending() {
    let mut guest = Guest::new();
    guest.save("box/a", b"one").unwrap();
    let fd = guest.open_at(ROOT, "box/a", 1, 0, READ | WRITE, APPEND).unwrap();
    let other = guest.open("box/a", 0, WRITE).unwrap();
    guest.write(fd, b" two").unwrap();
    guest.write_at(other, b" three", 7).unwrap();
    guest.seek(fd, 0, 0).unwrap();
    guest.write(fd, b" four").unwrap();
    assert_eq!(guest.load("box/a").unwrap(), b"one two three four");
    assert_eq!(guest.seek(fd, 0, 1), Ok(18));
    // A position that is given counts even so.
    guest.write_at(fd, b"ONE", 0).unwrap();
    assert_eq!(guest.load("box/a").unwrap(), b"ONE two three four");

    guest.call(|context, memory| context.fd_fdstat_set_flags(memory, fd, 0)).unwrap();
    guest.seek(fd, 4, 0).unwrap();
    guest.write(fd, b"TWO").unwrap();
    assert_eq!(guest.load("box/a").unwrap(), b"ONE TWO three four");
    assert_eq!(guest.call(|context, memory| context.fd_fdstat_set_flags(memory, fd, 1 << 5)), Err(Errno::Inval));
}

#[test]
fn access_is_what_was_asked_for() {
    let mut guest = Guest::new();
    guest.save("box/a", b"a").unwrap();
    let reader = guest.open("box/a", 0, READ).unwrap();
    let writer = guest.open("box/a", 0, WRITE).unwrap();
    let neither = guest.open("box/a", 0, 0).unwrap();
    for fd in [reader, neither] {
        assert_eq!(guest.write(fd, b"x"), Err(Errno::Badf));
        assert_eq!(guest.write_at(fd, b"x", 0), Err(Errno::Badf));
        assert_eq!(guest.set_size(fd, 0), Err(Errno::Inval));
        assert_eq!(guest.call(|context, memory| context.fd_allocate(memory, fd, 0, 9)), Err(Errno::Badf));
    }
    for fd in [writer, neither] {
        assert_eq!(guest.read(fd, 1), Err(Errno::Badf));
        assert_eq!(guest.read_at(fd, 1, 0), Err(Errno::Badf));
    }
    assert_eq!(guest.stat_fd(neither).unwrap().size, 1);
    for (fd, rights) in [(reader, READ), (writer, WRITE), (neither, 0)] {
        guest.call(|context, memory| context.fd_fdstat_get(memory, fd, RESULT)).unwrap();
        assert_eq!(guest.get_u64(RESULT + 8) & (READ | WRITE), rights);
    }
    assert_eq!(guest.load("box/a").unwrap(), b"a");
}

#[test]
fn directories_are_not_read_as_files() {
    let mut guest = Guest::new();
    let fd = guest.open("box", 0, READ).unwrap();
    assert_eq!(guest.read(fd, 1), Err(Errno::Isdir));
    assert_eq!(guest.write(fd, b"x"), Err(Errno::Badf));
    assert_eq!(guest.read_at(fd, 1, 0), Err(Errno::Isdir));
    assert_eq!(guest.seek(fd, 0, 1), Err(Errno::Badf));
    assert_eq!(guest.set_size(fd, 1), Err(Errno::Badf));
    assert_eq!(guest.call(|context, memory| context.fd_advise(memory, fd, 0, 0, 0)), Err(Errno::Badf));
    assert_eq!(guest.call(|context, memory| context.fd_sync(memory, fd)), Ok(()));
}

#[test]
fn allocate_and_advise() {
    let mut guest = Guest::new();
    let fd = guest.open("box/a", CREATE, READ | WRITE).unwrap();
    guest.write(fd, b"abc").unwrap();
    guest.call(|context, memory| context.fd_allocate(memory, fd, 1, 1)).unwrap();
    assert_eq!(guest.stat_fd(fd).unwrap().size, 3);
    guest.call(|context, memory| context.fd_allocate(memory, fd, 2, 4)).unwrap();
    assert_eq!(guest.read_at(fd, 100, 0).unwrap(), b"abc\0\0\0");
    assert_eq!(guest.call(|context, memory| context.fd_allocate(memory, fd, 2, 0)), Err(Errno::Inval));
    assert_eq!(guest.call(|context, memory| context.fd_allocate(memory, fd, 2, u64::MAX)), Err(Errno::Nospc));
    assert_eq!(guest.call(|context, memory| context.fd_advise(memory, fd, 0, 0, 5)), Ok(()));
    assert_eq!(guest.call(|context, memory| context.fd_advise(memory, fd, 0, 0, 6)), Err(Errno::Inval));
    assert_eq!(guest.call(|context, memory| context.fd_datasync(memory, fd)), Ok(()));
    assert_eq!(guest.call(|context, memory| context.fd_sync(memory, fd)), Ok(()));
    assert_eq!(guest.call(|context, memory| context.fd_sync(memory, 1)), Err(Errno::Inval));
}

#[test]
fn times() {
    let mut guest = Guest::new();
    guest.context.host_mut().elapsed = 1;
    let fd = guest.open("box/a", CREATE, READ | WRITE).unwrap();
    let made = guest.stat_fd(fd).unwrap();
    assert_eq!((made.accessed, made.modified, made.changed), (EPOCH + 1, EPOCH + 1, EPOCH + 1));
    assert_eq!(guest.stat("box").unwrap().modified, EPOCH + 1);

    guest.context.host_mut().elapsed = 2;
    guest.write(fd, b"x").unwrap();
    let written = guest.stat_fd(fd).unwrap();
    assert_eq!((written.accessed, written.modified, written.changed), (EPOCH + 1, EPOCH + 2, EPOCH + 2));

    guest.context.host_mut().elapsed = 3;
    guest.call(|context, memory| context.fd_filestat_set_times(memory, fd, 7, 8, 0b0101)).unwrap();
    let set = guest.stat_fd(fd).unwrap();
    assert_eq!((set.accessed, set.modified, set.changed), (7, 8, EPOCH + 3));
    let (path, length) = guest.path(b"box/a");
    guest.call(|context, memory| context.path_filestat_set_times(memory, ROOT, 1, path, length, 9, 9, 0b1000)).unwrap();
    let set = guest.stat_fd(fd).unwrap();
    assert_eq!((set.accessed, set.modified), (7, EPOCH + 3));

    for flags in [0b0011, 0b1100, 0b1_0000] {
        assert_eq!(
            guest.call(|context, memory| context.fd_filestat_set_times(memory, fd, 0, 0, flags)),
            Err(Errno::Inval)
        );
    }
    assert_eq!(guest.call(|context, memory| context.fd_filestat_set_times(memory, 1, 0, 0, 1)), Err(Errno::Badf));
    let (path, length) = guest.path(b"lib/a.py");
    assert_eq!(
        guest.call(|context, memory| context.path_filestat_set_times(memory, ROOT, 1, path, length, 9, 9, 1)),
        Err(Errno::Rofs)
    );
}

#[test]
fn devices() {
    let mut guest = Guest::new();
    let null = guest.open("dev/null", CREATE | TRUNCATE, READ | WRITE).unwrap();
    assert_eq!(guest.write(null, b"gone"), Ok(4));
    assert_eq!(guest.read(null, 4).unwrap(), b"");
    assert_eq!(guest.seek(null, 5, 0), Ok(0));
    let zero = guest.open("dev/zero", 0, READ).unwrap();
    assert_eq!(guest.read(zero, 3).unwrap(), [0; 3]);
    assert_eq!(guest.write(zero, b"x"), Err(Errno::Badf));
    let random = guest.open("dev/urandom", 0, READ).unwrap();
    assert_eq!(guest.read(random, 3).unwrap(), [0xa5; 3]);
    assert_eq!(guest.stat("dev/null").unwrap().file_type, CHARACTER_DEVICE);
    assert_eq!(guest.names("dev").unwrap(), ["null", "random", "stderr", "stdin", "stdout", "urandom", "zero"]);
    assert_eq!(guest.unlink("dev/null"), Err(Errno::Rofs));
    assert_eq!(guest.open("dev/null/x", 0, READ), Err(Errno::Notdir));

    guest.context.set_stdin(b"in".to_vec());
    let stdin = guest.open("dev/stdin", 0, READ).unwrap();
    assert_eq!(guest.read(stdin, 1).unwrap(), b"i");
    assert_eq!(guest.read(0, 1).unwrap(), b"n");
    let stdout = guest.open("dev/stdout", TRUNCATE, WRITE).unwrap();
    guest.write(stdout, b"out").unwrap();
    assert_eq!(guest.context.host().stdout, b"out");
}

#[test]
fn a_device_is_no_terminal() {
    const SEEK: u64 = 1 << 2;
    let mut guest = Guest::new();
    let fd = guest.open("dev/null", 0, READ).unwrap();
    guest.call(|context, memory| context.fd_fdstat_get(memory, fd, RESULT)).unwrap();
    assert_ne!(guest.get_u64(RESULT + 8) & SEEK, 0);
}
