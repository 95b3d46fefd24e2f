//! Instances of a runtime, each used for one run after the other.
//!
//! A new instance costs a short run a third of its time: making it, then the first call through each function pointer
//! and the page faults of the table behind them. It is known how much of an instance its code can change (see
//! [`Mutable`]). If that is only its memory and its globals, an instance whose run ended by itself has both reset to
//! what they were before any run, and serves the next. After anything else (it was stopped, it trapped, its memory
//! grew), it is dropped.

use std::sync::{Arc, Mutex, PoisonError};

use wasmtime::{Engine, Global, Instance, InstancePre, Module, Result, Store, Val};

use crate::artifact::{GLOBAL, Mutable};
use crate::guest::Guest;
use crate::memory::{KEEP_SLOTS, Memories};

/// Where a runtime's instances come from.
pub(crate) struct Instances {
    engine: Engine,
    pre: InstancePre<Guest>,
    memories: Arc<Memories>,
    /// Names of its globals, if resetting those and the memory makes an instance as good as new.
    variables: Option<Box<[String]>>,
    free: Mutex<Vec<Made>>,
}

/// An instance.
pub(crate) struct Made {
    pub(crate) store: Store<Guest>,
    pub(crate) instance: Instance,
    /// What its variables were before any run, and how large its memory.
    variables: Vec<(Global, Val)>,
    size: usize,
}

impl Instances {
    pub(crate) fn new(engine: Engine, pre: InstancePre<Guest>, memories: Arc<Memories>, mutable: Mutable) -> Self {
        let variables = match mutable {
            Mutable::MemoryAndGlobals if memories.scans() => Some(variables(pre.module())),
            Mutable::MemoryAndGlobals | Mutable::Anything => None,
        };
        Self { engine, pre, memories, variables, free: Mutex::default() }
    }

    pub(crate) fn module(&self) -> &Module {
        self.pre.module()
    }

    /// An instance for this guest that holds nothing of any other run. `None`: the guest may not have as much memory as
    /// an instance starts with.
    pub(crate) fn make(&self, guest: Guest) -> Result<Option<Made>> {
        let used = self.free.lock().unwrap_or_else(PoisonError::into_inner).pop();
        let Some(mut made) = used else { return self.make_new(guest) };
        *made.store.data_mut() = guest;
        Guest::adopt(&mut made.store, &made.instance)?;
        Ok(Some(made))
    }

    fn make_new(&self, guest: Guest) -> Result<Option<Made>> {
        let mut store = Store::new(&self.engine, guest);
        store.limiter(|guest| guest.limiter());
        let instance = match self.pre.instantiate(&mut store) {
            Ok(instance) => instance,
            Err(_) if store.data().was_refused_memory() => return Ok(None),
            Err(error) => return Err(error),
        };
        Guest::adopt(&mut store, &instance)?;
        let size = Guest::memory(&store)?.data_size(&store);
        let names = self.variables.iter().flatten();
        let globals: Vec<Global> = names.filter_map(|name| instance.get_global(&mut store, name)).collect();
        let variables = globals.into_iter().map(|global| (global, global.get(&mut store))).collect();
        Ok(Some(Made { store, instance, variables, size }))
    }

    /// Takes back an instance whose run ended by itself.
    pub(crate) fn take_back(&self, mut made: Made) {
        if self.variables.is_some() && self.put_back(&mut made).is_ok() {
            let mut free = self.free.lock().unwrap_or_else(PoisonError::into_inner);
            if free.len() < KEEP_SLOTS {
                free.push(made);
            }
        }
    }

    fn put_back(&self, made: &mut Made) -> Result<()> {
        let memory = Guest::memory(&made.store)?;
        if memory.data_size(&made.store) != made.size {
            return Err(wasmtime::Error::msg("memory does not shrink"));
        }
        self.memories.put_back(memory.data_mut(&mut made.store))?;
        made.variables.iter().try_for_each(|(global, value)| global.set(&mut made.store, *value))
    }

    /// Gives up all waiting instances but one: nobody has wanted them for a while.
    pub(crate) fn rest(&self) {
        let (given_up, kept) = {
            let mut free = self.free.lock().unwrap_or_else(PoisonError::into_inner);
            let kept = free.len().min(1);
            (free.split_off(kept), kept)
        };
        drop(given_up);
        self.memories.rest(1 - kept);
    }
}

fn variables(module: &Module) -> Box<[String]> {
    module.exports().map(|export| export.name()).filter(|name| name.starts_with(GLOBAL)).map(str::to_owned).collect()
}

#[cfg(test)]
mod tests {
    use std::fs::File;

    use wasmtime::Linker;

    use super::*;
    use crate::artifact;
    use crate::driver::Start;
    use crate::guest::Surroundings;
    use crate::machine;
    use crate::memory::FirstPage;
    use crate::protocol::{JobLimits, RunId};
    use crate::run::Run;
    use crate::{runtime, snapshot};

    /// ```text
    /// (module
    ///   (memory (export "memory") 1)
    ///   (global (mut i32) (i32.const 7))
    ///   (func (export "next") (result i32)
    ///     (global.set 0 (i32.add (global.get 0) (i32.const 1)))
    ///     (i32.store (i32.const 8) (i32.add (i32.load (i32.const 8)) (global.get 0)))
    ///     (i32.load (i32.const 8)))
    ///   (data (i32.const 8) "\01\00\00\00"))
    /// ```
    const COUNTS: &[u8] = b"\0asm\x01\0\0\0\
        \x01\x05\x01\x60\0\x01\x7f\
        \x03\x02\x01\0\
        \x05\x03\x01\0\x01\
        \x06\x06\x01\x7f\x01\x41\x07\x0b\
        \x07\x11\x02\x06memory\x02\0\x04next\0\0\
        \x0a\x1d\x01\x1b\0\x23\0\x41\x01\x6a\x24\0\x41\x08\x41\x08\x28\x02\0\x23\0\x6a\x36\x02\0\x41\x08\x28\x02\0\x0b\
        \x0b\x0a\x01\0\x41\x08\x0b\x04\x01\0\0\0";

    fn instances() -> Instances {
        let code = snapshot::compile_for(Start::Once, COUNTS).expect("compiled");
        let folder = tempfile::tempdir().expect("a temporary directory");
        let path = folder.path().join("artifact");
        std::fs::write(&path, code).expect("write");
        let file = File::open(&path).expect("open");
        let (place, mutable) = artifact::find_image(&file).expect("an artifact");
        let memories = Memories::new(file.try_clone().expect("a descriptor"), place, FirstPage::Plain);
        let memories = Arc::new(memories.expect("memories"));
        let engine = machine::running(Arc::clone(&memories)).expect("an engine");
        let module = runtime::map_module(&engine, file).expect("a module");
        let pre = Linker::new(&engine).instantiate_pre(&module).expect("no imports");
        Instances::new(engine, pre, memories, mutable)
    }

    fn guest() -> Guest {
        const LIMITS: JobLimits =
            JobLimits { wall_micros: 1_000_000, cpu_micros: 1_000_000, memory: 1 << 20, disk: 0, files: 0 };
        let surroundings = Surroundings {
            image: &runtime::image(None).expect("no files"),
            files: &[],
            program: None,
            stdin: &[],
            limits: &LIMITS,
            base_memory: 0,
            lowest_address: 0,
        };
        Guest::new(&surroundings, Arc::new(Run::start(RunId(1), &LIMITS, None))).expect("a guest")
    }

    fn next(made: &mut Made) -> i32 {
        let next = made.instance.get_typed_func::<(), i32>(&mut made.store, "next").expect("the function");
        next.call(&mut made.store, ()).expect("no trap")
    }

    #[test]
    fn one_that_is_used_again_is_as_new() {
        let instances = instances();
        assert!(instances.variables.is_some() || !instances.memories.scans());
        for _ in 0..3 {
            let mut made = instances.make(guest()).expect("made").expect("memory");
            assert_eq!([next(&mut made), next(&mut made)], [9, 18]);
            instances.take_back(made);
            let waiting = instances.free.lock().expect("no panic").len();
            assert_eq!(waiting, usize::from(instances.memories.scans()));
        }
    }

    #[test]
    fn one_that_has_grown_is_not_used_again() {
        let instances = instances();
        let mut made = instances.make(guest()).expect("made").expect("memory");
        Guest::memory(&made.store).expect("a memory").grow(&mut made.store, 1).expect("growth");
        instances.take_back(made);
        assert!(instances.free.lock().expect("no panic").is_empty());
        let mut made = instances.make(guest()).expect("made").expect("memory");
        assert_eq!(next(&mut made), 9);
    }

    #[test]
    fn nothing_but_one_waits_for_long() {
        let instances = instances();
        let made: Vec<Made> = (0..3).map(|_| instances.make(guest()).expect("made").expect("memory")).collect();
        for made in made {
            instances.take_back(made);
        }
        instances.rest();
        assert_eq!(instances.free.lock().expect("no panic").len(), usize::from(instances.memories.scans()));
    }
}
