"""Types into terminals: its own, and those of others by their usual names."""
import fcntl, termios

TIOCSTI, TIOCLINUX = 0x5412, 0x541C
attempt("own terminal", lambda: fcntl.ioctl(0, TIOCSTI, b"x"))
attempt("own by name", lambda: fcntl.ioctl(os.open("/dev/tty", os.O_RDWR), TIOCSTI, b"x"))
attempt("console", lambda: fcntl.ioctl(0, TIOCLINUX, b"\x03"))


def ioctl(descriptor, request):
    if libc.syscall(ctypes.c_long({"x86_64": 16, "aarch64": 29}[platform.machine()]), descriptor, ctypes.c_ulong(request), b"x") < 0:
        raise OSError(ctypes.get_errno(), "ioctl")


attempt("with high bits", lambda: ioctl(0, 0x100000000 | TIOCSTI))
for path in sys.argv[1:]:
    attempt("terminal " + path, lambda: fcntl.ioctl(os.open(path, os.O_RDWR | os.O_NOCTTY), TIOCSTI, b"x"))
    attempt("write " + path, lambda: os.write(os.open(path, os.O_WRONLY | os.O_NOCTTY), b"attacked"))
attempt("terminals", lambda: sorted(os.listdir("/dev/pts")))
attempt("name", lambda: os.ttyname(0))
tell()
