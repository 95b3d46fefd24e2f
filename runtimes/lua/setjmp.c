// setjmp and longjmp by WebAssembly's exceptions. The compiler turns their uses into calls of these; zig's wasi-libc does not have them.
// As in LLVM's convention: a longjmp throws the address of a record with the buffer and the value, under the tag for C.

#include <stddef.h>

enum { TAG_C_LONGJMP = 1 };

struct buffer {
    void *invocation; // of the function that called setjmp
    unsigned label;   // of that call
    struct {
        void *buffer;
        int value;
    } thrown;
};

void __wasm_setjmp(void *place, unsigned label, void *invocation)
{
    struct buffer *buffer = place;
    buffer->invocation = invocation;
    buffer->label = label;
}

// The label of the setjmp that a longjmp means, 0 when it is not one of this invocation.
unsigned __wasm_setjmp_test(void *place, void *invocation)
{
    struct buffer *buffer = place;
    return buffer->invocation == invocation ? buffer->label : 0;
}

void __wasm_longjmp(void *place, int value)
{
    struct buffer *buffer = place;
    buffer->thrown.buffer = place;
    buffer->thrown.value = value == 0 ? 1 : value;
    __builtin_wasm_throw(TAG_C_LONGJMP, &buffer->thrown);
}
