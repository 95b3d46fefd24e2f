//! One run, from order to outcome.

use std::fs::File;
use std::io;
use std::os::fd::OwnedFd;
use std::time::{Duration, Instant};

use jail::{Ended, Exit, Limit, Monitor, Report, RunStdio, Spec};
use rustix::pipe::{PipeFlags, pipe_with};
use sandbox::{
    BoxFuture, Bytes, Capture, Captured, Collect, CpuSource, Display, LimitKind, LiveOutput, MemorySource, Status,
    Stream, Usage,
};
use tokio::io::unix::AsyncFd;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::unix::pipe::{Receiver, Sender};
use tokio::time::sleep_until;

use crate::collect::{Collected, Given, beside_others, collect};
use crate::displays;
use crate::error::NativeError;
use crate::launcher::{LauncherProcess, PATIENCE, watched};
use crate::pace::Pace;

/// How long after the deadline a run's supervisor may take to end it before we do.
const GRACE: Duration = Duration::from_millis(20);
/// How long a run that we ended may take until its end is reported.
const ENDING: Duration = Duration::from_secs(10);
/// How long after its exit a run's end may take. Any files of it on the host are removed before that, and disks can be
/// slow.
const REMOVING: Duration = Duration::from_mins(5);

/// What came out of a jail, before anyone interprets it.
#[derive(Debug)]
pub(crate) struct Finished {
    pub(crate) status: Status,
    /// The index of the command that was last.
    pub(crate) command: u32,
    pub(crate) stdout: Captured,
    pub(crate) stderr: Captured,
    pub(crate) usage: Usage,
    pub(crate) files: Collected,
    pub(crate) displays: Vec<Display>,
    pub(crate) probed: Option<jail::Seen>,
    pub(crate) holders: Option<jail::Holders>,
    /// The memory that it used when its program came, if it waited for that.
    pub(crate) waited_with: Option<u64>,
}

/// What is given to a run besides its spec.
pub(crate) struct Input<'a> {
    pub(crate) contents: &'a [&'a [u8]],
    pub(crate) stdin: &'a [u8],
    pub(crate) output: Bytes,
    /// The files as they were given, and what to bring back of those found afterwards.
    pub(crate) files: &'a [Given<'a>],
    pub(crate) collect: Collect,
    /// Where its way out leads, if it has one.
    pub(crate) way_out: Option<WayOut<'a>>,
}

/// Where a jail's way out leads, and a log of what went there.
#[derive(Debug, Clone, Copy)]
pub(crate) struct WayOut<'a> {
    pub(crate) gate: &'a egress::Gate,
    pub(crate) log: &'a egress::Log,
}

impl Input<'static> {
    /// For our own programs, which are asked a short question.
    pub(crate) fn nothing() -> Self {
        Self { contents: &[], stdin: &[], output: Bytes::kib(16), files: &[], collect: Collect::Names, way_out: None }
    }
}

/// Runs the jail until it ends. Dropping the future ends it.
pub(crate) async fn run(
    launcher: &LauncherProcess,
    spec: &Spec,
    input: Input<'_>,
    live: &mut dyn LiveOutput,
) -> Result<Finished, NativeError> {
    let stdin = if input.stdin.is_empty() { Stdin::None } else { Stdin::Pipe };
    let going = begin(launcher, spec, input.contents, stdin, input.output).await?;
    going.finish(&input, Clock::FromReady, live).await
}

/// Orders a jail. Dropping the result ends it.
pub(crate) async fn begin(
    launcher: &LauncherProcess,
    spec: &Spec,
    contents: &[&[u8]],
    stdin: Stdin,
    output: Bytes,
) -> Result<Going, NativeError> {
    let started = Instant::now();
    let (streams, mut theirs) = Streams::open(stdin, output).map_err(NativeError::pipes)?;
    let shown = if spec.files.iter().any(|file| file.path == displays::SUPPORT.0) { Some(a_file()?) } else { None };
    theirs.control = shown.as_ref().map(File::try_clone).transpose().map_err(NativeError::pipes)?.map(OwnedFd::from);
    let monitor = launcher.order(spec, contents, &theirs).await?;
    // Only the guest may hold these, or we would never see them close.
    drop(theirs);
    let monitor = watched(monitor).map_err(NativeError::reports)?;
    let attempt = Attempt { streams, reports: Reports::default(), files: Collected::default(), stopped: Stopped::No };
    Ok(Going { attempt, monitor, limits: spec.limits, started, shown })
}

/// A file in memory for the guest to fill: it counts as the guest's memory, and goes with the run.
fn a_file() -> Result<File, NativeError> {
    let file = rustix::fs::memfd_create("shown", rustix::fs::MemfdFlags::CLOEXEC);
    Ok(file.map_err(|error| NativeError::Pipes(error.into()))?.into())
}

/// A jail that was ordered.
#[derive(Debug)]
pub(crate) struct Going {
    attempt: Attempt,
    monitor: AsyncFd<Monitor>,
    limits: jail::Limits,
    started: Instant,
    /// What it shows is written here.
    shown: Option<File>,
}

/// What a waiting interpreter sends when it is ready.
const READY: u8 = 6;

/// When a run's time starts.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Clock {
    /// With its first command.
    FromReady,
    /// Now: it has been waiting for its program, which may take this long and this much CPU time.
    FromNow { wall: Duration, cpu: Duration },
}

/// What a guest reads.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Stdin {
    None,
    Pipe,
}

impl Going {
    /// Waits until it says that it is ready, before anything else. False if something is wrong with it.
    pub(crate) async fn is_ready(&mut self, patience: Duration) -> bool {
        let mut said = [0];
        let stdout = &mut self.attempt.streams.stdout.pipe;
        let heard = tokio::time::timeout(patience, read(stdout, &mut said)).await;
        heard.is_ok_and(|count| count == 1) && said == [READY]
    }

    /// Whether it has already said that it is ready.
    pub(crate) fn is_ready_now(&mut self) -> bool {
        let mut said = [0];
        let Some(pipe) = self.attempt.streams.stdout.pipe.as_ref() else { return false };
        // Straight from the pipe: tokio's own `try_read` returns nothing until its reactor has noticed the bytes.
        rustix::io::read(pipe, &mut said[..]).is_ok_and(|count| count == 1) && said == [READY]
    }

    /// Whether it is still there. It may have said that it is ready and been killed after that.
    pub(crate) fn is_there(&mut self) -> bool {
        loop {
            match self.monitor.get_ref().receive() {
                Ok(Some((report, descriptors))) => {
                    let progress = self.attempt.reports.take(report, descriptors);
                    if progress == Progress::Over || self.attempt.reports.exit.is_some() {
                        return false;
                    }
                }
                Ok(None) => return false,
                Err(error) => return error.kind() == io::ErrorKind::WouldBlock,
            }
        }
    }

    /// Follows it to its end. Dropping the future ends it.
    pub(crate) async fn finish(
        mut self,
        input: &Input<'_>,
        clock: Clock,
        live: &mut dyn LiveOutput,
    ) -> Result<Finished, NativeError> {
        if let Clock::FromNow { wall, cpu } = clock {
            let millis = |duration: Duration| u64::try_from(duration.as_millis()).unwrap_or(u64::MAX);
            self.monitor.get_ref().begin(millis(wall), millis(cpu));
            self.started = Instant::now();
            live.started();
        }
        self.attempt.follow(&self.monitor, input, (clock, self.limits.wall_millis), live).await?;
        let Attempt { mut streams, reports, files, stopped } = self.attempt;
        streams.drain(live);
        if let Some(failure) = reports.failure {
            return Err(failure.into());
        }
        // If neither our supervisor nor the launcher reports an end, nobody vouches for the other reports.
        let ended = reports.ended.ok_or_else(|| NativeError::LauncherGone(io::ErrorKind::ConnectionAborted.into()))?;
        let status = status(stopped, reports.exit, &ended, &self.limits).ok_or(NativeError::SupervisorLost)?;
        Ok(Finished {
            status,
            command: reports.exit.map_or(0, |exit| exit.command),
            stdout: streams.stdout.capture.finish(),
            stderr: streams.stderr.capture.finish(),
            usage: usage(self.started.elapsed(), reports.exit, &ended),
            waited_with: reports.exit.map(|exit| exit.before.peak_bytes),
            files,
            displays: self.shown.map(displays::read).unwrap_or_default(),
            probed: reports.probed,
            holders: reports.holders,
        })
    }
}

#[derive(Debug)]
struct Attempt {
    streams: Streams,
    reports: Reports,
    files: Collected,
    stopped: Stopped,
}

/// Whether we ended the run because its time was up and its supervisor had not.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Stopped {
    No,
    Yes,
}

impl Attempt {
    /// Moves bytes and takes reports until the run is over.
    async fn follow(
        &mut self,
        monitor: &AsyncFd<Monitor>,
        input: &Input<'_>,
        (clock, wall_millis): (Clock, u64),
        live: &mut dyn LiveOutput,
    ) -> Result<(), NativeError> {
        let mut deadline = Instant::now()
            + match clock {
                Clock::FromReady => PATIENCE,
                Clock::FromNow { wall, .. } => wall + GRACE,
            };
        let mut unsent = input.stdin;
        let mut out = vec![0; 64 << 10];
        let mut err = vec![0; 64 << 10];
        let Streams { stdin, stdout, stderr } = &mut self.streams;
        let mut serving: Option<BoxFuture<'_, io::Result<()>>> = None;
        let mut pace = Pace::new();
        loop {
            tokio::select! {
                report = next_report(monitor) => {
                    let Some((report, descriptors)) = report.map_err(NativeError::reports)? else { return Ok(()) };
                    // By the time of this report, and at the end in any case, the supervisor or the kernel has ended
                    // all guests.
                    let is_exit = matches!(report, Report::Exited(_));
                    if matches!((&report, clock), (Report::Ready, Clock::FromReady)) {
                        deadline = Instant::now() + Duration::from_millis(wall_millis) + GRACE;
                        live.started();
                    } else if is_exit {
                        deadline = Instant::now() + REMOVING;
                    }
                    let progress = self.reports.take(report, descriptors);
                    if let (Some(listener), Some(way_out)) = (self.reports.way_out.take(), input.way_out) {
                        serving = Some(Box::pin(egress::serve(listener, way_out.gate.clone(), way_out.log)));
                    }
                    if (is_exit || progress == Progress::Over) && let Some(workspace) = self.reports.workspace.take() {
                        self.files = beside_others(|| collect(&workspace, input.files, input.collect));
                        monitor.get_ref().release();
                    }
                    if progress == Progress::Over {
                        return Ok(());
                    }
                }
                count = read(&mut stdout.pipe, &mut out), if stdout.pipe.is_some() => {
                    stdout.took(count, &out, Stream::Stdout, live);
                    pace.rest_after(count).await;
                }
                count = read(&mut stderr.pipe, &mut err), if stderr.pipe.is_some() => {
                    stderr.took(count, &err, Stream::Stderr, live);
                    pace.rest_after(count).await;
                }
                count = write(stdin, unsent), if stdin.is_some() => {
                    // The guest closed its input, so it does not want the rest.
                    unsent = unsent.get(count.unwrap_or(unsent.len())..).unwrap_or_default();
                    if unsent.is_empty() {
                        *stdin = None;
                    }
                }
                // This ends only if it cannot go on; then the program's connections go unanswered until its time is up.
                Some(_) = async { Some(serving.as_mut()?.await) }, if serving.is_some() => serving = None,
                () = sleep_until(deadline.into()) => {
                    if self.stopped == Stopped::Yes || self.reports.exit.is_some() {
                        let goes_on = monitor.get_ref().goes_on();
                        return Err(if goes_on { NativeError::Unending } else { NativeError::LauncherSilent });
                    }
                    self.stopped = Stopped::Yes;
                    deadline = Instant::now() + ENDING;
                    monitor.get_ref().stop();
                }
            }
        }
    }
}

async fn next_report(monitor: &AsyncFd<Monitor>) -> io::Result<Option<(Report, Vec<OwnedFd>)>> {
    monitor.async_io(tokio::io::Interest::READABLE, Monitor::receive).await
}

pub(crate) async fn read(pipe: &mut Option<Receiver>, buffer: &mut [u8]) -> usize {
    match pipe {
        // A pipe that cannot be read has nothing more to give.
        Some(pipe) => pipe.read(buffer).await.unwrap_or(0),
        None => 0,
    }
}

async fn write(pipe: &mut Option<Sender>, bytes: &[u8]) -> io::Result<usize> {
    match pipe {
        Some(pipe) => pipe.write(bytes).await,
        None => Ok(bytes.len()),
    }
}

/// Everything reported about a run so far.
#[derive(Debug, Default)]
struct Reports {
    holders: Option<jail::Holders>,
    workspace: Option<OwnedFd>,
    way_out: Option<OwnedFd>,
    probed: Option<jail::Seen>,
    failure: Option<jail::Failure>,
    exit: Option<Exit>,
    ended: Option<Ended>,
}

#[derive(PartialEq, Eq)]
enum Progress {
    Going,
    Over,
}

impl Reports {
    fn take(&mut self, report: Report, descriptors: Vec<OwnedFd>) -> Progress {
        match report {
            Report::Started(holders) => self.holders = Some(holders),
            Report::Ready => {
                let mut descriptors = descriptors.into_iter();
                (self.workspace, self.way_out) = (descriptors.next(), descriptors.next());
                if self.workspace.is_none() {
                    let (subject, errno) = ("the workspace".to_owned(), rustix::io::Errno::PROTO.raw_os_error());
                    self.failure.get_or_insert(jail::Failure { step: jail::Step::Receive, subject, errno });
                }
            }
            Report::Probed(seen) => self.probed = Some(seen),
            // The first failure is the cause.
            Report::Failed(failure) if self.failure.is_none() => {
                self.failure = Some(failure);
                // The launcher itself reports an end only for runs that it has started.
                if self.holders.is_none() {
                    return Progress::Over;
                }
            }
            Report::Exited(exit) => {
                (self.exit, self.ended) = (Some(exit), exit.alone);
                if exit.alone.is_some() {
                    return Progress::Over;
                }
            }
            // A later failure, or a report that only sessions send.
            Report::Failed(_)
            | Report::BatchEnded { .. }
            | Report::CpuOver
            | Report::Cleared(_)
            | Report::Resting(_)
            | Report::Written(_) => {}
            Report::Ended(ended) => {
                self.ended = Some(ended);
                return Progress::Over;
            }
        }
        Progress::Going
    }
}

/// A run's pipes, on our side.
#[derive(Debug)]
struct Streams {
    stdin: Option<Sender>,
    stdout: Output,
    stderr: Output,
}

#[derive(Debug)]
pub(crate) struct Output {
    pub(crate) pipe: Option<Receiver>,
    pub(crate) capture: Capture,
}

impl Streams {
    fn open(stdin: Stdin, output: Bytes) -> io::Result<(Self, RunStdio)> {
        let (guest_stdin, stdin) = match stdin {
            Stdin::None => (File::open("/dev/null")?.into(), None),
            Stdin::Pipe => {
                let (guest, ours) = pipe_with(PipeFlags::CLOEXEC)?;
                (guest, Some(Sender::from_owned_fd(ours)?))
            }
        };
        let output = || -> io::Result<(OwnedFd, Output)> {
            let (ours, guest) = pipe_with(PipeFlags::CLOEXEC)?;
            let pipe = Some(Receiver::from_owned_fd(ours)?);
            Ok((guest, Output { pipe, capture: Capture::new(output) }))
        };
        let (guest_stdout, stdout) = output()?;
        let (guest_stderr, stderr) = output()?;
        let guest = RunStdio { stdin: guest_stdin, stdout: guest_stdout, stderr: guest_stderr, control: None };
        Ok((Self { stdin, stdout, stderr }, guest))
    }

    /// What is left in the pipes after the end of the run. Does not wait until they close: whoever might still hold one
    /// is not ours to wait for.
    fn drain(&mut self, live: &mut dyn LiveOutput) {
        let mut buffer = vec![0; 64 << 10];
        for (output, stream) in [(&mut self.stdout, Stream::Stdout), (&mut self.stderr, Stream::Stderr)] {
            // Straight from the pipe: tokio's own `try_read` returns nothing until its reactor has noticed the bytes.
            while let Some(Ok(count)) = output.pipe.as_ref().map(|pipe| rustix::io::read(pipe, &mut buffer[..])) {
                output.took(count, &buffer, stream, live);
            }
        }
    }
}

impl Output {
    pub(crate) fn took(&mut self, count: usize, buffer: &[u8], stream: Stream, live: &mut dyn LiveOutput) {
        match buffer.get(..count) {
            Some(bytes) if count > 0 => {
                self.capture.push(bytes);
                live.output(stream, bytes);
            }
            _ => self.pipe = None,
        }
    }
}

/// How the run ended, from what the kernel and our supervisor say. `None` when neither says.
fn status(stopped: Stopped, exit: Option<Exit>, ended: &Ended, limits: &jail::Limits) -> Option<Status> {
    match (exit.and_then(|exit| exit.limit), exit) {
        // Even if the program outlived its killed children and returned 0: it did not get to do what it wanted.
        _ if ended.group.oom_kills > 0 => Some(Status::LimitExceeded(LimitKind::Memory)),
        (Some(limit), _) => Some(over(limit)),
        // The signal was ours, and did not cross with the program's own end.
        (None, None | Some(Exit { status: SIGKILL, .. })) if stopped == Stopped::Yes => Some(Status::TimedOut),
        (None, Some(exit)) => Some(judge(exit.status, ended, limits)),
        (None, None) => None,
    }
}

/// The status of a run that exceeded a limit that the supervisor watches.
pub(crate) fn over(limit: Limit) -> Status {
    match limit {
        Limit::Wall => Status::TimedOut,
        Limit::Memory => Status::LimitExceeded(LimitKind::Memory),
        Limit::Cpu => Status::LimitExceeded(LimitKind::Cpu),
        Limit::Disk => Status::LimitExceeded(LimitKind::Disk),
    }
}

const SIGKILL: i32 = 9;

/// Interprets a wait status. A limit's signal means that limit only if the limit was reached: guests can send signals
/// too.
pub(crate) fn judge(status: i32, ended: &Ended, limits: &jail::Limits) -> Status {
    const SIGXCPU: i32 = 24;
    const SIGXFSZ: i32 = 25;
    let out_of_time = ended.cpu_micros / 1000 >= limits.cpu_millis;
    match status & 0x7f {
        0 => Status::Completed { exit_code: u8::try_from((status >> 8) & 0xff).unwrap_or(u8::MAX) },
        SIGKILL | SIGXCPU if out_of_time => Status::LimitExceeded(LimitKind::Cpu),
        SIGXFSZ => Status::LimitExceeded(LimitKind::Disk),
        signal => Status::Crashed { signal },
    }
}

/// The best figure available: a cgroup's, else the larger of what was reaped and what was seen.
fn usage(wall: Duration, exit: Option<Exit>, ended: &Ended) -> Usage {
    let (seen, before) = exit.map(|exit| (exit.seen, exit.before)).unwrap_or_default();
    let (cpu_micros, cpu_source) = match ended.group.cpu_micros {
        Some(micros) => (micros, CpuSource::Cgroup),
        None if seen.cpu_micros > ended.cpu_micros => (seen.cpu_micros, CpuSource::Procfs),
        None => (ended.cpu_micros, CpuSource::Rusage),
    };
    let (peak_memory, memory_source) = match ended.group.peak_bytes {
        Some(bytes) => (bytes, MemorySource::Cgroup),
        None if seen.peak_bytes > ended.peak_bytes => (seen.peak_bytes, MemorySource::Procfs),
        None => (ended.peak_bytes, MemorySource::Rusage),
    };
    let cpu = Duration::from_micros(cpu_micros.saturating_sub(before.cpu_micros));
    Usage { wall, cpu, cpu_source, peak_memory, memory_source }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wait_statuses() {
        const LIMITS: jail::Limits =
            jail::Limits { memory: 0, disk: 0, files: 0, processes: 0, cpu_millis: 1_000, wall_millis: 0 };
        let ended = |cpu_micros| Ended { cpu_micros, ..Ended::default() };
        for (status, ended, expected) in [
            (0, ended(0), Status::Completed { exit_code: 0 }),
            (3 << 8, ended(0), Status::Completed { exit_code: 3 }),
            (11, ended(0), Status::Crashed { signal: 11 }),
            // With a core dump.
            (0x80 | 0x0b, ended(0), Status::Crashed { signal: 11 }),
            // A guest that kills itself has not run out of anything.
            (9, ended(0), Status::Crashed { signal: 9 }),
            (24, ended(0), Status::Crashed { signal: 24 }),
            (24, ended(1_000_000), Status::LimitExceeded(LimitKind::Cpu)),
        ] {
            assert_eq!(judge(status, &ended, &LIMITS), expected, "{status}");
        }
    }
}
