//! The pages of `docs/reference/`, written from the definitions that the program itself works by, so that they cannot say anything else.

use std::fmt::Write as _;
use std::fs;
use std::path::Path;

use clap::builder::Str;
use clap::{Arg, ArgAction, Command, CommandFactory as _};
use rmcp::model::Tool;
use sandbox::{Language, LimitKind, Limits, Package, Policy, Status};
use schemars::generate::SchemaSettings;
use serde_json::Value;

use crate::arguments::Arguments;
use crate::{exit, settings};

#[test]
fn the_reference_says_what_the_code_says() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/reference");
    let pages = [
        ("commands.md", commands()),
        ("tools.md", tools()),
        ("result.md", result()),
        ("settings.md", settings_file()),
        ("limits.md", limits()),
        ("languages.md", languages()),
    ];
    let mut changed = Vec::new();
    for (name, text) in pages {
        let page = folder.join(name);
        if fs::read_to_string(&page).ok().as_ref() != Some(&text) {
            fs::write(&page, text).expect("the repository can be written to");
            changed.push(name);
        }
    }
    assert!(
        changed.is_empty(),
        "docs/reference was not what the code says. {changed:?} are written anew: look, commit, and test again"
    );
}

const NOTE: &str = "<!-- Written by crates/belljar/src/reference.rs from the code: change it there. -->\n\n";

fn commands() -> String {
    let mut page = format!("{NOTE}# Command line\n\n");
    let program = Arguments::command().disable_help_subcommand(true);
    let built = visible(&program).flat_map(|command| {
        let name = format!("belljar {}", command.get_name());
        let inner: Vec<(String, &Command)> =
            visible(command).map(|inner| (format!("{name} {}", inner.get_name()), inner)).collect();
        if inner.is_empty() { vec![(name, command)] } else { inner }
    });
    let built: Vec<(String, &Command)> = built.collect();
    let rows = built.iter().map(|(name, command)| vec![link(name), about(command)]);
    page += &table(&["command", "does"], rows);
    page += "\nStandard output is the program's (`run`) or the protocol's (`serve`); belljar's own words go to standard error. \
             Times are written like `500ms`, `10s` or `5m`, sizes like `512MiB` or `2GiB`.\n\n";
    page += &section("Options of every command", "", program.get_arguments());
    for (name, command) in built {
        let usage = command.clone().bin_name(&name).render_usage().to_string().replace("Usage: ", "");
        let after = command.get_after_help().map(|text| format!("{text}\n\n")).unwrap_or_default();
        let text = format!("{}.\n\n```text\n{usage}\n```\n\n{after}", about(command));
        page += &section(&name, &text, command.get_arguments());
    }
    page
}

fn visible(command: &Command) -> impl Iterator<Item = &Command> {
    command.get_subcommands().filter(|command| !command.is_hide_set())
}

fn about(command: &Command) -> String {
    command.get_about().map(ToString::to_string).unwrap_or_default()
}

/// A heading, what there is to say, and a table of arguments.
fn section<'a>(title: &str, text: &str, arguments: impl Iterator<Item = &'a Arg>) -> String {
    let shown = arguments.filter(|argument| !argument.is_hide_set() && argument.get_id() != "help");
    let rows: Vec<Vec<String>> = shown.filter(|argument| argument.get_id() != "version").map(row).collect();
    let arguments = if rows.is_empty() { String::new() } else { table(&["", "meaning", "default"], rows) + "\n" };
    format!("## {title}\n\n{text}{arguments}")
}

/// How it is written, what it means, and what it is when nobody says.
fn row(argument: &Arg) -> Vec<String> {
    let help = argument.get_long_help().or(argument.get_help()).map(ToString::to_string).unwrap_or_default();
    let (help, said) = match help.split_once(" [default: ") {
        Some((help, said)) => (help.to_owned(), said.trim_end_matches(']').to_owned()),
        None => (help, String::new()),
    };
    let variable = argument.get_env().map(|name| format!(" (also `{}`)", name.display())).unwrap_or_default();
    let meaning = |values: &str| format!("{help}{values}{variable}");
    let (meaning, default) = if takes_value(argument) {
        let values: Vec<String> = argument.get_possible_values().iter().map(|it| it.get_name().to_owned()).collect();
        let values = if values.is_empty() { String::new() } else { format!(": {}", code(&values)) };
        let defaults: Vec<&str> = argument.get_default_values().iter().filter_map(|value| value.to_str()).collect();
        (meaning(&values), if said.is_empty() { code(&defaults) } else { said })
    } else {
        (meaning(""), said)
    };
    vec![format!("`{}`", spelling(argument)), meaning, default]
}

fn takes_value(argument: &Arg) -> bool {
    matches!(argument.get_action(), ArgAction::Set | ArgAction::Append)
}

/// `-c, --code CODE`.
fn spelling(argument: &Arg) -> String {
    let short = argument.get_short().map(|short| format!("-{short}"));
    let long = argument.get_long().map(|long| format!("--{long}"));
    let flags: Vec<String> = short.into_iter().chain(long).collect();
    let names: Vec<&str> = argument.get_value_names().unwrap_or_default().iter().map(Str::as_str).collect();
    let value = if takes_value(argument) { names.join(" ") } else { String::new() };
    [flags.join(", "), value].join(" ").trim().to_owned()
}

fn tools() -> String {
    let sections = mcp::tools(&["…".to_owned()], &Policy::default()).into_iter().map(section_of_tool);
    format!(
        "{NOTE}# Tools\n\nWhat `belljar serve` offers to clients, as `tools/list` tells them. The server's other sides (live output, cancelling, \
         resources, tasks) are in [Over MCP](../protocol.md).\n\n{}",
        sections.collect::<String>()
    )
}

fn section_of_tool(tool: Tool) -> String {
    let annotations = tool.annotations.unwrap_or_default();
    let manners = [
        (annotations.read_only_hint, "reads only"),
        (annotations.destructive_hint, "may remove something"),
        (annotations.idempotent_hint, "idempotent"),
        (annotations.open_world_hint, "reaches beyond the server"),
    ];
    let manners: Vec<&str> = manners.iter().filter(|(is, _)| *is == Some(true)).map(|(_, text)| *text).collect();
    let manners = if manners.is_empty() { String::new() } else { format!(" ({})", manners.join(", ")) };
    let arguments = fields("argument", &Value::Object(tool.input_schema.as_ref().clone()));
    let result = match tool.output_schema {
        Some(_) if tool.name == "run_code" => "Its result has [a page of its own](result.md).\n\n".to_owned(),
        Some(schema) => format!("It gives:\n\n{}", fields("result", &Value::Object(schema.as_ref().clone()))),
        None => String::new(),
    };
    format!(
        "## `{}`\n\n{}{manners}. A model reads:\n\n```text\n{}\n```\n\n{arguments}{result}",
        tool.name,
        tool.title.unwrap_or_default(),
        tool.description.unwrap_or_default()
    )
}

fn result() -> String {
    let tools = mcp::tools(&[], &Policy::default());
    let schema = tools.into_iter().next().and_then(|tool| tool.output_schema).expect("`run_code` has one");
    format!(
        "{NOTE}# The structured result\n\n`structuredContent` of `run_code`, and what `belljar run --json` prints. Fields that may be missing are \
         absent rather than null, except the first four, which are always there. How to read it is in [Running code](../running.md#reading-the-result).\n\n{}",
        fields("field", &Value::Object(schema.as_ref().clone()))
    )
}

fn settings_file() -> String {
    let settings = SchemaSettings::draft2020_12().with(|settings| settings.inline_subschemas = true);
    let schema = settings.into_generator().into_root_schema_for::<settings::File>();
    let mut page = format!(
        "{NOTE}# Settings\n\nFlags win over environment variables, which win over the file, which wins over defaults.\n\n## `belljar.toml`\n\n\
         Read from `--config`, else from `BELLJAR_CONFIG`, else from `belljar/belljar.toml` in the user's configuration folder (`~/.config`). A name \
         that is not below is an error. Defaults of limits are in [Limits](limits.md).\n\n"
    );
    let names = rows(schema.as_value(), "").into_iter().map(|row| match row.kind.as_str() {
        "object" => vec![format!("`[{}]`", row.name), String::new(), row.text],
        _ => vec![format!("`{}`", row.name), row.kind, row.text],
    });
    page += &table(&["name", "", "meaning"], names);
    page += "\n## Environment variables\n\n";
    page += &table(&["variable", "meaning"], variables());
    page += "\nBeside these, `HOME`, `XDG_CONFIG_HOME`, `XDG_CACHE_HOME`, `XDG_RUNTIME_DIR` and `TMPDIR` say where things are, and `PATH` where tools are. \
             `BELLJAR_BIN` is for the SDKs: the program that they start. Package clients get what concerns them (`UV_*`, `PIP_*`, `NPM_CONFIG_*`, proxies). \
             Guests see none of it.\n";
    page
}

/// The documented constants of `settings.rs`, which is the one place where they are read.
fn variables() -> Vec<Vec<String>> {
    let lines: Vec<&str> = include_str!("settings.rs").lines().collect();
    let told = lines.windows(2).filter_map(|pair| {
        let [comment, constant] = pair else { return None };
        let (name, _) = constant.strip_prefix("const BELLJAR_")?.split_once(':')?;
        Some(vec![format!("`BELLJAR_{name}`"), comment.strip_prefix("/// ")?.to_owned()])
    });
    told.collect()
}

fn limits() -> String {
    let time = |time: std::time::Duration| humantime::format_duration(time).to_string();
    let [floor, default, most] = [Limits::FLOOR, Limits::DEFAULT, Limits::CEILING];
    let row = |name: &str, asked: &str, values: [String; 3]| {
        let [floor, default, most] = values;
        vec![name.to_owned(), asked.to_owned(), default, floor, most]
    };
    let all = [floor, default, most];
    let rows = [
        row("wall clock, compiling included", "`--timeout`, `timeout_ms`, `timeout`", all.map(|it| time(it.wall))),
        row("CPU time of all processes", "`--cpu`, `cpu`", all.map(|it| time(it.cpu))),
        row("memory of all processes", "`--memory`, `memory_mb`, `memory`", all.map(|it| it.memory.to_string())),
        row("everything written to files", "`--disk`, `disk`", all.map(|it| it.disk.to_string())),
        row("files and folders", "`file_count`", all.map(|it| it.files.to_string())),
        row("processes and threads", "`--processes`, `processes`", all.map(|it| it.processes.to_string())),
        row("kept of each output stream", "`output`", all.map(|it| it.output.to_string())),
    ];
    let mut page = format!(
        "{NOTE}# Limits and endings\n\n## Limits\n\nEvery run has all of them, for all its processes together. A caller asks by flag or argument, within what the operator \
         allows in `[limits]` of [`belljar.toml`](settings.md); `[defaults]` there is what a run gets that does not ask. Names are those of `belljar run`, of `run_code`, and \
         of `belljar.toml`.\n\n"
    );
    page += &table(&["limit", "asked for as", "default", "least", "most"], rows);
    page += "\n## How a run ends\n\n";
    let endings = [
        (
            Status::Completed { exit_code: 0 },
            "the program ended by itself, or its compiler did with an error: see `exit_code`",
        ),
        (Status::Crashed { signal: 11 }, "a signal ended it: see `signal`. In WebAssembly, a trap"),
        (Status::TimedOut, "it was still running at its wall-clock limit"),
        (Status::LimitExceeded(LimitKind::Memory), "it was ended for a limit: see `limit`"),
        (Status::Cancelled, "its caller ended it"),
    ];
    let rows = endings.map(|(status, text)| {
        let exit = match status {
            Status::Completed { .. } => "the program's own".to_owned(),
            Status::Crashed { .. } | Status::TimedOut | Status::LimitExceeded(_) | Status::Cancelled => {
                exit::of(status).to_string()
            }
        };
        vec![format!("`{}`", status.name()), text.to_owned(), exit]
    });
    page += &table(&["`status`", "", "exit code of `belljar run`"], rows);
    let kinds = [LimitKind::Memory, LimitKind::Cpu, LimitKind::Disk].map(|kind| kind.to_string());
    let others = format!(
        "\n`limit` is one of {}. Process and disk limits otherwise show in the program as the kernel's own errors (`EAGAIN`, `ENOSPC`).\n\n\
         `belljar run` also ends with {} when belljar refused the request or failed, so that the program did not run; {} or {} when belljar itself was interrupted or terminated; {} when \
         nobody reads its output any more.\n\n\
         ## What is not an ending\n\n| | who can change it | where it shows |\n|---|---|---|\n\
         | a refusal | the caller | the tool's result with `isError` and no structured content: `Refused: …. Hint: …`; on the command line `error:` and `hint:` |\n\
         | an outcome | the program did run | the structured result |\n\
         | a failure of belljar's | the operator | the server's log, with all causes; one line for the caller: `Failed, and not because of the code: …` |\n",
        code(&kinds),
        exit::REFUSED_OR_FAILED,
        exit::INTERRUPTED,
        exit::TERMINATED,
        exit::READER_GONE,
    );
    page + &others
}

fn languages() -> String {
    let served = |id: &str| setup::CATALOGUE.iter().any(|runtime| runtime.languages.contains(&id));
    let rows = Language::all().iter().map(|language| {
        let tools: Vec<String> = language
            .toolchains
            .iter()
            .map(|tool| {
                let source = match tool.package {
                    Package::Debian(name) => format!("Debian's `{name}`"),
                    Package::Elsewhere(phrase) => phrase.to_owned(),
                };
                format!("`{}` ({source})", tool.program)
            })
            .collect();
        let extensions: Vec<String> = language.extensions.iter().map(|extension| format!(".{extension}")).collect();
        let wasm = if served(language.id) { "yes" } else { "" };
        vec![
            format!("`{}`", language.id),
            language.name.to_owned(),
            code(language.aliases),
            code(&extensions),
            wasm.to_owned(),
            tools.join(", "),
        ]
    });
    let mut page = format!(
        "{NOTE}# Languages\n\n`belljar doctor` says which of them are here. Natively, the first tool that is found on `PATH` is used. Where no language is named, it is taken from a Markdown \
         fence, a `#!` line, a file's name or the code itself; where that is not clear, the answer is a refusal with candidates.\n\n"
    );
    page += &table(&["id", "", "also called", "files", "WebAssembly", "natively with"], rows);
    let _ = write!(
        page,
        "\n## Runtimes in WebAssembly\n\n`belljar setup` makes them, in this order: {} in all, the first time, on two cores. Where they are built, they also need up to {} of \
         room on the disk meanwhile. The last two are not runtimes: they install packages.\n\n",
        setup_in_all(),
        setup::CATALOGUE.iter().map(|runtime| runtime.scratch).max().expect("there are some")
    );
    let rows = setup::CATALOGUE.iter().chain(setup::TOOLS).map(|runtime| {
        let takes = humantime::format_duration(runtime.takes).to_string();
        vec![format!("`{}`", runtime.name), runtime.title.to_owned(), takes, runtime.size.to_string()]
    });
    page += &table(&["name", "", "takes about", "on the disk"], rows);
    page
}

/// What setting up everything takes: the sum of the catalogue.
fn setup_in_all() -> String {
    let all = || setup::CATALOGUE.iter().chain(setup::TOOLS);
    let seconds: u64 = all().map(|runtime| runtime.takes.as_secs()).sum();
    let size: u64 = all().map(|runtime| runtime.size.get()).sum();
    let tenths = (size * 10).div_ceil(1 << 30);
    format!("about {} minutes and {}.{} GiB", (seconds + 30) / 60, tenths / 10, tenths % 10)
}

/// The guide does not name other figures than the table.
#[test]
fn the_guide_tells_how_long_setting_up_takes() {
    let guide =
        fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/installing.md")).expect("a page");
    assert!(guide.contains(&setup_in_all()), "docs/installing.md does not say `{}`", setup_in_all());
}

/// One property of a schema.
struct Row {
    name: String,
    kind: String,
    text: String,
    is_required: bool,
}

/// A schema's properties with those inside them, in the schema's order: `files[].path`.
fn rows(schema: &Value, prefix: &str) -> Vec<Row> {
    let required: Vec<&str> = schema["required"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
    let properties = schema["properties"].as_object().into_iter().flatten();
    let all = properties.flat_map(|(name, property)| {
        let is_list = property["items"].is_object();
        let property_of = if is_list { &property["items"] } else { property };
        // What may be left out is a choice between itself and null.
        let choices = property_of["anyOf"].as_array().into_iter().flatten();
        let inner = choices.clone().find(|choice| choice["properties"].is_object()).unwrap_or(property_of);
        let full = format!("{prefix}{name}");
        let own = Row {
            kind: kind(property),
            text: property["description"].as_str().unwrap_or_default().to_owned(),
            is_required: required.contains(&name.as_str()),
            name: full.clone(),
        };
        let below = rows(inner, &format!("{full}{}.", if is_list { "[]" } else { "" }));
        std::iter::once(own).chain(below).collect::<Vec<_>>()
    });
    all.collect()
}

fn kind(property: &Value) -> String {
    let name = match &property["type"] {
        Value::String(kind) => kind.clone(),
        Value::Array(kinds) => kinds.iter().filter_map(Value::as_str).collect::<Vec<_>>().join(" or "),
        Value::Null if property["anyOf"].is_array() => "object".to_owned(),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Object(_) => "any JSON".to_owned(),
    };
    let values: Vec<&str> = property["enum"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
    match name.as_str() {
        "array" => format!("list of {}s", kind(&property["items"])),
        "string" if !values.is_empty() => code(&values),
        _ => name.replace(" or null", ""),
    }
}

/// What a tool takes, or gives.
fn fields(title: &str, schema: &Value) -> String {
    let rows: Vec<Vec<String>> = rows(schema, "")
        .into_iter()
        .map(|row| {
            let must = match (title, row.is_required) {
                ("argument", true) => "required",
                ("argument", false) | (_, true) => "",
                (_, false) => "if any",
            };
            vec![format!("`{}`", row.name), row.kind, must.to_owned(), row.text]
        })
        .collect();
    if rows.is_empty() { String::new() } else { table(&[title, "", "", "meaning"], rows) + "\n" }
}

fn table(headings: &[&str], rows: impl IntoIterator<Item = Vec<String>>) -> String {
    let line = |cells: &[String]| {
        let cells: Vec<String> = cells.iter().map(|cell| cell.replace('|', "\\|").replace('\n', " ")).collect();
        format!("| {} |\n", cells.join(" | "))
    };
    let headings: Vec<String> = headings.iter().map(|&heading| heading.to_owned()).collect();
    let rule = "|---".repeat(headings.len()) + "|\n";
    line(&headings) + &rule + &rows.into_iter().map(|row| line(&row)).collect::<String>()
}

fn code(names: &[impl AsRef<str>]) -> String {
    names.iter().map(|name| format!("`{}`", name.as_ref())).collect::<Vec<_>>().join(", ")
}

/// A link to a heading of the same page.
fn link(title: &str) -> String {
    format!("[`{title}`](#{})", title.replace(' ', "-"))
}
