"""Gives Ruby's WebAssembly build room to unwind deep stacks: `widen.py FROM TO`.

WebAssembly cannot jump out of functions, so that build unwinds and rewinds its stack by asyncify: an exception unwinds to whoever rescues it, C
code that wants to rescue one (`setjmp`) unwinds everything and comes back, and so does a garbage collection, to see what functions hold. Each
writes what the functions held into a buffer of 24 KiB, and looks for its end only afterwards. That is enough for some hundred calls; more, and
the run ends, or something else is overwritten. Here they write into 16 MiB of their own, behind what the module's memory is at its start. It is
used by one at a time, and is larger than what any stack can hold. Then

* what an exception unwound is never needed again;
* a collection scans up to the buffer's end, which becomes the end of what was written;
* what `setjmp` needs later is copied to where it was meant to go, or, if there is no room, into an arena. Blocks there are freed when one
  that is further up the stack follows. Fibers have other stacks, and no arena.

Everything is found by its exact bytes: the recipe pins the file that they are from.
"""

import sys

PAGE = 1 << 16
PAGES, SCRATCH_PAGES, ARENA_PAGES = 570, 256, 512
SCRATCH = PAGES * PAGE
ARENA = SCRATCH + SCRATCH_PAGES * PAGE
END = ARENA + ARENA_PAGES * PAGE

# `struct { void *top, *end; char buffer[ROOM]; }`: that of `rb_wasm_scan_locals`, of `_rb_wasm_longjmp`, and the start of every `jmp_buf`.
ROOM = 24576
SCAN, JUMP = 21123552, 21148156
# Where the `jmp_buf` is that somebody unwinds for, and where the main stack starts, to grow down.
ACTIVE, STACK = 21148148, 16 << 20

MEMORY_SECTION, CODE_SECTION = 5, 10


def signed(value):
    """LEB128 of a positive number that is to be read as a signed one."""
    out = bytearray()
    while value > 0x3F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes(out + bytes([value]))


def unsigned(value):
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes(out + bytes([value]))


def const(value):
    return b"\x41" + signed(value)


def load(offset=0):
    return b"\x28\x02" + unsigned(offset)


def store(offset=0):
    return b"\x36\x02" + unsigned(offset)


def get(local):
    return b"\x20" + unsigned(local)


def put(local):
    return b"\x21" + unsigned(local)


POINTER, DATA = b"\x23\x00", b"\x23\x02"
ADD, SUB, AND, EQ, NE, GE, GT, LE, EQZ = (bytes([code]) for code in (0x6A, 0x6B, 0x71, 0x46, 0x47, 0x4F, 0x4B, 0x4D, 0x45))
BLOCK, LOOP, IF, ELSE, DONE = b"\x02\x40", b"\x03\x40", b"\x04\x40", b"\x05", b"\x0b"
RETURN, TRAP, NOP, COPY = b"\x0f", b"\x00", b"\x01", b"\xfc\x0a\x00\x00"


def br(depth):
    return b"\x0c" + unsigned(depth)


def br_if(depth):
    return b"\x0d" + unsigned(depth)


def empty_static(place, start, end):
    """`end`, then `top` of a buffer at a fixed place."""
    return const(place + 4) + const(end) + store() + const(place) + const(start) + store()


# asyncify_stop_unwind and asyncify_stop_rewind: state = 0; if (top > end) trap.
STOP = const(0) + b"\x24\x01" + DATA + load() + DATA + load(4) + GT + IF + TRAP + DONE

USED, TO, LAST = 0, 1, 2
STOP_UNWIND = b"".join([
    b"\x01\x03\x7f", STOP,
    DATA, const(SCAN), EQ, IF, const(SCAN), const(SCAN), load(), store(4), RETURN, DONE,
    DATA, const(ACTIVE), load(), NE, IF, RETURN, DONE,
    DATA, load(), const(SCRATCH), SUB, put(USED),
    get(USED), const(ROOM), LE, IF,
    DATA, const(8), ADD, put(TO),
    DATA, DATA, const(8 + ROOM), ADD, store(4),
    ELSE,
    POINTER, const(STACK), GE, IF, TRAP, DONE,
    # A block: the stack pointer, the buffer that it is for, the block before it, its size.
    BLOCK, LOOP,
    const(ARENA), load(), put(LAST),
    get(LAST), EQZ, br_if(1),
    get(LAST), load(), POINTER, GT, br_if(1),
    get(LAST), load(), POINTER, EQ, get(LAST), load(4), DATA, NE, AND, br_if(1),
    const(ARENA), get(LAST), load(8), store(), br(0),
    DONE, DONE,
    get(LAST), IF, get(LAST), const(16), ADD, get(LAST), load(12), ADD, put(TO), ELSE, const(ARENA + 16), put(TO), DONE,
    get(TO), const(16), ADD, get(USED), ADD, const(END), GT, IF, TRAP, DONE,
    get(TO), POINTER, store(), get(TO), DATA, store(4), get(TO), get(LAST), store(8), get(TO), get(USED), store(12),
    const(ARENA), get(TO), store(),
    get(TO), const(16), ADD, put(TO),
    DATA, get(TO), get(USED), ADD, store(4),
    DONE,
    get(TO), const(SCRATCH), get(USED), COPY,
    DATA, get(TO), get(USED), ADD, store(),
    DONE,
])


def replace(text, old, new, count=1):
    """`new` for the first of `count` places that look like `old`."""
    if text.count(old) != count:
        sys.exit(f"{text.count(old)} places look like {old.hex()}, and not {count}")
    return text.replace(old, new, 1)


def widen_memory(section):
    return replace(section, b"\x00" + unsigned(PAGES), b"\x00" + unsigned(END // PAGE))


def widen_code(section):
    # Numbers of the same length: no function's size changes.
    for place in SCAN, JUMP:
        section = replace(section, empty_static(place, place + 8, place + 8 + ROOM), empty_static(place, SCRATCH, ARENA))
    # `rb_wasm_setjmp`: buf->top = buf->buffer; …; buf->end = buf->buffer + ROOM;
    top = get(0) + get(0) + const(8) + ADD + store()
    between = get(0) + b"\x42" + signed(1 << 32) + b"\x37\x02" + unsigned(ROOM + 16) + get(0) + const(0) + store(ROOM + 8)
    end = get(0) + get(0) + const(8 + ROOM) + ADD + store(4)
    new = get(0) + const(SCRATCH) + store() + between + get(0) + const(ARENA) + store(4) + NOP * 2
    section = replace(section, top + between + end, new)
    # The first of two.
    sized = lambda body: unsigned(len(body)) + body
    return replace(section, sized(b"\x00" + STOP + DONE), sized(STOP_UNWIND), 2)


def read_length(module, at):
    value = shift = 0
    while True:
        byte = module[at]
        value |= (byte & 0x7F) << shift
        at, shift = at + 1, shift + 7
        if byte < 0x80:
            return value, at


def main(source, target):
    with open(source, "rb") as file:
        module = file.read()
    out, at = bytearray(module[:8]), 8
    while at < len(module):
        kind = module[at]
        length, start = read_length(module, at + 1)
        at = start + length
        section = module[start:at]
        if kind == MEMORY_SECTION:
            section = widen_memory(section)
        elif kind == CODE_SECTION:
            section = widen_code(section)
        out += bytes([kind]) + unsigned(len(section)) + section
    with open(target, "wb") as file:
        file.write(out)


main(*sys.argv[1:])
