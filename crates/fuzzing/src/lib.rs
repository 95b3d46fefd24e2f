//! What the fuzz targets do with an input. `fuzz/` hands them what libFuzzer makes; the test of this crate the seeds, and edits of these.
//!
//! A check that fails panics: that is a finding.

#![expect(
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::missing_panics_doc,
    clippy::panic,
    clippy::unwrap_used,
    reason = "what fails is a finding"
)]

mod archives;
mod conversation;
mod echo;
mod guest;
mod host;
mod launcher_messages;
mod mcp_frames;
mod packed_trees;
mod profiles;
mod saved_disks;
mod time;
mod tool_arguments;
mod tracebacks;
mod values;
mod wasi_calls;
mod wishes;

use arbitrary::{Arbitrary, Unstructured};

pub use archives::archives;
pub use launcher_messages::launcher_messages;
pub use mcp_frames::mcp_frames;
pub use packed_trees::packed_trees;
pub use profiles::profiles;
pub use saved_disks::saved_disks;
pub use tool_arguments::tool_arguments;
pub use tracebacks::tracebacks;
pub use wasi_calls::wasi_calls;
pub use wishes::wishes;

/// One of so many, read as `arbitrary` does where it derives.
fn variant(u: &mut Unstructured<'_>, count: u64) -> arbitrary::Result<u64> {
    Ok((u64::from(u32::arbitrary(u)?) * count) >> 32)
}

/// What an input means to a target that has a form for it.
fn structured<'a, T: Arbitrary<'a>>(input: &'a [u8]) -> Option<T> {
    T::arbitrary_take_rest(Unstructured::new(input)).ok()
}
