//! The four set-ups that the isolation must hold in, as values that make commands.
//!
//! Nothing is added to the machine: the test user is a number without a passwd entry, mounts are made in a mount
//! namespace that ends with the command, and `user.max_user_namespaces` is written inside a user namespace of our own,
//! where it is that namespace's own value.

use std::fmt;
use std::fs;
use std::io;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, ExitStatus, Stdio};
use std::sync::OnceLock;
use std::thread;
use std::time::Duration;

pub use ::attacks::Level;

/// Uid and gid of whoever runs belljar in the set-ups that are not root's.
pub const TEST_USER: u32 = 60_999;

/// Where tools come from in every set-up, whatever `PATH` the tests run with.
pub const SEARCH_PATH: &str = "/usr/local/bin:/usr/bin:/bin";

/// Set (by CI) where a set-up that cannot be made is a failure instead of a skipped test.
pub const NO_SKIP: &str = "BELLJAR_TEST_NO_SKIP";

/// Docker's masked and read-only paths, as far as this kernel has them, then the rest of the arguments as the test
/// user.
const MASK_PROC: &str = r#"set -e
uid=$1; shift
for path in /proc/kcore /proc/keys /proc/timer_list /proc/sched_debug /proc/latency_stats; do
    if [ -e "$path" ]; then mount --bind /dev/null "$path"; fi
done
for path in /proc/bus /proc/fs /proc/irq /proc/sys; do
    mount --bind "$path" "$path"
    mount -o remount,bind,ro "$path"
done
exec setpriv --reuid "$uid" --regid "$uid" --clear-groups --inh-caps=-all -- "$@"
"#;

/// One way in which belljar is started on some machine out there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Setup {
    /// An ordinary user on an ordinary host.
    Unprivileged,
    /// Root, with whatever capabilities root has here.
    Root,
    /// An ordinary user in a container: parts of /proc are mounted over, so the kernel refuses a fresh proc mount.
    MaskedProc,
    /// An ordinary user on a host that lets nobody make user namespaces.
    NoUserNamespaces,
}

/// `name;` makes `name::root` and `name::unprivileged` of a function that takes a [`Setup`].
#[macro_export]
macro_rules! in_both_setups {
    ($($name:ident;)+) => {
        $(mod $name {
            #[test]
            fn root() {
                super::$name($crate::arena::Setup::Root);
            }

            #[test]
            fn unprivileged() {
                super::$name($crate::arena::Setup::Unprivileged);
            }
        })+
    };
}

impl Setup {
    /// Every set-up.
    pub const ALL: [Self; 4] = [Self::Unprivileged, Self::Root, Self::MaskedProc, Self::NoUserNamespaces];

    /// The level that belljar must reach in this set-up, no more and no less.
    pub fn level(self) -> Level {
        match self {
            Self::Unprivileged | Self::Root => Level::Full,
            Self::MaskedProc => Level::FullNoProc,
            Self::NoUserNamespaces => Level::Landlock,
        }
    }
}

/// A set-up that cannot be made here, and why.
#[derive(Debug)]
pub struct Unavailable(pub String);

impl fmt::Display for Unavailable {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.0)
    }
}

impl Unavailable {
    /// Says that a test is skipped, or fails it where skipping is not allowed.
    #[expect(clippy::print_stderr, reason = "a skipped test says so")]
    #[expect(clippy::disallowed_methods, reason = "tests have no settings module")]
    pub fn skip(&self, setup: Setup) {
        assert!(std::env::var_os(NO_SKIP).is_none(), "{setup:?} is unavailable and {NO_SKIP} is set: {self}");
        eprintln!("skipped: {setup:?} is unavailable: {self}");
    }
}

/// A set-up that is ready: it was tried and found to be what it says.
#[derive(Debug)]
pub struct Arena {
    setup: Setup,
    namespace: Option<OuterNamespace>,
}

impl Arena {
    /// Makes the set-up and tries it: a machine that blocks user namespaces itself cannot show the unprivileged one.
    pub fn open(setup: Setup) -> Result<Self, Unavailable> {
        if setup != Setup::Unprivileged && !running_as_root() {
            return Err(Unavailable("the tests do not run as root".into()));
        }
        let namespace = match setup {
            Setup::NoUserNamespaces => Some(OuterNamespace::open().map_err(|error| Unavailable(error.to_string()))?),
            Setup::Unprivileged | Setup::Root | Setup::MaskedProc => None,
        };
        let arena = Self { setup, namespace };
        arena.prove()?;
        Ok(arena)
    }

    /// Which set-up this is.
    pub fn setup(&self) -> Setup {
        self.setup
    }

    /// Uid that a command of this set-up runs as.
    pub fn uid(&self) -> u32 {
        match self.setup {
            Setup::Root => 0,
            Setup::Unprivileged if !running_as_root() => rustix::process::getuid().as_raw(),
            Setup::Unprivileged | Setup::MaskedProc | Setup::NoUserNamespaces => TEST_USER,
        }
    }

    /// A command that runs `program` in this set-up, with an empty environment but for `PATH`. The child's pid is the
    /// program's own: every step on the way is an exec.
    pub fn command(&self, program: &Path) -> Command {
        let user = TEST_USER.to_string();
        let mut command = match self.setup {
            Setup::Root => host_command(program),
            Setup::Unprivileged => {
                let mut command = host_command(program);
                if running_as_root() {
                    command.uid(TEST_USER).gid(TEST_USER);
                }
                command
            }
            Setup::MaskedProc => {
                let mut command = host_command("unshare");
                command
                    .args(["--mount", "--propagation", "private", "--", "sh", "-c", MASK_PROC, "sh", &user])
                    .arg(program);
                command
            }
            Setup::NoUserNamespaces => {
                let namespace = self.namespace.as_ref().expect("open() made it");
                let mut command = host_command("nsenter");
                command
                    .arg(format!("--user={}", namespace.path()))
                    .args(["--setuid", &user, "--setgid", &user, "--"])
                    .arg(program);
                command
            }
        };
        command.env_clear().env("PATH", SEARCH_PATH);
        command
    }

    /// A set-up that does not do what its name says would let every test pass for the wrong reason.
    fn prove(&self) -> Result<(), Unavailable> {
        let can = |arguments: &[&str]| {
            let status =
                self.command(Path::new("unshare")).args(arguments).stdin(Stdio::null()).stderr(Stdio::null()).status();
            status.map(|status| status.success()).map_err(|error| Unavailable(format!("`unshare`: {error}")))
        };
        let user_namespaces = can(&["--user", "--map-root-user", "true"])?;
        let fresh_proc = can(&["--user", "--map-root-user", "--pid", "--fork", "--mount-proc", "true"])?;
        match (self.setup, user_namespaces, fresh_proc) {
            (Setup::Unprivileged | Setup::Root, true, true)
            | (Setup::MaskedProc, true, false)
            | (Setup::NoUserNamespaces, false, false) => Ok(()),
            _ => {
                Err(Unavailable(format!("user namespaces work: {user_namespaces}, fresh /proc in them: {fresh_proc}")))
            }
        }
    }
}

/// A command of the host's, outside every set-up.
#[expect(clippy::disallowed_methods, reason = "the one place where tests start host processes")]
pub fn host_command(program: impl AsRef<std::ffi::OsStr>) -> Command {
    Command::new(program)
}

/// Whether the tests themselves run as root.
pub fn running_as_root() -> bool {
    rustix::process::geteuid().is_root()
}

/// A world-readable directory under /tmp for this test process: the checkout may lie below a home that the test user
/// cannot enter.
///
/// A shell waits for our end of its standard input to close and removes the directory: also after a panic, an exit or
/// a kill, none of which run destructors of statics.
pub fn shared_directory() -> &'static Path {
    struct Shared {
        path: PathBuf,
        _janitor: (Child, ChildStdin),
    }
    static SHARED: OnceLock<Shared> = OnceLock::new();
    let shared = SHARED.get_or_init(|| {
        let path =
            tempfile::Builder::new().prefix("belljar-arena-").tempdir_in("/tmp").expect("a directory in /tmp").keep();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).expect("chmod of our own directory");
        let mut janitor = host_command("sh")
            .args(["-c", r#"cat; chmod -R u+rwx "$1"; rm -rf "$1""#, "sh"])
            .arg(&path)
            .process_group(0)
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .expect("a shell");
        let input = janitor.stdin.take().expect("piped above");
        Shared { path, _janitor: (janitor, input) }
    });
    &shared.path
}

/// The binary under test, copied once per test process to where the test user can read it.
pub fn installed(belljar: &Path) -> &'static Path {
    static INSTALLED: OnceLock<PathBuf> = OnceLock::new();
    INSTALLED.get_or_init(|| {
        let target = shared_directory().join("belljar");
        copy_program(belljar, &target);
        target
    })
}

/// Copies a program that is to be started. Not with `fs::copy`: what another thread forks meanwhile would hold it open for writing, and
/// nobody can start it until that has become a program of its own.
pub fn copy_program(from: &Path, to: &Path) {
    let copied = host_command("cp").arg("--preserve=mode").args([from, to]).status();
    let done = copied.as_ref().is_ok_and(ExitStatus::success);
    assert!(done, "cannot copy `{}`: {copied:?}", from.display());
}

/// A user namespace with every id mapped to itself, in which no further one can be made.
///
/// One per arena: `RLIMIT_NPROC` counts per user and user namespace, and a fork bomb in one test must not starve
/// another.
#[derive(Debug)]
struct OuterNamespace {
    holder: Child,
}

impl OuterNamespace {
    fn open() -> io::Result<Self> {
        let own = fs::read_link("/proc/self/ns/user")?;
        // `cat` holds the namespace until our end of its input closes, so also when the tests are killed.
        let holder = host_command("unshare")
            .args(["--user", "--", "cat"])
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .spawn()?;
        let namespace = Self { holder };
        while fs::read_link(namespace.path())? == own {
            thread::sleep(Duration::from_millis(1));
        }
        // Only a process with CAP_SETUID in the parent namespace may map more than its own id: that is us, not the
        // holder.
        for map in ["uid_map", "gid_map"] {
            fs::write(format!("/proc/{}/{map}", namespace.holder.id()), "0 0 4294967295")?;
        }
        let forbid = "echo 0 > /proc/sys/user/max_user_namespaces";
        let status = host_command("nsenter")
            .arg(format!("--user={}", namespace.path()))
            .args(["--", "sh", "-c", forbid])
            .status()?;
        if !status.success() {
            return Err(io::Error::other("`user.max_user_namespaces` cannot be set in a user namespace"));
        }
        Ok(namespace)
    }

    fn path(&self) -> String {
        format!("/proc/{}/ns/user", self.holder.id())
    }
}

impl Drop for OuterNamespace {
    fn drop(&mut self) {
        // Its own child, still unreaped, so the pid cannot be another's. What it would say is of no use here.
        drop(self.holder.kill());
        drop(self.holder.wait());
    }
}
