/**
 * One running program: its pipes or terminal, its end.
 * Outputs of all children are read into one buffer, because bytes are only lent to the sink. Reading begins
 * READERS_DELAY_MS after `spawned`, before which nothing is told, or a little later where nothing is there yet. Most
 * commands have ended by then: they are read out directly, without an event loop's readers, which cost as much as the
 * rest of the start.
 *
 * `exited` follows when the program has been reaped and both outputs have ended. A process that it left in the
 * background may hold an output open: then `exited` follows after OUTPUT_SILENCE_MS without a byte, and the
 * outputs are closed. What flows is read on, unless all was killed: a process that has got away does not keep its
 * place. A paused source is not silent: its bytes wait for `resume`.
 *
 * Refuses signals that do not exist. Sources: pipe(7), wait(2), kill(2).
 * @module
 */

import { Socket } from 'node:net'
import { SassError } from '../../errors.ts'
import { CHUNK_MIN_BYTES } from '../../limits.ts'
import {
  type Child,
  type ChildEvents,
  type ExitStatus,
  type OutputSource,
  type SpawnPlan,
  STDERR,
  STDOUT,
} from '../../ports.ts'
import { POLLHUP, POLLIN, type Syscalls } from '../kernel/syscalls.node.ts'
import {
  FOLLOW_AFTER_MS,
  OUTPUT_SILENCE_MS,
  READ_OUT_READS,
  READERS_DELAY_MAX_MS,
  READERS_DELAY_MS,
} from '../limits.ts'
import type { Crowd } from './crowd.node.ts'
import type { Launcher, LaunchStreams } from './launcher.node.ts'
import { type Input, openPipes, type PipeSize, pipeInput, pipeSize } from './pipes.node.ts'
import { openTerminal, type Terminal } from './pty.node.ts'

/** asm/signal.h: SIGRTMAX */
const SIGNAL_MAX = 64

/** What a child shares with the others. */
export interface Nursery {
  readonly syscalls: Syscalls
  readonly launcher: Launcher
  readonly readBuffer: Uint8Array
  readonly crowd: Crowd
  started(child: RunningChild): void
  /** The child has a number, and may have ended already. */
  named(pid: number, child: RunningChild): void
  /** Asks whether it has ended; answers by `reaped`. */
  reap(pid: number): void
  finished(child: RunningChild): void
}

export interface RunningChild extends Child {
  reaped(status: ExitStatus): void
  /** Somebody has waited for it (wait4(2)): from now on its number may be another one's. May come after `reaped`. */
  waited(): void
  /** Nobody will read the rest: both outputs are closed now. */
  abandonOutput(): void
}

/** `stream` undefined: not read by the event loop yet. */
type Output = {
  readonly stream: Socket | undefined
  readonly descriptor: number
  /** Undefined: a terminal. */
  readonly pipe: PipeSize | undefined
}
type Streams = {
  readonly launch: LaunchStreams
  /** The child's ends, closed when the launcher has answered. */
  readonly childEnds: readonly number[]
  /** Our ends of the outputs, STDOUT and STDERR; none with a terminal. */
  readonly outputEnds: readonly number[]
  readonly outputPipes: readonly PipeSize[]
  readonly terminal: Terminal | undefined
  readonly input: Input | undefined
}

/** What one program is joined to us by, or `-errno`. @throws SassError PTY_UNAVAILABLE */
function openStreams(plan: SpawnPlan, drained: () => void, syscalls: Syscalls): Streams | number {
  if (plan.terminal !== undefined) {
    const terminal = openTerminal(plan.terminal, drained, syscalls, plan.rootDescriptor)
    return {
      launch: { kind: 'terminal', path: terminal.slavePath },
      childEnds: [],
      outputEnds: [],
      outputPipes: [],
      terminal,
      input: terminal,
    }
  }
  const pipes = openPipes(plan.stdin === 'pipe' ? 3 : 2, syscalls)
  if (typeof pipes === 'number') return pipes
  const [out, error, stdin] = pipes
  const launch = {
    kind: 'descriptors',
    stdin: stdin?.readEnd ?? -1,
    stdout: out?.writeEnd ?? -1,
    stderr: error?.writeEnd ?? -1,
  } as const
  const outputEnds = [out?.readEnd ?? -1, error?.readEnd ?? -1]
  return {
    launch,
    childEnds: [launch.stdin, launch.stdout, launch.stderr],
    outputEnds,
    outputPipes: outputEnds.map((end) => pipeSize(end, syscalls)),
    terminal: undefined,
    input: stdin === undefined ? undefined : pipeInput(stdin.writeEnd, drained, syscalls),
  }
}

/**
 * Starts `plan`. Nothing is told before this has returned.
 * @throws SassError SPAWN_FAILED for strings that cannot be passed, PTY_UNAVAILABLE for a terminal that cannot be had.
 */
export function startChild(plan: SpawnPlan, events: ChildEvents, nursery: Nursery): RunningChild {
  const { syscalls, launcher } = nursery
  const { libc } = syscalls
  const outputs: (Output | undefined)[] = [undefined, undefined]
  const paused = [false, false]
  const early = new Set<number>()
  let killEarly = false
  let isKilled = false
  let pid = -1
  let status: ExitStatus | undefined
  /** Nobody has waited for it: its number is its own. */
  let isOurs = true
  let phase: 'starting' | 'running' | 'over' = 'starting'
  let silence: NodeJS.Timeout | undefined
  let readersDue: NodeJS.Timeout | undefined
  let following: NodeJS.Timeout | undefined
  let stdinAwaited = false

  const stdinDrained = (): void => {
    if (!stdinAwaited || phase === 'over') return
    stdinAwaited = false
    events.stdinDrained()
  }
  const streams = openStreams(plan, stdinDrained, syscalls)

  /** What poll(2) says now: POLLIN for bytes, POLLHUP once nobody can write any more. */
  const stateOf = (output: Output): number => {
    const request = new Int32Array(2)
    request[0] = output.descriptor
    request[1] = POLLIN
    return libc.poll(request, 1n, 0) > 0 ? (request[1] ?? 0) >> 16 : 0
  }
  const hasBytes = (output: Output): boolean => (stateOf(output) & POLLIN) !== 0
  const finish = (): void => {
    if (
      phase !== 'running' ||
      status === undefined ||
      outputs[STDOUT] !== undefined ||
      outputs[STDERR] !== undefined
    )
      return
    phase = 'over'
    clearTimeout(silence)
    clearTimeout(readersDue)
    if (typeof streams === 'object') streams.input?.close()
    nursery.finished(child)
    events.exited(status)
  }
  const closeDescriptors = (descriptors: readonly number[]): void => {
    for (const descriptor of descriptors) if (descriptor >= 0) libc.close(descriptor)
  }
  const closeOutputs = (): void => {
    for (const source of [STDOUT, STDERR]) {
      const output = outputs[source]
      if (output?.stream === undefined) closeDescriptors([output?.descriptor ?? -1])
      else output.stream.destroy()
      outputs[source] = undefined
    }
  }
  const onSilence = (): void => {
    for (const source of [STDOUT, STDERR]) {
      const output = outputs[source]
      if (output === undefined) continue
      if (paused[source]) return
      if (!isKilled && hasBytes(output)) {
        silence?.refresh()
        return
      }
    }
    closeOutputs()
    finish()
  }
  const outputEnded = (source: OutputSource): void => {
    if (outputs[source] === undefined) return
    outputs[source] = undefined
    if (status === undefined && outputs[STDOUT] === undefined && outputs[STDERR] === undefined)
      nursery.reap(pid)
    finish()
  }
  const attach = (
    source: OutputSource,
    stream: Socket,
    { descriptor, pipe }: Omit<Output, 'stream'>,
  ): void => {
    stream.on('end', () => outputEnded(source))
    // EIO is how a terminal ends; any other error ends the source as well.
    stream.on('error', () => outputEnded(source))
    outputs[source] = { stream, descriptor, pipe }
    if (paused[source]) stream.pause()
  }
  const deliver = (source: OutputSource, bytes: Uint8Array): void => {
    if (outputs[source] === undefined) return
    // Who outlives the end of everything is not listened to for longer.
    if (!isKilled) silence?.refresh()
    events.output(source, bytes)
  }
  /** What a program has ahead is fitted to its reader. False: its pipe is too full for that. */
  const fitPipe = (source: OutputSource): boolean =>
    events.pace === undefined || (outputs[source]?.pipe?.fit(events.pace.aheadBytes()) ?? true)
  /**
   * Where the next read goes to: no more of it than may be read. A pipe that is to become smaller is read whole once: a
   * program that is faster than its reader would keep it full, and be as far ahead for ever.
   */
  const nextBuffer = (source: OutputSource, headBytes = 0): Uint8Array => {
    const { readBuffer } = nursery
    if (events.pace === undefined || !fitPipe(source)) return readBuffer
    // Where none is due now this is for the first one after the pause: small, since nothing is known of it yet.
    const bytes = headBytes + (events.pace.readBytes(source) || CHUNK_MIN_BYTES)
    return bytes >= readBuffer.length ? readBuffer : readBuffer.subarray(0, bytes)
  }
  /** From now on the event loop reads this output. */
  const openOutput = (source: OutputSource, output: Output): void => {
    const callback = (count: number, bytes: Uint8Array): boolean => {
      // Before the program can have filled it again.
      fitPipe(source)
      deliver(source, bytes.subarray(0, count))
      return true
    }
    const onread = { buffer: () => nextBuffer(source), callback }
    const { descriptor } = output
    attach(source, new Socket({ fd: descriptor, readable: true, writable: false, onread }), output)
  }
  const openReaders = (): void => {
    clearTimeout(readersDue)
    for (const source of [STDOUT, STDERR] as const) {
      const output = outputs[source]
      if (output !== undefined && output.stream === undefined) openOutput(source, output)
    }
  }
  const openReadersAfter = (ms: number): void => {
    readersDue = setTimeout(() => {
      const isWritten = outputs.some((output) => output !== undefined && hasBytes(output))
      if (isWritten || ms >= READERS_DELAY_MAX_MS) openReaders()
      else openReadersAfter(2 * ms)
    }, ms)
  }
  /** Reads out what a program that has ended left in its pipes; an output that somebody else holds is left open. */
  const readOut = (): void => {
    const { readBuffer } = nursery
    let reads = 0
    for (const source of [STDOUT, STDERR] as const) {
      for (
        let output = outputs[source];
        output !== undefined && output.stream === undefined && !paused[source] && reads < READ_OUT_READS;
      ) {
        const state = stateOf(output)
        if ((state & POLLIN) !== 0) {
          reads++
          const count = Number(libc.read(output.descriptor, readBuffer, BigInt(readBuffer.length)))
          if (count > 0) deliver(source, readBuffer.subarray(0, count))
          else break
        } else if ((state & POLLHUP) !== 0) {
          // After this turn's writes: the end of the command is what somebody waits for.
          const { descriptor } = output
          process.nextTick(() => closeDescriptors([descriptor]))
          output = undefined
          outputs[source] = undefined
        } else break
      }
    }
    openReaders()
  }
  const answered = (answerPid: number, errno: number): void => {
    if (typeof streams === 'number') return
    closeDescriptors(streams.childEnds)
    if (errno !== 0) {
      phase = 'over'
      nursery.crowd.failed(plan)
      closeDescriptors(streams.outputEnds)
      streams.input?.close()
      nursery.finished(child)
      events.failed(errno)
      return
    }
    pid = answerPid
    phase = 'running'
    if (streams.terminal === undefined) {
      for (const source of [STDOUT, STDERR] as const) {
        outputs[source] = {
          stream: undefined,
          descriptor: streams.outputEnds[source] ?? -1,
          pipe: streams.outputPipes[source],
        }
      }
    } else {
      const output = (bytes: Uint8Array): void => deliver(STDOUT, bytes)
      const { descriptor, headBytes } = streams.terminal
      const reader = streams.terminal.reader(() => nextBuffer(STDOUT, headBytes), output)
      attach(STDOUT, reader, { descriptor, pipe: undefined })
    }
    events.spawned(pid)
    for (const number of early) libc.kill(-pid, number)
    if (killEarly) nursery.crowd.kill(plan, pid, true)
    nursery.named(pid, child)
    if (phase !== 'running') return
    openReadersAfter(READERS_DELAY_MS)
    const { group } = plan
    if (group !== undefined) following = setTimeout(() => group.follow(), FOLLOW_AFTER_MS).unref()
  }

  const child: RunningChild = {
    writeStdin(bytes) {
      if (typeof streams === 'number' || phase === 'over') return true
      const more = streams.input?.write(bytes) ?? true
      if (!more) stdinAwaited = true
      return more
    },
    endStdin() {
      if (typeof streams === 'object' && phase !== 'over') streams.input?.end()
    },
    pause(source) {
      paused[source] = true
      outputs[source]?.stream?.pause()
    },
    resume(source) {
      if (!paused[source]) return
      paused[source] = false
      outputs[source]?.stream?.resume()
      silence?.refresh()
    },
    resize(rows, columns) {
      if (typeof streams === 'object') streams.terminal?.resize(rows, columns)
    },
    signal(number) {
      if (!Number.isInteger(number) || number < 1 || number > SIGNAL_MAX) {
        throw new SassError(
          'SIGNAL_FAILED',
          `Signal ${number} does not exist, so none was sent; use 1 to ${SIGNAL_MAX}.`,
        )
      }
      if (phase === 'over') return false
      if (phase === 'starting') {
        early.add(number)
        return true
      }
      // Once waited for, the number is only the group's; a process that has it again is a stranger.
      if (!isOurs && libc.kill(pid, 0) === 0) return false
      return libc.kill(-pid, number) === 0
    },
    killTree() {
      isKilled = true
      if (phase === 'starting') killEarly = true
      else if (pid > 0) nursery.crowd.kill(plan, pid, isOurs)
    },
    reaped(how) {
      // Whoever ended well has lost nothing that it missed.
      const isWell = how.kind === 'exited' && how.code === 0
      const tookMemoryKill = !isWell && plan.group?.tookMemoryKill() === true
      clearTimeout(following)
      const left = nursery.crowd.ended(plan, pid, isOurs)
      if (left !== undefined) plan.group?.follow()
      status = {
        ...how,
        ...(tookMemoryKill ? { tookMemoryKill } : {}),
        ...(left === undefined ? {} : { left }),
      }
      if (phase === 'running') readOut()
      finish()
      if (phase === 'running') silence = setTimeout(onSilence, OUTPUT_SILENCE_MS)
    },
    waited() {
      isOurs = false
    },
    abandonOutput() {
      if (phase !== 'running') return
      closeOutputs()
      finish()
    },
  }

  if (typeof streams === 'number') {
    phase = 'over'
    queueMicrotask(() => events.failed(-streams))
    return child
  }
  // Before it runs: what it writes at once cannot be taken back from a pipe.
  const ahead = events.pace?.aheadBytes()
  if (ahead !== undefined) for (const pipe of streams.outputPipes) pipe.fit(ahead)
  // From now on it may be there: nobody may take it for what another command has left.
  nursery.crowd.began(plan)
  try {
    launcher.launch(plan, streams.launch, answered)
  } catch (error) {
    phase = 'over'
    nursery.crowd.failed(plan)
    closeDescriptors([...streams.childEnds, ...streams.outputEnds])
    streams.input?.close()
    throw error
  }
  nursery.started(child)
  return child
}
