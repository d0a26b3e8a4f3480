"""What two sessions could share. `make`: leaves things and waits for an end of input; `look`: says what of them is there."""
import glob, mmap, time

IPC = dict(x86_64=(29, 64, 68, 240), aarch64=(194, 190, 186, 180))[platform.machine()]
CALLS.update(shmget=IPC[0], semget=IPC[1], msgget=IPC[2], mq_open=IPC[3])
CREATE = 0o1000
key = int(sys.argv[2])
name = ("sass-%d" % key).encode()


def patiently(act):
    """What the kernel counts by user may be used up for a while by somebody else of this user."""
    for _ in range(100):
        try:
            return act()
        except OSError as error:
            if error.errno not in (errno.EMFILE, errno.ENOSPC): raise
            time.sleep(0.2)
    return act()


def make():
    for path in ["/tmp/", "/dev/shm/", "/var/tmp/", "/run/", ""]:
        attempt("make %s" % path, lambda: write(path + name.decode()))
    flags = CREATE | 0o666
    attempt("shmget", lambda: (call("shmget", key, 4096, flags), None)[1])
    attempt("semget", lambda: (call("semget", key, 1, flags), None)[1])
    attempt("msgget", lambda: (call("msgget", key, flags), None)[1])
    attempt("mq_open", lambda: (patiently(lambda: call("mq_open", name, os.O_CREAT | os.O_RDWR, 0o666, 0)), None)[1])
    tell()
    sys.stdout.flush()
    sys.stdin.read()


def look():
    for path in ["/tmp/", "/dev/shm/", "/var/tmp/", "/run/", ""]:
        attempt("see %s" % path, lambda: os.stat(path + name.decode()))
    attempt("shmget", lambda: call("shmget", key, 4096, 0o666))
    attempt("semget", lambda: call("semget", key, 1, 0o666))
    attempt("msgget", lambda: call("msgget", key, 0o666))
    attempt("mq_open", lambda: call("mq_open", name, os.O_RDWR, 0, 0))
    attempt("processes", lambda: len([one for one in os.listdir("/proc") if one.isdigit()]))
    tell()


make() if sys.argv[1] == "make" else look()
