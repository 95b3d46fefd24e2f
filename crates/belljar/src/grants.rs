//! What an operator lets runs have of the host, checked against the host.

use std::fs;
use std::path::{Path, PathBuf};

use sandbox::{Folder, FolderAccess, Folders, Refusal};

use crate::Settings;

/// As many links lead from one to the next as the kernel follows.
const MOST_LINKS: u32 = 40;

impl Settings {
    /// Lets every run see these folders too.
    pub fn grant_folders(&mut self, more: impl IntoIterator<Item = Folder>) -> Result<(), Refusal> {
        let folders = self.policy.folders.iter().cloned().chain(more);
        let folders = Folders::new(folders.collect())?;
        folders.iter().try_for_each(|folder| self.check(folder))?;
        self.policy.folders = folders;
        Ok(())
    }

    /// Keeps these out of what runs can write to.
    pub fn keep_to_itself(&mut self, files: impl IntoIterator<Item = PathBuf>) -> Result<(), Refusal> {
        self.off_limits.extend(files);
        self.grant_folders([])
    }

    /// A run that can change what belljar works with could give itself, or the next run, anything.
    fn check(&self, folder: &Folder) -> Result<(), Refusal> {
        let holds = |path: &&PathBuf| real(path).starts_with(folder.source());
        let mut own = self.off_limits.iter().filter(holds);
        let own = own.next().or_else(|| folder.source().starts_with(real(&self.cache)).then_some(&self.cache));
        match (folder.access(), own) {
            (FolderAccess::Write, Some(own)) => {
                let message = format!(
                    "`{}` cannot be granted for writing: belljar itself uses `{}`",
                    folder.source().display(),
                    own.display()
                );
                Err(refused(message, "give them a folder of their own, or show it read-only"))
            }
            (FolderAccess::Write, None) | (FolderAccess::Read, _) => Ok(()),
        }
    }
}

/// Where a path leads, and where what it names would come to be if it were made.
fn real(path: &Path) -> PathBuf {
    follow(&std::path::absolute(path).unwrap_or_else(|_| path.to_owned()), MOST_LINKS)
}

fn follow(path: &Path, links: u32) -> PathBuf {
    if let Ok(found) = fs::canonicalize(path) {
        return found;
    }
    let (Some(folder), Some(name)) = (path.parent(), path.file_name()) else { return path.to_owned() };
    let place = follow(folder, links).join(name);
    match (fs::read_link(&place), links.checked_sub(1)) {
        // One that leads to nothing yet.
        (Ok(target), Some(links)) => follow(&place.with_file_name(target), links),
        (Ok(_) | Err(_), _) => place,
    }
}

/// A folder that is there, which runs see at `target`, or where it is. Links on the way to it are followed now, and never again.
pub fn folder(source: &Path, target: Option<&Path>, access: FolderAccess) -> Result<Folder, Refusal> {
    let found = fs::canonicalize(source).and_then(|found| Ok((fs::metadata(&found)?.is_dir(), found)));
    match found {
        Ok((true, found)) => {
            let target = target.map(Path::to_owned).or_else(|| std::path::absolute(source).ok());
            Folder::new(found.clone(), target.unwrap_or(found), access)
        }
        Ok((false, _)) => Err(refused(format!("`{}` is no folder", source.display()), "name the folder that it is in")),
        Err(error) => {
            let message = format!("`{}` cannot be shown to runs: {error}", source.display());
            Err(refused(message, "name a folder that is there"))
        }
    }
}

/// A folder as flags and the configuration name it: `HOST[:GUEST][:ro|rw]`, where `ro` is what is meant without.
pub fn parse_folder(text: &str) -> Result<Folder, Refusal> {
    let (paths, access) = match text.rsplit_once(':') {
        Some((paths, "ro")) => (paths, FolderAccess::Read),
        Some((paths, "rw")) => (paths, FolderAccess::Write),
        Some(_) | None => (text, FolderAccess::Read),
    };
    match paths.split_once(':') {
        None => folder(Path::new(paths), None, access),
        Some((source, target)) if target.starts_with('/') => folder(Path::new(source), Some(Path::new(target)), access),
        Some(_) => {
            let shown: String = text.chars().flat_map(char::escape_debug).take(80).collect();
            let hint = "write HOST[:GUEST][:ro|rw], such as `/srv/data:/data:rw`";
            Err(refused(format!("`{shown}` does not say which folder runs see, and where"), hint))
        }
    }
}

fn refused(message: String, hint: &str) -> Refusal {
    Refusal::new("mount", message, hint)
}
