//! The recipes: out of the binary, or out of a folder.

use std::borrow::Cow;
use std::fmt;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use crate::catalogue::{self, Runtime};
use crate::digest::Digest;
use crate::error::FileError;
use crate::layout::Layout;
use crate::private;
use crate::store;
use crate::temporary::Temporary;
use crate::walk;

/// What the build script found.
static EMBEDDED: &[(&str, &[u8])] = include!(concat!(env!("OUT_DIR"), "/recipes.rs"));

/// The `runtimes/` tree: for each runtime a folder with its `build.sh`, and what these share.
#[derive(Clone)]
pub struct Recipes {
    /// Sorted by name, so that the same files make the same keys.
    files: Vec<(Cow<'static, str>, Cow<'static, [u8]>)>,
}

impl Recipes {
    /// Those that this binary was built with.
    pub fn embedded() -> Self {
        let files = EMBEDDED.iter().map(|(name, bytes)| (Cow::Borrowed(*name), Cow::Borrowed(*bytes))).collect();
        Self { files }
    }

    /// Those in a folder, as it is now.
    pub fn read(folder: &Path) -> io::Result<Self> {
        let files = walk::files(folder)?
            .into_iter()
            .map(|file| Ok((Cow::Owned(file.name), Cow::Owned(fs::read(file.path)?))))
            .collect::<io::Result<_>>()?;
        Ok(Self { files })
    }

    /// Over all files that go into a runtime: its own recipe, those it builds upon, what they share.
    pub(crate) fn key(&self, runtime: &Runtime) -> Digest {
        let folders = catalogue::folders(runtime);
        let parts = self
            .files
            .iter()
            .filter(|(name, _)| folders.iter().any(|folder| is_in(name, folder)))
            .flat_map(|(name, bytes)| [name.as_bytes(), bytes.as_ref()]);
        Digest::of_parts(parts)
    }

    /// Whether there is one for this runtime.
    pub(crate) fn has(&self, runtime: &Runtime) -> bool {
        let script = script(runtime);
        self.files.iter().any(|(name, _)| *name == script)
    }

    /// Writes the tree into the cache, under a name that says what is in it, unless it is there. Others that are there are of no more use:
    /// whoever unpacks holds the lock on `work/`, and so does whoever uses what was unpacked.
    pub(crate) fn unpack(&self, layout: &Layout) -> Result<PathBuf, FileError> {
        let parts = self.files.iter().flat_map(|(name, bytes)| [name.as_bytes(), bytes.as_ref()]);
        let place = layout.recipes(Digest::of_parts(parts));
        store::remove_others(place.parent().unwrap_or(&place), |path| path == place).ok();
        if private::check_folder(&place)?.is_some() {
            return Ok(place);
        }
        let temporary = Temporary::make(layout)?;
        let tree = temporary.path("recipes");
        for (name, bytes) in &self.files {
            let path = tree.join(name.as_ref());
            let folder = path.parent().unwrap_or(&tree);
            private::make_folders(folder)?;
            private::write(&path, bytes)?;
        }
        private::make_folders(&tree)?;
        private::publish(&tree, &place)?;
        Ok(place)
    }
}

/// A runtime's recipe, in the tree.
pub(crate) fn script(runtime: &Runtime) -> String {
    format!("{}/build.sh", runtime.name)
}

fn is_in(name: &str, folder: &str) -> bool {
    name.strip_prefix(folder).is_some_and(|rest| rest.starts_with('/'))
}

impl fmt::Debug for Recipes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.files.iter().map(|(name, _)| name)).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_row_of_the_catalogue_has_its_recipe() {
        let recipes = Recipes::embedded();
        for runtime in catalogue::CATALOGUE {
            assert!(recipes.has(runtime), "no `runtimes/{}`", script(runtime));
        }
    }

    #[test]
    fn a_key_covers_what_goes_into_a_runtime_and_nothing_else() {
        let folder = tempfile::tempdir().expect("a temporary directory");
        let write = |name: &str, text: &str| {
            let path = folder.path().join(name);
            fs::create_dir_all(path.parent().expect("parent")).expect("mkdir");
            fs::write(path, text).expect("write");
        };
        let keys = || {
            let recipes = Recipes::read(folder.path()).expect("read");
            ["javascript", "python", "numpy"]
                .map(|name| recipes.key(catalogue::runtime(name).expect("in the catalogue")))
        };
        for name in ["javascript", "python", "numpy"] {
            write(&format!("{name}/build.sh"), "true");
        }
        write("toolchain/common.sh", "true");
        let first = keys();

        write("python/driver/main.c", "int main;");
        let driver = keys();
        assert_eq!([first[0] == driver[0], first[1] == driver[1], first[2] == driver[2]], [true, false, false]);

        write("numpy/build.sh", "false");
        let numpy = keys();
        assert_eq!([driver[0] == numpy[0], driver[1] == numpy[1], driver[2] == numpy[2]], [true, true, false]);

        write("toolchain/common.sh", "false");
        let toolchain = keys();
        assert!(numpy.iter().zip(&toolchain).all(|(before, after)| before != after));

        for junk in
            [".git/x", "python/#a#", "python/a~", "python/README.md", "python/__pycache__/a.pyc", "numpy/tests/a.py"]
        {
            write(junk, "junk");
        }
        assert_eq!(keys(), toolchain);
    }
}
