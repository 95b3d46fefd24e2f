#!/bin/bash
# clang and wasm-ld, prebuilt, with the C library that comes with them and a C++ library of our own build, which has exceptions.
# `runtimes/README.md` says what a recipe gets and leaves. The files `*.args` are not part of the result: the binary carries them.

. "$BELLJAR_RECIPES/toolchain/common.sh"
. "$BELLJAR_RECIPES/toolchain/fetch.sh"
. "$BELLJAR_RECIPES/toolchain/zig.sh"
. "$BELLJAR_RECIPES/reactor/steps.sh"
. "$BELLJAR_RECIPES/clang/library.sh"

# The package, and the file in it that is both tools.
PACKAGE=@yowasp/clang PACKAGE_VERSION=22.0.0-git20542-10
PACKAGE_SHA256=6230ea1afa9691fa065935cf68c01642ff9b31c183fe8ac64cdfda025df06009
WASM_SHA256=24fbed474c7b5b4968fd73fc4827440b93fb351c1b6264516130300eff3e7bf5
CLANG=22.0.0

unpack_clang() {
  local usr=$BELLJAR_OUT/tree/usr
  tar -xzOf "$DOWNLOADS/clang.tgz" package/gen/llvm.core.wasm >"$BELLJAR_OUT/reactor.wasm"
  echo "$WASM_SHA256  $BELLJAR_OUT/reactor.wasm" | sha256sum --check --status ||
    die "\`llvm.core.wasm\` of \`$PACKAGE@$PACKAGE_VERSION\` is not the file this recipe was written for (its sha256 differs)"
  mkdir -p "$usr"
  tar -xzOf "$DOWNLOADS/clang.tgz" package/gen/llvm-resources.tar | tar -x -C "$usr"
  # Shared libraries, which nothing here loads; the other C++ library; headers for the instructions of other processors.
  rm -rf "$usr"/lib/*/*.so "$usr/share" "$usr/include/c++" "$usr/include/wasm32-wasip1/c++" "$usr"/lib/*/libc++*
  find "$usr/include" -maxdepth 1 -name '*intrin*.h' -not -name 'wasm_simd128.h' -delete
  find "$usr/include" -maxdepth 1 \( -name 'arm_*' -o -name '__clang_*' -o -name 'riscv_*' -o -name 'altivec.h' -o -name 'hvx_*' -o -name 'hexagon*' \) -delete
}

# The sources of what the compiler reads once, after this, for all programs.
write_headers() {
  mkdir -p "$BELLJAR_OUT/tree/usr/pch"
  echo '#include <iostream>' >"$BELLJAR_OUT/tree/usr/pch/iostream.hh"
  echo '#include <bits/stdc++.h>' >"$BELLJAR_OUT/tree/usr/pch/all.hh"
}

main() {
  begin clang 3
  need_reactor_tools perl perl
  have clang.tgz "$PACKAGE_SHA256" || need npm npm
  step "download the compiler"
  npm_package clang.tgz "$PACKAGE" "$PACKAGE_VERSION" "$PACKAGE_SHA256"
  fetch_zig
  step "unpack it"
  once unpack_zig "$TOOLCHAIN/wasm-tool"
  unpack_clang
  step "compile the C++ library"
  compile_libcxx "$BELLJAR_OUT/tree"
  write_headers
  fact version "$CLANG"
}

main
