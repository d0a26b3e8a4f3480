/**
 * A simple command of a shell text: its assignments, words and redirections, here-documents and here-strings included.
 * Rules: POSIX.1-2024 XCU 2.7 and 2.9.1; bash 5.2 for `&>`, `<<<`, `{name}>`, `name+=` and arrays.
 * @module
 */
import { atWord, readWord } from './lexer.ts'
import { current, fail, isMeta, pay, type Scan, skipBlanks, skipLines, take } from './scan.ts'
import type { Assignment, Redirect, Simple, Word, WordPart } from './syntax.ts'

/** The text of a word without expansions; undefined for others. */
export function literalOf(word: Word): string | undefined {
  let text = ''
  for (const part of word) {
    if (part.kind !== 'text') return undefined
    text += part.text
  }
  return text
}

/** They assign, and their operands are not split. */
export const DECLARERS: readonly string[] = Object.freeze([
  'declare',
  'typeset',
  'local',
  'export',
  'readonly',
])

export function readSimple(scan: Scan): Simple {
  const assignments: Assignment[] = []
  const arrays: Assignment[] = []
  const words: Word[] = []
  const redirects: Redirect[] = []
  const start = scan.at
  while (scan.failure === undefined) {
    if (readRedirect(scan, redirects)) continue
    if (!atWord(scan)) break
    const from = scan.at
    const word = readWord(scan, words.length > 0)
    if (scan.at === from) {
      fail(scan, 'syntax')
      break
    }
    const first = words[0]
    const canAssign = first === undefined
    const isDeclarer = first !== undefined && DECLARERS.includes(literalOf(first) ?? '')
    const assignment = canAssign || isDeclarer ? assignmentOf(word) : undefined
    if (assignment !== undefined && current(scan) === '(' && (assignment.value as Word).length === 0) {
      scan.at += 1
      ;(canAssign ? assignments : arrays).push({ ...assignment, value: readArray(scan), isArray: true })
    } else if (isFileDescriptor(scan, word)) readRedirectAfter(scan, redirects, word)
    else if (assignment !== undefined && canAssign) assignments.push(assignment)
    else words.push(word)
  }
  if (scan.failure === undefined && scan.at === start) fail(scan, 'syntax')
  if (assignments.length + words.length + redirects.length === 0) fail(scan, 'syntax')
  return { kind: 'simple', assignments, words, arrays, redirects }
}

/** Redirections alone, as they may follow a compound command. */
export function readRedirects(scan: Scan, redirects: Redirect[]): void {
  while (scan.failure === undefined) {
    if (readRedirect(scan, redirects)) continue
    const start = scan.at
    if (!atWord(scan) || !/^[0-9{]$/.test(current(scan))) return
    const word = readWord(scan, false)
    if (!isFileDescriptor(scan, word)) {
      scan.at = start
      return
    }
    readRedirectAfter(scan, redirects, word)
  }
}

/** Splits `name=`, `name+=` and `name[index]=` off; undefined where the word is none of them. */
export function assignmentOf(word: Word): Assignment | undefined {
  const [first, ...rest] = word
  if (first === undefined || first.kind !== 'text' || first.isQuoted) return undefined
  const { text } = first
  const equals = text.indexOf('=')
  const bracket = text.indexOf('[')
  if (bracket > 0 && (equals === -1 || bracket < equals)) return indexedOf(word, text, bracket)
  if (equals <= 0) return undefined
  const isAppend = text[equals - 1] === '+'
  const name = text.slice(0, isAppend ? equals - 1 : equals)
  if (!/^[A-Za-z_][A-Za-z0-9_]*$/.test(name)) return undefined
  return {
    name,
    index: undefined,
    isAppend,
    value: joinedValue(text.slice(equals + 1), rest),
    isArray: false,
  }
}

function indexedOf(word: Word, text: string, bracket: number): Assignment | undefined {
  const name = text.slice(0, bracket)
  if (!/^[A-Za-z_][A-Za-z0-9_]*$/.test(name)) return undefined
  const close = text.indexOf(']', bracket)
  if (close === -1) {
    // The index has an expansion in it: which element it is cannot be told here.
    const isClosed = word.some(
      (part) => part.kind === 'text' && !part.isQuoted && /^[^=]*\]\+?=/.test(part.text),
    )
    return isClosed ? { name, index: word, isAppend: false, value: [], isArray: false } : undefined
  }
  const isAppend = text[close + 1] === '+'
  const equals = isAppend ? close + 2 : close + 1
  if (text[equals] !== '=') return undefined
  const index: Word = [{ kind: 'text', text: text.slice(bracket + 1, close), isQuoted: true }]
  return { name, index, isAppend, value: joinedValue(text.slice(equals + 1), word.slice(1)), isArray: false }
}

function joinedValue(head: string, rest: readonly WordPart[]): Word {
  return head === '' ? rest : [{ kind: 'text', text: head, isQuoted: false }, ...rest]
}

function readArray(scan: Scan): readonly Word[] {
  const words: Word[] = []
  while (scan.failure === undefined) {
    skipLines(scan)
    if (take(scan, ')')) break
    if (!atWord(scan)) fail(scan, 'syntax')
    else words.push(readWord(scan, true))
  }
  return words
}

/** `2` or `{name}` directly before a redirection. */
function isFileDescriptor(scan: Scan, word: Word): boolean {
  const next = current(scan)
  const [only] = word
  if ((next !== '<' && next !== '>') || word.length !== 1 || only?.kind !== 'text' || only.isQuoted)
    return false
  return /^(?:[0-9]+|\{[A-Za-z_][A-Za-z0-9_]*\})$/.test(only.text)
}

function readRedirectAfter(scan: Scan, redirects: Redirect[], word: Word): void {
  const fd = Number.parseInt(literalOf(word) ?? '', 10)
  // The shell picks a number of 10 or more for `{name}`.
  readRedirect(scan, redirects, Number.isNaN(fd) ? 10 : fd)
}

const OPERATORS: readonly { readonly sign: string; readonly fd: number; readonly kind: Redirect['kind'] }[] =
  Object.freeze([
    { sign: '&>>', fd: 1, kind: 'write' },
    { sign: '&>', fd: 1, kind: 'write' },
    { sign: '<<<', fd: 0, kind: 'text' },
    { sign: '<<-', fd: 0, kind: 'text' },
    { sign: '<<', fd: 0, kind: 'text' },
    { sign: '<>', fd: 0, kind: 'readwrite' },
    { sign: '<&', fd: 0, kind: 'dup' },
    // csh and zsh: also over what is there; fish: only where nothing is.
    { sign: '>&!', fd: 1, kind: 'write' },
    { sign: '>?', fd: 1, kind: 'write' },
    { sign: '>>!', fd: 1, kind: 'write' },
    { sign: '>!', fd: 1, kind: 'write' },
    { sign: '>>', fd: 1, kind: 'write' },
    { sign: '>|', fd: 1, kind: 'write' },
    { sign: '>&', fd: 1, kind: 'dup' },
    { sign: '<', fd: 0, kind: 'read' },
    { sign: '>', fd: 1, kind: 'write' },
  ])

/** What reading a redirection costs beside its characters. */
const REDIRECT_STEPS = 48

/** Takes one redirection; false where none begins here. */
function readRedirect(scan: Scan, redirects: Redirect[], fd?: number): boolean {
  skipBlanks(scan)
  const character = current(scan)
  if (character !== '<' && character !== '>' && character !== '&') return false
  if (character !== '&' && scan.text[scan.at + 1] === '(' && fd === undefined) return false
  if (character === '&' && scan.text[scan.at + 1] !== '>' && scan.text[scan.at + 1] !== '\\') return false
  pay(scan, REDIRECT_STEPS)
  const operator = OPERATORS.find(({ sign }) => take(scan, sign))
  if (operator === undefined) return false
  skipBlanks(scan)
  if (isMeta(current(scan)) && !atWord(scan)) {
    fail(scan, 'syntax')
    return true
  }
  const from = scan.at
  const target = readWord(scan, true)
  const number = fd ?? operator.fd
  if (operator.sign === '<<' || operator.sign === '<<-') {
    const slot: { word: Word } = { word: [] }
    const delimiter = literalOf(target) ?? scan.text.slice(from, scan.at)
    const isLiteral = target.some((part) => part.kind === 'text' && part.isQuoted)
    scan.pending.push({ delimiter, isLiteral, hasTabs: operator.sign === '<<-', target: slot })
    // The text comes after the end of the line: the redirection looks it up when it is needed.
    redirects.push({
      fd: number,
      kind: 'text',
      get target() {
        return slot.word
      },
    })
  } else if (operator.sign === '<<<') {
    redirects.push({
      fd: number,
      kind: 'text',
      target: [...target, { kind: 'text', text: '\n', isQuoted: true }],
    })
  } else if (operator.kind === 'dup') {
    // `>& file` is `&> file`; `>&2`, `>&-` and `<&3-` name descriptors.
    const isFile = operator.sign === '>&' && !/^[0-9]*-?$/.test(literalOf(target) ?? '')
    redirects.push({ fd: number, kind: isFile ? 'write' : 'dup', target })
  } else redirects.push({ fd: number, kind: operator.kind, target })
  return true
}
