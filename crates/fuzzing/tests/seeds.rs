//! Every target over its seeds and over edits of these, which are the same each time. What a fuzzer finds in minutes this does not; it keeps the
//! targets working, and what was found from coming back.

#![expect(clippy::expect_used, clippy::print_stderr, reason = "a failed check is a failed test")]

use std::fs;
use std::path::Path;
use std::thread;

/// No input is longer.
const LONGEST: usize = 4_096;

macro_rules! targets {
    ($($target:ident: $edits:literal,)*) => {
        $(#[test]
        fn $target() {
            run(stringify!($target), belljar_fuzzing::$target, $edits);
        })*

        #[test]
        fn the_same_targets_are_everywhere() {
            everywhere(&[$(stringify!($target)),*]);
        }
    };
}

// How many edits there are.
targets! {
    // Writes files, and waits until they are on the disk.
    archives: 100,
    launcher_messages: 4_000,
    mcp_frames: 2_000,
    packed_trees: 4_000,
    profiles: 1_000,
    saved_disks: 4_000,
    tool_arguments: 2_000,
    tracebacks: 4_000,
    wasi_calls: 4_000,
    wishes: 2_000,
}

/// That what libFuzzer runs is what is run here: nothing else compiles `fuzz/`, which is a workspace of its own.
fn everywhere(targets: &[&str]) {
    let fuzz = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz");
    assert_eq!(names(&fuzz.join("seeds")), targets);
    let files: Vec<String> = targets.iter().map(|target| format!("{target}.rs")).collect();
    assert_eq!(names(&fuzz.join("targets")), files);
    let manifest = fs::read_to_string(fuzz.join("Cargo.toml")).expect("a manifest");
    let programs: Vec<&str> = manifest.split("[[bin]]").skip(1).map(str::trim).collect();
    let program = |target: &&str| {
        format!("name = \"{target}\"\npath = \"targets/{target}.rs\"\ntest = false\ndoc = false\nbench = false")
    };
    assert_eq!(programs, targets.iter().map(program).collect::<Vec<_>>());
    for (target, file) in targets.iter().zip(&files) {
        let text = fs::read_to_string(fuzz.join("targets").join(file)).expect("a target");
        assert!(text.contains(&format!("fuzzing::{target}(input)")), "{file} is another target: {text}");
    }
}

/// What is in a folder, in order.
fn names(folder: &Path) -> Vec<String> {
    let names = fs::read_dir(folder).expect("a folder").map(|entry| entry.expect("an entry").file_name());
    let mut names: Vec<String> = names.map(|name| name.into_string().expect("a name")).collect();
    names.sort();
    names
}

fn run(name: &str, target: fn(&[u8]), edits: usize) {
    let seeds = seeds(name);
    let mut dice = Dice(0x9e37_79b9_7f4a_7c15);
    for seed in &seeds {
        show_if_it_fails(seed, target);
    }
    for _ in 0..edits {
        show_if_it_fails(&dice.edited(&seeds), target);
    }
}

fn seeds(name: &str) -> Vec<Vec<u8>> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/seeds").join(name);
    let mut paths: Vec<_> = fs::read_dir(folder).expect("seeds").map(|entry| entry.expect("an entry").path()).collect();
    // The order of a folder is that of its machine.
    paths.sort();
    paths.iter().map(|path| fs::read(path).expect("a seed")).collect()
}

fn show_if_it_fails(input: &[u8], target: fn(&[u8])) {
    struct Shown<'a>(&'a [u8]);
    impl Drop for Shown<'_> {
        fn drop(&mut self) {
            if thread::panicking() {
                eprintln!("the input: b\"{}\"", self.0.escape_ascii());
            }
        }
    }
    let shown = Shown(input);
    target(shown.0);
}

/// The same numbers each time.
struct Dice(u64);

impl Dice {
    fn below(&mut self, most: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        usize::try_from(self.0 >> 33).expect("31 bits") % most.max(1)
    }

    fn byte(&mut self) -> u8 {
        u8::try_from(self.below(256)).expect("a byte")
    }

    /// A seed, with a few edits of the kinds that fuzzers make.
    fn edited(&mut self, seeds: &[Vec<u8>]) -> Vec<u8> {
        let mut input = self.one(seeds);
        for _ in 0..=self.below(6) {
            let at = self.below(input.len() + 1);
            let end = (at + self.below(9)).min(input.len());
            match self.below(6) {
                0 => drop(input.splice(at..end, [])),
                1 => {
                    let part = input.get(at..end).unwrap_or_default().repeat(2);
                    drop(input.splice(at..end, part));
                }
                2 => {
                    let random: Vec<u8> = (at..end).map(|_| self.byte()).collect();
                    drop(input.splice(at..end, random));
                }
                3 => {
                    let edge = [0, 1, 0x7f, 0x80, 0xff];
                    let edge = edge.get(self.below(edge.len())).copied().unwrap_or_default();
                    drop(input.splice(at..end, (at..end).map(|_| edge)));
                }
                4 => {
                    let other = self.one(seeds);
                    let from = self.below(other.len() + 1);
                    input.truncate(at);
                    input.extend_from_slice(other.get(from..).unwrap_or_default());
                }
                _ => input.insert(at, self.byte()),
            }
        }
        input.truncate(LONGEST);
        input
    }

    fn one(&mut self, seeds: &[Vec<u8>]) -> Vec<u8> {
        seeds.get(self.below(seeds.len())).cloned().unwrap_or_default()
    }
}
