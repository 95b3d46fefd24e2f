//! The variables of `code-runner-mcp`.

use std::path::Path;

use belljar::grants;
use mcp::profiles::{Granted, Tools};
use sandbox::{Folder, FolderAccess};

use super::{Chosen, Ended, Kind, Network};
use crate::settings::Environment;

const ALLOWED_TOOLS: &str = "ALLOWED_TOOLS";
const DENO_PERMISSION_ARGS: &str = "DENO_PERMISSION_ARGS";
const NODEFS_ROOT: &str = "NODEFS_ROOT";
const NODEFS_MOUNT_POINT: &str = "NODEFS_MOUNT_POINT";

pub(super) fn choose(environment: &Environment) -> Result<Chosen, Ended> {
    let permitted = Permitted::parse(environment.get(DENO_PERMISSION_ARGS).unwrap_or_default(), environment)?;
    let mut folders = permitted.folders;
    let mut granted = Granted { env: permitted.env, ..Granted::default() };
    if let Some(root) = environment.get(NODEFS_ROOT) {
        let target = environment.get(NODEFS_MOUNT_POINT).unwrap_or(root);
        folders.push(grants::folder(Path::new(root), Some(Path::new(target)), FolderAccess::Write)?);
        granted.folder = Some(target.to_owned());
    }
    let tools = tools(environment.get(ALLOWED_TOOLS).unwrap_or_default());
    let mut chosen = Chosen::new(Kind::CodeRunner { tools, granted });
    chosen.folders = folders;
    if let Some(hosts) = permitted.network {
        chosen.network = Network::Hosts(hosts);
    }
    Ok(chosen)
}

/// Names that nobody knows are no tools.
fn tools(allowed: &str) -> Tools {
    let names: Vec<String> = allowed.split(',').map(|name| name.trim().to_lowercase()).collect();
    let has = |wanted: &[&str]| names.iter().any(|name| wanted.contains(&name.as_str()));
    let (python, javascript) = (has(&["python"]), has(&["javascript", "js"]));
    match (python, javascript) {
        _ if allowed.trim().is_empty() || has(&["all"]) => Tools::All,
        (true, true) => Tools::All,
        (true, false) => Tools::Python,
        (false, true) => Tools::JavaScript,
        (false, false) => Tools::None,
    }
}

/// What flags of Deno come to here.
#[derive(Debug, Default, PartialEq, Eq)]
struct Permitted {
    network: Option<Vec<String>>,
    env: Vec<(String, String)>,
    folders: Vec<Folder>,
}

impl Permitted {
    fn parse(flags: &str, environment: &Environment) -> Result<Self, Ended> {
        let mut permitted = Self::default();
        for flag in flags.split_whitespace() {
            let (name, value) = flag.split_once('=').map_or((flag, None), |(name, value)| (name, Some(value)));
            let list = || value.into_iter().flat_map(|value| value.split(',')).filter(|it| !it.is_empty());
            match name {
                "--allow-all" | "-A" => permitted.network = Some(vec!["*".to_owned()]),
                "--allow-net" | "-N" => {
                    let hosts: Vec<String> = list().map(str::to_owned).collect();
                    permitted.network = Some(if hosts.is_empty() { vec!["*".to_owned()] } else { hosts });
                }
                "--allow-env" | "-E" => permitted.env = variables(environment, &list().collect::<Vec<_>>()),
                "--allow-read" | "-R" => permitted.add(flag, list(), FolderAccess::Read)?,
                "--allow-write" | "-W" => permitted.add(flag, list(), FolderAccess::Write)?,
                "--allow-run" | "--allow-ffi" | "--allow-sys" | "-S" => {
                    return Err(Ended::failed(format!(
                        "error: `{flag}` of {DENO_PERMISSION_ARGS} would let programs out of their sandbox; they can start processes of their own inside it without"
                    )));
                }
                // How Deno compiles is nothing that we could grant.
                _ => {}
            }
        }
        Ok(permitted)
    }

    fn add<'a>(&mut self, flag: &str, paths: impl Iterator<Item = &'a str>, access: FolderAccess) -> Result<(), Ended> {
        let before = self.folders.len();
        for path in paths {
            let folder = grants::folder(Path::new(path), None, access)?;
            // What may be written to may be read.
            self.folders.retain(|known| known.target() != folder.target() || known.access() == FolderAccess::Write);
            if self.folders.iter().all(|known| known.target() != folder.target()) {
                self.folders.push(folder);
            }
        }
        if self.folders.len() == before && !flag.contains('=') {
            return Err(Ended::failed(format!(
                "error: `{flag}` of {DENO_PERMISSION_ARGS} names no folder, and the whole machine is not shown to programs: write `{flag}=FOLDER`"
            )));
        }
        Ok(())
    }
}

/// Variables of ours by these names, or all of them.
fn variables(environment: &Environment, names: &[&str]) -> Vec<(String, String)> {
    let all = environment.all().filter(|(name, _)| names.is_empty() || names.contains(name));
    all.map(|(name, value)| (name.to_owned(), value.to_owned())).collect()
}
