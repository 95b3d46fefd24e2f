//! Guests in WebAssembly, and what is around them: the worker that hosts them and the files that it is made of.

use std::collections::BTreeMap;
use std::fs;
use std::io::{Seek, SeekFrom, Write};
use std::os::unix::fs::{MetadataExt, PermissionsExt, chown, symlink};
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::thread;
use std::time::{Duration, Instant};

use ::attacks::wasm as guests;
use serde_json::Value;

use super::resources::{assert_kept, assert_server_small};
use crate::arena::{self, Level, Setup, running_as_root};
use crate::processes::{self, Process};
use crate::run::{Ending, Outcome, Program, Run, Running};
use crate::runtimes::{self, CACHE};
use crate::stage::{Stage, contains_secret};

/// What a result says of a run in a worker behind a jail.
const LEVEL: &str = "wasm+jail";

/// How the binary is started as a worker.
const WORKER: &str = "__worker";

/// The runtimes for whoever runs belljar on this stage: a copy of the tests' own, as everything in the folder must belong to its user.
///
/// `None` after saying that the test is skipped. The source is [`provision`]ed by the test beforehand.
pub fn cache_of(stage: &Stage) -> Option<PathBuf> {
    static LENT: Mutex<BTreeMap<u32, PathBuf>> = Mutex::new(BTreeMap::new());
    let mut lent = LENT.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
    if let Some(folder) = lent.get(&stage.uid()) {
        return Some(folder.clone());
    }
    let folder = arena::shared_directory().join(format!("runtimes-of-{}", stage.uid()));
    copy(source()?, &folder, stage.uid(), &RUNTIMES);
    lent.insert(stage.uid(), folder.clone());
    Some(folder)
}

/// The binary is the same everywhere in a test process, and so is what it has set up.
static SOURCE: Mutex<Option<&'static Path>> = Mutex::new(None);

fn source() -> Option<&'static Path> {
    *SOURCE.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
}

/// Whether there are runtimes to attack; says so when not.
pub fn provision(belljar: &'static str) -> bool {
    let found = runtimes::provisioned(belljar);
    *SOURCE.lock().unwrap_or_else(std::sync::PoisonError::into_inner) = found;
    found.is_some()
}

/// All but NumPy, which is the largest and only more of Python.
const RUNTIMES: [&str; 7] = ["python", "javascript", "ruby", "php", "clang", "lua", "sql"];

/// What is needed to run these, and not what they were made from.
fn copy(source: &Path, folder: &Path, uid: u32, runtimes: &[&str]) {
    let own = |path: &Path, mode: u32| {
        chown(path, Some(uid), Some(uid)).expect("our own file");
        fs::set_permissions(path, fs::Permissions::from_mode(mode)).expect("our own file");
    };
    let make = |part: &str, is_wanted: &dyn Fn(&str) -> bool| {
        let target = folder.join(part);
        fs::create_dir(&target).expect("a fresh name");
        own(&target, 0o700);
        for entry in fs::read_dir(source.join(part)).expect("a provisioned folder").flatten() {
            let name = entry.file_name();
            if entry.path().is_file() && is_wanted(&name.to_string_lossy()) {
                fs::copy(entry.path(), target.join(&name)).expect("room for a copy");
                own(&target.join(&name), 0o600);
            }
        }
    };
    fs::create_dir(folder).expect("a fresh name");
    own(folder, 0o700);
    make("modules", &|module| runtimes.iter().any(|runtime| module.starts_with(&format!("{runtime}-"))));
    make("runtimes", &|_| true);
    for runtime in runtimes {
        make(&format!("runtimes/{runtime}"), &|file| !file.starts_with("numpy"));
    }
}

fn run<'stage>(stage: &'stage Stage, program: Program, cache: &Path) -> Run<'stage> {
    stage.run(program).in_webassembly(cache)
}

/// Tries every attempt of a program that prints `name: verdict`, and fails unless each was stopped.
fn all_blocked(stage: &Stage, program: Program, least: usize) {
    let Some(cache) = cache_of(stage) else { return };
    let outcome = run(stage, program, &cache).argument(stage.facts().to_string()).argument(stage.marker()).outcome();
    outcome.assert_ended(Ending::completed(0));
    assert_eq!(outcome.stderr, "");
    let got: Vec<&str> = outcome.stdout.lines().filter(|line| line.contains(": GOT")).collect();
    assert!(got.is_empty(), "the guest got through: {got:#?}");
    let attempts =
        outcome.stdout.lines().filter(|line| line.contains(": blocked ") || line.contains(": errno ")).count();
    assert!(attempts >= least, "{attempts} attempts only: {}", outcome.stdout);
    assert!(!contains_secret(outcome.stdout.as_bytes()), "{}", outcome.stdout);
}

pub(super) fn files(stage: &Stage, program: Program) {
    all_blocked(stage, program, 70);
}

pub(super) fn files_of_javascript(stage: &Stage, program: Program) {
    all_blocked(stage, program, 40);
}

pub(super) fn files_of_ruby(stage: &Stage, program: Program) {
    all_blocked(stage, program, 50);
}

pub(super) fn files_of_php(stage: &Stage, program: Program) {
    all_blocked(stage, program, 50);
}

pub(super) fn files_of_lua(stage: &Stage, program: Program) {
    all_blocked(stage, program, 40);
}

/// The compiler has tries of its own in `wasm/compiled.rs`.
pub(super) fn files_of_c(stage: &Stage, program: Program) {
    all_blocked(stage, program, 40);
}

/// Each path is tried by statements of its own, which the shell is given behind the program.
pub(super) fn files_of_sql(stage: &Stage, program: Program) {
    let Some(cache) = cache_of(stage) else { return };
    let (secret, directory) = (stage.forbidden().join("secret"), stage.forbidden());
    let canary = directory.join("canary");
    let reads = guests::sql_reads(&secret, &canary);
    let control = reads.iter().fold(run(stage, program, &cache), Run::argument);
    let outcome = control.outcome();
    outcome.assert_ended(Ending::completed(0));
    assert_eq!(
        (outcome.stdout.matches(": blocked").count(), &*outcome.stderr),
        (reads.len(), ""),
        "{}",
        outcome.stdout
    );
    assert!(outcome.stdout.starts_with("mine\nmine\n") && !outcome.stdout.contains("GOT"), "{}", outcome.stdout);
    // What is an error ends the shell, so these have a run each.
    for attempt in guests::sql_attempts(&secret, &canary, directory) {
        let outcome =
            run(stage, program, &cache).argument(&attempt).argument("SELECT count(*) FROM sqlite_master;").outcome();
        let said = format!("{}{}", outcome.stdout, outcome.stderr);
        assert!(outcome.stdout.starts_with("mine\nmine\n") && !contains_secret(said.as_bytes()), "{attempt}: {said}");
    }
}

pub(super) fn network(stage: &Stage, program: Program) {
    all_blocked(stage, program, 16);
}

/// The second wall, seen from outside while a guest is behind it.
pub(super) fn worker(stage: &Stage, program: Program) {
    let Some(cache) = cache_of(stage) else { return };
    let running = run(stage, program, &cache).argument(stage.marker()).start();
    let worker = worker_of(&running);
    let status = fs::read_to_string(format!("/proc/{}/status", worker.pid)).expect("it lives");
    let field = |name: &str| {
        let value = status.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':'));
        value.unwrap_or_else(|| panic!("no `{name}` in {status}")).trim()
    };
    assert_eq!((field("Seccomp"), field("NoNewPrivs")), ("2", "1"), "{status}");
    for set in ["CapEff", "CapPrm", "CapInh", "CapAmb"] {
        assert_eq!(u64::from_str_radix(field(set), 16), Ok(0), "{set} in {status}");
    }
    // The jail's filter, and the worker's own on top of it.
    if let Some(filters) = status.lines().find_map(|line| line.strip_prefix("Seccomp_filters:")) {
        assert!(filters.trim().parse::<u32>().expect("a number") >= 2, "{status}");
    }
    if running_as_root() {
        assert!(!worker.uids.contains(&0), "the worker is root on the host: {worker:?}");
        assert_namespaces(stage, &worker);
        assert_no_host_files(stage, &worker);
        assert_no_secret(&worker);
    }
    let outcome = running.finish().outcome(LEVEL);
    outcome.assert_ended(Ending::completed(0));
    assert_eq!(outcome.stdout, "slept\n");
    assert_ends(&worker);
}

/// belljar's worker, once its threads are up: it starts them last, before it seals itself.
fn worker_of(belljar: &Running) -> Process {
    let end = Instant::now() + Duration::from_secs(30);
    loop {
        let everyone = processes::all();
        let descends = |process: &Process| {
            let mut parent = process.parent;
            while parent > 1 && parent != belljar.pid() {
                parent = everyone.iter().find(|other| other.pid == parent).map_or(0, |other| other.parent);
            }
            parent == belljar.pid()
        };
        let is_worker = |process: &&Process| process.arguments.split('\0').nth(1) == Some(WORKER) && descends(process);
        if let Some(worker) = everyone.iter().find(is_worker).filter(|worker| has_sealed(worker.pid)) {
            return worker.clone();
        }
        assert!(Instant::now() < end, "the worker never appeared");
        thread::sleep(Duration::from_millis(5));
    }
}

/// Its last step on the way to the first guest is a filter of its own.
fn has_sealed(pid: i32) -> bool {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
    let filters = status.lines().find_map(|line| line.strip_prefix("Seccomp_filters:")?.trim().parse::<u32>().ok());
    filters.is_none_or(|filters| filters >= 2)
}

fn assert_namespaces(stage: &Stage, worker: &Process) {
    let apart = |name: &str| {
        let of = |pid: &str| fs::read_link(format!("/proc/{pid}/ns/{name}")).expect("the tests are root");
        of(&worker.pid.to_string()) != of("self")
    };
    let namespaces = ["net", "pid", "mnt", "ipc", "uts", "user"];
    let shared: Vec<&str> = namespaces.into_iter().filter(|name| !apart(name)).collect();
    match stage.level() {
        Level::Full | Level::FullNoProc => assert_eq!(shared, [""; 0], "namespaces of the host's"),
        // There are none to be had; the result says so.
        Level::Landlock => {}
    }
}

/// Its root is empty of what a guest could want, should one get out of WebAssembly.
fn assert_no_host_files(stage: &Stage, worker: &Process) {
    if stage.level() == Level::Landlock {
        return; // Its root is the host's, behind Landlock and a filter that opens nothing.
    }
    let root = PathBuf::from(format!("/proc/{}/root", worker.pid));
    for path in ["/etc/passwd", "/etc/shadow", "/root", "/home"].map(Path::new).into_iter().chain([stage.forbidden()]) {
        let inside = root.join(path.strip_prefix("/").expect("absolute"));
        let same = |one: &Path, other: &Path| match (fs::metadata(one), fs::metadata(other)) {
            (Ok(one), Ok(other)) => (one.dev(), one.ino()) == (other.dev(), other.ino()),
            _ => false,
        };
        assert!(!same(&inside, path), "the worker's root has the host's `{}`", path.display());
    }
}

/// Nothing of belljar's environment is in its own.
fn assert_no_secret(worker: &Process) {
    let environment = fs::read(format!("/proc/{}/environ", worker.pid)).expect("the tests are root");
    assert!(!contains_secret(&environment), "{}", String::from_utf8_lossy(&environment));
    let descriptors = fs::read_dir(format!("/proc/{}/fd", worker.pid)).expect("the tests are root");
    let targets: Vec<PathBuf> = descriptors.flatten().filter_map(|entry| fs::read_link(entry.path()).ok()).collect();
    let strange: Vec<&PathBuf> = targets
        .iter()
        .filter(|target| {
            let text = target.to_string_lossy();
            let ours = text.starts_with("socket:") || text.starts_with("pipe:") || text.starts_with("anon_inode:");
            let module = text.ends_with(".cwasm") || text.ends_with(".pack") || text.starts_with("/memfd:");
            !ours && !module && text != "/dev/null" && !text.ends_with("/pagemap")
        })
        .collect();
    assert!(strange.is_empty(), "the worker holds {strange:?}");
}

fn assert_ends(worker: &Process) {
    let end = Instant::now() + Duration::from_secs(20);
    let same = |found: &Process| found.arguments == worker.arguments && found.state != 'Z';
    while processes::find(worker.pid).is_some_and(|found| same(&found)) {
        assert!(Instant::now() < end, "{worker:?} outlives belljar");
        thread::sleep(Duration::from_millis(5));
    }
}

/// `kill -9` of belljar: the worker ends too, and the guest with it.
pub(super) fn server_killed(stage: &Stage, program: Program) {
    let Some(cache) = cache_of(stage) else { return };
    let mut running = run(stage, program, &cache).argument(stage.marker()).start();
    let worker = worker_of(&running);
    running.kill();
    running.finish();
    assert_ends(&worker);
    // What the dead could not remove (cgroups, a scratch directory) is removed at the next start.
    run(stage, Program { language: "python", code: "pass" }, &cache).outcome().assert_ended(Ending::completed(0));
}

/// `kill -9` of the worker: belljar says so, in one line, and the next run works.
pub(super) fn worker_killed(stage: &Stage, program: Program) {
    let Some(cache) = cache_of(stage) else { return };
    let running = run(stage, program, &cache).argument(stage.marker()).start();
    processes::kill(worker_of(&running).pid);
    let finished = running.finish();
    let stderr = String::from_utf8_lossy(&finished.stderr);
    assert_eq!((finished.code, finished.stdout.len()), (Some(125), 0), "{stderr}");
    assert_eq!(stderr, "error: the worker process that hosted this run has ended; run it again\n");
    run(stage, Program { language: "python", code: "pass" }, &cache).outcome().assert_ended(Ending::completed(0));
}

/// W9: whatever is in a module's place, it is refused in words, or not taken for a module. Nothing crashes, and nothing of it runs.
pub(super) fn hostile_cache(stage: &Stage, program: Program) {
    type Plant = fn(&Path, u32);
    const PLANTS: &[(&str, Plant)] = &[
        ("another's", |module, uid| chown(module, Some(uid + 1), None).expect("the tests are root")),
        ("writable by its group", |module, _| mode(module, 0o620)),
        ("writable by all", |module, _| mode(module, 0o602)),
        ("cut short", |module, _| set_length(module, |length| length / 2)),
        ("one byte short", |module, _| set_length(module, |length| length - 1)),
        ("one byte long", |module, _| set_length(module, |length| length + 1)),
        ("empty", |module, _| set_length(module, |_| 0)),
        ("random bytes", |module, _| overwrite(module, 0, noise)),
        ("a broken head", |module, _| overwrite_part(module, 0)),
        ("a broken end", |module, _| overwrite_part(module, 24)),
        ("a link", |module, _| {
            let elsewhere = module.with_extension("elsewhere");
            fs::rename(module, &elsewhere).expect("our own file");
            symlink(&elsewhere, module).expect("a free name");
        }),
        ("a directory", |module, _| {
            fs::remove_file(module).expect("our own file");
            fs::create_dir(module).expect("a free name");
        }),
        ("nothing", |module, _| fs::remove_file(module).expect("our own file")),
        ("a pipe", |module, _| {
            fs::remove_file(module).expect("our own file");
            let made = arena::host_command("mkfifo").arg("-m").arg("600").arg(module).status();
            assert!(made.expect("mkfifo").success());
        }),
        ("in a folder of another's", |module, uid| {
            chown(module.parent().expect("a folder"), Some(uid + 1), None).expect("the tests are root");
        }),
        ("in a folder that all may write to", |module, _| mode(module.parent().expect("a folder"), 0o777)),
    ];

    let Some(cache) = cache_of(stage) else { return };
    run(stage, program, &cache).outcome().assert_ended(Ending::completed(0));
    if !running_as_root() {
        return;
    }
    let hostile = stage.work().join("cache");
    for (name, plant) in PLANTS {
        copy(&cache, &hostile, stage.uid(), &[program.language]);
        for module in modules_of(&hostile, program.language) {
            plant(&module, stage.uid());
        }
        let finished = run(stage, program, &hostile).start().finish();
        let stderr = String::from_utf8_lossy(&finished.stderr);
        assert_eq!((finished.code, finished.signal), (Some(125), None), "{name}: {stderr}");
        assert!(finished.stdout.is_empty() && stderr.starts_with("error: "), "{name}: {stderr}");
        assert!(!stderr.contains("panic"), "{name}: {stderr}");
        // The language is served all the same by `auto`, where the host has its tool and walls; and `doctor` goes on.
        let mut doctor = stage.command(stage.belljar());
        doctor.args(["doctor", "--json"]).env(CACHE, &hostile);
        let finished = Running::start(doctor).finish();
        let report: Result<Value, _> = serde_json::from_slice(&finished.stdout);
        let report = report.unwrap_or_else(|error| panic!("{name}: {error}: {finished:?}"));
        let ready = report["runtimes"].as_array().into_iter().flatten().filter(|runtime| runtime["ready"] == true);
        let ready: Vec<&Value> = ready.map(|runtime| &runtime["name"]).collect();
        let is_looked_into = ["random bytes", "a broken head", "a broken end"].contains(name);
        assert!(is_looked_into || !ready.iter().any(|name| *name == "javascript"), "{name}: {ready:?}");
        fs::remove_dir_all(&hostile).expect("the tests are root");
    }
}

/// Several when something was set up again and the old one is still in use.
fn modules_of(cache: &Path, language: &str) -> Vec<PathBuf> {
    let entries = fs::read_dir(cache.join("modules")).expect("a folder").flatten().map(|entry| entry.path());
    let is_module = |path: &PathBuf| {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        name.starts_with(&format!("{language}-")) && name.ends_with(".cwasm")
    };
    let modules: Vec<PathBuf> = entries.filter(is_module).collect();
    assert!(!modules.is_empty(), "no module for {language}");
    modules
}

fn mode(path: &Path, mode: u32) {
    fs::set_permissions(path, fs::Permissions::from_mode(mode)).expect("our own file");
}

fn set_length(path: &Path, change: fn(u64) -> u64) {
    let file = fs::File::options().write(true).open(path).expect("our own file");
    file.set_len(change(file.metadata().expect("our own file").len())).expect("our own file");
}

/// The same size, so that nothing but a look inside tells.
fn overwrite(path: &Path, from: u64, byte: fn(u64) -> u8) {
    let mut file = fs::File::options().write(true).open(path).expect("our own file");
    let length = file.metadata().expect("our own file").len();
    file.seek(SeekFrom::Start(from)).expect("our own file");
    let bytes: Vec<u8> = (from..length).map(byte).collect();
    file.write_all(&bytes).expect("our own file");
}

/// 4 KiB at the start, or the last few bytes.
fn overwrite_part(path: &Path, from_end: u64) {
    let mut file = fs::File::options().write(true).open(path).expect("our own file");
    let length = file.metadata().expect("our own file").len();
    let (start, count) = if from_end == 0 { (0, 4096) } else { (length - from_end, from_end) };
    file.seek(SeekFrom::Start(start)).expect("our own file");
    file.write_all(&(0..count).map(noise).collect::<Vec<u8>>()).expect("our own file");
}

/// Bytes without a pattern, the same every time.
fn noise(place: u64) -> u8 {
    let mixed = (place ^ (place >> 7)).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    mixed.to_le_bytes()[5]
}

/// Where the host does not give the native engine what the operator wants, the wasm result stands and says why.
pub(super) fn no_way_out(stage: &Stage, program: Program) {
    let Some(cache) = cache_of(stage) else { return };
    let mut command = stage.command(stage.belljar());
    command
        .args(["run", "--json", "-l", program.language, "-c", program.code, "--", stage.marker()])
        .env(CACHE, &cache);
    let finished = Running::start(command).finish();
    let result: Value =
        serde_json::from_slice(&finished.stdout).unwrap_or_else(|error| panic!("{error}: {finished:?}"));
    match stage.setup() {
        Setup::NoUserNamespaces => {
            assert_eq!(
                (&result["engine"], &result["promoted"], &result["exit_code"]),
                (&"wasm".into(), &Value::Null, &1.into()),
                "{result:#}"
            );
            let hint = result["error"]["hint"].as_str().unwrap_or_default();
            assert!(
                hint.starts_with("WebAssembly cannot start threads; the native engine could do it, but "),
                "{hint}"
            );
        }
        Setup::Unprivileged | Setup::Root | Setup::MaskedProc => {
            assert_eq!(
                (&result["engine"], &result["promoted"]["from"]),
                (&"native".into(), &"wasm".into()),
                "{result:#}"
            );
            assert_eq!(result["stdout"], "start\nin it\n");
        }
    }
}

/// What a guest writes costs the server no more than what it keeps, however fast it comes and whoever reads.
pub(super) fn flood(stage: &Stage, program: Program) {
    let Some(cache) = cache_of(stage) else { return };
    let control = run(stage, program, &cache).argument("control").outcome();
    control.assert_ended(Ending::completed(0));
    assert_eq!((&*control.stdout, &*control.stderr), ("x\n", "y\n"));
    let outcome = run(stage, program, &cache).argument(stage.marker()).option("--timeout", "5s").outcome();
    outcome.assert_ended(Ending::timed_out());
    for (text, dropped) in [(&outcome.stdout, outcome.dropped.stdout), (&outcome.stderr, outcome.dropped.stderr)] {
        let note = format!("\n[… {dropped} bytes dropped …]\n");
        assert!(dropped > 0, "an endless stream was kept whole");
        assert_kept(text, dropped, (text.len() - note.len()) as u64 + dropped);
    }
    assert_server_small(&outcome);
}

/// Nobody looks at the results of these but to see that they are the guest's own.
pub(super) fn frames(stage: &Stage, program: Program) {
    let Some(cache) = cache_of(stage) else { return };
    let outcome: Outcome = run(stage, program, &cache).argument(stage.marker()).outcome();
    outcome.assert_ended(Ending::completed(7));
    assert_eq!(outcome.stdout.lines().count(), 256 + 1, "{}", outcome.stdout);
    assert_eq!(outcome.error.as_ref().and_then(|error| error.kind.as_deref()), None);
}
