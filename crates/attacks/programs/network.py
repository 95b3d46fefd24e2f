"""Probes: sockets of the host, and socket families that are nothing but kernel attack surface."""
import socket
import time


def connect(family, address):
    with socket.socket(family, socket.SOCK_STREAM) as stream:
        stream.settimeout(3)
        stream.connect(address)
        return f"connected to {address!r}"


@probe("tcp-host-loopback")
def tcp_host_loopback():
    return connect(socket.AF_INET, ("127.0.0.1", HOST["tcp_port"]))


@probe("tcp-metadata-address")
def tcp_metadata_address():
    if HOST.get("outside"):
        raise Blocked("never tried outside a jail")
    return connect(socket.AF_INET, ("169.254.169.254", 80))


@probe("udp-host-loopback")
def udp_host_loopback():
    """An empty datagram. Where nobody listens, the second send reports the first one's ICMP error."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as datagrams:
        datagrams.connect(("127.0.0.1", HOST["udp_port"]))
        for _ in range(3):
            datagrams.send(b"")
            time.sleep(0.02)
    return "nothing refused it"


@probe("abstract-unix-socket")
def abstract_unix_socket():
    return connect(socket.AF_UNIX, "\0" + HOST["abstract_socket"])


@probe("pathname-unix-socket")
def pathname_unix_socket():
    return connect(socket.AF_UNIX, HOST["socket_file"])


@probe("container-engine")
def container_engine():
    """Whoever may talk to it is root on the host."""
    return connect(socket.AF_UNIX, "/var/run/docker.sock")


@probe("system-bus")
def system_bus():
    return connect(socket.AF_UNIX, "/run/dbus/system_bus_socket")


@probe("proxy-to-host-loopback")
def proxy_to_host_loopback():
    """A granted network comes by a proxy, which must not lead back to the host."""
    address = os.environ.get("http_proxy") or os.environ.get("HTTP_PROXY")
    if not address or HOST.get("outside"):
        raise Blocked("no proxy")
    host, port = address.rstrip("/").rsplit("/", 1)[-1].rsplit(":", 1)
    answers = []
    for name in ("127.0.0.1", "localhost", "[::1]", "2130706433"):
        with socket.create_connection((host, int(port)), timeout=3) as stream:
            stream.sendall(f"CONNECT {name}:{HOST['tcp_port']} HTTP/1.1\r\nHost: {name}\r\n\r\n".encode())
            answers.append(stream.recv(64).split(b"\r\n")[0].decode("latin-1"))
    through = [answer for answer in answers if " 200" in answer]
    if not through:
        raise Blocked("refused")
    return through


def register_families():
    for name, arguments in {
        "packet": (17, 3, 0), "raw-ip": (2, 3, 1), "raw-icmp6": (10, 3, 58), "vsock": (40, 1, 0), "crypto": (38, 5, 0),
        "netfilter": (16, 3, 12), "ipsec": (16, 3, 6), "audit": (16, 3, 9), "uevent": (16, 3, 15),
        "express-data-path": (44, 3, 0),
        "tipc": (30, 2, 0), "bluetooth": (31, 3, 1), "key": (15, 3, 2), "rds": (21, 5, 0), "smc": (43, 1, 0),
        "sctp": (2, 1, 132),
        "multipath-tcp": (2, 1, 262), "smc-as-protocol": (2, 1, 256), "udp-lite": (2, 2, 136), "can": (29, 3, 1), "nfc": (39, 5, 0),
    }.items():
        def make(arguments=arguments):
            descriptor = libc.socket(*arguments)
            if descriptor < 0:
                raise OSError(ctypes.get_errno(), "socket")
            os.close(descriptor)
            return "made"
        probe(f"socket-{name}")(make)


register_families()
run_probes()
