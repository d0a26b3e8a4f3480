/**
 * Patterns of words: the whole word, with case, `*` for any run of characters. A pattern is cut at its stars once, so
 * that a word is gone through once however many stars there are; no regular expression is built.
 * Rules: docs/policy.md, "Words".
 * @module
 */

/** Cut at its stars; a word without one is itself. */
export type WordPattern = string | Pieces

export type Pieces = {
  readonly head: string
  readonly middle: readonly string[]
  readonly tail: string
  /** The longest piece of several in the middle, which a word that does not fit lacks most often; else empty. */
  readonly rarest: string
  /** The shortest word that can fit, in UTF-16 code units. */
  readonly least: number
}

/** Several patterns of which one must fit; those without a star are looked up, the others in order. */
export type WordList = {
  readonly literals: readonly string[] | ReadonlySet<string>
  readonly starts: string
  readonly patterns: readonly Pieces[]
  /** Where many begin with a star: those by three characters that a word must hold. */
  readonly grams: Grams | undefined
}

/** By three characters in a row, as `addToGram` makes one number of them. */
type Grams = ReadonlyMap<number, readonly Pieces[]>

/** From here on a look-up is cheaper than a comparison with each. */
const LITERALS_TO_COMPARE = 8
/** From here on patterns that begin with a star are not tried one by one. */
const MANY_HEADLESS = 12

/** Shared, since most patterns have nothing between their ends. */
const NO_PIECES: readonly string[] = Object.freeze([])
const NO_PATTERNS: readonly Pieces[] = Object.freeze([])

const ANY_WORD: Pieces = Object.freeze({ head: '', middle: NO_PIECES, tail: '', rarest: '', least: 0 })

export function compileWord(pattern: string): WordPattern {
  return pattern.includes('*') ? cutAtStars(pattern) : pattern
}

/** @param pattern with a star */
function cutAtStars(pattern: string): Pieces {
  if (pattern === '*') return ANY_WORD
  const pieces = pattern.split('*')
  const head = pieces[0] ?? ''
  const tail = pieces[pieces.length - 1] ?? ''
  const middle = pieces.slice(1, -1).filter((piece) => piece !== '')
  const least = middle.reduce((sum, piece) => sum + piece.length, head.length + tail.length)
  const rarest =
    middle.length < 2 ? '' : middle.reduce((a, piece) => (piece.length > a.length ? piece : a), '')
  return { head, middle: middle.length === 0 ? NO_PIECES : middle.slice(), tail, rarest, least }
}

/** Taking each piece at its first place is enough where `*` is the only wild character. */
export function fitsWord(pattern: WordPattern, word: string): boolean {
  return typeof pattern === 'string' ? word === pattern : fitsPieces(pattern, word)
}

function fitsPieces({ head, middle, tail, rarest, least }: Pieces, word: string): boolean {
  if (word.length < least) return false
  if (head !== '' && !word.startsWith(head)) return false
  if (tail !== '' && !word.endsWith(tail)) return false
  if (rarest !== '' && !word.includes(rarest)) return false
  const end = word.length - tail.length
  let at = head.length
  for (let place = 0; place < middle.length; place++) {
    const piece = middle[place] ?? ''
    const found = word.indexOf(piece, at)
    if (found === -1 || found + piece.length > end) return false
    at = found + piece.length
  }
  return true
}

/** In `starts` for a pattern that begins with a star, which no word that is compared with it has to. */
const ANY_START = '*'

function startOf({ head }: Pieces): string {
  return head === '' ? ANY_START : head.charAt(0)
}

/**
 * Patterns with what belongs to each, so that those that begin with a star come first, and those that begin with the
 * same character stand together.
 * @param entries of patterns with a star
 */
export function sortPatterns<Item>(entries: readonly (readonly [pattern: string, item: Item])[]): {
  readonly starts: string
  readonly patterns: readonly Pieces[]
  readonly items: readonly Item[]
} {
  const cut = entries.map(([pattern, item]) => ({ pieces: cutAtStars(pattern), item }))
  const place = ({ pieces: { head } }: { readonly pieces: Pieces }) => (head === '' ? -1 : head.charCodeAt(0))
  const sorted = cut.toSorted((a, b) => place(a) - place(b))
  return {
    starts: sorted.map(({ pieces }) => startOf(pieces)).join(''),
    patterns: sorted.map(({ pieces }) => pieces),
    items: sorted.map(({ item }) => item),
  }
}

/**
 * The place of the next pattern that fits the word, from `from` on, or -1. Of those that begin with a character, only
 * the ones that begin as the word does are looked at.
 * @param starts the first character of each pattern, as `sortPatterns` gives them
 */
export function nextFitting(starts: string, patterns: readonly Pieces[], word: string, from: number): number {
  let at = from
  for (; starts[at] === ANY_START; at++) if (fitsPieces(patterns[at] as Pieces, word)) return at
  if (at === starts.length || word === '') return -1
  const start = word.charAt(0)
  at = starts.indexOf(start, at)
  if (at === -1) return -1
  for (; starts[at] === start; at++) if (fitsPieces(patterns[at] as Pieces, word)) return at
  return -1
}

const GRAM_CHARS = 3
const GRAM_BITS = 24

/** The number of the last three characters; those beyond Latin-1 share some with others. */
function addToGram(gram: number, code: number): number {
  return ((gram << (GRAM_BITS / GRAM_CHARS)) ^ code) & ((1 << GRAM_BITS) - 1)
}

function gramsOf(text: string): readonly number[] {
  const grams: number[] = []
  let gram = 0
  for (let at = 0; at < text.length; at++) {
    gram = addToGram(gram, text.charCodeAt(at))
    if (at >= GRAM_CHARS - 1) grams.push(gram)
  }
  return grams
}

/**
 * Where many begin with a star, those by three characters that they hold; each stands where the fewest others do. The
 * rest are those that begin with a character, or hold no three in a row.
 */
function indexGrams(texts: readonly string[]): {
  readonly grams: Grams | undefined
  readonly rest: readonly string[]
} {
  if (texts.filter((text) => text.startsWith('*')).length < MANY_HEADLESS)
    return { grams: undefined, rest: texts }
  const grams = new Map<number, Pieces[]>()
  const count = (gram: number) => grams.get(gram)?.length ?? 0
  const rest = texts.filter((text) => {
    const own = text.startsWith('*') ? text.split('*').flatMap(gramsOf) : []
    const [first] = own
    if (first === undefined) return true
    const rarest = own.reduce((a, gram) => (count(gram) < count(a) ? gram : a), first)
    grams.set(rarest, [...(grams.get(rarest) ?? []), cutAtStars(text)])
    return false
  })
  return { grams, rest }
}

function fitsByGrams(grams: Grams, word: string): boolean {
  let tried: Set<readonly Pieces[]> | undefined
  let gram = 0
  for (let at = 0; at < word.length; at++) {
    gram = addToGram(gram, word.charCodeAt(at))
    const patterns = grams.get(gram)
    if (patterns === undefined || tried?.has(patterns) === true) continue
    for (const pattern of patterns) if (fitsPieces(pattern, word)) return true
    // Once is enough, however often the word holds it.
    tried ??= new Set()
    tried.add(patterns)
  }
  return false
}

/** Lists that were filtered keep room to grow, some 130 bytes each; a slice of them does not. */
export function compileWords(texts: readonly string[]): WordList {
  const literals = texts.filter((text) => !text.includes('*'))
  const wild = texts.filter((text) => text.includes('*'))
  const { grams, rest } = indexGrams(wild)
  const { starts, patterns } = sortPatterns(rest.map((text) => [text, undefined] as const))
  return {
    literals:
      literals.length === 0
        ? NO_PIECES
        : literals.length > LITERALS_TO_COMPARE
          ? new Set(literals)
          : literals.slice(),
    starts,
    patterns: patterns.length === 0 ? NO_PATTERNS : patterns,
    grams,
  }
}

/** True where one of the patterns fits the word. */
export function fitsOneOf({ literals, starts, patterns, grams }: WordList, word: string): boolean {
  if (literals instanceof Set ? literals.has(word) : (literals as readonly string[]).includes(word))
    return true
  if (patterns.length > 0 && nextFitting(starts, patterns, word, 0) !== -1) return true
  return grams !== undefined && fitsByGrams(grams, word)
}

/** True where one of the patterns fits one of the words. */
export function fitsAnyOf(list: WordList, words: readonly string[]): boolean {
  for (let at = 0; at < words.length; at++) if (fitsOneOf(list, words[at] ?? '')) return true
  return false
}
