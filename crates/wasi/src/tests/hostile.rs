//! Any function with any arguments on any memory: no panic, no more than the quota, and no more memory than that takes.

use proptest::prelude::*;

use super::guest::{CREATE, Guest, READ, TestHost, WRITE};
use crate::{Context, End, Quota, for_each_function};

const QUOTA: Quota = Quota { bytes: 100_000, entries: 30 };

type Function = fn(&mut Context<TestHost>, &mut [u8], &[Argument]) -> Result<(), End>;

/// An argument: something that its parameter could mean, or anything.
#[derive(Debug, Clone, Copy)]
enum Argument {
    Meant(u64),
    Any(u64),
}

impl Argument {
    fn bits(self, parameter: &str) -> u64 {
        match self {
            Self::Meant(choice) => meant(parameter, choice),
            Self::Any(bits) => bits,
        }
    }
}

/// One of the values that make sense for a parameter, by its name.
fn meant(parameter: &str, choice: u64) -> u64 {
    match parameter {
        "fd" | "old_fd" | "new_fd" | "to" => 3 + choice % 7,
        "path" | "old_path" | "new_path" => PATHS + choice % PATH_COUNT * PATH_LENGTH,
        "path_len" | "old_path_len" | "new_path_len" => PATH_LENGTH,
        "iovs" => BUFFERS + choice % 8 * 8,
        "iovs_len" => choice % 4,
        "subscriptions" => SUBSCRIPTIONS,
        "nsubscriptions" => 1 + choice % 4,
        "buf_len" => choice % 500,
        "oflags" | "fst_flags" => choice % 16,
        "fdflags" => choice % 32,
        "dirflags" | "flags" | "old_flags" => choice % 2,
        "whence" | "id" | "advice" => choice % 3,
        "rights_base" => choice,
        "offset" | "size" | "len" => choice % 150_000,
        "cookie" => choice % 10,
        // Where a result goes.
        _ => RESULTS + choice % 1_000,
    }
}

macro_rules! table {
    ($($name:ident($($parameter:ident: $type:ty),*) -> $result:ty;)*) => {
        [$((
            stringify!($name),
            (|context, memory, arguments| {
                let mut arguments = arguments.iter();
                $(let $parameter = arguments.next().unwrap().bits(stringify!($parameter)) as $type;)*
                arguments.next();
                context.$name(memory, $($parameter),*).map(|_| ())
            }) as Function,
        )),*]
    };
}

#[expect(clippy::cast_possible_truncation, clippy::cast_possible_wrap, reason = "any bits do")]
fn functions() -> Vec<(&'static str, Function)> {
    for_each_function!(table).to_vec()
}

#[test]
fn every_function_is_there() {
    let names: Vec<_> = functions().into_iter().map(|(name, _)| name).collect();
    assert_eq!(names.len(), 46);
    assert!(names.contains(&"path_filestat_set_times") && names.contains(&"sock_accept"));
}

/// What is where in a guest's memory that makes some sense.
const MEMORY: usize = 70_000;
const PATHS: u64 = 0;
const PATH_LENGTH: u64 = 16;
const PATH_COUNT: u64 = 15;
const BUFFERS: u64 = 1_024;
const SUBSCRIPTIONS: u64 = 2_048;
const RESULTS: u64 = 3_000;

fn memory() -> Vec<u8> {
    let texts = [
        "box/a",
        "box/b",
        "box/a/b",
        "box/a/b/c",
        "box/l",
        "tmp/l",
        "tmp",
        "box",
        "..",
        "../tmp/l",
        ".",
        "lib/a.py",
        "dev/urandom",
        "a",
        "b",
    ];
    let mut memory = vec![0; MEMORY];
    // All of one length: `.///box/a`.
    for (place, text) in memory.chunks_exact_mut(16).zip(texts) {
        place.fill(b'/');
        place[0] = b'.';
        place[16 - text.len()..].copy_from_slice(text.as_bytes());
    }
    for (at, buffer) in (0u32..).zip(memory[1_024..2_048].chunks_exact_mut(8)) {
        buffer[..4].copy_from_slice(&(5_000 + at * 97).to_le_bytes());
        buffer[4..].copy_from_slice(&(at * 131 % 9_000).to_le_bytes());
    }
    for (at, subscription) in (0u8..).zip(memory[2_048..2_048 + 4 * 48].chunks_exact_mut(48)) {
        subscription[8] = at % 3;
        subscription[16] = at;
    }
    memory
}

fn argument() -> impl Strategy<Value = Argument> {
    let edges = vec![0, u64::MAX, u64::from(u32::MAX), 1 << 31, 1 << 63, u64::from(u32::MAX) - 7, 1 << 20, 1 << 17];
    prop_oneof![
        30 => any::<u64>().prop_map(Argument::Meant),
        1 => proptest::sample::select(edges).prop_map(Argument::Any),
        1 => (MEMORY as u64 - 100..MEMORY as u64 + 100).prop_map(Argument::Any),
        1 => any::<u64>().prop_map(Argument::Any),
    ]
}

/// A context with something open.
fn context() -> Context<TestHost> {
    let mut guest = Guest::with(QUOTA);
    for path in ["box", "tmp", "dev/urandom", "lib/a.py"] {
        guest.open(path, 0, READ).unwrap();
    }
    guest.open("box/a", CREATE, READ | WRITE).unwrap();
    guest.open("tmp/l", CREATE, READ | WRITE).unwrap();
    guest.context
}

fn check(context: &Context<TestHost>) {
    let usage = context.usage();
    assert!(usage.bytes <= QUOTA.bytes && usage.entries <= QUOTA.entries, "{usage:?}");
    // The documented bound, and inodes that are removed but open.
    let bound = QUOTA.bytes + QUOTA.bytes / 8 + 4_096 * (u64::from(QUOTA.entries) + crate::MAX_DESCRIPTORS as u64);
    assert!(context.file_system.memory() <= bound);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 600, ..ProptestConfig::default() })]

    #[test]
    fn nothing_panics(
        calls in proptest::collection::vec((0usize..46, proptest::collection::vec(argument(), 9)), 1..80),
        random in proptest::collection::vec(any::<u8>(), 0..64),
        at in 0usize..5_000,
    ) {
        let functions = functions();
        let mut context = context();
        let mut memory = memory();
        memory[at..at + random.len()].copy_from_slice(&random);
        for (number, arguments) in &calls {
            let (_, function) = functions[*number];
            function(&mut context, &mut memory, arguments).ok();
            context.host_mut().stdout.clear();
            context.host_mut().stderr.clear();
        }
        check(&context);
        context.into_workspace();
    }

    #[test]
    fn nothing_panics_without_memory(number in 0usize..46, arguments in proptest::collection::vec(argument(), 9), size in 0usize..9) {
        let (_, function) = functions()[number];
        let mut context = context();
        function(&mut context, &mut vec![0xff; size], &arguments).ok();
        check(&context);
    }
}
