#!/bin/bash
# Deno, prebuilt: what installs packages of npm, and what runs TypeScript natively. `runtimes/README.md` says what a recipe gets and leaves.

. "$BELLJAR_RECIPES/toolchain/common.sh"
. "$BELLJAR_RECIPES/toolchain/fetch.sh"
. "$BELLJAR_RECIPES/tool/wheel.sh"

VERSION=2.9.8
case $(uname -m) in
  x86_64)
    PLATFORM=manylinux_2_27_x86_64 TAGS=manylinux_2_27_x86_64
    SHA256=b1d1318e7deda8efd593aefa8b565a827fe71cf83aeff09d3a5ceb047444ca18
    ;;
esac

program_of_wheel deno
