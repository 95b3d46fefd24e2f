//! JavaScript: `QuickJS`, made into a small Node by the prelude in `runtimes/javascript`.

mod address;
mod cell;
mod depth;
mod digest;
mod engine;
mod files;
mod host;
mod prelude;
mod program;
mod value;

use std::borrow::Cow;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use belljar_wasi::{End, Host as _, OutputStream};
use serde::Serialize;
use wasmtime::{Caller, Instance, Linker, Module, Result, Store, Trap};

use crate::driver::{Cell, Driver};
use crate::guest::Guest;
use crate::protocol::Job;
use crate::run::Manner;

use engine::{Hook, Js, Places, Running, Stop};
use program::{Prepared, Role};
use value::Value;

/// The stack that JavaScript may use; beyond it, there is a `RangeError`. For every byte of it, a call takes up to
/// eight of the wasm stack, beyond which there is only a trap.
const STACK: u32 = 2 << 20;
/// The whole stack. The difference is for C functions, whose stack nobody counts.
const WHOLE_STACK: u32 = STACK + (256 << 10);

/// How much a program can allocate before its first garbage collection, which writes to all of the snapshot's heap.
const UNCOLLECTED: u32 = 8 << 20;

/// Something in a program that the prelude has to prepare for; the numbers are the prelude's.
const USES_DENO: i32 = 1;

/// The driver.
#[derive(Debug, Default)]
pub(crate) struct QuickJs {
    /// The same in all instances of a snapshot, so found once.
    places: Arc<OnceLock<Places>>,
}

/// What a program was given, as the prelude reads it.
#[derive(Serialize)]
struct Circumstances<'a> {
    args: &'a [String],
    #[serde(serialize_with = "crate::driver::as_map")]
    env: &'a [(String, String)],
}

impl Driver for QuickJs {
    fn link(&self, linker: &mut Linker<Guest>) -> Result<()> {
        // UTC, wherever the machine is.
        linker.func_wrap("env", "host_get_timezone_offset", |_: u32, _: u32| 0_i32)?;
        // A program is ended from outside; only in cells does the engine ask.
        linker
            .func_wrap("env", "host_interrupt", |caller: Caller<'_, Guest>| i32::from(caller.data().should_stop()))?;
        let places = Arc::clone(&self.places);
        linker.func_wrap(
            "env",
            "host_call",
            move |mut caller: Caller<'_, Guest>, _: u32, _: u32, _: u32, count: u32, list: u32| {
                let places = find_places(&places, &mut caller)?;
                host::call(&mut caller, places, list, count)
            },
        )?;
        let places = Arc::clone(&self.places);
        linker.func_wrap(
            "env",
            "host_promise_rejection",
            move |mut caller: Caller<'_, Guest>, promise: u32, reason: u32, handled: i32| {
                let places = find_places(&places, &mut caller)?;
                reject(&mut Js::new(&mut caller, places), promise, reason, Value::bool(handled))
            },
        )?;
        let places = Arc::clone(&self.places);
        linker.func_wrap(
            "env",
            "host_module_normalize",
            move |mut caller: Caller<'_, Guest>, base: u32, name: u32| {
                let places = find_places(&places, &mut caller)?;
                null_if_thrown(resolve(&mut Js::new(&mut caller, places), base, name))
            },
        )?;
        let places = Arc::clone(&self.places);
        linker.func_wrap(
            "env",
            "host_module_load",
            move |mut caller: Caller<'_, Guest>, name: u32, length_at: u32| {
                let places = find_places(&places, &mut caller)?;
                null_if_thrown(load(&mut Js::new(&mut caller, places), name, length_at))
            },
        )?;
        Ok(())
    }

    fn initialize(&self, store: &mut Store<Guest>, instance: &Instance) -> Result<()> {
        const HOST: &str = "__host";
        let mut running = Running { store, instance };
        engine::move_stack(&mut running, WHOLE_STACK)?;
        let started = engine::call::<_, (), i32>(&mut running, "qjs_init", ())?;
        if started != 0 {
            return Err(wasmtime::Error::msg("QuickJS did not start"));
        }
        let mut js = Js::make_table(&mut running)?;
        self.places.set(js.places()).ok();
        js.call::<i32, ()>("qjs_set_module_loader", 1)?;
        js.call::<u32, ()>("qjs_set_max_stack_size", STACK)?;
        js.define_host_function(HOST)?;

        run_prelude(&mut js, prelude::FIRST)?;
        let exports = run_prelude(&mut js, prelude::BUILTINS)?;
        let builtins = js.property(exports, "default")?;
        let load = js.element(builtins, 0)?;
        js.set_hook(Hook::LoadImport, load)?;
        let list = js.element(builtins, 1)?;
        let list = js.call_function(list, &[])?;
        let list = js.text(list).map_err(|stop| unexpected(&mut js, stop))?;
        evaluate_now(&mut js, &list, &[prelude::SCHEME, "list.js"].concat())?;

        // First what every run uses; then new allocations go behind all the rest.
        js.fill_gaps()?;
        let exports = run_prelude(&mut js, prelude::MAIN)?;
        let hooks = js.property(exports, "default")?;
        for (index, hook) in (0..).zip(engine::HOOKS) {
            let function = js.element(hooks, index)?;
            js.set_hook(hook, function)?;
        }
        js.call::<i32, ()>("qjs_set_promise_rejection_handler", 1)?;
        js.call::<(), ()>("qjs_run_gc", ())?;
        js.fill_gaps()?;
        let used = js.heap_size()?;
        js.call("qjs_set_gc_threshold", used.saturating_add(UNCOLLECTED))
    }

    fn run(&self, store: &mut Store<Guest>, instance: &Instance, job: &Job) -> Result<i32> {
        self.with_engine(store, instance, |js| run_to_end(js, job))
    }

    fn cells(&self, _: &Module) -> Option<Manner> {
        Some(Manner::Asked)
    }

    /// There is nothing to set, since the engine asks by itself. But this is called before a saved session's memory is
    /// put into an instance. Until then, the instance's word on its places can be trusted, and all instances of this
    /// worker use what the first one said.
    fn ask(&self, store: &mut Store<Guest>, instance: &Instance) -> Result<Option<u32>> {
        self.places(&mut Running { store, instance })?;
        Ok(None)
    }

    fn cell(&self, store: &mut Store<Guest>, instance: &Instance, cell: &Cell<'_>) -> Result<i32> {
        self.with_engine(store, instance, |js| cell::run(js, cell))
    }
}

impl QuickJs {
    /// Found in the first instance, before anything ran in it.
    fn places(&self, running: &mut Running<'_>) -> Result<Places> {
        if let Some(places) = self.places.get() {
            return Ok(*places);
        }
        let places = Js::find_places(running)?;
        Ok(*self.places.get_or_init(|| places))
    }

    fn with_engine(
        &self,
        store: &mut Store<Guest>,
        instance: &Instance,
        run: impl FnOnce(&mut Js<'_, Running<'_>>) -> Result<i32>,
    ) -> Result<i32> {
        let mut running = Running { store, instance };
        let places = self.places(&mut running)?;
        let mut js = Js::new(&mut running, places);
        let result = run(&mut js);
        if let Err(error) = &result
            && matches!(error.downcast_ref(), Some(Trap::StackOverflow))
        {
            // Functions of C that call themselves: reading deeply nested JSON, for one.
            js.guest()?.report.unsupported.get_or_insert_with(|| TOO_DEEP.to_owned());
        }
        result
    }
}

/// As the prelude words it for calls that are too deep.
const TOO_DEEP: &str = "calls this deep need a larger stack than WebAssembly has";

const HANDLER_FAILED: i32 = 7;

/// Runs the program, then whatever it waits for; returns its exit code.
fn run_to_end(js: &mut Js<'_, Running<'_>>, job: &Job) -> Result<i32> {
    start(js, job)?;
    loop {
        js.run_jobs()?;
        let next = js.call_hook(Hook::Turn, &[])?.number();
        if next.is_nan() {
            // The prelude itself failed: the program took away something that it relies on. Node.js ends with the same
            // code.
            js.guest()?
                .wasi()?
                .host_mut()
                .output(OutputStream::Stderr, b"Error: what JavaScript itself needs is gone\n");
            return Ok(HANDLER_FAILED);
        }
        if next < 0.0 {
            // -1 is exit code 0. Never more than a byte.
            return Ok(exit_code(next));
        }
        if next > 0.0 {
            let pause = Duration::try_from_secs_f64(next / 1e3).unwrap_or(Duration::MAX);
            js.guest()?.wasi()?.host_mut().sleep(pause).map_err(End::from)?;
        }
    }
}

/// Gives the program to the prelude, which runs it up to where it first waits.
fn start(js: &mut Js<'_, Running<'_>>, job: &Job) -> Result<()> {
    let source = String::from_utf8_lossy(&job.code);
    let prepared = Prepared::new(&source, &job.file, Role::Main);
    let circumstances = Circumstances { args: &job.args, env: &job.env };
    let circumstances = serde_json::to_string(&circumstances)?;
    let facts = if source.contains("Deno.") && !source.contains("typeof Deno") { USES_DENO } else { 0 };
    let variables = (!job.variables.is_empty()).then(|| variables(job));
    let mut new_text = |text: &str| js.new_text(text).map_err(|stop| unexpected(js, stop));
    let file = new_text(&job.file)?;
    let text = new_text(&prepared.text)?;
    let circumstances = new_text(&circumstances)?;
    let variables = match variables {
        Some(variables) => new_text(&variables)?,
        None => Value::UNDEFINED,
    };
    let kind = Value::int(prepared.kind as i32);
    js.call_hook(Hook::Main, &[kind, file, Value::int(facts), text, circumstances, variables])?;
    Ok(())
}

/// The variables as one JSON object. Each is JSON already.
fn variables(job: &Job) -> String {
    let quoted = |name: &str| serde_json::Value::from(name).to_string();
    let fields: Vec<String> = job.variables.iter().map(|(name, json)| [&quoted(name), ":", json].concat()).collect();
    ["{", &fields.join(","), "}"].concat()
}

/// Why it ended: -1 minus the exit code.
#[expect(clippy::cast_possible_truncation, reason = "`as` clamps, and what the prelude returns is small")]
fn exit_code(next: f64) -> i32 {
    (-1.0 - next) as i32
}

/// The places, which an instance knows from the time it was initialized.
fn find_places(places: &OnceLock<Places>, caller: &mut Caller<'_, Guest>) -> Result<Places> {
    match places.get() {
        Some(places) => Ok(*places),
        None => Js::find_places(caller),
    }
}

/// Evaluates a file of the prelude; returns what it exports.
fn run_prelude(js: &mut Js<'_, Running<'_>>, name: &str) -> Result<Value> {
    evaluate_now(js, prelude::text(name).unwrap_or_default(), &[prelude::SCHEME, name].concat())
}

/// Evaluates a module whose promise resolves without waiting for anything; returns what it exports.
fn evaluate_now(js: &mut Js<'_, Running<'_>>, text: &str, file: &str) -> Result<Value> {
    const FULFILLED: i32 = 1;
    let promise = js.evaluate_module(text, file).map_err(|stop| unexpected(js, stop))?;
    js.run_jobs()?;
    let result = js.promise_result(promise)?;
    if js.promise_state(promise)? == FULFILLED {
        return Ok(result);
    }
    Err(described(js, result))
}

/// An exception where there should be none.
fn unexpected<S: engine::Scope>(js: &mut Js<'_, S>, stop: Stop) -> wasmtime::Error {
    match stop {
        Stop::Ended(error) => error,
        Stop::Thrown => match js.take_exception() {
            Ok(exception) => described(js, exception),
            Err(error) => error,
        },
    }
}

fn described<S: engine::Scope>(js: &mut Js<'_, S>, exception: Value) -> wasmtime::Error {
    let words = js.text(exception).unwrap_or_else(|_| "an exception".to_owned());
    wasmtime::Error::msg(format!("the prelude failed: {words}"))
}

/// Tells the prelude of a promise that was rejected without a handler, or that got one after all. Both values are ours
/// to free.
fn reject(js: &mut Js<'_, Caller<'_, Guest>>, promise_at: u32, reason_at: u32, handled: Value) -> Result<()> {
    let (promise, reason) = (js.value_at(promise_at)?, js.value_at(reason_at)?);
    for pointer in [promise_at, reason_at] {
        js.release(pointer)?;
    }
    js.call_hook(Hook::Rejected, &[promise, reason, handled])?;
    Ok(())
}

/// Resolves a module's name; returns the address of the full name, in memory that the engine frees.
fn resolve(js: &mut Js<'_, Caller<'_, Guest>>, base: u32, name: u32) -> Result<u32, Stop> {
    let (base, name) = (js.c_string(base)?, js.c_string(name)?);
    // A program's files have absolute paths, cells names of their own; anything else is a text that the prelude made.
    let full = if base.starts_with('/') || base.starts_with(cell::NAME) {
        let (base, name) = (js.new_text(&base)?, js.new_text(&name)?);
        let full = js.call_hook(Hook::ResolveImport, &[base, name])?;
        if full.is_exception() {
            return Err(Stop::Thrown);
        }
        js.text(full)?
    } else {
        name.strip_prefix("./").map_or_else(|| name.clone(), |file| [prelude::SCHEME, file].concat())
    };
    match js.put(full.as_bytes())? {
        Some(pointer) => Ok(pointer),
        None => Err(js.throw_out_of_memory()),
    }
}

/// Loads a module's text; returns its address, in memory that the engine frees. Its length goes to `length_at`.
fn load(js: &mut Js<'_, Caller<'_, Guest>>, name: u32, length_at: u32) -> Result<u32, Stop> {
    let name = js.c_string(name)?;
    let text = if let Some(text) = name.strip_prefix(prelude::SCHEME).and_then(prelude::text) {
        Cow::Borrowed(text)
    } else {
        let name = js.new_text(&name)?;
        let text = js.call_hook(Hook::LoadImport, &[name])?;
        if text.is_exception() {
            return Err(Stop::Thrown);
        }
        js.text(text)?.into()
    };
    let length = u32::try_from(text.len()).map_err(wasmtime::Error::from)?;
    js.write(length_at, &length.to_le_bytes())?;
    match js.put(text.as_bytes())? {
        Some(pointer) => Ok(pointer),
        None => Err(js.throw_out_of_memory()),
    }
}

/// The engine sees a null pointer, and finds the exception.
fn null_if_thrown(result: Result<u32, Stop>) -> Result<u32> {
    match result {
        Ok(pointer) => Ok(pointer),
        Err(Stop::Thrown) => Ok(0),
        Err(Stop::Ended(error)) => Err(error),
    }
}
