# Sourced after zig.sh: the C++ library with exceptions. The clang package's own is compiled without; zig's wheel has the source of an older
# one, complete, whose headers the package's compiler takes as well.

LIBCXX=$BELLJAR_WORK/libcxx

# compile_libcxx ROOT: puts headers and archives into ROOT/usr, where the clang package's headers of the C library are already.
compile_libcxx() {
  local root=$1 library=$LIBCXX/lib
  rm -rf "$LIBCXX"
  mkdir -p "$LIBCXX/objects"/{c++,c++abi} "$library"
  cp -r "$BELLJAR_WORK"/zig/ziglang/lib/{libcxx,libcxxabi,libunwind} "$library"
  report_what_ends_the_program
  install_libcxx_headers "$root/usr/include/c++/v1"
  compile_libcxx_objects "$root/usr/include"
  install_libcxx_archives "$root/usr/lib/wasm32-wasip1"
}

# A function that promised not to throw, and a destructor, call std::terminate with an exception in flight that is not caught: the
# compiler does not do it for WebAssembly. So the exception is remembered when it is thrown, and caught by std::terminate.
report_what_ends_the_program() {
  edit "$library/libunwind/src/Unwind-wasm.c" 's|(_LIBUNWIND_EXPORT _Unwind_Reason_Code\n_Unwind_RaiseException\(.*?\{\n)|_Unwind_Exception *belljar_in_flight;\n\n$1  belljar_in_flight = exception_object;\n|s'
  edit "$library/libcxxabi/src/cxa_exception.cpp" 's|(\n__cxa_begin_catch\(void\* unwind_arg\).*?\n\{\n)|$1    belljar_in_flight = nullptr;\n|s'
  edit "$library/libcxxabi/src/cxa_handlers.cpp" 's|(\nterminate\(\) noexcept\n\{\n)|$1    if (belljar_in_flight)\n        __cxxabiv1::__cxa_begin_catch(belljar_in_flight);\n|'
  edit "$library/libcxxabi/src/cxa_exception.h" 's|(#include "unwind.h"\n)|$1\nextern "C" _Unwind_Exception *belljar_in_flight;\n|'
}

install_libcxx_headers() {
  local headers=$1 header
  rm -rf "$headers"
  mkdir -p "${headers%/*}"
  cp -r "$library/libcxx/include" "$headers"
  cp "$library"/libcxxabi/include/*.h "$headers"
  cp "$BELLJAR_RECIPES"/clang/libcxx_site.h "$headers/__config_site"
  # zig gives these definitions on the command line.
  for header in "$headers"/__config "$headers"/__configuration/{abi,compiler,language,platform}.h; do
    edit "$header" 's|^/\* zig patch: .*__config_site.*\*/$|#include <__config_site>|m'
  done
  # When no thread can be started, the library waits for the one that it did not get. So std::async without a policy is deferred, and with
  # launch::async it fails before there is anything to wait for.
  edit "$headers/future" 's|__does_policy_contain\(__policy, launch::async\)|__policy == launch::async|'
  edit "$headers/future" 's|(__make_async_assoc_state\(_Fp&& __f\) \{\n)|$1  std::thread([] {}).detach();\n|'
  mkdir -p "$headers/bits"
  cp "$BELLJAR_RECIPES/clang/stdc++.h" "$headers/bits/"
}

# Small rather than fast: all of it that a program uses is translated to machine code in every run, and what has to be fast in it is in the
# headers. Biggest first, so that no core is left with the longest file at the end.
compile_libcxx_objects() {
  local include=$1 flags
  # `zig clang` is the plain compiler, without zig's own headers.
  flags="--target=wasm32-wasip1 -Os -g0 -w -DNDEBUG -fwasm-exceptions -mllvm -wasm-use-legacy-eh=false -fvisibility=hidden -ffile-prefix-map=$LIBCXX=/build"
  flags+=" -nostdinc -isystem $include/c++/v1 -isystem $BELLJAR_WORK/zig/ziglang/lib/include -isystem $include/wasm32-wasip1"
  flags+=" -D_LIBCPP_BUILDING_LIBRARY -I$library/libcxx/src"
  {
    # Each line: output, source, what only this part needs. `new` is in the ABI's part as well.
    (cd "$library/libcxx/src" && find . -maxdepth 1 -name '*.cpp' -not -name new.cpp && find filesystem ryu -name '*.cpp') |
      while read -r source; do
        echo "c++/$(basename "$source" .cpp) $library/libcxx/src/$source -std=c++23 -DLIBCXX_BUILDING_LIBCXXABI -D_LIBCPP_REMOVE_TRANSITIVE_INCLUDES -DLIBC_NAMESPACE=__llvm_libc_common_utils -I$library/libcxx/libc"
      done
    (cd "$library/libcxxabi/src" && find . -maxdepth 1 -name '*.cpp' -not -name cxa_noexception.cpp) |
      while read -r source; do
        echo "c++abi/$(basename "$source" .cpp) $library/libcxxabi/src/$source -std=c++23 -D_LIBCXXABI_BUILDING_LIBRARY -I$library/libcxxabi/include"
      done
    echo "c++abi/unwind $library/libunwind/src/Unwind-wasm.c -D_LIBUNWIND_HIDE_SYMBOLS -I$library/libunwind/include"
    echo "mutex $BELLJAR_RECIPES/clang/mutex.c"
    echo "start $BELLJAR_RECIPES/clang/start.cc -std=c++23"
    echo "workspace $BELLJAR_RECIPES/clang/workspace.c"
  } | while read -r line; do
    set -- $line
    echo "$(stat -c %s "$2") $line"
  done | sort -rn | cut -d' ' -f2- >"$LIBCXX/list"
  # shellcheck disable=SC2016  # expanded by the inner shell
  xargs -P"$JOBS" -L1 -a "$LIBCXX/list" bash -c '"$0" clang '"$flags"' -c -o "'"$LIBCXX"'/objects/$1.o" "${@:2}" || exit 255' "$BELLJAR_ZIG"
}

install_libcxx_archives() {
  local archives=$1 name
  mkdir -p "$archives"
  cp "$LIBCXX/objects/start.o" "$archives/crt1-c++.o"
  cp "$LIBCXX/objects"/{workspace,mutex}.o "$archives"
  for name in c++ c++abi; do
    rm -f "$archives/lib$name.a"
    "$BELLJAR_ZIG" ar rcsD "$archives/lib$name.a" "$LIBCXX/objects/$name"/*.o
  done
}
