//! A hostile guest: a memory, and calls with whatever arguments.

use std::sync::Arc;

use arbitrary::{Arbitrary, Unstructured};
use belljar_wasi::{Context, End, Image, Quota, Tree, for_each_function};

use crate::host::NoHost;

/// A guest with a few things open, in a memory in which arguments can mean something.
pub(crate) struct Guest {
    pub(crate) context: Context<NoHost>,
    pub(crate) memory: Vec<u8>,
}

/// One call of one function.
#[derive(Debug)]
pub(crate) struct Call {
    function: usize,
    arguments: Vec<u64>,
}

/// What any guest may have.
pub(crate) const QUOTA: Quota = Quota { bytes: 100_000, entries: 30 };

/// What is where in the memory.
const PATH_LENGTH: usize = 16;
const PATHS: usize = PATH_LENGTH;
const BUFFERS: usize = 1_024;
const SUBSCRIPTIONS: usize = 2_048;
const RESULTS: u64 = 3_000;
const MEMORY: usize = 70_000;

const NAMES: &[&str] = &[
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
    "dev/stdout",
    "a",
    "b",
];

type Function = fn(&mut Context<NoHost>, &mut [u8], &[u64]) -> Result<(), End>;

macro_rules! table {
    ($($name:ident($($parameter:ident: $type:ty),*) -> $result:ty;)*) => {
        /// Every function: the names of its parameters, and a way to call it.
        #[expect(clippy::cast_possible_truncation, clippy::cast_possible_wrap, reason = "any bits do")]
        const FUNCTIONS: &[(&[&str], Function)] = &[$((
            &[$(stringify!($parameter)),*],
            |context, memory, arguments| {
                let mut arguments = arguments.iter();
                $(let $parameter = *arguments.next().unwrap() as $type;)*
                assert!(arguments.next().is_none());
                context.$name(memory, $($parameter),*).map(|_| ())
            },
        )),*];
    };
}

for_each_function!(table);

impl<'a> Arbitrary<'a> for Call {
    fn arbitrary(u: &mut Unstructured<'a>) -> arbitrary::Result<Self> {
        let function = u.choose_index(FUNCTIONS.len())?;
        let (parameters, _) = FUNCTIONS[function];
        let arguments = parameters.iter().map(|parameter| argument(u, parameter)).collect::<Result<_, _>>()?;
        Ok(Self { function, arguments })
    }
}

/// Mostly something that the parameter could mean.
fn argument(u: &mut Unstructured<'_>, parameter: &str) -> arbitrary::Result<u64> {
    const EDGES: &[u64] = &[0, u64::MAX, u32::MAX as u64, 1 << 31, 1 << 63, u32::MAX as u64 - 7, 1 << 20, 69_999];
    let byte = u8::arbitrary(u)?;
    if byte >= 250 {
        return u64::arbitrary(u);
    }
    if byte >= 242 {
        return Ok(EDGES[usize::from(byte - 242)]);
    }
    let choice = u64::from(byte);
    Ok(match parameter {
        "fd" | "old_fd" | "new_fd" | "to" | "oflags" | "fst_flags" => choice % 16,
        "path" | "old_path" | "new_path" => (PATHS + usize::from(byte) % NAMES.len() * PATH_LENGTH) as u64,
        "path_len" | "old_path_len" | "new_path_len" => PATH_LENGTH as u64,
        "iovs" => BUFFERS as u64 + choice % 8 * 8,
        "iovs_len" => choice % 4,
        "subscriptions" => SUBSCRIPTIONS as u64,
        "nsubscriptions" => 1 + choice % 4,
        "buf_len" => choice * 2,
        "fdflags" => choice % 32,
        "dirflags" | "flags" | "old_flags" => choice % 2,
        "whence" | "id" | "advice" => choice % 3,
        // Reading and writing, either, or neither.
        "rights_base" => [0, 1 << 1, 1 << 6, 1 << 1 | 1 << 6][usize::from(byte % 4)],
        "offset" | "size" | "len" => choice * choice * 2,
        "cookie" => choice % 10,
        // Where a result goes.
        _ => RESULTS + choice * 4,
    })
}

impl Guest {
    pub(crate) fn new() -> Self {
        let mut guest = Self { context: Context::new(NoHost, &image(), QUOTA), memory: memory() };
        guest.context.set_lowest_address(1);
        guest.context.set_arguments(["program", "argument"]).unwrap();
        guest.context.set_environment([("NAME", "value")]).unwrap();
        guest.context.set_stdin(b"standard input".as_slice());
        guest.context.add_input("in/put", b"given".as_slice()).unwrap();
        guest
    }

    /// Makes a call. Nothing is used beyond what there may be.
    pub(crate) fn call(&mut self, call: &Call) -> Result<(), End> {
        let (_, function) = FUNCTIONS[call.function];
        let first = self.memory[0];
        let ended = function(&mut self.context, &mut self.memory, &call.arguments);
        assert_eq!(self.memory[0], first, "below the lowest address");
        self.check();
        ended
    }

    pub(crate) fn check(&self) {
        let usage = self.context.usage();
        assert!(usage.bytes <= QUOTA.bytes && usage.entries <= QUOTA.entries, "{usage:?}");
    }
}

pub(crate) fn image() -> Image {
    let packed = Tree::pack([("lib/a.py", b"import b".as_slice()), ("lib/b.py", b"x = 1".as_slice())]).unwrap();
    Image::new([("/", Tree::open(Arc::new(packed)).unwrap())]).unwrap()
}

fn memory() -> Vec<u8> {
    let mut memory = vec![0; MEMORY];
    // All of one length: `.///box/a`.
    for (place, name) in memory[PATHS..].chunks_exact_mut(PATH_LENGTH).zip(NAMES) {
        place.fill(b'/');
        place[0] = b'.';
        let start = place.len() - name.len();
        place[start..].copy_from_slice(name.as_bytes());
    }
    for (at, buffer) in (0u32..).zip(memory[BUFFERS..][..64].chunks_exact_mut(8)) {
        buffer[..4].copy_from_slice(&(4_000 + at * 997).to_le_bytes());
        buffer[4..].copy_from_slice(&(at * at * 61).to_le_bytes());
    }
    for (at, subscription) in (0u8..).zip(memory[SUBSCRIPTIONS..][..192].chunks_exact_mut(48)) {
        subscription[8] = at % 3;
        subscription[16] = at;
    }
    memory
}
