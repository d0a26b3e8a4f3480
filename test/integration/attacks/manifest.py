"""A tree as lines: type, mode, links, size, blocks where sparse, time of change of contents, attributes, digest, target.
Arguments: the tree, then paths beneath it whose times are no matter (`-` before: not looked at at all)."""
import hashlib, os, stat, sys


def line(path, timed):
    status = os.lstat(path)
    kind = stat.S_IFMT(status.st_mode)
    found = [oct(status.st_mode)]
    if kind != stat.S_IFDIR:
        found += ["links=%d" % status.st_nlink, "size=%d" % status.st_size]
    if timed:
        found.append("ns=%d" % status.st_mtime_ns)
    names = [] if kind == stat.S_IFLNK else sorted(os.listxattr(path, follow_symlinks=False))
    found += ["%s=%r" % (one, os.getxattr(path, one)) for one in names if not one.startswith(("trusted.", "security.", "system."))]
    if kind == stat.S_IFREG:
        with open(path, "rb") as file:
            found.append(hashlib.sha256(file.read()).hexdigest())
        if status.st_size > 4194304:
            found.append("sparse" if status.st_blocks * 512 < status.st_size / 2 else "full")
    if kind == stat.S_IFLNK:
        found.append(os.readlink(path))
    return " ".join(found)


top, rules = sys.argv[1], sys.argv[2:]
left_out = [one[1:] for one in rules if one.startswith("-")]
timeless = [one for one in rules if not one.startswith("-")]
first = {}
for here, directories, files in os.walk(top):
    directories.sort()
    for name in sorted(files + directories):
        path = os.path.join(here, name)
        inner = os.path.relpath(path, top)
        if any(inner == one or inner.startswith(one + "/") for one in left_out):
            if name in directories:
                directories.remove(name)
            continue
        timed = "*" not in timeless and not any(inner == one or inner.startswith(one + "/") for one in timeless)
        status = os.lstat(path)
        same = first.setdefault(status.st_ino, inner) if status.st_nlink > 1 and not stat.S_ISDIR(status.st_mode) else inner
        print(inner, line(path, timed), "" if same == inner else "is " + same)
