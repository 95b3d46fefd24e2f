puts "ready"
sleep 1
STDIN.each_line { |line| puts "got #{line}" }
ARGV.each { |argument| puts "arg [#{argument}]" }
STDERR.puts "oops"
exit 3
