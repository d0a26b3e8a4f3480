/**
 * What a configuration asks of the device itself: a clock that was set, room on its disks, memory, descriptors, users
 * and devices that exist, limits that the kernel can set, and a branch where one is required.
 * Looks and probes, changes nothing that stays.
 * Rules: setrlimit(2), proc_sys_kernel(5), proc_sys_fs(5); docs/sandbox.md.
 * @module
 */

import { readFileSync, statfsSync, statSync } from 'node:fs'
import { totalmem } from 'node:os'
import { attempt } from '../../base/attempt.ts'
import { lstatOf, statOf } from '../../base/files.node.ts'
import type { Config } from '../../config/config.ts'
import { knownError } from '../../errors.ts'
import { CONNECTIONS_MAX, RESERVE_BYTES, UNAUTHENTICATED_CONNECTIONS } from '../../limits.ts'
import { findUser } from '../../sandbox/kernel/users.node.ts'
import { isClockSet } from '../host/clock.node.ts'
import { RESERVE_SHARE } from '../state/limits.ts'
import { SHIPPED_LISTS, tryBranch } from './branch-trial.node.ts'
import { type Finding, fail, pass, warn } from './finding.ts'
import { nearestExisting } from './nearest-existing.node.ts'
import { checkWritable } from './preflight-files.node.ts'

const MIB = 1_048_576
/** Descriptors of the daemon itself: listeners, audit, libraries, the runtime. */
const OWN_DESCRIPTORS = 64
/** Three pipes or a terminal and its peers. */
const DESCRIPTORS_PER_EXECUTION = 6
/** A daemon that can write less than this cannot even say why it stops. */
const DISK_FAIL_BYTES = MIB

export function checkClock(wallMs: number): Finding {
  const shown = new Date(wallMs).toISOString()
  if (isClockSet(wallMs)) return pass('clock', `it is ${shown}`)
  // No reason to leave a device without its daemon: it may be what the clock is to be set by.
  return warn(
    'clock',
    `it says ${shown}, which is before this program was built, so it was never set`,
    'have a time service set it: until then the record has wrong times',
  )
}

/** Descriptors that this configuration can need at the same time. */
function descriptorsNeeded(config: Config): number {
  return (
    OWN_DESCRIPTORS +
    CONNECTIONS_MAX +
    UNAUTHENTICATED_CONNECTIONS +
    config.defense.tarpit.max_concurrent +
    DESCRIPTORS_PER_EXECUTION * config.execution.max_concurrent
  )
}

/** Soft and hard limit of open files. */
function openFiles(): readonly [soft: number, hard: number] {
  const line = /^Max open files\s+(\S+)\s+(\S+)/m.exec(readFileSync('/proc/self/limits', 'utf8'))
  const number = (text = '0') => (text === 'unlimited' ? Number.POSITIVE_INFINITY : Number(text))
  return [number(line?.[1]), number(line?.[2])]
}

export function checkDescriptors(config: Config): Finding {
  const [limit] = openFiles()
  const needed = descriptorsNeeded(config)
  if (limit >= needed) return pass('ulimit', `${limit} open files are allowed and ${needed} can be needed`)
  return fail(
    'ulimit',
    `${limit} open files are allowed and ${needed} can be needed`,
    `run ulimit -n ${needed}, or set LimitNOFILE=${needed} in the unit`,
  )
}

function checkDisk(check: string, path: string, reserveBytes: number): Finding {
  const place = nearestExisting(path)
  const { bavail, bsize, blocks, files, ffree } = statfsSync(place)
  // What lies in no disk, like /proc, has no room to tell of; that nothing can be written there is told elsewhere.
  if (blocks === 0) return pass(check, `${place} lies on no disk`)
  const free = bavail * bsize
  const shown = `${Math.floor(free / MIB)} MiB are free at ${place}`
  if (files > 0 && ffree === 0)
    return fail(
      check,
      `no file can be made at ${place}, since its file system has no inode left`,
      'remove files there',
    )
  if (free < DISK_FAIL_BYTES)
    return fail(check, `the disk is full: ${shown}`, 'make room, or name a directory on another disk')
  if (reserveBytes > blocks * bsize)
    return fail(
      'audit.reserve_bytes',
      `is ${reserveBytes}, more than the whole disk at ${place} holds (${blocks * bsize})`,
      `write ${MIB}, the default`,
    )
  if (free < reserveBytes)
    return fail(
      'audit.reserve_bytes',
      `${shown}, less than these ${reserveBytes} bytes, so commands that change anything would be refused`,
      'make room, or lower it',
    )
  if (free < DISK_WARN_BYTES) return warn(check, shown, 'make room: branches and the record grow there')
  return pass(check, shown)
}

export function* checkDisks({ state_directory: state, audit, sandbox }: Config): Iterable<Finding> {
  yield checkDisk('disk', audit.directory, audit.reserve_bytes)
  const isSame = statSync(nearestExisting(state)).dev === statSync(nearestExisting(audit.directory)).dev
  if (!isSame) yield checkDisk('disk', state, 0)
  const { blocks, bsize } = statfsSync(nearestExisting(audit.directory))
  if (audit.keep_bytes !== null && audit.keep_bytes > blocks * bsize)
    yield warn(
      'audit.keep_bytes',
      `is ${audit.keep_bytes}, more than the whole disk holds (${blocks * bsize})`,
      `write ${Math.floor((blocks * bsize) / 2 / MIB) * MIB} at most`,
    )
  yield* checkBranchRoom(state, sandbox.limits)
}

/** What branches and the reserve may take of the disk of the state. */
function* checkBranchRoom(state: string, limits: Config['sandbox']['limits']): Iterable<Finding> {
  const { blocks, bsize } = statfsSync(nearestExisting(state))
  const whole = blocks * bsize
  if (whole === 0) return

  const { branch_bytes: branch, reserve_bytes: reserve } = limits
  if (branch !== null && branch > whole)
    yield warn(
      'sandbox.limits.branch_bytes',
      `is ${branch}, more than the whole disk of the state holds (${whole}), so only the reserve keeps a branch from filling it`,
      'write null, which takes half of what is free',
    )
  if (reserve > RESERVE_BYTES && reserve > whole / RESERVE_SHARE)
    yield warn(
      'sandbox.limits.reserve_bytes',
      `is ${reserve}, more than an eighth of the disk of the state (${whole}), which is all that is taken`,
      `write ${Math.floor(whole / RESERVE_SHARE / MIB) * MIB} at most`,
    )
  if (reserve === 0)
    yield warn(
      'sandbox.limits.reserve_bytes',
      'is 0, so a command that fills the disk stops the daemon until somebody makes room',
      `write ${RESERVE_BYTES}, the default`,
    )
}

/** Memory of the device, or what a control group leaves of it. */
function memoryBytes(): number {
  const bound = process.constrainedMemory()
  return bound > 0 && bound < totalmem() ? bound : totalmem()
}

export function* checkMemory({ session, execution, sandbox }: Config): Iterable<Finding> {
  const memory = memoryBytes()
  const rings = 2 * execution.max_concurrent * session.ring_bytes

  if (rings > memory / 2) {
    const most = Math.max(4_096, Math.floor(memory / 4 / execution.max_concurrent / 4_096) * 4_096)
    yield fail(
      'session.ring_bytes',
      `times two streams times execution.max_concurrent is ${rings} bytes, all taken at start, and the device has ${memory}`,
      `write ${Math.min(most, 1_048_576)}, or lower execution.max_concurrent`,
    )
  }
  const bounds: readonly (readonly [string, number | null])[] = [
    ['sandbox.limits.memory_bytes', sandbox.limits.memory_bytes],
    ['sandbox.memory_directory_bytes', sandbox.memory_directory_bytes],
  ]
  for (const [check, bytes] of bounds)
    if (bytes !== null && bytes > memory)
      yield fail(
        check,
        `is ${bytes}, more than the memory of the device (${memory}), so it bounds nothing`,
        'write null, which takes a part of what there is',
      )
}

/** A number that the kernel tells; undefined where it does not. */
function kernelNumber(path: string): number | undefined {
  return attempt(() => Number(readFileSync(path, 'latin1').trim()), undefined)
}

export function* checkLimits({ sandbox: { limits } }: Config): Iterable<Finding> {
  const most = Math.min(
    kernelNumber('/proc/sys/kernel/pid_max') ?? Number.POSITIVE_INFINITY,
    kernelNumber('/proc/sys/kernel/threads-max') ?? Number.POSITIVE_INFINITY,
  )
  if (limits.processes > most)
    yield fail(
      'sandbox.limits.processes',
      `is ${limits.processes}, and this kernel has ${most} at most`,
      `write ${Math.min(most, 2_048)}`,
    )
  const [, hard] = openFiles()
  const possible = process.geteuid?.() === 0 ? (kernelNumber('/proc/sys/fs/nr_open') ?? hard) : hard
  if (limits.open_files !== null && limits.open_files > possible)
    yield fail(
      'sandbox.limits.open_files',
      `is ${limits.open_files}, and the daemon can give ${possible} at most`,
      `write ${possible}, or null for as many as the daemon has`,
    )
}

export function* checkUsers({ capabilities }: Config): Iterable<Finding> {
  for (const [name, { run_as: user }] of Object.entries(capabilities)) {
    if (user === null) continue
    const check = `capabilities.${name}.run_as`
    try {
      const { userId } = findUser(user)
      if (process.geteuid?.() !== 0 && userId !== process.geteuid?.()) {
        yield fail(
          check,
          `names ${user}, and only a daemon that is root can run commands as another user`,
          'run the daemon as root, or write null',
        )
      } else if (userId === 0)
        yield warn(
          check,
          `lets commands run as ${user}, which is root`,
          'name a user without rights of its own',
        )
      else yield pass(check, `${user} is a user of this device`)
    } catch (error) {
      knownError(error)
      yield fail(
        check,
        `names ${user}, who is no user of this device`,
        `run useradd --system ${user}, name another one, or write null`,
      )
    }
  }
}

export function* checkDevices({ sandbox }: Config): Iterable<Finding> {
  for (const [index, path] of sandbox.devices.entries()) {
    const check = `sandbox.devices[${index}]`
    const stats = lstatOf(path)
    if (stats === undefined) {
      yield warn(
        check,
        `${path} is not there, so sessions that begin now do not have it`,
        'connect it, or take it out',
      )
      continue
    }
    const target = statOf(path)
    if (target === undefined || target.isDirectory() || target.isCharacterDevice() || target.isBlockDevice())
      continue
    yield fail(check, `${path} is no device`, 'name a device, like "/dev/ttyUSB0"')
  }
}

/** Whether a branch is wanted and can be tried: where nothing can be written that is told, and no branch says more. */
export function isBranchTried(config: Config): boolean {
  return config.sandbox.require === 'overlay' && checkWritable('', config.state_directory).ok
}

/** Makes a branch where the daemon would, and takes it down. */
export async function checkSandbox(config: Config): Promise<readonly Finding[]> {
  const check = 'sandbox.require'
  const { state, detail, remedy } = await tryBranch(nearestExisting(config.state_directory), {
    ...SHIPPED_LISTS,
    network: config.sandbox.network,
  })
  if (state === 'ok') return [pass(check, 'a branch can be made')]
  return [
    fail(
      check,
      `is "overlay", and no branch can be made, so nothing would run: ${detail.replace(/\.$/, '')}`,
      `${remedy.replace(/\.$/, '')}; or write "copy", which copies the workspace for each session`,
    ),
  ]
}

/** Less than this fills up within one build. */
export const DISK_WARN_BYTES = 256 * MIB
