/**
 * The difference of two texts line by line, in the unified form. A line is a string with one character for each byte and
 * has its newline, except for a last one without.
 * The shortest script by E. W. Myers, "An O(ND) Difference Algorithm and Its Variations" (1986); where it would be longer
 * than a bound, all that lies between what both begin and end with is replaced.
 * @module
 */

import { DIFF_EDITS } from '../../limits.ts'

const CONTEXT_LINES = 3

export type Hunks = { readonly text: string; readonly inserted: number; readonly deleted: number }

/** Lines with their newlines. */
export function linesOf(text: string): string[] {
  const lines: string[] = []
  for (let start = 0; start < text.length; ) {
    const newline = text.indexOf('\n', start)
    const end = newline < 0 ? text.length : newline + 1
    lines.push(text.slice(start, end))
    start = end
  }
  return lines
}

/** A stretch that is kept, of both texts. */
type Match = { readonly oldAt: number; readonly newAt: number; readonly length: number }

/** What both texts share, in order; undefined where it costs more than the bound. */
function myers(a: Int32Array, b: Int32Array): Match[] | undefined {
  const most = Math.min(a.length + b.length, DIFF_EDITS)
  const middle = most + 1
  const furthest = new Int32Array(2 * most + 3)
  const trace: Int32Array[] = []
  for (let edits = 0; edits <= most; edits++) {
    for (let diagonal = -edits; diagonal <= edits; diagonal += 2) {
      const below = furthest[middle + diagonal + 1] ?? 0
      const left = furthest[middle + diagonal - 1] ?? 0
      let x = diagonal === -edits || (diagonal !== edits && left < below) ? below : left + 1
      let y = x - diagonal
      while (x < a.length && y < b.length && a[x] === b[y]) {
        x++
        y++
      }
      furthest[middle + diagonal] = x
      if (x >= a.length && y >= b.length) return backtrack(a.length, b.length, trace, edits)
    }
    // Only what this round can have written.
    trace.push(furthest.slice(middle - edits, middle + edits + 1))
  }
  return undefined
}

function backtrack(oldEnd: number, newEnd: number, trace: readonly Int32Array[], edits: number): Match[] {
  const matches: Match[] = []
  let [x, y] = [oldEnd, newEnd]
  for (let round = edits; round > 0; round--) {
    const before = trace[round - 1] ?? new Int32Array(0)
    const at = (diagonal: number): number =>
      diagonal < -(round - 1) || diagonal > round - 1 ? -1 : (before[diagonal + round - 1] ?? -1)
    const diagonal = x - y
    const isDown = diagonal === -round || (diagonal !== round && at(diagonal - 1) < at(diagonal + 1))
    const from = isDown ? diagonal + 1 : diagonal - 1
    const oldX = at(from)
    const startX = isDown ? oldX : oldX + 1
    if (x > startX) matches.push({ oldAt: startX, newAt: startX - diagonal, length: x - startX })
    x = oldX
    y = oldX - from
  }
  if (x > 0) matches.push({ oldAt: 0, newAt: 0, length: x })
  return matches.reverse()
}

function matchesOf(oldLines: readonly string[], newLines: readonly string[]): Match[] {
  const shorter = Math.min(oldLines.length, newLines.length)
  let head = 0
  while (head < shorter && oldLines[head] === newLines[head]) head++
  let tail = 0
  while (tail < shorter - head && oldLines.at(-1 - tail) === newLines.at(-1 - tail)) tail++
  const numbers = new Map<string, number>()
  const numbered = (lines: readonly string[]): Int32Array =>
    Int32Array.from(lines.slice(head, lines.length - tail), (line) => {
      const known = numbers.get(line)
      if (known !== undefined) return known
      numbers.set(line, numbers.size)
      return numbers.size - 1
    })
  const inner = myers(numbered(oldLines), numbered(newLines)) ?? []
  return [
    ...(head > 0 ? [{ oldAt: 0, newAt: 0, length: head }] : []),
    ...inner.map(({ oldAt, newAt, length }) => ({ oldAt: oldAt + head, newAt: newAt + head, length })),
    ...(tail > 0 ? [{ oldAt: oldLines.length - tail, newAt: newLines.length - tail, length: tail }] : []),
  ]
}

/** A stretch of lines that differ. */
type Edit = { oldAt: number; oldEnd: number; newAt: number; newEnd: number }

function editsOf(oldLines: readonly string[], newLines: readonly string[]): Edit[] {
  const edits: Edit[] = []
  let [oldAt, newAt] = [0, 0]
  for (const match of [
    ...matchesOf(oldLines, newLines),
    { oldAt: oldLines.length, newAt: newLines.length, length: 0 },
  ]) {
    if (match.oldAt > oldAt || match.newAt > newAt)
      edits.push({ oldAt, oldEnd: match.oldAt, newAt, newEnd: match.newAt })
    oldAt = match.oldAt + match.length
    newAt = match.newAt + match.length
  }
  return edits
}

function line(mark: string, text: string): string {
  return text.endsWith('\n') ? mark + text : `${mark}${text}\n\\ No newline at end of file\n`
}

function range(start: number, count: number): string {
  // An empty range is named by the line before it.
  const first = count === 0 ? start : start + 1
  return count === 1 ? `${first}` : `${first},${count}`
}

/** Hunks of the unified form, without a head; empty for texts that are the same. */
export function unifiedHunks(oldText: string, newText: string): Hunks {
  const [oldLines, newLines] = [linesOf(oldText), linesOf(newText)]
  const edits = editsOf(oldLines, newLines)
  let text = ''
  let [inserted, deleted] = [0, 0]
  for (let at = 0; at < edits.length; ) {
    const first = edits[at]
    let last = first
    let end = at + 1
    for (let next = edits[end]; next !== undefined && last !== undefined; next = edits[end]) {
      if (next.oldAt - last.oldEnd > 2 * CONTEXT_LINES) break
      last = next
      end++
    }
    if (first === undefined || last === undefined) break
    const oldStart = Math.max(0, first.oldAt - CONTEXT_LINES)
    const newStart = first.newAt - (first.oldAt - oldStart)
    const oldEnd = Math.min(oldLines.length, last.oldEnd + CONTEXT_LINES)
    const newEnd = last.newEnd + (oldEnd - last.oldEnd)
    text += `@@ -${range(oldStart, oldEnd - oldStart)} +${range(newStart, newEnd - newStart)} @@\n`
    let kept = oldStart
    for (const edit of edits.slice(at, end)) {
      for (; kept < edit.oldAt; kept++) text += line(' ', oldLines[kept] ?? '')
      for (let gone = edit.oldAt; gone < edit.oldEnd; gone++) text += line('-', oldLines[gone] ?? '')
      for (let made = edit.newAt; made < edit.newEnd; made++) text += line('+', newLines[made] ?? '')
      deleted += edit.oldEnd - edit.oldAt
      inserted += edit.newEnd - edit.newAt
      kept = edit.oldEnd
    }
    for (; kept < oldEnd; kept++) text += line(' ', oldLines[kept] ?? '')
    at = end
  }
  return { text, inserted, deleted }
}
