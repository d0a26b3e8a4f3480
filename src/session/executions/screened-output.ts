/**
 * The output of one execution on its way into the rings: through the firewall, one screen for each source. What the
 * firewall keeps back, since it may be the beginning of a secret or has yet to be judged, goes on when more comes, when
 * nothing comes for a while, and at the end. What it holds, since it gives orders, waits for an answer, and its source
 * with it.
 * Rules: docs/firewall.md.
 * @module
 */

import type { HeldWindow } from '../../defense/firewall/injections/hold.ts'
import { OUTPUT_FLOW_MS, OUTPUT_PAUSES_MS } from '../../defense/firewall/limits.ts'
import type { Screen } from '../../defense/firewall/screen.ts'
import type { Clock, OutputSource } from '../../ports.ts'

export type ScreenedOutput = {
  push(source: OutputSource, bytes: Uint8Array): void
  /** Both sources have ended. What is held still waits for an answer. */
  finish(): void
  /** Of what is held: it goes on, or it is dropped with all that follows of that source. */
  answer(isReleased: boolean): void
  readonly isHeld: boolean
  /** The screens that something went through. */
  readonly screens: readonly Screen[]
}

/** Where it goes. */
export type OutputWay = {
  /** Bytes that may go on, lent; gives how many were taken. */
  take(source: OutputSource, bytes: Uint8Array): number
  /** After the last bytes of one push, where some were taken. */
  told(source: OutputSource): void
  /** Nothing of that source goes on until there is an answer; `window` is why. */
  held(source: OutputSource, window: HeldWindow | undefined): void
}

type Stream = {
  readonly source: OutputSource
  readonly screen: Screen
  /** On the monotonic clock: when something came last, and since when something is kept. */
  cameMs: number
  keptMs: number
  /** How much of its silence is used up: the pauses that it has had. */
  pauses: number
  isHeld: boolean
}

const PAUSES = ['moment', 'while', 'long'] as const
/** Of silence, until each pause has come. */
const SILENCE_MS = [
  OUTPUT_PAUSES_MS.moment,
  OUTPUT_PAUSES_MS.moment + OUTPUT_PAUSES_MS.while,
  OUTPUT_PAUSES_MS.moment + OUTPUT_PAUSES_MS.while + OUTPUT_PAUSES_MS.long,
] as const

export function createScreenedOutput(
  open: () => Screen,
  clock: Pick<Clock, 'after' | 'monotonicMs'>,
  { take, told, held }: OutputWay,
): ScreenedOutput {
  const streams: [Stream | undefined, Stream | undefined] = [undefined, undefined]
  let cancelPause: (() => void) | undefined

  const present = (): Stream[] => streams.filter((stream) => stream !== undefined)

  function through(stream: Stream, work: (emit: (bytes: Uint8Array) => void) => void): void {
    let bytes = 0
    work((piece) => {
      bytes += take(stream.source, piece)
    })
    if (bytes > 0) told(stream.source)
    const wasHeld = stream.isHeld
    stream.isHeld = stream.screen.held === 'held'
    if (stream.isHeld && !wasHeld) held(stream.source, stream.screen.heldWindow)
  }

  /** When its next pause is due, on the monotonic clock. */
  function dueMs({ screen, cameMs, keptMs, pauses }: Stream): number {
    const silence = SILENCE_MS[pauses]
    if (!screen.isKeeping || silence === undefined) return Number.POSITIVE_INFINITY
    return pauses === 0 ? Math.min(cameMs + silence, keptMs + OUTPUT_FLOW_MS) : cameMs + silence
  }

  function pause(stream: Stream, nowMs: number): void {
    const how = nowMs < stream.cameMs + SILENCE_MS[0] ? 'flow' : PAUSES[stream.pauses]
    if (how === undefined) return
    if (how === 'flow') stream.keptMs = nowMs
    else stream.pauses++
    through(stream, (emit) => stream.screen.pause(how, emit))
  }

  function tick(): void {
    cancelPause = undefined
    const nowMs = clock.monotonicMs()
    for (const stream of present()) if (dueMs(stream) <= nowMs) pause(stream, nowMs)
    arm()
  }

  /** One timer at a time, whatever comes meanwhile: it asks again what is due. */
  function arm(): void {
    if (cancelPause !== undefined) return
    const dueAtMs = Math.min(...present().map(dueMs))
    if (dueAtMs === Number.POSITIVE_INFINITY) return
    cancelPause = clock.after(Math.max(1, dueAtMs - clock.monotonicMs()), tick)
  }

  return {
    push(source, bytes) {
      const nowMs = clock.monotonicMs()
      const stream = streams[source] ?? {
        ...{ source, screen: open(), cameMs: nowMs, keptMs: nowMs, pauses: 0, isHeld: false },
      }
      streams[source] = stream
      if (!stream.screen.isKeeping) stream.keptMs = nowMs
      stream.cameMs = nowMs
      stream.pauses = 0
      through(stream, (emit) => stream.screen.push(bytes, emit))
      arm()
    },
    finish() {
      cancelPause?.()
      for (const stream of present()) through(stream, (emit) => stream.screen.finish(emit))
    },
    answer(isReleased) {
      for (const stream of present()) through(stream, (emit) => stream.screen.answer(isReleased, emit))
    },
    get isHeld() {
      return present().some(({ isHeld }) => isHeld)
    },
    get screens() {
      return present().map(({ screen }) => screen)
    },
  }
}
