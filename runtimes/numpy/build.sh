#!/bin/bash
# CPython 3.13 with NumPy linked into it, as a WASI reactor. WASI has no shared libraries, so NumPy's extension modules become
# built-in ones under their dotted names. `runtimes/README.md` says what a recipe gets and leaves.

. "$BELLJAR_RECIPES/toolchain/common.sh"
. "$BELLJAR_RECIPES/toolchain/fetch.sh"
. "$BELLJAR_RECIPES/python/steps.sh"

NUMPY=$BELLJAR_WORK/numpy          # upstream's source, with build/ inside
NUMPY_TOOLS=$BELLJAR_WORK/numpy-tools

case $(uname -m) in
  x86_64)
    CYTHON_SHA256=85be5442e8f465c7c5e80837ac2a85a2ce04034e616445113092e85b65d0ab94
    NINJA_SHA256=65a24341b5ac09fcadcc37082660be40a94174e51a937fabf6e2cae26225fa2c
    ;;
  aarch64)
    CYTHON_SHA256=d0f2610ce850d264e29a87b3d9b8ec4f0f2dec5bc1dce0398294251f09b149df
    NINJA_SHA256=d775a5e43e9088f507a6250d57fcf5678eb31268c545feb5064ffeee33735622
    ;;
esac
TAG=manylinux2014_$(uname -m).manylinux_2_17_$(uname -m)
CYTHON_WHEEL=cython-3.3.1-cp313-cp313-$TAG.manylinux_2_28_$(uname -m).whl
NINJA_WHEEL=ninja-1.13.2-py3-none-$TAG.whl

# WebAssembly's own exceptions, in the standard encoding: wasmtime refuses the older one. clang's driver would set the middle two itself,
# zig's does not. The same list is in cross.ini.
CXX_EXCEPTIONS="-fexceptions -fwasm-exceptions -mexception-handling -mllvm -wasm-enable-eh -mllvm -wasm-use-legacy-eh=false"

main() {
  begin numpy 9
  need_python_tools
  build_python
  step "fetch NumPy"
  fetch_numpy
  once unpack_numpy use_wide_integers use_wide_random_integers "$BELLJAR_RECIPES"/numpy/{cross.ini,include/fenv.h}
  step "configure NumPy for WebAssembly"
  once configure_numpy
  step "compile NumPy for WebAssembly"
  once compile_numpy
  step "link the reactor"
  compile_reactor
  link_numpy
  step "compile the standard library and NumPy's Python half"
  install_library "$BELLJAR_OUT/tree"
  install_numpy "$BELLJAR_OUT/tree"
}

fetch_numpy() {
  pypi_sdist numpy-2.3.5.tar.gz numpy==2.3.5 784db1dcdab56bf0517743e746dfb0f885fc68d948aba86eeec2cba234bdf1c0 mesonpy
  pypi_wheel "$CYTHON_WHEEL" cython==3.3.1 "$CYTHON_SHA256" "manylinux2014_$(uname -m)"
  pypi_wheel "$NINJA_WHEEL" ninja==1.13.2 "$NINJA_SHA256" "manylinux2014_$(uname -m)"
}

unpack_numpy() {
  rm -rf "$NUMPY" "$NUMPY_TOOLS"
  mkdir -p "$NUMPY" "$NUMPY_TOOLS"
  tar xf "$DOWNLOADS/numpy-2.3.5.tar.gz" -C "$NUMPY" --strip-components=1
  python3 -m zipfile -e "$DOWNLOADS/$CYTHON_WHEEL" "$NUMPY_TOOLS"
  python3 -m zipfile -e "$DOWNLOADS/$NINJA_WHEEL" "$NUMPY_TOOLS"
  install -m 755 "$NUMPY_TOOLS"/ninja-*.data/scripts/ninja "$BIN/ninja"
  printf '#!/bin/sh\nPYTHONPATH=%q exec %q -m cython "$@"\n' "$NUMPY_TOOLS" "$NATIVE/python" >"$BIN/cython"
  chmod +x "$BIN/cython"
  sed "s#@BIN@#$BIN#g; s#@PYTHON@#$NATIVE/python#g" "$BELLJAR_RECIPES/numpy/cross.ini" >"$NUMPY/cross.ini"
  cd "$NUMPY"
  # NumPy knows wasm by Emscripten's name.
  edit numpy/_core/include/numpy/npy_cpu.h 's/^#elif defined\(__EMSCRIPTEN__\)$/#elif defined(__EMSCRIPTEN__) || defined(__wasm__)/m'
  # CPython has a header of this name too, and its directory comes first.
  edit numpy/_core/src/umath/reduction.c 's|^#include "refcount.h"$|#include "../multiarray/refcount.h"|m'
  # WASI cannot duplicate a descriptor, so a C stream shares the Python file's own: flushed at the end, not closed. One stream leaks.
  edit numpy/_core/include/numpy/npy_3kcompat.h 's|PyObject_CallMethod\(os, "dup", "i", fd\)|PyLong_FromLong(fd)|'
  edit numpy/_core/include/numpy/npy_3kcompat.h 's|fclose\(handle\)|fflush(handle)|g'
  use_wide_integers
  use_wide_random_integers
}

# Pointers have 32 bits here, and so would have NumPy's sizes and indices, its default integer and its sums: `np.arange(100000).sum()` would
# be wrong, silently. So `npy_intp` has 64 bits, as on the machines that results are compared with. Memory still has what 32 bits can count;
# the size of every array is counted by `npy_mul_sizes_with_overflow`. The compiler finds sizes of the one kind that are used as the other: a
# pointer to them is an error (cross.ini).
use_wide_integers() {
  edit numpy/_core/meson.build "s/('NPY_SIZEOF_U?INTP'), 'size_t'/\$1, 'long long'/g"
  edit numpy/_core/include/numpy/npy_common.h 's/typedef Py_ssize_t npy_intp;\ntypedef size_t npy_uintp;/typedef long long npy_intp;\ntypedef unsigned long long npy_uintp;/'
  edit numpy/_core/src/multiarray/alloc.h 's/(UserNEW\(|UserFREE\(void \* p, )npy_uintp/$1size_t/g'
  edit numpy/_core/src/common/templ_common.h.src 's/(npy_mul_sizes_with_overflow .*?return __builtin_mul_overflow\(a, b, r\))/$1 || *r > PY_SSIZE_T_MAX/s'
  # An iterator's slots hold pointers or sizes.
  edit numpy/_core/src/multiarray/nditer_impl.h 's/NPY_SIZEOF_PY_INTPTR_T/NPY_SIZEOF_INTP/g and s/\bPy_intptr_t\b/npy_intp/g'
  edit numpy/_core/src/multiarray/nditer_templ.c.src 's/(memcpy\(ptrs, NIT_DATAPTRS\(iter\), )NPY_SIZEOF_INTP/$1sizeof(char *)/'
  # What CPython fills in, or reads, has its sizes.
  edit numpy/_core/src/multiarray/mapping.c 's/npy_intp (start, stop, step, n_steps;)/Py_ssize_t $1/'
  edit numpy/_core/src/multiarray/iterators.c 's/npy_intp stop;\n(\s+if \(PySlice_GetIndicesEx\(op, max, )&i, &stop, step_size, n_steps(\) < 0\) \{\s+goto fail;\s+\})/Py_ssize_t start, stop, step, steps;\n$1&start, &stop, &step, &steps$2\n        i = start, *step_size = step, *n_steps = steps;/'
  edit numpy/_core/src/multiarray/array_method.c 's/Py_ssize_t (length = -1|subloopsize);/npy_intp $1;/g'
  local file
  for file in string_ufuncs stringdtype_ufuncs; do
    edit "numpy/_core/src/umath/$file.cpp" 's/(#include <Python.h>\n)/$1#include <algorithm>\n/'
    edit "numpy/_core/src/umath/$file.cpp" 's/npy_intp (start|stop|step) = \*\(npy_intp ?\*\)\s*(\w+);/Py_ssize_t $1 = std::clamp<npy_intp>(*(npy_intp *)$2, -PY_SSIZE_T_MAX, PY_SSIZE_T_MAX);/g'
  done
  edit numpy/_core/src/multiarray/textreading/readtext.c 's/Py_ssize_t (skiplines|max_rows)/npy_intp $1/g'
  edit numpy/_core/src/multiarray/nditer_pywrap.c 's/"nn", &istart/"LL", &istart/'
  edit numpy/_core/src/multiarray/buffer.c 's/info->shape = \(npy_intp \*\)/info->shape = (Py_ssize_t *)/'
  edit numpy/_core/src/multiarray/buffer.c 's/native \? NPY_(U?)INTP/native ? NPY_$1LONG/g'
  edit numpy/_core/src/multiarray/arraytypes.c.src 's/NPY_SIZEOF_PY_INTPTR_T == NPY_SIZEOF_INTP/NPY_SIZEOF_PY_INTPTR_T <= NPY_SIZEOF_INTP/'
  # A number that counts no memory.
  edit numpy/_core/src/multiarray/compiled_base.c 's/npy_mul_sizes_with_overflow\(&s, s, (dimensions\.ptr\[i\])\)/__builtin_mul_overflow(s, $1, &s)/g'
  # A format has no types: what is printed must have the size that it says.
  for file in _core/src/multiarray/{shape,common,convert_datatype,item_selection}.c _core/src/umath/string_ufuncs.cpp linalg/umath_linalg.cpp; do
    edit "numpy/$file" 's/%zd/%lld/g'
  done
  edit numpy/_core/src/umath/ufunc_object.c 's/size %zd is different "(\s+)"from %zd/size %lld is different "$1"from %lld/'
  edit numpy/_core/src/umath/loops.c.src 's/does not support argument %d/does not support argument %lld/'
  edit numpy/_core/src/multiarray/textreading/rows.c 's/max_rows=%zd/max_rows=%lld/'
  edit numpy/_core/src/multiarray/descriptor.c 's/(requires|requires alignment of|field alignment) %d/$1 %lld/g'
  edit numpy/_core/src/multiarray/ctors.c 's/item size %d/item size %lld/'
  edit numpy/_core/src/multiarray/multiarraymodule.c 's/size %d and the array at index %d has size %d/size %lld and the array at index %d has size %lld/'
  edit numpy/_core/src/multiarray/scalartypes.c.src 's/"%" NPY_INTP_FMT "w"/"%zdw"/'
}

# The older generator draws `long`s, which are 64 bits there too. Besides, it has its own copy of distributions.c: as a shared library it never
# meets the Generator's, in one static link the first wins, and so both must have the same types.
use_wide_random_integers() {
  edit numpy/_core/include/numpy/random/distributions.h 's/RAND_INT_TYPE long\n#define RAND_INT_MAX LONG_MAX/RAND_INT_TYPE int64_t\n#define RAND_INT_MAX INT64_MAX/'
  edit numpy/random/src/distributions/distributions.c 's/#if ULONG_MAX <= 0xffffffffUL/#if 0/'
  edit numpy/random/_common.pyx 's/cdef extern from "limits.h":\n    cdef long LONG_MAX/cdef extern from "stdint.h":\n    cdef int64_t LONG_MAX "INT64_MAX"/'
  edit numpy/random/_common.pyx "s/np\.iinfo\('l'\)/np.iinfo('int64')/g"
  edit numpy/random/mtrand.pyx 's/(<|cdef |self, |_state, |\bn, )long\b/$1int64_t/g'
  edit numpy/random/mtrand.pyx "s/np\.long\b/np.int64/g and s/np\.dtype\(\"long\"\)/np.dtype(np.int64)/ and s/astype\('l'/astype('q'/"
}

# meson and ninja both call the compiler with our pyconfig.h before the native one.
numpy_environment() {
  export PATH=$BIN:$PATH
  export BELLJAR_CC_FIRST="-I$BELLJAR_RECIPES/numpy/include -I$WASM -I$CPYTHON/Include -D_WASI_EMULATED_SIGNAL -D_WASI_EMULATED_GETPID -D_WASI_EMULATED_MMAN -D_WASI_EMULATED_PROCESS_CLOCKS"
}

configure_numpy() {
  numpy_environment
  cd "$NUMPY"
  rm -rf build
  # Not -Ddisable-threading: `np.unique` releases the interpreter lock all the same, and would not take it back.
  # NumPy's own copy of meson: it carries a module that the published one lacks.
  "$NATIVE/python" vendored-meson/meson/meson.py setup build --cross-file cross.ini -Dbuildtype=release -Db_ndebug=true -Db_lto=false \
    -Ddefault_library=static -Dallow-noblas=true -Dblas=none -Dlapack=none -Ddisable-optimization=true
}

# The objects and archives that are linked below. The shared libraries they are meant for cannot be made, and the modules for
# NumPy's own tests are not wanted.
compile_numpy() {
  numpy_environment
  cd "$NUMPY/build"
  "$BIN/ninja" -t targets all | sed -nE 's/^(.*\.(o|a)): .*/\1/p' | grep -E "$NUMPY_PARTS" >parts
  xargs -a parts "$BIN/ninja" -j"$JOBS"
}

# Of lapack_lite only the module itself: the rest of its objects is in _umath_linalg as well.
NUMPY_PARTS='^numpy/(_core/_multiarray_umath\.|fft/_pocketfft_umath\.|linalg/_umath_linalg\.|linalg/lapack_lite\..*lapack_litemodule|random/[^/]*\.so\.p/)'
NUMPY_PARTS+='|^numpy/_core/lib(_multiarray_umath_mtargets|highway|unique_hash|npymath)\.a$|^numpy/random/libnpyrandom\.a$'

# zig leaves the part of the C++ library that throws out of its WASI build, but ships the source.
compile_exceptions() {
  local library=$BELLJAR_WORK/zig/ziglang/lib objects=$WASM/belljar/exceptions source
  mkdir -p "$objects"
  for source in cxa_exception cxa_personality; do
    # shellcheck disable=SC2086  # a list of flags
    "$BIN/wasm-c++" -O2 -g0 $CXX_EXCEPTIONS -D_LIBCXXABI_BUILDING_LIBRARY -D_LIBCXXABI_HAS_NO_THREADS -I"$library/libcxxabi/include" \
      -I"$library/libcxx/src" -c "$library/libcxxabi/src/$source.cpp" -o "$objects/$source.o"
  done
  # shellcheck disable=SC2086
  "$BIN/wasm-cc" -O2 -g0 $CXX_EXCEPTIONS -D__USING_WASM_EXCEPTIONS__ -D_LIBUNWIND_HAS_NO_THREADS -D_LIBUNWIND_HIDE_SYMBOLS \
    -I"$library/libunwind/include" -c "$library/libunwind/src/Unwind-wasm.c" -o "$objects/unwind.o"
  # shellcheck disable=SC2086
  "$BIN/wasm-c++" -O2 -g0 $CXX_EXCEPTIONS -c "$BELLJAR_RECIPES/numpy/exceptions.cc" -o "$objects/new.o"
}

link_numpy() {
  local log=$BELLJAR_WORK/log/numpy-link.log parts
  local source
  for source in modules float_status; do
    "$BIN/wasm-cc" -O3 -g0 -msimd128 -I"$BELLJAR_RECIPES/numpy/include" -I"$WASM" -I"$CPYTHON/Include" \
      -c "$BELLJAR_RECIPES/numpy/$source.c" -o "$WASM/belljar/$source.o"
  done
  compile_exceptions
  # Objects before archives: the linker takes from an archive only what it already misses.
  mapfile -t parts < <(cd "$NUMPY/build" && { grep '\.o$' parts; grep '\.a$' parts; } | sed "s#^#$NUMPY/build/#")
  link_reactor "$BELLJAR_OUT/reactor.wasm" "$BIN/wasm-c++" "$WASM"/belljar/{modules,float_status}.o "$WASM"/belljar/exceptions/*.o "${parts[@]}" 2>&1 | tee "$log"
  if grep -q 'signature mismatch\|duplicate symbol' "$log"; then
    die "NumPy's parts clash: a function is called with another signature than it has, which would trap"
  fi
}

install_numpy() {
  local packages=$1/lib/site-packages
  (cd "$NUMPY" && find numpy -name '*.py' -not -path '*/tests/*' -print0 | tar c --null -T -) | tar x -C "$packages"
  cp "$NUMPY/build/numpy/__config__.py" "$packages/numpy/"
  [ ! -f "$NUMPY/build/numpy/version.py" ] || cp "$NUMPY/build/numpy/version.py" "$packages/numpy/"
  compile_library "$1"
}

main
