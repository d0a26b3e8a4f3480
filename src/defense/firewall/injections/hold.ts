/**
 * Orders to whoever reads it, looked for in one stream of output before it goes on: in windows that begin at fixed places
 * of the stream and overlap, so that it makes no difference how the bytes are cut, and what is at the end of one window is
 * in the middle of the next. Nothing goes on that no window was judged with; a pause judges what has come so far.
 * What is sure enough is held with all that follows until somebody says whether it may go on.
 * Bounded: one unfinished window a stream, and what may come while it is held.
 * Rules: jerry.md L4-C01; JF-081, JF-088; docs/firewall.md.
 * @module
 */

import { encodeUtf8 } from '../../../base/encoding/utf8.ts'
import { type Assessment, UNREADABLE } from './assess.ts'
import { type CommandLine, commandLineIn } from './command-lines.ts'
import {
  INJECTION_EXCERPT_BYTES,
  INJECTION_HELD_BYTES,
  INJECTION_OVERLAP_BYTES,
  INJECTION_WINDOW_BYTES,
  SUSPICIONS,
} from './limits.ts'

/** A window that says something. */
export type Suspicion = Assessment & {
  /** Of the bytes that came in. */
  readonly offset: number
  /** The window itself: for the sealed record alone. */
  readonly text: Uint8Array
}

/** The one that is held, with the part of it that says most: for whoever judges. */
export type HeldWindow = Suspicion & { readonly excerpt: Uint8Array }

/** What was found in one stream. */
export type Suspicions = {
  /** The highest confidence of all windows, in per mille. */
  readonly most: number
  /** Windows at the mark or above it. */
  readonly flagged: number
  /** The first of them. */
  readonly windows: readonly Suspicion[]
}

/** From which confidence on, in per mille, a window is marked, and from which on it is held. */
export type Thresholds = { readonly flag: number; readonly block: number }

/** `held` waits for an answer; `released` goes on unjudged, since somebody has looked; of `withheld` nothing goes on. */
export type HoldState = 'open' | 'held' | 'released' | 'withheld'

type Emit = (bytes: Uint8Array) => void

export type InjectionHold = {
  /** Bytes are lent, both ways. */
  push(bytes: Uint8Array, emit: Emit): void
  /** Nothing has come for a while or will come, or what is kept has waited long enough. */
  pause(emit: Emit): void
  /** Of what is held: it goes on, or it is dropped with all that follows. */
  answer(isReleased: boolean, emit: Emit): void
  /** Something came that has not gone on, and a pause would see to it. */
  readonly isKeeping: boolean
  readonly state: HoldState
  readonly withheldBytes: number
  /** Undefined: nothing is held, or was. */
  readonly heldWindow: HeldWindow | undefined
  /** Undefined: nothing was found. */
  readonly suspicions: Suspicions | undefined
  /** The first line that is merely a command. */
  readonly commandLine: CommandLine | undefined
}

const STEP = INJECTION_WINDOW_BYTES - INJECTION_OVERLAP_BYTES
const NONE = new Uint8Array(0)
/** What stands for what is withheld. */
const NOTICE = encodeUtf8(
  '\n[withheld: what stood from here on gives orders to whoever reads it, and no operator has released it]\n',
)

/**
 * @param assess what judges one window: `start` to `end` of the bytes
 * @param work lent to one call at a time: what one push brings, and a window
 */
export function createInjectionHold(
  assess: (bytes: Uint8Array, start: number, end: number) => Assessment,
  { flag, block }: Thresholds,
  work: Uint8Array,
): InjectionHold {
  const windows: Suspicion[] = []
  let state: HoldState = 'open'
  /** The unfinished window, or what is held. */
  let kept: Uint8Array = NONE
  /** Where it begins in the stream, how much is in it, and how much of that is judged and has gone on. */
  let [offset, filled, judged, sent] = [0, 0, 0, 0]
  let [most, flagged, withheldBytes] = [0, 0, 0]
  /** The window has been counted: what a pause found is not found again at its end. */
  let isCounted = false

  let heldWindow: HeldWindow | undefined
  let commandLine: CommandLine | undefined

  /** Of a window, the part that says most. */
  function excerptOf(text: Uint8Array): Uint8Array {
    let best = text.subarray(0, INJECTION_EXCERPT_BYTES)
    let bestPermille = -1
    for (
      let at = 0;
      at === 0 || at < text.length - INJECTION_EXCERPT_BYTES / 2;
      at += INJECTION_EXCERPT_BYTES / 2
    ) {
      const end = Math.min(text.length, at + INJECTION_EXCERPT_BYTES)
      const { permille } = assess(text, at, end)
      if (permille <= bestPermille) continue
      best = text.subarray(at, end)
      bestPermille = permille
    }
    return best
  }

  /** True: it is to be held. */
  function judge(bytes: Uint8Array, start: number, end: number): boolean {
    const found = assess(bytes, start, end)
    most = Math.max(most, found.permille)
    if (commandLine === undefined && found !== UNREADABLE) {
      const line = commandLineIn(
        bytes,
        start,
        end,
        offset + start === 0,
        end - start === INJECTION_WINDOW_BYTES,
      )
      if (line !== undefined) commandLine = { ...line, offset: offset + line.offset }
    }
    if (found.permille >= flag && !isCounted) {
      isCounted = true
      flagged++
      if (windows.length < SUSPICIONS)
        windows.push({ ...found, offset: offset + start, text: bytes.slice(start, end) })
    }
    if (found.permille < block) return false
    const text = bytes.slice(start, end)
    heldWindow = { ...found, offset: offset + start, text, excerpt: excerptOf(text) }
    return true
  }

  function keep(bytes: Uint8Array): void {
    if (kept.length < INJECTION_WINDOW_BYTES) kept = new Uint8Array(INJECTION_WINDOW_BYTES)
    kept.set(bytes)
    filled = bytes.length
  }

  /** `bytes`: from the window on that says it; `gone`: how much of that has gone on already. */
  function hold(bytes: Uint8Array, gone: number): void {
    state = 'held'
    kept = bytes.slice(gone)
    filled = kept.length
  }

  /** Of what is held, and of what follows, nothing goes on but a word about it. */
  function drop(emit: Emit): void {
    state = 'withheld'
    kept = NONE
    withheldBytes += filled
    emit(NOTICE)
  }

  /** Judges every window of `work` that is full, and keeps the one that is not. */
  function windowsOf(length: number, emit: Emit): void {
    let at = 0
    while (length - at >= INJECTION_WINDOW_BYTES) {
      if (judge(work, at, at + INJECTION_WINDOW_BYTES)) {
        if (at > sent) emit(work.subarray(sent, at))
        return hold(work.subarray(0, length), Math.max(at, sent))
      }
      isCounted = false
      at += STEP
    }
    if (at > sent) emit(work.subarray(sent, at))
    offset += at
    sent = Math.max(0, sent - at)
    // What two windows share is judged with the first.
    judged = INJECTION_OVERLAP_BYTES
    keep(work.subarray(at, length))
  }

  function pushOpen(bytes: Uint8Array, emit: Emit): void {
    const length = filled + bytes.length
    if (length < INJECTION_WINDOW_BYTES && kept.length > 0) {
      kept.set(bytes, filled)
      filled = length
    } else if (length < INJECTION_WINDOW_BYTES) keep(bytes)
    else {
      work.set(kept.subarray(0, filled))
      work.set(bytes, filled)
      windowsOf(length, emit)
    }
  }

  /** What was under way when the command was asked to wait. */
  function pushHeld(bytes: Uint8Array, emit: Emit): void {
    if (filled + bytes.length > INJECTION_HELD_BYTES) {
      drop(emit)
      withheldBytes += bytes.length
      return
    }
    if (filled + bytes.length > kept.length) {
      const more = new Uint8Array(INJECTION_HELD_BYTES)
      more.set(kept.subarray(0, filled))
      kept = more
    }
    kept.set(bytes, filled)
    filled += bytes.length
  }

  function pause(emit: Emit): void {
    if (state !== 'open' || filled === sent) return
    if (filled > judged) {
      judged = filled
      if (judge(kept, 0, filled)) return hold(kept.subarray(0, filled), sent)
    }
    const from = sent
    sent = filled
    emit(kept.subarray(from, filled))
  }

  return {
    push(bytes, emit) {
      const most = work.length - INJECTION_WINDOW_BYTES
      for (let at = 0; at < bytes.length; at += most) {
        const piece = bytes.length <= most ? bytes : bytes.subarray(at, at + most)
        if (state === 'open') pushOpen(piece, emit)
        else if (state === 'held') pushHeld(piece, emit)
        else if (state === 'released') emit(piece)
        else withheldBytes += piece.length
      }
    },
    pause,
    answer(isReleased, emit) {
      if (state !== 'held') return
      if (!isReleased) return drop(emit)
      const held = kept.subarray(0, filled)
      state = 'released'
      kept = NONE
      emit(held)
    },
    get isKeeping() {
      return state === 'open' && filled > sent
    },
    get state() {
      return state
    },
    get withheldBytes() {
      return withheldBytes
    },
    get heldWindow() {
      return heldWindow
    },
    get commandLine() {
      return commandLine
    },
    get suspicions() {
      return flagged === 0 ? undefined : { most, flagged, windows }
    },
  }
}
