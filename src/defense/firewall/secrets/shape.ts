/**
 * Shapes of secrets, as data: what a token of one vendor looks like, in a language so small that matching it is linear
 * by construction. A shape is a row of parts, each taken once and never given back:
 *
 *     ghp_                 these letters
 *     [A]{36}              so many characters of a class; {20,64} from so many to so many, as many as there are
 *     (live|test)          one of these words, the first that fits
 *     (live|test)?         or none of them
 *
 * A part in brackets names a class of the table below. What follows the last part must not be of its class: a longer
 * word is another word.
 * Refuses: an unknown class, a number out of bounds, more parts than a shape may have.
 * Rules: docs/firewall.md, "Secrets".
 * @module
 */
import { SHAPE_PARTS, SHAPE_RUN_BYTES } from '../limits.ts'

/** Membership by byte: 1 where it belongs. */
export type ByteClass = Uint8Array

export type Part =
  | { readonly kind: 'word'; readonly words: readonly Uint8Array[]; readonly isOptional: boolean }
  | { readonly kind: 'run'; readonly of: ByteClass; readonly least: number; readonly most: number }

export type Shape = {
  readonly parts: readonly Part[]
  /** What may not follow. */
  readonly last: ByteClass
}

/** `MORE`: the bytes end before it is known; `NO`: they are not of that shape. Otherwise where the match ends. */
export const NO = -1
export const MORE = -2

const BYTES = 256

/** `a-z` is a range, anything else itself; a hyphen last. */
export function byteClass(members: string): ByteClass {
  const table = new Uint8Array(BYTES)
  for (let at = 0; at < members.length; at++) {
    const first = members.charCodeAt(at)
    const isRange = members[at + 1] === '-' && at + 2 < members.length
    const last = isRange ? members.charCodeAt(at + 2) : first
    for (let byte = first; byte <= last; byte++) table[byte] = 1
    if (isRange) at += 2
  }
  return table
}

/** Where a run of that class from `at` ends, of at most so many bytes. */
export function run(bytes: Uint8Array, at: number, end: number, of: ByteClass, most: number): number {
  const limit = Math.min(end, at + most)
  let next = at
  while (next < limit && of[bytes[next] ?? 0] === 1) next++
  return next
}

/** Whether bytes that are yet to come could make a run longer that ends at `stop`. */
export function isOpen(stop: number, end: number, limit: number, isLast: boolean): boolean {
  return stop === end && stop < limit && !isLast
}

/** One letter each; the alphabets that vendors draw from. */
const CLASSES: Readonly<Record<string, ByteClass>> = {
  d: byteClass('0-9'),
  x: byteClass('0-9a-f'),
  X: byteClass('0-9a-fA-F'),
  U: byteClass('0-9A-F'),
  l: byteClass('a-z'),
  L: byteClass('A-Z'),
  a: byteClass('0-9a-z'),
  C: byteClass('0-9A-Z'),
  A: byteClass('0-9a-zA-Z'),
  w: byteClass('0-9a-z_-'),
  W: byteClass('0-9a-zA-Z_-'),
  // Base64 without and with its padding, and what some put in between.
  b: byteClass('0-9a-zA-Z+/'),
  B: byteClass('0-9a-zA-Z+/='),
  e: byteClass('0-9a-zA-Z_=-'),
  p: byteClass('0-9a-zA-Z_.=-'),
  q: byteClass('0-9a-zA-Z_.~+/=-'),
  u: byteClass('0-9a-fA-F-'),
  // Bech32, without case.
  k: byteClass('qpzry9x8gf2tvdw0s3jn54khce6mua7lQPZRY9X8GF2TVDW0S3JN54KHCE6MUA7L'),
  h: byteClass('0-9a-zA-Z.-'),
  s: byteClass(' \t'),
  g: byteClass('!-~'),
}

const PART = /^(?:\[(\w)\]\{(\d{1,4})(?:,(\d{1,4}))?\}|\(([^()]+)\)(\?)?|([^[\](){}|?]))/

function bytesOf(text: string): Uint8Array {
  return Uint8Array.from(text, (letter) => letter.charCodeAt(0))
}

/** @returns a clause that says what is wrong, where the text is no shape */
export function parseShape(text: string): Shape | string {
  const parts: Part[] = []
  let letters = ''
  const flush = (): void => {
    if (letters === '') return
    parts.push({ kind: 'word', words: [bytesOf(letters)], isOptional: false })
    letters = ''
  }
  for (let rest = text; rest !== ''; ) {
    const [taken, name, least, most, words, optional, letter] = PART.exec(rest) ?? []
    if (taken === undefined) return `it cannot be read at ${JSON.stringify(rest.slice(0, 20))}`
    rest = rest.slice(taken.length)
    if (letter !== undefined) {
      letters += letter
      continue
    }
    flush()
    if (words !== undefined) {
      const sorted = words.split('|').map(bytesOf)
      parts.push({ kind: 'word', words: sorted, isOptional: optional !== undefined })
      continue
    }
    const of = CLASSES[name ?? '']
    if (of === undefined) return `it has no class ${name}`
    const [from, to] = [Number(least), Number(most ?? least)]
    if (to < from || to > SHAPE_RUN_BYTES || to === 0) return `it counts from ${from} to ${to}`
    parts.push({ kind: 'run', of, least: from, most: to })
  }
  flush()
  const last = parts.at(-1)
  if (last === undefined || parts.length > SHAPE_PARTS) return 'it has no part, or too many'
  return { parts, last: last.kind === 'run' ? last.of : (CLASSES['A'] ?? new Uint8Array(BYTES)) }
}

function startsWith(bytes: Uint8Array, at: number, end: number, word: Uint8Array): boolean | undefined {
  for (let index = 0; index < word.length; index++) {
    if (at + index >= end) return undefined
    if (bytes[at + index] !== word[index]) return false
  }
  return true
}

/** Where one of the words ends that begins at `at`, `NO`, or `MORE`. */
function takeWord(bytes: Uint8Array, at: number, end: number, words: readonly Uint8Array[]): number {
  for (const word of words) {
    const fits = startsWith(bytes, at, end, word)
    if (fits === undefined) return MORE
    if (fits) return at + word.length
  }
  return NO
}

/**
 * Where the text at `at` ends that has this shape, `NO`, or `MORE` where `end` comes first and `isLast` does not say that
 * nothing follows. The work is at most the length of the longest text of that shape.
 */
export function matchShape(
  shape: Shape,
  bytes: Uint8Array,
  at: number,
  end: number,
  isLast: boolean,
): number {
  let next = at
  for (const part of shape.parts) {
    if (part.kind === 'word') {
      const taken = takeWord(bytes, next, end, part.words)
      if (taken === MORE) {
        if (!isLast) return MORE
        if (!part.isOptional) return NO
      } else if (taken === NO) {
        if (!part.isOptional) return NO
      } else next = taken
      continue
    }
    const most = Math.min(end, next + part.most)
    let run = next
    while (run < most && part.of[bytes[run] ?? 0] === 1) run++
    if (run === end && run < next + part.most && !isLast) return MORE
    if (run - next < part.least) return NO
    next = run
  }
  if (next === end) return isLast ? next : MORE
  return shape.last[bytes[next] ?? 0] === 1 ? NO : next
}

export const WORD: Uint8Array = byteClass('0-9a-zA-Z_-')
const HYPHEN = 0x2d
const OPTION_BYTES = 40

/** Whether the word that `at` is in begins with two hyphens. */
export function isOptionAt(bytes: Uint8Array, at: number): boolean {
  const start = runStart(bytes, at, WORD, OPTION_BYTES)
  return bytes[start] === HYPHEN && bytes[start + 1] === HYPHEN
}

/** Where the run of that class begins that ends at `end`, or so many bytes before. */
export function runStart(bytes: Uint8Array, end: number, of: Uint8Array, most: number): number {
  const least = Math.max(0, end - most)
  let start = end
  while (start > least && of[bytes[start - 1] ?? 0] === 1) start--
  return start
}
