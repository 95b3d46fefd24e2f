say "ready";
sleep 1;
say "got $_" for $*IN.lines;
say "arg [$_]" for @*ARGS;
note "oops";
exit 3;
