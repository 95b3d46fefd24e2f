//! Folders and files that are ours alone.

use std::fs::{self, DirBuilder, File, Metadata, OpenOptions, Permissions};
use std::io::{self, Read as _, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _, OpenOptionsExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};

use rustix::fs::OFlags;

use crate::digest::Hashing;
use crate::error::{FileError, at};
use crate::manifest::FileFacts;

/// Something in the cache, or above it, that somebody else controls. Not used, and not repaired either: it may be
/// evidence.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Untrusted {
    /// Another user owns it.
    #[error("`{}` belongs to user {owner}; belljar runs as user {us}", path.display())]
    Owner {
        /// What.
        path: PathBuf,
        /// Whose it is.
        owner: u32,
        /// Who we are.
        us: u32,
    },
    /// Others can write to it.
    #[error("`{}` can be changed by other users (mode {mode:04o})", path.display())]
    Writable {
        /// What.
        path: PathBuf,
        /// Its permissions.
        mode: u32,
    },
    /// It is something else than it should be.
    #[error("`{}` is not a {expected}", path.display())]
    Kind {
        /// What.
        path: PathBuf,
        /// What it should be.
        expected: &'static str,
    },
}

/// Owner, permissions and kind of a folder of ours. `None` when it is not there.
pub(crate) fn check_folder(path: &Path) -> Result<Option<()>, FileError> {
    let Some(metadata) = look(path)? else { return Ok(None) };
    if !metadata.is_dir() {
        return Err(Untrusted::Kind { path: path.to_owned(), expected: "folder" }.into());
    }
    check_owner(path, &metadata)?;
    Ok(Some(()))
}

/// Owner, permissions and kind of a file of ours, and its size. `None` when it is not there.
pub(crate) fn check_file(path: &Path) -> Result<Option<u64>, FileError> {
    let Some(metadata) = look(path)? else { return Ok(None) };
    if !metadata.is_file() {
        return Err(Untrusted::Kind { path: path.to_owned(), expected: "plain file" }.into());
    }
    check_owner(path, &metadata)?;
    Ok(Some(metadata.len()))
}

/// Checks that nobody else could exchange what `path`, without links in it, names: every folder above it belongs to us
/// or to the system, and others may at most add to it.
pub(crate) fn check_way_to(path: &Path) -> Result<(), FileError> {
    for folder in path.ancestors().skip(1) {
        let metadata = fs::symlink_metadata(folder).map_err(at("look at", folder))?;
        let (us, owner) = (us(), metadata.uid());
        if owner != us && owner != 0 && !is_outside(owner) {
            return Err(Untrusted::Owner { path: folder.to_owned(), owner, us }.into());
        }
        // In a sticky folder (`/tmp`) nobody renames what is another's.
        let is_sticky = metadata.mode() & 0o1000 != 0;
        if !is_sticky {
            check_mode(folder, &metadata)?;
        }
    }
    Ok(())
}

/// Makes a folder and those above it that are missing, for us alone.
pub(crate) fn make_folders(path: &Path) -> Result<(), FileError> {
    DirBuilder::new().recursive(true).mode(0o700).create(path).map_err(at("make the folder", path))
}

/// The bytes of a file of ours that should be small. `None` when it is not there.
pub(crate) fn read_small(path: &Path, most: u64) -> Result<Option<Vec<u8>>, FileError> {
    if check_file(path)?.is_none() {
        return Ok(None);
    }
    let mut bytes = Vec::new();
    let file = open(path).map_err(at("open", path))?;
    file.take(most).read_to_end(&mut bytes).map_err(at("read", path))?;
    Ok(Some(bytes))
}

/// Opens a file for reading, not by way of a link.
pub(crate) fn open(path: &Path) -> io::Result<File> {
    OpenOptions::new().read(true).custom_flags(no_follow()).open(path)
}

/// Makes a file that must not be there.
pub(crate) fn create(path: &Path) -> io::Result<File> {
    OpenOptions::new().write(true).create_new(true).mode(0o600).open(path)
}

/// Takes over a file that a recipe or the engine wrote: ours alone from now on, on the disk, with hash and size.
pub(crate) fn adopt(path: &Path) -> Result<FileFacts, FileError> {
    let file = open(path).map_err(at("open", path))?;
    file.set_permissions(Permissions::from_mode(0o600)).map_err(at("set the permissions of", path))?;
    let facts = facts(&file).map_err(at("read", path))?;
    file.sync_all().map_err(at("write", path))?;
    Ok(facts)
}

/// Hash and size of what is in an open file, from where it stands.
pub(crate) fn facts(file: &File) -> io::Result<FileFacts> {
    let mut hashing = Hashing::new(file);
    io::copy(&mut hashing, &mut io::sink())?;
    let (sha256, bytes) = hashing.finish();
    Ok(FileFacts { sha256, bytes })
}

/// Writes a small file and puts it on the disk.
pub(crate) fn write(path: &Path, bytes: &[u8]) -> Result<(), FileError> {
    let written = create(path).and_then(|mut file| {
        file.write_all(bytes)?;
        file.sync_all()
    });
    written.map_err(at("write", path))
}

/// Gives a complete file its name, for good: a crash after this finds it there.
pub(crate) fn publish(from: &Path, to: &Path) -> Result<(), FileError> {
    fs::rename(from, to).map_err(at("keep", to))?;
    let folder = to.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    File::open(folder).and_then(|folder| folder.sync_all()).map_err(at("write", folder))
}

fn look(path: &Path) -> Result<Option<Metadata>, FileError> {
    match fs::symlink_metadata(path) {
        Ok(metadata) => Ok(Some(metadata)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(at("look at", path)(error)),
    }
}

fn check_owner(path: &Path, metadata: &Metadata) -> Result<(), FileError> {
    let (us, owner) = (us(), metadata.uid());
    if owner != us {
        return Err(Untrusted::Owner { path: path.to_owned(), owner, us }.into());
    }
    check_mode(path, metadata)
}

fn check_mode(path: &Path, metadata: &Metadata) -> Result<(), FileError> {
    let mode = metadata.mode() & 0o7777;
    // A group that has its user's number is that user's own on the systems that make such groups, where the umask often leaves
    // folders writable to it. Files are ours, and were never made so.
    let is_own_group = metadata.gid() == us() && metadata.gid() == rustix::process::getegid().as_raw();
    let forbidden = if is_own_group && metadata.is_dir() { 0o002 } else { 0o022 };
    if mode & forbidden != 0 {
        return Err(Untrusted::Writable { path: path.to_owned(), mode }.into());
    }
    Ok(())
}

fn us() -> u32 {
    rustix::process::geteuid().as_raw()
}

/// Whether an owner is somebody outside this user namespace: the system's own folders (`/`, `/home`) look like that in containers that map
/// only one user. There the number stands for nobody inside.
fn is_outside(owner: u32) -> bool {
    const OVERFLOW: u32 = 65_534;
    owner == OVERFLOW && fs::read_to_string("/proc/self/uid_map").is_ok_and(|map| !maps(&map, owner))
}

fn maps(uid_map: &str, user: u32) -> bool {
    uid_map.lines().any(|line| {
        let numbers: Vec<u64> = line.split_whitespace().filter_map(|number| number.parse().ok()).collect();
        let [inside, _, count] = numbers.as_slice() else { return true };
        (*inside..inside.saturating_add(*count)).contains(&u64::from(user))
    })
}

fn no_follow() -> i32 {
    i32::try_from(OFlags::NOFOLLOW.bits()).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_user_outside_the_namespace_is_told_from_one_inside() {
        let whole_machine = "         0          0 4294967295\n";
        let one_user = "      1000       1000          1\n";
        let rootless = "         0       1000          1\n         1     100000      65536\n";
        assert_eq!([whole_machine, one_user, rootless].map(|map| maps(map, 65_534)), [true, false, true]);
        assert!(maps("what is this", 65_534), "what cannot be read maps everybody");
    }
}
