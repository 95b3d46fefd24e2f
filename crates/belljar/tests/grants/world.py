"""A small world for belljar: a network namespace with hosts on addresses that count as public, as inside, and as nobody's business, and
names for them. Runs a command in it as a user; notes who was reached.

Arguments: the user's id, a folder for its notes, the command."""
import fcntl
import json
import os
import socket
import struct
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
}
PORTS = [(address, port) for address in sorted({*NAMES.values()}) for port in (80, 443, 8443)]
reached = []


def bring_up(name, address):
    def request(number, *fields):
        fcntl.ioctl(control, number, struct.pack("16s", name.encode()) + struct.pack(*fields) + bytes(8))
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as control:
        if address:
            request(0x8916, "=HH4s", socket.AF_INET, 0, socket.inet_aton(address))
        request(0x8914, "=H", 0x41)


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


bring_up("lo", None)
for number, address in enumerate(sorted({*NAMES.values()} - {"127.0.0.1"})):
    bring_up("lo:%d" % number, address)
hosts = os.path.join(folder, "hosts")
with open(hosts, "w") as file:
    file.write("127.0.0.1 localhost\n::1 localhost\n")
    file.writelines("%s %s\n" % (address, name) for name, address in NAMES.items())
subprocess.run(["mount", "--bind", hosts, "/etc/hosts"], check=True)
for place in PORTS:
    threading.Thread(target=serve, args=(socket.create_server(place), place), daemon=True).start()
for place in [("203.0.113.10", 53), ("127.0.0.1", 53)]:
    datagrams = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    datagrams.bind(place)
    threading.Thread(target=hear, args=(datagrams, place), daemon=True).start()
code = subprocess.run(command, user=user, group=user, extra_groups=[]).returncode
with open(os.path.join(folder, "reached"), "w") as file:
    json.dump(reached, file)
sys.exit(code)
