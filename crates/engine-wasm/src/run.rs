//! A run in the worker, as the threads that have to do with it share it: the one it runs on, the timekeeper, and the one that hears the
//! server.

use std::os::fd::OwnedFd;
use std::sync::atomic::{AtomicU8, Ordering};
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

/// What a piece takes beside its bytes, so that many tiny ones still fit into a packet.
const PIECE_OVERHEAD: usize = 8;

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
    interruption: AtomicU8,
    outbox: Mutex<Outbox>,
    /// Signalled when there is room in the window, and when the run is interrupted.
    wake: Condvar,
    /// Where output goes. `None` keeps all of it.
    socket: Option<Arc<OwnedFd>>,
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
            interruption: AtomicU8::new(0),
            outbox: Mutex::default(),
            wake: Condvar::new(),
            socket,
        }
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

    pub(crate) fn interruption(&self) -> Option<Interruption> {
        match self.interruption.load(Ordering::Relaxed) {
            1 => Some(Interruption::TimedOut),
            2 => Some(Interruption::Cancelled),
            3 => Some(Interruption::OverCpu),
            4 => Some(Interruption::Fault),
            _ => None,
        }
    }

    /// Ends it for this reason, unless it is being ended already. Guest code hears of it when it is called up, a host call that waits at once.
    pub(crate) fn interrupt(&self, why: Interruption) {
        self.mark(why);
        // The lock orders this after a waiter's own check of the flag.
        drop(self.outbox.lock().unwrap_or_else(PoisonError::into_inner));
        self.wake.notify_all();
    }

    /// Ends it, unless it is being ended already. Takes no lock; what waits is not woken.
    pub(crate) fn mark(&self, why: Interruption) {
        self.interruption.compare_exchange(0, why as u8, Ordering::Relaxed, Ordering::Relaxed).ok();
    }

    /// Whether its thread has to look up: its time is over, it was cancelled, or it may have used up its CPU time, which only that
    /// thread can tell.
    pub(crate) fn is_due(&self, now: Instant) -> bool {
        if now >= self.deadline {
            self.interrupt(Interruption::TimedOut);
        }
        self.interruption().is_some() || now.duration_since(self.started) >= self.cpu_limit
    }

    /// Sleeps, but not past the end of the run.
    pub(crate) fn sleep(&self, duration: Duration) -> Result<(), Interrupted> {
        let until = Instant::now().checked_add(duration).map_or(self.deadline, |until| until.min(self.deadline));
        let mut outbox = self.outbox.lock().unwrap_or_else(PoisonError::into_inner);
        loop {
            if self.interruption().is_some() {
                return Err(Interrupted);
            }
            let now = Instant::now();
            if now >= self.deadline {
                drop(outbox);
                self.interrupt(Interruption::TimedOut);
                return Err(Interrupted);
            }
            if now >= until {
                return Ok(());
            }
            (outbox, _) = self.wake.wait_timeout(outbox, until - now).unwrap_or_else(PoisonError::into_inner);
        }
    }

    /// Takes output. Waits when the server has too much of it that nobody has read.
    pub(crate) fn write(&self, stream: OutputStream, mut bytes: &[u8]) -> Result<(), Interrupted> {
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
                } else if self.interruption().is_some() {
                    return Err(Interrupted);
                } else {
                    outbox = self.wake.wait(outbox).unwrap_or_else(PoisonError::into_inner);
                }
            }
        }
        Ok(())
    }

    /// The server passed output on.
    pub(crate) fn consumed(&self, bytes: u64) {
        let mut outbox = self.outbox.lock().unwrap_or_else(PoisonError::into_inner);
        outbox.in_flight = outbox.in_flight.saturating_sub(bytes);
        drop(outbox);
        self.wake.notify_all();
    }

    /// Sends output that somebody may be waiting to see.
    pub(crate) fn send_stale_output(&self, now: Instant) {
        // Its thread is at it: nothing is stale.
        let (Some(socket), Ok(mut outbox)) = (&self.socket, self.outbox.try_lock()) else { return };
        let stale = outbox.since.is_some_and(|since| now.duration_since(since) >= FLUSH_AGE);
        if stale && outbox.in_flight < OUTPUT_WINDOW {
            // Full socket: next time.
            outbox.send(self.id, socket, Patience::None).ok();
        }
    }

    /// What was not sent, for the end.
    pub(crate) fn take_output(&self) -> Vec<Piece> {
        std::mem::take(&mut self.outbox.lock().unwrap_or_else(PoisonError::into_inner).pieces)
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
        match self.pieces.last_mut() {
            Some(piece) if piece.stream == stream => piece.bytes.extend_from_slice(bytes),
            _ => {
                self.pieces.push(Piece { stream, bytes: bytes.to_vec() });
                self.size += PIECE_OVERHEAD;
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
            Reply::Output(pieces) => pieces.iter().map(|piece| piece.bytes.len() as u64).sum(),
            Reply::Finished(_) => panic!("no end yet"),
        }
    }
}
