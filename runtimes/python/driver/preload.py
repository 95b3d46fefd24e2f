"""The modules that are imported before the snapshot, so that a program's `import` of them costs nothing, and what must be made anew in each run."""

import importlib
import os
import random
import struct
import sys
import time

MODULES = """
abc argparse array ast asyncio base64 bdb binascii bisect builtins bz2 cProfile calendar cmath cmd code codecs codeop collections
collections.abc colorsys concurrent.futures concurrent.futures.thread configparser contextlib contextvars copy copyreg csv dataclasses
datetime decimal difflib dis doctest email email.message email.mime.multipart email.mime.text email.parser email.policy email.utils enum
errno filecmp fileinput fnmatch fractions functools gc getopt getpass gettext glob graphlib gzip hashlib heapq hmac html html.entities
html.parser http http.client http.cookies importlib importlib.metadata importlib.resources importlib.util inspect io ipaddress itertools
json keyword linecache locale logging logging.handlers math mimetypes numbers opcode operator optparse os os.path pathlib pdb pickle
pkgutil platform plistlib pprint pstats queue quopri random re reprlib runpy sched secrets select selectors shelve shlex shutil signal
site socket sqlite3 stat statistics string stringprep struct subprocess symtable sys tarfile tempfile textwrap threading time timeit token
tokenize tomllib traceback tracemalloc types typing unicodedata unittest unittest.mock urllib urllib.error urllib.parse urllib.request
uuid warnings wave weakref xml.dom xml.dom.minidom xml.etree.ElementTree xml.sax zipfile zlib zoneinfo
_strptime encodings.ascii encodings.cp1252 encodings.idna encodings.latin_1 encodings.utf_16 encodings.utf_8_sig
""".split()

NUMPY = "numpy numpy.fft numpy.lib.stride_tricks numpy.linalg numpy.ma numpy.polynomial numpy.random numpy.testing numpy.typing".split()

logging = tempfile = uuid = numpy_random = None


def preload():
    global logging, tempfile, uuid, numpy_random
    for name in MODULES:
        importlib.import_module(name)
    if "numpy._core._multiarray_umath" in sys.builtin_module_names:
        for name in NUMPY:
            importlib.import_module(name)
        numpy_random = sys.modules["numpy.random"]
    logging, tempfile = sys.modules["logging"], sys.modules["tempfile"]
    # Zones by file: through `importlib.resources`, which is the other way, the first costs milliseconds.
    sys.modules["zoneinfo"].reset_tzpath(["/lib/site-packages/tzdata/zoneinfo"])


def refresh():
    """In each run: what a snapshot would otherwise give to all runs alike."""
    # As good as the default, which reads 2,496 bytes.
    random.seed(int.from_bytes(os.urandom(32)))
    if numpy_random is not None:
        # Four words: without an argument NumPy gathers more and takes 0.3 ms.
        numpy_random.seed(struct.unpack("4I", os.urandom(16)))
    tempfile._name_sequence = None
    logging._startTime = time.time_ns()
