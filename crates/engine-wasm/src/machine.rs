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
        // Nothing that we run has any of these, and what is not there cannot be gone wrong about.
        .wasm_multi_memory(false)
        .wasm_memory64(false)
        .wasm_relaxed_simd(false)
        .wasm_function_references(false)
        .wasm_gc(false)
        // All that 32 bits reach is reserved, so that no access needs a check of its bounds. What a run may have is its store's to say.
        .memory_reservation(4 << 30)
        .memory_may_move(false)
        .max_wasm_stack(WASM_STACK)
        // Not used, and still not allowed to be smaller.
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

/// What a compiled module depends on: wasmtime's version, its settings, this machine's processor, and how we keep it. Of the same build as the module, so the
/// hash need not be the same in another.
pub(crate) fn key() -> Result<String> {
    let engine = compiling()?;
    let mut hasher = DefaultHasher::new();
    engine.precompile_compatibility_hash().hash(&mut hasher);
    artifact::MAGIC.hash(&mut hasher);
    Ok(format!("{:016x}", hasher.finish()))
}
