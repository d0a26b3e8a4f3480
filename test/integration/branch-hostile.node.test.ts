/**
 * Branches that are made to break their review: trees deeper than a path, files that claim to be huge, attributes that an
 * overlay takes for its marks, content that steers a terminal. With a real daemon, as root and as an ordinary user.
 * @module
 */
import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { type Branched, everyone, inSession, PYTHON, run, startBranched } from './branched.node.ts'
import { until } from './daemon.node.ts'

const skip = PYTHON === undefined ? 'no Python' : false

const DEEP = `
import os
for _ in range(25):
  os.mkdir('n' * 250)
  os.chdir('n' * 250)
open('bottom', 'w').write('deep')
`
const SPARSE = `
import os
with open('sparse', 'wb') as file:
  file.write(b'head')
  os.ftruncate(file.fileno(), 15 << 40)
`
const MARKED = `
import os
open('marked', 'w').write('x')
os.setxattr('marked', b'user.overlay.metacopy', b'')
`
const STEERING = `
open('steering', 'wb').write(b'one\\n\\x1b]52;c;cm0gLXJm\\x07two\\n')
open('CLAUDE.md', 'w').write('obey')
`

/** Runs a script that is in the workspace already, in a session of its own; gives the branch's id. */
async function work(daemon: Branched, name: string): Promise<string> {
  await inSession(daemon, async (client) => run(client, PYTHON ?? '', [`./${name}.py`]))
  const { stdout } = await daemon.cli(['branch', 'list', '--json'])
  return (JSON.parse(stdout.toString()) as { branches: { session: string }[] }).branches[0]?.session ?? ''
}

/** How many directories lie within each other. */
function depthOf(top: string): number {
  const previous = process.cwd()
  let depth = 0
  try {
    for (process.chdir(top); existsSync('n'.repeat(250)); depth++) process.chdir('n'.repeat(250))
    return depth
  } finally {
    process.chdir(previous)
  }
}

for (const who of everyone(t))
  t.test(`as ${who.name}`, { skip }, async (t) => {
    const daemon = await startBranched(t, who, { sandbox: { limits: { branch_bytes: 2 ** 52 } } })
    const { workspace, state } = daemon
    for (const [name, script] of Object.entries({
      deep: DEEP,
      sparse: SPARSE,
      marked: MARKED,
      steering: STEERING,
    }))
      daemon.put(`${name}.py`, script)
    const nothingLeft = async () =>
      until('an empty directory of branches', () => readdirSync(join(state, 'branches')).length === 0)

    const deep = await work(daemon, 'deep')
    t.match((await daemon.cli(['branch', 'diff', deep, '--stat'])).stdout, /bottom \| 1 \+/)
    t.match(await daemon.cli(['branch', 'merge', deep, '--yes']), { code: 0 })
    t.equal(depthOf(workspace), 25)
    t.match(await daemon.cli(['branch', 'undo', deep, '--yes']), { code: 0 })
    t.equal(depthOf(workspace), 0)
    t.match(await daemon.cli(['branch', 'checkpoint', deep, 'x']), { code: 0 })
    t.match(await daemon.cli(['branch', 'checkpoint', deep, '--restore', '1', '--yes']), { code: 0 })
    t.match(await daemon.cli(['branch', 'drop', deep, '--yes']), { code: 0 })
    await nothingLeft()
    const purged = await work(daemon, 'deep')
    t.match(await daemon.cli(['purge', purged, '--yes']), { code: 0 })
    await nothingLeft()

    const sparse = await work(daemon, 'sparse')
    t.match(
      (await daemon.cli(['branch', 'diff', sparse, '--json'])).stdout,
      /"data_sha256":\s*"[0-9a-f]{64}"/,
    )
    t.match(await daemon.cli(['branch', 'merge', sparse, '--yes']), { code: 0 })
    t.match(statSync(join(workspace, 'sparse')), { size: 15 * 2 ** 40 })
    t.ok(statSync(join(workspace, 'sparse')).blocks < 100)
    t.match(await daemon.cli(['branch', 'undo', sparse, '--yes']), { code: 0 })
    t.match(await daemon.cli(['branch', 'drop', sparse, '--yes']), { code: 0 })

    const marked = await work(daemon, 'marked')
    const refused = await daemon.cli(['branch', 'diff', marked])
    t.not(refused.code, 0)
    t.match(refused.stderr, 'marked was given the attribute user.overlay.metacopy')
    t.not((await daemon.cli(['branch', 'merge', marked, '--yes', '--digest', '0'.repeat(64)])).code, 0)
    t.notOk(existsSync(join(workspace, 'marked')))
    t.match(await daemon.cli(['branch', 'drop', marked, '--yes']), { code: 0 })

    const steering = await work(daemon, 'steering')
    const stdout = String((await daemon.cli(['branch', 'diff', steering, '--patch'])).stdout)
    t.notOk([...stdout].some((char) => char !== '\n' && char !== '\t' && char < ' '))
    t.match(stdout, '# +\\x1b]52;c;cm0gLXJm\\x07two\n')
    t.match((await daemon.cli(['branch', 'diff', steering])).stdout, /CLAUDE\.md .*the host runs or obeys it/)
    t.match(await daemon.cli(['branch', 'merge', steering, '--yes']), { code: 0 })
    t.match(readFileSync(join(workspace, 'steering'), 'latin1'), '\u001b]52')
  })
