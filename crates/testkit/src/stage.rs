//! A stage is a set-up with victims on it: things of the host's that a guest must not reach, and the check that none
//! did.

use std::fs;
use std::os::unix::fs::chown;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use ::attacks::victims::{SECRET_VARIABLE, Secrets, Victims};
use serde_json::{Value, json};

use crate::arena::{self, Arena, Level, Setup, Unavailable};
use crate::processes::{self, GRACE};
use crate::run::{Program, Run};

/// In the environment of belljar and of the victim process. Where it turns up, something leaked.
pub const SECRET: &str = "SUPERSECRET-8b1f0c7a";

/// Content of the files that may not be reached.
const SECRET_FILE: &str = "HOSTSECRET-4d52e9";

/// What a run's interpreter is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Starts {
    /// Started for the program.
    Cold,
    /// One that has waited for it, where belljar has interpreters wait.
    Parked,
}

/// A set-up, its victims, and room for one attack.
#[derive(Debug)]
pub struct Stage {
    arena: Arena,
    starts: Starts,
    belljar: &'static Path,
    directory: PathBuf,
    marker: String,
    victims: Victims,
    host: HostState,
    /// Groups that were orphans before this attack.
    old_cgroups: Vec<PathBuf>,
}

impl Stage {
    /// Sets the stage for one attack.
    pub fn open(setup: Setup, belljar: &Path) -> Result<Self, Unavailable> {
        static NUMBER: AtomicUsize = AtomicUsize::new(0);
        let arena = Arena::open(setup)?;
        let marker = format!("belljar-guest-{}-{}", std::process::id(), NUMBER.fetch_add(1, Ordering::Relaxed));
        let directory = arena::shared_directory().join(&marker);
        fs::create_dir(&directory).expect("a fresh name");
        for name in ["tmp", "home", "work"] {
            let path = directory.join(name);
            fs::create_dir(&path).expect("a fresh directory");
            chown(&path, Some(arena.uid()), Some(arena.uid())).expect("chown of our own directory");
        }
        let secrets = Secrets { variable: SECRET.to_owned(), file: SECRET_FILE.to_owned() };
        // Without the marker, which is how leftover processes are found: a victim is none.
        let name = marker.replace("guest", "abstract");
        let python = arena.command(Path::new("/usr/bin/python3"));
        let victims = Victims::open(directory.join("forbidden"), &name, secrets, Some(python)).expect("victims");
        let host = HostState::now();
        Ok(Self {
            arena,
            starts: Starts::Cold,
            belljar: arena::installed(belljar),
            directory,
            marker,
            victims,
            host,
            old_cgroups: orphaned_cgroups(),
        })
    }

    /// The same, with interpreters that start so.
    #[must_use]
    pub fn starting(mut self, starts: Starts) -> Self {
        self.starts = starts;
        self
    }

    /// What runs' interpreters are.
    pub fn starts(&self) -> Starts {
        self.starts
    }

    /// Which set-up this is.
    pub fn setup(&self) -> Setup {
        self.arena.setup()
    }

    /// The level that belljar must reach here.
    pub fn level(&self) -> Level {
        self.setup().level()
    }

    /// The copy of the binary under test.
    pub fn belljar(&self) -> &'static Path {
        self.belljar
    }

    /// Unique to this stage. Programs get it as an argument, so that their processes can be told from all others.
    pub fn marker(&self) -> &str {
        &self.marker
    }

    /// Uid of whoever runs belljar here.
    pub fn uid(&self) -> u32 {
        self.arena.uid()
    }

    /// A directory of the caller's, for inputs and outputs.
    pub fn work(&self) -> PathBuf {
        self.directory.join("work")
    }

    /// belljar's `TMPDIR`.
    pub fn temporary(&self) -> PathBuf {
        self.directory.join("tmp")
    }

    /// The directory that a guest must not reach. It holds a file `secret` and one `canary`, and anyone may write to
    /// both it and the latter.
    pub fn forbidden(&self) -> &Path {
        self.victims.directory()
    }

    /// A command in this set-up, beside belljar: with the secret in its environment, and descriptor 7 open on the
    /// secret file.
    pub fn command(&self, program: &Path) -> Command {
        let mut command = self.arena.command(Path::new("/bin/sh"));
        command.args(["-c", r#"exec 7<"$1"; shift; exec "$@""#, "sh"]).arg(self.victims.secret_file()).arg(program);
        command.current_dir(self.work()).env(SECRET_VARIABLE, SECRET).env("LANG", "C.UTF-8");
        command.env("HOME", self.directory.join("home")).env("TMPDIR", self.temporary());
        command
    }

    /// A `belljar run` of `program` in this set-up.
    pub fn run(&self, program: Program) -> Run<'_> {
        Run::new(self, program)
    }

    /// A run of a program whose arguments are its mode and the marker.
    pub fn run_mode(&self, program: Program, mode: &str) -> Run<'_> {
        self.run(program).argument(mode).argument(&*self.marker)
    }

    /// A `belljar run` without `--json`: the guest's output goes straight to the command's own.
    pub fn passing_through(&self, program: Program, mode: &str) -> Command {
        let mut command = self.command(self.belljar);
        command.args(["run", "-l", program.language, "-c", program.code]);
        if self.level() == Level::Landlock {
            command.args(["--require", "landlock"]);
        }
        command.args(["--", mode, &self.marker]);
        command
    }

    /// What probe programs are told of the host, as the JSON of their first argument.
    pub fn facts(&self) -> Value {
        let mut facts = self.victims.facts(self.level()).expect("the victims are there");
        facts["marker"] = json!(self.marker);
        facts
    }

    /// What probe programs are told when they run on the bare host: there the victim stands in for the jail's init.
    pub fn facts_outside(&self) -> Value {
        let mut facts = self.facts();
        facts["init"] = facts["victim"].clone();
        facts["workspace"] = json!(".");
        facts["outside"] = json!(true);
        facts
    }

    /// Fails if the attack changed anything on the host, reached a victim, or left something behind.
    pub fn assert_unharmed(&self) {
        processes::assert_gone(&self.marker, GRACE);
        assert_eq!(self.victims.reached(), [""; 0]);
        assert_eq!(self.victims.harmed_process(), None);
        assert_eq!(self.victims.changed_files().expect("the victims are there"), Vec::<PathBuf>::new());
        assert_eq!(HostState::now(), self.host, "the host changed");
        self.assert_no_orphaned_cgroups();
        self.assert_nothing_left();
    }

    /// Waits a little: where a parallel test kills its launcher, the next start removes what that one left.
    fn assert_no_orphaned_cgroups(&self) {
        if self.setup() != Setup::Root {
            return; // Nobody else makes any.
        }
        let orphans = || -> Vec<PathBuf> {
            let found = orphaned_cgroups().into_iter();
            found.filter(|group| !self.old_cgroups.contains(group)).collect()
        };
        let end = Instant::now() + Duration::from_secs(30);
        while !orphans().is_empty() && Instant::now() < end {
            thread::sleep(Duration::from_millis(50));
        }
        assert!(orphans().is_empty(), "cgroups left behind: {:?}", orphans());
    }

    /// The parent of scratch directories stays, for the next run; what is in it goes, if not at once then soon.
    fn assert_nothing_left(&self) {
        let parent = self.temporary().join(format!("belljar-{}", self.uid()));
        let left = || -> Vec<PathBuf> {
            let beside = listing(&self.temporary()).into_iter().filter(|path| *path != parent);
            beside.chain(listing(&parent)).collect()
        };
        let end = Instant::now() + Duration::from_secs(30);
        while !left().is_empty() && Instant::now() < end {
            thread::sleep(Duration::from_millis(5));
        }
        assert!(left().is_empty(), "left in the temporary directory: {:?}", left());
    }
}

impl Drop for Stage {
    fn drop(&mut self) {
        // What cannot be removed here (a directory that the guest closed) is left to the janitor of the shared
        // directory.
        drop(fs::remove_dir_all(&self.directory));
    }
}

/// What of the host is compared before and after, beside the victims.
#[derive(Debug, PartialEq, Eq)]
struct HostState {
    mounts: usize,
    host_name: String,
    core_pattern: String,
}

impl HostState {
    fn now() -> Self {
        let read = |path: &str| fs::read_to_string(path).expect("every Linux has it");
        Self {
            mounts: read("/proc/self/mountinfo").lines().count(),
            host_name: read("/proc/sys/kernel/hostname"),
            core_pattern: read("/proc/sys/kernel/core_pattern"),
        }
    }
}

/// What is in a directory; nothing where there is none.
fn listing(directory: &Path) -> Vec<PathBuf> {
    fs::read_dir(directory).into_iter().flatten().flatten().map(|entry| entry.path()).collect()
}

/// Groups that carry the pid of a launcher that is no more, among those that belljar makes beside our own.
///
/// Where a controller gives this process a group of its own, others' groups are not looked at: somebody else may use
/// belljar on this machine.
fn orphaned_cgroups() -> Vec<PathBuf> {
    let membership = fs::read_to_string("/proc/self/cgroup").unwrap_or_default();
    let own: Vec<&str> = membership.lines().filter_map(|line| line.splitn(3, ':').nth(2)).collect();
    let named: Vec<&str> = own.iter().copied().filter(|path| *path != "/").collect();
    let parents = if named.is_empty() { own } else { named };
    let mut orphans = Vec::new();
    for hierarchy in listing(Path::new("/sys/fs/cgroup")).into_iter().chain(["/sys/fs/cgroup".into()]) {
        for group in parents.iter().flat_map(|parent| listing(&hierarchy.join(parent.trim_start_matches('/')))) {
            let name = group.file_name().and_then(|name| name.to_str());
            let launcher = name.and_then(|name| name.strip_prefix("belljar-")?.parse().ok());
            if launcher.is_some_and(|launcher| processes::find(launcher).is_none()) {
                orphans.push(group);
            }
        }
    }
    orphans
}

/// The content of the secret file: it must turn up in nothing that a run gives back.
pub fn contains_secret(bytes: &[u8]) -> bool {
    [SECRET, SECRET_FILE].iter().any(|secret| bytes.windows(secret.len()).any(|window| window == secret.as_bytes()))
}
