/**
 * Memory, processes and processor time of each session, counted and bounded by the kernel: a control group a session,
 * all of them beneath one of the daemon's that bounds them together. Where there is none, sessions go without, and
 * `sass-edge doctor` says so; where one should be there and cannot be made, nothing is started.
 *
 * A program begins where its launcher is. Of version 1 that is a group for those that are just starting, in which the
 * launcher's thread lies, of version 2 the daemon's own: whoever is found there has not been bounded yet, however it
 * was forked, and only the launcher takes anybody out (launcher-bounds.node.ts).
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
} from 'node:fs'
import { availableParallelism } from 'node:os'
import { join } from 'node:path'
import { errnoOf } from '../../base/files.node.ts'
import { SassError } from '../../errors.ts'
import { STARTING_PROCESSES } from '../limits.ts'
import {
  type Controller,
  findControllers,
  GROUP_MODE,
  GROUP_PREFIX,
  OWN_GROUP,
} from './control-hierarchies.node.ts'
import type { Nursery } from './launcher-memory.ts'

/** Of the daemon's own group: where programs begin. */
const STARTING = 'starting'
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
  /** Write ends: a process whose number is written there belongs to the session from then on. */
  readonly descriptors: readonly number[]
  /** True where a process was killed for want of memory since this was asked last. */
  tookMemoryKill(): boolean
  forbidForks(areForbidden: boolean): void
  close(): void
}

/** By a control group, or by the kernel's own count of what a user has, which root is bounded by in nothing. */
export function areProcessesBounded({ bounds }: Pick<ControlGroups, 'bounds'>): boolean {
  return bounds.processes || process.geteuid?.() !== 0
}

export interface ControlGroups {
  /** Where the launcher finds who is not bounded yet; none where nobody can be bounded. */
  readonly nurseries: readonly Nursery[]
  /** The launcher's thread begins there from now on, and what it starts. */
  admitLauncher(thread: number): void
  /** Removes what is left, when the launcher has ended. */
  closeAll(): void
  /** What can be bounded here. */
  readonly bounds: { readonly memory: boolean; readonly processes: boolean; readonly cpu: boolean }
  /** @throws SassError SANDBOX_UNAVAILABLE where the group cannot be made */
  open(name: string, limits: GroupLimits): SessionGroup
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
    // Version 1 counts what waits in TCP sockets by itself.
    const sockets = join(group, 'memory.kmem.tcp.limit_in_bytes')
    if (version === 1 && existsSync(sockets)) writeFileSync(sockets, String(memoryBytes))
  }
  if (processes && limits.processes !== null) writeFileSync(join(group, 'pids.max'), String(limits.processes))
}

/**
 * A bound in each 100 ms where the kernel knows one, else a share beside the 1,024 of everybody else. Without either the
 * group counts as one beside the daemon, however many processes are in it: a thousand would leave it a thousandth.
 */
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

/** What daemons that ended without clearing up have left: their processes are gone with their inits. */
function removeOld({ directory }: Controller): void {
  for (const name of readdirSync(directory)) {
    if (!name.startsWith(GROUP_PREFIX) || name === OWN_GROUP) continue
    const owner = Number(name.slice(GROUP_PREFIX.length))
    if (Number.isInteger(owner) && existsSync(`/proc/${owner}`)) continue
    try {
      const group = join(directory, name)
      for (const inner of readdirSync(group, { withFileTypes: true }))
        if (inner.isDirectory()) rmdirSync(join(group, inner.name))
      rmdirSync(group)
    } catch {
      // Somebody is still in it, or it is not ours.
    }
  }
}

/** The daemon's own group in a hierarchy, which bounds all sessions together. */
function makeParent(controller: Controller, total: GroupLimits | undefined): string {
  const parent = join(controller.directory, `${GROUP_PREFIX}${process.pid}`)
  if (existsSync(parent)) return parent
  mkdirSync(parent, { mode: GROUP_MODE })
  const isHierarchical = join(parent, 'memory.use_hierarchy')
  if (controller.version === 1 && existsSync(isHierarchical)) writeFileSync(isHierarchical, '1')
  if (total !== undefined) bound(controller, parent, total)
  if (controller.version === 2) {
    const names = Object.entries({
      memory: controller.memory,
      pids: controller.processes,
      cpu: controller.cpu,
    })
    writeFileSync(
      join(parent, 'cgroup.subtree_control'),
      names.flatMap(([name, has]) => (has ? [`+${name}`] : [])).join(' '),
    )
  }
  return parent
}

/** Where programs of the launcher begin in a hierarchy. */
function openNursery(controller: Controller, parent: string): Nursery | undefined {
  const { directory, version, memory, processes } = controller
  if (!memory && !processes) return undefined
  const openGroup = (path: string) => openSync(path, constants.O_RDONLY | constants.O_DIRECTORY)
  if (version === 2)
    return { directory: openGroup(join(directory, OWN_GROUP)), forks: -1, isOfThreads: false }
  const group = join(parent, STARTING)
  if (!existsSync(group)) mkdirSync(group, { mode: GROUP_MODE })
  if (processes) writeFileSync(join(group, 'pids.max'), String(STARTING_PROCESSES))
  return {
    directory: openGroup(group),
    forks: processes ? openSync(join(group, 'pids.max'), constants.O_WRONLY) : -1,
    isOfThreads: true,
  }
}

function notBounded(cause: unknown): SassError {
  return new SassError(
    'SANDBOX_UNAVAILABLE',
    `The control group of this session could not be made (${cause instanceof Error ? cause.message : String(cause)}), so nothing would bound its commands and nothing was started; run sass-edge doctor on this device.`,
    {},
    cause,
  )
}

/** Looks for what this device lets the daemon use. `total`: bounds of all sessions together. */
export function openControlGroups(total?: GroupLimits): ControlGroups {
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
  const parents = new Map<Controller, string>()
  const parentOf = (controller: Controller): string => {
    const parent = parents.get(controller) ?? makeParent(controller, total)
    parents.set(controller, parent)
    return parent
  }
  let nurseries: readonly Nursery[] | undefined
  const groups: ControlGroups = {
    get nurseries() {
      nurseries ??= controllers.flatMap((controller) => openNursery(controller, parentOf(controller)) ?? [])
      return nurseries
    },
    admitLauncher(thread) {
      for (const { directory, isOfThreads } of groups.nurseries)
        if (isOfThreads) writeFileSync(`/proc/self/fd/${directory}/tasks`, String(thread))
    },
    closeAll() {
      for (const { directory, forks } of nurseries ?? [])
        for (const one of [directory, forks]) if (one >= 0) closeSync(one)
      nurseries = []
      remove()
      for (const parent of parents.values()) {
        for (const path of [join(parent, STARTING), parent]) {
          try {
            rmdirSync(path)
          } catch {
            // Somebody is on the way out: the next start clears it away.
          }
        }
      }
      parents.clear()
    },
    bounds: {
      memory: controllers.some(({ memory }) => memory),
      processes: controllers.some(({ processes }) => processes),
      cpu: controllers.some(({ cpu }) => cpu),
    },
    open(name, limits) {
      const made: { controller: Controller; group: string; descriptor: number }[] = []
      try {
        for (const controller of controllers) {
          const group = join(parentOf(controller), name)
          leaving.delete(group)
          if (!existsSync(group)) mkdirSync(group, { mode: GROUP_MODE })
          bound(controller, group, limits)
          boundCpu(controller, group, limits)
          const descriptor = openSync(join(group, 'cgroup.procs'), constants.O_WRONLY)
          made.push({ controller, group, descriptor })
        }
      } catch (cause) {
        for (const { descriptor } of made) closeSync(descriptor)
        throw notBounded(cause)
      }
      const memory = made.find(({ controller }) => controller.memory)
      let kills = memory === undefined ? 0 : memoryKills(memory.controller, memory.group)
      return {
        descriptors: made.map(({ descriptor }) => descriptor),
        forbidForks(areForbidden) {
          for (const { controller, group } of made) {
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
          for (const { group, descriptor } of made) {
            closeSync(descriptor)
            leaving.add(group)
          }
          remove()
        },
      }
    },
  }
  return groups
}
