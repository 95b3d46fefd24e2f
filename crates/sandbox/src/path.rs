//! Paths inside a workspace, checked once.

use std::ffi::OsStr;
use std::fmt;
use std::path::{Component, Path};

/// A relative path that stays inside the workspace by its text alone: UTF-8, no `..`, no empty or control-character names.
///
/// Whether a directory in the path is a symbolic link is not known here; whoever opens it must not follow any.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct WorkspacePath(String);

/// Why a path cannot name a file of the workspace.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PathError {
    /// Nothing, or only `.`.
    #[error("it is empty")]
    Empty,
    /// Starts at the root.
    #[error("it is absolute")]
    Absolute,
    /// Has a `..`.
    #[error("it contains `..`")]
    Parent,
    /// Not UTF-8.
    #[error("it is not UTF-8")]
    NotUtf8,
    /// NUL, newline or another control character.
    #[error("it contains a control character")]
    ControlCharacter,
    /// Longer than the kernel accepts.
    #[error(
        "it is longer than {} bytes, or a name in it longer than {}",
        WorkspacePath::MAX_LENGTH,
        WorkspacePath::MAX_NAME
    )]
    TooLong,
}

impl WorkspacePath {
    /// The longest path, in bytes. The kernel's `PATH_MAX` less room for the workspace's own path.
    pub const MAX_LENGTH: usize = 3_072;
    /// The longest name in a path, in bytes (`NAME_MAX`).
    pub const MAX_NAME: usize = 255;

    /// Checks a caller's or a guest's path.
    pub fn new(path: impl AsRef<OsStr>) -> Result<Self, PathError> {
        let path = path.as_ref();
        let text = path.to_str().ok_or(PathError::NotUtf8)?;
        if text.chars().any(char::is_control) {
            return Err(PathError::ControlCharacter);
        }
        let mut names = Vec::new();
        for component in Path::new(text).components() {
            match component {
                Component::Normal(name) => names.push(name.to_str().ok_or(PathError::NotUtf8)?),
                Component::CurDir => {}
                Component::ParentDir => return Err(PathError::Parent),
                Component::RootDir | Component::Prefix(_) => return Err(PathError::Absolute),
            }
        }
        if names.is_empty() {
            return Err(PathError::Empty);
        }
        let joined = names.join("/");
        if joined.len() > Self::MAX_LENGTH || names.iter().any(|name| name.len() > Self::MAX_NAME) {
            return Err(PathError::TooLong);
        }
        Ok(Self(joined))
    }

    /// The path, with single slashes and no `.`.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for WorkspacePath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::ffi::OsStrExt as _;

    use proptest::prelude::*;

    use super::*;

    #[test]
    fn accepts_and_normalises() {
        for (given, kept) in
            [("a.txt", "a.txt"), ("./d//a.txt", "d/a.txt"), ("d/", "d"), ("…/ü", "…/ü"), ("-rf", "-rf")]
        {
            assert_eq!(WorkspacePath::new(given).map(|path| path.0), Ok(kept.to_owned()), "{given}");
        }
    }

    #[test]
    fn refuses() {
        let long = "x".repeat(256);
        for (given, why) in [
            ("", PathError::Empty),
            (".", PathError::Empty),
            ("/etc/passwd", PathError::Absolute),
            ("../x", PathError::Parent),
            ("a/../../x", PathError::Parent),
            ("a\0b", PathError::ControlCharacter),
            ("a\nb", PathError::ControlCharacter),
            (long.as_str(), PathError::TooLong),
        ] {
            assert_eq!(WorkspacePath::new(given), Err(why), "{given:?}");
        }
        assert_eq!(WorkspacePath::new(OsStr::from_bytes(b"a\xff")), Err(PathError::NotUtf8));
    }

    proptest! {
        #[test]
        fn what_is_accepted_stays_inside(text in "[a./\\\\ \u{e9}-]{0,40}") {
            if let Ok(path) = WorkspacePath::new(&text) {
                prop_assert!(!path.as_str().starts_with('/'));
                prop_assert!(path.as_str().split('/').all(|name| !name.is_empty() && name != ".." && name != "."));
            }
        }

        #[test]
        fn any_bytes_name_a_file_inside_or_nothing(
            names in proptest::collection::vec(prop_oneof![
                1 => any::<Vec<u8>>(),
                1 => "[a-z]{0,300}".prop_map(String::into_bytes),
                1 => Just(b"..".to_vec()),
                1 => Just(b".".to_vec()),
                40 => "\\PC{1,20}".prop_map(String::into_bytes),
            ], 0..20),
        ) {
            let given = names.join(&b'/');
            let Ok(path) = WorkspacePath::new(OsStr::from_bytes(&given)) else { return Ok(()) };
            let place = Path::new("/box").join(path.as_str());
            prop_assert!(place.strip_prefix("/box").is_ok_and(|inside| inside == Path::new(path.as_str())));
            prop_assert!(place.components().skip(1).all(|part| matches!(part, Component::Normal(_))));
            prop_assert!(!path.as_str().contains(char::is_control));
            prop_assert!(path.as_str().len() <= WorkspacePath::MAX_LENGTH);
            prop_assert!(path.as_str().split('/').all(|name| name.len() <= WorkspacePath::MAX_NAME));
            // Checking again does not change a path that was checked.
            prop_assert_eq!(WorkspacePath::new(path.as_str()), Ok(path));
        }
    }
}
