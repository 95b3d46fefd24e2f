#!/bin/bash
# uv, prebuilt: what installs Python packages. `runtimes/README.md` says what a recipe gets and leaves.

. "$BELLJAR_RECIPES/toolchain/common.sh"
. "$BELLJAR_RECIPES/toolchain/fetch.sh"
. "$BELLJAR_RECIPES/tool/wheel.sh"

VERSION=0.13.7
case $(uname -m) in
  x86_64)
    PLATFORM=manylinux_2_17_x86_64 TAGS=manylinux_2_17_x86_64.manylinux2014_x86_64
    SHA256=2c9bdc4a872b60a93c5f26c0791089ea11585a4f9d3b3c017d78eb8487505e25
    ;;
esac

program_of_wheel uv
