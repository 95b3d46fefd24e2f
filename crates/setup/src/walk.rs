//! Which files of the `runtimes/` tree are recipes. Used by the build script too.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// A file of a recipe.
pub(crate) struct Found {
    /// Its place in the tree: `python/build.sh`.
    pub(crate) name: String,
    pub(crate) path: PathBuf,
}

/// All recipe files below `root`, sorted by name. Documentation, tests, hidden files and editors' leftovers are none: they must neither
/// be shipped nor cause a rebuild.
pub(crate) fn files(root: &Path) -> io::Result<Vec<Found>> {
    let mut found = Vec::new();
    let mut pending = vec![(String::new(), root.to_owned())];
    while let Some((prefix, folder)) = pending.pop() {
        for entry in fs::read_dir(&folder)? {
            let entry = entry?;
            let kind = entry.file_type()?;
            let name = entry.file_name().into_string().map_err(|name| {
                io::Error::new(io::ErrorKind::InvalidData, format!("{} in a recipe is no UTF-8", name.display()))
            })?;
            if is_left_out(&name) {
                continue;
            }
            let full = format!("{prefix}{name}");
            if kind.is_dir() {
                pending.push((format!("{full}/"), entry.path()));
            } else if kind.is_file() {
                found.push(Found { name: full, path: entry.path() });
            } else {
                return Err(io::Error::new(io::ErrorKind::InvalidData, format!("`{full}` is neither file nor folder")));
            }
        }
    }
    found.sort_by(|one, other| one.name.cmp(&other.name));
    Ok(found)
}

fn is_left_out(name: &str) -> bool {
    const FOLDERS: [&str; 2] = ["__pycache__", "tests"];
    const ENDINGS: [&str; 8] = ["~", ".swp", ".swo", ".orig", ".rej", ".bak", ".pyc", ".md"];
    name.starts_with(['.', '#']) || FOLDERS.contains(&name) || ENDINGS.iter().any(|ending| name.ends_with(ending))
}
