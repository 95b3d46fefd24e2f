//! A worker, from the server's side: jobs out, replies in.

use std::collections::HashMap;
use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::time::Duration;

use rustix::fs::{MemfdFlags, OFlags};
use sandbox::{LiveOutput, Stream};
use tokio::io::Interest;
use tokio::io::unix::AsyncFd;
use tokio::sync::{Semaphore, mpsc};
use tokio::time::{Instant, timeout_at};

use crate::error::WasmError;
use crate::protocol::{
    self, Answer, Control, Envelope, Errand, Fault, Finished, Greeting, Hello, Job, MAX_PACKET, More, OUTPUT_WINDOW,
    OutputStream, Part, Piece, Reply, Reset, RunId, RuntimeEntry, SessionId, Task, TreeEntry,
};
use crate::wall::{Confined, Wall};

/// How long a worker may take to start.
const START: Duration = Duration::from_secs(20);
/// How long after its deadline a run may take to end before its worker is ended for it.
const GRACE: Duration = Duration::from_secs(1);
/// The same for a cell, which is asked to stop before it is ended. When its worker ends, so do other sessions.
const CELL_GRACE: Duration = Duration::from_secs(5);
/// How long a worker may take for an errand. It is long enough to write a session of gigabytes to a disk.
const ERRAND: Duration = Duration::from_mins(2);
/// The largest reply, and so the most that a worker taken over by a guest could make us hold. More than the most that
/// is brought back of files and output.
const MAX_REPLY: usize = 128 << 20;
/// The same for an errand: more than the most that is read, or listed, at one time.
const MAX_ANSWER: usize = 32 << 20;
/// The most output of a run that waits to be passed on. A worker stops at [`OUTPUT_WINDOW`], and may be half-way through a piece then.
const MOST_IN_FLIGHT: u64 = 2 * OUTPUT_WINDOW;

/// A worker that is up.
#[derive(Debug)]
pub(crate) struct Connection {
    jobs: AsyncFd<OwnedFd>,
    control: OwnedFd,
    pending: Mutex<Pending>,
    serial: AtomicU64,
    /// One long errand at a time. A worker has only one thread more than it has runs, and a run that waits for a thread
    /// comes nearer to its deadline.
    long_errands: Semaphore,
    reset: Reset,
    /// The process. Ends when this is dropped.
    process: Mutex<Option<Box<dyn Confined>>>,
}

/// Runs that have no end yet; `None` when the worker is gone.
#[derive(Debug)]
struct Pending(Option<HashMap<RunId, Waiting>>);

#[derive(Debug)]
struct Waiting {
    expects: Expects,
    /// Unbounded, and still bounded: see `in_flight`.
    replies: mpsc::UnboundedSender<Reply>,
    /// How much output is in there.
    in_flight: Arc<AtomicU64>,
    /// Parts of a reply that has not all come.
    partial: Vec<u8>,
}

/// What ends the waiting.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Expects {
    /// [`Reply::Finished`], and output before it.
    End,
    /// [`Reply::Answer`].
    Answer,
}

impl Waiting {
    /// Takes a part of a reply, and returns the reply if this was the last part. An error means that no worker of ours
    /// would say this.
    fn take(&mut self, part: &Part<'_>) -> io::Result<Option<Reply>> {
        let most = match self.expects {
            Expects::End => MAX_REPLY,
            Expects::Answer => MAX_ANSWER,
        };
        if part.more == More::Done && self.partial.is_empty() {
            return protocol::decode(part.bytes).map(Some);
        }
        if self.partial.len() + part.bytes.len() > most {
            return Err(io::ErrorKind::InvalidData.into());
        }
        self.partial.extend_from_slice(part.bytes);
        match part.more {
            More::Follows => Ok(None),
            More::Done => protocol::decode(&std::mem::take(&mut self.partial)).map(Some),
        }
    }

    /// Whether this reply is the last. An error means that it cannot come here at all.
    fn is_last(&self, reply: &Reply) -> io::Result<bool> {
        match (reply, self.expects) {
            (Reply::Output(pieces), Expects::End) => {
                let more = weight(pieces);
                let before = self.in_flight.fetch_add(more, Ordering::Relaxed);
                let is_allowed = before.saturating_add(more) <= MOST_IN_FLIGHT;
                if is_allowed { Ok(false) } else { Err(io::ErrorKind::InvalidData.into()) }
            }
            (Reply::Finished(_), Expects::End) | (Reply::Answer(_), Expects::Answer) => Ok(true),
            (Reply::Output(_) | Reply::Finished(_), Expects::Answer) | (Reply::Answer(_), Expects::End) => {
                Err(io::ErrorKind::InvalidData.into())
            }
        }
    }
}

/// A runtime's files, open.
#[derive(Debug)]
pub(crate) struct OpenRuntime {
    pub(crate) name: String,
    pub(crate) module: OwnedFd,
    pub(crate) tree: Option<OwnedFd>,
}

/// A worker process that has not been told anything, so it can still become anybody's.
#[derive(Debug)]
pub(crate) struct Blank {
    control: OwnedFd,
    process: Box<dyn Confined>,
}

impl Blank {
    pub(crate) async fn start(wall: &dyn Wall) -> Result<Self, WasmError> {
        let (control, their_control) = protocol::channel().map_err(WasmError::Sockets)?;
        let process = wall.start(their_control).await.map_err(WasmError::Start)?;
        Ok(Self { control, process })
    }

    /// Makes a worker of it, and waits until that is ready.
    pub(crate) async fn load(self, slots: u32, runtimes: &[OpenRuntime]) -> Result<Arc<Connection>, WasmError> {
        let Self { control, process } = self;
        let (jobs, their_jobs) = protocol::channel().map_err(WasmError::Sockets)?;
        for socket in [&control, &jobs] {
            rustix::fs::fcntl_setfl(socket, OFlags::NONBLOCK).map_err(|error| WasmError::Sockets(error.into()))?;
        }
        let hello = Hello {
            build: protocol::build(),
            slots,
            runtimes: runtimes
                .iter()
                .map(|runtime| RuntimeEntry {
                    name: runtime.name.clone(),
                    tree: if runtime.tree.is_some() { TreeEntry::Own } else { TreeEntry::None },
                })
                .collect(),
        };
        let files = runtimes.iter().flat_map(|runtime| std::iter::once(&runtime.module).chain(&runtime.tree));
        let descriptors: Vec<_> = std::iter::once(&their_jobs).chain(files).map(|file| file.as_fd()).collect();
        protocol::send(&control, &hello, &descriptors).map_err(WasmError::Sockets)?;
        drop(their_jobs);

        let control = watched(control, Interest::READABLE).map_err(WasmError::Sockets)?;
        let greeting = control.async_io(Interest::READABLE, |socket| protocol::receive::<Greeting>(socket));
        let reset = match tokio::time::timeout(START, greeting).await {
            Ok(Ok(Some((Greeting::Ready(reset), _)))) => reset,
            Ok(Ok(Some((Greeting::Failed(reason), _)))) => return Err(WasmError::WorkerFailed(reason)),
            Ok(Ok(None) | Err(_)) => return Err(WasmError::WorkerLost),
            Err(_) => return Err(WasmError::WorkerFailed(format!("it did not start within {} s", START.as_secs()))),
        };
        let connection = Arc::new(Connection {
            jobs: watched(jobs, Interest::READABLE).map_err(WasmError::Sockets)?,
            control: control.into_inner(),
            pending: Mutex::new(Pending(Some(HashMap::new()))),
            serial: AtomicU64::new(0),
            long_errands: Semaphore::new(1),
            reset,
            process: Mutex::new(Some(process)),
        });
        tokio::spawn(hear_replies(Arc::downgrade(&connection)));
        Ok(connection)
    }
}

impl Connection {
    /// Starts a worker and waits until it is ready.
    pub(crate) async fn open(wall: &dyn Wall, slots: u32, runtimes: &[OpenRuntime]) -> Result<Arc<Self>, WasmError> {
        Blank::start(wall).await?.load(slots, runtimes).await
    }

    /// Whether it can take jobs.
    pub(crate) fn is_alive(&self) -> bool {
        self.pending.lock().unwrap_or_else(PoisonError::into_inner).0.is_some()
    }

    /// How it makes memory ready for the next run.
    pub(crate) fn reset(&self) -> Reset {
        self.reset
    }

    /// A number for a new run.
    pub(crate) fn number(&self) -> RunId {
        RunId(self.serial.fetch_add(1, Ordering::Relaxed))
    }

    /// Runs a job to its end. Dropping the future cancels it.
    pub(crate) async fn run(
        &self,
        job: Job,
        layer: Option<&OwnedFd>,
        live: &mut dyn LiveOutput,
    ) -> Result<Finished, WasmError> {
        let order = Order { id: job.id, wall: Duration::from_micros(job.limits.wall_micros), grace: GRACE };
        self.follow(Task::Run(job), order, layer, live).await
    }

    /// Runs a cell to its end. Dropping the future cancels it.
    pub(crate) async fn run_cell(
        &self,
        session: SessionId,
        job: Job,
        layer: Option<&OwnedFd>,
        live: &mut dyn LiveOutput,
    ) -> Result<Finished, WasmError> {
        let wall = Duration::from_micros(job.limits.wall_micros);
        let order = Order { id: job.id, wall, grace: CELL_GRACE };
        self.follow(Task::Cell(session, job), order, layer, live).await
    }

    /// Has an errand done for a session. The files go along with it.
    pub(crate) async fn ask(
        &self,
        session: SessionId,
        errand: Errand,
        files: &[BorrowedFd<'_>],
    ) -> Result<Result<Answer, Fault>, WasmError> {
        let _turn = match errand {
            Errand::Fork(_) | Errand::Save | Errand::Restore { .. } => {
                Some(self.long_errands.acquire().await.map_err(|_| WasmError::WorkerLost)?)
            }
            Errand::Open(_)
            | Errand::Runtimes
            | Errand::Write { .. }
            | Errand::Read { .. }
            | Errand::List { .. }
            | Errand::Files { .. }
            | Errand::Merge { .. } => None,
        };
        let id = self.number();
        let mut asked = self.register(id, Expects::Answer)?;
        self.send_task(Task::Errand(session, id, errand), files).await?;
        match tokio::time::timeout(ERRAND, asked.replies.recv()).await {
            Ok(Some(Reply::Answer(answer))) => {
                asked.over = Over::Yes;
                Ok(*answer)
            }
            // The others are not passed on.
            Ok(Some(Reply::Output(_) | Reply::Finished(_)) | None) => Err(WasmError::WorkerLost),
            Err(_) => {
                self.end();
                Err(WasmError::Unresponsive)
            }
        }
    }

    /// Says that nobody will use a session any more.
    pub(crate) fn close(&self, session: SessionId) {
        if self.is_alive() && protocol::send(&self.control, &Control::Close(session), &[]).is_err() {
            // It cannot be told, and must not keep what the session has.
            self.end();
        }
    }

    async fn follow(
        &self,
        task: Task,
        order: Order,
        layer: Option<&OwnedFd>,
        live: &mut dyn LiveOutput,
    ) -> Result<Finished, WasmError> {
        let id = order.id;
        let mut run = self.register(id, Expects::End)?;
        self.send_task(task, layer.map(AsFd::as_fd).as_slice()).await?;
        let mut patience = Patience::with(&order);
        // Its thread ignores the deadline. All that is left to try is to end the process.
        let late = || {
            self.end();
            WasmError::Unresponsive
        };
        let mut unacknowledged = 0;
        loop {
            let reply = patience.wait_for(run.replies.recv()).await.ok_or_else(late)?;
            match reply.ok_or(WasmError::WorkerLost)? {
                Reply::Output(pieces) => {
                    unacknowledged += pass_on(&pieces, live);
                    if unacknowledged >= OUTPUT_WINDOW / 2 {
                        run.in_flight.fetch_sub(unacknowledged, Ordering::Relaxed);
                        let consumed = Control::Consumed(id, unacknowledged);
                        patience.wait_for(self.say(consumed)).await.ok_or_else(late)?;
                        unacknowledged = 0;
                    }
                }
                Reply::Finished(finished) => {
                    run.over = Over::Yes;
                    pass_on(&finished.output, live);
                    return Ok(*finished);
                }
                // Is not passed on.
                Reply::Answer(_) => return Err(WasmError::WorkerLost),
            }
        }
    }

    fn register(&self, id: RunId, expects: Expects) -> Result<Registered<'_>, WasmError> {
        let (sender, replies) = mpsc::unbounded_channel();
        let in_flight = Arc::new(AtomicU64::new(0));
        let mut pending = self.pending.lock().unwrap_or_else(PoisonError::into_inner);
        let runs = pending.0.as_mut().ok_or(WasmError::WorkerLost)?;
        let waiting = Waiting { expects, replies: sender, in_flight: Arc::clone(&in_flight), partial: Vec::new() };
        runs.insert(id, waiting);
        Ok(Registered { connection: self, id, replies, in_flight, over: Over::No })
    }

    async fn send_task(&self, task: Task, files: &[BorrowedFd<'_>]) -> Result<(), WasmError> {
        let packet = protocol::encode(&Envelope::Inline(Box::new(task))).map_err(WasmError::Sockets)?;
        if packet.len() <= MAX_PACKET {
            return self.send_packet(&packet, files).await;
        }
        let (memfd, length) = pack(&packet).map_err(WasmError::Sockets)?;
        let envelope = protocol::encode(&Envelope::Beside(length)).map_err(WasmError::Sockets)?;
        let descriptors: Vec<BorrowedFd<'_>> = [memfd.as_fd()].into_iter().chain(files.iter().copied()).collect();
        self.send_packet(&envelope, &descriptors).await
    }

    async fn send_packet(&self, packet: &[u8], descriptors: &[BorrowedFd<'_>]) -> Result<(), WasmError> {
        let send = |socket: &OwnedFd| protocol::send_bytes(socket, packet, descriptors);
        match send(self.jobs.get_ref()) {
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
            done => return done.map_err(|_| WasmError::WorkerLost),
        }
        // Full, which is rare. A task that waits for room in a socket is woken whenever the other side has read
        // something. That must not be `jobs`, on which there is always somebody waiting.
        let socket = self.jobs.get_ref().try_clone().map_err(WasmError::Sockets)?;
        let socket = watched(socket, Interest::WRITABLE).map_err(WasmError::Sockets)?;
        socket.async_io(Interest::WRITABLE, send).await.map_err(|_| WasmError::WorkerLost)
    }

    /// Says it when there is room, which there nearly always is.
    async fn say(&self, control: Control) {
        while let Err(error) = protocol::send(&self.control, &control, &[]) {
            if error.kind() != io::ErrorKind::WouldBlock {
                return;
            }
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
    }

    /// Ends the worker and with it all of its runs.
    pub(crate) fn end(&self) {
        self.pending.lock().unwrap_or_else(PoisonError::into_inner).0 = None;
        drop(self.process.lock().unwrap_or_else(PoisonError::into_inner).take());
    }

    fn take_packet(&self, packet: &[u8]) -> io::Result<()> {
        let part: Part<'_> = protocol::decode(packet)?;
        let mut pending = self.pending.lock().unwrap_or_else(PoisonError::into_inner);
        // Nobody waits for a run that was given up, or for one that is over.
        let Some(runs) = pending.0.as_mut() else { return Ok(()) };
        let Some(waiting) = runs.get_mut(&part.run) else { return Ok(()) };
        let Some(reply) = waiting.take(&part)? else { return Ok(()) };
        let is_last = waiting.is_last(&reply)?;
        waiting.replies.send(reply).ok();
        if is_last {
            runs.remove(&part.run);
        }
        Ok(())
    }
}

/// What this output counts for. An empty list counts too, since it takes up room while it waits.
fn weight(pieces: &[Piece]) -> u64 {
    pieces.iter().map(Piece::weight).sum::<u64>().max(Piece::OVERHEAD as u64)
}

/// Passes output on, and returns what it counted for.
fn pass_on(pieces: &[Piece], live: &mut dyn LiveOutput) -> u64 {
    for piece in pieces {
        let stream = match piece.stream {
            OutputStream::Stdout => Stream::Stdout,
            OutputStream::Stderr => Stream::Stderr,
        };
        live.output(stream, &piece.bytes);
    }
    weight(pieces)
}

/// A run that is followed to its end.
struct Order {
    id: RunId,
    /// How long it may take.
    wall: Duration,
    /// How long it may then take to end.
    grace: Duration,
}

/// How long a run is waited for. The time beyond its deadline passes in steps, so a machine that stood still uses up
/// only one of them.
struct Patience {
    until: Instant,
    step: Duration,
    steps: u32,
}

impl Patience {
    fn with(order: &Order) -> Self {
        let steps = 10;
        Self { until: Instant::now() + order.wall, step: order.grace / steps, steps }
    }

    /// Waits for `coming`; `None` if it does not come in time.
    async fn wait_for<T>(&mut self, coming: impl Future<Output = T>) -> Option<T> {
        let mut coming = std::pin::pin!(coming);
        loop {
            if let Ok(come) = timeout_at(self.until, &mut coming).await {
                return Some(come);
            }
            self.steps = self.steps.checked_sub(1)?;
            self.until = Instant::now() + self.step;
        }
    }
}

/// A run that waits for its replies. Dropping it before the end cancels the run.
struct Registered<'a> {
    connection: &'a Connection,
    id: RunId,
    replies: mpsc::UnboundedReceiver<Reply>,
    /// How much output waits in there.
    in_flight: Arc<AtomicU64>,
    over: Over,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Over {
    No,
    Yes,
}

impl Drop for Registered<'_> {
    fn drop(&mut self) {
        let mut pending = self.connection.pending.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(runs) = &mut pending.0 {
            runs.remove(&self.id);
            if self.over == Over::No
                && protocol::send(&self.connection.control, &Control::Cancel(self.id), &[]).is_err()
            {
                // It cannot be told, and must not go on: the worker ends, and with it all runs.
                pending.0 = None;
                drop(self.connection.process.lock().unwrap_or_else(PoisonError::into_inner).take());
            }
        }
    }
}

/// Gives replies to whoever waits for them, until the worker or its last user is gone.
async fn hear_replies(connection: Weak<Connection>) {
    let mut buffer = vec![0; MAX_PACKET];
    while let Some(connection) = connection.upgrade() {
        // Wakes up now and then to see whether anybody still wants the worker.
        let receive = connection.jobs.async_io(Interest::READABLE, |jobs| protocol::receive_bytes(jobs, &mut buffer));
        let heard = match tokio::time::timeout(Duration::from_secs(1), receive).await {
            Ok(Ok(Some((length, _)))) => connection.take_packet(buffer.get(..length).unwrap_or_default()),
            Ok(Ok(None)) => Err(io::ErrorKind::UnexpectedEof.into()),
            Ok(Err(error)) => Err(error),
            Err(_) => Ok(()),
        };
        if heard.is_err() {
            connection.end();
            return;
        }
    }
}

/// A task too large for a packet, in a file of its own.
fn pack(packet: &[u8]) -> io::Result<(OwnedFd, u64)> {
    use std::io::{Seek as _, Write as _};

    // The envelope's own tag is its first byte; what follows is the task.
    let job = packet.get(1..).unwrap_or_default();
    let mut file = std::fs::File::from(rustix::fs::memfd_create("belljar-job", MemfdFlags::CLOEXEC)?);
    file.write_all(job)?;
    file.rewind()?;
    Ok((file.into(), job.len() as u64))
}

#[expect(
    deprecated,
    reason = "`register` is `unsafe` for types that change their descriptor; an OwnedFd keeps its own for life"
)]
fn watched<T: AsRawFd>(owner: T, interest: Interest) -> io::Result<AsyncFd<T>> {
    AsyncFd::with_interest(owner, interest)
}

#[cfg(test)]
mod tests;
