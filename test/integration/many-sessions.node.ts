/**
 * Sessions made and ended, as many as wanted, and what the device has of them afterwards: nothing.
 * `npm run sessions` is the long form, ten thousand.
 * @module
 */
import { readdirSync, readFileSync, readlinkSync } from 'node:fs'
import { join } from 'node:path'
import type { Branched } from './branched.node.ts'
import { run } from './branched.node.ts'
import { sleep } from './daemon.node.ts'

/** What sessions take on a device, counted. */
export type Left = {
  readonly descriptors: number
  readonly mounts: number
  /** Children of the daemon. */
  readonly processes: number
  readonly namespaces: number
  readonly groups: number
  readonly branches: number
  readonly stage: number
  /** Objects of the kernel, by slab; undefined where only root may ask and nobody is. */
  readonly kernelMounts: number | undefined
  readonly kernelNamespaces: number | undefined
}

function children(pid: number): number {
  return readdirSync('/proc').filter((name) => {
    try {
      return (
        /^\d+$/.test(name) && readFileSync(`/proc/${name}/status`, 'latin1').includes(`\nPPid:\t${pid}\n`)
      )
    } catch {
      return false
    }
  }).length
}

function groupsOf(pid: number): number {
  const points = readFileSync('/proc/self/mountinfo', 'utf8')
    .split('\n')
    .filter((line) => line.includes(' - cgroup'))
    .map((line) => line.split(' ')[4] ?? '')
  const own = readFileSync(`/proc/${pid}/cgroup`, 'utf8')
    .split('\n')
    .map((line) => line.split(':')[2] ?? '')
  let count = 0
  for (const point of points)
    for (const path of new Set(['', ...own])) {
      try {
        const parent = join(point, path, `sass-edge-${pid}`)
        count += readdirSync(parent, { withFileTypes: true }).filter((entry) => entry.isDirectory()).length
      } catch {
        // Not in this hierarchy.
      }
    }
  return count
}

function slab(name: string): number | undefined {
  try {
    const line = readFileSync('/proc/slabinfo', 'latin1')
      .split('\n')
      .find((one) => one.startsWith(`${name} `))
    return line === undefined ? undefined : Number(line.split(/\s+/)[1])
  } catch {
    return undefined
  }
}

export function look(daemon: Branched): Left {
  const pid = daemon.pid()
  const namespaces = new Set<string>()
  for (const thread of readdirSync(`/proc/${pid}/task`))
    for (const kind of ['mnt', 'pid', 'ipc', 'net'])
      try {
        namespaces.add(readlinkSync(`/proc/${pid}/task/${thread}/ns/${kind}`))
      } catch {
        // A link to what cannot be read: it counts by its threads elsewhere.
      }
  return {
    descriptors: daemon.descriptors(),
    mounts: readFileSync(`/proc/${pid}/mountinfo`, 'utf8').split('\n').length,
    processes: children(pid),
    namespaces: namespaces.size,
    groups: groupsOf(pid),
    branches: readdirSync(join(daemon.state, 'branches')).length,
    stage: readdirSync(join(daemon.state, 'view')).length,
    kernelMounts: slab('mnt_cache'),
    kernelNamespaces: slab('pid_namespace'),
  }
}

/** Makes sessions one after the other, each with a command, and ends them. */
export async function makeSessions(daemon: Branched, count: number): Promise<void> {
  for (let number = 0; number < count; number++) {
    const client = await daemon.open()
    await run(client, 'true', [])
    await client.close()
  }
  // What ends a session goes on behind its answer.
  for (let waited = 0; waited < 100 && readdirSync(join(daemon.state, 'branches')).length > 0; waited++)
    await sleep(50)
  await sleep(500)
}
