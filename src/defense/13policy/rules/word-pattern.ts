/**
 * Patterns of words: the whole word, with case, `*` for any run of characters. A pattern is cut at its stars once, so
 * that a word is gone through once however many stars there are; no regular expression is built.
 * Rules: docs/policy.md, "Words".
 * @module
 */

/** Cut at its stars; a word without one is itself. */
export type WordPattern =
  | string
  | {
      readonly head: string
      readonly middle: readonly string[]
      readonly tail: string
      /** The longest piece of several in the middle, which a word that does not fit lacks most often; else empty. */
      readonly rarest: string
      /** The shortest word that can fit, in UTF-16 code units. */
      readonly least: number
    }

/** Several patterns of which one must fit; those without a star are looked up. */
export type WordList = {
  readonly literals: readonly string[] | ReadonlySet<string>
  readonly patterns: readonly WordPattern[]
}

/** From here on a look-up is cheaper than a comparison with each. */
const LITERALS_TO_COMPARE = 8

/** Shared, since most patterns have nothing between their ends. */
const NO_PIECES: readonly string[] = Object.freeze([])
const NO_PATTERNS: readonly WordPattern[] = Object.freeze([])

const ANY_WORD: WordPattern = Object.freeze({ head: '', middle: NO_PIECES, tail: '', rarest: '', least: 0 })

export function compileWord(pattern: string): WordPattern {
  if (pattern === '*') return ANY_WORD
  const pieces = pattern.split('*')
  const head = pieces[0] ?? ''
  if (pieces.length === 1) return pattern
  const tail = pieces[pieces.length - 1] ?? ''
  const middle = pieces.slice(1, -1).filter((piece) => piece !== '')
  const least = middle.reduce((sum, piece) => sum + piece.length, head.length + tail.length)
  const rarest =
    middle.length < 2 ? '' : middle.reduce((a, piece) => (piece.length > a.length ? piece : a), '')
  return { head, middle: middle.length === 0 ? NO_PIECES : middle.slice(), tail, rarest, least }
}

/** Taking each piece at its first place is enough where `*` is the only wild character. */
export function fitsWord(pattern: WordPattern, word: string): boolean {
  if (typeof pattern === 'string') return word === pattern
  const { head, middle, tail, rarest } = pattern
  if (word.length < pattern.least) return false
  if (head !== '' && !word.startsWith(head)) return false
  if (tail !== '' && !word.endsWith(tail)) return false
  if (rarest !== '' && !word.includes(rarest)) return false
  const end = word.length - tail.length
  let at = head.length
  for (const piece of middle) {
    const found = word.indexOf(piece, at)
    if (found === -1 || found + piece.length > end) return false
    at = found + piece.length
  }
  return true
}

/** Lists that were filtered keep room to grow, some 130 bytes each; a slice of them does not. */
export function compileWords(texts: readonly string[]): WordList {
  const literals = texts.filter((text) => !text.includes('*'))
  const patterns = texts.filter((text) => text.includes('*')).map(compileWord)
  return {
    literals:
      literals.length === 0
        ? NO_PIECES
        : literals.length > LITERALS_TO_COMPARE
          ? new Set(literals)
          : literals.slice(),
    patterns: patterns.length === 0 ? NO_PATTERNS : patterns,
  }
}

/** True where one of the patterns fits the word. */
export function fitsOneOf(list: WordList, word: string): boolean {
  const { literals, patterns } = list
  if (literals instanceof Set ? literals.has(word) : (literals as readonly string[]).includes(word))
    return true
  for (const pattern of patterns) if (fitsWord(pattern, word)) return true
  return false
}

/** True where one of the patterns fits one of the words. */
export function fitsAnyOf(list: WordList, words: readonly string[]): boolean {
  for (const word of words) if (fitsOneOf(list, word)) return true
  return false
}
