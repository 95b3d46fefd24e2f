//! What the operator has to fix.

use std::io;

use rustix::io::Errno;

/// A failure of the native engine itself.
#[derive(Debug, thiserror::Error)]
pub enum NativeError {
    /// The launcher process could not be started.
    #[error("cannot start the launcher")]
    StartLauncher(#[source] io::Error),
    /// The launcher process ended.
    #[error("the launcher process, in which native runs begin, has ended; run it again")]
    LauncherGone(#[source] io::Error),
    /// The launcher exists but says nothing: something has stopped it.
    #[error("the launcher process, in which native runs begin and end, does not answer; let it go on, or kill it")]
    LauncherSilent,
    /// A run was ended, but the kernel cannot end its processes. Not an outcome: an outcome means that nothing of the
    /// run is left.
    #[error(
        "this run was ended and its processes stay, since they wait in the kernel for something that does not answer, \
         as a folder of another machine; let that answer, or do without it"
    )]
    Unending,
    /// The launcher exists, but could not be asked.
    #[error("cannot order the run")]
    Order(#[source] io::Error),
    /// The streams of a run could not be made.
    #[error("cannot make the run's pipes")]
    Pipes(#[source] io::Error),
    /// The kernel limits how many descriptors a user can watch with epoll, and guests of an ordinary user's server are
    /// that user.
    #[error(
        "the server's user has no epoll watches left (`fs.epoll.max_user_watches`), which a program that runs as the same user can take all of; \
         try again when the others have ended, or raise that"
    )]
    NoWatches,
    /// A run's reports could not be read.
    #[error("cannot speak with the process that supervises this run; run it again")]
    Reports(#[source] io::Error),
    /// A run's supervisor ended without saying how its guest did.
    #[error("the process that supervised this run has ended, and the run with it; run it again")]
    SupervisorLost,
    /// A step of building the jail failed.
    #[error("the sandbox could not be built: cannot {}", .0.step.describe())]
    Jail(#[source] jail::Failure),
    /// Only in tests that require a program to be given to a waiting interpreter and to no other.
    #[error("an interpreter was to wait for this program, and was not ready in time")]
    NotReady,
    /// The tool has no way to be given variables.
    #[error("`{0}` cannot be given variables; leave `variables` out, or use another engine")]
    NoVariables(&'static str),
    /// The environment that the operator configured is not usable.
    #[error(transparent)]
    Environment(#[from] sandbox::Refusal),
    /// This host's Python did not say what it is.
    #[error("the Python of this host does not work: {0}")]
    Interpreter(String),
    /// Packages cannot be shown to a run without namespaces.
    #[error("this host gives runs no root of their own, so packages cannot be shown to them")]
    NoLayers,
    /// A run without namespaces cannot be granted anything outside of its walls.
    #[error("this host gives runs no root and no network of their own, so they cannot be granted folders or hosts")]
    NoGrants,
    /// The tool has no way to be given packages.
    #[error("`{0}` cannot be given packages; install Node.js or Deno, or use another engine")]
    NoPackages(&'static str),
    /// The caller of a session has to change something.
    #[error(transparent)]
    Refused(sandbox::Refusal),
    /// The tool that served this language at start-up is gone.
    #[error("the tool for {0} is gone")]
    ToolGone(&'static str),
}

impl NativeError {
    /// Pipes and sockets take no room on a disk: what ran out is the room to watch them.
    pub(crate) fn pipes(error: io::Error) -> Self {
        if is_out_of_watches(&error) { Self::NoWatches } else { Self::Pipes(error) }
    }

    /// The same for the socket that carries orders.
    pub(crate) fn order(error: io::Error) -> Self {
        if is_out_of_watches(&error) { Self::NoWatches } else { Self::Order(error) }
    }

    /// The same for a socket that carries reports.
    pub(crate) fn reports(error: io::Error) -> Self {
        if is_out_of_watches(&error) { Self::NoWatches } else { Self::Reports(error) }
    }
}

fn is_out_of_watches(error: &io::Error) -> bool {
    Errno::from_io_error(error) == Some(Errno::NOSPC)
}

impl From<jail::Failure> for NativeError {
    fn from(failure: jail::Failure) -> Self {
        match (failure.step, Errno::from_raw_os_error(failure.errno)) {
            // From a first process that has lost its launcher,
            (_, Errno::CHILD) => Self::LauncherGone(io::Error::from_raw_os_error(failure.errno)),
            // and from a launcher whose first process was killed just when it was to get its run or its user id: its socket is
            // closed, or reset if a message was left in it, and its files in `/proc` are gone.
            (
                jail::Step::Receive | jail::Step::MapIdentity,
                Errno::PIPE | Errno::CONNRESET | Errno::NOENT | Errno::SRCH,
            ) => Self::SupervisorLost,
            _ => Self::Jail(failure),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whoever_was_killed_on_its_way_is_told_as_that() {
        let failed = |step, errno: Errno| {
            NativeError::from(jail::Failure { step, subject: String::new(), errno: errno.raw_os_error() })
        };
        for errno in [Errno::PIPE, Errno::CONNRESET, Errno::NOENT, Errno::SRCH] {
            assert!(matches!(failed(jail::Step::Receive, errno), NativeError::SupervisorLost), "{errno}");
            assert!(matches!(failed(jail::Step::MapIdentity, errno), NativeError::SupervisorLost), "{errno}");
            assert!(matches!(failed(jail::Step::OpenSource, errno), NativeError::Jail(_)), "{errno}");
        }
    }

    #[test]
    fn no_disk_is_full_where_watches_are_used_up() {
        let full = || io::Error::from(Errno::NOSPC);
        for error in [NativeError::pipes(full()), NativeError::order(full()), NativeError::reports(full())] {
            assert!(matches!(error, NativeError::NoWatches), "{error}");
        }
        assert!(matches!(NativeError::pipes(Errno::MFILE.into()), NativeError::Pipes(_)));
    }
}
