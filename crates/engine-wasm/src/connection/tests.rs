//! What becomes of a worker that says what no worker of ours says. It is a thread here, which forges every word.

mod replies;

use std::io::Write as _;
use std::sync::mpsc as channels;
use std::thread;

use sandbox::{
    BoxFuture, Enforcement, Engine as _, EngineError, Isolation, Level, LimitsRequest, Outcome, Plan, Policy, Request,
    SkipReason, Status,
};

use super::*;
use crate::protocol::{Dialect, End, ListedEntry, ListedKind, MadeFile};
use crate::{InstalledRuntime, WasmConfig, WasmEngine};

/// Starts a worker that does this with each task that it hears.
type Forger = fn(&OwnedFd, Task);

#[derive(Debug)]
struct Forged(Forger);

/// What tells that it was ended.
#[derive(Debug)]
struct Process(Option<channels::Sender<()>>);

impl Confined for Process {}

impl Drop for Process {
    fn drop(&mut self) {
        drop(self.0.take());
    }
}

impl Wall for Forged {
    fn start(&self, stdin: OwnedFd) -> BoxFuture<'_, Result<Box<dyn Confined>, EngineError>> {
        let forge = self.0;
        let (alive, ended) = channels::channel();
        thread::spawn(move || {
            let (_, descriptors) = protocol::receive::<Hello>(&stdin).expect("a hello").expect("a server");
            let jobs = descriptors.into_iter().next().expect("a socket");
            protocol::send(&stdin, &Greeting::Ready(Reset::Scan), &[]).expect("room");
            let (mut buffer, mut held) = (vec![0; MAX_PACKET], Vec::new());
            while let Ok(Some((length, files))) = protocol::receive_bytes(&jobs, &mut buffer) {
                held.extend(files);
                if let Ok(Envelope::Inline(task)) = protocol::decode(&buffer[..length]) {
                    forge(&jobs, *task);
                }
            }
            // Nobody ends a thread: it holds its sockets as long as a process would.
            ended.recv().expect_err("nothing is sent");
        });
        Box::pin(async move { Ok(Box::new(Process(Some(alive))) as Box<dyn Confined>) })
    }

    fn isolation(&self) -> Isolation {
        Isolation {
            level: Level::Wasm,
            missing: Vec::new(),
            granted: Vec::new(),
            memory: Enforcement::Wasm,
            processes: Enforcement::Wasm,
        }
    }
}

fn number_of(task: &Task) -> RunId {
    match task {
        Task::Run(job) | Task::Cell(_, job) => job.id,
        Task::Errand(_, id, _) => *id,
    }
}

fn say(jobs: &OwnedFd, run: RunId, reply: &Reply) {
    let encoded = protocol::encode(reply).expect("encoded");
    for part in protocol::parts(run, &encoded) {
        // One that was ended for what it said is not heard.
        protocol::send(jobs, &part, &[]).ok();
    }
}

fn plan(wall: Duration) -> Plan {
    let limits = LimitsRequest { wall: Some(wall), ..LimitsRequest::default() };
    let request = Request { code: "1".into(), language: Some("python".to_owned()), limits, ..Request::default() };
    Policy::default().admit(request).expect("admitted")
}

async fn worker(forger: Forger) -> Arc<Connection> {
    Connection::open(&Forged(forger), 1, &[]).await.expect("a worker")
}

async fn run_in(worker: &Connection) -> Result<Finished, WasmError> {
    let job = crate::job(&plan(Duration::from_secs(20)), worker.number(), 0, Dialect::Plain);
    worker.run(job, None, &mut ()).await
}

/// Runs one in a worker that lies, which is its end.
async fn ends(forger: Forger) {
    let worker = worker(forger).await;
    let ran = run_in(&worker).await;
    assert!(matches!(ran, Err(WasmError::WorkerLost)), "{ran:?}");
    let gone = async {
        while worker.is_alive() {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
    };
    tokio::time::timeout(Duration::from_secs(20), gone).await.expect("it is ended");
}

fn piece(bytes: usize) -> Piece {
    Piece { stream: OutputStream::Stdout, bytes: vec![b'x'; bytes] }
}

#[tokio::test]
async fn one_that_says_what_is_right_is_believed() {
    let worker = worker(|jobs, task| {
        let id = number_of(&task);
        say(jobs, id, &Reply::Output(vec![piece(1_000)]));
        say(jobs, id, &Reply::Finished(Box::new(Finished::only(End::Exited(3)))));
        // Late, for nobody.
        say(jobs, id, &Reply::Output(Vec::new()));
    })
    .await;
    for _ in 0..3 {
        assert_eq!(run_in(&worker).await.expect("an end").end, End::Exited(3));
    }
    assert!(worker.is_alive());
}

#[tokio::test]
async fn output_that_nobody_asked_for_ends_it() {
    // No output is passed on before the first is, so this is held back or held here.
    ends(|jobs, task| {
        for _ in 0..1_000 {
            say(
                jobs,
                number_of(&task),
                &Reply::Output(vec![piece(usize::try_from(MOST_IN_FLIGHT / 4).expect("it fits")); 8]),
            );
        }
    })
    .await;
}

#[tokio::test]
async fn an_answer_to_another_question_ends_it() {
    ends(|jobs, task| say(jobs, number_of(&task), &Reply::Answer(Box::new(Ok(Answer::Done))))).await;
}

#[tokio::test]
async fn a_list_without_end_ends_it() {
    ends(|jobs, task| {
        let finished = Finished { links: vec![String::new(); 8 << 20], ..Finished::only(End::Exited(0)) };
        say(jobs, number_of(&task), &Reply::Finished(Box::new(finished)));
    })
    .await;
}

#[tokio::test]
async fn an_answer_that_is_too_long_ends_it() {
    let worker = worker(|jobs, task| {
        let entry = ListedEntry { path: "x".repeat(1 << 20), kind: ListedKind::File, size: 1 };
        say(jobs, number_of(&task), &Reply::Answer(Box::new(Ok(Answer::Entries(vec![entry; 40])))));
    })
    .await;
    let asked = worker.ask(SessionId(0), Errand::List { folder: None }, &[]).await;
    assert!(matches!(asked, Err(WasmError::WorkerLost)), "{asked:?}");
    assert!(!worker.is_alive());
}

/// An engine with such workers, and the file that it takes for a runtime.
fn engine(forger: Forger) -> (WasmEngine, tempfile::NamedTempFile) {
    let mut module = tempfile::NamedTempFile::new().expect("a file");
    module.write_all(b"of no interest").expect("room");
    let installed = InstalledRuntime {
        name: "python".to_owned(),
        version: "1".to_owned(),
        module: module.path().to_owned(),
        tree: None,
    };
    let engine = WasmEngine::new(WasmConfig { runtimes: vec![installed], wall: Arc::new(Forged(forger)), slots: 1 });
    (engine, module)
}

/// What the engine makes of a run in such a worker.
async fn outcome(forger: Forger, wall: Duration) -> Outcome {
    let (engine, _module) = engine(forger);
    let sandbox = engine.open(plan(wall)).await.expect("a sandbox");
    sandbox.run(&mut ()).await.expect("an outcome")
}

#[tokio::test]
async fn a_saved_session_that_never_ends_ends_it() {
    let (engine, _module) =
        engine(|jobs, task| say(jobs, number_of(&task), &Reply::Answer(Box::new(Ok(Answer::Done)))));
    let mut session = engine.open_session(&plan(Duration::from_secs(1))).await.expect("a session");
    let saving = session.save(tempfile::tempfile().expect("a file").into());
    let saved = tokio::time::timeout(Duration::from_secs(20), saving).await.expect("it is not waited for");
    assert!(saved.is_err() && !session.is_alive());
}

/// It is the run's own end that it has used up its time, whatever its worker is at.
#[tokio::test]
async fn a_run_whose_worker_is_silent_is_over_its_time() {
    let outcome = outcome(|_, _| {}, Duration::from_millis(20)).await;
    assert_eq!(outcome.status, Status::TimedOut);
}

#[tokio::test]
async fn no_file_that_it_names_is_outside_of_the_workspace() {
    let forger: Forger = |jobs, task| {
        let file = |path: &&str| MadeFile { path: (*path).to_owned(), size: 1, contents: Some(vec![b'x']) };
        let files = ["../x", "/etc/passwd", "a/../../x", "a/b", "", "..", "a\0b"].iter().map(file).collect();
        let links = vec!["/etc/shadow".to_owned()];
        let finished = Finished { files, links, ..Finished::only(End::Exited(0)) };
        say(jobs, number_of(&task), &Reply::Finished(Box::new(finished)));
    };
    let outcome = outcome(forger, Duration::from_secs(20)).await;
    let files: Vec<&str> = outcome.files.iter().map(|file| file.path.as_str()).collect();
    assert_eq!(files, ["a/b"]);
    let skipped: Vec<_> = outcome.skipped_files.iter().map(|file| (file.path.as_str(), file.reason)).collect();
    let names = ["", "..", "../x", "/etc/passwd"].map(|path| (path, SkipReason::Name));
    let rest = [("/etc/shadow", SkipReason::NotRegular), ("a/../../x", SkipReason::Name), ("a\\0b", SkipReason::Name)];
    assert_eq!(skipped, [names.as_slice(), &rest].concat());
}
