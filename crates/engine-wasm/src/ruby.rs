//! Ruby: the interpreter that its own project builds for WebAssembly, made into a command by the prelude in `runtimes/ruby`.

use std::borrow::Cow;
use std::ffi::CStr;

use belljar_wasi::End;
use serde::{Deserialize, Serialize};
use wasmtime::{Instance, Linker, Module, Result, Store, Trap, WasmParams, WasmResults};

use crate::driver::{Cell, Driver};
use crate::guest::Guest;
use crate::protocol::{Job, ReportedError};
use crate::run::Manner;

/// Memory while it starts. Ruby asks for 256 MiB at once, for a cache of objects with many variables, and does without where there is
/// less. With the cache every instance would have that much memory before its program starts.
const START_MEMORY: u64 = 192 << 20;

const PRELUDE: &str = include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/../../runtimes/ruby/prelude.rb"));

/// As Ruby leaves frames of such files out of backtraces.
const PRELUDE_FILE: &str = "<internal:belljar>";

/// The interpreter's arguments. It is embedded: what it is given to run comes later.
const ARGUMENTS: [&[u8]; 3] = [b"ruby\0", b"-EUTF-8\0", b"-e_=0\0"];

/// The names of its exports say their types, as an early version of the component model had it.
const INIT: &str = "ruby-init: func(args: list<string>) -> ()";
const INIT_LOAD_PATH: &str = "ruby-init-loadpath: func() -> ()";
const EVALUATE: &str = "rb-eval-string-protect: func(str: string) -> tuple<handle<rb-abi-value>, s32>";
const CALL: &str = "rb-funcallv-protect: func(recv: handle<rb-abi-value>, mid: u32, args: list<handle<rb-abi-value>>) -> tuple<handle<rb-abi-value>, s32>";
const INTERN: &str = "rb-intern: func(name: string) -> u32";
const ERROR: &str = "rb-errinfo: func() -> handle<rb-abi-value>";
const CLEAR_ERROR: &str = "rb-clear-errinfo: func() -> ()";
const TEXT: &str = "rstring-ptr: func(value: handle<rb-abi-value>) -> string";

/// More than what the prelude says of any run, in JSON: a program can make it say anything.
const MAX_TEXT: u32 = 4 << 20;

/// As the prelude words it for what Ruby itself notices.
const TOO_DEEP: &str = "calls this deep need a larger stack than WebAssembly has";

/// The driver.
#[derive(Debug)]
pub(crate) struct Ruby;

/// What a program is given, as the prelude reads it.
#[derive(Serialize)]
struct Circumstances<'a> {
    file: &'a str,
    args: &'a [String],
    #[serde(serialize_with = "crate::driver::as_map")]
    env: &'a [(String, String)],
    /// Of a cell: its text, and whether it has standard input.
    #[serde(skip_serializing_if = "Option::is_none")]
    code: Option<Cow<'a, str>>,
    has_stdin: bool,
}

/// How it went, as the prelude tells it.
#[derive(Deserialize)]
struct Ending {
    exit: i32,
    #[serde(default)]
    json: Option<String>,
    #[serde(default)]
    printed: Option<String>,
    #[serde(default)]
    error: Option<ReportedError>,
    #[serde(default)]
    unsupported: Option<String>,
}

impl Driver for Ruby {
    fn link(&self, linker: &mut Linker<Guest>) -> Result<()> {
        // A handle is the value itself: it lives only as long as the call that it is for. Ruby could also talk to
        // JavaScript, but there is none.
        for name in ["resource_new_rb-abi-value", "resource_get_rb-abi-value"] {
            linker.func_wrap("canonical_abi", name, |value: u32| value)?;
        }
        Ok(())
    }

    fn start_memory(&self) -> u64 {
        START_MEMORY
    }

    fn initialize(&self, store: &mut Store<Guest>, instance: &Instance) -> Result<()> {
        let mut interpreter = Interpreter { store, instance };
        let mut list = Vec::new();
        for argument in ARGUMENTS {
            let (pointer, length) = interpreter.put(argument)?;
            list.extend([pointer.to_le_bytes(), length.to_le_bytes()].concat());
        }
        let (list, _) = interpreter.put(&list)?;
        interpreter.call::<_, ()>(INIT, (list, u32::try_from(ARGUMENTS.len())?))?;
        interpreter.call::<_, ()>(INIT_LOAD_PATH, ())?;
        let prelude = format!("eval({}, TOPLEVEL_BINDING, '{PRELUDE_FILE}', 1)", quoted(PRELUDE));
        interpreter.evaluate(&prelude)?;
        Ok(())
    }

    fn run(&self, store: &mut Store<Guest>, instance: &Instance, job: &Job) -> Result<i32> {
        let mut interpreter = Interpreter { store, instance };
        let ended = interpreter.run(&Circumstances::of(job), c"run");
        if let Err(error) = &ended {
            interpreter.explain(error);
        }
        ended
    }

    /// It cannot be asked to stop, only ended.
    fn cells(&self, _: &Module) -> Option<Manner> {
        Some(Manner::Halted)
    }

    fn cell(&self, store: &mut Store<Guest>, instance: &Instance, cell: &Cell<'_>) -> Result<i32> {
        let mut interpreter = Interpreter { store, instance };
        let code = Some(String::from_utf8_lossy(&cell.job.code));
        let circumstances = Circumstances { file: &cell.name, code, ..Circumstances::of(cell.job) };
        let ended = interpreter.run(&circumstances, c"cell");
        if let Err(error) = &ended {
            interpreter.explain(error);
        }
        ended
    }
}

impl<'a> Circumstances<'a> {
    fn of(job: &'a Job) -> Self {
        Self { file: &job.file, args: &job.args, env: &job.env, code: None, has_stdin: !job.stdin.is_empty() }
    }
}

/// A Ruby that has been started, or is about to be.
struct Interpreter<'a> {
    store: &'a mut Store<Guest>,
    instance: &'a Instance,
}

impl Interpreter<'_> {
    fn run(&mut self, circumstances: &Circumstances<'_>, method: &CStr) -> Result<i32> {
        let circumstances = serde_json::to_string(circumstances)?;
        let belljar = self.evaluate(&format!("Belljar.given({})", quoted(&circumstances)))?;
        // Called and not evaluated: no frame of ours is below the program's.
        let ending = self.send(belljar, method)?;
        let ending: Ending = serde_json::from_str(&self.text(ending)?)?;
        if self.store.data_mut().wasi()?.has_open_files() {
            self.send(belljar, c"flush_files")?;
        }
        let report = &mut self.store.data_mut().report;
        (report.value_json, report.value_printed) = (ending.json, ending.printed);
        (report.error, report.unsupported) = (ending.error, ending.unsupported);
        report.bound();
        Ok(ending.exit)
    }

    /// Says what Ruby could not.
    fn explain(&mut self, error: &wasmtime::Error) {
        let guest = self.store.data_mut();
        let (kind, message) = match (error.downcast_ref(), error.downcast_ref()) {
            // Without memory for the exception it ends by itself.
            (Some(End::Exit(1)), _) if guest.was_refused_memory() => ("NoMemoryError", "failed to allocate memory"),
            // Ruby watches its own stack, but not that of its C functions: an overflow there hits the end of memory, or
            // of a buffer.
            (_, Some(Trap::StackOverflow | Trap::MemoryOutOfBounds | Trap::UnreachableCodeReached)) => {
                guest.report.unsupported.get_or_insert_with(|| TOO_DEEP.to_owned());
                ("SystemStackError", "stack level too deep")
            }
            _ => return,
        };
        guest.report.error = Some(ReportedError { kind: kind.to_owned(), message: message.to_owned(), line: None });
    }

    fn evaluate(&mut self, code: &str) -> Result<u32> {
        let code = self.put(code.as_bytes())?;
        let pair = self.call(EVALUATE, code)?;
        self.value(pair)
    }

    fn send(&mut self, receiver: u32, method: &CStr) -> Result<u32> {
        let pair = self.send_protected(receiver, method)?;
        self.value(pair)
    }

    /// Calls a method without arguments. Returns the address of its value and its state.
    fn send_protected(&mut self, receiver: u32, method: &CStr) -> Result<u32> {
        let name = self.put(method.to_bytes_with_nul())?;
        let name: u32 = self.call(INTERN, name)?;
        self.call(CALL, (receiver, name, 0_u32, 0_u32))
    }

    /// Of the value and the state at `pair`, the value; an error unless the state says that nothing was raised.
    fn value(&mut self, pair: u32) -> Result<u32> {
        let (value, state) = self.read_pair(pair)?;
        if state == 0 {
            return Ok(value);
        }
        let error = self.call(ERROR, ())?;
        self.call::<_, ()>(CLEAR_ERROR, ())?;
        let pair = self.send_protected(error, c"inspect")?;
        let (words, _) = self.read_pair(pair)?;
        let words = self.text(words)?;
        Err(wasmtime::Error::msg(format!("the prelude failed: {words}")))
    }

    /// What a string holds.
    fn text(&mut self, string: u32) -> Result<String> {
        let pair = self.call(TEXT, string)?;
        let (pointer, length) = self.read_pair(pair)?;
        if length > MAX_TEXT {
            return Err(wasmtime::Error::msg("the prelude says more than it does"));
        }
        let bytes = self.memory()?.get(pointer as usize..).and_then(|rest| rest.get(..length as usize));
        Ok(String::from_utf8_lossy(bytes.ok_or_else(outside)?).into_owned())
    }

    fn read_pair(&mut self, pointer: u32) -> Result<(u32, u32)> {
        let words = self.memory()?.get(pointer as usize..).and_then(|rest| rest.as_chunks::<4>().0.get(..2));
        match words {
            Some([first, second]) => Ok((u32::from_le_bytes(*first), u32::from_le_bytes(*second))),
            _ => Err(outside()),
        }
    }

    /// Copies bytes into memory that the function that they are for frees.
    fn put(&mut self, bytes: &[u8]) -> Result<(u32, u32)> {
        let length = u32::try_from(bytes.len())?;
        let pointer: u32 = self.call("cabi_realloc", (0_u32, 0_u32, 4_u32, length))?;
        let target = self.memory()?.get_mut(pointer as usize..).and_then(|rest| rest.get_mut(..bytes.len()));
        target.filter(|_| pointer != 0).ok_or_else(outside)?.copy_from_slice(bytes);
        Ok((pointer, length))
    }

    fn memory(&mut self) -> Result<&mut [u8]> {
        Ok(Guest::memory(self.store)?.data_mut(&mut *self.store))
    }

    fn call<P: WasmParams, R: WasmResults>(&mut self, name: &str, parameters: P) -> Result<R> {
        self.instance.get_typed_func::<P, R>(&mut *self.store, name)?.call(&mut *self.store, parameters)
    }
}

/// A literal of Ruby.
fn quoted(text: &str) -> String {
    format!("'{}'", text.replace('\\', "\\\\").replace('\'', "\\'"))
}

fn outside() -> wasmtime::Error {
    wasmtime::Error::msg("Ruby points outside its memory, or has none left")
}
