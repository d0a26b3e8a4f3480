"""Sockets of the real system, by path and by name, and its network."""
import fcntl, socket

abstract, port = sys.argv[1], int(sys.argv[2])
for index, path in enumerate(sys.argv[3:]):
    for kind in [socket.SOCK_STREAM, socket.SOCK_DGRAM]:
        attempt("path %d %s" % (index, path), lambda: socket.socket(socket.AF_UNIX, kind).connect(path))
        if results["path %d %s" % (index, path)] == "done":
            break
for kind in [socket.SOCK_STREAM, socket.SOCK_DGRAM, socket.SOCK_SEQPACKET]:
    attempt("abstract %s" % kind.name, lambda: socket.socket(socket.AF_UNIX, kind).connect("\0" + abstract))
attempt("port", lambda: socket.create_connection(("127.0.0.1", port), 2).close())
attempt("interfaces", lambda: sorted(name for _, name in socket.if_nameindex()))
attempt("raw", lambda: socket.socket(socket.AF_INET, socket.SOCK_RAW, 1).close())
attempt("packet", lambda: socket.socket(socket.AF_PACKET, socket.SOCK_RAW, 3).close())


def own():
    listener = socket.socket(socket.AF_UNIX)
    listener.bind("\0own" + abstract)
    listener.listen()
    socket.socket(socket.AF_UNIX).connect("\0own" + abstract)


attempt("abstract among themselves", own)


def flags():
    one = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    request = fcntl.ioctl(one, 0x8913, struct.pack("16sH14x", b"lo", 0))
    fcntl.ioctl(one, 0x8914, request)


attempt("interface flags", flags)
attempt("low port", lambda: socket.socket().bind(("127.0.0.1", 1)))


def path_of_its_own():
    listener = socket.socket(socket.AF_UNIX)
    listener.bind("own.sock")
    listener.listen()
    socket.socket(socket.AF_UNIX).connect("own.sock")


attempt("path of its own", path_of_its_own)
tell()
