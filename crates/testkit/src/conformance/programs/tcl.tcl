puts ready
after 1000
while {[gets stdin line] >= 0} { puts "got $line" }
foreach argument $argv { puts "arg \[$argument\]" }
puts stderr oops
exit 3
