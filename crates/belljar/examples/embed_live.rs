//! Runs a program with a file and within limits, hears what it prints while it goes on, and takes what it made.

use std::process::ExitCode;
use std::time::Duration;

use belljar::{
    Belljar, Bytes, Collect, EngineChoice, EngineId, InputFile, LimitsRequest, LiveOutput, Policy, Request, RunError,
    Status, Stream,
};

/// What was printed so far.
#[derive(Default)]
struct Heard(Vec<u8>);

impl LiveOutput for Heard {
    fn output(&mut self, stream: Stream, bytes: &[u8]) {
        if stream == Stream::Stdout {
            self.0.extend(bytes);
        }
    }
}

fn main() -> anyhow::Result<ExitCode> {
    if let Some(end) = belljar::helper() {
        return end;
    }
    let tokio = tokio::runtime::Runtime::new()?;
    tokio.block_on(async {
        // No run may ask for more.
        let mut policy = Policy::default();
        policy.ceilings.wall = Duration::from_secs(10);
        let belljar = Belljar::builder().policy(policy).build().await?;

        let prices = InputFile { path: "prices.csv".into(), contents: b"day,price\n1,20\n2,25\n".to_vec() };
        let request = Request {
            files: vec![prices],
            limits: LimitsRequest { memory: Some(Bytes::mib(128)), ..LimitsRequest::default() },
            collect: Collect::Contents,
            engine: EngineChoice::Only(EngineId::Native),
            ..Request::new("bash", "wc -l < prices.csv; tail -1 prices.csv > last.csv")
        };
        let mut heard = Heard::default();
        let outcome = belljar.run_live(request, &mut heard).await?;
        assert_eq!((outcome.status, heard.0.as_slice()), (Status::Completed { exit_code: 0 }, &b"3\n"[..]));
        let made = outcome.files.first().map(|file| (file.path.as_str(), file.contents.as_deref()));
        assert_eq!(made, Some(("last.csv", Some(&b"2,25\n"[..]))));

        let within = |wall| Request {
            limits: LimitsRequest { wall: Some(wall), ..LimitsRequest::default() },
            ..Request::new("bash", "while :; do :; done")
        };
        assert_eq!(belljar.run(within(Duration::from_millis(300))).await?.status, Status::TimedOut);
        let asked = belljar.run(within(Duration::from_mins(1))).await;
        let Err(RunError::Refused(refusal)) = asked else { anyhow::bail!("more than the ceiling: {asked:?}") };
        assert_eq!(refusal.argument(), "timeout");
        Ok(ExitCode::SUCCESS)
    })
}
