"""Work of every day, the same in a branch and outside: what comes of it is printed step by step, the tree is compared.
Arguments: the node that runs what needs one, and where this is."""
import errno, fcntl, json, mmap, os, random, select, shutil, sqlite3, stat, subprocess, sys, tempfile, time

node, here = sys.argv[1], sys.argv[2]
results = {}
home = tempfile.mkdtemp()
DATE = "2024-05-06T07:08:09Z"
environment = dict(
    PATH=os.path.dirname(node) + ":/usr/local/bin:/usr/bin:/bin", HOME=home, LANG="C.UTF-8", GIT_AUTHOR_DATE=DATE,
    GIT_COMMITTER_DATE=DATE, GIT_AUTHOR_NAME="a", GIT_AUTHOR_EMAIL="a@b", GIT_COMMITTER_NAME="a",
    GIT_COMMITTER_EMAIL="a@b", GIT_CONFIG_NOSYSTEM="1", npm_config_cache=home + "/npm", npm_config_update_notifier="false",
)


def step(name, act):
    try:
        value = act()
        results[name] = "done" if value is None else value
    except OSError as error:
        results[name] = errno.errorcode.get(error.errno, str(error))
    except Exception as error:
        results[name] = repr(error)


def shell(script, cwd="."):
    done = subprocess.run(["sh", "-ec", script], cwd=cwd, env=environment, capture_output=True, text=True)
    return [done.returncode, done.stdout, done.stderr if done.returncode else ""]


def has(name):
    return shutil.which(name, path=environment["PATH"]) is not None


step("pwd", lambda: [os.getcwd() == here, shell("pwd")[1] == here + "\n", os.path.realpath(".") == here])

GIT = """git status --porcelain; echo more >> file; echo new > new; git add -A; git commit -qm second
git checkout -qb side; git mv dir/inner moved; git rm -q gone; git commit -qm third; git checkout -q main
echo other > other; git add other; git commit -qm fourth; git merge -q --no-edit side; git status --porcelain
git log --format=%H; git -c pack.threads=1 gc -q; git fsck --full; git stash list; git branch; rm -f .git/gc.log"""
step("git", lambda: shell(GIT, "repository") if has("git") else None)
step("make", lambda: shell("make -s && ./program && make -s clean-objects && touch main.c && make -s && ./program", "c") if has("make") and has("cc") else None)
NPM = """npm install --offline --no-audit --no-fund --silent ./packages/linked >/dev/null
npm pack --silent ./packages/packed >/dev/null; npm install --offline --no-audit --no-fund --silent ./packed-1.0.0.tgz >/dev/null
node -e 'console.log(require("linked"), require("packed"))'"""
step("npm", lambda: shell(NPM, "project") if has("npm") else None)


def heavy():
    """As a build of many crates does: files in many directories, put in place by rename, linked, thrown away."""
    chance = random.Random(7)
    for crate in range(60):
        unit = "target/debug/build/crate-%d" % crate
        os.makedirs(unit + "/out")
        for part in range(8):
            with open("%s/.tmp-%d" % (unit, part), "wb") as file:
                file.write(chance.randbytes(chance.randint(0, 5000)))
            os.rename("%s/.tmp-%d" % (unit, part), "%s/out/part-%d.o" % (unit, part))
        os.makedirs("target/debug/deps", exist_ok=True)
        os.link(unit + "/out/part-0.o", "target/debug/deps/lib%d.rlib" % crate)
        os.link("target/debug/deps/lib%d.rlib" % crate, "target/debug/lib%d.rlib" % crate)
        os.rename(unit, "target/debug/build/done-%d" % crate)
    for crate in range(0, 60, 3):
        shutil.rmtree("target/debug/build/done-%d" % crate)
    # What was there before is replaced as well.
    for name in os.listdir("target/old"):
        os.replace("target/old/" + name, "target/debug/" + name)
    os.rmdir("target/old")
    return [os.stat("target/debug/lib1.rlib").st_nlink, os.stat("target/debug/lib0.rlib").st_nlink]


step("heavy", heavy)


def database():
    one = sqlite3.connect("data.db", timeout=20)
    mode = one.execute("pragma journal_mode=wal").fetchone()[0]
    one.executescript("create table t (a integer primary key, b text); create index i on t (b);")
    other = sqlite3.connect("data.db", timeout=20)
    for number in range(300):
        (one if number % 2 else other).execute("insert into t (b) values (?)", ("x%d" % (number * 7919 % 300),))
        (one if number % 2 else other).commit()
    seen = other.execute("select count(*), min(b), max(b) from t").fetchall()
    files = sorted(name for name in os.listdir(".") if name.startswith("data.db"))
    check = one.execute("pragma integrity_check").fetchall()
    other.close()
    one.execute("pragma wal_checkpoint(truncate)")
    one.close()
    return [mode, seen, files, check]


step("sqlite", database)
SQL = """const { DatabaseSync } = require('node:sqlite'); const db = new DatabaseSync('node.db')
console.log(db.prepare('pragma journal_mode=wal').get().journal_mode); db.exec('create table t (a)')
for (let i = 0; i < 100; i++) db.prepare('insert into t values (?)').run(i)
console.log(db.prepare('select sum(a) s from t').get().s); db.close()"""
step("node:sqlite", lambda: shell('node --no-warnings -e "$1"'.replace("$1", SQL.replace('"', '\\"'))))


def renamed(old, new):
    """Directories that were there before cannot be renamed in a user's branch: who meets EXDEV copies, as mv does."""
    try:
        os.rename(old, new)
        return "done"
    except OSError as error:
        shutil.move(old, new)
        return errno.errorcode[error.errno]


step("rename of a directory", lambda: renamed("tree/there", "tree/renamed"))
step("again", lambda: renamed("tree/renamed", "renamed-again"))
step("rename of a new directory", lambda: (os.mkdir("fresh"), open("fresh/f", "w").close(), os.rename("fresh", "fresh-2"))[3:])
step("rename of a file", lambda: (os.rename("tree/plain", "tree/plain-2"), os.stat("tree/plain-2").st_mtime_ns)[1])
step("replace", lambda: (open("tree/saved~", "w").write("saved"), os.replace("tree/saved~", "tree/saved"))[2:])


def links():
    os.link("tree/single", "tree/single-2")
    with open("tree/single", "a") as file:
        file.write("more")
    return [os.stat("tree/single-2").st_nlink, open("tree/single-2").read()[-4:]]


step("hard links", links)
step("links that were there", lambda: [os.stat("linked/a").st_nlink, open("linked/a", "a").write("x") and None, open("linked/b").read()])


def sparse():
    with open("hole", "wb") as file:
        file.truncate(33554432)
        file.seek(16777216)
        file.write(b"data")
    with open("tree/hole", "r+b") as file:
        file.seek(4096 * 3)
        file.write(b"data")
    return [os.stat(one).st_blocks * 512 < 4194304 for one in ["hole", "tree/hole"]]


step("sparse", sparse)
step("attributes", lambda: (os.setxattr("tree/single", "user.a", b"1"), os.removexattr("tree/attributed", "user.old"), os.setxattr("tree", "user.dir", b"2"), sorted(os.listxattr("tree/attributed")), os.getxattr("tree/attributed", "user.kept").decode())[3:])
step("times", lambda: (os.utime("tree/single", ns=(1, 1234567890123456789)), os.stat("tree/single").st_mtime_ns, os.stat("tree/untouched").st_mtime_ns)[1:])
step("times of a directory", lambda: (os.utime("tree", ns=(5, 987654321987654321)), os.stat("tree").st_mtime_ns)[1])
step("modes", lambda: (os.chmod("tree/single", 0o640), os.umask(0o027), open("masked", "w").close(), os.umask(0o022), oct(os.stat("masked").st_mode))[4])


def pipe():
    os.mkfifo("fifo")
    if os.fork() == 0:
        with open("fifo", "w") as file:
            file.write("through")
        os._exit(0)
    with open("fifo") as file:
        found = file.read()
    os.wait()
    return found


step("fifo", pipe)


def locks():
    found = []
    for lock in [lambda file: fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB), lambda file: fcntl.lockf(file, fcntl.LOCK_EX | fcntl.LOCK_NB)]:
        with open("tree/lock", "r+") as file:
            lock(file)
            pid = os.fork()
            if pid == 0:
                try:
                    lock(open("tree/lock", "r+"))
                    os._exit(0)
                except OSError as error:
                    os._exit(error.errno)
            found.append(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))
    return found


step("locks", locks)


def mapped():
    with open("tree/mapped", "r+b") as file:
        one, two = mmap.mmap(file.fileno(), 0), mmap.mmap(file.fileno(), 0)
        one[4:8] = b"seen"
        found = bytes(two[0:10])
        one.flush()
    return [found.decode(), open("tree/mapped", "rb").read(10).decode()]


step("mmap", mapped)


def watched():
    import ctypes

    libc = ctypes.CDLL(None)
    descriptor = libc.inotify_init()
    libc.inotify_add_watch(descriptor, b"watched", 0xFC6)
    open("watched/old", "a").write("x")
    open("watched/new", "w").close()
    os.rename("watched/new", "watched/moved")
    os.unlink("watched/moved")
    names, data = [], b""
    while select.select([descriptor], [], [], 0.3)[0]:
        data = os.read(descriptor, 65536)
        at = 0
        while at < len(data):
            mask, length = int.from_bytes(data[at + 4 : at + 8], "little"), int.from_bytes(data[at + 12 : at + 16], "little")
            names.append([hex(mask), data[at + 16 : at + 16 + length].rstrip(b"\0").decode()])
            at += 16 + length
    return names


step("inotify", watched)
WATCH = """const fs = require('fs'); const w = fs.watch('watched', (kind, name) => { console.log(kind, name); w.close() }); setTimeout(() => fs.writeFileSync('watched/by-node', ''), 50)"""
step("watcher", lambda: shell("node -e \"%s\"" % WATCH))
step("tar", lambda: shell("mkdir out; tar c c renamed-again repository | tar x -C out; diff -r --no-dereference renamed-again out/renamed-again; diff -r c out/c; rm -r out/repository"))
step("find", lambda: shell("find . -name '*.c' -newermt 2000-01-01 | sort; ls -A | sort; du -s --apparent-size renamed-again | cut -f1")[1])
step("many", lambda: shell("for i in $(seq 300); do : > many-$i; done; ls | wc -l; rm many-*; ls | wc -l"))
print(json.dumps(results))
sys.stdout.flush()
sys.argv[1:] = [".", "*", "-repository/.git/index", "-everyday.py", "-out"]
