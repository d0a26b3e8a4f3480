/**
 * One way of a link without a clock or a socket: what is put in comes out in the same order, no sooner than rate and
 * delay allow. It is sent a piece at a time (a token bucket whose burst is one piece), waits in a short queue for
 * that, and then takes the delay of the way. Times are given from outside, so what it does can be counted.
 * @module
 */
import type { Random } from '../fuzz/engine.ts'

/** A queue is never shorter: a link that holds not even one packet carries nothing. */
const QUEUE_BYTES_MIN = 2_048
/** What may be under way where no rate bounds it: about what a system lets a connection have in flight. */
const FLIGHT_BYTES_MAX = 4 * 1_048_576

export type Line<T> = {
  /** Puts something at the end of the queue; 0 bytes take no time to send. */
  push(what: T, bytes: number, nowMs: number): void
  /** What has come out by now, in order. */
  take(nowMs: number): T | undefined
  /** When `take` has something again if nothing else happens; undefined: not before something changes. */
  nextMs(): number | undefined
  /** True where whoever sends should wait: the queue is bounded, and only by this. */
  readonly isFull: boolean
  setRate(bytesPerSecond: number | undefined): void
  /** `jitterMs`: up to so much more for each piece, never out of order. */
  setDelay(ms: number, jitterMs?: number): void
  /** Nothing is sent and nothing arrives. */
  stall(): void
  go(nowMs: number): void
}

type Waiting<T> = { readonly what: T; readonly bytes: number; readonly pushedMs: number }
type Flying<T> = { readonly what: T; readonly bytes: number; readonly dueMs: number }

/** `queueBytes` undefined: what rate and delay hold both ways (bandwidth times round trip). */
export function createLine<T>(random: Random, queueBytes?: number): Line<T> {
  const waiting: Waiting<T>[] = []
  const flying: Flying<T>[] = []
  let waitingBytes = 0
  let flyingBytes = 0
  let rate: number | undefined
  let delayMs = 0
  let jitterMs = 0
  let isStalled = false
  let freeMs = 0
  let lastDueMs = 0

  const limit = () => Math.max(QUEUE_BYTES_MIN, queueBytes ?? ((rate ?? 0) * 2 * delayMs) / 1_000)
  const startMs = (head: Waiting<T>) => Math.max(freeMs, head.pushedMs)

  /** Sends what the rate has allowed by now. Wakes come late; the sum of what was sent is exact all the same. */
  function send(nowMs: number): void {
    for (let head = waiting[0]; head !== undefined && startMs(head) <= nowMs; head = waiting[0]) {
      waiting.shift()
      waitingBytes -= head.bytes
      freeMs = startMs(head) + (rate === undefined ? 0 : (head.bytes * 1_000) / rate)
      lastDueMs = Math.max(lastDueMs, freeMs + delayMs + (jitterMs > 0 ? random.below(jitterMs + 1) : 0))
      flying.push({ what: head.what, bytes: head.bytes, dueMs: lastDueMs })
      flyingBytes += head.bytes
    }
  }

  return {
    push(what, bytes, nowMs) {
      waiting.push({ what, bytes, pushedMs: nowMs })
      waitingBytes += bytes
      if (!isStalled) send(nowMs)
    },
    take(nowMs) {
      if (isStalled) return undefined
      send(nowMs)
      const first = flying[0]
      if (first === undefined || first.dueMs > nowMs) return undefined
      flying.shift()
      flyingBytes -= first.bytes
      return first.what
    },
    nextMs() {
      const times = [waiting[0] && startMs(waiting[0]), flying[0]?.dueMs].filter((ms) => ms !== undefined)
      return isStalled || times.length === 0 ? undefined : Math.min(...times)
    },
    get isFull() {
      return waitingBytes >= limit() || flyingBytes >= FLIGHT_BYTES_MAX
    },
    setRate(bytesPerSecond) {
      rate = bytesPerSecond
    },
    setDelay(ms, jitter = 0) {
      delayMs = ms
      jitterMs = jitter
    },
    stall() {
      isStalled = true
    },
    go(nowMs) {
      isStalled = false
      freeMs = Math.max(freeMs, nowMs)
    },
  }
}
