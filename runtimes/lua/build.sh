#!/bin/bash
# Lua 5.4 as a WASI reactor. `runtimes/README.md` says what a recipe gets and leaves.

. "$BELLJAR_RECIPES/toolchain/common.sh"
. "$BELLJAR_RECIPES/toolchain/fetch.sh"
. "$BELLJAR_RECIPES/toolchain/zig.sh"
. "$BELLJAR_RECIPES/reactor/steps.sh"

LUA=$BELLJAR_WORK/lua

# Lua's errors are setjmp and longjmp, which are WebAssembly's exceptions; in the standard's encoding, not in the one that came before it.
EXCEPTIONS=(-mexception-handling -mllvm -wasm-enable-sjlj -mllvm -wasm-use-legacy-eh=false)

compile_lua() {
  rm -rf "$LUA"
  mkdir -p "$LUA/objects"
  tar xf "$DOWNLOADS/lua5.4.orig" -C "$LUA" --strip-components=1
  local source name
  for source in "$LUA"/src/l*.c "$BELLJAR_RECIPES"/lua/*.c "$BELLJAR_RECIPES"/reactor/*.c; do
    name=$(basename "$source" .c)
    # Upstream's two programs.
    case $name in lua | luac) continue ;; esac
    "$BIN/wasm-cc" -O2 -g0 "${EXCEPTIONS[@]}" -include "$BELLJAR_RECIPES/lua/config.h" -D_WASI_EMULATED_SIGNAL -D_WASI_EMULATED_PROCESS_CLOCKS \
      -I"$LUA/src" -I"$BELLJAR_RECIPES/reactor" -c "$source" -o "$LUA/objects/$name.o"
  done
}

main() {
  begin lua 2
  need_reactor_tools apt-get apt
  step "fetch source and compiler"
  fetch_zig
  debian_source lua5.4 5.4.9-2 2335b6c582a52654f94612bf10d2f4672805d05329aa6568b1d8cd9e5c6fb8e6 '5\.4\.[0-9]+-'
  fact version "$(sed -E 's/-.*//' "$DOWNLOADS/lua5.4.orig.version")"
  once unpack_zig "$TOOLCHAIN/wasm-tool"
  step "compile Lua"
  compile_lua
  # The guest's C stack: recursion in C must meet Lua's own limit of 200 calls first.
  "$BIN/wasm-cc" -O2 -s -mexec-model=reactor -z stack-size=1048576 -o "$BELLJAR_OUT/reactor.wasm" "$LUA"/objects/*.o -lwasi-emulated-signal
}

main
