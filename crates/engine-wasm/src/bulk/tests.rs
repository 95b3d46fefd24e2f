use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use wasm_encoder::{
    ElementSection, Elements, ExportKind, ExportSection, HeapType, MemorySection, RefType, StartSection, TableSection,
    TableType,
};
use wasmtime::{Engine, Instance, Linker, Memory, Store, Trap};

use super::*;
use crate::artifact::{self, Mutable};
use crate::protocol::{JobLimits, RunId};
use crate::run::{Interruption, Run};

const LIMITS: JobLimits = JobLimits { wall_micros: 60_000_000, cpu_micros: 60_000_000, memory: 0, disk: 0, files: 0 };

/// Pages of 64 KiB.
const PAGES: u32 = 32;
const SIZE: u32 = PAGES << 16;

fn pages(minimum: u32) -> MemorySection {
    let mut memories = MemorySection::new();
    let (minimum, maximum) = (minimum.into(), None);
    memories.memory(wasm_encoder::MemoryType {
        minimum,
        maximum,
        memory64: false,
        shared: false,
        page_size_log2: None,
    });
    memories
}

fn table(minimum: u64) -> TableSection {
    let mut tables = TableSection::new();
    let element_type = RefType::FUNCREF;
    tables.table(TableType { element_type, minimum, maximum: None, table64: false, shared: false });
    tables
}

fn function(instructions: impl FnOnce(&mut InstructionSink<'_>)) -> Function {
    let mut function = Function::new([]);
    instructions(&mut function.instructions());
    function
}

/// A module that fills and copies, and has functions wherever they can be named: an import, a start, a table, exports.
fn module() -> Vec<u8> {
    let mut types = TypeSection::new();
    types.ty().function([], []);
    types.ty().function([ValType::I32; 3], []);
    types.ty().function([], [ValType::I32]);
    let mut imports = ImportSection::new();
    imports.import("host", "note", EntityType::Function(0));
    let mut functions = FunctionSection::new();
    for kind in [1, 1, 0, 2, 2] {
        functions.function(kind);
    }
    let mut globals = GlobalSection::new();
    let kind = GlobalType { val_type: ValType::I32, mutable: true, shared: false };
    globals.global(kind, &ConstExpr::i32_const(5));
    let mut exports = ExportSection::new();
    for (name, index) in [("fill", 1), ("copy", 2), ("called", 5)] {
        exports.export(name, ExportKind::Func, index);
    }
    exports.export("memory", ExportKind::Memory, 0);
    let mut elements = ElementSection::new();
    elements.active(None, &ConstExpr::i32_const(0), Elements::Functions((&[4]).into()));
    let mut code = CodeSection::new();
    let parameters = |code: &mut InstructionSink<'_>| {
        code.local_get(TO).local_get(FROM).local_get(LENGTH);
    };
    for body in [
        function(|code| {
            parameters(code);
            code.memory_fill(0).end();
        }),
        function(|code| {
            parameters(code);
            code.memory_copy(0, 0).end();
        }),
        function(|code| {
            code.call(0).end();
        }),
        function(|code| {
            code.global_get(0).i32_const(2).i32_add().end();
        }),
        function(|code| {
            code.i32_const(0).call_indirect(0, 2).end();
        }),
    ] {
        code.function(&body);
    }
    let mut module = Module::new();
    module.section(&types).section(&imports).section(&functions).section(&table(1)).section(&pages(PAGES));
    module.section(&globals).section(&exports).section(&StartSection { function_index: 3 }).section(&elements);
    module.section(&code);
    module.finish()
}

/// What a store of these tests has: a run, and how often the module's own import was called.
type Seen = (Arc<Run>, u32);

fn start(engine: &Engine, wasm: &[u8]) -> (Store<Seen>, Instance) {
    let module = wasmtime::Module::new(engine, wasm).expect("it compiles");
    let mut linker = Linker::<Seen>::new(engine);
    let note = |mut caller: wasmtime::Caller<'_, Seen>| caller.data_mut().1 += 1;
    linker.func_wrap("host", "note", note).expect("a function");
    let look_up = |caller: wasmtime::Caller<'_, Seen>| -> Result<()> {
        if caller.data().0.interruption().is_some() { Err(belljar_wasi::End::Interrupted.into()) } else { Ok(()) }
    };
    linker.func_wrap(LOOK_UP.0, LOOK_UP.1, look_up).expect("a function");
    let mut store = Store::new(engine, (Arc::new(Run::start(RunId(0), &LIMITS, None)), 0));
    let instance = linker.instantiate(&mut store, &module).expect("it starts");
    (store, instance)
}

fn memory(store: &mut Store<Seen>, instance: Instance) -> Memory {
    instance.get_memory(store, "memory").expect("a memory")
}

#[test]
fn what_is_done_is_the_same() {
    let engine = Engine::default();
    let plain = module();
    let rewritten = in_pieces(&plain).expect("rewritten");
    assert_ne!(plain, rewritten);
    let mut sides = [&plain, &rewritten].map(|wasm| start(&engine, wasm));
    let lengths = [0, 1, 100, PIECE - EACH, PIECE - 1, PIECE, PIECE + 1, 3 * PIECE + 17];
    let places = [0, 1, 4000, PIECE - 1, PIECE, PIECE + 1, 2 * PIECE, SIZE - 3 * PIECE - 17, SIZE - 1, SIZE, SIZE + 1];
    let mut trapped = 0;
    for to in places.into_iter().chain([u32::MAX]) {
        for from in places.into_iter().chain([u32::MAX]) {
            for length in lengths.into_iter().chain([u32::MAX - PIECE, u32::MAX]) {
                for name in ["copy", "fill"] {
                    let ends = sides.each_mut().map(|(store, instance)| {
                        let memory = memory(store, *instance);
                        for (word, at) in memory.data_mut(&mut *store).as_chunks_mut::<4>().0.iter_mut().zip(0_u32..) {
                            *word = at.wrapping_mul(2_654_435_761).to_le_bytes();
                        }
                        let bulk = instance.get_typed_func::<(u32, u32, u32), ()>(&mut *store, name).expect("there");
                        let end = bulk.call(&mut *store, (to, from, length));
                        end.map_err(|error| *error.downcast_ref::<Trap>().expect("a trap"))
                    });
                    assert_eq!(ends[0], ends[1], "{name} {to} {from} {length}");
                    trapped += u32::from(ends[0].is_err());
                    let [(one, its), (other, others)] = &mut sides;
                    let memories = (memory(one, *its), memory(other, *others));
                    // Not with `assert_eq`, which would print them.
                    assert!(memories.0.data(&*one) == memories.1.data(&*other), "{name} {to} {from} {length}");
                }
            }
        }
    }
    assert!(trapped > 100);
    for (store, instance) in &mut sides {
        let called = instance.get_typed_func::<(), u32>(&mut *store, "called").expect("there");
        assert_eq!((called.call(&mut *store, ()).expect("no trap"), store.data().1), (7, 1));
    }
}

#[test]
fn an_instance_is_still_its_memory_and_its_variables() {
    let rewritten = in_pieces(&module()).expect("rewritten");
    assert_eq!(artifact::mutable(&rewritten).expect("a module"), Mutable::MemoryAndGlobals);
    let (whole, _) = artifact::take_apart(&rewritten).expect("taken apart");
    let whole = wasmtime::Module::new(&Engine::default(), whole).expect("it compiles");
    assert!(whole.get_export(&format!("{}1", artifact::GLOBAL)).is_some());
}

#[test]
fn who_is_never_out_of_reach_stays_as_he_is() {
    let module = endless(|_| {});
    assert!(in_pieces(&module).expect("read") == module);
}

/// A module without imports and variables, that does this for ever.
fn endless(body: impl FnOnce(&mut InstructionSink<'_>)) -> Vec<u8> {
    let mut types = TypeSection::new();
    types.ty().function([], []);
    let mut functions = FunctionSection::new();
    functions.function(0);
    let mut exports = ExportSection::new();
    exports.export("spin", ExportKind::Func, 0);
    let mut code = CodeSection::new();
    code.function(&function(|code| {
        code.loop_(BlockType::Empty);
        body(code);
        code.br(0).end().end();
    }));
    let mut module = Module::new();
    module.section(&types).section(&functions).section(&table(100_000)).section(&pages(256 << 4));
    module.section(&exports).section(&code);
    module.finish()
}

#[test]
fn who_does_nothing_else_is_ended() {
    type Body = fn(&mut InstructionSink<'_>);
    const LATENESS: Duration = Duration::from_millis(50);
    let engine = Engine::default();
    let bodies: [(&str, Body); 9] = [
        ("nothing", |code| _ = code.i32_const(0).i32_const(1).i32_const(0).memory_fill(0)),
        ("60 kB", |code| _ = code.i32_const(0).i32_const(1).i32_const(60_000).memory_fill(0)),
        ("1 MiB", |code| _ = code.i32_const(0).i32_const(1).i32_const(1 << 20).memory_fill(0)),
        ("256 MiB", |code| _ = code.i32_const(0).i32_const(1).i32_const(256 << 20).memory_fill(0)),
        ("up", |code| _ = code.i32_const(1).i32_const(0).i32_const(255 << 20).memory_copy(0, 0)),
        ("down", |code| _ = code.i32_const(0).i32_const(1).i32_const(255 << 20).memory_copy(0, 0)),
        ("1 kB", |code| _ = code.i32_const(0).i32_const(1).i32_const(1000).memory_copy(0, 0)),
        ("table", |code| _ = code.i32_const(0).ref_null(HeapType::FUNC).i32_const(100_000).table_fill(0)),
        ("growth", |code| _ = code.i32_const(0).memory_grow(0).drop()),
    ];
    for (name, body) in bodies {
        let rewritten = in_pieces(&endless(body)).expect("rewritten");
        let mut late = Vec::new();
        // A busy machine can keep anybody waiting.
        for _ in 0..12 {
            let (mut store, instance) = start(&engine, &rewritten);
            let stopper = thread::spawn({
                let run = Arc::clone(&store.data().0);
                move || {
                    thread::sleep(Duration::from_millis(30));
                    run.interrupt(Interruption::Cancelled);
                    Instant::now()
                }
            });
            // Nobody sends it signals: it looks up by itself.
            let spin = instance.get_typed_func::<(), ()>(&mut store, "spin").expect("there");
            let error = spin.call(&mut store, ()).expect_err("it has no end of its own");
            let ended = Instant::now();
            assert_eq!(error.downcast_ref(), Some(&belljar_wasi::End::Interrupted), "{name}: {error:?}");
            late.push(ended.saturating_duration_since(stopper.join().expect("thread")));
            if late.last().is_some_and(|late| *late <= LATENESS) {
                break;
            }
        }
        assert!(late.iter().any(|late| *late <= LATENESS), "{name}: {late:?}");
    }
}
