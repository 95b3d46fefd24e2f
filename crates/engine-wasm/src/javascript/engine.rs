//! `QuickJS` as its exports show it: memory, calls, what they return and throw.

mod text;

use wasmtime::{
    AsContext, AsContextMut, Caller, Func, Instance, Result, Store, StoreContext, StoreContextMut, Val, WasmParams,
    WasmResults,
};

use super::value::Value;
use crate::guest::Guest;

pub(super) use text::PIECE;

/// Why a call of the host does not return a value.
#[derive(Debug)]
pub(super) enum Stop {
    /// A JavaScript exception is set.
    Thrown,
    /// The run is over, or cannot go on.
    Ended(wasmtime::Error),
}

impl From<wasmtime::Error> for Stop {
    fn from(error: wasmtime::Error) -> Self {
        Self::Ended(error)
    }
}

/// An instance, from outside its calls and from within.
pub(super) trait Scope: AsContextMut<Data = Guest> {
    fn find(&mut self, name: &str) -> Option<Func>;
}

impl Scope for Caller<'_, Guest> {
    fn find(&mut self, name: &str) -> Option<Func> {
        self.get_export(name)?.into_func()
    }
}

/// A store and its instance.
pub(super) struct Running<'a> {
    pub(super) store: &'a mut Store<Guest>,
    pub(super) instance: &'a Instance,
}

impl AsContext for Running<'_> {
    type Data = Guest;

    fn as_context(&self) -> StoreContext<'_, Guest> {
        self.store.as_context()
    }
}

impl AsContextMut for Running<'_> {
    fn as_context_mut(&mut self) -> StoreContextMut<'_, Guest> {
        self.store.as_context_mut()
    }
}

impl Scope for Running<'_> {
    fn find(&mut self, name: &str) -> Option<Func> {
        self.instance.get_func(&mut *self.store, name)
    }
}

/// Gives C another stack than the module's own, which is a mebibyte. Call this before the engine starts, which
/// remembers where its stack is.
pub(super) fn move_stack(running: &mut Running<'_>, size: u32) -> Result<()> {
    /// The stack grows down from here, and stays aligned.
    const ALIGNMENT: u32 = 16;
    let bottom = call::<_, u32, u32>(running, "malloc", size)?;
    if bottom == 0 {
        return Err(no_memory());
    }
    let top = (bottom + size) / ALIGNMENT * ALIGNMENT;
    let pointer = running.instance.get_global(&mut *running.store, "__stack_pointer");
    let pointer = pointer.ok_or_else(|| wasmtime::Error::msg("QuickJS does not show its stack"))?;
    pointer.set(&mut *running.store, Val::I32(top.cast_signed()))
}

/// Where things are in a snapshot's memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Places {
    /// The engine's context, which most of its functions ask for.
    context: u32,
    /// What we keep in memory: the prelude's functions, room for an answer, and a reserve of memory.
    table: u32,
}

/// The prelude's functions, in the order of its export.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Hook {
    Main,
    Turn,
    ResolveImport,
    LoadImport,
    Rejected,
    Cell,
    Stop,
}

pub(super) const HOOKS: [Hook; 7] =
    [Hook::Main, Hook::Turn, Hook::ResolveImport, Hook::LoadImport, Hook::Rejected, Hook::Cell, Hook::Stop];
const VALUE_BYTES: u32 = 8;
/// Where the engine puts a length that it returns beside a pointer.
const LENGTH_AT: u32 = 7 * VALUE_BYTES;
const RESERVE_AT: u32 = LENGTH_AT + 8;
/// Arguments of a call.
const ARGUMENTS_AT: u32 = RESERVE_AT + 8;
const MAX_ARGUMENTS: u32 = 8;
const TABLE_BYTES: u32 = ARGUMENTS_AT + MAX_ARGUMENTS * VALUE_BYTES;

/// Kept for a program's last words when it has used up its memory.
const RESERVE: u32 = 256 << 10;

/// The engine of one instance.
pub(super) struct Js<'a, S> {
    scope: &'a mut S,
    places: Places,
}

impl<'a, S: Scope> Js<'a, S> {
    pub(super) fn new(scope: &'a mut S, places: Places) -> Self {
        Self { scope, places }
    }

    /// Makes the table in the memory of an instance that has started, and leaves word where it is.
    pub(super) fn make_table(scope: &'a mut S) -> Result<Self> {
        let context = call::<S, (), u32>(scope, "qjs_get_context_ptr", ())?;
        let table = call::<S, u32, u32>(scope, "malloc", TABLE_BYTES)?;
        call::<S, (u32, u32), ()>(scope, "JS_SetContextOpaque", (context, table))?;
        let mut js = Self { scope, places: Places { context, table } };
        let reserve = js.call::<u32, u32>("malloc", RESERVE)?;
        js.write(table + RESERVE_AT, &reserve.to_le_bytes())?;
        Ok(js)
    }

    /// Finds the table in the memory of an instance of a snapshot.
    pub(super) fn find_places(scope: &mut S) -> Result<Places> {
        let context = call::<S, (), u32>(scope, "qjs_get_context_ptr", ())?;
        let table = call::<S, u32, u32>(scope, "JS_GetContextOpaque", context)?;
        Ok(Places { context, table })
    }

    pub(super) fn places(&self) -> Places {
        self.places
    }

    pub(super) fn scope(&mut self) -> &mut S {
        self.scope
    }

    pub(super) fn guest(&mut self) -> Result<&mut Guest> {
        Ok(Guest::split(self.scope)?.1)
    }

    /// Calls one of the engine's functions.
    pub(super) fn call<P: WasmParams, R: WasmResults>(&mut self, name: &str, parameters: P) -> Result<R> {
        call(self.scope, name, parameters)
    }

    /// The context, which most functions take before anything else.
    fn context(&self) -> u32 {
        self.places.context
    }

    pub(super) fn set_hook(&mut self, hook: Hook, value: Value) -> Result<()> {
        self.write(self.hook_at(hook), &value.0.to_le_bytes())
    }

    fn hook_at(&self, hook: Hook) -> u32 {
        self.places.table + hook as u32 * VALUE_BYTES
    }

    /// Calls one of the prelude's functions. Takes the arguments over.
    pub(super) fn call_hook(&mut self, hook: Hook, arguments: &[Value]) -> Result<Value> {
        let function = self.value_at(self.hook_at(hook))?;
        self.call_function(function, arguments)
    }

    /// Calls a function. Takes the arguments over.
    pub(super) fn call_function(&mut self, function: Value, arguments: &[Value]) -> Result<Value> {
        let start = self.places.table + ARGUMENTS_AT;
        let count = u32::try_from(arguments.len())?;
        let bytes: Vec<u8> = arguments.iter().flat_map(|value| value.0.to_le_bytes()).collect();
        // A hook is never called with more than there is room for, nor while the arguments of another are still being read: the engine
        // copies them first.
        self.write(start, &bytes)?;
        let parameters = (self.context(), function.0, Value::UNDEFINED.0, count, start);
        let result = Value(self.call("JS_Call", parameters)?);
        for argument in arguments {
            self.free(*argument)?;
        }
        Ok(result)
    }

    pub(super) fn free(&mut self, value: Value) -> Result<()> {
        if !value.is_counted() {
            return Ok(());
        }
        let context = self.context();
        self.call("JS_FreeValue", (context, value.0))
    }

    /// Takes the exception that a call left.
    pub(super) fn take_exception(&mut self) -> Result<Value> {
        let context = self.context();
        Ok(Value(self.call("JS_GetException", context)?))
    }

    /// Makes a global function that calls the host.
    pub(super) fn define_host_function(&mut self, name: &str) -> Result<()> {
        let pointer = self.put(name.as_bytes())?.ok_or_else(no_memory)?;
        let length = u32::try_from(name.len())?;
        let function = self.call::<_, u32>("qjs_new_host_function", (pointer, length, 0_u32))?;
        let global = self.call::<(), u32>("qjs_get_global", ())?;
        self.call::<_, i32>("qjs_set_prop_string", (global, pointer, function))?;
        self.call::<u32, ()>("qjs_free_value", function)?;
        self.call::<u32, ()>("qjs_free_value", global)?;
        self.release(pointer)
    }

    /// Bytes that the engine has allocated.
    pub(super) fn heap_size(&mut self) -> Result<u32> {
        /// 26 numbers of 8 bytes, of which this is the first.
        const USAGE: u32 = 26 * 8;
        let pointer = self.call::<u32, u32>("malloc", USAGE)?;
        self.call::<u32, ()>("qjs_compute_memory_usage", pointer)?;
        let size = u64::from_le_bytes(self.read(pointer)?);
        self.release(pointer)?;
        Ok(u32::try_from(size)?)
    }

    /// Allocates all memory that was freed so far, for good, so that what a run allocates lies side by side behind it.
    /// Every page that a run allocates in has to be put back afterwards, and many pages with a little in each cost more
    /// than a few full ones.
    pub(super) fn fill_gaps(&mut self) -> Result<()> {
        /// Larger than every gap: it comes from the end of the heap.
        const LARGE: u32 = 1 << 20;
        const SMALLEST: u32 = 16;
        let end = self.call::<u32, u32>("malloc", LARGE)?;
        self.release(end)?;
        let mut size = LARGE / 2;
        while size >= SMALLEST {
            let taken = self.call::<u32, u32>("malloc", size)?;
            if taken >= end {
                self.release(taken)?;
                size -= (size / 8).max(8);
            }
        }
        // The engine has its own pools for what is small, one for each of these sizes with their headers.
        let (header, context) = (8, self.context());
        let sizes = (16..128).step_by(8).chain((128..256).step_by(16)).chain((256..=512).step_by(32));
        for size in sizes {
            while self.call::<_, u32>("js_malloc", (context, size - header))? < end {}
        }
        Ok(())
    }

    pub(super) fn property(&mut self, object: Value, name: &str) -> Result<Value> {
        let name = self.put(name.as_bytes())?.ok_or_else(no_memory)?;
        let context = self.context();
        let value = Value(self.call("JS_GetPropertyStr", (context, object.0, name))?);
        self.release(name)?;
        Ok(value)
    }

    pub(super) fn element(&mut self, array: Value, index: u32) -> Result<Value> {
        let context = self.context();
        Ok(Value(self.call("JS_GetPropertyUint32", (context, array.0, index))?))
    }

    /// Evaluates a text. `first_line` is the number of its first line.
    pub(super) fn evaluate(&mut self, text: &[&[u8]], file: &str, flags: u32, first_line: i32) -> Result<Value, Stop> {
        let text = text.concat();
        let length = u32::try_from(text.len()).map_err(wasmtime::Error::from)?;
        let Some(code) = self.put(&text)? else { return Err(self.throw_out_of_memory()) };
        let Some(name) = self.put(file.as_bytes())? else { return Err(self.throw_out_of_memory()) };
        // JSEvalOptions: version, flags, file, line.
        let fields = [1_u32, flags, name, first_line.cast_unsigned()];
        let bytes: Vec<u8> = fields.iter().flat_map(|field| field.to_le_bytes()).collect();
        let Some(options) = self.put(&bytes)? else { return Err(self.throw_out_of_memory()) };
        let parameters = (self.context(), code, length, options);
        let value = Value(self.call("JS_Eval2", parameters)?);
        for pointer in [options, name, code] {
            self.release(pointer)?;
        }
        if value.is_exception() { Err(Stop::Thrown) } else { Ok(value) }
    }

    /// Evaluates a module; the value is the promise of what it exports.
    pub(super) fn evaluate_module(&mut self, text: &str, file: &str) -> Result<Value, Stop> {
        const MODULE: u32 = 1;
        let length = u32::try_from(text.len()).map_err(wasmtime::Error::from)?;
        let Some(code) = self.put(text.as_bytes())? else { return Err(self.throw_out_of_memory()) };
        let Some(name) = self.put(file.as_bytes())? else { return Err(self.throw_out_of_memory()) };
        let place = self.call::<_, u32>("qjs_eval", (code, length, name, MODULE))?;
        let value = self.value_at(place)?;
        for pointer in [place, name, code] {
            self.release(pointer)?;
        }
        if value.is_exception() { Err(Stop::Thrown) } else { Ok(value) }
    }

    /// Runs what promises have waiting, until there is nothing more.
    pub(super) fn run_jobs(&mut self) -> Result<()> {
        // Negative means that a job threw. The prelude's own jobs cannot, and nobody else makes any.
        while self.call::<(), i32>("qjs_execute_pending_job", ())? != 0 {}
        Ok(())
    }

    /// The same in a cell, where a job that throws has only been interrupted, which is of no interest.
    pub(super) fn run_cell_jobs(&mut self) -> Result<()> {
        loop {
            match self.call::<(), i32>("qjs_execute_pending_job", ())? {
                0 => return Ok(()),
                done if done > 0 => {}
                _ => self.drop_exception()?,
            }
        }
    }

    /// Forgets the exception that a call left.
    pub(super) fn drop_exception(&mut self) -> Result<()> {
        let exception = self.take_exception()?;
        self.free(exception)
    }

    /// Throws what no program can catch.
    pub(super) fn throw_uncatchable(&mut self) -> Stop {
        let context = self.context();
        let throw = |js: &mut Self| {
            let error = Value(js.call("JS_NewError", context)?);
            js.call::<_, ()>("JS_SetUncatchableError", (context, error.0))?;
            js.call::<_, u64>("JS_Throw", (context, error.0))
        };
        match throw(self) {
            Ok(_) => Stop::Thrown,
            Err(error) => Stop::Ended(error),
        }
    }

    /// What a promise has come to: 0 for nothing yet, 1 for a value, 2 for an error.
    pub(super) fn promise_state(&mut self, promise: Value) -> Result<i32> {
        let context = self.context();
        self.call("JS_PromiseState", (context, promise.0))
    }

    pub(super) fn promise_result(&mut self, promise: Value) -> Result<Value> {
        let context = self.context();
        Ok(Value(self.call("JS_PromiseResult", (context, promise.0))?))
    }

    /// What a call of the host returns: a value, in memory that the engine releases.
    pub(super) fn hand_over(&mut self, value: Value) -> Result<u32> {
        let pointer = self.call::<u32, u32>("malloc", VALUE_BYTES)?;
        if pointer != 0 {
            self.write(pointer, &value.0.to_le_bytes())?;
        }
        Ok(pointer)
    }

    /// The value at an address that the engine returned.
    pub(super) fn value_at(&mut self, pointer: u32) -> Result<Value> {
        Ok(Value(u64::from_le_bytes(self.read(pointer)?)))
    }

    /// The argument with this number of a host call; arguments are passed by address.
    pub(super) fn argument(&mut self, list: u32, index: u32) -> Result<Value> {
        let pointer = u32::from_le_bytes(self.read(list.saturating_add(index * 4))?);
        self.value_at(pointer)
    }

    /// Copies bytes into memory, with a NUL behind them. None when there is no memory.
    pub(super) fn put(&mut self, bytes: &[u8]) -> Result<Option<u32>> {
        let length = u32::try_from(bytes.len())?.checked_add(1).ok_or_else(no_memory)?;
        let pointer = self.call::<u32, u32>("malloc", length)?;
        if pointer == 0 {
            return Ok(None);
        }
        let (memory, _) = Guest::split(self.scope)?;
        let target = memory.get_mut(pointer as usize..).and_then(|rest| rest.get_mut(..=bytes.len()));
        let target = target.ok_or_else(outside)?;
        if let Some((end, body)) = target.split_last_mut() {
            body.copy_from_slice(bytes);
            *end = 0;
        }
        Ok(Some(pointer))
    }

    pub(super) fn release(&mut self, pointer: u32) -> Result<()> {
        self.call("free", pointer)
    }

    /// Frees the reserve.
    pub(super) fn release_reserve(&mut self) -> Result<()> {
        let place = self.places.table + RESERVE_AT;
        let reserve = u32::from_le_bytes(self.read(place)?);
        self.write(place, &[0; 4])?;
        self.release(reserve)
    }

    pub(super) fn throw_out_of_memory(&mut self) -> Stop {
        let context = self.context();
        match self.call::<u32, u64>("JS_ThrowOutOfMemory", context) {
            Ok(_) => Stop::Thrown,
            Err(error) => Stop::Ended(error),
        }
    }

    pub(super) fn write(&mut self, pointer: u32, bytes: &[u8]) -> Result<()> {
        let (memory, _) = Guest::split(self.scope)?;
        let target = memory.get_mut(pointer as usize..).and_then(|rest| rest.get_mut(..bytes.len()));
        target.ok_or_else(outside)?.copy_from_slice(bytes);
        Ok(())
    }

    pub(super) fn read<const N: usize>(&mut self, pointer: u32) -> Result<[u8; N]> {
        let (memory, _) = Guest::split(self.scope)?;
        let bytes = memory.get(pointer as usize..).and_then(|rest| rest.first_chunk());
        bytes.copied().ok_or_else(outside)
    }
}

pub(super) fn call<S: Scope, P: WasmParams, R: WasmResults>(scope: &mut S, name: &str, parameters: P) -> Result<R> {
    let function = scope.find(name).ok_or_else(|| wasmtime::Error::msg(format!("QuickJS has no `{name}`")))?;
    function.typed::<P, R>(scope.as_context())?.call(scope.as_context_mut(), parameters)
}

fn outside() -> wasmtime::Error {
    wasmtime::Error::msg("QuickJS points outside its memory")
}

fn no_memory() -> wasmtime::Error {
    wasmtime::Error::msg("QuickJS has no memory left")
}
