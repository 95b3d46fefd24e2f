//! Messages between server, launcher and jails: one postcard value per packet, with descriptors beside it.
//!
//! The server holds one seqpacket socket to the launcher, on which it sends [`Order`]s. Every order carries the far end
//! of a socket of its own, on which everything about that run comes back as [`Report`]s. So no run's reports can be
//! mistaken for another's, and once nobody is left who could report, the server sees the end of the stream. Guests
//! never hold either socket.

use std::io::{self, IoSlice, IoSliceMut};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::PathBuf;

use rustix::net::{
    AddressFamily, RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, ReturnFlags, SendAncillaryBuffer,
    SendAncillaryMessage, SendFlags, SocketFlags, SocketType, recvmsg, sendmsg, socketpair,
};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use crate::cgroup::CgroupKind;
use crate::failure::Failure;
use crate::probe::Seen;
use crate::spec::Blueprint;

/// The largest message. Orders and reports are small; a run's spec and contents travel in a memfd.
const MAX_MESSAGE: usize = 16 * 1024;
/// The most descriptors beside one message.
const MAX_DESCRIPTORS: usize = 8;

/// What the server asks of the launcher.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) enum Demand {
    Run(Order),
    Show(Show),
    /// What a session's cgroups have counted. Beside it: a socket for the [`GroupUsage`].
    Count {
        session: u64,
    },
}

/// Shows a folder to a session that goes on. Beside it: a socket for the [`Shown`].
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Show {
    pub(crate) session: u64,
    /// The folder on the host.
    pub(crate) source: PathBuf,
    /// One of the places that a session's root has for this.
    pub(crate) target: PathBuf,
}

/// How that went.
pub(crate) type Shown = Result<(), Failure>;

/// Starts a run. Beside it: packed spec, stdin, stdout, stderr, report socket, and perhaps a descriptor 3 for its
/// commands.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Order {
    /// The namespaces to make. The spec itself is read only by the jail's first process, so one run's data is never in
    /// the memory that another run's processes are cloned from.
    pub(crate) namespaces: Namespaces,
    /// What its root is made of. Nothing in it is the caller's.
    pub(crate) blueprint: Option<Blueprint>,
    pub(crate) memory: u64,
    pub(crate) processes: u32,
    /// The server's number for it, if it is a session: those can be shown more folders.
    pub(crate) session: Option<u64>,
    /// Its directory on the host, if it has one. The launcher removes it if the supervisor does not live to.
    pub(crate) scratch: Option<PathBuf>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Namespaces {
    All,
    /// For tests that show what each namespace is for.
    AllButPid,
    AllButNetwork,
    AllButPidAndNetwork,
    None,
}

/// What happened in a run, in this order: `Started` or `Failed`, `Ready`, `Probed`, `Failed` or `Exited`, `Ended`.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub enum Report {
    /// The run's first process exists. Beside it: its pidfd.
    Started(Holders),
    /// Its root stands and its files are written. Beside it: the workspace, and the way out of its network if it has one.
    Ready,
    /// What a probe saw from inside.
    Probed(Seen),
    /// Setting up failed; the guest's program did not start.
    Failed(Failure),
    /// The last command ended, or was ended for a limit. If nobody else is left, no later report matters.
    Exited(Exit),
    /// In a session, the last command of a batch ended.
    BatchEnded {
        /// Which.
        batch: u32,
        /// The index of the command that was last.
        command: u32,
        /// Its wait status, as `wait4` gives it.
        status: i32,
    },
    /// In a session, the cell's CPU time is up. What runs is ended too unless it stops soon.
    CpuOver,
    /// In a session, everything that ran was ended for passing a limit.
    Cleared(Limit),
    /// In a session, nothing runs now. With what has been used so far.
    Resting(SeenUsage),
    /// In a session, a file was written and is this large, or could not be: the error number.
    Written(Result<u64, i32>),
    /// Every process of the run is gone.
    Ended(Ended),
}

/// What holds the run's limits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Holders {
    /// The cgroup that holds the memory limit, if one does.
    pub memory: Option<CgroupKind>,
    /// The cgroup that holds the process limit, if one does.
    pub processes: Option<CgroupKind>,
    /// Whether the one that holds memory holds swap too.
    pub swap: Swap,
}

/// What bounds a run's use of swap.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Swap {
    /// Its cgroup; or there is none.
    Held,
    /// No cgroup does: only the supervisor's checks.
    Free,
}

/// How the guest's program ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Exit {
    /// The index of the command that was last.
    pub command: u32,
    /// Its wait status, as `wait4` gives it.
    pub status: i32,
    /// The limit for which the supervisor ended it.
    pub limit: Option<Limit>,
    /// What the supervisor saw in `/proc` over all processes, including those about to be killed with the run.
    pub seen: SeenUsage,
    /// The same when the program came, for a guest that waited for it.
    pub before: SeenUsage,
    /// What the run used, if the supervisor has itself ended and reaped every other process. All that is left is the
    /// end of the supervisor and the namespaces, and nobody has to wait for that.
    pub alone: Option<Ended>,
}

/// Figures from `/proc`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SeenUsage {
    /// CPU time of all processes, in microseconds.
    pub cpu_micros: u64,
    /// The most memory that all processes had together whenever we looked, in bytes. Shared pages count once per
    /// process.
    pub peak_bytes: u64,
}

/// A limit that the supervisor watches.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Limit {
    /// All processes' memory.
    Memory,
    /// All processes' CPU time.
    Cpu,
    /// The scratch directory, under Landlock walls.
    Disk,
    /// The clock.
    Wall,
}

/// What the run used, as its supervisor or the launcher learns when it ends.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Ended {
    /// CPU time of all processes that were reaped, in microseconds. Those that the kernel killed with their pid
    /// namespace were not.
    pub cpu_micros: u64,
    /// The largest process, in bytes.
    pub peak_bytes: u64,
    /// The same from cgroups.
    pub group: GroupUsage,
}

/// What a run's cgroups counted.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct GroupUsage {
    /// CPU time of all processes, in microseconds.
    pub cpu_micros: Option<u64>,
    /// The most memory of all processes together at one time, in bytes.
    pub peak_bytes: Option<u64>,
    /// Processes that the kernel killed because the memory limit was reached.
    pub oom_kills: u64,
}

/// What the server asks of a run's supervisor.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Ask {
    /// The program has come: what it may use counts from now. A session that rests goes on.
    Begin { wall_millis: u64, cpu_millis: u64 },
    /// End everything and report.
    Stop,
    /// Remove the run's files: the server has read them.
    Release,
    /// A session starts a [`Batch`](crate::spec::Batch) under this number. Beside it: the batch, packed, its three streams, and descriptor 3 of its commands.
    Start { batch: u32 },
    /// A session suspends everything that runs in it.
    Rest,
    /// Sends the signal of Ctrl-C to the batch's last command, and to whatever it started that is still in its process
    /// group.
    Interrupt { batch: u32 },
    /// A session ends everything that runs in it.
    Clear,
    /// A session writes a file into its workspace. Beside it: a [`File`](crate::spec::File) and its contents, packed.
    Write(Writing),
}

/// What happens to a file's existing contents.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Writing {
    /// They go.
    Replace,
    /// The new contents come after them.
    Append,
}

/// What the launcher says to a first process.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Go {
    /// Its user id is mapped: it can build its root.
    Ahead,
    /// Here is its run. Beside it: packed spec, stdin, stdout, stderr, report socket, and perhaps a descriptor 3.
    Now,
    /// Follows its run if the launcher mounts the folders granted to it. Beside it: those mounts, or none if the
    /// launcher may not make them.
    Folders,
}

/// A pair of connected sockets for messages.
pub(crate) fn channel() -> io::Result<(OwnedFd, OwnedFd)> {
    Ok(socketpair(AddressFamily::UNIX, SocketType::SEQPACKET, SocketFlags::CLOEXEC, None)?)
}

/// Sends one message.
pub(crate) fn send<T: Serialize>(socket: impl AsFd, message: &T, descriptors: &[BorrowedFd<'_>]) -> io::Result<()> {
    let encoded = postcard::to_stdvec(message).map_err(io::Error::other)?;
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(MAX_DESCRIPTORS))];
    let mut ancillary = SendAncillaryBuffer::new(&mut space);
    if !descriptors.is_empty() && !ancillary.push(SendAncillaryMessage::ScmRights(descriptors)) {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, "too many descriptors for one message"));
    }
    // NOSIGNAL: a peer that is gone is an error to handle, not a signal that ends the launcher.
    rustix::io::retry_on_intr(|| sendmsg(&socket, &[IoSlice::new(&encoded)], &mut ancillary, SendFlags::NOSIGNAL))?;
    Ok(())
}

/// Receives one message and the descriptors beside it; `None` when the peer is gone.
pub(crate) fn receive<T: DeserializeOwned>(socket: impl AsFd) -> io::Result<Option<(T, Vec<OwnedFd>)>> {
    let mut buffer = vec![0; MAX_MESSAGE];
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(MAX_DESCRIPTORS))];
    let mut ancillary = RecvAncillaryBuffer::new(&mut space);
    let received = rustix::io::retry_on_intr(|| {
        recvmsg(&socket, &mut [IoSliceMut::new(&mut buffer)], &mut ancillary, RecvFlags::CMSG_CLOEXEC)
    })?;
    let mut descriptors = Vec::new();
    for message in ancillary.drain() {
        if let RecvAncillaryMessage::ScmRights(received) = message {
            descriptors.extend(received);
        }
    }
    // Descriptors that did not fit, into our buffer or under our limit, are lost, and the message would mean something
    // else without them.
    if received.flags.contains(ReturnFlags::CTRUNC) && descriptors.len() < MAX_DESCRIPTORS {
        return Err(io::Error::from_raw_os_error(libc::EMFILE));
    }
    if received.flags.intersects(ReturnFlags::TRUNC | ReturnFlags::CTRUNC) {
        return Err(io::Error::new(io::ErrorKind::InvalidData, "a message came without all that was sent with it"));
    }
    if received.bytes == 0 {
        return Ok(None);
    }
    let encoded = buffer.get(..received.bytes).unwrap_or_default();
    Ok(Some((decode(encoded)?, descriptors)))
}

/// A message from its bytes.
pub(crate) fn decode<T: DeserializeOwned>(encoded: &[u8]) -> io::Result<T> {
    postcard::from_bytes(encoded).map_err(|error| io::Error::new(io::ErrorKind::InvalidData, error))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_message_loses_its_descriptors() {
        let (near, far) = channel().expect("a pair");
        let many = [near.as_fd(); 2 * MAX_DESCRIPTORS];
        let refused = send(&near, &Go::Now, &many).expect_err("there is no room for that many");
        assert_eq!(refused.kind(), io::ErrorKind::InvalidInput);
        // From a sender that makes more room than we do.
        let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(2 * MAX_DESCRIPTORS))];
        let mut ancillary = SendAncillaryBuffer::new(&mut space);
        assert!(ancillary.push(SendAncillaryMessage::ScmRights(&many)));
        let encoded = postcard::to_stdvec(&Go::Now).expect("encoded");
        sendmsg(&near, &[IoSlice::new(&encoded)], &mut ancillary, SendFlags::NOSIGNAL).expect("sent");
        let cut = receive::<Go>(&far).expect_err("some are missing");
        assert_eq!(cut.kind(), io::ErrorKind::InvalidData);
        send(&near, &Go::Now, &[near.as_fd()]).expect("sent");
        assert_eq!(receive::<Go>(&far).expect("received").map(|(go, beside)| (go, beside.len())), Some((Go::Now, 1)));
    }
}
