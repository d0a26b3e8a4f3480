/**
 * Whatever is done in a branch, the real files stay as they are, to the byte and the nanosecond: while it is there, when
 * its session ends, and when it is dropped. As many sequences of random work as SASS_DROP_SEQUENCES says, from
 * SASS_DROP_SEED on.
 * @module
 */
import { execFileSync } from 'node:child_process'
import { linkSync, mkdirSync, readdirSync, symlinkSync, utimesSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { at, treeOf } from '../sandbox/branch/made-branch.node.ts'
import { attackScript } from './attacks.node.ts'
import { everyone, give, inSession, PYTHON, run, startBranched, type Who } from './branched.node.ts'
import { until } from './daemon.node.ts'

const SEQUENCES = Number(process.env['SASS_DROP_SEQUENCES'] ?? 24)
const FIRST = Number(process.env['SASS_DROP_SEED'] ?? 1)
const STEPS = 40
/** In one branch. */
const AT_ONCE = Math.min(60, SEQUENCES)

function fill(top: string): void {
  mkdirSync(top)
  for (const name of ['a', 'b', 'c d']) {
    mkdirSync(join(top, name))
    mkdirSync(join(top, name, 'd'))
    for (const inner of ['f', 'g', 'h']) {
      writeFileSync(join(top, name, inner), `${name} ${inner}\n`.repeat(500))
      writeFileSync(join(top, name, 'd', inner), `${name} d ${inner}\n`)
    }
  }
  symlinkSync('a/f', join(top, 's'))
  writeFileSync(join(top, 'empty'), '')
  linkSync(join(top, 'a/f'), join(top, 'a/l'))
  linkSync(join(top, 'b/g'), join(top, 'm'))
  at.setAttribute(Buffer.from(join(top, 'b/f')), Buffer.from('user.x'), Buffer.from('value'))
  execFileSync('mkfifo', [join(top, 'fifo')])
  utimesSync(join(top, 'a/d'), 1_000.5, 2_000.25)
}

async function drops(t: Test, who: Who): Promise<void> {
  const daemon = await startBranched(t, who)
  const { workspace } = daemon
  const script = `import sys\nsys.argv[1:] = [__FIRST__, "${AT_ONCE}", "${STEPS}"]\n${attackScript('random_work')}`
  for (let number = 0; number < AT_ONCE; number++) fill(join(workspace, `tree-${number}`))
  let operations = 0
  for (let from = 0; from < SEQUENCES; from += AT_ONCE) {
    // The trees are the same ones each time: nothing has changed in them.
    const renamed = script
      .replace('__FIRST__', `"${FIRST + from}"`)
      .replace('"tree-%d" % seed', `"tree-%d" % (seed - ${FIRST + from})`)
    daemon.put('work.py', renamed)
    give(workspace, who)
    const before = treeOf(workspace)
    const branch = await inSession(daemon, async (client) => {
      operations += Number(await run(client, PYTHON ?? '', ['./work.py']))
      return client.sessionId
    })
    t.strictSame(treeOf(workspace), before, `from ${FIRST + from}: with the branch`)
    const dropped = await daemon.cli(['branch', 'drop', branch, '--yes'])
    t.equal(dropped.code, 0, dropped.stderr)
    t.strictSame(treeOf(workspace), before, `from ${FIRST + from}: after its drop`)
  }
  t.comment(`${operations} operations in ${SEQUENCES} sequences`)
  t.ok(operations > SEQUENCES * STEPS * 0.3)
  const branches = join(daemon.state, 'branches')
  await until('nothing of it in the state directory', () => readdirSync(branches).length === 0)
}

for (const who of everyone(t)) {
  if (PYTHON === undefined) {
    t.comment('skipped: the random work needs python3')
    break
  }
  await t.test(`a daemon of ${who.name}`, { timeout: 3_600_000 }, (t) => drops(t, who))
}
