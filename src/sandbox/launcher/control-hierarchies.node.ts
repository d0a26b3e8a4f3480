/**
 * The hierarchies of control groups that this device lets the daemon use: version 2 where one is delegated, or those of
 * version 1. Version 2 lets no group have processes and bounded children at once: the daemon steps aside into one of its
 * own.
 * Sources: cgroups(7), Documentation/admin-guide/cgroup-v2.rst and cgroup-v1/{memory,pids}.rst.
 * @module
 */

import { existsSync, mkdirSync, readFileSync, rmdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

/** Beneath the daemon's own group: where it steps aside to, and what everything of it begins with. */
export const OWN_GROUP = 'sass-edge-daemon'
export const GROUP_PREFIX = 'sass-edge-'
export const GROUP_MODE = 0o755

export type Controller = {
  readonly directory: string
  readonly version: 1 | 2
  readonly memory: boolean
  readonly processes: boolean
  readonly cpu: boolean
}

/** `[mount point, type, super options]` of every control group file system, from mountinfo: proc_pid_mountinfo(5). */
function mounts(): { point: string; type: string; options: string[] }[] {
  return readFileSync('/proc/self/mountinfo', 'utf8')
    .split('\n')
    .flatMap((line) => {
      const [before = '', after = ''] = line.split(' - ')
      const [type = '', , options = ''] = after.split(' ')
      const point = before.split(' ')[4]
      return type.startsWith('cgroup') && point !== undefined
        ? [{ point, type, options: options.split(',') }]
        : []
    })
}

/** The daemon's own group in each hierarchy: `ID:CONTROLLERS:PATH`, version 2 without controllers. */
function ownPaths(): Map<string, string> {
  const paths = new Map<string, string>()
  for (const line of readFileSync('/proc/self/cgroup', 'utf8').split('\n')) {
    const [, controllers, path] = /^\d+:([^:]*):(.*)$/.exec(line) ?? []
    if (controllers === undefined || path === undefined) continue
    for (const name of controllers.split(',')) paths.set(name, path)
  }
  return paths
}

/** Makes room for bounded groups beneath the daemon's own one of version 2. Undefined where it may not. */
function delegated(directory: string): Controller | undefined {
  try {
    const available = readFileSync(join(directory, 'cgroup.controllers'), 'utf8').trim().split(' ')
    const wanted = ['memory', 'pids', 'cpu'].filter((name) => available.includes(name))
    if (wanted.length === 0) return undefined
    mkdirSync(join(directory, OWN_GROUP), { recursive: true, mode: GROUP_MODE })
    writeFileSync(join(directory, OWN_GROUP, 'cgroup.procs'), String(process.pid))
    writeFileSync(join(directory, 'cgroup.subtree_control'), wanted.map((name) => `+${name}`).join(' '))
    return {
      ...{ directory, version: 2, memory: wanted.includes('memory') },
      ...{ processes: wanted.includes('pids'), cpu: wanted.includes('cpu') },
    }
  } catch {
    return undefined
  }
}

function isWritable(directory: string): boolean {
  const probe = join(directory, `${GROUP_PREFIX}probe-${process.pid}`)
  try {
    mkdirSync(probe, { mode: GROUP_MODE })
    rmdirSync(probe)
    return true
  } catch {
    return false
  }
}

/** In the order in which they are joined: those in which programs begin come last. */
export function findControllers(): Controller[] {
  const own = ownPaths()
  const found: Controller[] = []
  const pathIn = (point: string, name: string): string => {
    const path = join(point, own.get(name) ?? '')
    return existsSync(path) ? path : point
  }
  for (const { point, type, options } of mounts()) {
    if (type === 'cgroup2') {
      const controller = delegated(pathIn(point, ''))
      if (controller !== undefined) found.push(controller)
      continue
    }
    for (const name of ['memory', 'pids', 'cpu'] as const) {
      if (!options.includes(name)) continue
      const directory = pathIn(point, name)
      if (isWritable(directory))
        found.push({
          ...{ directory, version: 1, memory: name === 'memory' },
          ...{ processes: name === 'pids', cpu: name === 'cpu' },
        })
    }
  }
  return found.sort(
    (one, other) => Number(one.memory || one.processes) - Number(other.memory || other.processes),
  )
}
