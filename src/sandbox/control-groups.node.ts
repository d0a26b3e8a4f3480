/**
 * Memory, processes and processor time of each session, counted and bounded by the kernel: a control group a session, in the hierarchy
 * of version 2 where one is delegated, or in those of version 1. Where there is none, sessions go without, and
 * `sass-edge doctor` says so.
 * Version 2 lets no group have processes and bounded children at once: the daemon steps aside into one of its own.
 * Sources: cgroups(7), Documentation/admin-guide/cgroup-v2.rst and cgroup-v1/{memory,pids}.rst,
 * Documentation/scheduler/{sched-bwc,sched-design-CFS}.rst.
 * @module
 */

import {
  closeSync,
  constants,
  existsSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  rmdirSync,
  writeFileSync,
  writeSync,
} from 'node:fs'
import { availableParallelism } from 'node:os'
import { join } from 'node:path'
import { errnoOf } from '../base/files.node.ts'

/** Beneath the daemon's own group: where it steps aside to, and what its sessions are called. */
const OWN = 'sass-edge-daemon'
const SESSION_PREFIX = 'sass-edge-'
const MODE = 0o755
/** The kernel's own period, and the least that it takes of one. */
const CPU_PERIOD_US = 100_000
const CPU_QUOTA_MIN_US = 1_000

/** `cpuPercent`: of the time of all processors together; null: no bound. */
export type GroupLimits = {
  readonly memoryBytes: number | null
  readonly processes: number | null
  readonly cpuPercent: number | null
}

export interface SessionGroup {
  /** The session's first process: while it is there, nobody takes the group for one that was left. */
  admit(pid: number): void
  /** Write ends: a process whose number is written there belongs to the session from then on. */
  readonly descriptors: readonly number[]
  /** True where a process was killed for want of memory since this was asked last. */
  tookMemoryKill(): boolean
  forbidForks(areForbidden: boolean): void
  close(): void
}

export interface ControlGroups {
  /** What can be bounded here. */
  readonly bounds: { readonly memory: boolean; readonly processes: boolean; readonly cpu: boolean }
  open(name: string, limits: GroupLimits): SessionGroup
}

type Controller = {
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
    mkdirSync(join(directory, OWN), { recursive: true, mode: MODE })
    writeFileSync(join(directory, OWN, 'cgroup.procs'), String(process.pid))
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
  const probe = join(directory, `${SESSION_PREFIX}probe-${process.pid}`)
  try {
    mkdirSync(probe, { mode: MODE })
    rmdirSync(probe)
    return true
  } catch {
    return false
  }
}

function findControllers(): Controller[] {
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
  return found
}

/** What is left of sessions of a daemon that ended without clearing up: their processes are gone with their init. */
function removeOld({ directory }: Controller): void {
  for (const name of readdirSync(directory)) {
    if (!name.startsWith(SESSION_PREFIX) || name === OWN) continue
    try {
      rmdirSync(join(directory, name))
    } catch {
      // Somebody is still in it, or it is not ours.
    }
  }
}

function memoryKills({ version }: Controller, group: string): number {
  const file = join(group, version === 2 ? 'memory.events' : 'memory.oom_control')
  try {
    return Number(/^oom_kill (\d+)$/m.exec(readFileSync(file, 'latin1'))?.[1] ?? 0)
  } catch {
    return 0
  }
}

function bound({ version, memory, processes }: Controller, group: string, limits: GroupLimits): void {
  const { memoryBytes } = limits
  if (memory && memoryBytes !== null) {
    writeFileSync(join(group, version === 2 ? 'memory.max' : 'memory.limit_in_bytes'), String(memoryBytes))
    const swap = join(group, version === 2 ? 'memory.swap.max' : 'memory.memsw.limit_in_bytes')
    // Without it a limit would only move the excess to the swap.
    if (existsSync(swap)) writeFileSync(swap, version === 2 ? '0' : String(memoryBytes))
  }
  if (processes && limits.processes !== null) writeFileSync(join(group, 'pids.max'), String(limits.processes))
}

/** A bound in each 100 ms where the kernel knows one, else a share beside the 1,024 of everybody else. */
function boundCpu({ version, cpu }: Controller, group: string, { cpuPercent }: GroupLimits): void {
  if (!cpu || cpuPercent === null) return
  const quota = Math.max(
    CPU_QUOTA_MIN_US,
    Math.floor((CPU_PERIOD_US * availableParallelism() * cpuPercent) / 100),
  )
  const write = (name: string, value: string) => writeFileSync(join(group, name), value)
  if (version === 2) {
    if (existsSync(join(group, 'cpu.max'))) write('cpu.max', `${quota} ${CPU_PERIOD_US}`)
    else write('cpu.weight', String(cpuPercent))
  } else if (existsSync(join(group, 'cpu.cfs_quota_us'))) {
    write('cpu.cfs_period_us', String(CPU_PERIOD_US))
    write('cpu.cfs_quota_us', String(quota))
  } else write('cpu.shares', String(Math.max(2, Math.floor((1_024 * cpuPercent) / 100))))
}

/** Looks for what this device lets the daemon use. */
export function openControlGroups(): ControlGroups {
  let controllers: Controller[] = []
  try {
    controllers = findControllers()
    for (const controller of controllers) removeOld(controller)
  } catch {
    // No control groups here.
  }
  /** Groups whose last process is on its way out: tried again with every other one, and by the next start. */
  const leaving = new Set<string>()
  const remove = (): void => {
    for (const group of leaving) {
      try {
        rmdirSync(group)
      } catch (cause) {
        if (errnoOf(cause) === 'EBUSY') continue
      }
      leaving.delete(group)
    }
  }
  return {
    bounds: {
      memory: controllers.some(({ memory }) => memory),
      processes: controllers.some(({ processes }) => processes),
      cpu: controllers.some(({ cpu }) => cpu),
    },
    open(name, limits) {
      // One that would bound nothing is not made.
      const used = controllers.filter(
        ({ memory, processes }) => memory || processes || limits.cpuPercent !== null,
      )
      const groups = used.flatMap((controller) => {
        const group = join(controller.directory, `${SESSION_PREFIX}${name}`)
        try {
          leaving.delete(group)
          if (!existsSync(group)) mkdirSync(group, { mode: MODE })
          bound(controller, group, limits)
          boundCpu(controller, group, limits)
          return [
            { controller, group, descriptor: openSync(join(group, 'cgroup.procs'), constants.O_WRONLY) },
          ]
        } catch {
          return []
        }
      })
      const memory = groups.find(({ controller }) => controller.memory)
      let kills = memory === undefined ? 0 : memoryKills(memory.controller, memory.group)
      return {
        descriptors: groups.map(({ descriptor }) => descriptor),
        admit(pid) {
          for (const { descriptor } of groups) {
            try {
              writeSync(descriptor, String(pid))
            } catch {
              // It has ended by now, and its session with it.
            }
          }
        },
        forbidForks(areForbidden) {
          for (const { controller, group } of groups) {
            if (!controller.processes) continue
            try {
              writeFileSync(join(group, 'pids.max'), areForbidden ? '0' : String(limits.processes ?? 'max'))
            } catch {
              // The group is gone, and with it everything that could fork.
            }
          }
        },
        tookMemoryKill() {
          if (memory === undefined) return false
          const now = memoryKills(memory.controller, memory.group)
          const isMore = now > kills
          kills = now
          return isMore
        },
        close() {
          for (const { group, descriptor } of groups) {
            closeSync(descriptor)
            leaving.add(group)
          }
          remove()
        },
      }
    },
  }
}
