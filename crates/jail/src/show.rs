//! Showing a host folder to a running session: done from outside, by short-lived processes that do nothing else.
//!
//! It takes two. Copying a mount needs capabilities over the mount namespace it is in, which an ordinary user has only
//! in a namespace of their own. Attaching it needs capabilities over the session's mount namespace, which only a
//! process outside of any other has. So one process makes the copy and passes it on, and the other enters the session's
//! namespaces and attaches it.

use std::io;
use std::os::fd::{AsFd as _, OwnedFd};
use std::path::Path;

use rustix::fs::{CWD, Mode, OFlags};
use rustix::mount::{MountPropagationFlags, MoveMountFlags, OpenTreeFlags, mount_change, move_mount, open_tree};
use rustix::thread::{LinkNameSpaceType, move_into_link_name_space};

use crate::failure::{At as _, Failure, Step};
use crate::sys::{self, Cloned, MountAccess};
use crate::wire;

/// The namespaces of a session that can be shown more.
#[derive(Debug)]
pub(crate) struct Rooms {
    user: OwnedFd,
    mount: OwnedFd,
}

impl Rooms {
    /// Those of a first process, before it makes itself unreadable.
    pub(crate) fn of(pid: i32) -> io::Result<Self> {
        let open = |name: &str| {
            rustix::fs::open(format!("/proc/{pid}/ns/{name}"), OFlags::RDONLY | OFlags::CLOEXEC, Mode::empty())
        };
        Ok(Self { user: open("user")?, mount: open("mnt")? })
    }

    /// Makes `source` visible, read-only, at `target`, one of the session's places.
    pub(crate) fn show(&self, source: &Path, target: &Path) -> Result<(), Failure> {
        let copy = copy_mount(source)?;
        in_child(0, || {
            move_into_link_name_space(self.user.as_fd(), Some(LinkNameSpaceType::User)).at(Step::PlaceEntry)?;
            move_into_link_name_space(self.mount.as_fd(), Some(LinkNameSpaceType::Mount)).at(Step::PlaceEntry)?;
            move_mount(copy.as_fd(), "", CWD, target, MoveMountFlags::MOVE_MOUNT_F_EMPTY_PATH)
                .at_path(Step::PlaceEntry, target)?;
            Ok(None)
        })
        .map(|_| ())
    }
}

fn copy_mount(source: &Path) -> Result<OwnedFd, Failure> {
    let namespaces = u64::from((libc::CLONE_NEWUSER | libc::CLONE_NEWNS).unsigned_abs());
    let copy = in_child(namespaces, || {
        mount_change("/", MountPropagationFlags::REC | MountPropagationFlags::PRIVATE).at(Step::PrivateMounts)?;
        let flags = OpenTreeFlags::OPEN_TREE_CLONE | OpenTreeFlags::OPEN_TREE_CLOEXEC;
        let copy = open_tree(CWD, source, flags).at_path(Step::OpenSource, source)?;
        sys::restrict_tree(copy.as_fd(), MountAccess::ReadOnly).at_path(Step::OpenSource, source)?;
        Ok(Some(copy))
    })?;
    copy.ok_or_else(|| Failure::new(Step::OpenSource, source.to_string_lossy(), libc::EIO))
}

/// Does something in a process of its own, and returns what that sends back.
fn in_child(
    namespaces: u64,
    work: impl FnOnce() -> Result<Option<OwnedFd>, Failure>,
) -> Result<Option<OwnedFd>, Failure> {
    let (ours, theirs) = wire::channel().at(Step::Clone)?;
    match sys::clone(namespaces, None).at(Step::Clone)? {
        Cloned::Child => {
            let done = work();
            let (answer, brought) = match done {
                Ok(brought) => (Ok(()), brought),
                Err(failure) => (Err(failure), None),
            };
            let brought: Vec<_> = brought.iter().map(|descriptor| descriptor.as_fd()).collect();
            // If this is not sent, the launcher sees the end of the socket.
            wire::send(&theirs, &answer, &brought).ok();
            sys::exit_now(0)
        }
        Cloned::Parent { pid, .. } => {
            drop(theirs);
            let answer = wire::receive::<wire::Shown>(&ours);
            sys::reap(pid).ok();
            match answer {
                Ok(Some((Ok(()), brought))) => Ok(brought.into_iter().next()),
                Ok(Some((Err(failure), _))) => Err(failure),
                Ok(None) | Err(_) => Err(Failure::new(Step::PlaceEntry, "its process ended", libc::ECHILD)),
            }
        }
    }
}
