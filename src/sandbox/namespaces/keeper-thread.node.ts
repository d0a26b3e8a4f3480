/**
 * The keeper: a thread that makes namespaces and enters no session for longer than that. Each session gets a mount
 * namespace with a root of its own, in which its branches are the only places that can be written, a process namespace
 * whose init ends with this process, and where wanted a network of its own (session-network.node.ts).
 * It is not the launcher, because that may not mount any more. It runs no program of the device or of a session: the
 * init is one of its own, in memory (session-init.ts), and everything else is a system call.
 * Everything happens in a fixed order, which the steps below explain; the first step that fails is named, and what
 * was made by then is gone.
 * Also runs as CommonJS text made by the bundler, so nothing here waits at the top or asks for `import.meta`.
 * Rules: docs/sandbox.md; mount_namespaces(7), pid_namespaces(7), pivot_root(2), mount_setattr(2).
 * @module
 */

import { closeSync, openSync, writeSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import { parentPort } from 'node:worker_threads'
import { O_DIRECTORY, O_PATH } from '../kernel/at.node.ts'
import { CAP_SYS_ADMIN, CAPABILITY_VERSION_3 } from '../kernel/capabilities.node.ts'
import { ERRNO, loadSyscalls, O_CLOEXEC, O_RDWR, POLLIN, SIGKILL, WNOHANG } from '../kernel/syscalls.node.ts'
import { COMMAND_UMASK, INIT_ANSWER_MS } from '../limits.ts'
import { createHiddenPlaces, type HiddenPlaces } from './hidden-places.node.ts'
import { createKernel, type Kernel, MOUNT_ATTR_RDONLY, MS_BIND, MS_REC, Refused } from './kernel.node.ts'
import type {
  GateDescriptors,
  KeeperAnswer,
  KeeperRequest,
  ListenPlace,
  NamespaceDescriptors,
  NamespacePlan,
  ViewGaps,
} from './namespace-plan.ts'
import { INIT_NAME, INIT_STEPS, sessionInit, TOLD_BYTES } from './session-init.ts'
import { createNetworkHome, makeNetwork, type NetworkHome, openListeners } from './session-network.node.ts'
import { closeProc, closeSys } from './view-memory.node.ts'
import { type Held, mountView, type View } from './view-mounts.node.ts'

/** linux/sched.h */
const CLONE_FS = 0x200
const CLONE_NEWNS = 0x20000
/** linux/prctl.h */
const PR_CAP_AMBIENT = 47
const PR_CAP_AMBIENT_RAISE = 2n
/** sys/mount.h */
const MNT_DETACH = 2
/** linux/memfd.h; kernels before 6.3 know no MFD_EXEC, and need none. */
const MFD_CLOEXEC = 1
const MFD_EXEC = 0x10
/** How long the end of a process namespace may take: processes that wait for a device end when they wake. */
const END_WAIT_MS = 2_000
const END_POLL_MS = 2

/** What this thread needs for every session, and keeps. */
type Ground = {
  readonly kernel: Kernel
  /** The host's mounts, to come back to. */
  readonly home: number
  readonly places: HiddenPlaces
  readonly network: NetworkHome
  /** A program in memory. */
  readonly init: number
}

const SYSFS_STEP = INIT_STEPS.indexOf('mount sysfs')

function inMemory({ syscalls, must }: Kernel, name: string, bytes: Uint8Array): number {
  const path = Buffer.from(`${name}\0`)
  let descriptor = syscalls.byNumber('memfd_create', path, MFD_CLOEXEC | MFD_EXEC)
  if (descriptor < 0) descriptor = must('memfd_create', syscalls.byNumber('memfd_create', path, MFD_CLOEXEC))
  for (let at = 0; at < bytes.length; ) at += writeSync(descriptor, bytes, at)
  // Nothing can be started that somebody could write: what is open is to be read.
  const readOnly = openSync(`/proc/self/fd/${descriptor}`, O_CLOEXEC)
  closeSync(descriptor)
  return readOnly
}

/** What the init tells within its time, up to `count` numbers; fewer where it has ended. */
function listen({ syscalls }: Kernel, descriptor: number, count: number): bigint[] {
  const told: bigint[] = []
  const bytes = new BigInt64Array(new ArrayBuffer(TOLD_BYTES))
  const request = new Int32Array([descriptor, POLLIN])
  while (told.length < count) {
    const ready = syscalls.checked(syscalls.libc.poll(request, 1n, INIT_ANSWER_MS))
    // The end of any child of this process may interrupt it, and there are no more of those than children.
    if (ready === -ERRNO.EINTR) continue
    if (ready <= 0) break
    if (Number(syscalls.libc.read(descriptor, bytes, BigInt(TOLD_BYTES))) !== TOLD_BYTES) break
    told.push(bytes[0] ?? 0n)
  }
  return told
}

function openPair({ syscalls, must }: Kernel): [readEnd: number, writeEnd: number] {
  const pair = new Int32Array(new ArrayBuffer(8))
  must('pipe2', syscalls.checked(syscalls.libc.pipe2(pair, O_CLOEXEC)))
  return [pair[0] ?? -1, pair[1] ?? -1]
}

/** Starts the init with the view's root for its directory; gives its lifeline, and whether the view has a /sys. */
function startInit(ground: Ground, held: Held): { lifeline: number; hasSys: boolean } {
  const { kernel, init } = ground
  const { syscalls, must } = kernel
  const [readEnd, lifeline] = openPair(kernel)
  held.passing.push(readEnd)
  held.lasting.push(lifeline)
  const [hear, tell] = openPair(kernel)
  held.passing.push(hear)
  try {
    const maker = kernel.spawn(`/proc/self/fd/${init}`, [INIT_NAME], readEnd, tell)
    must(
      'waitpid(init)',
      syscalls.checked(syscalls.libc.waitpid(maker, new Int32Array(new ArrayBuffer(4)), 0)),
    )
  } finally {
    closeSync(tell)
  }
  const told = listen(kernel, hear, INIT_STEPS.length + 1)
  // Its own number is the only one that is positive, and comes when it comes.
  held.initPid = Number(told.find((one) => one > 0n) ?? -1n)
  const results = told.filter((one) => one <= 0n).map(Number)
  if (held.initPid < 0) throw new Refused('clone(CLONE_NEWPID)', -(results[0] ?? -ERRNO.ETIMEDOUT))
  for (const [index, step] of INIT_STEPS.entries())
    if (index !== SYSFS_STEP) must(step, results[index] ?? -ERRNO.ETIMEDOUT)
  return { lifeline, hasSys: results[SYSFS_STEP] === 0 }
}

/** A user's daemon may not mount the /sys of the device's network anew: it is shown as it is. */
function showSys({ kernel }: Ground, plan: NamespacePlan, { root }: View): void {
  if (plan.network !== 'host') return
  kernel.mount('bind /sys', '/sys', `${root}/sys`, '', MS_BIND | MS_REC, '')
  kernel.change(`${root}/sys`, MOUNT_ATTR_RDONLY, 0n, true)
}

/** The view becomes the root of this namespace, and nothing else of it can be reached any more. */
function takeRoot(
  { kernel: { syscalls, must, change } }: Ground,
  { root }: View,
  rootDescriptor: number,
): void {
  const here = Buffer.from('.\0')
  change(root, MOUNT_ATTR_RDONLY, 0n)
  must('fchdir', syscalls.byNumber('fchdir', rootDescriptor))
  must('pivot_root', syscalls.byNumber('pivot_root', here, here))
  must('umount2', syscalls.byNumber('umount2', here, MNT_DETACH))
}

function build(
  ground: Ground,
  plan: NamespacePlan,
  held: Held,
): { descriptors: NamespaceDescriptors; gaps: ViewGaps } {
  const { kernel, places } = ground
  const { syscalls, must } = kernel
  must('unshare(CLONE_NEWNS)', syscalls.checked(syscalls.libc.unshare(CLONE_NEWNS)))
  const keep = (path: string, flags: number): number => {
    const descriptor = openSync(path, flags | O_CLOEXEC)
    held.lasting.push(descriptor)
    return descriptor
  }
  const mount = keep('/proc/thread-self/ns/mnt', 0)
  let network = -1
  let gate: GateDescriptors | undefined
  if (plan.network !== 'host') {
    ground.network.leave()
    network = keep('/proc/thread-self/ns/net', 0)
    gate = makeNetwork(kernel, plan, held)
  }
  const view = mountView(kernel, plan, held, places)
  const root = keep(view.root, O_PATH | O_DIRECTORY)
  must('fchdir', syscalls.byNumber('fchdir', root))
  const { lifeline, hasSys } = startInit(ground, held)
  const ofInit = `/proc/${held.initPid}/ns`
  const pid = keep(`${ofInit}/pid`, 0)
  const ipc = keep(`${ofInit}/ipc`, 0)
  const isRoot = plan.userId === 0
  closeProc(kernel, view.root, isRoot)
  if (!hasSys) showSys(ground, plan, view)
  if (isRoot) closeSys(kernel, view.root)
  takeRoot(ground, view, root)
  return {
    descriptors: { mount, pid, ipc, network, networkRest: -1, gate, root, lifeline, initPid: held.initPid },
    gaps: view.gaps,
  }
}

function open(ground: Ground, id: number, plan: NamespacePlan): KeeperAnswer {
  const held: Held = { passing: [], lasting: [], initPid: -1 }
  const { kernel, home } = ground
  const { syscalls } = kernel
  let answer: KeeperAnswer
  try {
    answer = { kind: 'opened', id, ...build(ground, plan, held) }
  } catch (cause) {
    if (held.initPid > 0) {
      syscalls.libc.kill(held.initPid, SIGKILL)
      syscalls.libc.waitpid(held.initPid, new Int32Array(new ArrayBuffer(4)), 0)
    }
    for (const descriptor of held.lasting) closeSync(descriptor)
    const errno = cause as {
      step?: string
      errno?: number
      syscall?: string
      path?: string
      message?: string
    }
    answer = {
      kind: 'refused',
      id,
      step: errno.step ?? `${errno.syscall ?? errno.message ?? 'unknown'} ${errno.path ?? ''}`,
      errno: Math.abs(errno.errno ?? 0),
    }
  }
  for (const descriptor of held.passing) closeSync(descriptor)
  // A thread that cannot come home would build the next session inside this one: it ends.
  kernel.must('setns(mnt)', syscalls.byNumber('setns', home, CLONE_NEWNS))
  ground.network.comeBack()
  const rest = answer.kind === 'opened' && answer.descriptors.network >= 0 ? ground.network.rest() : undefined
  return rest === undefined || answer.kind !== 'opened'
    ? answer
    : { ...answer, descriptors: { ...answer.descriptors, networkRest: rest } }
}

/**
 * Kills what is left of a session and waits until it is gone: an init ends when everybody in its namespace has ended.
 * Other sessions are made meanwhile.
 */
async function end({ kernel: { syscalls } }: Ground, id: number, pid: number): Promise<KeeperAnswer> {
  const status = new Int32Array(new ArrayBuffer(4))
  syscalls.libc.kill(pid, SIGKILL)
  for (let waited = 0; waited < END_WAIT_MS; waited += END_POLL_MS) {
    const result = syscalls.checked(syscalls.libc.waitpid(pid, status, WNOHANG))
    if (result !== 0) return { kind: 'ended', id, isGone: true }
    await sleep(END_POLL_MS)
  }
  return { kind: 'ended', id, isGone: false }
}

/** Opens more sockets in a network that is there already. */
function listenIn(ground: Ground, id: number, network: number, places: readonly ListenPlace[]): KeeperAnswer {
  const held: { readonly lasting: number[] } = { lasting: [] }
  try {
    ground.network.enter(network)
    return { kind: 'listening', id, listeners: openListeners(ground.kernel, places, held) }
  } catch (cause) {
    for (const descriptor of held.lasting) closeSync(descriptor)
    const { step = 'listen', errno = 0 } = cause as { step?: string; errno?: number }
    return { kind: 'refused', id, step, errno: Math.abs(errno) }
  } finally {
    ground.network.comeBack()
  }
}

/** The init keeps the right to mount, which a user other than root would lose by exec. */
function keepRights({ syscalls, must }: Kernel): void {
  const header = Uint32Array.of(CAPABILITY_VERSION_3, 0)
  const data = new Uint32Array(6)
  must('capget', syscalls.byNumber('capget', header, data))
  data[2] = (data[2] ?? 0) | (1 << CAP_SYS_ADMIN)
  must('capset', syscalls.byNumber('capset', header, data))
  const raised = syscalls.libc.prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_RAISE, BigInt(CAP_SYS_ADMIN), 0n, 0n)
  must('prctl(PR_CAP_AMBIENT_RAISE)', syscalls.checked(raised))
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
    // Of this thread alone: what it makes is for everybody in a session, whatever the daemon's own umask is.
    syscalls.libc.umask(COMMAND_UMASK)
    if (process.geteuid?.() !== 0) keepRights(kernel)
    const machine = process.arch === 'arm64' ? 'arm64' : 'x64'
    const ground: Ground = {
      kernel,
      home: openSync('/proc/thread-self/ns/mnt', O_CLOEXEC),
      places: createHiddenPlaces(),
      network: createNetworkHome(kernel),
      init: inMemory(kernel, INIT_NAME, sessionInit(machine)),
    }
    port.on('message', (request: KeeperRequest) => {
      if (request.kind === 'open') say(open(ground, request.id, request.plan))
      else if (request.kind === 'listen') say(listenIn(ground, request.id, request.network, request.places))
      else if (request.kind === 'end') void end(ground, request.id, request.initPid).then(say)
      else {
        for (const descriptor of [nullDescriptor, ground.home, ground.init]) closeSync(descriptor)
        ground.network.close()
        port.close()
      }
    })
    say({ kind: 'ready' })
  } catch (cause) {
    say({ kind: 'unsuitable', message: cause instanceof Error ? cause.message : String(cause) })
  }
}

main()
