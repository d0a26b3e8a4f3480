/**
 * The server's name in the first message of TLS. The message may be cut into records, and those into packets, at any
 * byte; it is read anew each time until it is whole, at most 16 KiB of it. Refused: what is no ClientHello, lengths that
 * do not fit, no name or several, a name that is no host name, an extension twice, and one that hides the real
 * name (Encrypted Client Hello), for which the gate gives out no keys: whoever sends it has them from elsewhere.
 * Rules: RFC 8446, 4.1.2 and 5.1; RFC 6066, 3; RFC 9849 for ECH.
 * @module
 */

import { CLIENT_HELLO_BYTES, CLIENT_HELLO_RECORDS } from '../limits.ts'
import { normalHostName } from '../names/host-name.ts'

export type ClientHello =
  /** Not before there are so many bytes in all. */
  | { readonly kind: 'more'; readonly bytes: number }
  | {
      readonly kind: 'read'
      /** In normal form. */
      readonly name: string
      /** It says that data follows before an answer has come. */
      readonly hasEarlyData: boolean
      /** Where the record ends that it ends in. */
      readonly end: number
    }
  | {
      readonly kind: 'refused'
      readonly reason: 'not_tls' | 'hello_malformed' | 'hello_without_name' | 'hello_encrypted'
    }

export const RECORD_HEAD_BYTES = 5
export const HANDSHAKE = 0x16
const CLIENT_HELLO = 1
const MESSAGE_HEAD_BYTES = 4
/** Version and random. */
const FIXED_BYTES = 2 + 32
const SERVER_NAME = 0
const HOST_NAME = 0
const EARLY_DATA = 42
/** The registered number, and those of drafts that were in use. */
const ENCRYPTED_HELLO: readonly number[] = Object.freeze([0xfe0d, 0xfe0a, 0xfe09, 0xfe08, 0xffce])

const MALFORMED: ClientHello = Object.freeze({ kind: 'refused', reason: 'hello_malformed' })

function word(bytes: Uint8Array, at: number): number {
  return ((bytes[at] ?? 0) << 8) | (bytes[at + 1] ?? 0)
}

/** Whatever `bytes` begin with, so far. */
export function readClientHello(bytes: Uint8Array): ClientHello {
  const message = new Uint8Array(Math.min(bytes.length, CLIENT_HELLO_BYTES))
  let gathered = 0
  let at = 0
  for (let record = 0; ; record++) {
    const head = bytes.subarray(at, at + RECORD_HEAD_BYTES)
    if ((head[0] ?? HANDSHAKE) !== HANDSHAKE || (head[1] ?? 3) !== 3)
      return { kind: 'refused', reason: 'not_tls' }
    if (head.length < RECORD_HEAD_BYTES) return { kind: 'more', bytes: at + RECORD_HEAD_BYTES }
    const length = word(head, 3)
    if (length === 0 || record === CLIENT_HELLO_RECORDS) return MALFORMED
    // Nothing may stand behind it in its record, so that what is held back is bounded.
    if (gathered + length > CLIENT_HELLO_BYTES) return MALFORMED
    const part = bytes.subarray(at + RECORD_HEAD_BYTES, at + RECORD_HEAD_BYTES + length)
    message.set(part, gathered)
    gathered += part.length
    at += RECORD_HEAD_BYTES + length

    if (gathered > 0 && message[0] !== CLIENT_HELLO) return { kind: 'refused', reason: 'not_tls' }
    if (gathered >= MESSAGE_HEAD_BYTES) {
      const end = MESSAGE_HEAD_BYTES + ((message[1] ?? 0) << 16) + word(message, 2)
      if (end > CLIENT_HELLO_BYTES) return MALFORMED
      // Nothing may stand behind it in its record: the client has to wait for an answer.
      if (gathered > end) return MALFORMED
      if (gathered === end && part.length === length)
        return readMessage(message.subarray(MESSAGE_HEAD_BYTES, end), at)
    }
    if (part.length < length) return { kind: 'more', bytes: at }
  }
}

function readMessage(body: Uint8Array, end: number): ClientHello {
  let at = FIXED_BYTES
  // The session's id, the suites, the compression methods.
  at += 1 + (body[at] ?? 0)
  at += 2 + word(body, at)
  at += 1 + (body[at] ?? 0)
  if (at === body.length) return { kind: 'refused', reason: 'hello_without_name' }
  if (at + 2 + word(body, at) !== body.length) return MALFORMED
  at += 2
  const seen = new Set<number>()
  let name: string | undefined
  while (at < body.length) {
    const type = word(body, at)
    const length = word(body, at + 2)
    at += 4
    if (at + length > body.length || seen.has(type)) return MALFORMED
    seen.add(type)
    if (ENCRYPTED_HELLO.includes(type)) return { kind: 'refused', reason: 'hello_encrypted' }
    if (type === SERVER_NAME) {
      name = readServerName(body.subarray(at, at + length))
      if (name === undefined) return MALFORMED
    }
    at += length
  }
  if (name === undefined) return { kind: 'refused', reason: 'hello_without_name' }
  return { kind: 'read', name, hasEarlyData: seen.has(EARLY_DATA), end }
}

/** A list of one. */
function readServerName(list: Uint8Array): string | undefined {
  const length = word(list, 3)
  if (list.length < 5 || word(list, 0) !== list.length - 2 || list[2] !== HOST_NAME) return undefined
  if (length !== list.length - 5) return undefined
  return normalHostName(String.fromCharCode(...list.subarray(5)))
}
