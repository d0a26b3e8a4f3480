/**
 * The directory of the audit is out of reach for everything that a session can use: commands by every name that leads
 * there, uploads, and what a human merges. Afterwards there is nothing in it but what the daemon has written.
 * @module
 */
import { readdirSync, readFileSync, statSync, symlinkSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import t, { type Test } from 'tap'
import { type Findings, judge } from './attacks.node.ts'
import { everyone, homeFor, inSession, PYTHON, run, startBranched, type Who } from './branched.node.ts'

const WRITES = `import errno, json, os, sys
place, found = sys.argv[1], {}
def attempt(name, act):
    try:
        act()
        found[name] = "done"
    except OSError as error:
        found[name] = errno.errorcode[error.errno]
def write(path, mode="w"):
    with open(path, mode) as file:
        file.write("attacked")
def under(path):
    os.symlink(path, "way")
    try:
        write("way/attacked")
    finally:
        os.unlink("way")
chain = place + "/audit.jsonl"
attempt("own", lambda: write("own"))
attempt("listed", lambda: found.update(names=os.listdir(place)))
attempt("made", lambda: write(place + "/attacked"))
attempt("appended", lambda: write(chain, "a"))
attempt("overwritten", lambda: write(chain, "r+"))
attempt("cut", lambda: os.truncate(chain, 0))
attempt("removed", lambda: os.unlink(chain))
attempt("replaced", lambda: os.rename("own", chain))
attempt("linked", lambda: os.link("own", place + "/attacked"))
attempt("linked out", lambda: os.link(chain, "chain"))
attempt("symlink", lambda: os.symlink("own", place + "/attacked"))
attempt("directory", lambda: os.mkdir(place + "/attacked"))
attempt("fifo", lambda: os.mkfifo(place + "/attacked"))
attempt("moved away", lambda: os.rename(place, place + ".old"))
attempt("taken away", lambda: os.rmdir(place))
attempt("rights", lambda: os.chmod(place, 0o777))
attempt("times", lambda: os.utime(place, (0, 0)))
attempt("by a link", lambda: under(place))
attempt("by a link above", lambda: under(os.path.dirname(place) + "/./" + os.path.basename(place)))
attempt("by dots", lambda: write(os.getcwd() + "/" + os.path.relpath(place) + "/attacked"))
for way in ["/proc/1/root", "/proc/self/root", "/proc/1/cwd/" + os.path.relpath("/", os.getcwd())]:
    attempt(way, lambda: write(way + place + "/attacked"))
print(json.dumps(found))`

const KNOWN =
  /^(audit(-\d+)?\.jsonl|audit\.lock|facts-\d{12}\.(sealed|keys)|policies|dropped\.json|links\.jsonl)$/

type Place = {
  readonly name: string
  readonly change: (home: string) => object
  readonly of: (state: string) => string
}

const PLACES: readonly Place[] = [
  { name: 'in the state directory', change: () => ({}), of: (state) => join(state, 'audit') },
  {
    name: 'beneath a directory that sessions have branches of',
    change: (home) => ({
      audit: { directory: join(home, 'records') },
      sandbox: { branch_roots: [home, '$WORKSPACE'] },
    }),
    of: (state) => join(dirname(dirname(state)), 'records'),
  },
]

async function untouched(t: Test, who: Who, { change, of }: Place): Promise<void> {
  const daemon = await startBranched(t, who, (home) => ({
    ...change(home),
    // All attacks come from one session, and each refusal is told at once.
    defense: { deny_response: 'reason', levels: { automatic: false } },
  }))
  const place = of(daemon.state)
  const before = statSync(place)
  daemon.put('writes.py', WRITES.replaceAll('sys.argv[1]', JSON.stringify(place)))
  symlinkSync(dirname(place), join(daemon.workspace, 'above'))
  const local = join(homeFor(t, who), 'attacked')
  writeFileSync(local, 'attacked')
  const session = await inSession(daemon, async (client) => {
    const found = JSON.parse(await run(client, PYTHON ?? '', ['./writes.py'])) as Findings
    if ('names' in found) t.strictSame(found['names'], [], 'it is an empty one')
    judge(t, found, { own: 'done', ...('names' in found ? { listed: 'done', names: [] } : {}) })

    for (const path of [join(place, 'attacked'), 'above/audit/attacked', 'above/records/attacked'])
      await t.rejects(client.upload(local, path), path)
    for (const argv of [
      ['cp', 'own', join(place, 'attacked')],
      ['tee', '-a', join(place, 'audit.jsonl')],
      ['rm', '-r', place],
    ])
      await t.rejects(run(client, argv[0] ?? '', argv.slice(1)), argv.join(' '))
    return client.sessionId
  })
  const { digest } = JSON.parse((await daemon.cli(['branch', 'diff', session, '--json'])).stdout.toString())
  const merged = await daemon.cli(['branch', 'merge', session, '--yes', '--digest', digest])
  t.equal(merged.code, 0, merged.stderr)
  t.equal(readFileSync(join(daemon.workspace, 'own'), 'utf8'), 'attacked', 'what was its own is merged')

  const after = statSync(place)
  t.strictSame([after.mode, after.uid, after.ino], [before.mode, before.uid, before.ino])
  t.strictSame(
    readdirSync(place).filter((name) => !KNOWN.test(name)),
    [],
    'nothing but what the daemon has written',
  )
  for (const name of readdirSync(place)) {
    const path = join(place, name)
    if (statSync(path).isFile()) t.notOk(readFileSync(path).includes('attacked'), name)
  }
  await daemon.stop()
  for (const subcommand of ['verify', 'replay'])
    t.equal((await daemon.cli(['audit', subcommand])).code, 0, subcommand)
}

for (const who of everyone(t)) {
  if (PYTHON === undefined) {
    t.comment('skipped: these attacks need python3')
    break
  }
  for (const place of PLACES)
    await t.test(
      `no tool writes in the directory of the audit: a daemon of ${who.name}, ${place.name} (JF-F09, JF-R32)`,
      (t) => untouched(t, who, place),
    )
}
