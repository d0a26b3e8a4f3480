/**
 * A branch over a directory in which something is hidden. The branch may have files of such names; no merge writes over
 * or removes what its commands could not see, unless an operator names exactly that. All of it in a directory that this
 * test makes for itself.
 * @module
 */
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { decodeUtf8 } from '../../src/base/encoding/utf8.ts'
import type { Client } from '../../src/client/client.node.ts'
import { inSession, run, startBranched } from './branched.node.ts'
import { changeConfig } from './daemon.node.ts'

const SECRET = 'a secret that no command sees\n'
let places = 0

/** A directory beneath /etc with hidden files, on the way, alone and in a hidden directory. */
function place(t: Test): string {
  const top = `/etc/sass-edge-it-${process.pid}-${places++}`
  t.teardown(() => rmSync(top, { recursive: true, force: true }))
  for (const path of ['way', 'moved', 'vault/deep']) mkdirSync(join(top, path), { recursive: true })
  for (const path of ['x.key', 'way/y.key', 'moved/z.key', 'vault/one', 'vault/deep/two'])
    writeFileSync(join(top, path), SECRET, { mode: 0o600 })
  for (const path of ['way/open', 'moved/open', 'open']) writeFileSync(join(top, path), 'before\n')
  return top
}

/** `$SECRETS` finds keys by their names in all of /etc; the vault is named. */
function daemonFor(t: Test, top: string) {
  const roots = [top, '$WORKSPACE']
  const sandbox = { branch_roots: roots, hidden: ['$SECRETS', join(top, 'vault')] }
  return startBranched(t, { name: 'root', uid: 0 }, { sandbox })
}

type Listed = { path: string; change: string; flags: string[] }
type Daemon = Awaited<ReturnType<typeof daemonFor>>

async function listed(daemon: Daemon): Promise<{ digest: string; changes: Listed[] }> {
  const { stdout } = await daemon.cli(['branch', 'diff', '--json'])
  return JSON.parse(stdout.toString()) as { digest: string; changes: Listed[] }
}

/** Not on the command line, where the daemon reads what is named. */
function runScript(daemon: Daemon, client: Client, script: string): Promise<string> {
  daemon.put('script.sh', script)
  return run(client, 'sh', ['./script.sh'])
}

const text = (path: string): string => readFileSync(path, 'utf8')
const SKIPPED = 'skipped: only root writes to /etc'
const isRoot = process.geteuid?.() === 0

function isWhole(t: Test, top: string): void {
  for (const path of ['x.key', 'way/y.key', 'moved/z.key', 'vault/one', 'vault/deep/two'])
    t.equal(text(join(top, path)), SECRET, path)
  t.strictSame(readdirSync(join(top, 'vault')).sort(), ['deep', 'one'])
}

t.test('what the branch could not see is flagged, and no merge takes it away', async (t) => {
  if (!isRoot) return t.comment(SKIPPED)
  const top = place(t)
  const daemon = await daemonFor(t, top)
  let own = ''
  await inSession(daemon, async (client: Client) => {
    const sh = (script: string) => runScript(daemon, client, script)
    t.equal(await sh(`cd ${top}; find . -type f | sort | tr '\\n' ' '`), './moved/open ./open ./way/open ')
    await sh(`cd ${top}
      echo of the branch > x.key; echo new > fine; echo after > open
      rm -r way && mkdir way && echo new > way/inner
      mv moved elsewhere
      mkdir vault && echo of the branch > vault/one`)
    t.equal(await sh(`cat ${top}/x.key ${top}/vault/one`), 'of the branch\nof the branch\n', 'it has its own')
    t.notOk((await sh(`ls ${top}/vault ${top}/elsewhere`)).includes('z.key'))
    await client.changes((piece) => {
      own += decodeUtf8(piece)
    })
  })
  const { changes, digest } = await listed(daemon)
  const hidden = changes.flatMap(({ path, change, flags }) =>
    flags.includes('hidden') ? [`${change} ${path.slice(top.length + 1)}`] : [],
  )
  t.strictSame(hidden.sort(), [
    'deleted vault/deep',
    'deleted way/y.key',
    'modified vault/one',
    'modified x.key',
    'renamed elsewhere',
    'replaced vault',
    'replaced way',
  ])
  t.notOk(own.includes('z.key') || own.includes('deep'), 'nor does its own list say what lies there')
  for (const more of [[], ['--with-special']]) {
    const merged = await daemon.cli([
      'branch',
      'merge',
      '--yes',
      '--digest',
      (await listed(daemon)).digest,
      ...more,
    ])
    t.comment(merged.stdout + merged.stderr)
    isWhole(t, top)
  }
  t.ok(/^[0-9a-f]{64}$/.test(digest))
  t.equal(text(join(top, 'open')), 'after\n', 'all else is merged')
  t.equal(text(join(top, 'fine')), 'new\n')
  t.equal(text(join(top, 'way/inner')), 'new\n')
  t.notOk(existsSync(join(top, 'way/open')), 'what it saw it may remove')
  t.notOk(existsSync(join(top, 'elsewhere')), 'and does not move what it did not see')

  const again = await listed(daemon)
  t.ok(
    again.changes.every(({ flags }) => flags.includes('hidden')),
    'the rest stays in the branch',
  )
  const named = await daemon.cli(['branch', 'merge', '--yes', '--digest', again.digest, `${top}/x.key`])
  t.comment(named.stdout + named.stderr)
  t.equal(text(join(top, 'x.key')), 'of the branch\n', 'named, it is merged')
  for (const path of ['way/y.key', 'moved/z.key', 'vault/one']) t.equal(text(join(top, path)), SECRET, path)
})

t.test('a directory that holds it is neither removed nor made a file of', async (t) => {
  if (!isRoot) return t.comment(SKIPPED)
  const top = place(t)
  const daemon = await daemonFor(t, top)
  await inSession(daemon, (client) =>
    runScript(daemon, client, `cd ${top}; rm -r way; rm -r moved; echo file > moved; ln -s /tmp vault`),
  )
  const { changes, digest } = await listed(daemon)
  t.strictSame(
    changes.map(
      ({ change, path, flags }) => `${change} ${path.slice(top.length + 1)} ${flags.includes('hidden')}`,
    ),
    ['deleted way true', 'retyped moved true', 'retyped vault true'],
  )
  const merged = await daemon.cli(['branch', 'merge', '--yes', '--with-special', '--digest', digest])
  t.match(merged.stdout + merged.stderr, /hidden from the branch/)
  isWhole(t, top)
  const parent = await daemon.cli(['branch', 'merge', '--yes', '--with-special', '--digest', digest, top])
  t.comment(parent.stdout + parent.stderr)
  isWhole(t, top)
})

t.test('it is remembered over a daemon that hides nothing any more', async (t) => {
  if (!isRoot) return t.comment(SKIPPED)
  const top = place(t)
  const daemon = await daemonFor(t, top)
  await inSession(daemon, (client) => runScript(daemon, client, `cd ${top}; echo mine > x.key; rm -r way`))
  t.equal((await daemon.stop()).code, 0)
  changeConfig(daemon.directory, { sandbox: { branch_roots: [top, '$WORKSPACE'], hidden: [] } })
  await daemon.start()
  const { changes, digest } = await listed(daemon)
  t.ok(changes.length > 0 && changes.every(({ flags }) => flags.includes('hidden')))
  await daemon.cli(['branch', 'merge', '--yes', '--digest', digest])
  isWhole(t, top)
})

t.test('names that are no text are hidden as others are, and no merge takes them away', async (t) => {
  if (!isRoot) return t.comment(SKIPPED)
  const top = place(t)
  const raw = (name: string): Buffer => Buffer.from(`${top}/${name}`, 'latin1')
  const own = ['x\xff.key', 'd\xff/y\xfe.key', 'd\xff/z.key']
  mkdirSync(raw('d\xff'))
  for (const name of own) writeFileSync(raw(name), SECRET)
  writeFileSync(raw('d\xff/open\xff'), 'before\n')
  const daemon = await daemonFor(t, top)
  await inSession(daemon, async (client: Client) => {
    const shown = await runScript(daemon, client, `cd ${top}; find . -type f | wc -l; cat ./d*/*`)
    t.equal(shown, '4\nbefore\n', 'what is open, in the directory of that name too')
    await runScript(daemon, client, `cd ${top}; rm -r d*; printf 'of the branch' > "$(printf 'x\\377.key')"`)
  })
  const { changes } = await listed(daemon)
  t.strictSame(
    changes.map(({ change, flags }) => [change, ...flags]),
    [
      // All of /etc is what the device obeys.
      ['deleted', 'runs_on_host', 'hidden'],
      ['modified', 'runs_on_host', 'hidden'],
    ],
    'the directory around them, and the file of that name',
  )
  const { digest } = await listed(daemon)
  await daemon.cli(['branch', 'merge', '--yes', '--digest', digest, '--with-special'])
  for (const name of own) t.equal(readFileSync(raw(name), 'utf8'), SECRET, name)
})
