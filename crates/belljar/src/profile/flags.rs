//! Command lines of the originals that have one.

use clap::error::ErrorKind;
use clap::{Parser, ValueEnum};
use mcp::http::HttpSessions;
use mcp::profiles::{Profile, ReturnMode};

use super::{Chosen, Ended, Kind, Network};
use crate::settings::Environment;

/// Where the originals listen by default.
const CODE_RUNNER_PORT: u16 = 3088;
const RUN_PYTHON_PORT: u16 = 3001;

#[derive(Debug, Parser)]
#[command(name = "mcp-server-code-runner", no_binary_name = true, disable_version_flag = true)]
struct CodeRunner {
    #[arg(short, long, value_enum, default_value_t = Transport::Stdio)]
    transport: Transport,
    #[arg(short, long)]
    port: Option<u16>,
    #[arg(short = 'V', long)]
    version: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Transport {
    Stdio,
    Http,
}

pub(super) fn mcp_server_code_runner(flags: &[String], environment: &Environment) -> Result<Chosen, Ended> {
    let flags = CodeRunner::try_parse_from(flags).map_err(|error| complain(&error))?;
    if flags.version {
        return Err(Ended { code: 0, text: "0.1.8".to_owned() });
    }
    let chosen = Chosen::new(Kind::Ready(Profile::mcp_server_code_runner()));
    match flags.transport {
        Transport::Stdio => Ok(chosen),
        Transport::Http => {
            let set = environment.get("PORT").and_then(|port| port.parse().ok());
            Ok(chosen.listening(flags.port.or(set).unwrap_or(CODE_RUNNER_PORT), HttpSessions::None))
        }
    }
}

#[derive(Debug, Parser)]
#[command(name = "mcp-run-python", no_binary_name = true, disable_version_flag = true)]
#[expect(clippy::struct_excessive_bools, reason = "each is a flag of the original")]
struct RunPython {
    #[arg(value_enum, default_value_t = Mode::Stdio)]
    mode: Mode,
    #[arg(long)]
    port: Option<u16>,
    /// Packages that programs can import
    #[arg(long, alias = "dependencies")]
    deps: Vec<String>,
    #[arg(long)]
    disable_networking: bool,
    #[arg(long)]
    verbose: bool,
    /// The form of results, which only the original's Python API can choose
    #[arg(long, value_enum, default_value_t = Returns::Xml)]
    return_mode: Returns,
    #[arg(long)]
    version: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Mode {
    Stdio,
    StreamableHttp,
    StreamableHttpStateless,
    Example,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Returns {
    Xml,
    Json,
}

pub(super) fn mcp_run_python(flags: &[String]) -> Result<Chosen, Ended> {
    let flags = RunPython::try_parse_from(flags).map_err(|error| complain(&error))?;
    if flags.version {
        return Err(Ended { code: 0, text: "mcp-run-python 0.0.22".to_owned() });
    }
    let packages: Vec<String> = flags.deps.iter().flat_map(|list| requirements(list)).collect();
    let returns = match flags.return_mode {
        Returns::Xml => ReturnMode::Xml,
        Returns::Json => ReturnMode::Json,
    };
    let kind = match flags.mode {
        Mode::Example => Kind::Example { flags: of_example(&flags, &packages) },
        Mode::Stdio | Mode::StreamableHttp | Mode::StreamableHttpStateless => {
            Kind::Ready(Profile::mcp_run_python(returns, packages.clone()))
        }
    };
    let mut chosen = Chosen::new(kind);
    chosen.packages = packages;
    chosen.verbose = flags.verbose;
    if flags.disable_networking {
        chosen.network = Network::None;
    }
    let port = flags.port.unwrap_or(RUN_PYTHON_PORT);
    match flags.mode {
        Mode::StreamableHttp => Ok(chosen.listening(port, HttpSessions::Kept)),
        Mode::StreamableHttpStateless => Ok(chosen.listening(port, HttpSessions::None)),
        Mode::Stdio | Mode::Example if flags.port.is_some() => {
            Err(Ended::failed("error: `--port` is for `streamable-http` and `streamable-http-stateless`"))
        }
        Mode::Stdio | Mode::Example => Ok(chosen),
    }
}

/// The requirements of a list, which may have commas of their own: between extras, as in `a[b,c]`, and between versions, as in `a>=2,<3`.
fn requirements(list: &str) -> Vec<String> {
    let mut found: Vec<String> = Vec::new();
    for part in list.split(',') {
        let is_version = part.trim_start().starts_with(['<', '>', '=', '!', '~']);
        match found.last_mut() {
            Some(before) if is_version || before.rfind('[') > before.rfind(']') => before.extend([",", part]),
            Some(_) | None => found.push(part.to_owned()),
        }
    }
    found.iter().map(|requirement| requirement.trim().to_owned()).filter(|it| !it.is_empty()).collect()
}

/// The flags of the server that `example` is a client of. What it shows needs NumPy.
fn of_example(given: &RunPython, packages: &[String]) -> Vec<String> {
    let more = packages.iter().map(String::as_str).filter(|package| *package != "numpy");
    let packages: Vec<&str> = ["numpy"].into_iter().chain(more).collect();
    let network = given.disable_networking.then(|| "--disable-networking".to_owned());
    ["stdio".to_owned(), "--deps".to_owned(), packages.join(",")].into_iter().chain(network).collect()
}

/// In the originals' words where they are fixed.
fn complain(error: &clap::Error) -> Ended {
    let unknown = error.get(clap::error::ContextKind::InvalidArg);
    match (error.kind(), unknown) {
        (ErrorKind::DisplayHelp, _) => Ended { code: 0, text: error.to_string() },
        (ErrorKind::UnknownArgument, Some(argument)) => Ended::failed(format!("error: unknown option '{argument}'")),
        _ => Ended::failed(error.to_string()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requirements_have_commas_of_their_own() {
        for (list, expected) in [
            ("numpy,six", &["numpy", "six"][..]),
            (" numpy , six ,,", &["numpy", "six"]),
            ("numpy>=2,<3,six", &["numpy>=2,<3", "six"]),
            ("numpy >= 2 , != 2.1 , < 3 , six", &["numpy >= 2 , != 2.1 , < 3", "six"]),
            ("uvicorn[standard,more]>=1,~=1.2,six[a]", &["uvicorn[standard,more]>=1,~=1.2", "six[a]"]),
            ("six ; python_version >= '3.9',numpy", &["six ; python_version >= '3.9'", "numpy"]),
            ("", &[]),
        ] {
            assert_eq!(requirements(list), expected, "{list}");
        }
    }

    #[test]
    fn lists_are_added_up_under_both_names() {
        let given = ["--deps", "numpy>=2,<3", "--dependencies=six", "--verbose"].map(str::to_owned);
        let chosen = mcp_run_python(&given).expect("chosen");
        assert_eq!((chosen.packages, chosen.verbose), (vec!["numpy>=2,<3".to_owned(), "six".to_owned()], true));
    }
}
