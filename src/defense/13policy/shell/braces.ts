/**
 * Brace expansion: `{a,b}` and `{1..3}` make words out of one. Braces that do not fit stay as they are.
 * Rules: bash 5.2 manual, "Brace Expansion". dash has none; a file whose name has braces in it is the lesser harm.
 * @module
 */
import { SHELL_DEPTH } from './scan.ts'
import type { Word, WordPart } from './syntax.ts'

/** Words that one may become. */
export const BRACE_WORDS = 256

type Piece = { readonly part: WordPart } | { readonly sign: '{' | ',' | '}' }

/** What it costs to pair what was found; to look for it a step for each character. */
const PIECE_STEPS = 8

function charactersOf(part: WordPart): number {
  return part.kind === 'text' && !part.isQuoted ? part.text.length : 1
}

/** The words of `word`; undefined where they are too many. */
export function expandBraces(word: Word, charge: (steps: number) => boolean): readonly Word[] | undefined {
  if (!word.some((part) => part.kind === 'text' && !part.isQuoted && part.text.includes('{'))) return [word]
  if (!charge(word.reduce((sum, part) => sum + charactersOf(part), 0))) return undefined
  const pieces = piecesOf(word)
  if (!charge(pieces.length * PIECE_STEPS)) return undefined
  const pairs = pairsOf(pieces)
  return pairs.depth > SHELL_DEPTH ? undefined : between(pieces, 0, pieces.length, { ...pairs, charge })
}

type Braces = ReturnType<typeof pairsOf> & { readonly charge: (steps: number) => boolean }

function piecesOf(word: Word): readonly Piece[] {
  const pieces: Piece[] = []
  for (const part of word) {
    if (part.kind !== 'text' || part.isQuoted) {
      pieces.push({ part })
      continue
    }
    let start = 0
    const { text } = part
    for (let at = 0; at <= text.length; at += 1) {
      const character = text[at]
      const isSign = character === '{' || character === ',' || character === '}'
      if (!isSign && character !== undefined) continue
      if (at > start) pieces.push({ part: { ...part, text: text.slice(start, at) } })
      if (isSign) pieces.push({ sign: character })
      start = at + 1
    }
  }
  return pieces
}

/** Where each brace that counts is closed, and where the commas of each are. One pass with a stack. */
function pairsOf(pieces: readonly Piece[]): {
  closes: ReadonlyMap<number, number>
  commas: ReadonlyMap<number, readonly number[]>
  depth: number
} {
  const closes = new Map<number, number>()
  const commas = new Map<number, readonly number[]>()
  const open: { at: number; commas: number[] }[] = []
  let depth = 0
  for (const [at, piece] of pieces.entries()) {
    if (!('sign' in piece)) continue
    if (piece.sign === '{') open.push({ at, commas: [] })
    else if (piece.sign === ',') open[open.length - 1]?.commas.push(at)
    else {
      const last = open.pop()
      if (last === undefined) continue
      if (last.commas.length === 0 && rangeOf(pieces, last.at, at) === undefined) continue
      closes.set(last.at, at)
      commas.set(last.at, last.commas)
      depth = Math.max(depth, open.length)
    }
  }
  return { closes, commas, depth }
}

/** `{1..3}`, `{a..e}`, `{1..9..2}`; undefined for others. `too many` gives an empty list. */
function rangeOf(pieces: readonly Piece[], open: number, close: number): readonly string[] | undefined {
  const piece = pieces[open + 1]
  if (close !== open + 2 || piece === undefined || !('part' in piece) || piece.part.kind !== 'text')
    return undefined
  const found = /^(-?[0-9]{1,15}|[A-Za-z])\.\.(-?[0-9]{1,15}|[A-Za-z])(?:\.\.(-?[0-9]{1,15}))?$/.exec(
    piece.part.text,
  )
  const [, from, to, by] = found ?? []
  if (from === undefined || to === undefined) return undefined
  const isLetters = /^[A-Za-z]$/.test(from)
  if (isLetters !== /^[A-Za-z]$/.test(to)) return undefined
  const first = isLetters ? from.charCodeAt(0) : Number.parseInt(from, 10)
  const last = isLetters ? to.charCodeAt(0) : Number.parseInt(to, 10)
  const step = Math.max(1, Math.abs(Number.parseInt(by ?? '1', 10)))
  if (Math.abs(last - first) / step >= BRACE_WORDS) return []
  const width = /^-?0[0-9]/.test(from) || /^-?0[0-9]/.test(to) ? Math.max(from.length, to.length) : 0
  const words: string[] = []
  for (
    let value = first;
    first <= last ? value <= last : value >= last;
    value += first <= last ? step : -step
  ) {
    if (isLetters) words.push(String.fromCharCode(value))
    else
      words.push(
        value < 0 ? `-${String(-value).padStart(width - 1, '0')}` : String(value).padStart(width, '0'),
      )
  }
  return words
}

function between(
  pieces: readonly Piece[],
  start: number,
  end: number,
  braces: Braces,
): readonly Word[] | undefined {
  const { closes, commas } = braces
  const segments: (readonly Word[])[] = []
  let plain: WordPart[] = []
  for (let at = start; at < end; at += 1) {
    const piece = pieces[at]
    if (piece === undefined) break
    if ('part' in piece) {
      plain.push(piece.part)
      continue
    }
    const close = piece.sign === '{' ? closes.get(at) : undefined
    if (close === undefined || close >= end) {
      plain.push({ kind: 'text', text: piece.sign, isQuoted: false })
      continue
    }
    const cuts = commas.get(at) ?? []
    const alternatives: Word[] = []
    if (cuts.length === 0) {
      const range = rangeOf(pieces, at, close) ?? []
      if (range.length === 0) return undefined
      alternatives.push(...range.map((text): Word => [{ kind: 'text', text, isQuoted: false }]))
    } else {
      let from = at + 1
      for (const cut of [...cuts, close]) {
        const words = between(pieces, from, cut, braces)
        if (words === undefined || alternatives.length + words.length > BRACE_WORDS) return undefined
        alternatives.push(...words)
        from = cut + 1
      }
    }
    if (plain.length > 0) segments.push([plain])
    plain = []
    segments.push(alternatives)
    at = close
  }
  if (plain.length > 0) segments.push([plain])
  let [words, parts]: [WordPart[][], number] = [[[]], 0]
  for (const segment of segments) {
    const added = words.length * segment.reduce((sum, { length }) => sum + length, 0)
    // What is copied is paid before, a step for each part; the last of a segment goes on with what is there.
    if (words.length * segment.length > BRACE_WORDS || !braces.charge(parts * (segment.length - 1) + added))
      return undefined
    parts = parts * segment.length + added
    words = words.flatMap((before) =>
      segment.map((word, at) => longer(at + 1 < segment.length ? [...before] : before, word)),
    )
  }
  return words
}

function longer(whole: WordPart[], word: Word): WordPart[] {
  for (const part of word) whole.push(part)
  return whole
}
