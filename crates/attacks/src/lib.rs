//! The attack corpus: programs that try what a guest must not do, what each of them tries in words, how to tell that it
//! was stopped, and by which layer.
//!
//! There is one corpus for two users. The tests try all of it in four set-ups, with controls on the bare host, and hold
//! every probe to the exact wall in its row. `belljar doctor --attack` tries what is safe on somebody's machine, with the
//! settings that runs get there. So nothing here may change what it did not make: probes open and do not write, what takes
//! much is told where to stop, and what is attacked on the host are [`victims`] that were put there for it.

pub mod floods;
pub mod probes;
pub mod processes;
pub mod verdict;
pub mod victims;
pub mod wasm;

/// A guest program and the language that belljar is told.
#[derive(Clone, Copy, Debug)]
pub struct Program {
    /// Language id.
    pub language: &'static str,
    /// Source text.
    pub code: &'static str,
}

const fn python(code: &'static str) -> Program {
    Program { language: "python", code }
}

macro_rules! probes {
    ($file:literal) => {
        python(concat!(include_str!("../programs/probe.py"), include_str!(concat!("../programs/", $file))))
    };
}

/// Probes of [`probes::FILES`].
pub const FILES: Program = probes!("files.py");
/// Probes of [`probes::PROCESSES`].
pub const PROCESSES: Program = probes!("processes.py");
/// Probes of [`probes::NETWORK`].
pub const NETWORK: Program = probes!("network.py");
/// Probes of [`probes::KERNEL`].
pub const KERNEL: Program = probes!("kernel.py");
/// Probes of [`probes::TERMINAL`].
pub const TERMINAL: Program = probes!("terminal.py");

/// Takes as much as it can get of one thing.
pub const RESOURCES: Program = python(include_str!("../programs/resources.py"));
/// Refuses to end, or leaves something running.
pub const ENDINGS: Program = python(include_str!("../programs/endings.py"));
/// Hostile output.
pub const OUTPUTS: Program = python(include_str!("../programs/outputs.py"));
/// Hostile output files.
pub const LEAVINGS: Program = python(include_str!("../programs/leavings.py"));
/// Two runs that look for each other.
pub const NEIGHBOUR: Program = python(include_str!("../programs/neighbour.py"));
/// The classic fork bomb.
pub const BASH_BOMB: Program = Program { language: "bash", code: include_str!("../programs/bomb.sh") };

/// Gives another program a terminal. For Python on the bare host.
pub const WITH_TERMINAL: &str = include_str!("../programs/with_terminal.py");

/// Levels of isolation that natively run guests can have, as far as what stops them differs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Level {
    /// Every layer.
    Full,
    /// Every layer, and no /proc in the jail.
    FullNoProc,
    /// No namespaces: Landlock, seccomp and the subreaper.
    Landlock,
}

impl Level {
    /// As `isolation.level` spells it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Full => "full",
            Self::FullNoProc => "full-noproc",
            Self::Landlock => "landlock",
        }
    }

    /// The one that a run's result tells; nothing where there was no such jail.
    pub fn of(level: sandbox::Level) -> Option<Self> {
        match level {
            sandbox::Level::Full => Some(Self::Full),
            sandbox::Level::FullNoProc => Some(Self::FullNoProc),
            sandbox::Level::Landlock => Some(Self::Landlock),
            sandbox::Level::None | sandbox::Level::Wasm | sandbox::Level::WasmAndJail => None,
        }
    }
}
