/**
 * A branch over what the daemon itself lies beneath: its files stay hidden, in this session and in every later one of
 * the same branch, whatever is renamed.
 * @module
 */
import { existsSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import t, { type Test } from 'tap'
import { type Findings, judge } from './attacks.node.ts'
import { everyone, inSession, PYTHON, run, startBranched, type Who } from './branched.node.ts'

const MOVE = `import errno, json, os, shutil, sys
top, found = sys.argv[1], {}
def attempt(name, act):
    try:
        act()
        found[name] = "done"
    except OSError as error:
        found[name] = errno.errorcode[error.errno]
way = [one for one in os.listdir(top) if one.startswith("a b")][0]
os.chdir(top)
attempt("rename", lambda: os.rename(way, "moved"))
attempt("rename inside", lambda: os.rename(way + "/.sass-edge", way + "/moved"))
attempt("remove", lambda: os.rmdir(way + "/.sass-edge/state"))
attempt("rename of the workspace", lambda: os.rename(way + "/.sass-edge/workspace", way + "/moved"))
os.mkdir("other")
import ctypes
libc = ctypes.CDLL(None, use_errno=True)
def exchange(a, b):
    if libc.renameat2(-100, a.encode(), -100, b.encode(), 2) < 0:
        raise OSError(ctypes.get_errno(), "renameat2")
attempt("exchange", lambda: exchange(way, "other"))
attempt("own work", lambda: open("other/file", "w").close())
print(json.dumps(found))`

const LOOK = `import os, sys
for here, directories, files in os.walk(sys.argv[1]):
    for name in files:
        if name.endswith(".key") or name in ["audit.jsonl", "sass.edge.json", "branch.json"]:
            path = os.path.join(here, name)
            if os.path.isfile(path):
                print(path, len(open(path, "rb").read()))`

async function hidden(t: Test, who: Who): Promise<void> {
  const daemon = await startBranched(t, who, (home) => ({
    sandbox: { branch_roots: [dirname(home), '$WORKSPACE'] },
  }))
  const top = dirname(daemon.directory)
  const keys = join(daemon.directory, '.sass-edge/keys/operator.key')
  const before = readFileSync(keys)
  const script = (text: string): string => text.replaceAll('sys.argv[1]', JSON.stringify(top))
  daemon.put('move.py', script(MOVE))
  daemon.put('look.py', script(LOOK))
  const found = await inSession(daemon, async (client) => {
    t.equal(await run(client, PYTHON ?? '', ['./look.py']), '', 'nothing of the daemon')
    return JSON.parse(await run(client, PYTHON ?? '', ['./move.py'])) as Findings
  })
  judge(t, found, { 'own work': 'done' })
  const again = await daemon.open('latest')
  t.equal(await run(again, PYTHON ?? '', ['./look.py']), '', 'nor in the next session')
  t.equal(await run(again, 'ls', [join(top, 'other')]), 'file\n', 'of the same branch')
  await again.close()
  t.notOk(existsSync(join(top, 'other')))
  t.strictSame(readFileSync(keys), before)
}

for (const who of everyone(t)) {
  if (PYTHON === undefined) {
    t.comment('skipped: these attacks need python3')
    break
  }
  await t.test(`a daemon of ${who.name}`, (t) => hidden(t, who))
}
