/**
 * The line that is pasted to enrol a client: where the device is, which key it shows, who is invited, and the token.
 *
 *     sass1:<base64url of CBOR [name of the device, [address, ...], SHA-256 of its key, agent, token, expires] and sum>
 *
 * The sum is the first four bytes of a SHA-256, so that a line that was cut or mistyped is told from one that is not
 * taken. White space is left out wherever it is: lines break on their way. Whoever has the line has the invitation.
 * Rules: docs/protocol.md, section 4.
 * @module
 */

import { equalConstantTime, sha256 } from '../base/crypto/hash.ts'
import { decodeBase64Url, encodeBase64Url } from '../base/encoding/base64.ts'
import { openCbor } from '../base/encoding/cbor.ts'
import { encodeSigned } from '../base/encoding/cbor-signed.ts'
import { encodeUtf8 } from '../base/encoding/utf8.ts'
import { isName } from '../base/text/name.ts'
import { ENROLMENT_ADDRESSES, ENROLMENT_LINE_CHARS, ENROLMENT_TOKEN_BYTES } from '../limits.ts'

const PREFIX = 'sass1:'
const SUM_BYTES = 4
const CONTEXT = encodeUtf8('SASS-ENROLMENT-1')
/** A host name and its port. */
const ADDRESS_CHARS = 262

export type EnrolmentLine = {
  /** What the device calls itself: the name that is proposed for it. */
  readonly device: string
  /** `HOST:PORT`, the first to be tried first. */
  readonly addresses: readonly string[]
  /** SHA-256 of the SubjectPublicKeyInfo of the device. */
  readonly keyDigest: Uint8Array
  readonly agent: string
  readonly token: Uint8Array
  /** Unix seconds, by the clock of the device. */
  readonly expiresAt: number
}
export type ReadLine =
  | { readonly ok: true; readonly line: EnrolmentLine }
  /** `foreign`: no such line at all. `damaged`: cut or mistyped. */
  | { readonly ok: false; readonly problem: 'foreign' | 'damaged' }

const sumOf = (body: Uint8Array): Uint8Array => sha256(CONTEXT, body).subarray(0, SUM_BYTES)

export function writeEnrolmentLine(line: EnrolmentLine): string {
  const { device, addresses, keyDigest, agent, token, expiresAt } = line
  const body = encodeSigned([
    device,
    addresses.slice(0, ENROLMENT_ADDRESSES),
    keyDigest,
    agent,
    token,
    expiresAt,
  ])
  const whole = new Uint8Array(body.length + SUM_BYTES)
  whole.set(body)
  whole.set(sumOf(body), body.length)
  return PREFIX + encodeBase64Url(whole)
}

const isAddress = (value: unknown): value is string =>
  typeof value === 'string' && value.length > 0 && value.length <= ADDRESS_CHARS

/** Six fields of their kinds, in that order. */
function fieldsOf(value: unknown): EnrolmentLine | undefined {
  if (!Array.isArray(value) || value.length !== 6) return undefined
  const [device, addresses, keyDigest, agent, token, expiresAt] = value as readonly unknown[]
  if (typeof device !== 'string' || !isName(device) || typeof agent !== 'string' || !isName(agent))
    return undefined
  if (!Array.isArray(addresses) || addresses.length === 0 || addresses.length > ENROLMENT_ADDRESSES)
    return undefined
  if (!addresses.every(isAddress) || typeof expiresAt !== 'number') return undefined
  if (!(keyDigest instanceof Uint8Array) || keyDigest.length !== 32) return undefined
  if (!(token instanceof Uint8Array) || token.length !== ENROLMENT_TOKEN_BYTES) return undefined
  return { device, addresses, keyDigest: keyDigest.slice(), agent, token: token.slice(), expiresAt }
}

/** Reads what was pasted, however it was broken into lines. */
export function readEnrolmentLine(pasted: string): ReadLine {
  if (pasted.length > 2 * ENROLMENT_LINE_CHARS) return { ok: false, problem: 'foreign' }
  const text = pasted.replace(/\s+/g, '')
  if (!text.startsWith(PREFIX)) return { ok: false, problem: 'foreign' }
  const whole = decodeBase64Url(text.slice(PREFIX.length), ENROLMENT_LINE_CHARS)
  if (whole === undefined || whole.length <= SUM_BYTES) return { ok: false, problem: 'damaged' }
  const body = whole.subarray(0, -SUM_BYTES)
  if (!equalConstantTime(sumOf(body), whole.subarray(-SUM_BYTES))) return { ok: false, problem: 'damaged' }
  const opened = openCbor(body, { depth: 2, items: 16 })
  const line = opened.ok ? fieldsOf(opened.value) : undefined
  return line === undefined ? { ok: false, problem: 'damaged' } : { ok: true, line }
}
