// Fibers would switch stacks with these. WebAssembly has one stack, so nobody comes this far: PHP is refused a second one first.
#pragma once

#include <stddef.h>

typedef struct ucontext {
    struct ucontext *uc_link;
    struct {
        void *ss_sp;
        size_t ss_size;
        int ss_flags;
    } uc_stack;
} ucontext_t;

int getcontext(ucontext_t *context);
void makecontext(ucontext_t *context, void (*function)(void), int count, ...);
int swapcontext(ucontext_t *from, const ucontext_t *to);
