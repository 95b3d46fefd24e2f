io.write("ready\n")
os.execute("sleep 1")
for line in io.lines() do io.write("got ", line, "\n") end
for _, argument in ipairs(arg) do io.write("arg [", argument, "]\n") end
io.stderr:write("oops\n")
os.exit(3)
