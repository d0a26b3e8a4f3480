/**
 * Other ways to read a text that was written so that only some readers see its words: letters apart, digits and signs
 * for letters, rotated by 13, backwards. Each fills `view` from `codes`, is never longer than it, and takes a bounded
 * number of steps for each code.
 * @module
 */
import {
  findWord,
  HASH_PRIME,
  HASH_SEED,
  isBeginning,
  leetLetter,
  TOKEN_CODES,
  type Vocabulary,
} from './vocabulary.ts'

const SPACE = 0x20
/** As long as the words that are looked for in letters without spaces. */
const JOINED_MAX = 16

function isToken(code: number): boolean {
  return code < 128 ? (TOKEN_CODES[code] ?? 0) !== 0 : true
}

/** Digits and signs as the letters that they look like; signs only beside letters and digits. */
export function readLeet(view: Uint16Array, codes: Uint16Array, length: number): number {
  for (let at = 0; at < length; at += 1) {
    const code = codes[at] ?? 0
    const next = codes[at + 1] ?? 0
    const before = at > 0 ? (codes[at - 1] ?? 0) : 0
    // Two of them are the letters of `all` and `follow`.
    if (code === 0x31 && (next === 0x31 || before === 0x31)) view[at] = 0x6c
    else view[at] = isToken(code) || isToken(next) || isToken(before) ? leetLetter(code) || code : code
  }
  view[length] = SPACE
  return length
}

/** Letters of ASCII moved by 13. */
export function readRot13(view: Uint16Array, codes: Uint16Array, length: number): number {
  for (let at = 0; at < length; at += 1) {
    const code = codes[at] ?? 0
    const small = code | SPACE
    view[at] = small < 0x61 || small > 0x7a ? code : small < 0x6e ? code + 13 : code - 13
  }
  view[length] = SPACE
  return length
}

/** The last code first. */
export function readReversed(view: Uint16Array, codes: Uint16Array, length: number): number {
  for (let at = 0; at < length; at += 1) view[at] = codes[length - 1 - at] ?? 0
  view[length] = SPACE
  return length
}

/** The longest known word that begins at `at`. @returns its length, 0 where there is none of three letters */
function longestWord(vocabulary: Vocabulary, letters: Uint16Array, at: number, end: number): number {
  let hash = HASH_SEED
  let longest = 0
  for (let index = at; index < end && index < at + JOINED_MAX; index += 1) {
    const code = letters[index] ?? 0
    hash = Math.imul(hash ^ (code < 128 ? (TOKEN_CODES[code] ?? 0) : code), HASH_PRIME)
    if (index < at + 2) continue
    if (!isBeginning(vocabulary, hash)) break
    if (findWord(vocabulary, hash) !== 0) longest = index + 1 - at
  }
  return longest
}

/**
 * Letters that stand apart, brought together: what parts them once parts letters, what is wider parts words. Where all
 * gaps are the same, known words are found in the row of letters. Only those rows are in the view, a line each.
 */
export function readSpaced(
  view: Uint16Array,
  row: Uint16Array,
  codes: Uint16Array,
  length: number,
  vocabulary: Vocabulary,
): number {
  let filled = 0
  let letters = 0
  let usual = 0
  let last = -1
  const end = (): void => {
    if (letters >= 5)
      for (let at = 0; at < letters && filled + 1 < view.length - 1; ) {
        if (row[at] === SPACE) {
          view[filled] = SPACE
          filled += 1
          at += 1
          continue
        }
        const size = longestWord(vocabulary, row, at, letters)
        if (size > 0 && filled > 0 && view[filled - 1] !== SPACE && filled + size + 2 < view.length) {
          view[filled] = SPACE
          filled += 1
        }
        const until = at + Math.max(1, size)
        for (; at < until && filled < view.length - 2; at += 1, filled += 1) view[filled] = row[at] ?? 0
        if (size > 0) {
          view[filled] = SPACE
          filled += 1
        }
      }
    letters = 0
    usual = 0
  }
  for (let at = 0; at < length; at += 1) {
    if (!isToken(codes[at] ?? 0)) continue
    const alone = (at === 0 || !isToken(codes[at - 1] ?? 0)) && !isToken(codes[at + 1] ?? 0)
    if (!alone) {
      end()
      last = -1
      continue
    }
    const gap = last < 0 ? 0 : at - last - 1
    if (gap > 4) end()
    else if (letters > 0) {
      if (usual === 0) usual = gap
      if (gap > usual) {
        row[letters] = SPACE
        letters += 1
      }
    }
    row[letters] = codes[at] ?? 0
    letters += 1
    last = at
  }
  end()
  view[filled] = SPACE
  return filled
}
