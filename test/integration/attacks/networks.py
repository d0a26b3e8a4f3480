"""A network that the gate answers for: nobody changes it, looks into it or gets around it."""
import socket, subprocess


def tcp(address, port):
    """The gate takes connections on the ports of its list; what is refused gets no byte."""
    one = socket.create_connection((address, port), 5)
    one.send(b"GET / HTTP/1.0\r\n\r\n")
    if one.recv(1) == b"":
        raise OSError(104, "")


for address in ["192.0.2.7", "127.0.0.1", "2001:db8::7", "::1", "0.0.0.0", "::ffff:192.0.2.7"]:
    for port in [22, 80, 443, 8080]:
        attempt("tcp %s %d" % (address, port), lambda: tcp(address, port))


def udp(address, port):
    one = socket.socket(socket.AF_INET6 if ":" in address else socket.AF_INET, socket.SOCK_DGRAM)
    one.settimeout(5)
    one.connect((address, port))
    one.send(b"x")
    one.recv(10)


for address in ["192.0.2.7", "192.0.2.255", "255.255.255.255", "224.0.0.1", "2001:db8::7", "ff02::1"]:
    for port in [53, 123, 5353]:
        attempt("udp %s %d" % (address, port), lambda: udp(address, port))
for family in [socket.AF_INET, socket.AF_INET6]:
    for kind, protocol in [(socket.SOCK_DGRAM, 1), (socket.SOCK_RAW, 1), (socket.SOCK_DGRAM, 58), (socket.SOCK_RAW, 58), (socket.SOCK_RAW, 255)]:
        attempt("icmp %s %s %d" % (family.name, kind.name, protocol), lambda: socket.socket(family, kind, protocol).close())
for kind in [socket.SOCK_RAW, socket.SOCK_DGRAM]:
    attempt("packet %s" % kind.name, lambda: socket.socket(socket.AF_PACKET, kind, socket.htons(3)).close())


def route(kind, body):
    """One message of rtnetlink, with what the kernel answers."""
    one = socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, 0)
    one.send(struct.pack("=IHHII", 16 + len(body), kind, 0x405, 1, 0) + body)
    answer = one.recv(4096)
    error = struct.unpack_from("=i", answer, 16)[0]
    if error != 0:
        raise OSError(-error, "")


device = struct.pack("=HHI", 8, 4, 1)
attempt("new route", lambda: route(24, struct.pack("=8BI", 2, 0, 0, 0, 254, 3, 0, 1, 0) + device))
attempt("old route", lambda: route(25, struct.pack("=8BI", 2, 0, 0, 0, 255, 4, 254, 2, 0) + device))
attempt("new address", lambda: route(20, struct.pack("=4BI", 2, 32, 0, 0, 1) + struct.pack("=HH4B", 8, 2, 10, 0, 0, 1)))
attempt("new device", lambda: route(16, struct.pack("=BBHiII", 0, 0, 0, 0, 0, 0) + struct.pack("=HH8s", 12, 3, b"dummy7")))
attempt("lo down", lambda: route(16, struct.pack("=BBHiII", 0, 0, 0, 1, 0, 1)))
for name in ["ipv4/ip_forward", "ipv4/ping_group_range", "ipv4/ip_unprivileged_port_start", "core/somaxconn"]:
    def write():
        with open("/proc/sys/net/" + name, "w") as file:
            file.write("1")
    attempt("sysctl " + name, write)
attempt("port of the gate", lambda: socket.socket().bind(("127.0.0.1", 53)))
libc = ctypes.CDLL(None, use_errno=True)


def unshare():
    if libc.unshare(0x40000000) != 0:
        raise OSError(ctypes.get_errno(), "")


attempt("unshare", unshare)


def own():
    listener = socket.socket()
    listener.bind(("127.0.0.1", 3000))
    listener.listen()
    socket.create_connection(("127.0.0.1", 3000), 5).close()


attempt("a server of its own", own)
with open("/etc/resolv.conf") as file:
    results["resolver"] = file.read()
tell()
