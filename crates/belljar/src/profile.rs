//! `serve --profile`: the flags and variables of the server that ours passes for, as that server takes them.

mod code_runner;
mod executor;
mod flags;
mod folders;

use std::net::{Ipv4Addr, SocketAddr};
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use belljar::Settings;
use clap::ValueEnum;
use mcp::http::HttpSessions;
use mcp::profiles::{Granted, Profile};
use sandbox::{Folder, HostPattern, NetworkPolicy, Refusal};

use crate::arguments::ServeArguments;
use crate::report;
use crate::settings::Environment;

/// A server that ours can pass for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum ProfileName {
    CodeRunnerMcp,
    Runno,
    McpRunPython,
    McpServerCodeRunner,
    McpCodeExecutor,
}

/// What flags and variables come to.
#[derive(Debug)]
pub(crate) struct Chosen {
    pub(crate) kind: Kind,
    /// Where it listens, if not on standard streams.
    pub(crate) http: Option<SocketAddr>,
    pub(crate) sessions: HttpSessions,
    /// Packages that have to be here before anybody is served.
    pub(crate) packages: Vec<String>,
    /// Whether it says on standard error what it does.
    pub(crate) verbose: bool,
    /// How long its sessions may do nothing, where nobody said.
    pub(crate) session_idle: Option<Duration>,
    network: Network,
    folders: Shown,
    /// The environment that Python runs in.
    python: Option<PathBuf>,
}

/// What is particular to each.
#[derive(Debug)]
pub(crate) enum Kind {
    Ready(Profile),
    /// Only shows what such a server can do when given these of the original's flags, and serves nobody.
    Example {
        flags: Vec<String>,
    },
    CodeRunner {
        tools: mcp::profiles::Tools,
        granted: Granted,
    },
}

/// Which hosts programs reach.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Network {
    /// Those of `--network`.
    Operator,
    /// These, or those of `--network` if it is given.
    Hosts(Vec<String>),
    /// None, whatever else is said.
    None,
}

/// Which folders of the host programs see.
#[derive(Debug)]
enum Shown {
    /// Those of `--mount`, and these.
    Also(Vec<Folder>),
    /// None, whatever else is said.
    None,
}

/// The original would end here.
#[derive(Debug)]
pub(crate) struct Ended {
    code: u8,
    text: String,
}

impl Ended {
    fn failed(text: impl Into<String>) -> Self {
        Self { code: 1, text: text.into() }
    }

    /// Says why, and ends as the original does.
    pub(crate) fn exit(self) -> ExitCode {
        if self.code == 0 {
            report::print(&format!("{}\n", self.text)).ok();
        } else {
            report::note(&format!("{}\n", self.text));
        }
        ExitCode::from(self.code)
    }
}

impl From<Refusal> for Ended {
    fn from(refusal: Refusal) -> Self {
        Self::failed(format!("error: {}\n\nhint: {}", refusal.message(), refusal.hint()))
    }
}

impl Chosen {
    fn new(kind: Kind) -> Self {
        Self {
            kind,
            http: None,
            sessions: HttpSessions::Kept,
            packages: Vec::new(),
            verbose: false,
            session_idle: None,
            network: Network::Operator,
            folders: Shown::Also(Vec::new()),
            python: None,
        }
    }

    fn listening(mut self, port: u16, sessions: HttpSessions) -> Self {
        self.http = Some((Ipv4Addr::LOCALHOST, port).into());
        self.sessions = sessions;
        self
    }

    /// Puts what it grants into the settings, and says on standard error what programs have of the network.
    pub(crate) fn apply(&mut self, settings: &mut Settings) -> Result<(), Refusal> {
        let of_operator = std::mem::take(&mut settings.policy.folders);
        let folders = match &mut self.folders {
            Shown::Also(folders) => folders::merged(of_operator.iter().cloned().chain(folders.drain(..)))?,
            Shown::None => Vec::new(),
        };
        if matches!(self.folders, Shown::None) && !of_operator.is_empty() {
            report::note("belljar: programs see no folder of this machine, as with the original\n");
        }
        settings.grant_folders(folders.iter().cloned())?;
        if let Some(python) = self.python.take() {
            settings.pythons.push(python.clone());
            settings.python = Some(python);
        }
        let policy = &mut settings.policy.network;
        let hosts = match &self.network {
            Network::None => Vec::new(),
            Network::Hosts(hosts) if policy.allowed.is_empty() => {
                hosts.iter().map(|host| host.parse()).collect::<Result<Vec<HostPattern>, _>>()?
            }
            Network::Operator | Network::Hosts(_) => policy.all().cloned().collect(),
        };
        // Its callers have no argument to ask with: what is allowed is for all.
        *policy = NetworkPolicy { allowed: Vec::new(), always: hosts.clone() };
        let hosts: Vec<String> = hosts.iter().map(ToString::to_string).collect();
        report::note(&match (&self.network, hosts.as_slice()) {
            (Network::None, _) => "belljar: programs have no network\n".to_owned(),
            (_, []) => {
                "belljar: programs have no network; `--network HOST`, before `--profile`, lets them reach a host\n"
                    .to_owned()
            }
            (_, hosts) => format!("belljar: programs can reach {}\n", hosts.join(", ")),
        });
        if let Kind::CodeRunner { granted, .. } = &mut self.kind {
            granted.network = hosts;
            granted.folders = folders;
        }
        Ok(())
    }

    /// The profile, if it serves.
    pub(crate) fn into_profile(self) -> Option<Profile> {
        match self.kind {
            Kind::Ready(profile) => Some(profile),
            Kind::CodeRunner { tools, granted } => Some(Profile::code_runner_mcp(tools, granted)),
            Kind::Example { .. } => None,
        }
    }
}

/// Reads the original's flags and variables.
pub(crate) fn choose(arguments: &ServeArguments, environment: &Environment) -> Result<Option<Chosen>, Ended> {
    let Some(name) = arguments.profile else { return Ok(None) };
    let flags = arguments.original.as_slice();
    let is_for_http = matches!(name, ProfileName::McpServerCodeRunner | ProfileName::McpRunPython);
    if arguments.http.is_some() && !is_for_http {
        return Err(Ended::failed(
            "error: the original is served over standard streams only, and keeps state for its one client",
        ));
    }
    let chosen = match name {
        ProfileName::McpServerCodeRunner => flags::mcp_server_code_runner(flags, environment)?,
        ProfileName::McpRunPython => flags::mcp_run_python(flags)?,
        ProfileName::Runno => {
            no_flags(flags)?;
            let mut chosen = Chosen::new(Kind::Ready(Profile::runno()));
            chosen.network = Network::None;
            chosen.folders = Shown::None;
            chosen
        }
        ProfileName::CodeRunnerMcp => {
            no_flags(flags)?;
            code_runner::choose(environment)?
        }
        ProfileName::McpCodeExecutor => {
            no_flags(flags)?;
            executor::choose(environment)?
        }
    };
    Ok(Some(chosen))
}

fn no_flags(flags: &[String]) -> Result<(), Ended> {
    match flags.first() {
        None => Ok(()),
        Some(flag) => Err(Ended::failed(format!(
            "error: `{flag}` is no flag of the original, which takes none; belljar's own come before `--profile`"
        ))),
    }
}
