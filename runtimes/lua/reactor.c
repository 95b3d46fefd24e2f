// Lua as a Belljar reactor: started once, snapshotted, then one program an instance. `runtimes/README.md` has the interface. What a
// program sees is what `lua main.lua` shows it (upstream's lua.c), from its arguments to its traceback.

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "belljar.h"
#include "lauxlib.h"
#include "lua.h"
#include "lualib.h"
#include "value.h"

static lua_State *state;
static struct job job;

// The uncaught error, as it was before its traceback was added. Room of its own: memory may be what there is none of.
static struct {
    char message[MOST_MESSAGE + 1];
    int line;
} uncaught;

// `math.randomseed`: without arguments, Lua takes the time and an address, which many runs have in common.
static int random_seed(lua_State *L)
{
    if (lua_isnone(L, 1)) {
        lua_Integer seeds[2];
        if (getentropy(seeds, sizeof seeds) != 0) {
            return luaL_error(L, "no randomness");
        }
        lua_pushinteger(L, seeds[0]);
        lua_pushinteger(L, seeds[1]);
    }
    lua_pushvalue(L, lua_upvalueindex(1));
    lua_insert(L, 1);
    lua_call(L, lua_gettop(L) - 1, LUA_MULTRET);
    return lua_gettop(L);
}

static void replace_random_seed(lua_State *L)
{
    lua_getglobal(L, "math");
    lua_getfield(L, -1, "randomseed");
    lua_pushcclosure(L, random_seed, 1);
    lua_setfield(L, -2, "randomseed");
    lua_pop(L, 1);
}

__attribute__((export_name("belljar_initialize"))) void belljar_initialize(void)
{
    // What the snapshotting host has in its environment must not reach the guest.
    clearenv();
    state = luaL_newstate();
    if (state == NULL || chdir("/box") != 0) {
        abort();
    }
    luaL_openlibs(state);
    replace_random_seed(state);
    lua_gc(state, LUA_GCGEN, 0, 0);
    lua_gc(state, LUA_GCCOLLECT);
}

__attribute__((export_name("belljar_allocate"))) void *belljar_allocate(unsigned size)
{
    return malloc(size);
}

// The line that a message names first: `/box/main.lua:3: message` is `message`, and 3.
static const char *strip_place(const char *message, int *line)
{
    size_t length = strlen(job.file);
    if (strncmp(message, job.file, length) == 0 && message[length] == ':') {
        char *end;
        long number = strtol(message + length + 1, &end, 10);
        if (end[0] == ':' && end[1] == ' ') {
            *line = (int)number;
            return end + 2;
        }
    }
    return message;
}

// The innermost line of the program's own file.
static int line_in_stack(lua_State *L)
{
    lua_Debug frame;
    for (int level = 1; lua_getstack(L, level, &frame); level++) {
        lua_getinfo(L, "Sl", &frame);
        if (frame.currentline > 0 && frame.source[0] == '@' && strcmp(frame.source + 1, job.file) == 0) {
            return frame.currentline;
        }
    }
    return 0;
}

static void keep_error(const char *message, int line)
{
    message = strip_place(message, &line);
    snprintf(uncaught.message, sizeof uncaught.message, "%s", message);
    uncaught.line = line;
}

// As in lua.c: the message of an error that nobody caught, with its traceback.
static int handle_error(lua_State *L)
{
    const char *message = lua_tostring(L, 1);
    if (message == NULL) {
        if (luaL_callmeta(L, 1, "__tostring") && lua_type(L, -1) == LUA_TSTRING) {
            keep_error(lua_tostring(L, -1), line_in_stack(L));
            return 1;
        }
        message = lua_pushfstring(L, "(error object is a %s value)", luaL_typename(L, 1));
    }
    keep_error(message, line_in_stack(L));
    luaL_traceback(L, L, message, 1);
    return 1;
}

// When the program stopped on what another engine may have: processes, and modules of the host's.
static void report_what_is_missing(void)
{
    static const char module[] = "module '", not_found[] = "' not found:";
    const char *message = uncaught.message;
    if (strstr(message, NO_PROCESSES) != NULL) {
        report_unsupported(NO_PROCESSES);
        return;
    }
    const char *name = message + sizeof module - 1;
    const char *end = strncmp(message, module, sizeof module - 1) == 0 ? strstr(name, not_found) : NULL;
    if (end != NULL) {
        char sentence[256];
        snprintf(sentence, sizeof sentence, "`%.*s` is not in the WebAssembly Lua", (int)(end - name < 100 ? end - name : 100), name);
        report_unsupported(sentence);
    }
}

static void report_failure(int status, const char *words)
{
    fflush(stdout);
    fprintf(stderr, "lua: %s\n", words != NULL ? words : "(error without a message)");
    const char *kind = "Error";
    if (status == LUA_ERRMEM) {
        kind = "MemoryError";
        keep_error("not enough memory", 0);
    } else if (status == LUA_ERRSYNTAX) {
        kind = "SyntaxError";
        keep_error(words, 0);
    } else if (uncaught.message[0] == 0 && words != NULL) {
        keep_error(words, 0);
    }
    report_what_is_missing();
    // A colon at the end announces lines that are not taken along.
    size_t length = strcspn(uncaught.message, "\n");
    uncaught.message[length > 0 && uncaught.message[length - 1] == ':' ? length - 1 : length] = 0;
    report_error(kind, uncaught.message, uncaught.line);
}

// The table `arg`, and the program's `...` on the stack.
static int push_arguments(lua_State *L)
{
    lua_createtable(L, job.argument_count, 2);
    lua_pushliteral(L, "lua");
    lua_rawseti(L, -2, -1);
    lua_pushstring(L, job.file);
    lua_rawseti(L, -2, 0);
    for (int i = 0; i < job.argument_count; i++) {
        lua_pushstring(L, job.arguments[i]);
        lua_rawseti(L, -2, i + 1);
    }
    lua_setglobal(L, "arg");
    luaL_checkstack(L, job.argument_count + 8, "too many arguments to script");
    for (int i = 0; i < job.argument_count; i++) {
        lua_pushstring(L, job.arguments[i]);
    }
    return job.argument_count;
}

// Paths that are set in the environment were not when the library was opened.
static void read_paths(lua_State *L)
{
    static const char *const names[] = {"LUA_PATH", "LUA_PATH_5_4", "LUA_CPATH", "LUA_CPATH_5_4"};
    for (int i = 0; i < 4; i++) {
        if (getenv(names[i]) != NULL) {
            luaL_requiref(L, LUA_LOADLIBNAME, luaopen_package, 1);
            lua_pop(L, 1);
            return;
        }
    }
}

// A C function of Lua's, so that it is the last line of a traceback, as the `lua` program is. The status is its result.
static int run_program(lua_State *L)
{
    read_paths(L);
    lua_getglobal(L, "math");
    lua_getfield(L, -1, "randomseed");
    lua_call(L, 0, 0);
    lua_settop(L, 0);

    lua_pushcfunction(L, handle_error);
    int status = luaL_loadfile(L, job.file);
    if (status == LUA_OK) {
        status = lua_pcall(L, push_arguments(L), LUA_MULTRET, 1);
    }
    if (status != LUA_OK) {
        report_failure(status, lua_tostring(L, -1));
    } else if (lua_gettop(L) > 1 && !(lua_gettop(L) == 2 && lua_isnil(L, 2))) {
        lua_pushcfunction(L, report_values);
        lua_replace(L, 1);
        // A value that cannot be told, for want of memory or because its own code fails, is none.
        if (lua_pcall(L, lua_gettop(L) - 1, 0, 0) != LUA_OK) {
            lua_settop(L, 0);
        }
    }
    lua_pushinteger(L, status);
    return 1;
}

// Nothing is given back: the instance ends with the state.
static void *allocate_for_the_last(void *data, void *block, size_t old_size, size_t size)
{
    return size == 0 ? NULL : realloc(block, size);
}

__attribute__((export_name("belljar_run"))) int belljar_run(const char *code, unsigned code_length, const char *description, unsigned length)
{
    // Every write is seen at once, as natively; `print` is one.
    setvbuf(stdout, NULL, _IONBF, 0);
    if (!read_job(&job, description)) {
        report_failure(LUA_ERRMEM, "not enough memory");
        return EXIT_FAILURE;
    }
    lua_pushcfunction(state, run_program);
    int status = lua_pcall(state, 0, 1, 0);
    if (status != LUA_OK) {
        report_failure(status, lua_tostring(state, -1));
    } else {
        status = (int)lua_tointeger(state, -1);
    }
    // Finalizers run, files are closed, variables too.
    lua_setallocf(state, allocate_for_the_last, NULL);
    lua_close(state);
    fflush(NULL);
    return status == LUA_OK ? EXIT_SUCCESS : EXIT_FAILURE;
}
