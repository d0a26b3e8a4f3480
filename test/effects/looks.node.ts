/**
 * What a world is, looked at from outside: every file that was changed in it, its disks, mounts, name and addresses,
 * settings of the kernel, the clock, processes that stand there to be hurt, shared memory and queues, the daemon's keys
 * and configuration. Two looks are compared; what differs was done to the device.
 * Sources: stat(2) (a change time cannot be set), proc(5), sysvipc(7), mq_overview(7).
 * @module
 */
import { lstatSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { World } from './world.node.ts'

/** Differs by itself, or whoever counts there is not of the world. */
const UNSTEADY =
  /^kernel\/(?:random\/|ns_last_pid|pty\/nr|perf_|sched_|timer_migration|tainted|keys\/|seccomp\/|cad_pid|hostname|domainname)|^fs\/(?:dentry-state|file-nr|inode-nr|inode-state|aio-nr|quota\/|binfmt_misc|mqueue\/)|^vm\/(?:stat_refresh|compact_memory|drop_caches)|^(?:net|user)\//
/** Everything else is read every time: some thousand small files. */
const SETTINGS = '/proc/sys'
const CLOCK_STEP_MS = 5_000
const OF_DAEMON = [
  'sass.edge.json',
  'keys',
  'state/tls.crt',
  'state/tls.key',
  'tls.crt',
  'tls.key',
  'workspace',
]

export type Look = {
  readonly files: ReadonlyMap<string, string>
  readonly settings: ReadonlyMap<string, string>
  /** Wall clock less monotonic clock. */
  readonly clockMs: number
  readonly inside: string
  readonly fence: { readonly devices: number; readonly settings: number }
}

/** A process of the world that must live on as it is. */
/** `nice`: what it began with, which is that of whoever measures. */
export type Sentinel = {
  readonly pid: number
  readonly start: string
  readonly name: string
  readonly nice: string
}

function walk(directory: string, found: Map<string, string>, root = directory): void {
  for (const entry of readdirSync(directory, { withFileTypes: true })) {
    const path = join(directory, entry.name)
    try {
      const { mode, uid, gid, size, ino, ctimeNs, rdev } = lstatSync(path, { bigint: true })
      // A directory's time tells no more than its entries do, and a copy up of one above a file is no change of it.
      const isDirectory = entry.isDirectory()
      found.set(
        path.slice(root.length),
        `${mode} ${uid} ${gid} ${rdev} ${isDirectory ? '' : `${size} ${ino} ${ctimeNs}`}`,
      )
      if (isDirectory) walk(path, found, root)
    } catch {
      found.set(path.slice(root.length), 'gone while it was looked at')
    }
  }
}

function walkSettings(directory: string, found: Map<string, string>): void {
  for (const entry of readdirSync(directory, { withFileTypes: true })) {
    const path = join(directory, entry.name)
    const name = path.slice(SETTINGS.length + 1)
    if (UNSTEADY.test(entry.isDirectory() ? `${name}/` : name)) continue
    if (entry.isDirectory()) {
      walkSettings(path, found)
      continue
    }
    try {
      found.set(name, readFileSync(path, 'latin1'))
    } catch {
      // Can only be written.
    }
  }
}

/** What only the world itself knows, in one program of it. */
const INSIDE = `hostname; cat /proc/sys/kernel/domainname
cut -d' ' -f2,3,4 /proc/1/mounts
ip -o addr | sed 's/valid_lft.*//; s/ tentative//'; ip route; ip -6 route | grep -v ^fe80 | sed 's/ expires.*//'
cat /proc/sysvipc/shm /proc/sysvipc/msg /proc/sysvipc/sem
ls -l /dev/mqueue /dev/shm
grep -rs . /proc/sys/net --exclude-dir=neigh --exclude-dir=conf --exclude=nf_conntrack_count
`

/** `watched`: directories outside that are the world's. */
export async function look(world: World, watched: readonly string[]): Promise<Look> {
  const files = new Map<string, string>()
  for (const directory of watched) walk(directory, files, directory)
  for (const name of OF_DAEMON) {
    const path = join(world.edge, '.sass-edge', name)
    try {
      if (lstatSync(path).isDirectory()) walk(path, files, world.edge)
      else files.set(path.slice(world.edge.length), String(lstatSync(path, { bigint: true }).ctimeNs))
    } catch {
      files.set(path.slice(world.edge.length), 'is not there')
    }
  }
  const settings = new Map<string, string>()
  walkSettings(SETTINGS, settings)
  const inside = await world.run(['sh', '-c', INSIDE])
  return {
    files,
    settings,
    clockMs: Date.now() - performance.now(),
    inside: inside.stdout.toString(),
    fence: world.fence.reached(),
  }
}

function differences(
  kind: string,
  before: ReadonlyMap<string, string>,
  after: ReadonlyMap<string, string>,
): string[] {
  const found: string[] = []
  for (const [name, value] of after) {
    const was = before.get(name)
    if (was === undefined) found.push(`${kind} ${name} is new`)
    else if (was !== value) found.push(`${kind} ${name} was changed`)
  }
  for (const name of before.keys()) if (!after.has(name)) found.push(`${kind} ${name} is gone`)
  return found
}

/** What is another than it was, each in some words. */
export function changes(before: Look, after: Look): readonly string[] {
  const found = [
    ...differences('file', before.files, after.files),
    ...differences('setting', before.settings, after.settings),
  ]
  if (Math.abs(after.clockMs - before.clockMs) > CLOCK_STEP_MS) found.push('the clock was set')
  const were = before.inside.split('\n')
  const are = after.inside.split('\n')
  for (const line of are.filter((one) => !were.includes(one))) found.push(`now: ${line}`)
  for (const line of were.filter((one) => !are.includes(one))) found.push(`no more: ${line}`)
  if (after.fence.devices > before.fence.devices) found.push('a device of the machine was wanted')
  if (after.fence.settings > before.fence.settings) found.push('a setting of the machine was to be written')
  return found
}

/** Name, state and start of a process as its stat(5) line has them; its state is stopped, dead or neither. */
function status(pid: number): { name: string; start: string; state: string; nice: string } | undefined {
  try {
    const [, name = '', rest = ''] =
      /^\d+ \((.*)\) (.*)$/s.exec(readFileSync(`/proc/${pid}/stat`, 'latin1')) ?? []
    const fields = rest.split(' ')
    return { name, start: fields[19] ?? '', state: fields[0] ?? '', nice: fields[16] ?? '' }
  } catch {
    return undefined
  }
}

/** The sentinel that `pid` outside is. */
export function sentinelAt(pid: number, name: string): Sentinel {
  const { start = '', nice = '' } = status(pid) ?? {}
  return { pid, name, start, nice }
}

/** What became of those that were hurt. */
export function hurt(sentinels: readonly Sentinel[]): readonly string[] {
  return sentinels.flatMap(({ pid, start, name, nice }) => {
    const now = status(pid)
    if (now === undefined || now.start !== start || now.state === 'Z') return [`${name} is dead`]
    if (now.state === 'T') return [`${name} is stopped`]
    return now.nice === nice ? [] : [`${name} has another priority`]
  })
}
