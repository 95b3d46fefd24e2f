#!/bin/bash
# PHP 8.4 as a WASI reactor, from Debian's source. `runtimes/README.md` says what a recipe gets and leaves.

. "$BELLJAR_RECIPES/toolchain/common.sh"
. "$BELLJAR_RECIPES/toolchain/fetch.sh"
. "$BELLJAR_RECIPES/toolchain/zig.sh"
. "$BELLJAR_RECIPES/reactor/steps.sh"

PHP=$BELLJAR_WORK/php

# PHP leaves a fatal error by longjmp, which is a WebAssembly exception; in the standard's encoding, not in the one that came before it.
EXCEPTIONS=(-mexception-handling -mllvm -wasm-enable-sjlj -mllvm -wasm-use-legacy-eh=false)
FLAGS=(-O2 -g0 "${EXCEPTIONS[@]}" -D_WASI_EMULATED_SIGNAL -D_WASI_EMULATED_PROCESS_CLOCKS -D_WASI_EMULATED_GETPID -D_WASI_EMULATED_MMAN
  -I"$BELLJAR_RECIPES/php/include" -include "$BELLJAR_RECIPES/php/wasi.h")

EXTENSIONS=(--enable-bcmath --enable-calendar --enable-ctype --enable-filter --enable-mbstring --disable-mbregex --enable-tokenizer)

# What configure would have to run a program to know, and what is not as its functions' names suggest.
ANSWERS=(ac_cv_c_stack_direction=-1 php_cv_have_stack_limit=yes php_cv_sizeof_intmax_t=8 php_cv_sizeof_ssize_t=4 php_cv_sizeof_ptrdiff_t=4
  ac_cv_func_flock=yes ac_cv_func_mkstemp=yes ac_cv_func_getrusage=no ac_cv_func_dlopen=no ac_cv_lib_dl_dlopen=no
  ac_cv_func_which_gethostbyname_r=no ac_cv_type_struct_flock=no ac_cv_func_gethostname=no ac_cv_func_getaddrinfo=no)

unpack_php() {
  rm -rf "$PHP"
  mkdir -p "$PHP"
  tar xf "$DOWNLOADS/php8.4.orig" -C "$PHP" --strip-components=1
  cd "$PHP"
  # The heap's chunks come from malloc: what WASI's library calls mmap can neither align nor give back a part.
  edit Zend/zend_alloc.c 's/(static void zend_mm_munmap\(void \*addr, size_t size\)\n\{\n)/$1\tfree(addr);\n\treturn;\n/'
  edit Zend/zend_alloc.c 's/(static void \*zend_mm_chunk_alloc_int\(size_t size, size_t alignment\)\n\{\n)/$1\treturn belljar_chunk(size, alignment);\n/'
  edit Zend/zend_alloc.c 's/(static int zend_mm_chunk_(truncate|extend)\(zend_mm_heap \*heap, void \*addr, size_t old_size, size_t new_size\)\n\{\n)/$1\treturn 0;\n/g'
  # Room for the stack of a fiber, which there cannot be. The reactor knows the words.
  edit Zend/zend_fibers.c 's/(static zend_fiber_stack \*zend_fiber_stack_allocate\(size_t size\)\n\{\n)/$1\tzend_throw_error(NULL, "WebAssembly has no fibers");\n\treturn NULL;\n/'
  edit Zend/zend_call_stack.c 's/(ZEND_API bool zend_call_stack_get\(zend_call_stack \*stack\)\n\{\n)/$1\textern char __stack_high, __stack_low;\n\tstack->base = &__stack_high;\n\tstack->max_size = &__stack_high - &__stack_low;\n\treturn true;\n/'
  edit ext/random/csprng.c 's/(\tsize_t )(read_bytes = 0;\n)/$1read_bytes = belljar_random(bytes, size);\n/'
  edit main/streams/plain_wrapper.c 's/\bclose\(data->fd\)/belljar_close(data->fd)/g'
  # Two that take `long` for PHP's integers.
  edit ext/date/lib/timelib.h 's/#if \(defined\(__x86_64__\)/#if (defined(__wasm__) || defined(__x86_64__)/'
  edit ext/standard/versioning.c 's/\blong (l1\b)/zend_long $1/; s/\bstrtol\(/ZEND_STRTOL(/g'
  # A program that asks is told what it is natively.
  edit main/php.h 's/# define PHP_OS_FAMILY\s+"Unknown"/# define PHP_OS_FAMILY "Linux"/'
}

configure_php() {
  cd "$PHP"
  CC=$BIN/wasm-cc CXX=$BIN/wasm-c++ AR=$BIN/wasm-ar RANLIB=$BIN/wasm-ranlib CFLAGS="${FLAGS[*]}" PKG_CONFIG=false \
    ./configure --build="$(uname -m)-pc-linux-gnu" --host=wasm32-unknown-wasi --prefix=/usr --disable-all --disable-cli --disable-cgi --disable-phpdbg \
    --enable-embed=static --disable-zend-signals --disable-fiber-asm --without-pcre-jit --disable-opcache --disable-ipv6 --disable-rpath \
    --without-pear "${EXTENSIONS[@]}" "${ANSWERS[@]}"
  # The machine that builds is nobody's concern.
  sed -i -E 's/^(#define PHP_(UNAME|BUILD_SYSTEM)) .*/\1 "Linux belljar wasm32"/' main/php_config.h
}

compile_php() {
  local objects
  cd "$PHP"
  objects=$(sed -nE 's/^PHP_GLOBAL_OBJS = //p' Makefile)
  # shellcheck disable=SC2086  # a list of files
  make -s -j"$JOBS" LIBTOOL="bash $BELLJAR_RECIPES/php/compile.sh" $objects main/internal_functions.lo
}

link_php() {
  local source name objects=()
  cd "$PHP"
  mkdir -p ours
  for source in "$BELLJAR_RECIPES"/php/*.c "$BELLJAR_RECIPES"/lua/setjmp.c "$BELLJAR_RECIPES"/reactor/*.c; do
    name=ours/$(basename "$source" .c).o
    "$BIN/wasm-cc" "${FLAGS[@]}" -I"$BELLJAR_RECIPES/reactor" -I. -Imain -IZend -ITSRM -Iext/date/lib -c "$source" -o "$name"
    objects+=("$name")
  done
  # The guest's C stack. PHP's own limit is a quarter of it (reactor.c), so that it, and not the engine's stack, is what deep calls meet first.
  # shellcheck disable=SC2046  # a list of files
  "$BIN/wasm-cc" -O2 -s -mexec-model=reactor -z stack-size=8388608 -o "$BELLJAR_OUT/reactor.wasm" "${objects[@]}" main/internal_functions.lo \
    $(sed -nE 's/^PHP_GLOBAL_OBJS = //p' Makefile) -lwasi-emulated-signal -lwasi-emulated-process-clocks -lwasi-emulated-getpid -lwasi-emulated-mman
}

main() {
  begin php 4
  need_reactor_tools apt-get apt perl perl-base make make xz xz-utils
  step "fetch source and compiler"
  fetch_zig
  debian_source php8.4 '8.4.24-1~deb13u1' e127be09a8506f4327c5cfa78a614b00d210714484ec215ce0011b4a03c00731 '8\.4\.[0-9]+-'
  fact version "$(sed -E 's/-.*//' "$DOWNLOADS/php8.4.orig.version")"
  once unpack_zig "$TOOLCHAIN/wasm-tool"
  step "configure PHP"
  # The settings above are part of what is configured.
  once unpack_php edit "$BELLJAR_RECIPES/php/build.sh"
  once configure_php "$BELLJAR_RECIPES/php/wasi.h"
  step "compile PHP"
  once compile_php "$BELLJAR_RECIPES/php/compile.sh"
  step "link"
  link_php
}

main
