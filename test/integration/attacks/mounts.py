"""Mounts, namespaces and roots of one's own."""
outside, state = sys.argv[1], sys.argv[2]
workspace = os.getcwd().encode()
MS = dict(RDONLY=1, REMOUNT=32, BIND=4096, MOVE=8192, REC=16384, PRIVATE=1 << 18, SHARED=1 << 20)
NEW = dict(NS=0x20000, CGROUP=0x2000000, UTS=0x4000000, IPC=0x8000000, USER=0x10000000, PID=0x20000000, NET=0x40000000)
installation = os.path.dirname(state).encode()

for place in [workspace, installation, b"/tmp", b"/proc", b"/proc/sys", b"/dev", b"/"]:
    for flags in [0, 1, 2, 8]:
        attempt("umount %s %d" % (place.decode(), flags), lambda: call("umount2", place, flags))
attempt("remount", lambda: call("mount", b"none", b"/", b"", MS["REMOUNT"], b""))
attempt("remount bind", lambda: call("mount", b"none", b"/", b"", MS["REMOUNT"] | MS["BIND"], b""))
attempt("remount proc", lambda: call("mount", b"none", b"/proc/sys", b"", MS["REMOUNT"] | MS["BIND"], b""))
attempt("bind", lambda: call("mount", b"/", b"tree", b"", MS["BIND"], b""))
attempt("bind recursive", lambda: call("mount", b"/", b"tree", b"", MS["BIND"] | MS["REC"], b""))
attempt("move", lambda: call("mount", workspace, b"/tmp", b"", MS["MOVE"], b""))
attempt("share", lambda: call("mount", b"none", b"/", b"", MS["SHARED"] | MS["REC"], b""))
attempt("tmpfs", lambda: call("mount", b"tmpfs", b"/tmp", b"tmpfs", 0, b""))
attempt("proc", lambda: call("mount", b"proc", b"/tmp", b"proc", 0, b""))
attempt("overlay", lambda: call("mount", b"o", b"/tmp", b"overlay", 0, b"lowerdir=/etc:/usr"))
attempt("mount_setattr", lambda: call("mount_setattr", -100, b"/", 0x8000, ctypes.create_string_buffer(struct.pack("QQQQ", 0, 1, 0, 0)), 32))
attempt("open_tree", lambda: call("open_tree", -100, b"/", 1 | 0x8000))
attempt("fsopen", lambda: call("fsopen", b"tmpfs", 0))
attempt("fspick", lambda: call("fspick", -100, b"/", 0))
attempt("move_mount", lambda: call("move_mount", -100, b"/tmp", -100, b"/var", 0))
attempt("pivot_root", lambda: call("pivot_root", b".", b"tree"))
attempt("chroot", lambda: forked(lambda: os.chroot("tree")))
for name, flag in NEW.items():
    attempt("unshare " + name, lambda: forked(lambda: call("unshare", flag)))
    attempt("clone " + name, lambda: forked(lambda: os._exit(0) if call("clone", flag | 17, 0, 0, 0, 0) == 0 else "started"))
    attempt("unshare user and " + name, lambda: forked(lambda: call("unshare", flag | NEW["USER"])))
attempt("clone3", lambda: call("clone3", ctypes.create_string_buffer(struct.pack("QQQQQQQQ", NEW["USER"], 0, 0, 0, 17, 0, 0, 0)), 64))
for pid in ["self", "1"]:
    for space, flag in [("mnt", "NS"), ("user", "USER"), ("pid", "PID"), ("net", "NET"), ("ipc", "IPC")]:
        attempt(
            "setns %s %s" % (pid, space),
            lambda: forked(lambda: call("setns", os.open("/proc/%s/ns/%s" % (pid, space), os.O_RDONLY), NEW[flag])),
        )
attempt("outside afterwards", lambda: write(outside + "/victim"))
attempt("state afterwards", lambda: sum(len(files) for _, _, files in os.walk(state)))
tell()
