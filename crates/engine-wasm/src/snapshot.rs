//! Making what the engine loads: a runtime is started once, its memory becomes part of its module, and that is compiled.

use std::fs::File;
use std::path::Path;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};

use belljar_wasi::Tree;
use wasmtime::{Global, Instance, Module, Store, Val};
use wasmtime_wizer::{InstanceState, SnapshotVal, Wizer};

use crate::COMPILER;
use crate::artifact::{self, Mutable};
use crate::bulk;
use crate::compiled::{Headers, precompile};
use crate::driver::{Start, driver_for};
use crate::error::WasmError;
use crate::execute::{self, Executor};
use crate::guest::Guest;
use crate::machine;
use crate::protocol::{self, Collecting, Dialect, Job, JobLimits, RunId, Work};
use crate::runtime::{self, Runtime};
use crate::timekeeper::Timekeeper;

/// Starts the runtime `name`, whose module is `wasm` and whose files are `tree`, and returns the module in the state
/// that it has then. The result is WebAssembly, the same on every machine. Whatever the runtime is given here would be
/// in every run, so it is given nothing.
pub fn snapshot(name: &str, wasm: &[u8], tree: Option<Vec<u8>>) -> Result<Vec<u8>, WasmError> {
    let driver = driver_for(name).ok_or_else(|| WasmError::NoDriver(name.to_owned()))?;
    if driver.start() == Start::EachTime {
        return Ok(wasm.to_vec());
    }
    let take = || -> wasmtime::Result<Vec<u8>> {
        let tree = tree.map(|bytes| Tree::open(Arc::new(bytes))).transpose()?;
        let image = runtime::image(tree)?;
        let engine = machine::compiling()?;
        let wizer = Wizer::new();
        let (context, instrumented) = wizer.instrument(wasm)?;
        let module = Module::new(&engine, &instrumented)?;
        let (mut store, run) = execute::set_up_store(&engine, &image, driver.start_memory())?;
        let instance = runtime::linker(&engine, &*driver, &module)?.instantiate(&mut store, &module)?;
        Guest::adopt(&mut store, &instance)?;
        let started = start(&*driver, &mut store, &instance);
        let output = run.take_output();
        if let Err(error) = started {
            let said: Vec<u8> = output.into_iter().flat_map(|piece| piece.bytes).collect();
            return Err(error.context(format!("it did not start, and said: {}", String::from_utf8_lossy(&said))));
        }
        let mut state = State { store: &mut store, instance };
        at_once(wizer.snapshot(&context, &mut state))
    };
    take().map_err(WasmError::Wasmtime)
}

fn start(driver: &dyn crate::driver::Driver, store: &mut Store<Guest>, instance: &Instance) -> wasmtime::Result<()> {
    if let Ok(initialize) = instance.get_typed_func::<(), ()>(&mut *store, "_initialize") {
        initialize.call(&mut *store, ())?;
    }
    driver.initialize(store, instance)
}

/// Has the runtime [`COMPILER`], compiled as `code` and with its files packed as `tree`, make files for its own use, to
/// be packed with the others: precompiled C++ headers.
pub fn prepare(code: &Path, tree: &Path) -> Result<Vec<(String, Vec<u8>)>, WasmError> {
    let open = |path: &Path| File::open(path).map_err(|source| WasmError::Io { path: path.to_owned(), source });
    let runtime = Runtime::load(COMPILER, open(code)?, Some(open(tree)?)).map_err(WasmError::Wasmtime)?;
    let executor = Executor::new(vec![runtime], Arc::new(Timekeeper::new()));
    let names = Headers::PRECOMPILED.iter().filter_map(|headers| headers.name());
    names.map(|name| Ok((format!("{name}.pch"), read_headers(&executor, name)?))).collect()
}

fn read_headers(executor: &Executor, name: &str) -> Result<Vec<u8>, WasmError> {
    const PLENTY: u64 = 2 << 30;
    const HOUR_MICROS: u64 = 3_600_000_000;
    const MADE: &str = "headers.pch";
    let job = Job {
        id: RunId(0),
        work: Work::Run,
        runtime: 0,
        dialect: Dialect::Plain,
        file: "/box/main.cpp".to_owned(),
        code: Vec::new(),
        stdin: Vec::new(),
        args: precompile(name, &format!("/box/{MADE}")),
        env: Vec::new(),
        variables: Vec::new(),
        files: Vec::new(),
        layer: None,
        limits: JobLimits {
            wall_micros: HOUR_MICROS,
            cpu_micros: HOUR_MICROS,
            memory: PLENTY,
            disk: PLENTY,
            files: 100,
        },
        collect: Collecting::Contents,
    };
    let (ours, _theirs) = protocol::channel().map_err(WasmError::Sockets)?;
    let (finished, _remains) = executor.execute(&job, None, &Arc::new(ours));
    let made = finished.files.into_iter().find(|file| file.path == MADE).and_then(|file| file.contents);
    made.ok_or_else(|| {
        let said: Vec<u8> = finished.output.into_iter().flat_map(|piece| piece.bytes).collect();
        let said = String::from_utf8_lossy(&said);
        WasmError::Pack(format!("the headers `{name}` were not compiled: {:?}: {said}", finished.end))
    })
}

/// Packs a folder, and files beside it, into one file that guests can see as their files.
pub fn pack(folder: &Path, more: Vec<(String, Vec<u8>)>) -> Result<Vec<u8>, WasmError> {
    let mut files = more;
    let mut pending = vec![(folder.to_owned(), String::new())];
    while let Some((directory, prefix)) = pending.pop() {
        let failed = |source| WasmError::Io { path: directory.clone(), source };
        for entry in std::fs::read_dir(&directory).map_err(failed)? {
            let entry = entry.map_err(failed)?;
            let name = entry.file_name().into_string().map_err(|_| failed(std::io::ErrorKind::InvalidData.into()))?;
            let path = if prefix.is_empty() { name } else { format!("{prefix}/{name}") };
            let kind = entry.file_type().map_err(failed)?;
            if kind.is_dir() {
                pending.push((entry.path(), path));
            } else if kind.is_file() {
                files.push((path, std::fs::read(entry.path()).map_err(failed)?));
            }
        }
    }
    pack_files(&files)
}

/// Files by their paths, in one piece.
pub(crate) fn pack_files(files: &[(String, Vec<u8>)]) -> Result<Vec<u8>, WasmError> {
    let files = files.iter().map(|(path, contents)| (path.as_str(), contents.as_slice()));
    Tree::pack(files).map_err(|error| WasmError::Pack(error.to_string()))
}

/// Compiles the snapshot of the runtime `name` for this machine.
pub fn compile(name: &str, wasm: &[u8]) -> Result<Vec<u8>, WasmError> {
    let driver = driver_for(name).ok_or_else(|| WasmError::NoDriver(name.to_owned()))?;
    compile_for(driver.start(), wasm).map_err(WasmError::Wasmtime)
}

/// The same for a module that starts like this.
pub(crate) fn compile_for(start: Start, wasm: &[u8]) -> wasmtime::Result<Vec<u8>> {
    let wasm = bulk::in_pieces(wasm)?;
    let mutable = match start {
        Start::Once => artifact::mutable(&wasm)?,
        // An instance that ran a program is never used again.
        Start::EachTime => Mutable::Anything,
    };
    let (module, image) = artifact::take_apart(&wasm)?;
    Ok(artifact::join(machine::compiling()?.precompile_module(&module)?, &image, start, mutable))
}

/// What a compiled module depends on beside its snapshot.
pub fn machine_key() -> Result<String, WasmError> {
    machine::key().map_err(WasmError::Wasmtime)
}

/// An instance, as the snapshotter looks at it.
struct State<'a> {
    store: &'a mut Store<Guest>,
    instance: Instance,
}

impl State<'_> {
    fn global(&mut self, name: &str) -> Option<Global> {
        self.instance.get_global(&mut *self.store, name)
    }
}

impl InstanceState for State<'_> {
    #[expect(clippy::panic, reason = "the trait has no error; the names are the instrumented module's own exports")]
    async fn global_get(&mut self, name: &str, _: wasmtime_wizer::ValType) -> SnapshotVal {
        let value = self.global(name).map(|global| global.get(&mut *self.store));
        match value {
            Some(Val::I32(value)) => SnapshotVal::I32(value),
            Some(Val::I64(value)) => SnapshotVal::I64(value),
            Some(Val::F32(bits)) => SnapshotVal::F32(bits),
            Some(Val::F64(bits)) => SnapshotVal::F64(bits),
            Some(Val::V128(value)) => SnapshotVal::V128(value.as_u128()),
            other => panic!("a global that cannot be kept: {name} is {other:?}"),
        }
    }

    async fn memory_contents(&mut self, name: &str, contents: impl FnOnce(&[u8]) + Send) {
        let memory = self.instance.get_memory(&mut *self.store, name);
        contents(memory.map_or(&[], |memory| memory.data(&*self.store)));
    }
}

/// The snapshotter is asynchronous for others' sake; our instance never lets it wait.
fn at_once<T>(future: impl Future<Output = wasmtime::Result<T>>) -> wasmtime::Result<T> {
    let mut future = std::pin::pin!(future);
    match future.as_mut().poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(result) => result,
        Poll::Pending => Err(wasmtime::Error::msg("the snapshotter waits for something")),
    }
}
