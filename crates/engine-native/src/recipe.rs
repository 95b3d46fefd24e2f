//! From a plan and a toolchain to a jail's spec.

use std::borrow::Cow;
use std::path::Path;

use jail::{Access, Batch, Command, EGRESS, Egress, File, Place, Places, Purpose, Spec, Stdio, View, Walls};
use sandbox::{
    AddressSpace, FolderAccess, Hook, Layer, LayerKind, Limits, NODE_PACKAGES, PYTHON_PACKAGES, PackageUse, Plan,
    ProgramNames, Toolchain,
};

use crate::displays;
use crate::error::NativeError;
use crate::tools::{self, FoundTool, GUEST_PATH};

/// A spec and the contents of its files.
pub(crate) struct Recipe<'a> {
    pub(crate) spec: Spec,
    pub(crate) contents: Vec<Cow<'a, [u8]>>,
}

/// The plan as its tool understands it: of the tools that find packages in a `node_modules`, only Deno knows `npm:`.
pub(crate) fn plan_for(plan: Plan, tool: &FoundTool) -> Plan {
    if tool.toolchain.packages != PackageUse::NodeModules || tool.toolchain.program == "deno" {
        return plan;
    }
    match str::from_utf8(plan.code()).map(wanted::with_bare_packages) {
        Ok(Cow::Owned(code)) => plan.with_code(code.into_bytes()),
        Ok(Cow::Borrowed(_)) | Err(_) => plan,
    }
}

/// The jail that runs `plan` with `tool`. `database` is the name of the database in its workspace.
pub(crate) fn for_plan<'a>(
    plan: &'a Plan,
    tool: &FoundTool,
    view: &View,
    walls: Walls,
    database: Option<&str>,
) -> Result<Recipe<'a>, NativeError> {
    let language = plan.language();
    let kitchen = Kitchen {
        tool,
        places: walls.places(),
        names: plan.names(),
        memory_mb: plan.limits().memory.whole_mib(),
        database,
        egress: egress(plan),
    };
    let mut commands = Vec::new();
    if let Some(compile) = tool.toolchain.compile {
        let mut command = kitchen.command(compile, Stdio::Compiler, language.id)?;
        let source = kitchen.fill("{source}");
        let more = plan.more_sources();
        let more =
            more.iter().map(|file| kitchen.places.workspace.join(file.path.as_str()).to_string_lossy().into_owned());
        let place = command.arguments.iter().position(|argument| *argument == source).map_or(0, |place| place + 1);
        command.arguments.splice(place..place, more);
        // After our own arguments, so that they win; but before the libraries, which come last.
        command
            .arguments
            .splice(place.saturating_sub(1)..place.saturating_sub(1), plan.compiler_args().iter().cloned());
        commands.push(command);
    }
    let mut run = kitchen.command(tool.toolchain.run, Stdio::Program, language.id)?;
    run.arguments.extend(plan.args().iter().cloned());
    commands.push(run);

    let mut support: Vec<(String, String)> = kitchen.support();
    let mut environment = kitchen.environment(plan.env());
    let mut view = view_for(tool, view);
    if let Some(layer) = plan.layer() {
        show(layer, tool, &mut view, &walls)?;
    }
    add_folders(plan, &mut view);
    let told_of_packages = plan.layer().is_some() && tool.toolchain.packages == PackageUse::Preset;
    if !plan.variables().is_empty() || told_of_packages {
        let preset = tool.toolchain.variables.ok_or(NativeError::NoVariables(tool.toolchain.program))?;
        support.push((preset.file.0.to_owned(), preset.file.1.to_owned()));
        if told_of_packages {
            // One of the packages may draw things.
            support.push((displays::SUPPORT.0.to_owned(), displays::SUPPORT.1.to_owned()));
        }
        if !plan.variables().is_empty() {
            support.push(("variables.json".to_owned(), variables(plan)));
        }
        match preset.hook {
            Hook::Variable(name, value) => add_variable(&mut environment, name, &kitchen.fill(value)),
            Hook::Argument(argument) => add_argument(&mut commands, plan, kitchen.fill(argument)),
        }
    }
    let program = (Place::Workspace, plan.names().source.as_str(), plan.code());
    let given = plan.files().iter().map(|file| (Place::Workspace, file.path.as_str(), file.contents.as_slice()));
    let (mut files, mut contents) = (Vec::new(), Vec::new());
    for (place, path, text) in std::iter::once(program).chain(given) {
        files.push(File { place, path: path.to_owned(), length: text.len() as u64 });
        contents.push(Cow::Borrowed(text));
    }
    for (name, text) in support {
        files.push(File { place: Place::Build, path: name, length: text.len() as u64 });
        contents.push(Cow::Owned(text.into_bytes()));
    }
    let spec = Spec {
        view,
        egress: kitchen.egress,
        limits: limits(plan.limits()),
        environment,
        files,
        commands,
        purpose: Purpose::Run,
        without: Vec::new(),
        walls,
    };
    Ok(Recipe { spec, contents })
}

/// Shows a program's packages to it.
fn show(layer: &Layer, tool: &FoundTool, view: &mut View, walls: &Walls) -> Result<(), NativeError> {
    if !matches!(walls, Walls::Namespaces { .. }) {
        return Err(NativeError::NoLayers);
    }
    let place = match (tool.toolchain.packages, layer.kind) {
        (PackageUse::Preset, LayerKind::Python) => PYTHON_PACKAGES,
        (PackageUse::NodeModules, LayerKind::Node) => NODE_PACKAGES,
        _ => return Err(NativeError::NoPackages(tool.toolchain.program)),
    };
    view.mount(&layer.folder, Path::new(place), Access::Read);
    Ok(())
}

/// How an `SQLite` database begins.
pub(crate) const DATABASE: &[u8] = b"SQLite format 3\0";

/// The one given file at the top level that is an `SQLite` database.
pub(crate) fn database(plan: &Plan) -> Option<&str> {
    let databases = plan.files().iter().filter(|file| file.contents.starts_with(DATABASE));
    only(databases.map(|file| file.path.as_str()).filter(|path| !path.contains('/')))
}

/// If there are several databases, it is for the program to say which one is meant.
pub(crate) fn only<T>(mut found: impl Iterator<Item = T>) -> Option<T> {
    found.next().filter(|_| found.next().is_none())
}

/// One JSON object. Names are identifiers, and values are JSON already.
fn variables(plan: &Plan) -> String {
    let members: Vec<String> =
        plan.variables().iter().map(|variable| format!("\"{}\":{}", variable.name, variable.json)).collect();
    format!("{{{}}}", members.join(","))
}

/// The jail that asks `tool` for its version.
pub(crate) fn for_version(tool: &FoundTool, view: &View, walls: Walls) -> Spec {
    let names = ProgramNames { source: String::new(), entry: String::new() };
    let kitchen = Kitchen {
        tool,
        places: walls.places(),
        names: &names,
        memory_mb: Limits::DEFAULT.memory.whole_mib(),
        database: None,
        egress: Egress::None,
    };
    let program = tool.program.clone();
    let zeroth = program.to_string_lossy().into_owned();
    let arguments =
        std::iter::once(zeroth).chain(tool.toolchain.version.iter().map(|argument| (*argument).to_owned())).collect();
    let address_space = address_space(tool.toolchain.address_space);
    Spec {
        view: view_for(tool, view),
        egress: Egress::None,
        limits: limits(&Limits { wall: std::time::Duration::from_secs(10), ..Limits::DEFAULT }),
        environment: kitchen.environment(&[]),
        files: Vec::new(),
        commands: vec![Command { program, arguments, stdio: Stdio::Program, address_space }],
        purpose: Purpose::Run,
        without: Vec::new(),
        walls,
    }
}

/// The commands that turn a tool into a live interpreter, and the contents of their files.
pub(crate) fn for_interpreter(
    plan: &Plan,
    tool: &FoundTool,
    walls: &Walls,
    (files, [before, behind]): (&[(&str, &str)], [&[&str]; 2]),
) -> Result<(Batch, Vec<Vec<u8>>), NativeError> {
    let kitchen = Kitchen {
        tool,
        places: walls.places(),
        names: plan.names(),
        memory_mb: plan.limits().memory.whole_mib(),
        database: None,
        egress: egress(plan),
    };
    let driver = files.first().map_or("", |(name, _)| name);
    let driver = kitchen.places.build.join(driver).to_string_lossy().into_owned();
    // Run like any program, with the driver in its place.
    let template = tool.toolchain.run.iter().flat_map(|argument| match *argument {
        "{source}" => before.iter().copied().chain([driver.as_str()]).chain(behind.iter().copied()).collect(),
        other => vec![other],
    });
    let command = kitchen.command(&template.collect::<Vec<_>>(), Stdio::Program, plan.language().id)?;
    let files = files.iter().map(|(name, text)| ((*name).to_owned(), (*text).to_owned())).chain(kitchen.support());
    let (files, contents) = files
        .map(|(path, text)| (File { place: Place::Build, path, length: text.len() as u64 }, text.into_bytes()))
        .unzip();
    let batch = Batch { environment: kitchen.environment(&[]), files, commands: vec![command] };
    Ok((batch, contents))
}

/// Everyone's view, plus what this tool needs.
fn view_for(tool: &FoundTool, view: &View) -> View {
    let mut view = view.clone();
    add_reads(tool, &mut view);
    view
}

/// Adds what a tool needs of the host.
pub(crate) fn add_reads(tool: &FoundTool, view: &mut View) {
    for path in tool.toolchain.reads {
        view.add(Path::new(path));
    }
    for path in tool.reads() {
        view.add(&path);
    }
}

/// Adds the host folders that a plan is granted.
pub(crate) fn add_folders(plan: &Plan, view: &mut View) {
    for folder in plan.folders() {
        let access = match folder.access() {
            FolderAccess::Read => Access::Read,
            FolderAccess::Write => Access::Write,
        };
        view.grant(folder.source(), folder.target(), access);
    }
}

/// What fills in the templates.
struct Kitchen<'a> {
    tool: &'a FoundTool,
    places: Places,
    names: &'a ProgramNames,
    memory_mb: u64,
    /// Its name in the workspace.
    database: Option<&'a str>,
    egress: Egress,
}

impl Kitchen<'_> {
    fn command(&self, template: &[&str], stdio: Stdio, language: &'static str) -> Result<Command, NativeError> {
        let arguments: Vec<String> = template.iter().map(|argument| self.fill(argument)).collect();
        let first = arguments.first().map(String::as_str).unwrap_or_default();
        let program = if first.starts_with('/') {
            first.into()
        } else {
            tools::resolve(first, self.tool.home.as_deref()).ok_or(NativeError::ToolGone(language))?
        };
        Ok(Command { program, arguments, stdio, address_space: address_space(self.tool.toolchain.address_space) })
    }

    fn fill(&self, template: &str) -> String {
        if !template.contains('{') {
            return template.to_owned();
        }
        template
            .replace("{program}", &self.tool.program.to_string_lossy())
            .replace("{source}", &self.places.workspace.join(&self.names.source).to_string_lossy())
            .replace("{workspace}", &self.places.workspace.to_string_lossy())
            .replace("{entry}", &self.names.entry)
            .replace("{build}", &self.places.build.to_string_lossy())
            .replace("{memory_mb}", &self.memory_mb.to_string())
            .replace("{database}", &self.database())
    }

    fn database(&self) -> String {
        let path = |name| self.places.workspace.join(name).to_string_lossy().into_owned();
        self.database.map_or_else(|| ":memory:".to_owned(), path)
    }

    /// The toolchain's own small files.
    fn support(&self) -> Vec<(String, String)> {
        let own = self.tool.toolchain.support.iter().map(|(name, text)| ((*name).to_owned(), self.fill(text)));
        let more = self.way_out_of_node().map(|(name, text)| (name.to_owned(), text.to_owned()));
        own.chain(more).collect()
    }

    /// The variable that makes Node use the way out, if there is one.
    fn way_out_of_node(&self) -> Option<(&'static str, &'static str)> {
        let Toolchain { program, also, .. } = self.tool.toolchain;
        let is_node = |name: &str| matches!(name, "node" | "nodejs");
        let has_node = is_node(program) || also.iter().any(|name| is_node(name));
        (self.egress == Egress::ThroughServer && has_node).then_some(("way_out.cjs", include_str!("way_out.cjs")))
    }

    /// Ours, then the toolchain's, then the caller's; a later value for the same name wins.
    fn environment(&self, caller: &[(String, String)]) -> Vec<String> {
        let temporary = self.places.temporary.to_string_lossy().into_owned();
        let path = match &self.tool.home {
            Some(home) => format!("{}:{GUEST_PATH}", home.join("bin").display()),
            None => GUEST_PATH.to_owned(),
        };
        let own = [("PATH", path), ("HOME", temporary.clone()), ("TMPDIR", temporary), ("LANG", "C.UTF-8".to_owned())];
        let own = own.into_iter().map(|(name, value)| (name.to_owned(), value));
        let toolchain = self.tool.toolchain.env.iter().map(|(name, value)| ((*name).to_owned(), self.fill(value)));
        let mut way_out = match self.egress {
            Egress::None => Vec::new(),
            Egress::ThroughServer => way_out(),
        };
        if let Some((name, _)) = self.way_out_of_node() {
            way_out.push((NODE_OPTIONS.to_owned(), format!("--require {}", self.places.build.join(name).display())));
        }
        let mut variables: Vec<(String, String)> = Vec::new();
        for (name, value) in own.chain(way_out).chain(toolchain).chain(caller.iter().cloned()) {
            variables.retain(|(present, _)| *present != name);
            variables.push((name, value));
        }
        variables.into_iter().map(|(name, value)| format!("{name}={value}")).collect()
    }
}

/// Whether a plan's jail has a way out.
pub(crate) fn egress(plan: &Plan) -> Egress {
    if plan.network().is_empty() { Egress::None } else { Egress::ThroughServer }
}

const NODE_OPTIONS: &str = "NODE_OPTIONS";

/// Adds a variable. Options for Node are appended to those already there.
fn add_variable(environment: &mut Vec<String>, name: &str, value: &str) {
    let present = environment.iter_mut().find(|variable| variable.starts_with(&format!("{name}=")));
    match present {
        Some(options) if name == NODE_OPTIONS => *options = format!("{options} {value}"),
        Some(_) | None => environment.push(format!("{name}={value}")),
    }
}

/// Adds an argument to the last command, before the program's path, which only the program's own arguments follow.
fn add_argument(commands: &mut [Command], plan: &Plan, argument: String) {
    if let Some(Command { arguments, .. }) = commands.last_mut() {
        arguments.insert(arguments.len().saturating_sub(plan.args().len() + 1), argument);
    }
}

/// Tells programs about their way out. Most look for one of these by themselves; Node does from version 24 on, if told
/// to.
fn way_out() -> Vec<(String, String)> {
    let proxy = format!("http://{EGRESS}");
    let names = ["HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY"].map(|name| (name, proxy.as_str()));
    let own = ("NO_PROXY", "localhost,127.0.0.1,::1");
    let both = names
        .into_iter()
        .chain([own])
        .flat_map(|(name, value)| [name.to_owned(), name.to_ascii_lowercase()].map(|name| (name, value.to_owned())));
    both.chain([("NODE_USE_ENV_PROXY".to_owned(), "1".to_owned())]).collect()
}

fn address_space(kind: AddressSpace) -> jail::AddressSpace {
    match kind {
        AddressSpace::Proportional => jail::AddressSpace::Limited,
        AddressSpace::Reserved => jail::AddressSpace::Free,
    }
}

pub(crate) fn limits(limits: &Limits) -> jail::Limits {
    let millis = |duration: std::time::Duration| u64::try_from(duration.as_millis()).unwrap_or(u64::MAX);
    jail::Limits {
        memory: limits.memory.get(),
        disk: limits.disk.get(),
        files: limits.files,
        processes: limits.processes,
        cpu_millis: millis(limits.cpu),
        wall_millis: millis(limits.wall),
    }
}
