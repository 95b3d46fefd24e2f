//! The commands.

pub(crate) mod doctor;
pub(crate) mod example;
pub(crate) mod run;
pub(crate) mod setup;
