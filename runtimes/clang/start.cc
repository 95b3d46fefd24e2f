// Where a C++ program begins. WebAssembly unwinds at once instead of looking for a handler first, so an exception that nobody catches
// would leave the program and end in the host. Caught here, it is std::terminate's, which says what it was.

#include <exception>

extern "C" {
void __wasi_init_tp();
void __wasm_call_ctors();
int __main_void();
void __wasm_call_dtors();
[[noreturn]] void __wasi_proc_exit(int);

__attribute__((export_name("_start"))) void _start()
{
    int code;
    try {
        __wasi_init_tp();
        __wasm_call_ctors();
        code = __main_void();
        __wasm_call_dtors();
    } catch (...) {
        std::terminate();
    }
    if (code != 0) {
        __wasi_proc_exit(code);
    }
}
}
