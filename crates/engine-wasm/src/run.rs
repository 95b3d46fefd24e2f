//! A run in the worker, as the threads that have to do with it share it: the one it runs on, the timekeeper, and the one that hears the
//! server.

use std::os::fd::OwnedFd;
use std::sync::atomic::{AtomicU8, AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::time::{Duration, Instant};

use rustix::process::Pid;
use rustix::thread::gettid;
use rustix::time::{ClockId, clock_gettime};

use crate::halt;
use crate::protocol::{self, JobLimits, OUTPUT_WINDOW, OutputStream, Piece, Reply, RunId};

/// Output is sent when this much has gathered,
const FLUSH_SIZE: usize = 32 << 10;
/// or when it has waited for this long. Most runs end before, and their output goes with the rest of the answer.
const FLUSH_AGE: Duration = Duration::from_millis(20);

/// How long a run may take to stop before it is told once more (code that waits for tasks treats the first time as a
/// wish), and how long after that.
const STEP: Duration = Duration::from_millis(250);
/// The longest that a run may go on after it is asked. On a busy machine it takes a while until its thread can be told
/// anything.
const PATIENCE: Duration = Duration::from_secs(2);

/// One run.
#[derive(Debug)]
pub(crate) struct Run {
    id: RunId,
    thread: Pid,
    started: Instant,
    deadline: Instant,
    /// What its thread had used before.
    cpu_before: Duration,
    cpu_limit: Duration,
    manner: Manner,
    interruption: AtomicU8,
    asking: Asking,
    outbox: Mutex<Outbox>,
    /// Signalled when there is room in the window, and when the run is interrupted.
    wake: Condvar,
    /// Where output goes. `None` keeps all of it.
    socket: Option<Arc<OwnedFd>>,
}

/// How a run is ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Manner {
    /// At once.
    Halted,
    /// It is asked to stop, and has half a second to do so: what it leaves for later runs stays whole.
    Asked,
}

/// That a run was asked to stop.
#[derive(Debug)]
struct Asking {
    /// Why, or 0.
    why: AtomicU8,
    /// Microseconds after its start.
    at: AtomicU64,
    /// How often.
    times: AtomicU32,
    /// How many of these the guest has been told, and when.
    told: AtomicU32,
    told_at: AtomicU64,
}

/// Why a run must not go on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum Interruption {
    TimedOut = 1,
    Cancelled = 2,
    OverCpu = 3,
    /// It made the host touch memory that is forbidden.
    Fault = 4,
}

impl Interruption {
    fn of(number: u8) -> Option<Self> {
        match number {
            1 => Some(Self::TimedOut),
            2 => Some(Self::Cancelled),
            3 => Some(Self::OverCpu),
            4 => Some(Self::Fault),
            _ => None,
        }
    }
}

/// A host call that ends because its run does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Interrupted;

#[derive(Debug, Default)]
struct Outbox {
    pieces: Vec<Piece>,
    size: usize,
    since: Option<Instant>,
    /// Sent and not yet passed on by the server.
    in_flight: u64,
}

impl Run {
    /// Starts on this thread.
    pub(crate) fn start(id: RunId, limits: &JobLimits, socket: Option<Arc<OwnedFd>>) -> Self {
        let started = Instant::now();
        Self {
            id,
            thread: gettid(),
            started,
            deadline: started + Duration::from_micros(limits.wall_micros),
            cpu_before: thread_cpu_time(),
            cpu_limit: Duration::from_micros(limits.cpu_micros),
            manner: Manner::Halted,
            interruption: AtomicU8::new(0),
            asking: Asking {
                why: AtomicU8::new(0),
                at: AtomicU64::new(u64::MAX),
                times: AtomicU32::new(0),
                told: AtomicU32::new(0),
                told_at: AtomicU64::new(u64::MAX),
            },
            outbox: Mutex::default(),
            wake: Condvar::new(),
            socket,
        }
    }

    /// The same, to be ended in this manner.
    pub(crate) fn ended(self, manner: Manner) -> Self {
        Self { manner, ..self }
    }

    pub(crate) fn id(&self) -> RunId {
        self.id
    }

    pub(crate) fn elapsed(&self) -> Duration {
        self.started.elapsed()
    }

    /// The CPU time that it has used. Only its own thread can tell.
    pub(crate) fn cpu_time(&self) -> Duration {
        thread_cpu_time().saturating_sub(self.cpu_before)
    }

    /// Whether it must not go on. Only its own thread can tell, also in the middle of anything: this takes no lock.
    pub(crate) fn must_end(&self) -> bool {
        if self.cpu_time() >= self.cpu_limit {
            self.mark(Interruption::OverCpu);
        }
        self.interruption().is_some()
    }

    /// Makes its thread look up from guest code, if it must not go on.
    pub(crate) fn call_up(&self) {
        halt::signal(self.thread);
    }

    /// Why it must not go on, if it must not.
    pub(crate) fn interruption(&self) -> Option<Interruption> {
        Interruption::of(self.interruption.load(Ordering::Relaxed))
    }

    /// Why it was asked to stop, if it was.
    pub(crate) fn asked(&self) -> Option<Interruption> {
        Interruption::of(self.asking.why.load(Ordering::Relaxed))
    }

    /// Whether the guest is to be told now that it should stop. True once for each time.
    pub(crate) fn take_ask(&self) -> bool {
        let times = self.asking.times.load(Ordering::Relaxed);
        if self.asking.told.load(Ordering::Relaxed) == times {
            return false;
        }
        self.asking.told_at.store(self.elapsed_micros(), Ordering::Relaxed);
        self.asking.told.store(times, Ordering::Relaxed);
        true
    }

    /// Ends it for this reason, unless it is being ended already. Guest code learns of it by a signal, a host call that
    /// waits at once.
    pub(crate) fn interrupt(&self, why: Interruption) {
        self.mark(why);
        self.wake_up();
    }

    fn wake_up(&self) {
        // The lock orders this after a waiter's own check of the flags.
        drop(self.outbox.lock().unwrap_or_else(PoisonError::into_inner));
        self.wake.notify_all();
    }

    /// Ends it, unless it is being ended already. Takes no lock; what waits is not woken.
    pub(crate) fn mark(&self, why: Interruption) {
        if self.manner == Manner::Halted || why == Interruption::Fault {
            self.interruption.compare_exchange(0, why as u8, Ordering::Relaxed, Ordering::Relaxed).ok();
        } else if self.asking.why.compare_exchange(0, why as u8, Ordering::Relaxed, Ordering::Relaxed).is_ok() {
            self.asking.at.store(self.elapsed_micros(), Ordering::Relaxed);
            self.asking.times.store(1, Ordering::Relaxed);
        }
    }

    fn elapsed_micros(&self) -> u64 {
        u64::try_from(self.elapsed().as_micros()).unwrap_or(u64::MAX)
    }

    /// Asks once more, and ends it after that.
    fn press(&self) {
        let Asking { why, at, times, told, told_at } = &self.asking;
        let why = why.load(Ordering::Relaxed);
        if why == 0 {
            return;
        }
        let since =
            |at: &AtomicU64| Duration::from_micros(self.elapsed_micros().saturating_sub(at.load(Ordering::Relaxed)));
        let count = times.load(Ordering::Relaxed);
        let has_had_time = told.load(Ordering::Relaxed) == count && since(told_at) >= STEP;
        if since(at) >= PATIENCE || (has_had_time && count > 1) {
            self.interruption.compare_exchange(0, why, Ordering::Relaxed, Ordering::Relaxed).ok();
            self.wake_up();
        } else if has_had_time {
            times.store(2, Ordering::Relaxed);
            self.wake_up();
        }
    }

    /// Whether its thread has to look up: its time is over, it was cancelled, or it may have used up its CPU time, which only that
    /// thread can tell.
    pub(crate) fn is_due(&self, now: Instant) -> bool {
        if now >= self.deadline {
            self.interrupt(Interruption::TimedOut);
        }
        self.press();
        let asks = self.asking.times.load(Ordering::Relaxed) != self.asking.told.load(Ordering::Relaxed);
        asks || self.interruption().is_some() || now.duration_since(self.started) >= self.cpu_limit
    }

    /// Sleeps, but not past the end of the run. Shorter than it should if the run is asked to stop meanwhile.
    pub(crate) fn sleep(&self, duration: Duration) -> Result<(), Interrupted> {
        let asks = self.asking.times.load(Ordering::Relaxed);
        let until = Instant::now().checked_add(duration);
        let mut outbox = self.outbox.lock().unwrap_or_else(PoisonError::into_inner);
        loop {
            if self.interruption().is_some() {
                return Err(Interrupted);
            }
            let now = Instant::now();
            if now >= self.deadline {
                self.mark(Interruption::TimedOut);
                if self.manner == Manner::Halted {
                    return Err(Interrupted);
                }
            }
            if self.asking.times.load(Ordering::Relaxed) != asks || until.is_some_and(|until| now >= until) {
                return Ok(());
            }
            // Behind the deadline somebody else wakes it.
            let deadline = if now < self.deadline { self.deadline } else { now + PATIENCE };
            let until = until.map_or(deadline, |until| until.min(deadline));
            (outbox, _) = self.wake.wait_timeout(outbox, until - now).unwrap_or_else(PoisonError::into_inner);
        }
    }

    /// Takes output. Waits when the server has too much of it that nobody has read.
    pub(crate) fn write(&self, stream: OutputStream, mut bytes: &[u8]) -> Result<(), Interrupted> {
        let asks = self.asking.times.load(Ordering::Relaxed);
        let mut outbox = self.outbox.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(socket) = &self.socket else {
            outbox.push(stream, bytes);
            return Ok(());
        };
        while !bytes.is_empty() {
            let room = FLUSH_SIZE.saturating_sub(outbox.size);
            let (now, later) = bytes.split_at(room.min(bytes.len()));
            outbox.push(stream, now);
            bytes = later;
            while outbox.size >= FLUSH_SIZE {
                if outbox.in_flight < OUTPUT_WINDOW {
                    // A server that is gone does not read, and ends this process.
                    outbox.send(self.id, socket, Patience::Wait).map_err(|_| Interrupted)?;
                } else if self.interruption().is_some() || self.asking.times.load(Ordering::Relaxed) != asks {
                    return Err(Interrupted);
                } else {
                    outbox = self.wake.wait(outbox).unwrap_or_else(PoisonError::into_inner);
                }
            }
        }
        Ok(())
    }

    /// The server passed output on.
    pub(crate) fn consumed(&self, weight: u64) {
        let mut outbox = self.outbox.lock().unwrap_or_else(PoisonError::into_inner);
        outbox.in_flight = outbox.in_flight.saturating_sub(weight);
        drop(outbox);
        self.wake.notify_all();
    }

    /// Sends output that somebody may be waiting to see.
    pub(crate) fn send_stale_output(&self, now: Instant) {
        // If its thread is at it, nothing is stale.
        let (Some(socket), Ok(mut outbox)) = (&self.socket, self.outbox.try_lock()) else { return };
        let stale = outbox.since.is_some_and(|since| now.duration_since(since) >= FLUSH_AGE);
        if stale && outbox.in_flight < OUTPUT_WINDOW {
            // Full socket: next time.
            outbox.send(self.id, socket, Patience::None).ok();
        }
    }

    /// What was not sent, for the end.
    pub(crate) fn take_output(&self) -> Vec<Piece> {
        // Its age goes too: otherwise output that is gone would be sent as stale.
        std::mem::take(&mut *self.outbox.lock().unwrap_or_else(PoisonError::into_inner)).pieces
    }
}

/// CPU time of this thread since it started.
fn thread_cpu_time() -> Duration {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    Duration::new(u64::try_from(time.tv_sec).unwrap_or(0), u32::try_from(time.tv_nsec).unwrap_or(0))
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Patience {
    Wait,
    None,
}

impl Outbox {
    fn push(&mut self, stream: OutputStream, bytes: &[u8]) {
        if bytes.is_empty() {
            // Where nothing more fits, and still a piece where the stream is another.
            return;
        }
        match self.pieces.last_mut() {
            Some(piece) if piece.stream == stream => piece.bytes.extend_from_slice(bytes),
            _ => {
                self.pieces.push(Piece { stream, bytes: bytes.to_vec() });
                self.size += Piece::OVERHEAD;
            }
        }
        self.size += bytes.len();
        self.since.get_or_insert_with(Instant::now);
    }

    fn send(&mut self, run: RunId, socket: &OwnedFd, patience: Patience) -> std::io::Result<()> {
        let reply = Reply::Output(std::mem::take(&mut self.pieces));
        let encoded = protocol::encode(&reply)?;
        for part in protocol::parts(run, &encoded) {
            let packet = protocol::encode(&part)?;
            let sent = match patience {
                Patience::Wait => protocol::send_bytes(socket, &packet, &[]),
                Patience::None => protocol::try_send_bytes(socket, &packet),
            };
            if let Err(error) = sent {
                if let Reply::Output(pieces) = reply {
                    self.pieces = pieces;
                }
                return Err(error);
            }
        }
        self.in_flight += self.size as u64;
        self.size = 0;
        self.since = None;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LIMITS: JobLimits = JobLimits { wall_micros: 200_000, cpu_micros: 200_000, memory: 0, disk: 0, files: 0 };

    fn run() -> (Arc<Run>, OwnedFd) {
        let (ours, theirs) = protocol::channel().expect("sockets");
        (Arc::new(Run::start(RunId(1), &LIMITS, Some(Arc::new(theirs)))), ours)
    }

    #[test]
    fn sleep_ends_at_the_deadline() {
        let (run, _socket) = run();
        assert_eq!(run.sleep(Duration::from_millis(1)), Ok(()));
        assert_eq!(run.sleep(Duration::from_mins(1)), Err(Interrupted));
        assert_eq!(run.interruption(), Some(Interruption::TimedOut));
        assert!(run.elapsed() < Duration::from_secs(30));
    }

    #[test]
    fn cancelling_wakes_a_sleeper() {
        let (run, _socket) = run();
        let sleeper = std::thread::spawn({
            let run = Arc::clone(&run);
            move || run.sleep(Duration::from_mins(1))
        });
        run.interrupt(Interruption::Cancelled);
        assert_eq!(sleeper.join().expect("thread"), Err(Interrupted));
        assert_eq!(run.interruption(), Some(Interruption::Cancelled));
    }

    #[test]
    fn who_is_asked_has_a_while_to_stop() {
        // Of which it is not to run out as well.
        let limits = JobLimits { cpu_micros: 60_000_000, ..LIMITS };
        let run = Run::start(RunId(1), &limits, None).ended(Manner::Asked);
        assert_eq!(run.sleep(Duration::from_mins(1)), Ok(()));
        assert_eq!((run.asked(), run.interruption()), (Some(Interruption::TimedOut), None));
        assert!(run.is_due(Instant::now()) && run.take_ask() && !run.take_ask());
        assert_eq!(run.sleep(Duration::from_millis(1)), Ok(()), "it may still sleep");
        std::thread::sleep(STEP);
        assert!(run.is_due(Instant::now()) && run.take_ask() && !run.is_due(Instant::now()));
        std::thread::sleep(STEP);
        assert!(run.is_due(Instant::now()) && run.interruption() == Some(Interruption::TimedOut));
        assert_eq!(run.sleep(Duration::ZERO), Err(Interrupted));
    }

    #[test]
    fn a_flood_waits_for_its_reader() {
        let (run, socket) = run();
        let flood = std::thread::spawn({
            let run = Arc::clone(&run);
            move || run.write(OutputStream::Stdout, &vec![b'x'; 4 << 20])
        });
        let mut received = 0;
        while received < OUTPUT_WINDOW {
            received += receive_output(&socket);
        }
        // Nobody says that it was consumed, so no more than the window is on its way.
        std::thread::sleep(Duration::from_millis(20));
        assert!(!flood.is_finished());
        run.interrupt(Interruption::Cancelled);
        assert_eq!(flood.join().expect("thread"), Err(Interrupted));
        assert!(received < OUTPUT_WINDOW + 2 * FLUSH_SIZE as u64);
    }

    fn receive_output(socket: &OwnedFd) -> u64 {
        let mut buffer = vec![0; protocol::MAX_PACKET];
        let (length, _) = protocol::receive_bytes(socket, &mut buffer).expect("receive").expect("open");
        let part: protocol::Part<'_> = protocol::decode(&buffer[..length]).expect("part");
        match protocol::decode(part.bytes).expect("reply") {
            Reply::Output(pieces) => pieces.iter().map(Piece::weight).sum(),
            Reply::Finished(_) | Reply::Answer(_) => panic!("no end yet"),
        }
    }
}
