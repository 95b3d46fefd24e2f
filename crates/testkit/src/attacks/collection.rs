//! Hostile things left in the workspace, for belljar to trip over when it collects the output files.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{PermissionsExt, chown, symlink};
use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::run::{Ending, Outcome, Program};
use crate::stage::{Stage, contains_secret};

/// All output files together, whatever the guest makes them look like: the disk limit of a run.
const COLLECTED: u64 = 256 << 20;

/// What belljar itself may use while it collects.
const SERVER_MEMORY: u64 = 100 << 20;

/// Collecting is bounded work: no workspace may keep belljar busy much longer than the run itself.
const SOON: Duration = Duration::from_secs(40);

/// A run with an output directory, and what lies in that directory afterwards.
struct Collected {
    outcome: Outcome,
    directory: PathBuf,
}

/// Shows that plain files come through, then runs the mode.
fn attack(stage: &Stage, program: Program, mode: &str, arguments: &[&str]) -> Collected {
    let control = run(stage, program, "plain", &[], &output_directory(stage, "control"));
    assert_eq!(control.listed(), paths(&["plain.txt", "directory/inner.txt"]));
    assert_eq!(control.copied(), paths(&["plain.txt", "directory/inner.txt"]));
    run(stage, program, mode, arguments, &output_directory(stage, "out"))
}

fn output_directory(stage: &Stage, name: &str) -> PathBuf {
    let directory = stage.work().join(name);
    fs::create_dir(&directory).expect("a fresh directory");
    chown(&directory, Some(stage.uid()), Some(stage.uid())).expect("our own directory");
    directory
}

fn run(stage: &Stage, program: Program, mode: &str, arguments: &[&str], directory: &Path) -> Collected {
    let run = stage.run_mode(program, mode).option("--out", directory).option("--timeout", "60s");
    let outcome = arguments.iter().fold(run, |run, argument| run.argument(*argument)).outcome();
    outcome.assert_ended(Ending::completed(0));
    assert!(outcome.wall < SOON, "took {:?}", outcome.wall);
    assert!(outcome.peak_memory < SERVER_MEMORY, "belljar itself used {} bytes", outcome.peak_memory);
    let collected = Collected { outcome, directory: directory.to_owned() };
    collected.assert_sound();
    collected
}

impl Collected {
    /// What holds of every collection: only regular files and directories came, the listing
    /// is true, nothing of the host's came with it, and the sum is bounded.
    fn assert_sound(&self) {
        let copied = self.copied();
        for path in &self.listed() {
            assert!(copied.contains(path), "{} is listed and was not copied", path.display());
        }
        for file in &self.outcome.files {
            assert_eq!(
                fs::metadata(self.directory.join(&file.path)).expect("copied").len(),
                file.bytes,
                "{}",
                file.path.display()
            );
        }
        let mut total = 0;
        for path in &copied {
            let full = self.directory.join(path);
            let metadata = full.symlink_metadata().expect("just listed");
            assert!(metadata.is_file(), "{} is no regular file", path.display());
            assert_eq!(metadata.permissions().mode() & 0o7000, 0, "{} has set-id or sticky bits", path.display());
            total += metadata.len();
            if metadata.len() < 1 << 20 {
                assert!(
                    !contains_secret(&fs::read(&full).expect("readable")),
                    "{} holds the host's secret",
                    path.display()
                );
            }
        }
        assert!(total <= COLLECTED, "{total} bytes were collected");
        assert!(!contains_secret(self.outcome.stdout.as_bytes()), "the host's secret was printed");
    }

    /// Whatever lies beside it, an ordinary file comes through.
    fn assert_plain(&self) {
        let content = fs::read(self.directory.join("plain.txt")).expect("plain.txt is collected");
        assert_eq!((content, self.listed().contains(Path::new("plain.txt"))), (b"plain\n".to_vec(), true));
    }

    fn listed(&self) -> BTreeSet<PathBuf> {
        self.outcome.files.iter().map(|file| file.path.clone()).collect()
    }

    /// Everything in the output directory but directories, relative to it.
    fn copied(&self) -> BTreeSet<PathBuf> {
        let mut found = BTreeSet::new();
        let mut pending = vec![self.directory.clone()];
        while let Some(directory) = pending.pop() {
            for entry in fs::read_dir(&directory).expect("readable by root").flatten() {
                if entry.file_type().expect("just listed").is_dir() {
                    pending.push(entry.path());
                } else {
                    found.insert(entry.path().strip_prefix(&self.directory).expect("below it").to_owned());
                }
            }
        }
        found
    }
}

fn paths(names: &[&str]) -> BTreeSet<PathBuf> {
    names.iter().map(PathBuf::from).collect()
}

pub(super) fn names(stage: &Stage, program: Program) {
    let collected = attack(stage, program, "names", &[]);
    // Text without control characters comes through as it is; everything else stays where it was, and nothing takes
    // another's place.
    let long = "n".repeat(255);
    let mut expected = paths(&[
        "plain.txt",
        "-rf",
        "--help",
        " ",
        " leading and trailing ",
        "quote\"'`$(id)",
        "back\\slash",
        "%s%n",
        "C:",
        "nul",
        "\u{202e}bidi",
        "\u{fffd}.txt",
        "e\u{301}",
        "\u{e9}",
        "...",
        "..a",
        "~",
        "*",
        "#",
        "a:b",
        "<script>",
    ]);
    expected.insert(PathBuf::from(long));
    assert_eq!(collected.listed(), expected);
    assert_eq!(collected.copied(), expected);
    for path in expected.iter().filter(|path| path.as_os_str() != "plain.txt") {
        let content = fs::read(collected.directory.join(path)).expect("copied");
        assert_eq!(content, path.as_os_str().as_bytes(), "another file took its place");
    }
}

pub(super) fn links(stage: &Stage, program: Program) {
    let forbidden = stage.forbidden();
    let text = |path: &Path| path.to_str().expect("ASCII").to_owned();
    let arguments = [text(&forbidden.join("secret")), text(forbidden), text(&forbidden.join("canary"))];
    let collected = attack(stage, program, "links", &arguments.each_ref().map(|argument| &**argument));
    let expected = paths(&["plain.txt", "real.txt", "second-name.txt"]);
    assert_eq!(collected.listed(), expected);
    assert_eq!(collected.copied(), expected);
}

pub(super) fn special(stage: &Stage, program: Program) {
    let collected = attack(stage, program, "special", &[]);
    collected.assert_plain();
    assert!(collected.outcome.stdout.contains("made fifo\n"), "{}", collected.outcome.stdout);
    let never = paths(&["fifo", "socket", "whiteout", "device"]);
    assert_eq!(collected.copied().intersection(&never).count(), 0, "{:?}", collected.copied());
    assert!(collected.listed().contains(Path::new("setuid")), "{:?}", collected.listed());
}

pub(super) fn sparse(stage: &Stage, program: Program) {
    // What may be left out for its size is belljar's to say; that the sum stays bounded is checked of every collection.
    attack(stage, program, "sparse", &[]).assert_plain();
}

pub(super) fn hard_links(stage: &Stage, program: Program) {
    attack(stage, program, "hard-links", &[]);
}

pub(super) fn archive(stage: &Stage, program: Program) {
    let collected = attack(stage, program, "archive", &[]);
    let bytes = collected.outcome.number_after("bytes");
    let sizes: BTreeMap<_, _> = collected.outcome.files.iter().map(|file| (file.path.clone(), file.bytes)).collect();
    assert_eq!(sizes, BTreeMap::from([("bomb.zip".into(), bytes), ("plain.txt".into(), 6)]));
}

pub(super) fn deep(stage: &Stage, program: Program) {
    // Each level costs the kernel a walk up all the others, so time ends this before the limit on files does.
    let collected = attack(stage, program, "deep", &["5000", "10"]);
    collected.assert_plain();
    // Deeper than any path that a system call takes: 4096 bytes.
    assert!(collected.outcome.number_after("depth") > 2048, "{}", collected.outcome.stdout);
}

pub(super) fn many(stage: &Stage, program: Program) {
    let collected = attack(stage, program, "many", &[]);
    assert!(
        (100..=1000).contains(&collected.outcome.files.len()),
        "{} files are listed",
        collected.outcome.files.len()
    );
}

pub(super) fn race(stage: &Stage, program: Program) {
    let forbidden = stage.forbidden().to_str().expect("ASCII").to_owned();
    let first = attack(stage, program, "race", &[&forbidden]);
    assert_eq!(first.outcome.stdout, "swapping\n");
    for round in 0..12 {
        let directory = output_directory(stage, &format!("round-{round}"));
        let collected = run(stage, program, "race", &[&forbidden], &directory);
        assert_eq!(collected.outcome.stdout, "swapping\n");
        collected.assert_plain();
        for path in collected.copied() {
            assert!(!path.ends_with("canary"), "collected through a link: {}", path.display());
        }
    }
}

pub(super) fn shadowing(stage: &Stage, program: Program) {
    // The caller's directory is not empty: links in it must not lead what the guest wrote to somewhere else.
    let directory = output_directory(stage, "shadowed");
    symlink(stage.forbidden().join("canary"), directory.join("existing-link")).expect("our own directory");
    symlink(stage.forbidden(), directory.join("existing-directory-link")).expect("our own directory");
    fs::write(directory.join("existing-file"), "from the caller\n").expect("our own directory");
    let finished = stage.run_mode(program, "shadowing").option("--out", &directory).start().finish();
    // Whether such a name is replaced or refused is belljar's choice. That the canary behind it is unharmed is checked
    // by the stage.
    assert!([Some(0), Some(125)].contains(&finished.code), "{finished:?}");
}
