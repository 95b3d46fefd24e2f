#!/bin/bash
# Ruby as a WASI reactor, prebuilt, with its library inside; `widen.py` gives it room for deep stacks. `prelude.rb` is not part of the artefact:
# the binary carries it, and runs it before the snapshot is taken. `runtimes/README.md` says what a recipe gets and leaves.

. "$BELLJAR_RECIPES/toolchain/common.sh"
. "$BELLJAR_RECIPES/toolchain/fetch.sh"

# The package, the file in it that we run, and what that is when it is widened.
PACKAGE=@ruby/4.0-wasm-wasi PACKAGE_VERSION=2.10.1
PACKAGE_SHA256=48ba7538badb10f829c13be0f79e109c7ed14a1d29f45a42a5d384eef18dc2ce
WASM_SHA256=9fe3c749730a16da9b0d1a973bb77bec164f8d958efcb7f5b81e4275ea8c5439
RUBY=4.0.0

unpack() {
  tar -xzOf "$DOWNLOADS/ruby-wasm.tgz" package/dist/ruby+stdlib.wasm >"$BELLJAR_OUT/original.wasm"
  echo "$WASM_SHA256  $BELLJAR_OUT/original.wasm" | sha256sum --check --status ||
    die "\`ruby+stdlib.wasm\` of \`$PACKAGE@$PACKAGE_VERSION\` is not the file this recipe was written for (its sha256 differs)"
}

main() {
  begin ruby 3
  need tar tar python3 python3
  have ruby-wasm.tgz "$PACKAGE_SHA256" || need npm npm
  step "download the interpreter"
  npm_package ruby-wasm.tgz "$PACKAGE" "$PACKAGE_VERSION" "$PACKAGE_SHA256"
  step "check it"
  unpack
  step "make room for deep stacks"
  python3 "$BELLJAR_RECIPES/ruby/widen.py" "$BELLJAR_OUT/original.wasm" "$BELLJAR_OUT/reactor.wasm"
  rm "$BELLJAR_OUT/original.wasm"
  fact version "$RUBY"
}

main
