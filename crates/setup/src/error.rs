//! What can go wrong.

use std::error::Error;
use std::fmt;
use std::io;
use std::path::{Path, PathBuf};

use sandbox::Bytes;

use crate::FinishError;
use crate::archive::ArchiveError;
use crate::private::Untrusted;
use crate::store::NotUsable;

/// A failure with the cache's files.
#[derive(Debug, thiserror::Error)]
pub enum FileError {
    /// Something in the cache may have been written by somebody else.
    #[error(transparent)]
    Untrusted(#[from] Untrusted),
    /// A step on the file system failed.
    #[error("cannot {step} `{}`", path.display())]
    Io {
        /// What was tried.
        step: &'static str,
        /// On what.
        path: PathBuf,
        /// Why not.
        source: io::Error,
    },
}

/// A failure of provisioning.
#[derive(Debug, thiserror::Error)]
pub enum SetupError {
    /// Something is wrong with the cache's files.
    #[error(transparent)]
    File(#[from] FileError),
    /// The caller wanted no more of it.
    #[error("cancelled")]
    Cancelled,
    /// This build of belljar has no recipe for the runtime.
    #[error("this build of belljar has no recipe for `{name}`")]
    NoRecipe {
        /// The runtime's name.
        name: &'static str,
    },
    /// What it builds upon could not be provisioned.
    #[error("it builds upon `{base}`, which is not there")]
    NoBase {
        /// The other runtime's name.
        base: &'static str,
    },
    /// The disk is too small for a build.
    #[error("building it takes about {needed} in `{}`, where {free} are free", path.display())]
    NoRoom {
        /// What the build needs.
        needed: Bytes,
        /// What there is.
        free: Bytes,
        /// Where.
        path: PathBuf,
    },
    /// The shell that recipes are written for is not there.
    #[error("cannot start `bash`, which recipes are written for (Debian package `bash`)")]
    StartRecipe(#[source] io::Error),
    /// The recipe said no.
    #[error("{last_words}")]
    Recipe {
        /// Its own sentence.
        last_words: String,
        /// All that it said.
        log: Option<PathBuf>,
    },
    /// The recipe did not end.
    #[error("the recipe did not end within {} minutes", ceiling.as_secs() / 60)]
    RecipeTooSlow {
        /// How long it was given.
        ceiling: std::time::Duration,
        /// All that it said.
        log: Option<PathBuf>,
    },
    /// The recipe ended well and left something else than it should have.
    #[error("the recipe left no usable `{what}`")]
    RecipeResult {
        /// What is missing or wrong.
        what: &'static str,
        /// All that it said.
        log: Option<PathBuf>,
    },
    /// The engine could not make or compile the snapshot.
    #[error("cannot {step}")]
    Finish {
        /// What was tried.
        step: &'static str,
        /// Why not.
        source: FinishError,
    },
    /// The engine left something else than it should have.
    #[error("the engine left no usable `{what}`")]
    FinishResult {
        /// What is missing or wrong.
        what: &'static str,
    },
    /// What has just been made cannot be loaded.
    #[error("what was made cannot be loaded")]
    Lost {
        /// Why not.
        source: Box<NotUsable>,
    },
    /// An exported file is not usable.
    #[error(transparent)]
    Archive(#[from] ArchiveError),
    /// What should be exported is not there.
    #[error("`{name}` cannot be exported")]
    NotExportable {
        /// The runtime's name.
        name: &'static str,
        /// Why not.
        source: NotUsable,
    },
}

/// For `map_err`: the step and the path of a failed operation on the file system.
pub(crate) fn at(step: &'static str, path: &Path) -> impl FnOnce(io::Error) -> FileError {
    let path = path.to_owned();
    move |source| FileError::Io { step, path, source }
}

/// Why one runtime could not be provisioned, for people.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Failure {
    /// What happened, with its causes.
    pub why: String,
    /// What to do about it.
    pub hint: String,
    /// Where there is more to read.
    pub log: Option<PathBuf>,
}

impl Failure {
    /// The same error, for people.
    pub fn of(error: &SetupError) -> Self {
        Self { why: with_causes(error), hint: error.hint(), log: error.log() }
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.why)
    }
}

impl SetupError {
    /// What to do about it.
    pub fn hint(&self) -> String {
        match self {
            Self::File(FileError::Untrusted(_)) => {
                "see who changed it and remove it, or choose a cache folder that only you can write to".to_owned()
            }
            Self::NoRoom { .. } => "make room, or choose a cache folder on another disk".to_owned(),
            Self::NoBase { base } => format!("see what `{base}` needs"),
            Self::StartRecipe(_) => "install `bash`, then run `belljar setup` again".to_owned(),
            Self::Recipe { .. } | Self::RecipeTooSlow { .. } | Self::Cancelled | Self::File(FileError::Io { .. }) => {
                "`belljar setup` goes on where this stopped".to_owned()
            }
            Self::NoRecipe { .. }
            | Self::RecipeResult { .. }
            | Self::Finish { .. }
            | Self::FinishResult { .. }
            | Self::Lost { .. } => "this is a fault of belljar: please report it".to_owned(),
            Self::Archive(_) => "export it again, with this version of belljar".to_owned(),
            Self::NotExportable { name, .. } => format!("run `belljar setup {name}` first"),
        }
    }

    fn log(&self) -> Option<PathBuf> {
        if let Self::Recipe { log, .. } | Self::RecipeTooSlow { log, .. } | Self::RecipeResult { log, .. } = self {
            log.clone()
        } else {
            None
        }
    }
}

/// The message and those of all causes, in one line.
pub(crate) fn with_causes(error: &dyn Error) -> String {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(cause) = source {
        text = format!("{text}: {cause}");
        source = cause.source();
    }
    text
}
