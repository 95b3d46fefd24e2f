//! Whatever a worker says: it is heard as what it can be, or is the worker's end.

use proptest::collection::vec;
use proptest::prelude::*;
use sandbox::{Collect, OutputFile, SkippedFile};

use super::super::*;
use crate::protocol::{End, Gone, ListedEntry, ListedKind, MadeFile, Report};

fn text() -> impl Strategy<Value = String> {
    let meant = proptest::sample::select(vec!["a", "b/c", "../x", "/etc/passwd", "a/../../x", "", ".", "a\0", "a//b"]);
    prop_oneof![4 => meant.prop_map(str::to_owned), 1 => any::<String>()]
}

fn bytes() -> impl Strategy<Value = Vec<u8>> {
    prop_oneof![9 => vec(any::<u8>(), 0..20), 1 => (0usize..300_000).prop_map(|length| vec![b'x'; length])]
}

fn output() -> impl Strategy<Value = Vec<Piece>> {
    let stream = proptest::sample::select(vec![OutputStream::Stdout, OutputStream::Stderr]);
    vec((stream, bytes()).prop_map(|(stream, bytes)| Piece { stream, bytes }), 0..4)
}

fn finished() -> impl Strategy<Value = Finished> {
    let end = prop_oneof![
        any::<u8>().prop_map(End::Exited),
        (any::<i32>(), text()).prop_map(|(signal, message)| End::Trapped { signal, message }),
        Just(End::OverMemory),
        text().prop_map(|path| End::Unplaced { path, fault: Fault::Full }),
    ];
    let file = (text(), any::<u64>(), proptest::option::of(bytes()));
    let file = file.prop_map(|(path, size, contents)| MadeFile { path, size, contents });
    let report = proptest::option::of(text()).prop_map(|value| Report { value_json: value, ..Report::default() });
    let lists = (vec(file, 0..4), vec(text(), 0..3), vec(text(), 0..3).prop_map(Gone::Paths));
    (end, output(), report, lists, proptest::option::of(text())).prop_map(
        |(end, output, report, (files, links, gone), lost)| Finished {
            output,
            report,
            files,
            links,
            gone,
            lost,
            ..Finished::only(end)
        },
    )
}

fn answer() -> impl Strategy<Value = Result<Answer, Fault>> {
    let entry = (text(), any::<u64>()).prop_map(|(path, size)| ListedEntry { path, kind: ListedKind::Other, size });
    prop_oneof![
        Just(Ok(Answer::Done)),
        vec(any::<u32>(), 0..4).prop_map(|runtimes| Ok(Answer::Runtimes(runtimes))),
        (bytes(), any::<u64>()).prop_map(|(bytes, size)| Ok(Answer::Part { bytes, size })),
        vec(entry, 0..4).prop_map(|entries| Ok(Answer::Entries(entries))),
        text().prop_map(|reason| Err(Fault::Refused(reason))),
    ]
}

/// A reply, mostly as one is said: in parts, the last of which says so.
fn packets() -> impl Strategy<Value = Vec<Vec<u8>>> {
    let reply = prop_oneof![
        2 => output().prop_map(Reply::Output),
        1 => finished().prop_map(|finished| Reply::Finished(Box::new(finished))),
        1 => answer().prop_map(|answer| Reply::Answer(Box::new(answer))),
    ];
    let encoded = reply.prop_map(|reply| protocol::encode(&reply).expect("encoded"));
    let encoded = prop_oneof![
        6 => encoded.clone(),
        1 => (encoded, any::<proptest::sample::Index>(), any::<u8>()).prop_map(|(mut encoded, place, byte)| {
            let place = place.index(encoded.len());
            encoded[place] = byte;
            encoded
        }),
        1 => vec(any::<u8>(), 0..40),
    ];
    let cut = prop_oneof![3 => Just(60_000usize), 1 => 1usize..400];
    let more = prop_oneof![9 => Just(More::Done), 1 => Just(More::Follows)];
    let parts = (0u64..3, encoded, cut, more).prop_map(|(run, encoded, cut, more)| {
        let count = encoded.len().div_ceil(cut).max(1);
        let part = |number: usize| {
            let bytes = encoded.chunks(cut).nth(number).unwrap_or_default();
            let more = if number + 1 == count { more } else { More::Follows };
            protocol::encode(&Part { run: RunId(run), more, bytes }).expect("encoded")
        };
        (0..count).map(part).collect()
    });
    prop_oneof![20 => parts, 1 => vec(any::<u8>(), 0..40).prop_map(|packet| vec![packet])]
}

/// One to which nobody is connected but who holds these.
fn connection() -> (Connection, [OwnedFd; 2]) {
    let (jobs, their_jobs) = protocol::channel().expect("sockets");
    let (control, their_control) = protocol::channel().expect("sockets");
    let connection = Connection {
        jobs: watched(jobs, Interest::READABLE).expect("a socket"),
        control,
        pending: Mutex::new(Pending(Some(HashMap::new()))),
        serial: AtomicU64::new(0),
        long_errands: Semaphore::new(1),
        reset: Reset::Scan,
        process: Mutex::new(None),
    };
    (connection, [their_jobs, their_control])
}

fn heard(waiting: &mut Registered<'_>) -> Vec<Reply> {
    std::iter::from_fn(|| waiting.replies.try_recv().ok()).collect()
}

/// Output, no more of it than may wait, and at most one end behind it, of which nothing leads out of the workspace.
fn check_run(mut heard: Vec<Reply>) {
    let finished = heard.pop_if(|last| matches!(last, Reply::Finished(_)));
    let output = heard.iter().map(|reply| match reply {
        Reply::Output(pieces) => weight(pieces),
        Reply::Finished(_) | Reply::Answer(_) => panic!("{reply:?}"),
    });
    assert!(output.sum::<u64>() <= MOST_IN_FLIGHT);
    let Some(Reply::Finished(finished)) = finished else { return };
    let (files, skipped) = crate::check_files(finished.files, finished.links, Collect::Contents);
    assert!(files.len() <= OutputFile::MAX_COUNT && skipped.len() <= SkippedFile::MAX_COUNT);
    for file in files {
        let path = file.path.as_str();
        assert!(path.split('/').all(|name| !matches!(name, "" | "." | "..")) && !path.contains('\0'), "{path}");
    }
    for file in skipped {
        assert!(!file.path.contains(char::is_control), "{}", file.path);
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2_000, ..ProptestConfig::default() })]

    #[test]
    fn whatever_it_says_is_an_answer_or_its_end(said in vec(packets(), 0..8)) {
        let executor = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("an executor");
        let _inside = executor.enter();
        let (connection, _peers) = connection();
        let mut run = connection.register(RunId(0), Expects::End).expect("a run");
        let mut errand = connection.register(RunId(1), Expects::Answer).expect("an errand");
        for packet in said.concat() {
            if connection.take_packet(&packet).is_err() {
                connection.end();
                break;
            }
        }
        check_run(heard(&mut run));
        let answers = heard(&mut errand);
        prop_assert!(matches!(answers.as_slice(), [] | [Reply::Answer(_)]), "{answers:?}");
    }
}
