//! wasmtime as we use it. What decides whether a compiled module can be loaded is the same for compiling and for running.

use std::hash::{DefaultHasher, Hash as _, Hasher as _};

use wasmtime::{Config, Enabled, Engine, InstanceAllocationStrategy, OptLevel, PoolingAllocationConfig, Result};

/// Above every snapshot's memory. An image that is larger is copied at every start instead of shared, without a word.
pub(crate) const DENSE_IMAGE: u64 = 512 << 20;

/// The wasm stack of a run, within the stack of its thread.
const WASM_STACK: usize = 4 << 20;
/// The stack of a thread that runs guests: the guest's own and room for the host's calls.
pub(crate) const THREAD_STACK: usize = WASM_STACK + (4 << 20);

/// The most memory an instance can have: all that 32 bits reach. What a run may have is its store's to say.
const MAX_MEMORY: usize = 4 << 30;

/// Memory of an ended instance that is kept, reset, for the next one: more than most runs touch.
const KEEP_RESIDENT: usize = 32 << 20;

fn config() -> Config {
    let mut config = Config::new();
    config
        .epoch_interruption(true)
        .memory_init_cow(true)
        .memory_guaranteed_dense_image_size(DENSE_IMAGE)
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

/// For running at most `slots` instances at one time, their memory reserved ahead.
pub(crate) fn running(slots: u32) -> Result<Engine> {
    let mut pool = PoolingAllocationConfig::new();
    pool.total_memories(slots)
        .total_core_instances(slots)
        .total_tables(slots)
        .max_memory_size(MAX_MEMORY)
        .max_memories_per_module(1)
        .max_tables_per_module(1)
        .table_elements(200_000)
        .max_core_instance_size(1 << 20)
        .max_unused_warm_slots(slots)
        .linear_memory_keep_resident(KEEP_RESIDENT)
        // Finds the pages that a run wrote, so that a reset touches only those. Kernels before 6.7 do not have it.
        .pagemap_scan(Enabled::Auto);
    let mut config = config();
    config.allocation_strategy(InstanceAllocationStrategy::Pooling(pool));
    Engine::new(&config)
}

/// What a compiled module depends on: wasmtime's version, its settings, this machine's processor. Of the same build as the module, so the
/// hash need not be the same in another.
pub(crate) fn key() -> Result<String> {
    let engine = compiling()?;
    let mut hasher = DefaultHasher::new();
    engine.precompile_compatibility_hash().hash(&mut hasher);
    Ok(format!("{:016x}", hasher.finish()))
}
