//! The command line.

use std::ffi::OsString;
use std::fmt;
use std::net::{Ipv4Addr, SocketAddr};
use std::num::NonZeroU32;
use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, Parser, Subcommand, ValueEnum};
use sandbox::{Bytes, Requirement};

use crate::profile::ProfileName;

/// Runs code that nobody has vetted, and hands back everything worth knowing about the run.
#[derive(Debug, Parser)]
#[command(name = "belljar", version, about, max_term_width = 110)]
pub(crate) struct Arguments {
    #[command(flatten)]
    pub(crate) global: GlobalArguments,
    #[command(subcommand)]
    pub(crate) command: Command,
}

#[derive(Debug, Args)]
pub(crate) struct GlobalArguments {
    /// Configuration file [default: belljar/belljar.toml in the user's configuration folder]
    #[arg(long, global = true, value_name = "FILE")]
    pub(crate) config: Option<PathBuf>,
    /// The weakest isolation to accept: `full`, or `landlock` on hosts that block user namespaces [default: full]
    #[arg(long, global = true, value_name = "LEVEL")]
    pub(crate) require: Option<Requirement>,
    /// A virtual or conda environment that Python programs run in natively
    #[arg(long, global = true, value_name = "PATH")]
    pub(crate) environment: Option<PathBuf>,
}

impl GlobalArguments {
    /// The same, for another process of this program.
    pub(crate) fn to_command_line(&self) -> Vec<OsString> {
        let config = self.config.iter().flat_map(|path| ["--config".into(), path.into()]);
        let require = self.require.iter().flat_map(|level| ["--require".into(), level.to_string().into()]);
        let environment = self.environment.iter().flat_map(|path| ["--environment".into(), path.into()]);
        config.chain(require).chain(environment).collect()
    }
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Run code once; its output and exit code are passed through
    Run(Box<RunArguments>),
    /// Serve assistants: MCP over standard input and output, or over HTTP
    Serve(Box<ServeArguments>),
    /// Show the configuration that makes a client start belljar, or add it to the client's own
    Connect(ConnectArguments),
    /// Run a sample in every language found on this machine and show the results
    Example(ExampleArguments),
    /// Set up runtimes of the WebAssembly engine, once for this machine
    Setup(SetupArguments),
    /// Check the log that `serve --audit` writes
    Audit(AuditArguments),
    /// Show what is enforced here, what is found, and what to do about the rest
    Doctor(DoctorArguments),
    /// Print what makes a shell complete belljar's commands and options
    Completions(CompletionsArguments),
    /// Print the manual page
    #[command(hide = true)]
    Man,
}

#[derive(Debug, Args)]
pub(crate) struct CompletionsArguments {
    /// The shell
    #[arg(value_enum)]
    pub(crate) shell: clap_complete::Shell,
}

impl Command {
    /// What its flags let runs have outside of their sandbox.
    pub(crate) fn grants(&self) -> GrantFlags<'_> {
        match self {
            Self::Run(arguments) => GrantFlags { mounts: &arguments.mounts, network: &arguments.network },
            Self::Serve(arguments) => GrantFlags { mounts: &arguments.mounts, network: &arguments.network },
            Self::Doctor(arguments) => GrantFlags { mounts: &arguments.mounts, network: &arguments.network },
            Self::Connect(_)
            | Self::Example(_)
            | Self::Setup(_)
            | Self::Audit(_)
            | Self::Completions(_)
            | Self::Man => GrantFlags::default(),
        }
    }
}

/// Folders and hosts, as they were written.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct GrantFlags<'a> {
    pub(crate) mounts: &'a [String],
    pub(crate) network: &'a [String],
}

#[derive(Debug, Args)]
#[command(
    after_help = "Exit code: the program's own; 124 timed out; 137 ended by a limit or a signal; 125 belljar refused or failed."
)]
pub(crate) struct RunArguments {
    /// The program; `-` reads it from standard input
    #[arg(value_name = "FILE", required_unless_present = "code", conflicts_with = "code")]
    pub(crate) file: Option<PathBuf>,
    /// The program itself
    #[arg(short = 'c', long, value_name = "CODE", allow_hyphen_values = true)]
    pub(crate) code: Option<String>,
    /// Its language [default: worked out from the code]
    #[arg(short, long, value_name = "LANG")]
    pub(crate) language: Option<String>,
    /// Which engine runs it
    #[arg(long, value_enum, default_value_t = EngineArgument::Auto)]
    pub(crate) engine: EngineArgument,
    /// A file to copy into the workspace, under the same relative path or another NAME (repeatable)
    #[arg(long = "file", value_name = "[NAME=]PATH")]
    pub(crate) files: Vec<OsString>,
    /// What the program reads from standard input; `-` passes ours on [default: nothing]
    #[arg(long, value_name = "FILE|-")]
    pub(crate) stdin: Option<PathBuf>,
    /// An environment variable (repeatable)
    #[arg(long, value_name = "NAME=VALUE")]
    pub(crate) env: Vec<String>,
    /// An argument for the compiler of C or C++, such as -O3 or -std=c++20 (repeatable)
    #[arg(long = "compiler-arg", value_name = "ARG", allow_hyphen_values = true)]
    pub(crate) compiler_args: Vec<String>,
    /// A variable that the program finds set, its value as JSON (repeatable; Python, JavaScript, TypeScript)
    #[arg(long = "variable", value_name = "NAME=JSON")]
    pub(crate) variables: Vec<String>,
    /// A package that the program imports, such as pandas or zod@^3 (repeatable; Python, JavaScript, TypeScript)
    #[arg(long = "package", value_name = "SPEC", allow_hyphen_values = true)]
    pub(crate) packages: Vec<String>,
    /// Wall-clock limit, such as 10s or 500ms
    #[arg(long, value_parser = humantime::parse_duration, value_name = "TIME")]
    pub(crate) timeout: Option<Duration>,
    /// CPU time limit
    #[arg(long, value_parser = humantime::parse_duration, value_name = "TIME")]
    pub(crate) cpu: Option<Duration>,
    /// Memory limit, such as 512MiB
    #[arg(long, value_name = "SIZE")]
    pub(crate) memory: Option<Bytes>,
    /// Limit on everything it writes to files
    #[arg(long, value_name = "SIZE")]
    pub(crate) disk: Option<Bytes>,
    /// Limit on processes and threads
    #[arg(long, value_name = "COUNT")]
    pub(crate) processes: Option<u32>,
    /// Hosts that the program may connect to, such as example.org, *.example.org or example.org:8443; `*` is any public one
    #[arg(long, value_name = "HOST[:PORT]", value_delimiter = ',')]
    pub(crate) network: Vec<String>,
    /// A folder of this machine that the program sees at GUEST, or where it is; `rw` lets the program change it (repeatable)
    #[arg(long = "mount", value_name = "HOST[:GUEST][:ro|rw]")]
    pub(crate) mounts: Vec<String>,
    /// Where to put the files that the program made
    #[arg(long, value_name = "DIR")]
    pub(crate) out: Option<PathBuf>,
    /// Print the structured result instead of the program's output
    #[arg(long)]
    pub(crate) json: bool,
    /// Leave a layer of isolation out, to show in a test what it is for
    #[arg(long, hide = true, value_name = "LAYER", value_parser = layer)]
    pub(crate) without: Vec<jail::Layer>,
    /// Give the program to an interpreter that waited for it, as a server does, to test that nobody can tell
    #[arg(long, hide = true)]
    pub(crate) parked: bool,
    /// The program's arguments
    #[arg(last = true, value_name = "ARGS")]
    pub(crate) args: Vec<String>,
}

#[derive(Debug, Args)]
pub(crate) struct ServeArguments {
    /// Serve over HTTP at this address, such as 127.0.0.1:8300, path `/mcp`. Other than loopback addresses need `--tokens` or
    /// `--oauth-issuer`
    #[arg(long, value_name = "ADDRESS", value_parser = listening)]
    pub(crate) http: Option<SocketAddr>,
    /// Callers and their bearer tokens: a file with a line `NAME TOKEN` for each
    #[arg(long, value_name = "FILE", requires = "http")]
    pub(crate) tokens: Option<PathBuf>,
    /// Hosts that callers may ask for in `network`, such as api.example.org or *.example.org; `*` is any public one
    #[arg(long, value_name = "HOST[:PORT]", value_delimiter = ',')]
    pub(crate) network: Vec<String>,
    /// A folder of this machine that every run sees at GUEST, or where it is; `rw` lets runs change it (repeatable)
    #[arg(long = "mount", value_name = "HOST[:GUEST][:ro|rw]")]
    pub(crate) mounts: Vec<String>,
    /// Write a line for every run into this file: who, which code by its hash, which limits and walls, what came of it
    #[arg(long, value_name = "FILE")]
    pub(crate) audit: Option<PathBuf>,
    /// A name of this server that clients may use beside localhost, such as code.example.org (repeatable)
    #[arg(long = "host", value_name = "NAME", requires = "http")]
    pub(crate) hosts: Vec<String>,
    /// A web origin that may call it beside local ones, such as `https://app.example.org:443` (repeatable)
    #[arg(long = "origin", value_name = "ORIGIN", requires = "http")]
    pub(crate) origins: Vec<String>,
    /// An OAuth 2.1 authorization server whose tokens let callers in, such as `https://id.example.org`
    #[arg(long, value_name = "URL", requires_all = ["http", "oauth_resource"])]
    pub(crate) oauth_issuer: Option<String>,
    /// What this server is called in those tokens (`aud`): the address that clients use, such as `https://code.example.org/mcp`
    #[arg(long, value_name = "URL", requires = "oauth_issuer")]
    pub(crate) oauth_resource: Option<String>,
    /// A scope that those tokens must have (repeatable)
    #[arg(long = "oauth-scope", value_name = "SCOPE", requires = "oauth_issuer")]
    pub(crate) oauth_scopes: Vec<String>,
    /// Runs of one caller at one time; more wait [default: three quarters of the turns, where callers are told apart]
    #[arg(long, value_name = "COUNT")]
    pub(crate) runs_per_caller: Option<NonZeroU32>,
    /// Sessions of one caller at one time
    #[arg(long, value_name = "COUNT", default_value = "64")]
    pub(crate) sessions_per_caller: NonZeroU32,
    /// How long a session may do nothing before it is closed [default: 30m; with `--profile code-runner-mcp`, for ever]
    #[arg(long, value_name = "TIME", value_parser = humantime::parse_duration)]
    pub(crate) session_idle: Option<Duration>,
    /// Calls of one caller that are not answered yet; more get a 429 [default: 256]
    #[arg(long, value_name = "COUNT", requires = "http")]
    pub(crate) calls_per_caller: Option<NonZeroU32>,
    /// Requests of one caller a second; more get a 429 [default: no limit]
    #[arg(long, value_name = "COUNT", requires = "http")]
    pub(crate) rate: Option<NonZeroU32>,
    /// How long requests may still go on when the server is told to stop
    #[arg(long, value_name = "TIME", value_parser = humantime::parse_duration, requires = "http", default_value = "800ms")]
    pub(crate) drain: Duration,
    /// What to write to standard error [default: info over HTTP, else warn]
    #[arg(long, value_name = "LEVEL", value_enum)]
    pub(crate) log: Option<LogLevel>,
    /// How to write it
    #[arg(long, value_name = "FORMAT", value_enum, default_value_t = LogFormat::Text)]
    pub(crate) log_format: LogFormat,
    /// Where to send traces of runs, by OTLP over HTTP, such as `http://127.0.0.1:4318`
    #[arg(long, value_name = "URL", env = "OTEL_EXPORTER_OTLP_ENDPOINT")]
    pub(crate) otlp: Option<String>,
    /// Pass for another server: its tools, its results, its flags, its variables
    #[arg(long, value_name = "NAME", value_enum, conflicts_with = "conformance_fixtures")]
    pub(crate) profile: Option<ProfileName>,
    /// With `--profile`, flags of the server that ours passes for, such as `stdio --deps numpy`. belljar's own come before them
    #[arg(value_name = "FLAGS", requires = "profile", trailing_var_arg = true, allow_hyphen_values = true)]
    pub(crate) original: Vec<String>,
    /// Serve what the protocol's conformance suites expect to find, too
    #[arg(long, hide = true)]
    pub(crate) conformance_fixtures: bool,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
pub(crate) enum LogLevel {
    Off,
    Error,
    Warn,
    Info,
    Debug,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum LogFormat {
    Text,
    /// A line of JSON for each event
    Json,
}

#[derive(Debug, Args)]
pub(crate) struct AuditArguments {
    #[command(subcommand)]
    pub(crate) command: AuditCommand,
}

#[derive(Debug, Subcommand)]
pub(crate) enum AuditCommand {
    /// Check that no entry was changed, removed or put in
    Verify {
        /// The log
        #[arg(value_name = "FILE")]
        file: PathBuf,
    },
}

#[derive(Debug, Args)]
pub(crate) struct ConnectArguments {
    /// Which client
    #[arg(value_enum)]
    pub(crate) client: Client,
    /// Add it to the client's configuration; a copy of what was there is kept
    #[arg(long)]
    pub(crate) write: bool,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
pub(crate) enum Client {
    ClaudeCode,
    ClaudeDesktop,
    Cursor,
    Vscode,
    Codex,
}

impl fmt::Display for Client {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let value = self.to_possible_value();
        f.write_str(value.as_ref().map_or("", |value| value.get_name()))
    }
}

#[derive(Debug, Clone, Copy, ValueEnum)]
pub(crate) enum EngineArgument {
    Auto,
    Wasm,
    Native,
}

#[derive(Debug, Args)]
pub(crate) struct ExampleArguments {
    /// Only these languages
    #[arg(value_name = "LANG")]
    pub(crate) languages: Vec<String>,
}

#[derive(Debug, Args)]
pub(crate) struct SetupArguments {
    /// Only these languages or runtimes [default: all]
    #[arg(value_name = "LANG")]
    pub(crate) languages: Vec<String>,
    /// Show what is set up, and set up nothing
    #[arg(long)]
    pub(crate) list: bool,
    /// Write what is set up (of these languages, or all of it) into a file, for machines without registries
    #[arg(long, value_name = "FILE", conflicts_with = "list")]
    pub(crate) export: Option<PathBuf>,
    /// Set up what is in such a file. It becomes part of every run: take it only from somebody you trust
    #[arg(long, value_name = "FILE", conflicts_with_all = ["list", "export", "languages"])]
    pub(crate) import: Option<PathBuf>,
}

#[derive(Debug, Args)]
#[command(
    after_help = "Exit code: 0 when the isolation level is accepted and, with --attack, nothing got through; else 1."
)]
pub(crate) struct DoctorArguments {
    /// Print it as JSON
    #[arg(long)]
    pub(crate) json: bool,
    /// Attack this very host from inside runs, harmlessly, and show what was tried and what stopped it
    #[arg(long)]
    pub(crate) attack: bool,
    /// As for `serve`: look at what runs would have with it
    #[arg(long, value_name = "HOST[:PORT]", value_delimiter = ',')]
    pub(crate) network: Vec<String>,
    /// As for `serve`: look at what runs would have with it (repeatable)
    #[arg(long = "mount", value_name = "HOST[:GUEST][:ro|rw]")]
    pub(crate) mounts: Vec<String>,
    /// Leave a layer of isolation out, to show in a test that the attack sees it
    #[arg(long, hide = true, value_name = "LAYER", value_parser = layer, requires = "attack")]
    pub(crate) without: Vec<jail::Layer>,
}

/// An address to listen at. `localhost` is the one that every machine has.
fn listening(text: &str) -> Result<SocketAddr, String> {
    let local = || Some((Ipv4Addr::LOCALHOST, text.strip_prefix("localhost:")?.parse().ok()?).into());
    let address = text.parse().ok().or_else(local);
    address.ok_or_else(|| "write an address and a port, such as 127.0.0.1:8300".to_owned())
}

fn layer(name: &str) -> Result<jail::Layer, String> {
    let found = jail::Layer::ALL.into_iter().find(|(_, known)| *known == name);
    found.map(|(layer, _)| layer).ok_or_else(|| {
        let names: Vec<&str> = jail::Layer::ALL.iter().map(|(_, name)| *name).collect();
        format!("use one of {}", names.join(", "))
    })
}

#[cfg(test)]
mod tests {
    use super::listening;

    #[test]
    fn an_address_to_listen_at_is_a_number_or_this_machine() {
        let shown = |text| listening(text).map(|address| address.to_string()).ok();
        assert_eq!(shown("localhost:8300").as_deref(), Some("127.0.0.1:8300"));
        assert_eq!(shown("[::1]:0").as_deref(), Some("[::1]:0"));
        for wrong in ["localhost", "localhost:", "localhost:99999", "example.org:80", "8300", ""] {
            assert_eq!(shown(wrong), None, "{wrong}");
        }
    }
}
