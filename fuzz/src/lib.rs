//! What fuzz targets share.

mod conversation;
mod echo;
mod guest;
mod host;
mod time;

pub use conversation::Conversation;
pub use guest::{Call, Guest, QUOTA, image};
pub use host::NoHost;
pub use time::within;
