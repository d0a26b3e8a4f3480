/**
 * The guard of a connection that speaks TLS: its ClientHello must name the server that was asked for. A server may ask
 * for a second one (HelloRetryRequest), and would take the name in that: so what follows is looked at, record by
 * record, until the client says something else than a ClientHello. What the client sends early (0-RTT) may stand before
 * it, and where it said that it would, the records are followed to the end.
 * A name in a renegotiation of TLS 1.2 is encrypted and not seen.
 * Rules: RFC 8446, 4.1.2, 4.2.10, 5 and D.4.
 * @module
 */

import { CLIENT_HELLO_BYTES } from '../limits.ts'
import { HANDSHAKE, RECORD_HEAD_BYTES, readClientHello } from './client-hello.ts'
import type { Guard, GuardStep } from './guard-step.ts'

const CHANGE_CIPHER_SPEC = 0x14
const ALERT = 0x15
const APPLICATION_DATA = 0x17
const CLIENT_HELLO = 1
/** A message's type, its length, and the higher byte of a version, which is 3 in every ClientHello. */
const MARK_BYTES = 6

/** The first `count` bytes of handshake messages in the records that `bytes` begin with; fewer: there are no more yet. */
function handshakeStart(bytes: Uint8Array, count: number): readonly number[] {
  const start: number[] = []
  let at = 0
  while (start.length < count && bytes[at] === HANDSHAKE) {
    const length = ((bytes[at + 3] ?? 0) << 8) | (bytes[at + 4] ?? 0)
    const part = bytes.subarray(at + RECORD_HEAD_BYTES, at + RECORD_HEAD_BYTES + length)
    start.push(...part.subarray(0, count - start.length))
    at += RECORD_HEAD_BYTES + length
  }
  return start
}

/** What is encrypted begins as it likes: only what has a ClientHello's mark is read as one. */
function mayBeHello(start: readonly number[]): boolean {
  const [type = CLIENT_HELLO, highest = 0, , , version = 3] = start
  return type === CLIENT_HELLO && highest === 0 && version === 3
}

/** `isOptional`: what does not begin with a record of TLS passes unread. */
export function createTlsGuard(name: string, isOptional: boolean): Guard {
  let isFirst = true
  let isEndless = false
  /** Nothing new can be said before there are so many bytes. */
  let wanted = 1
  /** Of the record that is passing. */
  let left = 0

  function takeHello(bytes: Uint8Array): GuardStep | number {
    const read = readClientHello(bytes)
    if (read.kind === 'refused') return { kind: 'reset', reason: read.reason }
    if (read.kind === 'more') {
      wanted = read.bytes
      return 0
    }
    if (read.name !== name) return { kind: 'reset', reason: 'hello_other_name' }
    isFirst = false
    isEndless ||= read.hasEarlyData
    return read.end
  }

  /** The end of it, a number of bytes that may pass, or 0: more is needed. */
  function takeRecord(bytes: Uint8Array): GuardStep | number {
    const [type] = bytes
    const all: GuardStep = { kind: 'pass', bytes: bytes.length, isDone: true }
    if (isFirst) return isOptional && type !== HANDSHAKE ? all : takeHello(bytes)
    const isPassedOver =
      type === CHANGE_CIPHER_SPEC || type === ALERT || (type === APPLICATION_DATA && isEndless)
    if (type !== HANDSHAKE && !isPassedOver) return all
    if (bytes.length < RECORD_HEAD_BYTES) {
      wanted = RECORD_HEAD_BYTES
      return 0
    }
    if (isPassedOver) {
      const whole = RECORD_HEAD_BYTES + (((bytes[3] ?? 0) << 8) | (bytes[4] ?? 0))
      const count = Math.min(whole, bytes.length)
      left = whole - count
      return count
    }
    const start = handshakeStart(bytes, MARK_BYTES)
    if (!mayBeHello(start)) return all
    if (start.length === MARK_BYTES) return takeHello(bytes)
    // Records that are empty.
    if (bytes.length > CLIENT_HELLO_BYTES) return { kind: 'reset', reason: 'hello_malformed' }
    wanted = bytes.length + 1
    return 0
  }

  return {
    take(bytes) {
      let passed = 0
      while (bytes.length - passed >= wanted) {
        if (left > 0) {
          const count = Math.min(left, bytes.length - passed)
          left -= count
          passed += count
          continue
        }
        wanted = 1
        const step = takeRecord(bytes.subarray(passed))
        if (typeof step !== 'number')
          return step.kind === 'reset' ? step : { ...step, bytes: passed + step.bytes }
        if (step === 0) break
        passed += step
      }
      // What waits is shown again from its beginning.
      return { kind: 'pass', bytes: passed, isDone: false }
    },
  }
}
