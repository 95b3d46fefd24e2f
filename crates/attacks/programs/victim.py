"""A process of the host that probes look for: same user as the caller, dumpable, the secret in its environment.

Runs outside every jail. Says what it is as one line of JSON and ends when its standard input does.
"""
import ctypes
import json
import os
import select
import sys

libc = ctypes.CDLL(None, use_errno=True)
libc.shmat.restype = ctypes.c_void_p
segment = libc.shmget(0, 4096, 0o1666)
libc.shmat(segment, None, 0)
libc.shmctl(segment, 0, None)  # IPC_RMID: gone with this process, and until then open to who knows the id
namespaces = {name: os.stat(f"/proc/self/ns/{name}").st_ino for name in ("cgroup", "ipc", "mnt", "net", "pid", "user", "uts")}
queue = f"/belljar-victim-{os.getpid()}"
libc.umask(0)
libc.mq_open(queue.encode(), os.O_CREAT | os.O_RDWR, 0o666, None)
told = {"pid": os.getpid(), "session": os.getsid(0), "shared_memory": segment, "message_queue": queue, "namespaces": namespaces}
print(json.dumps(told), flush=True)
while not select.select([sys.stdin], [], [], 0.1)[0]:
    os.close(os.open("/usr/bin/env", os.O_RDONLY))  # something that a guest could watch
libc.mq_unlink(queue.encode())
