//! What the command line says of itself to shells and to `man`.

use std::process::ExitCode;

use clap::CommandFactory as _;

use crate::arguments::{Arguments, CompletionsArguments};
use crate::report;

pub(crate) fn completions(arguments: &CompletionsArguments) -> anyhow::Result<ExitCode> {
    let mut script = Vec::new();
    clap_complete::generate(arguments.shell, &mut Arguments::command(), "belljar", &mut script);
    report::print(&String::from_utf8(script)?)?;
    Ok(ExitCode::SUCCESS)
}

/// One page: each command with its options is a section of it.
pub(crate) fn page() -> anyhow::Result<ExitCode> {
    let mut page = Vec::new();
    let program = Arguments::command().disable_help_subcommand(true);
    let manual = clap_mangen::Man::new(program.clone());
    manual.render_title(&mut page)?;
    manual.render_name_section(&mut page)?;
    manual.render_synopsis_section(&mut page)?;
    manual.render_description_section(&mut page)?;
    manual.render_options_section(&mut page)?;
    for command in program.get_subcommands().filter(|command| !command.is_hide_set()) {
        let name = format!("belljar {}", command.get_name());
        let section = clap_mangen::Man::new(command.clone().bin_name(name));
        section.render_synopsis_section(&mut page)?;
        section.render_description_section(&mut page)?;
        section.render_options_section(&mut page)?;
    }
    report::print(&String::from_utf8(page)?)?;
    Ok(ExitCode::SUCCESS)
}
