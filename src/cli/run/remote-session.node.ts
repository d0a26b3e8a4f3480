/**
 * Joins a running execution to this process: stdin, stdout, stderr, signals, the size of the terminal, and at the end
 * the exit code. While the link is away it says so and waits; whoever does not want to wait leaves, and is told how to
 * come back. What `exec`, `shell` and `attach` share.
 * @module
 */

import { constants } from 'node:os'
import { encodeHex } from '../../base/encoding/hex.ts'
import { errnoText } from '../../base/files.node.ts'
import { visible } from '../../base/text/visible.ts'
import type {
  Client,
  LinkEvent,
  OnGap,
  OnLink,
  OnWaiting,
  OutputSink,
  RunningExecution,
  Waiting,
} from '../../client/client.node.ts'
import { asSassError, SassError } from '../../errors.ts'
import { TERM_TO_KILL_MS } from '../../limits.ts'
import { createLinkLine } from '../common/link-line.node.ts'
import { createSink } from '../common/stdio.node.ts'
import { createWaitingLine } from '../common/waiting-line.node.ts'
import type { CommandContext, Output } from '../words/command.ts'
import { EXIT, exitOfError, exitOfRemote } from '../words/exit-codes.ts'
import { findingsSentence } from '../words/findings.ts'
import { signalName } from '../words/signal-name.node.ts'
import { attachLine } from './attach-line.ts'
import { feed, forwardSize } from './feed.node.ts'
import { forwardSignals } from './forward-signals.node.ts'

export type RemoteSession = {
  readonly output: OutputSink
  /** Tells whoever sits at the terminal. */
  readonly onWaiting: OnWaiting
  readonly onLink: OnLink
  readonly onGap: OnGap
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
const NEW_LINE = 0x0a

function later(ms: number): Promise<false> {
  return new Promise((resolve) => setTimeout(resolve, ms, false))
}

/** `target` as it was typed: to say how to come back. */
export function createRemoteSession(context: CommandContext, target: string | undefined): RemoteSession {
  const { output } = context
  let leave: ((code: number | Error) => void) | undefined
  let readerGone: (() => void) | undefined
  let hasBegun = false
  let isRaw = false
  let losses = 0
  let id: string | undefined
  // A reader that is gone ends the command as SIGPIPE would; a full disk is said.
  const broken = (error: NodeJS.ErrnoException) => {
    if (error.code === 'EPIPE') return readerGone?.()
    output.warn(
      `The output cannot be written, since ${error.code === undefined ? error.message : errnoText(error.code)}; the command goes on without a reader.`,
    )
    leave?.(BROKEN_PIPE)
  }
  const stdout = createSink(1, broken)
  const stderr = createSink(2, broken)
  const waiting = createWaitingLine(output)
  const link = createLinkLine(output, {
    meanwhile: () =>
      `${hasBegun ? 'the command goes on; trying again' : 'trying again'} (${isRaw ? 'Return ~.' : '^C twice'} leaves it running)`,
    isRaw: () => isRaw,
    onEvent: output.json ? (event) => void say({ ...event, id }) : undefined,
  })
  /** The device has said that the command waits before it begins. */
  let isWaiting = false
  let stdoutBytes = 0
  let stderrBytes = 0

  function onWaiting(what: Waiting): void {
    // Of a command that runs it is the output that waits: what is typed is for the command.
    isWaiting = what.kind !== 'challenge' && !hasBegun
    waiting.show(what)
    if (output.json && what.kind !== 'challenge') void say({ event: 'waiting', ...what })
  }

  function begun(execution: RunningExecution): Promise<string> {
    return execution.started
      .then((begunId) => {
        hasBegun = true
        return begunId
      })
      .finally(() => {
        isWaiting = false
        waiting.clear()
      })
  }

  /** One line of --json, in the order of the output. */
  function say(event: object): Promise<void> {
    return stdout.write(Buffer.from(`${JSON.stringify(event)}\n`))
  }

  function take(source: 'stdout' | 'stderr', bytes: Uint8Array): Promise<void> {
    hasBegun = true
    waiting.clear()
    link.output(bytes.length, bytes.at(-1) === NEW_LINE)
    if (source === 'stdout') stdoutBytes += bytes.length
    else stderrBytes += bytes.length
    if (!output.json) return (source === 'stdout' ? stdout : stderr).write(bytes)
    // With --json each chunk is an event of its own, bytes in base64 where they are not text.
    return say({ event: 'output', source, ...encoded(Buffer.from(bytes)) })
  }

  function onLink(event: LinkEvent): void {
    if (event.kind === 'lost') losses++
    link.onLink(event)
  }

  function onGap(source: 'stdout' | 'stderr', from: number, to: number): void {
    const reason =
      from === 0 && !hasBegun
        ? `The command was started before, and the first ${to} bytes of its ${source} are no longer on the device.`
        : `${to - from} bytes of ${source} are no longer on the device (${from} to ${to}), so what follows is not all of it.`
    output.warn(reason)
    if (output.json) void say({ event: 'gap', source, from, to, reason, id })
  }

  function leaveRunning(what: string): void {
    leave?.(lostSight(what))
  }

  /** Started, or perhaps started, and its end not seen. */
  function lostSight(what: string, cause?: unknown): SassError {
    const attach = attachLine(context, target, id ?? '')
    const sentence = `${what} Go back to it with: ${attach}`
    return new SassError('EXECUTION_OUTCOME_UNKNOWN', sentence, { id, attach }, cause)
  }

  /** What is known of the command when there is an error: a code that says that it never began must be true. */
  function explained(error: unknown): unknown {
    const known = asSassError(error)
    if (known === undefined || known.details['attach'] !== undefined) return error
    // What was shown then was all there ever was.
    if (known.code === 'RESPONSE_VI_SWAP_ENGAGED') return error
    if (known.code === 'EXECUTION_OUTCOME_UNKNOWN')
      return new SassError(known.code, `${known.message} Its id is ${id}.`, { id, ...known.details }, error)
    if (known.code === 'CONNECTION_LOST') {
      const what = hasBegun ? 'The command was started.' : 'The command may have been started.'
      return lostSight(`${what} ${known.message}`, error)
    }
    return hasBegun && exitOfError(known.code) === EXIT.NOT_STARTED
      ? lostSight(`The command was started. ${known.message}`, error)
      : error
  }

  async function follow(
    execution: RunningExecution,
    { client, stdin, isTerminal }: FollowOptions,
  ): Promise<number> {
    const left = new Promise<number>((resolve, reject) => {
      leave = (how) => (typeof how === 'number' ? resolve(how) : reject(how))
    })
    left.catch(() => {})
    id = execution.id
    isRaw = isTerminal
    begun(execution).catch(() => {})
    const goAway = () => leaveRunning('The command goes on without us.')
    readerGone = () => void endUnread(client, execution).then(() => leave?.(BROKEN_PIPE))
    if (stdout.isBroken || stderr.isBroken) readerGone()
    const stopInput = stdin ? feed({ client, execution, isTerminal, leave: goAway, output }) : () => {}
    const withdraw = () => {
      waiting.clear()
      withdrawn(client, execution, output).then((code) => leave?.(code))
    }
    const stopSignals = forwardSignals({
      client,
      execution,
      output,
      losses: () => losses,
      leave: goAway,
      whileWaiting: () => (isWaiting ? withdraw : undefined),
    })
    const stopResize = isTerminal ? forwardSize(execution) : () => {}
    try {
      const ended = await Promise.race([execution.exit, left])
      if (typeof ended === 'number') return ended
      link.end()
      await stdout.flushed()
      await stderr.flushed()
      // What it wrote last did not arrive: its own exit code would say that all is well.
      if (stdout.isBroken || stderr.isBroken) return BROKEN_PIPE
      if (ended.truncated)
        output.warn('The output went over the limit of the device; what came after it was dropped.')
      for (const sentence of [ended.why, ended.refused, ended.notice])
        if (sentence !== undefined) output.warn(visible(sentence))
      // Somebody at a terminal knows a command when they see one: documents are full of them.
      const findings = process.stdout.isTTY
        ? ended.findings?.filter(({ kind }) => kind !== 'command')
        : ended.findings
      const found = findingsSentence(findings)
      if (found !== undefined) output.warn(found)
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
            ...(ended.refused === undefined ? {} : { refused: ended.refused }),
            ...(ended.source === undefined ? {} : { source: ended.source }),
            ...(ended.findings === undefined ? {} : { findings: ended.findings }),
            ...(ended.notice === undefined ? {} : { notice: ended.notice }),
            stdout_bytes: stdoutBytes,
            stderr_bytes: stderrBytes,
          },
          [],
        )
      return exitOfRemote(
        signal === undefined ? { kind: 'exited', code: exitCode ?? 0 } : { kind: 'signalled', signal },
      )
    } catch (error) {
      isRaw = false
      stopInput()
      link.end()
      // Whoever leaves does not wait for a reader that does not read.
      await Promise.race([Promise.all([stdout.flushed(), stderr.flushed()]), later(TERM_TO_KILL_MS)])
      throw explained(error)
    } finally {
      waiting.clear()
      isRaw = false
      stopInput()
      stopSignals()
      stopResize()
      link.end()
    }
  }

  return { output: take, onWaiting, onLink, onGap, begun, follow }
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
  try {
    await client.signal(execution.id, constants.signals.SIGPIPE)
    if (!(await Promise.race([ended, later(TERM_TO_KILL_MS)]))) await client.cancel(execution.id)
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
