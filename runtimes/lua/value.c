// What a program returns, for whoever reads the result: `return 42` is 42, a sequence is an array, a table with names is an object.

#include "value.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "belljar.h"
#include "lauxlib.h"

// Deeper, or a cycle: not plain.
enum { DEEPEST = 64 };

static bool add_value(lua_State *L, struct text *text, int index, int depth);

static bool add_number(lua_State *L, struct text *text, int index)
{
    if (lua_isinteger(L, index)) {
        char digits[24];
        snprintf(digits, sizeof digits, "%lld", (long long)lua_tointeger(L, index));
        add_word(text, digits);
        return true;
    }
    double number = lua_tonumber(L, index);
    if (!isfinite(number)) {
        return false;
    }
    add_json_number(text, number);
    return true;
}

static bool add_string(lua_State *L, struct text *text, int index)
{
    size_t length;
    const char *bytes = lua_tolstring(L, index, &length);
    if (!is_utf8(bytes, length)) {
        return false;
    }
    add_json_string(text, bytes, length);
    return true;
}

static bool add_array(lua_State *L, struct text *text, int index, lua_Integer count, int depth)
{
    add_word(text, "[");
    for (lua_Integer i = 1; i <= count && !text->lost; i++) {
        if (i > 1) {
            add_word(text, ",");
        }
        lua_rawgeti(L, index, i);
        bool plain = add_value(L, text, lua_gettop(L), depth);
        lua_pop(L, 1);
        if (!plain) {
            return false;
        }
    }
    add_word(text, "]");
    return true;
}

static int compare_keys(const void *one, const void *other)
{
    return strcmp(*(const char *const *)one, *(const char *const *)other);
}

// By name, so that the same data is the same text.
static bool add_object(lua_State *L, struct text *text, int index, size_t count, int depth)
{
    // Lua's own, so that an error frees it. The table holds the names that it points to.
    const char **keys = lua_newuserdatauv(L, count * sizeof *keys, 0);
    size_t next = 0;
    for (lua_pushnil(L); lua_next(L, index); lua_pop(L, 1)) {
        keys[next++] = lua_tostring(L, -2);
    }
    qsort(keys, count, sizeof *keys, compare_keys);
    add_word(text, "{");
    bool plain = true;
    for (size_t i = 0; i < count && plain && !text->lost; i++) {
        if (i > 0) {
            add_word(text, ",");
        }
        lua_pushstring(L, keys[i]);
        plain = add_string(L, text, lua_gettop(L));
        add_word(text, ":");
        lua_rawget(L, index);
        plain = plain && add_value(L, text, lua_gettop(L), depth);
        lua_pop(L, 1);
    }
    lua_pop(L, 1);
    add_word(text, "}");
    return plain;
}

static bool add_table(lua_State *L, struct text *text, int index, int depth)
{
    if (depth >= DEEPEST || luaL_getmetafield(L, index, "__tostring") != LUA_TNIL) {
        return false;
    }
    luaL_checkstack(L, 8, NULL);
    lua_Integer places = 0;
    size_t names = 0;
    for (lua_pushnil(L); lua_next(L, index); lua_pop(L, 1)) {
        if (lua_isinteger(L, -2)) {
            places++;
        } else if (lua_type(L, -2) == LUA_TSTRING && strlen(lua_tostring(L, -2)) == lua_rawlen(L, -2)) {
            names++;
        } else {
            lua_pop(L, 2);
            return false;
        }
    }
    if (names == 0) {
        return (lua_Integer)lua_rawlen(L, index) == places && add_array(L, text, index, places, depth + 1);
    }
    return places == 0 && add_object(L, text, index, names, depth + 1);
}

// Adds a value as JSON; `index` is absolute. Whether it is plain data; half of it may be there when not.
static bool add_value(lua_State *L, struct text *text, int index, int depth)
{
    switch (lua_type(L, index)) {
    case LUA_TNIL:
        add_word(text, "null");
        return true;
    case LUA_TBOOLEAN:
        add_word(text, lua_toboolean(L, index) ? "true" : "false");
        return true;
    case LUA_TNUMBER:
        return add_number(L, text, index);
    case LUA_TSTRING:
        return add_string(L, text, index);
    case LUA_TTABLE:
        return add_table(L, text, index, depth);
    default:
        return false;
    }
}

static void report_printed(lua_State *L, int count)
{
    luaL_Buffer buffer;
    luaL_buffinit(L, &buffer);
    for (int i = 1; i <= count; i++) {
        if (i > 1) {
            luaL_addstring(&buffer, "\t");
        }
        luaL_tolstring(L, i, NULL);
        luaL_addvalue(&buffer);
    }
    luaL_pushresult(&buffer);
    size_t length;
    const char *printed = lua_tolstring(L, -1, &length);
    host_report(REPORT_VALUE_PRINTED, printed, length < MOST_VALUE_PRINTED ? (unsigned)length : MOST_VALUE_PRINTED);
}

int report_values(lua_State *L)
{
    int count = lua_gettop(L);
    luaL_checkstack(L, 8, NULL);
    struct text text = {.most = MOST_VALUE_JSON};
    bool plain = true;
    if (count > 1) {
        add_word(&text, "[");
    }
    for (int i = 1; i <= count && plain; i++) {
        if (i > 1) {
            add_word(&text, ",");
        }
        plain = add_value(L, &text, i, 0);
    }
    if (count > 1) {
        add_word(&text, "]");
    }
    if (plain && !text.lost) {
        host_report(REPORT_VALUE_JSON, text.bytes, (unsigned)text.length);
    }
    free(text.bytes);
    if (!plain || text.lost) {
        report_printed(L, count);
    }
    return 0;
}
