"""Writing, reading and linking what lies outside of the branch, by every way to name it."""
outside, state, daemon = sys.argv[1], sys.argv[2], sys.argv[3]
workspace = os.getcwd()
victim = outside + "/victim"
up = "/".join([".."] * 40)

attempt("own write", lambda: write("kept"))
attempt("absolute write", lambda: write(victim))
attempt("create", lambda: write(outside + "/new"))
attempt("unlink", lambda: os.unlink(victim))
attempt("rename", lambda: os.rename(victim, victim + "2"))
attempt("rename in", lambda: os.rename(victim, "stolen"))
attempt("rename out", lambda: os.rename("kept", outside + "/kept"))
attempt("mkdir", lambda: os.mkdir(outside + "/dir"))
attempt("rmdir", lambda: os.rmdir(outside + "/empty"))
attempt("chmod", lambda: os.chmod(victim, 0o777))
attempt("chown", lambda: os.chown(victim, os.getuid(), os.getgid()))
attempt("utime", lambda: os.utime(victim, (1, 1)))
attempt("truncate", lambda: os.truncate(victim, 0))
attempt("symlink", lambda: os.symlink("x", outside + "/link"))
attempt("link out", lambda: os.link("kept", outside + "/hard"))
attempt("link in", lambda: os.link(victim, "hard-in"))
attempt("xattr", lambda: os.setxattr(victim, "user.attacked", b"1"))
attempt("mkfifo", lambda: os.mkfifo(outside + "/fifo"))
attempt("tmpfile", lambda: os.close(os.open(outside, os.O_TMPFILE | os.O_RDWR)))
attempt("etc", lambda: write("/etc/passwd"))
attempt("through a link of the host", lambda: write("link-out"))
attempt("through a directory link of the host", lambda: write("dir-out/victim"))
os.symlink(victim, "made-link")
os.symlink(outside, "made-dir")
attempt("through a link", lambda: write("made-link"))
attempt("through a directory link", lambda: write("made-dir/new"))
attempt("two dots", lambda: write(up + victim))
attempt("two dots of the branch", lambda: write(workspace + "/../../../attacked"))

# A file that has another name outside of the branch: only the branch's changes.
attempt("hard link of a real file", lambda: write("hard-real"))
attempt("hard link of a hard link", lambda: (os.link("hard-real-2", "hard-again"), write("hard-again"))[1])
attempt("hard link by chmod", lambda: os.chmod("hard-real-3", 0o777))
attempt("hard link by truncate", lambda: os.truncate("hard-real-3", 1))


def descriptors():
    """What was inherited: only the three."""
    listing = os.open("/proc/self/fd", os.O_RDONLY | os.O_DIRECTORY)
    found = sorted(int(name) for name in os.listdir(listing) if int(name) != listing)
    os.close(listing)
    return [one for one in found if is_open(one)]


def is_open(one):
    try:
        os.fstat(one)
        return True
    except OSError:
        return False


attempt("descriptors", descriptors)
attempt("descriptor 0", lambda: os.readlink("/proc/self/fd/0"))
attempt("chmod of descriptor 0", lambda: os.fchmod(0, 0o600))
attempt("utime of descriptor 0", lambda: os.utime(0, (1, 1)))
attempt("two dots of a descriptor", lambda: write("/proc/self/fd/%d/../../../attacked" % os.open(".", os.O_PATH)))
attempt("own root", lambda: write("/proc/self/root" + victim))
attempt("own thread's root", lambda: write("/proc/thread-self/root" + victim))
pids = [name for name in os.listdir("/proc") if name.isdigit()] + [daemon]
for way in ["root" + victim, "cwd/attacked", "fd/0", "fd/3", "exe"]:
    attempt("/proc/1/" + way.split("/")[0], lambda: write("/proc/1/" + way))
attempt("listing of /proc/1/fd", lambda: os.listdir("/proc/1/fd"))
attempt("reading of /proc/1/root", lambda: os.listdir("/proc/1/root"))
attempt("reading of /proc/1/cwd", lambda: os.listdir("/proc/1/cwd"))
attempt("memory of init", lambda: open("/proc/1/mem", "rb").read(1))
attempt("environment of init", lambda: open("/proc/1/environ", "rb").read(1))


def through_others():
    done = []
    for pid in pids:
        for way in ["root" + victim, "cwd" + up + victim, "task/" + pid + "/root" + victim]:
            try:
                write("/proc/%s/%s" % (pid, way))
                done.append(pid + way)
            except OSError:
                pass
    return done


attempt("through other processes", through_others)
attempt("processes", lambda: sorted(open("/proc/%s/comm" % pid).read().strip() for pid in pids[:-1]))

# The daemon's own.
attempt("state listed", lambda: sum(len(files) for _, _, files in os.walk(state)))
attempt("state written", lambda: write(state + "/attacked"))
attempt("installation listed", lambda: sorted(os.listdir(os.path.dirname(state))))
for name in ["sass.edge.json", "keys/agent.key", "keys/operator.key", "state/audit/audit.jsonl", "state/tls.key"]:
    attempt("read " + name, lambda: open(os.path.dirname(state) + "/" + name).read() and "read")
attempt("installation written", lambda: write(os.path.dirname(state) + "/sass.edge.json"))


def mounted_uppers():
    """Whatever the list of mounts names as the branch's directories: nothing of it leads there."""
    found = []
    for line in open("/proc/self/mountinfo"):
        for option in line.split(" - ")[1].split()[2].split(","):
            if option.startswith(("upperdir=", "workdir=", "lowerdir=")):
                try:
                    found.append(os.listdir(option.split("=", 1)[1]))
                except OSError:
                    pass
    return found


attempt("upper directory", mounted_uppers)

# Marks that mean something to an overlay, set through it.
attempt("whiteout made", lambda: os.mknod("tree/inner", stat.S_IFCHR | 0o600, 0))
attempt("whiteout beside", lambda: os.mknod("tree/forged", stat.S_IFCHR | 0o600, 0))
attempt("whiteout by rename", lambda: call("renameat2", -100, b"tree/other", -100, b"tree/moved", 4))
for space in ["user", "trusted"]:
    for mark, value in [("opaque", b"y"), ("whiteout", b"y"), ("redirect", b"/etc"), ("metacopy", b""), ("origin", b"x")]:
        attempt("%s.overlay.%s" % (space, mark), lambda: os.setxattr("tree", "%s.overlay.%s" % (space, mark), value))
attempt("tree still there", lambda: sorted(os.listdir("tree")))

# The branch itself as a name.
attempt("rename the branch", lambda: os.rename(workspace, workspace + "2"))
attempt("remove the branch", lambda: os.rmdir(workspace))


def by_handle():
    handle = ctypes.create_string_buffer(struct.pack("Ii", 128, 0) + bytes(128))
    mount = ctypes.c_int()
    call("name_to_handle_at", -100, outside.encode(), handle, ctypes.byref(mount), 0)
    return os.listdir(call("open_by_handle_at", os.open("/", os.O_RDONLY), handle, os.O_RDONLY))


attempt("open by handle", by_handle)
tell()
