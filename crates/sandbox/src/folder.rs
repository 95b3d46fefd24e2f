//! Folders of the host that an operator lets runs see. None by default.

use std::fmt;
use std::path::{Component, Path, PathBuf};

use crate::Refusal;

/// A folder of the host, and where runs find it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Folder {
    source: PathBuf,
    target: PathBuf,
    access: FolderAccess,
}

/// What runs may do with the contents of a folder.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FolderAccess {
    /// Read, and execute.
    Read,
    /// Change it as well. What a run leaves there stays.
    Write,
}

/// The folders that every run has: few, and none placed inside another.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Folders(Vec<Folder>);

/// The kernel's own, through which more can be reached than what is in them.
const OF_THE_KERNEL: &[&str] = &["/proc", "/sys", "/dev"];

/// Where a run has something of its own, or of the host's.
const TAKEN: &[&str] = &[
    "/bin",
    "/box",
    "/dev",
    "/etc",
    "/lib",
    "/lib32",
    "/lib64",
    "/libx32",
    "/nix",
    "/packages",
    "/proc",
    "/sbin",
    "/sys",
    "/tmp/build",
    "/usr",
];

/// Where a run has a folder of its own that may contain others.
const SHARED: &[&str] = &["/tmp", "/var/tmp"];

impl Folder {
    /// The longest path, on either side.
    pub const MAX_LENGTH: usize = 512;

    /// `source` is the folder's real path, without links; whoever shows it to a run opens it without following any.
    pub fn new(source: PathBuf, target: PathBuf, access: FolderAccess) -> Result<Self, Refusal> {
        for path in [&source, &target] {
            if !is_plain(path) {
                let shown: String = path.to_string_lossy().chars().flat_map(char::escape_debug).take(80).collect();
                let message = format!("`{shown}` cannot be a path of a folder for runs");
                return Err(refused(message, "use a whole path in UTF-8 without `..`, such as `/srv/data`"));
            }
        }
        if source == Path::new("/") || OF_THE_KERNEL.iter().any(|place| source.starts_with(place)) {
            let message = format!("`{}` is no folder that can be shown to runs", source.display());
            return Err(refused(message, "name the folder below it that they need"));
        }
        let is_taken = TAKEN.iter().any(|place| target.starts_with(place) || Path::new(place).starts_with(&target))
            || SHARED.iter().any(|place| Path::new(place).starts_with(&target));
        if is_taken {
            let message = format!("runs have something else at `{}`", target.display());
            return Err(refused(message, "show the folder at another place: `HOST:/data`"));
        }
        Ok(Self { source, target, access })
    }

    /// Where it is on the host.
    pub fn source(&self) -> &Path {
        &self.source
    }

    /// Where runs find it.
    pub fn target(&self) -> &Path {
        &self.target
    }

    /// What runs may do there.
    pub fn access(&self) -> FolderAccess {
        self.access
    }
}

impl Folders {
    /// The most folders. Each is a mount that every run makes.
    pub const MOST: usize = 8;

    /// Refused if there are too many, or if one would be inside another.
    pub fn new(folders: Vec<Folder>) -> Result<Self, Refusal> {
        if folders.len() > Self::MOST {
            let message = format!("{} folders are more than runs can be shown", folders.len());
            return Err(refused(message, format!("name at most {}, or one above them", Self::MOST)));
        }
        for (number, folder) in folders.iter().enumerate() {
            let mut before = folders.iter().take(number);
            let clashes =
                |other: &&Folder| other.target.starts_with(&folder.target) || folder.target.starts_with(&other.target);
            if let Some(other) = before.find(clashes) {
                let (one, another) = (other.target.display(), folder.target.display());
                let message = format!("of the folders at `{one}` and `{another}` one would be inside the other");
                return Err(refused(message, "show them side by side"));
            }
        }
        Ok(Self(folders))
    }

    /// Each of them.
    pub fn iter(&self) -> std::slice::Iter<'_, Folder> {
        self.0.iter()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl<'a> IntoIterator for &'a Folders {
    type Item = &'a Folder;
    type IntoIter = std::slice::Iter<'a, Folder>;

    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}

/// In the form used in results: `folder /data rw`.
impl fmt::Display for Folder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "folder {} {}", self.target.display(), self.access)
    }
}

impl fmt::Display for FolderAccess {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Read => "ro",
            Self::Write => "rw",
        })
    }
}

/// Absolute, without `..`, and printable.
fn is_plain(path: &Path) -> bool {
    let mut components = path.components();
    let is_whole = components.next() == Some(Component::RootDir);
    let is_printable = |text: &str| text.len() <= Folder::MAX_LENGTH && !text.chars().any(char::is_control);
    is_whole
        && components.all(|component| matches!(component, Component::Normal(_)))
        && path.to_str().is_some_and(is_printable)
}

fn refused(message: String, hint: impl Into<String>) -> Refusal {
    Refusal::new("mount", message, hint)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn folder(source: &str, target: &str) -> Result<Folder, String> {
        let folder = Folder::new(source.into(), target.into(), FolderAccess::Read);
        folder.map_err(|refusal| refusal.message().to_owned())
    }

    #[test]
    fn places() {
        for target in ["/data", "/home/ada/work", "/tmp/store", "/var/tmp/store", "/var/lib/x", "/mnt/a b"] {
            assert_eq!(folder("/srv/data", target).expect(target).target(), Path::new(target));
        }
        for target in
            ["/", "/tmp", "/tmp/build", "/var", "/var/tmp", "/usr/local", "/etc", "/box", "/box/in", "/dev/shm"]
        {
            assert_eq!(folder("/srv", target), Err(format!("runs have something else at `{target}`")));
        }
        for path in ["data", "", "./data", "/a/../b", "/a\nb", &format!("/{}", "x".repeat(512))] {
            assert!(folder(path, "/data").is_err() && folder("/srv", path).is_err(), "{path}");
        }
        for source in ["/", "/proc", "/proc/1/root", "/sys/fs/cgroup", "/dev/shm"] {
            assert_eq!(folder(source, "/data"), Err(format!("`{source}` is no folder that can be shown to runs")));
        }
    }

    #[test]
    fn side_by_side() {
        let all = |targets: &[&str]| {
            let folders = targets.iter().map(|target| folder("/srv", target).expect("a folder")).collect();
            Folders::new(folders).map_err(|refusal| refusal.message().to_owned())
        };
        assert_eq!(all(&["/data", "/data2", "/tmp/data"]).expect("side by side").iter().count(), 3);
        for targets in [["/data", "/data"], ["/data", "/data/in"], ["/data/in", "/data"]] {
            let [one, another] = targets;
            let message = format!("of the folders at `{one}` and `{another}` one would be inside the other");
            assert_eq!(all(&targets), Err(message));
        }
        let many: Vec<String> = (0..9).map(|number| format!("/data{number}")).collect();
        let many: Vec<&str> = many.iter().map(String::as_str).collect();
        assert_eq!(all(&many), Err("9 folders are more than runs can be shown".to_owned()));
    }
}
