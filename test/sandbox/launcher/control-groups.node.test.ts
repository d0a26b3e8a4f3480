/**
 * Control groups of sessions, on this machine's own: what is put there is bounded, and goes with its session.
 * @module
 */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, readFileSync, readlinkSync, writeSync } from 'node:fs'
import { availableParallelism } from 'node:os'
import { dirname, join } from 'node:path'
import t from 'tap'
import { openControlGroups } from '../../../src/sandbox/launcher/control-groups.node.ts'
import { until } from '../../integration/daemon.node.ts'

const NAME = `${process.pid}`.padStart(32, 'f')

t.test('a process that is put there is in it, and the group goes when it has gone', async (t) => {
  const groups = openControlGroups()
  if (!groups.bounds.memory && !groups.bounds.processes)
    return void t.comment('skipped: this machine lets nobody make control groups')
  const group = groups.open(NAME, { memoryBytes: 64 * 1_048_576, processes: 16, cpuPercent: null })
  t.ok(group.descriptors.length > 0)
  const child = spawn('sleep', ['60'])
  await once(child, 'spawn')
  for (const descriptor of group.descriptors) writeSync(descriptor, String(child.pid))
  t.match(readFileSync(`/proc/${child.pid}/cgroup`, 'utf8'), `sass-edge-${process.pid}/${NAME}`)
  t.equal(group.tookMemoryKill(), false)
  child.kill('SIGKILL')
  await once(child, 'exit')
  group.close()
  const again = openControlGroups().open(NAME, { memoryBytes: null, processes: null, cpuPercent: null })
  t.equal(again.descriptors.length, group.descriptors.length, 'the name is free')
  again.close()
})

t.test('processor time is bounded, and processes that want more are held back', async (t) => {
  const groups = openControlGroups()
  if (!groups.bounds.cpu) return void t.comment('skipped: this machine lets nobody bound processor time')
  const without = groups.open(`${NAME}0`, { memoryBytes: null, processes: null, cpuPercent: null })
  const group = groups.open(NAME, { memoryBytes: null, processes: null, cpuPercent: 5 })
  const placesOf = ({ descriptors }: typeof group) =>
    descriptors.map((one) => dirname(readlinkSync(`/proc/self/fd/${one}`)))
  const has = (path: string) => ['cpu.stat', 'cpu.shares'].some((name) => existsSync(join(path, name)))
  t.ok(placesOf(without).some(has), 'without a bound it counts as one group all the same')
  const own = placesOf(group).find((path) => existsSync(join(path, 'cpu.stat')))
  if (own === undefined) return void t.comment('skipped: this kernel has shares alone')
  const isNew = existsSync(join(own, 'cpu.max'))
  const quota = readFileSync(join(own, isNew ? 'cpu.max' : 'cpu.cfs_quota_us'), 'utf8').split(/\s/)[0]
  t.equal(Number(quota), 5_000 * availableParallelism())
  const children = Array.from({ length: 3 }, () => spawn('sh', ['-c', 'read go; while :; do :; done']))
  for (const child of children) {
    for (const descriptor of group.descriptors) writeSync(descriptor, String(child.pid))
    child.stdin.end('go\n')
  }
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

t.test('what starts is found where it begins, and all is gone with the daemon', async (t) => {
  const groups = openControlGroups({ memoryBytes: null, processes: 512, cpuPercent: null })
  if (!groups.bounds.processes) return void t.comment('skipped: this machine lets nobody make control groups')
  const nursery = groups.nurseries.find(({ forks }) => forks >= 0)
  t.ok(nursery !== undefined || groups.nurseries.length === 0)
  const group = groups.open(NAME, { memoryBytes: null, processes: 16, cpuPercent: null })
  t.ok(group.descriptors.length > 0)
  group.close()
  groups.closeAll()
  const own = readFileSync('/proc/self/mountinfo', 'utf8')
    .split('\n')
    .filter((line) => / - cgroup /.test(line))
    .map((line) => line.split(' ')[4] ?? '')
  for (const point of own) t.notOk(existsSync(`${point}/sass-edge-${process.pid}`), point)
})
