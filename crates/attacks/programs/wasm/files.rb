# As files.py, in Ruby, and what else it has to reach the host with.
require 'json'
require 'fileutils'
facts = JSON.parse(ARGV[0])

def attempt(name)
  puts "#{name}: GOT #{yield.to_s[0, 80].inspect}"
rescue SystemCallError, IOError, ArgumentError, LoadError, NotImplementedError => error
  puts "#{name}: blocked #{error.class}"
end

File.write('/box/own', 'mine')
File.symlink('own', '/box/link')
%w[/box/own /box/link /box/../box/./own own].each { |path| raise "the control: #{path}" unless File.read(path) == 'mine' }

directory, secret, canary = facts.values_at('directory', 'secret_file', 'canary')
['/etc/passwd', '/etc/shadow', '/proc/self/environ', '/proc/self/maps', '/proc/1/cmdline', '/dev/mem', '/dev/fd/7', '/bin/sh', secret, canary].each do |path|
  attempt("read #{path}") { File.read(path) }
  attempt("read up #{path}") { File.read("#{'../' * 30}#{path[1..]}") }
  attempt("open #{path}") { IO.sysopen(path) }
end
['/etc', '/root', '/home', '/proc', '/sys', directory].each { |path| attempt("list #{path}") { Dir.children(path) } }
['/etc/passwd', canary, "#{directory}/new", '/new', '/usr/new'].each do |path|
  attempt("write #{path}") do
    is_new = !File.exist?(path)
    File.open(path, 'a').close
    File.delete(path) if is_new
    'open for writing'
  end
end
['/etc/passwd', "../../..#{secret}", secret, '/proc/self/root'].each_with_index do |target, number|
  File.symlink(target, "/box/link#{number}")
  attempt("link to #{target}") { File.read("/box/link#{number}") }
  attempt("real path of #{target}") { File.stat(File.realpath("/box/link#{number}")) }
end
attempt('hard link') { File.link(secret, '/box/hard') && File.read('/box/hard') }
attempt('rename in') { File.rename(secret, '/box/stolen') }
attempt('rename out') { File.rename('/box/own', "#{directory}/planted") }
attempt('remove') { File.delete(canary) }
attempt('remove all') { FileUtils.rm_r(directory) }
attempt('copy') { FileUtils.cp(secret, '/box/copy') }
attempt('NUL') { File.read("/box/own\0/../../etc/passwd") }
attempt('load') { load(secret) }
attempt('require') { require(secret) }
attempt('shared library') { require '/usr/lib/x86_64-linux-gnu/libc.so.6' }
attempt('system') { system('cat', '/etc/passwd') }
attempt('backquotes') { `cat /etc/passwd` }
attempt('spawn') { Process.spawn('cat', '/etc/passwd') }
attempt('popen') { IO.popen(%w[cat /etc/passwd], &:read) }
attempt('fork') { fork }
attempt('exec') { exec('cat', '/etc/passwd') }
attempt('pipe open') { open('|cat /etc/passwd', &:read) }
attempt('kill') { Process.kill(0, 1) }
attempt('sockets') { require 'socket' }
attempt('syscall') { syscall(39) }
puts "environment: #{ENV.keys.sort}"
