"""Descriptors of a session that has ended, in the hands of another one: what they lead to when its mounts are gone."""
import array, socket, time

role, name, secrets = sys.argv[1], sys.argv[2], sys.argv[3:]
PLACES = ["/", "/proc", "/sys", "/dev", "/etc", "/usr", "/tmp", "/run", os.path.dirname(secrets[0]), "/var", "/root"]


def give():
    """Descriptors of whatever there is, each by name, in a queue that outlives this session."""
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    listener.connect("\0" + name)
    for path in PLACES:
        for flags in [os.O_PATH, os.O_RDONLY | os.O_DIRECTORY]:
            try:
                descriptor = os.open(path, flags)
            except OSError:
                continue
            listener.sendmsg([path.encode().ljust(200)], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", [descriptor]))])
    mount = os.open("/proc/self/ns/mnt", os.O_RDONLY)
    listener.sendmsg([b"namespace".ljust(200)], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", [mount]))])


def take():
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    listener.bind("\0" + name)
    listener.listen()
    open("listens", "w").close()
    peer, _ = listener.accept()
    taken = []
    while True:
        data, ancillary, _, _ = peer.recvmsg(200, socket.CMSG_LEN(4))
        if not data:
            break
        for _, _, content in ancillary:
            taken.append((data.decode().strip(), array.array("i", content)[0]))
    # The other session has ended by then, and its namespaces with it.
    while not os.path.exists("ended"):
        time.sleep(0.05)
    time.sleep(1)
    results["taken"] = len(taken)
    for path, descriptor in taken:
        if path == "namespace":
            attempt("setns", lambda: call("setns", descriptor, 0x20000))
            continue
        for secret in secrets:
            inner = os.path.relpath(secret, "/") if path == "/" else os.path.relpath(secret, path)
            for spelled in [inner, "../" + inner, "../../../../../.." + secret, secret.lstrip("/")]:
                attempt("%s %s" % (path, spelled), lambda: os.read(os.open(spelled, os.O_RDONLY, dir_fd=descriptor), 10))
                through = "/proc/self/fd/%d/%s" % (descriptor, spelled)
                attempt("connect %s %s" % (path, spelled), lambda: socket.socket(socket.AF_UNIX).connect(through))
                attempt("list %s %s" % (path, spelled), lambda: os.listdir(through) and None)
        for file in ["kcore", "kallsyms", "timer_list", "sysrq-trigger", "sys/kernel/core_pattern"]:
            if path == "/proc":
                attempt("write %s" % file, lambda: os.close(os.open(file, os.O_WRONLY, dir_fd=descriptor)))


give() if role == "give" else take()
tell()
