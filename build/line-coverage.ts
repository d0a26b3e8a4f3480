/**
 * Which lines of a source count, and which of them ran, from what V8 reports of a process, as pure functions.
 * A line counts where it holds code: not white space, comments, types, imports, or brackets alone. It ran where at
 * least one character of its code did. V8's ranges nest: the innermost one that holds a character says how often that
 * ran. Offsets are UTF-16 units of the .ts file itself: erasing its types leaves everything else in its place.
 * Source: https://chromedevtools.github.io/devtools-protocol/tot/Profiler/ (ScriptCoverage).
 * @module
 */
import { type Program, parse, type Token } from 'acorn'

/** A line that counts: its number from 1, and where its code begins and ends. */
export interface CountedLine {
  readonly line: number
  readonly from: number
  readonly to: number
}

/** As V8 reports it of a function or a block within one. */
export interface RunRange {
  readonly startOffset: number
  readonly endOffset: number
  readonly count: number
}

/** Lines of a file that count, and those of them that ran in no process. */
export interface FileCoverage {
  readonly path: string
  readonly lines: number
  readonly missed: readonly number[]
}

export interface Share {
  readonly name: string
  readonly lines: number
  readonly ran: number
}

type Piece = { readonly from: number; readonly to: number }

/** What stands alone on a line that only closes or opens what others do. */
const BRACKETS: ReadonlySet<string> = new Set(['(', ')', '[', ']', '{', '}', ';', ',', '${'])

/**
 * The lines of a source that count, in order.
 * @param text of an ES module whose types are erased in place
 */
export function countedLines(text: string): CountedLine[] {
  const tokens: Token[] = []
  const program = parse(text, { ecmaVersion: 'latest', sourceType: 'module', onToken: tokens })
  const left = elsewhere(program)
  const starts = lineStarts(text)
  const lines = new Map<number, Piece>()
  let line = 0
  let skipped = 0
  for (const { start, end, type } of tokens) {
    while ((left[skipped]?.to ?? Number.POSITIVE_INFINITY) <= start) skipped++
    if ((left[skipped]?.from ?? Number.POSITIVE_INFINITY) <= start) continue
    if (start === end || BRACKETS.has(type.label)) continue
    while ((starts[line + 1] ?? Number.POSITIVE_INFINITY) <= start) line++
    // A text in back quotes is one token over many lines.
    for (let at = line; (starts[at] ?? end) < end; at++) {
      const from = Math.max(start, starts[at] ?? 0)
      const to = Math.min(end, starts[at + 1] ?? end)
      lines.set(at + 1, { from: lines.get(at + 1)?.from ?? from, to })
    }
  }
  return [...lines].map(([number, piece]) => ({ line: number, ...piece })).sort((a, b) => a.line - b.line)
}

/** Statements that take something from another file, or hand it on, and do nothing themselves. */
function elsewhere(program: Program): Piece[] {
  return program.body
    .filter(
      (statement) =>
        statement.type === 'ImportDeclaration' ||
        statement.type === 'ExportAllDeclaration' ||
        (statement.type === 'ExportNamedDeclaration' && !statement.declaration),
    )
    .map(({ start, end }) => ({ from: start, to: end }))
}

function lineStarts(text: string): number[] {
  const starts = [0]
  for (let at = text.indexOf('\n'); at !== -1; at = text.indexOf('\n', at + 1)) starts.push(at + 1)
  return starts
}

/** The lines that ran, of those given; both in order of the text. */
export function linesRun(lines: readonly CountedLine[], ranges: readonly RunRange[]): CountedLine[] {
  const pieces = piecesRun(ranges)
  const run: CountedLine[] = []
  let at = 0
  for (const line of lines) {
    while ((pieces[at]?.to ?? Number.POSITIVE_INFINITY) <= line.from) at++
    if ((pieces[at]?.from ?? Number.POSITIVE_INFINITY) < line.to) run.push(line)
  }
  return run
}

/** Where the innermost range was run, in order, none touching another's inside. */
function piecesRun(ranges: readonly RunRange[]): Piece[] {
  const nested = [...ranges].sort((a, b) => a.startOffset - b.startOffset || b.endOffset - a.endOffset)
  const pieces: Piece[] = []
  const open: RunRange[] = []
  let at = 0
  function upTo(offset: number): void {
    if (offset > at && (open.at(-1)?.count ?? 0) > 0) pieces.push({ from: at, to: offset })
    at = Math.max(at, offset)
  }
  function closeBefore(offset: number): void {
    for (let inner = open.at(-1); inner && inner.endOffset <= offset; inner = open.at(-1)) {
      upTo(inner.endOffset)
      open.pop()
    }
  }
  for (const range of nested) {
    closeBefore(range.startOffset)
    upTo(range.startOffset)
    open.push(range)
  }
  closeBefore(Number.POSITIVE_INFINITY)
  return pieces
}

/** Where a part of a bundle comes from: its offset there, and the line (from 1) of a source by its number in the map. */
export interface Origin {
  readonly offset: number
  readonly source: number
  readonly line: number
}

/** The digits of a source map, six bits each; the highest bit says that more follow, the lowest of all is the sign. */
const DIGITS = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/'
const DIGIT_BITS = 5
const MORE = 1 << DIGIT_BITS

/**
 * The parts of a bundle that come from sources, in order.
 * Source: https://tc39.es/ecma426/ (mappings).
 */
export function origins(text: string, mappings: string): Origin[] {
  const starts = lineStarts(text)
  const found: Origin[] = []
  let source = 0
  let line = 0
  mappings.split(';').forEach((segments, bundleLine) => {
    let column = 0
    for (const segment of segments.split(',')) {
      const [columns = 0, sources, lines = 0] = numbersOf(segment)
      column += columns
      if (sources === undefined) continue
      source += sources
      line += lines
      found.push({ offset: (starts[bundleLine] ?? 0) + column, source, line: line + 1 })
    }
  })
  return found
}

function numbersOf(segment: string): number[] {
  const numbers: number[] = []
  let value = 0
  let shift = 0
  for (const digit of segment) {
    const bits = DIGITS.indexOf(digit)
    value |= (bits & (MORE - 1)) << shift
    shift += DIGIT_BITS
    if (bits & MORE) continue
    numbers.push(value & 1 ? -(value >> 1) : value >> 1)
    value = 0
    shift = 0
  }
  return numbers
}

/** Those parts of a bundle that ran. */
export function originsRun(parts: readonly Origin[], ranges: readonly RunRange[]): Origin[] {
  const pieces = piecesRun(ranges)
  let at = 0
  return parts.filter(({ offset }) => {
    while ((pieces[at]?.to ?? Number.POSITIVE_INFINITY) <= offset) at++
    return (pieces[at]?.from ?? Number.POSITIVE_INFINITY) <= offset
  })
}

/** A share for each room (`src/base`; files right in `src` are one room), by name, and one for all. */
export function shares(files: readonly FileCoverage[]): {
  readonly rooms: readonly Share[]
  readonly all: Share
} {
  const rooms = new Map<string, FileCoverage[]>()
  for (const file of files) {
    const [source = '', room, inRoom] = file.path.split('/')
    const name = inRoom === undefined ? source : `${source}/${room}`
    rooms.set(name, [...(rooms.get(name) ?? []), file])
  }
  const names = [...rooms.keys()].sort()
  return { rooms: names.map((name) => shareOf(name, rooms.get(name) ?? [])), all: shareOf('all', files) }
}

function shareOf(name: string, files: readonly FileCoverage[]): Share {
  const lines = files.reduce((sum, file) => sum + file.lines, 0)
  const missed = files.reduce((sum, file) => sum + file.missed.length, 0)
  return { name, lines, ran: lines - missed }
}

/** Percent with one digit, rounded down: 94.99 is not 95. Of nothing, all ran. */
export function percent({ lines, ran }: Pick<Share, 'lines' | 'ran'>): number {
  return lines === 0 ? 100 : Math.floor((ran * 1000) / lines) / 10
}

/** `3-5, 9` of line numbers in order. Lines between that do not count are passed over. */
export function lineList(missed: readonly number[], counted: readonly number[]): string {
  const isMissed = new Set(missed)
  const spans: [number, number][] = []
  let isOpen = false
  for (const line of counted) {
    const last = spans.at(-1)
    if (isMissed.has(line) && isOpen && last) last[1] = line
    else if (isMissed.has(line)) spans.push([line, line])
    isOpen = isMissed.has(line)
  }
  return spans.map(([from, to]) => (from === to ? `${from}` : `${from}-${to}`)).join(', ')
}
