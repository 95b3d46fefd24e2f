//! `belljar audit`: what the server's audit log says.

use std::process::ExitCode;

use anyhow::Context as _;

use crate::arguments::{AuditArguments, AuditCommand};
use crate::report;

pub(crate) fn run(arguments: &AuditArguments) -> anyhow::Result<ExitCode> {
    match &arguments.command {
        AuditCommand::Verify { file } => {
            let verified = mcp::audit::verify(file).with_context(|| format!("cannot verify `{}`", file.display()))?;
            report::print(&format!(
                "{} entries, every one follows the one before\nlast hash: {} (keep it elsewhere to notice entries taken off the end)\n",
                verified.lines, verified.last
            ))?;
            Ok(ExitCode::SUCCESS)
        }
    }
}
