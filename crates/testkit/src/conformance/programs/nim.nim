import std/os

echo "ready"
sleep 1000
for line in stdin.lines:
  echo "got ", line
for argument in commandLineParams():
  echo "arg [", argument, "]"
stderr.writeLine "oops"
quit 3
