# The file is run as if it had been started where it is: this takes nothing of its place, and adds no frame to its tracebacks.
import os, sys

folder, file = sys.argv[1:]
os.environ.pop("PYTHONPATH", None)
os.chdir(folder)
os.execv(sys.executable, [sys.executable, "-u", file])
