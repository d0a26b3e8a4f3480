/**
 * A place in a shell text, and the small steps over it: line continuations, blanks, comments, reserved words,
 * here-documents. Every step moves forward, so that a text is paid for by
 * its length; what is read twice is paid for twice.
 * Rules: POSIX.1-2024 XCU 2.3 and 2.7.4.
 * @module
 */
import { spend, type Work } from '../../work.ts'
import type { List, Word } from './syntax.ts'

/** Compound commands and substitutions within one another; beyond it a text is not written for people. */
export const SHELL_DEPTH = 16
/** Commands of one text, as written and as run; each is judged by every rule. */
export const SHELL_COMMANDS = 512
/** Steps for each character of a text, which several small steps look at. */
const STEPS_A_CHARACTER = 1

export type Scan = {
  readonly text: string
  at: number
  /** What the decision has cost. */
  readonly work: Work
  depth: number
  commands: number
  failure: 'syntax' | 'limit' | undefined
  /** Here-documents whose text starts after the next newline. */
  pending: {
    readonly delimiter: string
    readonly isLiteral: boolean
    readonly hasTabs: boolean
    readonly target: { word: Word }
  }[]
  /** Reads a list of commands; the grammar and the words need each other. */
  readonly list: (scan: Scan) => List
  /** Reads the text of a here-document in which expansions count. */
  readonly heredoc: (scan: Scan, text: string) => Word
}

export function startScan(
  text: string,
  depth: number,
  work: Work,
  list: Scan['list'],
  heredoc: Scan['heredoc'],
): Scan {
  spend(work, text.length * STEPS_A_CHARACTER)
  return { text, at: 0, work, depth, commands: 0, failure: undefined, pending: [], list, heredoc }
}

/** Pays for steps beside those that are paid for the characters of the text. */
export function pay(scan: Scan, steps: number): void {
  spend(scan.work, steps)
}

/** What beginning and ending one costs, however short it is. */
const INNER_STEPS = 32

/** A scan of another text within this one (backticks, here-documents). */
export function innerScan(scan: Scan, text: string): Scan {
  spend(scan.work, INNER_STEPS + text.length * STEPS_A_CHARACTER)
  return { ...scan, text, at: 0, depth: scan.depth + 1, pending: [] }
}

/** Takes back what an inner scan has cost and found. */
export function closeInner(scan: Scan, inner: Scan): void {
  scan.commands = inner.commands
  if (inner.failure !== undefined) fail(scan, inner.failure)
}

export function fail(scan: Scan, failure: 'syntax' | 'limit'): void {
  scan.failure ??= failure
}

/** Goes one level deeper; false where that is too deep. */
export function enter(scan: Scan): boolean {
  scan.depth += 1
  if (scan.depth > SHELL_DEPTH) fail(scan, 'limit')
  return scan.failure === undefined
}

export function leave(scan: Scan): void {
  scan.depth -= 1
}

const BACKSLASH = 92
const NEWLINE = 10

/** The character here, past line continuations; empty at the end. */
export function current(scan: Scan): string {
  const { text } = scan
  while (text.charCodeAt(scan.at) === BACKSLASH && text.charCodeAt(scan.at + 1) === NEWLINE) scan.at += 2
  return text[scan.at] ?? ''
}

/** Takes the characters of `expected`, or nothing. */
export function take(scan: Scan, expected: string): boolean {
  const start = scan.at
  for (let at = 0; at < expected.length; at += 1) {
    if (current(scan) !== expected[at]) {
      scan.at = start
      return false
    }
    scan.at += 1
  }
  return true
}

export function skipBlanks(scan: Scan): void {
  for (;;) {
    const character = current(scan)
    if (character === ' ' || character === '\t') scan.at += 1
    else if (character === '#') {
      // A comment ends before the newline; a backslash in it continues nothing.
      const end = scan.text.indexOf('\n', scan.at)
      const next = end === -1 ? scan.text.length : end
      scan.at = next
      return
    } else return
  }
}

/** Newlines, blanks and comments, and the here-documents that begin there. */
export function skipLines(scan: Scan): void {
  for (;;) {
    skipBlanks(scan)
    if (current(scan) !== '\n') return
    scan.at += 1
    readPending(scan)
  }
}

/** After a newline: reads the texts of the here-documents that were announced on the line. */
export function readPending(scan: Scan): void {
  const waiting = scan.pending
  scan.pending = []
  for (const { delimiter, isLiteral, hasTabs, target } of waiting) {
    const lines: string[] = []
    let isContinued = false
    while (scan.at < scan.text.length) {
      const end = scan.text.indexOf('\n', scan.at)
      const next = end === -1 ? scan.text.length : end
      let start = scan.at
      while (hasTabs && scan.text[start] === '\t') start += 1
      const line = scan.text.slice(start, next)
      scan.at = Math.min(next + 1, scan.text.length)
      if (line === delimiter && !isContinued) break
      isContinued = !isLiteral && endsInBackslash(line)
      lines.push(line, '\n')
    }
    const text = lines.join('')
    target.word = isLiteral ? [{ kind: 'text', text, isQuoted: true }] : scan.heredoc(scan, text)
  }
}

function endsInBackslash(line: string): boolean {
  let count = 0
  while (line[line.length - 1 - count] === '\\') count += 1
  return count % 2 === 1
}

const METACHARACTERS = ' \t\n;&|()<>'

export function isMeta(character: string): boolean {
  return character === '' || METACHARACTERS.includes(character)
}

const LONGEST_RESERVED = 8

export function isMetaCode(code: number): boolean {
  switch (code) {
    case 32: // blank
    case 9:
    case NEWLINE:
    case 59: // ;
    case 38: // &
    case 124: // |
    case 40: // (
    case 41:
    case 60: // <
    case 62:
      return true
    default:
      return false
  }
}

/** The unquoted word here where it is short enough to be a reserved one; nothing is taken. */
export function peekWord(scan: Scan): string {
  const { text, at } = scan
  let end = at
  while (end < text.length && end - at <= LONGEST_RESERVED) {
    const code = text.charCodeAt(end)
    if (code === BACKSLASH) return peekContinued(scan)
    if (isMetaCode(code)) break
    end += 1
  }
  return end - at > LONGEST_RESERVED ? '' : text.slice(at, end)
}

/** As `peekWord`, over the lines that a backslash joins. */
function peekContinued(scan: Scan): string {
  const start = scan.at
  let word = ''
  while (word.length <= LONGEST_RESERVED) {
    const character = current(scan)
    if (isMeta(character)) break
    word += character
    scan.at += 1
  }
  scan.at = start
  return word.length > LONGEST_RESERVED ? '' : word
}

/** Takes a reserved word, or nothing. */
export function takeReserved(scan: Scan, word: string): boolean {
  return peekWord(scan) === word && take(scan, word)
}

export function isNameStart(character: string): boolean {
  return /^[A-Za-z_]$/.test(character)
}

/** A variable's name here; empty where none is. */
export function takeName(scan: Scan): string {
  let name = ''
  for (;;) {
    const character = current(scan)
    if (!isNameStart(character) && !(name !== '' && character >= '0' && character <= '9')) return name
    name += character
    scan.at += 1
  }
}
