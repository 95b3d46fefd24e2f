//! The folder that code files are kept in. Guests can write there, so a name in it may lead anywhere: the kernel is asked to follow none
//! that leads out.

use std::ffi::OsStr;
use std::fs::{self, File};
use std::io::{self, Read as _, Write as _};
use std::os::fd::OwnedFd;
use std::path::{Component, Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use rustix::fs::{Mode, OFlags, ResolveFlags, open, openat2};

use crate::hex::hex;
use crate::runs::random;
use crate::tools::MOST_ECHO;

/// The largest file that is read back.
const MOST: u64 = 8 << 20;

#[derive(Debug)]
pub(super) struct Store {
    root: PathBuf,
    /// What the operator calls it: links may be on the way.
    name: PathBuf,
    folder: OwnedFd,
    /// Appends land one after the other.
    appending: Mutex<()>,
}

impl Store {
    /// Makes the folder, if there is none.
    pub(super) fn open(path: &Path) -> io::Result<Self> {
        fs::create_dir_all(path)?;
        let root = fs::canonicalize(path)?;
        let folder = open(&root, OFlags::DIRECTORY | OFlags::PATH | OFlags::CLOEXEC, Mode::empty())?;
        Ok(Self { root, name: std::path::absolute(path)?, folder, appending: Mutex::default() })
    }

    pub(super) fn root(&self) -> &Path {
        &self.root
    }

    /// A new file.
    pub(super) fn create(&self, name: &str, text: &str) -> io::Result<PathBuf> {
        let mut file = self.reach(Path::new(name), OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL)?;
        file.write_all(text.as_bytes())?;
        Ok(self.root.join(name))
    }

    /// Adds to a file that is there.
    pub(super) fn append(&self, path: &str, text: &str) -> io::Result<()> {
        let _alone = self.appending.lock().unwrap_or_else(PoisonError::into_inner);
        self.reach(&self.inside(path)?, OFlags::WRONLY | OFlags::APPEND)?.write_all(text.as_bytes())
    }

    pub(super) fn read(&self, path: &str) -> io::Result<String> {
        let mut text = Vec::new();
        self.reach(&self.inside(path)?, OFlags::RDONLY)?.take(MOST + 1).read_to_end(&mut text)?;
        if text.len() as u64 > MOST {
            return Err(io::Error::other(format!("it is larger than {MOST} bytes")));
        }
        Ok(String::from_utf8_lossy(&text).into_owned())
    }

    /// The whole path of a file that is there.
    pub(super) fn locate(&self, path: &str) -> io::Result<PathBuf> {
        let inside = self.inside(path)?;
        self.reach(&inside, OFlags::RDONLY)?;
        Ok(self.root.join(inside))
    }

    /// A path relative to the folder.
    fn inside(&self, path: &str) -> io::Result<PathBuf> {
        let inside = Path::new(path);
        let inside = inside.strip_prefix(&self.root).or_else(|_| inside.strip_prefix(&self.name)).unwrap_or(inside);
        let is_plain = inside.components().all(|part| matches!(part, Component::Normal(_) | Component::CurDir));
        if is_plain && !path.contains('\0') {
            return Ok(inside.to_owned());
        }
        let path = crate::room::shortened(path, MOST_ECHO);
        let message = format!("`{path}` is not in `{}`, the folder for code files", self.root.display());
        Err(io::Error::new(io::ErrorKind::PermissionDenied, message))
    }

    fn reach(&self, inside: &Path, flags: OFlags) -> io::Result<File> {
        let flags = flags | OFlags::CLOEXEC | OFlags::NOCTTY | OFlags::NONBLOCK;
        let beneath = ResolveFlags::BENEATH | ResolveFlags::NO_MAGICLINKS;
        let mode = if flags.contains(OFlags::CREATE) { Mode::from_raw_mode(0o644) } else { Mode::empty() };
        let file = File::from(openat2(&self.folder, inside, flags, mode, beneath)?);
        if file.metadata()?.is_file() { Ok(file) } else { Err(io::Error::other("it is no regular file")) }
    }
}

/// The name of a new file: one that the caller likes, and something that no other has.
pub(super) fn new_name(wanted: Option<&str>) -> Result<String, String> {
    let stem = wanted.filter(|name| !name.is_empty()).unwrap_or("code");
    let stem = stem.strip_suffix(".py").unwrap_or(stem);
    let is_name = Path::new(stem).file_name() == Some(OsStr::new(stem)) && stem.len() <= 200;
    if !is_name || stem.chars().any(char::is_control) {
        return Err("`filename` is a name without folders, such as `report.py`".to_owned());
    }
    Ok(format!("{stem}_{}.py", hex(&random::<4>())))
}

/// What Node.js, and so the original, says of a file that cannot be had.
pub(super) fn complaint(error: &io::Error, path: &str) -> String {
    if error.kind() == io::ErrorKind::NotFound {
        format!("ENOENT: no such file or directory, access '{path}'")
    } else if error.kind() == io::ErrorKind::CrossesDevices {
        format!("`{path}` leads out of the folder for code files")
    } else {
        error.to_string()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_outside_is_reached() {
        let folder = tempfile::tempdir().expect("a folder");
        let store = Store::open(&folder.path().join("store")).expect("a store");
        fs::write(folder.path().join("secret"), "secret").expect("write");
        std::os::unix::fs::symlink("../secret", store.root().join("link")).expect("link");
        std::os::unix::fs::symlink(folder.path(), store.root().join("up")).expect("link");
        let made = store.create("a.py", "one\n").expect("made");
        let made = made.to_str().expect("text");
        store.append(made, "two\n").expect("appended");
        assert_eq!(store.read(made).expect("read"), "one\ntwo\n");
        assert_eq!(store.read("a.py").expect("read"), "one\ntwo\n");
        for path in ["/etc/hostname", "../secret", "link", "up/secret", "/proc/self/environ", ".", ""] {
            let whole = store.root().join(path);
            assert!(store.read(path).is_err(), "{path}");
            assert!(store.read(&whole.to_string_lossy()).is_err(), "{path}");
            assert!(store.append(path, "x").is_err(), "{path}");
        }
        assert_eq!(fs::read_to_string(folder.path().join("secret")).expect("read"), "secret");
    }

    #[test]
    fn the_operators_name_for_it_will_do() {
        let folder = tempfile::tempdir().expect("a folder");
        fs::create_dir(folder.path().join("real")).expect("made");
        std::os::unix::fs::symlink("real", folder.path().join("link")).expect("link");
        let name = folder.path().join("link/store");
        let store = Store::open(&name).expect("a store");
        fs::write(folder.path().join("real/secret"), "secret").expect("written");
        let made = store.create("a.py", "one\n").expect("made");
        assert_ne!(made, name.join("a.py"));
        for path in [made, name.join("a.py")] {
            assert_eq!(store.read(path.to_str().expect("text")).expect("read"), "one\n");
        }
        assert!(store.read(name.join("../secret").to_str().expect("text")).is_err());
        assert!(store.read(folder.path().join("link/secret").to_str().expect("text")).is_err());
    }

    #[test]
    fn names() {
        let name = new_name(Some("report.py")).expect("a name");
        let unique = name.strip_prefix("report_").and_then(|name| name.strip_suffix(".py"));
        assert!(unique.is_some_and(|unique| unique.len() == 8), "{name}");
        assert!(new_name(None).is_ok_and(|name| name.starts_with("code_")));
        for bad in ["../x", "a/b", "..", ".", "/x.py", "a\nb"] {
            assert!(new_name(Some(bad)).is_err(), "{bad}");
        }
    }
}
