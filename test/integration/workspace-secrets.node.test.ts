/**
 * Files of the workspace with the names of secrets, and programs that open them by themselves, where `sandbox.hidden` says
 * that no command reads them unasked. What names such a file on its command line waits for a human before that.
 * @module
 */
import { mkdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { question } from './agents.node.ts'
import { everyone, inSession, run, startBranched, type Who } from './branched.node.ts'

const SECRET = 'a line that no agent reads\n'
const FILES = ['.env', 'server.key', 'deep/er/credentials.json', 'deep/.env.production']
/** Everything that can be read, by whatever name it has: no word of it names a file. */
const READ_ALL = 'find . -type f -exec cat {} + ; for f in .* *; do head -n 1 "$f"; done 2>/dev/null; true'

async function hides(t: Test, who: Who): Promise<void> {
  const daemon = await startBranched(t, who, (home) => ({
    sandbox: {
      hidden: ['$SECRETS', '$WORKSPACE_SECRETS'],
      read: ['/usr', '/bin', '/lib', '/lib64', join(home, '.sass-edge/workspace/allowed.key')],
    },
  }))
  mkdirSync(join(daemon.workspace, 'deep/er'), { recursive: true })
  for (const name of FILES) daemon.put(name, SECRET, 0o644)
  daemon.put('.env.example', 'an example\n', 0o644)
  daemon.put('allowed.key', 'a human has listed it\n', 0o644)
  daemon.put('read.sh', READ_ALL)

  const read = await inSession(daemon, (client) => run(client, 'sh', ['./read.sh']))
  t.notOk(read.includes(SECRET), 'no script reads one')
  t.ok(read.includes('an example\n') && read.includes('a human has listed it\n'), 'and all else')

  daemon.put('own.sh', 'echo of the session > deep/.env.production; cat deep/.env.pro*; rm -rf deep/er')
  t.equal(
    await inSession(daemon, (client) => run(client, 'sh', ['./own.sh'])),
    'of the session\n',
    'what it makes under such a name is its own',
  )
  const { stdout } = await daemon.cli(['branch', 'diff', '--json'])
  const { digest } = JSON.parse(stdout.toString()) as { digest: string }
  await daemon.cli(['branch', 'merge', '--yes', '--with-special', '--digest', digest])
  for (const name of FILES)
    t.equal(readFileSync(join(daemon.workspace, name), 'utf8'), SECRET, `${name} is as it was`)
  await daemon.stop()
}

t.test('no program reads .env, *.key or credentials.* of the workspace by itself (JF-F15)', async (t) => {
  for (const who of everyone(t)) await t.test(`as ${who.name}`, (t) => hides(t, who))
})

t.test('a command that names one waits for a human (JF-F15)', async (t) => {
  const [who] = everyone(t)
  if (who === undefined) return t.comment('skipped: nobody makes a branch here')
  const daemon = await startBranched(t, who)
  daemon.put('server.key', SECRET, 0o644)
  await inSession(daemon, async (client) => {
    const cat = run(client, 'cat', ['server.key'])
    const { id } = await question(daemon)
    t.equal((await daemon.cli(['confirm', 'approve', id, '--yes'])).code, 0)
    t.equal(await cat, SECRET, 'with a yes it is read')
    const again = run(client, 'head', ['./server.key'])
    again.catch(() => undefined)
    t.equal((await daemon.cli(['confirm', 'deny', (await question(daemon)).id, '--yes'])).code, 0)
    await t.rejects(again, 'with a no it is not')
  })
})
