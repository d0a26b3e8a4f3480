/**
 * The tree of processes: who is found, and that killTree leaves none.
 * @module
 */

import { existsSync, readFileSync } from 'node:fs'
import t from 'tap'
import { STDOUT } from '../../../src/ports.ts'
import { descendants, killTree } from '../../../src/sandbox/kernel/process-tree.node.ts'
import { loadSyscalls } from '../../../src/sandbox/kernel/syscalls.node.ts'
import { createSpawner } from '../../../src/sandbox/launcher/spawner.node.ts'
import { shell, start, until } from '../run-child.node.ts'

const spawner = await createSpawner()
t.teardown(() => spawner.close())

/** True where the process runs: not gone, and no zombie that only waits to be reaped. */
function alive(pid: number): boolean {
  if (!existsSync(`/proc/${pid}/stat`)) return false
  return !/^State:\s+[ZX]/m.test(readFileSync(`/proc/${pid}/status`, 'utf8'))
}

/** Starts a script that prints the numbers of its processes, `count` of them. */
async function tree(
  script: string,
  count: number,
): Promise<{ root: number; pids: number[]; running: ReturnType<typeof start> }> {
  let root = 0
  const running = start(spawner, shell(script), {
    spawned: (pid) => {
      root = pid
    },
    output(source, bytes) {
      if (source === STDOUT) text += Buffer.from(bytes).toString()
    },
  })
  let text = ''
  await until(() => text.split('\n').length > count)
  return { root, pids: text.trim().split('\n').map(Number), running }
}

t.test('killTree ends the process group, background jobs included', async (t) => {
  const { pids, running } = await tree('sleep 60 & echo $!; sleep 60 & echo $!; wait', 2)
  running.child.killTree()
  t.same((await running.outcome).status, { kind: 'signalled', signal: 9 })
  t.equal(await until(() => !pids.some(alive)), true)
})

t.test(
  'killTree finds a grandchild in another session while its parent lives, and what that started',
  async (t) => {
    const { root, pids, running } = await tree(
      `setsid sh -c 'echo $$; setsid sh -c "echo \\$\\$; sleep 60 & echo \\$!; wait" & wait' & wait`,
      3,
    )
    t.equal(new Set(pids).size, 3)
    const found = descendants(root)
    t.same(
      pids.map((pid) => found.has(pid)),
      [true, true, true],
    )
    t.equal(found.has(root), false)
    t.equal(found.has(process.pid), false)
    running.child.killTree()
    await running.outcome
    t.equal(await until(() => !pids.some(alive)), true)
  },
)

t.test('killTree finds an orphan in the session by its session', async (t) => {
  const { root, pids, running } = await tree(
    `sh -c 'set -m; sleep 60 & echo $!'; sleep 60 & echo $!; wait`,
    2,
  )
  t.same(
    pids.map((pid) => descendants(root).has(pid)),
    [true, true],
  )
  running.child.killTree()
  await running.outcome
  t.equal(await until(() => !pids.some(alive)), true)
})

t.test('killTree ends what a program left in the background after its own end', async (t) => {
  const { pids, running } = await tree('sleep 60 & echo $!', 1)
  t.same((await running.outcome).status, { kind: 'exited', code: 0 })
  t.equal(pids.every(alive), true)
  running.child.killTree()
  t.equal(await until(() => !pids.some(alive)), true)
})

t.test('a tree that forks as fast as it can is ended whole', async (t) => {
  const { running } = await tree('while :; do (sleep 5; true) & echo $!; done', 50)
  running.child.killTree()
  const { pid: root } = await running.outcome
  t.equal(await until(() => ![...descendants(root)].some(alive)), true)
})

t.test('a number that has gone to a stranger is left alone', (t) => {
  // This process stands for one that got the number of a program that has been reaped.
  t.equal(killTree(loadSyscalls(), process.pid, false), 0)
  t.equal(alive(process.pid), true)
  t.end()
})
