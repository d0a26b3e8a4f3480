/**
 * The push parser that cuts the decrypted byte stream into frame bodies (a CBOR Sequence of byte strings).
 * It understands byte string heads and nothing else; bodies are opaque here. A length is held against the limit of
 * the moment as soon as its head is complete, before a byte is kept for it. After a failure it takes nothing and
 * holds nothing.
 * Rules: docs/protocol.md, section 2.
 * @module
 */
import { headBytes } from '../base/encoding/cbor-head.ts'

export type DeframerEvent =
  /** Borrowed: valid until the callback returns. */
  { readonly kind: 'body'; readonly body: Uint8Array } | { readonly kind: 'fail'; readonly problem: string }

export type Deframer = {
  /**
   * Feeds bytes; calls back once a body, in order. The callback may call `stop`. `pauses` is asked after each body, and
   * says that no more are wanted now. Returns how many bytes were taken: whoever keeps the rest feeds it later.
   */
  push(chunk: Uint8Array, pauses?: () => boolean): number
  /** Forgets everything and ignores what comes. */
  stop(): void
  /** True between frames: an end of the stream here cuts nothing. */
  isBetweenFrames(): boolean
}

const BYTE_STRING = 2

/**
 * `limitBytes` is asked at each head, so that a connection's limit may grow with its phase.
 * `tell` receives each body, or one failure and then nothing more.
 */
export function createDeframer(limitBytes: () => number, tell: (event: DeframerEvent) => void): Deframer {
  let dead = false
  // The head so far: how many more bytes it wants, and its value. -1: the next byte begins a head.
  let headLeft = -1
  let headWidth = 0
  let length = 0
  // The body that is being put together, when it did not come whole: kept between frames, never above the limit.
  let partial: Uint8Array | undefined
  let filled = -1

  /** -1, the position that a failed head has. */
  function fail(problem: string): -1 {
    dead = true
    partial = undefined
    tell({ kind: 'fail', problem })
    return -1
  }

  function bodyComplete(body: Uint8Array): void {
    headLeft = -1
    filled = -1
    tell({ kind: 'body', body })
  }

  /** Consumes head bytes; returns the new position, or -1 after a failure. */
  function takeHead(chunk: Uint8Array, from: number): number {
    let at = from
    if (headLeft === -1) {
      const initial = chunk[at++] ?? 0
      if (initial >> 5 !== BYTE_STRING) return fail('a frame that is no byte string')
      const additional = initial & 31
      if (additional > 27) return fail('a frame of indefinite or reserved length')
      headWidth = additional < 24 ? 0 : 1 << (additional - 24)
      headLeft = headWidth
      length = headWidth === 0 ? additional : 0
    }
    while (headLeft > 0 && at < chunk.length) {
      length = length * 256 + (chunk[at++] ?? 0)
      headLeft--
    }
    if (headLeft > 0) return at
    if (headBytes(length) !== headWidth + 1) return fail('a frame length that is not the shortest')
    if (length > limitBytes()) return fail('a frame over the limit')
    if (length === 0) return fail('an empty frame')
    filled = 0
    return at
  }

  function push(received: Uint8Array, pauses?: () => boolean): number {
    // A Node Buffer's `slice` is no copy; behind this line every view is plain bytes, whose `slice` is.
    const chunk = new Uint8Array(received.buffer, received.byteOffset, received.length)
    let at = 0
    while (!dead && at < chunk.length) {
      if (filled === -1) {
        at = takeHead(chunk, at)
        if (at === -1 || filled === -1) continue
      }
      const wanted = length - filled
      const here = chunk.length - at
      if (filled === 0 && here >= wanted) {
        const body = chunk.subarray(at, at + wanted)
        at += wanted
        bodyComplete(body)
        if (pauses?.() === true) break
        continue
      }
      const taken = Math.min(wanted, here)
      if (taken === 0) break
      if (partial === undefined || partial.length < length) {
        const larger = new Uint8Array(length)
        if (partial !== undefined && filled > 0) larger.set(partial.subarray(0, filled))
        partial = larger
      }
      partial.set(chunk.subarray(at, at + taken), filled)
      filled += taken
      at += taken
      if (filled !== length) continue
      bodyComplete(partial.subarray(0, length))
      if (pauses?.() === true) break
    }
    return dead ? chunk.length : at
  }

  return {
    push,
    stop() {
      dead = true
      partial = undefined
    },
    isBetweenFrames: () => headLeft === -1 && filled === -1,
  }
}
