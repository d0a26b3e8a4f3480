"""Datagrams of a session: to what is listed, to everything beside it, and with senders that are not what they seem."""
import select, socket, time

place = json.loads(sys.argv[1])
HOST, PORT = place["address"], place["port"]
SO_BROADCAST, IP_PKTINFO = socket.SO_BROADCAST, 8


def made(where):
    one = socket.socket(socket.AF_INET6 if ":" in where else socket.AF_INET, socket.SOCK_DGRAM)
    one.settimeout(2)
    return one


def say(where, port, text, one=None):
    """What comes back; ETIMEDOUT where nothing does."""
    one = one or made(where)
    one.connect((where, port))
    one.send(text.encode())
    try:
        return one.recv(1000).decode()
    except TimeoutError:
        raise OSError(errno.ETIMEDOUT, "")


def shout(where, port):
    one = made(where)
    one.setsockopt(socket.SOL_SOCKET, SO_BROADCAST, 1)
    return say(where, port, "EVIL", one)


attempt("listed", lambda: say(HOST, PORT, "listed"))
attempt("listed, of IPv6", lambda: say("::1", place["six"], "six"))
attempt("listed, as IPv4 in IPv6", lambda: say("::ffff:" + HOST, PORT, "mapped"))


def unconnected():
    one = made(HOST)
    one.sendto(b"far", (HOST, PORT))
    bytes, sender = one.recvfrom(100)
    return [bytes.decode(), sender == (HOST, PORT)]


attempt("listed, not connected", unconnected)
attempt("name", lambda: socket.gethostbyname("allowed.example"))
for where in [HOST, place["other"], "127.0.0.1", "::1", "0.0.0.0", "10.0.0.1", socket.gethostbyname("allowed.example")]:
    for port in [PORT + 1, PORT + 2, 123, 5353]:
        attempt("udp %s %d" % (where, port), lambda: say(where, port, "EVIL"))
for where in [place["other"], "127.0.0.1", "0.0.0.0", "::1", "255.255.255.255", "224.0.0.251", HOST.rsplit(".", 1)[0] + ".255", socket.gethostbyname("allowed.example")]:
    attempt("broad %s" % where, lambda: shout(where, PORT))
attempt("listed for connections", lambda: say(place["other"], place["tcp"], "EVIL"))
attempt("connection", lambda: socket.create_connection((HOST, PORT), 2).close())
attempt("own port", lambda: say("127.0.0.1", place["daemon"], "EVIL"))


def taken(options):
    one = made(HOST)
    for option in options:
        one.setsockopt(socket.SOL_SOCKET, option, 1)
    one.bind((HOST, PORT))


attempt("its place", lambda: taken([]))
attempt("its place, shared", lambda: taken([socket.SO_REUSEADDR]))
attempt("its place, for several", lambda: taken([socket.SO_REUSEADDR, socket.SO_REUSEPORT]))
attempt("every address", lambda: made(HOST).bind(("0.0.0.0", PORT)))


def another():
    """One that has its answers; another one that sends from addresses of its choice. Who hears what."""
    victim = made(HOST)
    victim.bind(("10.9.9.9", 0))
    victim.connect((HOST, PORT))
    port = victim.getsockname()[1]
    forger = made(HOST)
    forger.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        forger.bind(("0.0.0.0", port))
        return "bound"
    except OSError:
        forger.bind(("0.0.0.0", 0))
    heard = [set(), set()]
    for turn in range(20):
        victim.send(b"mine")
        for source in ["10.9.9.9", "192.0.2.77", HOST]:
            info = struct.pack("=i4s4s", 0, socket.inet_aton(source), b"\0" * 4)
            forger.sendmsg([b"forged"], [(socket.IPPROTO_IP, IP_PKTINFO, info)], 0, (HOST, PORT))
        end = time.time() + 0.05
        while time.time() < end:
            for one in select.select([victim, forger], [], [], 0.01)[0]:
                heard[one is forger].add(one.recv(100).decode())
    return [sorted(one) for one in heard]


attempt("another's answers", another)


def spent():
    """More than its bytes of an hour: the answers end."""
    one = made(HOST)
    one.connect((HOST, place["budget"]))
    answers = 0
    for turn in range(6):
        one.send(b"x" * 50)
        try:
            one.settimeout(0.5)
            one.recv(100)
            answers += 1
        except OSError:
            pass
    return answers


attempt("beyond its bytes", spent)
attempt("name afterwards", lambda: socket.gethostbyname("allowed.example"))
tell()
