//! The commands.

pub(crate) mod attack;
pub(crate) mod audit;
pub(crate) mod connect;
pub(crate) mod doctor;
pub(crate) mod example;
pub(crate) mod manual;
pub(crate) mod run;
pub(crate) mod serve;
pub(crate) mod setup;
