/**
 * Whether a chain is whole: every line against the one before it and the key of its epoch, from the genesis key on.
 * One line in, at most one finding out, then the report; nothing is kept but the last hash, the key and the few records
 * that a signature is still to stand for, so that a chain may be longer than memory. Pure: hash and signature come from
 * outside.
 *
 * A line must be exactly what the journal writes: whatever is changed in it, and be it the case of a letter, shows.
 * Rules: docs/responses.md, section 7; draft 10.3 and C.4.
 * @module
 */
import { decodeBase64Url } from '../base/encoding/base64.ts'
import { decodeHex, encodeHex } from '../base/encoding/hex.ts'
import { encodeUtf8 } from '../base/encoding/utf8.ts'
import { AUDIT_LINE_BYTES, KEY_FILE_BYTES, UNSIGNED_RECORDS } from '../limits.ts'
import type { AuditEvent } from '../ports.ts'
import {
  END_PART,
  EPOCH,
  EVENT_PART,
  GENESIS,
  HASH_CHARS,
  HASH_PART,
  type Hash,
  SEAL_PART,
  standsAlone,
  TIME_PART,
} from './chain.ts'

export type VerifySignature = (publicKey: Uint8Array, message: Uint8Array, signature: Uint8Array) => boolean

/** A place in the chain that somebody outside has kept: a client, an anchor. */
export type KnownHead = { readonly sequence: number; readonly hash: Uint8Array; readonly from: string }

export type Finding = {
  /** The number that the record at fault has or should have. */
  readonly sequence: number
  /** One sentence. */
  readonly why: string
}

/** Where a chain begins whose first records are gone: what a signed summary says of them. */
export type Beginning = {
  readonly sequence: number
  readonly hash: Uint8Array
  readonly epoch: number
  readonly publicKey: Uint8Array
}

export type Report = {
  /** Number of the last record that is whole and that a signature stands for, 0 without any. */
  readonly sequence: number
  readonly hash: Uint8Array
  readonly records: number
  readonly epoch: number
  /** The key that signs what follows. */
  readonly publicKey: Uint8Array | undefined
  /** The key of the first epoch; undefined where no record was seen. */
  readonly genesis: Uint8Array | undefined
  readonly firstTime: string
  readonly lastTime: string
  /** What follows has no signature or no end yet: it is being written, or a crash cut it off. */
  readonly unfinished: boolean
}

export type Verifier = {
  /** One line without its newline. After a finding nothing more may be given. */
  push(line: string): Finding | undefined
  /** What follows the last newline; empty for most chains. */
  end(rest: string): Finding | Report
}

export type VerifierOptions = {
  readonly hash: Hash
  readonly verifySignature: VerifySignature
  /** Whether it is the key that the operator pinned; undefined: whatever key the chain begins with. */
  readonly isGenesis?: ((publicKey: Uint8Array) => boolean) | undefined
  readonly beginning?: Beginning | undefined
  readonly heads?: readonly KnownHead[]
  /** Hears of every record that is as it should be, once a signature stands for it. */
  readonly onRecord?: ((event: Readonly<Record<string, unknown>>) => void) | undefined
}

export const isFinding = (value: Finding | Report): value is Finding => 'why' in value

const TIME_CHARS = 24
const SIGNATURE = `"${SEAL_PART}`
const SIGNATURE_CHARS = 128
const UNSIGNED_END = `${SIGNATURE}${END_PART}`
const TAIL_CHARS = HASH_PART.length + HASH_CHARS + UNSIGNED_END.length
const EVENT_AT = TIME_PART.length + TIME_CHARS + EVENT_PART.length
const TIME = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/
const LOWER_HEX = /^[0-9a-f]+$/

type Line = {
  readonly time: string
  readonly json: string
  readonly hashHex: string
  /** Empty: that of a later record stands for it. */
  readonly signatureHex: string
}

/** The parts of a line by their places; undefined where one of the fixed ones is not there. */
function cut(line: string): Line | undefined {
  const signatureChars = line.endsWith(UNSIGNED_END) ? 0 : SIGNATURE_CHARS
  const eventEnd = line.length - TAIL_CHARS - signatureChars
  if (eventEnd <= EVENT_AT || line.length > AUDIT_LINE_BYTES) return undefined
  const hashAt = eventEnd + HASH_PART.length
  const signatureAt = hashAt + HASH_CHARS + SIGNATURE.length
  const time = line.slice(TIME_PART.length, TIME_PART.length + TIME_CHARS)
  const hashHex = line.slice(hashAt, hashAt + HASH_CHARS)
  const signatureHex = line.slice(signatureAt, signatureAt + signatureChars)
  const isWhole =
    line.startsWith(TIME_PART) &&
    line.startsWith(EVENT_PART, TIME_PART.length + TIME_CHARS) &&
    line.startsWith(HASH_PART, eventEnd) &&
    line.startsWith(SIGNATURE, hashAt + HASH_CHARS) &&
    line.endsWith(END_PART) &&
    TIME.test(time) &&
    LOWER_HEX.test(hashHex) &&
    (signatureHex === '' || LOWER_HEX.test(signatureHex))
  return isWhole ? { time, json: line.slice(EVENT_AT, eventEnd), hashHex, signatureHex } : undefined
}

type Event = { readonly type?: unknown; readonly seq?: unknown } & Readonly<Record<string, unknown>>

function eventOf(json: string): Event | undefined {
  try {
    const event: unknown = JSON.parse(json)
    return typeof event === 'object' && event !== null && !Array.isArray(event) ? (event as Event) : undefined
  } catch {
    return undefined
  }
}

/** The key that an epoch's record brings in; undefined for any other record. */
function newKey(event: Event): { readonly epoch: number; readonly publicKey: Uint8Array } | undefined {
  const { epoch, public_key: text } = event
  const publicKey = typeof text === 'string' ? decodeBase64Url(text, KEY_FILE_BYTES) : undefined
  if (typeof epoch !== 'number' || publicKey?.length !== 32) return undefined
  return { epoch, publicKey }
}

export function createVerifier(options: VerifierOptions): Verifier {
  const { hash: digest, verifySignature, beginning } = options
  const heads = new Map<number, KnownHead[]>()
  for (const head of options.heads ?? [])
    heads.set(head.sequence, [...(heads.get(head.sequence) ?? []), head])
  let previous = beginning === undefined ? GENESIS : encodeHex(beginning.hash)
  let sequence = beginning?.sequence ?? 0
  let epoch = beginning?.epoch ?? -1
  let publicKey = beginning?.publicKey
  let genesis: Uint8Array | undefined
  let records = 0
  let [firstTime, lastTime] = ['', '']
  /** The last record that a signature stands for. */
  let signed = { sequence, previous }
  /** Records since then. */
  let carried: { readonly event: Event; readonly time: string }[] = []

  const found = (why: string): Finding => ({ sequence: sequence + 1, why })

  /** The key that signs this record, and the one that signs what follows it. */
  function keysFor(event: Event): { by: Uint8Array; next: Uint8Array; epoch: number } | string {
    if (event.type !== EPOCH) {
      if (publicKey === undefined) return 'The chain does not begin with the record of its first key.'
      return { by: publicKey, next: publicKey, epoch }
    }
    const key = newKey(event)
    if (key === undefined || key.epoch !== epoch + 1)
      return 'It brings in a key that is not that of the next epoch.'
    if (publicKey !== undefined) return { by: publicKey, next: key.publicKey, epoch: key.epoch }
    if (options.isGenesis?.(key.publicKey) === false)
      return 'The chain begins with another key than the one that was pinned: it is the chain of another device, or was begun anew.'
    return { by: key.publicKey, next: key.publicKey, epoch: key.epoch }
  }

  /** Undefined where all that was kept of this record outside agrees. */
  function contradiction(hashHex: string): string | undefined {
    const other = heads.get(sequence + 1)?.find((head) => encodeHex(head.hash) !== hashHex)
    return other === undefined
      ? undefined
      : `It is another record than the one that ${other.from} has kept: the chain was forked or written anew.`
  }

  return {
    push(line) {
      const parts = cut(line)
      if (parts === undefined) return found('It is not in the form of a record: it was changed, or cut.')
      const { time, json, hashHex, signatureHex } = parts
      const hash = digest(encodeUtf8(`${previous}${json}${time}`))
      if (encodeHex(hash) !== hashHex)
        return found(
          'Its hash does not follow from the record before it: one of the two was changed, dropped or moved.',
        )
      const event = eventOf(json)
      if (event?.seq !== sequence + 1) return found('It has another number than the one that follows.')
      const keys = keysFor(event)
      if (typeof keys === 'string') return found(keys)
      const isSigned = signatureHex !== ''
      if (!isSigned && (standsAlone(event as AuditEvent) || carried.length === UNSIGNED_RECORDS))
        return found('It has no signature, and must have one of its own.')
      if (isSigned && !verifySignature(keys.by, hash, decodeHex(signatureHex) ?? new Uint8Array()))
        return found(`It was not signed with the key of epoch ${Math.max(epoch, 0)}.`)
      const other = contradiction(hashHex)
      if (other !== undefined) return found(other)
      genesis ??= keys.by
      publicKey = keys.next
      epoch = keys.epoch
      previous = hashHex
      sequence++
      carried.push({ event, time })
      if (!isSigned) return undefined
      signed = { sequence, previous }
      records += carried.length
      if (firstTime === '') firstTime = carried[0]?.time ?? ''
      lastTime = time
      const those = carried
      carried = []
      for (const one of those) options.onRecord?.(one.event)
      return undefined
    },

    end(rest) {
      const missing = [...heads.values()].flat().find((head) => head.sequence > sequence)
      if (missing !== undefined) {
        const why = `The chain ends before record ${missing.sequence}, which ${missing.from} has kept: its end was cut off.`
        return { sequence: sequence + 1, why }
      }
      if (rest !== '' && !isBegun(rest, previous, digest))
        return found('It is not the beginning of a record: it was changed, or does not belong here.')
      const hash = decodeHex(signed.previous) ?? new Uint8Array(32)
      return {
        sequence: signed.sequence,
        hash,
        records,
        epoch,
        publicKey,
        genesis,
        firstTime,
        lastTime,
        unfinished: rest !== '' || carried.length > 0,
      }
    },
  }
}

/**
 * Whether a text is a line that was not written to its end: what is there of its fixed parts is right, and its hash
 * where that is whole. The rest of one that was torn before its hash stands for nothing: its action was never taken.
 */
function isBegun(rest: string, previous: string, digest: Hash): boolean {
  if (rest.length <= TIME_PART.length) return TIME_PART.startsWith(rest)
  if (!rest.startsWith(TIME_PART) || rest.length > AUDIT_LINE_BYTES) return false
  const eventEnd = rest.lastIndexOf(HASH_PART)
  const sealAt = eventEnd + HASH_PART.length + HASH_CHARS
  if (eventEnd < EVENT_AT || rest.length < sealAt) return true
  const time = rest.slice(TIME_PART.length, TIME_PART.length + TIME_CHARS)
  const hash = digest(encodeUtf8(`${previous}${rest.slice(EVENT_AT, eventEnd)}${time}`))
  if (rest.slice(eventEnd + HASH_PART.length, sealAt) !== encodeHex(hash)) return false
  const seal = rest.slice(sealAt)
  const signature = seal.slice(SIGNATURE.length, SIGNATURE.length + SIGNATURE_CHARS)
  const end = seal.slice(SIGNATURE.length + SIGNATURE_CHARS)
  return (
    SIGNATURE.startsWith(seal.slice(0, SIGNATURE.length)) &&
    (END_PART.startsWith(signature) || (LOWER_HEX.test(signature) && END_PART.startsWith(end)))
  )
}
