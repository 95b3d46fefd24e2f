#!/bin/bash
# QuickJS-ng as a WASI reactor, prebuilt. The JavaScript beside this file is not part of the artefact: the binary carries it, and runs
# it before the snapshot is taken. `runtimes/README.md` says what a recipe gets and leaves.

. "$BELLJAR_RECIPES/toolchain/common.sh"
. "$BELLJAR_RECIPES/toolchain/fetch.sh"

# The package, the file in it that we run, and the engine in that file, as it says itself.
PACKAGE=quickjs-wasi PACKAGE_VERSION=3.6.2
PACKAGE_SHA256=f1f4349f19a2d849e33ea0ae9bec2e7062b8839f4eceb17c9051ddbaa2720982
WASM_SHA256=d4c9375f2b1ca4dc95f72c8aa2982a7a9951ac8011490d79c6582df732b4bbd9
QUICKJS=0.17.0

unpack() {
  tar -xzOf "$DOWNLOADS/$PACKAGE.tgz" package/quickjs.wasm >"$BELLJAR_OUT/reactor.wasm"
  echo "$WASM_SHA256  $BELLJAR_OUT/reactor.wasm" | sha256sum --check --status ||
    die "\`quickjs.wasm\` of \`$PACKAGE@$PACKAGE_VERSION\` is not the file this recipe was written for (its sha256 differs)"
}

main() {
  begin javascript 2
  need tar tar
  have "$PACKAGE.tgz" "$PACKAGE_SHA256" || need npm npm
  step "download the engine"
  npm_package "$PACKAGE.tgz" "$PACKAGE" "$PACKAGE_VERSION" "$PACKAGE_SHA256"
  step "check it"
  unpack
  fact version "$QUICKJS"
}

main
