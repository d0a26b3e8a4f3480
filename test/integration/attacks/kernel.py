"""The kernel itself: its settings, other processes, devices, rights, and calls that have been ways out before."""
daemon, disk, canary = int(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3])
import signal, subprocess, time

# Devices: made here, and found as files of the real system.
for name, mode in [("b", stat.S_IFBLK), ("c", stat.S_IFCHR)]:
    for place in [".", "/tmp", "/dev/shm", "/run"]:
        attempt("mknod %s %s" % (name, place), lambda: os.mknod("%s/node-%s" % (place, name), mode | 0o666, disk if name == "b" else os.makedev(1, 1)))
for index, path in enumerate(sys.argv[4:]):
    for how, flags in [("read", os.O_RDONLY), ("write", os.O_WRONLY)]:
        attempt("device %d %s" % (index, how), lambda: os.close(os.open(path, flags | os.O_NONBLOCK)))
for name in ["mem", "kmem", "port", "kmsg", "vda", "sda", "mmcblk0", "nvme0n1", "fuse", "kvm", "loop-control", "net/tun", "vsock", "uinput", "console", "tty0", "tty1", "mapper/control"]:
    attempt("/dev/" + name, lambda: os.close(os.open("/dev/" + name, os.O_RDONLY | os.O_NONBLOCK)))
attempt("chmod of a device", lambda: os.chmod("/dev/null", 0o666))
attempt("unlink of a device", lambda: os.unlink("/dev/zero"))
attempt("create in /dev", lambda: write("/dev/new"))


def writable(top, skips):
    """Every file that opens for writing; nothing is written."""
    found = []
    for here, directories, files in os.walk(top):
        directories[:] = [one for one in directories if not skips(here + "/" + one)]
        for one in files:
            path = here + "/" + one
            try:
                os.close(os.open(path, os.O_WRONLY | os.O_NONBLOCK | os.O_NOFOLLOW))
                found.append(path)
            except OSError:
                pass
    return found


attempt("writable in /proc", lambda: writable("/proc", lambda path: path.split("/")[2].isdigit() or path.split("/")[2] in ["self", "thread-self"]))
attempt("writable in /sys", lambda: writable("/sys", lambda path: False))
attempt("writable in /dev", lambda: writable("/dev", lambda path: path in ["/dev/pts", "/dev/shm"]))
attempt("cgroup made", lambda: [os.mkdir(one + "/attacked") for one in ["/sys/fs/cgroup", "/sys/fs/cgroup/unified", "/sys/fs/cgroup/memory"] if os.path.isdir(one)])
attempt("core_pattern", lambda: write("/proc/sys/kernel/core_pattern", "|/tmp/x"))
attempt("sysrq", lambda: write("/proc/sysrq-trigger", ""))
attempt("kcore", lambda: open("/proc/kcore", "rb").read(4) and "read")

def reaches(pid):
    try:
        os.kill(pid, 0)
        return True
    except PermissionError:
        return True
    except OSError:
        return False


# Other processes.
attempt("daemon probed", lambda: os.kill(daemon, 0))
attempt("canary killed", lambda: os.kill(canary, signal.SIGKILL))
attempt("pidfd of the daemon", lambda: call("pidfd_open", daemon, 0))
attempt("thread of the daemon", lambda: call("tgkill", daemon, daemon, 0))
attempt("queued signal", lambda: call("rt_sigqueueinfo", daemon, 10, ctypes.create_string_buffer(128)))
attempt("everybody in reach", lambda: [pid for pid in range(1, 100000) if pid != os.getpid() and reaches(pid)])
attempt("kill -1", lambda: forked(lambda: os.kill(-1, signal.SIGCONT)))
attempt("kill init", lambda: os.kill(1, signal.SIGKILL))
attempt("stop init", lambda: os.kill(1, signal.SIGSTOP))
attempt("attach to init", lambda: call("ptrace", 16, 1, 0, 0))
attempt("seize init", lambda: call("ptrace", 0x4206, 1, 0, 0))
attempt("attach to the daemon", lambda: call("ptrace", 16, daemon, 0, 0))
buffer = ctypes.create_string_buffer(64)
vector = ctypes.create_string_buffer(struct.pack("QQ", ctypes.addressof(buffer), 64))
attempt("memory of init", lambda: call("process_vm_readv", 1, vector, 1, vector, 1, 0))
attempt("memory of the daemon", lambda: call("process_vm_writev", daemon, vector, 1, vector, 1, 0))
attempt("limits of the daemon", lambda: call("prlimit64", daemon, 7, 0, buffer))
attempt("init is there", lambda: os.path.exists("/proc/1"))

# Rights.
attempt("setuid", lambda: forked(lambda: os.setresuid(0, 0, 0)))
attempt("another user", lambda: forked(lambda: os.setresuid(12345, 12345, 12345)))
attempt("groups", lambda: forked(lambda: os.setgroups([0])))
header = struct.pack("Ii", 0x20080522, 0)
attempt("capset", lambda: forked(lambda: call("capset", ctypes.create_string_buffer(header), ctypes.create_string_buffer(struct.pack("IIIIII", *[0xFFFFFFFF] * 6)))))
attempt("ambient", lambda: forked(lambda: (_ for _ in ()).throw(OSError(ctypes.get_errno(), "")) if libc.prctl(47, 2, 21, 0, 0) < 0 else None))
attempt("effective user of a setuid program", lambda: subprocess.run(["./suid-id", "-u"], capture_output=True, text=True).stdout.strip())
attempt("setuid program made", lambda: (os.chmod("own-id", 0o4755), subprocess.run(["./own-id", "-u"], capture_output=True, text=True).stdout.strip())[1])
for name in ["sudo", "su", "pkexec", "newuidmap"]:
    attempt(name, lambda: subprocess.run([name] + {"sudo": ["-n", "id", "-u"], "su": ["-c", "true"], "pkexec": ["true"], "newuidmap": [str(os.getpid()), "0", "0", "1"]}[name], capture_output=True, text=True, stdin=subprocess.DEVNULL, timeout=20).returncode)

# Calls.
now = ctypes.create_string_buffer(struct.pack("qq", int(time.time()), 0))
host = os.uname().nodename.encode()
attempt("io_uring_setup", lambda: call("io_uring_setup", 4, ctypes.create_string_buffer(256)))
attempt("bpf", lambda: call("bpf", 0, ctypes.create_string_buffer(struct.pack("IIII", 2, 4, 4, 1) + bytes(112)), 128))
attempt("userfaultfd", lambda: call("userfaultfd", 1))
attempt("perf_event_open", lambda: call("perf_event_open", ctypes.create_string_buffer(128), 0, -1, -1, 0))
attempt("keyctl", lambda: call("keyctl", 0, -3, 1))
attempt("add_key", lambda: call("add_key", b"user", b"attacked", b"x", 1, -3))
attempt("request_key", lambda: call("request_key", b"user", b"attacked", 0, -3))
attempt("kexec_load", lambda: call("kexec_load", 0, 0, 0, 0))
attempt("kexec_file_load", lambda: call("kexec_file_load", -1, -1, 0, 0, 0))
attempt("init_module", lambda: call("init_module", b"x", 1, b""))
attempt("finit_module", lambda: call("finit_module", 0, b"", 0))
attempt("delete_module", lambda: call("delete_module", b"no_such_module", 0))
# Turns ^C-Alt-Delete off, where it is off anyway: the least that this call can do.
attempt("reboot", lambda: call("reboot", 0xFEE1DEAD, 672274793, 0, 0))
attempt("clock_settime", lambda: call("clock_settime", 0, now))
attempt("settimeofday", lambda: call("settimeofday", now, 0))
attempt("adjtimex", lambda: call("adjtimex", ctypes.create_string_buffer(struct.pack("I", 0) + bytes(300))))
attempt("sethostname", lambda: call("sethostname", host, len(host)))
attempt("setdomainname", lambda: call("setdomainname", b"(none)", 6))
attempt("swapon", lambda: call("swapon", b"own-id", 0))
attempt("acct", lambda: call("acct", b"own-id"))
attempt("quotactl", lambda: call("quotactl", 0x80000100, b"/", 0, 0))
attempt("syslog", lambda: call("syslog", 10, 0, 0))
attempt("vhangup", lambda: call("vhangup"))
attempt("iopl", lambda: call("iopl", 3))
attempt("fanotify_init", lambda: call("fanotify_init", 0, 0))

import fcntl

for path in ["/etc/hosts", "/etc/passwd", "own-id"]:
    attempt("lease on " + path, lambda: fcntl.fcntl(os.open(path, os.O_RDONLY), fcntl.F_SETLEASE, fcntl.F_RDLCK))


def other_instruction_set():
    """getpid of 32-bit programs by int 0x80, and of x32 by its number."""
    if platform.machine() != "x86_64":
        return "none"
    import mmap

    page = mmap.mmap(-1, 4096, prot=mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC)
    page.write(b"\xb8\x14\x00\x00\x00\xcd\x80\xc3")
    function = ctypes.CFUNCTYPE(ctypes.c_int)(ctypes.addressof(ctypes.c_char.from_buffer(page)))
    old = function()
    CALLS["x32"] = 0x40000000 | 39
    return [old, forked(lambda: call("x32"))]


attempt("other instruction sets", lambda: forked(other_instruction_set))
tell()
