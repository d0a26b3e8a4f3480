/**
 * What is put on programs that run already: limits that the kernel tells, and control groups of this machine's own.
 * @module
 */
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { closeSync, constants, openSync, readFileSync, readlinkSync, rmdirSync, writeFileSync } from 'node:fs'
import t, { type Test } from 'tap'
import { loadSyscalls } from '../../../src/sandbox/kernel/syscalls.node.ts'
import { openControlGroups, type SessionGroup } from '../../../src/sandbox/launcher/control-groups.node.ts'
import { createLauncherBounds } from '../../../src/sandbox/launcher/launcher-bounds.node.ts'
import {
  type Fence,
  type GroupStart,
  NO_GROUPS,
  SLOT,
  SLOT_ENTERED,
  SLOT_JOINED,
} from '../../../src/sandbox/launcher/launcher-memory.ts'
import { until } from '../../integration/daemon.node.ts'

/** asm-generic/resource.h */
const RLIMIT_NOFILE = 7
const FILES = 77
const NAME = `${process.pid}`.padStart(32, 'e')

const fenceWith = (limits: Fence['limits']): Fence => ({
  rulesetDescriptor: undefined,
  filter: new Uint8Array(0),
  covers: undefined,
  userId: undefined,
  limits,
  limitsSecret: 0n,
})
const bounds = (start: GroupStart = NO_GROUPS, limits: Fence['limits'] = [[RLIMIT_NOFILE, FILES]]) =>
  createLauncherBounds(loadSyscalls(), fenceWith(limits), start, process.pid)

type Groups = Pick<SessionGroup, 'entered' | 'directory' | 'processes' | 'joined'>
const WITHOUT: Groups = { entered: [], directory: -1, processes: -1, joined: -1 }

/** As a request has them: the groups of its session, and the first process there. */
function request({ entered, directory, processes, joined }: Groups = WITHOUT, init = -1): Int32Array {
  const words = new Int32Array(SLOT.groupProcesses + 1).fill(-1)
  for (const [index, descriptor] of entered.entries()) words[SLOT_ENTERED[index] ?? 0] = descriptor
  words[SLOT_JOINED] = joined
  words[SLOT.groupDirectory] = directory
  words[SLOT.groupProcesses] = processes
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
    bounds().begin(request(WITHOUT, init.pid), 0, program.pid)()
    for (const pid of [program.pid, ...inner, ...inner.flatMap(childrenOf), ...childrenOf(init.pid)])
      t.equal(filesOf(pid), FILES)
    t.not(filesOf(init.pid), FILES, 'not the first process of the session')
    t.not(filesOf(other.pid), FILES, 'nor anybody else')
  },
)

t.test(
  'without groups whoever a look has missed is met by a later one, and who has less keeps it',
  async (t) => {
    const init = await begin(t, 'sh', ['-c', 'read go; (ulimit -Sn 20; exec sleep 60) & sleep 60 & read go'])
    const program = await begin(t, 'sleep', ['60'])
    const all = bounds()
    t.equal(all.lookAgain(), -1, 'nobody is started yet')
    all.begin(request(WITHOUT, init.pid), 0, program.pid)()
    init.stdin?.write('go\n')
    const named = () =>
      childrenOf(init.pid).filter((pid) => readFileSync(`/proc/${pid}/comm`, 'latin1') === 'sleep\n')
    await until('both', () => named().length === 2)
    const late = named()
    t.ok(late.every((pid) => filesOf(pid) !== FILES))
    await until('the last look', () => all.lookAgain() < 0)
    t.strictSame(late.map(filesOf).sort(), [20, FILES])
  },
)

t.test('without groups the next start there does not take an earlier one out of sight', async (t) => {
  const init = await begin(t, 'sleep', ['60'])
  const first = await begin(t, 'sh', ['-c', 'sleep 60 & read go'])
  const second = await begin(t, 'sleep', ['60'])
  await until('a fork', () => childrenOf(first.pid).length === 1)
  const late = childrenOf(first.pid)
  const syscalls = loadSyscalls()
  // The first look of each misses everybody.
  let isBlind = true
  const byNumber: typeof syscalls.byNumber = (name, ...args) =>
    isBlind && name === 'prlimit64' ? 0 : syscalls.byNumber(name, ...args)
  const limits: Fence['limits'] = [[RLIMIT_NOFILE, FILES]]
  const all = createLauncherBounds({ ...syscalls, byNumber }, fenceWith(limits), NO_GROUPS, process.pid)
  for (const { pid } of [first, second]) all.begin(request(WITHOUT, init.pid), 0, pid)()
  isBlind = false
  t.ok(late.every((pid) => filesOf(pid) !== FILES))
  await until('the last look', () => all.lookAgain() < 0)
  t.strictSame(late.map(filesOf), [FILES])
})

t.test('a request elsewhere in the memory is read from its own place', async (t) => {
  const program = await begin(t, 'sleep', ['60'])
  const words = new Int32Array(64 + SLOT.groupProcesses + 1).fill(-1)
  bounds(NO_GROUPS, [[RLIMIT_NOFILE, FILES + 1]]).begin(words, 64, program.pid)()
  t.equal(filesOf(program.pid), FILES + 1)
})

t.test('no limit, no group: nothing is done, and nobody has to be there', async (t) => {
  const program = await begin(t, 'sleep', ['60'])
  const before = filesOf(program.pid)
  bounds(NO_GROUPS, []).begin(request(), 0, program.pid)()
  t.equal(filesOf(program.pid), before)
  program.kill('SIGKILL')
  await once(program, 'exit')
  t.doesNotThrow(() => bounds().begin(request(), 0, program.pid)())
})

/** Without a home for processor time: this process stays where it is. */
const startOf = ({ homes, nursery }: GroupStart, { entered }: Groups): GroupStart => ({
  homes: homes.slice(0, entered.length),
  nursery,
})

/** Groups of this machine that a thread can enter; undefined, and said so, where there are none. */
function groupsFor(t: Test) {
  const groups = openControlGroups()
  if (!groups.bounds.memory && !groups.bounds.processes)
    return void t.comment('skipped: this machine lets nobody make control groups')
  const group = groups.open(NAME, { memoryBytes: 64 * 1_048_576, processes: 48, cpuPercent: null })
  t.teardown(() => {
    group.close()
    groups.closeAll()
  })
  if (group.entered.length === 0)
    return void t.comment('skipped: with version 2 programs begin in the group of the daemon')
  return { group, start: startOf(groups.start, group) }
}

const isIn = (pid: number | 'self', name: string): boolean =>
  readFileSync(pid === 'self' ? '/proc/thread-self/cgroup' : `/proc/${pid}/cgroup`, 'utf8').includes(
    `/sass-edge-${process.pid}/${name}`,
  )

/** A program that begins in the groups of the request, with what it forks before anything else is put on it. */
async function beginIn(t: Test, start: GroupStart, words: Int32Array, script: string) {
  const all = bounds(start)
  t.equal(all.enter(words, 0), 0)
  t.ok(isIn('self', NAME))
  const beginning = begin(t, 'sh', ['-c', script])
  all.leave()
  t.notOk(isIn('self', NAME))
  return { all, program: await beginning }
}

t.test(
  'a program begins in the groups of its session, and what it has forked gets its limits too',
  async (t) => {
    const found = groupsFor(t)
    if (found === undefined) return
    const { group, start } = found
    const words = request(group)
    // The second one within a second: a list of version 1 that was left open would still be the first one's.
    for (let turn = 0; turn < 2; turn++) {
      const { all, program } = await beginIn(
        t,
        start,
        words,
        'sleep 60 & sleep 60 & (sleep 60 & wait) & wait',
      )
      await until('all of them', () => childrenOf(program.pid).length === 3)
      const started = [program.pid, ...childrenOf(program.pid)]
      for (const pid of started) t.ok(isIn(pid, NAME))
      all.begin(words, 0, program.pid)()
      for (const pid of started) t.equal(filesOf(pid), FILES)
    }
  },
)

t.test('who has less already keeps it, and a script that begins many at once can', async (t) => {
  const found = groupsFor(t)
  if (found === undefined) return
  const { group, start } = found
  const words = request(group)
  const less = await beginIn(t, start, words, `ulimit -n ${FILES - 7}; echo; read go`)
  await once(less.program.stdout ?? t, 'data')
  const many = 30
  const script = `i=0; while [ $i -lt ${many} ]; do sleep 60 & i=$((i+1)); done; wait`
  const { all, program } = await beginIn(t, start, words, script)
  await until('all of them', () => childrenOf(program.pid).length === many)
  all.begin(words, 0, program.pid)()
  for (const pid of childrenOf(program.pid)) t.equal(filesOf(pid), FILES)
  t.equal(filesOf(less.program.pid), FILES - 7)
})

t.test('whoever comes to light after the first look has its limits by the second one', async (t) => {
  const found = groupsFor(t)
  if (found === undefined) return
  const { group, start } = found
  const words = request(group)
  const { all, program } = await beginIn(t, start, words, 'read go')
  t.equal(all.lookAgain(), -1, 'nobody is started yet')
  all.begin(words, 0, program.pid)()
  t.equal(filesOf(program.pid), FILES)
  // As a fork does that was under way: it is in the groups, with the limits that its parent had before.
  const late = await beginIn(t, start, words, 'read go')
  t.not(filesOf(late.program.pid), FILES)
  await until('the second look', () => all.lookAgain() < 0)
  t.equal(filesOf(late.program.pid), FILES)
})

t.test('a group that is gone starts nothing, and the thread is at home again', async (t) => {
  const groups = openControlGroups()
  const group = groups.open(`${NAME}0`, { memoryBytes: null, processes: null, cpuPercent: null })
  t.teardown(() => {
    group.close()
    groups.closeAll()
  })
  if (group.entered.length === 0) return void t.comment('skipped: no group here can be entered')
  for (const list of group.entered) rmdirSync(readlinkSync(`/proc/self/fd/${list}`).replace(/\/tasks$/, ''))
  const home = readFileSync('/proc/thread-self/cgroup', 'utf8')
  const all = bounds(startOf(groups.start, group))
  t.equal(all.enter(request(group), 0), 19, 'ENODEV')
  t.equal(readFileSync('/proc/thread-self/cgroup', 'utf8'), home)
  t.equal(all.enter(request(), 0), 0)
})

t.test('of version 2 only what is of the session is taken out of the group of the daemon', async (t) => {
  const found = groupsFor(t)
  if (found === undefined) return
  const { group } = found
  // Two groups of version 1 in the place of those: they are listed and joined alike.
  const groups = openControlGroups()
  const home = groups.open(`${NAME}1`, { memoryBytes: null, processes: null, cpuPercent: null })
  t.teardown(() => {
    home.close()
    groups.closeAll()
  })
  const joined = openSync(`/proc/self/fd/${group.directory}/cgroup.procs`, constants.O_WRONLY)
  t.teardown(() => closeSync(joined))
  const program = await begin(t, 'unshare', ['--pid', '--fork', 'sh', '-c', 'sleep 60 & read go'])
  const other = await begin(t, 'sleep', ['60'])
  await until('a namespace', () => childrenOf(program.pid).flatMap(childrenOf).length === 1).catch(() => {})
  const [init] = childrenOf(program.pid)
  if (init === undefined)
    return void t.comment('skipped: this machine lets nobody make a namespace of numbers')
  const own = [init, ...childrenOf(init)]
  for (const pid of [...own, other.pid])
    writeFileSync(`/proc/self/fd/${home.directory}/cgroup.procs`, String(pid))
  const start = { homes: [], nursery: home.directory }
  bounds(start).begin(request({ ...WITHOUT, joined }, init), 0, init)()
  for (const pid of own) t.ok(isIn(pid, `${NAME}\n`) && filesOf(pid) === FILES)
  t.ok(isIn(other.pid, `${NAME}1`), 'the other is where it was')
  t.not(filesOf(other.pid), FILES)
})
