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

import { closeSync, existsSync, openSync, readFileSync } from 'node:fs'
import { parentPort } from 'node:worker_threads'
import { O_DIRECTORY, O_PATH } from '../at.node.ts'
import { CAP_SYS_ADMIN, CAPABILITY_VERSION_3 } from '../capabilities.node.ts'
import { descendants } from '../process-tree.node.ts'
import { ERRNO, loadSyscalls, O_CLOEXEC, O_RDWR, SIGKILL, WNOHANG } from '../syscalls.node.ts'
import { createKernel, type Kernel, Refused } from './kernel.node.ts'
import type { KeeperAnswer, KeeperRequest, NamespaceDescriptors, NamespacePlan } from './namespace-plan.ts'
import { closeProc, type Held, mountView } from './view-mounts.node.ts'

/** linux/sched.h */
const CLONE_FS = 0x200
const CLONE_NEWNS = 0x20000
const CLONE_NEWIPC = 0x8000000
const CLONE_NEWPID = 0x20000000
const CLONE_NEWNET = 0x40000000
/** linux/prctl.h */
const PR_CAP_AMBIENT = 47
const PR_CAP_AMBIENT_RAISE = 2n
/** How long the end of a process namespace may take: processes that wait for a device end when they wake. */
const END_WAIT_MS = 2_000
const END_POLL_MS = 2
const CHILD_WAIT_MS = 1_000
const CHILD_POLL_MS = 0.2

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
  mountView(kernel, plan, held)
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
  // A thread that cannot come home would build the next session inside this one: it ends.
  kernel.must('setns(mnt)', syscalls.byNumber('setns', home.mount, CLONE_NEWNS))
  return answer
}

/**
 * Kills what is left of a session and waits until it is gone: an init ends when everybody in its namespace has ended.
 * Where unshare(1) is between, that one waits for the init, and would be gone too early if it were killed itself.
 */
function end({ syscalls }: Kernel, id: number, pid: number, home: Home): KeeperAnswer {
  const status = new Int32Array(new ArrayBuffer(4))
  const pause = new Int32Array(new SharedArrayBuffer(4))
  const inits = home.isReachable ? [] : childrenOf(pid)
  for (const one of inits.length > 0 ? inits : [pid]) syscalls.libc.kill(one, SIGKILL)
  for (let waited = 0; waited < END_WAIT_MS; waited += END_POLL_MS) {
    const result = syscalls.checked(syscalls.libc.waitpid(pid, status, WNOHANG))
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
      else if (request.kind === 'end') say(end(kernel, request.id, request.initPid, home))
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
