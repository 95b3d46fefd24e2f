//! Finding the host's interpreters and compilers, and what a guest must see of the host to use them.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use jail::View;
use sandbox::{Language, Toolchain};

/// Where tools are looked for.
#[derive(Debug, Clone)]
pub struct ToolSearch {
    /// Directories with programs, in order: the operator's `PATH`.
    pub path: Vec<PathBuf>,
    /// The user's home, below which version managers keep toolchains.
    pub home: Option<PathBuf>,
    /// Homes of tools that belljar installed itself, or will install.
    pub own: Vec<PathBuf>,
}

/// A guest's `PATH`, on which a recipe's bare program names are found.
pub(crate) const GUEST_PATH: &str = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

/// Directories outside `/usr` that hold one toolchain each and nothing of a user's: `*` stands for any name. A program
/// found anywhere else (a shim, a script in `~/bin`) is not used: showing a guest the directory around it could show it
/// anything.
const TOOLCHAIN_HOMES: &[&str] = &[
    "~/.rustup/toolchains/*",
    "~/.nvm/versions/node/*",
    "~/.pyenv/versions/*",
    "~/.local/share/uv/python/*",
    "~/.ghcup/ghc/*",
    "~/.deno",
    "~/.bun",
    "/opt/*",
];

/// A toolchain that this host has.
#[derive(Debug, Clone)]
pub(crate) struct FoundTool {
    pub(crate) toolchain: &'static Toolchain,
    /// The program as guests run it.
    pub(crate) program: PathBuf,
    /// Its home, if that is outside what every guest sees.
    pub(crate) home: Option<PathBuf>,
    /// What else of the host it needs.
    pub(crate) more: Vec<PathBuf>,
}

impl FoundTool {
    /// What of the host has to be shown for it.
    pub(crate) fn reads(&self) -> Vec<PathBuf> {
        self.home.iter().chain(&self.more).cloned().collect()
    }
}

/// The language's first toolchain that is here, can be shown to a guest, and is fit for the purpose.
pub(crate) fn find(
    language: &'static Language,
    search: &ToolSearch,
    view: &View,
    is_fit: impl Fn(&Toolchain) -> bool,
) -> Option<FoundTool> {
    language.toolchains.iter().filter(|toolchain| is_fit(toolchain)).find_map(|toolchain| {
        let found = find_program(toolchain, search, view)?;
        let all_there = toolchain.also.iter().all(|name| resolve(name, found.home.as_deref()).is_some());
        all_there.then_some(found)
    })
}

fn find_program(toolchain: &'static Toolchain, search: &ToolSearch, view: &View) -> Option<FoundTool> {
    let on_path = search.path.iter().map(|directory| directory.join(toolchain.program));
    let visible = on_path.chain(guest_path().map(|directory| directory.join(toolchain.program))).find(|candidate| {
        // What it resolves to must be visible too: a link can lead anywhere.
        is_program(candidate)
            && view.covers(candidate)
            && fs::canonicalize(candidate).is_ok_and(|real| view.covers(&real))
    });
    if let Some(program) = visible {
        return Some(FoundTool { toolchain, program, home: None, more: Vec::new() });
    }
    toolchain_homes(search).into_iter().find_map(|home| {
        let program = home.join("bin").join(toolchain.program);
        is_program(&program).then_some(FoundTool { toolchain, program, home: Some(home), more: Vec::new() })
    })
}

/// The absolute path of a bare program name in a recipe, as guests see it.
pub(crate) fn resolve(name: &str, home: Option<&Path>) -> Option<PathBuf> {
    let own = home.map(|home| home.join("bin"));
    own.into_iter().chain(guest_path()).map(|directory| directory.join(name)).find(|candidate| is_program(candidate))
}

fn guest_path() -> impl Iterator<Item = PathBuf> {
    GUEST_PATH.split(':').map(PathBuf::from)
}

fn is_program(path: &Path) -> bool {
    fs::metadata(path).is_ok_and(|metadata| metadata.is_file() && metadata.permissions().mode() & 0o111 != 0)
}

/// Whether one of the language's tools was installed by belljar itself.
pub(crate) fn has_own(language: &Language, search: &ToolSearch) -> bool {
    let programs = language.toolchains.iter().map(|toolchain| toolchain.program);
    programs.into_iter().any(|program| search.own.iter().any(|home| is_program(&home.join("bin").join(program))))
}

/// Whether a folder's location makes it the home of a toolchain.
pub(crate) fn is_toolchain_home(folder: &Path, search: &ToolSearch) -> bool {
    let real = |home: PathBuf| fs::canonicalize(home).ok();
    toolchain_homes(search).into_iter().filter_map(real).any(|home| home == folder)
}

/// The toolchain homes that exist, the highest name of each kind first: usually the newest version.
fn toolchain_homes(search: &ToolSearch) -> Vec<PathBuf> {
    let mut homes: Vec<PathBuf> = search.own.iter().filter(|home| home.is_dir()).cloned().collect();
    for pattern in TOOLCHAIN_HOMES {
        let path = match (pattern.strip_prefix("~/"), &search.home) {
            (Some(below), Some(home)) => home.join(below),
            (Some(_), None) => continue,
            (None, _) => PathBuf::from(pattern),
        };
        if path.file_name().is_some_and(|name| name == "*") {
            let entries = path.parent().map(fs::read_dir).into_iter().flatten().flatten().flatten();
            let mut found: Vec<PathBuf> = entries.map(|entry| entry.path()).filter(|entry| entry.is_dir()).collect();
            found.sort_unstable_by(|a, b| b.cmp(a));
            homes.extend(found);
        } else if path.is_dir() {
            homes.push(path);
        }
    }
    homes
}
