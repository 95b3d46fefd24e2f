# Sourced by the recipes of python and numpy: CPython 3.13 for wasm32-wasi, as static libraries.

# shellcheck source=../toolchain/zig.sh
. "$BELLJAR_RECIPES/toolchain/zig.sh"

CPYTHON=$BELLJAR_WORK/cpython         # upstream's source
NATIVE=$BELLJAR_WORK/cpython-native   # a native CPython: freezes modules, compiles the library, runs NumPy's build
WASM=$BELLJAR_WORK/cpython-wasm       # the cross build
SYSROOT=$BELLJAR_WORK/sysroot         # zlib, bzip2 and SQLite for wasm32-wasi
TZDATA=tzdata-2026.6-py2.py3-none-any.whl

need_python_tools() {
  need gcc gcc make make apt-get apt xz xz-utils tar tar perl perl-base python3 python3 npm npm sha256sum coreutils
  python3 -m pip --version >/dev/null 2>&1 || command -v uv >/dev/null ||
    die "this machine has neither \`pip\` nor \`uv\`; on Debian and Ubuntu: apt-get install python3-pip"
  [ -n "${ZIG_WHEEL:-}" ] || die "this recipe is written for x86_64 and aarch64 machines, not for $(uname -m)"
}

fetch_python() {
  fetch_zig
  debian_source python3.13 3.13.15-1 1e66a7945a48390ee4c2a4268a0e4185884059a13c4aab6d148aa208deea4a76 '3\.13\.[0-9]+-'
  debian_source zlib '1:1.3.dfsg+really1.3.1-1' 60dd315c07f616887caa029408308a018ace66e3d142726a97db164b3b8f69fb '1:1\.'
  debian_source bzip2 1.0.8-6 ab5a03176ee106d3f0fa90e381da478ddae405918153cca248e682cd0c4a2269 '1\.0\.'
  # A package that carries SQLite's amalgamation, and that a machine without cargo can fetch.
  npm_package better-sqlite3.tgz better-sqlite3 13.0.3 77e0513dc1a469fb3bceec4c7fb5ad3f403109787eda05be047ec17fd56868cb
  pypi_wheel "$TZDATA" tzdata==2026.6 0a10eec6e13ef16b627fabed9a5f2ba61a62b1c67f327305f4e7e412a70b4aec any
}

unpack_python() {
  rm -rf "$CPYTHON"
  mkdir -p "$CPYTHON"
  tar xf "$DOWNLOADS/python3.13.orig" -C "$CPYTHON" --strip-components=1
  cd "$CPYTHON"
  # zig's headers declare what POSIX says, CPython's stand-ins for threads say something else.
  edit Include/cpython/pthread_stubs.h 's/PyAPI_FUNC\(int\) pthread_exit\(/PyAPI_FUNC(void) pthread_exit(/'
  edit Python/thread_pthread_stubs.h 's/\bint\s+pthread_exit\(/void pthread_exit(/'
  # wasi-libc's mmap is malloc and memset: arenas straight from malloc, or pymalloc cannot give them back.
  edit Objects/obmalloc.c 's/^#  elif defined\(HAVE_MMAP\)$/#  elif defined(HAVE_MMAP) && !defined(__wasi__)/m'
  # Memory is nearly always pymalloc's: called by name it is compiled into its callers, and a call through a table is dear in WebAssembly.
  edit Objects/obmalloc.c 's/return (_PyObject|_PyMem)\.malloc\(\1\.ctx, size\);/return $1.malloc == _PyObject_Malloc ? _PyObject_Malloc($1.ctx, size) : $1.malloc($1.ctx, size);/g'
  edit Objects/obmalloc.c 's/\n    (_PyObject|_PyMem)\.free\(\1\.ctx, ptr\);/\n    if ($1.free == _PyObject_Free) _PyObject_Free($1.ctx, ptr); else $1.free($1.ctx, ptr);/g'
  use_free_ints
  edit Modules/getaddrinfo.c 's/\A/#ifndef SOCK_RAW\n#define SOCK_RAW 3\n#endif\n/'
  edit Modules/getnameinfo.c 's/\A/#ifndef SOCK_RAW\n#define SOCK_RAW 3\n#endif\n/'
}

# Ints come from a list of free ones, and go back to it.
use_free_ints() {
  cp "$BELLJAR_RECIPES/python/free_ints.h" Objects/
  edit Include/internal/pycore_long.h 's/(\n#ifdef __cplusplus\n\}\n#endif\n#endif)/\nextern void _PyLong_ExactDealloc(PyObject *self);\n$1/'
  edit Objects/longobject.c 's/(static PyObject \*\n_PyLong_FromMedium)/#include "free_ints.h"\n\n$1/'
  edit Objects/longobject.c 's/PyLongObject \*v = PyObject_Malloc\(sizeof\(PyLongObject\)\);(\s+if \(v == NULL\) \{\s+PyErr_NoMemory\(\);\s+return NULL;\s+\}\s+digit abs_x)/PyLongObject *v = take_int();$1/'
  edit Objects/longobject.c 's/    Py_TYPE\(self\)->tp_free\(self\);\n\}/    if (PyLong_CheckExact(self)) {\n        _PyLong_ExactDealloc(self);\n        return;\n    }\n    Py_TYPE(self)->tp_free(self);\n}/'
  edit Objects/longobject.c 's/(_Py_DECREF_SPECIALIZED\(\(PyObject \*\)op, \(destructor\))PyObject_Free/$1_PyLong_ExactDealloc/'
  edit Python/generated_cases.c.h 's/\(destructor\)PyObject_Free/(destructor)_PyLong_ExactDealloc/g'
}

# edit FILE SUBSTITUTION: fails when there is nothing to substitute, because then the source is not the one we know.
edit() {
  perl -0pi -e "$2 or die qq(no match in $1\n)" "$1"
}

# The native interpreter and, beside it, the small libraries: the first zig call builds its libc, which leaves a core idle.
compile_native_and_sysroot() {
  local sysroot
  (compile_sysroot) &
  sysroot=$!
  rm -rf "$NATIVE"
  mkdir -p "$NATIVE"
  cd "$NATIVE"
  # -O1: it runs for seconds. Its library is not installed; it runs from here.
  ../cpython/configure --cache-file=config.cache CFLAGS='-O1 -g0' --without-ensurepip --disable-test-modules
  make -j"$JOBS" all
  wait "$sysroot"
}

compile_sysroot() {
  local build=$BELLJAR_WORK/sysroot-build
  rm -rf "$build" "$SYSROOT"
  mkdir -p "$build"/{zlib,bzip2,sqlite} "$SYSROOT"/{lib,include}
  cd "$build"
  tar xf "$DOWNLOADS/zlib.orig" -C zlib --strip-components=1
  tar xf "$DOWNLOADS/bzip2.orig" -C bzip2 --strip-components=1
  tar xf "$DOWNLOADS/better-sqlite3.tgz" -C sqlite --strip-components=3 package/deps/sqlite3
  cp zlib/{zlib,zconf}.h bzip2/bzlib.h sqlite/sqlite3{,ext}.h "$SYSROOT/include"

  archive libz zlib "-DHAVE_UNISTD_H" adler32 compress crc32 deflate gzclose gzlib gzread gzwrite infback inffast inflate inftrees trees uncompr zutil
  archive libbz2 bzip2 "-D_FILE_OFFSET_BITS=64" blocksort huffman crctable randtable compress decompress bzlib
  archive libsqlite3 sqlite "-DSQLITE_THREADSAFE=0 -DSQLITE_OMIT_LOAD_EXTENSION -DSQLITE_MAX_MMAP_SIZE=0 -DSQLITE_ENABLE_FTS5
    -DSQLITE_ENABLE_RTREE -DSQLITE_ENABLE_MATH_FUNCTIONS -DSQLITE_ENABLE_COLUMN_METADATA -D_WASI_EMULATED_MMAN -D_WASI_EMULATED_GETPID" sqlite3
}

# archive LIBRARY DIRECTORY FLAGS SOURCE...
archive() {
  local library=$1 directory=$2 flags=$3 source objects=()
  shift 3
  for source in "$@"; do
    # shellcheck disable=SC2086  # a list of flags
    "$BIN/wasm-cc" -O2 -g0 $flags -c "$directory/$source.c" -o "$directory/$source.o"
    objects+=("$directory/$source.o")
  done
  "$BIN/wasm-ar" rcs "$SYSROOT/lib/$library.a" "${objects[@]}"
}

configure_wasm() {
  rm -rf "$WASM"
  mkdir -p "$WASM"
  cd "$WASM"
  # zig's wasi-libc comes with musl's headers for things it does not implement: configure would find them and the link would not.
  cat "$CPYTHON/Tools/wasm/config.site-wasm32-wasi" - >config.site <<'SITE'
ac_cv_header_libintl_h=no
ac_cv_header_sys_timerfd_h=no
ac_cv_func_timerfd_create=no
ac_cv_func_setgroups=no
ac_cv_func_epoll_create=no
ac_cv_func_epoll_create1=no
SITE
  # -Xclang: zig's driver knows no -O3. A call costs more in WebAssembly than in machine code (each looks at the stack and at the clock), so more
  # is compiled into its callers. HOSTRUNNER: configure wants one; nothing that it would run is run. Big digits, as on every 64-bit machine: with
  # small ones an int above 32767 takes the slow paths, and WebAssembly has 64-bit arithmetic.
  CONFIG_SITE=$PWD/config.site HOSTRUNNER=true PKG_CONFIG=false \
    CC=$BIN/wasm-cc CXX=$BIN/wasm-c++ CPP="$BIN/wasm-cc -E" AR=$BIN/wasm-ar RANLIB=$BIN/wasm-ranlib \
    CFLAGS="-O2 -g0 -Xclang -O3 -mllvm -inline-threshold=700" CPPFLAGS="-I$SYSROOT/include" LDFLAGS="-L$SYSROOT/lib -s" \
    ZLIB_CFLAGS="-I$SYSROOT/include" ZLIB_LIBS="-L$SYSROOT/lib -lz" \
    BZIP2_CFLAGS="-I$SYSROOT/include" BZIP2_LIBS="-L$SYSROOT/lib -lbz2" \
    LIBSQLITE3_CFLAGS="-I$SYSROOT/include" LIBSQLITE3_LIBS="-L$SYSROOT/lib -lsqlite3 -lwasi-emulated-mman -lwasi-emulated-getpid" \
    ../cpython/configure --cache-file=config.cache --host=wasm32-wasip1 --build="$(gcc -dumpmachine)" \
    --with-build-python=../cpython-native/python --with-pymalloc --enable-big-digits=30 --disable-test-modules --without-ensurepip --prefix=/usr
}

compile_wasm() {
  cd "$WASM"
  # The static libraries only: upstream's own program would be linked with flags that zig's driver refuses, and is not wanted.
  make -j"$JOBS" libpython3.13.a Modules/_decimal/libmpdec/libmpdec.a Modules/expat/libexpat.a pybuilddir.txt
}

# compile_reactor FLAGS...: the driver and the reactor's C, as $WASM/belljar/*.o
compile_reactor() {
  local build=$WASM/belljar
  rm -rf "$build"
  mkdir -p "$build"
  "$NATIVE/python" "$BELLJAR_RECIPES/python/freeze.py" "$BELLJAR_RECIPES/python/driver" >"$build/driver.h"
  local source
  for source in reactor stubs; do
    "$BIN/wasm-cc" -O2 -g0 -D_WASI_EMULATED_PROCESS_CLOCKS -I"$build" -I"$SYSROOT/include" -I"$WASM" -I"$CPYTHON/Include" -I"$CPYTHON/Include/internal" \
      -c "$BELLJAR_RECIPES/python/$source.c" -o "$build/$source.o"
  done
}

# link_reactor RESULT COMPILER OBJECT...
link_reactor() {
  local result=$1 compiler=$2
  shift 2
  # The guest's C stack: deep recursion in C (parser, regular expressions, repr) must meet CPython's own limit first.
  "$compiler" -O2 -s -mexec-model=reactor -z stack-size=8388608 -o "$result" \
    "$WASM"/belljar/{reactor,stubs}.o "$@" "$WASM/libpython3.13.a" \
    "$WASM/Modules/_decimal/libmpdec/libmpdec.a" "$WASM"/Modules/_hacl/*.a "$WASM/Modules/expat/libexpat.a" \
    -L"$SYSROOT/lib" -lz -lbz2 -lsqlite3 \
    -lwasi-emulated-signal -lwasi-emulated-getpid -lwasi-emulated-process-clocks -lwasi-emulated-mman -lm -ldl
}

# install_library ROOT: the guest's root file system.
install_library() {
  local root=$1
  rm -rf "$root"
  mkdir -p "$root/lib/python3.13" "$root/lib/site-packages"
  tar c -C "$CPYTHON/Lib" --exclude=__pycache__ --exclude=./test --exclude=./idlelib --exclude=./tkinter --exclude=./turtledemo \
    --exclude=./turtle.py --exclude=./ensurepip --exclude=./lib2to3 . | tar x -C "$root/lib/python3.13"
  # `sysconfig` wants what configure found out; not where on this machine.
  sed "s#$BELLJAR_WORK#/build#g" "$WASM/build/lib.wasi-wasm32-3.13/_sysconfigdata__wasi_wasm32-wasi.py" \
    >"$root/lib/python3.13/_sysconfigdata__wasi_wasm32-wasi.py"
  python3 -m zipfile -e "$DOWNLOADS/$TZDATA" "$root/lib/site-packages"
  compile_library "$root"
}

# compile_library ROOT: byte code that is used without looking at its source, so that an import costs one open. Paths inside are the
# guest's. One process: what is shared between constants, and so the bytes, depends on the files before.
compile_library() {
  "$NATIVE/python" -m compileall -q --invalidation-mode unchecked-hash -s "$1" -p / "$1/lib"
}

# The four steps that both recipes share; the second recipe finds them done.
build_python() {
  step "fetch sources and compiler"
  fetch_python
  fact version "$(sed -E 's/[^0-9.].*|-.*//' "$DOWNLOADS/python3.13.orig.version")"
  once unpack_zig "$TOOLCHAIN/wasm-tool"
  once unpack_python use_free_ints edit "$BELLJAR_RECIPES/python/free_ints.h" "$DOWNLOADS/python3.13.orig.sha256"
  step "compile a native CPython, zlib, bzip2 and SQLite"
  once compile_native_and_sysroot compile_sysroot archive
  step "configure CPython for WebAssembly"
  once configure_wasm
  step "compile CPython for WebAssembly"
  once compile_wasm
}
