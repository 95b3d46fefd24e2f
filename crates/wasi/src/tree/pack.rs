//! Making a packed tree.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry as Slot;

use super::{Entry, HEADER, Kind, MAGIC, ROOT};
use crate::path::is_name;

/// Files that cannot be packed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PackError {
    /// Absolute, empty, or with an empty name, `.`, `..` or a name that is too long.
    #[error("`{0}` is not a plain relative path")]
    Path(String),
    /// Two files of one path, or one that is a directory for another.
    #[error("`{0}` is there twice")]
    Twice(String),
    /// More entries or longer names than the format counts.
    #[error("too many files for a packed tree")]
    TooMany,
}

/// A file or directory on its way into the tree.
enum Draft<'a> {
    Directory(BTreeMap<&'a str, usize>),
    File(&'a [u8]),
}

pub(super) fn pack<'a>(files: impl IntoIterator<Item = (&'a str, &'a [u8])>) -> Result<Vec<u8>, PackError> {
    let mut drafts = vec![Draft::Directory(BTreeMap::new())];
    for (path, contents) in files {
        insert(&mut drafts, path, contents)?;
    }
    encode(&drafts).ok_or(PackError::TooMany)
}

fn insert<'a>(drafts: &mut Vec<Draft<'a>>, path: &'a str, contents: &'a [u8]) -> Result<(), PackError> {
    let (directories, file) =
        path.rsplit_once('/').map_or((None, path), |(directories, file)| (Some(directories), file));
    let mut here = 0;
    for name in directories.into_iter().flat_map(|directories| directories.split('/')) {
        here = enter(drafts, here, name, path)?;
    }
    // A path that ends in a slash is a directory, and that is made now.
    if file.is_empty() && directories.is_some() {
        return Ok(());
    }
    if !is_name(file) {
        return Err(PackError::Path(path.to_owned()));
    }
    let number = drafts.len();
    match drafts.get_mut(here) {
        Some(Draft::Directory(children)) => match children.entry(file) {
            Slot::Vacant(slot) => slot.insert(number),
            Slot::Occupied(_) => return Err(PackError::Twice(path.to_owned())),
        },
        Some(Draft::File(_)) | None => return Err(PackError::Twice(path.to_owned())),
    };
    drafts.push(Draft::File(contents));
    Ok(())
}

/// The directory of that name in `here`, made if it is not there.
fn enter<'a>(drafts: &mut Vec<Draft<'a>>, here: usize, name: &'a str, path: &str) -> Result<usize, PackError> {
    if !is_name(name) {
        return Err(PackError::Path(path.to_owned()));
    }
    let number = drafts.len();
    let Some(Draft::Directory(children)) = drafts.get_mut(here) else {
        return Err(PackError::Twice(path.to_owned()));
    };
    let child = *children.entry(name).or_insert(number);
    if child == number {
        drafts.push(Draft::Directory(BTreeMap::new()));
    }
    Ok(child)
}

/// Numbers the drafts breadth first, which is what makes each directory's children consecutive. `None` when something does not fit the
/// format's numbers.
fn encode(drafts: &[Draft<'_>]) -> Option<Vec<u8>> {
    let mut order = vec![(0, "", ROOT)];
    let mut index = Vec::new();
    let mut names = Vec::new();
    let mut contents = Vec::new();
    let mut position = 0;
    while let Some(&(draft, name, parent)) = order.get(position) {
        let number = u32::try_from(position).ok()?;
        let name_start = u32::try_from(names.len()).ok()?;
        names.extend_from_slice(name.as_bytes());
        let (kind, start, length) = match drafts.get(draft)? {
            Draft::Directory(children) => {
                let first = order.len();
                order.extend(children.iter().map(|(name, child)| (*child, *name, number)));
                (Kind::Directory, first as u64, children.len() as u64)
            }
            Draft::File(bytes) => {
                let start = contents.len();
                contents.extend_from_slice(bytes);
                (Kind::File, start as u64, bytes.len() as u64)
            }
        };
        let name_length = u32::try_from(name.len()).ok()?;
        Entry { name_start, name_length, parent, kind, start, length }.encode(&mut index);
        position += 1;
    }

    let mut bytes = Vec::with_capacity(HEADER + index.len() + names.len() + contents.len());
    bytes.extend_from_slice(MAGIC);
    bytes.extend_from_slice(&u32::try_from(order.len()).ok()?.to_le_bytes());
    bytes.extend_from_slice(&0u32.to_le_bytes());
    bytes.extend_from_slice(&(names.len() as u64).to_le_bytes());
    bytes.append(&mut index);
    bytes.append(&mut names);
    bytes.append(&mut contents);
    Some(bytes)
}
