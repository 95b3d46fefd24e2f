//! What things cost. Numbers to look at, not to assert on.

use std::hint::black_box;
use std::sync::Arc;
use std::time::Instant;

use super::guest::{CREATE, Guest, READ, TestHost, WRITE};
use crate::{Context, Image, Quota, Tree};

#[expect(clippy::print_stderr, reason = "the numbers are what this is for")]
fn time(what: &str, rounds: u32, mut work: impl FnMut()) {
    let start = Instant::now();
    for _ in 0..rounds {
        work();
    }
    eprintln!("{what}: {:?}", start.elapsed() / rounds);
}

#[test]
#[ignore = "prints times; run with --release --nocapture"]
fn speed() {
    let paths: Vec<_> = (0..5_000).map(|number| format!("lib/python3.13/d{}/module{number}.py", number % 60)).collect();
    let contents = vec![b'x'; 4_000];
    let packed = Tree::pack(paths.iter().map(|path| (path.as_str(), contents.as_slice()))).unwrap();
    let packed = Arc::new(packed);
    time("open a tree of 5,000 files", 100, || {
        black_box(Tree::open(Arc::clone(&packed) as crate::SharedBytes).unwrap());
    });
    let tree = Tree::open(packed).unwrap();
    time("make an image", 1_000, || {
        black_box(Image::new([("/", tree.clone())]).unwrap());
    });
    let image = Image::new([("/", tree)]).unwrap();
    time("make and drop a context", 10_000, || {
        let mut context = Context::new(TestHost::default(), &image, Quota::DEFAULT);
        context.set_arguments(["python"]).unwrap();
        context.set_environment([("HOME", "/box")]).unwrap();
        black_box(context);
    });

    let mut guest = Guest::new();
    guest.context = Context::new(TestHost::default(), &image, Quota::DEFAULT);
    time("open, read and close a file", 10_000, || {
        let fd = guest.open("lib/python3.13/d7/module4987.py", 0, READ).unwrap();
        black_box(guest.read(fd, 4_096).unwrap());
        guest.close(fd).unwrap();
    });
    time("stat a file", 10_000, || {
        black_box(guest.stat("lib/python3.13/d7/module4987.py").unwrap());
    });
    time("stat what is not there", 10_000, || {
        black_box(guest.stat("lib/python3.13/d7/none.py").unwrap_err());
    });
    time("write 6 bytes to stdout", 10_000, || {
        guest.write(1, b"hello\n").unwrap();
    });
    let mut number = 0;
    time("make a file of 1,000 bytes", 10_000, || {
        number += 1;
        guest.save(&format!("box/{number}"), &[1; 1_000]).unwrap();
    });
}

#[test]
#[ignore = "prints times; run with --release --nocapture"]
fn speed_of_far_writes() {
    let mut guest = Guest::new();
    let fd = guest.open("box/a", CREATE, WRITE).unwrap();
    time("write at 255 MiB and cut", 100, || {
        guest.write_at(fd, b"x", 255 << 20).unwrap();
        guest.set_size(fd, 0).unwrap();
    });
    let block = vec![1; 1 << 20];
    for megabyte in 0..120 {
        guest.write_at(fd, &block, megabyte << 20).unwrap();
    }
    time("with 120 MiB before", 10, || {
        guest.write_at(fd, b"x", 255 << 20).unwrap();
        guest.set_size(fd, 120 << 20).unwrap();
    });
}
