#pragma once

#include "lua.h"

// Called from Lua with what the program returned: reports it, as JSON when it is plain data, else as it prints.
int report_values(lua_State *L);
