//! The server that is measured: the binary of this very source, in this program's own profile. Cargo builds of another package only the
//! library, so the binary beside this program would be an old one, or none.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::Context as _;

/// Where it is.
pub(crate) fn path() -> anyhow::Result<PathBuf> {
    Ok(std::env::current_exe()?.with_file_name("belljar"))
}

/// Builds it, if it is not what the source says.
pub(crate) fn build() -> anyhow::Result<PathBuf> {
    let folder = std::env::current_exe()?.parent().map(Path::to_owned).context("this program is in a folder")?;
    let target = folder.parent().context("the profile's folder is in that of all builds")?;
    let profile = folder.file_name().and_then(|name| name.to_str()).context("a profile's name is text")?;
    let mut cargo = cargo();
    cargo.args(["build", "--package", "belljar", "--bin", "belljar", "--profile", named(profile)]);
    cargo.arg("--manifest-path").arg(Path::new(env!("CARGO_MANIFEST_DIR")).join("../../Cargo.toml"));
    cargo.arg("--target-dir").arg(target);
    let status = cargo.status().context("cannot start cargo, which builds the server that is measured")?;
    anyhow::ensure!(status.success(), "the server that is to be measured cannot be built");
    path()
}

/// The one that runs this program, if one does.
#[expect(clippy::disallowed_methods, reason = "a tool of the developer's, and what cargo says of itself")]
fn cargo() -> Command {
    Command::new(std::env::var_os("CARGO").unwrap_or_else(|| OsString::from("cargo")))
}

/// A profile by its folder.
fn named(folder: &str) -> &str {
    match folder {
        "debug" => "dev",
        other => other,
    }
}
