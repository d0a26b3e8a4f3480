/**
 * Waits for a command as a call of a tool does: so long as it was asked to and somebody wants it, with words on how far
 * it is; what comes of it, kept within bounds.
 * @module
 */

import type { OnGap, OutputSink, RemoteExit, RunningExecution, Waiting } from '../../client/client.node.ts'
import { asSassError } from '../../errors.ts'
import { TERM_TO_KILL_MS } from '../../limits.ts'
import { signalName } from '../words/signal-name.node.ts'
import { MCP_PROGRESS_MS, MCP_SILENCE_MS } from './bounds.ts'
import { type Call, linkWords, waitingWords } from './call.node.ts'
import type { Keeper } from './kept-output.ts'
import { ranResult } from './run-result.ts'
import type { ToolResult } from './thread-messages.ts'
import { failed, silence } from './tool-errors.ts'
import { count } from './tool-text.ts'

export type Collector = {
  readonly output: OutputSink
  readonly onGap: OnGap
  readonly onWaiting: (what: Waiting) => void
  readonly lostBytes: number
  /** What the request waits for, as long as nothing has come. */
  readonly waiting: string | undefined
}

export function createCollector(stdout: Keeper, stderr: Keeper): Collector {
  let lostBytes = 0
  let waiting: string | undefined
  return {
    output(source, bytes, offset) {
      waiting = undefined
      ;(source === 'stdout' ? stdout : stderr).take(bytes, offset)
    },
    onGap(_source, from, to) {
      lostBytes += to - from
    },
    onWaiting(what) {
      waiting = waitingWords(what)
    },
    get lostBytes() {
      return lostBytes
    },
    get waiting() {
      return waiting
    },
  }
}

export type Following = {
  readonly execution: RunningExecution
  readonly stdout: Keeper
  readonly stderr: Keeper
  readonly collector: Collector
  readonly waitSeconds: number
  /** From when that counts. */
  readonly ready: Promise<unknown>
  /** True: it is not waited for any longer, whatever the time. */
  readonly isEnough?: () => boolean
  /** What is done where nobody waits any more: the command of a call ends with it. */
  readonly givenUp: () => Promise<void>
}

/** How soon it is seen that all is there that was asked for. */
const LOOK_MS = 50

type How =
  | { readonly kind: 'ended'; readonly exit: RemoteExit }
  /** silent: the device has not said a word, not even that it waits. */
  | { readonly kind: 'left' | 'given_up' | 'silent' }

/** Resolves when it is over, the time is, or nobody waits; rejects where the device could not do it. */
function outcomeOf(
  call: Call,
  { execution, collector, waitSeconds, ready, isEnough }: Following,
  tick: () => void,
) {
  const { signal } = call
  return new Promise<How>((resolve, reject) => {
    let deadline: NodeJS.Timeout | undefined
    let isOver = false
    const over = (step: () => void) => {
      if (isOver) return
      isOver = true
      clearTimeout(deadline)
      clearInterval(ticker)
      signal.removeEventListener('abort', giveUp)
      step()
    }
    const leave = () => over(() => resolve({ kind: 'left' }))
    const giveUp = () => over(() => resolve({ kind: 'given_up' }))
    let heardMs = performance.now()
    let hasBegun = false
    const isSilent = () => {
      const now = performance.now()
      if (hasBegun || collector.waiting !== undefined || !call.client.isConnected) heardMs = now
      return now - heardMs >= MCP_SILENCE_MS
    }
    const look = () => {
      if (isSilent()) over(() => resolve({ kind: 'silent' }))
      else if (isEnough?.() === true) leave()
      else tick()
    }
    const ticker = setInterval(look, isEnough === undefined ? MCP_PROGRESS_MS : LOOK_MS)
    execution.exit.then(
      (exit) => over(() => resolve({ kind: 'ended', exit })),
      (cause: unknown) => over(() => reject(cause)),
    )
    execution.started.then(
      () => {
        hasBegun = true
      },
      () => {},
    )
    ready.then(
      () => {
        if (isOver) return
        deadline = setTimeout(leave, waitSeconds * 1_000)
      },
      () => {},
    )
    if (signal.aborted) giveUp()
    else signal.addEventListener('abort', giveUp, { once: true })
  })
}

export async function follow(call: Call, following: Following): Promise<ToolResult> {
  const { execution, stdout, stderr, collector, waitSeconds } = following
  const { id } = execution
  const began = performance.now()
  let link: string | undefined
  let hasBegun = false
  execution.started.then(
    () => {
      hasBegun = true
    },
    () => {},
  )
  function tell(): void {
    const output = `${count(stdout.lines + stderr.lines, 'line')}, ${count(stdout.seenBytes + stderr.seenBytes, 'byte')} of output so far`
    const state = hasBegun ? output : (collector.waiting ?? 'asked; it has not begun')
    call.progress({
      // Of the wait: what it writes has no end that could be known.
      progress: Math.round((performance.now() - began) / 100) / 10,
      ...(hasBegun ? { total: waitSeconds } : {}),
      message: link === undefined ? state : `${state}; ${link}`,
    })
  }
  call.onLink((event) => {
    link = event.kind === 'back' ? undefined : linkWords(event)
    tell()
  })
  call.followed.add(id)
  try {
    const how = await outcomeOf(call, following, tell)
    const ran = { id, stdout, stderr, signalName, lostBytes: collector.lostBytes }
    if (how.kind === 'ended') return ranResult({ ...ran, exit: how.exit })
    if (how.kind === 'given_up') await following.givenUp()
    execution.detach()
    if (how.kind === 'silent') {
      call.abandon()
      return failed(silence())
    }
    return ranResult({ ...ran, exit: undefined })
  } catch (cause) {
    return failed(cause, id, hasBegun)
  } finally {
    call.followed.delete(id)
  }
}

function isUnknown(cause: unknown): boolean {
  return asSassError(cause)?.code === 'PROCESS_NOT_FOUND'
}

/** Ends a command that nobody waits for any more, every process of it, or takes it back where it has not begun. */
export async function endExecution({ client }: Call, execution: RunningExecution): Promise<void> {
  const kill = () =>
    client.cancel(execution.id).then(
      () => true,
      (cause: unknown) => {
        if (isUnknown(cause)) return false
        throw cause
      },
    )
  if (await kill()) {
    const late = new Promise((resolve) => setTimeout(resolve, TERM_TO_KILL_MS))
    await Promise.race([execution.exit.catch(() => {}), late])
    return
  }
  // It waited, or it has just ended. Leaving takes back what waits; what began in that moment is ended after all.
  execution.detach()
  await kill()
}
