//! `doctor --attack`: that nothing gets through here, as root and as an ordinary user, and that it sees what does.

#![expect(clippy::expect_used, clippy::indexing_slicing, clippy::panic, reason = "a failed check is a failed test")]

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use serde_json::Value;
use testkit::arena::{Level, Setup};
use testkit::attacks::wasm;
use testkit::run::Running;
use testkit::runtimes::CACHE;
use testkit::stage::Stage;

const BELLJAR: &str = env!("CARGO_BIN_EXE_belljar");

/// What a doctor said.
struct Answer {
    code: Option<i32>,
    stdout: String,
    stderr: String,
}

impl Answer {
    fn json(&self) -> Report {
        let value = serde_json::from_str(&self.stdout);
        Report(value.unwrap_or_else(|error| panic!("{error}: {} {}", self.stdout, self.stderr)))
    }
}

/// What a doctor says of attacks that its deadline ended.
const TOO_LATE: &str = "not over after 28 s";

/// Runs it on a stage, which it must leave as it was. Without runtimes where `cache` is an empty folder.
///
/// Its deadline is for one doctor on a machine that has little else to do: only one runs at a time, and where the machine was too busy,
/// it is tried again.
fn doctor(stage: &Stage, cache: &Path, options: &[&str]) -> Answer {
    static ALONE: Mutex<()> = Mutex::new(());
    let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    let mut answer = one_doctor(stage, cache, options);
    for _ in 0..2 {
        if answer.stdout.contains(TOO_LATE) {
            answer = one_doctor(stage, cache, options);
        }
    }
    answer
}

fn one_doctor(stage: &Stage, cache: &Path, options: &[&str]) -> Answer {
    let mut command = stage.command(stage.belljar());
    command.args(["doctor", "--attack"]).args(options).env(CACHE, cache);
    let finished = Running::start(command).finish();
    stage.assert_unharmed();
    Answer {
        code: finished.code,
        stdout: String::from_utf8(finished.stdout).expect("UTF-8"),
        stderr: String::from_utf8(finished.stderr).expect("UTF-8"),
    }
}

fn stage(setup: Setup) -> Option<Stage> {
    Stage::open(setup, Path::new(BELLJAR)).map_err(|unavailable| unavailable.skip(setup)).ok()
}

/// A folder that no runtime was ever set up in.
fn no_runtimes(stage: &Stage) -> PathBuf {
    stage.work().join("no-runtimes")
}

struct Report(Value);

impl Report {
    fn probes(&self) -> impl Iterator<Item = &Value> {
        self.0["probes"].as_array().expect("probes").iter()
    }

    fn names(&self, verdict: &str) -> BTreeSet<&str> {
        self.probes().filter(|probe| probe["verdict"] == verdict).filter_map(|probe| probe["name"].as_str()).collect()
    }

    #[track_caller]
    fn probe(&self, engine: &str, name: &str) -> &Value {
        let found = self.probes().find(|probe| probe["engine"] == engine && probe["name"] == name);
        found.unwrap_or_else(|| panic!("no `{name}` of {engine} in {:#}", self.0))
    }

    /// Every probe is there once, has a verdict, and says why; and the score is their sum.
    #[track_caller]
    fn assert_sound(&self) {
        let mut names = BTreeSet::new();
        let mut verdicts = BTreeMap::from(
            ["blocked", "not_blocked", "unclear", "granted", "not_tried"].map(|verdict| (verdict.to_owned(), 0)),
        );
        for probe in self.probes() {
            assert!(names.insert((probe["engine"].to_string(), probe["name"].to_string())), "twice: {probe}");
            *verdicts.get_mut(probe["verdict"].as_str().expect("a word")).expect("a verdict") += 1;
            let (tried, why) = (probe["tried"].as_str(), probe["detail"].as_str().or(probe["sign"].as_str()));
            assert!(tried.is_some_and(|text| !text.is_empty()), "{probe}");
            assert!(why.is_some_and(|text| !text.is_empty()), "{probe}");
        }
        let score: BTreeMap<String, i32> = serde_json::from_value(self.0["score"].clone()).expect("a score");
        assert_eq!(score, verdicts);
        assert!(self.0["seconds"].as_f64().is_some_and(|seconds| seconds < 30.0), "{}", self.0["seconds"]);
    }
}

/// Probes of what this host has not.
fn not_here() -> impl Iterator<Item = &'static str> {
    let all = ::attacks::probes::GROUPS.iter().flat_map(|(_, _, probes)| *probes);
    all.filter(|probe| probe.applies() && !probe.is_on_host()).map(|probe| probe.name)
}

/// The languages that are attacked in WebAssembly.
const LANGUAGES: [&str; 7] = ["c", "javascript", "lua", "php", "python", "ruby", "sql"];

fn all_blocked_in(setup: Setup) {
    let Some(stage) = stage(setup) else { return };
    if !wasm::provision(BELLJAR) {
        return;
    }
    let Some(cache) = wasm::cache_of(&stage) else { return };
    let answer = doctor(&stage, &cache, &["--json"]);
    let report = answer.json();
    report.assert_sound();
    let failed: Vec<&Value> =
        report.probes().filter(|probe| probe["verdict"] == "not_blocked" || probe["verdict"] == "unclear").collect();
    assert!(failed.is_empty(), "{failed:#?}");
    assert_eq!((answer.code, &*answer.stderr), (Some(0), ""));
    assert_eq!(report.0["level"], setup.level().name());
    assert_eq!(report.0["passed"], true);
    let blocked = |engine: &str| {
        report.probes().filter(|probe| probe["engine"] == engine && probe["verdict"] == "blocked").count()
    };
    let counted = serde_json::json!({"native": blocked("native"), "wasm": blocked("wasm")});
    assert_eq!(report.0["blocked_in"], counted);
    assert!(blocked("native") > 160 && blocked("wasm") > 35, "{} and {}", blocked("native"), blocked("wasm"));
    for language in LANGUAGES {
        assert_eq!(report.probe("wasm", &format!("read-{language}"))["verdict"], "blocked");
    }
    // No terminal here, and without a memory cgroup nobody counts what no process has mapped. What is not on this host stops nobody.
    let left_out = report.names("not_tried");
    let mut known: BTreeSet<&str> = ["open-terminal", "shared-memory", "standard-streams-are-terminals"].into();
    known.extend(not_here());
    assert!(left_out.is_subset(&known), "{left_out:?}");
    for name in not_here() {
        assert_eq!(report.probe("native", name)["detail"], "not on this host");
    }
    for (name, layer) in [("bpf", "seccomp"), ("read-host-secret", "mount-namespace"), ("see-victim", "pid-namespace")]
    {
        let stopped_by = &report.probe("native", name)["stopped_by"];
        assert_eq!(stopped_by, &serde_json::json!([layer]), "{name}");
    }
}

#[test]
fn all_is_blocked_as_root() {
    all_blocked_in(Setup::Root);
}

#[test]
fn all_is_blocked_as_an_ordinary_user() {
    all_blocked_in(Setup::Unprivileged);
}

#[test]
fn all_is_blocked_in_a_container() {
    all_blocked_in(Setup::MaskedProc);
}

/// What the weaker level does not stop is told, named after what is missing, and no pass.
#[test]
fn gaps_of_a_weaker_level_are_seen() {
    let Some(stage) = stage(Setup::NoUserNamespaces) else { return };
    let answer = doctor(&stage, &no_runtimes(&stage), &["--json", "--require", "landlock"]);
    let report = answer.json();
    report.assert_sound();
    let gaps: BTreeSet<&str> = ::attacks::probes::GAPS
        .iter()
        .filter(|(level, ..)| *level == Level::Landlock)
        .map(|(_, name, _)| *name)
        .collect();
    assert_eq!(report.names("not_blocked"), gaps);
    assert_eq!(report.names("unclear"), BTreeSet::new());
    assert_eq!((answer.code, &report.0["passed"]), (Some(1), &false.into()));
    let told = report.probe("native", "see-victim")["detail"].as_str().expect("why").to_owned();
    assert!(told.ends_with("level `landlock` has no pid-namespace"), "{told}");

    // Where that level is not accepted nothing runs, and nothing is proven.
    let answer = doctor(&stage, &no_runtimes(&stage), &["--json"]);
    let report = answer.json();
    assert_eq!((answer.code, report.names("not_blocked").len(), &report.0["passed"]), (Some(1), 0, &false.into()));
    assert_eq!(report.probe("native", "bpf")["verdict"], "not_tried");
}

/// With a layer left out, the probes that guard it get through, and nothing is credited to it.
#[test]
fn a_missing_layer_is_seen() {
    for (layer, through) in
        [("seccomp", &["keyring", "userfaultfd", "personality"][..]), ("pid-namespace", &["see-victim"])]
    {
        let Some(stage) = stage(Setup::Unprivileged) else { return };
        let answer = doctor(&stage, &no_runtimes(&stage), &["--json", "--without", layer]);
        let report = answer.json();
        let seen = report.names("not_blocked");
        assert!(through.iter().all(|name| seen.contains(name)), "without {layer}: {seen:?}");
        assert_eq!((answer.code, &report.0["passed"]), (Some(1), &false.into()), "without {layer}");
        let credited = report.probes().filter(|probe| probe["stopped_by"].to_string().contains(layer)).count();
        assert_eq!(credited, 0, "{layer} is not there and is said to stop something");
    }
}

#[test]
fn what_is_granted_is_told_and_no_failure() {
    let Some(stage) = stage(Setup::Unprivileged) else { return };
    let folder = stage.work().join("shown");
    fs::create_dir(&folder).expect("a fresh name");
    let mount = format!("{}:/data", folder.display());
    let answer = doctor(&stage, &no_runtimes(&stage), &["--json", "--network", "example.org", "--mount", &mount]);
    let report = answer.json();
    report.assert_sound();
    let granted: BTreeSet<&str> = ["network example.org", "read-folder /data"].into();
    assert_eq!(report.names("granted"), granted);
    assert_eq!(report.names("not_blocked"), BTreeSet::new());
    assert_eq!(report.names("unclear"), BTreeSet::new());
    assert_eq!(report.probe("native", "write-folder /data")["verdict"], "blocked");
    let proxy = report.probe("native", "proxy-to-host-loopback");
    assert_eq!((&proxy["verdict"], &proxy["sign"]), (&"blocked".into(), &"refused".into()), "{proxy}");
    assert_eq!(answer.code, Some(0));
}

#[test]
fn in_text() {
    let Some(stage) = stage(Setup::Unprivileged) else { return };
    let answer = doctor(&stage, &no_runtimes(&stage), &[]);
    assert_eq!((answer.code, &*answer.stderr), (Some(0), ""), "{}", answer.stdout);
    let row = answer.stdout.lines().find(|line| line.starts_with("read /etc/shadow ")).expect("a row");
    let cells: Vec<&str> = row.split("  ").map(str::trim).filter(|cell| !cell.is_empty()).collect();
    assert_eq!(cells, ["read /etc/shadow", "native", "blocked", "mount-namespace (ENOENT)"]);
    // Nothing is set up unasked.
    let row = answer.stdout.lines().find(|line| line.starts_with("Python: read the host's files")).expect("a row");
    assert!(row.ends_with("Python in WebAssembly is not set up on this machine; run `belljar setup python`"), "{row}");
    let score = answer.stdout.lines().last().expect("a score");
    let counts: Vec<&str> = score.split(' ').collect();
    assert_eq!((counts[0], counts[1], counts[2]), ("blocked", counts[3], "of"), "{score}");
    assert!(score.contains("; NOTHING TRIED in engine wasm") && score.contains(" not tried: "), "{score}");
}
