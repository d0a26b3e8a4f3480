/**
 * Secrets that the device knows: the values themselves, and how they look in the encodings that programs print. Found
 * whatever stands around them.
 * In Base64 a value looks one of three ways, by where it stands in its groups of three bytes; its first and its last
 * letters then depend on its neighbours and are left out. Base64 and hexadecimal are also found where lines are cut,
 * but for the letters before a cut within the first eight. In addresses and in JSON programs escape more or less: what is
 * there is decoded and compared, whatever was escaped, and only how it begins is known for each way.
 * Not found: what a program has compressed, encrypted or turned around.
 * Rules: docs/firewall.md, "Known secrets"; RFC 4648; RFC 3986 section 2.1; RFC 8259.
 * @module
 */
import { encodeBase64 } from '../../../base/encoding/base64.ts'
import { encodeHex } from '../../../base/encoding/hex.ts'
import { decodeUtf8, encodeUtf8 } from '../../../base/encoding/utf8.ts'
import { KNOWN_KEY_BYTES, KNOWN_LEAST_BYTES, KNOWN_MOST_BYTES, KNOWN_SECRETS } from '../limits.ts'
import { MORE, NO } from './shape.ts'
import { keyWordsOf, type Spelling, spelledOtherwise, stepSpelled } from './spellings.ts'
import { milliBits } from './value.ts'

/** A value that the device knows; a canary is there for nothing but to be found where it should not be (JF-044). */
export type KnownValue = { readonly kind: 'known-secret' | 'canary'; readonly bytes: Uint8Array }

/** One way in which a known secret is written. */
export type Literal = {
  readonly kind: KnownValue['kind']
  readonly bytes: Uint8Array
  /** Line ends may be anywhere in it. */
  readonly isWrapped: boolean
  /** Of hexadecimal: its letters may be large. */
  readonly isFolded: boolean
  /** The bytes are what it says once it is decoded; its key words are those of each way to begin it. */
  readonly spelled: Spelling | undefined
}

/** A key word of a literal, and where in it that stands. */
export type LiteralKey = { readonly word: string; readonly at: number; readonly literal: Literal }

const [LF, CR] = [0x0a, 0x0d]
const [UPPER_A, TO_LOWER] = [0x41, 0x20]
/** What is less random than a word is in every text. */
const LEAST_MILLIBITS = 1_500

function base64Forms(value: Uint8Array): string[] {
  const forms: string[] = []
  for (let shift = 0; shift < 3; shift++) {
    const shifted = new Uint8Array(shift + value.length)
    shifted.set(value, shift)
    const text = encodeBase64(shifted).replaceAll('=', '')
    // The bits of the neighbours: of `shift` bytes before it, and of what follows.
    const before = shift === 0 ? 0 : shift + 1
    const isWhole = (shift + value.length) % 3 === 0
    const form = text.slice(before, isWhole ? undefined : -1)
    forms.push(form)
    const url = form.replaceAll('+', '-').replaceAll('/', '_')
    if (url !== form) forms.push(url)
  }
  return forms
}

/** How the value looks, without doubles. */
export function literalsOf({ kind, bytes: value }: KnownValue): Literal[] {
  const written = new Map<string, Pick<Literal, 'isWrapped' | 'isFolded'>>()
  for (const form of base64Forms(value)) written.set(form, { isWrapped: true, isFolded: false })
  written.set(encodeHex(value), { isWrapped: true, isFolded: true })
  const text = decodeUtf8(value)
  if (text !== undefined)
    for (const form of [text, JSON.stringify(text).slice(1, -1)])
      if (!written.has(form)) written.set(form, { isWrapped: false, isFolded: false })
  const asWritten = [...written]
    .filter(([form]) => form.length >= KNOWN_LEAST_BYTES)
    .map(([form, how]) => ({ kind, bytes: encodeUtf8(form), ...how, spelled: undefined }))
  if (text === undefined) return asWritten
  const spelled = spelledOtherwise(text).map((one) => {
    return { kind, bytes: value, isWrapped: false, isFolded: false, spelled: one }
  })
  return [...asWritten, ...spelled]
}

/** Whether a value is long and random enough to be told from text. */
export function isTelling(value: Uint8Array): boolean {
  if (value.length < KNOWN_LEAST_BYTES || value.length > KNOWN_MOST_BYTES) return false
  return milliBits(value, 0, value.length) >= LEAST_MILLIBITS
}

function keyAt(literal: Literal, at: number): LiteralKey | undefined {
  const word = literal.bytes.subarray(at, at + KNOWN_KEY_BYTES)
  const isAscii = word.every((byte) => byte >= 0x20 && byte < 0x7f)
  if (word.length < KNOWN_KEY_BYTES || !isAscii) return undefined
  return { word: String.fromCharCode(...word), at, literal }
}

/** The first one; and a second one, for where a line ends within the first. */
function keysOf(literal: Literal): LiteralKey[] {
  if (literal.spelled !== undefined)
    return keyWordsOf(literal.bytes, literal.spelled).map((word) => ({ word, at: 0, literal }))
  for (let at = 0; at + KNOWN_KEY_BYTES <= literal.bytes.length; at++) {
    const key = keyAt(literal, at)
    if (key === undefined) continue
    const second = literal.isWrapped ? keyAt(literal, at + KNOWN_KEY_BYTES) : undefined
    return second === undefined ? [key] : [key, second]
  }
  return []
}

/** The key words of the values: of those that tell, and of no more than the bound. */
export function literalKeys(values: readonly KnownValue[]): LiteralKey[] {
  const telling = values.filter(({ bytes }) => isTelling(bytes)).slice(0, KNOWN_SECRETS)
  return telling.flatMap(literalsOf).flatMap(keysOf)
}

/** Past line ends, forward or backward, while there are bytes. */
function skipLines(bytes: Uint8Array, at: number, end: number, step: 1 | -1): number {
  let next = at
  while (next >= 0 && next < end && (bytes[next] === LF || bytes[next] === CR)) next += step
  return next
}

/** The literal as one of the spellings that begin with a key word at `start`: where it ends, `NO` or `MORE`. */
function matchSpelled(
  bytes: Uint8Array,
  start: number,
  end: number,
  isLast: boolean,
  wanted: Uint8Array,
  spelling: Spelling,
): number {
  const at = { text: start, value: 0 }
  while (at.value < wanted.length) {
    const read = stepSpelled(bytes, end, wanted, spelling, at)
    if (read === MORE) return isLast ? NO : MORE
    if (read === NO) return NO
  }
  return at.text
}

function isSame({ isFolded }: Literal, byte: number | undefined, wanted: number | undefined): boolean {
  return (
    byte === wanted || (isFolded && byte !== undefined && byte >= UPPER_A && (byte | TO_LOWER) === wanted)
  )
}

/**
 * The literal around a key word that begins at `start`: where it ends, `NO` or `MORE`. Where it begins is told by
 * `startOfLiteral`.
 */
export function matchLiteral(
  bytes: Uint8Array,
  start: number,
  end: number,
  isLast: boolean,
  { at, literal }: LiteralKey,
): number {
  const { bytes: wanted, isWrapped, spelled } = literal
  if (spelled !== undefined) return matchSpelled(bytes, start, end, isLast, wanted, spelled)
  let before = start
  for (let index = at - 1; index >= 0; index--) {
    before = isWrapped ? skipLines(bytes, before - 1, end, -1) : before - 1
    // What has gone on long ago is not here any more: the rest of it is hidden all the same.
    if (before < 0) break
    if (!isSame(literal, bytes[before], wanted[index])) return NO
  }
  let next = start
  for (let index = at; index < wanted.length; index++) {
    if (isWrapped) next = skipLines(bytes, next, end, 1)
    if (next >= end) return isLast ? NO : MORE
    if (!isSame(literal, bytes[next], wanted[index])) return NO
    next++
  }
  return next
}

/** Where the literal begins whose key word begins at `start`; behind the last line end, where lines may be cut. */
export function startOfLiteral(bytes: Uint8Array, start: number, { at, literal }: LiteralKey): number {
  if (!literal.isWrapped) return Math.max(0, start - at)
  let before = start
  while (before > 0 && start - before < at && bytes[before - 1] !== LF) before--
  return before
}
