"""Write the driver's modules as byte code in a C header, for `PyImport_FrozenModules`.

Frozen, the driver needs no file at run time, so a guest cannot replace it; its frames carry a name that no file has.
Runs under the native CPython of the same version, whose byte code is the guest's.
"""

import marshal
import os
import pathlib
import signal
import socket
import select
import sys
import time

# Modules that exist in WebAssembly with less in them than on Linux. The driver compares, and so knows that `os.fork` is what
# WebAssembly lacks while `os.frok` is the program's own mistake.
SHORTENED = (os, select, signal, socket, time)


def main(directory):
    sources = {path.stem: path.read_text() for path in sorted(pathlib.Path(directory).glob("*.py"))}
    sources["linux"] = "NAMES = " + repr({module.__name__: sorted(dir(module)) for module in SHORTENED})
    for name, source in sources.items():
        print(f"static const unsigned char {symbol(name)}[] = {{")
        code = marshal.dumps(compile(source, "<belljar>", "exec", dont_inherit=True, optimize=2))
        for start in range(0, len(code), 32):
            print(",".join(map(str, code[start : start + 32])), end=",\n")
        print("};")
    print("static const struct _frozen belljar_modules[] = {")
    for name in sources:
        qualified = "_belljar" if name == "__init__" else f"_belljar.{name}"
        print(f'  {{"{qualified}", {symbol(name)}, sizeof {symbol(name)}, {int(name == "__init__")}}},')
    print("  {0, 0, 0, 0},\n};")


def symbol(name):
    return f"belljar_module_{name.strip('_')}"


main(sys.argv[1])
