//! The guest's own root: a tmpfs with read-only pieces of the host, a synthetic `/etc`, five devices, and writable
//! places with one budget.
//!
//! Built in the jail's first process, alone in its new mount namespace, with all capabilities in its new user namespace
//! and none on the host.

use std::ffi::CString;
use std::fs;
use std::io;
use std::os::fd::{AsFd as _, OwnedFd};
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use rustix::fs::{CWD, Mode, OFlags};
use rustix::mount::{
    MountFlags, MoveMountFlags, OpenTreeFlags, UnmountFlags, mount, mount_bind, mount_remount, move_mount, open_tree,
    unmount,
};

use crate::contents::Contents;
use crate::failure::{At as _, Failure, Step};
use crate::folder;
use crate::landlock::{Grant, Rule, rule};
use crate::probe;
use crate::spec::{self, BUILD, Blueprint, GUEST_ID, PidScope, Proc, Purpose, SHOWN, Spec, WORKSPACE};
use crate::sys::{self, Groups, MountAccess};
use crate::view::{Access, Mount, Origin};

/// The device nodes a guest gets.
pub(crate) const DEVICES: &[&str] = &["/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom"];

/// The writable places. All are bound from one tmpfs, so they share one budget.
const WRITABLE: &[&str] = &["/tmp", "/var/tmp", "/dev/shm", WORKSPACE];

/// A mount point that every host has; the new root is mounted over it, in this mount namespace only. All sources have
/// been opened by then.
const BUILD_SITE: &str = "/tmp";

/// The Landlock rules for the root that [`raise`] makes, from the same lists as its mounts.
pub(crate) fn rules(spec: &Spec) -> Vec<Rule> {
    let read = spec.view.paths.iter().map(|path| rule(path, Grant::Read));
    let mounts = spec.view.mounts.iter().map(|mount| {
        let grant = match mount.access {
            Access::Read => Grant::Read,
            Access::Write => Grant::Write,
        };
        rule(&mount.target, grant)
    });
    let devices = DEVICES.iter().map(|device| rule(device, Grant::Device));
    let writable = WRITABLE.iter().map(|place| rule(place, Grant::Write));
    // Whatever in /etc is not a bind mount, we wrote ourselves. Names are visible everywhere: all of them come from us
    // or from the view.
    let own = [rule("/", Grant::List), rule("/etc", Grant::Read), rule("/proc", Grant::Read)];
    let shown = (spec.purpose == Purpose::Session).then(|| rule(SHOWN, Grant::Read));
    own.into_iter().chain(shown).chain(read).chain(mounts).chain(devices).chain(writable).collect()
}

/// Builds the root, makes it this process's root, and takes on the guest's identity. Nothing in it belongs to a
/// particular run yet: see [`furnish`].
///
/// `handed` are mounts of the folders granted to the guest, if the launcher made them itself.
pub(crate) fn raise(blueprint: &Blueprint, groups: Groups, handed: Vec<OwnedFd>) -> Result<(), Failure> {
    // Sources first, with the server's own user id: that can open paths below a private home, and what is opened here
    // cannot be swapped for something else before it is placed.
    let view = open_sources(blueprint.view.paths.iter().map(PathBuf::as_path))?;
    let mounts = open_mounts(&blueprint.view.mounts, handed)?;
    let devices = open_sources(DEVICES.iter().map(Path::new))?;
    // A fresh /proc needs a pid namespace of our own.
    let host_proc = match blueprint.processes {
        PidScope::Own => Vec::new(),
        PidScope::Hosts => open_sources([Path::new("/proc")])?,
    };

    // From here on with the guest's id: a tmpfs made by an unmapped user cannot hold files (EOVERFLOW).
    sys::assume_identity(GUEST_ID, GUEST_ID, groups).at(Step::AssumeIdentity)?;

    let flags = MountFlags::NOSUID | MountFlags::NODEV;
    mount("tmpfs", BUILD_SITE, "tmpfs", flags, Some(c"size=1m,nr_inodes=4k,mode=755")).at(Step::MountRoot)?;
    std::env::set_current_dir(BUILD_SITE).at(Step::MountRoot)?;
    write_etc().at(Step::MountRoot)?;
    for link in &blueprint.view.links {
        std::os::unix::fs::symlink(&link.to, link.at.strip_prefix("/").unwrap_or(&link.at))
            .at_path(Step::PlaceEntry, &link.at)?;
    }
    // Read-only mounts inside writable places come after those: a writable place mounted later would hide them.
    let read_only = view.iter().map(|source| (source, MountAccess::ReadOnly));
    let all = read_only.chain(mounts.iter().map(|(source, access)| (source, *access)));
    let (below_writable, plain): (Vec<_>, Vec<_>) = all.partition(|(source, _)| is_below_writable(source.path));
    for (source, access) in plain {
        place(source, access).at_path(Step::PlaceEntry, source.path)?;
    }

    if blueprint.purpose == Purpose::Probe {
        fs::write(inside(probe::UNGRANTED), "").at(Step::MountRoot)?;
    }
    if blueprint.purpose == Purpose::Session {
        for place in spec::session_places() {
            fs::create_dir_all(place.strip_prefix("/").unwrap_or(&place)).at_path(Step::MountRoot, &place)?;
        }
    }
    make_devices(&devices)?;
    fs::create_dir("proc").at(Step::MountProc)?;
    if blueprint.proc == Proc::Fresh {
        if let Some(host_proc) = host_proc.first() {
            place(host_proc, MountAccess::ReadOnly).at_path(Step::MountProc, "/proc")?;
        } else {
            mount_fresh_proc().at(Step::MountProc)?;
        }
    }

    mount_scratch().at(Step::MountScratch)?;
    for (source, access) in below_writable {
        place(source, access).at_path(Step::PlaceEntry, source.path)?;
    }

    // With both paths the same, the old root ends up stacked below the new one, where it can be detached without a
    // directory to hold it.
    rustix::process::pivot_root(".", ".").at(Step::PivotRoot)?;
    unmount(".", UnmountFlags::DETACH).at(Step::PivotRoot)?;
    std::env::set_current_dir("/").at(Step::PivotRoot)?;
    sys::make_read_only(c"/").at_path(Step::SealRoot, "/")?;
    sys::make_read_only(c"/dev").at_path(Step::SealRoot, "/dev")
}

/// Turns a finished root into this run's own: its disk limit, its files. Returns the workspace, so that the server can
/// read what the run leaves there.
pub(crate) fn furnish(spec: &Spec, contents: &Contents) -> Result<OwnedFd, Failure> {
    // The directories made with the root, and the file system's own, are not charged to the guest.
    let inodes = u64::from(spec.limits.files) + 7 + made_for_mounts(&spec.view.mounts);
    let options = CString::new(format!("size={},nr_inodes={inodes}", spec.limits.disk))
        .map_err(|_| Failure::new(Step::MountScratch, "options", libc::EINVAL))?;
    // All writable places are one file system, so any of them stands for all.
    mount_remount(WORKSPACE, SCRATCH_FLAGS, options.as_c_str()).at(Step::MountScratch)?;
    contents.write_into(&spec.walls.places(), &spec.files, None)?;
    rustix::fs::open(WORKSPACE, OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty())
        .at(Step::MountScratch)
}

fn is_below_writable(path: &Path) -> bool {
    WRITABLE.iter().any(|place| path.starts_with(place))
}

/// Directories that mounts in writable places need, at most.
fn made_for_mounts(mounts: &[Mount]) -> u64 {
    let below =
        |mount: &Mount| WRITABLE.iter().find_map(|place| Some(mount.target.strip_prefix(place).ok()?.iter().count()));
    mounts.iter().filter_map(below).map(|count| count as u64).sum()
}

struct Source<'a> {
    /// Where it goes.
    path: &'a Path,
    mount: OwnedFd,
}

/// A detached copy of each mount tree. One that has vanished since the view was made is skipped: there is nothing left
/// to show.
fn open_sources<'a>(paths: impl IntoIterator<Item = &'a Path>) -> Result<Vec<Source<'a>>, Failure> {
    let mut sources = Vec::new();
    for path in paths {
        let flags = OpenTreeFlags::OPEN_TREE_CLONE | OpenTreeFlags::OPEN_TREE_CLOEXEC | OpenTreeFlags::AT_RECURSIVE;
        match open_tree(CWD, path, flags) {
            Ok(mount) => sources.push(Source { path, mount }),
            Err(rustix::io::Errno::NOENT) => {}
            Err(error) => return Err(error).at_path(Step::OpenSource, path),
        }
    }
    Ok(sources)
}

/// The same for folders shown at another place, all of which must exist.
fn open_mounts(mounts: &[Mount], handed: Vec<OwnedFd>) -> Result<Vec<(Source<'_>, MountAccess)>, Failure> {
    let mut handed = handed.into_iter();
    let mut open = |mount: &'_ Mount| -> Result<OwnedFd, Failure> {
        match mount.origin {
            Origin::Own => {
                let flags = OpenTreeFlags::OPEN_TREE_CLONE | OpenTreeFlags::OPEN_TREE_CLOEXEC;
                open_tree(CWD, &mount.source, flags).at_path(Step::OpenSource, &mount.source)
            }
            Origin::Operator => handed.next().map_or_else(|| folder::open(&mount.source), Ok),
        }
    };
    let access = |access| match access {
        Access::Read => MountAccess::ReadOnly,
        Access::Write => MountAccess::Writable,
    };
    mounts.iter().map(|mount| Ok((Source { path: &mount.target, mount: open(mount)? }, access(mount.access)))).collect()
}

/// The path relative to the directory in which the root is built.
fn inside(path: &str) -> &str {
    path.trim_start_matches('/')
}

/// Attaches a source at its path below the current directory.
fn place(source: &Source<'_>, access: MountAccess) -> io::Result<()> {
    let target = source.path.strip_prefix("/").map_err(|_| io::ErrorKind::InvalidInput)?;
    let metadata = rustix::fs::fstat(&source.mount)?;
    if rustix::fs::FileType::from_raw_mode(metadata.st_mode) == rustix::fs::FileType::Directory {
        fs::create_dir_all(target)?;
    } else {
        if let Some(parent) = target.parent() {
            fs::create_dir_all(parent)?;
        }
        fs::OpenOptions::new().write(true).create(true).truncate(false).open(target)?;
    }
    sys::restrict_tree(source.mount.as_fd(), access)?;
    move_mount(source.mount.as_fd(), "", CWD, target, MoveMountFlags::MOVE_MOUNT_F_EMPTY_PATH)?;
    Ok(())
}

/// A user database that contains nobody from the host.
fn write_etc() -> io::Result<()> {
    fs::create_dir("etc")?;
    fs::write(
        "etc/passwd",
        format!(
            "root:x:0:0:root:/root:/bin/sh\n\
             guest:x:{GUEST_ID}:{GUEST_ID}:guest:/tmp:/bin/sh\n\
             nobody:x:65534:65534:nobody:/:/bin/false\n"
        ),
    )?;
    fs::write("etc/group", format!("root:x:0:\nguest:x:{GUEST_ID}:\nnogroup:x:65534:\n"))?;
    fs::write("etc/hosts", "127.0.0.1 localhost\n::1 localhost\n")?;
    fs::write("etc/nsswitch.conf", "passwd: files\ngroup: files\nhosts: files\n")?;
    fs::write("etc/resolv.conf", "")
}

fn mount_fresh_proc() -> io::Result<()> {
    let flags = MountFlags::NOSUID | MountFlags::NODEV | MountFlags::NOEXEC | MountFlags::RDONLY;
    mount("proc", "proc", "proc", flags, None)?;
    Ok(())
}

/// The nodes are bound from the host: a user namespace cannot make device nodes.
fn make_devices(devices: &[Source<'_>]) -> Result<(), Failure> {
    fs::create_dir("dev").at(Step::MountDevices)?;
    let flags = MountFlags::NOSUID | MountFlags::NOEXEC;
    mount("tmpfs", "dev", "tmpfs", flags, Some(c"size=64k,nr_inodes=64,mode=755")).at(Step::MountDevices)?;
    for device in devices {
        place(device, MountAccess::Device).at_path(Step::MountDevices, device.path)?;
    }
    for (name, target) in [("fd", "fd"), ("stdin", "fd/0"), ("stdout", "fd/1"), ("stderr", "fd/2")] {
        std::os::unix::fs::symlink(format!("/proc/self/{target}"), format!("dev/{name}"))
            .at_path(Step::MountDevices, name)?;
    }
    Ok(())
}

const SCRATCH_FLAGS: MountFlags = MountFlags::NOSUID.union(MountFlags::NODEV);

/// One tmpfs for all writable places, so that its size and inode count are the run's disk limit. Until [`furnish`] sets
/// that, it is just large enough for its directories.
fn mount_scratch() -> io::Result<()> {
    fs::create_dir("scratch")?;
    mount("tmpfs", "scratch", "tmpfs", SCRATCH_FLAGS, Some(c"size=64k,nr_inodes=1k,mode=755"))?;
    for (index, place) in WRITABLE.iter().enumerate() {
        let source = format!("scratch/{index}");
        let target = inside(place);
        fs::create_dir(&source)?;
        // Sticky and open to all, like any /tmp: programs check.
        fs::set_permissions(&source, fs::Permissions::from_mode(0o1777))?;
        fs::create_dir_all(target)?;
        mount_bind(source.as_str(), target)?;
    }
    // The workspace is the guest's own directory, not a shared one.
    fs::set_permissions(inside(WORKSPACE), fs::Permissions::from_mode(0o755))?;
    fs::create_dir(inside(BUILD))?;
    unmount("scratch", UnmountFlags::DETACH)?;
    fs::remove_dir("scratch")
}
