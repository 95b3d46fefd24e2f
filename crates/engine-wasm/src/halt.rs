//! Ending guest code: a signal to its thread, whose handler sends it to a trap.
//!
//! Compiled WebAssembly never checks whether it should stop. wasmtime can put a check into every function and every
//! loop (epochs), which costs an interpreter with many small functions a fifth of its speed. So guest code has no
//! checks, and whoever wants a run to end sends a signal to its thread. If the signal finds the thread in a function of
//! the run's module, the handler moves it to an instruction that traps, and wasmtime ends the run as it ends any that
//! traps. Anywhere else (in a host call, in one of wasmtime's trampolines, in no run or in one that need not end) the
//! handler changes nothing; the timekeeper sends another signal at its next tick, until the run is over. Host calls of
//! a run that has to end fail from then on, so that a run which calls the host all the time is not missed again and
//! again. What a guest can have wasmtime do for long, filling and copying memory, is done in pieces, with a call of the
//! host between them (see [`bulk`](crate::bulk)).
//!
//! A guest's memory can have a page that nobody may touch. Guest code that touches it traps. But filling and copying
//! memory are functions of wasmtime's, in which a fault would end the process: there the guest is given the page, and
//! the run has to end.
//!
//! A run that is only asked to stop is told in the same way: if the handler finds the thread in guest code, it sets the
//! words of memory that a signal handler of the guest's own would set ([`Ask`]). Host calls tell it when they return.
//!
//! Guest code can be left at any instruction: whatever it was in the middle of is in its own memory and globals, which
//! are dropped with the instance.

#![expect(unsafe_code, reason = "a signal handler, and the registers that it is given")]

use std::cell::Cell;
use std::io;
use std::ops::Range;
use std::ptr;
use std::sync::OnceLock;
use std::sync::atomic::{Ordering, compiler_fence};

use rustix::process::{Pid, getpid};
use wasmtime::{Module, Result};

use crate::run::{Interruption, Run};
use processor::{Register, TRAP_INSTRUCTION, program_counter};

/// Nothing else in a worker sends it, and nobody outside can.
const SIGNAL: libc::c_int = libc::SIGUSR1;

/// `(module (func unreachable))`
const TRAP: &[u8] = b"\0asm\x01\0\0\0\x01\x04\x01\x60\0\0\x03\x02\x01\0\x0a\x05\x01\x03\0\0\x0b";

/// Where a module's guest code can be stopped, and where it is sent then.
#[derive(Debug)]
pub(crate) struct Grounds {
    /// Addresses of the module's own functions, in order. Not of its trampolines: a trap in one that has not yet noted
    /// where to return to would lead nowhere.
    functions: Box<[Range<Register>]>,
    trap: Register,
    /// Holds the code that `trap` points to.
    _module: Module,
}

impl Grounds {
    /// Those of a module that will run in this process.
    pub(crate) fn of(module: &Module) -> Result<Self> {
        static INSTALLED: OnceLock<Result<(), String>> = OnceLock::new();
        let installed = INSTALLED.get_or_init(|| install().map_err(|error| error.to_string()));
        installed.as_ref().map_err(|error| wasmtime::Error::msg(format!("no handler for signals: {error}")))?;

        let trapping = Module::new(module.engine(), TRAP)?;
        let code = trapping.text();
        let place = code.windows(TRAP_INSTRUCTION.len()).position(|bytes| bytes == TRAP_INSTRUCTION);
        let place = place.ok_or_else(|| wasmtime::Error::msg("`unreachable` is not compiled to what traps"))?;
        let trap = Register::try_from(code.as_ptr().addr() + place)?;
        Ok(Self { functions: addresses(module)?.into(), trap, _module: trapping })
    }

    fn contain(&self, address: Register) -> bool {
        let after = self.functions.partition_point(|function| function.start <= address);
        after.checked_sub(1).and_then(|last| self.functions.get(last)).is_some_and(|last| last.contains(&address))
    }
}

/// Where a module's functions are, in order; those that follow one another closely as one.
fn addresses(module: &Module) -> Result<Vec<Range<Register>>> {
    /// Functions begin at multiples of this, and no trampoline is as short.
    const ALIGNMENT: usize = 16;
    let mut functions: Vec<Range<usize>> =
        module.functions().map(|function| function.offset..function.offset + function.len).collect();
    functions.sort_unstable_by_key(|function| function.start);
    functions.dedup_by(|next, last| {
        let close = next.start - last.end < ALIGNMENT;
        if close {
            last.end = next.end;
        }
        close
    });
    let text = module.text().as_ptr().addr();
    functions
        .into_iter()
        .map(|function| Ok(Register::try_from(text + function.start)?..Register::try_from(text + function.end)?))
        .collect()
}

/// What a thread runs.
#[derive(Clone, Copy)]
struct Current<'a> {
    grounds: &'a Grounds,
    run: &'a Run,
    forbidden: Forbidden,
    ask: Option<Ask>,
}

/// How a guest is told that it should stop: where its memory is, and in it the list of words to set, which starts with how many there are.
/// Each is an address and the bits that are set there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Ask {
    pub(crate) memory: *mut u8,
    /// As it was when the guest started: it only grows.
    pub(crate) size: usize,
    pub(crate) list: u32,
}

/// Sets the words that the list at `list` names. All of it is the guest's own: it can only do this to itself.
pub(crate) fn set_words(memory: &mut [u8], list: u32) {
    /// The longest list.
    const MOST: u32 = 8;
    let word = |memory: &[u8], at: u32| {
        memory.get(at as usize..).and_then(|rest| rest.first_chunk()).map_or(0, |bytes| u32::from_le_bytes(*bytes))
    };
    for index in 0..word(memory, list).min(MOST) {
        let entry = list.saturating_add(4 + index * 8);
        let (place, bits) = (word(memory, entry), word(memory, entry.saturating_add(4)));
        let set = word(memory, place) | bits;
        if let Some(target) = memory.get_mut(place as usize..).and_then(|rest| rest.first_chunk_mut()) {
            *target = set.to_le_bytes();
        }
    }
}

/// Addresses of the guest's memory that cannot be touched: whole pages at its start, or none.
#[derive(Clone, Copy)]
struct Forbidden {
    start: usize,
    end: usize,
}

thread_local! {
    /// Null when the thread runs no guest. Without a destructor and known at compile time, so that the handler can read it.
    static CURRENT: Cell<*const Current<'static>> = const { Cell::new(ptr::null()) };
}

/// Runs guest code that a signal to this thread can end, if the run has to.
pub(crate) fn stoppable<T>(
    grounds: &Grounds,
    run: &Run,
    forbidden: Range<usize>,
    ask: Option<Ask>,
    guest: impl FnOnce() -> T,
) -> T {
    struct Reset;
    impl Drop for Reset {
        fn drop(&mut self) {
            CURRENT.set(ptr::null());
            compiler_fence(Ordering::SeqCst);
        }
    }

    let forbidden = Forbidden { start: forbidden.start, end: forbidden.end };
    let current = Current { grounds, run, forbidden, ask };
    // The handler runs on this thread, so only the compiler's order matters: what the handler must see has to be
    // written before.
    compiler_fence(Ordering::SeqCst);
    CURRENT.set((&raw const current).cast());
    compiler_fence(Ordering::SeqCst);
    let _reset = Reset;
    guest()
}

/// Sends the signal to a thread of this process. It does no harm to a thread that runs nothing, or something else by
/// now.
pub(crate) fn signal(thread: Pid) {
    // SAFETY: plain numbers. That the thread may be gone is an error like any other.
    unsafe { libc::syscall(libc::SYS_tgkill, getpid().as_raw_nonzero(), thread.as_raw_nonzero(), SIGNAL) };
}

/// Catches faults of the host on behalf of guests. Call this before the first module is loaded: wasmtime handles faults
/// of guest code itself, and passes others on to the handler that it found.
pub(crate) fn catch_faults() -> io::Result<()> {
    install_handler(libc::SIGSEGV, fault)
}

fn install() -> io::Result<()> {
    install_handler(SIGNAL, handle)
}

type Handler = extern "C" fn(libc::c_int, *mut libc::siginfo_t, *mut libc::c_void);

fn install_handler(signal: libc::c_int, handler: Handler) -> io::Result<()> {
    // SAFETY: all zeros is an empty mask and no flags.
    let mut action: libc::sigaction = unsafe { std::mem::zeroed() };
    action.sa_sigaction = (handler as *const ()).addr();
    // On a stack of its own, since the guest's may be used up; and system calls of the host go on after it.
    action.sa_flags = libc::SA_SIGINFO | libc::SA_ONSTACK | libc::SA_RESTART;
    // SAFETY: our handlers do only what a handler may, and their type is what SA_SIGINFO asks for.
    if unsafe { libc::sigaction(signal, &raw const action, ptr::null_mut()) } != 0 {
        return Err(io::Error::last_os_error());
    }
    Ok(())
}

/// The handler: no lock, no allocation, nothing that could be half done already.
extern "C" fn handle(_: libc::c_int, _: *mut libc::siginfo_t, context: *mut libc::c_void) {
    // SAFETY: `stoppable` sets this on the same thread, and takes it back before what it points to goes.
    let Some(&Current { grounds, run, ask, .. }) = (unsafe { CURRENT.get().as_ref() }) else { return };
    // SAFETY: the kernel gives a handler with SA_SIGINFO the registers as a `ucontext_t`, which are the thread's when it returns.
    let counter = program_counter(unsafe { &mut *context.cast() });
    // In the host too, which looks at what this finds out.
    let must_end = run.must_end();
    if !grounds.contain(*counter) {
        return;
    }
    if must_end {
        *counter = grounds.trap;
    } else if run.take_ask()
        && let Some(ask) = ask
    {
        // SAFETY: the memory of the instance that this thread runs, which is as large at least. The thread is in guest code, so that nobody has a
        // reference into it; to the guest this is as if a signal had been handled between two of its instructions.
        set_words(unsafe { std::slice::from_raw_parts_mut(ask.memory, ask.size) }, ask.list);
    }
}

/// The handler of faults outside of guest code: no lock, no allocation.
extern "C" fn fault(signal: libc::c_int, info: *mut libc::siginfo_t, _: *mut libc::c_void) {
    // SAFETY: the kernel gives a handler with SA_SIGINFO what it knows of the signal,
    let info = unsafe { &*info };
    // SAFETY: which for this one has an address.
    let address = unsafe { info.si_addr() }.addr();
    // SAFETY: as in `handle`.
    if let Some(&Current { run, forbidden, .. }) = unsafe { CURRENT.get().as_ref() }
        && (forbidden.start..forbidden.end).contains(&address)
    {
        let start = ptr::with_exposed_provenance_mut(forbidden.start);
        let protection = libc::PROT_READ | libc::PROT_WRITE;
        // SAFETY: the guest's own memory, in whole pages, which become like the rest of it. Whatever touches them now,
        // for the guest, writes only what the guest could have written.
        if unsafe { libc::mprotect(start, forbidden.end - forbidden.start, protection) } == 0 {
            run.mark(Interruption::Fault);
            return;
        }
    }
    // As if nobody had been here: it happens again, and ends the process.
    // SAFETY: plain numbers.
    unsafe { libc::signal(signal, libc::SIG_DFL) };
}

#[cfg(target_arch = "x86_64")]
mod processor {
    /// `ud2`
    pub(super) const TRAP_INSTRUCTION: &[u8] = &[0x0f, 0x0b];

    pub(super) type Register = i64;

    /// Where the thread is, and goes on.
    pub(super) fn program_counter(context: &mut libc::ucontext_t) -> &mut Register {
        const RIP: usize = libc::REG_RIP as usize;
        let [.., counter] = &mut context.uc_mcontext.gregs[..=RIP] else { unreachable!() };
        counter
    }
}

#[cfg(target_arch = "aarch64")]
mod processor {
    /// `udf #0xc11f`
    pub(super) const TRAP_INSTRUCTION: &[u8] = &[0x1f, 0xc1, 0, 0];

    pub(super) type Register = u64;

    /// Where the thread is, and goes on.
    pub(super) fn program_counter(context: &mut libc::ucontext_t) -> &mut Register {
        &mut context.uc_mcontext.pc
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::thread;
    use std::time::{Duration, Instant};

    use wasmtime::{Engine, Instance, Store, Trap};

    use super::*;
    use crate::protocol::{JobLimits, RunId};

    /// `(module (func (export "spin") (loop br 0)) (func (export "ok")))`
    const SPIN: &[u8] = b"\0asm\x01\0\0\0\x01\x04\x01\x60\0\0\x03\x03\x02\0\0\x07\x0d\x02\x04spin\0\0\x02ok\0\x01\
        \x0a\x0c\x02\x07\0\x03\x40\x0c\0\x0b\x0b\x02\0\x0b";

    const LIMITS: JobLimits =
        JobLimits { wall_micros: 60_000_000, cpu_micros: 60_000_000, memory: 0, disk: 0, files: 0 };

    fn call(module: &Module, grounds: &Grounds, run: &Run, function: &str) -> Result<()> {
        let mut store = Store::new(module.engine(), ());
        let instance = Instance::new(&mut store, module, &[])?;
        let function = instance.get_typed_func::<(), ()>(&mut store, function)?;
        stoppable(grounds, run, 0..0, None, || function.call(&mut store, ()))
    }

    #[test]
    fn a_loop_that_touches_nothing_is_ended() {
        let module = Module::new(&Engine::default(), SPIN).expect("compiles");
        let grounds = Grounds::of(&module).expect("grounds");
        // Again and again, so that the signal finds all kinds of places.
        for round in 0..200 {
            let run = Arc::new(Run::start(RunId(round), &LIMITS, None));
            let stopper = thread::spawn({
                let run = Arc::clone(&run);
                move || {
                    thread::sleep(Duration::from_micros(round * 3));
                    run.interrupt(Interruption::Cancelled);
                    let end = Instant::now() + Duration::from_secs(10);
                    while Arc::strong_count(&run) > 1 && Instant::now() < end {
                        run.call_up();
                        thread::sleep(Duration::from_micros(20));
                    }
                }
            });
            let error = call(&module, &grounds, &run, "spin").expect_err("it has no end of its own");
            drop(run);
            stopper.join().expect("thread");
            assert_eq!(error.downcast_ref::<Trap>(), Some(&Trap::UnreachableCodeReached), "{error:?}");
        }
    }

    #[test]
    fn words_are_set_where_there_are_any() {
        let mut memory = vec![0_u8; 64];
        for (at, word) in [(0, 3_u32), (4, 32), (8, 5), (12, 61), (16, 1), (20, u32::MAX), (24, 1), (32, 8)] {
            memory[at..at + 4].copy_from_slice(&word.to_le_bytes());
        }
        set_words(&mut memory, 0);
        assert_eq!(memory[32], 13);
        assert!(memory[36..].iter().all(|byte| *byte == 0));
        set_words(&mut memory, u32::MAX);
        memory[0] = 255;
        set_words(&mut memory, 0);
    }

    #[test]
    fn who_need_not_end_is_left_alone() {
        let module = Module::new(&Engine::default(), SPIN).expect("compiles");
        let grounds = Grounds::of(&module).expect("grounds");
        let run = Arc::new(Run::start(RunId(0), &LIMITS, None));
        let caller = thread::spawn({
            let run = Arc::clone(&run);
            move || {
                while Arc::strong_count(&run) > 1 {
                    run.call_up();
                }
            }
        });
        for _ in 0..2_000 {
            call(&module, &grounds, &run, "ok").expect("nobody wants it to end");
        }
        drop(run);
        caller.join().expect("thread");
    }
}
