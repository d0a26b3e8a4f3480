/**
 * Control groups of sessions, on this machine's own: what is put there is bounded, and goes with its session.
 * @module
 */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, readdirSync, readFileSync, writeSync } from 'node:fs'
import { availableParallelism } from 'node:os'
import { join } from 'node:path'
import t from 'tap'
import { openControlGroups, type SessionGroup } from '../../../src/sandbox/launcher/control-groups.node.ts'
import { until } from '../../integration/daemon.node.ts'

const NAME = `${process.pid}`.padStart(32, 'f')

/** Where hierarchies with that controller are mounted. */
const mountPoints = (controller: string): string[] =>
  readFileSync('/proc/self/mountinfo', 'utf8')
    .split('\n')
    .filter((line) => / - cgroup2? /.test(line) && (line.includes(controller) || / - cgroup2 /.test(line)))
    .map((line) => line.split(' ')[4] ?? '')

/** The group of that name of this process, at most three groups deep. */
function findGroup(point: string, name: string, depth = 0): string | undefined {
  const own = join(point, `sass-edge-${process.pid}`, name)
  if (existsSync(own)) return own
  if (depth > 3) return undefined
  return readdirSync(point, { withFileTypes: true })
    .filter((entry) => entry.isDirectory())
    .map((entry) => findGroup(join(point, entry.name), name, depth + 1))
    .find((found) => found !== undefined)
}

const listsOf = ({ entered, joined }: SessionGroup): number[] =>
  joined < 0 ? [...entered] : [...entered, joined]
const put = (group: SessionGroup, pid = 0): void => {
  for (const list of listsOf(group)) writeSync(list, String(pid))
}

t.test('a process that is put there is in it, and the group goes when it has gone', async (t) => {
  const groups = openControlGroups()
  if (!groups.bounds.memory && !groups.bounds.processes)
    return void t.comment('skipped: this machine lets nobody make control groups')
  const group = groups.open(NAME, { memoryBytes: 64 * 1_048_576, processes: 16, cpuPercent: null })
  t.ok(listsOf(group).length > 0)
  const child = spawn('sleep', ['60'])
  await once(child, 'spawn')
  put(group, child.pid)
  t.match(readFileSync(`/proc/${child.pid}/cgroup`, 'utf8'), `sass-edge-${process.pid}/${NAME}`)
  t.equal(group.tookMemoryKill(), false)
  child.kill('SIGKILL')
  await once(child, 'exit')
  group.close()
  const again = openControlGroups().open(NAME, { memoryBytes: null, processes: null, cpuPercent: null })
  t.equal(listsOf(again).length, listsOf(group).length, 'the name is free')
  again.close()
})

t.test(
  'connections of all sessions together stay below a part of what the device has for them',
  async (t) => {
    const groups = openControlGroups()
    const group = groups.open(NAME, { memoryBytes: 1 << 30, processes: null, cpuPercent: null })
    t.teardown(() => {
      group.close()
      groups.closeAll()
    })
    const file = 'memory.kmem.tcp.limit_in_bytes'
    const own = mountPoints('memory')
      .map((point) => findGroup(point, NAME))
      .find((found) => found !== undefined && existsSync(join(found, file)))
    if (own === undefined) return void t.comment('skipped: no hierarchy of version 1 counts TCP here')
    const most = Number(readFileSync('/proc/sys/net/ipv4/tcp_mem', 'latin1').split(/\s+/)[2]) * 4_096
    for (const directory of [own, join(own, '..')]) {
      const limit = Number(readFileSync(join(directory, file), 'latin1'))
      t.ok(limit > 0 && limit <= most / 4, `${limit} of ${most} bytes`)
    }
  },
)

t.test('processor time is bounded, and processes that want more are held back', async (t) => {
  const groups = openControlGroups()
  if (!groups.bounds.cpu) return void t.comment('skipped: this machine lets nobody bound processor time')
  const without = groups.open(`${NAME}0`, { memoryBytes: null, processes: null, cpuPercent: null })
  const group = groups.open(NAME, { memoryBytes: null, processes: null, cpuPercent: 5 })
  const placesOf = (name: string) => mountPoints('cpu').map((point) => findGroup(point, name) ?? '')
  const has = (path: string) => ['cpu.stat', 'cpu.shares'].some((name) => existsSync(join(path, name)))
  t.ok(placesOf(`${NAME}0`).some(has), 'without a bound it counts as one group all the same')
  const own = placesOf(NAME).find((path) => existsSync(join(path, 'cpu.stat')))
  if (own === undefined) return void t.comment('skipped: this kernel has shares alone')
  const isNew = existsSync(join(own, 'cpu.max'))
  const quota = readFileSync(join(own, isNew ? 'cpu.max' : 'cpu.cfs_quota_us'), 'utf8').split(/\s/)[0]
  t.equal(Number(quota), 5_000 * availableParallelism())
  const children = Array.from({ length: 3 }, () => spawn('sh', ['-c', 'read go; while :; do :; done']))
  for (const child of children) {
    put(group, child.pid)
    child.stdin.end('go\n')
  }
  group.follow()
  await until('they are held back', () =>
    /^nr_throttled [1-9]/m.test(readFileSync(join(own, 'cpu.stat'), 'utf8')),
  )
  for (const child of children) {
    child.kill('SIGKILL')
    await once(child, 'exit')
  }
  group.close()
  without.close()
})

t.test('without limits a group still counts, and where none can be made nobody is admitted', (t) => {
  const groups = openControlGroups()
  if (!groups.bounds.memory && !groups.bounds.processes) return void t.end()
  const none = { memoryBytes: null, processes: null, cpuPercent: null }
  t.throws(() => groups.open(`${NAME}/not/there`, none), { code: 'SANDBOX_UNAVAILABLE' })
  const group = groups.open(NAME, none)
  t.equal(group.tookMemoryKill(), false)
  group.close()
  groups.closeAll()
  t.end()
})

t.test('what a thread starts while it is there begins there, and all is gone with the daemon', async (t) => {
  const groups = openControlGroups({ memoryBytes: null, processes: 512, cpuPercent: null })
  if (!groups.bounds.processes) return void t.comment('skipped: this machine lets nobody make control groups')
  const group = groups.open(NAME, { memoryBytes: null, processes: 16, cpuPercent: null })
  // Behind those of what it enters, that for processor time: this process stays where it is.
  const homes = groups.start.homes.slice(0, group.entered.length)
  t.equal(homes.length, group.entered.length)
  if (homes.length > 0) {
    const home = readFileSync('/proc/thread-self/cgroup', 'utf8')
    for (const list of group.entered) writeSync(list, '0')
    const child = spawn('sh', ['-c', 'sleep 60 & read go'])
    for (const list of homes) writeSync(list, '0')
    t.equal(readFileSync('/proc/thread-self/cgroup', 'utf8'), home)
    await once(child, 'spawn')
    t.match(readFileSync(`/proc/${child.pid}/cgroup`, 'utf8'), `sass-edge-${process.pid}/${NAME}`)
    const children = () => readFileSync(`/proc/${child.pid}/task/${child.pid}/children`, 'utf8').trim()
    await until('its child', () => children() !== '')
    const inner = children()
    const isFollowed = (pid: string) =>
      /^\d+:(\S*,)?cpu(,\S*)?:\S*sass-edge-/m.test(readFileSync(`/proc/${pid}/cgroup`, 'utf8'))
    if (groups.bounds.cpu) {
      t.notOk(isFollowed(inner), 'its processor time is bounded when it is asked for')
      group.follow()
      group.follow()
      await until('they follow', () => isFollowed(inner) && isFollowed(String(child.pid)))
      t.notOk(isFollowed(String(process.pid)), 'and nobody else')
    }
    process.kill(Number(inner), 'SIGKILL')
    child.kill('SIGKILL')
    await once(child, 'exit')
    await until('their end', () => !existsSync(`/proc/${inner}`))
  }
  group.close()
  groups.closeAll()
  for (const point of mountPoints('')) t.equal(findGroup(point, ''), undefined, point)
})
