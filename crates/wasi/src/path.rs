//! What is a path and what is a name.

/// The longest path that is taken, and the longest that anything in the writable part can have, in bytes (`PATH_MAX`). The second bounds
/// how deep directories nest, whichever way they come to be there.
pub const MAX_PATH: usize = 4_096;
/// The longest name in a path, in bytes (`NAME_MAX`).
pub const MAX_NAME: usize = 255;

/// Whether a directory can have an entry of this name.
pub(crate) fn is_name(text: &str) -> bool {
    !text.is_empty() && text.len() <= MAX_NAME && text != "." && text != ".." && !text.contains(['/', '\0'])
}
