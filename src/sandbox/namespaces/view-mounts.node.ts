/**
 * What a session sees of the device, mount by mount: its branches, directories in memory, devices, and covers over what
 * is not its own. The order matters, and keeper-thread.node.ts keeps it.
 * Rules: docs/sandbox.md; overlayfs.rst, tmpfs(5), pts(4).
 * @module
 */

import {
  chmodSync,
  chownSync,
  existsSync,
  lstatSync,
  mkdirSync,
  readFileSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { dirname } from 'node:path'
import { isWithin } from '../../base/lexical-path.ts'
import {
  type Kernel,
  MOUNT_ATTR_NODEV,
  MOUNT_ATTR_NOSUID,
  MOUNT_ATTR_RDONLY,
  MS_BIND,
  MS_NODEV,
  MS_NOEXEC,
  MS_NOSUID,
  MS_PRIVATE,
  MS_RDONLY,
  MS_REC,
  openPath,
} from './kernel.node.ts'
import type { NamespacePlan, RootMount } from './namespace-plan.ts'

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
  '/proc/sys',
  '/proc/sysrq-trigger',
  '/proc/bus',
  '/proc/fs',
  '/proc/irq',
  '/proc/dynamic_debug',
  '/proc/pressure',
  '/proc/asound',
]
const PROC_HIDDEN: readonly string[] = [
  '/proc/kcore',
  '/proc/keys',
  '/proc/kallsyms',
  '/proc/latency_stats',
  '/proc/timer_list',
  '/proc/sched_debug',
  '/proc/acpi',
  '/proc/scsi',
  '/proc/mtd',
]
const MEMORY_DIRECTORY_MODE = 0o1777
const VOLATILE_MODE = 0o755
/** An empty file takes memory too: about as many files as pages. */
const MEMORY_PAGE_BYTES = 4_096
const MEMORY_FILES_MIN = 1_024

export type Held = {
  /** Descriptors that end with this turn, whatever becomes of it. */
  readonly passing: number[]
  /** Descriptors that the session keeps, unless a step fails. */
  readonly lasting: number[]
  /** The init, or the one that is its parent: a child of this process. */
  childPid: number
  initPid: number
}

/**
 * Mounts the branches first, while the files beneath and above are all within reach; what is mounted later may hide
 * them, and then they are put back from the descriptors that are taken here. Whatever makes up a branch is opened before
 * the first one is mounted: the state directory may lie beneath one.
 */
function mountRoots(kernel: Kernel, roots: readonly RootMount[], held: Held): number[] {
  const open = (path: string): string => {
    const descriptor = openPath(path)
    held.passing.push(descriptor)
    return `/proc/thread-self/fd/${descriptor}`
  }
  // By descriptor: no character of a path means anything, and no path is too long for the options.
  const layers = roots.map((root) =>
    root.kind === 'bind' ? [open(root.source)] : [root.path, root.upper, root.work].map(open),
  )
  return roots.map((root, index) => {
    const [lower = '', upper = '', work = ''] = layers[index] ?? []
    if (root.kind === 'bind') {
      kernel.mount(`bind ${root.path}`, lower, root.path, '', MS_BIND, '')
    } else {
      const options = `lowerdir=${lower},upperdir=${upper},workdir=${work}${root.options === '' ? '' : `,${root.options}`}`
      kernel.mount(`overlay ${root.path}`, 'overlay', root.path, 'overlay', MS_NOSUID | MS_NODEV, options)
    }
    const descriptor = openPath(root.path)
    held.passing.push(descriptor)
    return descriptor
  })
}

/** The roots, and over them what is mounted beneath them and cannot be branched. */
function mountAll(kernel: Kernel, plan: NamespacePlan, held: Held): number[] {
  const shown = plan.shown.filter(existsSync).map((path) => ({ path, descriptor: openPath(path) }))
  held.passing.push(...shown.map(({ descriptor }) => descriptor))
  const roots = mountRoots(kernel, plan.roots, held)
  for (const { path, descriptor } of shown)
    kernel.mount(`bind ${path}`, `/proc/thread-self/fd/${descriptor}`, path, '', MS_BIND | MS_REC, '')
  return roots
}

/** What is there already as a mount point, or is made as one in memory; the kind is that of `like`. */
function makeTarget(path: string, isDirectory: boolean): void {
  if (existsSync(path)) return
  mkdirSync(isDirectory ? path : dirname(path), { recursive: true, mode: 0o755 })
  if (!isDirectory) writeFileSync(path, '')
}

/**
 * One file system in memory for all directories of a session that lie there, so that one limit holds for them together.
 * It is mounted where something else will be mounted over it, and only its directories are seen. Gives a descriptor.
 */
function mountMemory(kernel: Kernel, { scratchBytes }: NamespacePlan, held: Held): number {
  const files = Math.max(MEMORY_FILES_MIN, Math.floor(scratchBytes / MEMORY_PAGE_BYTES))
  const options = `size=${scratchBytes},nr_inodes=${files},mode=755`
  kernel.mount('tmpfs for memory', 'tmpfs', '/dev', 'tmpfs', MS_NOSUID | MS_NODEV, options)
  const descriptor = openPath('/dev')
  held.passing.push(descriptor)
  return descriptor
}

/** A directory of that memory, seen at `path`. */
function showMemory(kernel: Kernel, memory: number, path: string, mode: number): string {
  const directory = `/proc/thread-self/fd/${memory}/${path.replaceAll('/', '%')}`
  mkdirSync(directory)
  chmodSync(directory, mode)
  kernel.mount(`memory ${path}`, directory, path, '', MS_BIND, '')
  return directory
}

function mountScratch(kernel: Kernel, plan: NamespacePlan, memory: number, held: Held): void {
  const kept = plan.kept.filter(existsSync).map((path) => {
    const descriptor = openPath(path)
    held.passing.push(descriptor)
    return { path, descriptor, isDirectory: lstatSync(path).isDirectory() }
  })
  for (const path of new Set(plan.scratch)) {
    // A link leads to one that is mounted anyway, or is none of ours.
    if (existsSync(path) && !lstatSync(path).isSymbolicLink())
      showMemory(kernel, memory, path, MEMORY_DIRECTORY_MODE)
  }
  for (const { path, descriptor, isDirectory } of kept) {
    makeTarget(path, isDirectory)
    kernel.mount(`bind ${path}`, `/proc/thread-self/fd/${descriptor}`, path, '', MS_BIND, '')
    kernel.change(path, MOUNT_ATTR_RDONLY, 0n)
  }
}

/**
 * Directories of a branch on the way to what is mounted beneath, covers above all. Renamed, they would take a cover with
 * them, and the next session of the branch would find uncovered what lies under the new name: as mount points of their
 * own they cannot be renamed or removed.
 */
function waysIn(root: RootMount, plan: NamespacePlan): string[] {
  const inner = plan.roots.filter(({ path }) => path !== root.path && isWithin(root.path, path))
  const targets = [...plan.covers, ...plan.volatile, ...plan.shown, ...inner.map(({ path }) => path)]
  const ways = new Set<string>()
  for (const target of targets) {
    const isElsewhere = inner.some(({ path }) => path !== target && isWithin(path, target))
    if (target === root.path || !isWithin(root.path, target) || isElsewhere) continue
    for (let way = dirname(target); way !== root.path && way !== '/'; way = dirname(way)) ways.add(way)
  }
  return [...ways]
    .sort((a, b) => a.length - b.length)
    .filter((way) => lstatSync(way, { throwIfNoEntry: false })?.isDirectory() === true)
}

/** A root that lies beneath a memory directory is not to be seen any more: it is put back there. */
function showRoots(kernel: Kernel, plan: NamespacePlan, descriptors: readonly number[]): void {
  for (const [index, root] of plan.roots.entries()) {
    const { path } = root
    const isHidden = !existsSync(path) || !isSame(path, descriptors[index] ?? -1)
    if (isHidden) {
      makeTarget(path, true)
      kernel.mount(`bind ${path}`, `/proc/thread-self/fd/${descriptors[index]}`, path, '', MS_BIND, '')
    }
    kernel.change(path, 0n, MOUNT_ATTR_RDONLY)
    for (const way of waysIn(root, plan)) kernel.mount(`bind ${way}`, way, way, '', MS_BIND | MS_REC, '')
  }
}

function isSame(path: string, descriptor: number): boolean {
  const here = lstatSync(path, { bigint: true })
  const there = lstatSync(`/proc/thread-self/fd/${descriptor}/.`, { bigint: true })
  return here.dev === there.dev && here.ino === there.ino
}

type Device = { readonly path: string; readonly descriptor: number; readonly isDirectory: boolean }

function openDevices(plan: NamespacePlan, held: Held): Device[] {
  const devices = [...USUAL_DEVICES.map((name) => `/dev/${name}`), ...plan.devices].filter(existsSync)
  return devices.map((path) => {
    const descriptor = openPath(path)
    held.passing.push(descriptor)
    return { path, descriptor, isDirectory: lstatSync(path).isDirectory() }
  })
}

function mountDevices(kernel: Kernel, plan: NamespacePlan, devices: readonly Device[], memory: number): void {
  kernel.mount('tmpfs /dev', 'tmpfs', '/dev', 'tmpfs', MS_NOSUID | MS_NOEXEC, 'size=64k,mode=755')
  for (const { path, descriptor, isDirectory } of devices) {
    makeTarget(path, isDirectory)
    kernel.mount(`bind ${path}`, `/proc/thread-self/fd/${descriptor}`, path, '', MS_BIND, '')
    kernel.change(path, 0n, MOUNT_ATTR_NODEV)
  }
  mkdirSync('/dev/pts')
  mkdirSync('/dev/shm')
  const owner = `newinstance,ptmxmode=0666,mode=0620,uid=${plan.userId}`
  kernel.mount('devpts', 'devpts', '/dev/pts', 'devpts', MS_NOSUID | MS_NOEXEC, owner)
  showMemory(kernel, memory, '/dev/shm', MEMORY_DIRECTORY_MODE)
  for (const [name, target] of DEVICE_LINKS) symlinkSync(target, `/dev/${name}`)
  kernel.change('/dev', MOUNT_ATTR_RDONLY, 0n)
}

function hide(kernel: Kernel, path: string): void {
  if (!existsSync(path)) return
  if (lstatSync(path).isDirectory())
    kernel.mount(
      `cover ${path}`,
      'tmpfs',
      path,
      'tmpfs',
      MS_RDONLY | MS_NOSUID | MS_NODEV,
      'size=4k,mode=555',
    )
  else kernel.mount(`cover ${path}`, '/dev/null', path, '', MS_BIND, '')
}

/**
 * Where somebody listens now. A socket is connected to by its file, and no mount that is read-only keeps anybody from
 * that; what is branched does, because its files are others.
 */
function socketsByPath(): Set<string> {
  try {
    const lines = readFileSync('/proc/thread-self/net/unix', 'utf8').split('\n')
    return new Set(lines.flatMap((line) => /^\S+(?: +\S+){6} (\/.*)$/.exec(line)?.[1] ?? []))
  } catch {
    return new Set()
  }
}

function hideSocket(kernel: Kernel, path: string): void {
  try {
    if (lstatSync(path).isSocket()) hide(kernel, path)
  } catch {
    // It is not there for the session either.
  }
}

/** Covers what is the daemon's own. A branched directory may lie beneath: the way to it stays, and nothing beside. */
function cover(kernel: Kernel, plan: NamespacePlan, rootDescriptors: readonly number[]): void {
  // From the outside inwards: what is covered already is not there any more, unless a branch shows it again.
  for (const path of plan.covers.toSorted((a, b) => a.length - b.length)) {
    const within = plan.roots.flatMap((root, index) =>
      isWithin(path, root.path) && root.path !== path
        ? [{ path: root.path, descriptor: rootDescriptors[index] ?? -1 }]
        : [],
    )
    if (within.length === 0) {
      hide(kernel, path)
      continue
    }
    kernel.mount(`cover ${path}`, 'tmpfs', path, 'tmpfs', MS_NOSUID | MS_NODEV, 'size=64k,mode=755')
    for (const { path: root, descriptor } of within) {
      makeTarget(root, true)
      kernel.mount(`bind ${root}`, `/proc/thread-self/fd/${descriptor}`, root, '', MS_BIND, '')
      kernel.change(root, 0n, MOUNT_ATTR_RDONLY)
    }
    kernel.change(path, MOUNT_ATTR_RDONLY, 0n)
  }
}

export function closeProc(kernel: Kernel): void {
  for (const path of PROC_READ_ONLY) {
    if (!existsSync(path)) continue
    kernel.mount(`bind ${path}`, path, path, '', MS_BIND | MS_REC, '')
    kernel.change(path, MOUNT_ATTR_RDONLY, 0n, true)
  }
  for (const path of PROC_HIDDEN) hide(kernel, path)
}

function makeVolatile(kernel: Kernel, plan: NamespacePlan, memory: number): void {
  for (const path of plan.volatile) {
    if (!existsSync(path)) mkdirSync(path, { recursive: true })
    chownSync(showMemory(kernel, memory, path, VOLATILE_MODE), plan.userId, plan.groupId)
  }
  for (const name of plan.caches) {
    mkdirSync(`/tmp/${name}`, { recursive: true })
    // Whatever the umask is: who runs here may be somebody else.
    for (let path = name; path !== '.'; path = dirname(path)) chmodSync(`/tmp/${path}`, MEMORY_DIRECTORY_MODE)
  }
}

/** Mounts all that is beneath `/` but /proc, in the namespace that this thread is in. */
export function mountView(kernel: Kernel, plan: NamespacePlan, held: Held): void {
  const sockets = socketsByPath()
  // What the host mounts from now on must not appear here, where it could be written.
  kernel.mount('make private', 'none', '/', '', MS_REC | MS_PRIVATE, '')
  const roots = mountAll(kernel, plan, held)
  // A node of a device that lies somewhere is none to a session, whoever may write to it.
  kernel.change('/', MOUNT_ATTR_RDONLY | MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV, 0n, true)
  const devices = openDevices(plan, held)
  const memory = mountMemory(kernel, plan, held)
  mountScratch(kernel, plan, memory, held)
  showRoots(kernel, plan, roots)
  mountDevices(kernel, plan, devices, memory)
  cover(kernel, plan, roots)
  for (const path of sockets)
    if (!plan.roots.some((root) => isWithin(root.path, path))) hideSocket(kernel, path)
  makeVolatile(kernel, plan, memory)
}
