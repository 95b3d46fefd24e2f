"""Runs programs in the component that `component_app.py` was made into, a fresh instance each."""

import sys
import threading

import wasmtime
from served import serve
from wasmtime.component import Component, Linker

MEMORY = 512 << 20
TICK = 0.01


def engine():
    config = wasmtime.Config()
    config.epoch_interruption = True
    return wasmtime.Engine(config)


def tick():
    pause = threading.Event()
    while not pause.wait(TICK):
        engine.increment_epoch()


def run(code, timeout, _number):
    store = wasmtime.Store(engine)
    store.set_wasi(wasmtime.WasiConfig())
    store.set_limits(memory_size=MEMORY)
    store.set_epoch_deadline(int(timeout / TICK))
    return linker.instantiate(store, component).get_func(store, "run")(store, code)


engine = engine()
match sys.argv[1:]:
    case ["compile", source, compiled]:
        with open(compiled, "wb") as file:
            file.write(Component.from_file(engine, source).serialize())
    case ["serve", compiled]:
        component = Component.deserialize_file(engine, compiled)
        linker = Linker(engine)
        linker.add_wasip2()
        threading.Thread(target=tick, daemon=True).start()
        serve(run)
