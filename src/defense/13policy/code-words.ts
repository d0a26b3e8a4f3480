/**
 * What the code of an interpreter does, as far as its text tells: the names that it calls, the commands that it gives
 * to a shell, the files that it uses. A string is known where it is a literal, literals joined, or a name that such
 * was given to. What is worked out otherwise and then run is opaque. No code is evaluated.
 * @module
 */
import { bindMembers, readAssignment, readImport } from './code-bindings.ts'
import {
  fileUse,
  isDecoder,
  isEvaluator,
  isLoader,
  isShellCall,
  OPENERS,
  PATH_READS,
  PATH_WRITES,
  POWERFUL,
} from './code-calls.ts'
import { call, readRedirection, runText } from './code-effects.ts'
import { tokensOf } from './code-lexer.ts'
import { readSed, readTcl } from './code-scripts.ts'
import { addCall, addPath, looksAbsolute, mark, type Reading, readValue, resolve } from './code-values.ts'
import type { Opaque } from './effective.ts'
import type { Inner, Language } from './inner.ts'

export type CodeReading = {
  readonly calls: readonly string[]
  readonly inner: readonly Inner[]
  readonly opaque: readonly Opaque[]
}

export function readCode(text: string, language: Language, via: string): CodeReading {
  if (language === 'sed') return readSed(text, via)
  if (language === 'tcl') return readTcl(text, via)
  const { tokens, isCut } = tokensOf(text, language)
  const reading: Reading = {
    tokens,
    language,
    via,
    calls: new Set(),
    inner: [],
    opaque: new Set(),
    aliases: new Map(),
    values: new Map(),
    stars: [],
    results: new Map(),
    used: new Set(),
  }
  for (let index = 0; index < tokens.length; index++) index = Math.max(index, step(reading, index))
  for (let index = 0; index < tokens.length; index++) {
    const token = tokens[index]
    if (token?.kind === 'string' && !reading.used.has(index) && looksAbsolute(token.text))
      addPath(reading, { kind: 'text', text: token.text, isOpaque: token.isOpaque }, 'mention')
  }
  if (isCut) reading.opaque.add('limit')
  const isDecoded = [...reading.calls].some(isDecoder)
  if (isDecoded && reading.opaque.has('eval')) reading.opaque.add('decoded')
  return { calls: [...reading.calls], inner: reading.inner, opaque: [...reading.opaque] }
}

/** Looks at the token at `index`; gives the last index that needs no second look. */
function step(reading: Reading, index: number): number {
  const token = reading.tokens[index]
  if (token === undefined) return index
  if (token.kind === 'command') {
    reading.calls.add('backticks')
    runText(reading, { kind: 'text', text: token.text, isOpaque: token.isOpaque })
    return index
  }
  if (reading.language === 'awk') readRedirection(reading, index)
  if (token.kind === 'mark') {
    const before = reading.results.get(index - 1)
    if (before !== undefined && 'name' in before) {
      if (token.text === '(') call(reading, before.name, index)
      else if (token.text === '[') readMember(reading, before.name, index)
    }
    if (token.text === '=' && mark(reading, index - 1) === '}') bindMembers(reading, index)
    return index
  }
  if (token.kind !== 'name') return index
  const imported = readImport(reading, index)
  if (imported > index) return imported
  if (readAssignment(reading, index)) return index
  return readUse(reading, index)
}

/** A name that is called or used; members given in brackets belong to it. */
function readUse(reading: Reading, index: number): number {
  const token = reading.tokens[index]
  let name = token?.text ?? ''
  let end = index
  if (name.startsWith('.')) {
    const before = reading.results.get(index - 1)
    if (before === undefined) {
      // A method of some value: what it is called is all that is known.
      if (mark(reading, index + 1) === '(') addCall(reading, name.slice(1))
      return index
    }
    if ('path' in before) {
      const use = PATH_WRITES.has(name) ? 'write' : PATH_READS.has(name) ? 'read' : undefined
      if (use !== undefined) {
        addCall(reading, `Path${name}`)
        addPath(reading, before.path, use)
      }
      return index
    }
    name = before.name + name
  } else name = resolve(reading, name)
  while (mark(reading, end + 1) === '[') {
    const member = readValue(reading, end + 2)
    if (mark(reading, member.next) !== ']') break
    if (
      member.value.kind === 'text' &&
      !member.value.isOpaque &&
      /^[A-Za-z_]\w{0,63}$/.test(member.value.text)
    )
      name = `${name}.${member.value.text}`
    else if (POWERFUL.has(name) && mark(reading, member.next + 1) === '(') reading.opaque.add('eval')
    else break
    end = member.next
  }
  const isCall = mark(reading, end + 1) === '('
  // Perl, Ruby, PHP and awk call without parentheses; Lisp puts the name first.
  const next = reading.tokens[end + 1]
  const isBare =
    !isCall &&
    next !== undefined &&
    reading.language !== 'python' &&
    reading.language !== 'javascript' &&
    (next.kind === 'string' || next.kind === 'name' || next.text === '[')
  if (isCall || isBare) {
    if (isCall || isInteresting(name, reading.language)) addCall(reading, name)
    call(reading, name, isCall ? end + 1 : end)
  } else if (name.includes('.') && !name.startsWith('$')) addCall(reading, name)
  else if (name.startsWith('__')) addCall(reading, name)
  return end
}

/** `require('m')['name']`. */
function readMember(reading: Reading, module: string, index: number): void {
  const { value, next } = readValue(reading, index + 1)
  if (mark(reading, next) !== ']') return
  if (value.kind !== 'text' || value.isOpaque) {
    if (POWERFUL.has(module)) reading.opaque.add('eval')
    return
  }
  const name = `${module}.${value.text}`
  addCall(reading, name)
  reading.results.set(next, { name })
}

function isInteresting(name: string, language: Language): boolean {
  return (
    name.includes('.') ||
    isShellCall(name, language) ||
    isEvaluator(name, language) ||
    fileUse(name, language) !== undefined ||
    OPENERS.has(name) ||
    isLoader(name)
  )
}
