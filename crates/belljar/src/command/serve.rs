//! `belljar serve`: the MCP server.

use std::ffi::OsString;
use std::io;
use std::num::NonZeroU32;
use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;

use anyhow::Context as _;
use belljar::{Settings, engine};
use mcp::Watch;
use mcp::audit::Audit;
use mcp::http::{Access, HttpConfig, HttpError, HttpSessions, OAuth, OAuthConfig, OAuthError, Shares, Tokens};
use runtime::SessionLimits;
use sandbox::{Language, Principal, Refusal};
use tokio::signal::unix::{SignalKind, signal};
use tokio_util::sync::CancellationToken;

use crate::arguments::{GlobalArguments, LogFormat, LogLevel, ServeArguments};
use crate::profile::{Chosen, Kind};
use crate::telemetry::{self, Traces};
use crate::{exit, report};

pub(crate) async fn run(
    arguments: ServeArguments,
    global: &GlobalArguments,
    chosen: Option<Chosen>,
    settings: &Settings,
) -> anyhow::Result<ExitCode> {
    if let Some(Chosen { kind: Kind::Example { flags }, .. }) = &chosen {
        return super::example::run_python(&shown_server(global, &arguments, flags)).await;
    }
    let address = arguments.http.or(chosen.as_ref().and_then(|chosen| chosen.http));
    let is_verbose = address.is_some() || chosen.as_ref().is_some_and(|chosen| chosen.verbose);
    let default_level = if is_verbose { LogLevel::Info } else { LogLevel::Warn };
    telemetry::log(arguments.log.unwrap_or(default_level), arguments.log_format);
    let config = http_config(&arguments, chosen.as_ref())?;
    let audit = match &arguments.audit {
        Some(path) => Some(Audit::open(path).with_context(|| format!("cannot write to `{}`", path.display()))?),
        None => None,
    };
    let endpoint = arguments.otlp.as_deref().filter(|endpoint| !endpoint.is_empty());
    let traces = endpoint.map(Traces::start).transpose()?;
    // Before anything is started: an address that is taken, or open to everybody, is the caller's to change.
    let listener = match address {
        Some(address) => Some(mcp::http::listen(address, &config.access).await.map_err(refuse_open)?),
        None => None,
    };
    let saved = settings.cache.join("sessions");
    let mut runtime = engine::runtime(settings, Vec::new()).await?;
    match arguments.runs_per_caller {
        Some(most) => runtime = runtime.with_most_per_caller(usize::try_from(most.get())?),
        // Nobody who shares the server keeps all others from it for as long as a run may last.
        None if !config.access.is_open() => {
            runtime = runtime.with_most_per_caller(runtime::runs_at_one_time() * 3 / 4);
        }
        None => {}
    }
    let runtime = runtime.with_session_limits(session_limits(&arguments, chosen.as_ref())?);
    let runtime = Arc::new(runtime);
    warm_up(&runtime);
    if let Err(error) = install(chosen.as_ref(), &runtime).await {
        exit::failure(&error);
        return Ok(ExitCode::FAILURE);
    }
    let watch = Watch { audit, traces: traces.is_some(), saved: Some(saved) };
    let server = match chosen.and_then(Chosen::into_profile) {
        Some(profile) => mcp::Server::passing_for(profile, runtime, watch),
        None if arguments.conformance_fixtures => mcp::Server::with_conformance_fixtures(runtime),
        None => mcp::Server::new(runtime, watch),
    };
    let (shutdown, now) = (CancellationToken::new(), CancellationToken::new());
    stop_on_signals(shutdown.clone(), now.clone())?;
    // Whatever still goes on after this ends with the process: the launcher ends its guests.
    if let Some(listener) = listener {
        let address = listener.local_addr()?;
        match arguments.log_format {
            LogFormat::Text => report::note(&format!("belljar: serving at http://{address}/mcp\n")),
            LogFormat::Json => tracing::info!(address = format!("http://{address}/mcp"), "serving"),
        }
        tokio::select! {
            () = mcp::http::serve(server, listener, config, shutdown) => {}
            () = now.cancelled() => {}
        }
    } else {
        mcp::serve_stdio(&server, shutdown).await?;
    }
    Ok(ExitCode::SUCCESS)
}

/// The command line of the server that an example is a client of: what it was told itself.
fn shown_server(global: &GlobalArguments, arguments: &ServeArguments, flags: &[String]) -> Vec<OsString> {
    let hosts = arguments.network.iter().flat_map(|host| ["--network", host]);
    let folders = arguments.mounts.iter().flat_map(|folder| ["--mount", folder]);
    let own = hosts.chain(folders).chain(["--profile", "mcp-run-python"]);
    let own = own.chain(flags.iter().map(String::as_str)).map(OsString::from);
    global.to_command_line().into_iter().chain(own).collect()
}

fn session_limits(arguments: &ServeArguments, chosen: Option<&Chosen>) -> anyhow::Result<SessionLimits> {
    let of_profile = chosen.and_then(|chosen| chosen.session_idle);
    Ok(SessionLimits {
        most: usize::try_from(arguments.sessions_per_caller.get())?,
        idle: arguments.session_idle.or(of_profile).unwrap_or(SessionLimits::default().idle),
    })
}

/// What a profile's flags name has to be here before anybody is served.
async fn install(chosen: Option<&Chosen>, runtime: &runtime::Runtime) -> anyhow::Result<()> {
    let packages = chosen.map(|chosen| chosen.packages.as_slice()).unwrap_or_default();
    let Some(python) = Language::find("python").filter(|_| !packages.is_empty()) else { return Ok(()) };
    runtime.install(python, &Principal::default(), packages, &mut ()).await?;
    Ok(())
}

fn http_config(arguments: &ServeArguments, chosen: Option<&Chosen>) -> anyhow::Result<HttpConfig> {
    let oauth = match (&arguments.oauth_issuer, &arguments.oauth_resource) {
        (Some(issuer), Some(resource)) => {
            let (issuer, resource) = (issuer.clone(), resource.clone());
            let config = OAuthConfig { issuer, resource, scopes: arguments.oauth_scopes.clone() };
            let refuse =
                |error: OAuthError| Refusal::new("oauth", error.to_string(), "use https, or http on this machine");
            Some(OAuth::new(config).map_err(refuse)?)
        }
        (Some(_), None) | (None, Some(_) | None) => None,
    };
    let access = Access {
        tokens: arguments.tokens.as_deref().map(read_tokens).transpose()?,
        hosts: arguments.hosts.iter().cloned().chain(oauth.iter().filter_map(OAuth::host)).collect(),
        oauth,
        origins: arguments.origins.clone(),
    };
    let calls = arguments.calls_per_caller.map_or(Shares::default().calls, NonZeroU32::get);
    let shares = Shares { calls, rate: arguments.rate };
    let sessions = chosen.map_or(HttpSessions::Kept, |chosen| chosen.sessions);
    Ok(HttpConfig { access, shares, drain: arguments.drain, sessions })
}

fn refuse_open(error: HttpError) -> anyhow::Error {
    match error {
        HttpError::Open(_) => {
            let hint = "use 127.0.0.1, or give callers tokens with `--tokens FILE` or `--oauth-issuer URL`";
            Refusal::new("http", error.to_string(), hint).into()
        }
        HttpError::Listen { .. } => error.into(),
    }
}

fn read_tokens(path: &Path) -> anyhow::Result<Tokens> {
    let text = std::fs::read_to_string(path).with_context(|| format!("cannot read the tokens `{}`", path.display()))?;
    Tokens::parse(&text).with_context(|| format!("the tokens in `{}` cannot be used", path.display()))
}

/// Starts what the first call would have to wait for.
fn warm_up(runtime: &Arc<runtime::Runtime>) {
    let runtime = Arc::clone(runtime);
    tokio::spawn(async move { runtime.warm_up().await });
}

/// The first signal asks for an end, the second one does not ask.
fn stop_on_signals(shutdown: CancellationToken, now: CancellationToken) -> io::Result<()> {
    let (mut interrupt, mut terminate) = (signal(SignalKind::interrupt())?, signal(SignalKind::terminate())?);
    tokio::spawn(async move {
        for token in [shutdown, now] {
            tokio::select! {
                _ = interrupt.recv() => {}
                _ = terminate.recv() => {}
            }
            token.cancel();
        }
    });
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    use std::time::Duration;

    use clap::Parser as _;

    use crate::arguments::{Arguments, Command};
    use crate::profile;
    use crate::settings::Environment;

    /// How long sessions may do nothing in a server that is started like this.
    fn idle(flags: &[&str]) -> Duration {
        let arguments = Arguments::try_parse_from([&["belljar", "serve"], flags].concat()).expect("arguments");
        let Command::Serve(arguments) = arguments.command else { panic!("another command") };
        let chosen = profile::choose(&arguments, &Environment::default()).expect("a profile, or none");
        session_limits(&arguments, chosen.as_ref()).expect("limits").idle
    }

    #[test]
    fn a_session_that_nobody_named_stays() {
        let year = Duration::from_hours(365 * 24);
        assert!(idle(&["--profile", "code-runner-mcp"]) > year);
        assert_eq!(idle(&["--session-idle", "5m", "--profile", "code-runner-mcp"]), Duration::from_mins(5));
        assert_eq!(idle(&["--profile", "runno"]), Duration::from_mins(30));
        assert_eq!(idle(&[]), Duration::from_mins(30));
    }
}
