/**
 * Memory, processes and processor time of each session, counted and bounded by the kernel: a control group a session,
 * all of them beneath one of the daemon's that bounds them together. Where there is none, sessions go without, and
 * `sass-edge doctor` says so; where one should be there and cannot be made, nothing is started.
 *
 * A program begins where its launcher is. Of version 1 the launcher's thread is in the session's groups for memory and
 * processes while it starts one there; of version 2 in the daemon's own group, and whoever is found there has not been
 * bounded yet, however it was forked, and only the launcher takes anybody out (launcher-bounds.node.ts). A group for
 * processor time of version 1 would hold up the launcher with its own bound: programs begin in that of all sessions, as
 * one beside the daemon, and what lives long enough is put into that of its own session later, by threads that are in
 * neither.
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
import { readFile, writeFile } from 'node:fs/promises'
import { availableParallelism } from 'node:os'
import { join } from 'node:path'
import { errnoOf } from '../../base/files.node.ts'
import { SassError } from '../../errors.ts'
import type { SpawnGroup } from '../../ports.ts'
import { STARTING_ROUNDS } from '../limits.ts'
import {
  type Controller,
  findControllers,
  GROUP_MODE,
  GROUP_PREFIX,
  OWN_GROUP,
} from './control-hierarchies.node.ts'
import type { GroupStart } from './launcher-memory.ts'

/** The kernel's own period, and the least that it takes of one. */
const CPU_PERIOD_US = 100_000
const CPU_QUOTA_MIN_US = 1_000
/** tcp(7), tcp_mem: pages, of whatever size. Of the most that the device lets all take, sessions get one in so many. */
const SMALLEST_PAGE_BYTES = 4_096
const TCP_SHARE_OF_DEVICE = 4

/** `cpuPercent`: of the time of all processors together; null: no bound. */
export type GroupLimits = {
  readonly memoryBytes: number | null
  readonly processes: number | null
  readonly cpuPercent: number | null
}

const UNBOUNDED: GroupLimits = { memoryBytes: null, processes: null, cpuPercent: null }

export interface SessionGroup extends SpawnGroup {
  close(): void
}

/** By a control group, or by the kernel's own count of what a user has, which root is bounded by in nothing. */
export function areProcessesBounded({ bounds }: Pick<ControlGroups, 'bounds'>): boolean {
  return bounds.processes || process.geteuid?.() !== 0
}

export interface ControlGroups {
  /** What the launcher needs to know of them; open until `closeAll`. */
  readonly start: GroupStart
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
  }
  if (memory && version === 1) boundConnections(group, memoryBytes)
  if (processes && limits.processes !== null) writeFileSync(join(group, 'pids.max'), String(limits.processes))
}

/**
 * Version 1 counts what waits in TCP sockets by itself. The device has a bound of its own for all of them together, and
 * whoever reached it would leave connections of the device, the daemon's among them, the smallest buffers: sessions stay
 * below a part of it.
 */
function boundConnections(group: string, memoryBytes: number | null): void {
  const sockets = join(group, 'memory.kmem.tcp.limit_in_bytes')
  const limit = Math.min(memoryBytes ?? Number.POSITIVE_INFINITY, shareOfConnections())
  if (existsSync(sockets) && Number.isFinite(limit)) writeFileSync(sockets, String(limit))
}

/** Infinity: where the daemon is in a network of its own, the kernel does not say what the device has. */
function shareOfConnections(): number {
  try {
    const [, , mostPages = ''] = readFileSync('/proc/sys/net/ipv4/tcp_mem', 'latin1').split(/\s+/)
    return Math.floor((Number(mostPages) * SMALLEST_PAGE_BYTES) / TCP_SHARE_OF_DEVICE)
  } catch {
    return Number.POSITIVE_INFINITY
  }
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
  bound(controller, parent, total ?? UNBOUNDED)
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

/** What programs begin in: every one of them is counted there. */
const counts = ({ memory, processes }: Controller): boolean => memory || processes
const isEntered = (controller: Controller): boolean => controller.version === 1 && counts(controller)
const isFollowed = (controller: Controller): boolean => controller.version === 1 && !counts(controller)

const openDirectory = (path: string): number => openSync(path, constants.O_RDONLY | constants.O_DIRECTORY)
const openList = (group: string, name: string): number => openSync(join(group, name), constants.O_WRONLY)

/** Where a thread of the daemon is; that of all sessions where only what the daemon makes is its own. */
function openHome({ directory }: Controller, parent: string): number {
  try {
    return openList(directory, 'tasks')
  } catch {
    return openList(parent, 'tasks')
  }
}

function openStart(
  controllers: readonly Controller[],
  parentOf: (controller: Controller) => string,
): GroupStart {
  const newer = controllers.find(({ version }) => version === 2)
  return {
    homes: [
      ...controllers.filter(isEntered).map((one) => openHome(one, parentOf(one))),
      ...controllers.filter(isFollowed).map((one) => openList(parentOf(one), 'tasks')),
    ],
    nursery: newer === undefined ? -1 : openDirectory(join(newer.directory, OWN_GROUP)),
  }
}

/** The processes of a group, but this one: its launcher may be there. */
async function processesIn(group: string): Promise<string[]> {
  const lines = (await readFile(join(group, 'cgroup.procs'), 'latin1')).split('\n')
  return lines.filter((line) => line !== '' && line !== String(process.pid))
}

/** Puts all of one group into others, until nobody is found who is not there. */
async function takeAlong(from: string, into: readonly string[]): Promise<void> {
  for (const group of into) {
    for (let round = 0; round < STARTING_ROUNDS; round++) {
      const there = new Set(await processesIn(group))
      const missing = (await processesIn(from)).filter((pid) => !there.has(pid))
      if (missing.length === 0) break
      // Whoever has ended meanwhile is nowhere.
      for (const pid of missing) await writeFile(join(group, 'cgroup.procs'), pid).catch(() => undefined)
    }
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
  let start: GroupStart | undefined
  const groups: ControlGroups = {
    get start() {
      start ??= openStart(controllers, parentOf)
      return start
    },
    closeAll() {
      for (const one of start === undefined ? [] : [...start.homes, start.nursery])
        if (one >= 0) closeSync(one)
      start = undefined
      remove()
      for (const parent of parents.values()) {
        try {
          rmdirSync(parent)
        } catch {
          // Somebody is on the way out: the next start clears it away.
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
      const made: { readonly controller: Controller; readonly group: string }[] = []
      const opened: number[] = []
      const keep = (descriptor: number): number => {
        opened.push(descriptor)
        return descriptor
      }
      const has = (kind: (controller: Controller) => boolean) =>
        made.filter(({ controller }) => kind(controller)).map(({ group }) => group)
      let lists: Pick<SessionGroup, 'entered' | 'directory' | 'joined'>
      try {
        for (const controller of controllers) {
          const group = join(parentOf(controller), name)
          leaving.delete(group)
          if (!existsSync(group)) mkdirSync(group, { mode: GROUP_MODE })
          made.push({ controller, group })
          bound(controller, group, limits)
          boundCpu(controller, group, limits)
        }
        const [last] = has(isEntered).slice(-1)
        const [newer] = has(({ version }) => version === 2)
        lists = {
          entered: has(isEntered).map((group) => keep(openList(group, 'tasks'))),
          directory: last === undefined ? -1 : keep(openDirectory(last)),
          joined: newer === undefined ? -1 : keep(openList(newer, 'cgroup.procs')),
        }
      } catch (cause) {
        for (const descriptor of opened) closeSync(descriptor)
        throw notBounded(cause)
      }
      const followed = has(isFollowed)
      const [counted] = has(counts).slice(-1)
      let [isWanted, isFollowing] = [false, false]
      const follow = async (from: string): Promise<void> => {
        isWanted = true
        if (isFollowing) return
        isFollowing = true
        while (isWanted) {
          isWanted = false
          // Groups that are gone have nobody in them.
          await takeAlong(from, followed).catch(() => undefined)
        }
        isFollowing = false
      }
      const memory = made.find(({ controller }) => controller.memory)
      let kills = memory === undefined ? 0 : memoryKills(memory.controller, memory.group)
      return {
        ...lists,
        processes: limits.processes ?? -1,
        follow() {
          if (counted !== undefined && followed.length > 0) void follow(counted)
        },
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
          for (const descriptor of opened) closeSync(descriptor)
          for (const { group } of made) leaving.add(group)
          remove()
        },
      }
    },
  }
  return groups
}
