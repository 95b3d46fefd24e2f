#!/bin/bash
# CPython 3.13 as a WASI reactor, with its library. `runtimes/README.md` says what a recipe gets and leaves.

. "$BELLJAR_RECIPES/toolchain/common.sh"
. "$BELLJAR_RECIPES/toolchain/fetch.sh"
. "$BELLJAR_RECIPES/python/steps.sh"

# optimize MODULE RESULT: what the compiler could not do, since it saw one file at a time; 7 to 15 % of the interpreter's speed. NumPy's reactor
# goes without: it is twice as large and would take three minutes, and its work is done in loops that the compiler saw whole.
optimize() {
  mkdir -p "$BELLJAR_WORK/binaryen"
  tar -xzf "$DOWNLOADS/binaryen.tgz" -C "$BELLJAR_WORK/binaryen" --strip-components=1
  node "$BELLJAR_WORK/binaryen/bin/wasm-opt" -O3 --strip-debug --enable-bulk-memory --enable-bulk-memory-opt --enable-multivalue \
    --enable-mutable-globals --enable-nontrapping-float-to-int --enable-reference-types --enable-sign-ext "$1" -o "$2"
}

main() {
  begin python 7
  need_python_tools
  need node nodejs
  build_python
  step "link the reactor"
  compile_reactor
  link_reactor "$WASM/belljar/reactor.wasm" "$BIN/wasm-cc"
  step "fetch the optimizer"
  npm_package binaryen.tgz binaryen 132.0.0 6543555fb29bb92548f325c7dc18e9ab7dbb1215edda25993d1e3f71d85b8618
  step "optimize the reactor, compile the standard library"
  optimize "$WASM/belljar/reactor.wasm" "$BELLJAR_OUT/reactor.wasm" &
  install_library "$BELLJAR_OUT/tree"
  wait $!
}

main
