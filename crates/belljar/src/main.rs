//! belljar: runs code that nobody has vetted. The only crate that prints, exits and reads the environment.

mod arguments;
mod command;
mod exit;
mod profile;
#[cfg(test)]
mod reference;
mod report;
mod settings;
mod telemetry;

use std::process::ExitCode;
use std::time::Duration;

use clap::Parser as _;

use crate::arguments::{Arguments, Command};
use crate::settings::{Environment, Transport};

fn main() -> ExitCode {
    // Before anything else: the launcher must have a single thread, and wants nothing of what follows.
    if let Some(end) = belljar::helper() {
        return end.unwrap_or_else(|error| exit::failure(&error));
    }
    let arguments = match Arguments::try_parse() {
        Ok(arguments) => arguments,
        Err(error) => return exit::usage(&error),
    };
    match dispatch(arguments) {
        Ok(code) => code,
        Err(error) => exit::failure(&error),
    }
}

/// How long tasks may take to end when a command is over.
const LAST_TASKS: Duration = Duration::from_millis(100);

fn dispatch(arguments: Arguments) -> anyhow::Result<ExitCode> {
    jail::launcher::raise_descriptor_limit();
    jail::give_large_blocks_back();
    let Arguments { global, command } = arguments;
    let environment = Environment::read();
    let (transport, mut chosen) = if let Command::Serve(arguments) = &command {
        let chosen = match profile::choose(arguments, &environment) {
            Ok(chosen) => chosen,
            Err(ended) => return Ok(ended.exit()),
        };
        let is_shared = arguments.http.or(chosen.as_ref().and_then(|chosen| chosen.http)).is_some();
        (if is_shared { Transport::Shared } else { Transport::Own }, chosen)
    } else {
        (Transport::None, None)
    };
    let mut settings = settings::resolve((&global, command.grants()), &environment, transport)?;
    if let Some(chosen) = &mut chosen {
        chosen.apply(&mut settings)?;
    }
    if let Command::Serve(arguments) = &command {
        settings.keep_to_itself(arguments.audit.iter().chain(&arguments.tokens).cloned())?;
    }
    // Two workers: a guest's output may be written to a slow reader on one while the other keeps time.
    let tokio = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build()?;
    let end = tokio.block_on(async {
        match command {
            Command::Run(arguments) => command::run::run(*arguments, &settings).await,
            Command::Serve(arguments) => command::serve::run(*arguments, &global, chosen, &settings).await,
            Command::Connect(arguments) => command::connect::run(&arguments, settings.tools.home.as_deref()),
            Command::Example(arguments) => command::example::run(&arguments, &global, &settings).await,
            Command::Setup(arguments) => command::setup::run(arguments, &settings).await,
            Command::Audit(arguments) => command::audit::run(&arguments),
            Command::Doctor(arguments) => command::doctor::run(&arguments, &settings).await,
            Command::Completions(arguments) => command::manual::completions(&arguments),
            Command::Man => command::manual::page(),
        }
    });
    // Tasks that still read standard input, or ask an issuer, are not waited for; those that can end get the time to.
    tokio.shutdown_timeout(LAST_TASKS);
    end
}
