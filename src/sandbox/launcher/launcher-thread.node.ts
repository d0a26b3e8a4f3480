/**
 * The launcher: a thread that confines itself once and for ever, then starts programs.
 * Namespaces, capabilities and no_new_privs belong to a thread on Linux and are inherited by what it forks, so
 * this thread gives away what no command may have, and nothing in between has to be executed.
 * It has no event loop: it sleeps on a pipe, whose writer is about to sleep itself and so hands over its processor,
 * which a futex does not (`launcher.node.ts` has the other side); requests are in shared memory. It takes one
 * request after the other in order, and answers each with a pid or the errno of posix_spawn.
 * A child gets descriptors 0, 1 and 2 and no other (but for a pinned script, which is its fourth), its own session and process group, default signal
 * dispositions and an empty mask (Node ignores SIGPIPE, which an exec would keep).
 * Also runs as CommonJS text made by the bundler, so nothing here waits at the top or asks for `import.meta`.
 * Rules: docs/security.md; posix_spawn(3), unshare(2), prctl(2), capabilities(7).
 * @module
 */

import { readlinkSync } from 'node:fs'
import { basename } from 'node:path'
import { parentPort, workerData } from 'node:worker_threads'
import { CAPABILITY_DATA_WORDS, CAPABILITY_VERSION_3 } from '../kernel/capabilities.node.ts'
import {
  CLOSE_RANGE_CLOEXEC,
  ERRNO,
  LAST_DESCRIPTOR,
  loadSyscalls,
  O_CLOEXEC,
  O_RDWR,
  POLLIN,
  type Syscalls,
} from '../kernel/syscalls.node.ts'
import { COMMAND_UMASK } from '../limits.ts'
import { createLauncherBounds, type LauncherBounds } from './launcher-bounds.node.ts'
import {
  CONTROL_BOUNDED,
  CONTROL_BYTES,
  CONTROL_CLOSING,
  CONTROL_COMPLETED,
  CONTROL_SUBMITTED,
  type Fence,
  FOURTH_DESCRIPTOR,
  HOME_NAMESPACES,
  KEEPS_PROGRAM,
  LAUNCH_SLOTS,
  type LauncherReport,
  type LauncherStart,
  SLOT,
  SLOT_BYTES,
} from './launcher-memory.ts'
import {
  become,
  comeBack,
  createLauncherPlaces,
  type LauncherPlaces,
  openHome,
} from './launcher-places.node.ts'
import { SPAWN_FILE_ACTIONS_BYTES, spawnAttributes } from './spawn-attributes.node.ts'

/** linux/sched.h: a current directory and umask of this thread's own. */
const CLONE_FS = 0x200
const CLONE_NEWNS = 0x20000
/** sys/mount.h: our covers stay ours, and what the host unmounts goes here too. */
const MS_RDONLY = 0x1
const MS_BIND = 0x1000
const MS_REC = 0x4000
const MS_SLAVE = 0x80000
/** linux/prctl.h, linux/seccomp.h */
const PR_SET_DUMPABLE = 4
const PR_SET_SECCOMP = 22
const SECCOMP_MODE_FILTER = 2n
/** sizeof(struct sock_fprog), sizeof(struct sock_filter) */
const FILTER_PROGRAM_BYTES = 16
const FILTER_INSTRUCTION_BYTES = 8
const PR_CAPBSET_READ = 23
const PR_CAPBSET_DROP = 24
const PR_SET_NO_NEW_PRIVS = 38
const PR_CAP_AMBIENT = 47
const PR_CAP_AMBIENT_CLEAR_ALL = 4n
/** linux/capability.h: version 3, two halves of (effective, permitted, inheritable). */
const CAPABILITY_HEADER_BYTES = 8
const CAPABILITIES_MAX = 64
const NULL_PATH = Buffer.from('/dev/null\0')
/** Wakes that have piled up are taken at once. */
const WAKE_BYTES = 64

/** What came of it; `refused` as it is reported. */
type Confined = { readonly kind: 'ready' } | Extract<LauncherReport, { kind: 'refused' }>

/** Gives away for ever what commands must not have; the first step that fails is named. */
function confine(syscalls: Syscalls, keepCapabilities: readonly number[] | undefined): Confined {
  const { libc } = syscalls
  const refused = (step: string, result: number): Confined => ({
    kind: 'refused',
    step,
    errno: -result,
  })
  let result = syscalls.checked(libc.unshare(CLONE_FS))
  if (result < 0) return refused('unshare(CLONE_FS)', result)
  // From here on that of this thread alone, which everything that it starts begins with.
  libc.umask(COMMAND_UMASK)
  result = syscalls.checked(libc.prctl(PR_SET_NO_NEW_PRIVS, 1n, 0n, 0n, 0n))
  if (result < 0) return refused('prctl(PR_SET_NO_NEW_PRIVS)', result)
  result = syscalls.checked(libc.prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0n, 0n, 0n))
  if (result < 0) return refused('prctl(PR_CAP_AMBIENT_CLEAR_ALL)', result)
  const header = new Uint32Array(CAPABILITY_HEADER_BYTES / 4)
  header[0] = CAPABILITY_VERSION_3
  const data = new Uint32Array(CAPABILITY_DATA_WORDS)
  result = syscalls.byNumber('capget', header, data)
  if (result < 0) return refused('capget', result)
  data[2] = 0
  data[5] = 0
  result = syscalls.byNumber('capset', header, data)
  if (result < 0) return refused('capset', result)
  if (keepCapabilities === undefined) return { kind: 'ready' }
  for (let capability = 0; capability < CAPABILITIES_MAX; capability++) {
    // EINVAL: past the last capability that this kernel knows.
    if (libc.prctl(PR_CAPBSET_READ, BigInt(capability), 0n, 0n, 0n) < 0) break
    if (keepCapabilities.includes(capability)) continue
    result = syscalls.checked(libc.prctl(PR_CAPBSET_DROP, BigInt(capability), 0n, 0n, 0n))
    if (result < 0) return refused(`prctl(PR_CAPBSET_DROP, ${capability})`, result)
  }
  return { kind: 'ready' }
}

/**
 * Puts up the fence, in the order that each step still allows the next one. The whole process becomes undumpable
 * with it, as the change of user alone would make it: else a program of the same user could read the daemon's
 * memory through this thread. Landlock allows no mount afterwards, the filter allows next to nothing.
 */
function putUpFence(syscalls: Syscalls, fence: Fence): Confined {
  const { libc, checked, byNumber } = syscalls
  const { rulesetDescriptor, filter, covers, userId } = fence
  const text = (value: string): Uint8Array => Buffer.from(`${value}\0`)
  const mount = (source: string, target: string, type: string, flags: number, options: string): number =>
    byNumber('mount', text(source), text(target), text(type), flags, text(options))
  const cover = (path: string, isDirectory: boolean): number =>
    isDirectory
      ? mount('tmpfs', path, 'tmpfs', MS_RDONLY, 'size=4k,mode=000')
      : mount('/dev/null', path, '', MS_BIND, '')
  const program = new Uint8Array(new ArrayBuffer(FILTER_PROGRAM_BYTES))
  const programWords = new DataView(program.buffer)
  programWords.setUint16(0, filter.length / FILTER_INSTRUCTION_BYTES, true)
  programWords.setBigUint64(8, syscalls.addressOf(filter), true)

  const steps: (readonly [name: string, run: () => number])[] = []
  if (covers !== undefined) {
    steps.push(['unshare(CLONE_NEWNS)', () => checked(libc.unshare(CLONE_NEWNS))])
    steps.push(['mount(MS_SLAVE)', () => mount('none', '/', '', MS_REC | MS_SLAVE, '')])
    for (const { path, isDirectory } of covers)
      steps.push(['mount (a cover)', () => cover(path, isDirectory)])
  }
  if (userId !== undefined) {
    steps.push(['setgroups', () => byNumber('setgroups', 0, 0)])
    steps.push(['setresgid', () => byNumber('setresgid', userId, userId, userId)])
    steps.push(['setresuid', () => byNumber('setresuid', userId, userId, userId)])
  }
  steps.push(['prctl(PR_SET_DUMPABLE)', () => checked(libc.prctl(PR_SET_DUMPABLE, 0n, 0n, 0n, 0n))])
  if (rulesetDescriptor !== undefined)
    steps.push(['landlock_restrict_self', () => byNumber('landlock_restrict_self', rulesetDescriptor, 0)])
  steps.push([
    'prctl(PR_SET_SECCOMP)',
    () => checked(libc.prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, syscalls.addressOf(program), 0n, 0n)),
  ])
  for (const [step, run] of steps) {
    const result = run()
    if (result < 0) return { kind: 'refused', step, errno: -result }
  }
  return { kind: 'ready' }
}

type FileActions = {
  readonly bytes: Uint8Array
  /** Makes them fit the request at `base`; 0 or the errno. */
  prepare(words: Int32Array, base: number, terminal: bigint, cwd: bigint): number
}

/**
 * What a child does before exec: its three descriptors, its directory, and closing all the rest. Commands one after
 * the other get the same descriptor numbers and mostly the same directory, so what was built last is used again.
 */
function createFileActions(syscalls: Syscalls, nullDescriptor: number): FileActions {
  const { libc, addCloseFrom } = syscalls
  const bytes = new Uint8Array(new ArrayBuffer(SPAWN_FILE_ACTIONS_BYTES))
  let isBuilt = false
  let [lastStdin, lastStdout, lastStderr, lastCwd, lastKeeps] = [-1, -1, -1, -1, 0]
  let wasHome = true

  function build(
    terminal: bigint,
    [stdin, stdout, stderr]: readonly [number, number, number],
    cwd: bigint,
    keeps: number,
    isHome: boolean,
  ): number {
    let errno = libc.posix_spawn_file_actions_init(bytes)
    const step = (result: number): void => {
      if (errno === 0) errno = result
    }
    if (terminal === 0n) {
      // In a session it is the session's, which cannot be changed: a descriptor of the device's own could be.
      if (stdin < 0 && !isHome)
        step(libc.posix_spawn_file_actions_addopen(bytes, 0, syscalls.addressOf(NULL_PATH), O_RDWR, 0))
      else step(libc.posix_spawn_file_actions_adddup2(bytes, stdin < 0 ? nullDescriptor : stdin, 0))
      step(libc.posix_spawn_file_actions_adddup2(bytes, stdout, 1))
      step(libc.posix_spawn_file_actions_adddup2(bytes, stderr, 2))
    } else {
      // The leader of a new session gets the first terminal that it opens as its controlling one.
      step(libc.posix_spawn_file_actions_addopen(bytes, 0, terminal, O_RDWR, 0))
      step(libc.posix_spawn_file_actions_adddup2(bytes, 0, 1))
      step(libc.posix_spawn_file_actions_adddup2(bytes, 0, 2))
    }
    step(libc.posix_spawn_file_actions_addchdir_np(bytes, cwd))
    const hasFourth = keeps >= FOURTH_DESCRIPTOR
    if (hasFourth) step(libc.posix_spawn_file_actions_adddup2(bytes, keeps, FOURTH_DESCRIPTOR))
    if (addCloseFrom !== undefined && keeps !== KEEPS_PROGRAM)
      step(addCloseFrom(bytes, hasFourth ? FOURTH_DESCRIPTOR + 1 : FOURTH_DESCRIPTOR))
    return errno
  }

  return {
    bytes,
    prepare(words, base, terminal, cwd) {
      const keeps = words[base + SLOT.keepsDescriptors] ?? 0
      if (addCloseFrom === undefined || keeps === KEEPS_PROGRAM)
        syscalls.byNumber('close_range', 3, LAST_DESCRIPTOR, CLOSE_RANGE_CLOEXEC)
      const stdin = words[base + SLOT.stdin] ?? -1
      const stdout = words[base + SLOT.stdout] ?? -1
      const stderr = words[base + SLOT.stderr] ?? -1
      const cwdNumber = words[base + SLOT.cwdNumber] ?? -1
      const isHome = (words[base + SLOT.namespaces] ?? HOME_NAMESPACES) === HOME_NAMESPACES
      const isSame =
        terminal === 0n &&
        isHome === wasHome &&
        stdin === lastStdin &&
        stdout === lastStdout &&
        stderr === lastStderr &&
        cwdNumber === lastCwd &&
        keeps === lastKeeps
      if (isBuilt && isSame) return 0
      if (isBuilt) libc.posix_spawn_file_actions_destroy(bytes)
      const errno = build(terminal, [stdin, stdout, stderr], cwd, keeps, isHome)
      wasHome = isHome
      isBuilt = errno === 0
      if (!isBuilt)
        libc.posix_spawn_file_actions_destroy(bytes)
        // A terminal has another path each time: nothing will be the same as this.
      ;[lastStdin, lastStdout, lastStderr, lastCwd, lastKeeps] = [
        stdin,
        terminal === 0n ? stdout : -2,
        stderr,
        cwdNumber,
        keeps,
      ]
      return errno
    },
  }
}

/** Takes requests until it is told to close. Returns only then. */
function serve(
  syscalls: Syscalls,
  { memory, wakeDescriptor }: LauncherStart,
  nullDescriptor: number,
  places: LauncherPlaces,
  bounds: LauncherBounds,
): void {
  const { libc } = syscalls
  const control = new Int32Array(memory, 0, CONTROL_BYTES / 4)
  const wakeBytes = new Uint8Array(new ArrayBuffer(WAKE_BYTES))
  const wakeRequest = Int32Array.of(wakeDescriptor, POLLIN)
  const words = new Int32Array(memory)
  const addresses = new BigInt64Array(memory)
  const fileActions = createFileActions(syscalls, nullDescriptor)
  const { prepare } = fileActions
  const attributes = spawnAttributes(syscalls)

  const spawn = (base: number): number =>
    libc.posix_spawn(
      // The C library writes the number straight into the answer, so that a program once started is never unknown.
      words.subarray(base + SLOT.pid, base + SLOT.pid + 1),
      addresses[base / 2 + SLOT.file] ?? 0n,
      fileActions.bytes,
      attributes,
      addresses[base / 2 + SLOT.argv] ?? 0n,
      addresses[base / 2 + SLOT.environment] ?? 0n,
    )
  /** 0 with the pid written, or an errno. */
  const launch = (base: number): number => {
    const entered = places.enter(words, base)
    if (entered !== 0) return entered
    const prepared = prepare(
      words,
      base,
      addresses[base / 2 + SLOT.terminal] ?? 0n,
      addresses[base / 2 + SLOT.cwd] ?? 0n,
    )
    if (prepared !== 0) return prepared
    const counted = bounds.enter(words, base)
    if (counted !== 0) return counted
    const user = words[base + SLOT.user] ?? -1
    const became = user < 0 ? 0 : become(syscalls, user, words[base + SLOT.group] ?? user)
    const result = became === 0 ? spawn(base) : became
    if (user >= 0) comeBack(syscalls)
    bounds.leave()
    return result
  }

  let done = 0
  for (;;) {
    let leftMs = bounds.lookAgain()
    while (Atomics.load(control, CONTROL_SUBMITTED) === done) {
      if (leftMs < 0 || libc.poll(wakeRequest, 1n, leftMs) > 0)
        libc.read(wakeDescriptor, wakeBytes, BigInt(wakeBytes.length))
      leftMs = bounds.lookAgain()
    }
    if (Atomics.load(control, CONTROL_CLOSING) !== 0) return
    const base = (CONTROL_BYTES + (done & (LAUNCH_SLOTS - 1)) * SLOT_BYTES) / 4
    const isLaunch = (addresses[base / 2 + SLOT.file] ?? 0n) !== 0n
    if (!isLaunch) places.leave(words[base + SLOT.networkNamespace] ?? -1)
    const result = isLaunch ? launch(base) : ERRNO.ECANCELED
    const bound = result === 0 ? bounds.begin(words, base, words[base + SLOT.pid] ?? -1) : undefined
    if (result !== 0) words[base + SLOT.pid] = -1
    words[base + SLOT.errno] = result
    done = (done + 1) | 0
    Atomics.store(control, CONTROL_COMPLETED, done)
    Atomics.notify(control, CONTROL_COMPLETED)
    bound?.()
    Atomics.store(control, CONTROL_BOUNDED, done)
    Atomics.notify(control, CONTROL_BOUNDED)
  }
}

function report(message: LauncherReport): void {
  parentPort?.postMessage(message)
}

function main(start: LauncherStart): void {
  let syscalls: Syscalls
  try {
    syscalls = loadSyscalls()
  } catch (error) {
    report({ kind: 'unsuitable', message: error instanceof Error ? error.message : String(error) })
    return
  }
  const confined = confine(syscalls, start.keepCapabilities)
  if (confined.kind !== 'ready') {
    report(confined)
    return
  }
  const nullDescriptor = syscalls.checked(syscalls.libc.open('/dev/null', O_RDWR | O_CLOEXEC, 0))
  if (nullDescriptor < 0) {
    report({ kind: 'refused', step: 'open(/dev/null)', errno: -nullDescriptor })
    return
  }
  const home = openHome(syscalls)
  const thread = Number(basename(readlinkSync('/proc/thread-self')))
  const fenced = start.fence === undefined ? confined : putUpFence(syscalls, start.fence)
  if (fenced.kind !== 'ready') return report(fenced)
  report({ kind: 'ready', thread })
  const bounds = createLauncherBounds(syscalls, start.fence, start.groups, process.pid)
  serve(syscalls, start, nullDescriptor, createLauncherPlaces(syscalls, home), bounds)
  for (const descriptor of [nullDescriptor, ...Object.values(home)]) syscalls.libc.close(descriptor)
}

main(workerData as LauncherStart)
