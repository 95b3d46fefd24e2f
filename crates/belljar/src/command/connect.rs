//! `belljar connect`: the configuration that makes a client start belljar.

use std::fs;
use std::io::{self, Write as _};
use std::os::unix::fs::{OpenOptionsExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::Context as _;
use sandbox::Refusal;
use serde_json::{Map, Value, json};

use crate::arguments::{Client, ConnectArguments};
use crate::report;

/// The name under which clients know us.
const NAME: &str = "belljar";

/// Where a client keeps its servers.
struct Place {
    title: &'static str,
    /// Below the user's home.
    file: &'static str,
    form: Form,
}

/// How it writes them down.
#[derive(Debug, Clone, Copy)]
enum Form {
    /// JSON, below this key. Some want to be told the transport.
    Json { key: &'static str, says_transport: bool },
    /// TOML, below `mcp_servers`.
    Toml,
}

impl Client {
    fn place(self) -> Place {
        let json = |key, says_transport| Form::Json { key, says_transport };
        match self {
            Self::ClaudeCode => Place { title: "Claude Code", file: ".claude.json", form: json("mcpServers", true) },
            Self::ClaudeDesktop => Place {
                title: "Claude Desktop",
                file: ".config/Claude/claude_desktop_config.json",
                form: json("mcpServers", false),
            },
            Self::Cursor => Place { title: "Cursor", file: ".cursor/mcp.json", form: json("mcpServers", false) },
            Self::Vscode => Place { title: "VS Code", file: ".config/Code/User/mcp.json", form: json("servers", true) },
            Self::Codex => Place { title: "Codex", file: ".codex/config.toml", form: Form::Toml },
        }
    }
}

pub(crate) fn run(arguments: &ConnectArguments, home: Option<&Path>) -> anyhow::Result<ExitCode> {
    let place = arguments.client.place();
    let command = std::env::current_exe().context("cannot tell where this program is")?;
    let command = command.to_str().context("the path of this program is no text, which configurations cannot hold")?;
    let file = home.context("HOME says nothing about where configurations are")?.join(place.file);
    if !arguments.write {
        let text = merged(place.form, None, command)?;
        report::print(&format!("{} reads this from `{}`:\n\n{text}", place.title, file.display()))?;
        report::print(&format!("\n`belljar connect {} --write` adds it there.\n", arguments.client))?;
        return Ok(ExitCode::SUCCESS);
    }
    // A configuration that is a link (to somebody's collection of such files) stays one.
    let file = fs::canonicalize(&file).unwrap_or(file);
    let before = match fs::read_to_string(&file) {
        Ok(text) => Some(text),
        Err(error) if error.kind() == io::ErrorKind::NotFound => None,
        Err(error) => return Err(error).with_context(|| format!("cannot read `{}`", file.display())),
    };
    let after =
        merged(place.form, before.as_deref(), command).map_err(|reason| unreadable(&file, &place, command, &reason))?;
    if before.as_deref() == Some(&after) {
        report::print(&format!("`{}` has it already.\n", file.display()))?;
        return Ok(ExitCode::SUCCESS);
    }
    let backup = before.as_ref().map(|_| back_up(&file)).transpose()?;
    replace(&file, &after).with_context(|| format!("cannot write `{}`", file.display()))?;
    let kept = backup.map(|backup| format!(" What was there is in `{}`.", backup.display())).unwrap_or_default();
    report::print(&format!("Added to `{}`.{kept} Start {} again to use it.\n", file.display(), place.title))?;
    Ok(ExitCode::SUCCESS)
}

/// A file that we cannot add to without the risk of losing something.
fn unreadable(file: &Path, place: &Place, command: &str, reason: &anyhow::Error) -> anyhow::Error {
    let snippet = merged(place.form, None, command).unwrap_or_default();
    let message = format!("`{}` is not as expected: {reason:#}", file.display());
    Refusal::new("client", message, format!("it was left as it is; add this by hand:\n\n{snippet}")).into()
}

/// The configuration with belljar in it, and everything else as it was.
fn merged(form: Form, before: Option<&str>, command: &str) -> anyhow::Result<String> {
    let before = before.filter(|text| !text.trim().is_empty());
    match form {
        Form::Json { key, says_transport } => {
            let mut entry = Map::new();
            if says_transport {
                entry.insert("type".to_owned(), json!("stdio"));
            }
            entry.insert("command".to_owned(), json!(command));
            entry.insert("args".to_owned(), json!(["serve"]));
            let mut root: Value = before.map_or_else(|| Ok(json!({})), serde_json::from_str)?;
            let root_map = root.as_object_mut().context("it is no JSON object")?;
            let servers = root_map.entry(key).or_insert_with(|| json!({}));
            let servers = servers.as_object_mut().with_context(|| format!("`{key}` in it is no object"))?;
            servers.insert(NAME.to_owned(), entry.into());
            Ok(serde_json::to_string_pretty(&root)? + "\n")
        }
        Form::Toml => {
            let mut root: toml_edit::DocumentMut = before.unwrap_or_default().parse()?;
            let servers = root.entry("mcp_servers").or_insert_with(|| {
                let mut table = toml_edit::Table::new();
                table.set_implicit(true);
                table.into()
            });
            let servers = servers.as_table_like_mut().context("`mcp_servers` in it is no table")?;
            let mut entry = toml_edit::Table::new();
            entry.insert("command", toml_edit::value(command));
            entry.insert("args", toml_edit::value(toml_edit::Array::from_iter(["serve"])));
            servers.insert(NAME, entry.into());
            Ok(root.to_string())
        }
    }
}

/// Copies a file beside itself, under a name that is free.
fn back_up(file: &Path) -> anyhow::Result<PathBuf> {
    let name = |number: u32| {
        let mut name = file.as_os_str().to_owned();
        name.push(format!(".before-belljar{}", if number == 0 { String::new() } else { format!("-{number}") }));
        PathBuf::from(name)
    };
    let contents = fs::read(file).with_context(|| format!("cannot read `{}`", file.display()))?;
    for number in 0..1000 {
        let backup = name(number);
        match fs::OpenOptions::new().write(true).create_new(true).mode(0o600).open(&backup) {
            Ok(mut copy) => {
                let saved =
                    copy.set_permissions(fs::metadata(file)?.permissions()).and_then(|()| copy.write_all(&contents));
                saved.with_context(|| format!("cannot write `{}`", backup.display()))?;
                return Ok(backup);
            }
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            Err(error) => return Err(error).with_context(|| format!("cannot write `{}`", backup.display())),
        }
    }
    anyhow::bail!("there are too many backups of `{}`", file.display())
}

/// Writes the whole file or nothing of it. It may hold secrets of other servers, so its permissions stay.
fn replace(file: &Path, text: &str) -> io::Result<()> {
    let folder = file.parent().unwrap_or(Path::new("."));
    fs::create_dir_all(folder)?;
    let mode = fs::metadata(file).map_or(0o600, |metadata| metadata.permissions().mode());
    let mut name = file.as_os_str().to_owned();
    name.push(format!(".{}", std::process::id()));
    let temporary = PathBuf::from(name);
    let mut new = fs::OpenOptions::new().write(true).create_new(true).mode(0o600).open(&temporary)?;
    let written = new
        .set_permissions(fs::Permissions::from_mode(mode))
        .and_then(|()| new.write_all(text.as_bytes()))
        .and_then(|()| new.sync_all())
        .and_then(|()| fs::rename(&temporary, file));
    if written.is_err() {
        fs::remove_file(&temporary).ok();
    }
    written
}

#[cfg(test)]
mod tests {
    use super::*;

    const JSON: Form = Form::Json { key: "mcpServers", says_transport: false };

    #[test]
    fn other_servers_and_settings_stay() {
        let before = "{\n  \"zeta\": 1,\n  \"mcpServers\": {\n    \"other\": {\"command\": \"x\", \"env\": {\"KEY\": \"secret\"}}\n  },\n  \"alpha\": [1.5, null]\n}";
        let after = merged(JSON, Some(before), "/bin/belljar").expect("merged");
        let value: Value = serde_json::from_str(&after).expect("JSON");
        assert_eq!(value["mcpServers"]["other"]["env"]["KEY"], "secret");
        assert_eq!(value["mcpServers"]["belljar"], json!({"command": "/bin/belljar", "args": ["serve"]}));
        assert!(
            after.find("zeta") < after.find("mcpServers") && after.find("mcpServers") < after.find("alpha"),
            "{after}"
        );
        assert_eq!(merged(JSON, Some(&after), "/bin/belljar").expect("merged"), after);
    }

    #[test]
    fn comments_in_toml_stay() {
        let before = "# mine\nmodel = \"x\" # why\n\n[mcp_servers.other]\ncommand = \"y\"\n";
        let after = merged(Form::Toml, Some(before), "/bin/belljar").expect("merged");
        assert!(after.starts_with(before), "{after}");
        assert!(after.ends_with("[mcp_servers.belljar]\ncommand = \"/bin/belljar\"\nargs = [\"serve\"]\n"), "{after}");
        assert_eq!(merged(Form::Toml, Some(&after), "/bin/belljar").expect("merged"), after);
    }

    #[test]
    fn what_cannot_be_read_is_not_touched() {
        for before in ["{ // a comment\n}", "[]", "{\"mcpServers\": 3}", "{"] {
            assert!(merged(JSON, Some(before), "b").is_err(), "{before}");
        }
        for before in ["mcp_servers = 1", "= x"] {
            assert!(merged(Form::Toml, Some(before), "b").is_err(), "{before}");
        }
        assert!(merged(JSON, Some("  \n"), "b").is_ok());
    }

    #[test]
    fn every_backup_is_kept() {
        let folder = tempfile::tempdir().expect("a temporary directory");
        let file = folder.path().join("mcp.json");
        for text in ["one", "two"] {
            fs::write(&file, text).expect("write");
            back_up(&file).expect("a backup");
        }
        let read = |name: &str| fs::read_to_string(folder.path().join(name)).expect("a backup");
        assert_eq!((read("mcp.json.before-belljar"), read("mcp.json.before-belljar-1")), ("one".into(), "two".into()));
    }
}
