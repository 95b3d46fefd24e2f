//! The WebAssembly runtimes that tests run programs in: the ones of whoever runs the tests, provisioned on first use.

use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::OnceLock;

use crate::arena::{self, NO_SKIP};

/// Names the cache folder, as for `belljar` itself. Tests pass [`provisioned`]'s answer on by this name.
pub const CACHE: &str = "BELLJAR_CACHE";

/// Keeps the sources that runtimes were built from: CPython's and NumPy's own tests are among them.
const KEEP_WORK: &str = "BELLJAR_KEEP_WORK";

/// The cache folder with every runtime in it. `None` after saying that the test is skipped, where they cannot be had.
///
/// `belljar setup` runs once a test process, with the environment of the tests: recipes need the search path, proxies and
/// the settings of pip, npm and apt. It takes minutes on an empty cache, and less than a second when nothing is to do.
pub fn provisioned(belljar: &'static str) -> Option<&'static Path> {
    static CACHE_FOLDER: OnceLock<Result<PathBuf, String>> = OnceLock::new();
    match CACHE_FOLDER.get_or_init(|| provision(belljar)) {
        Ok(folder) => Some(folder),
        Err(reason) => {
            skip(reason);
            None
        }
    }
}

fn provision(belljar: &str) -> Result<PathBuf, String> {
    let folder = cache_folder().ok_or("there is neither HOME nor BELLJAR_CACHE")?;
    let mut command = arena::host_command(belljar);
    command.arg("setup").env(CACHE, &folder).env(KEEP_WORK, "1").stdin(Stdio::null());
    let output = command.output().map_err(|error| format!("`{belljar} setup`: {error}"))?;
    if !output.status.success() {
        return Err(format!("`belljar setup`: {}\n{}", output.status, String::from_utf8_lossy(&output.stderr)));
    }
    Ok(folder)
}

/// Where `belljar` keeps runtimes for the user who runs the tests.
#[expect(clippy::disallowed_methods, reason = "tests have no settings module")]
fn cache_folder() -> Option<PathBuf> {
    let variable = |name| std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    let of_user = || variable("XDG_CACHE_HOME").or_else(|| Some(variable("HOME")?.join(".cache")));
    variable(CACHE).or_else(|| Some(of_user()?.join("belljar")))
}

/// Says that a test is skipped, or fails it where skipping is not allowed.
#[expect(clippy::print_stderr, reason = "a skipped test says so")]
#[expect(clippy::disallowed_methods, reason = "tests have no settings module")]
pub fn skip(reason: &str) {
    assert!(std::env::var_os(NO_SKIP).is_none(), "{NO_SKIP} is set: {reason}");
    eprintln!("skipped: {reason}");
}
