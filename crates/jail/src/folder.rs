//! Folders of the host that the operator grants to guests.
//!
//! Under an ordinary user's server a guest is that user, and can do there what that user can. Under a root server a
//! guest's user id owns nothing on the host. So the launcher, which has root's rights, maps the folder's mount so that
//! its owner is this guest: what the guest may do there, and what it leaves there, is the owner's, and everyone else's
//! files appear to be nobody's.

use std::fs;
use std::io;
use std::os::fd::{AsFd as _, OwnedFd};
use std::path::Path;

use rustix::fs::{CWD, Mode, OFlags, ResolveFlags, openat2};
use rustix::mount::{OpenTreeFlags, open_tree};

use crate::failure::{At as _, Failure, Step};
use crate::sys::{self, Cloned};
use crate::view::{Access, Mount, Origin};
use crate::wire;

/// A detached copy of the folder's mount, and of what is mounted below it.
///
/// The path is the folder's real one, without links. A link there now may have been planted by a guest, in another
/// folder granted to it.
pub(crate) fn open(source: &Path) -> Result<OwnedFd, Failure> {
    let folder = openat2(CWD, source, OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty(), NO_LINKS)
        .at_path(Step::OpenSource, source)?;
    let flags = OpenTreeFlags::OPEN_TREE_CLONE
        | OpenTreeFlags::OPEN_TREE_CLOEXEC
        | OpenTreeFlags::AT_RECURSIVE
        | OpenTreeFlags::AT_EMPTY_PATH;
    open_tree(folder, "", flags).at_path(Step::OpenSource, source)
}

const NO_LINKS: ResolveFlags = ResolveFlags::NO_SYMLINKS;

/// The folders granted among these, for a guest with an id of its own. Empty if this process may not make mounts: then
/// the guest's first process can, in namespaces of its own, and the guest has only the rights of "others" there.
pub(crate) fn open_for(mounts: &[Mount], guest: (u32, u32)) -> Result<Vec<OwnedFd>, Failure> {
    let granted: Vec<&Mount> = mounts.iter().filter(|mount| mount.origin == Origin::Operator).collect();
    match granted.iter().map(|mount| open_as(mount, guest)).collect() {
        Err(Failure { step: Step::OpenSource, errno: libc::EPERM, .. }) => {
            granted.into_iter().try_for_each(is_for_all)?;
            Ok(Vec::new())
        }
        opened => opened,
    }
}

fn open_as(mount: &Mount, guest: (u32, u32)) -> Result<OwnedFd, Failure> {
    let tree = open(&mount.source)?;
    let folder = rustix::fs::fstat(&tree).at_path(Step::OpenSource, &mount.source)?;
    sys::make_tree_private(tree.as_fd()).at_path(Step::OpenSource, &mount.source)?;
    let owner = (folder.st_uid, folder.st_gid);
    // Some file systems cannot be mapped.
    if mapping(owner, guest).and_then(|mapping| sys::map_tree(tree.as_fd(), mapping.as_fd())).is_err() {
        is_for_all(mount)?;
    }
    Ok(tree)
}

/// Whether someone other than the folder's owner can do there what is granted. Reading is left to the files' own modes.
fn is_for_all(mount: &Mount) -> Result<(), Failure> {
    let mode = rustix::fs::stat(&mount.source).at_path(Step::OpenSource, &mount.source)?.st_mode;
    match mount.access {
        Access::Write if mode & 0o002 == 0 => Err(rustix::io::Errno::ACCESS).at_path(Step::MapFolder, &mount.source),
        Access::Write | Access::Read => Ok(()),
    }
}

/// A user namespace that maps the owner of the files to the guest. No process stays in it.
fn mapping(owner: (u32, u32), guest: (u32, u32)) -> io::Result<OwnedFd> {
    let (ours, theirs) = wire::channel()?;
    match sys::clone(u64::from(libc::CLONE_NEWUSER.unsigned_abs()), None)? {
        Cloned::Child => {
            // Our copy of the other end: only with it gone do we notice that the parent has closed its own.
            drop(ours);
            wire::receive::<()>(&theirs).ok();
            sys::exit_now(0)
        }
        Cloned::Parent { pid, .. } => {
            drop(theirs);
            let made = (|| {
                fs::write(format!("/proc/{pid}/uid_map"), format!("{} {} 1", owner.0, guest.0))?;
                fs::write(format!("/proc/{pid}/gid_map"), format!("{} {} 1", owner.1, guest.1))?;
                fs::File::open(format!("/proc/{pid}/ns/user"))
            })();
            drop(ours);
            sys::reap(pid).ok();
            made.map(OwnedFd::from)
        }
    }
}
