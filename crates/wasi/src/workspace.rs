//! What a run leaves in `/box`.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use crate::fs::{Contents, File, FileKind, FileSystem, InodeId, Node, State};

/// What was in the workspace at the end of a run, in the order of paths.
#[derive(Debug)]
pub struct Workspace {
    /// Every regular file.
    pub files: Vec<WorkspaceFile>,
    /// The paths of symbolic links. They are the guest's words; nobody should follow them.
    pub links: Vec<String>,
    /// The paths of inputs.
    inputs: BTreeMap<String, u64>,
    /// The paths of directories.
    directories: BTreeSet<String>,
}

/// A file of the workspace.
#[derive(Debug)]
pub struct WorkspaceFile {
    /// Relative to the workspace, at most [`MAX_PATH`](crate::MAX_PATH) bytes, and otherwise what the guest chose: newlines and all.
    pub path: String,
    /// How it compares to what was put there.
    pub origin: FileOrigin,
    /// Shared by those that are names of one file.
    file: Arc<File>,
}

/// How a file of the workspace came to be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FileOrigin {
    /// No input had this path.
    Made,
    /// An input had this path, and it was written to, or replaced.
    Changed,
    /// It is an input that nobody wrote to.
    Unchanged,
}

impl WorkspaceFile {
    /// How large it is, in bytes.
    pub fn size(&self) -> u64 {
        self.file.size()
    }

    /// What it holds, in one piece. Moved if it is one: if it was never larger than 1 MiB, or was put there by the embedder and not made
    /// longer. Copied if not, or if there is another name for it in the workspace. Holes take memory only from here on.
    pub fn into_contents(self) -> Contents {
        Arc::try_unwrap(self.file).map_or_else(|shared| shared.to_contents(), File::into_contents)
    }

    /// Whether it holds just this.
    pub fn holds(&self, bytes: &[u8]) -> bool {
        const PART: usize = 8 << 10;
        let mut part = [0; PART];
        let mut parts = (0..).step_by(PART).zip(bytes.chunks(PART));
        self.size() == bytes.len() as u64
            && parts.all(|(offset, expected)| {
                let count = self.read(offset, &mut part);
                part.get(..count) == Some(expected)
            })
    }

    /// Copies a part of what it holds; less than the target's length only at the end of the file. Cheaper than
    /// [`into_contents`](Self::into_contents) for passing a large file on.
    pub fn read(&self, offset: u64, target: &mut [u8]) -> usize {
        self.file.read(offset, target)
    }
}

impl Workspace {
    /// Empties a file system that nobody will use again.
    pub(crate) fn collect(mut file_system: FileSystem, inputs: BTreeMap<String, u64>) -> Self {
        let mut collected = Self { files: Vec::new(), links: Vec::new(), inputs, directories: BTreeSet::new() };
        let mut taken = BTreeMap::new();
        let mut pending = vec![(Node::Memory(InodeId::WORKSPACE), String::new())];
        while let Some((directory, path)) = pending.pop() {
            for (name, node, kind) in file_system.entries(directory) {
                let path = if path.is_empty() { name } else { [path.as_str(), "/", &name].concat() };
                match kind {
                    FileKind::Directory => {
                        collected.directories.insert(path.clone());
                        pending.push((node, path));
                    }
                    FileKind::File => {
                        let number = file_system.number(node);
                        let file: &Arc<File> =
                            taken.entry(number).or_insert_with(|| Arc::new(file_system.take_file(node)));
                        let origin = origin(collected.inputs.get(&path), number, file);
                        collected.files.push(WorkspaceFile { path, origin, file: Arc::clone(file) });
                    }
                    FileKind::Symlink => collected.links.push(path),
                    FileKind::Device => {}
                }
            }
        }
        // From here on, a file with one name is nobody else's.
        drop(taken);
        collected.files.sort_unstable_by(|a, b| a.path.cmp(&b.path));
        collected.links.sort_unstable();
        collected
    }

    /// The paths of inputs at which there is no file any more, and after them those of their directories that are gone, the innermost first.
    pub fn gone(&self) -> Vec<&str> {
        let is_file = |path: &str| self.files.binary_search_by(|file| file.path.as_str().cmp(path)).is_ok();
        let mut gone: Vec<&str> = self.inputs.keys().map(String::as_str).filter(|path| !is_file(path)).collect();
        let parents: BTreeSet<&str> =
            gone.iter().flat_map(|path| above(path)).filter(|path| !self.directories.contains(*path)).collect();
        // What is in a directory comes behind it in order.
        gone.extend(parents.iter().rev());
        gone
    }
}

fn above(path: &str) -> impl Iterator<Item = &str> {
    path.rmatch_indices('/').filter_map(|(at, _)| path.get(..at))
}

fn origin(input: Option<&u64>, number: u64, file: &File) -> FileOrigin {
    match input {
        None => FileOrigin::Made,
        Some(input) if *input == number && file.state() == State::Untouched => FileOrigin::Unchanged,
        Some(_) => FileOrigin::Changed,
    }
}
