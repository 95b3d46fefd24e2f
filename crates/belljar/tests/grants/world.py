"""A small world for belljar: a network namespace, and behind a cable another one with hosts on addresses that count as public, as inside, and
as nobody's business, and names for them. Runs a command in the first as a user; notes who was reached.

Arguments: the user's id, a folder for its notes, the command."""
import ctypes
import json
import os
import signal
import socket
import subprocess
import sys
import threading

user, folder, command = int(sys.argv[1]), sys.argv[2], sys.argv[3:]

NAMES = {
    "allowed.example": "203.0.113.10",
    "sub.allowed.example": "203.0.113.10",
    "other.example": "203.0.113.20",
    "rebound.example": "127.0.0.1",
    "inside.example": "10.9.8.7",
    "meta.example": "169.254.169.254",
    "metadata.google.internal": "203.0.113.20",
    "own.example": "203.0.113.1",
    "second.example": "203.0.113.2",
}
# Addresses of the machine that belljar is on. All others are behind the cable.
OWN = {"127.0.0.1", "203.0.113.1", "203.0.113.2"}
OTHERS = sorted({*NAMES.values()} - OWN)
NEW_NETWORK = 0x40000000
libc = ctypes.CDLL(None, use_errno=True)
reached = []


def ip(*arguments):
    subprocess.run(["ip", *arguments], check=True)


def check(result):
    if result != 0:
        raise OSError(ctypes.get_errno(), "network namespace")


def lay_cable():
    """Makes the other namespace, and the way there. A file that stands for it."""
    reader, writer = os.pipe()
    other = os.fork()
    if other == 0:
        check(libc.unshare(NEW_NETWORK))
        os.write(writer, b"x")
        signal.pause()
    os.read(reader, 1)
    ip("link", "set", "lo", "up")
    ip("link", "add", "cable", "type", "veth", "peer", "name", "far", "netns", str(other))
    # Of one network: what connects to the second comes from the first.
    for address in ("203.0.113.1/30", "203.0.113.2/30"):
        ip("address", "add", address, "dev", "cable")
    ip("link", "set", "cable", "up")
    ip("route", "add", "default", "dev", "cable")
    namespace = os.open("/proc/%d/ns/net" % other, os.O_RDONLY)
    with there(namespace):
        for address in OTHERS:
            ip("address", "add", address + "/32", "dev", "far")
        ip("link", "set", "far", "up")
        ip("route", "add", "default", "dev", "far")
    os.kill(other, signal.SIGKILL)
    os.waitpid(other, 0)
    return namespace


class there:
    """This thread in the other namespace. Sockets stay in the one that they were made in."""

    def __init__(self, namespace):
        self.namespace = namespace

    def __enter__(self):
        self.back = os.open("/proc/thread-self/ns/net", os.O_RDONLY)
        check(libc.setns(self.namespace, NEW_NETWORK))

    def __exit__(self, *_):
        check(libc.setns(self.back, NEW_NETWORK))
        os.close(self.back)


def answer(connection, place):
    reached.append("%s:%d" % place)
    with connection:
        head = b""
        while b"\r\n\r\n" not in head and (more := connection.recv(1 << 16)):
            head += more
        head, _, rest = head.partition(b"\r\n\r\n")
        lines = head.decode(errors="replace").split("\r\n")
        host = [line for line in lines if line.lower().startswith("host:")]
        body = "%s:%d | %s | %s" % (*place, lines[0], ",".join(host))
        extra = [line.lower() for line in lines if line.lower().startswith(("proxy-", "x-kept", "connection:"))]
        body = "\n".join([body, *extra, ""]).encode()
        connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\nConnection: close\r\n\r\n%s" % (len(body), body))
        connection.shutdown(socket.SHUT_WR)
        # What comes behind the first request is noted too.
        connection.settimeout(2)
        try:
            while more := connection.recv(1 << 16):
                rest += more
        except OSError:
            pass
        if rest:
            reached.append("%s:%d more" % place)


def serve(listener, place):
    while True:
        connection, _ = listener.accept()
        threading.Thread(target=answer, args=(connection, place), daemon=True).start()


def hear(datagrams, place):
    datagrams.recv(100)
    reached.append("%s:%d udp" % place)


def open_hosts(addresses, datagram_address):
    for address in addresses:
        for place in [(address, port) for port in (80, 443, 8443)]:
            threading.Thread(target=serve, args=(socket.create_server(place), place), daemon=True).start()
    place = (datagram_address, 53)
    datagrams = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    datagrams.bind(place)
    threading.Thread(target=hear, args=(datagrams, place), daemon=True).start()


cable = lay_cable()
hosts = os.path.join(folder, "hosts")
with open(hosts, "w") as file:
    file.write("127.0.0.1 localhost\n::1 localhost\n")
    file.writelines("%s %s\n" % (address, name) for name, address in NAMES.items())
subprocess.run(["mount", "--bind", hosts, "/etc/hosts"], check=True)
open_hosts(OWN, "127.0.0.1")
with there(cable):
    open_hosts(OTHERS, "203.0.113.10")
code = subprocess.run(command, user=user, group=user, extra_groups=[]).returncode
with open(os.path.join(folder, "reached"), "w") as file:
    json.dump(reached, file)
sys.exit(code)
