//! Pages of the documentation, taken apart.

use std::fs;
use std::path::{Path, PathBuf};

/// A page.
#[derive(Debug)]
pub(crate) struct Page {
    /// From the repository's root.
    pub(crate) name: String,
    pub(crate) text: String,
}

/// A block of code.
#[derive(Debug)]
pub(crate) struct Fence {
    pub(crate) line: usize,
    pub(crate) language: String,
    pub(crate) text: String,
}

pub(crate) fn repository() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().expect("the repository")
}

/// The book and the README.
pub(crate) fn all() -> Vec<Page> {
    let root = repository();
    let mut files = vec![root.join("README.md")];
    files.extend(files_below(&root.join("docs"), "md"));
    let name = |file: &PathBuf| file.strip_prefix(&root).expect("below it").to_str().expect("text").to_owned();
    files.iter().map(|file| Page::named(&name(file))).collect()
}

/// Files with this ending, of folders in it too.
pub(crate) fn files_below(folder: &Path, extension: &str) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).expect("a folder").flatten() {
        let path = entry.path();
        if path.is_dir() {
            found.extend(files_below(&path, extension));
        } else if path.extension().is_some_and(|ending| ending == extension) {
            found.push(path);
        }
    }
    found.sort();
    found
}

impl Page {
    pub(crate) fn named(name: &str) -> Self {
        let text = fs::read_to_string(repository().join(name));
        Self { name: name.to_owned(), text: text.unwrap_or_else(|error| panic!("{name}: {error}")) }
    }

    pub(crate) fn fences(&self) -> Vec<Fence> {
        let mut fences = Vec::new();
        let mut open: Option<Fence> = None;
        for (number, line) in (1..).zip(self.text.lines()) {
            match (&mut open, line.strip_prefix("```")) {
                (None, Some(language)) => {
                    open = Some(Fence { line: number, language: language.to_owned(), text: String::new() });
                }
                (Some(_), Some("")) => fences.extend(open.take()),
                (Some(fence), _) => fence.text.extend([line, "\n"]),
                (None, None) => {}
            }
        }
        assert!(open.is_none(), "{}: a fence is not closed", self.name);
        fences
    }

    /// Lines outside of fences.
    pub(crate) fn prose(&self) -> impl Iterator<Item = &str> {
        let mut inside = false;
        self.text.lines().filter(move |line| {
            let is_fence = line.starts_with("```");
            inside ^= is_fence;
            !inside && !is_fence
        })
    }

    /// Where it stands, for messages.
    pub(crate) fn at(&self, fence: &Fence) -> String {
        format!("{}:{}", self.name, fence.line)
    }
}

/// What stands between backticks in a line.
pub(crate) fn code_spans(line: &str) -> impl Iterator<Item = &str> {
    line.split('`').skip(1).step_by(2)
}
