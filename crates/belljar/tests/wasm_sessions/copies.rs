//! Copies of sessions: in memory, and in a file.

use std::fs::File;
use std::io::{Read as _, Seek as _, Write as _};
use std::os::fd::OwnedFd;
use std::time::{Duration, Instant};

use sandbox::{Bytes, Engine as _, FilePart, Limits, Principal, Request, SessionError, WorkspacePath};

use crate::{Notebook, Stage, request, within};

fn path(text: &str) -> WorkspacePath {
    WorkspacePath::new(text).expect("a path")
}

/// Something of everything that a copy has to have.
async fn fill(session: &mut Notebook) {
    let python = "import random, os\nx = list(range(100_000))\nrandom.seed(5)\nheld = open('held', 'w+')\n_ = held.write('begun ')\nheld.flush()\n\
                  gone = open('gone', 'w+')\n_ = gone.write('still here')\ngone.flush()\nos.remove('gone')\nos.mkdir('d')\nos.link('held', 'd/again')\nos.symlink('held', 'd/l')";
    session.printed("python", python).await;
    session.printed("javascript", "let y = new Map([['a', [1, 2, 3]]]); const f = () => y.get('a').length").await;
    session.printed("ruby", "z = { a: 1 }\ndef g(h) = h.sum { |_, v| v }").await;
}

/// That it is all there, and goes on.
async fn check(session: &mut Notebook) {
    let python = "_ = held.write('and done')\nheld.flush()\n_ = gone.seek(0)\nprint(len(x), sum(x), gone.read(), open('d/again').read(), os.readlink('d/l'))";
    assert_eq!(session.printed("python", python).await, "100000 4999950000 still here begun and done held\n");
    assert_eq!(session.value("javascript", "y.set('b', 1); f() + y.size").await.as_deref(), Some("5"));
    assert_eq!(session.value("ruby", "z[:b] = 2\ng(z)").await.as_deref(), Some("3"));
}

#[tokio::test]
async fn a_fork_and_its_origin_go_different_ways() {
    let Some(stage) = Stage::start() else { return };
    let mut one = stage.open().await;
    fill(&mut one).await;
    let mut other = Notebook { session: one.session.fork().await.expect("a copy") };
    assert_eq!(other.session.languages(), one.session.languages());
    check(&mut one).await;
    one.printed("python", "x = 'one'\nopen('mine', 'w').close()").await;
    check(&mut other).await;
    other.printed("python", "x = 'other'").await;
    assert_eq!(one.printed("python", "print(x, os.path.exists('mine'))").await, "one True\n");
    assert_eq!(other.printed("python", "print(x, os.path.exists('mine'))").await, "other False\n");
    // The same numbers, since it is the same generator.
    let numbers = "random.random()";
    assert_eq!(one.value("python", numbers).await, other.value("python", numbers).await);
    drop(one);
    assert_eq!(other.printed("python", "print(x)").await, "other\n");
    let mut third = Notebook { session: other.session.fork().await.expect("a copy of a copy") };
    drop(other);
    assert_eq!(third.printed("python", "print(x, len(open('held').read()))").await, "other 14\n");
}

fn scratch() -> (tempfile::TempDir, File) {
    let folder = tempfile::tempdir().expect("a folder");
    let file =
        File::options().read(true).write(true).create_new(true).open(folder.path().join("saved")).expect("a file");
    (folder, file)
}

async fn save(session: &mut Notebook) -> Vec<u8> {
    let (_folder, mut file) = scratch();
    session.session.save(OwnedFd::from(file.try_clone().expect("a file"))).await.expect("saved");
    let mut bytes = Vec::new();
    file.rewind().expect("a file");
    file.read_to_end(&mut bytes).expect("a file");
    bytes
}

async fn restore(stage: &Stage, bytes: &[u8]) -> Result<Notebook, SessionError> {
    let (_folder, mut file) = scratch();
    file.write_all(bytes).expect("room");
    file.rewind().expect("a file");
    let session = stage.engine.restore_session(file.into(), &Principal::default(), &Limits::CEILING).await?;
    Ok(Notebook { session })
}

#[tokio::test]
async fn what_was_saved_comes_back_elsewhere() {
    let Some(stage) = Stage::start() else { return };
    let mut session = stage.open().await;
    fill(&mut session).await;
    let saved = save(&mut session).await;
    check(&mut session).await;
    drop(session);
    drop(stage);
    let Some(stage) = Stage::start() else { return };
    for _ in 0..2 {
        let mut session = restore(&stage, &saved).await.expect("restored");
        check(&mut session).await;
        let part = FilePart { offset: 0, limit: 100 };
        assert_eq!(session.session.read(&path("d/again"), part).await.expect("a file").bytes, b"begun and done");
    }
}

#[tokio::test]
async fn what_is_damaged_is_refused() {
    let Some(stage) = Stage::start() else { return };
    let mut session = stage.open().await;
    fill(&mut session).await;
    let saved = save(&mut session).await;
    let refused = async |bytes: &[u8], what: &str| match restore(&stage, bytes).await {
        Err(SessionError::Refused(refusal)) => refusal.to_string(),
        Err(error) => panic!("{what}: {error}"),
        Ok(_) => panic!("{what}: restored"),
    };
    assert!(refused(b"", "nothing").await.contains("no saved session"));
    assert!(refused(b"something else, as long as you like", "text").await.contains("no saved session"));
    for length in [16, 40, 100, saved.len() / 2, saved.len() - 1] {
        refused(&saved[..length], "cut").await;
    }
    // Every field of the beginning, and now and then one of the rest.
    let places = (0..600).step_by(7).chain((600..saved.len()).step_by(saved.len() / 40));
    for place in places {
        let mut bytes = saved.clone();
        bytes[place] ^= 0x41;
        refused(&bytes, &format!("byte {place}")).await;
    }
    let worker = stage.wall.started();
    assert_eq!(worker.len(), 1, "no worker died of it");
    check(&mut session).await;
}

/// What one server lets a session have, another may not.
#[tokio::test]
async fn what_fits_only_one_by_one_is_refused() {
    let Some(stage) = Stage::start() else { return };
    let mut session = stage.open().await;
    session.printed("python", "x = bytearray(40 << 20)").await;
    session.printed("javascript", "let y = new Uint8Array(40 << 20)").await;
    let saved = save(&mut session).await;
    for (most, fits) in [(64, false), (256, true)] {
        let (_folder, mut file) = scratch();
        file.write_all(&saved).expect("room");
        file.rewind().expect("a file");
        let limits = Limits { memory: Bytes::mib(most), ..Limits::CEILING };
        let restored = stage.engine.restore_session(file.into(), &Principal::default(), &limits).await;
        assert_eq!(restored.is_ok(), fits, "{most} MiB");
    }
}

/// Where the pages of the only interpreter are in what was saved: behind the size of its memory and their number, each behind its place and
/// length, up to the hash at the end.
fn pages_of(saved: &[u8]) -> Vec<std::ops::Range<usize>> {
    let end = saved.len() - 32;
    let number = |at: usize| -> Option<usize> {
        let bytes = saved.get(at..at + 8).filter(|_| at + 8 <= end)?;
        usize::try_from(u64::from_le_bytes(bytes.try_into().ok()?)).ok()
    };
    let walk = |at: usize| {
        let (size, count) = (number(at)?, number(at + 8)?);
        if size == 0 || !size.is_multiple_of(64 << 10) || count == 0 || count > size / 4096 {
            return None;
        }
        let (mut at, mut pages) = (at + 16, Vec::new());
        for _ in 0..count {
            let length = number(at + 8)?;
            pages.push(at + 16..at + 16 + length);
            at = at.checked_add(16)?.checked_add(length)?;
        }
        (at == end).then_some(pages)
    };
    (0..end).find_map(walk).expect("pages")
}

/// What is in a saved session's memory is a guest's: it can harm itself, and no other run of its worker.
#[tokio::test]
async fn what_was_changed_in_a_file_harms_nobody_else() {
    use sha2::Digest as _;

    let Some(stage) = Stage::start() else { return };
    let mut session = stage.open().await;
    session.printed("javascript", "let y = 5").await;
    let mut saved = save(&mut session).await;
    drop(session);
    for pages in pages_of(&saved) {
        saved[pages].fill(0);
    }
    let end = saved.len() - 32;
    let hash = sha2::Sha256::digest(&saved[..end]);
    saved[end..].copy_from_slice(&hash);

    // In a worker in which no JavaScript has run.
    let Some(stage) = Stage::start() else { return };
    let mut broken = restore(&stage, &saved).await.expect("restored");
    let plan = crate::plan(request("javascript", "y"));
    if let Ok(outcome) = broken.session.run(plan, &mut ()).await {
        assert!(!outcome.status.is_success(), "{outcome:?}");
    }
    let mut other = stage.open().await;
    assert_eq!(other.value("javascript", "[1, 2].map((n) => n * 2).join()").await.as_deref(), Some("\"2,4\""));
    assert_eq!(stage.wall.started().len(), 1, "no worker died of it");
}

/// Each of them holds a thread of the worker for as long as it takes. A run that waits for one would be late by that, and its worker ended for it.
#[tokio::test]
async fn saving_leaves_room_for_runs() {
    let Some(stage) = Stage::start() else { return };
    let mut saving = tokio::task::JoinSet::new();
    let mut unread = Vec::new();
    for _ in 0..6 {
        let mut session = stage.open().await;
        session.printed("python", "x = 1").await;
        // More than a pipe holds is written to it, and nobody reads.
        let (reader, writer) = std::io::pipe().expect("a pipe");
        unread.push(reader);
        saving.spawn(async move { session.session.save(writer.into()).await });
    }
    // One holds its thread, and all have asked before.
    let is_begun = |reader: &std::io::PipeReader| rustix::io::ioctl_fionread(reader).expect("a pipe") > 0;
    let end = Instant::now() + Duration::from_secs(20);
    while !unread.iter().any(is_begun) {
        assert!(Instant::now() < end, "nothing is saved");
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    let mut session = stage.open().await;
    let request = Request { limits: within(Duration::from_secs(20)), ..request("python", "print('in time')") };
    assert_eq!(session.run(request).await.stdout.text, "in time\n");
    drop(unread);
    while let Some(saved) = saving.join_next().await {
        saved.expect("no panic").expect_err("nobody reads");
    }
    assert_eq!(stage.wall.started().len(), 1, "no worker died of it");
}
