/**
 * Pipes and redirections of awk: the commands and files behind `|`, `>`, `>>` and `getline <`.
 * Rules: POSIX.1-2024 awk; the manual of gawk.
 * @module
 */
import { runText } from './effects.ts'
import {
  ARGUMENT_TOKENS,
  addCall,
  addInner,
  addPath,
  looksAbsolute,
  mark,
  nameAt,
  type Reading,
  UNKNOWN,
  type Value,
} from './reading.ts'
import { UNKNOWN_USE } from './unknown-uses.ts'
import { readValue } from './values.ts'

/** Pipes and redirections of awk: `"cmd" | getline`, `print x | "cmd"`, `print x > "file"`. */
export function readRedirection(reading: Reading, index: number): void {
  const text = mark(reading, index)
  if (nameAt(reading, index).startsWith('@')) noteLoad(reading, index)
  if (text === '|' || text === '|&') {
    if (nameAt(reading, index + 1) === 'getline') {
      const before = reading.tokens[index - 1]
      const known = before?.kind === 'name' ? (reading.values.get(before.text) ?? UNKNOWN) : UNKNOWN
      const value = before?.kind === 'string' ? stringsBefore(reading, index) : known
      addCall(reading, 'getline')
      runText(reading, value)
    } else {
      addCall(reading, 'print|')
      runText(reading, readValue(reading, index + 1).value)
    }
  } else if (text === '>>' && reading.tokens[index + 1]?.kind === 'name') {
    addCall(reading, 'open:w')
    addPath(reading, readValue(reading, index + 1).value, 'write')
  } else if (
    isMark(text) &&
    (mark(reading, index + 1) === '(' || reading.tokens[index + 1]?.kind === 'name')
  ) {
    // What is read then takes the place of the files that it comes from.
    if (isInput(reading, index + 1) || isInput(reading, index + 2)) reading.unknownUses.add('write')
    // It may also compare two values.
    const { value } = readValue(reading, index + 1)
    if (value.kind !== 'text' || !looksAbsolute(value.text)) return
    addCall(reading, 'open:w')
    addPath(reading, value, 'write')
  } else if ((text === '>' || text === '>>') && reading.tokens[index + 1]?.kind === 'string') {
    reading.used.add(index + 1)
    addCall(reading, 'open:w')
    addPath(reading, readValue(reading, index + 1).value, 'write')
  } else if (
    text === '<' &&
    (nameAt(reading, index - 1) === 'getline' || nameAt(reading, index - 2) === 'getline')
  ) {
    addPath(reading, readValue(reading, index + 1).value, 'read')
  }
}

/** Whether a name stands for the files that are read. */
function isInput({ aliases, tokens }: Reading, index: number): boolean {
  const { kind, text = '' } = tokens[index] ?? {}
  return kind === 'name' && INPUTS.has(aliases.get(text) ?? text)
}

const INPUTS: ReadonlySet<string> = new Set(['FILENAME', 'ARGV'])

function isMark(text: string): boolean {
  return text === '>' || text === '>>'
}

function stringsBefore(reading: Reading, index: number): Value {
  let from = index
  while (reading.tokens[from - 1]?.kind === 'string' && index - from < ARGUMENT_TOKENS) from -= 1
  return readValue(reading, from).value
}

/** `@load "x"` brings in a library of another language, `@include "x"` a file of code. */
function noteLoad(reading: Reading, index: number): void {
  const given = reading.tokens[index + 1]
  const name = nameAt(reading, index)
  if (name === '@load') addCall(reading, `${UNKNOWN_USE}load`)
  if (name !== '@include' || given?.kind !== 'string') return
  if (given.text.startsWith('/')) addCall(reading, 'load:file')
  const word = { text: given.text, isGlob: false, opaque: undefined }
  addInner(reading, { kind: 'script', word, language: 'awk', via: reading.via })
}
