//! A copy of a session: another disk with the same files, and instances whose memory is the same.
//!
//! Between cells, an interpreter is nothing but its memory. The few globals that its code has (where the stack is) are
//! then what they were at its start, and on our side there is only what it has open. The copy is exact, down to the
//! state of random number generators.

use belljar_wasi::Image;
use wasmtime::Result;

use super::{Interpreter, Live};
use crate::execute::Executor;
use crate::guest::Guest;
use crate::instances::Made;
use crate::runtime::Runtime;

impl Live {
    pub(super) fn fork(&self, executor: &Executor) -> Result<Self> {
        let interpreters = self.interpreters.iter().map(|interpreter| {
            let runtime = executor.runtime(interpreter.runtime)?;
            interpreter.fork(runtime, &self.image(interpreter.runtime, runtime)?)
        });
        Ok(Self {
            interpreters: interpreters.collect::<Result<_>>()?,
            disk: self.disk.clone(),
            limits: self.limits,
            layers: self.layers.clone(),
            cells: self.cells,
            known: self.known.clone(),
        })
    }
}

impl Interpreter {
    fn fork(&self, runtime: &Runtime, image: &Image) -> Result<Self> {
        let mut fork = Self::instantiate(self.runtime, runtime, self.store.data().fork(image)?)?;
        let memory = Guest::memory(&self.store)?;
        let bytes = memory.data(&self.store);
        fork.grow_to(bytes.len())?;
        let written = runtime.memories.written(bytes.as_ptr(), bytes.len())?;
        let target = Guest::memory(&fork.store)?.data_mut(&mut fork.store);
        for pages in written {
            if let (Some(target), Some(source)) = (target.get_mut(pages.clone()), bytes.get(pages)) {
                target.copy_from_slice(source);
            }
        }
        Ok(fork)
    }

    /// A new instance for a guest that was somewhere else before.
    pub(super) fn instantiate(index: u32, runtime: &Runtime, guest: Guest) -> Result<Self> {
        let made = runtime.instances.make(guest)?;
        let Made { store, instance, .. } =
            made.ok_or_else(|| wasmtime::Error::msg("it may not have its own memory"))?;
        Ok(Self { runtime: index, store, instance })
    }

    /// Gives its memory this size, in bytes.
    pub(super) fn grow_to(&mut self, size: usize) -> Result<()> {
        const PAGE: usize = 64 << 10;
        let memory = Guest::memory(&self.store)?;
        let more = size.saturating_sub(memory.data_size(&self.store)).div_ceil(PAGE);
        memory.grow(&mut self.store, more as u64)?;
        Ok(())
    }
}
