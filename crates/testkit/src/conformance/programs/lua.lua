io.write("ready\n")
local start = os.clock()
while os.clock() < start + 1 do end
for line in io.lines() do io.write("got ", line, "\n") end
for _, argument in ipairs(arg) do io.write("arg [", argument, "]\n") end
io.stderr:write("oops\n")
os.exit(3)
