#!/bin/bash
# CPython 3.13 as a WASI reactor, with its library. `runtimes/README.md` says what a recipe gets and leaves.

. "$BELLJAR_RECIPES/toolchain/common.sh"
. "$BELLJAR_RECIPES/toolchain/fetch.sh"
. "$BELLJAR_RECIPES/python/steps.sh"

main() {
  begin python 6
  need_python_tools
  build_python
  step "link the reactor"
  compile_reactor
  link_reactor "$BELLJAR_OUT/reactor.wasm" "$BIN/wasm-cc"
  step "compile the standard library"
  install_library "$BELLJAR_OUT/tree"
}

main
