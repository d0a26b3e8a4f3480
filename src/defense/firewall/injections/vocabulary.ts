/**
 * The words that patterns are made of, and the text as a row of tokens: runs of letters and digits in small letters, and
 * pairs of neighbours where a script writes no spaces. A word of the data base may ask for what stands around it:
 * `^` first in its line, `#` behind a heading's sign, `<` behind `<` or `[`, `!` behind `<|`, `>` before a closing one, `:` before
 * a colon, capitals as they are written. Long words are also known by their consonants, so that a slip of the pen
 * in a word does not hide it.
 * @module
 */
import { foldWord } from './fold.ts'

export const COLON = 1
export const OPEN = 2
export const CLOSE = 4
export const LINE = 8
export const CAPITALS = 16
export const HEADING = 32
export const TOKEN = 64

export const HASH_SEED = 0x811c9dc5
export const HASH_PRIME = 0x01000193
/** From here on scripts write no spaces, or put endings to words: kana, ideographs, Hangul. */
export const IDEOGRAPHS_FROM = 0x2e80
/** Shorter words share their consonants with others. */
export const SKELETON_LETTERS_MIN = 8
export const SKELETON_CONSONANTS_MIN = 4

const SLOTS = 8_192
const LETTER_A = 0x61
const LETTER_Z = 0x7a

/** Small letters and digits of ASCII; 0 ends a token. */
export const TOKEN_CODES = Uint8Array.from({ length: 128 }, (_, code) => {
  if (code >= 0x41 && code <= 0x5a) return code + 0x20
  return (code >= LETTER_A && code <= LETTER_Z) || (code >= 0x30 && code <= 0x39) ? code : 0
})

const LEET = Uint8Array.from(TOKEN_CODES)
for (const pair of ['0o', '1i', '2z', '3e', '4a', '5s', '6g', '7t', '8b', '9g', '$s', '@a', '!i', '|l'])
  LEET[pair.charCodeAt(0)] = pair.charCodeAt(1)

/** The small letter that a digit or a sign is written for; letters are their small ones, and everything else is 0. */
export function leetLetter(code: number): number {
  return code < 128 ? (LEET[code] ?? 0) : 0
}

export interface Vocabulary {
  /** A bit for each hash of SLOTS * 8: most words of a text stop here. */
  readonly sieve: Uint8Array
  readonly hashes: Int32Array
  /** Numbers of words, from 1; 0 is an empty slot. */
  readonly words: Uint16Array
  /** A bit for each beginning of a word, from its third letter on: where letters stand without spaces. */
  readonly beginnings: Uint8Array
}

export function newVocabulary(): Vocabulary {
  return {
    sieve: new Uint8Array(SLOTS),
    hashes: new Int32Array(SLOTS),
    words: new Uint16Array(SLOTS),
    beginnings: new Uint8Array(SLOTS),
  }
}

/** The number of a word by its hash, 0 where there is none. */
export function findWord(vocabulary: Vocabulary, hash: number): number {
  const mixed = hash ^ (hash >>> 15)
  if (((vocabulary.sieve[(mixed >>> 3) & (SLOTS - 1)] ?? 0) & (1 << (mixed & 7))) === 0) return 0
  for (let slot = mixed & (SLOTS - 1); ; slot = (slot + 1) & (SLOTS - 1)) {
    const word = vocabulary.words[slot] ?? 0
    if (word === 0 || vocabulary.hashes[slot] === hash) return word
  }
}

/** Adds a hash unless it is there; at most half of the slots may be taken, which the bound on words sees to. */
export function addWord(vocabulary: Vocabulary, hash: number, word: number): void {
  if (findWord(vocabulary, hash) !== 0) return
  const mixed = hash ^ (hash >>> 15)
  const byte = (mixed >>> 3) & (SLOTS - 1)
  vocabulary.sieve[byte] = (vocabulary.sieve[byte] ?? 0) | (1 << (mixed & 7))
  let slot = mixed & (SLOTS - 1)
  while (vocabulary.words[slot] !== 0) slot = (slot + 1) & (SLOTS - 1)
  vocabulary.words[slot] = word
  vocabulary.hashes[slot] = hash
}

/** Whether some word begins with what has this hash; now and then one too many. */
export function isBeginning(vocabulary: Vocabulary, hash: number): boolean {
  const mixed = hash ^ (hash >>> 15)
  return ((vocabulary.beginnings[(mixed >>> 3) & (SLOTS - 1)] ?? 0) & (1 << (mixed & 7))) !== 0
}

/** Notes the beginnings of a word, in small letters, for `isBeginning`. */
export function addBeginnings(vocabulary: Vocabulary, text: string): void {
  let hash = HASH_SEED
  for (let at = 0; at < text.length; at += 1) {
    hash = Math.imul(hash ^ text.charCodeAt(at), HASH_PRIME)
    if (at < 2) continue
    const mixed = hash ^ (hash >>> 15)
    const byte = (mixed >>> 3) & (SLOTS - 1)
    vocabulary.beginnings[byte] = (vocabulary.beginnings[byte] ?? 0) | (1 << (mixed & 7))
  }
}

/** FNV-1a over the code units of a word, as tokens are hashed. */
export function hashText(text: string): number {
  let hash = HASH_SEED
  for (let at = 0; at < text.length; at += 1) hash = Math.imul(hash ^ text.charCodeAt(at), HASH_PRIME)
  return hash
}

/** The hash of the consonants of a token, each run of the same once; 0 where it has too few. */
export function skeletonOf(codes: Uint16Array, from: number, to: number): number {
  let hash = HASH_SEED ^ 0x5a5a
  let consonants = 0
  let last = 0
  for (let at = from; at < to; at += 1) {
    const code = codes[at] ?? 0
    const letter = code < 128 ? (TOKEN_CODES[code] ?? 0) : code
    if (letter < LETTER_A || letter === last) continue
    // a e i o u y
    if (letter <= LETTER_Z && ((0x1104111 >> (letter - LETTER_A)) & 1) === 1) continue
    hash = Math.imul(hash ^ letter, HASH_PRIME)
    consonants += 1
    last = letter
  }
  return consonants < SKELETON_CONSONANTS_MIN ? 0 : hash
}

export interface WrittenWord {
  /** Folded, in small letters. */
  readonly text: string
  readonly flags: number
}

/** A word of the data base without its signs; undefined: it is none. */
export function parseWord(fold: Uint16Array, written: string): WrittenWord | undefined {
  const match = /^([\^#<!]*)([^\s^#<>:|!]+)(>?)(:?)$/.exec(written)
  if (match === null) return undefined
  const [, before = '', core = '', close, colon] = match
  const text = foldWord(fold, core)
  if (
    /[\u2e80-\uffff]/.test(text)
      ? !/^[\u2e80-\uffff]{2}$/.test(text)
      : !/^[a-z0-9\u0080-\u2e7f]{1,24}$/.test(text)
  )
    return undefined
  const flags =
    (before.includes('^') ? LINE : 0) |
    (before.includes('#') ? HEADING : 0) |
    (before.includes('<') ? OPEN : 0) |
    (before.includes('!') ? TOKEN : 0) |
    (close === '>' ? CLOSE : 0) |
    (colon === ':' ? COLON : 0) |
    (/^[A-Z]{2,}$/.test(core) ? CAPITALS : 0)
  return { text, flags }
}

/** What stands around the token from `from` to `to`, as flags. Looks at no more than a few codes on both sides. */
export function flagsAround(codes: Uint16Array, from: number, to: number, length: number): number {
  let flags = 0
  let before = from - 1
  const nearest = from > 0 ? (codes[before] ?? 0) : 0x0a
  const beyond = from > 1 ? (codes[before - 1] ?? 0) : 0
  // < [ and </ [/
  if (nearest === 0x3c || nearest === 0x5b || (nearest === 0x2f && (beyond === 0x3c || beyond === 0x5b)))
    flags |= OPEN
  // <|
  if (beyond === 0x3c && nearest === 0x7c) flags |= TOKEN
  for (let steps = 0; steps < 8; steps += 1, before -= 1) {
    const code = before >= 0 ? (codes[before] ?? 0) : 0x0a
    if (code === 0x23) flags |= HEADING
    if (code === 0x0a || code === 0x0d) {
      flags |= LINE
      break
    }
    // Space, tab and the signs of lists, headings, quotes, comments and tags: # * + - / < > [ ( { | " ' _ = ! `
    if (code >= 0x80 || (TOKEN_CODES[code] ?? 0) !== 0 || code === 0x3a || code === 0x2c || code === 0x2e)
      break
  }
  for (let after = to, steps = 0; steps < 4 && after < length; steps += 1, after += 1) {
    const code = codes[after] ?? 0
    if (code === 0x3a) {
      flags |= COLON
      break
    }
    // > ] ) } |
    if (code === 0x3e || code === 0x5d || code === 0x29 || code === 0x7d || code === 0x7c) flags |= CLOSE
    else if (code !== 0x2a && code !== 0x5f && code !== 0x22) break
  }
  const first = codes[from] ?? 0
  const last = codes[to - 1] ?? 0
  if (to - from > 1 && first >= 0x41 && first <= 0x5a && last >= 0x41 && last <= 0x5a) flags |= CAPITALS
  return flags
}
