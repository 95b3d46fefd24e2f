//! What the caller has to change.

use std::fmt;

/// A request that was turned down before anything started: one sentence on what was wrong, and what would work.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refusal {
    argument: &'static str,
    message: String,
    hint: String,
}

impl Refusal {
    /// `argument` is the request's field at fault, spelled as callers write it; `message` is one sentence without a
    /// full stop; `hint` says what would work.
    pub fn new(argument: &'static str, message: impl Into<String>, hint: impl Into<String>) -> Self {
        Self { argument, message: message.into(), hint: hint.into() }
    }

    /// The argument at fault.
    pub fn argument(&self) -> &'static str {
        self.argument
    }

    /// What was wrong.
    pub fn message(&self) -> &str {
        &self.message
    }

    /// What would work.
    pub fn hint(&self) -> &str {
        &self.hint
    }
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for Refusal {}
