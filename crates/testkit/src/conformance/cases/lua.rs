//! Programs in Lua: what the language and its library owe, in WebAssembly as natively.

use crate::conformance::case::{Case, Ending, Expected, Given, NOTHING, SILENT, Text, fails, has, lua, printed, reads};

const fn exits(code: u8) -> Expected {
    Expected { ending: Ending::Exit(code), ..SILENT }
}

pub(super) const CASES: &[Case] = &[
    Case {
        name: "lua: values as they print",
        given: NOTHING,
        programs: &[lua("print(1, 1.0, 2^53, 7 // 2, 7 / 2, -7 % 3, 1e100, 0x10, 'a' .. 1, nil, true)\n\
                         print(math.maxinteger, math.mininteger, math.maxinteger + 1 == math.mininteger)\n\
                         print(10 // 0.0, -10 % 3.5, 3 | 4, 7 & 3, 1 << 62, ~0, 5 // -2)")],
        expected: printed(
            "1\t1.0\t9.007199254741e+15\t3\t3.5\t2\t1e+100\t16\ta1\tnil\ttrue\n\
             9223372036854775807\t-9223372036854775808\ttrue\n\
             inf\t0.5\t7\t3\t4611686018427387904\t-1\t-3\n",
        ),
    },
    Case {
        name: "lua: lines of standard input",
        given: reads("3\n4 five\n\nlast"),
        programs: &[lua("for line in io.lines() do print('[' .. line .. ']') end\nprint(io.read())")],
        expected: printed("[3]\n[4 five]\n[]\n[last]\nnil\n"),
    },
    Case {
        name: "lua: formats of reading",
        given: reads("12 0x1F -3.5e1 rest\nsecond\nthird and all"),
        programs: &[lua("print(io.read('n', 'n', 'n'))\nprint(io.read('l'))\nprint(io.read('L'))\n\
                         print(io.read(5), io.read('a'), io.read('a'), io.read('l'))")],
        expected: printed("12\t31\t-35.0\n rest\nsecond\n\nthird\t and all\t\tnil\n"),
    },
    Case {
        name: "lua: arguments",
        given: Given { args: &["one", "", "two words", "ü☃"], ..NOTHING },
        programs: &[lua(
            "print(#arg, arg[0], select('#', ...))\nfor i, word in ipairs(arg) do print(i, '[' .. word .. ']') end",
        )],
        expected: printed("4\t/box/main.lua\t4\n1\t[one]\n2\t[]\n3\t[two words]\n4\t[ü☃]\n"),
    },
    Case {
        name: "lua: environment",
        given: Given { env: &["GREETING=grüß dich", "EMPTY="], ..NOTHING },
        programs: &[lua("print(os.getenv('GREETING'), os.getenv('EMPTY'), os.getenv('MISSING'), os.getenv('HOME'))")],
        expected: printed("grüß dich\t\tnil\t/tmp\n"),
    },
    Case {
        name: "lua: files are read and written",
        given: has(&[("data.txt", "alpha\nbeta\n")]),
        programs: &[lua("local out = assert(io.open('out.txt', 'w'))\n\
                         for line in io.lines('data.txt') do out:write(line:upper(), '\\n') end\nout:close()\n\
                         local file = io.open('out.txt')\nprint(file:seek('end'), file:seek('set', 6), file:read('a'))\n\
                         print(io.open('missing.txt'))")],
        expected: Expected {
            stdout: Text::Has("11\t6\tBETA\n\nnil\tmissing.txt: No such file or directory\t"),
            files: &[("out.txt", 11, "text/plain")],
            ..SILENT
        },
    },
    Case {
        name: "lua: files are renamed and removed",
        given: has(&[("a.txt", "a"), ("b.txt", "b")]),
        programs: &[lua(
            "print(os.rename('a.txt', 'c.txt'))\nprint(os.remove('b.txt'))\nprint(io.open('c.txt'):read('a'))\n\
                         print((os.remove('nothing.txt')))",
        )],
        expected: Expected { stdout: Text::Is("true\ntrue\na\nnil\n"), files: &[("c.txt", 1, "text/plain")], ..SILENT },
    },
    Case {
        name: "lua: temporary files",
        given: NOTHING,
        programs: &[lua("local file = io.tmpfile()\nfile:write('kept')\nfile:seek('set')\nprint(file:read('a'))\n\
                         local name = os.tmpname()\nprint(name:match('^/tmp/lua_') ~= nil, io.open(name) ~= nil, name ~= os.tmpname())")],
        expected: printed("kept\ntrue\ttrue\ttrue\n"),
    },
    Case {
        name: "lua: modules of the workspace",
        given: has(&[
            ("shapes.lua", "local M = {}\nfunction M.area(w, h) return w * h end\nprint(..., 'loaded')\nreturn M\n"),
            ("deep/init.lua", "return { name = ... }\n"),
        ]),
        programs: &[lua("local shapes = require 'shapes'\nprint(shapes.area(3, 4), require 'shapes' == shapes)\n\
                         print(require('deep').name, package.loaded.deep ~= nil)")],
        expected: Expected { stdout: Text::Is("shapes\tloaded\n12\ttrue\ndeep\ttrue\n"), ..SILENT },
    },
    Case {
        name: "lua: strings",
        given: NOTHING,
        programs: &[lua("print(('%5.2f|%-6s|%03d|%x|%q|%g'):format(3.14159, 'ab', 7, 255, 'a\\n\"b\"', 1e20))\n\
                         print(('hello world'):gsub('o', '0'), ('abc'):rep(3, '-'), ('x'):byte(), string.char(72, 105))\n\
                         print(('key = value'):match('^(%w+)%s*=%s*(%w+)$'), ('a,b,,c'):find(',', 1, true))\n\
                         for word in ('one two three'):gmatch('%a+') do io.write(word:reverse(), ' ') end print()\n\
                         print(('%s %s'):format(setmetatable({}, {__tostring = function() return 'T' end}), nil))")],
        expected: printed(
            " 3.14|ab    |007|ff|\"a\\\n\\\"b\\\"\"|1e+20\nhell0 w0rld\tabc-abc-abc\t120\tHi\n\
             key\t2\t2\neno owt eerht \nT nil\n",
        ),
    },
    Case {
        name: "lua: tables",
        given: NOTHING,
        programs: &[lua("local t = {5, 2, 9, 1}\ntable.sort(t)\nprint(table.concat(t, ','), #t)\n\
                         table.sort(t, function(a, b) return a > b end)\nprint(table.unpack(t))\n\
                         table.insert(t, 1, 0)\ntable.insert(t, 7)\nprint(table.remove(t), table.remove(t, 1), table.concat(t, ' '))\n\
                         print(table.concat(table.move({1, 2, 3}, 1, 3, 2), ' '), table.pack(1, nil, 3).n)\n\
                         print(next({}), rawlen({1, 2}), rawequal(t, t))")],
        expected: printed("1,2,5,9\t4\n9\t5\t2\t1\n7\t0\t9 5 2 1\n1 1 2 3\t3\nnil\t2\ttrue\n"),
    },
    Case {
        name: "lua: mathematics",
        given: NOTHING,
        programs: &[lua(
            "print(math.floor(-3.5), math.ceil(3.2), math.fmod(-7, 3), math.tointeger(8.0), math.type(1), math.type(1.0))\n\
                         print(('%.10f %.10f'):format(math.pi, math.sin(1)), math.max(3, 9, 4), math.ult(1, -1), math.abs(-5))\n\
                         math.randomseed(42)\nlocal a = math.random(1, 1000)\nmath.randomseed(42)\nprint(a == math.random(1, 1000))\n\
                         print((pcall(math.random, 2, 1)))\nprint(1 // 0.0, -1 // 0.0, 0/0 ~= 0/0, 3 % -2, 3 % math.huge)",
        )],
        expected: printed(
            "-4\t4\t-1\t8\tinteger\tfloat\n3.1415926536 0.8414709848\t9\ttrue\t5\ntrue\n\
             false\ninf\t-inf\ttrue\t-1\t3.0\n",
        ),
    },
    Case {
        name: "lua: UTF-8",
        given: NOTHING,
        programs: &[lua("local s = 'aü漢🎉'\nprint(utf8.len(s), #s, utf8.char(228, 0x1F389))\n\
                         for at, code in utf8.codes(s) do io.write(at, ':', code, ' ') end print()\n\
                         print(utf8.codepoint(s, 1, -1))\nprint(utf8.len('\\xff'), utf8.offset(s, 3))")],
        expected: printed("4\t10\tä🎉\n1:97 2:252 4:28450 7:127881 \n97\t252\t28450\t127881\nnil\t4\n"),
    },
    Case {
        name: "lua: coroutines",
        given: NOTHING,
        programs: &[lua(
            "local function fib() local a, b = 0, 1 while true do coroutine.yield(a) a, b = b, a + b end end\n\
                         local next = coroutine.wrap(fib)\nfor _ = 1, 10 do io.write(next(), ' ') end print()\n\
                         local co = coroutine.create(function(a) local b = coroutine.yield(a * 2) error('in ' .. b) end)\n\
                         print(coroutine.resume(co, 21))\nprint(coroutine.resume(co, 'here'))\nprint(coroutine.status(co), coroutine.resume(co))",
        )],
        expected: printed(
            "0 1 1 2 3 5 8 13 21 34 \ntrue\t42\nfalse\t/box/main.lua:4: in here\ndead\tfalse\tcannot resume dead coroutine\n",
        ),
    },
    Case {
        name: "lua: metatables",
        given: NOTHING,
        programs: &[lua(
            "local V = {}\nV.__index = V\nV.__add = function(a, b) return V.new(a.x + b.x) end\nV.__eq = function(a, b) return a.x == b.x end\n\
                         V.__lt = function(a, b) return a.x < b.x end\nV.__call = function(self, y) return self.x * y end\nV.__len = function() return 99 end\n\
                         V.__concat = function(a, b) return 'cat' end\nV.__tostring = function(v) return 'V(' .. v.x .. ')' end\n\
                         function V.new(x) return setmetatable({x = x}, V) end\nlocal a, b = V.new(1), V.new(2)\n\
                         print(tostring(a + b), a == V.new(1), a < b, a(5), #a, a .. b)\n\
                         local d = setmetatable({}, {__index = function(_, k) return k .. '?' end, __newindex = function(t, k, v) rawset(t, k, v * 2) end})\n\
                         d.n = 21\nprint(d.n, d.other)",
        )],
        expected: printed("V(3)\ttrue\ttrue\t5\t99\tcat\n42\tother?\n"),
    },
    Case {
        name: "lua: closures, goto, constants",
        given: NOTHING,
        programs: &[lua(
            "local function counter() local n <const> = 10 local i = n return function() i = i + 1 return i end end\n\
                         local one, two = counter(), counter()\nprint(one(), one(), two())\n\
                         for i = 1, 3 do for j = 1, 3 do if j == 2 then goto continue end io.write(i, j, ' ') ::continue:: end end print()\n\
                         for i = 10, 1, -4 do io.write(i, ' ') end print()\n\
                         local function f(...) return select('#', ...), ... end\nprint((f(nil, nil)), f(1, 2))",
        )],
        expected: printed("11\t12\t11\n11 13 21 23 31 33 \n10 6 2 \n2\t2\t1\t2\n"),
    },
    Case {
        name: "lua: what is closed and collected",
        given: NOTHING,
        programs: &[lua(
            "do\n  local first <close> = setmetatable({}, {__close = function(_, e) print('closed', e) end})\n  print('open')\nend\n\
                         print(pcall(function() local x <close> = setmetatable({}, {__close = function(_, e) print('closing', e) end}) error('why', 0) end))\n\
                         setmetatable({}, {__gc = function() print('collected at the end') end})\nprint('last line')",
        )],
        expected: printed("open\nclosed\tnil\nclosing\twhy\nfalse\twhy\nlast line\ncollected at the end\n"),
    },
    Case {
        name: "lua: binary data",
        given: NOTHING,
        programs: &[lua("local s = string.pack('<i4 >I2 z d', -2, 513, 'hi', 0.5)\nprint(#s, s:byte(1, 6))\n\
                         print(string.unpack('<i4 >I2 z d', s))\nprint(string.packsize('i4 i8'), #string.pack('s1', 'abc'))")],
        expected: printed("17\t254\t255\t255\t255\t2\t1\n-2\t513\thi\t0.5\t18\n12\t4\n"),
    },
    Case {
        name: "lua: dates",
        given: NOTHING,
        programs: &[lua(
            "print(os.date('!%Y-%m-%d %H:%M:%S', 86400 * 365), os.time({year = 2024, month = 2, day = 30, hour = 0}))\n\
                         local t = os.date('*t', 0)\nprint(t.year, t.month, t.wday, t.yday, t.isdst)\n\
                         print(os.difftime(10, 4), os.time() > 1.7e9, os.clock() < 5)",
        )],
        expected: printed("1971-01-01 00:00:00\t1709251200\n1970\t1\t5\t1\tfalse\n6.0\ttrue\ttrue\n"),
    },
    Case {
        name: "lua: code that is loaded",
        given: has(&[("part.lua", "local a, b = ...\nreturn (a or 1) + (b or 2), 'part'\n")]),
        programs: &[lua(
            "print(load('return 6 * 7')())\nprint(load('return +', 'chunk'))\nprint(dofile('part.lua'))\n\
                         print(loadfile('part.lua')(10, 20))\nlocal env = {y = 5}\nprint(load('x = y * 2 return x', 'c', 't', env)(), env.x, x)\n\
                         local dumped = string.dump(function(a) return a * 2 end)\nprint(load(dumped, 'd', 'b')(4))",
        )],
        expected: printed(
            "42\nnil\t[string \"chunk\"]:1: unexpected symbol near '+'\n3\tpart\n30\tpart\n10\t10\tnil\n8\n",
        ),
    },
    Case {
        name: "lua: errors that are caught",
        given: NOTHING,
        programs: &[lua(
            "print(pcall(error, {code = 7}) , select(2, pcall(error, {code = 7})).code)\nprint(pcall(function() local x = nil; return x.y end))\n\
                         print(select(2, xpcall(function() error('deep', 2) end, function(m) return 'handled ' .. m end)))\n\
                         print(pcall(function() return 1 + {} end))\nprint(pcall(function() return #5 end))\nprint(pcall(function() return {} < {} end))\n\
                         print(pcall(string.rep), pcall(setmetatable, 1))\nprint(select('#', pcall(error)))\nprint(tostring(nil), tonumber('z', 36), tonumber('1e'), assert(1, 'unused'))",
        )],
        expected: Expected { stdout: Text::Has("attempt to index a nil value (local 'x')"), ..SILENT },
    },
    Case {
        name: "lua: standard error",
        given: NOTHING,
        programs: &[lua(
            "io.stderr:write('one ', 2, '\\n')\nio.write('out')\nio.stdout:write(' and ', 'more', '\\n'):write('chained\\n')",
        )],
        expected: Expected { stdout: Text::Is("out and more\nchained\n"), stderr: Text::Is("one 2\n"), ..SILENT },
    },
    Case {
        name: "lua: an exit code",
        given: NOTHING,
        programs: &[lua("io.write('bye')\nos.exit(3)")],
        expected: Expected { stdout: Text::Is("bye"), ..exits(3) },
    },
    Case {
        name: "lua: an exit code of more than a byte",
        given: NOTHING,
        programs: &[lua("os.exit(300)")],
        expected: exits(44),
    },
    Case {
        name: "lua: exit by truth",
        given: NOTHING,
        programs: &[lua("setmetatable({}, {__gc = function() print('gc') end})\nos.exit(false, true)")],
        expected: Expected { stdout: Text::Is("gc\n"), ..exits(1) },
    },
    Case {
        name: "lua: an error that nobody catches",
        given: NOTHING,
        programs: &[lua(
            "print('before')\nlocal function total(basket)\n  return basket.price * 2\nend\n\nprint(total({}))\n",
        )],
        expected: Expected {
            stdout: Text::Is("before\n"),
            ..fails(
                "/box/main.lua:3: attempt to perform arithmetic on a nil value (field 'price')\nstack traceback:\n",
                "Error",
                "attempt to perform arithmetic on a nil value (field 'price')",
                3,
            )
        },
    },
    Case {
        name: "lua: a syntax error",
        given: NOTHING,
        programs: &[lua("print('never')\nfor i = 1, 3 do\n  print(i\nend\n")],
        expected: fails(
            "/box/main.lua:4: ')' expected (to close '(' at line 3) near 'end'\n",
            "SyntaxError",
            "')' expected (to close '(' at line 3) near 'end'",
            4,
        ),
    },
    Case {
        name: "lua: an error that is a table",
        given: NOTHING,
        programs: &[lua("local function fail()\n  error({code = 2})\nend\nfail()")],
        expected: fails("lua", "Error", "(error object is a table value)", 2),
    },
    Case {
        name: "lua: an error without a place",
        given: NOTHING,
        programs: &[lua("local x = 1\nerror('no place', 0)")],
        expected: fails(
            "no place\nstack traceback:\n\t[C]: in function 'error'\n\t/box/main.lua:2: in main chunk\n\t[C]: in ?\n",
            "Error",
            "no place",
            2,
        ),
    },
    Case {
        name: "lua: an error in a module",
        given: has(&[("broken.lua", "local M = {}\nfunction M.go() error('inside') end\nreturn M\n")]),
        programs: &[lua("local broken = require('broken')\n\nbroken.go()\n")],
        expected: fails("./broken.lua:2: inside\n", "Error", "./broken.lua:2: inside", 3),
    },
    Case {
        name: "lua: recursion without end",
        given: NOTHING,
        programs: &[lua(
            "local function deeper(n)\n  return 1 + deeper(n + 1)\nend\nprint((select(2, pcall(deeper, 1)):gsub('%(.*', '')))\n\
                         print((select(2, pcall(string.rep, 'x', -1))))\nlocal t = setmetatable({}, {})\ngetmetatable(t).__index = function(t, k) return t[k + 1] end\n\
                         print((select(2, pcall(function() return t[1] end)):match('C stack overflow') or 'stack overflow'))",
        )],
        expected: Expected { stdout: Text::Has("stack overflow"), ..SILENT },
    },
];
