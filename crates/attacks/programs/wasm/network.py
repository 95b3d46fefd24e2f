# A guest in WebAssembly that wants the host's sockets and processes.
import json, os, sys

facts = json.loads(sys.argv[1])


def attempt(name, call):
    try:
        got = call()
    except (OSError, AttributeError, ImportError, RuntimeError) as error:
        print(f"{name}: blocked {type(error).__name__}")
    else:
        print(f"{name}: GOT {got!r:.80}")


def tcp():
    import socket
    return socket.create_connection(("127.0.0.1", facts["tcp_port"]), timeout=2)


def udp():
    import socket
    return socket.socket(socket.AF_INET, socket.SOCK_DGRAM).sendto(b"x", ("127.0.0.1", facts["udp_port"]))


def unix(address):
    import socket
    one = socket.socket(socket.AF_UNIX)
    one.connect(address)
    return one


def raw():
    import socket
    return socket.socket(socket.AF_INET, socket.SOCK_RAW, 1)


def fetch():
    import urllib.request
    return urllib.request.urlopen(f"http://127.0.0.1:{facts['tcp_port']}/", timeout=2).read()


async def loop():
    import asyncio
    return await asyncio.open_connection("127.0.0.1", facts["tcp_port"])


def run(coroutine):
    import asyncio
    return asyncio.run(coroutine())


def start():
    import subprocess
    return subprocess.run(["true"])


def thread():
    import threading
    return threading.Thread(target=print).start()


def native():
    import ctypes
    return ctypes.CDLL(None).getpid()


attempt("tcp", tcp)
attempt("udp", udp)
attempt("unix", lambda: unix(facts["socket_file"]))
attempt("abstract", lambda: unix("\0" + facts["abstract_socket"]))
attempt("raw", raw)
attempt("fetch", fetch)
attempt("asyncio", lambda: run(loop))
attempt("resolve", lambda: __import__("socket").getaddrinfo("localhost", 80))
attempt("subprocess", start)
attempt("thread", thread)
attempt("ctypes", native)
attempt("fork", lambda: os.fork())
attempt("kill", lambda: os.kill(facts["victim"], 0))
attempt("exec", lambda: os.execv("/bin/sh", ["sh"]))
attempt("system", lambda: os.system("true"))
attempt("setuid", lambda: os.setuid(0))
print("done")
