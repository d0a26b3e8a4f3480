/**
 * The grammar of a shell text: lists, pipelines, compound commands, function definitions. A failure leaves what was
 * read before it in the tree.
 * Rules: POSIX.1-2024 XCU 2.10; bash 5.2 for `|&`, `select`, `function`, `coproc`, `(( ))`, `[[ ]]`, `;&`, `;;&`.
 * @module
 */

import type { Work } from '../../work.ts'
import { arithmeticEnd, atWord, readArithmetic, readHeredoc, readPattern, readWord } from './lexer.ts'
import * as at from './scan.ts'
import { literalOf, readRedirects, readSimple } from './simple.ts'
import type { AndOr, Command, Compound, List, Pipeline, Redirect, Word } from './syntax.ts'

export type ParsedShell = {
  readonly list: List
  readonly failure: 'syntax' | 'limit' | undefined
}

/** Reads the whole of `text`. `depth`: how deep it lies in another text. */
export function parseText(text: string, depth: number, work: Work): ParsedShell {
  const scan = at.startScan(text, depth, work, readList, readHeredoc)
  const list = readList(scan)
  if (scan.at < text.length) at.fail(scan, 'syntax')
  return { list, failure: scan.failure }
}

/** Reads text in which only expansions count. */
export function parseExpansions(
  text: string,
  depth: number,
  work: Work,
): { readonly word: Word; readonly failure: ParsedShell['failure'] } {
  const scan = at.startScan(text, depth, work, readList, readHeredoc)
  const word = readHeredoc(scan, text)
  return { word, failure: scan.failure }
}

/** Up to the end, a closing parenthesis, a reserved word that closes something, or `;;`. */
function readList(scan: at.Scan): List {
  const list: AndOr[] = []
  while (scan.failure === undefined) {
    at.skipLines(scan)
    const character = at.current(scan)
    if (character === '' || character === ')' || isCloser(scan)) break
    const item = readAndOr(scan)
    at.skipBlanks(scan)
    const next = at.current(scan)
    let isBackground = false
    let isEnded = false
    if (next === '&') {
      scan.at += 1
      isBackground = true
    } else if (next === ';' && scan.text[scan.at + 1] !== ';' && scan.text[scan.at + 1] !== '&') scan.at += 1
    else if (next !== '\n') isEnded = true
    list.push({ first: item.first, rest: item.rest, isBackground })
    if (isEnded) {
      at.skipBlanks(scan)
      const stop = at.current(scan)
      if (stop === '' || stop === ')' || isDoubleSemicolon(scan) || isCloser(scan)) break
      at.fail(scan, 'syntax')
    }
  }
  // A here-document that was announced on the last line has no text.
  if (at.current(scan) === '' && scan.pending.length > 0) at.readPending(scan)
  return list
}

const CLOSERS: readonly string[] = Object.freeze(['then', 'do', 'done', 'fi', 'elif', 'else', 'esac', '}'])

function isDoubleSemicolon(scan: at.Scan): boolean {
  return at.current(scan) === ';' && ';&'.includes(scan.text[scan.at + 1] ?? ' ')
}

function isCloser(scan: at.Scan): boolean {
  return isDoubleSemicolon(scan) || CLOSERS.includes(at.peekWord(scan))
}

function readAndOr(scan: at.Scan): Omit<AndOr, 'isBackground'> {
  const first = readPipeline(scan)
  const rest: { isAnd: boolean; pipeline: Pipeline }[] = []
  while (scan.failure === undefined) {
    at.skipBlanks(scan)
    const isAnd = at.take(scan, '&&')
    if (!isAnd && !at.take(scan, '||')) break
    at.skipLines(scan)
    rest.push({ isAnd, pipeline: readPipeline(scan) })
  }
  return { first, rest }
}

function readPipeline(scan: at.Scan): Pipeline {
  const commands: Command[] = []
  let isNegated = false
  for (;;) {
    at.skipBlanks(scan)
    // bash reads `!(` without its extended patterns as a negated subshell.
    if (at.current(scan) === '!' && (at.peekWord(scan) === '!' || scan.text[scan.at + 1] === '(')) {
      scan.at += 1
      isNegated = true
    } else if (!takeTime(scan)) break
  }
  const isEmpty = () => at.current(scan) === '' || ';\n&)'.includes(at.current(scan))
  at.skipBlanks(scan)
  // `time` and `!` may stand alone.
  if (isNegated && isEmpty()) return { commands, isNegated }
  while (scan.failure === undefined) {
    commands.push(readCommand(scan))
    at.skipBlanks(scan)
    if (at.current(scan) !== '|') break
    const start = scan.at
    scan.at += 1
    const next = at.current(scan)
    if (next === '|') {
      scan.at = start
      break
    }
    if (next === '&') scan.at += 1
    at.skipLines(scan)
    if (at.current(scan) === '!' && at.peekWord(scan) === '!') scan.at += 1
  }
  return { commands, isNegated }
}

/** `time` and `time -p` of bash. With other options it is the program of that name. */
function takeTime(scan: at.Scan): boolean {
  const start = scan.at
  if (!at.takeReserved(scan, 'time')) return false
  at.skipBlanks(scan)
  if (at.takeReserved(scan, '-p') || at.takeReserved(scan, '--')) return true
  if (at.current(scan) !== '-' && at.current(scan) !== '\n' && atWord(scan)) return true
  if (at.current(scan) === '(') return true
  scan.at = start
  return false
}

/** What reading a command costs beside its characters. */
const COMMAND_STEPS = 8

function readCommand(scan: at.Scan): Command {
  at.skipBlanks(scan)
  const compound = readCompound(scan)
  if (compound !== undefined) {
    const redirects: Redirect[] = []
    if (compound.kind !== 'define') readRedirects(scan, redirects)
    return { kind: 'compound', compound, redirects }
  }
  scan.commands += 1
  at.pay(scan, COMMAND_STEPS)
  if (scan.commands > at.SHELL_COMMANDS) at.fail(scan, 'limit')
  const simple = readSimple(scan)
  at.skipBlanks(scan)
  const [name] = simple.words
  const isNameAlone = simple.words.length === 1 && simple.assignments.length + simple.redirects.length === 0
  if (name !== undefined && isNameAlone && at.current(scan) === '(') {
    scan.at += 1
    at.skipBlanks(scan)
    if (at.take(scan, ')')) return readDefinition(scan, isPlainWord(name) ? (literalOf(name) ?? '') : '')
    at.fail(scan, 'syntax')
  }
  return simple
}

/** A function's name may not be quoted: shells refuse it, and some go on. */
function isPlainWord(word: Word): boolean {
  return word.every((part) => part.kind === 'text' && !part.isQuoted)
}

function readDefinition(scan: at.Scan, name: string): Command {
  at.skipLines(scan)
  if (!at.enter(scan)) return { kind: 'simple', assignments: [], words: [], arrays: [], redirects: [] }
  const body = readCommand(scan)
  at.leave(scan)
  return { kind: 'compound', compound: { kind: 'define', name, body }, redirects: [] }
}

function readCompound(scan: at.Scan): Compound | undefined {
  if (at.current(scan) === '(') return nested(scan, readParenthesis)
  const word = at.peekWord(scan)
  switch (word) {
    case '{':
      return nested(scan, (inner) => {
        at.take(inner, '{')
        const body = readList(inner)
        expect(inner, '}')
        return { kind: 'group', body }
      })
    case 'if':
      return nested(scan, readIf)
    case 'while':
    case 'until':
      return nested(scan, (inner) => {
        at.take(inner, word)
        const condition = readList(inner)
        return { kind: 'loop', condition, body: readDo(inner) }
      })
    case 'for':
    case 'select':
      return nested(scan, (inner) => {
        at.take(inner, word)
        return readFor(inner)
      })
    case 'case':
      return nested(scan, readCase)
    case 'function':
      return nested(scan, readFunction)
    case 'coproc':
      return nested(scan, readCoprocess)
    case '[[':
      return nested(scan, readCondition)
    default:
      return undefined
  }
}

function nested(scan: at.Scan, read: (scan: at.Scan) => Compound): Compound {
  if (!at.enter(scan)) return { kind: 'group', body: [] }
  const compound = read(scan)
  at.leave(scan)
  return compound
}

function expect(scan: at.Scan, word: string): void {
  if (scan.failure === undefined && !at.takeReserved(scan, word)) at.fail(scan, 'syntax')
}

function readDo(scan: at.Scan): List {
  expect(scan, 'do')
  const body = readList(scan)
  expect(scan, 'done')
  return body
}

function readParenthesis(scan: at.Scan): Compound {
  scan.at += 1
  const start = scan.at
  if (at.current(scan) === '(') {
    const inside = scan.at + 1
    scan.at = inside
    const end = arithmeticEnd(scan)
    if (end !== -1) {
      const reading = readAsCommands(scan, scan.text.slice(inside, end))
      scan.at = inside
      const expression = readArithmetic(scan, end)
      scan.at += 2
      return { kind: 'arithmetic', expression, reading }
    }
    scan.at = start
  }
  const body = readList(scan)
  if (scan.failure === undefined && !at.take(scan, ')')) at.fail(scan, 'syntax')
  return { kind: 'subshell', body }
}

/** What dash makes of `((...))`: subshells. Undefined where its grammar does not allow that. */
function readAsCommands(scan: at.Scan, text: string): List | undefined {
  const inner = at.innerScan(scan, text)
  const list = inner.depth > at.SHELL_DEPTH ? [] : readList(inner)
  if (inner.failure === 'limit') at.fail(scan, 'limit')
  return inner.failure === undefined && inner.at >= text.length ? list : undefined
}

function readIf(scan: at.Scan): Compound {
  const arms: { condition: List; body: List }[] = []
  let otherwise: List | undefined
  expect(scan, 'if')
  while (scan.failure === undefined) {
    const condition = readList(scan)
    expect(scan, 'then')
    arms.push({ condition, body: readList(scan) })
    if (at.takeReserved(scan, 'elif')) continue
    if (at.takeReserved(scan, 'else')) otherwise = readList(scan)
    expect(scan, 'fi')
    break
  }
  return { kind: 'if', arms, otherwise }
}

/** After `for` or `select`. `for ((a; b; c))` is a loop whose parts are arithmetic. */
function readFor(scan: at.Scan): Compound {
  at.skipBlanks(scan)
  if (at.take(scan, '((')) {
    const end = arithmeticEnd(scan)
    if (end === -1) at.fail(scan, 'syntax')
    const expression = end === -1 ? [] : readArithmetic(scan, end)
    if (end !== -1) scan.at += 2
    skipSeparator(scan)
    const step: Command = {
      kind: 'compound',
      compound: { kind: 'arithmetic', expression, reading: undefined },
      redirects: [],
    }
    const condition: List = [{ first: { commands: [step], isNegated: false }, rest: [], isBackground: false }]
    return { kind: 'loop', condition, body: readBodyOf(scan) }
  }
  const name = at.takeName(scan)
  if (name === '') at.fail(scan, 'syntax')
  at.skipLines(scan)
  let words: Word[] | undefined
  if (at.takeReserved(scan, 'in')) {
    words = []
    while (scan.failure === undefined && atWord(scan)) words.push(readWord(scan, true))
  }
  skipSeparator(scan)
  return { kind: 'for', name, words, body: readBodyOf(scan) }
}

function skipSeparator(scan: at.Scan): void {
  at.skipBlanks(scan)
  if (at.current(scan) === ';') scan.at += 1
  at.skipLines(scan)
}

/** `do ... done`, or the braces that bash allows in its place. */
function readBodyOf(scan: at.Scan): List {
  if (!at.takeReserved(scan, '{')) return readDo(scan)
  const body = readList(scan)
  expect(scan, '}')
  return body
}

function readCase(scan: at.Scan): Compound {
  const arms: { patterns: Word[]; body: List }[] = []
  expect(scan, 'case')
  const subject = atWord(scan) ? readWord(scan, true) : []
  at.skipLines(scan)
  expect(scan, 'in')
  while (scan.failure === undefined) {
    at.skipLines(scan)
    if (at.takeReserved(scan, 'esac')) break
    at.take(scan, '(')
    const patterns: Word[] = []
    while (scan.failure === undefined) {
      if (!atWord(scan)) at.fail(scan, 'syntax')
      patterns.push(readWord(scan, true))
      at.skipBlanks(scan)
      if (at.take(scan, ')')) break
      if (!at.take(scan, '|')) at.fail(scan, 'syntax')
    }
    arms.push({ patterns, body: readList(scan) })
    if (!(at.take(scan, ';;&') || at.take(scan, ';;') || at.take(scan, ';&'))) {
      expect(scan, 'esac')
      break
    }
  }
  return { kind: 'case', subject, arms }
}

function readFunction(scan: at.Scan): Compound {
  expect(scan, 'function')
  const word = atWord(scan) ? readWord(scan, false) : []
  const name = isPlainWord(word) ? (literalOf(word) ?? '') : ''
  if (name === '') at.fail(scan, 'syntax')
  at.skipBlanks(scan)
  if (at.take(scan, '(')) {
    at.skipBlanks(scan)
    if (!at.take(scan, ')')) at.fail(scan, 'syntax')
  }
  at.skipLines(scan)
  return { kind: 'define', name, body: readCommand(scan) }
}

/** `coproc [NAME] compound` or `coproc simple`: a command in the background whose input and output are pipes. */
function readCoprocess(scan: at.Scan): Compound {
  expect(scan, 'coproc')
  at.skipBlanks(scan)
  const start = scan.at
  const name = at.takeName(scan)
  at.skipBlanks(scan)
  const isNamed = name !== '' && (at.current(scan) === '(' || STARTERS.includes(at.peekWord(scan)))
  if (!isNamed || STARTERS.includes(name)) scan.at = start
  const first: Pipeline = { commands: [readCommand(scan)], isNegated: false }
  return { kind: 'group', body: [{ first, rest: [], isBackground: true }] }
}

const STARTERS: readonly string[] = Object.freeze([
  '{',
  'if',
  'while',
  'until',
  'for',
  'case',
  'select',
  '[[',
])

/** `[[ ... ]]`, cut at `&&` and `||`: a shell that does not know it would run what follows an `||`. */
function readCondition(scan: at.Scan): Compound {
  const parts: { words: Word[]; isAfterOr: boolean }[] = [{ words: [], isAfterOr: false }]
  let isAfterOr = false
  let isPattern = false
  at.take(scan, '[[')
  while (scan.failure === undefined) {
    at.skipLines(scan)
    const character = at.current(scan)
    const words = parts[parts.length - 1]?.words ?? []
    if (character === '') at.fail(scan, 'syntax')
    else if (at.takeReserved(scan, ']]')) break
    else if (isPattern) {
      words.push(readPattern(scan))
      isPattern = false
    } else if (at.take(scan, '&&') || at.take(scan, '||')) {
      isAfterOr ||= scan.text[scan.at - 1] === '|'
      parts.push({ words: [], isAfterOr })
    } else if ('()<>'.includes(character) && !atWord(scan)) scan.at += 1
    else if (character === '&' || character === '|' || character === ';') at.fail(scan, 'syntax')
    else {
      const word = readWord(scan, true)
      words.push(word)
      isPattern = ['=', '==', '!=', '=~'].includes(literalOf(word) ?? '')
    }
  }
  return { kind: 'condition', parts }
}
