#!/bin/bash
# SQLite and its shell as a WASI reactor. `runtimes/README.md` says what a recipe gets and leaves.

. "$BELLJAR_RECIPES/toolchain/common.sh"
. "$BELLJAR_RECIPES/toolchain/fetch.sh"
. "$BELLJAR_RECIPES/toolchain/zig.sh"
. "$BELLJAR_RECIPES/reactor/steps.sh"

SQL=$BELLJAR_WORK/sql

# Packages that carry SQLite's amalgamation. The first has the shell too, and the second's library is newer: the last before real numbers are
# printed with 17 digits. Nor is the shell newer: 3.52 draws its tables in another way than the shells that hosts have, and one script is to
# print the same here and there.
SHELL_PACKAGE=5.1.7 SHELL_SHA256=44cc9bdee02705a7b636f76968d745e21c1d0b2f1c62810c678bc3b0ececab1b
LIBRARY_PACKAGE=12.6.2 LIBRARY_SHA256=ac3bfaa50b31d1fc878f84b64b3fa7ec1b5b6603b9be089b0501f8f5900ac7e7
AMALGAMATION=sqlite-autoconf-3440200

# What Debian's has, so that a script is the same program here and natively.
FEATURES=(-DSQLITE_ENABLE_FTS3 -DSQLITE_ENABLE_FTS3_PARENTHESIS -DSQLITE_ENABLE_FTS4 -DSQLITE_ENABLE_FTS5 -DSQLITE_ENABLE_RTREE
  -DSQLITE_ENABLE_GEOPOLY -DSQLITE_ENABLE_MATH_FUNCTIONS -DSQLITE_ENABLE_COLUMN_METADATA -DSQLITE_ENABLE_DBSTAT_VTAB
  -DSQLITE_ENABLE_UPDATE_DELETE_LIMIT -DSQLITE_ENABLE_STMTVTAB -DSQLITE_SOUNDEX)
# Neither threads, nor shared libraries, nor processes.
PLATFORM=(-DSQLITE_THREADSAFE=0 -DSQLITE_OMIT_LOAD_EXTENSION -DSQLITE_MAX_MMAP_SIZE=0 -DSQLITE_OMIT_POPEN
  -D_WASI_EMULATED_MMAN -D_WASI_EMULATED_GETPID -D_WASI_EMULATED_SIGNAL -D_WASI_EMULATED_PROCESS_CLOCKS)

unpack_sql() {
  rm -rf "$SQL"
  mkdir -p "$SQL"
  tar -xzOf "$DOWNLOADS/sqlite-shell.tgz" "package/deps/$AMALGAMATION.tar.gz" | tar xz -C "$SQL" --strip-components=1 "$AMALGAMATION/shell.c"
  tar xzf "$DOWNLOADS/sqlite-library.tgz" -C "$SQL" --strip-components=3 package/deps/sqlite3
  cd "$SQL"
  # A statement of the program's, from its first step to its end. Those that the shell makes up itself have no place for an error's words.
  edit shell.c 's/(\n +bind_prepared_stmt\(pArg, pStmt\);\n +exec_prepared_stmt)/\n      if( pzErrMsg ) belljar_statement(pStmt);$1/'
  edit shell.c 's/(\n +rc2 = sqlite3_finalize\(pStmt\);\n +if\( rc!=SQLITE_NOMEM \))/\n      belljar_statement(0);$1/'
  edit shell.c 's/(\n +\}else if\( rc \)\{\n)( +errCnt\+\+;\n)/$1          belljar_command_failed(p->inputNesting, p->lineno);\n$2/'
}

compile_sqlite() {
  "$BIN/wasm-cc" -O2 -g0 "${FEATURES[@]}" "${PLATFORM[@]}" -c "$SQL/sqlite3.c" -o "$SQL/sqlite3.o"
}

link_sql() {
  "$BIN/wasm-cc" -O2 -g0 "${PLATFORM[@]}" -include "$BELLJAR_RECIPES/sql/hooks.h" -DSQLITE_SHELL -Dmain=sqlite_shell_main \
    -DSQLITE_SHELL_INIT_PROC=belljar_start_sqlite -DHAVE_READLINE=0 -c "$SQL/shell.c" -o "$SQL/shell.o"
  local source objects=()
  for source in "$BELLJAR_RECIPES"/sql/*.c "$BELLJAR_RECIPES"/reactor/*.c; do
    objects+=("$SQL/our-$(basename "$source" .c).o")
    "$BIN/wasm-cc" -O2 -g0 "${PLATFORM[@]}" -I"$SQL" -I"$BELLJAR_RECIPES/reactor" -c "$source" -o "${objects[-1]}"
  done
  # The guest's C stack: SQLite bounds the depth of what it parses, not of its own calls.
  "$BIN/wasm-cc" -O2 -s -mexec-model=reactor -z stack-size=4194304 -o "$BELLJAR_OUT/reactor.wasm" "$SQL"/{sqlite3,shell}.o "${objects[@]}" \
    -lwasi-emulated-mman -lwasi-emulated-getpid -lwasi-emulated-signal
}

main() {
  begin sql 2
  { have sqlite-shell.tgz "$SHELL_SHA256" && have sqlite-library.tgz "$LIBRARY_SHA256"; } || need npm npm
  need_reactor_tools perl perl-base
  step "fetch source and compiler"
  fetch_zig
  npm_package sqlite-shell.tgz sqlite3 "$SHELL_PACKAGE" "$SHELL_SHA256"
  npm_package sqlite-library.tgz better-sqlite3 "$LIBRARY_PACKAGE" "$LIBRARY_SHA256"
  once unpack_zig "$TOOLCHAIN/wasm-tool"
  step "compile SQLite and its shell"
  once unpack_sql edit
  fact version "$(sed -nE 's/^#define SQLITE_VERSION +"([0-9.]+)"/\1/p' "$SQL/sqlite3.h")"
  once compile_sqlite
  link_sql
}

main
