echo ready
sleep 1
while IFS= read -r line; do
  echo "got $line"
done
for argument in "$@"; do
  echo "arg [$argument]"
done
echo oops >&2
exit 3
