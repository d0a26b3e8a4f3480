/**
 * The main thread's side of the launcher thread: starts it, hands it requests, takes its answers.
 * A request crosses as five addresses in shared memory: the strings stay where they were written, in a block
 * that is kept until the answer has come. Refuses strings with NUL or lone surrogates, because what the program
 * gets would not be what was asked for.
 * Rules: execve(2) for the sizes, ECMA-262 Atomics for the hand-over.
 * @module
 */

/// <reference lib="es2024.sharedmemory" />

import type { Worker } from 'node:worker_threads'
import { startThread } from '../../base/worker.node.ts'
import { SassError } from '../../errors.ts'
import type { SpawnNamespaces, SpawnPlan } from '../../ports.ts'
import { ERRNO, type Syscalls } from '../kernel/syscalls.node.ts'
import { LAUNCH_WATCH_MS, LAUNCHER_HEAP_MIB, PROGRAM_BLOCK_BYTES } from '../limits.ts'
import {
  CONTROL_BOUNDED,
  CONTROL_BYTES,
  CONTROL_CLOSING,
  CONTROL_COMPLETED,
  CONTROL_SUBMITTED,
  type Fence,
  type GroupStart,
  HOME_NAMESPACES,
  KEEPS_PROGRAM,
  LAUNCH_MEMORY_BYTES,
  LAUNCH_SLOTS,
  type LauncherReport,
  type LauncherStart,
  NO_GROUPS,
  SLOT,
  SLOT_ADDRESSES,
  SLOT_BYTES,
  SLOT_ENTERED,
  SLOT_JOINED,
} from './launcher-memory.ts'
import { openPipe } from './pipes.node.ts'
import { freeStart } from './stopped-start.node.ts'

export interface LauncherOptions {
  /** CommonJS text of the bundled launcher thread; undefined starts it from its source file. */
  readonly launcherSource: string | undefined
  /** Linux numbers of the capabilities that commands may keep; undefined leaves the bounding set as it is. */
  readonly keepCapabilities: readonly number[] | undefined
  /** Absent: nothing counts its programs. */
  readonly groups?: GroupStart | undefined
  /** A session was ended because a start in it could not be brought to its end. */
  readonly lost?: ((namespaces: number) => void) | undefined
  /** For a thread whose programs can change nothing. */
  readonly fence?: Fence | undefined
}

/** Descriptors for 0, 1 and 2 of the program (stdin -1 is /dev/null), all above 2; or a terminal's path. */
export type LaunchStreams =
  | { readonly kind: 'descriptors'; readonly stdin: number; readonly stdout: number; readonly stderr: number }
  | { readonly kind: 'terminal'; readonly path: string }

export interface Launcher {
  /** Hands a request over. `answered` is called once, later, on this thread: errno 0 with the pid, or the errno. */
  launch(plan: SpawnPlan, streams: LaunchStreams, answered: (pid: number, errno: number) => void): void
  /**
   * Makes the thread come home, so that it holds no session's namespaces; called back when it has. `networkRest`: as of
   * the namespaces that it is to leave.
   */
  leave(networkRest: number, left: () => void): void
  /** Takes the answers that are there already; answers that come later are taken by themselves. */
  collect(): void
  /** Whether all that bounds this program of its own is on it: before that nobody may wait for it (wait4(2)). */
  isBounded(pid: number): boolean
  /** Called back, later, when it is. */
  whenBounded(pid: number, done: () => void): void
  /** While held, the process does not end by itself. */
  hold(held: boolean): void
  /** Ends the thread. Requests that it has not taken fail with EAGAIN. */
  close(): Promise<void>
}

type Pending = {
  readonly block: ArrayBuffer | undefined
  readonly namespaces: SpawnNamespaces | undefined
  readonly answered: (pid: number, errno: number) => void
}
type ProgramBlock = { readonly block: ArrayBuffer; readonly offsets: readonly number[] }

function refuseUnclean(text: string, field: string): void {
  if (text.includes('\0')) {
    throw new SassError(
      'SPAWN_FAILED',
      `The ${field} contains a NUL, which would cut it short for the program; send it without.`,
      { field },
    )
  }
  if (!text.isWellFormed()) {
    throw new SassError(
      'SPAWN_FAILED',
      `The ${field} contains half of a surrogate pair, which has no bytes in UTF-8; send it as valid Unicode.`,
      { field },
    )
  }
}

/**
 * All strings of one program in one block: the pointer lists of argv and environment first, then the bytes.
 * Offsets are those of file, argv list, environment list, cwd, terminal path (0 for none).
 * Undefined where the kernel would say E2BIG for certain.
 * @throws SassError SPAWN_FAILED for a string that cannot be passed unchanged.
 */
function programBlock(
  plan: SpawnPlan,
  terminal: string | undefined,
  syscalls: Syscalls,
): ProgramBlock | undefined {
  const { argv, environment } = plan
  const listWords = argv.length + environment.length + 2
  let bytes = listWords * 8
  const measure = (text: string, field: string): void => {
    refuseUnclean(text, field)
    bytes += Buffer.byteLength(text) + 1
  }
  measure(plan.file, 'path of the program')
  measure(plan.cwd, 'working directory')
  for (const [index, argument] of argv.entries()) measure(argument, `argument ${index}`)
  for (const [index, entry] of environment.entries()) measure(entry, `environment entry ${index}`)
  if (terminal !== undefined) measure(terminal, 'path of the terminal')
  if (bytes > PROGRAM_BLOCK_BYTES) return undefined
  const block = new ArrayBuffer(bytes)
  const text = Buffer.from(block)
  const list = new BigInt64Array(block, 0, listWords)
  const base = syscalls.addressOf(block)
  let at = listWords * 8
  const put = (value: string): number => {
    const start = at
    at += text.write(value, at) + 1
    return start
  }
  let word = 0
  for (const argument of argv) list[word++] = base + BigInt(put(argument))
  const environmentStart = ++word
  for (const entry of environment) list[word++] = base + BigInt(put(entry))
  return {
    block,
    offsets: [
      put(plan.file),
      0,
      environmentStart * 8,
      put(plan.cwd),
      terminal === undefined ? 0 : put(terminal),
    ],
  }
}

/**
 * Starts the launcher thread and waits until it has confined itself.
 * @throws SassError SANDBOX_UNAVAILABLE where the kernel refuses a step, RUNTIME_UNSUITABLE where Node cannot serve.
 */
export async function startLauncher(options: LauncherOptions, syscalls: Syscalls): Promise<Launcher> {
  const memory = new SharedArrayBuffer(LAUNCH_MEMORY_BYTES)
  const control = new Int32Array(memory, 0, CONTROL_BYTES / 4)
  const { launcherSource, keepCapabilities, fence, groups = NO_GROUPS, lost } = options
  const wakePipe = openPipe(syscalls)
  if (typeof wakePipe === 'number') {
    throw new SassError(
      'RUNTIME_UNSUITABLE',
      `The launcher thread has no pipe to be woken by (errno ${-wakePipe}), so no command can be started; raise ulimit -n.`,
      { errno: -wakePipe },
    )
  }
  const wakeByte = new Uint8Array(new ArrayBuffer(8))
  const wake = (): void => {
    // A full pipe has woken it already.
    syscalls.libc.write(wakePipe.writeEnd, wakeByte, 1n)
  }
  const workerData: LauncherStart = {
    ...{ memory, wakeDescriptor: wakePipe.readEnd, keepCapabilities },
    ...{ groups, fence },
  }
  const worker = startThread({
    ...{ name: 'launcher', workerData },
    file: () => new URL('./launcher-thread.node.ts', import.meta.url),
    text: launcherSource === undefined ? undefined : () => launcherSource,
    // It allocates next to nothing.
    limits: { young: 1, old: LAUNCHER_HEAP_MIB, stack: 1 },
  })
  const tellToClose = (): void => {
    Atomics.store(control, CONTROL_CLOSING, 1)
    Atomics.add(control, CONTROL_SUBMITTED, 1)
    wake()
  }
  // A thread that sleeps in a system call cannot be stopped from outside, and the process would wait for it.
  process.once('exit', tellToClose)
  let ended = false
  const exited = new Promise<void>((resolve) => {
    worker.once('exit', () => {
      ended = true
      Atomics.notify(control, CONTROL_BOUNDED)
      resolve()
    })
  })
  const closeWakePipe = (): void => {
    process.off('exit', tellToClose)
    syscalls.libc.close(wakePipe.readEnd)
    syscalls.libc.close(wakePipe.writeEnd)
  }
  let thread: number
  try {
    thread = await confinement(worker)
  } catch (error) {
    closeWakePipe()
    throw error
  }
  worker.unref()

  const pending = new Map<number, Pending>()
  let submitted = 0
  let taken = 0
  let cwd = ''
  let cwdNumber = 0
  let watching = false

  const wordsOf = (request: number): Int32Array =>
    new Int32Array(memory, CONTROL_BYTES + (request & (LAUNCH_SLOTS - 1)) * SLOT_BYTES, SLOT_BYTES / 4)
  /** By number, the request after that of a program that may not be bounded yet. */
  const unbounded = new Map<number, number>()
  const isReached = (request: number): boolean =>
    ((Atomics.load(control, CONTROL_BOUNDED) - request) | 0) >= 0
  const collect = (): void => {
    while (taken !== Atomics.load(control, CONTROL_COMPLETED)) {
      const answer = wordsOf(taken)
      const request = pending.get(taken)
      pending.delete(taken)
      taken = (taken + 1) | 0
      const [pid, errno] = [answer[SLOT.pid] ?? -1, answer[SLOT.errno] ?? ERRNO.EIO]
      if (errno === 0 && !isReached(taken)) unbounded.set(pid, taken)
      request?.answered(pid, errno)
    }
  }
  const isBounded = (pid: number): boolean => {
    const request = unbounded.get(pid)
    if (request !== undefined && !ended && !isReached(request)) return false
    unbounded.delete(pid)
    return true
  }
  const watch = (): void => {
    if (watching) return
    collect()
    if (pending.size === 0) return
    const wait = Atomics.waitAsync(control, CONTROL_COMPLETED, taken)
    if (!wait.async) return queueMicrotask(watch)
    watching = true
    void wait.value.then(() => {
      watching = false
      watch()
    })
  }
  // A thread that died may have started a program and not said so, but then its number is there.
  const answerPending = (): void => {
    const left = [...pending]
    pending.clear()
    for (const [request, { answered }] of left) {
      const pid = wordsOf(request)[SLOT.pid] ?? 0
      if (pid > 0) answered(pid, 0)
      else answered(-1, ERRNO.EAGAIN)
    }
  }
  worker.on('error', () => {})
  void exited.then(() => {
    collect()
    answerPending()
  })

  /** While anything waits: a start that somebody has stopped is no reason to wait for ever. */
  let looking: NodeJS.Timeout | undefined
  let looks = 0
  let lookedAt = 0
  const look = (): void => {
    collect()
    if (pending.size === 0 || ended) {
      clearInterval(looking)
      looking = undefined
      return
    }
    looks = lookedAt === taken ? looks + 1 : 0
    lookedAt = taken
    if (looks === 0) return
    const namespaces = pending.get(taken)?.namespaces
    const hasEnded = freeStart(syscalls, thread, looks, namespaces?.initPid)
    if (hasEnded && namespaces !== undefined) lost?.(namespaces.number)
  }
  const submit = (pendingRequest: Pending): void => {
    if (looking === undefined) {
      looking = setInterval(look, LAUNCH_WATCH_MS)
      looking.unref()
    }
    pending.set(submitted, pendingRequest)
    submitted = (submitted + 1) | 0
    Atomics.store(control, CONTROL_SUBMITTED, submitted)
    wake()
    queueMicrotask(watch)
  }
  const addressesOf = (request: number): BigInt64Array =>
    new BigInt64Array(memory, CONTROL_BYTES + (request & (LAUNCH_SLOTS - 1)) * SLOT_BYTES, SLOT_ADDRESSES)

  return {
    leave(networkRest, left) {
      // A thread that is gone holds nothing; one with a full ring goes elsewhere by itself.
      if (ended || pending.size >= LAUNCH_SLOTS) return queueMicrotask(left)
      addressesOf(submitted)[SLOT.file] = 0n
      wordsOf(submitted)[SLOT.networkNamespace] = networkRest
      submit({ block: undefined, namespaces: undefined, answered: left })
    },
    launch(plan, streams, answered) {
      const program = programBlock(plan, streams.kind === 'terminal' ? streams.path : undefined, syscalls)
      if (program === undefined) {
        queueMicrotask(() => answered(-1, ERRNO.E2BIG))
        return
      }
      if (ended || pending.size >= LAUNCH_SLOTS) {
        queueMicrotask(() => answered(-1, ERRNO.EAGAIN))
        return
      }
      const addresses = addressesOf(submitted)
      const words = wordsOf(submitted)
      const base = syscalls.addressOf(program.block)
      for (const slot of [SLOT.file, SLOT.argv, SLOT.environment, SLOT.cwd]) {
        addresses[slot] = base + BigInt(program.offsets[slot] ?? 0)
      }
      addresses[SLOT.terminal] =
        streams.kind === 'terminal' ? base + BigInt(program.offsets[SLOT.terminal] ?? 0) : 0n
      words[SLOT.stdin] = streams.kind === 'terminal' ? -1 : streams.stdin
      words[SLOT.stdout] = streams.kind === 'terminal' ? -1 : streams.stdout
      words[SLOT.stderr] = streams.kind === 'terminal' ? -1 : streams.stderr
      words[SLOT.pid] = 0
      if (plan.cwd !== cwd) {
        cwd = plan.cwd
        cwdNumber = (cwdNumber + 1) | 0
      }
      words[SLOT.cwdNumber] = cwdNumber
      const { namespaces, runAs } = plan
      words[SLOT.namespaces] = namespaces?.number ?? HOME_NAMESPACES
      words[SLOT.mountNamespace] = namespaces?.mount ?? -1
      words[SLOT.pidNamespace] = namespaces?.pid ?? -1
      words[SLOT.ipcNamespace] = namespaces?.ipc ?? -1
      words[SLOT.networkNamespace] = namespaces?.network ?? -1
      words[SLOT.init] = namespaces?.initPid ?? -1
      words[SLOT.user] = runAs?.userId ?? -1
      words[SLOT.group] = runAs?.groupId ?? -1
      const { group } = plan
      for (const [index, slot] of SLOT_ENTERED.entries()) words[slot] = group?.entered[index] ?? -1
      words[SLOT_JOINED] = group?.joined ?? -1
      words[SLOT.groupDirectory] = group?.directory ?? -1
      words[SLOT.groupProcesses] = group?.processes ?? -1
      words[SLOT.keepsDescriptors] = plan.isDescriptor === true ? KEEPS_PROGRAM : (plan.fourthDescriptor ?? 0)
      submit({ block: program.block, namespaces, answered })
    },
    collect,
    isBounded,
    whenBounded(pid, done) {
      const look = (): void => {
        const seen = Atomics.load(control, CONTROL_BOUNDED)
        if (isBounded(pid)) return done()
        const wait = Atomics.waitAsync(control, CONTROL_BOUNDED, seen)
        if (wait.async) void wait.value.then(look)
        else queueMicrotask(look)
      }
      queueMicrotask(look)
    },
    hold(held) {
      if (held) worker.ref()
      else worker.unref()
    },
    async close() {
      clearInterval(looking)
      tellToClose()
      worker.ref()
      await exited
      closeWakePipe()
    },
  }
}

/** Resolves with its number when the thread has confined itself; rejects, with the thread ended, when it could not. */
function confinement(worker: Worker): Promise<number> {
  return new Promise((resolve, reject) => {
    const failed = (error: SassError): void => {
      void worker.terminate()
      reject(error)
    }
    const onError = (cause: unknown): void =>
      failed(
        new SassError(
          'RUNTIME_UNSUITABLE',
          `The launcher thread ended at its start (${cause instanceof Error ? cause.message : `code ${cause}`}), so no command can be started; run sass-edge doctor on this device.`,
          {},
          cause,
        ),
      )
    worker.once('error', onError)
    worker.once('exit', onError)
    worker.once('message', (report: LauncherReport) => {
      worker.off('error', onError)
      worker.off('exit', onError)
      if (report.kind === 'ready') resolve(report.thread)
      else if (report.kind === 'unsuitable') failed(new SassError('RUNTIME_UNSUITABLE', report.message))
      else
        failed(
          new SassError(
            'SANDBOX_UNAVAILABLE',
            `The kernel refused ${report.step} with errno ${report.errno}, so commands cannot be confined and none is started; run sass-edge doctor on this device.`,
            { step: report.step, errno: report.errno },
          ),
        )
    })
  })
}
