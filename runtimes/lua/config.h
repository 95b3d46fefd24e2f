// Read before every source of Lua: where WebAssembly is neither plain ISO C nor POSIX.
#pragma once

// One seed for all: a snapshot freezes it anyhow, and so a table's order is the same in every run and on every machine.
#define luai_makeseed(L) 0x62656c6cu

// Files past 2 GiB: `long` has 32 bits here.
#define l_fseek(file, offset, whence) fseeko(file, offset, whence)
#define l_ftell(file) ftello(file)
#define l_seeknum off_t

#define LUA_TMPNAMBUFSIZE 32
#define lua_tmpnam(name, failed)                   \
    {                                              \
        strcpy(name, "/tmp/lua_XXXXXX");           \
        failed = mkstemp(name);                    \
        if (failed != -1) {                        \
            close(failed);                         \
        }                                          \
        failed = failed == -1;                     \
    }
int mkstemp(char *name);
int close(int descriptor);

// An error, and not a failure that a program need not look at: nothing that it would do from there on would be right. The reactor knows the
// words.
#define NO_PROCESSES "WebAssembly cannot start processes"
#define l_system(command) ((command) != NULL ? luaL_error(L, NO_PROCESSES) : 0)
#define l_popen(L, command, mode) ((void)(command), (void)(mode), luaL_error(L, NO_PROCESSES), (FILE *)0)
#define l_pclose(L, file) ((void)(L), (void)(file), -1)
