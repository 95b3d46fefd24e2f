use strict;
use warnings;

print "ready\n";
sleep 1;
print "got $_" while <STDIN>;
print "arg [$_]\n" for @ARGV;
print STDERR "oops\n";
exit 3;
