//! Puts the `runtimes/` tree into the crate: people have only the binary.

use std::error::Error;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

#[path = "src/walk.rs"]
mod walk;

#[expect(clippy::disallowed_methods, reason = "cargo names the folder in the environment only")]
fn main() -> Result<(), Box<dyn Error>> {
    let recipes = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../runtimes");
    let out = PathBuf::from(std::env::var_os("OUT_DIR").ok_or("cargo sets OUT_DIR")?);

    // Cargo looks at a folder's files too, so new ones are seen.
    println!("cargo::rerun-if-changed={}", recipes.display());
    println!("cargo::rerun-if-changed=src/walk.rs");

    let mut table = String::from("&[\n");
    for file in walk::files(&recipes)? {
        let path = file.path.canonicalize()?;
        let path = path.to_str().ok_or("the folder's path is no UTF-8")?;
        writeln!(table, "    ({:?}, include_bytes!({path:?})),", file.name)?;
    }
    table.push_str("]\n");
    std::fs::write(out.join("recipes.rs"), table)?;
    Ok(())
}
