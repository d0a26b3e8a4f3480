/**
 * R5: slow noise, shaped like output, out of the one static frame that the daemon made at start; or, where bytes cost
 * money, silence for the same time. A bounded number of peers is held at once, and who does not read is let go.
 *
 * A peer costs its state and nothing more: one timer serves all, nothing is allocated for a chunk, and nothing that
 * it sends is read; a silent one that goes without a sound keeps its place until its time is over. Few chunks are
 * written in one turn of the event loop, so that work that is due waits for few.
 * Noise may have a budget of bytes for each 24 hours of monotonic time from the start on; what finds it used up is
 * silent to its end, and a new day is for those who come in it.
 * Rules: docs/protocol.md, section 8; draft 8.3.2, 8.3.3, C.3.
 * @module
 */
import type { Clock, Random, Transport } from '../../ports.ts'
import { encodeFrame } from '../../wire/frame.ts'

export type TarpitLimits = {
  /** `hold` is open and silent for as long as `drip` would send. */
  readonly mode: 'drip' | 'hold'
  /** Frames of noise to all peers together in a day; null: no budget. */
  readonly dailyBytes: number | null
  readonly chunkBytes: number
  readonly totalBytes: number
  readonly delayMs: number
  readonly concurrent: number
  readonly sendTimeoutMs: number
}

export type Tarpits = {
  readonly held: number
  readonly free: number
  /** Since the start: peers that were held, frames of noise in bytes, time of all peers together. */
  readonly totalServed: number
  readonly totalBytes: number
  readonly totalMs: number
  /**
   * Holds the peer until its time is over, it goes, or it does not read. Undefined where no place is free: nothing
   * was done with the transport, and the caller drops it.
   */
  hold(transport: Transport): { release(): void } | undefined
}

/** A day, by the clock that is never set. */
const DAY_MS = 86_400_000
/** Chunks of 64 KiB in one turn: a core without AES instructions encrypts one in 1 to 3 ms. */
const DRIPS_PER_TURN = 2
/**
 * A chunk goes out in pieces, each when the one before is taken: what TLS makes of a piece fits one record and one of
 * Node's buffers. 64 KiB at once leave 60 KiB more with every connection.
 */
const PIECE_BYTES = 16_000
/** Between two turns with more to do: the event loop comes round. */
const NEXT_TURN_MS = 1

type Held = {
  readonly transport: Transport
  readonly sinceMs: number
  /** Made once, for each of its writes. */
  readonly taken: () => void
  phase: 'dripping' | 'silent' | 'ending' | 'gone'
  /** Chunks that have not been sent. */
  left: number
  /** The last chunk has not been taken yet. */
  isWriting: boolean
  /** Which piece of it is on its way. */
  piece: number
  wroteAtMs: number
  /** When it is to be looked at. */
  dueMs: number
}

export function createTarpits(limits: TarpitLimits, clock: Clock, random: Random): Tarpits {
  const { delayMs, sendTimeoutMs, dailyBytes } = limits
  // A StreamResponse {1: 0, 2: noise} on the stream that a client opens first, whole and ready to send.
  const frame = encodeFrame(
    1,
    'MSG',
    new Map<number, number | Uint8Array>([
      [1, 0],
      [2, random.bytes(limits.chunkBytes)],
    ]),
  )
  const pieces = Array.from({ length: Math.ceil(frame.length / PIECE_BYTES) }, (_, index) =>
    frame.subarray(index * PIECE_BYTES, (index + 1) * PIECE_BYTES),
  )
  const chunks = Math.max(1, Math.floor(limits.totalBytes / limits.chunkBytes))
  const places = new Array<Held | undefined>(limits.concurrent).fill(undefined)
  let held = 0
  let totalServed = 0
  let totalBytes = 0
  /** Of those that have gone. */
  let goneMs = 0
  let dayBeganMs = clock.monotonicMs()
  let spentBytes = 0
  /** Whose turn is first: after the one that was served last. */
  let cursor = 0
  let armedForMs = Number.POSITIVE_INFINITY
  let cancel = () => {}

  function mayDrip(nowMs: number): boolean {
    if (limits.mode === 'hold') return false
    if (dailyBytes === null) return true
    if (nowMs - dayBeganMs >= DAY_MS) {
      dayBeganMs += Math.floor((nowMs - dayBeganMs) / DAY_MS) * DAY_MS
      spentBytes = 0
    }
    return spentBytes + frame.length <= dailyBytes
  }

  function leave(peer: Held): void {
    const place = places.indexOf(peer)
    if (place === -1) return
    places[place] = undefined
    peer.phase = 'gone'
    held--
    goneMs += clock.monotonicMs() - peer.sinceMs
    if (held > 0) return
    cancel()
    armedForMs = Number.POSITIVE_INFINITY
  }

  function letGo(peer: Held): void {
    leave(peer)
    peer.transport.reset()
  }

  /** Its end is not read, so that it is not waited for either. */
  function end(peer: Held, nowMs: number): void {
    peer.phase = 'ending'
    peer.dueMs = nowMs + sendTimeoutMs
    peer.transport.end()
  }

  function drip(peer: Held, nowMs: number): void {
    if (!mayDrip(nowMs)) {
      peer.phase = 'silent'
      peer.dueMs = nowMs + peer.left * delayMs
      return
    }
    peer.left--
    peer.isWriting = true
    peer.wroteAtMs = nowMs
    peer.dueMs = nowMs + Math.min(delayMs, sendTimeoutMs)
    spentBytes += frame.length
    totalBytes += frame.length
    peer.piece = 0
    writePiece(peer)
  }

  function writePiece(peer: Held): void {
    const bytes = peer.phase === 'gone' ? undefined : pieces[peer.piece++]
    if (bytes === undefined) peer.isWriting = false
    else peer.transport.write(bytes, peer.taken)
  }

  /** A chunk that is under way is looked at as often as one would be due: nothing is to be done when it is taken. */
  function attendDripping(peer: Held, nowMs: number): void {
    const lateMs = peer.wroteAtMs + sendTimeoutMs
    if (peer.isWriting && nowMs >= lateMs) return letGo(peer)
    if (peer.isWriting) peer.dueMs = Math.min(nowMs + delayMs, lateMs)
    else if (nowMs < peer.wroteAtMs + delayMs) peer.dueMs = peer.wroteAtMs + delayMs
    else if (peer.left === 0) end(peer, nowMs)
    else drip(peer, nowMs)
  }

  function attend(peer: Held, nowMs: number): void {
    switch (peer.phase) {
      case 'dripping':
        return attendDripping(peer, nowMs)
      case 'silent':
        return end(peer, nowMs)
      case 'ending':
        return letGo(peer)
      case 'gone':
        return
    }
  }

  function turn(): void {
    armedForMs = Number.POSITIVE_INFINITY
    const now = clock.monotonicMs()
    const before = totalBytes
    for (let looked = 0; looked < places.length; looked++) {
      const peer = places[cursor]
      cursor = (cursor + 1) % places.length
      if (peer === undefined || peer.dueMs > now) continue
      attend(peer, now)
      if (totalBytes - before >= DRIPS_PER_TURN * frame.length) break
    }
    arm(now)
  }

  function arm(nowMs: number): void {
    let earliestMs = Number.POSITIVE_INFINITY
    for (const peer of places) if (peer !== undefined && peer.dueMs < earliestMs) earliestMs = peer.dueMs
    if (earliestMs >= armedForMs) return
    cancel()
    armedForMs = earliestMs
    cancel = clock.after(Math.max(NEXT_TURN_MS, earliestMs - nowMs), turn)
  }

  return {
    get held() {
      return held
    },
    get free() {
      return limits.concurrent - held
    },
    get totalServed() {
      return totalServed
    },
    get totalBytes() {
      return totalBytes
    },
    get totalMs() {
      const now = clock.monotonicMs()
      let sum = goneMs
      for (const peer of places) if (peer !== undefined) sum += now - peer.sinceMs
      return sum
    },
    hold(transport) {
      const place = places.indexOf(undefined)
      if (place === -1) return undefined
      const now = clock.monotonicMs()
      const peer: Held = {
        transport,
        sinceMs: now,
        taken: () => writePiece(peer),
        phase: 'dripping',
        left: chunks,
        isWriting: false,
        piece: 0,
        wroteAtMs: now,
        dueMs: now,
      }
      places[place] = peer
      held++
      totalServed++
      transport.pauseReading()
      drip(peer, now)
      arm(now)
      return { release: () => leave(peer) }
    },
  }
}
