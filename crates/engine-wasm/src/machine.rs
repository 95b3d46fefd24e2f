//! wasmtime as we use it. What decides whether a compiled module can be loaded is the same for compiling and for running.

use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::sync::Arc;

use wasmtime::{Config, Engine, OptLevel, Result};

use crate::artifact;
use crate::memory::{Creator, Memories};

/// The wasm stack of a run, within the stack of its thread.
const WASM_STACK: usize = 16 << 20;
/// The stack of a thread that runs guests: the guest's own and room for the host's calls.
pub(crate) const THREAD_STACK: usize = WASM_STACK + (4 << 20);

fn config() -> Config {
    let mut config = Config::new();
    config
        // C++ in NumPy throws.
        .wasm_exceptions(true)
        // Nothing that we run needs any of these, and what is off cannot go wrong.
        .wasm_multi_memory(false)
        .wasm_memory64(false)
        .wasm_relaxed_simd(false)
        .wasm_function_references(false)
        .wasm_gc(false)
        // All 4 GiB that 32 bits address are reserved, so that no access needs a bounds check. How much a run may have
        // is up to its store.
        .memory_reservation(4 << 30)
        .memory_may_move(false)
        .max_wasm_stack(WASM_STACK)
        // Unused, but wasmtime does not allow it to be smaller.
        .async_stack_size(THREAD_STACK)
        .cranelift_opt_level(OptLevel::Speed)
        // A trap's name is all that a caller can use; symbols of an interpreter's C code are not.
        .wasm_backtrace_max_frames(None);
    config
}

/// For compiling, and for making snapshots.
pub(crate) fn compiling() -> Result<Engine> {
    Engine::new(&config())
}

/// For running instances of one module, which start with the same memory.
pub(crate) fn running(memories: Arc<Memories>) -> Result<Engine> {
    let mut config = config();
    config.with_host_memory(Arc::new(Creator(memories)));
    Engine::new(&config)
}

/// What a compiled module depends on: wasmtime's version, its settings, this machine's processor, and our file format.
/// It is only compared within one build, so another build's hash may differ.
pub(crate) fn key() -> Result<String> {
    let engine = compiling()?;
    let mut hasher = DefaultHasher::new();
    engine.precompile_compatibility_hash().hash(&mut hasher);
    artifact::MAGIC.hash(&mut hasher);
    Ok(format!("{:016x}", hasher.finish()))
}
