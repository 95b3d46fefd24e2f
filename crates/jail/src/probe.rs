//! What a process in the jail sees of its own walls. A layer counts as standing only if it was seen from inside, not
//! because the call that should have built it returned success.

use std::fs;

use serde::{Deserialize, Serialize};

use crate::spec::{GUEST_ID, Spec, Walls};
use crate::sys;

/// What was seen.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Seen {
    /// In the order in which people are shown them.
    pub layers: Vec<SeenLayer>,
}

/// One layer, as seen.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SeenLayer {
    /// Its name in results and in `doctor`.
    pub name: String,
    /// Whether it stands.
    pub stands: bool,
    /// What was looked at, and what it said.
    pub evidence: String,
}

/// Looks around from inside the locked-down process, just before it would become the guest's program.
pub(crate) fn look_around(spec: &Spec) -> Seen {
    let mut layers = Vec::new();
    let mut saw = |name: &str, stands: bool, evidence: String| {
        layers.push(SeenLayer { name: name.to_owned(), stands, evidence });
    };
    let namespaced = matches!(spec.walls, Walls::Namespaces { .. });
    if namespaced {
        let user = rustix::process::getuid().as_raw();
        saw("user-namespace", user == GUEST_ID, format!("user id inside is {user}"));
        let parent = rustix::process::getppid().map_or(0, |pid| pid.as_raw_nonzero().get());
        saw("pid-namespace", parent == 1, format!("parent process is {parent}"));
        let root = fs::read_dir("/").map(|entries| entries.flatten().count());
        let sealed = fs::OpenOptions::new().write(true).create_new(true).open("/belljar-probe");
        saw(
            "mount-namespace",
            sealed.is_err() && fs::symlink_metadata("/sys/kernel").is_err(),
            format!("own root with {} entries, writing to it: {}", root.unwrap_or(0), outcome(&sealed)),
        );
        let interfaces = interfaces();
        saw("network-namespace", interfaces == ["lo"], format!("interfaces: {}", interfaces.join(" ")));
        let host = rustix::system::uname().nodename().to_string_lossy().into_owned();
        saw("uts-namespace", host == crate::HOSTNAME, format!("host name is {host}"));
        let proc = fs::read_to_string("/proc/self/stat").is_ok();
        saw(
            "proc",
            proc,
            if proc { "a fresh /proc".to_owned() } else { "no /proc: this host masks its own".to_owned() },
        );
    }
    let privileges = match rustix::thread::no_new_privs() {
        Ok(true) => "set".to_owned(),
        Ok(false) => "not set".to_owned(),
        Err(error) => error.to_string(),
    };
    saw("no-new-privs", privileges == "set", format!("the flag is {privileges}"));
    let capabilities = rustix::thread::capabilities(None);
    let bounding = (0..64).filter(|number| sys::in_bounding_set(*number).unwrap_or(false)).count();
    let empty = capabilities.as_ref().is_ok_and(|sets| sets.effective.is_empty() && sets.permitted.is_empty());
    saw("capabilities", empty && (bounding == 0 || !namespaced), format!("none held, {bounding} in the bounding set"));
    // Tries a file that exists on every Linux and is in no view: only Landlock, or its absence from the root, stops
    // that.
    let landlock = landlock_stops();
    saw(
        "landlock",
        landlock,
        format!(
            "version {}; reading an ungranted file: {}",
            crate::landlock::version(),
            if landlock { "denied" } else { "allowed" }
        ),
    );
    let call = sys::denied_call();
    let denied = call.as_ref().err().and_then(std::io::Error::raw_os_error) == Some(libc::ENOSYS);
    saw("seccomp", denied, format!("a call off the list: {}", outcome(&call)));
    let core = rustix::process::getrlimit(rustix::process::Resource::Core).maximum;
    saw(
        "rlimits",
        core == Some(1),
        core.map_or_else(|| "no limit of core dumps".to_owned(), |bytes| format!("core dumps have at most {bytes} B")),
    );
    Seen { layers }
}

/// The file that [`landlock_stops`] tries to open. It is put into the root without a Landlock rule; without a root of
/// its own, a host file that no view lists stands in.
pub(crate) const UNGRANTED: &str = "/ungranted";

fn landlock_stops() -> bool {
    let path = if fs::symlink_metadata(UNGRANTED).is_ok() { UNGRANTED } else { "/etc/passwd" };
    fs::File::open(path).err().and_then(|error| error.raw_os_error()) == Some(libc::EACCES)
}

fn interfaces() -> Vec<String> {
    let Ok(table) = fs::read_to_string("/proc/net/dev") else {
        // Without /proc: an address that behaves differently only in a namespace without loopback or with routes.
        return match std::net::UdpSocket::bind("127.0.0.1:0").and_then(|socket| socket.connect("192.0.2.1:9")) {
            Err(error) if error.raw_os_error() == Some(libc::ENETUNREACH) => vec!["lo".to_owned()],
            _ => vec!["unknown".to_owned()],
        };
    };
    table.lines().skip(2).filter_map(|line| Some(line.split_once(':')?.0.trim().to_owned())).collect()
}

fn outcome<T>(result: &std::io::Result<T>) -> String {
    match result {
        Ok(_) => "allowed".to_owned(),
        Err(error) => error.to_string(),
    }
}
