-- As files.py, in Lua.
local facts = arg[1]
local function fact(name) return assert(facts:match('"' .. name .. '":"([^"]*)"'), name) end
local directory, secret, canary = fact('directory'), fact('secret_file'), fact('canary')

local function attempt(name, call, ...)
  local ok, got, why = pcall(call, ...)
  if ok and got then
    print(name .. ': GOT ' .. tostring(got):sub(1, 80))
  else
    local said = tostring(ok and why or got):gsub('\n.*', '')
    print(name .. ': blocked ' .. (said:match('%(([^()]*)%)$') or said:match('.*: (.+)$') or said))
  end
end

local function read(path)
  local file, why = io.open(path, 'rb')
  return file and file:read('a'), why
end

local function write(path)
  local known = io.open(path, 'rb')
  local file, why = io.open(path, 'ab')
  return file and file:close() and (known or os.remove(path)), why
end

local own = assert(io.open('/box/own', 'w'))
own:write('mine')
own:close()
for _, path in ipairs { '/box/own', '/box/../box/./own', 'own' } do
  assert(read(path) == 'mine', path)
end

for _, path in ipairs { '/etc/passwd', '/proc/self/environ', '/proc/self/maps', '/dev/mem', '/dev/fd/7', '/bin/sh', secret, canary } do
  attempt('read ' .. path, read, path)
  attempt('read up ' .. path, read, ('../'):rep(30) .. path:sub(2))
  attempt('lines of ' .. path, function() return io.lines(path)() end)
  attempt('load ' .. path, function() return loadfile(path) end)
end
for _, path in ipairs { '/etc/passwd', canary, directory .. '/new', '/new', '/lib/new' } do
  attempt('write ' .. path, write, path)
end
attempt('rename in', os.rename, secret, '/box/stolen')
attempt('rename out', os.rename, '/box/own', directory .. '/planted')
attempt('remove', os.remove, canary)
attempt('remove all', os.remove, directory)
attempt('NUL', read, secret .. '\0.txt')
attempt('run', os.execute, 'cat ' .. secret)
attempt('pipe', io.popen, 'cat ' .. secret)
attempt('library', function() return package.loadlib('/lib/x86_64-linux-gnu/libc.so.6', 'system') end)
package.path = directory .. '/?;/?'
attempt('require', require, 'secret')
attempt('secret in the environment', function() return os.getenv('BELLJAR_TEST_SECRET') end)
