//! The functions of `wasi_snapshot_preview1`, by topic.
//!
//! Each is a method of [`Call`] that returns `Ok`, an error number for the guest, or the guest's end. The method of
//! [`Context`] of the same name, which the embedder links, is generated from the list of functions.

mod arguments;
mod clocks;
mod descriptor;
mod io;
mod paths;
mod poll;
mod process;

use crate::guest::Memory;
use crate::host::{End, Host, Interrupted};
use crate::{Context, Errno, for_each_function};

pub use io::{MAX_RANDOM, MAX_TRANSFER};
pub use poll::MAX_SUBSCRIPTIONS;

/// One call of the guest's.
pub(crate) struct Call<'a, H> {
    context: &'a mut Context<H>,
    memory: Memory<'a>,
}

/// Why a call did not succeed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Stop {
    /// The guest is told.
    Errno(Errno),
    /// The guest is over.
    End(End),
}

impl From<Errno> for Stop {
    fn from(errno: Errno) -> Self {
        Self::Errno(errno)
    }
}

impl From<Interrupted> for Stop {
    fn from(interrupted: Interrupted) -> Self {
        Self::End(interrupted.into())
    }
}

/// What a call gives to the embedder, by the result that the list of functions has for it.
trait Settle {
    type Settled;
    fn settle(self) -> Self::Settled;
}

impl Settle for Result<(), Stop> {
    type Settled = Result<Errno, End>;

    fn settle(self) -> Result<Errno, End> {
        match self {
            Ok(()) => Ok(Errno::Success),
            Err(Stop::Errno(errno)) => Ok(errno),
            Err(Stop::End(end)) => Err(end),
        }
    }
}

impl Settle for Result<(), Errno> {
    type Settled = Result<Errno, End>;

    fn settle(self) -> Result<Errno, End> {
        self.map_err(Stop::from).settle()
    }
}

impl Settle for End {
    type Settled = Result<(), Self>;

    fn settle(self) -> Result<(), Self> {
        Err(self)
    }
}

macro_rules! settled {
    (u32) => {
        Errno
    };
    (()) => {
        ()
    };
}

macro_rules! define {
    ($($name:ident($($parameter:ident: $type:ty),*) -> $result:tt;)*) => {
        /// The functions of `wasi_snapshot_preview1`.
        #[expect(clippy::too_many_arguments, reason = "the signatures are WASI's")]
        impl<H: Host> Context<H> {$(
            #[doc = concat!("WASI's `", stringify!($name), "`.")]
            pub fn $name(&mut self, memory: &mut [u8], $($parameter: $type),*) -> Result<settled!($result), End> {
                let memory = Memory::new(memory, self.lowest);
                Call { context: self, memory }.$name($($parameter),*).settle()
            }
        )*}
    };
}

for_each_function!(define);
