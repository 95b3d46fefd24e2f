//! What came of a probe.

use sandbox::EngineId;

/// One thing that was tried, and what came of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Finding {
    /// What it belongs to: `files`, `network` …
    pub group: &'static str,
    /// The engine that was attacked; none for what was looked at from outside.
    pub engine: Option<EngineId>,
    /// Unique with the engine.
    pub name: String,
    /// What was tried, in words.
    pub tries: String,
    /// What came of it.
    pub verdict: Verdict,
}

/// What came of one probe.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Verdict {
    /// It was stopped.
    Blocked {
        /// Layers that stand here and answer so. Several where the answer is the same for all of them; none where no layer is known to give
        /// it, which is then not claimed.
        by: Vec<String>,
        /// The answer: an errno, a message, how the run ended.
        sign: String,
    },
    /// It got what it wanted.
    Through {
        /// What it got.
        got: String,
    },
    /// It got what the operator grants to runs.
    Granted {
        /// Which grant.
        grant: String,
    },
    /// It was left out.
    NotTried {
        /// Why.
        why: String,
    },
    /// Nobody knows: the probe went wrong, or gave no answer. Not a pass.
    Unclear {
        /// What happened.
        why: String,
    },
}

impl Verdict {
    /// Stopped by one layer.
    pub fn blocked(by: impl Into<String>, sign: impl Into<String>) -> Self {
        Self::Blocked { by: vec![by.into()], sign: sign.into() }
    }

    /// It got through, and what it got.
    pub fn through(got: impl Into<String>) -> Self {
        Self::Through { got: got.into() }
    }

    /// Nobody knows, and why.
    pub fn unclear(why: impl Into<String>) -> Self {
        Self::Unclear { why: why.into() }
    }

    /// As it is printed, and in JSON.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Blocked { .. } => "blocked",
            Self::Through { .. } => "NOT BLOCKED",
            Self::Granted { .. } => "granted",
            Self::NotTried { .. } => "not tried",
            Self::Unclear { .. } => "unclear",
        }
    }
}
