/**
 * The part of a session's view that lies in memory: one file system for the root itself, its scratch and volatile
 * directories, the layers that hide, and /dev, so that one limit holds for them together. The root and /dev can only be
 * read in the end, the directories for work are mounts of their own that can be written.
 * Rules: docs/sandbox.md (what a command sees); tmpfs(5), pts(4), proc(5).
 * @module
 */

import {
  chmodSync,
  chownSync,
  existsSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { dirname } from 'node:path'
import { SESSION_TERMINALS } from '../limits.ts'
import {
  type Kernel,
  MOUNT_ATTR_NODEV,
  MOUNT_ATTR_RDONLY,
  MS_BIND,
  MS_NODEV,
  MS_NOEXEC,
  MS_NOSUID,
  MS_REC,
  openPath,
} from './kernel.node.ts'
import type { NamespacePlan } from './namespace-plan.ts'

/** Devices that a program expects, by name beneath /dev. */
const USUAL_DEVICES: readonly string[] = ['null', 'zero', 'full', 'random', 'urandom', 'tty']
const DEVICE_LINKS: readonly (readonly [name: string, target: string])[] = [
  ['fd', '/proc/self/fd'],
  ['stdin', '/proc/self/fd/0'],
  ['stdout', '/proc/self/fd/1'],
  ['stderr', '/proc/self/fd/2'],
  ['ptmx', 'pts/ptmx'],
]
/** Of /proc: what changes or tells more than a session's own processes; the same places that containers close. */
const PROC_READ_ONLY: readonly string[] = [
  'sys',
  'sysrq-trigger',
  'bus',
  'fs',
  'irq',
  'dynamic_debug',
  'pressure',
  'asound',
]
const PROC_HIDDEN: readonly string[] = [
  'kcore',
  'keys',
  'kallsyms',
  'latency_stats',
  'timer_list',
  'sched_debug',
  'acpi',
  'scsi',
  'mtd',
]
/** Of /proc and /sys: what the kernel lets root alone read, of the whole device and its hardware. */
const PROC_OF_ROOT: readonly string[] = [
  ...['key-users', 'kpagecount', 'kpageflags', 'kpagecgroup', 'slabinfo', 'vmallocinfo', 'pagetypeinfo'],
]
const SYS_OF_ROOT: readonly string[] = [
  ...['kernel/slab', 'firmware/acpi', 'firmware/dmi', 'firmware/efi', 'devices/virtual/powercap'],
]
/** Memory that keeps without power: keys and numbers that a maker has burnt in. */
const NVMEM_DEVICES = 'bus/nvmem/devices'
/** A directory and a file with nothing in them. */
const EMPTY = 'empty'
const EMPTY_FILE = 'nothing'
const SCRATCH_MODE = 0o1777
const DIRECTORY_MODE = 0o755
/** An empty file takes memory too: about as many files as pages. */
const MEMORY_PAGE_BYTES = 4_096
const MEMORY_FILES_MIN = 1_024

/** What is there already as a mount point, or is made as one in memory. */
export function makeTarget(path: string, isDirectory: boolean): void {
  if (existsSync(path)) return
  mkdirSync(isDirectory ? path : dirname(path), { recursive: true, mode: DIRECTORY_MODE })
  if (!isDirectory) writeFileSync(path, '')
}

export type ViewMemory = {
  /** The view's root, a mount of its own. */
  readonly root: string
  readonly layers: string
  showScratch(): void
  showVolatile(): void
  showDevices(held: { readonly passing: number[] }): void
  /** Directories for caches, and files that have to be there. */
  fill(): void
}

export function makeMemory(kernel: Kernel, plan: NamespacePlan): ViewMemory {
  const { stage, scratchBytes } = plan
  const files = Math.max(MEMORY_FILES_MIN, Math.floor(scratchBytes / MEMORY_PAGE_BYTES))
  const options = `size=${scratchBytes},nr_inodes=${files},mode=755`
  kernel.mount('tmpfs for memory', 'tmpfs', stage, 'tmpfs', MS_NOSUID | MS_NODEV, options)
  const [root, layers, volatile, empty] = ['root', 'layers', 'volatile', EMPTY].map(
    (name) => `${stage}/${name}`,
  ) as [string, string, string, string]
  for (const path of [root, layers, volatile, empty]) {
    mkdirSync(path)
    chmodSync(path, DIRECTORY_MODE)
  }
  writeFileSync(`${stage}/${EMPTY_FILE}`, '', { mode: 0o444 })
  // Mounts of their own, which every cover is another one of: it can be read only, too.
  for (const path of [empty, `${stage}/${EMPTY_FILE}`]) {
    kernel.mount('bind nothing', path, path, '', MS_BIND, '')
    kernel.change(path, MOUNT_ATTR_RDONLY, 0n)
  }
  kernel.mount('bind root', root, root, '', MS_BIND, '')

  function showAt(directory: string, path: string, mode: number): void {
    chmodSync(directory, mode)
    kernel.mount(`memory ${path}`, directory, `${root}${path}`, '', MS_BIND, '')
  }

  return {
    root,
    layers,
    showScratch() {
      for (const path of new Set(plan.scratch)) {
        const target = `${root}${path}`
        // A link leads to one that is there anyway.
        if (lstatSync(target, { throwIfNoEntry: false })?.isSymbolicLink() === true) continue
        makeTarget(target, true)
        showAt(target, path, SCRATCH_MODE)
      }
    },
    showVolatile() {
      for (const [index, path] of plan.volatile.entries()) {
        makeTarget(`${root}${path}`, true)
        const directory = `${volatile}/${index}`
        mkdirSync(directory)
        chownSync(directory, plan.userId, plan.groupId)
        showAt(directory, path, DIRECTORY_MODE)
      }
    },
    showDevices(held) {
      const device = `${root}/dev`
      makeTarget(device, true)
      for (const path of [...USUAL_DEVICES.map((name) => `/dev/${name}`), ...plan.devices].filter(
        existsSync,
      )) {
        const descriptor = openPath(path)
        held.passing.push(descriptor)
        makeTarget(`${root}${path}`, lstatSync(path).isDirectory())
        kernel.mount(`bind ${path}`, `/proc/thread-self/fd/${descriptor}`, `${root}${path}`, '', MS_BIND, '')
        // To be used, and not to be changed: its mode and its times are the device's.
        kernel.change(`${root}${path}`, MOUNT_ATTR_RDONLY, MOUNT_ATTR_NODEV)
      }
      for (const name of ['pts', 'shm']) makeTarget(`${device}/${name}`, true)
      const owner = `newinstance,ptmxmode=0666,mode=0620,max=${SESSION_TERMINALS},uid=${plan.userId}`
      kernel.mount('devpts', 'devpts', `${device}/pts`, 'devpts', MS_NOSUID | MS_NOEXEC, owner)
      showAt(`${device}/shm`, '/dev/shm', SCRATCH_MODE)
      for (const [name, target] of DEVICE_LINKS) symlinkSync(target, `${device}/${name}`)
    },
    fill() {
      for (const name of plan.caches) {
        mkdirSync(`${root}/tmp/${name}`, { recursive: true })
        // Whatever the umask is: who runs here may be somebody else.
        for (let path = name; path !== '.'; path = dirname(path))
          chmodSync(`${root}/tmp/${path}`, SCRATCH_MODE)
      }
      for (const path of plan.kept) {
        if (!existsSync(path) || existsSync(`${root}${path}`)) continue
        makeTarget(`${root}${path}`, false)
        writeFileSync(`${root}${path}`, readFileSync(path), { mode: 0o644 })
      }
    },
  }
}

/** Shows nothing in the place of what is there, which can be read only as the mounts of nothing are. */
function cover(kernel: Kernel, root: string, name: string): void {
  const path = `${root}/${name}`
  const stats = statSync(path, { throwIfNoEntry: false })
  if (stats === undefined) return
  const nothing = `${dirname(root)}/${stats.isDirectory() ? EMPTY : EMPTY_FILE}`
  kernel.mount(`cover /${name}`, nothing, path, '', MS_BIND, '')
}

/** What of the session's /proc, which lies beneath `root`, is no business of its processes; `isRoot`: they are root's. */
export function closeProc(kernel: Kernel, root: string, isRoot: boolean): void {
  for (const name of PROC_READ_ONLY) {
    const path = `${root}/proc/${name}`
    if (!existsSync(path)) continue
    kernel.mount(`bind /proc/${name}`, path, path, '', MS_BIND | MS_REC, '')
    kernel.change(path, MOUNT_ATTR_RDONLY, 0n, true)
  }
  for (const name of [...PROC_HIDDEN, ...(isRoot ? PROC_OF_ROOT : [])]) cover(kernel, root, `proc/${name}`)
}

/** The same of its /sys, where its processes are root's. */
export function closeSys(kernel: Kernel, root: string): void {
  for (const name of SYS_OF_ROOT) cover(kernel, root, `sys/${name}`)
  const devices = `sys/${NVMEM_DEVICES}`
  if (!existsSync(`${root}/${devices}`)) return
  for (const name of readdirSync(`${root}/${devices}`)) cover(kernel, root, `${devices}/${name}/nvmem`)
}
