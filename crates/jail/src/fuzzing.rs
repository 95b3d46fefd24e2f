//! What fuzz targets need from inside this crate.

use std::fs::File as HostFile;
use std::io::{Read as _, Write as _};

use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::contents;
use crate::spec::{Batch, File, Spec};
use crate::wire::{self, Ask, Demand, Go, GroupUsage, Report, Shown};

/// Reads bytes as a message, and returns the message encoded again; `None` if they were not one.
pub type Reread = fn(&[u8]) -> Option<Vec<u8>>;

/// Every kind of message, by its name.
pub const MESSAGES: &[(&str, Reread)] = &[
    ("Demand", sent_again::<Demand>),
    ("Shown", sent_again::<Shown>),
    ("GroupUsage", sent_again::<GroupUsage>),
    ("Report", sent_again::<Report>),
    ("Ask", sent_again::<Ask>),
    ("Go", sent_again::<Go>),
    ("Spec", packed_again::<Spec>),
    ("Batch", packed_again::<Batch>),
    ("File", packed_again::<File>),
];

fn sent_again<T: DeserializeOwned + Serialize>(bytes: &[u8]) -> Option<Vec<u8>> {
    let message: T = wire::decode(bytes).ok()?;
    postcard::to_stdvec(&message).ok()
}

/// Messages that travel in a memfd, with files' contents after them.
fn packed_again<T: DeserializeOwned + Serialize>(bytes: &[u8]) -> Option<Vec<u8>> {
    let mut sent = HostFile::from(rustix::fs::memfd_create("fuzz", rustix::fs::MemfdFlags::CLOEXEC).ok()?);
    sent.write_all(bytes).ok()?;
    let (message, rest) = contents::unpack::<T>(sent.into()).ok()?;
    let mut behind = Vec::new();
    rest.reader().ok()?.read_to_end(&mut behind).ok()?;
    let packed = contents::pack(&message, [behind.as_slice()]).ok()?;
    let mut again = Vec::new();
    let mut packed = HostFile::from(packed);
    std::io::Seek::rewind(&mut packed).ok()?;
    packed.read_to_end(&mut again).ok()?;
    Some(again)
}
