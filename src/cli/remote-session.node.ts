/**
 * Joins a running execution to this process: stdin, stdout, stderr, signals, the size of the terminal, and at the end
 * the exit code. What `exec`, `shell` and their kin share.
 * @module
 */
import { constants } from 'node:os'
import { encodeHex } from '../base/hex.ts'
import { visible } from '../base/visible.ts'
import type { Client, OnWaiting, OutputSink, RunningExecution, Waiting } from '../client/client.node.ts'
import { asSassError, SassError } from '../errors.ts'
import { TERM_TO_KILL_MS } from '../limits.ts'
import type { Output } from './command.ts'
import { EXIT, exitOfRemote } from './exit-codes.ts'
import { enterRawMode } from './raw-terminal.node.ts'
import { createSink } from './stdio.node.ts'
import { createWaitingLine } from './waiting-line.node.ts'

export type RemoteSession = {
  readonly output: OutputSink
  /** Tells whoever sits at the terminal. */
  readonly onWaiting: OnWaiting
  /** Resolves with the id once the device has begun, and takes back what was said about waiting. */
  begun(execution: RunningExecution): Promise<string>
  /** Waits for the end and returns the exit code. */
  follow(execution: RunningExecution, options: FollowOptions): Promise<number>
}

export type FollowOptions = {
  readonly client: Client
  readonly stdin: boolean
  /** Raw mode: every key goes to the device, ^C too. */
  readonly isTerminal: boolean
}

/** As a shell tells the death of a writer whose reader is gone. */
const BROKEN_PIPE = 128 + constants.signals.SIGPIPE

/** ^C pressed this often ends the waiting, not the command. */
const INTERRUPTS_TO_LEAVE = 3

/** Signals that ask this process itself to end. */
const ENDING: ReadonlySet<string> = new Set(['SIGTERM', 'SIGHUP'])

const FORWARDED = ['SIGINT', 'SIGTERM', 'SIGHUP', 'SIGQUIT', 'SIGUSR1', 'SIGUSR2'] as const

function signalName(number: number): string {
  const found = Object.entries(constants.signals).find(([, value]) => value === number)
  return found?.[0].replace(/^SIG/, '') ?? String(number)
}

export function createRemoteSession(output: Output): RemoteSession {
  let leave: ((code: number) => void) | undefined
  let readerGone: (() => void) | undefined
  let hasShownOutput = false
  // A reader that is gone ends the command as SIGPIPE would; a full disk is said.
  const broken = (error: NodeJS.ErrnoException) => {
    if (error.code === 'EPIPE') return readerGone?.()
    output.warn(
      `The output cannot be written (${error.code ?? error.message}); the command goes on without a reader.`,
    )
    leave?.(BROKEN_PIPE)
  }
  const stdout = createSink(1, broken)
  const stderr = createSink(2, broken)
  const waiting = createWaitingLine(output)
  /** The device has said that the command waits before it begins. */
  let isWaiting = false
  let stdoutBytes = 0
  let stderrBytes = 0

  function onWaiting(what: Waiting): void {
    isWaiting = what.kind !== 'challenge'
    waiting.show(what)
  }

  function begun(execution: RunningExecution): Promise<string> {
    return execution.started.finally(() => {
      isWaiting = false
      waiting.clear()
    })
  }

  function take(source: 'stdout' | 'stderr', bytes: Uint8Array): Promise<void> {
    hasShownOutput = true
    waiting.clear()
    if (source === 'stdout') stdoutBytes += bytes.length
    else stderrBytes += bytes.length
    if (!output.json) return (source === 'stdout' ? stdout : stderr).write(bytes)
    // With --json each chunk is an event of its own, bytes in base64 where they are not text.
    const event = { event: 'output', source, ...encoded(Buffer.from(bytes)) }
    return stdout.write(Buffer.from(`${JSON.stringify(event)}\n`))
  }

  async function follow(
    execution: RunningExecution,
    { client, stdin, isTerminal }: FollowOptions,
  ): Promise<number> {
    const left = new Promise<number>((resolve) => {
      leave = resolve
    })
    begun(execution).catch(() => {})
    readerGone = () => void endUnread(client, execution).then(() => leave?.(BROKEN_PIPE))
    if (stdout.isBroken || stderr.isBroken) readerGone()
    const stopInput = stdin ? feed(execution, isTerminal) : () => {}
    const withdraw = () => {
      waiting.clear()
      withdrawn(client, execution, output).then((code) => leave?.(code))
    }
    const stopSignals = forwardSignals(
      client,
      execution,
      output,
      () => leave?.(EXIT.OUTCOME_UNKNOWN),
      () => (isWaiting ? withdraw : undefined),
    )
    const stopResize = isTerminal ? forwardSize(execution) : () => {}
    try {
      const ended = await Promise.race([execution.exit, left])
      if (typeof ended === 'number') return ended
      await stdout.flushed()
      await stderr.flushed()
      // What it wrote last did not arrive: its own exit code would say that all is well.
      if (stdout.isBroken || stderr.isBroken) return BROKEN_PIPE
      if (ended.truncated)
        output.warn('The output went over the limit of the device; what came after it was dropped.')
      if (ended.why !== undefined) output.warn(visible(ended.why))
      if (ended.timedOut)
        throw new SassError(
          'EXECUTION_TIMEOUT',
          'The time of the command was over, and the device ended it; nothing of it runs any more.',
        )
      const { exitCode, signal } = ended
      if (output.json)
        output.result(
          {
            event: 'exit',
            id: execution.id,
            exit_code: exitCode ?? null,
            signal: signal === undefined ? null : signalName(signal),
            ...(ended.why === undefined ? {} : { why: ended.why }),
            stdout_bytes: stdoutBytes,
            stderr_bytes: stderrBytes,
          },
          [],
        )
      return exitOfRemote(
        signal === undefined ? { kind: 'exited', code: exitCode ?? 0 } : { kind: 'signalled', signal },
      )
    } catch (error) {
      await stdout.flushed()
      await stderr.flushed()
      throw explained(error, execution.id, hasShownOutput)
    } finally {
      waiting.clear()
      stopInput()
      stopSignals()
      stopResize()
    }
  }

  return { output: take, onWaiting, begun, follow }
}

/**
 * Nobody reads any more: SIGPIPE, as the kernel gives it to a writer on this machine; whoever is deaf to it is killed,
 * since it would write for ever.
 */
async function endUnread(client: Client, execution: RunningExecution): Promise<void> {
  const ended = execution.exit.then(
    () => true,
    () => true,
  )
  const late = new Promise<boolean>((resolve) => setTimeout(resolve, TERM_TO_KILL_MS, false))
  try {
    await client.signal(execution.id, constants.signals.SIGPIPE)
    if (!(await Promise.race([ended, late]))) await client.cancel(execution.id)
  } catch {
    // It has ended in between, or the connection has, and the daemon with it.
  }
}

/** Takes back a command that waits. It may have begun in that very moment: the device knows, in the order of its answers. */
async function withdrawn(client: Client, execution: RunningExecution, output: Output): Promise<number> {
  execution.detach()
  const hasBegun = await client.executions().then(
    (list) => list.some(({ execution_id }) => encodeHex(execution_id) === execution.id),
    () => true,
  )
  output.warn(
    hasBegun
      ? `The command may have begun and goes on without us; its id is ${execution.id}.`
      : 'The command was taken back before it began; nothing was started.',
  )
  return hasBegun ? EXIT.OUTCOME_UNKNOWN : EXIT.NOT_STARTED
}

function encoded(bytes: Buffer): { text: string } | { base64: string } {
  const text = bytes.toString('utf8')
  return Buffer.from(text, 'utf8').equals(bytes) ? { text } : { base64: bytes.toString('base64') }
}

/** A connection that broke in the middle: the id is what one needs now. */
function explained(error: unknown, id: string, hasShownOutput: boolean): unknown {
  const known = asSassError(error)
  if (known?.code !== 'CONNECTION_LOST') return error
  const what = hasShownOutput ? 'The command was started' : 'The command may have been started'
  return new SassError(
    'CONNECTION_LOST',
    `${what} and the connection was lost; its outcome is unknown, its id is ${id}: see sass-edge jobs.`,
    { id },
    error,
  )
}

/** stdin to the device, held back where the device does not take it. */
function feed(execution: RunningExecution, isTerminal: boolean): () => void {
  const { stdin } = process
  const leaveRawMode = isTerminal ? enterRawMode() : () => {}
  const onData = (bytes: Buffer) => {
    if (execution.write(bytes)) return
    stdin.pause()
    void execution.drained().then(() => stdin.resume())
  }
  const onEnd = () => execution.end()
  stdin.on('data', onData)
  stdin.once('end', onEnd)
  stdin.once('error', onEnd)
  return () => {
    stdin.off('data', onData)
    leaveRawMode()
    stdin.pause()
  }
}

function forwardSignals(
  client: Client,
  execution: RunningExecution,
  output: Output,
  leave: () => void,
  whileWaiting: () => (() => void) | undefined,
): () => void {
  let interrupts = 0
  let patience: NodeJS.Timeout | undefined
  const leaveBehind = () => {
    output.warn(`The command did not end and goes on without us; its id is ${execution.id}.`)
    leave()
  }
  const stops = FORWARDED.map((name) => {
    const listener = () => {
      // There is nothing yet that a signal could reach.
      const withdraw = name === 'SIGINT' || ENDING.has(name) ? whileWaiting() : undefined
      if (withdraw !== undefined) return withdraw()
      if (name === 'SIGINT' && ++interrupts >= INTERRUPTS_TO_LEAVE) return leaveBehind()
      // Whoever ends this process so does not want to wait for a command that takes no notice.
      if (ENDING.has(name)) patience ??= setTimeout(leaveBehind, TERM_TO_KILL_MS)
      // It may have ended in between: then its exit is on the way.
      client.signal(execution.id, constants.signals[name]).catch(() => {})
    }
    process.on(name, listener)
    return () => process.off(name, listener)
  })
  return () => {
    clearTimeout(patience)
    for (const stop of stops) stop()
  }
}

function forwardSize(execution: RunningExecution): () => void {
  const listener = () => {
    const { rows, columns } = process.stdout
    if (rows > 0 && columns > 0) execution.resize(rows, columns)
  }
  process.stdout.on('resize', listener)
  return () => process.stdout.off('resize', listener)
}
