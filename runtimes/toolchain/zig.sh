# Sourced after fetch.sh: zig (a clang, an lld and a wasi-libc in one PyPI wheel) as the wasm32-wasi cross compiler.

# What is compiled for the machine that builds, not for the guest: wheel tags and hashes by architecture.
case $(uname -m) in
  x86_64)
    ZIG_WHEEL=ziglang-0.15.2-py3-none-manylinux_2_12_x86_64.manylinux2010_x86_64.musllinux_1_1_x86_64.whl
    ZIG_SHA256=806316453d1ede7174ed3fefb8e5348154629089c3bb5fe812dfd0e172fac130
    ZIG_PLATFORM=manylinux_2_12_x86_64
    ;;
  aarch64)
    ZIG_WHEEL=ziglang-0.15.2-py3-none-manylinux_2_17_aarch64.manylinux2014_aarch64.musllinux_1_1_aarch64.whl
    ZIG_SHA256=edc0aa60ec964a4cf462d40f68d7de242ddf37fd9a80f2afaee6397059463230
    ZIG_PLATFORM=manylinux_2_17_aarch64
    ;;
esac

fetch_zig() {
  pypi_wheel "$ZIG_WHEEL" ziglang==0.15.2 "$ZIG_SHA256" "$ZIG_PLATFORM"
}

export BELLJAR_ZIG=$BELLJAR_WORK/zig/ziglang/zig
BIN=$BELLJAR_WORK/bin

unpack_zig() {
  rm -rf "$BELLJAR_WORK/zig" "$BIN"
  mkdir -p "$BELLJAR_WORK/zig" "$BIN"
  python3 -m zipfile -e "$DOWNLOADS/$ZIG_WHEEL" "$BELLJAR_WORK/zig"
  chmod +x "$BELLJAR_ZIG"
  # Copied, because the files of BELLJAR_RECIPES need not be executable.
  local tool
  for tool in cc c++ ar ranlib; do
    install -m 755 "$TOOLCHAIN/wasm-tool" "$BIN/wasm-$tool"
  done
}
