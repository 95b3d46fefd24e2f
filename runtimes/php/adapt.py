"""Makes what we run of PHP's CGI: `adapt.py FROM TO`.

* Its name for itself becomes that of the command line. The name decides where errors are shown and what `php://stdin` is, and programs ask for it
  (`PHP_SAPI`).
* It asserts that what it opens for reading is at its start, and ends at devices, which are nowhere. It goes on instead.
* It was linked with a stack of 64 KiB and the program's data below it, which nested arrays overwrite. It gets one of 64 MiB, behind
  what its memory was at the start; what the heap grows by comes after that.

Everything is found by its exact bytes, and replaced by as many: the recipe pins the file that they are from.
"""

import sys

STACK_PAGES = 1024

NAME = (b"\0cgi-fcgi\0", b"\0cli\0fcgi\0")
# `if (position != 0) unreachable`, and what follows; the instruction becomes `nop`.
ASSERTION = tuple(bytes.fromhex(f"73410171 0440 {step} 0b 2004 28024c 4100 360260") for step in ("00", "01"))
# One memory of at least so many pages, and the one global, where the stack starts, to grow down.
PAGES, STACK = 153, 9970592


def number(value):
    """LEB128, in as many bytes as it takes."""
    out = bytearray()
    while value > 0x3F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes(out + bytes([value]))


def edits():
    pages = PAGES + STACK_PAGES
    yield NAME
    yield ASSERTION
    yield b"\x01\x7f\x01\x41" + number(STACK), b"\x01\x7f\x01\x41" + number(pages << 16)
    yield b"\x05\x04\x01\x00" + number(PAGES), b"\x05\x04\x01\x00" + number(pages)


def main(source, target):
    with open(source, "rb") as file:
        module = file.read()
    for old, new in edits():
        if len(old) != len(new) or module.count(old) != 1:
            sys.exit(f"`{source}` has {old.hex()} {module.count(old)} times")
        module = module.replace(old, new)
    with open(target, "wb") as file:
        file.write(module)


main(*sys.argv[1:])
