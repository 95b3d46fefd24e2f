//! Languages without a live interpreter: each cell is a program of its own, in the session's workspace.

use std::io;
use std::os::fd::OwnedFd;

use jail::{Batch, Limit, RunStdio};
use rustix::pipe::{PipeFlags, pipe_with};
use sandbox::{Plan, Refusal, SessionState, Step, Stream};
use tokio::io::AsyncWriteExt as _;
use tokio::net::unix::pipe::{Receiver, Sender};

use super::interpreter::{Buffers, Keeping};
use super::room::News;
use super::{CellEnd, Death, GRACE, NativeSession, Time, files};
use crate::collect::{Survey, beside_others};
use crate::error::NativeError;
use crate::pace::Pace;
use crate::tools::FoundTool;
use crate::{recipe, run};

/// Our ends of a program's pipes.
struct Pipes {
    stdin: Option<Sender>,
    stdout: Option<Receiver>,
    stderr: Option<Receiver>,
}

impl Pipes {
    fn open() -> io::Result<(Self, RunStdio)> {
        let (guest_stdin, stdin) = pipe_with(PipeFlags::CLOEXEC)?;
        let output = || -> io::Result<(Receiver, OwnedFd)> {
            let (ours, theirs) = pipe_with(PipeFlags::CLOEXEC)?;
            Ok((Receiver::from_owned_fd(ours)?, theirs))
        };
        let (stdout, guest_stdout) = output()?;
        let (stderr, guest_stderr) = output()?;
        let ours = Self { stdin: Some(Sender::from_owned_fd(stdin)?), stdout: Some(stdout), stderr: Some(stderr) };
        Ok((ours, RunStdio { stdin: guest_stdin, stdout: guest_stdout, stderr: guest_stderr, control: None }))
    }
}

impl NativeSession {
    /// Compiles and runs a program of its own.
    pub(super) async fn run_program(
        &mut self,
        plan: &Plan,
        tool: &FoundTool,
        before: &Survey,
        keeping: &mut Keeping<'_>,
    ) -> Result<CellEnd, NativeError> {
        let source = &plan.names().source;
        if before.has(source) && !self.programs.contains(source) {
            let message =
                format!("the session has something called `{source}`, which is what this program would be called");
            return Err(NativeError::Refused(Refusal::new("code", message, "rename that, or use another session")));
        }
        let wants_database = tool.toolchain.run.contains(&"{database}");
        let database = if wants_database { beside_others(|| files::database(self.room.workspace())) } else { None };
        let plan_alone = recipe::plan_for(plan.clone().with_layer(None), tool);
        let recipe = recipe::for_plan(&plan_alone, tool, &self.shared.view, self.shared.walls()?, database.as_deref())?;
        let contents: Vec<&[u8]> = recipe.contents.iter().map(AsRef::as_ref).collect();
        let batch =
            Batch { environment: recipe.spec.environment, files: recipe.spec.files, commands: recipe.spec.commands };
        let has_compiler = batch.commands.len() > 1;
        self.programs.insert(source.clone());
        let (mut pipes, theirs) = Pipes::open().map_err(NativeError::pipes)?;
        let limits = plan.limits();
        self.room.go_on(limits.wall + GRACE, limits.cpu);
        let number = self.room.start(&batch, &contents, &theirs)?;
        drop(theirs);
        self.underway = Some(number);
        let deadline = tokio::time::Instant::now() + limits.wall;
        let (mut buffers, mut time, mut others) = (Buffers::new(), Time::Left, Vec::new());
        let (mut unsent, mut pace) = (plan.stdin(), Pace::new());
        let death = loop {
            let Pipes { stdin, stdout, stderr } = &mut pipes;
            tokio::select! {
                count = run::read(stdout, &mut buffers.out), if stdout.is_some() => {
                    if count == 0 { *stdout = None } else { keeping.take(Stream::Stdout, buffers.of(Stream::Stdout, count)) }
                    pace.rest_after(count).await;
                }
                count = run::read(stderr, &mut buffers.err), if stderr.is_some() => {
                    if count == 0 { *stderr = None } else { keeping.take(Stream::Stderr, buffers.of(Stream::Stderr, count)) }
                    pace.rest_after(count).await;
                }
                count = async { match stdin { Some(stdin) => stdin.write(unsent).await, None => Ok(0) } }, if stdin.is_some() => {
                    // The guest closed its input, so it does not want the rest.
                    unsent = unsent.get(count.unwrap_or(unsent.len())..).unwrap_or_default();
                    if unsent.is_empty() {
                        *stdin = None;
                    }
                }
                news = self.room.news() => match news? {
                    News::Ended(end) if end.batch == number => break Death::Ended(end),
                    News::Ended(end) => others.push(end.batch),
                    News::CpuOver if time == Time::Left => {
                        time = Time::Over(Limit::Cpu);
                        self.room.interrupt(number);
                    }
                    News::Cleared(limit) => break Death::Cleared(limit),
                    News::CpuOver | News::Resting(_) | News::Written(_) => {}
                },
                () = tokio::time::sleep_until(deadline), if time == Time::Left => {
                    time = Time::Over(Limit::Wall);
                    self.room.interrupt(number);
                }
            }
        };
        keeping.drain(pipes.stdout.as_ref(), pipes.stderr.as_ref());
        self.underway = None;
        self.forget(&others);
        match death {
            Death::Ended(end) => {
                let status = self.judge(end).await?;
                let status = time.status().unwrap_or(status);
                let step = if has_compiler && end.command == 0 { Step::Compile } else { Step::Run };
                Ok(CellEnd { status, state: SessionState::Kept, answer: None, step })
            }
            death @ (Death::Cleared(_) | Death::Mute) => self.bury(death, plan.language(), time).await,
        }
    }
}
