//! A live interpreter in a session's jail.

use std::fs::File;
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream as StdStream;

use jail::RunStdio;
use rustix::pipe::{PipeFlags, pipe_with};
use sandbox::{Bytes, Capture, LiveOutput, Stream};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::UnixStream;
use tokio::net::unix::pipe::Receiver;
use tokio::net::unix::{OwnedReadHalf, OwnedWriteHalf};

use super::driver::Answer;
use super::room::Room;
use crate::displays::{Frames, NoFrame};
use crate::run;

/// An interpreter, or another command that is being started.
#[derive(Debug)]
pub(super) struct Interpreter {
    /// The number of its batch.
    pub(super) batch: u32,
    cells: u32,
    control: OwnedReadHalf,
    writer: OwnedWriteHalf,
    /// What has arrived from it and was not taken yet.
    read: Frames,
    /// How many answers it has given since its last cell.
    said: usize,
    /// What is to be sent to it, and how much of that has been.
    unsent: Vec<u8>,
    sent: usize,
    /// `None` once the guest closed it.
    stdout: Option<Receiver>,
    stderr: Option<Receiver>,
    pub(super) work: Work,
}

/// How far it has got with its last cell.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Work {
    /// It has answered, or there was none.
    None,
    Given,
    Begun,
    Interrupted,
}

/// The most answers to one cell: that it is ready, has begun and is done, and the same for an earlier cell that was
/// given up.
const MOST_SAID: usize = 8;

/// What happens next with it.
pub(super) enum Heard {
    Output(Stream, usize),
    Answer(Answer),
    /// It closed its end, or its answers make no sense.
    Gone,
}

/// Its ends of the pipes, and ours.
pub(super) struct Ends {
    pub(super) theirs: RunStdio,
    control: UnixStream,
    stdout: Receiver,
    stderr: Receiver,
}

impl Ends {
    pub(super) fn make() -> io::Result<Self> {
        let (ours, theirs) = StdStream::pair()?;
        ours.set_nonblocking(true)?;
        let pipe = || -> io::Result<(Receiver, OwnedFd)> {
            let (ours, theirs) = pipe_with(PipeFlags::CLOEXEC)?;
            Ok((Receiver::from_owned_fd(ours)?, theirs))
        };
        let (stdout, their_stdout) = pipe()?;
        let (stderr, their_stderr) = pipe()?;
        let theirs = RunStdio {
            stdin: File::open("/dev/null")?.into(),
            stdout: their_stdout,
            stderr: their_stderr,
            control: Some(theirs.into()),
        };
        Ok(Self { theirs, control: UnixStream::from_std(ours)?, stdout, stderr })
    }
}

impl Interpreter {
    /// The far side of `ends` belongs to the batch that was started.
    pub(super) fn new(batch: u32, ends: Ends) -> Self {
        let Ends { control, stdout, stderr, theirs } = ends;
        // Only the guest may hold these, or we would never see them close.
        drop(theirs);
        let (control, writer) = control.into_split();
        Self {
            batch,
            cells: 0,
            control,
            writer,
            read: Frames::default(),
            said: 0,
            unsent: Vec::new(),
            sent: 0,
            stdout: Some(stdout),
            stderr: Some(stderr),
            work: Work::None,
        }
    }

    /// The next thing that it prints (into `buffers`) or says. Cancel-safe.
    pub(super) async fn hear(&mut self, buffers: &mut Buffers) -> Heard {
        loop {
            match self.read.take::<Answer>() {
                Ok(Some(answer)) => {
                    self.said += 1;
                    // One of our drivers would not say more than this, and this loop would never end.
                    if self.said > MOST_SAID {
                        return Heard::Gone;
                    }
                    if self.work == Work::Given && answer.begun == Some(self.cells) {
                        self.work = Work::Begun;
                    }
                    if answer.done == Some(self.cells) {
                        self.work = Work::None;
                        // An answer may be large, and the next cell far off.
                        self.read.rest();
                    }
                    return Heard::Answer(answer);
                }
                Ok(None) => {}
                Err(NoFrame) => return Heard::Gone,
            }
            let Self { control, writer, read, unsent, sent, stdout, stderr, .. } = self;
            tokio::select! {
                // Its answers are small, and must be heard even while it prints all the time. Of the two output
                // streams, the one usually written first comes first: nobody can tell when both have data.
                biased;
                // If it is gone, reading from it will tell.
                count = writer.write(unsent.get(*sent..).unwrap_or_default()), if !unsent.is_empty() => {
                    let left = unsent.len() - *sent;
                    let count = count.unwrap_or(left).min(left);
                    *sent += count;
                    if *sent == unsent.len() {
                        (*unsent, *sent) = (Vec::new(), 0);
                    }
                }
                count = control.read_buf(read.rest()) => {
                    if !matches!(count, Ok(1..)) {
                        return Heard::Gone;
                    }
                }
                count = run::read(stdout, &mut buffers.out), if stdout.is_some() => {
                    if count > 0 {
                        return Heard::Output(Stream::Stdout, count);
                    }
                    *stdout = None;
                }
                count = run::read(stderr, &mut buffers.err), if stderr.is_some() => {
                    if count > 0 {
                        return Heard::Output(Stream::Stderr, count);
                    }
                    *stderr = None;
                }
            }
        }
    }

    /// Queues a cell, to be sent while we listen. Returns its number, counted from 1.
    pub(super) fn give(&mut self, frame: impl FnOnce(u32) -> Vec<u8>) -> u32 {
        self.cells += 1;
        (self.unsent, self.sent) = (frame(self.cells), 0);
        (self.work, self.said) = (Work::Given, 0);
        self.cells
    }

    /// Interrupts its cell, if that has begun: any earlier, the signal would be lost. And only once: a second signal
    /// must not hit the handler.
    pub(super) fn interrupt(&mut self, room: &Room) {
        if self.work == Work::Begun {
            room.interrupt(self.batch);
            self.work = Work::Interrupted;
        }
    }

    /// What is left in its pipes, without waiting.
    pub(super) fn drain(&self, keeping: &mut Keeping<'_>) {
        keeping.drain(self.stdout.as_ref(), self.stderr.as_ref());
    }
}

/// Buffers for reading output.
#[derive(Debug)]
pub(super) struct Buffers {
    pub(super) out: Vec<u8>,
    pub(super) err: Vec<u8>,
}

impl Buffers {
    pub(super) fn new() -> Self {
        Self { out: vec![0; 64 << 10], err: vec![0; 64 << 10] }
    }

    pub(super) fn of(&self, stream: Stream, count: usize) -> &[u8] {
        let buffer = match stream {
            Stream::Stdout => &self.out,
            Stream::Stderr => &self.err,
        };
        buffer.get(..count).unwrap_or_default()
    }
}

/// Keeps the head and tail of the output while passing it on.
pub(super) struct Keeping<'a> {
    pub(super) stdout: Capture,
    pub(super) stderr: Capture,
    live: &'a mut dyn LiveOutput,
}

impl<'a> Keeping<'a> {
    pub(super) fn new(most: Bytes, live: &'a mut dyn LiveOutput) -> Self {
        Self { stdout: Capture::new(most), stderr: Capture::new(most), live }
    }

    pub(super) fn take(&mut self, stream: Stream, bytes: &[u8]) {
        match stream {
            Stream::Stdout => self.stdout.push(bytes),
            Stream::Stderr => self.stderr.push(bytes),
        }
        self.live.output(stream, bytes);
    }

    /// Takes what is in the pipes right now, but not until they are empty: something that the cell left behind may
    /// write all the time.
    pub(super) fn drain(&mut self, stdout: Option<&Receiver>, stderr: Option<&Receiver>) {
        /// The most that a pipe holds, unless root made it larger.
        const PIPE: usize = 1 << 20;
        let mut buffer = vec![0; 64 << 10];
        for (pipe, stream) in [(stdout, Stream::Stdout), (stderr, Stream::Stderr)] {
            let Some(pipe) = pipe else { continue };
            let mut taken = 0;
            // Straight from the pipe: tokio's own `try_read` returns nothing until its reactor has noticed the bytes.
            while taken < PIPE
                && let Ok(count @ 1..) = rustix::io::read(pipe, &mut buffer[..])
            {
                self.take(stream, buffer.get(..count).unwrap_or_default());
                taken += count;
            }
        }
    }
}
