/**
 * The keeper: a thread that makes namespaces and enters no session for longer than that. Each session gets a mount
 * namespace in which its branches lie over the real directories and nothing else can be written, a process namespace
 * whose init ends with this process, and where wanted a network without anything in it.
 * It is not the launcher, because that may not mount any more; it starts nothing that an agent has asked for.
 * Everything happens in a fixed order, which the steps below explain; the first step that fails is named, and what
 * was made by then is gone.
 * Also runs as CommonJS text made by the bundler, so nothing here waits at the top or asks for `import.meta`.
 * Rules: docs/sandbox.md; mount_namespaces(7), pid_namespaces(7), overlayfs.rst, mount_setattr(2).
 * @module
 */

import {
  chmodSync,
  closeSync,
  existsSync,
  lstatSync,
  mkdirSync,
  openSync,
  readFileSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { dirname } from 'node:path'
import { parentPort } from 'node:worker_threads'
import { isWithin } from '../../base/lexical-path.ts'
import { O_DIRECTORY, O_PATH } from '../at.node.ts'
import { descendants } from '../process-tree.node.ts'
import { ERRNO, loadSyscalls, O_CLOEXEC, O_RDWR, SIGKILL, type Syscalls, WNOHANG } from '../syscalls.node.ts'
import type {
  KeeperAnswer,
  KeeperRequest,
  NamespaceDescriptors,
  NamespacePlan,
  RootMount,
} from './namespace-plan.ts'

/** linux/sched.h */
const CLONE_FS = 0x200
const CLONE_NEWNS = 0x20000
const CLONE_NEWIPC = 0x8000000
const CLONE_NEWPID = 0x20000000
const CLONE_NEWNET = 0x40000000
/** sys/mount.h */
const MS_RDONLY = 0x1
const MS_NOSUID = 0x2
const MS_NODEV = 0x4
const MS_NOEXEC = 0x8
const MS_BIND = 0x1000
const MS_REC = 0x4000
const MS_PRIVATE = 0x40000
/** linux/mount.h: struct mount_attr is attr_set, attr_clr, propagation, userns_fd. */
const MOUNT_ATTR_RDONLY = 0x1n
const MOUNT_ATTR_BYTES = 32
const AT_FDCWD = -100
const AT_RECURSIVE = 0x8000
/** linux/prctl.h, linux/capability.h */
const PR_CAP_AMBIENT = 47
const PR_CAP_AMBIENT_RAISE = 2n
const CAP_SYS_ADMIN = 21
const CAPABILITY_VERSION_3 = 0x2008_0522
/** spawn.h of glibc */
const POSIX_SPAWN_SETSIGDEF = 0x04
const POSIX_SPAWN_SETSIGMASK = 0x08
const POSIX_SPAWN_SETSID = 0x80
const SPAWN_ATTRIBUTES_BYTES = 512
const SPAWN_FILE_ACTIONS_BYTES = 256
const SIGNAL_SET_BYTES = 128
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
/** How long the end of a process namespace may take: processes that wait for a device end when they wake. */
const END_WAIT_MS = 2_000
const END_POLL_MS = 2
const CHILD_WAIT_MS = 1_000
const CHILD_POLL_MS = 0.2

class Refused extends Error {
  readonly step: string
  readonly errno: number
  constructor(step: string, errno: number) {
    super(`${step}: errno ${errno}`)
    this.step = step
    this.errno = errno
  }
}

const text = (value: string): Uint8Array => Buffer.from(`${value}\0`)

type Kernel = {
  readonly syscalls: Syscalls
  /** Gives the result, or throws what the step was and its errno. */
  must(step: string, result: number): number
  mount(step: string, source: string, target: string, type: string, flags: number, options: string): void
  setReadOnly(target: string, isReadOnly: boolean, isRecursive: boolean): void
  /** Runs a program here and gives its pid. `stdin`: a descriptor. */
  spawn(file: string, argv: readonly string[], stdin: number): number
}

function createKernel(syscalls: Syscalls, nullDescriptor: number): Kernel {
  const { libc, byNumber } = syscalls
  const must = (step: string, result: number): number => {
    if (result < 0) throw new Refused(step, -result)
    return result
  }
  const list = (words: readonly string[]): { block: BigUint64Array; kept: Uint8Array[] } => {
    const kept = words.map(text)
    const block = new BigUint64Array(new ArrayBuffer((words.length + 1) * 8))
    for (const [index, bytes] of kept.entries()) block[index] = syscalls.addressOf(bytes)
    return { block, kept }
  }
  return {
    syscalls,
    must,
    mount(step, source, target, type, flags, options) {
      must(step, byNumber('mount', text(source), text(target), text(type), flags, text(options)))
    },
    setReadOnly(target, isReadOnly, isRecursive) {
      const attributes = new BigUint64Array(new ArrayBuffer(MOUNT_ATTR_BYTES))
      attributes[isReadOnly ? 0 : 1] = MOUNT_ATTR_RDONLY
      const flags = isRecursive ? AT_RECURSIVE : 0
      must(
        `mount_setattr(${target})`,
        byNumber('mount_setattr', AT_FDCWD, text(target), flags, attributes, MOUNT_ATTR_BYTES),
      )
    },
    spawn(file, argv, stdin) {
      const actions = new Uint8Array(new ArrayBuffer(SPAWN_FILE_ACTIONS_BYTES))
      const attributes = new Uint8Array(new ArrayBuffer(SPAWN_ATTRIBUTES_BYTES))
      const pid = new Int32Array(new ArrayBuffer(4))
      libc.posix_spawn_file_actions_init(actions)
      libc.posix_spawn_file_actions_adddup2(actions, stdin, 0)
      libc.posix_spawn_file_actions_adddup2(actions, nullDescriptor, 1)
      libc.posix_spawn_file_actions_adddup2(actions, nullDescriptor, 2)
      syscalls.addCloseFrom?.(actions, 3)
      libc.posix_spawnattr_init(attributes)
      libc.posix_spawnattr_setflags(
        attributes,
        POSIX_SPAWN_SETSID | POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETSIGMASK,
      )
      libc.posix_spawnattr_setsigdefault(attributes, new Uint8Array(SIGNAL_SET_BYTES).fill(0xff))
      libc.posix_spawnattr_setsigmask(attributes, new Uint8Array(SIGNAL_SET_BYTES))
      const [path, words, environment] = [text(file), list(argv), list(['PATH=/usr/bin:/bin', 'LANG=C'])]
      const result = libc.posix_spawn(
        pid,
        syscalls.addressOf(path),
        actions,
        attributes,
        syscalls.addressOf(words.block),
        syscalls.addressOf(environment.block),
      )
      libc.posix_spawn_file_actions_destroy(actions)
      must(`posix_spawn(${file})`, -result)
      // Used here so that nothing of it is collected before the call.
      return words.kept.length > 0 && environment.kept.length > 0 ? (pid[0] ?? -1) : -1
    },
  }
}

function openPath(path: string): number {
  return openSync(path, O_PATH | O_CLOEXEC)
}

function find(name: string): string {
  for (const directory of ['/usr/bin', '/bin', '/usr/sbin', '/sbin']) {
    if (existsSync(`${directory}/${name}`)) return `${directory}/${name}`
  }
  throw new Refused(`find ${name}`, 2)
}

/** The host's namespaces of this thread, to come back to. */
type Home = {
  readonly mount: number
  readonly pid: number
  readonly ipc: number
  readonly network: number
  /** False in a user namespace: only the mounts are its own. */
  readonly isReachable: boolean
}

type Held = {
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
 * them, and then they are put back from the descriptors that are taken here.
 */
function mountRoots(kernel: Kernel, roots: readonly RootMount[], held: Held): number[] {
  return roots.map((root) => {
    if (root.kind === 'bind') {
      kernel.mount(`bind ${root.path}`, root.source, root.path, '', MS_BIND, '')
    } else {
      // By descriptor: no character of a path means anything, and no path is too long for the options.
      const layers = [root.path, root.upper, root.work].map(openPath)
      held.passing.push(...layers)
      const [lower, upper, work] = layers.map((descriptor) => `/proc/thread-self/fd/${descriptor}`)
      const options = `lowerdir=${lower},upperdir=${upper},workdir=${work}${root.options === '' ? '' : `,${root.options}`}`
      kernel.mount(`overlay ${root.path}`, 'overlay', root.path, 'overlay', MS_NOSUID | MS_NODEV, options)
    }
    const descriptor = openPath(root.path)
    held.passing.push(descriptor)
    return descriptor
  })
}

/** What is there already as a mount point, or is made as one in memory; the kind is that of `like`. */
function makeTarget(path: string, isDirectory: boolean): void {
  if (existsSync(path)) return
  mkdirSync(isDirectory ? path : dirname(path), { recursive: true, mode: 0o755 })
  if (!isDirectory) writeFileSync(path, '')
}

function mountScratch(kernel: Kernel, plan: NamespacePlan, held: Held): void {
  const kept = plan.kept.filter(existsSync).map((path) => {
    const descriptor = openPath(path)
    held.passing.push(descriptor)
    return { path, descriptor, isDirectory: lstatSync(path).isDirectory() }
  })
  const options = `size=${plan.scratchBytes},mode=${MEMORY_DIRECTORY_MODE.toString(8)}`
  const real = new Set<string>()
  for (const path of plan.scratch) {
    if (!existsSync(path)) continue
    // A link leads to one that is mounted anyway, or is none of ours.
    if (lstatSync(path).isSymbolicLink() || real.has(path)) continue
    real.add(path)
    kernel.mount(`tmpfs ${path}`, 'tmpfs', path, 'tmpfs', MS_NOSUID | MS_NODEV, options)
  }
  for (const { path, descriptor, isDirectory } of kept) {
    makeTarget(path, isDirectory)
    kernel.mount(`bind ${path}`, `/proc/thread-self/fd/${descriptor}`, path, '', MS_BIND, '')
    kernel.setReadOnly(path, true, false)
  }
}

/** A root that lies beneath a memory directory is not to be seen any more: it is put back there. */
function showRoots(kernel: Kernel, roots: readonly RootMount[], descriptors: readonly number[]): void {
  for (const [index, { path }] of roots.entries()) {
    const isHidden = !existsSync(path) || !isSame(path, descriptors[index] ?? -1)
    if (isHidden) {
      makeTarget(path, true)
      kernel.mount(`bind ${path}`, `/proc/thread-self/fd/${descriptors[index]}`, path, '', MS_BIND, '')
    }
    kernel.setReadOnly(path, false, false)
  }
}

function isSame(path: string, descriptor: number): boolean {
  const here = lstatSync(path, { bigint: true })
  const there = lstatSync(`/proc/thread-self/fd/${descriptor}/.`, { bigint: true })
  return here.dev === there.dev && here.ino === there.ino
}

function mountDevices(kernel: Kernel, plan: NamespacePlan, held: Held): void {
  const devices = [...USUAL_DEVICES.map((name) => `/dev/${name}`), ...plan.devices].filter(existsSync)
  const nodes = devices.map((path) => ({
    path,
    descriptor: openPath(path),
    isDirectory: lstatSync(path).isDirectory(),
  }))
  held.passing.push(...nodes.map(({ descriptor }) => descriptor))
  kernel.mount('tmpfs /dev', 'tmpfs', '/dev', 'tmpfs', MS_NOSUID | MS_NOEXEC, 'size=64k,mode=755')
  for (const { path, descriptor, isDirectory } of nodes) {
    makeTarget(path, isDirectory)
    kernel.mount(`bind ${path}`, `/proc/thread-self/fd/${descriptor}`, path, '', MS_BIND, '')
  }
  mkdirSync('/dev/pts')
  mkdirSync('/dev/shm')
  const owner = `newinstance,ptmxmode=0666,mode=0620,uid=${plan.userId}`
  kernel.mount('devpts', 'devpts', '/dev/pts', 'devpts', MS_NOSUID | MS_NOEXEC, owner)
  const shared = `size=${plan.scratchBytes},mode=${MEMORY_DIRECTORY_MODE.toString(8)}`
  kernel.mount('tmpfs /dev/shm', 'tmpfs', '/dev/shm', 'tmpfs', MS_NOSUID | MS_NODEV, shared)
  for (const [name, target] of DEVICE_LINKS) symlinkSync(target, `/dev/${name}`)
  kernel.setReadOnly('/dev', true, false)
}

/** Runs to its end. @throws Refused with 1 where it failed */
function runToEnd(
  { syscalls, spawn, must }: Kernel,
  file: string,
  argv: readonly string[],
  stdin: number,
): void {
  const pid = spawn(file, argv, stdin)
  const status = new Int32Array(new ArrayBuffer(4))
  must(`waitpid(${argv[0]})`, syscalls.checked(syscalls.libc.waitpid(pid, status, 0)))
  if (status[0] !== 0) throw new Refused(argv.join(' '), 1)
}

/**
 * The first process of the new namespaces ignores SIGCHLD, so that the kernel reaps every orphan, and reads a pipe whose
 * other end is this process's: however this one ends, that one does too, and with it all processes of the session.
 */
const INIT: readonly string[] = ['env', '--ignore-signal=CHLD', 'cat']

/** The child of a process, as soon as it has one. */
function childOf(pid: number): number {
  for (let waited = 0; waited < CHILD_WAIT_MS; waited += CHILD_POLL_MS) {
    for (const child of childrenOf(pid)) return child
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, CHILD_POLL_MS)
  }
  throw new Refused('unshare', ERRNO.ECHILD)
}

/** Not every kernel has the list of children: then everybody is asked who its parent is. */
function childrenOf(pid: number): number[] {
  try {
    return readFileSync(`/proc/${pid}/task/${pid}/children`, 'latin1')
      .split(' ')
      .map(Number)
      .filter((child) => child > 0)
  } catch {
    return [...descendants(pid)]
  }
}

/**
 * Starts the init in namespaces of its own. This thread makes them itself where it may come home from them. In a user
 * namespace it may not, since the host's belong to the host: there unshare(1) makes them, and the init is its child.
 */
function startInit(kernel: Kernel, plan: NamespacePlan, held: Held, home: Home): number {
  const { must } = kernel
  const { libc, checked, byNumber } = kernel.syscalls
  const isAlone = plan.network === 'none'
  const pair = new Int32Array(new ArrayBuffer(8))
  must('pipe2', checked(libc.pipe2(pair, O_CLOEXEC)))
  const [readEnd, lifeline] = [pair[0] ?? -1, pair[1] ?? -1]
  held.passing.push(readEnd)
  held.lasting.push(lifeline)
  if (!home.isReachable) {
    const namespaces = ['--pid', '--ipc', ...(isAlone ? ['--net'] : [])]
    const argv = ['unshare', ...namespaces, '--fork', '--kill-child=KILL', '--', ...INIT]
    held.childPid = kernel.spawn(find('unshare'), argv, readEnd)
    held.initPid = childOf(held.childPid)
    return lifeline
  }
  must('unshare', checked(libc.unshare(CLONE_NEWPID | CLONE_NEWIPC | (isAlone ? CLONE_NEWNET : 0))))
  try {
    held.childPid = kernel.spawn(find('env'), INIT, readEnd)
    held.initPid = held.childPid
    return lifeline
  } finally {
    must('setns(pid)', byNumber('setns', home.pid, CLONE_NEWPID))
    must('setns(ipc)', byNumber('setns', home.ipc, CLONE_NEWIPC))
    must('setns(net)', byNumber('setns', home.network, CLONE_NEWNET))
  }
}

/** Only a process of the namespace can mount its /proc. */
function mountProc(kernel: Kernel, initPid: number, nullDescriptor: number): void {
  const argv = ['nsenter', `--target=${initPid}`, '--pid', '--', 'mount', '-t', 'proc', 'proc', '/proc']
  runToEnd(kernel, find('nsenter'), argv, nullDescriptor)
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

/** Covers what is the daemon's own. A branched directory may lie beneath: the way to it stays, and nothing beside. */
function cover(kernel: Kernel, plan: NamespacePlan, rootDescriptors: readonly number[]): void {
  for (const path of plan.covers) {
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
      kernel.setReadOnly(root, false, false)
    }
    kernel.setReadOnly(path, true, false)
  }
}

function closeProc(kernel: Kernel): void {
  for (const path of PROC_READ_ONLY) {
    if (!existsSync(path)) continue
    kernel.mount(`bind ${path}`, path, path, '', MS_BIND | MS_REC, '')
    kernel.setReadOnly(path, true, true)
  }
  for (const path of PROC_HIDDEN) hide(kernel, path)
}

function makeVolatile(kernel: Kernel, plan: NamespacePlan): void {
  const owner = `size=${plan.scratchBytes},mode=755,uid=${plan.userId},gid=${plan.groupId}`
  for (const path of plan.volatile) {
    if (!existsSync(path)) mkdirSync(path, { recursive: true })
    kernel.mount(`tmpfs ${path}`, 'tmpfs', path, 'tmpfs', MS_NOSUID | MS_NODEV, owner)
  }
  for (const name of plan.caches) {
    mkdirSync(`/tmp/${name}`, { recursive: true })
    // Whatever the umask is: who runs here may be somebody else.
    for (let path = name; path !== '.'; path = dirname(path)) chmodSync(`/tmp/${path}`, MEMORY_DIRECTORY_MODE)
  }
}

function build(
  kernel: Kernel,
  plan: NamespacePlan,
  held: Held,
  home: Home,
  nullDescriptor: number,
): NamespaceDescriptors {
  const { syscalls, must } = kernel
  must('unshare(CLONE_NEWNS)', syscalls.checked(syscalls.libc.unshare(CLONE_NEWNS)))
  const keep = (path: string, flags: number): number => {
    const descriptor = openSync(path, flags | O_CLOEXEC)
    held.lasting.push(descriptor)
    return descriptor
  }
  const mount = keep('/proc/thread-self/ns/mnt', 0)
  // What the host mounts from now on must not appear here, where it could be written.
  kernel.mount('make private', 'none', '/', '', MS_REC | MS_PRIVATE, '')
  const roots = mountRoots(kernel, plan.roots, held)
  kernel.setReadOnly('/', true, true)
  mountScratch(kernel, plan, held)
  showRoots(kernel, plan.roots, roots)
  mountDevices(kernel, plan, held)
  cover(kernel, plan, roots)
  makeVolatile(kernel, plan)
  const lifeline = startInit(kernel, plan, held, home)
  const ofInit = `/proc/${held.initPid}/ns`
  const pid = keep(`${ofInit}/pid`, 0)
  const ipc = keep(`${ofInit}/ipc`, 0)
  const network = plan.network === 'none' ? keep(`${ofInit}/net`, 0) : -1
  // From here on /proc is the session's, in which this thread is not.
  mountProc(kernel, held.initPid, nullDescriptor)
  closeProc(kernel)
  const root = keep('/', O_PATH | O_DIRECTORY)
  return { mount, pid, ipc, network, root, lifeline, initPid: held.childPid }
}

function open(
  kernel: Kernel,
  id: number,
  plan: NamespacePlan,
  home: Home,
  nullDescriptor: number,
): KeeperAnswer {
  const held: Held = { passing: [], lasting: [], childPid: -1, initPid: -1 }
  const { syscalls } = kernel
  let answer: KeeperAnswer
  try {
    answer = { kind: 'opened', id, descriptors: build(kernel, plan, held, home, nullDescriptor) }
  } catch (cause) {
    if (held.childPid > 0) {
      syscalls.libc.kill(held.childPid, SIGKILL)
      syscalls.libc.waitpid(held.childPid, new Int32Array(new ArrayBuffer(4)), 0)
    }
    for (const descriptor of held.lasting) closeSync(descriptor)
    const errno = cause as { step?: string; errno?: number; syscall?: string; path?: string }
    answer = {
      kind: 'refused',
      id,
      step: errno.step ?? `${errno.syscall ?? 'unknown'} ${errno.path ?? ''}`,
      errno: Math.abs(errno.errno ?? 0),
    }
  }
  for (const descriptor of held.passing) closeSync(descriptor)
  // A thread that cannot come home would build the next session inside this one.
  if (syscalls.byNumber('setns', home.mount, CLONE_NEWNS) < 0) process.exit(1)
  return answer
}

/** Kills what is left of a session and waits until it is gone. */
function end({ syscalls }: Kernel, id: number, initPid: number): KeeperAnswer {
  const status = new Int32Array(new ArrayBuffer(4))
  const pause = new Int32Array(new SharedArrayBuffer(4))
  syscalls.libc.kill(initPid, SIGKILL)
  for (let waited = 0; waited < END_WAIT_MS; waited += END_POLL_MS) {
    const result = syscalls.checked(syscalls.libc.waitpid(initPid, status, WNOHANG))
    if (result !== 0) return { kind: 'ended', id, isGone: true }
    Atomics.wait(pause, 0, 0, END_POLL_MS)
  }
  return { kind: 'ended', id, isGone: false }
}

/** Programs started here keep the right to mount, which a user other than root would lose by exec. */
function keepMounting({ syscalls, must }: Kernel): void {
  const header = Uint32Array.of(CAPABILITY_VERSION_3, 0)
  const data = new Uint32Array(6)
  must('capget', syscalls.byNumber('capget', header, data))
  data[2] = (data[2] ?? 0) | (1 << CAP_SYS_ADMIN)
  must('capset', syscalls.byNumber('capset', header, data))
  must(
    'prctl(PR_CAP_AMBIENT_RAISE)',
    syscalls.checked(
      syscalls.libc.prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_RAISE, BigInt(CAP_SYS_ADMIN), 0n, 0n),
    ),
  )
}

function main(): void {
  const port = parentPort
  if (port === null) return
  const say = (answer: KeeperAnswer): void => port.postMessage(answer)
  try {
    const syscalls = loadSyscalls()
    const nullDescriptor = openSync('/dev/null', O_RDWR | O_CLOEXEC)
    const kernel = createKernel(syscalls, nullDescriptor)
    kernel.must('unshare(CLONE_FS)', syscalls.checked(syscalls.libc.unshare(CLONE_FS)))
    if (process.geteuid?.() !== 0) keepMounting(kernel)
    const pid = openSync('/proc/thread-self/ns/pid', O_CLOEXEC)
    const home: Home = {
      mount: openSync('/proc/thread-self/ns/mnt', O_CLOEXEC),
      pid,
      ipc: openSync('/proc/thread-self/ns/ipc', O_CLOEXEC),
      network: openSync('/proc/thread-self/ns/net', O_CLOEXEC),
      isReachable: syscalls.byNumber('setns', pid, CLONE_NEWPID) === 0,
    }
    port.on('message', (request: KeeperRequest) => {
      if (request.kind === 'open') say(open(kernel, request.id, request.plan, home, nullDescriptor))
      else if (request.kind === 'end') say(end(kernel, request.id, request.initPid))
      else {
        for (const descriptor of [nullDescriptor, home.mount, home.pid, home.ipc, home.network])
          closeSync(descriptor)
        port.close()
      }
    })
    say({ kind: 'ready' })
  } catch (cause) {
    say({ kind: 'unsuitable', message: cause instanceof Error ? cause.message : String(cause) })
  }
}

main()
