puts "ready"
sleep 1
STDIN.each_line { |line| puts "got #{line.chomp}" }
ARGV.each { |argument| puts "arg [#{argument}]" }
warn "oops"
exit 3
