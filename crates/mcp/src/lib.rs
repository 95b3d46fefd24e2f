//! What callers see of a run. The only crate that knows JSON.

mod result;

pub use result::RunResult;
