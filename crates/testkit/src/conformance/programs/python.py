import sys
import time

print("ready")
time.sleep(1)
for line in sys.stdin:
    print(f"got {line.rstrip()}")
for argument in sys.argv[1:]:
    print(f"arg [{argument}]")
print("oops", file=sys.stderr)
sys.exit(3)
