//! The variables of `code-runner-mcp`.

use std::path::Path;
use std::time::Duration;

use belljar::grants;
use mcp::profiles::{Granted, Tools};
use sandbox::{Folder, FolderAccess};

use super::{Chosen, Ended, Kind, Network, Shown};
use crate::settings::Environment;

const ALLOWED_TOOLS: &str = "ALLOWED_TOOLS";
const DENO_PERMISSION_ARGS: &str = "DENO_PERMISSION_ARGS";
const NODEFS_ROOT: &str = "NODEFS_ROOT";
const NODEFS_MOUNT_POINT: &str = "NODEFS_MOUNT_POINT";

/// Callers could tell a new session of Python's only by what is gone, so the one session stays as long as its client.
const NEVER: Duration = Duration::from_hours(100 * 365 * 24);

pub(super) fn choose(environment: &Environment) -> Result<Chosen, Ended> {
    let permitted = Permitted::parse(environment.get(DENO_PERMISSION_ARGS).unwrap_or_default(), environment)?;
    let mut folders = permitted.folders;
    if let Some(root) = environment.get(NODEFS_ROOT) {
        let target = environment.get(NODEFS_MOUNT_POINT).unwrap_or(root);
        folders.push(grants::folder(Path::new(root), Some(Path::new(target)), FolderAccess::Write)?);
    }
    let tools = tools(environment.get(ALLOWED_TOOLS).unwrap_or_default());
    let granted = Granted { env: permitted.env, ..Granted::default() };
    let mut chosen = Chosen::new(Kind::CodeRunner { tools, granted });
    chosen.session_idle = Some(NEVER);
    chosen.folders = Shown::Also(folders);
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
        let (mut shown, mut hidden) = (Vec::new(), Vec::new());
        for flag in flags.split_whitespace() {
            let name = flag.split_once('=').map_or(flag, |(name, _)| name);
            match name {
                "--allow-all" | "-A" => permitted.network = Some(vec![ALL.to_owned()]),
                "--allow-net" | "-N" => permitted.network = Some(list(flag)?.into_iter().map(str::to_owned).collect()),
                "--allow-env" | "-E" => shown.extend(list(flag)?),
                "--deny-env" | "--ignore-env" => hidden.extend(list(flag)?),
                "--allow-read" | "-R" => permitted.show(flag, FolderAccess::Read)?,
                "--allow-write" | "-W" => permitted.show(flag, FolderAccess::Write)?,
                "--allow-run" | "--allow-ffi" | "--allow-sys" | "-S" => {
                    return Err(Ended::failed(format!(
                        "error: `{flag}` of {DENO_PERMISSION_ARGS} would let programs out of their sandbox; they can start processes of their own inside it without"
                    )));
                }
                // A host or a folder cannot be excluded from what a grant names.
                _ if name.starts_with("--deny-") || name.starts_with("--ignore-") => {
                    return Err(Ended::failed(format!(
                        "error: `{flag}` of {DENO_PERMISSION_ARGS} cannot be enforced here; programs have what `--allow-…` names and nothing else, so let it name less, and leave `{name}` out"
                    )));
                }
                // How Deno compiles is nothing that we could grant.
                _ => {}
            }
        }
        permitted.env = variables(environment, &shown, &hidden);
        Ok(permitted)
    }

    fn show(&mut self, flag: &str, access: FolderAccess) -> Result<(), Ended> {
        let paths = list(flag)?;
        if paths == [ALL] {
            return Err(Ended::failed(format!(
                "error: `{flag}` of {DENO_PERMISSION_ARGS} names no folder, and the whole machine is not shown to programs: write `{flag}=FOLDER`"
            )));
        }
        for path in paths {
            self.folders.push(grants::folder(Path::new(path), None, access)?);
        }
        Ok(())
    }
}

/// What a flag without a value is about.
const ALL: &str = "*";

/// What a flag names. A flag that should name something and does not is a mistake: it does not mean everything.
fn list(flag: &str) -> Result<Vec<&str>, Ended> {
    let Some((name, value)) = flag.split_once('=') else { return Ok(vec![ALL]) };
    let names: Vec<&str> = value.split(',').filter(|it| !it.is_empty()).collect();
    if names.is_empty() {
        return Err(Ended::failed(format!(
            "error: `{flag}` of {DENO_PERMISSION_ARGS} names nothing; leave `{name}` out, or name what it is about"
        )));
    }
    Ok(names)
}

/// Those of our variables that programs may see, without those that they may not.
fn variables(environment: &Environment, shown: &[&str], hidden: &[&str]) -> Vec<(String, String)> {
    let is_among = |name: &str, patterns: &[&str]| {
        // As with Deno, a name may end in a star.
        patterns.iter().any(|pattern| match pattern.strip_suffix('*') {
            Some(start) => name.starts_with(start),
            None => name == *pattern,
        })
    };
    let seen = environment.all().filter(|(name, _)| is_among(name, shown) && !is_among(name, hidden));
    seen.map(|(name, value)| (name.to_owned(), value.to_owned())).collect()
}
