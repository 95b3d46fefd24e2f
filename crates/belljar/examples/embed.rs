//! Runs a program in another program.

use std::process::ExitCode;

use belljar::{Belljar, Request};

fn main() -> anyhow::Result<ExitCode> {
    if let Some(end) = belljar::helper() {
        return end;
    }
    let tokio = tokio::runtime::Runtime::new()?;
    tokio.block_on(async {
        let belljar = Belljar::builder().build().await?;
        let outcome = belljar.run(Request::new("bash", "echo $((6 * 7))")).await?;
        assert_eq!(outcome.stdout.text, "42\n");
        Ok(ExitCode::SUCCESS)
    })
}
