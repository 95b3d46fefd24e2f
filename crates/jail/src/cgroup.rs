//! cgroups: limits for a run as a whole, where this host lets us set them. Version 2 first, then version 1 controllers,
//! else none.

use std::fs;
use std::io::{self, Write as _};
use std::os::fd::{AsFd as _, BorrowedFd, OwnedFd};
use std::os::unix::fs::FileExt as _;
use std::path::{Path, PathBuf};

use rustix::fs::{Mode, OFlags};
use serde::{Deserialize, Serialize};

use crate::watchdog::SwapSpace;
use crate::wire::{GroupUsage, Holders, Swap};

/// Which hierarchy.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum CgroupKind {
    /// The unified one.
    V2,
    /// A controller's own.
    V1,
}

/// What this host gives us, found out once at start.
///
/// Of version 1 only the memory controller is used. Joining one of its hierarchies waits for an RCU grace period, a
/// good part of a run's start; `RLIMIT_NPROC`, counted per user namespace, and `/proc` cover the rest.
#[derive(Debug)]
pub(crate) struct Cgroups {
    base: Option<Base>,
    swap: Swap,
    serial: u64,
}

/// Where runs' groups are made.
#[derive(Debug)]
enum Base {
    /// A directory of the unified hierarchy, with memory and pids turned on for its children.
    Unified(PathBuf),
    /// A directory of the version 1 memory controller.
    Memory(PathBuf),
}

/// The group of one run. Removed when dropped, by which time all its processes must be gone.
#[derive(Debug)]
pub(crate) enum RunGroup {
    None,
    Unified { path: PathBuf, directory: OwnedFd },
    Memory { path: PathBuf },
}

impl Cgroups {
    /// Looks for a group in which this process may make children, by making one.
    pub(crate) fn discover() -> Self {
        let membership = fs::read_to_string("/proc/self/cgroup").unwrap_or_default();
        let mounts = fs::read_to_string("/proc/self/mountinfo").unwrap_or_default();
        let unified = || Some(Base::Unified(usable_unified(&own_group(&membership, &mounts, None)?)?));
        let memory = || Some(Base::Memory(make_base(&own_group(&membership, &mounts, Some("memory"))?)?));
        let base = unified().or_else(memory);
        let swap = base.as_ref().map_or(Swap::Free, |base| swap_in(base, SwapSpace::of_host()));
        Self { base, swap, serial: 0 }
    }

    /// Which of a run's limits cgroups will hold.
    pub(crate) fn holders(&self) -> Holders {
        let (memory, processes) = match self.base {
            Some(Base::Unified(_)) => (Some(CgroupKind::V2), Some(CgroupKind::V2)),
            Some(Base::Memory(_)) => (Some(CgroupKind::V1), None),
            None => (None, None),
        };
        Holders { memory, processes, swap: self.swap }
    }

    /// A group for one run, without limits yet.
    pub(crate) fn make(&mut self) -> io::Result<RunGroup> {
        self.serial += 1;
        let name = format!("run-{}", self.serial);
        match &self.base {
            None => Ok(RunGroup::None),
            Some(Base::Unified(base)) => {
                let path = base.join(name);
                fs::create_dir(&path)?;
                let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
                let directory = rustix::fs::open(&path, flags, Mode::empty())?;
                Ok(RunGroup::Unified { path, directory })
            }
            Some(Base::Memory(base)) => {
                let path = base.join(name);
                fs::create_dir(&path)?;
                Ok(RunGroup::Memory { path })
            }
        }
    }
}

impl Drop for Cgroups {
    fn drop(&mut self) {
        match &self.base {
            Some(Base::Unified(path) | Base::Memory(path)) => {
                remove(path);
                // A dead launcher's groups may have been busy when we started, with processes still exiting.
                path.parent().into_iter().for_each(sweep);
            }
            None => {}
        }
    }
}

impl RunGroup {
    /// The group to clone into, where the kernel can: joining later waits for a grace period.
    pub(crate) fn to_clone_into(&self) -> Option<BorrowedFd<'_>> {
        match self {
            Self::Unified { directory, .. } => Some(directory.as_fd()),
            Self::Memory { .. } | Self::None => None,
        }
    }

    /// Sets the limits of the run that this group is for.
    pub(crate) fn limit(&self, memory: u64, processes: u32) -> io::Result<()> {
        match self {
            Self::None => Ok(()),
            Self::Unified { path, .. } => {
                set(path, "memory.max", memory)?;
                // Our own supervisor is one process of the group.
                set(path, "pids.max", u64::from(processes) + 1)?;
                set_if_there(path, SWAP_V2, 0)
            }
            Self::Memory { path } => {
                set(path, "memory.limit_in_bytes", memory)?;
                set_if_there(path, SWAP_V1, memory)
            }
        }
    }

    /// Moves the calling process into a group that it could not be cloned into. Waits for an RCU grace period:
    /// milliseconds.
    pub(crate) fn join(&self) -> io::Result<()> {
        match self {
            // 0 means the writer, whatever its number in its pid namespace.
            Self::Memory { path } => set(path, "cgroup.procs", 0),
            Self::Unified { .. } | Self::None => Ok(()),
        }
    }

    /// What the run used, after its end.
    pub(crate) fn usage(&self) -> GroupUsage {
        self.counters().usage()
    }

    /// Where the group's usage is read, even by a process that can no longer see the group's folder.
    pub(crate) fn counters(&self) -> Counters {
        let open = |path: &Path, file: &str| fs::File::open(path.join(file)).ok();
        match self {
            Self::None => Counters::default(),
            Self::Unified { path, .. } => Counters {
                cpu: open(path, "cpu.stat"),
                peak: open(path, "memory.peak"),
                events: open(path, "memory.events"),
            },
            Self::Memory { path } => Counters {
                cpu: None,
                peak: open(path, "memory.max_usage_in_bytes"),
                events: open(path, "memory.oom_control"),
            },
        }
    }
}

/// The files in which a group reports its usage. Those that this kernel lacks are missing.
#[derive(Debug, Default)]
pub(crate) struct Counters {
    cpu: Option<fs::File>,
    peak: Option<fs::File>,
    events: Option<fs::File>,
}

impl Counters {
    /// What has been used so far.
    pub(crate) fn usage(&self) -> GroupUsage {
        GroupUsage {
            cpu_micros: self.cpu.as_ref().and_then(|file| keyed(&text(file)?, "usage_usec")),
            peak_bytes: self.peak.as_ref().and_then(|file| text(file)?.trim().parse().ok()),
            oom_kills: self.events.as_ref().and_then(|file| keyed(&text(file)?, "oom_kill")).unwrap_or(0),
        }
    }
}

impl Drop for RunGroup {
    fn drop(&mut self) {
        match self {
            // A group with a dying process in it is busy; it is removed with the launcher's own.
            Self::Unified { path, .. } | Self::Memory { path } => {
                fs::remove_dir(path).ok();
            }
            Self::None => {}
        }
    }
}

/// The file that limits swap. Absent on kernels that do not account for it; what that means was settled at start.
const SWAP_V2: &str = "memory.swap.max";
const SWAP_V1: &str = "memory.memsw.limit_in_bytes";

fn swap_in(base: &Base, space: SwapSpace) -> Swap {
    let bound = match base {
        Base::Unified(path) => path.join(SWAP_V2),
        Base::Memory(path) => path.join(SWAP_V1),
    };
    if space == SwapSpace::None || bound.is_file() { Swap::Held } else { Swap::Free }
}

fn set_if_there(group: &Path, file: &str, value: u64) -> io::Result<()> {
    match set(group, file, value) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        result => result,
    }
}

/// Opened without `O_CREAT`: in a cgroup, creating a file fails with "permission denied", which would hide that the
/// file does not exist.
fn set(group: &Path, file: &str, value: u64) -> io::Result<()> {
    fs::File::options().write(true).open(group.join(file))?.write_all(value.to_string().as_bytes())
}

/// The counter's current text: a few lines.
fn text(file: &fs::File) -> Option<String> {
    let mut buffer = [0; 4096];
    let count = file.read_at(&mut buffer, 0).ok()?;
    Some(String::from_utf8_lossy(buffer.get(..count)?).into_owned())
}

fn keyed(text: &str, key: &str) -> Option<u64> {
    let line = text.lines().find_map(|line| line.strip_prefix(key)?.strip_prefix(' '));
    line?.trim().parse().ok()
}

/// Groups are recognised as ours by name; the launcher's pid in it tells whether their maker is still alive.
const PREFIX: &str = "belljar-";

/// Makes a group for all runs of this launcher below `parent`, and removes what dead launchers left there.
fn make_base(parent: &Path) -> Option<PathBuf> {
    sweep(parent);
    make_group(parent, &format!("{PREFIX}{}", std::process::id())).ok()
}

/// Makes a group, or takes the one that is there.
fn make_group(parent: &Path, name: &str) -> io::Result<PathBuf> {
    let path = parent.join(name);
    match fs::create_dir(&path) {
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists => Err(error),
        Ok(()) | Err(_) => Ok(path),
    }
}

fn sweep(parent: &Path) {
    let Ok(entries) = fs::read_dir(parent) else { return };
    for entry in entries.flatten() {
        let name = entry.file_name();
        let pid = name.to_str().and_then(|name| name.strip_prefix(PREFIX)?.parse::<i32>().ok());
        if pid.is_some_and(|pid| fs::symlink_metadata(format!("/proc/{pid}")).is_err()) {
            remove(&entry.path());
        }
    }
}

/// Removes a launcher's group, with those of its runs. The kernel keeps any that still has a process in it.
fn remove(base: &Path) {
    for run in fs::read_dir(base).into_iter().flatten().flatten() {
        fs::remove_dir(run.path()).ok();
    }
    fs::remove_dir(base).ok();
}

/// The nearest group, from our own upwards, that we may write to and whose children get memory and pids limits.
///
/// Our own group holds processes (us), and the kernel enables controllers only in groups that hold none. So our own
/// will do if it is the root of a delegated tree that we can empty by moving ourselves down, and an ancestor will do if
/// its controllers are already on.
fn usable_unified(own: &Path) -> Option<PathBuf> {
    if let Some(base) = take_over(own) {
        return Some(base);
    }
    own.ancestors().skip(1).take_while(|group| group.join("cgroup.procs").is_file()).find_map(|group| {
        let controllers = fs::read_to_string(group.join("cgroup.subtree_control")).unwrap_or_default();
        if !has_both(&controllers) || !writable(&group.join("cgroup.procs")) {
            return None;
        }
        let base = make_base(group)?;
        if enable(&base).is_err() {
            fs::remove_dir(&base).ok();
            return None;
        }
        Some(base)
    })
}

/// Takes over a delegated group that holds only us and our server (`Delegate=yes`): both move into a child, which frees
/// the group to have controllers.
fn take_over(own: &Path) -> Option<PathBuf> {
    let available = fs::read_to_string(own.join("cgroup.controllers")).unwrap_or_default();
    let members = fs::read_to_string(own.join("cgroup.procs")).unwrap_or_default();
    let server = rustix::process::getppid().map_or(0, |pid| pid.as_raw_nonzero().get());
    let ours = [server, rustix::process::getpid().as_raw_nonzero().get()];
    let only_us = members.lines().all(|pid| pid.parse().is_ok_and(|pid: i32| ours.contains(&pid)));
    if !has_both(&available) || !only_us || !writable(&own.join("cgroup.procs")) {
        return None;
    }
    let inner = make_group(own, "server").ok()?;
    // Check who is in it: in a container the server may be pid 1, and it may have been moved before.
    for pid in members.lines() {
        fs::write(inner.join("cgroup.procs"), pid).ok()?;
    }
    enable(own).ok()?;
    let base = make_base(own)?;
    enable(&base).ok()?;
    Some(base)
}

fn has_both(controllers: &str) -> bool {
    ["memory", "pids"].iter().all(|wanted| controllers.split_whitespace().any(|name| name == *wanted))
}

fn enable(group: &Path) -> io::Result<()> {
    fs::write(group.join("cgroup.subtree_control"), "+memory +pids")
}

fn writable(file: &Path) -> bool {
    rustix::fs::access(file, rustix::fs::Access::WRITE_OK).is_ok()
}

/// The directory of this process's group, in the hierarchy of a version 1 controller or in the unified one.
fn own_group(membership: &str, mounts: &str, controller: Option<&str>) -> Option<PathBuf> {
    let path = membership.lines().find_map(|line| {
        let mut fields = line.splitn(3, ':');
        let (hierarchy, controllers, path) = (fields.next()?, fields.next()?, fields.next()?);
        let matches = match controller {
            Some(wanted) => controllers.split(',').any(|name| name == wanted),
            None => hierarchy == "0" && controllers.is_empty(),
        };
        matches.then_some(path)
    })?;
    mounts.lines().find_map(|line| {
        let (left, right) = line.split_once(" - ")?;
        let mut left = left.split(' ').skip(3);
        let (root, mount_point) = (left.next()?, left.next()?);
        let mut right = right.split(' ');
        let (kind, _, options) = (right.next()?, right.next()?, right.next()?);
        let matches = match controller {
            Some(wanted) => kind == "cgroup" && options.split(',').any(|option| option == wanted),
            None => kind == "cgroup2",
        };
        if !matches {
            return None;
        }
        // In a container the mount shows only part of the tree, and the path may be relative to something above it.
        let below = Path::new(path).strip_prefix(root).unwrap_or_else(|_| Path::new(path.trim_start_matches('/')));
        Some(Path::new(mount_point).join(below))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const HYBRID_MOUNTS: &str = "\
29 21 0:25 / /sys/fs/cgroup ro - tmpfs tmpfs ro,mode=755
30 29 0:26 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw
31 29 0:27 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory
32 29 0:28 / /sys/fs/cgroup/cpu,cpuacct rw - cgroup cgroup rw,cpu,cpuacct
";

    #[test]
    fn finds_own_groups() {
        let membership = "9:cpu,cpuacct:/user\n4:memory:/a/b\n0::/user.slice\n";
        for (controller, expected) in [
            (Some("memory"), Some("/sys/fs/cgroup/memory/a/b")),
            (Some("cpuacct"), Some("/sys/fs/cgroup/cpu,cpuacct/user")),
            (Some("pids"), None),
            (None, Some("/sys/fs/cgroup/unified/user.slice")),
        ] {
            assert_eq!(own_group(membership, HYBRID_MOUNTS, controller), expected.map(PathBuf::from), "{controller:?}");
        }
    }

    #[test]
    fn what_a_kernel_does_not_count_is_not_set() {
        let folder = tempfile::tempdir().expect("a temporary directory");
        set_if_there(folder.path(), SWAP_V1, 5).expect("it need not be there");
        assert!(fs::read_dir(folder.path()).expect("a folder").next().is_none(), "nothing was made");
        fs::write(folder.path().join(SWAP_V1), "").expect("written");
        set_if_there(folder.path(), SWAP_V1, 5).expect("set");
        assert_eq!(fs::read_to_string(folder.path().join(SWAP_V1)).expect("text"), "5");
        // `set` must not ask for the file to be created: in a cgroup that fails with "permission denied", not with
        // this.
        assert!(set(folder.path(), "none", 5).is_err_and(|error| error.kind() == io::ErrorKind::NotFound));
    }

    #[test]
    fn swap_is_held_where_there_is_none_or_the_group_bounds_it() {
        let folder = tempfile::tempdir().expect("a temporary directory");
        let base = Base::Unified(folder.path().to_owned());
        assert_eq!(swap_in(&base, SwapSpace::None), Swap::Held);
        assert_eq!(swap_in(&base, SwapSpace::Some), Swap::Free);
        fs::write(folder.path().join(SWAP_V2), "max").expect("written");
        assert_eq!(swap_in(&base, SwapSpace::Some), Swap::Held);
    }

    #[test]
    fn a_container_sees_a_part_of_the_tree() {
        let mounts = "30 29 0:26 /docker/abc /sys/fs/cgroup rw - cgroup2 cgroup rw\n";
        assert_eq!(own_group("0::/docker/abc/x\n", mounts, None), Some(PathBuf::from("/sys/fs/cgroup/x")));
        assert_eq!(own_group("0::/\n", mounts, None), Some(PathBuf::from("/sys/fs/cgroup")));
    }
}
