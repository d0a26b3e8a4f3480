"""Random work on trees of the branch, the same for the same seed; an operation that is refused is no operation.
Arguments: the first seed, how many sequences, operations of each. Each sequence has a tree of its own: tree-N."""
import random, shutil

first, sequences, length = (int(one) for one in sys.argv[1:])
NAMES = ["a", "b", "c", "d", "e e", "ü", ".git", "f", "x" * 200]
done = 0


def places(top):
    directories, files = [top], []
    for here, inner, names in os.walk(top):
        directories += [os.path.join(here, one) for one in inner if not os.path.islink(os.path.join(here, one))]
        files += [os.path.join(here, one) for one in names]
    return directories, files


def put(path, how, text):
    descriptor = os.open(path, how | os.O_NOFOLLOW | os.O_NONBLOCK, 0o644)
    os.write(descriptor, text)
    os.close(descriptor)


def step(top, chance, number):
    directories, files = places(top)
    new = os.path.join(chance.choice(directories), chance.choice(NAMES))
    one = chance.choice(files) if files and chance.random() < 0.8 else new
    directory = chance.choice(directories[1:]) if len(directories) > 1 and chance.random() < 0.8 else new
    text = b"%d %d\n" % (number, chance.getrandbits(30)) * chance.randint(1, 2000)
    ns = chance.getrandbits(60)
    stat_of = lambda path: os.lstat(path).st_mode
    operations = [
        lambda: put(new, os.O_WRONLY | os.O_CREAT, text),
        lambda: put(one, os.O_WRONLY, text),
        lambda: put(one, os.O_WRONLY | os.O_APPEND, text),
        lambda: put(one, os.O_WRONLY | os.O_TRUNC, b""),
        lambda: stat.S_ISREG(stat_of(one)) and os.truncate(one, chance.randint(0, 9000)),
        lambda: os.unlink(one),
        lambda: os.mkdir(new, chance.choice([0o700, 0o755, 0o1777])),
        lambda: os.rmdir(directory),
        lambda: directory != top and stat.S_ISDIR(stat_of(directory)) and shutil.rmtree(directory),
        lambda: os.rename(one, new),
        lambda: directory != top and os.rename(directory, new),
        lambda: call("renameat2", -100, directory.encode(), -100, one.encode(), 2),
        lambda: os.link(one, new, follow_symlinks=False),
        lambda: os.symlink(chance.choice(["a", "../b", "/nowhere/x", "ü", "."]), new),
        lambda: stat.S_ISLNK(stat_of(one)) or os.chmod(one, chance.choice([0o600, 0o644, 0o755, 0o4755, 0])),
        lambda: stat.S_ISDIR(stat_of(directory)) and os.chmod(directory, chance.choice([0o700, 0o755, 0o2775])),
        lambda: os.utime(one, ns=(ns, ns), follow_symlinks=False),
        lambda: os.utime(directory, ns=(ns, ns), follow_symlinks=False),
        lambda: os.setxattr(one, "user.x%d" % chance.randint(0, 3), text[:200], follow_symlinks=False),
        lambda: os.setxattr(directory, "user.d", text[:20], follow_symlinks=False),
        lambda: os.removexattr(one, "user.x0", follow_symlinks=False),
        lambda: os.mkfifo(new),
        lambda: os.close(os.open(one, os.O_RDWR | os.O_NOFOLLOW | os.O_NONBLOCK)),
        lambda: (put(new + "~", os.O_WRONLY | os.O_CREAT, text), os.rename(new + "~", one)),
        lambda: os.rename(top, top + ".away"),
    ]
    # The tree itself goes seldom, and may come back.
    act = chance.choice(operations[:-1]) if chance.random() < 0.99 else operations[-1]
    try:
        act()
        return 1
    except OSError:
        return 0


for seed in range(first, first + sequences):
    chance = random.Random(seed)
    top = "tree-%d" % seed
    for number in range(length):
        if not os.path.isdir(top):
            os.path.isdir(top + ".away") and os.rename(top + ".away", top)
            continue
        done += step(top, chance, number)
print(done)
