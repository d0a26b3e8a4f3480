/**
 * The form of the audit chain: what a record is, how its hash follows from the one before, and how a line is read
 * back. Pure; the journal writes it and the signature comes from outside.
 *
 *     {timestamp, event, chain_hash, signature}        one JSON object a line
 *     chain_hash = SHA-256(previous chain_hash in hex || RFC 8785 JSON of event || timestamp)
 *
 * The signature of a record stands for all before it, which its hash follows from: so that of one that others follow at
 * once may be empty.
 *
 * Rules: docs/responses.md, section 7; draft 10.3 and C.4.
 * @module
 */
import { canonicalize } from '../base/encoding/canonical-json.ts'
import { decodeHex, encodeHex } from '../base/encoding/hex.ts'
import { parseStrictJson } from '../base/encoding/strict-json.ts'
import { encodeUtf8 } from '../base/encoding/utf8.ts'
import { AUDIT_LINE_BYTES } from '../limits.ts'
import type { AuditEvent } from '../ports.ts'

/** What stands in the place of the hash before the first record. */
export const GENESIS = 'SASS_GENESIS_BLOCK'

/** The type of the records that bring in keys: the first of the chain, and the last of each epoch. */
export const EPOCH = 'epoch'

/** The type of the record that sums up what was dropped. */
export const DROPPED = 'dropped'

/** Whether a record is looked at or kept without those that follow: then its signature is its own. */
export function standsAlone(event: AuditEvent): boolean {
  return event.type === EPOCH || event.type === DROPPED || policyNamed(event) !== undefined
}

/** The name under which the policy is kept that holds from this record on; undefined for a record of anything else. */
export function policyNamed({ type, frozen }: AuditEvent): string | undefined {
  return type === 'daemon' && typeof frozen === 'string' ? frozen : undefined
}

export type ChainRecord = {
  /** RFC 3339, UTC, milliseconds, `Z`. */
  readonly timestamp: string
  readonly event: AuditEvent
  /** 32 bytes. */
  readonly hash: Uint8Array
  /** Ed25519 over the hash, 64 bytes; undefined: that of a later record stands for it. */
  readonly signature: Uint8Array | undefined
}

// The parts of a line that are always the same, in their order: recordHead writes the first three, recordSeal the rest.
export const TIME_PART = '{"timestamp":"'
export const EVENT_PART = '","event":'
export const HASH_PART = ',"chain_hash":"'
export const SEAL_PART = ',"signature":"'
export const END_PART = '"}'

/** The number of a record; undefined for anything else. */
export function sequenceOf(record: Pick<ChainRecord, 'event'> | undefined): number | undefined {
  const sequence = record?.event['seq']
  return Number.isSafeInteger(sequence) ? (sequence as number) : undefined
}

/** A hash in hex. */
export const HASH_CHARS = 64

export type Hash = (bytes: Uint8Array) => Uint8Array

/** The hash of a record that follows `previous` (64 hex characters, or GENESIS), and the canonical event in it. */
export function chainHash(
  previous: string,
  event: AuditEvent,
  timestamp: string,
  hash: Hash,
): { hash: Uint8Array; json: string } {
  const json = canonicalize(event)
  return { hash: hash(encodeUtf8(`${previous}${json}${timestamp}`)), json }
}

/**
 * The record without its signature: all that happened, and its place in the chain. It is written before the action;
 * the rest of its line follows.
 */
export function recordHead(json: string, timestamp: string, hash: Uint8Array): string {
  return `${TIME_PART}${timestamp}${EVENT_PART}${json}${HASH_PART}${encodeHex(hash)}"`
}

/** What ends the line, newline included. `signature` undefined: that of a later record will stand for it. */
export function recordSeal(signature: Uint8Array | undefined): string {
  return `${SEAL_PART}${signature === undefined ? '' : encodeHex(signature)}${END_PART}\n`
}

/** Whether a line has a signature of its own. */
export const isSealed = (line: string): boolean => !line.endsWith(`${SEAL_PART}${END_PART}`)

/** The hash that a line names for itself, hex, without reading the rest of it. */
export function hashIn(line: string): string {
  const at = line.lastIndexOf(HASH_PART) + HASH_PART.length
  return line.slice(at, at + HASH_CHARS)
}

export type Unsealed = {
  readonly event: AuditEvent
  readonly hash: Uint8Array
  /** Characters of the head; what follows them is a part of a seal. */
  readonly headLength: number
}

/**
 * The record in a line that ends somewhere in its seal, when it follows `previous` truly; undefined for one that was
 * torn earlier: its action was never taken.
 */
export function readUnsealed(line: string, previous: string, hash: Hash): Unsealed | undefined {
  const headLength = line.lastIndexOf(HASH_PART) + HASH_PART.length + HASH_CHARS + 1
  if (headLength > line.length) return undefined
  const record = readRecord(`${line.slice(0, headLength)}${recordSeal(undefined).trimEnd()}`)
  if (record === undefined) return undefined
  const expected = chainHash(previous, record.event, record.timestamp, hash).hash
  return encodeHex(expected) === encodeHex(record.hash)
    ? { event: record.event, hash: record.hash, headLength }
    : undefined
}

/** The record in a line without its newline, or undefined for anything that is none. */
export function readRecord(line: string): ChainRecord | undefined {
  const parsed = parseStrictJson(line, { size: AUDIT_LINE_BYTES, depth: 16, items: 1_024 })
  if (!parsed.ok || typeof parsed.value !== 'object' || parsed.value === null || Array.isArray(parsed.value))
    return undefined
  const { timestamp, event, chain_hash, signature } = parsed.value as Readonly<Record<string, unknown>>
  if (typeof timestamp !== 'string' || typeof chain_hash !== 'string' || typeof signature !== 'string')
    return undefined
  if (typeof event !== 'object' || event === null || Array.isArray(event)) return undefined
  const hashBytes = decodeHex(chain_hash)
  const signatureBytes = decodeHex(signature)
  if (hashBytes?.length !== 32 || (signatureBytes?.length !== 64 && signature !== '')) return undefined
  const own = signature === '' ? undefined : signatureBytes
  return { timestamp, event: event as AuditEvent, hash: hashBytes, signature: own }
}
