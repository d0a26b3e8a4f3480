/**
 * What is put on programs that run already: limits that the kernel tells, and control groups of this machine's own.
 * @module
 */
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { closeSync, openSync, readFileSync, writeFileSync } from 'node:fs'
import t, { type Test } from 'tap'
import { loadSyscalls } from '../../../src/sandbox/kernel/syscalls.node.ts'
import { openControlGroups } from '../../../src/sandbox/launcher/control-groups.node.ts'
import { createLauncherBounds } from '../../../src/sandbox/launcher/launcher-bounds.node.ts'
import { type Fence, type Nursery, SLOT, SLOT_GROUPS } from '../../../src/sandbox/launcher/launcher-memory.ts'
import { STARTING_PROCESSES } from '../../../src/sandbox/limits.ts'
import { until } from '../../integration/daemon.node.ts'

/** asm-generic/resource.h */
const RLIMIT_NOFILE = 7
const FILES = 77
const NAME = `${process.pid}`.padStart(32, 'e')
const SELF = { process: process.pid, thread: process.pid }

const fenceWith = (limits: Fence['limits']): Fence => ({
  rulesetDescriptor: undefined,
  filter: new Uint8Array(0),
  covers: undefined,
  userId: undefined,
  limits,
  limitsSecret: 0n,
})
const bounds = (nurseries: readonly Nursery[], limits: Fence['limits'] = [[RLIMIT_NOFILE, FILES]]) =>
  createLauncherBounds(loadSyscalls(), fenceWith(limits), nurseries, SELF)

/** As a request has them: the groups of its session, and the first process there. */
function request(groups: readonly number[] = [], init = -1): Int32Array {
  const words = new Int32Array(SLOT.init + 1).fill(-1)
  for (const [index, descriptor] of groups.entries()) words[SLOT_GROUPS[index] ?? 0] = descriptor
  words[SLOT.init] = init
  return words
}

/** A process that is ended, with all that it has started, when the test is. */
async function begin(
  t: Test,
  file: string,
  args: readonly string[],
): Promise<ChildProcess & { pid: number }> {
  const child = spawn(file, args, { detached: true, stdio: ['pipe', 'pipe', 'inherit'] })
  await once(child, 'spawn')
  const pid = child.pid ?? 0
  t.teardown(async () => {
    if (child.exitCode !== null || child.signalCode !== null) return
    process.kill(-pid, 'SIGKILL')
    await once(child, 'exit')
  })
  return Object.assign(child, { pid })
}

const childrenOf = (pid: number): number[] =>
  readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').split(' ').filter(Boolean).map(Number)
const filesOf = (pid: number): number =>
  Number(/^Max open files +(\d+) /m.exec(readFileSync(`/proc/${pid}/limits`, 'utf8'))?.[1])

t.test(
  'without groups the program has its limits, and what it has forked by then, and orphans',
  async (t) => {
    const init = await begin(t, 'sh', ['-c', 'sleep 60 & read go'])
    const program = await begin(t, 'sh', ['-c', '(sleep 60 & wait) & sleep 60 & read go'])
    const other = await begin(t, 'sleep', ['60'])
    await until(
      'all of them',
      () => childrenOf(init.pid).length === 1 && childrenOf(program.pid).length === 2,
    )
    const inner = childrenOf(program.pid)
    await until('a grandchild', () => inner.flatMap(childrenOf).length === 1)
    bounds([]).begin(request([], init.pid), 0, program.pid)()
    for (const pid of [program.pid, ...inner, ...inner.flatMap(childrenOf), ...childrenOf(init.pid)])
      t.equal(filesOf(pid), FILES)
    t.not(filesOf(init.pid), FILES, 'not the first process of the session')
    t.not(filesOf(other.pid), FILES, 'nor anybody else')
  },
)

t.test('a request elsewhere in the memory is read from its own place', async (t) => {
  const program = await begin(t, 'sleep', ['60'])
  const words = new Int32Array(64 + SLOT.init + 1).fill(-1)
  bounds([], [[RLIMIT_NOFILE, FILES + 1]]).begin(words, 64, program.pid)()
  t.equal(filesOf(program.pid), FILES + 1)
})

t.test('no limit, no group: nothing is done, and nobody has to be there', async (t) => {
  const program = await begin(t, 'sleep', ['60'])
  const before = filesOf(program.pid)
  bounds([], []).begin(request(), 0, program.pid)()
  t.equal(filesOf(program.pid), before)
  program.kill('SIGKILL')
  await once(program, 'exit')
  t.doesNotThrow(() => bounds([]).begin(request(), 0, program.pid)())
})

/** Groups of this machine with a place to begin in; undefined, and said so, where there are none. */
function groupsFor(t: Test) {
  const groups = openControlGroups()
  if (!groups.bounds.memory && !groups.bounds.processes)
    return void t.comment('skipped: this machine lets nobody make control groups')
  const group = groups.open(NAME, { memoryBytes: 64 * 1_048_576, processes: 48, cpuPercent: null })
  t.teardown(() => {
    group.close()
    groups.closeAll()
  })
  const nurseries = groups.nurseries.filter(({ isOfThreads }) => isOfThreads)
  if (nurseries.length === 0)
    return void t.comment('skipped: with version 2 programs begin in the group of the daemon')
  return { group, nurseries }
}

const isIn = (pid: number, name: string): boolean =>
  readFileSync(`/proc/${pid}/cgroup`, 'utf8').includes(`/sass-edge-${process.pid}/${name}`)

const pathOf = ({ directory }: Nursery): string => `/proc/self/fd/${directory}`
const beginIn = (nurseries: readonly Nursery[], pid: number): void => {
  for (const one of nurseries) writeFileSync(`${pathOf(one)}/cgroup.procs`, String(pid))
}

t.test(
  'with groups all that began where programs begin is taken to the session, with its limits, of each that starts',
  async (t) => {
    const found = groupsFor(t)
    if (found === undefined) return
    const { group, nurseries } = found
    const all = bounds(nurseries)
    const script = 'read go; sleep 60 & sleep 60 & (sleep 60 & wait) & wait'
    const programs = [await begin(t, 'sh', ['-c', script]), await begin(t, 'sh', ['-c', script])]
    for (const program of programs) {
      beginIn(nurseries, program.pid)
      program.stdin?.write('go\n')
      await until('all of them', () => childrenOf(program.pid).length === 3)
      const started = [program.pid, ...childrenOf(program.pid)]
      for (const pid of started) t.notOk(isIn(pid, NAME))
      // The second one within a second: a list of version 1 that was left open would still be the first one's.
      all.begin(request(group.descriptors), 0, program.pid)()
      for (const pid of started) {
        t.ok(isIn(pid, NAME))
        t.equal(filesOf(pid), FILES)
      }
      for (const one of nurseries)
        t.equal(readFileSync(`${pathOf(one)}/tasks`, 'utf8'), '', 'nobody is left where programs begin')
    }
  },
)

t.test('who cannot be taken out keeps nobody waiting, and may fork again afterwards', async (t) => {
  const found = groupsFor(t)
  if (found === undefined) return
  const { nurseries } = found
  const program = await begin(t, 'sleep', ['60'])
  beginIn(nurseries, program.pid)
  const nowhere = openSync('/dev/null', 'w')
  t.teardown(() => closeSync(nowhere))
  bounds(nurseries).begin(request([nowhere]), 0, program.pid)()
  t.equal(filesOf(program.pid), FILES)
  for (const one of nurseries.filter(({ forks }) => forks >= 0))
    t.equal(readFileSync(`${pathOf(one)}/pids.max`, 'utf8').trim(), String(STARTING_PROCESSES))
})

t.test('where the daemon is in that place too, only what is of the session is taken', async (t) => {
  const found = groupsFor(t)
  if (found === undefined) return
  const { group, nurseries } = found
  const program = await begin(t, 'unshare', ['--pid', '--fork', 'sh', '-c', 'sleep 60 & read go'])
  const other = await begin(t, 'sleep', ['60'])
  await until('a namespace', () => childrenOf(program.pid).flatMap(childrenOf).length === 1).catch(() => {})
  const [init] = childrenOf(program.pid)
  if (init === undefined)
    return void t.comment('skipped: this machine lets nobody make a namespace of numbers')
  const own = [init, ...childrenOf(init)]
  const shared = nurseries.map(({ directory }) => ({ directory, forks: -1, isOfThreads: false }))
  for (const pid of [...own, other.pid]) beginIn(nurseries, pid)
  bounds(shared).begin(request(group.descriptors, init), 0, init)()
  for (const pid of own) t.ok(isIn(pid, NAME) && filesOf(pid) === FILES)
  t.notOk(isIn(other.pid, NAME), 'the other is where it was')
  t.not(filesOf(other.pid), FILES)
})
