//! The contents of a run's files, carried in a memfd behind the encoded spec.

use std::fs::{self, File as HostFile, OpenOptions};
use std::io::{self, Read as _, Seek as _, SeekFrom, Write as _};
use std::os::fd::OwnedFd;
use std::os::unix::fs::{chown, fchown};
use std::path::Path;

use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::failure::{At as _, Failure, Step};
use crate::spec::{File, Place, Places};

/// A sealed-off copy of spec and contents, made by the server, read by the jail's first process.
#[derive(Debug)]
pub(crate) struct Contents {
    file: HostFile,
    start: u64,
}

/// Writes a spec, or what there is of one, and the files' contents into a new memfd.
pub(crate) fn pack<'a, T: Serialize>(spec: &T, contents: impl IntoIterator<Item = &'a [u8]>) -> io::Result<OwnedFd> {
    let encoded = postcard::to_stdvec(spec).map_err(io::Error::other)?;
    let memfd = rustix::fs::memfd_create("belljar-run", rustix::fs::MemfdFlags::CLOEXEC)?;
    let mut file = HostFile::from(memfd);
    file.write_all(&(encoded.len() as u64).to_le_bytes())?;
    file.write_all(&encoded)?;
    for part in contents {
        file.write_all(part)?;
    }
    Ok(file.into())
}

/// Reads the spec back; the contents stay where they are until they are written out.
pub(crate) fn unpack<T: DeserializeOwned>(packed: OwnedFd) -> Result<(T, Contents), Failure> {
    let mut file = HostFile::from(packed);
    let read = |file: &mut HostFile| -> io::Result<(Vec<u8>, u64)> {
        let total = file.metadata()?.len();
        file.seek(SeekFrom::Start(0))?;
        let mut length = [0; 8];
        file.read_exact(&mut length)?;
        let length = u64::from_le_bytes(length);
        // The sender is the server, but a length is still checked before it is allocated.
        if length > total {
            return Err(io::ErrorKind::InvalidData.into());
        }
        let mut encoded = vec![0; usize::try_from(length).map_err(|_| io::ErrorKind::InvalidData)?];
        file.read_exact(&mut encoded)?;
        Ok((encoded, 8 + length))
    };
    let (encoded, start) = read(&mut file).at(Step::Receive)?;
    let spec =
        postcard::from_bytes(&encoded).map_err(|_| Failure::new(Step::Receive, "malformed spec", libc::EINVAL))?;
    Ok((spec, Contents { file, start }))
}

impl Contents {
    /// The contents, one file's after another's.
    pub(crate) fn reader(mut self) -> io::Result<impl io::Read> {
        self.file.seek(SeekFrom::Start(self.start))?;
        Ok(self.file)
    }

    /// Writes each file to its place below `places`, which are empty and out of everyone else's reach. What is made is
    /// given to `owner`, if that is someone other than us.
    pub(crate) fn write_into(&self, places: &Places, files: &[File], owner: Option<u32>) -> Result<(), Failure> {
        let mut source = &self.file;
        source.seek(SeekFrom::Start(self.start)).at(Step::WriteFiles)?;
        for file in files {
            let directory = match file.place {
                Place::Workspace => &places.workspace,
                Place::Build => &places.build,
            };
            let write = || -> io::Result<u64> {
                make_parents(directory, &file.path, owner)?;
                let mut target = OpenOptions::new().write(true).create_new(true).open(directory.join(&file.path))?;
                if owner.is_some() {
                    fchown(&target, owner, owner)?;
                }
                io::copy(&mut source.take(file.length), &mut target)
            };
            if write().at_path(Step::WriteFiles, &file.path)? != file.length {
                return Err(Failure::new(Step::WriteFiles, &*file.path, libc::EIO));
            }
        }
        Ok(())
    }
}

fn make_parents(directory: &Path, file: &str, owner: Option<u32>) -> io::Result<()> {
    for (slash, _) in file.match_indices('/') {
        let parent = directory.join(file.get(..slash).unwrap_or_default());
        match fs::create_dir(&parent) {
            Ok(()) if owner.is_some() => chown(&parent, owner, owner)?,
            Ok(()) => {}
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}
